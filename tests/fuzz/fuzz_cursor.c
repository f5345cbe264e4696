/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A repaired capture (repair.h), walked from its start and from any time: the order is the promised one, and what a
 * seek gives is what the whole walk gives from there on.
 *
 *	0 8 the time to seek   8 the loose capture
 */
#include "tests/fuzz/repair.h"

#define LOOSE_AT 8
#define EVENTS_MAX 65536 /* that are remembered */

/* What is remembered of an event: enough to distinguish it from others. */
struct seen {
	uint64_t epoch, at_ns, hash;
	uint16_t kind;
	bool last;
};

struct walk {
	struct seen *seen;
	size_t n;
	int end; /* what cursor_next() ended with */
};

static uint64_t hash_event(const struct event *ev)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t f = 0; ev->shape && f < ev->shape->nfields; f++) {
		h = (h ^ ev->v[f]) * UINT64_C(0x100000001b3);
		for (uint64_t i = 0; ev->text[f] && i < ev->v[f]; i++)
			h = (h ^ (uint8_t)ev->text[f][i]) * UINT64_C(0x100000001b3);
	}
	return h;
}

static void walk(struct walk *w, const struct reader *r, bool unverified, const uint64_t *seek)
{
	struct cursor *cur = NULL;
	struct fault why = {0};
	struct event ev;

	w->n = 0;
	w->seen = malloc(EVENTS_MAX * sizeof(*w->seen));
	MUST(w->seen && cursor_open(&cur, r, unverified, &why) == 0);
	if (seek)
		cursor_seek(cur, *seek);
	while ((w->end = cursor_next(cur, &ev, &why)) > 0 && w->n < EVENTS_MAX) {
		MUST((ev.kind == KIND_epoch) == !ev.shape);
		w->seen[w->n++] = (struct seen){(uint64_t)(ev.epoch - r->epochs), ev.at_ns, hash_event(&ev), ev.kind,
						ev.kind != KIND_epoch && ev.last};
	}
	if (w->end < 0) {
		MUST(why.code == w->end && why.text[0]);
		MUST(cursor_next(cur, &ev, &why) == w->end); /* it stays where it was */
	}
	cursor_close(cur);
}

/* By epoch, its mark first, then by time, then by kind. */
static void must_be_ordered(const struct walk *w)
{
	for (size_t i = 1; i < w->n; i++) {
		const struct seen *a = &w->seen[i - 1], *b = &w->seen[i];

		MUST(b->epoch == a->epoch ? b->kind != KIND_epoch : b->kind == KIND_epoch && b->epoch == a->epoch + 1);
		if (b->epoch != a->epoch || a->kind == KIND_epoch)
			continue;
		MUST(b->at_ns > a->at_ns || (b->at_ns == a->at_ns && b->kind >= a->kind && !a->last));
	}
}

static void must_be_rest(const struct walk *all, const struct walk *rest, const struct reader *r, uint64_t from_ns)
{
	size_t k = 0;

	for (size_t i = 0; i < all->n; i++) {
		const struct seen *s = &all->seen[i];

		if (s->kind == KIND_epoch ? r->epochs[s->epoch].end_ns <= from_ns : s->at_ns < from_ns)
			continue;
		MUST(k < rest->n && rest->seen[k].epoch == s->epoch && rest->seen[k].at_ns == s->at_ns);
		MUST(rest->seen[k].kind == s->kind && rest->seen[k].hash == s->hash);
		k++;
	}
	MUST(k == rest->n);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct bytes capture = {.failed = 0};
	struct walk all, rest, unverified;
	struct verification v;
	struct source src;
	struct reader r;
	struct fault why;
	uint64_t from_ns;

	if (n < LOOSE_AT)
		return 0;
	from_ns = get_le64(bytes);
	repair(&capture, bytes + LOOSE_AT, n - LOOSE_AT);
	source_open_memory(&src, capture.data, capture.len);
	if (reader_open(&r, &src, &why) == 0) {
		verify(&r, 1, &v);
		walk(&all, &r, false, NULL);
		walk(&rest, &r, false, &from_ns);
		walk(&unverified, &r, true, NULL);
		if (verdict_is_ok(v.verdict)) {
			MUST(all.end == 0 && rest.end == 0 && unverified.end == 0 && unverified.n == all.n);
			MUST(v.nwithheld > 0 || all.n == v.nevents + r.nepochs);
			must_be_ordered(&all);
			must_be_rest(&all, &rest, &r, from_ns);
			must_be_rest(&all, &unverified, &r, 0);
		}
		free(all.seen);
		free(rest.seen);
		free(unverified.seen);
		reader_close(&r);
	}
	bytes_free(&capture);
	return 0;
}

unsigned fuzz_seeds(void (*give)(void *arg, const uint8_t *bytes, size_t n), void *arg)
{
	uint8_t head[LOOSE_AT];

	put_le64(head, SAMPLE_BOOT + SAMPLE_SECOND + 100);
	return repair_seeds(give, arg, head, sizeof(head));
}
