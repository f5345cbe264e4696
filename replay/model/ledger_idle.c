// SPDX-License-Identifier: Apache-2.0
#include "replay/model/ledger_idle.h"

#include <stdlib.h>

static const uint64_t none[LEDGER_PARTS];

const uint64_t *ledger_idle(const struct ledger_thread *t)
{
	if (!t->gpu || t->gpu->unknown || t->gpu->wrong)
		return NULL;
	return t->idle_ns ? t->idle_ns : none;
}

const uint64_t *ledger_left(const struct ledger_thread *t)
{
	return ledger_idle(t) && t->left_ns ? t->left_ns : ledger_idle(t) ? none : NULL;
}

/* Its process has been given work since, or has none now. False: no memory. */
static bool turn(struct ledger_thread *t, uint64_t since_ns)
{
	const struct gpu_process *p = t->gpu;
	bool whole = true;

	if (p->nfed - t->earlier_nfed > GPU_ROOM_LEAST)
		t->earlier.n = 0;
	if (p->idle_ns == NO_TIME && t->idling_nfed && p->nfed - t->idling_nfed <= GPU_ROOM_LEAST) {
		if (!t->earlier.n)
			t->earlier_nfed = t->idling_nfed;
		whole = waited_gather(&t->earlier, &t->idling);
	}
	t->idling.n = 0;
	t->idling_ns = since_ns;
	t->idling_nfed = p->idle_ns == NO_TIME ? p->nfed : 0;
	return whole;
}

bool idle_spend(struct ledger_thread *t, enum ledger_part part, const struct whom *whom, uint64_t begin_ns,
		uint64_t end_ns)
{
	uint64_t since_ns = t->gpu->idle_ns != NO_TIME ? t->gpu->idle_ns : t->gpu->fed_ns;

	if (t->idling_ns != since_ns && !turn(t, since_ns))
		return false;
	if (begin_ns < t->idling_ns)
		begin_ns = t->idling_ns;
	return begin_ns >= end_ns || waited_add(&t->idling, part, whom, end_ns - begin_ns);
}

/* It is kept no longer, and counts. */
static bool count(struct gpu_process *p, struct idle_span *s)
{
	struct ledger_thread *t = s->thread;

	if (!t->idle_ns)
		t->idle_ns = calloc(LEDGER_PARTS, sizeof(*t->idle_ns));
	for (size_t i = 0; t->idle_ns && i < s->parts.n; i++) {
		const struct waited_for *w = &s->parts.all[i];

		t->idle_ns[w->part] += w->ns;
		if (ledger_names((enum ledger_part)w->part))
			waited_work(&t->waited, w->part, &w->whom, w->ns, false);
	}
	s->parts.n = 0;
	p->counted_ns = s->end_ns;
	return t->idle_ns;
}

/* What the thread did since the process has no work, up to then. */
static bool keep(struct ledger_thread *t, uint64_t until_ns)
{
	struct gpu_process *p = t->gpu;
	struct waited_list emptied;
	struct idle_span *s;
	bool whole = true;

	if (p->idle_ns >= until_ns || t->idling_ns != p->idle_ns || !t->idling.n)
		return true;
	if (!p->spans)
		p->spans = calloc(IDLE_SPANS_MAX, sizeof(*p->spans));
	if (!p->spans)
		return false;
	if (p->nspans == IDLE_SPANS_MAX) {
		whole = count(p, idle_span_at(p, 0));
		p->first_span = (p->first_span + 1) % IDLE_SPANS_MAX;
		p->nspans--;
	}
	s = idle_span_at(p, p->nspans++);
	emptied = s->parts;
	*s = (struct idle_span){p->idle_ns, until_ns, t, t->idling};
	t->idling = emptied;
	return whole;
}

/* There was work since then. */
static void drop(struct gpu_process *p, uint64_t since_ns)
{
	while (p->nspans && idle_span_at(p, p->nspans - 1)->end_ns > since_ns)
		idle_span_at(p, --p->nspans)->parts.n = 0;
	p->wrong |= p->counted_ns > since_ns;
}

bool idle_end(struct ledger_thread *t, uint64_t begin_ns)
{
	bool whole = keep(t, begin_ns);

	drop(t->gpu, begin_ns);
	t->gpu->idle_ns = NO_TIME;
	return whole;
}

bool idle_leave(struct ledger_thread *t, uint64_t at_ns)
{
	struct gpu_process *p = t->gpu;
	bool whole;

	if (!p || p->feeder != t || p->idle_ns >= at_ns)
		return true;
	whole = keep(t, at_ns);
	p->idle_ns = at_ns;
	return whole;
}

bool idle_count(struct gpu_work *w)
{
	bool whole = true;

	for (size_t i = 0; i < w->processes.nitems; i++) {
		struct gpu_process *p = (struct gpu_process *)w->processes.items[i];

		for (unsigned k = 0; k < p->nspans; k++)
			whole = count(p, idle_span_at(p, k)) && whole;
		p->nspans = 0;
	}
	return whole;
}

static bool has_left(struct ledger_thread *t)
{
	if (!t->left_ns)
		t->left_ns = calloc(LEDGER_PARTS, sizeof(*t->left_ns));
	return t->left_ns;
}

/* There was work left in all of that. */
static bool count_left(struct ledger_thread *t, struct waited_list *list)
{
	if (!has_left(t))
		return false;
	for (size_t i = 0; i < list->n; i++) {
		const struct waited_for *w = &list->all[i];

		t->left_ns[w->part] += w->ns;
		if (ledger_names((enum ledger_part)w->part))
			waited_work(&t->waited, w->part, &w->whom, w->ns, true);
	}
	list->n = 0;
	return true;
}

bool idle_left(struct ledger_thread *t, uint64_t since_ns)
{
	return t->idling_ns != since_ns || !t->idling_nfed || count_left(t, &t->idling);
}

/* (Where a queue is full, the process has not been without work for longer than these calls go back.) */
bool idle_left_full(struct ledger_thread *t, uint64_t room_ns)
{
	uint64_t before = t->gpu->nfed - 1;
	bool whole = has_left(t);

	if (whole)
		t->left_ns[LEDGER_GPU] += room_ns;
	if (t->idling_nfed && before - t->idling_nfed < GPU_ROOM_LEAST)
		whole = count_left(t, &t->idling) && whole;
	if (before - t->earlier_nfed < GPU_ROOM_LEAST)
		whole = count_left(t, &t->earlier) && whole;
	return whole;
}

/* What was moved to first calls was such time, so much of it as has not been dropped; and what there is no room for. */
static void move_to_first(struct ledger_thread *t, enum ledger_part part, uint64_t first_ns)
{
	uint64_t *idle_ns = &t->idle_ns[part], moved_ns = first_ns < *idle_ns ? first_ns : *idle_ns;

	if (*idle_ns - moved_ns > t->ns[part])
		moved_ns = *idle_ns - t->ns[part];
	*idle_ns -= moved_ns;
	t->idle_ns[LEDGER_FIRST] += moved_ns;
}

void idle_finish(struct ledger_thread *t)
{
	for (size_t i = 0; !ledger_idle(t) && i < t->waited.n; i++)
		t->waited.all[i].idle_ns = t->waited.all[i].left_ns = 0;
	if (t->idle_ns) {
		move_to_first(t, LEDGER_CALLS, t->first_idle_ns[0]);
		move_to_first(t, LEDGER_KERNEL, t->first_idle_ns[1]);
	}
	for (unsigned p = 0; t->left_ns && p < LEDGER_PARTS; p++) {
		uint64_t room_ns = t->ns[p] - (t->idle_ns ? t->idle_ns[p] : 0);

		t->left_ns[p] = t->left_ns[p] < room_ns ? t->left_ns[p] : room_ns;
	}
}

void idle_clear(struct gpu_work *w)
{
	for (size_t i = 0; i < w->processes.nitems; i++) {
		struct gpu_process *p = (struct gpu_process *)w->processes.items[i];

		for (unsigned k = 0; p->spans && k < IDLE_SPANS_MAX; k++)
			waited_clear(&p->spans[k].parts);
		free(p->spans);
	}
	gpu_work_clear(w);
}
