// SPDX-License-Identifier: Apache-2.0
/* What futexes, page faults, the hypervisor and losses add to what timeline.c learns from switches. */
#include <string.h>

#include "format/base/map.h"
#include "replay/model/timeline_internal.h"
#include "format/kinds.h"

/* futex(2) commands that never sleep in the futex; all others, later ones too, may. */
static bool futex_op_waits(uint32_t op)
{
	static const uint8_t others[] = {1, 2, 3, 4, 5, 7, 10, 12}; /* wake, requeue, unlock, trylock, ... */

	return !memchr(others, (int)op, sizeof(others)) || op > UINT8_MAX;
}

static uint8_t how_wait_ended(int64_t ret)
{
	static const struct {
		int64_t ret;
		uint8_t flag;
	} ends[] = {
		{-110, SPAN_TIMED_OUT},                         /* ETIMEDOUT */
		{-4, SPAN_SIGNALLED},                           /* EINTR */
		{-512, SPAN_SIGNALLED}, {-513, SPAN_SIGNALLED}, /* the kernel's own: restart the call */
		{-514, SPAN_SIGNALLED}, {-516, SPAN_SIGNALLED},
	};

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (ends[i].ret == ret)
			return ends[i].flag;
	return 0;
}

#define FUTEX_WAIT_OP 0
#define FUTEX_CONTENDED 2
#define FUTEX_WAITERS_BIT 0x80000000U

static bool futex_is_lock(const struct futex_row *row)
{
	static const uint8_t pi_waits[] = {6, 11, 13}; /* LOCK_PI, WAIT_REQUEUE_PI, LOCK_PI2 */

	if (row->op == FUTEX_WAIT_OP)
		return row->val == FUTEX_CONTENDED || row->val & FUTEX_WAITERS_BIT;
	return row->op <= UINT8_MAX && memchr(pi_waits, (int)row->op, sizeof(pi_waits));
}

static struct wake *wake_of(struct timeline *tl, uint32_t pid, uint64_t addr)
{
	return &tl->wakes[map_mix(futex_block(addr) ^ (uint64_t)pid << 32) % WAKES];
}

/* Its place may be another futex's. */
static bool is_of(const struct wake *w, uint32_t pid, uint64_t addr)
{
	return w->block == futex_block(addr) && w->pid == pid;
}

/* It timed out, but was for this thread. */
static void end_by(struct span *s, uint32_t tid)
{
	s->flags &= (uint32_t) ~(SPAN_TIMED_OUT | SPAN_TIMER | SPAN_IRQ);
	s->flags |= SPAN_WOKEN;
	s->other_tid = tid;
}

/*
 * The sleep timed out, but before the thread was back another one called wake there: for it, so that the row does not
 * know of the timer, or for another one that waits for the same, as CPython's threads do for its lock. The wait was for
 * who called.
 */
static void end_late(struct timeline *tl, const struct futex_row *row, struct span *last)
{
	struct wake *w = wake_of(tl, row->pid, row->addr);
	bool unknown = row->ret == 0 && last->flags & SPAN_WOKEN && !woken_by_task(last);

	if (!(last->flags & SPAN_TIMED_OUT) && !unknown)
		return;
	if (!is_of(w, row->pid, row->addr))
		*w = (struct wake){.block = futex_block(row->addr), .pid = row->pid, .tid = row->tid};
	if (w->tid != row->tid && w->at_ns >= row->begin_ns)
		end_by(last, w->tid);
	else if (!unknown)
		w->late_tid = row->tid;
}

/* It slept, or rows of a sleep are missing: then what it did is unknown, but for that. */
static bool is_sleep(const struct span *s)
{
	return s->state == STATE_ASLEEP || (s->state == STATE_UNKNOWN && s->reason == UNKNOWN_CONTRADICTED);
}

/* The next sleep of [begin_ns, at_ns], from the latest back; *i: how many there are, at first. NULL: there are no more.
 */
static struct span *sleep_inside(const struct track *th, unsigned *i, uint64_t begin_ns, uint64_t at_ns)
{
	while (*i > 0) {
		struct span *s = ring_at(&th->spans, --*i);

		if (s->end_ns <= begin_ns || s->begin_ns < begin_ns)
			break;
		if (is_sleep(s) && s->end_ns <= at_ns)
			return s;
	}
	return NULL;
}

struct wait {
	uint64_t slept_ns, looked_ns;
};

/* The sleep before next_ns, if its time was up then, and the thread only looked since. */
static struct span *timed_out_before(const struct track *th, unsigned *i, uint64_t next_ns, struct wait *w)
{
	while (*i > 0) {
		struct span *s = ring_at(&th->spans, --*i);

		if (s->end_ns != next_ns)
			return NULL;
		next_ns = s->begin_ns;
		if (is_sleep(s))
			return s->flags & (SPAN_TIMED_OUT | SPAN_TIMER) &&
					       wait_goes_on(w->slept_ns + s->end_ns - s->begin_ns, w->looked_ns)
				       ? s
				       : NULL;
		if (s->state == STATE_RUNNING)
			w->looked_ns += s->end_ns - s->begin_ns;
	}
	return NULL;
}

/* The same of this one, in the same futex or system call. */
static struct span *same_wait(const struct track *th, unsigned *i, const struct span *later, struct wait *w)
{
	struct span *s;

	w->slept_ns += later->end_ns - later->begin_ns;
	s = timed_out_before(th, i, later->begin_ns, w);
	return s && wait_object(s) && wait_object(s) == wait_object(later) ? s : NULL;
}

/* A thread ended the last sleep of a call, whose first one is item `i`: the wait may have begun before. */
static void end_wait(const struct track *th, unsigned i, const struct span *last)
{
	struct span *s = ring_at(&th->spans, i);
	struct wait w = {0};

	if (!woken_by_task(last) || is_stop(last) || last->flags & (SPAN_TIMED_OUT | SPAN_SIGNALLED))
		return;
	while ((s = same_wait(th, &i, s, &w)))
		end_by(s, last->other_tid);
}

/*
 * The thread's time was up, and it only looked since, and was about to sleep there again: another one called wake there
 * at at_ns, before it slept. (CPython's threads ask for its lock so, when their time is up, and are given it at once.)
 */
static void end_returned(const struct track *th, uint64_t block, uint64_t at_ns, uint32_t by_tid)
{
	const struct span *now = open_of(th);
	unsigned i = ring_n(&th->spans);
	struct wait w = {0};
	struct span *s;

	if (now->state == STATE_ASLEEP)
		return;
	if (now->state == STATE_RUNNING && now->begin_ns < at_ns)
		w.looked_ns = at_ns - now->begin_ns;
	s = timed_out_before(th, &i, now->begin_ns, &w);
	if (!s || wait_object(s) != block)
		return;
	end_by(s, by_tid);
	end_wait(th, i, s);
}

/*
 * When its time was up the thread had to wait for a lock, to look, until it was let on by one that had called wake,
 * since, for what it had waited for: so that one ended the wait, though whom it woke there was another one. Items of
 * the thread before `i` are before begin_ns, when it came to the lock.
 */
static void end_looking(struct timeline *tl, const struct track *th, unsigned i, uint64_t begin_ns, uint32_t by_tid,
			const struct futex_row *row)
{
	struct wait w = {.looked_ns = row->at_ns - row->begin_ns};
	const struct span *s = timed_out_before(th, &i, begin_ns, &w);
	const struct wake *by = s && s->flags & SPAN_FUTEX ? wake_of(tl, row->pid, s->futex) : NULL;

	if (!futex_is_lock(row) || !by || futex_block(s->futex) == futex_block(row->addr) ||
	    !is_of(by, row->pid, s->futex) || by->tid != by_tid || by->at_ns < s->end_ns)
		return;
	end_by(ring_at(&th->spans, i), by_tid);
	end_wait(th, i, s);
}

/* A row of a call that does not wait. */
static void note_wake(struct timeline *tl, const struct futex_row *row)
{
	static const uint8_t wakes[] = {1, 5, 10}; /* WAKE, WAKE_OP, WAKE_BITSET */
	struct wake *w = wake_of(tl, row->pid, row->addr);
	uint64_t block = futex_block(row->addr);
	const struct track *late = NULL;

	if (row->ret < 0 || row->op > UINT8_MAX || !memchr(wakes, (int)row->op, sizeof(wakes)))
		return;
	if (w->late_tid && w->late_tid != row->tid && is_of(w, row->pid, row->addr))
		late = table_find(&tl->threads, w->late_tid, 0);
	*w = (struct wake){row->at_ns, block, row->pid, row->tid, 0};
	if (late && row->ret == 0)
		end_returned(late, block, row->at_ns, row->tid);
}

void timeline_wait_ended(struct track *th)
{
	unsigned n = ring_n(&th->spans);

	if (n)
		end_wait(th, n - 1, ring_at(&th->spans, n - 1));
}

int timeline_futex(struct timeline *tl, const struct futex_row *row, struct fault *why)
{
	int r = timeline_call(tl, row->begin_ns, row->at_ns, row->tid, row->cpu, why);
	const struct track *th = table_find(&tl->threads, row->tid, 0);
	uint8_t ended = how_wait_ended(row->ret), kind = futex_is_lock(row) ? SPAN_LOCK : 0;
	unsigned i = th ? ring_n(&th->spans) : 0, first = 0;
	struct span *s, *last = NULL;
	const struct wake *by;

	if (!futex_op_waits(row->op))
		note_wake(tl, row);
	if (r < 0 || !th || !futex_op_waits(row->op))
		return r;
	while ((s = sleep_inside(th, &i, row->begin_ns, row->at_ns))) {
		if (s->task_state & TASK_UNINTERRUPTIBLE_BIT || s->flags & SPAN_FAULT)
			continue;
		s->flags |= (uint32_t)(SPAN_FUTEX | kind | ended);
		s->futex = row->addr;
		if (s->state == STATE_ASLEEP)
			ended = 0; /* how it ended speaks of the last sleep */
		last = last ? last : s;
		first = i;
	}
	by = wake_of(tl, row->pid, row->addr);
	if (!last && row->ret == 0 && is_of(by, row->pid, row->addr) && by->tid != row->tid &&
	    by->at_ns >= row->begin_ns) { /* it slept for no time */
		end_returned(th, by->block, by->at_ns, by->tid);
		end_looking(tl, th, ring_n(&th->spans), open_of(th)->begin_ns, by->tid, row);
	}
	if (!last)
		return 0;
	end_late(tl, row, last);
	end_wait(th, first, last);
	if (last == ring_at(&th->spans, first) && woken_by_task(last))
		end_looking(tl, th, first, last->begin_ns, last->other_tid, row);
	return 0;
}

void timeline_in_futex(struct timeline *tl, uint64_t begin_ns, uint32_t tid, uint64_t addr)
{
	const struct track *th = table_find(&tl->threads, tid, 0);
	struct span *now = th ? open_of(th) : NULL;

	if (!now || now->state != STATE_ASLEEP || now->begin_ns < begin_ns || now->flags & SPAN_FAULT ||
	    now->task_state & TASK_UNINTERRUPTIBLE_BIT)
		return;
	now->flags |= SPAN_FUTEX;
	now->futex = addr;
}

void timeline_fault(struct timeline *tl, uint64_t begin_ns, uint64_t at_ns, uint32_t tid)
{
	struct track *th = table_find(&tl->threads, tid, 0);
	unsigned i = th ? ring_n(&th->spans) : 0;
	struct span *s;

	if (!th)
		return;
	if (th->tracked_since_ns > begin_ns)
		th->tracked_since_ns = begin_ns;
	if (th->began_running && begin_ns < th->first_ns && begin_ns < th->ran_since_ns)
		th->ran_since_ns = begin_ns;
	while ((s = sleep_inside(th, &i, begin_ns, at_ns)))
		s->flags |= SPAN_FAULT;
}

/* What it sleeps in; NULL: it does not. */
static struct span *sleep_of(const struct timeline *tl, uint32_t tid)
{
	const struct track *th = table_find(&tl->threads, tid, 0);

	return th && open_of(th)->state == STATE_ASLEEP ? open_of(th) : NULL;
}

void timeline_network(struct timeline *tl, uint32_t tid)
{
	struct span *sleep = sleep_of(tl, tid);

	if (sleep)
		sleep->flags |= SPAN_NETWORK;
}

void timeline_swap_in(struct timeline *tl, uint32_t tid)
{
	struct span *sleep = sleep_of(tl, tid);

	if (sleep)
		sleep->flags |= SPAN_MEMORY | SPAN_SWAP;
}

uint64_t timeline_sleeps_since(const struct timeline *tl, uint32_t tid)
{
	const struct span *sleep = sleep_of(tl, tid);

	return sleep ? sleep->begin_ns : NO_SLEEP;
}

int timeline_reclaim(struct timeline *tl, uint64_t begin_ns, uint64_t at_ns, uint32_t tid, uint32_t cpu, uint32_t flags,
		     struct fault *why)
{
	int r = timeline_call(tl, begin_ns, at_ns, tid, cpu, why);
	struct track *th = table_find(&tl->threads, tid, 0);
	const struct reclaim *last =
		th && ring_n(&th->reclaims) ? ring_at(&th->reclaims, ring_n(&th->reclaims) - 1) : NULL;
	struct reclaim *one;

	if (last && begin_ns < last->end_ns)
		begin_ns = last->end_ns;
	if (r < 0 || !th || begin_ns >= at_ns)
		return r;
	if (tl->full && ring_is_full(&th->reclaims, sizeof(*one), TIMELINE_RECLAIMS_MAX))
		tl->full(tl->full_arg, tid,
			 ((struct reclaim *)ring_at(&th->reclaims, ring_n(&th->reclaims) - RING_SPARE / 2))->begin_ns);
	one = add(tl, &th->reclaims, sizeof(*one), TIMELINE_RECLAIMS_MAX, false);
	if (one)
		*one = (struct reclaim){begin_ns, at_ns, flags};
	return outcome(tl, why);
}

int timeline_take(struct timeline *tl, uint64_t at_ns, uint32_t number, const uint64_t ns[TAKERS], struct fault *why)
{
	struct cpu *cpu = cpu_get(tl, number);
	struct taken since = {.end_ns = at_ns}, *t;
	bool any = false;

	if (!cpu)
		return outcome(tl, why);
	since.begin_ns = cpu->looked_ns;
	for (unsigned i = 0; i < TAKERS; i++) {
		since.ns[i] = ns[i] > cpu->taken_ns[i] ? ns[i] - cpu->taken_ns[i] : 0;
		any = any || since.ns[i];
	}
	if (cpu->looked_ns && cpu->looked_ns < at_ns && any) {
		t = add(tl, &cpu->taken, sizeof(*t), TIMELINE_TAKEN_MAX, false);
		if (t)
			*t = since;
	}
	cpu->looked_ns = at_ns;
	memcpy(cpu->taken_ns, ns, sizeof(cpu->taken_ns));
	return outcome(tl, why);
}

void timeline_reports_pins(struct timeline *tl)
{
	tl->reports_pins = true;
}

void timeline_ask_cpus(struct timeline *tl, int (*may_run)(void *arg, uint32_t tid, uint32_t cpu), void *arg)
{
	tl->may_run = may_run;
	tl->may_run_arg = arg;
}

int timeline_blind(struct timeline *tl, uint64_t begin_ns, uint64_t end_ns, struct fault *why)
{
	struct interval zone = {begin_ns, end_ns}, *at;
	struct ring *blind = &tl->blind;
	unsigned n;

	if (begin_ns >= end_ns)
		return 0;
	/* Zones stay disjoint and in order: those that this one touches become part of it. */
	while ((n = ring_n(blind)) > 0) {
		at = ring_at(blind, n - 1);
		if (zone.begin_ns > at->end_ns)
			break;
		if (at->begin_ns < zone.begin_ns)
			zone.begin_ns = at->begin_ns;
		if (at->end_ns > zone.end_ns)
			zone.end_ns = at->end_ns;
		ring_drop_last(blind);
	}
	if (n == TIMELINE_BLIND_MAX) {
		begin_ns = ((struct interval *)ring_at(blind, 0))->begin_ns;
		ring_drop_first(blind);
		((struct interval *)ring_at(blind, 0))->begin_ns = begin_ns;
	}
	at = add(tl, blind, sizeof(*at), TIMELINE_BLIND_MAX, false);
	if (at)
		*at = zone;
	return outcome(tl, why);
}
