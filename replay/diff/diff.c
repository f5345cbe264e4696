/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/diff/diff.h"
#include "format/base/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/units.h"
#include "keys/completeness.h"
#include "keys/tool/tool.h"
#include "replay/diff/diff_internal.h"
#include "replay/model/cause.h"
#include "replay/model/timeline_feed.h"

struct gather {
	struct map rows;      /* (process instance, probe) -> index + 1 */
	struct map processes; /* (process instance, 0) -> index + 1 */
	struct allocations allocations;
	const struct walk *walk;        /* whose event is taken in */
	uint64_t (*held)[MEMORY_KINDS]; /* by process instance, as it was last taken in */
	size_t nheld;
	struct timeline *timeline;
	struct moment moment;
	uint64_t epoch;
};

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

uint64_t diff_slow_calls(const struct diff_row *row, uint64_t slow_ns, uint64_t *total_ns)
{
	uint64_t n = 0;

	*total_ns = 0;
	for (size_t i = bucket_of(slow_ns) + 1; row && i < NBUCKETS; i++) {
		n += row->buckets[i];
		*total_ns += row->buckets[i] * bucket_end(i);
	}
	return n;
}

uint64_t diff_quantile(const struct diff_row *row, double share)
{
	uint64_t want = row ? (uint64_t)(share * (double)row->ncalls) : 0, seen = 0, end_ns;

	for (size_t i = 0; row && i < NBUCKETS; i++) {
		seen += row->buckets[i];
		if (seen > want || seen == row->ncalls) {
			end_ns = bucket_end(i);
			return end_ns < row->max_ns ? end_ns : row->max_ns;
		}
	}
	return row ? row->max_ns : 0;
}

/* --- who --- */

static const char *name_of(const struct walk *w, uint32_t process)
{
	const char *name = process ? w->tasks.processes[process].shown : NULL;

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
			return fault_no_memory(why);
		s->processes = more;
		more[i] = (struct diff_process){.name = strdup(name)};
		if (!more[i].name)
			return fault_no_memory(why);
		s->nprocesses++;
	}
	return map_put(&s->gather->processes, process, 0, (uint32_t)i + 1) ? fault_no_memory(why) : (int)i;
}

static int new_row(struct diff_side *s, const char *process, const char *function, struct fault *why)
{
	struct diff_row *row = calloc(1, sizeof(*row)), **more;

	more = row ? reallocarray(s->rows, s->nrows + 1, sizeof(*more)) : NULL;
	if (!more) {
		free(row);
		return fault_no_memory(why);
	}
	s->rows = more;
	more[s->nrows++] = row;
	row->process = strdup(process);
	row->function = strdup(function);
	return row->process && row->function ? 0 : fault_no_memory(why);
}

static int row_of(struct diff_side *s, const struct walk *w, uint32_t process, uint64_t probe, struct diff_row **out,
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
		r = fault_no_memory(why);
	if (r == 0)
		*out = s->rows[i];
	return r;
}

/* --- memory held --- */

static void change(struct diff_process *p, unsigned kind, uint64_t before, uint64_t after)
{
	unsigned both[] = {kind, MEMORY_KINDS};

	for (size_t i = 0; i < 2; i++) {
		uint64_t *held = &p->held_bytes[both[i]], *peak = &p->peak_bytes[both[i]];

		*held += after - before;
		*peak = *held > *peak ? *held : *peak;
	}
	p->low_bytes = p->held_bytes[MEMORY_KINDS] < p->low_bytes ? p->held_bytes[MEMORY_KINDS] : p->low_bytes;
	p->high_bytes = p->held_bytes[MEMORY_KINDS] > p->high_bytes ? p->held_bytes[MEMORY_KINDS] : p->high_bytes;
}

static int see_memory(void *self, uint32_t process, uint64_t at_ns, struct fault *why)
{
	struct diff_side *s = self;
	struct gather *g = s->gather;
	uint64_t *held;
	int index;

	(void)at_ns;
	if (!process)
		return 0;
	index = process_of(s, g->walk, process, why);
	if (index < 0)
		return index;
	held = array_at(&g->held, &g->nheld, process, sizeof(*g->held));
	if (!held)
		return fault_no_memory(why);
	for (unsigned kind = 0; kind < MEMORY_KINDS; kind++) {
		uint64_t now = allocations_held(&g->allocations, process, kind);

		if (now != held[kind])
			change(&s->processes[index], kind, held[kind], now);
		held[kind] = now;
	}
	return 0;
}

/* --- calls --- */

static void add_split(struct diff_split *to, const struct diff_split *s)
{
	to->in_calls_ns += s->in_calls_ns;
	for (unsigned i = 0; i < DIFF_NCAUSES; i++)
		to->ns[i] += s->ns[i];
}

/* What a call's thread was waiting for, as far as its rows report. */
static struct diff_split split_call(const struct timeline *tl, const struct event *ev)
{
	struct diff_split out = {.in_calls_ns = ev->v[F_call_dur]};
	struct split s;

	split_make(&s, tl, as_tid(ev->v[F_call_tid]), call_begin_ns(ev), ev->at_ns);
	out.ns[DIFF_CPU] = s.ns[CAUSE_RUNNABLE] + s.ns[CAUSE_QUOTA];
	out.ns[DIFF_FUTEX] = s.ns[CAUSE_FUTEX];
	out.ns[DIFF_DISK] = s.ns[CAUSE_IO];
	out.ns[DIFF_FAULT] = s.ns[CAUSE_FAULT];
	out.ns[DIFF_OTHER] = s.ns[CAUSE_ASLEEP] + s.ns[CAUSE_STOPPED] + s.ns[CAUSE_MEMORY] + s.ns[CAUSE_NETWORK];
	return out;
}

static int see_slow(struct diff_row *row, uint64_t start_ns, uint64_t end_ns, struct fault *why)
{
	struct incident *last = row->nincidents ? &row->incidents[row->nincidents - 1] : NULL, *new;

	if (end_ns - start_ns < INCIDENT_NS)
		return 0;
	/* Calls come by their ends. */
	if (last && start_ns <= last->end_ns + INCIDENT_GAP_NS) {
		last->start_ns = start_ns < last->start_ns ? start_ns : last->start_ns;
		last->end_ns = end_ns > last->end_ns ? end_ns : last->end_ns;
		last->max_ns = end_ns - start_ns > last->max_ns ? end_ns - start_ns : last->max_ns;
		return 0;
	}
	new = array_at(&row->incidents, &row->incidents_room, row->nincidents, sizeof(*new));
	if (!new)
		return fault_no_memory(why);
	*new = (struct incident){start_ns, end_ns, end_ns - start_ns};
	row->nincidents++;
	return 0;
}

static int see_call(struct diff_side *s, const struct walk *w, const struct event *ev, struct fault *why)
{
	uint32_t process = tasks_process(&w->tasks, (uint32_t)ev->v[F_call_pid]);
	uint64_t dur_ns = ev->v[F_call_dur], *now;
	struct diff_split split;
	struct diff_row *row = NULL;
	int r = row_of(s, w, process, ev->v[F_call_probe], &row, why), index;

	if (r < 0)
		return r;
	now = array_at(&row->now, &row->now_room, row->nnow, sizeof(*now));
	if (!now)
		return fault_no_memory(why);
	*now = dur_ns;
	row->nnow++;
	row->nfailed += ev->v[F_call_ret] != 0;
	diff_count(row, dur_ns);
	if (ev->v[F_call_flags] & CALL_NESTED)
		return 0;
	index = process_of(s, w, process, why);
	if (index < 0)
		return index;
	r = see_slow(row, call_begin_ns(ev), ev->at_ns, why);
	if (r < 0)
		return r;
	split = split_call(s->gather->timeline, ev);
	add_split(&row->split, &split);
	add_split(&row->now_split, &split);
	add_split(&s->processes[index].split, &split);
	add_split(&s->processes[index].now, &split);
	return 0;
}

/* --- the walk --- */

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static int close_memory(struct diff_process *p, uint64_t epoch, struct fault *why)
{
	struct memory_block *new = array_at(&p->memory, &p->memory_room, p->nmemory, sizeof(*new));

	if (!new)
		return fault_no_memory(why);
	*new = (struct memory_block){epoch, p->low_bytes, p->high_bytes};
	p->nmemory++;
	p->low_bytes = p->high_bytes = p->held_bytes[MEMORY_KINDS];
	return 0;
}

/* The open epoch's calls become one block of each row. */
static int close_epoch(struct diff_side *s, struct fault *why)
{
	for (size_t i = 0; i < s->nrows; i++) {
		struct diff_row *row = s->rows[i];
		struct block *new;

		if (row->nnow == 0)
			continue;
		new = array_at(&row->blocks, &row->blocks_room, row->nblocks, sizeof(*new));
		if (!new)
			return fault_no_memory(why);
		qsort(row->now, row->nnow, sizeof(*row->now), by_number);
		*new = (struct block){
			.number = s->gather->epoch,
			.ncalls = row->nnow,
			.median_ns = row->now[(row->nnow - 1) / 2],
			.p99_ns = row->nnow < DIFF_TAIL_CALLS_MIN ? 0 : row->now[(row->nnow - 1) * 99 / 100],
			.split = row->now_split,
		};
		row->nblocks++;
		row->nnow = 0;
		row->now_split = (struct diff_split){0};
	}
	for (size_t i = 0; i < s->nprocesses; i++) {
		struct diff_process *p = &s->processes[i];
		struct split_block *new;
		int r = close_memory(p, s->gather->epoch, why);

		if (r < 0)
			return r;
		if (p->now.in_calls_ns == 0)
			continue;
		new = array_at(&p->blocks, &p->blocks_room, p->nblocks, sizeof(*new));
		if (!new)
			return fault_no_memory(why);
		*new = (struct split_block){s->gather->epoch, p->now};
		p->nblocks++;
		p->now = (struct diff_split){0};
	}
	return 0;
}

/* What says something of threads, in its turn. */
static int take(void *self, const struct event *ev, struct fault *why)
{
	struct diff_side *s = self;
	int r = timeline_feed(s->gather->timeline, ev, why);

	return r || !event_is_call(ev) ? r : see_call(s, s->gather->walk, ev, why);
}

static int end_moment(struct diff_side *s, struct fault *why)
{
	return moment_end(&s->gather->moment, s->gather->timeline, take, s, why);
}

static int on_epoch(void *self, struct walk *w, const struct epoch *e, struct fault *why)
{
	struct diff_side *s = self;
	uint64_t *took_ns;
	int r;

	if (!s->gather->walk)
		timeline_ask_tracked(s->gather->timeline, timeline_tracked_since, &w->tasks);
	s->gather->walk = w;
	r = end_moment(s, why);
	if (r == 0)
		r = close_epoch(s, why);
	if (r == 0)
		r = timeline_feed_epoch(s->gather->timeline, w->reader, e, why);
	if (r < 0)
		return r;
	took_ns = array_at(&s->epoch_ns, &s->epochs_room, s->nepochs, sizeof(*took_ns));
	if (!took_ns)
		return fault_no_memory(why);
	*took_ns = e->end_ns - e->begin_ns;
	s->duration_ns += *took_ns;
	s->gather->epoch = s->nepochs++;
	return 0;
}

static int on_event(void *self, struct walk *w, const struct event *ev, struct fault *why)
{
	struct diff_side *s = self;
	int r = 0;

	s->nevents++;
	if (timeline_wants(ev))
		r = moment_pass(&s->gather->moment, s->gather->timeline, ev, take, s, why);
	/* What a process did not give back before it ended stays in the sum: the program never gave it back. */
	if (r || ev->kind == KIND_exit)
		return r;
	return allocations_feed_event(&s->gather->allocations, &w->tasks, ev, w->nevents, why);
}

static int on_end(void *self, struct walk *w, const struct fault *stopped, struct fault *why)
{
	struct diff_side *s = self;
	int r;

	(void)stopped;
	s->gather->walk = w;
	r = end_moment(s, why);
	if (r == 0)
		r = allocations_settle(&s->gather->allocations, 0, why);
	return r ? r : close_epoch(s, why);
}

static void gather_free(struct gather *g)
{
	if (!g)
		return;
	map_clear(&g->rows);
	map_clear(&g->processes);
	allocations_clear(&g->allocations);
	free(g->held);
	timeline_close(g->timeline);
	moment_clear(&g->moment);
	free(g);
}

int diff_collect(struct diff_side **out, const struct replay *replay, struct fault *why)
{
	static const struct alloc_watch watch = {.changed = see_memory};
	static const struct visitor visitor = {
		.keep_names = true, .ahead = true, .epoch = on_epoch, .event = on_event, .end = on_end};
	struct diff_side *s = calloc(1, sizeof(*s));
	struct completeness complete;
	int r;

	if (s)
		s->gather = calloc(1, sizeof(*s->gather));
	if (!s || !s->gather || timeline_open(&s->gather->timeline, why) < 0) {
		gather_free(s ? s->gather : NULL);
		free(s);
		return fault_no_memory(why);
	}
	s->gather->allocations =
		(struct allocations){.schema = &replay->evidence->reader.header.schema, .watch = &watch, .self = s};
	s->verdict = verdict_word(replay->evidence->verification.verdict);
	completeness_of(&complete, replay->evidence);
	s->nlost = completeness_absent(&complete);
	hex_text(s->capture, replay->evidence->reader.header.capture_id, CAPTURE_ID_BYTES);
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
		free(s->rows[i]->incidents);
		free(s->rows[i]);
	}
	free(s->rows);
	for (size_t i = 0; i < s->nprocesses; i++) {
		free(s->processes[i].name);
		free(s->processes[i].blocks);
		free(s->processes[i].memory);
	}
	free(s->processes);
	free(s->epoch_ns);
	free(s);
}
