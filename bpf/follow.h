/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Threads of processes that are not tracked, and that ended a long sleep of a tracked thread: from then on their own
 * switches and wakings are recorded, so that it is known what kept them, and nothing else of them. Part of
 * gpurec.bpf.c.
 */
#ifndef GPUREC_BPF_FOLLOW_H
#define GPUREC_BPF_FOLLOW_H

#include "bpf/names.h"

static __always_inline bool is_followed(struct task_struct *t)
{
	__u32 tid = t->pid;
	__u64 *start_ns = nfollowed ? bpf_map_lookup_elem(&followed, &tid) : 0;

	return start_ns && *start_ns == t->start_boottime;
}

/* Its switches are recorded, and who wakes it. */
static __always_inline bool is_scheduled(struct task_struct *t, bool is_tracked)
{
	return is_tracked || is_followed(t);
}

/* A tracked thread goes to sleep. */
static __always_inline void follow_sleep(struct task_struct *t)
{
	struct thread_state *s = follow_wakers || network_on ? bpf_task_storage_get(&threads, t, 0, 0) : 0;

	if (s)
		s->left_ns = now_ns();
}

/* The current task ended a sleep of that thread. */
static __noinline void follow(struct task_struct *slept, __u64 slept_ns)
{
	struct task_struct *t = bpf_get_current_task_btf();
	__u64 start_ns = t->start_boottime;
	__u32 tid = t->pid;
	struct ring_follow *r;

	if (bpf_map_update_elem(&followed, &tid, &start_ns, BPF_ANY)) {
		__sync_fetch_and_add(&nunfollowed, 1);
		return;
	}
	count(PROBE_FOLLOW, COUNT_fired);
	r = bpf_ringbuf_reserve(&life, sizeof(*r), 0);
	if (!r) {
		count(PROBE_FOLLOW, COUNT_ring_full);
		bpf_map_delete_elem(&followed, &tid);
		return;
	}
	__sync_fetch_and_add(&nfollowed, 1);
	head_fill(&r->head, RING_FOLLOW);
	r->pid = t->tgid;
	r->tid = tid;
	r->waiter_tid = slept->pid;
	r->pad = 0;
	r->slept_ns = slept_ns;
	submit_life(r, false);
}

/* A tracked thread is woken by the current task, which is not tracked, and in no interrupt. */
static __always_inline void follow_waker(struct task_struct *slept)
{
	struct task_struct *waker = bpf_get_current_task_btf();
	struct thread_state *s = bpf_task_storage_get(&threads, slept, 0, 0);
	__u64 slept_ns = s && s->left_ns ? now_ns() - s->left_ns : 0;

	if (waker->pid && (__u32)waker->tgid != own_pid && slept_ns >= FOLLOW_SLEPT_NS && !is_followed(waker))
		follow(slept, slept_ns);
}

/* It leaves its CPU for the last time. */
static __always_inline void follow_no_more(struct task_struct *t)
{
	__u32 tid = t->pid;

	if (is_followed(t) && !bpf_map_delete_elem(&followed, &tid))
		__sync_fetch_and_add(&nfollowed, -1);
}

#endif
