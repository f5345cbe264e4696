/* SPDX-License-Identifier: GPL-2.0 */
/* What threads are in at a moment, whoever asks: part of gpurec.bpf.c. */
#ifndef GPUREC_BPF_STATES_H
#define GPUREC_BPF_STATES_H

#include "bpf/call_slots.h"

/* Set by the recorder before it goes through the threads; it is the only one that does. */
volatile __u32 states_moment; /* MOMENT_*; 0: none is asked for */
volatile __u64 states_room;   /* rows that may still be made; */
volatile __u64 states_beyond; /* and how many were not, for want of it */

static __always_inline bool states_take(void)
{
	if (states_room) {
		states_room--;
		return true;
	}
	states_beyond++;
	return false;
}

static __noinline void emit_state(struct task_struct *t)
{
	struct pt_regs *user = (struct pt_regs *)bpf_task_pt_regs(t);
	struct ring_state *r;
	__s64 nr = -1;

	if (!states_take())
		return;
	count(PROBE_STATE, COUNT_fired);
	r = bpf_ringbuf_reserve(&bulk, sizeof(*r), 0);
	if (!r) {
		count(PROBE_STATE, COUNT_ring_full);
		return;
	}
	head_fill(&r->head, RING_STATE);
	r->pid = t->tgid;
	r->tid = t->pid;
	r->moment = states_moment;
	/* One that ends has given its memory back before its state says so. */
	r->state = t->mm ? t->__state : STATE_GONE;
	/* Of one that runs the registers are of an earlier time. */
	if (r->state)
		nr = SYSCALL_NR(user);
	r->syscall = nr >= 0 ? (__u64)nr + 1 : 0;
	r->argument = nr >= 0 ? SYSCALL_0(user) : 0;
	r->start_ns = process_start(t);
	r->switches = bpf_core_field_exists(t->nvcsw) ? t->nvcsw + t->nivcsw : 0;
	r->ip = REGS_IP(user);
	r->sp = REGS_SP(user);
	r->fp = REGS_FP(user);
	r->lr = REGS_LR(user);
	submit_bulk(r);
}

static __noinline void emit_in_flight(struct task_struct *t, __u32 probe, __u64 start_ns, __u64 argument, __u32 flags)
{
	struct ring_in_flight *r;

	if (!states_take())
		return;
	count(PROBE_IN_FLIGHT, COUNT_fired);
	r = bpf_ringbuf_reserve(&bulk, sizeof(*r), 0);
	if (!r) {
		count(PROBE_IN_FLIGHT, COUNT_ring_full);
		return;
	}
	head_fill(&r->head, RING_IN_FLIGHT);
	r->pid = t->tgid;
	r->tid = t->pid;
	r->moment = states_moment;
	r->probe = (__u16)probe;
	r->flags = (__u16)flags;
	r->dur_ns = r->head.at_ns > start_ns ? r->head.at_ns - start_ns : 0;
	r->argument = argument;
	submit_bulk(r);
}

/* Who and what can end a wait in a futex. */
static __always_inline __u32 futex_flags(const struct thread_state *s)
{
	__u64 op = s->futex.arg[1];
	__u32 flags = 0;

	if (s->futex.nr != NR_futex || !(KERNEL_FUTEX_WAITS >> (KERNEL_FUTEX_CMD(op) & 31) & 1))
		return 0;
	if (op & KERNEL_FUTEX_PRIVATE)
		flags |= FLIGHT_PRIVATE;
	if (!s->futex.arg[3])
		flags |= FLIGHT_UNTIMED;
	return flags;
}

static __always_inline void emit_open_calls(struct task_struct *t, struct thread_state *s)
{
	struct open_calls *c = calls_of(t, s);

	for (int i = 0; c && i < CALL_DEPTH; i++) {
		struct frame *f = &c->frame[i];

		if (i < c->depth && !f->left_out)
			emit_in_flight(t, f->probe, f->start_ns, f->word[0], f->nested);
	}
	if (s->futex.start_ns && !s->futex.left_out)
		emit_in_flight(t, PROBE_FUTEX, s->futex.start_ns, s->futex.addr, futex_flags(s));
}

#endif
