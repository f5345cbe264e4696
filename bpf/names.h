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

/* A word of the set of CPUs on which a thread may run: i < cpu_words. */
static __always_inline __u64 cpu_word(struct task_struct *t, int i)
{
	const unsigned long *set = (const void *)&t->cpus_mask;

	return set[i];
}

/* Of how a thread is scheduled: another one when any of that was changed. Out of line, as the next. */
static __noinline __u64 scheduling_mark(struct task_struct *t, __u64 mark)
{
	mark ^= t->policy | (__u64)(__u32)t->static_prio << 8 | (__u64)t->rt_priority << 16;
	for (int i = 0; i < CPU_WORDS_MAX; i++)
		if (i < cpu_words && bpf_core_field_exists(t->cpus_mask))
			mark = (mark ^ cpu_word(t, i)) * 0x9e3779b97f4a7c15;
	return mark;
}

static __noinline bool scheduling_changed(struct task_struct *t)
{
	struct ring_scheduling *r;

	count(PROBE_SCHEDULING, COUNT_fired);
	r = bpf_ringbuf_reserve(&life, sizeof(*r), 0);
	if (!r) {
		count(PROBE_SCHEDULING, COUNT_ring_full);
		return false;
	}
	head_fill(&r->head, RING_SCHEDULING);
	r->pid = t->tgid;
	r->tid = t->pid;
	r->policy = t->policy;
	r->nice = t->static_prio - KERNEL_NICE_0;
	r->priority = t->rt_priority;
	r->nwords = bpf_core_field_exists(t->cpus_mask) ? cpu_words : 0;
	for (int i = 0; i < CPU_WORDS_MAX; i++)
		r->cpus[i] = i < cpu_words && bpf_core_field_exists(t->cpus_mask) ? cpu_word(t, i) : 0;
	submit_life(r, false);
	return true;
}

/* Whether it is reported by now, as the thread is scheduled at this moment. mark: of its name. */
static __always_inline bool emit_scheduling(struct task_struct *t, __u64 mark, struct named *slot)
{
	if (!bpf_core_field_exists(t->policy) || !bpf_core_field_exists(t->static_prio))
		return true;
	mark = scheduling_mark(t, mark);
	if (slot->scheduling == mark)
		return true;
	if (!scheduling_changed(t))
		return false;
	slot->scheduling = mark;
	return true;
}

/*
 * comm: a new name, which the task does not carry yet; NULL: the one it has, if it was not reported before. anew: also
 * look whether it is scheduled otherwise than was reported.
 */
static __always_inline bool emit_thread(struct task_struct *t, bool is_tracked, const char *comm, bool anew)
{
	__u32 tid = t->pid;
	__u32 key = tid % NAMED_THREADS;
	__u64 mark = name_mark(t->start_boottime, tid, is_tracked);
	struct named *slot;
	struct ring_thread *r;

	if (!tid)
		return true; /* the idle task */
	slot = bpf_map_lookup_elem(&named_threads, &key);
	if (!slot)
		return false;
	if (slot->mark == mark && !comm)
		return !anew || emit_scheduling(t, mark, slot);
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
	slot->mark = mark;
	return emit_scheduling(t, mark, slot);
}

static __always_inline void emit(struct task_struct *t, bool is_tracked)
{
	emit_thread(t, is_tracked, 0, false);
	if (t->pid)
		emit_process(t->group_leader, is_tracked, 0);
}

/* The same at a switch. */
static __always_inline void emit_anew(struct task_struct *t, bool is_tracked)
{
	emit_thread(t, is_tracked, 0, true);
	if (t->pid)
		emit_process(t->group_leader, is_tracked, 0);
}

/* Out of line, for it is rare. */
static __noinline bool emit_first(struct task_struct *t)
{
	return emit_thread(t, true, 0, false) && emit_process(t->group_leader, true, 0);
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
	struct named *thread = bpf_map_lookup_elem(&named_threads, &key);
	__u64 *process;

	if (thread)
		thread->mark = 0;
	if (t->pid != t->tgid)
		return;
	key = (__u32)t->pid % NAMED_PROCESSES;
	process = bpf_map_lookup_elem(&named_processes, &key);
	if (process)
		*process = 0;
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
