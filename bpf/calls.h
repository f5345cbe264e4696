/* SPDX-License-Identifier: GPL-2.0 */
/* Calls into libraries: entered, nested, left. Part of gpurec.bpf.c. */
#ifndef GPUREC_BPF_CALLS_H
#define GPUREC_BPF_CALLS_H

#include "bpf/call_slots.h"
#include "bpf/nested_stacks.h"

/*
 * What the compiler must not see through: the mask, which is what the verifier trusts; and that the result is a sum,
 * which it would work out again for each member.
 */
static __always_inline struct frame *frame_at(struct open_calls *s, __u32 i)
{
	struct frame *f;

	asm volatile("" : "+r"(i));
	f = &s->frame[i & (CALL_DEPTH - 1)];
	asm volatile("" : "+r"(f));
	return f;
}

static __always_inline bool copy_words(void *to, __u32 n, __u64 at, bool may_sleep)
{
	if (may_sleep)
		return !bpf_copy_from_user(to, n * 8, (const void *)at);
	return !bpf_probe_read_user(to, n * 8, (const void *)at);
}

/*
 * A few words of the process. By way of the task's own stack, for hardened kernels look closely at what is copied to
 * anywhere else, which takes as long as two copies do. Since 6.13 a program or function with more than 48 bytes on its
 * stack has it somewhere else (tests/house/bpf_stack.sh). False: the words could not be read; they are zero then.
 */
#define WORDS_FEW 3

static __always_inline bool copy_few(struct frame *f, __u32 slot, __u32 n, __u64 at, bool may_sleep)
{
	__u64 few[WORDS_FEW] = {};
	bool ok;

	slot &= 15;
	n &= 3;
	if (!n)
		return true;
	ok = copy_words(few, n, at, may_sleep);
	f->word[slot] = few[0];
	if (n > 1)
		f->word[slot + 1] = few[1];
	if (n > 2)
		f->word[slot + 2] = few[2];
	return ok;
}

/* False: as above. */
static __always_inline bool read_words(struct frame *f, const struct pt_regs *ctx, __u32 nwords, bool may_sleep)
{
	__u64 stack = f->sp + STACK_WORDS_AT;

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
	if (nwords > REGISTER_WORDS + WORDS_FEW)
		return copy_words(&f->word[REGISTER_WORDS], (nwords - REGISTER_WORDS) & 7, stack, may_sleep);
	if (nwords > REGISTER_WORDS)
		return copy_few(f, REGISTER_WORDS, nwords - REGISTER_WORDS, stack, may_sleep);
	return true;
}

/* What is behind pointers. For that nobody waits: the call may not want that memory either. False: as above. */
static __always_inline bool copy_peeks(struct frame *f, __u32 probe)
{
	bool ok = true;

	for (int i = 0; i < PEEKS && plans[probe].peek[i].n; i++) {
		__u32 n = plans[probe].peek[i].n & 7;
		__u32 slot = plans[probe].peek[i].slot & 15;
		__u64 at = f->word[plans[probe].peek[i].arg & 15] + plans[probe].peek[i].from * 8;

		if (!(n > WORDS_FEW ? copy_words(&f->word[slot], n, at, false) : copy_few(f, slot, n, at, false)))
			ok = false;
	}
	return ok;
}

/* Without a result there is nothing behind its pointers. */
static __always_inline void clear_peeks(struct frame *f, __u32 probe)
{
	for (int i = 0; i < PEEKS && plans[probe].peek[i].n; i++) {
		__u32 n = plans[probe].peek[i].n & 7;
		__u32 slot = plans[probe].peek[i].slot & 15;

		for (__u32 k = 0; k < PEEK_WORDS_MAX; k++)
			if (k < n)
				f->word[slot + k] = 0;
	}
}

static __noinline bool peek_arguments(struct frame *f, __u32 probe)
{
	return !f || copy_peeks(f, probe & (PROBES_LIMIT - 1));
}

static __noinline bool peek_results(struct frame *f, __u32 probe, bool failed)
{
	probe &= PROBES_LIMIT - 1;
	if (!f)
		return true;
	if (!failed)
		return copy_peeks(f, probe);
	clear_peeks(f, probe);
	return true;
}

/*
 * Whether the function that is entered will return to the kernel's trampoline: it was reached by a jump out of one that
 * has a return probe, and takes its place (a tail call). By this the kernel tells it from a call.
 */
static __noinline bool entered_by_jump(struct pt_regs *ctx, bool may_sleep)
{
	__u64 trampoline = returns_trampoline(bpf_get_current_task_btf()), to = REGS_LR(ctx);

	if (RETURNS_PLAIN && !copy_words(&to, 1, REGS_SP(ctx), may_sleep))
		return false;
	return trampoline && to == trampoline;
}

/*
 * Forget open calls that were left without returning (longjmp, an exception): the stack pointer is above theirs now, or
 * where it was at theirs and the function that is entered now was called.
 */
static __always_inline void drop_left(struct open_calls *s, struct pt_regs *ctx, bool may_sleep)
{
	__u64 sp = REGS_SP(ctx);

	if (s->depth && frame_at(s, s->depth - 1)->sp <= sp) {
		bool jumped = entered_by_jump(ctx, may_sleep);

		for (int i = 0; i < CALL_DEPTH; i++) {
			struct frame *f;

			if (!s->depth)
				break;
			f = frame_at(s, s->depth - 1);
			if (f->sp > sp || (f->sp == sp && jumped))
				break;
			if (!f->left_out)
				count_rare(f->probe, COUNT_no_return);
			s->depth--;
		}
	}
	if (s->depth < CALL_DEPTH)
		s->over = 0;
}

/*
 * Whether this call is left out on purpose, and counted so. A call of the same kind around it was drawn for both; the
 * limit counts each.
 */
static __noinline bool call_left_out(struct open_calls *s, __u32 probe)
{
	struct frame *around = s->depth ? frame_at(s, s->depth - 1) : 0;
	enum counter_index why;

	if (plans[probe].name)
		why = 0; /* launches would be left without their names */
	else if (!around || plans[around->probe & (PROBES_LIMIT - 1)].kind != plans[probe].kind)
		why = left_out(probe);
	else if (around->left_out)
		why = around->left_out;
	else
		why = over_rate();
	count_left_out(probe, why);
	return frame_at(s, s->depth)->left_out = why;
}

/*
 * What was given to the attachment that fired. The kernel's function for it does no more than this, and is worth a
 * twentieth of what a call costs. Only for functions attached by uprobe_multi.
 */
static __always_inline __u64 cookie_of(struct task_struct *t)
{
	struct bpf_uprobe_multi_run_ctx *run =
		bpf_rdonly_cast(t->bpf_ctx, bpf_core_type_id_kernel(struct bpf_uprobe_multi_run_ctx));

	return run->uprobe->cookie;
}

static __always_inline int call_enter(struct pt_regs *ctx, struct task_struct *t, __u64 cookie, bool may_sleep)
{
	__u32 probe = (__u32)cookie & (PROBES_LIMIT - 1);
	struct open_calls *s;
	struct frame *f;

	s = calls_to_enter(t, probe);
	if (!s)
		return 0;
	drop_left(s, ctx, may_sleep);
	if (s->depth >= CALL_DEPTH) {
		s->over++;
		count_rare(probe, COUNT_too_deep);
		return 0;
	}
	f = frame_at(s, s->depth);
	f->nested = s->depth ? CALL_NESTED : 0;
	f->probe = probe;
	f->sp = REGS_SP(ctx);
	if (!reducing || !call_left_out(s, probe)) {
		bool ok = read_words(f, ctx, plans[probe].words, may_sleep);

		if (plans[probe].early && !peek_arguments(f, probe))
			ok = false;
		if (!ok)
			count_rare(probe, COUNT_unreadable);
	}
	s->depth++;
	f->start_ns = now_ns();
	return 0;
}

/* The open call that returns, taken off; NULL: none, and counted as what it is. */
static __always_inline struct frame *frame_pop(struct open_calls *s, __u64 sp, __u32 probe)
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
		if (!f->left_out)
			count_rare(f->probe, COUNT_no_return);
	}
	if (s->depth == CALL_DEPTH && s->over) {
		s->over--; /* counted when it was entered */
		return 0;
	}
	count_unentered(probe);
	return 0;
}

/* A call that returned. */
struct done {
	struct pt_regs *ctx;
	struct task_struct *task;
	struct open_calls *calls;
	struct frame *frame;
};

static __always_inline __s32 result_of(const struct done *d)
{
	return plans[d->frame->probe & (PROBES_LIMIT - 1)].no_result ? 0 : (__s32)REGS_RESULT(d->ctx);
}

/* Takes the time, too. */
static __always_inline void call_fill(struct ring_call *r, __u64 *word, int nwords, const struct done *d,
				      enum ring_type type)
{
	r->start_ns = d->calls->start_ns;
	r->pid = d->task->tgid;
	r->tid = d->task->pid;
	r->probe = d->frame->probe;
	r->flags = d->frame->nested;
	r->ret = result_of(d);
	for (int i = 0; i < nwords; i++)
		word[i] = d->frame->word[i];
	head_fill(&r->head, type);
	r->dur_ns = r->head.at_ns - d->frame->start_ns;
}

/* Nothing that looks like a frame: where the call returns to is all that is to be had. */
static __always_inline bool call_record_caller(const struct done *d)
{
	struct ring_call_caller *r = bpf_ringbuf_reserve(&bulk, sizeof(*r), 0);

	if (!r)
		return false;
	call_fill(&r->call, r->word, CALL_WORDS_FEW, d, RING_CALL_CALLER);
	r->frame = REGS_IP(d->ctx);
	submit_call(r, d->calls);
	return true;
}

static __always_inline bool call_record_stack(const struct done *d, __u32 used)
{
	struct pt_regs *ctx = d->ctx;
	struct ring_call_stack *r;
	__u32 n;

	if (RETURNS_PLAIN && used <= CALL_WORDS_FEW && !may_be_frame(REGS_FP(ctx), REGS_SP(ctx)))
		return call_record_caller(d);
	r = bpf_ringbuf_reserve(&bulk, sizeof(*r), 0);
	if (!r)
		return false;
	call_fill(&r->all.call, r->all.word, CALL_WORDS, d, RING_CALL_STACK);
	n = stack_take(ctx, r->frame);
	r->nframes = n & STACK_FRAMES_MASK;
	if (n & STACK_CUT)
		count_rare(d->frame->probe, COUNT_no_stack);
	submit_call(r, d->calls);
	return true;
}

enum recorded { NO_ROOM, RECORDED, SLOW };

/* Whether it took so long that its stack is wanted is known only once there is room and the time was taken. */
#define CALL_RECORD(type, members, nwords)                                                                             \
	do {                                                                                                           \
		struct members *r = bpf_ringbuf_reserve(&bulk, sizeof(*r), 0);                                         \
                                                                                                                       \
		if (!r)                                                                                                \
			return NO_ROOM;                                                                                \
		call_fill(&r->call, r->word, nwords, d, type);                                                         \
		if (r->call.dur_ns < slow_ns) {                                                                        \
			submit_call(r, d->calls);                                                                      \
			return RECORDED;                                                                               \
		}                                                                                                      \
		bpf_ringbuf_discard(r, BPF_RB_NO_WAKEUP);                                                              \
	} while (0)

static __always_inline enum recorded call_record(const struct done *d, __u32 used)
{
	if (used <= CALL_WORDS_FEW)
		CALL_RECORD(RING_CALL_FEW, ring_call_few, CALL_WORDS_FEW);
	else if (used <= CALL_WORDS_MANY)
		CALL_RECORD(RING_CALL_MANY, ring_call_many, CALL_WORDS_MANY);
	else
		CALL_RECORD(RING_CALL_ALL, ring_call_all, CALL_WORDS);
	return SLOW;
}

/* With the name that the call reported, in as little room as it needs. A name without room for it is tried with more.
 */
#define NAME_RECORD(room)                                                                                              \
	do {                                                                                                           \
		struct ring_call_name *r = bpf_ringbuf_reserve(&bulk, sizeof(*r) + (room), 0);                         \
		long n;                                                                                                \
                                                                                                                       \
		if (!r)                                                                                                \
			return false;                                                                                  \
		n = bpf_probe_read_user_str(r->text, (room), (const void *)at);                                        \
		if (n < (room) || (room) == NAME_BYTES) {                                                              \
			r->nbytes = n > 0 ? n - 1 : 0;                                                                 \
			if (n < 0)                                                                                     \
				count_rare(frame->probe, COUNT_unreadable);                                            \
			call_fill(&r->all.call, r->all.word, CALL_WORDS, &d, RING_CALL_NAME);                          \
			submit_call(r, calls);                                                                         \
			return true;                                                                                   \
		}                                                                                                      \
		bpf_ringbuf_discard(r, BPF_RB_NO_WAKEUP);                                                              \
	} while (0)

/* Out of line, for it is rare. */
static __noinline bool call_record_name(struct pt_regs *ctx, struct open_calls *calls, struct frame *frame, __u64 at)
{
	struct done d = {.ctx = ctx, .task = bpf_get_current_task_btf(), .calls = calls, .frame = frame};

	NAME_RECORD(NAME_BYTES_FEW);
	NAME_RECORD(NAME_BYTES_MANY);
	NAME_RECORD(NAME_BYTES);
	return true;
}

/*
 * What is behind pointers now. Most calls that have such a result have one, of one word: that is read in line, for
 * it saves a tenth of what an allocation costs, and waited for. The call has just written it, so it is there, unless
 * the kernel moves the page at this moment or the process plays with it. False: as above.
 */
static __always_inline bool results_read(const struct done *d, __u32 probe, bool may_sleep)
{
	const volatile struct call_plan *plan = &plans[probe];
	struct frame *f = d->frame;
	bool failed = result_of(d), ok;
	__u64 one = 0;

	if (plan->early || !plan->peek[0].n)
		return true;
	if (failed || plan->peek[0].n > 1 || plan->peek[1].n)
		return peek_results(f, probe, failed);
	ok = copy_words(&one, 1, f->word[plan->peek[0].arg & 15] + plan->peek[0].from * 8, may_sleep);
	f->word[plan->peek[0].slot & 15] = one;
	return ok;
}

/* The results, and the record. False: there was no room for it. */
static __always_inline bool call_end(const struct done *d, __u32 probe, bool may_sleep)
{
	const volatile struct call_plan *plan = &plans[probe];

	if (!results_read(d, probe, may_sleep))
		count_rare(probe, COUNT_unreadable);
	if (!plan->stack && (!result_of(d) || (plan->asks && result_of(d) == CALL_NOT_READY))) {
		enum recorded r;

		if (plan->name == PLAN_NAME)
			return call_record_name(d->ctx, d->calls, d->frame, d->frame->word[plan->name_at & 15]);
		r = call_record(d, plan->used);
		if (r != SLOW)
			return r == RECORDED;
	}
	return call_record_stack(d, plan->used);
}

static __always_inline int call_leave(struct pt_regs *ctx, struct task_struct *t, __u64 cookie, bool may_sleep)
{
	__u32 probe = (__u32)cookie & (PROBES_LIMIT - 1);
	struct done d = {.ctx = ctx, .task = t};

	d.calls = calls_to_leave(t);
	if (!d.calls) {
		if (!track_of(t->tgid))
			return 0;
		count_unentered(probe);
		return 0;
	}
	d.frame = frame_pop(d.calls, REGS_SP(ctx) - RETURN_POPS, probe);
	if (!d.frame || d.frame->left_out)
		return 0;
	emit_tracked(t, &d.calls->emitted);
	if (!call_end(&d, probe, may_sleep))
		count_rare(probe, COUNT_ring_full);
	return 0;
}

#endif
