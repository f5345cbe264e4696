/* SPDX-License-Identifier: GPL-2.0 */
/* Calls into libraries: entered, nested, left. Part of gpurec.bpf.c. */
#ifndef GPUREC_BPF_CALLS_H
#define GPUREC_BPF_CALLS_H

#include "bpf/names.h"

/* The mask, which the compiler must not see through, is what the verifier trusts. */
static __always_inline struct frame *frame_at(struct thread_state *s, __u32 i)
{
	asm volatile("" : "+r"(i));
	return &s->frame[i & (CALL_DEPTH - 1)];
}

static __always_inline void read_words(struct frame *f, const struct pt_regs *ctx, __u32 nwords)
{
#if defined(__TARGET_ARCH_x86)
	f->word[0] = ctx->di;
	f->word[1] = ctx->si;
	f->word[2] = ctx->dx;
	f->word[3] = ctx->cx;
	f->word[4] = ctx->r8;
	f->word[5] = ctx->r9;
#else
	for (int i = 0; i < REGISTER_WORDS; i++)
		f->word[i] = ctx->regs[i];
#endif
	if (nwords > REGISTER_WORDS)
		bpf_probe_read_user(&f->word[REGISTER_WORDS], (CALL_WORDS - REGISTER_WORDS) * 8,
				    (const void *)(REGS_SP(ctx) + STACK_WORDS_AT));
}

/* Returns false when something could not be read: it is zero then. */
static __always_inline bool read_peeks(struct frame *f, __u32 probe)
{
	bool ok = true;

	for (int i = 0; i < PEEKS; i++) {
		__u32 n = plans[probe].peek[i].n & 7;
		__u32 slot = plans[probe].peek[i].slot & 7;
		__u64 at = f->word[plans[probe].peek[i].arg & 7] + plans[probe].peek[i].from * 8;

		if (n && bpf_probe_read_user(&f->word[slot], n * 8, (const void *)at))
			ok = false;
	}
	return ok;
}

/* Without a result there is nothing behind its pointers. */
static __always_inline void clear_peeks(struct frame *f, __u32 probe)
{
	for (int i = 0; i < PEEKS; i++) {
		__u32 n = plans[probe].peek[i].n & 7;
		__u32 slot = plans[probe].peek[i].slot & 7;

		for (__u32 k = 0; k < PEEK_WORDS_MAX; k++)
			if (k < n)
				f->word[(slot + k) & 15] = 0;
	}
}

/*
 * Forget open calls that were left without returning (longjmp, an exception): the stack pointer is above theirs now.
 * `same`: a call of this probe at the same place is one of them too.
 */
static __always_inline void drop_left(struct thread_state *s, __u64 sp, __u32 same)
{
	for (int i = 0; i < CALL_DEPTH; i++) {
		struct frame *f;

		if (!s->depth)
			break;
		f = frame_at(s, s->depth - 1);
		if (f->sp > sp || (f->sp == sp && f->probe != same))
			break;
		count(f->probe, COUNT_no_return);
		s->depth--;
	}
	if (s->depth < CALL_DEPTH)
		s->over = 0;
}

static __always_inline int call_enter(struct pt_regs *ctx)
{
	struct task_struct *t = bpf_get_current_task_btf();
	__u32 probe = (__u32)bpf_get_attach_cookie(ctx) & (PROBES_LIMIT - 1);
	struct thread_state *s;
	struct frame *f;

	if (!running)
		return 0;
	s = state_to_enter(t, probe, track_all);
	if (!s)
		return 0;
	drop_left(s, REGS_SP(ctx), probe);
	if (s->depth >= CALL_DEPTH) {
		s->over++;
		count(probe, COUNT_too_deep);
		return 0;
	}
	f = frame_at(s, s->depth);
	read_words(f, ctx, plans[probe].words);
	f->nested = s->depth ? CALL_NESTED : 0;
	f->probe = probe;
	f->sp = REGS_SP(ctx);
	if (plans[probe].early && !read_peeks(f, probe))
		count(probe, COUNT_unreadable);
	s->depth++;
	f->start_ns = bpf_ktime_get_boot_ns();
	return 0;
}

/* The open call that returns, taken off; NULL: none, and counted as what it is. */
static __always_inline struct frame *frame_pop(struct thread_state *s, __u64 sp, __u32 probe)
{
	struct frame *f;

	for (int i = 0; i < CALL_DEPTH; i++) {
		if (!s->depth)
			break;
		f = frame_at(s, s->depth - 1);
		if (f->sp > sp)
			break;
		s->depth--;
		if (f->sp == sp && f->probe == probe) {
			s->over = 0;
			return f;
		}
		count(f->probe, COUNT_no_return);
	}
	if (s->depth == CALL_DEPTH && s->over) {
		s->over--; /* counted when it was entered */
		return 0;
	}
	count(probe, COUNT_fired);
	count(probe, COUNT_no_entry);
	return 0;
}

static __always_inline void call_fill(struct ring_call *r, const struct frame *f, struct task_struct *t, __s64 ret)
{
	r->pid = t->tgid;
	r->tid = t->pid;
	r->dur_ns = r->head.at_ns - f->start_ns;
	r->probe = f->probe;
	r->flags = f->nested;
	r->ret = ret;
	for (int i = 0; i < CALL_WORDS; i++)
		r->word[i] = f->word[i];
}

static __always_inline bool call_record_stack(void *ctx, struct frame *f, struct task_struct *t, __s64 ret)
{
	struct ring_call_stack *r = bpf_ringbuf_reserve(&bulk, sizeof(*r), 0);
	long n;

	if (!r)
		return false;
	head_fill(&r->call.head, RING_CALL_STACK);
	call_fill(&r->call, f, t, ret);
	r->start_ns = process_start(t);
	n = bpf_get_stack(ctx, r->frame, sizeof(r->frame), BPF_F_USER_STACK);
	r->nframes = n > 0 ? (__u64)n / 8 : 0;
	if (n <= 0)
		count(f->probe, COUNT_no_stack);
	submit_bulk(r);
	return true;
}

static __always_inline bool call_record(struct frame *f, struct task_struct *t, __s64 ret)
{
	struct ring_call *r = bpf_ringbuf_reserve(&bulk, sizeof(*r), 0);

	if (!r)
		return false;
	head_fill(&r->head, RING_CALL);
	call_fill(r, f, t, ret);
	submit_bulk(r);
	return true;
}

static __always_inline int call_leave(struct pt_regs *ctx)
{
	struct task_struct *t = bpf_get_current_task_btf();
	__u32 probe = (__u32)bpf_get_attach_cookie(ctx) & (PROBES_LIMIT - 1);
	__s64 ret = (__s32)REGS_RESULT(ctx);
	struct thread_state *s;
	struct frame *f;
	bool done;

	if (!running)
		return 0;
	s = bpf_task_storage_get(&threads, t, 0, 0);
	if (!s) {
		if (!track_of(t->tgid))
			return 0;
		count(probe, COUNT_fired);
		count(probe, COUNT_no_entry);
		return 0;
	}
	f = frame_pop(s, REGS_SP(ctx) - RETURN_POPS, probe);
	if (!f)
		return 0;
	if (!plans[probe].early) {
		if (ret)
			clear_peeks(f, probe);
		else if (!read_peeks(f, probe))
			count(probe, COUNT_unreadable);
	}
	tell_tracked(t, s);
	if (plans[probe].stack && !ret)
		done = call_record_stack(ctx, f, t, ret);
	else
		done = call_record(f, t, ret);
	if (!done)
		count(probe, COUNT_ring_full);
	return 0;
}

#endif
