// SPDX-License-Identifier: Apache-2.0
#include "replay/model/timeline_internal.h"

#include <stdlib.h>

#include "format/schema.h"

/* The kernel's bits in prev_state, from include/linux/sched.h. */
#define TASK_GONE_BITS 0xb0 /* EXIT_DEAD, EXIT_ZOMBIE, TASK_DEAD */

#define SPANS_UNSURE (RING_SPARE / 2) /* the latest: see say_full() */

int timeline_open(struct timeline **tl, struct fault *why)
{
	struct timeline *t = calloc(1, sizeof(*t));

	if (!t)
		return fault_no_memory(why);
	*tl = t;
	return 0;
}

void timeline_close(struct timeline *tl)
{
	if (!tl)
		return;
	for (size_t i = 0; i < tl->threads.nitems; i++) {
		ring_clear(&((struct track *)tl->threads.items[i])->spans);
		ring_clear(&((struct track *)tl->threads.items[i])->reclaims);
	}
	for (size_t i = 0; i < tl->cpus.nitems; i++) {
		ring_clear(&((struct cpu *)tl->cpus.items[i])->occupants);
		ring_clear(&((struct cpu *)tl->cpus.items[i])->taken);
	}
	table_clear(&tl->threads);
	table_clear(&tl->cpus);
	ring_clear(&tl->blind);
	free(tl);
}

static void thread_reset(struct track *th)
{
	th->spans.next = th->spans.items;
	th->spans.truncated = false;
	ring_clear(&th->reclaims);
	*open_of(th) = (struct span){.begin_ns = NEVER, .other_tid = TID_NONE};
	th->first_ns = NEVER;
	th->began_running = false;
	th->parent_tid = TID_NONE;
	th->ran_since_ns = NEVER;
	th->tracked_since_ns = NEVER;
	th->timed = false;
	th->woken_while_running = false;
	th->pinned = false;
}

static __attribute__((cold)) struct track *thread_add(struct timeline *tl, uint32_t tid)
{
	struct track *th;

	if (tid == TID_NONE || tl->threads.nitems >= TIMELINE_THREADS_MAX)
		return NULL;
	th = table_add(&tl->threads, tid, 0, sizeof(*th));
	if (th && ring_keep_more(&th->spans, sizeof(struct span), TIMELINE_SPANS_MAX)) {
		thread_reset(th);
		return th;
	}
	if (th)
		table_remove(&tl->threads, tid, 0);
	tl->failed = true;
	return NULL;
}

/* Known or new. NULL: the idle task, which is no thread; beyond the limit; or no memory. */
static inline struct track *thread_get(struct timeline *tl, uint64_t tid)
{
	struct track *th;

	if (tid == TID_IDLE)
		return NULL;
	th = table_find(&tl->threads, tid, 0);
	return th ? th : thread_add(tl, as_tid(tid));
}

/* Its oldest spans will go. Of the latest the futex or fault row has not come yet, maybe: they stay for some time. */
static __attribute__((cold)) void say_full(const struct timeline *tl, const struct track *th)
{
	const struct span *s = ring_at(&th->spans, ring_n(&th->spans) - SPANS_UNSURE);

	tl->full(tl->full_arg, (uint32_t)th->key.a, s->begin_ns);
}

/* What it did until now is over: what is learnt of it now is to be written to what this returns. */
INLINE struct span *thread_close(struct timeline *tl, struct track *th, uint64_t at_ns, bool sure)
{
	struct span *was = open_of(th), *kept;

	if (was->begin_ns < at_ns) {
		was->end_ns = at_ns;
		if (!sure && tl->full && ring_is_full(&th->spans, sizeof(*was), TIMELINE_SPANS_MAX))
			say_full(tl, th);
		kept = add(tl, &th->spans, sizeof(*was), TIMELINE_SPANS_MAX, sure);
		return sure || kept ? kept : was;
	}
	if (th->first_ns == NEVER)
		th->first_ns = at_ns;
	return was;
}

/* And this is what it does from now on. */
INLINE void thread_begin(struct track *th, uint64_t at_ns, struct span next)
{
	next.begin_ns = at_ns;
	*open_of(th) = next;
}

static inline void thread_runs(struct track *th, uint64_t at_ns, uint32_t cpu)
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

/* As prove_running(), where the rows before do not say so. */
static __attribute__((cold)) void find_running(struct timeline *tl, struct track *th, uint64_t at_ns, uint32_t cpu)
{
	bool known = th->first_ns != NEVER;
	struct span *was;

	if (known && open_of(th)->begin_ns == at_ns) /* it ran until now */
		return;
	was = thread_close(tl, th, at_ns, false);
	if (known) {
		contradict(was);
	} else {
		th->began_running = true;
		th->first_cpu = cpu;
	}
	thread_runs(th, at_ns, cpu);
}

static inline bool runs_on(const struct track *th, uint32_t cpu)
{
	return open_of(th)->state == STATE_RUNNING && open_of(th)->cpu == cpu;
}

/* Rows of its own say that it ran at this moment. */
static inline void prove_running(struct timeline *tl, struct track *th, uint64_t at_ns, uint32_t cpu)
{
	if (!runs_on(th, cpu))
		find_running(tl, th, at_ns, cpu);
}

struct cpu *cpu_add(struct timeline *tl, uint32_t number)
{
	struct cpu *cpu;

	if (tl->cpus.nitems >= TIMELINE_CPUS_MAX)
		return NULL;
	cpu = table_add(&tl->cpus, number, 0, sizeof(*cpu));
	if (!cpu)
		tl->failed = true;
	else
		cpu->since_ns = NEVER;
	return cpu;
}

/* A switch, and who takes part in it. */
struct change {
	uint64_t at_ns;
	uint32_t prev_tid, next_tid, number;
	uint32_t next_queue;       /* CPU + 1 that it has waited for; 0: not known */
	struct cpu *cpu;           /* NULL: not followed */
	struct track *prev, *next; /* NULL: the idle task, or not followed */
};

INLINE void cpu_switch(struct timeline *tl, const struct change *c, bool sure)
{
	struct occupant *o;

	if (c->cpu->since_ns < c->at_ns) {
		o = add(tl, &c->cpu->occupants, sizeof(*o), TIMELINE_OCCUPANTS_MAX, sure);
		if (sure || o) {
			o->begin_ns = c->cpu->since_ns;
			o->end_ns = c->at_ns;
			o->first_tid = c->cpu->tid;
			o->last_tid = c->prev_tid;
		}
	}
	c->cpu->tid = c->next_tid;
	c->cpu->since_ns = c->at_ns;
}

/*
 * That the kernel counts a sleep as one for a block device. In io_uring_enter() it counts
 * each so, whatever for.
 */
INLINE bool sleeps_for_device(uint32_t flags, uint32_t syscall)
{
	return flags & SWITCH_IO && syscall != SYSCALL_IO_URING_ENTER + 1;
}

/* What who left the CPU does now. */
INLINE struct span left(const struct change *c, const uint64_t *v)
{
	uint32_t state = (uint32_t)v[F_switch_prev_state], flags = (uint32_t)v[F_switch_prev_flags],
		 syscall = (uint32_t)v[F_switch_prev_syscall];
	struct span next = {.cpu = c->number, .other_tid = TID_NONE};

	if (state == 0) {
		next.state = STATE_RUNNABLE;
		next.flags = flags & SWITCH_PINNED ? SPAN_PINNED : 0;
		if (flags & (SWITCH_THROTTLED | SWITCH_MOVED | SWITCH_YIELDED) || c->next_tid == TID_IDLE) {
			next.flags |= (uint32_t)((flags & SWITCH_THROTTLED ? SPAN_THROTTLED : 0) |
						 (flags & SWITCH_YIELDED ? SPAN_YIELDED : 0));
		} else {
			next.flags |= SPAN_PREEMPTED;
			next.other_tid = c->next_tid;
		}
	} else if (!(state & TASK_GONE_BITS)) {
		next.state = STATE_ASLEEP;
		next.task_state = state;
		next.syscall = syscall <= UINT16_MAX ? (uint16_t)syscall : 0;
		if (flags & (SWITCH_FAULT | SWITCH_IO | SWITCH_FROZEN | SWITCH_MEMORY))
			next.flags = (uint32_t)((flags & SWITCH_FAULT ? SPAN_FAULT : 0) |
						(sleeps_for_device(flags, syscall) ? SPAN_IO : 0) |
						(flags & SWITCH_FROZEN ? SPAN_FROZEN : 0) |
						(flags & SWITCH_MEMORY ? SPAN_MEMORY : 0) |
						(flags & SWITCH_WRITES ? SPAN_WRITES : 0));
	}
	return next;
}

INLINE void leave_cpu(struct timeline *tl, const struct change *c, struct span next, bool sure)
{
	struct track *th = c->prev;
	bool known = open_of(th)->begin_ns != NEVER;
	struct span *was = thread_close(tl, th, c->at_ns, sure);

	if (!known) {
		th->began_running = true;
		th->first_cpu = c->number;
	} else if (was->state != STATE_RUNNING || was->cpu != c->number) {
		contradict(was);
		th->woken_while_running = false;
	}
	if (next.state == STATE_RUNNABLE)
		th->pinned = next.flags & SPAN_PINNED;
	thread_begin(th, c->at_ns, next);
}

/* For how long it had waited for the CPU that it has now; 0: not at all, or not known. */
INLINE uint64_t enter_cpu(struct timeline *tl, const struct change *c, bool sure)
{
	struct track *th = c->next;
	bool known = open_of(th)->begin_ns != NEVER;
	struct span *was = thread_close(tl, th, c->at_ns, sure);
	uint64_t waited_ns = 0;

	if (was->state == STATE_ASLEEP && th->woken_while_running) {
		was->state = STATE_RUNNABLE; /* see timeline.h: the waking row came first */
		was->task_state = 0;
		was->syscall = 0;
		was->flags = 0;
	}
	if (was->state == STATE_RUNNABLE) {
		if (!(was->flags & (SPAN_PREEMPTED | SPAN_THROTTLED))) {
			was->cpu = c->next_queue ? c->next_queue - 1 : c->number;
			was->other_tid = c->prev_tid;
		}
		if (c->next_queue)
			was->flags |= SPAN_WATCHED;
		/* (Who runs next on a CPU that was idle was taken there at once: until then it waited for the other.)
		 */
		if (was->cpu != c->number && c->prev_tid != TID_IDLE)
			was->flags |= SPAN_MOVED;
		waited_ns = c->at_ns - was->begin_ns;
	} else if (known) {
		contradict(was);
	}
	thread_runs(th, c->at_ns, c->number);
	return waited_ns;
}

/* As timeline_switch() reports it. */
INLINE uint64_t switched(struct timeline *tl, const struct change *c, const uint64_t *v, bool sure)
{
	if (c->prev)
		leave_cpu(tl, c, left(c, v), sure);
	if (c->cpu)
		cpu_switch(tl, c, sure);
	return c->next ? enter_cpu(tl, c, sure) : 0;
}

static __attribute__((noinline)) int switch_rare(struct timeline *tl, const uint64_t *v, uint64_t *waited_ns,
						 struct fault *why)
{
	struct change c = {.at_ns = v[F_switch_at],
			   .prev_tid = as_tid(v[F_switch_prev_tid]),
			   .next_tid = as_tid(v[F_switch_next_tid]),
			   .number = (uint32_t)v[F_switch_cpu],
			   .next_queue = (uint32_t)v[F_switch_next_queue]};

	/* In this order, where there is room for some of them only. */
	c.cpu = cpu_get(tl, c.number);
	c.prev = thread_get(tl, v[F_switch_prev_tid]);
	c.next = thread_get(tl, v[F_switch_next_tid]);
	*waited_ns = switched(tl, &c, v, false);
	return outcome(tl, why);
}

int timeline_switch(struct timeline *tl, const uint64_t *v, uint64_t *waited_ns, struct fault *why)
{
	const uint64_t prev_tid = v[F_switch_prev_tid], next_tid = v[F_switch_next_tid];
	const struct change c = {.at_ns = v[F_switch_at],
				 .prev_tid = (uint32_t)prev_tid,
				 .next_tid = (uint32_t)next_tid,
				 .number = (uint32_t)v[F_switch_cpu],
				 .next_queue = (uint32_t)v[F_switch_next_queue],
				 .cpu = table_at(&tl->cpus, (uint32_t)v[F_switch_cpu]),
				 .prev = prev_tid == TID_IDLE ? NULL : table_at(&tl->threads, prev_tid),
				 .next = next_tid == TID_IDLE ? NULL : table_at(&tl->threads, next_tid)};

	/* (Where they are one thread, it needs room once: what it enters begins when it ends.) */
	if (!c.cpu || !ring_has_room(&c.cpu->occupants, sizeof(struct occupant)) ||
	    (c.prev ? !ring_has_room(&c.prev->spans, sizeof(struct span)) : prev_tid != TID_IDLE) ||
	    (c.next ? !ring_has_room(&c.next->spans, sizeof(struct span)) : next_tid != TID_IDLE))
		return switch_rare(tl, v, waited_ns, why);
	*waited_ns = switched(tl, &c, v, true);
	return 0;
}

static void runnable_from(struct track *th, uint64_t at_ns, uint32_t cpu)
{
	thread_begin(th, at_ns,
		     (struct span){.state = STATE_RUNNABLE,
				   .flags = th->pinned ? SPAN_PINNED : 0,
				   .other_tid = TID_NONE,
				   .cpu = cpu});
}

INLINE void woken(struct timeline *tl, struct track *th, const uint64_t *v, bool sure)
{
	uint64_t at_ns = v[F_waking_at];
	struct span *was;

	if (th->tracked_since_ns > at_ns)
		th->tracked_since_ns = at_ns;
	if (open_of(th)->state == STATE_RUNNING) {
		th->woken_while_running = true;
		return;
	}
	if (open_of(th)->state == STATE_RUNNABLE)
		return;
	was = thread_close(tl, th, at_ns, sure);
	if (was->state == STATE_ASLEEP) {
		uint32_t waker_tid = sure ? (uint32_t)v[F_waking_waker_tid] : as_tid(v[F_waking_waker_tid]);
		bool irq = v[F_waking_context] != WAKE_TASK;

		/* The idle task does nothing of its own: who interrupted it did. */
		was->flags |= irq || waker_tid == TID_IDLE ? SPAN_WOKEN | SPAN_IRQ : SPAN_WOKEN;
		was->other_tid = waker_tid;
		if (v[F_waking_context] == WAKE_TIMER) {
			was->flags |= SPAN_TIMER;
			th->timed = true;
		} else if (th->timed) {
			th->timed = false;
			timeline_wait_ended(th);
		}
	}
	runnable_from(th, at_ns, (uint32_t)v[F_waking_cpu]);
}

static __attribute__((noinline)) int waking_rare(struct timeline *tl, const uint64_t *v, struct fault *why)
{
	struct track *th = thread_get(tl, v[F_waking_waker_tid]);

	if (th)
		prove_running(tl, th, v[F_waking_at], (uint32_t)v[F_waking_cpu]);
	th = thread_get(tl, v[F_waking_tid]);
	if (th)
		woken(tl, th, v, false);
	return outcome(tl, why);
}

int timeline_waking(struct timeline *tl, const uint64_t *v, struct fault *why)
{
	const struct track *waker = table_at(&tl->threads, v[F_waking_waker_tid]);
	struct track *th = table_at(&tl->threads, v[F_waking_tid]);

	if (!th || !ring_has_room(&th->spans, sizeof(struct span)) ||
	    (waker ? !runs_on(waker, (uint32_t)v[F_waking_cpu]) : v[F_waking_waker_tid] != TID_IDLE))
		return waking_rare(tl, v, why);
	woken(tl, th, v, true);
	return 0;
}

int timeline_throttled(struct timeline *tl, const uint64_t *v, struct fault *why)
{
	struct track *th = thread_get(tl, v[F_throttled_tid]);
	uint64_t at_ns = v[F_throttled_at], dur_ns = v[F_throttled_wait], until_ns;
	struct span *was;

	if (th && th->tracked_since_ns > at_ns)
		th->tracked_since_ns = at_ns;
	if (!th || open_of(th)->state != STATE_RUNNABLE || open_of(th)->begin_ns >= at_ns)
		return outcome(tl, why);
	until_ns = dur_ns < at_ns - open_of(th)->begin_ns ? open_of(th)->begin_ns + dur_ns : at_ns;
	was = thread_close(tl, th, until_ns, false);
	was->flags = SPAN_THROTTLED | SPAN_TIMED;
	was->other_tid = TID_NONE;
	runnable_from(th, until_ns, (uint32_t)v[F_throttled_cpu]);
	return outcome(tl, why);
}

int timeline_fork(struct timeline *tl, uint64_t at_ns, uint32_t parent_tid, uint32_t child_tid, struct fault *why)
{
	struct track *th = thread_get(tl, parent_tid);

	/* Which CPU the parent is on, the row does not say: where it was. */
	if (th && open_of(th)->state == STATE_RUNNING && th->tracked_since_ns > at_ns)
		th->tracked_since_ns = at_ns;
	th = thread_get(tl, child_tid);
	if (!th)
		return outcome(tl, why);
	if (th->first_ns != NEVER)
		thread_reset(th);
	th->tracked_since_ns = at_ns;
	th->parent_tid = parent_tid;
	thread_close(tl, th, at_ns, false);
	thread_begin(th, at_ns, (struct span){.state = STATE_RUNNABLE, .flags = SPAN_FORKED, .other_tid = TID_NONE});
	return outcome(tl, why);
}

int timeline_exit(struct timeline *tl, uint64_t at_ns, uint32_t tid, struct fault *why)
{
	struct track *th = thread_get(tl, tid);

	if (th && th->tracked_since_ns > at_ns)
		th->tracked_since_ns = at_ns;
	return outcome(tl, why);
}

/* As timeline_call(), where something is to be learnt of it. Out of line: that is rare. */
static __attribute__((noinline)) int called(struct timeline *tl, uint64_t begin_ns, uint64_t at_ns, uint64_t tid,
					    uint32_t cpu, struct fault *why)
{
	struct track *th = thread_get(tl, tid);

	if (!th)
		return outcome(tl, why);
	if (th->tracked_since_ns > begin_ns)
		th->tracked_since_ns = begin_ns;
	if (th->began_running && begin_ns < th->first_ns && begin_ns < th->ran_since_ns)
		th->ran_since_ns = begin_ns;
	if (th->first_ns == NEVER) {
		/* No row at all so far: had it left the CPU since begin_ns, there would be one. */
		th->first_ns = begin_ns;
		thread_runs(th, begin_ns, cpu);
	} else {
		prove_running(tl, th, at_ns, cpu);
	}
	return outcome(tl, why);
}

int timeline_call(struct timeline *tl, uint64_t begin_ns, uint64_t at_ns, uint64_t tid, uint32_t cpu, struct fault *why)
{
	const struct track *th = table_at(&tl->threads, tid);

	/* It is known to run there, from before this on. */
	if (th && runs_on(th, cpu) && th->tracked_since_ns <= begin_ns && th->first_ns <= begin_ns)
		return outcome(tl, why);
	return called(tl, begin_ns, at_ns, tid, cpu, why);
}

void timeline_ask_tracked(struct timeline *tl, uint64_t (*since_ns)(void *arg, uint32_t tid), void *arg)
{
	tl->tracked_since = since_ns;
	tl->tracked_arg = arg;
}

void timeline_watch(struct timeline *tl, void (*full)(void *arg, uint32_t tid, uint64_t until_ns), void *arg)
{
	tl->full = full;
	tl->full_arg = arg;
}

void timeline_forget(struct timeline *tl, uint32_t tid)
{
	struct track *th = table_find(&tl->threads, tid, 0);

	if (th)
		thread_reset(th);
}
