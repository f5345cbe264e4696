/* SPDX-License-Identifier: GPL-2.0 */
/*
 * When a thread had to free memory by itself, in the kernel. Part of gpurec.bpf.c.
 *
 * The kernel does that in stretches, which do not contain each other: reclaim because the host, or a control group, has
 * too little, or compaction. Each has a tracepoint at its begin and at its end.
 */
#ifndef GPUREC_BPF_RECLAIM_H
#define GPUREC_BPF_RECLAIM_H

#include "bpf/follow.h"

static __always_inline int reclaim_begins(__u32 cause)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct thread_state *s;

	if (!running || !is_scheduled(t, track_of(t->tgid)))
		return 0;
	s = bpf_task_storage_get(&threads, t, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!s) {
		count(PROBE_RECLAIM, COUNT_fired);
		count(PROBE_RECLAIM, COUNT_no_state);
		return 0;
	}
	s->reclaim.cause = cause;
	s->reclaim.start_ns = now_ns();
	return 0;
}

static __always_inline int reclaim_ends(__u32 cause, __u64 pages)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct thread_state *s = running ? bpf_task_storage_get(&threads, t, 0, 0) : 0;
	struct ring_reclaim *r;
	__u64 start_ns;

	if (!s || !s->reclaim.start_ns || s->reclaim.cause != cause)
		return 0;
	start_ns = s->reclaim.start_ns;
	s->reclaim.start_ns = 0;
	count(PROBE_RECLAIM, COUNT_fired);
	if (drop(PROBE_RECLAIM))
		return 0;
	emit(t, track_of(t->tgid));
	r = bpf_ringbuf_reserve(&bulk, sizeof(*r), 0);
	if (!r) {
		count(PROBE_RECLAIM, COUNT_ring_full);
		return 0;
	}
	head_fill(&r->head, RING_RECLAIM);
	r->pid = t->tgid;
	r->tid = t->pid;
	r->dur_ns = r->head.at_ns > start_ns ? r->head.at_ns - start_ns : 0;
	r->pages = pages;
	r->cause = cause;
	r->pad = 0;
	submit_bulk(r);
	return 0;
}

SEC("tp_btf/mm_vmscan_direct_reclaim_begin")
int on_reclaim_begin(__u64 *ctx)
{
	return reclaim_begins(RECLAIM_HOST);
}

SEC("tp_btf/mm_vmscan_direct_reclaim_end")
int on_reclaim_end(__u64 *ctx)
{
	return reclaim_ends(RECLAIM_HOST, ctx[0]);
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_begin")
int on_limit_begin(__u64 *ctx)
{
	return reclaim_begins(RECLAIM_GROUP);
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_end")
int on_limit_end(__u64 *ctx)
{
	return reclaim_ends(RECLAIM_GROUP, ctx[0]);
}

SEC("tp_btf/mm_compaction_begin")
int on_compact_begin(__u64 *ctx)
{
	return reclaim_begins(RECLAIM_COMPACT);
}

SEC("tp_btf/mm_compaction_end")
int on_compact_end(__u64 *ctx)
{
	return reclaim_ends(RECLAIM_COMPACT, 0);
}

#endif
