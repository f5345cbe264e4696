/* SPDX-License-Identifier: GPL-2.0 */
/* Threads that the CPU quota of their control group keeps from running (CFS bandwidth). Part of gpurec.bpf.c. */
#ifndef GPUREC_BPF_THROTTLE_H
#define GPUREC_BPF_THROTTLE_H

#include "bpf/names.h"

/* Whether the quota of the group that a runnable thread is in, or of one above it, is used up. */
static __always_inline bool is_throttled(struct task_struct *t)
{
	if (!quota_on)
		return false;
	/* Since 6.18 each thread is taken off the queue by itself; before, its whole queue was. */
	if (bpf_core_field_exists(t->throttled))
		return t->throttled;
	if (!bpf_core_field_exists(t->se.cfs_rq) || !bpf_core_field_exists(t->se.cfs_rq->throttle_count))
		return false;
	return t->prio >= KERNEL_MAX_RT_PRIO && t->se.cfs_rq->throttle_count > 0;
}

/*
 * The kernel's own account (since 6.6) of how long its queue was throttled, the groups above it included, up to now. It
 * is settled when that ends; until then it is since when.
 */
static __always_inline __u64 throttled_until_now(const struct cfs_rq *queue)
{
	__u64 since, now;

	if (!bpf_core_field_exists(queue->throttled_clock_self_time))
		return 0;
	since = queue->throttled_clock_self;
	now = queue->rq->clock;
	return queue->throttled_clock_self_time + (since && now > since ? now - since : 0);
}

/* It stays runnable and is throttled from now on. */
static __always_inline void throttle_begins(struct task_struct *t)
{
	struct thread_state *s = bpf_task_storage_get(&threads, t, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!s || !bpf_core_field_exists(t->se.cfs_rq->throttled_clock_self_time))
		return;
	s->throttle.queue = (__u64)t->se.cfs_rq;
	s->throttle.account_ns = throttled_until_now(t->se.cfs_rq);
}

static __always_inline void emit_throttled(struct task_struct *t, __u64 dur_ns)
{
	struct ring_throttled *r;

	count(PROBE_THROTTLED, COUNT_fired);
	if (drop(PROBE_THROTTLED))
		return;
	emit(t, true);
	r = bpf_ringbuf_reserve(&bulk, sizeof(*r), 0);
	if (!r) {
		count(PROBE_THROTTLED, COUNT_ring_full);
		return;
	}
	head_fill(&r->head, RING_THROTTLED);
	r->pid = t->tgid;
	r->tid = t->pid;
	r->dur_ns = dur_ns;
	submit_bulk(r);
}

/* It is about to run again. Where it was moved to another queue meanwhile, there is no account of its time. */
static __always_inline void throttle_ends(struct task_struct *t, struct thread_state *s)
{
	__u64 queue = s->throttle.queue, dur_ns;

	s->throttle.queue = 0;
	if (!bpf_core_field_exists(t->se.cfs_rq->throttled_clock_self_time) || (__u64)t->se.cfs_rq != queue)
		return;
	dur_ns = throttled_until_now(t->se.cfs_rq) - s->throttle.account_ns;
	if ((__s64)dur_ns > 0)
		emit_throttled(t, dur_ns);
}

#endif
