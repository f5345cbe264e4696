/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How busy the CPUs are, sampled once in a period: by the first switch of threads after it is over, which is a moment
 * at which the kernel runs us anyway; by a timer where none comes for another period. Part of gpurec.bpf.c.
 *
 * The kernel keeps such figures in per-CPU variables, which only kernels built with all symbols let us read: so the
 * switches are counted here. Nothing of this is loaded unless it is asked for.
 */
#ifndef GPUREC_BPF_METRICS_H
#define GPUREC_BPF_METRICS_H

#include "bpf/state.h"

const volatile __u64 metrics_ns; /* the period */
volatile __u64 metrics_timer_ns; /* spent in the timer, which the kernel's statistics of programs leave out */

/*
 * What a CPU has done is one word, so that another CPU reads it whole: while it idles, how long it was busy, and this
 * bit; while it is busy, the time minus that.
 */
#define METRICS_IDLE (1ULL << 63)

struct metrics_cpu {
	__u64 busy;       /* as said above */
	__u64 sampled_ns; /* from when on the period counts */
	__u64 switches;   /* 0: none was seen yet, and what it does is not known */
	__u64 queue;      /* address of its run queue; 0: the kernel does not lead us there */
	__u64 pad[4];     /* a cache line of its own */
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

/* If it is due, and unless another has just done it. */
static __always_inline void metrics_sample(__u32 cpu, struct metrics_cpu *c, __u64 now_ns, bool forced)
{
	__u64 before = *(volatile __u64 *)&c->sampled_ns, word = *(volatile __u64 *)&c->busy;
	/* After the timer a switch has half a period less to wait, or the timer would always be there first. */
	__u64 after = forced ? now_ns - metrics_ns / 2 : now_ns;
	struct ring_metric *r;

	if (now_ns - before < metrics_ns || __sync_val_compare_and_swap(&c->sampled_ns, before, after) != before)
		return;
	count(PROBE_METRIC, COUNT_fired);
	r = bpf_ringbuf_reserve(&bulk, sizeof(*r), 0);
	if (!r) {
		count(PROBE_METRIC, COUNT_ring_full);
		return;
	}
	head_fill(&r->head, RING_METRIC);
	r->head.cpu = cpu;
	r->busy_ns = metrics_busy(word, now_ns);
	r->switches = c->switches;
	r->waiting = metrics_waiting(c, !(word & METRICS_IDLE));
	r->forced = forced;
	submit_bulk(r);
}

SEC("tp_btf/sched_switch")
int on_metrics(__u64 *ctx)
{
	struct task_struct *next = (void *)ctx[2];
	__u32 cpu = bpf_get_smp_processor_id();
	struct metrics_cpu *c = bpf_map_lookup_elem(&metrics_cpus, &cpu);
	__u64 now_ns = bpf_ktime_get_ns(), busy;

	if (!c)
		return 0;
	busy = c->switches ? metrics_busy(c->busy, now_ns) : 0;
	*(volatile __u64 *)&c->busy = next->pid ? now_ns - busy : METRICS_IDLE | busy;
	if (!c->switches++ && bpf_core_field_exists(next->se.cfs_rq))
		c->queue = (__u64)BPF_CORE_READ(next, se.cfs_rq, rq);
	if (running && now_ns - c->sampled_ns >= metrics_ns)
		metrics_sample(cpu, c, now_ns, false);
	return 0;
}

static long metrics_fill_in(struct bpf_map *map, const __u32 *cpu, struct metrics_cpu *c, const __u64 *now_ns)
{
	(void)map;
	if (c->switches)
		metrics_sample(*cpu, c, *now_ns, true);
	return 0;
}

/* The times at which it is due form a grid, so that the rate is kept, however late the timer is. */
static int metrics_due(void *map, int *key, struct metrics_timer *t)
{
	__u64 now_ns = bpf_ktime_get_ns(), next_ns = t->due_ns + metrics_ns;

	(void)map, (void)key;
	if (running)
		bpf_for_each_map_elem(&metrics_cpus, metrics_fill_in, &now_ns, 0);
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
	return bpf_timer_start(&t->timer, metrics_ns, 0) != 0;
}

#endif
