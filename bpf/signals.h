/* SPDX-License-Identifier: GPL-2.0 */
/* Signals that stop, continue or end a recorded process, and who sent them. Part of gpurec.bpf.c. */
#ifndef GPUREC_BPF_SIGNALS_H
#define GPUREC_BPF_SIGNALS_H

#include "bpf/names.h"

/* In masks, signal n is bit n - 1. */
#define SIGNAL_BIT(n) (1ull << ((n)-1))
/* What the process does about these does not matter: KILL, STOP, CONT. */
#define SIGNALS_ALWAYS (SIGNAL_BIT(9) | SIGNAL_BIT(KERNEL_SIGSTOP) | SIGNAL_BIT(KERNEL_SIGCONT))
/* CHLD, URG, WINCH: ignored where there is no handler. */
#define SIGNALS_IGNORED (SIGNAL_BIT(17) | SIGNAL_BIT(23) | SIGNAL_BIT(28))

/* As TRACE_SIGNAL_* of the kernel. */
enum { SIGNAL_DELIVERED, SIGNAL_IGNORED, SIGNAL_PENDING_ALREADY };

/* What the process does at this signal: 0 for the default. */
static __always_inline __u64 signal_handler(struct task_struct *t, __u32 number)
{
	__u64 actions = (__u64)BPF_CORE_READ(t, sighand), handler = 1;

	actions += bpf_core_field_offset(struct sighand_struct, action);
	actions += (__u64)(number - 1) * bpf_core_type_size(struct k_sigaction);
	bpf_probe_read_kernel(&handler, sizeof(handler), (void *)actions);
	return handler;
}

static __always_inline bool signal_matters(struct task_struct *t, __u32 number, __u32 result)
{
	if (number < 1 || number > 64)
		return false;
	if (number == KERNEL_SIGCONT) /* continues, also where it is blocked, ignored or pending */
		return true;
	if (result == SIGNAL_IGNORED || result == SIGNAL_PENDING_ALREADY)
		return false;
	if (SIGNAL_BIT(number) & SIGNALS_ALWAYS)
		return true;
	return !(SIGNAL_BIT(number) & SIGNALS_IGNORED) && !signal_handler(t, number);
}

/* Why it was sent: si_code. The pointer may be one of two small numbers, which stand for a user and for the kernel. */
static __always_inline __s32 signal_code(const __u64 *ctx)
{
	__u64 info = 1;
	__s32 code = KERNEL_SI_KERNEL;

	bpf_probe_read_kernel(&info, sizeof(info), &ctx[1]);
	if (info <= 1)
		return info ? KERNEL_SI_KERNEL : 0;
	info += bpf_core_field_offset(struct kernel_siginfo, si_code);
	bpf_probe_read_kernel(&code, sizeof(code), (void *)info);
	return code;
}

static __always_inline void emit_signal(struct task_struct *t, __u32 number, __s32 code, bool to_group)
{
	struct task_struct *sender = bpf_get_current_task_btf();
	struct ring_signal *r;

	count(PROBE_SIGNAL, COUNT_fired);
	if (drop(PROBE_SIGNAL))
		return;
	emit(t, true);
	emit(sender, track_of(sender->tgid));
	r = bpf_ringbuf_reserve(&bulk, sizeof(*r), 0);
	if (!r) {
		count(PROBE_SIGNAL, COUNT_ring_full);
		return;
	}
	head_fill(&r->head, RING_SIGNAL);
	r->pid = t->tgid;
	r->tid = to_group ? 0 : t->pid;
	r->number = number;
	r->code = code;
	r->sender_tid = sender->pid;
	r->pad = 0;
	submit_bulk(r);
}

#endif
