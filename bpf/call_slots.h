/* SPDX-License-Identifier: GPL-2.0 */
/* Where the calls that a thread is in are kept: map `seats`, or `spares`. Part of gpurec.bpf.c. */
#ifndef GPUREC_BPF_CALL_SLOTS_H
#define GPUREC_BPF_CALL_SLOTS_H

#include "bpf/names.h"

static __always_inline struct open_calls *seat_by(__u32 number)
{
	__u32 key = number & seat_mask;

	return bpf_map_lookup_elem(&seats, &key);
}

/* NULL: this thread has none. */
static __always_inline struct open_calls *seat_of(struct task_struct *t)
{
	struct open_calls *c = seat_by(t->pid);

	return c && c->tid == (__u32)t->pid && c->since_ns == t->start_boottime ? c : 0;
}

/* NULL: this thread has none. */
static __always_inline struct open_calls *spare_of(struct task_struct *t)
{
	return bpf_task_storage_get(&spares, t, 0, 0);
}

/* A seat for the current thread, which keeps it until it ends or runs another program. NULL: another one has it. */
static __always_inline struct open_calls *seat_take(struct task_struct *t, struct thread_state *s)
{
	__u64 tid = (__u32)t->pid;
	struct open_calls *c = s->spare ? spare_of(t) : 0;

	if (c && (c->depth || c->over))
		return 0; /* these would be looked for in the seat */
	c = seat_by(t->pid);
	if (!c)
		return 0;
	/* Who had our number is gone. */
	if (c->tid != tid && __sync_val_compare_and_swap(&c->tid, 0, tid))
		return 0;
	c->since_ns = t->start_boottime;
	c->start_ns = 0;
	c->depth = 0;
	c->over = 0;
	c->emitted = 0;
	s->seat = ((__u32)t->pid & seat_mask) + 1;
	return c;
}

/* As calls_to_enter(), for a thread that has no seat yet, or gets none. Out of line, for it is rare. */
static __noinline struct open_calls *calls_begin(__u32 probe)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct thread_state *s = state_to_enter(t, probe, track_all);
	struct open_calls *c;

	if (!s)
		return 0;
	c = seat_take(t, s);
	if (!c) {
		s->spare = 1;
		c = bpf_task_storage_get(&spares, t, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	}
	if (!c)
		count_refused(probe);
	else if (!c->start_ns)
		c->start_ns = process_start(t);
	return c;
}

/* The current thread's, with `probe` counted as fired; NULL: as state_to_enter() has it. */
static __always_inline struct open_calls *calls_to_enter(struct task_struct *t, __u32 probe)
{
	struct open_calls *c = seat_of(t);

	if (!c)
		return calls_begin(probe);
	count(probe, COUNT_fired);
	return c;
}

/* NULL: this thread has entered no call. */
static __always_inline struct open_calls *calls_to_leave(struct task_struct *t)
{
	struct open_calls *c = seat_of(t);

	return c ? c : spare_of(t);
}

/* Those of any thread, with its state; NULL: it has entered none. */
static __always_inline struct open_calls *calls_of(struct task_struct *t, struct thread_state *s)
{
	struct open_calls *seat = s->seat ? seat_by(s->seat - 1) : 0;

	return seat ? seat : spare_of(t);
}

/* The thread ends, or runs another program: then it may have taken over the number of its leader. */
static __always_inline void abandon_calls(struct task_struct *t, enum counter_index why)
{
	struct thread_state *s = bpf_task_storage_get(&threads, t, 0, 0);
	struct open_calls *c;
	bool seated;

	if (!s)
		return;
	s->emitted = 0;
	seated = s->seat;
	c = calls_of(t, s);
	if (!c)
		return;
	for (int i = 0; i < CALL_DEPTH; i++)
		if (i < c->depth && !c->frame[i].left_out)
			count(c->frame[i].probe, why);
	c->depth = 0;
	c->over = 0;
	c->emitted = 0;
	s->seat = 0;
	if (seated)
		(void)__sync_lock_test_and_set(&c->tid, 0); /* after all of the above */
}

#endif
