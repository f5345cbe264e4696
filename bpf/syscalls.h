/* SPDX-License-Identifier: GPL-2.0 */
/*
 * System calls: futex, and mmap of code. Part of gpurec.bpf.c.
 *
 * By the tracepoints that all system calls pass through, which slows each of them, of every process, and with it the
 * return of every probed function, for which newer kernels use a system call.
 */
#ifndef GPUREC_BPF_SYSCALLS_H
#define GPUREC_BPF_SYSCALLS_H

#include "bpf/names.h"

static __always_inline bool is_futex(__s64 nr)
{
	return nr == NR_futex || nr == NR_futex_waitv || (nr >= NR_futex_wake && nr <= NR_futex_requeue);
}

/* Where waiters are moved to, or what is changed as well; 0: there is none. */
static __always_inline __u64 second_address(struct pt_regs *regs, __s64 nr)
{
	__u64 addr = SYSCALL_0(regs);

	/* the second struct futex_waitv of 24 bytes */
	if (nr == NR_futex_requeue && bpf_probe_read_user(&addr, sizeof(addr), (const void *)(addr + 24 + 8)))
		return 0;
	if (nr == NR_futex_requeue)
		return addr;
	if (nr == NR_futex && KERNEL_FUTEX_TWO_ADDRESSES >> (KERNEL_FUTEX_CMD(SYSCALL_1(regs)) & 31) & 1)
		return SYSCALL_4(regs);
	return 0;
}

static __always_inline int futex_enter(struct pt_regs *regs, __s64 nr)
{
	struct task_struct *t;
	struct thread_state *s;
	__u64 addr;

	if (!running)
		return 0;
	t = bpf_get_current_task_btf();
	if (TASK_IS_COMPAT(t))
		return 0;
	s = state_to_enter(t, PROBE_FUTEX, false);
	if (!s)
		return 0;
	if (s->futex.start_ns && !s->futex.left_out)
		count(PROBE_FUTEX, COUNT_no_return);
	addr = SYSCALL_0(regs);
	/* struct futex_waitv: val, uaddr, flags */
	if ((nr == NR_futex_waitv || nr == NR_futex_requeue) &&
	    bpf_probe_read_user(&addr, sizeof(addr), (const void *)(addr + 8))) {
		count(PROBE_FUTEX, COUNT_unreadable);
		addr = 0;
	}
	s->futex.left_out = drop(PROBE_FUTEX);
	s->futex.nr = nr;
	s->futex.addr = addr;
	s->futex.addr2 = second_address(regs, nr);
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

	if (TASK_IS_COMPAT(t))
		return;
	s = bpf_task_storage_get(&threads, t, 0, 0);
	if (!s || !s->futex.start_ns) {
		count_unentered(PROBE_FUTEX);
		return;
	}
	if (s->futex.left_out) {
		s->futex.start_ns = 0;
		return;
	}
	emit_tracked(t, &s->emitted);
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
	r->addr2 = s->futex.addr2;
	for (int i = 0; i < 4; i++)
		r->arg[i] = s->futex.arg[i];
	s->futex.start_ns = 0;
	submit_bulk(r);
}

/* Whether its name begins as those of CUDA's libraries do: libcuda, libcudart, libnccl. */
static __always_inline bool has_cuda_name(struct file *file)
{
	char head[8] = {};

	if (bpf_probe_read_kernel_str(head, sizeof(head), BPF_CORE_READ(file, f_path.dentry, d_name.name)) < 0)
		return false;
	if (head[0] != 'l' || head[1] != 'i' || head[2] != 'b')
		return false;
	return (head[3] == 'c' && head[4] == 'u' && head[5] == 'd' && head[6] == 'a') ||
	       (head[3] == 'n' && head[4] == 'c' && head[5] == 'c' && head[6] == 'l');
}

/*
 * Whether a process may be stopped for a moment for a file that most likely has nothing to do with CUDA: it has one
 * thread, and no shell with job control, which gives each job a group of its own, takes the stop for the job's.
 */
static __always_inline bool may_hold(struct task_struct *t)
{
	return BPF_CORE_READ(t, signal, nr_threads) == 1 &&
	       BPF_CORE_READ(t, signal, pids[KERNEL_PIDTYPE_PGID]) ==
		       BPF_CORE_READ(t, real_parent, signal, pids[KERNEL_PIDTYPE_PGID]);
}

static __always_inline void file_key_fill(struct file_key *key, struct file *file)
{
	key->inode = BPF_CORE_READ(file, f_inode, i_ino);
	key->device = BPF_CORE_READ(file, f_inode, i_sb, s_dev);
	key->generation = BPF_CORE_READ(file, f_inode, i_generation);
}

/* File and arguments of a program that the current task begins to run. */
static __always_inline void program_fill(struct ring_exec *r, struct task_struct *t, struct file *file)
{
	__u64 start = BPF_CORE_READ(t, mm, arg_start), end = BPF_CORE_READ(t, mm, arg_end);
	__u32 n = EXEC_ARGS, *known;
	struct file_key key = {}; /* on the stack: before 6.2 the kernel takes no key from a ring record */

	file_key_fill(&key, file);
	r->file = key;
	known = bpf_map_lookup_elem(&attached, &key);
	r->known = known ? *known : 0;
	r->args_bytes = end - start;
	if (end - start < EXEC_ARGS)
		n = (end - start) & (EXEC_ARGS - 1);
	r->nargs = bpf_probe_read_user(r->args, n, (const void *)start) ? 0 : n;
}

/* The current task mapped a file as code, or (address 0) began to run it. */
static __always_inline void mapped_code(struct file *file, __u64 address)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct track *track = track_of(t->tgid);
	struct file_key key = {};
	struct ring_mapped *r;
	__u32 *known;
	bool named;

	if (!file || (!track && !track_all))
		return;
	named = has_cuda_name(file);
	if (!track && !named && address)
		return;
	if (named) {
		if (!track)
			track = track_add(t, 0);
		emit(t, true);
	}
	file_key_fill(&key, file);
	known = bpf_map_lookup_elem(&attached, &key);
	if (known && *known == FILE_PLAIN)
		return;
	count(PROBE_MAPPED, COUNT_fired);
	r = bpf_ringbuf_reserve(&life, sizeof(*r), 0);
	if (!r) {
		count(PROBE_MAPPED, COUNT_ring_full);
		return;
	}
	head_fill(&r->head, RING_MAPPED);
	r->file = key;
	r->address = address;
	r->uid = BPF_CORE_READ(t, real_cred, uid.val);
	r->known = known ? *known : 0;
	r->pid = t->tgid;
	r->tid = t->pid;
	/* It stops before its next instruction, and goes on when the probes are in place: no call is missed. */
	r->held = !known && track && (track->flags & TRACK_OURS) && (named || may_hold(t)) &&
		  !bpf_send_signal(KERNEL_SIGSTOP);
	r->named = named;
	submit_life(r, true);
}

static __always_inline void mmap_leave(struct pt_regs *regs, __s64 ret)
{
	if (running && notice_maps && (SYSCALL_2(regs) & KERNEL_PROT_EXEC) && (__s32)SYSCALL_4(regs) >= 0 &&
	    (ret > 0 || ret < -4095))
		mapped_code(file_of(bpf_get_current_task_btf(), (__u32)SYSCALL_4(regs)), (__u64)ret);
}

SEC("tp_btf/sys_enter")
int on_sys_enter(__u64 *ctx)
{
	return is_futex(ctx[1]) ? futex_enter((void *)ctx[0], ctx[1]) : 0;
}

SEC("tp_btf/sys_exit")
int on_sys_exit(__u64 *ctx)
{
	struct pt_regs *regs = (void *)ctx[0];
	__s64 nr = SYSCALL_NR(regs);

	if (nr == NR_mmap)
		mmap_leave(regs, ctx[1]);
	else if (running && futex_on && is_futex(nr))
		futex_leave(ctx[1]);
	return 0;
}

#endif
