/* SPDX-License-Identifier: Apache-2.0 */
#include "keys/tool/seccomp_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* clang-format off */
/* Memory, time, threads, itself; reading files; and what goes by descriptors that are open. */
static const char *const allowed[] = {
	"read", "readv", "pread64", "preadv", "preadv2", "write", "writev", "pwrite64", "pwritev", "pwritev2",
	"lseek", "_llseek", "close", "close_range", "dup", "dup2", "dup3", "fcntl", "fcntl64", "flock",
	"fsync", "fdatasync", "sync_file_range", "ftruncate", "ftruncate64", "fallocate", "fadvise64", "fadvise64_64",
	"fstat", "fstat64", "stat", "stat64", "lstat", "lstat64", "newfstatat", "fstatat64", "statx", "statfs",
	"statfs64", "fstatfs", "fstatfs64", "access", "faccessat", "faccessat2", "readlink", "readlinkat", "getcwd",
	"getdents", "getdents64", "poll", "ppoll", "ppoll_time64", "select", "_newselect", "pselect6",
	"pselect6_time64", "fchmod", "umask",
	"mmap", "mmap2", "munmap", "mprotect", "mremap", "madvise", "brk", "msync", "mincore", "mlock", "mlock2",
	"munlock", "membarrier",
	"futex", "futex_time64", "futex_waitv", "set_robust_list", "get_robust_list", "rseq", "set_tid_address",
	"sched_yield", "sched_getaffinity", "sched_setaffinity", "getcpu", "arch_prctl", "set_thread_area",
	"exit", "exit_group", "restart_syscall", "prctl", "seccomp", "capget", "capset",
	"landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self",
	"getpid", "getppid", "gettid", "getuid", "geteuid", "getgid", "getegid", "getuid32", "geteuid32", "getgid32",
	"getegid32", "getresuid", "getresgid", "getgroups", "getpgrp", "getpgid", "getsid", "uname", "sysinfo",
	"getrandom", "getrlimit", "ugetrlimit", "setrlimit", "prlimit64", "getrusage", "times",
	"rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigreturn", "rt_sigpending", "rt_sigsuspend",
	"rt_sigtimedwait", "rt_sigtimedwait_time64", "sigaltstack", "signalfd4", "alarm", "setitimer", "getitimer",
	"pause", "nanosleep", "clock_nanosleep", "clock_nanosleep_time64", "clock_gettime", "clock_gettime64",
	"clock_getres", "clock_getres_time64", "gettimeofday", "time",
};

/* SYSCALLS_FILES */
static const char *const allowed_files[] = {
	"open", "openat", "creat", "rename", "renameat", "renameat2", "link", "linkat", "unlink", "unlinkat", "mkdir",
	"mkdirat", "rmdir", "chmod", "fchmodat", "fchown", "fchown32",
};

/* SYSCALLS_RECORD */
static const char *const allowed_record[] = {
	"epoll_create", "epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait", "epoll_pwait2", "pipe", "pipe2",
	"eventfd2", "timerfd_create", "timerfd_settime", "timerfd_gettime", "timerfd_settime64", "wait4", "waitid",
	"waitpid", "pidfd_open", "unlink", "unlinkat",
};

/* Known powers: never allowed, and EPERM says so. Names, so that a libseccomp that knows one not yet leaves it out. */
static const char *const denied[] = {
	/* the network, and every other way of talking to another process */
	"socket", "socketpair", "socketcall", "connect", "bind", "listen", "accept", "accept4", "sendto",
	"sendmsg", "sendmmsg", "recvfrom", "recvmsg", "recvmmsg", "msgget", "msgsnd", "msgrcv", "msgctl",
	"mq_open", "mq_unlink", "mq_timedsend", "mq_timedreceive", "shmget", "shmat", "semget", "semop",
	"semtimedop", "semctl",
	/* a second way to every system call, past this filter */
	"io_uring_setup", "io_uring_enter", "io_uring_register",
	/* other programs and other processes */
	"execve", "execveat", "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease",
	"pidfd_getfd", "kcmp", "migrate_pages", "move_pages",
	/* the kernel and the machine */
	"kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "reboot", "swapon",
	"swapoff", "acct", "quotactl", "quotactl_fd", "sethostname", "setdomainname", "settimeofday",
	"clock_settime", "clock_adjtime", "adjtimex", "iopl", "ioperm", "syslog", "userfaultfd", "lookup_dcookie",
	"nfsservctl", "open_by_handle_at", "name_to_handle_at", "fanotify_init",
	/* keys held by the kernel */
	"add_key", "request_key", "keyctl",
	/* another view of the file system */
	"mount", "umount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "open_tree_attr", "fsopen",
	"fsconfig", "fsmount", "fspick", "mount_setattr", "setns", "unshare",
	/* terminals: typing into the one we were started from */
	"vhangup",
};

/* Unless SYSCALLS_SIGNAL; those in `to_self` towards other processes (abort(3), raise(3), timers). */
static const char *const signals[] = {"tkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal"};
static const char *const to_self[] = {"kill", "tgkill"};
/* clang-format on */

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define DENY SCMP_ACT_ERRNO(EPERM)
#define ALLOW SCMP_ACT_ALLOW

/* What the C library's fork() gives to clone(). */
#define FORK_FLAGS (CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD)
/* clone() flags that make namespaces: with them an unprivileged process has a network of its own to configure. */
#define CLONE_NAMESPACES 0x7e020000u /* NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET */

/*
 * Requests of ioctl(2) about terminals and descriptors, of <asm-generic/ioctls.h>; SQLite asks f2fs for one; and about
 * what a process has mapped, of <linux/fs.h>.
 */
static const unsigned requests[] = {
	0x5401,     0x5402, 0x5403, 0x5404, /* TCGETS, TCSETS, TCSETSW, TCSETSF */
	0x5413,     0x541b, 0x5450, 0x5451, /* TIOCGWINSZ, FIONREAD, FIONCLEX, FIOCLEX */
	0x802c542a,                         /* TCGETS2 */
	0xc0686611,                         /* PROCMAP_QUERY */
};
/* Those that put words into the mouth of a terminal: TIOCSTI, TIOCLINUX. */
static const unsigned typing[] = {0x5412, 0x541c};

/* Commands of bpf(2), of <linux/bpf.h>, by which nothing can be loaded, made, attached or written: look up, delete,
 * ask. */
static const unsigned of_maps[] = {1, 3, 15};

/* A filter in the making: the first that fails leaves its negative errno, as libseccomp gives it, and the rest is idle.
 */
struct making {
	scmp_filter_ctx filter;
	uint32_t otherwise; /* what the filter does with what it has no rule for */
	int error;
};

static void rule(struct making *m, uint32_t action, int number, unsigned n, const struct scmp_arg_cmp *conditions)
{
	/* libseccomp takes no rule that says what happens anyhow. */
	if (m->error == 0 && number != __NR_SCMP_ERROR && action != m->otherwise)
		m->error = seccomp_rule_add_array(m->filter, action, number, n, conditions);
}

static void rule_named(struct making *m, uint32_t action, const char *name, unsigned n,
		       const struct scmp_arg_cmp *conditions)
{
	rule(m, action, seccomp_syscall_resolve_name(name), n, conditions);
}

static void rules(struct making *m, uint32_t action, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		rule_named(m, action, names[i], 0, NULL);
}

static void signal_rules(struct making *m, unsigned allow)
{
	const struct scmp_arg_cmp others = SCMP_A0_32(SCMP_CMP_NE, (scmp_datum_t)getpid());
	const struct scmp_arg_cmp self = SCMP_A0_32(SCMP_CMP_EQ, (scmp_datum_t)getpid());

	if (allow & SYSCALLS_SIGNAL) {
		rules(m, ALLOW, signals, COUNT(signals));
		rules(m, ALLOW, to_self, COUNT(to_self));
		return;
	}
	rules(m, DENY, signals, COUNT(signals));
	for (size_t i = 0; i < COUNT(to_self); i++) {
		rule_named(m, ALLOW, to_self[i], 1, &self);
		rule_named(m, DENY, to_self[i], 1, &others);
	}
}

/* Commands of bpf(2) beyond the last one known are denied, too. */
static void bpf_rules(struct making *m, unsigned allow)
{
	struct scmp_arg_cmp command = SCMP_A0(SCMP_CMP_GT, of_maps[COUNT(of_maps) - 1]);
	uint32_t action;

	if (allow & SYSCALLS_BPF || !(allow & SYSCALLS_MAPS)) {
		action = allow & SYSCALLS_BPF ? ALLOW : DENY;
		rule_named(m, action, "bpf", 0, NULL);
		rule_named(m, action, "perf_event_open", 0, NULL);
		return;
	}
	rule_named(m, DENY, "perf_event_open", 0, NULL);
	rule_named(m, DENY, "bpf", 1, &command);
	for (unsigned c = 0, next = 0; c <= of_maps[COUNT(of_maps) - 1]; c++) {
		command = SCMP_A0(SCMP_CMP_EQ, c);
		action = c == of_maps[next] ? ALLOW : DENY;
		next += c == of_maps[next];
		rule_named(m, action, "bpf", 1, &command);
	}
}

/*
 * Opening for reading; for writing only with SYSCALLS_FILES, or with SYSCALLS_NEW what the call itself makes. How is in
 * the flags, which openat2(2) has in memory where no filter can look: ENOSYS makes a C library use the older ones.
 */
static void open_rules(struct making *m, unsigned allow)
{
	static const struct {
		const char *name;
		unsigned flags; /* which argument */
	} opens[] = {{"open", 1}, {"openat", 2}};
	const scmp_datum_t writing = O_ACCMODE | O_CREAT | O_TRUNC, fresh = O_CREAT | O_EXCL;

	rule_named(m, SCMP_ACT_ERRNO(ENOSYS), "openat2", 0, NULL);
	if (allow & (SYSCALLS_FILES | SYSCALLS_FOREIGN)) {
		rules(m, ALLOW, allowed_files, COUNT(allowed_files));
		return;
	}
	for (size_t i = 0; i < COUNT(opens); i++) {
		const struct scmp_arg_cmp reads = SCMP_CMP(opens[i].flags, SCMP_CMP_MASKED_EQ, writing, O_RDONLY);
		const struct scmp_arg_cmp makes = SCMP_CMP(opens[i].flags, SCMP_CMP_MASKED_EQ, fresh, fresh);

		rule_named(m, ALLOW, opens[i].name, 1, &reads);
		if (allow & SYSCALLS_NEW)
			rule_named(m, ALLOW, opens[i].name, 1, &makes);
	}
	/* Known as what they are, all the same. */
	for (size_t i = 0; i < COUNT(allowed_files); i++)
		if (strncmp(allowed_files[i], "open", 4) != 0 && strncmp(allowed_files[i], "unlink", 6) != 0)
			rule_named(m, DENY, allowed_files[i], 0, NULL);
}

static void ioctl_rules(struct making *m, unsigned allow)
{
	struct scmp_arg_cmp request;

	for (size_t i = 0; i < COUNT(typing); i++) {
		request = SCMP_A1_32(SCMP_CMP_EQ, typing[i]);
		rule_named(m, DENY, "ioctl", 1, &request);
	}
	if (allow & (SYSCALLS_BPF | SYSCALLS_MAPS)) {
		/* PERF_EVENT_IOC_*: '$', by type */
		request = (struct scmp_arg_cmp)SCMP_A1_32(SCMP_CMP_MASKED_EQ, 0xff00, 0x2400);
		rule_named(m, ALLOW, "ioctl", 1, &request);
	}
	for (size_t i = 0; i < COUNT(requests); i++) {
		request = SCMP_A1_32(SCMP_CMP_EQ, requests[i]);
		rule_named(m, ALLOW, "ioctl", 1, &request);
	}
}

/* Threads; processes with SYSCALLS_CHILD only; no namespaces. */
static void clone_rules(struct making *m, unsigned allow)
{
	struct scmp_arg_cmp flags = SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_NAMESPACES | CLONE_THREAD, CLONE_THREAD);

	/* Its flags are in memory, where no filter can look; ENOSYS makes the C library use clone() instead. */
	rule_named(m, SCMP_ACT_ERRNO(ENOSYS), "clone3", 0, NULL);
	if (!(allow & SYSCALLS_FOREIGN)) {
		rule_named(m, ALLOW, "clone", 1, &flags);
		if (allow & SYSCALLS_CHILD) {
			flags = (struct scmp_arg_cmp)SCMP_A0(SCMP_CMP_EQ, FORK_FLAGS);
			rule_named(m, ALLOW, "clone", 1, &flags);
			rule_named(m, ALLOW, "setsid", 0, NULL);
			return;
		}
		flags = (struct scmp_arg_cmp)SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0);
		rule_named(m, DENY, "clone", 1, &flags);
		return;
	}
	for (unsigned bit = 1; bit; bit <<= 1) {
		flags = (struct scmp_arg_cmp)SCMP_A0(SCMP_CMP_MASKED_EQ, bit, bit);
		if (CLONE_NAMESPACES & bit)
			rule_named(m, DENY, "clone", 1, &flags);
	}
}

static int refused(struct fault *why, int error)
{
	return fault_set(
		why, ERR_DENIED, FAULT_NOWHERE,
		"cannot confine this process: the kernel refuses the system call filter: %s; allow seccomp here "
		"(a container may forbid it)",
		strerror(error));
}

int syscalls_confine(unsigned allow, struct fault *why)
{
	struct making m = {.otherwise = allow & SYSCALLS_FOREIGN ? ALLOW : SCMP_ACT_ERRNO(ENOSYS)};

	m.filter = seccomp_init(m.otherwise);
	if (!m.filter)
		return fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "cannot confine this process: out of memory");
	/* Calls by the numbers of another architecture (32-bit, x32) would not meet the rules. */
	m.error = seccomp_attr_set(m.filter, SCMP_FLTATR_ACT_BADARCH, DENY);
	rules(&m, DENY, denied, COUNT(denied));
	rules(&m, ALLOW, allowed, COUNT(allowed));
	if (allow & SYSCALLS_RECORD)
		rules(&m, ALLOW, allowed_record, COUNT(allowed_record));
	signal_rules(&m, allow);
	bpf_rules(&m, allow);
	open_rules(&m, allow);
	ioctl_rules(&m, allow);
	clone_rules(&m, allow);
	if (m.error == 0)
		m.error = seccomp_load(m.filter);
	seccomp_release(m.filter);
	return m.error < 0 ? refused(why, -m.error) : 0;
}
