// SPDX-License-Identifier: Apache-2.0
#include "analyze/report/picture_timeline.h"

#include <stdlib.h>
#include <string.h>

/* A row being drawn. Of the pieces beyond the limit, those that are next to each other and shortest become one. */
struct drawing {
	struct scene_piece pieces[2 * SCENE_PIECES_MAX];
	unsigned n;
};

static uint64_t length_of(const struct scene_piece *p)
{
	return p->end_ns - p->begin_ns;
}

static void join(struct drawing *d, unsigned i)
{
	struct scene_piece *a = &d->pieces[i], *b = &d->pieces[i + 1];
	uint64_t begin_ns = a->begin_ns, end_ns = b->end_ns;

	if (length_of(b) > length_of(a))
		*a = *b;
	a->begin_ns = begin_ns;
	a->end_ns = end_ns;
	a->joined = true;
	memmove(b, b + 1, (d->n - i - 2) * sizeof(*b));
	d->n--;
}

/* Join neighbours until `most` are left: those first whose lesser one is shortest, which loses least. */
static void thin(struct drawing *d, unsigned most)
{
	while (d->n > most) {
		uint64_t least = UINT64_MAX;
		unsigned at = 0;

		for (unsigned i = 0; i + 1 < d->n; i++) {
			uint64_t a = length_of(&d->pieces[i]), b = length_of(&d->pieces[i + 1]);

			if ((a < b ? a : b) < least) {
				least = a < b ? a : b;
				at = i;
			}
		}
		join(d, at);
	}
}

static void draw_piece(void *arg, const struct span *span)
{
	struct drawing *d = arg;
	struct scene_piece p = {.begin_ns = span->begin_ns,
				.end_ns = span->end_ns,
				.futex = span->flags & SPAN_FUTEX ? span->futex : 0,
				.tid = TID_NONE,
				.cpu = span->cpu,
				.syscall = span->syscall,
				.flags = span->flags};

	switch ((enum state)span->state) {
	case STATE_RUNNING:
		p.class = gets_memory(span) ? CAUSE_MEMORY : CAUSE_CPU;
		break;
	case STATE_RUNNABLE:
		p.class = span->flags & SPAN_THROTTLED ? CAUSE_QUOTA : CAUSE_RUNNABLE;
		p.tid = span->other_tid;
		break;
	case STATE_ASLEEP:
		p.class = (uint8_t)class_of_sleep(span);
		if (woken_by_task(span))
			p.tid = span->other_tid;
		break;
	case STATE_UNKNOWN:
		p.class = CAUSE_UNKNOWN;
		break;
	}
	d->pieces[d->n++] = p;
	if (d->n == 2 * SCENE_PIECES_MAX)
		thin(d, SCENE_PIECES_MAX);
}

static bool add_row(struct scene *s, const struct timeline *tl, uint32_t tid, struct drawing *d)
{
	struct scene_row *row = &s->rows[s->nrows];

	for (unsigned i = 0; i < s->nrows; i++)
		if (s->rows[i].tid == tid)
			return true;
	if (tid == TID_NONE || tid == TID_IDLE || s->nrows == SCENE_ROWS_MAX)
		return true;
	d->n = 0;
	timeline_walk(tl, tid, s->begin_ns, s->end_ns, draw_piece, d);
	thin(d, SCENE_PIECES_MAX);
	row->pieces = calloc(d->n ? d->n : 1, sizeof(*row->pieces));
	if (!row->pieces)
		return false;
	memcpy(row->pieces, d->pieces, d->n * sizeof(*row->pieces));
	row->npieces = d->n;
	row->tid = tid;
	s->nrows++;
	return true;
}

struct scene *scene_make(const struct timeline *tl, const struct cause *c, uint32_t keeper_tid)
{
	const struct split *first = &c->links[0];
	uint64_t before_ns = (first->end_ns - first->begin_ns) / 4;
	struct scene *s = calloc(1, sizeof(*s));
	struct drawing *d = malloc(sizeof(*d));
	bool made = s && d;

	if (made) {
		s->begin_ns = before_ns < first->begin_ns ? first->begin_ns - before_ns : 0;
		s->end_ns = first->end_ns;
		/* The last row is for who had the CPU, if somebody had it. */
		for (unsigned i = 0; i < c->nlinks && s->nrows < SCENE_ROWS_MAX - 1 && made; i++)
			made = add_row(s, tl, c->links[i].tid, d);
		made = made && add_row(s, tl, keeper_tid, d);
	}
	free(d);
	if (made)
		return s;
	scene_free(s);
	return NULL;
}

void scene_free(struct scene *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < s->nrows; i++)
		free(s->rows[i].pieces);
	free(s);
}
