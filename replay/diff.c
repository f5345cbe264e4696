/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/diff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "keys/tool.h"
#include "replay/diff_inside.h"

#define OFFS_MAX 64 /* stretches off the CPU that are kept apart within one call; further ones join the last */

/* A stretch off the CPU. */
struct off {
	uint64_t begin_ns, runnable_ns, end_ns;
	bool futex;
};

struct thread_offs {
	struct off offs[OFFS_MAX]; /* since the last outer call */
	size_t n;
	uint64_t left_ns, woken_ns; /* off now, since; 0: it is on a CPU, or not known */
	bool preempted;
};

struct live {
	uint64_t bytes;
	uint32_t process; /* index + 1 */
};

struct gather {
	struct map rows;      /* (process instance, probe) → index + 1 */
	struct map processes; /* (process instance, 0) → index + 1 */
	struct map addresses; /* (process instance, address) → index in lives */
	struct live *lives;
	size_t nlives, lives_room;
	struct thread_offs **threads; /* by number */
	size_t nthreads;
	uint64_t epoch;
};

static int no_memory(struct fault *why)
{
	return fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "no memory to compare captures");
}

/* `array` with room for one more than `n` elements; NULL without memory, and `array` stays. */
static void *with_room(void *array, size_t *room, size_t n, size_t size)
{
	void *more;

	if (n < *room)
		return array;
	more = reallocarray(array, *room * 2 + 16, size);
	if (more)
		*room = *room * 2 + 16;
	return more;
}

/* --- quantiles --- */

static size_t bucket_of(uint64_t ns)
{
	unsigned top;
	size_t at;

	if (ns < STEPS)
		return (size_t)ns;
	top = 63 - (unsigned)__builtin_clzll(ns);
	at = (size_t)(top - 4) * STEPS + (size_t)(ns >> (top - 5)) % STEPS;
	return at < NBUCKETS ? at : NBUCKETS - 1;
}

static uint64_t bucket_end(size_t at)
{
	unsigned shift;

	if (at < STEPS)
		return at;
	shift = (unsigned)(at / STEPS) - 1;
	return ((uint64_t)(STEPS + at % STEPS + 1) << shift) - 1;
}

void diff_count(struct diff_row *row, uint64_t dur_ns)
{
	row->ncalls++;
	row->total_ns += dur_ns;
	row->max_ns = dur_ns > row->max_ns ? dur_ns : row->max_ns;
	row->buckets[bucket_of(dur_ns)]++;
}

uint64_t diff_quantile(const struct diff_row *row, double share)
{
	uint64_t want = (uint64_t)(share * (double)row->ncalls), seen = 0, end_ns;

	for (size_t i = 0; i < NBUCKETS; i++) {
		seen += row->buckets[i];
		if (seen > want || seen == row->ncalls) {
			end_ns = bucket_end(i);
			return end_ns < row->max_ns ? end_ns : row->max_ns;
		}
	}
	return row->max_ns;
}

/* --- who --- */

static const char *name_of(const struct walk *w, uint32_t process)
{
	const char *name = process ? w->people.processes[process].name : NULL;

	return name && *name ? name : "(no name)";
}

/* Index of the processes of that name. Negative: an error. */
static int process_of(struct diff_side *s, const struct walk *w, uint32_t process, struct fault *why)
{
	uint32_t known = map_get(&s->gather->processes, process, 0);
	const char *name = name_of(w, process);
	struct diff_process *more;
	size_t i = 0;

	if (known)
		return (int)known - 1;
	while (i < s->nprocesses && strcmp(s->processes[i].name, name) != 0)
		i++;
	if (i == s->nprocesses) {
		more = reallocarray(s->processes, i + 1, sizeof(*more));
		if (!more)
			return no_memory(why);
		s->processes = more;
		more[i] = (struct diff_process){.name = strdup(name)};
		if (!more[i].name)
			return no_memory(why);
		s->nprocesses++;
	}
	return map_put(&s->gather->processes, process, 0, (uint32_t)i + 1) ? no_memory(why) : (int)i;
}

static int new_row(struct diff_side *s, const char *process, const char *function, struct fault *why)
{
	struct diff_row *row = calloc(1, sizeof(*row)), **more;

	more = row ? reallocarray(s->rows, s->nrows + 1, sizeof(*more)) : NULL;
	if (!more) {
		free(row);
		return no_memory(why);
	}
	s->rows = more;
	more[s->nrows++] = row;
	row->process = strdup(process);
	row->function = strdup(function);
	return row->process && row->function ? 0 : no_memory(why);
}

static int row_of(struct diff_side *s, const struct walk *w, uint32_t process, uint16_t probe, struct diff_row **out,
		  struct fault *why)
{
	uint32_t known = map_get(&s->gather->rows, process, probe);
	const struct probe *p = schema_probe(&w->reader->header.schema, probe);
	const char *name = name_of(w, process), *function = p ? p->name : "(no probe)";
	size_t i = 0;
	int r = 0;

	if (known) {
		*out = s->rows[known - 1];
		return 0;
	}
	while (i < s->nrows && (strcmp(s->rows[i]->process, name) != 0 || strcmp(s->rows[i]->function, function) != 0))
		i++;
	if (i == s->nrows)
		r = new_row(s, name, function, why);
	if (r == 0 && map_put(&s->gather->rows, process, probe, (uint32_t)i + 1))
		r = no_memory(why);
	if (r == 0)
		*out = s->rows[i];
	return r;
}

/* --- memory held --- */

static void release(struct diff_side *s, uint32_t process, uint64_t addr)
{
	uint32_t at = map_get(&s->gather->addresses, process, addr);
	struct live *live;

	if (!at)
		return; /* allocated before recording began */
	live = &s->gather->lives[at];
	if (!live->process)
		return; /* given back before */
	s->processes[live->process - 1].held_bytes -= live->bytes;
	*live = (struct live){0}; /* its place stays with the address, which comes round */
}

static int see_alloc(struct diff_side *s, const struct walk *w, const struct event *ev, struct fault *why)
{
	uint32_t process = people_process(&w->people, (uint32_t)ev->v[F_alloc_pid]), at;
	uint64_t addr = ev->v[F_alloc_addr];
	struct gather *g = s->gather;
	struct diff_process *p;
	int index = process_of(s, w, process, why);

	if (index < 0)
		return index;
	release(s, process, addr);
	at = map_get(&g->addresses, process, addr);
	if (!at) {
		struct live *more = with_room(g->lives, &g->lives_room, g->nlives + 1, sizeof(*more));

		if (!more)
			return no_memory(why);
		g->lives = more;
		at = (uint32_t)++g->nlives;
		if (map_put(&g->addresses, process, addr, at))
			return no_memory(why);
	}
	g->lives[at] = (struct live){ev->v[F_alloc_bytes], (uint32_t)index + 1};
	p = &s->processes[index];
	p->held_bytes += ev->v[F_alloc_bytes];
	if (p->held_bytes > p->peak_bytes)
		p->peak_bytes = p->held_bytes;
	return 0;
}

static int see_memory(struct diff_side *s, const struct walk *w, const struct event *ev, struct fault *why)
{
	if (ev->v[F_call_ret] != 0 || ev->v[F_call_flags] & CALL_NESTED)
		return 0;
	if (ev->kind == KIND_alloc && ev->v[F_alloc_addr])
		return see_alloc(s, w, ev, why);
	if (ev->kind == KIND_free)
		release(s, people_process(&w->people, (uint32_t)ev->v[F_free_pid]), ev->v[F_free_addr]);
	return 0;
}

/* --- where the time went --- */

static struct thread_offs *offs_of(struct diff_side *s, uint32_t thread)
{
	struct gather *g = s->gather;

	if (thread >= g->nthreads) {
		size_t room = (size_t)thread * 2 + 64;
		struct thread_offs **more = reallocarray(g->threads, room, sizeof(*more));

		if (!more)
			return NULL;
		memset(more + g->nthreads, 0, (room - g->nthreads) * sizeof(*more));
		g->threads = more;
		g->nthreads = room;
	}
	if (!g->threads[thread])
		g->threads[thread] = calloc(1, sizeof(**g->threads));
	return g->threads[thread];
}

static void came_back(struct thread_offs *t, uint64_t at_ns)
{
	struct off off = {t->left_ns, t->preempted ? t->left_ns : t->woken_ns ? t->woken_ns : at_ns, at_ns, false};

	if (t->left_ns && t->n < OFFS_MAX)
		t->offs[t->n++] = off;
	t->left_ns = 0;
}

static int see_switch(struct diff_side *s, const struct walk *w, const struct event *ev, struct fault *why)
{
	uint32_t prev = people_thread(&w->people, (uint32_t)ev->v[F_switch_prev_tid]);
	uint32_t next = people_thread(&w->people, (uint32_t)ev->v[F_switch_next_tid]);
	struct thread_offs *t;

	if (next && people_is_recorded(&w->people, next)) {
		t = offs_of(s, next);
		if (!t)
			return no_memory(why);
		came_back(t, ev->at_ns);
	}
	if (!prev || !people_is_recorded(&w->people, prev))
		return 0;
	t = offs_of(s, prev);
	if (!t)
		return no_memory(why);
	t->left_ns = ev->at_ns;
	t->woken_ns = 0;
	t->preempted = ev->v[F_switch_prev_state] == 0;
	return 0;
}

static int see_waking(struct diff_side *s, const struct walk *w, const struct event *ev, struct fault *why)
{
	uint32_t thread = people_thread(&w->people, (uint32_t)ev->v[F_waking_tid]);
	struct thread_offs *t = thread ? offs_of(s, thread) : NULL;

	if (thread && !t)
		return no_memory(why);
	if (t && t->left_ns && !t->woken_ns)
		t->woken_ns = ev->at_ns;
	return 0;
}

/* The stretches that a futex call covers were its sleep. */
static int see_futex(struct diff_side *s, const struct walk *w, const struct event *ev, struct fault *why)
{
	uint32_t thread = people_thread(&w->people, (uint32_t)ev->v[F_futex_tid]);
	struct thread_offs *t = thread ? offs_of(s, thread) : NULL;
	uint64_t start_ns = ev->at_ns - ev->v[F_futex_dur];

	if (thread && !t)
		return no_memory(why);
	for (size_t i = 0; t && i < t->n; i++)
		t->offs[i].futex = t->offs[i].futex || t->offs[i].begin_ns >= start_ns;
	return 0;
}

static void split(struct diff_process *p, struct thread_offs *t, uint64_t start_ns, uint64_t at_ns)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct off *o = &t->offs[i];
		uint64_t begin = o->begin_ns > start_ns ? o->begin_ns : start_ns;
		uint64_t end = o->end_ns < at_ns ? o->end_ns : at_ns;
		uint64_t run = o->runnable_ns > begin ? o->runnable_ns : begin;

		if (end <= begin)
			continue;
		run = run < end ? run : end;
		p->runnable_ns += end - run;
		*(o->futex ? &p->futex_ns : &p->asleep_ns) += run - begin;
	}
	t->n = 0;
}

static int see_call(struct diff_side *s, const struct walk *w, const struct event *ev, struct fault *why)
{
	uint32_t process = people_process(&w->people, (uint32_t)ev->v[F_call_pid]);
	uint32_t thread = people_thread(&w->people, (uint32_t)ev->v[F_call_tid]);
	uint64_t dur_ns = ev->v[F_call_dur];
	struct thread_offs *t = thread ? offs_of(s, thread) : NULL;
	struct diff_row *row = NULL;
	uint64_t *now;
	int r = row_of(s, w, process, (uint16_t)ev->v[F_call_probe], &row, why), index;

	if (r < 0)
		return r;
	now = with_room(row->now, &row->now_room, row->nnow, sizeof(*now));
	if ((thread && !t) || !now)
		return no_memory(why);
	row->now = now;
	row->now[row->nnow++] = dur_ns;
	row->nfailed += ev->v[F_call_ret] != 0;
	diff_count(row, dur_ns);
	if (ev->v[F_call_flags] & CALL_NESTED)
		return see_memory(s, w, ev, why);
	index = process_of(s, w, process, why);
	if (index < 0)
		return index;
	s->processes[index].in_calls_ns += dur_ns;
	if (t)
		split(&s->processes[index], t, ev->at_ns - dur_ns, ev->at_ns);
	return see_memory(s, w, ev, why);
}

/* --- the walk --- */

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The open epoch's calls become one block of each row. */
static int close_epoch(struct diff_side *s, struct fault *why)
{
	for (size_t i = 0; i < s->nrows; i++) {
		struct diff_row *row = s->rows[i];
		struct block *more;

		if (row->nnow == 0)
			continue;
		more = with_room(row->blocks, &row->blocks_room, row->nblocks, sizeof(*more));
		if (!more)
			return no_memory(why);
		row->blocks = more;
		qsort(row->now, row->nnow, sizeof(*row->now), by_number);
		row->blocks[row->nblocks++] =
			(struct block){s->gather->epoch, row->nnow, row->now[(row->nnow - 1) / 2]};
		row->nnow = 0;
	}
	return 0;
}

static int on_epoch(void *self, struct walk *w, const struct epoch *e, struct fault *why)
{
	struct diff_side *s = self;
	int r = close_epoch(s, why);
	uint64_t *more;

	(void)w;
	if (r < 0)
		return r;
	more = with_room(s->epoch_ns, &s->epochs_room, s->nepochs, sizeof(*more));
	if (!more)
		return no_memory(why);
	s->epoch_ns = more;
	s->gather->epoch = s->nepochs;
	s->epoch_ns[s->nepochs++] = e->end_ns - e->begin_ns;
	s->duration_ns += e->end_ns - e->begin_ns;
	return 0;
}

static int on_event(void *self, struct walk *w, const struct event *ev, struct fault *why)
{
	struct diff_side *s = self;

	s->nevents++;
	if (ev->shape->flags == KIND_CALL)
		return see_call(s, w, ev, why);
	switch (ev->kind) {
	case KIND_switch:
		return see_switch(s, w, ev, why);
	case KIND_waking:
		return see_waking(s, w, ev, why);
	case KIND_futex:
		return see_futex(s, w, ev, why);
	default:
		return 0;
	}
}

static int on_end(void *self, struct walk *w, const struct fault *stopped, struct fault *why)
{
	(void)w, (void)stopped;
	return close_epoch(self, why);
}

static void gather_free(struct gather *g)
{
	if (!g)
		return;
	map_clear(&g->rows);
	map_clear(&g->processes);
	map_clear(&g->addresses);
	free(g->lives);
	for (size_t i = 0; i < g->nthreads; i++)
		free(g->threads[i]);
	free(g->threads);
	free(g);
}

int diff_collect(struct diff_side **out, const struct replay *replay, struct fault *why)
{
	static const struct visitor visitor = {.keep_names = true, .epoch = on_epoch, .event = on_event, .end = on_end};
	struct diff_side *s = calloc(1, sizeof(*s));
	int r;

	if (s)
		s->gather = calloc(1, sizeof(*s->gather));
	if (!s || !s->gather) {
		free(s);
		return no_memory(why);
	}
	s->verdict = verdict_word(replay->evidence->verification.verdict);
	s->nlost = replay->evidence->verification.nlost;
	tool_format_hex(s->capture, replay->evidence->reader.header.capture_id, CAPTURE_ID_BYTES);
	r = walk(replay, &visitor, s, why);
	gather_free(s->gather);
	s->gather = NULL;
	if (r < 0)
		diff_free(s);
	else
		*out = s;
	return r;
}

void diff_free(struct diff_side *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->nrows; i++) {
		free(s->rows[i]->process);
		free(s->rows[i]->function);
		free(s->rows[i]->now);
		free(s->rows[i]->blocks);
		free(s->rows[i]);
	}
	free(s->rows);
	for (size_t i = 0; i < s->nprocesses; i++)
		free(s->processes[i].name);
	free(s->processes);
	free(s->epoch_ns);
	free(s);
}
