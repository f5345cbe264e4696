/* SPDX-License-Identifier: GPL-2.0 */
/*
 * User stacks at the return of a call. Part of gpurec.bpf.c.
 *
 * A function that returns to a probe has, on the stack, the kernel's address (the trampoline) in place of its caller's.
 * So it is with each call around the one that returns, ours or another tool's. Kernels since 6.11 put that right where
 * they walk the stack; here it is done by us on all of them, from the kernel's own list of what is to return where,
 * which goes from the inside out.
 */
#ifndef GPUREC_BPF_NESTED_STACKS_H
#define GPUREC_BPF_NESTED_STACKS_H

#include "bpf/state.h"

#define STACK_FRAMES_MASK 0xffu
#define STACK_CUT 0x100u /* it goes on, to where is not known */

/* As deep as the kernel lets calls with probes nest. */
#define RETURNS_MAX 64

/* What the current task is to return to, the innermost first. NULL: nothing. The first may have just returned. */
static __always_inline struct return_instance *returns_pending(struct task_struct *t)
{
	struct return_instance *first = 0;

	if (bpf_core_field_exists(t->utask) && bpf_core_field_exists(t->utask->return_instances))
		first = t->utask->return_instances;
	return first;
}

/* What is on the stack in place of where such a call returns to. */
static __always_inline __u64 returns_trampoline(struct task_struct *t)
{
	struct mm_struct *mm = t->mm;

	return bpf_core_field_exists(mm->uprobes_state.xol_area) ? BPF_CORE_READ(mm, uprobes_state.xol_area, vaddr) : 0;
}

/*
 * Where the call returns to whose frame record is at `fp`; 0: it has no return probe. By the place, not by the order:
 * code without frame pointers is on the stack and not seen there. A call's return address, or on arm64 the stack at its
 * entry, is above its frame, and below the frames around it. Calls that became one by a jump (tail calls) share it, and
 * where they return to; calls that were left without returning (longjmp) are below.
 *
 * Not static: what is, the verifier goes through anew for each frame of a stack, which took it 0.1 s.
 */
__noinline __u64 returns_to(__u64 fp)
{
	struct return_instance *r = returns_pending(bpf_get_current_task_btf());

	for (int i = 0; i < RETURNS_MAX && r; i++) {
		if (r->stack > fp)
			return RETURNS_PLAIN && r->stack != fp + 8 ? 0 : r->orig_ret_vaddr;
		r = r->next;
	}
	return 0;
}

#if defined(__TARGET_ARCH_x86)

/*
 * The user stack behind its first frame, by frame pointers: where one points, the caller's stands, and behind it the
 * return address. They ascend within one stack. Most programs are built without them, and have something else in that
 * register: the kernel's own walk would follow it, to frames that are none, or to a fault that costs as much as all
 * else here. Returns how many frames there are with the first one, and STACK_CUT.
 */
#define FRAME_BYTES_MAX (8u << 20)

static __always_inline bool may_be_frame(__u64 fp, __u64 sp)
{
	return fp >= sp && fp - sp <= FRAME_BYTES_MAX && !(fp & 7);
}

static __noinline __u32 walk_stack(__u64 *frame, __u64 sp, __u64 fp)
{
	struct task_struct *t = bpf_get_current_task_btf();
	__u64 trampoline = returns_pending(t) ? returns_trampoline(t) : 0;
	__u64 at_fp[2];
	__u32 n = 1;

	for (; n < STACK_FRAMES; n++) {
		if (!may_be_frame(fp, sp) || bpf_probe_read_user(at_fp, sizeof(at_fp), (const void *)fp) || !at_fp[1])
			break;
		if (at_fp[1] == trampoline)
			at_fp[1] = returns_to(fp);
		if (!at_fp[1])
			return n | STACK_CUT;
		frame[n] = at_fp[1];
		sp = fp + sizeof(at_fp);
		fp = at_fp[0];
	}
	return n;
}

/* Returns as above. */
static __always_inline __u32 stack_take(struct pt_regs *ctx, __u64 *frame)
{
	frame[0] = REGS_IP(ctx);
	return walk_stack(frame, REGS_SP(ctx), REGS_FP(ctx));
}

#else

/* Never: there is a stack to be had, from the kernel. */
static __always_inline bool may_be_frame(__u64 fp, __u64 sp)
{
	(void)fp, (void)sp;
	return true;
}

/*
 * The kernel has walked the stack, for return addresses there may be signed. Behind the first one each is from a frame
 * record, the next of which the record's first word leads to. Returns as above.
 */
static __noinline __u32 stack_mend(__u64 *frame, __u32 n, __u64 fp)
{
	struct task_struct *t = bpf_get_current_task_btf();
	__u64 trampoline = returns_pending(t) ? returns_trampoline(t) : 0;

	if (!trampoline)
		return n;
	for (__u32 i = 1; i < STACK_FRAMES && i < n; i++) {
		if (i > 1 && bpf_probe_read_user(&fp, sizeof(fp), (const void *)fp))
			return i | STACK_CUT;
		if (frame[i] == trampoline)
			frame[i] = returns_to(fp);
		if (!frame[i])
			return i | STACK_CUT;
	}
	return n;
}

static __always_inline __u32 stack_take(struct pt_regs *ctx, __u64 *frame)
{
	long n = bpf_get_stack(ctx, frame, STACK_FRAMES * sizeof(*frame), BPF_F_USER_STACK);

	return n > 0 ? stack_mend(frame, (__u32)n / 8, REGS_FP(ctx)) : STACK_CUT;
}

#endif

#endif
