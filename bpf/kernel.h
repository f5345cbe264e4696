/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the probes need to know of the kernel: the few members of its structs that are read (relocated when loaded, so
 * neither order nor offsets matter here) and the constants of its stable interface. In place of a generated vmlinux.h
 * of a hundred thousand lines.
 */
#ifndef GPUREC_BPF_KERNEL_H
#define GPUREC_BPF_KERNEL_H

typedef unsigned char __u8;
typedef signed char __s8;
typedef unsigned short __u16;
typedef short __s16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;
#define true 1
#define false 0

enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};

enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
	BPF_F_NO_PREALLOC = 1,
	BPF_F_MMAPABLE = 1024,
	BPF_F_USER_STACK = 256,
	BPF_LOCAL_STORAGE_GET_F_CREATE = 1,
	BPF_RB_NO_WAKEUP = 1,
	BPF_RB_FORCE_WAKEUP = 2,
	BPF_RB_AVAIL_DATA = 0,
};

#define KERNEL_PROT_EXEC 4
#define KERNEL_CLOCK_MONOTONIC 1
#define KERNEL_SIGCONT 18
#define KERNEL_SIGSTOP 19
#define KERNEL_SI_KERNEL 128
#define KERNEL_TRAP_FREEZE (1UL << 23) /* in task_struct.jobctl: it sleeps because its control group is frozen */
#define KERNEL_PF_FROZEN 0x00010000u   /* in task_struct.flags, before 6.1: of the first version of control groups */
#define KERNEL_TASK_FROZEN 0x8000u     /* in task_struct.__state, since 6.1: likewise */
#define KERNEL_SIGNAL_GROUP_EXIT 4u    /* in signal_struct.flags */
#define KERNEL_COMM_BYTES 16
#define KERNEL_PIDTYPE_PGID 2
#define KERNEL_MAX_RT_PRIO 100         /* task_struct.prio: less is real-time */
#define KERNEL_STOPPER_PRIORITY 99     /* task_struct.rt_priority of the threads that move others off a CPU */
#define KERNEL_REQUEST_OPERATION 0xffu /* in request.cmd_flags */
#define KERNEL_NICE_0 120              /* task_struct.static_prio */
#define KERNEL_PF_KTHREAD 0x00200000u  /* in task_struct.flags */
#define KERNEL_AF_INET 2
#define KERNEL_IPPROTO_TCP 6
#define KERNEL_TCP_ESTABLISHED 1
#define KERNEL_TCP_SYN_SENT 2

/* The kernel's own, known to the verifier by name and size. */
struct bpf_timer {
	__u64 opaque[2];
} __attribute__((aligned(8)));

struct bpf_map;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct qstr d_name;
};

struct path {
	struct dentry *dentry;
};

struct super_block {
	__u32 s_dev;
};

struct inode {
	unsigned long i_ino;
	unsigned int i_generation;
	struct super_block *i_sb;
};

struct file {
	struct path f_path;
	struct inode *f_inode;
	void *private_data;
};

struct linux_binprm {
	struct file *file;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct kuid {
	__u32 val;
};

struct cred {
	struct kuid uid;
};

struct atomic {
	int counter;
};

struct pid;

struct signal_struct {
	struct atomic live;
	int nr_threads;
	struct pid *pids[4]; /* by kind: KERNEL_PIDTYPE_PGID */
	unsigned int flags;
	int group_exit_code;
};

struct sigaction {
	void *sa_handler; /* 0: the default */
};

struct k_sigaction {
	struct sigaction sa;
};

struct sighand_struct {
	struct k_sigaction action[64];
};

struct kernel_siginfo {
	int si_code;
};

struct thread_info {
	__u32 status;        /* x86: compatibility mode of the system call under way */
	unsigned long flags; /* arm64: the same, in a bit */
	__u64 preempt_count; /* arm64 */
	__u32 cpu;           /* since 5.16 */
};

struct percpu_counter {
	__s64 count;
};

struct atomic64 {
	__s64 counter;
};

struct mm_rss_stat {
	struct atomic64 count[4];
};

/* Which of the two a kernel has does not follow from its version, nor from what else it has. */
struct mm_struct___until_6_1 {
	struct mm_rss_stat rss_stat;
};

struct xol_area {
	unsigned long vaddr; /* begins with where calls with a return probe return to */
};

struct uprobes_state {
	struct xol_area *xol_area;
};

/* A call with a return probe, which has not returned. */
struct return_instance {
	unsigned long stack; /* the stack pointer at its entry */
	unsigned long orig_ret_vaddr;
	struct return_instance *next;
};

struct uprobe_task {
	struct return_instance *return_instances; /* the innermost first */
};

struct mm_struct {
	struct uprobes_state uprobes_state;
	unsigned long arg_start, arg_end;
	struct percpu_counter rss_stat[4]; /* of files, anonymous, swapped, shared; since 6.2 */
};

struct rq {
	unsigned int nr_running;
	struct task_struct *curr, *idle;
	__u64 clock;
};

struct cfs_rq {
	struct rq *rq;                   /* of kernels with groups of tasks */
	int throttle_count;              /* of kernels with CPU quotas: it, or a queue above it, is throttled */
	__u64 throttled_clock_self;      /* likewise, since 6.6: since when (by rq->clock); 0: it is not */
	__u64 throttled_clock_self_time; /* and for how long it was before */
};

struct sched_entity {
	struct cfs_rq *cfs_rq; /* the same */
};

struct bpf_run_ctx {
};

struct bpf_uprobe {
	__u64 cookie;
};

struct bpf_uprobe_multi_run_ctx {
	struct bpf_uprobe *uprobe;
};

struct hrtimer_sleeper {
	struct task_struct *task; /* whom it wakes; NULL: nobody any more */
};

struct gendisk {
	int major, first_minor;
	char disk_name[32];
};

struct request_queue {
	struct gendisk *disk; /* since 5.15 */
};

/* Its first word has had the flags ever since. */
struct page;
enum pageflags { PG_uptodate, PG_swapbacked };

struct bio_vec {
	struct page *bv_page;
};

struct bio {
	struct bio_vec *bi_io_vec;
};

struct request {
	struct request_queue *q;
	struct bio *bio; /* the first one */
	unsigned int cmd_flags;
	__u64 start_time_ns;    /* monotonic clock; 0: nobody keeps account */
	__u64 io_start_time_ns; /* likewise: given to the device */
};

struct request___until_5_17 {
	struct gendisk *rq_disk;
};

struct list_head {
	struct list_head *next;
};

struct wait_queue_head {
	struct list_head head;
};

struct wait_queue_entry {
	void *private; /* the task that waits; of poll() and select() a struct poll_wqueues; of epoll 0 */
	struct list_head entry;
};

struct poll_wqueues {
	struct task_struct *polling_task;
};

struct eventpoll {
	struct wait_queue_head wq;
};

struct epitem {
	struct eventpoll *ep;
};

struct eppoll_entry {
	struct epitem *base;
	struct wait_queue_entry wait;
};

struct socket_wq {
	struct wait_queue_head wait;
};

struct ns_common {
	unsigned int inum;
};

struct net {
	struct ns_common ns;
};

struct in6_addr {
};

struct sock_common {
	__be32 skc_daddr, skc_rcv_saddr;
	__be16 skc_dport;
	__u16 skc_num; /* the local port */
	unsigned short skc_family;
	struct {
		struct net *net;
	} skc_net;
	struct in6_addr skc_v6_daddr, skc_v6_rcv_saddr; /* of kernels with IPv6 */
};

struct socket;

struct sock {
	struct sock_common __sk_common;
	struct socket_wq *sk_wq;
	__u16 sk_protocol;
	struct socket *sk_socket;
};

struct socket {
	struct sock *sk;
};

struct tcp_sock {
	__u32 rcv_nxt, copied_seq;
	__u32 total_retrans;
	__u32 rcv_ooopack;
	__u32 srtt_us; /* eight times as much */
};

struct cpumask {
	unsigned long bits[1]; /* and more */
};

struct task_struct {
	struct thread_info thread_info;
	void *stack;
	unsigned int on_cpu; /* of kernels for several CPUs; since 7.2 a byte */
	int prio;
	int static_prio; /* KERNEL_NICE_0 and its nice value */
	unsigned int rt_priority;
	unsigned int policy;
	int nr_cpus_allowed;
	struct cpumask cpus_mask;
	unsigned int in_iowait : 1;
	unsigned int in_memstall : 1; /* with CONFIG_PSI */
	bool throttled;               /* of kernels with CPU quotas, since 6.18 */
	struct sched_entity se;
	struct mm_struct *mm;
	unsigned int flags;
	unsigned int __state;
	int pid;
	int tgid;
	int exit_code;
	unsigned long nvcsw;  /* switches away from it because it went to sleep, */
	unsigned long nivcsw; /* and while it was able to run */
	__u64 start_boottime;
	struct task_struct *group_leader;
	struct task_struct *real_parent;
	const struct cred *real_cred;
	struct signal_struct *signal;
	struct sighand_struct *sighand;
	unsigned long jobctl;
	struct files_struct *files;
	struct uprobe_task *utask;
	struct bpf_run_ctx *bpf_ctx; /* of the program that runs for it */
	char comm[KERNEL_COMM_BYTES];
};

struct task_struct___until_5_15 {
	unsigned int cpu;
};

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, sp, bp;
};
#elif defined(__TARGET_ARCH_arm64)
struct user_pt_regs {
	__u64 regs[31];
	__u64 sp;
	__u64 pc;
};
struct pt_regs {
	__u64 regs[31];
	__u64 sp;
	__u64 pc;
	__u64 orig_x0;
	int syscallno;
};
#else
#error "no register names for this architecture"
#endif

struct bpf_iter__task {
	struct task_struct *task;
};

#pragma clang attribute pop

/* Memory of the kernel as what it is, to be read (since 6.2). */
extern void *bpf_rdonly_cast(const void *at, __u32 btf_id) __attribute__((weak, section(".ksyms")));

/*
 * The calling conventions. Argument words count from 0: integer registers first, then the stack. A probed function is
 * entered with its return address on the stack (x86) or in a register (arm64), which decides where the words on the
 * stack begin and by how much the stack pointer differs between entry and return; and whether the kernel itself waits
 * for the stack's top at the entry, to put its return probe there: then a process can hold it there anyway, and our
 * program may sleep, too, which makes it read faster. So may the one at the return. Return addresses in memory may be
 * signed (arm64).
 */
#if defined(__TARGET_ARCH_x86)
#define ENTRY_SECTION "uprobe.s"
#define RETURN_SECTION "uretprobe.s"
#define ENTRY_MAY_SLEEP true
#define RETURN_MAY_SLEEP true
#define RETURNS_PLAIN true
#define REGISTER_WORDS 6
#define STACK_WORDS_AT 8
#define RETURN_POPS 8
#define REGS_SP(r) ((r)->sp)
#define REGS_IP(r) ((r)->ip)
#define REGS_FP(r) ((r)->bp)
#define REGS_LR(r) 0
#define REGS_RESULT(r) ((r)->ax)
#define SYSCALL_NR(r) ((__s64)(int)(r)->orig_ax)
#define SYSCALL_RET(r) ((__s64)(r)->ax)
#define SYSCALL_0(r) ((r)->di)
#define SYSCALL_1(r) ((r)->si)
#define SYSCALL_2(r) ((r)->dx)
#define SYSCALL_3(r) ((r)->r10)
#define SYSCALL_4(r) ((r)->r8)
#define NR_mmap 9
#define NR_sched_yield 24
#define NR_futex 202
/* write, writev, sendfile, sendto, sendmsg, sendmmsg */
#define NR_sends(nr) ((nr) == 1 || (nr) == 20 || (nr) == 40 || (nr) == 44 || (nr) == 46 || (nr) == 307)
#define TASK_IS_COMPAT(t) ((t)->thread_info.status & 2)
#define KERNEL_STACK_BYTES 16384
#else
#define ENTRY_SECTION "uprobe"
#define RETURN_SECTION "uretprobe"
#define ENTRY_MAY_SLEEP false
#define RETURN_MAY_SLEEP false
#define RETURNS_PLAIN false
#define REGISTER_WORDS 8
#define STACK_WORDS_AT 0
#define RETURN_POPS 0
#define REGS_SP(r) ((r)->sp)
#define REGS_IP(r) ((r)->pc)
#define REGS_FP(r) ((r)->regs[29])
#define REGS_LR(r) ((r)->regs[30])
#define REGS_RESULT(r) ((r)->regs[0])
#define SYSCALL_NR(r) ((__s64)(r)->syscallno)
#define SYSCALL_RET(r) ((__s64)(r)->regs[0])
#define SYSCALL_0(r) ((r)->orig_x0)
#define SYSCALL_1(r) ((r)->regs[1])
#define SYSCALL_2(r) ((r)->regs[2])
#define SYSCALL_3(r) ((r)->regs[3])
#define SYSCALL_4(r) ((r)->regs[4])
#define NR_mmap 222
#define NR_sched_yield 124
#define NR_futex 98
/* write, writev, sendfile, sendto, sendmsg, sendmmsg */
#define NR_sends(nr) ((nr) == 64 || (nr) == 66 || (nr) == 71 || (nr) == 206 || (nr) == 211 || (nr) == 269)
#define TASK_IS_COMPAT(t) ((t)->thread_info.flags & (1UL << 22))
#define KERNEL_STACK_BYTES 16384
#endif

/* futex(2) */
#define KERNEL_FUTEX_CMD(op) ((op)&127)
#define KERNEL_FUTEX_PRIVATE 128
#define KERNEL_FUTEX_WAITS (1u << 0 | 1u << 6 | 1u << 9 | 1u << 11 | 1u << 13) /* wait, lock_pi, and their like */
#define KERNEL_FUTEX_TWO_ADDRESSES                                                                                     \
	(1u << 3 | 1u << 4 | 1u << 5 | 1u << 11 | 1u << 12) /* requeue, wake_op, and their like */

/* The same numbers on all architectures since they came. */
#define NR_futex_waitv 449
#define NR_futex_wake 454
#define NR_futex_wait 455
#define NR_futex_requeue 456

#endif
