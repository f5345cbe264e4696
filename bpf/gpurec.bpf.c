// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel side. Programs are short and never wait; what they cannot record they count (struct tally).
 * Which calls are probed and what is taken from them is data: `plans`, filled from record/probes.c.
 */
#include "bpf/kernel.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "bpf/ring.h"

char LICENSE[] SEC("license") = "GPL";

/* Settings, fixed at load. */
const volatile struct call_plan plans[PROBES_LIMIT];
const volatile __u32 nslots = PROBES_LIMIT;
const volatile __u32 shard_mask;
const volatile __u32 life_half_bytes = 1, bulk_half_bytes = 1; /* fill level that wakes the recorder */
const volatile bool track_all;	       /* every process that uses CUDA, not only those in `tracked` */
const volatile bool switch_has_state;  /* sched_switch passes prev_state (since 5.18) */
const volatile bool futex_on;
const volatile bool notice_maps;       /* tell when a CUDA library is mapped */

/* Set by the recorder once it is ready, cleared when it ends: otherwise nothing is recorded nor counted. */
volatile __u32 running;
/* Set when the recorder is woken, so that it is woken once; it clears them before it drains. */
volatile __u32 life_woken, bulk_woken;

/* The recorder wakes a thread of its own to see whether in_interrupt() can be relied on here. */
volatile __u32 selftest_pid;
volatile __u64 selftest_task, selftest_interrupt;
volatile __u32 interrupts_known;

struct frame {
	__u64 start_ns;
	__u64 sp;
	__u32 probe;
	__u32 nested;
	__u64 word[16]; /* CALL_WORDS, and room that lets the verifier see that a peek stays inside */
};

struct open_futex {
	__u64 start_ns; /* 0: none */
	__u64 nr;
	__u64 addr;
	__u64 arg[4];
};

struct thread_state {
	struct frame frame[CALL_DEPTH];
	__u32 depth;
	__u32 over;	/* calls inside the deepest followed one that were counted as too_deep */
	__u32 waits_on; /* CPU + 1 that it was preempted on and waits to run again; 0: it does not */
	__u32 pad;
	struct open_futex futex;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread_state);
} threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, struct track);
} tracked SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, struct file_key);
	__type(value, __u32);
} attached SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tally);
} tallies SEC(".maps");

/* Who was named last, by thread and by process id modulo the size: a name is told again rather than never. */
#define NAMED_THREADS 16384
#define NAMED_PROCESSES 4096

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, NAMED_THREADS);
	__type(key, __u32);
	__type(value, __u64);
} named_threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, NAMED_PROCESSES);
	__type(key, __u32);
	__type(value, __u64);
} named_processes SEC(".maps");

struct cpu_state {
	__u64 waiting;	    /* tracked threads that were preempted here and wait */
	__u64 own_stack_at; /* see in_interrupt() */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set to the number of CPUs */
	__type(key, __u32);
	__type(value, struct cpu_state);
} cpus SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} life SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 16 << 20);
} bulk SEC(".maps");

/* --- small parts --- */

static __always_inline void count(__u32 probe, enum counter_index what)
{
	__u32 key = (bpf_get_smp_processor_id() & shard_mask) * nslots + probe;
	struct tally *t = bpf_map_lookup_elem(&tallies, &key);

	if (t)
		__sync_fetch_and_add(&t->n[what], 1);
}

static __always_inline struct track *track_of(__u32 pid)
{
	return bpf_map_lookup_elem(&tracked, &pid);
}

static __always_inline __u64 process_start(struct task_struct *t)
{
	return BPF_CORE_READ(t, group_leader, start_boottime);
}

static __always_inline void head_fill(struct ring_head *h, enum ring_type type)
{
	h->type = type;
	h->cpu = bpf_get_smp_processor_id();
	h->at_ns = bpf_ktime_get_boot_ns();
}

/* Waking the recorder costs some fifty times as much as a record: only once the ring is half full. */
static __always_inline void submit_bulk(void *record)
{
	__u64 flags = BPF_RB_NO_WAKEUP;

	if (!bulk_woken && bpf_ringbuf_query(&bulk, BPF_RB_AVAIL_DATA) >= bulk_half_bytes) {
		bulk_woken = 1;
		flags = BPF_RB_FORCE_WAKEUP;
	}
	bpf_ringbuf_submit(record, flags);
}

static __always_inline void submit_life(void *record, bool urgent)
{
	__u64 flags = BPF_RB_NO_WAKEUP;

	if (urgent || (!life_woken && bpf_ringbuf_query(&life, BPF_RB_AVAIL_DATA) >= life_half_bytes)) {
		life_woken = 1;
		flags = BPF_RB_FORCE_WAKEUP;
	}
	bpf_ringbuf_submit(record, flags);
}

/* --- names: told before the first event that mentions a thread --- */

static __always_inline __u64 name_mark(__u64 start_ns, __u32 id, bool is_tracked)
{
	return (start_ns << 1 | is_tracked) ^ ((__u64)id << 42);
}

static __always_inline void tell_process(struct task_struct *leader, bool is_tracked, const char *comm)
{
	__u32 pid = leader->pid;
	__u32 key = pid % NAMED_PROCESSES;
	__u64 start_ns = leader->start_boottime;
	__u64 mark = name_mark(start_ns, pid, is_tracked);
	__u64 *slot = bpf_map_lookup_elem(&named_processes, &key);
	struct ring_process *r;

	if (!slot || (*slot == mark && !comm))
		return;
	count(PROBE_PROCESS_NAME, COUNT_fired);
	r = bpf_ringbuf_reserve(&life, sizeof(*r), 0);
	if (!r) {
		count(PROBE_PROCESS_NAME, COUNT_ring_full);
		return;
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
}

/* comm: a new name, which the task does not carry yet; NULL: the one it has, if it was not told before. */
static __always_inline void tell_thread(struct task_struct *t, bool is_tracked, const char *comm)
{
	__u32 tid = t->pid;
	__u32 key = tid % NAMED_THREADS;
	__u64 mark = name_mark(t->start_boottime, tid, is_tracked);
	__u64 *slot;
	struct ring_thread *r;

	if (!tid)
		return; /* the idle task */
	slot = bpf_map_lookup_elem(&named_threads, &key);
	if (!slot || (*slot == mark && !comm))
		return;
	count(PROBE_THREAD_NAME, COUNT_fired);
	r = bpf_ringbuf_reserve(&life, sizeof(*r), 0);
	if (!r) {
		count(PROBE_THREAD_NAME, COUNT_ring_full);
		return;
	}
	head_fill(&r->head, RING_THREAD);
	r->start_ns = t->start_boottime;
	r->tid = tid;
	r->pid = t->tgid;
	bpf_probe_read_kernel(r->comm, sizeof(r->comm), comm ? (const void *)comm : (const void *)&t->comm);
	submit_life(r, false);
	*slot = mark;
}

static __always_inline void tell(struct task_struct *t, bool is_tracked)
{
	tell_thread(t, is_tracked, 0);
	if (t->pid)
		tell_process(t->group_leader, is_tracked, 0);
}

/* Forget that an untracked thread was named: it has another name now, told when it is next mentioned. */
static __always_inline void untell(struct task_struct *t)
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

/* --- calls into libraries --- */

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
	if (!track_of(t->tgid) && (!track_all || !track_add(t, 0)))
		return 0;
	count(probe, COUNT_fired);
	s = bpf_task_storage_get(&threads, t, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!s) {
		count(probe, COUNT_no_state);
		return 0;
	}
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

	if (!running || !track_of(t->tgid))
		return 0;
	s = bpf_task_storage_get(&threads, t, 0, 0);
	if (!s) {
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
	tell(t, true);
	if (plans[probe].stack && !ret)
		done = call_record_stack(ctx, f, t, ret);
	else
		done = call_record(f, t, ret);
	if (!done)
		count(probe, COUNT_ring_full);
	return 0;
}

SEC("uprobe")
int on_call(struct pt_regs *ctx)
{
	return call_enter(ctx);
}

SEC("uretprobe")
int on_return(struct pt_regs *ctx)
{
	return call_leave(ctx);
}

/* --- the scheduler --- */

static __always_inline struct cpu_state *cpu_state(__u32 cpu)
{
	return bpf_map_lookup_elem(&cpus, &cpu);
}

/* Whether a tracked, preempted thread waits on `cpu`; brings the books up to date with this switch. */
static __always_inline bool note_waits(struct task_struct *prev, bool prev_tracked, struct task_struct *next,
				       bool next_tracked, bool preempted)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct cpu_state *here = cpu_state(cpu), *there;
	struct thread_state *s;
	bool waiting = here && here->waiting;

	if (prev_tracked && preempted && here) {
		s = bpf_task_storage_get(&threads, prev, 0, 0);
		if (s && !s->waits_on) {
			s->waits_on = cpu + 1;
			__sync_fetch_and_add(&here->waiting, 1);
		}
	}
	if (next_tracked) {
		s = bpf_task_storage_get(&threads, next, 0, 0);
		if (s && s->waits_on) {
			there = cpu_state(s->waits_on - 1);
			s->waits_on = 0;
			if (there)
				__sync_fetch_and_add(&there->waiting, -1);
		}
	}
	return waiting;
}

SEC("tp_btf/sched_switch")
int on_switch(__u64 *ctx)
{
	bool preempt = ctx[0];
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	bool prev_tracked, next_tracked, waiting;
	struct ring_switch *r;
	__u32 state;

	if (!running)
		return 0;
	prev_tracked = prev->pid && track_of(prev->tgid);
	next_tracked = next->pid && track_of(next->tgid);
	/* A preempted thread may already carry the state in which it was about to sleep. */
	state = preempt ? 0 : switch_has_state ? (__u32)ctx[3] : prev->__state;
	waiting = note_waits(prev, prev_tracked, next, next_tracked, !state);
	if (!prev_tracked && !next_tracked && !waiting)
		return 0;
	count(PROBE_SWITCH, COUNT_fired);
	tell(prev, prev_tracked);
	tell(next, next_tracked);
	r = bpf_ringbuf_reserve(&bulk, sizeof(*r), 0);
	if (!r) {
		count(PROBE_SWITCH, COUNT_ring_full);
		return 0;
	}
	head_fill(&r->head, RING_SWITCH);
	r->prev_tid = prev->pid;
	r->next_tid = next->pid;
	r->prev_state = state;
	r->pad = 0;
	submit_bulk(r);
	return 0;
}

static __always_inline int waking(struct task_struct *t, bool interrupted)
{
	struct task_struct *waker = bpf_get_current_task_btf();
	struct ring_waking *r;

	count(PROBE_WAKING, COUNT_fired);
	tell(t, true);
	tell(waker, track_of(waker->tgid));
	r = bpf_ringbuf_reserve(&bulk, sizeof(*r), 0);
	if (!r) {
		count(PROBE_WAKING, COUNT_ring_full);
		return 0;
	}
	head_fill(&r->head, RING_WAKING);
	r->tid = t->pid;
	r->waker_tid = waker->pid;
	r->context = interrupted ? WAKE_IRQ : WAKE_TASK;
	r->pad = 0;
	submit_bulk(r);
	return 0;
}

/*
 * Whether this runs in an interrupt: interrupts have stacks of their own, so that the stack is not the task's then.
 * (The kernel's own count of nested interrupts is a per-CPU variable that only kernels built with all symbols let us
 * read.) The address of a local is stored in a map and read back, because only as a number can it be compared.
 *
 * A function of its own, because since 6.13 the kernel gives programs, but not functions with little on their stack,
 * a private stack. attach.c tries out whether all this holds where it runs.
 */
static __noinline bool in_interrupt(void)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct cpu_state *here = cpu_state(bpf_get_smp_processor_id());
	__u64 local = 0;

	if (!here)
		return false;
	*(void *volatile *)&here->own_stack_at = &local;
	return *(volatile __u64 *)&here->own_stack_at - (__u64)t->stack >= KERNEL_STACK_BYTES;
}

static __always_inline void selftest(void)
{
	struct task_struct *waker = bpf_get_current_task_btf();

	if ((__u32)waker->tgid != selftest_pid)
		return;
	if (in_interrupt())
		selftest_interrupt++;
	else
		selftest_task++;
}

SEC("tp_btf/sched_waking")
int on_waking(__u64 *ctx)
{
	struct task_struct *t = (void *)ctx[0];

	if (selftest_pid && (__u32)t->tgid == selftest_pid)
		selftest();
	if (!running || !track_of(t->tgid))
		return 0;
	return waking(t, interrupts_known && in_interrupt());
}

/* --- system calls --- */

static __always_inline bool is_futex(__s64 nr)
{
	return nr == NR_futex || nr == NR_futex_waitv ||
	       (nr >= NR_futex_wake && nr <= NR_futex_requeue);
}

SEC("tp_btf/sys_enter")
int on_sys_enter(__u64 *ctx)
{
	struct pt_regs *regs = (void *)ctx[0];
	__s64 nr = ctx[1];
	struct task_struct *t;
	struct thread_state *s;
	__u64 addr;

	if (!is_futex(nr) || !running)
		return 0;
	t = bpf_get_current_task_btf();
	if (!track_of(t->tgid) || TASK_IS_COMPAT(t))
		return 0;
	count(PROBE_FUTEX, COUNT_fired);
	s = bpf_task_storage_get(&threads, t, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!s) {
		count(PROBE_FUTEX, COUNT_no_state);
		return 0;
	}
	if (s->futex.start_ns)
		count(PROBE_FUTEX, COUNT_no_return);
	addr = SYSCALL_0(regs);
	/* struct futex_waitv: val, uaddr, flags */
	if ((nr == NR_futex_waitv || nr == NR_futex_requeue) &&
	    bpf_probe_read_user(&addr, sizeof(addr), (const void *)(addr + 8))) {
		count(PROBE_FUTEX, COUNT_unreadable);
		addr = 0;
	}
	s->futex.nr = nr;
	s->futex.addr = addr;
	s->futex.arg[0] = SYSCALL_0(regs);
	s->futex.arg[1] = SYSCALL_1(regs);
	s->futex.arg[2] = SYSCALL_2(regs);
	s->futex.arg[3] = SYSCALL_3(regs);
	s->futex.start_ns = bpf_ktime_get_boot_ns();
	return 0;
}

static __always_inline void futex_leave(__s64 ret)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct thread_state *s;
	struct ring_futex *r;

	if (!track_of(t->tgid) || TASK_IS_COMPAT(t))
		return;
	s = bpf_task_storage_get(&threads, t, 0, 0);
	if (!s || !s->futex.start_ns) {
		count(PROBE_FUTEX, COUNT_fired);
		count(PROBE_FUTEX, COUNT_no_entry);
		return;
	}
	tell(t, true);
	r = bpf_ringbuf_reserve(&bulk, sizeof(*r), 0);
	if (!r) {
		s->futex.start_ns = 0;
		count(PROBE_FUTEX, COUNT_ring_full);
		return;
	}
	head_fill(&r->head, RING_FUTEX);
	r->pid = t->tgid;
	r->tid = t->pid;
	r->dur_ns = r->head.at_ns - s->futex.start_ns;
	r->ret = ret;
	r->nr = s->futex.nr;
	r->addr = s->futex.addr;
	for (int i = 0; i < 4; i++)
		r->arg[i] = s->futex.arg[i];
	s->futex.start_ns = 0;
	submit_bulk(r);
}

/* The file behind descriptor `fd` of the current task: its key, and whether its name begins with "libcuda". */
static __always_inline bool cuda_library(struct task_struct *t, __u32 fd, struct file_key *key)
{
	struct fdtable *fdt = BPF_CORE_READ(t, files, fdt);
	struct file **files = BPF_CORE_READ(fdt, fd);
	struct file *file = 0;
	const unsigned char *name;
	char head[8] = {};

	if (fd >= BPF_CORE_READ(fdt, max_fds) || bpf_probe_read_kernel(&file, sizeof(file), files + fd) || !file)
		return false;
	name = BPF_CORE_READ(file, f_path.dentry, d_name.name);
	if (bpf_probe_read_kernel_str(head, sizeof(head), name) < 0)
		return false;
	if (head[0] != 'l' || head[1] != 'i' || head[2] != 'b' || head[3] != 'c' || head[4] != 'u' || head[5] != 'd' ||
	    head[6] != 'a')
		return false;
	key->inode = BPF_CORE_READ(file, f_inode, i_ino);
	key->device = BPF_CORE_READ(file, f_inode, i_sb, s_dev);
	key->pad = 0;
	return true;
}

static __always_inline void mapped_code(__u32 fd)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct track *track = track_of(t->tgid);
	struct file_key key;
	struct ring_mapped *r;

	if (!track && !track_all)
		return;
	if (!cuda_library(t, fd, &key))
		return;
	if (!track)
		track = track_add(t, 0);
	tell(t, true);
	if (bpf_map_lookup_elem(&attached, &key))
		return;
	count(PROBE_MAPPED, COUNT_fired);
	r = bpf_ringbuf_reserve(&life, sizeof(*r), 0);
	if (!r) {
		count(PROBE_MAPPED, COUNT_ring_full);
		return;
	}
	head_fill(&r->head, RING_MAPPED);
	r->file = key;
	r->pid = t->tgid;
	r->tid = t->pid;
	/* It stops before its next instruction, and goes on when the probes are in place: no call is missed. */
	r->held = track && (track->flags & TRACK_OURS) && !bpf_send_signal(KERNEL_SIGSTOP);
	r->pad = 0;
	submit_life(r, true);
}

SEC("tp_btf/sys_exit")
int on_sys_exit(__u64 *ctx)
{
	struct pt_regs *regs = (void *)ctx[0];
	__s64 ret = ctx[1];
	__s64 nr = SYSCALL_NR(regs);

	if (!running)
		return 0;
	if (nr == NR_mmap) {
		if (notice_maps && (SYSCALL_2(regs) & KERNEL_PROT_EXEC) && (__s32)SYSCALL_4(regs) >= 0 &&
		    (ret > 0 || ret < -4095))
			mapped_code((__u32)SYSCALL_4(regs));
		return 0;
	}
	if (futex_on && is_futex(nr))
		futex_leave(ret);
	return 0;
}

/* --- lives --- */

SEC("tp_btf/sched_process_fork")
int on_fork(__u64 *ctx)
{
	struct task_struct *parent = (void *)ctx[0], *child = (void *)ctx[1];
	struct track *track = track_of(parent->tgid);
	bool is_process = parent->tgid != child->tgid;
	struct ring_fork *r;

	if (!running)
		return 0;
	if (!track) {
		__u32 pid = child->tgid;

		/* A number that a tracked process had before. */
		if (track_of(pid))
			bpf_map_delete_elem(&tracked, &pid);
		return 0;
	}
	count(PROBE_FORK, COUNT_fired);
	if ((is_process && !track_add(child, track->flags)) ||
	    !bpf_task_storage_get(&threads, child, 0, BPF_LOCAL_STORAGE_GET_F_CREATE)) {
		count(PROBE_FORK, COUNT_no_state);
		return 0;
	}
	tell(parent, true);
	tell(child, true);
	r = bpf_ringbuf_reserve(&life, sizeof(*r), 0);
	if (!r) {
		count(PROBE_FORK, COUNT_ring_full);
		return 0;
	}
	head_fill(&r->head, RING_FORK);
	r->pid = parent->tgid;
	r->tid = parent->pid;
	r->child_pid = child->tgid;
	r->child_tid = child->pid;
	submit_life(r, false);
	return 0;
}

static __always_inline void abandon_calls(struct task_struct *t, enum counter_index why)
{
	struct thread_state *s = bpf_task_storage_get(&threads, t, 0, 0);

	if (!s)
		return;
	for (int i = 0; i < CALL_DEPTH; i++)
		if (i < s->depth)
			count(s->frame[i].probe, why);
	s->depth = 0;
	s->over = 0;
}

SEC("tp_btf/sched_process_exec")
int on_exec(__u64 *ctx)
{
	struct task_struct *t = (void *)ctx[0];
	struct ring_exec *r;

	if (!running || !track_of(t->tgid))
		return 0;
	abandon_calls(t, COUNT_no_return);
	count(PROBE_EXEC, COUNT_fired);
	tell(t, true);
	r = bpf_ringbuf_reserve(&life, sizeof(*r), 0);
	if (!r) {
		count(PROBE_EXEC, COUNT_ring_full);
		return 0;
	}
	head_fill(&r->head, RING_EXEC);
	r->start_ns = process_start(t);
	r->pid = t->tgid;
	r->tid = t->pid;
	submit_life(r, true);
	return 0;
}

static __always_inline __u32 wait_status(struct task_struct *t)
{
	struct signal_struct *signal = t->signal;

	if (signal->flags & KERNEL_SIGNAL_GROUP_EXIT)
		return signal->group_exit_code;
	return t->group_leader->exit_code;
}

SEC("tp_btf/sched_process_exit")
int on_exit(__u64 *ctx)
{
	struct task_struct *t = (void *)ctx[0];
	struct track *track = track_of(t->tgid);
	struct thread_state *s;
	struct ring_exit *r;
	bool last;

	if (!running || !track)
		return 0;
	last = t->signal->live.counter == 0;
	abandon_calls(t, COUNT_thread_exit);
	s = bpf_task_storage_get(&threads, t, 0, 0);
	if (s && s->futex.start_ns) {
		s->futex.start_ns = 0;
		count(PROBE_FUTEX, COUNT_thread_exit);
	}
	count(PROBE_EXIT, COUNT_fired);
	tell(t, true);
	if (last)
		track->ended = 1; /* the recorder removes it: its last switches are still to come */
	r = bpf_ringbuf_reserve(&life, sizeof(*r), 0);
	if (!r) {
		count(PROBE_EXIT, COUNT_ring_full);
		return 0;
	}
	head_fill(&r->head, RING_EXIT);
	r->pid = t->tgid;
	r->tid = t->pid;
	r->code = last ? wait_status(t) : (__u32)t->exit_code;
	r->last = last;
	submit_life(r, last);
	return 0;
}

SEC("tp_btf/task_rename")
int on_rename(__u64 *ctx)
{
	struct task_struct *t = (void *)ctx[0];
	const char *comm = (const char *)ctx[1];

	if (!running)
		return 0;
	if (!track_of(t->tgid)) {
		untell(t);
		return 0;
	}
	tell_thread(t, true, comm);
	if (t->pid == t->tgid)
		tell_process(t, true, comm);
	return 0;
}

/* --- threads that already run when their process becomes tracked --- */

SEC("iter/task")
int on_each_task(struct bpf_iter__task *ctx)
{
	struct task_struct *t = ctx->task;

	if (!t || !track_of(t->tgid))
		return 0;
	bpf_task_storage_get(&threads, t, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (running)
		tell(t, true);
	return 0;
}
