/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How busy the CPUs are, sampled once in a period: by the first switch of threads in it, which is a moment at which the
 * kernel runs us anyway; by the timer that marks the periods where none comes. Part of gpurec.bpf.c.
 *
 * The kernel keeps such figures in per-CPU variables, which only kernels built with all symbols let us read: so they
 * are kept here. The clock, which is most of what that costs, is only read where a CPU begins or ends to idle. Nothing
 * of this is loaded unless it is asked for.
 */
#ifndef GPUREC_BPF_METRICS_H
#define GPUREC_BPF_METRICS_H

#include "bpf/state.h"

#include "bpf/busy.h"

const volatile __u64 metrics_ns; /* the period */
volatile __u32 metrics_timed;    /* there is a timer */
volatile __u64 metrics_timer_ns; /* spent in the timer, which the kernel's statistics of programs leave out */

struct metrics_cpu {
	struct busy busy;
	__u64 switches;   /* 0: none was seen yet, and what it does is not known */
	__u64 queue;      /* address of its run queue; 0: the kernel does not lead us there */
	__u64 sampled_ns; /* where there is no timer */
	__u64 state;      /* enum metrics_state */
	__u64 idle;       /* address of its idle task, from the queue */
};

enum metrics_state {
	METRICS_DONE,   /* sampled in this period, or not begun */
	METRICS_DUE,    /* the next switch samples; if none comes in this period, the timer does */
	METRICS_FORCED, /* it did, and no switch has come since */
	METRICS_SEEN    /* and one has come: let the next ones sample again */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set to the number of CPUs */
	__type(key, __u32);
	__type(value, struct metrics_cpu);
} metrics_cpus SEC(".maps");

/* A map of its own: not every kind of program may touch one with a timer. */
struct metrics_timer {
	struct bpf_timer timer;
	__u64 due_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct metrics_timer);
} metrics_timers SEC(".maps");

/* Threads that are ready and wait, on a CPU that runs one or none now. */
static __always_inline __u32 metrics_waiting(const struct metrics_cpu *c, bool runs)
{
	const struct rq *queue = (const void *)c->queue;
	__u32 ready = queue ? BPF_CORE_READ(queue, nr_running) : 0;

	return ready > runs ? ready - runs : 0;
}

/* How often the CPU ended to idle: its idle task is always able to run, so that all its switches count as this. */
static __always_inline __u64 metrics_idled(const struct metrics_cpu *c)
{
	const struct task_struct *idle = (const void *)c->idle;

	return BPF_CORE_READ(idle, nivcsw);
}

/* Whether the idle task is on the CPU. A kernel for one CPU alone does not say: there we are on it. */
static __always_inline bool metrics_idles(const struct metrics_cpu *c)
{
	const struct task_struct *idle = (const void *)c->idle;

	if (!bpf_core_field_exists(idle->on_cpu))
		return !(__u32)bpf_get_current_pid_tgid();
	return BPF_CORE_READ_BITFIELD_PROBED(idle, on_cpu); /* whatever its size */
}

static __always_inline void metrics_mend(struct metrics_cpu *c, __u64 word)
{
	const struct rq *queue = (const void *)c->queue;
	bool idles = !BPF_CORE_READ(queue, curr, pid); /* before the time and the count */
	__u64 now_ns = bpf_ktime_get_ns();

	busy_mend(&c->busy, word, now_ns, idles, metrics_idled(c));
}

/*
 * What a CPU has done and the time at which that is so. Between the reads the host may take the CPU away from us, and
 * the CPU in question may begin or end to idle: then they do not belong together. Returns whether they do.
 */
#define METRICS_APART_NS 2000

static __always_inline bool metrics_try(struct metrics_cpu *c, struct ring_metric *r, bool forced, __u64 *word,
					bool *missed)
{
	__u64 mono_ns, apart_ns;
	bool checks, idles;

	*word = *(const volatile __u64 *)&c->busy.word;
	mono_ns = bpf_ktime_get_ns();
	r->head.at_ns = bpf_ktime_get_boot_ns();
	r->busy_ns = busy_until(*word, mono_ns);
	checks = c->idle && !(*word & BUSY_IDLE);
	/* At a switch it is known what comes next, and the idle task may be about to leave. */
	idles = checks && forced && metrics_idles(c);
	apart_ns = bpf_ktime_get_ns() - mono_ns;
	*missed = checks && busy_missed(&c->busy, *word, idles, metrics_idled(c));
	return !*missed && apart_ns <= METRICS_APART_NS && *(const volatile __u64 *)&c->busy.word == *word;
}

/*
 * The same, tried four times at most. Not in a loop: compilers let its end fall through to its beginning, and that is
 * what kernels before 6.8 refuse. Returns whether the CPU idles.
 */
static __always_inline bool metrics_read(struct metrics_cpu *c, struct ring_metric *r, bool forced)
{
	bool missed = false;
	__u64 word = 0;

	(void)(metrics_try(c, r, forced, &word, &missed) || metrics_try(c, r, forced, &word, &missed) ||
	       metrics_try(c, r, forced, &word, &missed) || metrics_try(c, r, forced, &word, &missed));
	if (missed) {
		r->busy_ns = c->busy.proven;
		metrics_mend(c, word);
	} else if (c->busy.proven < r->busy_ns) {
		c->busy.proven = r->busy_ns;
	}
	return *(const volatile __u64 *)&c->busy.word & BUSY_IDLE;
}

static __always_inline void metrics_sample(__u32 cpu, struct metrics_cpu *c, bool forced)
{
	struct ring_metric *r;
	bool idles;

	count(PROBE_METRIC, COUNT_fired);
	r = bpf_ringbuf_reserve(&bulk, sizeof(*r), 0);
	if (!r) {
		count(PROBE_METRIC, COUNT_ring_full);
		return;
	}
	head_fill(&r->head, RING_METRIC);
	r->head.cpu = cpu;
	idles = metrics_read(c, r, forced);
	r->switches = c->switches;
	r->waiting = metrics_waiting(c, !idles);
	r->forced = forced;
	submit_bulk(r);
}

/* Whether this switch samples. */
static __always_inline bool metrics_rides(struct metrics_cpu *c)
{
	__u64 state = *(volatile __u64 *)&c->state;
	__u64 now_ns;

	if (state == METRICS_FORCED)
		*(volatile __u64 *)&c->state = METRICS_SEEN;
	if (metrics_timed)
		return state == METRICS_DUE &&
		       __sync_val_compare_and_swap(&c->state, METRICS_DUE, METRICS_DONE) == METRICS_DUE;
	now_ns = bpf_ktime_get_ns();
	if (now_ns - c->sampled_ns < metrics_ns)
		return false;
	c->sampled_ns = now_ns;
	return true;
}

SEC("tp_btf/sched_switch")
int on_metrics(__u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	__u32 cpu = bpf_get_smp_processor_id();
	struct metrics_cpu *c = bpf_map_lookup_elem(&metrics_cpus, &cpu);
	bool idled = !prev->pid, idles = !next->pid;
	__u64 count;

	if (!c)
		return 0;
	if (!c->switches && bpf_core_field_exists(next->se.cfs_rq)) {
		c->queue = (__u64)BPF_CORE_READ(next, se.cfs_rq, rq);
		c->idle = (__u64)BPF_CORE_READ(next, se.cfs_rq, rq, idle);
	}
	if (idled || idles != !!(c->busy.word & BUSY_IDLE) || !c->switches) {
		count = idled ? prev->nivcsw : idles ? next->nivcsw : c->idle ? metrics_idled(c) : c->busy.idled;
		busy_turn(&c->busy, bpf_ktime_get_ns(), count, idled, idles, !c->switches);
	}
	c->switches++;
	if (running && metrics_rides(c))
		metrics_sample(cpu, c, false);
	return 0;
}

/* The timer begins another period. */
static long metrics_next(struct bpf_map *map, const __u32 *cpu, struct metrics_cpu *c, void *none)
{
	__u64 state = *(volatile __u64 *)&c->state;

	(void)map, (void)none;
	if (!c->switches)
		return 0;
	if (state == METRICS_DONE || state == METRICS_SEEN)
		*(volatile __u64 *)&c->state = METRICS_DUE;
	else if (state == METRICS_FORCED ||
		 __sync_val_compare_and_swap(&c->state, METRICS_DUE, METRICS_FORCED) == METRICS_DUE)
		metrics_sample(*cpu, c, true);
	return 0;
}

/* The times at which it is due form a grid, so that the rate is kept, however late the timer is. */
static int metrics_due(void *map, int *key, struct metrics_timer *t)
{
	__u64 now_ns = bpf_ktime_get_ns(), next_ns = t->due_ns + metrics_ns;

	(void)map, (void)key;
	if (running)
		bpf_for_each_map_elem(&metrics_cpus, metrics_next, NULL, 0);
	if (next_ns <= now_ns)
		next_ns += ((now_ns - next_ns) / metrics_ns + 1) * metrics_ns;
	t->due_ns = next_ns;
	metrics_timer_ns += bpf_ktime_get_ns() - now_ns;
	bpf_timer_start(&t->timer, next_ns - now_ns, 0);
	return 0;
}

/* Run once by the recorder. */
SEC("syscall")
int start_metrics(void *ctx)
{
	__u32 zero = 0;
	struct metrics_timer *t = bpf_map_lookup_elem(&metrics_timers, &zero);

	(void)ctx;
	if (!t || bpf_timer_init(&t->timer, &metrics_timers, KERNEL_CLOCK_MONOTONIC))
		return 1;
	t->due_ns = bpf_ktime_get_ns() + metrics_ns;
	if (bpf_timer_set_callback(&t->timer, metrics_due))
		return 1;
	if (bpf_timer_start(&t->timer, metrics_ns, 0))
		return 1;
	metrics_timed = 1;
	return 0;
}

#endif
