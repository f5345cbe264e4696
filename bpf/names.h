/* SPDX-License-Identifier: GPL-2.0 */
/* Who is who: reported before the first event that mentions a thread. Part of gpurec.bpf.c. */
#ifndef GPUREC_BPF_NAMES_H
#define GPUREC_BPF_NAMES_H

#include "bpf/state.h"

static __always_inline __u64 name_mark(__u64 start_ns, __u32 id, bool is_tracked)
{
	return (start_ns << 1 | is_tracked) ^ ((__u64)id << 42);
}

/* Both return whether it is reported by now. comm: as below. */
static __always_inline bool emit_process(struct task_struct *leader, bool is_tracked, const char *comm)
{
	__u32 pid = leader->pid;
	__u32 key = pid % NAMED_PROCESSES;
	__u64 start_ns = leader->start_boottime;
	__u64 mark = name_mark(start_ns, pid, is_tracked);
	__u64 *slot = bpf_map_lookup_elem(&named_processes, &key);
	struct ring_process *r;

	if (!slot)
		return false;
	if (*slot == mark && !comm)
		return true;
	count(PROBE_PROCESS_NAME, COUNT_fired);
	r = bpf_ringbuf_reserve(&life, sizeof(*r), 0);
	if (!r) {
		count(PROBE_PROCESS_NAME, COUNT_ring_full);
		return false;
	}
	head_fill(&r->head, RING_PROCESS);
	r->start_ns = start_ns;
	r->pid = pid;
	r->ppid = BPF_CORE_READ(leader, real_parent, tgid);
	r->uid = BPF_CORE_READ(leader, real_cred, uid.val);
	r->tracked = is_tracked;
	bpf_probe_read_kernel(r->comm, sizeof(r->comm), comm ? (const void *)comm : (const void *)&leader->comm);
	submit_life(r, false);
	*slot = mark;
	return true;
}

/* comm: a new name, which the task does not carry yet; NULL: the one it has, if it was not reported before. */
static __always_inline bool emit_thread(struct task_struct *t, bool is_tracked, const char *comm)
{
	__u32 tid = t->pid;
	__u32 key = tid % NAMED_THREADS;
	__u64 mark = name_mark(t->start_boottime, tid, is_tracked);
	__u64 *slot;
	struct ring_thread *r;

	if (!tid)
		return true; /* the idle task */
	slot = bpf_map_lookup_elem(&named_threads, &key);
	if (!slot)
		return false;
	if (*slot == mark && !comm)
		return true;
	count(PROBE_THREAD_NAME, COUNT_fired);
	r = bpf_ringbuf_reserve(&life, sizeof(*r), 0);
	if (!r) {
		count(PROBE_THREAD_NAME, COUNT_ring_full);
		return false;
	}
	head_fill(&r->head, RING_THREAD);
	r->start_ns = t->start_boottime;
	r->tid = tid;
	r->pid = t->tgid;
	bpf_probe_read_kernel(r->comm, sizeof(r->comm), comm ? (const void *)comm : (const void *)&t->comm);
	submit_life(r, false);
	*slot = mark;
	return true;
}

static __always_inline void emit(struct task_struct *t, bool is_tracked)
{
	emit_thread(t, is_tracked, 0);
	if (t->pid)
		emit_process(t->group_leader, is_tracked, 0);
}

/* Out of line, for it is rare. */
static __noinline bool emit_first(struct task_struct *t)
{
	return emit_thread(t, true, 0) && emit_process(t->group_leader, true, 0);
}

/* The same for a tracked thread, of which *reported knows whether it was done: that spares looking it up each time. */
static __always_inline void emit_tracked(struct task_struct *t, __u32 *emitted)
{
	if (!*emitted)
		*emitted = emit_first(t);
}

/* Forget that an untracked thread was named: it has another name now, reported when it is next mentioned. */
static __always_inline void unemit(struct task_struct *t)
{
	__u32 key = (__u32)t->pid % NAMED_THREADS;
	__u64 *slot = bpf_map_lookup_elem(&named_threads, &key);

	if (slot)
		*slot = 0;
	if (t->pid != t->tgid)
		return;
	key = (__u32)t->pid % NAMED_PROCESSES;
	slot = bpf_map_lookup_elem(&named_processes, &key);
	if (slot)
		*slot = 0;
}

static __always_inline struct track *track_add(struct task_struct *t, __u32 flags)
{
	__u32 pid = t->tgid;
	struct track entry = {.start_ns = process_start(t), .flags = flags};

	bpf_map_update_elem(&tracked, &pid, &entry, BPF_ANY);
	return track_of(pid);
}

/*
 * The current task's state, made if need be, with `probe` counted as fired; NULL: it is not tracked, or, counted, there
 * is no memory for it or no room in `tracked`. Who has a state is tracked, so that most need not be looked up in
 * `tracked`.
 */
static __always_inline struct thread_state *state_to_enter(struct task_struct *t, __u32 probe, bool may_track)
{
	struct thread_state *s = bpf_task_storage_get(&threads, t, 0, 0);

	if (!s && !track_of(t->tgid)) {
		if (!may_track)
			return 0;
		if (!track_add(t, 0)) {
			count(probe, COUNT_fired);
			count(probe, COUNT_no_state);
			return 0;
		}
	}
	count(probe, COUNT_fired);
	if (!s)
		s = bpf_task_storage_get(&threads, t, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!s)
		count_refused(probe);
	return s;
}

#endif
