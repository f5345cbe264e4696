// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel side. Programs are short, and wait for nothing but the words on the stack of a call that begins, and the
 * word that one which returns has just written; what they cannot record they count (struct tally).
 * Which calls are probed and what is taken from them is data: `plans`, filled from record/probe/probes.c.
 */
#include "bpf/calls.h"
#include "bpf/disk.h"
#include "bpf/follow.h"
#include "bpf/metrics.h"
#include "bpf/names.h"
#include "bpf/network.h"
#include "bpf/reclaim.h"
#include "bpf/signals.h"
#include "bpf/states.h"
#include "bpf/syscalls.h"
#include "bpf/throttle.h"

char LICENSE[] SEC("license") = "GPL";

/* --- calls into libraries (calls.h) --- */

SEC("uprobe")
int on_call(struct pt_regs *ctx)
{
	return running ? call_enter(ctx, bpf_get_current_task_btf(), bpf_get_attach_cookie(ctx), false) : 0;
}

SEC("uretprobe")
int on_return(struct pt_regs *ctx)
{
	return running ? call_leave(ctx, bpf_get_current_task_btf(), bpf_get_attach_cookie(ctx), false) : 0;
}

/* The same, where the kernel lets us find the cookie by ourselves. */
SEC(ENTRY_SECTION)
int on_call_multi(struct pt_regs *ctx)
{
	struct task_struct *t = bpf_get_current_task_btf();

	return running ? call_enter(ctx, t, cookie_of(t), ENTRY_MAY_SLEEP) : 0;
}

SEC(RETURN_SECTION)
int on_return_multi(struct pt_regs *ctx)
{
	struct task_struct *t = bpf_get_current_task_btf();

	return running ? call_leave(ctx, t, cookie_of(t), RETURN_MAY_SLEEP) : 0;
}

/* --- the scheduler --- */

/* On which CPU a thread is, or in whose queue; of a kernel that does not say so no CPU's number. */
static __always_inline __u32 task_cpu(struct task_struct *t)
{
	struct task_struct___until_5_15 *old = (void *)t;

	if (bpf_core_field_exists(t->thread_info.cpu))
		return t->thread_info.cpu;
	return bpf_core_field_exists(old->cpu) ? BPF_CORE_READ(old, cpu) : ~0U;
}

/* It slept in a page fault and runs again. */
static __always_inline void fault_end(struct task_struct *t, struct thread_state *s)
{
	struct ring_fault *r;

	s->fault.slept = 0;
	count(PROBE_FAULT, COUNT_fired);
	if (drop(PROBE_FAULT))
		return;
	r = bpf_ringbuf_reserve(&bulk, sizeof(*r), 0);
	if (!r) {
		count(PROBE_FAULT, COUNT_ring_full);
		return;
	}
	head_fill(&r->head, RING_FAULT);
	r->pid = t->tgid;
	r->tid = t->pid;
	r->addr = s->fault.addr;
	r->dur_ns = r->head.at_ns - s->fault.start_ns;
	s->fault.start_ns = r->head.at_ns; /* it may sleep again in the same fault: reported from here on */
	submit_bulk(r);
}

/* A tracked thread waits on this CPU from now on: until it runs again, all switches there are recorded. */
static __always_inline void wait_begins(struct thread_state *s, __u32 cpu)
{
	struct cpu_state *there = cpu_state(cpu);

	if (!s || s->waits_on || !there)
		return;
	s->waits_on = cpu + 1;
	__sync_fetch_and_add(&there->waiting, 1);
}

/*
 * Whether a tracked thread waits on this CPU; brings the books up to date with this switch. *queue: the CPU + 1 on
 * which `next` has waited since it was woken or preempted; 0: not known.
 */
static __always_inline bool note_waits(struct task_struct *prev, bool prev_tracked, struct task_struct *next,
				       bool next_tracked, bool preempted, __u32 *queue)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct cpu_state *here = cpu_state(cpu), *there;
	struct thread_state *s;
	bool waiting = here && here->waiting;

	disk_forget(here);
	network_forget(here);
	if (prev_tracked && preempted)
		wait_begins(bpf_task_storage_get(&threads, prev, 0, 0), cpu);
	if (next_tracked) {
		s = bpf_task_storage_get(&threads, next, 0, 0);
		if (s && s->waits_on) {
			*queue = s->waits_on;
			there = cpu_state(s->waits_on - 1);
			s->waits_on = 0;
			if (there)
				__sync_fetch_and_add(&there->waiting, -1);
		}
	}
	return waiting;
}

/* Whether it goes to sleep because its control group is frozen (by the second version of these, or the first). */
static __always_inline bool is_frozen(struct task_struct *t, __u32 state)
{
	return t->jobctl & KERNEL_TRAP_FREEZE || state & KERNEL_TASK_FROZEN || t->flags & KERNEL_PF_FROZEN;
}

/* In what a tracked thread goes to sleep: number + 1 of the system call, and SWITCH_*. */
static __always_inline __u32 sleeps_in(struct task_struct *t, __u32 state, __u32 *flags)
{
	struct pt_regs *user = (struct pt_regs *)bpf_task_pt_regs(t);
	struct thread_state *s;

	if (BPF_CORE_READ_BITFIELD(t, in_iowait))
		*flags |= SWITCH_IO;
	if (bpf_core_field_exists(t->in_memstall) && BPF_CORE_READ_BITFIELD(t, in_memstall))
		*flags |= SWITCH_MEMORY;
	if (*flags & SWITCH_IO && is_held_back(t))
		*flags |= SWITCH_WRITES;
	if (is_frozen(t, state)) {
		*flags |= SWITCH_FROZEN;
		return 0;
	}
	if (SYSCALL_NR(user) >= 0)
		return (__u32)SYSCALL_NR(user) + 1;
	s = bpf_task_storage_get(&threads, t, 0, 0);
	if (s && s->fault.start_ns && s->fault.ip == REGS_IP(user)) {
		*flags |= SWITCH_FAULT;
		s->fault.slept = 1;
	}
	return 0;
}

/* Why a tracked thread that could run on does not: SWITCH_*; 0: `next` goes before it. */
static __always_inline __u32 runs_no_more(struct task_struct *t, struct task_struct *next)
{
	struct pt_regs *user = (struct pt_regs *)bpf_task_pt_regs(t);
	__u32 flags = 0;

	if (bpf_core_field_exists(t->nr_cpus_allowed) && t->nr_cpus_allowed == 1)
		flags = SWITCH_PINNED;
	if (is_throttled(t)) {
		throttle_begins(t);
		return flags | SWITCH_THROTTLED;
	}
	/* The kernel's own thread of the highest priority comes to take it to another CPU. */
	if (bpf_core_field_exists(next->rt_priority) && next->flags & KERNEL_PF_KTHREAD &&
	    next->rt_priority == KERNEL_STOPPER_PRIORITY)
		return flags | SWITCH_MOVED;
	return SYSCALL_NR(user) == NR_sched_yield ? flags | SWITCH_YIELDED : flags;
}

/* What a tracked thread that runs again has waited for. */
static __always_inline void note_end(struct task_struct *next)
{
	struct thread_state *s = bpf_task_storage_get(&threads, next, 0, 0);

	if (s && s->fault.slept) {
		emit(next, true);
		fault_end(next, s);
	}
	if (s && s->throttle.queue)
		throttle_ends(next, s);
	if (s)
		s->left_ns = 0;
}

SEC("tp_btf/sched_switch")
int on_switch(__u64 *ctx)
{
	bool preempt = ctx[0];
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	bool prev_tracked, next_tracked, prev_seen, next_seen, waiting;
	__u32 state, nr = 0, flags = 0, queue = 0;
	struct ring_switch *r;

	if (!running)
		return 0;
	prev_tracked = prev->pid && track_of(prev->tgid);
	next_tracked = next->pid && track_of(next->tgid);
	/* A preempted thread may already carry the state in which it was about to sleep. */
	state = preempt ? 0 : switch_has_state ? (__u32)ctx[3] : prev->__state;
	prev_seen = is_scheduled(prev, prev_tracked);
	next_seen = is_scheduled(next, next_tracked);
	waiting = note_waits(prev, prev_tracked, next, next_tracked, !state, &queue);
	if (!prev_seen && !next_seen && !waiting)
		return 0;
	if (prev_tracked && state)
		follow_sleep(prev);
	if (prev_seen && state)
		nr = sleeps_in(prev, state, &flags);
	if (prev_seen && !state)
		flags = runs_no_more(prev, next);
	if (next_tracked)
		note_end(next);
	if (prev_seen && state & STATE_GONE)
		follow_no_more(prev);
	count(PROBE_SWITCH, COUNT_fired);
	if (drop(PROBE_SWITCH))
		return 0;
	emit_anew(prev, prev_tracked);
	emit_anew(next, next_tracked);
	r = bpf_ringbuf_reserve(&bulk, sizeof(*r), 0);
	if (!r) {
		count(PROBE_SWITCH, COUNT_ring_full);
		return 0;
	}
	head_fill(&r->head, RING_SWITCH);
	r->prev_tid = prev->pid;
	r->next_tid = next->pid;
	r->prev_state = state;
	r->prev_syscall = nr;
	r->prev_flags = flags;
	r->next_queue = queue;
	r->pad = 0;
	submit_bulk(r);
	return 0;
}

/* Where a tracked thread's fault began; whether it sleeps in it, sched_switch sees. */
SEC("tp_btf/page_fault_user")
int on_fault(__u64 *ctx)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct pt_regs *regs = (void *)ctx[1];
	struct thread_state *s;

	if (!running)
		return 0;
	s = bpf_task_storage_get(&threads, t, 0, 0);
	if (!s && track_of(t->tgid))
		s = bpf_task_storage_get(&threads, t, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!s)
		return 0;
	s->fault.addr = ctx[0];
	s->fault.ip = REGS_IP(regs);
	s->fault.start_ns = bpf_ktime_get_boot_ns();
	return 0;
}

/* 0: this kernel counts them in some other way. */
static __always_inline __u64 resident_pages(struct task_struct *t)
{
	struct mm_struct *mm = t->mm;
	struct mm_struct___until_6_1 *old = (void *)mm;

	if (!mm)
		return 0;
	if (bpf_core_field_exists(mm->rss_stat[0].count))
		return BPF_CORE_READ(mm, rss_stat[0].count) + BPF_CORE_READ(mm, rss_stat[1].count) +
		       BPF_CORE_READ(mm, rss_stat[3].count);
	if (bpf_core_field_exists(old->rss_stat.count[0].counter))
		return BPF_CORE_READ(old, rss_stat.count[0].counter) + BPF_CORE_READ(old, rss_stat.count[1].counter) +
		       BPF_CORE_READ(old, rss_stat.count[3].counter);
	return 0;
}

/* Whichever process it is. */
SEC("tp_btf/mark_victim")
int on_oom(__u64 *ctx)
{
	struct ring_oom *r;

	if (!running)
		return 0;
	count(PROBE_OOM, COUNT_fired);
	r = bpf_ringbuf_reserve(&life, sizeof(*r), 0);
	if (!r) {
		count(PROBE_OOM, COUNT_ring_full);
		return 0;
	}
	head_fill(&r->head, RING_OOM);
	r->pad = 0;
	r->pages = 0;
	if (victim_is_task) {
		struct task_struct *t = (void *)ctx[0];

		r->pid = t->tgid;
		r->pages = resident_pages(t);
	} else {
		r->pid = (__u32)ctx[0];
	}
	submit_life(r, false);
	return 0;
}

/* A signal is on its way to a thread or a process. */
SEC("tp_btf/signal_generate")
int on_signal(__u64 *ctx)
{
	struct task_struct *t = (void *)ctx[2];
	__u32 number = (__u32)ctx[0];

	if (running && track_of(t->tgid) && signal_matters(t, number, (__u32)ctx[4]))
		emit_signal(t, number, signal_code(ctx), (bool)ctx[3]);
	return 0;
}

static __always_inline int waking(struct task_struct *t, bool is_tracked, bool interrupted, bool up)
{
	struct task_struct *waker = bpf_get_current_task_btf();
	bool by_tracked = track_of(waker->tgid);
	struct ring_waking *r;

	count(PROBE_WAKING, COUNT_fired);
	if (drop(PROBE_WAKING))
		return 0;
	emit(t, is_tracked);
	emit(waker, by_tracked);
	disk_woken(t, interrupted);
	if (!up)
		interrupted = network_woken(t, interrupted);
	if (follow_wakers && is_tracked && !by_tracked && interrupts_known && !interrupted)
		follow_waker(t);
	r = bpf_ringbuf_reserve(&bulk, sizeof(*r), 0);
	if (!r) {
		count(PROBE_WAKING, COUNT_ring_full);
		return 0;
	}
	head_fill(&r->head, RING_WAKING);
	r->tid = t->pid;
	r->waker_tid = waker->pid;
	r->context = up ? WAKE_TIMER : interrupted ? WAKE_IRQ : WAKE_TASK;
	r->pad = 0;
	submit_bulk(r);
	return 0;
}

/*
 * Whether the current stack is not the current task's: interrupts of the kernel have stacks of their own. The address
 * of a local is stored in a map and read back, because only as a number can it be compared.
 *
 * A function of its own, because since 6.13 the kernel gives programs, but not functions with little on their stack,
 * a private stack. attach.c tries out whether all this holds where it runs.
 */
static __noinline bool on_other_stack(void)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct cpu_state *here = cpu_state(bpf_get_smp_processor_id());
	__u64 local = 0;

	if (!here)
		return false;
	*(void *volatile *)&here->own_stack_at = &local;
	return *(volatile __u64 *)&here->own_stack_at - (__u64)t->stack >= KERNEL_STACK_BYTES;
}

/*
 * Whether an interrupt does this, and not the task that it came upon. (The kernel's own count of nested interrupts is a
 * per-CPU variable that only kernels built with all symbols let us read.) An interrupt that came upon user code runs on
 * the task's stack: then the task did not enter the kernel by a system call. A page fault looks like that too: what it
 * wakes is reported as an interrupt's doing.
 */
static __always_inline bool in_interrupt(void)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct pt_regs *user = (struct pt_regs *)bpf_task_pt_regs(t);

	if (on_other_stack())
		return true;
	return !(t->flags & KERNEL_PF_KTHREAD) && t->pid && SYSCALL_NR(user) < 0;
}

/* Far less than a machine ever sleeps. */
#define CLOCKS_NEAR_NS 100000

static __always_inline void selftest_clocks(void)
{
	__u64 before_ns = bpf_ktime_get_ns(), boot_ns = bpf_ktime_get_boot_ns(), after_ns = bpf_ktime_get_ns();

	if (boot_ns < before_ns || boot_ns > after_ns)
		selftest_clocks_apart++;
	else if (after_ns - before_ns < CLOCKS_NEAR_NS)
		selftest_clocks_same++;
	selftest_boot_ns = boot_ns;
}

static __always_inline void selftest(void)
{
	struct task_struct *waker = bpf_get_current_task_btf();

	selftest_clocks();
	if ((__u32)waker->tgid != selftest_pid)
		return;
	if (in_interrupt())
		selftest_interrupt++;
	else
		selftest_task++;
}

/* A timer's time is up. If a thread sleeps until then, and still does, it is woken next. */
SEC("tp_btf/hrtimer_expire_entry")
int on_timer(__u64 *ctx)
{
	struct cpu_state *here = cpu_state(bpf_get_smp_processor_id());
	struct hrtimer_sleeper *sleeper = (void *)ctx[0];

	if (!running || !here || !bpf_core_field_exists(sleeper->task))
		return 0;
	/* (Behind another sort of timer stands anything: that is no task's address, or one's that is not woken next.) */
	here->timer_task = (__u64)BPF_CORE_READ(sleeper, task);
	here->timer_ns = now_ns();
	return 0;
}

/* Between both there is nothing but the kernel's own code. */
#define TIMER_NEAR_NS 100000

static __always_inline bool is_up(struct task_struct *t)
{
	struct cpu_state *here = cpu_state(bpf_get_smp_processor_id());
	bool up = here && here->timer_task == (__u64)t && now_ns() - here->timer_ns < TIMER_NEAR_NS;

	if (up)
		here->timer_task = 0;
	return up;
}

SEC("tp_btf/sched_waking")
int on_waking(__u64 *ctx)
{
	struct task_struct *t = (void *)ctx[0];
	bool is_tracked, interrupted, up;

	if (selftest_pid && (__u32)t->tgid == selftest_pid)
		selftest();
	if (!running)
		return 0;
	is_tracked = track_of(t->tgid);
	if (!is_scheduled(t, is_tracked))
		return 0;
	/* Before 6.18 it may become runnable in a queue that is throttled. */
	if (!bpf_core_field_exists(t->throttled) && is_throttled(t))
		throttle_begins(t);
	up = is_up(t);
	interrupted = interrupts_known ? in_interrupt() : up;
	return waking(t, is_tracked, interrupted, interrupted && up);
}

/*
 * A woken thread is in a CPU's queue, behind who runs there. (sched_waking comes before the kernel has chosen the CPU.)
 * One that was about to sleep, and still runs, does not wait.
 */
SEC("tp_btf/sched_wakeup")
int on_wakeup(__u64 *ctx)
{
	struct task_struct *t = (void *)ctx[0];

	if (!running || !track_of(t->tgid) || !bpf_core_field_exists(t->on_cpu) || t->on_cpu)
		return 0;
	wait_begins(bpf_task_storage_get(&threads, t, 0, 0), task_cpu(t));
	return 0;
}

/* A request to a disk, whoever made it, is done; who sleeps for it is woken after this. */
SEC("tp_btf/block_rq_complete")
int on_request(__u64 *ctx)
{
	struct cpu_state *here = cpu_state(bpf_get_smp_processor_id());

	if (running && here)
		disk_done((void *)ctx[0], (__u32)ctx[1], (__u32)ctx[2], in_interrupt(), here);
	return 0;
}

SEC("tp_btf/balance_dirty_pages")
int on_held_back(__u64 *ctx)
{
	long pause;

	/* The compiler must not make one load of a computed place of these two: the verifier refuses that. */
	if (pause_at == PAUSE_AT_LATER) {
		pause = ctx[PAUSE_AT_LATER];
		asm volatile("" : "+r"(pause));
	} else {
		pause = ctx[PAUSE_AT];
		asm volatile("" : "+r"(pause));
	}
	return writes_held_back(pause);
}

/* The machine goes to sleep, or wakes up: from now on the boot clock is ahead. Before any process goes on. */
SEC("tp_btf/suspend_resume")
int on_suspend(__u64 *ctx)
{
	has_slept = 1;
	clocks_agree = 0;
	return 0;
}

/* --- lives --- */

/* A process that is not tracked: its number may be that of one which was. */
static __always_inline void track_not(struct task_struct *t)
{
	__u32 pid = t->tgid;

	if (track_of(pid))
		bpf_map_delete_elem(&tracked, &pid);
}

SEC("tp_btf/sched_process_fork")
int on_fork(__u64 *ctx)
{
	struct task_struct *parent = (void *)ctx[0], *child = (void *)ctx[1];
	struct track *track = track_of(parent->tgid);
	bool is_process = parent->tgid != child->tgid, follows = !is_process || follow_children;
	struct ring_fork *r;

	if (is_process && !(track && follow_children))
		track_not(child);
	if (!running || !track)
		return 0;
	count(PROBE_FORK, COUNT_fired);
	if (is_process && follows && !track_add(child, track->flags & TRACK_OURS)) {
		count(PROBE_FORK, COUNT_no_state);
		return 0;
	}
	/* For what it will do. In a burst of forks there may be no memory: it is tried again when it is needed. */
	if (follows)
		bpf_task_storage_get(&threads, child, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	emit(parent, true);
	emit(child, follows);
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

SEC("tp_btf/sched_process_exec")
int on_exec(__u64 *ctx)
{
	struct task_struct *t = (void *)ctx[0];
	struct linux_binprm *bprm = (void *)ctx[2];
	struct track *track = track_of(t->tgid);
	struct ring_exec *r;

	if (!running)
		return 0;
	if (!track) {
		if (notice_maps)
			mapped_code(BPF_CORE_READ(bprm, file), 0);
		return 0;
	}
	track->refused = 0;
	abandon_calls(t, COUNT_no_return);
	count(PROBE_EXEC, COUNT_fired);
	emit(t, true);
	r = bpf_ringbuf_reserve(&life, sizeof(*r), 0);
	if (!r) {
		count(PROBE_EXEC, COUNT_ring_full);
		return 0;
	}
	head_fill(&r->head, RING_EXEC);
	r->start_ns = process_start(t);
	r->pid = t->tgid;
	r->tid = t->pid;
	r->uid = BPF_CORE_READ(t, real_cred, uid.val);
	r->pad = 0;
	program_fill(r, t, BPF_CORE_READ(bprm, file));
	submit_life(r, true);
	if (notice_maps)
		mapped_code(BPF_CORE_READ(bprm, file), 0);
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
	/* Of threads that end at once each may find none left: the first is reported as the last then. */
	last = exit_emits_last
		       ? (bool)ctx[1]
		       : !t->signal->live.counter && !(__sync_fetch_and_or(&track->flags, TRACK_ENDED) & TRACK_ENDED);
	abandon_calls(t, COUNT_thread_exit);
	s = bpf_task_storage_get(&threads, t, 0, 0);
	if (s && s->futex.start_ns) {
		s->futex.start_ns = 0;
		if (!s->futex.left_out)
			count(PROBE_FUTEX, COUNT_thread_exit);
	}
	count(PROBE_EXIT, COUNT_fired);
	emit(t, true);
	if (last)
		track->flags |= TRACK_ENDED; /* the recorder removes it: its last switches are still to come */
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
		unemit(t);
		return 0;
	}
	emit_thread(t, true, comm, false);
	if (t->pid == t->tgid)
		emit_process(t, true, comm);
	return 0;
}

/* --- threads as they are now: that ran before their process became tracked, and what they are in --- */

SEC("iter/task")
int on_each_task(struct bpf_iter__task *ctx)
{
	struct task_struct *t = ctx->task;
	struct thread_state *s;

	if (!t || !track_of(t->tgid))
		return 0;
	s = bpf_task_storage_get(&threads, t, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (running || states_moment)
		emit(t, true);
	if (!states_moment)
		return 0;
	emit_state(t);
	if (s)
		emit_open_calls(t, s);
	return 0;
}
