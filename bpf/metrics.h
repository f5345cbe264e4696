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

const volatile __u64 metrics_ns; /* the period */
volatile __u32 metrics_timed;    /* there is a timer */
volatile __u64 metrics_timer_ns; /* spent in the timer, which the kernel's statistics of programs leave out */

/*
 * What a CPU has done is one word, so that another CPU reads it whole: while it idles, how long it was busy, and this
 * bit; while it is busy, the time minus that.
 */
#define METRICS_IDLE (1ULL << 63)

struct metrics_cpu {
	__u64 busy;       /* as said above */
	__u64 switches;   /* 0: none was seen yet, and what it does is not known */
	__u64 queue;      /* address of its run queue; 0: the kernel does not lead us there */
	__u64 sampled_ns; /* where there is no timer */
	__u64 state;      /* enum metrics_state */
	__u64 proven;     /* it was busy for at least so long: see metrics_missed() */
	__u64 untold;     /* switches that the kernel counted and we did not, when it last began or ended to idle */
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

static __always_inline __u64 metrics_busy(__u64 word, __u64 now_ns)
{
	if (word & METRICS_IDLE)
		return word & ~METRICS_IDLE;
	return now_ns > word ? now_ns - word : 0;
}

/* Threads that are ready and wait, on a CPU that runs one or none now. */
static __always_inline __u32 metrics_waiting(const struct metrics_cpu *c, bool runs)
{
	const struct rq *queue = (const void *)c->queue;
	__u32 ready = queue ? BPF_CORE_READ(queue, nr_running) : 0;

	return ready > runs ? ready - runs : 0;
}

/*
 * Kernels have been seen that do not tell of each switch to or from the idle task, by any means, but do count it. A CPU
 * that we believe busy may have idled then, since a time that nobody knows: what it had done before is all that is
 * proven. The kernel counts first and tells then, so that for a moment each switch looks so.
 */
static __always_inline bool metrics_missed(const struct metrics_cpu *c, __u64 word)
{
	const struct rq *queue = (const void *)c->queue;
	__u64 ours;

	if (word & METRICS_IDLE || !queue)
		return false;
	ours = *(const volatile __u64 *)&c->switches + *(const volatile __u64 *)&c->untold;
	return BPF_CORE_READ(queue, nr_switches) != ours || !BPF_CORE_READ(queue, curr, pid);
}

/* From here on it is known again what this CPU does. */
static __always_inline void metrics_mend(struct metrics_cpu *c, __u64 word, __u64 now_ns)
{
	const struct rq *queue = (const void *)c->queue;
	bool idles = !BPF_CORE_READ(queue, curr, pid);

	c->untold = BPF_CORE_READ(queue, nr_switches) - *(const volatile __u64 *)&c->switches;
	(void)__sync_val_compare_and_swap(&c->busy, word, idles ? METRICS_IDLE | c->proven : now_ns - c->proven);
}

/*
 * What a CPU has done and the time at which that is so. Between the reads the host may take the CPU away from us, and
 * the CPU in question may begin or end to idle: then they do not belong together, and are read again. Returns whether
 * it idles.
 */
#define METRICS_TRIES 4
#define METRICS_APART_NS 2000

static __always_inline bool metrics_read(struct metrics_cpu *c, struct ring_metric *r)
{
	__u64 word = 0, mono_ns = 0;
	bool missed = false;
	int i;

	for (i = 0; i < METRICS_TRIES; i++) {
		word = *(const volatile __u64 *)&c->busy;
		mono_ns = bpf_ktime_get_ns();
		r->head.at_ns = bpf_ktime_get_boot_ns();
		r->busy_ns = metrics_busy(word, mono_ns);
		missed = metrics_missed(c, word); /* after the clock: it was busy until then */
		if (!missed && bpf_ktime_get_ns() - mono_ns <= METRICS_APART_NS &&
		    *(const volatile __u64 *)&c->busy == word)
			break;
	}
	if (missed) {
		r->busy_ns = c->proven;
		metrics_mend(c, word, mono_ns);
	} else if (c->proven < r->busy_ns) {
		c->proven = r->busy_ns;
	}
	return *(const volatile __u64 *)&c->busy & METRICS_IDLE;
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
	idles = metrics_read(c, r);
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

/* The CPU begins or ends to idle. */
static __always_inline void metrics_turn(struct metrics_cpu *c, bool idled, bool idles)
{
	__u64 now_ns = bpf_ktime_get_ns(), busy = metrics_busy(c->busy, now_ns);
	const struct rq *queue = (const void *)c->queue;

	if (!c->switches)
		busy = 0;
	else if (idled && !(c->busy & METRICS_IDLE))
		busy = c->proven;
	c->proven = busy;
	if (queue) /* the kernel has counted this switch already, and we do in a moment */
		c->untold = BPF_CORE_READ(queue, nr_switches) - c->switches - 1;
	*(volatile __u64 *)&c->busy = idles ? METRICS_IDLE | busy : now_ns - busy;
}

SEC("tp_btf/sched_switch")
int on_metrics(__u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	__u32 cpu = bpf_get_smp_processor_id();
	struct metrics_cpu *c = bpf_map_lookup_elem(&metrics_cpus, &cpu);
	bool idled = !prev->pid, idles = !next->pid;

	if (!c)
		return 0;
	if (!c->switches && bpf_core_field_exists(next->se.cfs_rq))
		c->queue = (__u64)BPF_CORE_READ(next, se.cfs_rq, rq);
	if (idled || idles != !!(c->busy & METRICS_IDLE) || !c->switches)
		metrics_turn(c, idled, idles);
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
