// SPDX-License-Identifier: Apache-2.0
#include "analyze/timeline_inside.h"

#include <stdlib.h>
#include <string.h>

#include "format/kinds.h"

/* The kernel's bits in prev_state, from include/linux/sched.h. */
#define TASK_UNINTERRUPTIBLE_BIT 0x2
#define TASK_GONE_BITS 0xb0 /* EXIT_DEAD, EXIT_ZOMBIE, TASK_DEAD */

static int no_memory(struct fault *why)
{
	return fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "out of memory while following threads");
}

int timeline_open(struct timeline **tl, struct fault *why)
{
	struct timeline *t = calloc(1, sizeof(*t));

	if (!t)
		return no_memory(why);
	*tl = t;
	return 0;
}

void timeline_close(struct timeline *tl)
{
	if (!tl)
		return;
	for (size_t i = 0; i < tl->threads.nitems; i++)
		ring_clear(&((struct thread *)tl->threads.items[i])->spans);
	for (size_t i = 0; i < tl->cpus.nitems; i++) {
		ring_clear(&((struct cpu *)tl->cpus.items[i])->occupants);
		ring_clear(&((struct cpu *)tl->cpus.items[i])->thefts);
	}
	table_clear(&tl->threads);
	table_clear(&tl->cpus);
	ring_clear(&tl->blind);
	free(tl);
}

static void thread_reset(struct thread *th)
{
	ring_clear(&th->spans);
	memset(&th->open, 0, sizeof(th->open));
	th->open.other_tid = TID_NONE;
	th->first_ns = NEVER;
	th->began_running = false;
	th->ran_since_ns = NEVER;
	th->tracked_since_ns = NEVER;
	th->woken_while_running = false;
}

/* What a function that tells the timeline something returns. Without memory it keeps no more, and says so each time. */
static inline int outcome(const struct timeline *tl, struct fault *why)
{
	return tl->failed ? no_memory(why) : 0;
}

/* As ring_push(); that there was no memory is remembered. */
static inline void *keep(struct timeline *tl, struct ring *r, const void *item, size_t item_bytes, unsigned max)
{
	void *kept = ring_push(r, item, item_bytes, max);

	tl->failed |= !kept;
	return kept;
}

static __attribute__((cold)) struct thread *thread_add(struct timeline *tl, uint32_t tid)
{
	struct thread *th;

	if (tid == TID_NONE || tl->threads.nitems >= TIMELINE_THREADS_MAX)
		return NULL;
	th = table_add(&tl->threads, tid, 0, sizeof(*th));
	if (th)
		thread_reset(th);
	else
		tl->failed = true;
	return th;
}

/* Known or new. NULL: the idle task, which is no thread; beyond the limit; or no memory. */
static inline struct thread *thread_get(struct timeline *tl, uint32_t tid)
{
	struct thread *th;

	if (tid == TID_IDLE)
		return NULL;
	th = table_find(&tl->threads, tid, 0);
	return th ? th : thread_add(tl, tid);
}

/*
 * What it did until now is over: keep it. What is learnt of it now is to be written to what this returns, which is
 * kept, or is of no use; not before to th->open: the processor would have to wait until it can read back as a whole
 * what was just written in pieces.
 */
static inline struct span *thread_close(struct timeline *tl, struct thread *th, uint64_t at_ns)
{
	struct span *was = NULL;

	if (th->first_ns == NEVER)
		th->first_ns = at_ns;
	else if (th->open.begin_ns < at_ns)
		was = keep(tl, &th->spans, &th->open, sizeof(th->open), TIMELINE_SPANS_MAX);
	if (!was)
		was = &th->open;
	was->end_ns = at_ns;
	return was;
}

/* And this is what it does from now on. */
static inline __attribute__((always_inline)) void thread_begin(struct thread *th, uint64_t at_ns, struct span next)
{
	next.begin_ns = at_ns;
	th->open = next;
}

static inline void thread_runs(struct thread *th, uint64_t at_ns, uint32_t cpu)
{
	th->woken_while_running = false;
	thread_begin(th, at_ns, (struct span){.state = STATE_RUNNING, .cpu = cpu, .other_tid = TID_NONE});
}

/* The rows do not fit: since the row before, nothing is known. */
static __attribute__((cold)) void contradict(struct span *was)
{
	was->state = STATE_UNKNOWN;
	was->reason = UNKNOWN_CONTRADICTED;
	was->flags = 0;
}

/* Rows of its own say that it ran at this moment. */
static void prove_running(struct timeline *tl, struct thread *th, uint64_t at_ns, uint32_t cpu)
{
	bool known = th->first_ns != NEVER;
	struct span *was;

	if (known && th->open.state == STATE_RUNNING && th->open.cpu == cpu)
		return;
	if (known && th->open.begin_ns == at_ns) /* it ran until now */
		return;
	was = thread_close(tl, th, at_ns);
	if (known) {
		contradict(was);
	} else {
		th->began_running = true;
		th->first_cpu = cpu;
	}
	thread_runs(th, at_ns, cpu);
}

static __attribute__((cold)) struct cpu *cpu_add(struct timeline *tl, uint32_t number)
{
	struct cpu *cpu;

	if (tl->cpus.nitems >= TIMELINE_CPUS_MAX)
		return NULL;
	cpu = table_add(&tl->cpus, number, 0, sizeof(*cpu));
	tl->failed |= !cpu;
	return cpu;
}

/* Known or new. NULL: beyond the limit, or no memory. */
static inline struct cpu *cpu_get(struct timeline *tl, uint32_t number)
{
	struct cpu *cpu = table_find(&tl->cpus, number, 0);

	return cpu ? cpu : cpu_add(tl, number);
}

static void cpu_switch(struct timeline *tl, const struct switch_row *row)
{
	struct cpu *cpu = cpu_get(tl, row->cpu);

	if (!cpu)
		return;
	if (cpu->known && cpu->since_ns < row->at_ns) {
		const struct occupant o = {.begin_ns = cpu->since_ns,
					   .end_ns = row->at_ns,
					   .first_tid = cpu->tid,
					   .last_tid = row->prev_tid};

		keep(tl, &cpu->occupants, &o, sizeof(o), TIMELINE_OCCUPANTS_MAX);
	}
	cpu->known = true;
	cpu->tid = row->next_tid;
	cpu->since_ns = row->at_ns;
}

static void leave_cpu(struct timeline *tl, const struct switch_row *row)
{
	struct span *was, next = {.cpu = row->cpu, .other_tid = TID_NONE};
	struct thread *th = thread_get(tl, row->prev_tid);
	bool known;

	if (!th)
		return;
	known = th->first_ns != NEVER;
	was = thread_close(tl, th, row->at_ns);
	if (!known) {
		th->began_running = true;
		th->first_cpu = row->cpu;
	} else if (was->state != STATE_RUNNING || was->cpu != row->cpu) {
		contradict(was);
		th->woken_while_running = false;
	}
	if (row->prev_state == 0) {
		next.state = STATE_RUNNABLE;
		next.flags = SPAN_PREEMPTED;
		next.other_tid = row->next_tid;
	} else if (!(row->prev_state & TASK_GONE_BITS)) {
		next.state = STATE_ASLEEP;
		next.task_state = row->prev_state;
		next.syscall = row->prev_syscall <= UINT16_MAX ? (uint16_t)row->prev_syscall : 0;
		next.flags = (uint16_t)((row->prev_flags & SWITCH_FAULT ? SPAN_FAULT : 0) |
					(row->prev_flags & SWITCH_IO ? SPAN_IO : 0));
	}
	thread_begin(th, row->at_ns, next);
}

/* It ran from now on: what that says of what it did before. */
static void entered(struct thread *th, struct span *was, bool known, uint32_t cpu, uint32_t prev_tid)
{
	if (was->state == STATE_ASLEEP && th->woken_while_running) {
		was->state = STATE_RUNNABLE; /* see timeline.h: the waking row came first */
		was->task_state = 0;
		was->syscall = 0;
		was->flags = 0;
		was->cpu = cpu;
		was->other_tid = prev_tid;
	} else if (was->state == STATE_RUNNABLE && !(was->flags & SPAN_PREEMPTED)) {
		was->cpu = cpu;
		was->other_tid = prev_tid;
	} else if (known && was->state != STATE_RUNNABLE) {
		contradict(was);
	}
}

static void enter_cpu(struct timeline *tl, struct switch_row *row)
{
	struct thread *th = thread_get(tl, row->next_tid);
	struct span *was;
	bool known;

	if (!th)
		return;
	known = th->first_ns != NEVER;
	was = thread_close(tl, th, row->at_ns);
	entered(th, was, known, row->cpu, row->prev_tid);
	if (was->state == STATE_RUNNABLE)
		row->waited_ns = row->at_ns - was->begin_ns;
	thread_runs(th, row->at_ns, row->cpu);
}

int timeline_switch(struct timeline *tl, struct switch_row *row, struct fault *why)
{
	row->waited_ns = 0;
	cpu_switch(tl, row);
	leave_cpu(tl, row);
	enter_cpu(tl, row);
	return outcome(tl, why);
}

static void woken(struct timeline *tl, struct thread *th, uint64_t at_ns, uint32_t cpu, uint32_t waker_tid, bool irq)
{
	struct span *was;

	if (th->tracked_since_ns > at_ns)
		th->tracked_since_ns = at_ns;
	if (th->first_ns != NEVER && th->open.state == STATE_RUNNING) {
		th->woken_while_running = true;
		return;
	}
	if (th->open.state == STATE_RUNNABLE)
		return;
	was = thread_close(tl, th, at_ns);
	if (was->state == STATE_ASLEEP) {
		/* The idle task does nothing of its own: who interrupted it did. */
		was->flags |= (uint16_t)(SPAN_WOKEN | (irq || waker_tid == TID_IDLE ? SPAN_IRQ : 0));
		was->other_tid = waker_tid;
	}
	thread_begin(th, at_ns, (struct span){.state = STATE_RUNNABLE, .other_tid = TID_NONE, .cpu = cpu});
}

int timeline_waking(struct timeline *tl, uint64_t at_ns, uint32_t cpu, uint32_t tid, uint32_t waker_tid, bool irq,
		    struct fault *why)
{
	struct thread *waker = thread_get(tl, waker_tid), *th;

	if (waker)
		prove_running(tl, waker, at_ns, cpu);
	th = thread_get(tl, tid);
	if (th)
		woken(tl, th, at_ns, cpu, waker_tid, irq);
	return outcome(tl, why);
}

int timeline_fork(struct timeline *tl, uint64_t at_ns, uint32_t parent_tid, uint32_t child_tid, struct fault *why)
{
	struct thread *th = thread_get(tl, parent_tid);

	/* Which CPU the parent is on, the row does not say: where it was. */
	if (th && th->open.state == STATE_RUNNING && th->tracked_since_ns > at_ns)
		th->tracked_since_ns = at_ns;
	th = thread_get(tl, child_tid);
	if (!th)
		return outcome(tl, why);
	if (th->first_ns != NEVER)
		thread_reset(th);
	th->tracked_since_ns = at_ns;
	thread_close(tl, th, at_ns);
	thread_begin(th, at_ns, (struct span){.state = STATE_RUNNABLE, .flags = SPAN_FORKED, .other_tid = TID_NONE});
	return outcome(tl, why);
}

int timeline_exit(struct timeline *tl, uint64_t at_ns, uint32_t tid, struct fault *why)
{
	struct thread *th = thread_get(tl, tid);

	if (th && th->tracked_since_ns > at_ns)
		th->tracked_since_ns = at_ns;
	return outcome(tl, why);
}

/* It ran at both ends of this. */
static void called(struct timeline *tl, struct thread *th, uint64_t begin_ns, uint64_t at_ns, uint32_t cpu)
{
	if (th->tracked_since_ns > begin_ns)
		th->tracked_since_ns = begin_ns;
	if (th->began_running && begin_ns < th->first_ns && begin_ns < th->ran_since_ns)
		th->ran_since_ns = begin_ns;
	if (th->first_ns != NEVER) {
		prove_running(tl, th, at_ns, cpu);
		return;
	}
	/* No row at all so far: had it left the CPU since begin_ns, there would be one. */
	th->first_ns = begin_ns;
	thread_runs(th, begin_ns, cpu);
}

int timeline_call(struct timeline *tl, uint64_t begin_ns, uint64_t at_ns, uint32_t tid, uint32_t cpu, struct fault *why)
{
	struct thread *th = thread_get(tl, tid);

	if (th)
		called(tl, th, begin_ns, at_ns, cpu);
	return outcome(tl, why);
}

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

/* The next sleep of [begin_ns, at_ns], from the latest back; *i: spans.n at first. NULL: there are no more. */
static struct span *sleep_inside(const struct thread *th, unsigned *i, uint64_t begin_ns, uint64_t at_ns)
{
	while (*i > 0) {
		struct span *s = ring_at(&th->spans, --*i);

		if (s->end_ns <= begin_ns || s->begin_ns < begin_ns)
			break;
		if (s->state == STATE_ASLEEP && s->end_ns <= at_ns)
			return s;
	}
	return NULL;
}

int timeline_futex(struct timeline *tl, const struct futex_row *row, struct fault *why)
{
	int r = timeline_call(tl, row->begin_ns, row->at_ns, row->tid, row->cpu, why);
	const struct thread *th = table_find(&tl->threads, row->tid, 0);
	uint8_t ended = how_wait_ended(row->ret), kind = futex_is_lock(row) ? SPAN_LOCK : 0;
	unsigned i = th ? th->spans.n : 0;
	struct span *s;

	if (r < 0 || !th || !futex_op_waits(row->op))
		return r;
	while ((s = sleep_inside(th, &i, row->begin_ns, row->at_ns))) {
		if (s->task_state & TASK_UNINTERRUPTIBLE_BIT || s->flags & SPAN_FAULT)
			continue;
		s->flags |= (uint16_t)(SPAN_FUTEX | kind | ended);
		s->futex = row->addr;
		ended = 0; /* how it ended speaks of the last sleep */
	}
	return 0;
}

int timeline_fault(struct timeline *tl, uint64_t begin_ns, uint64_t at_ns, uint32_t tid, uint32_t cpu,
		   struct fault *why)
{
	int r = timeline_call(tl, begin_ns, at_ns, tid, cpu, why);
	const struct thread *th = table_find(&tl->threads, tid, 0);
	unsigned i = th ? th->spans.n : 0;
	struct span *s;

	while (r == 0 && th && (s = sleep_inside(th, &i, begin_ns, at_ns)))
		s->flags |= SPAN_FAULT;
	return r;
}

int timeline_steal(struct timeline *tl, uint64_t at_ns, uint32_t number, uint64_t steal_ns, struct fault *why)
{
	struct cpu *cpu = cpu_get(tl, number);

	if (!cpu)
		return outcome(tl, why);
	if (cpu->looked_ns && cpu->looked_ns < at_ns && cpu->steal_ns < steal_ns) {
		const struct theft t = {cpu->looked_ns, at_ns, steal_ns - cpu->steal_ns};

		keep(tl, &cpu->thefts, &t, sizeof(t), TIMELINE_THEFTS_MAX);
	}
	cpu->looked_ns = at_ns;
	cpu->steal_ns = steal_ns;
	return outcome(tl, why);
}

int timeline_blind(struct timeline *tl, uint64_t begin_ns, uint64_t end_ns, struct fault *why)
{
	struct interval zone = {begin_ns, end_ns};
	struct ring *blind = &tl->blind;

	if (begin_ns >= end_ns)
		return 0;
	/* Zones stay disjoint and in order: those that this one touches become part of it. */
	while (blind->n > 0) {
		const struct interval *last = ring_at(blind, blind->n - 1);

		if (zone.begin_ns > last->end_ns)
			break;
		if (last->begin_ns < zone.begin_ns)
			zone.begin_ns = last->begin_ns;
		if (last->end_ns > zone.end_ns)
			zone.end_ns = last->end_ns;
		blind->n--;
	}
	if (blind->n == TIMELINE_BLIND_MAX) {
		struct interval *second = ring_at(blind, 1);

		second->begin_ns = ((struct interval *)ring_at(blind, 0))->begin_ns;
	}
	keep(tl, blind, &zone, sizeof(zone), TIMELINE_BLIND_MAX);
	return outcome(tl, why);
}

void timeline_ask_tracked(struct timeline *tl, uint64_t (*since_ns)(void *arg, uint32_t tid), void *arg)
{
	tl->tracked_since = since_ns;
	tl->tracked_arg = arg;
}

void timeline_forget(struct timeline *tl, uint32_t tid)
{
	struct thread *th = table_find(&tl->threads, tid, 0);

	if (th)
		thread_reset(th);
}

bool timeline_is_asleep(const struct timeline *tl, uint32_t tid)
{
	const struct thread *th = table_find(&tl->threads, tid, 0);

	return th && th->open.state == STATE_ASLEEP;
}
