/* SPDX-License-Identifier: Apache-2.0 */
#include "keys/confine.h"

#include <errno.h>
#include <seccomp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Always denied. Names, so that a libseccomp that does not know one yet leaves out that one alone. */
/* clang-format off */
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
	"mount", "umount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "fsopen", "fsconfig",
	"fsmount", "fspick", "mount_setattr", "setns", "unshare",
	/* terminals: typing into the one we were started from */
	"vhangup",
};
/* clang-format on */

/* Denied, unless CONFINE_BPF. */
static const char *const denied_bpf[] = {"bpf", "perf_event_open"};

/* Denied, unless CONFINE_SIGNAL; those in `to_self` only towards other processes (abort(3), raise(3), timers). */
static const char *const denied_signal[] = {"tkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal"};
static const char *const to_self[] = {"kill", "tgkill"};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define DENY SCMP_ACT_ERRNO(EPERM)

/* clone() flags that make namespaces: with them an unprivileged process has a network of its own to configure. */
#define CLONE_NAMESPACES 0x7e020000u /* NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET */

#define TIOCSTI_REQUEST 0x5412u
#define TIOCLINUX_REQUEST 0x541cu

static int refused(struct fault *why, int error, const char *what)
{
	return fault_set(why, ERR_DENIED, FAULT_NOWHERE,
			 "cannot confine this process: %s: %s; allow seccomp here (a container may forbid it)", what,
			 strerror(error));
}

/* 0 or a negative errno, as libseccomp does. */
static int deny(scmp_filter_ctx filter, const char *const *names, size_t n)
{
	size_t i;
	int nr, r;

	for (i = 0; i < n; i++) {
		nr = seccomp_syscall_resolve_name(names[i]);
		if (nr == __NR_SCMP_ERROR)
			continue;
		r = seccomp_rule_add(filter, DENY, nr, 0);
		if (r < 0)
			return r;
	}
	return 0;
}

static int deny_signals(scmp_filter_ctx filter)
{
	const scmp_datum_t self = (scmp_datum_t)getpid();
	size_t i;
	int r;

	for (i = 0; i < COUNT(to_self); i++) {
		r = seccomp_rule_add(filter, DENY, seccomp_syscall_resolve_name(to_self[i]), 1,
				     SCMP_A0_32(SCMP_CMP_NE, self));
		if (r < 0)
			return r;
	}
	return deny(filter, denied_signal, COUNT(denied_signal));
}

/* Commands of bpf(2), of <linux/bpf.h>, by which nothing can be loaded, made, attached or written. */
#define BPF_LOOKUP 1
#define BPF_DELETE 3
#define BPF_ASK 15

static int deny_bpf_but_maps(scmp_filter_ctx filter)
{
	int r = seccomp_rule_add(filter, DENY, SCMP_SYS(bpf), 1, SCMP_A0_32(SCMP_CMP_GT, BPF_ASK));

	for (unsigned command = 0; command < BPF_ASK && r == 0; command++)
		if (command != BPF_LOOKUP && command != BPF_DELETE)
			r = seccomp_rule_add(filter, DENY, SCMP_SYS(bpf), 1, SCMP_A0_32(SCMP_CMP_EQ, command));
	return r < 0 ? r : seccomp_rule_add(filter, DENY, SCMP_SYS(perf_event_open), 0);
}

/* Calls that are denied by what they are asked to do. */
static int deny_by_argument(scmp_filter_ctx filter)
{
	static const unsigned requests[] = {TIOCSTI_REQUEST, TIOCLINUX_REQUEST};
	unsigned bit;
	size_t i;
	int r;

	for (bit = 1; bit; bit <<= 1) {
		if (!(CLONE_NAMESPACES & bit))
			continue;
		r = seccomp_rule_add(filter, DENY, SCMP_SYS(clone), 1, SCMP_A0(SCMP_CMP_MASKED_EQ, bit, bit));
		if (r < 0)
			return r;
	}
	for (i = 0; i < COUNT(requests); i++) {
		r = seccomp_rule_add(filter, DENY, SCMP_SYS(ioctl), 1, SCMP_A1_32(SCMP_CMP_EQ, requests[i]));
		if (r < 0)
			return r;
	}
	/* Its flags stand in memory, where no filter can look; ENOSYS makes the C library use clone() instead. */
	return seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
}

static int install_filter(unsigned keep, struct fault *why)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int r;

	if (!filter)
		return fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "cannot confine this process: out of memory");
	/* Calls by the numbers of another architecture (32-bit, x32) would not meet the rules below. */
	r = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, DENY);
	if (r == 0)
		r = deny(filter, denied, COUNT(denied));
	if (r == 0 && keep & CONFINE_MAPS)
		r = deny_bpf_but_maps(filter);
	else if (r == 0 && !(keep & CONFINE_BPF))
		r = deny(filter, denied_bpf, COUNT(denied_bpf));
	if (r == 0 && !(keep & CONFINE_SIGNAL))
		r = deny_signals(filter);
	if (r == 0)
		r = deny_by_argument(filter);
	if (r == 0)
		r = seccomp_load(filter);
	seccomp_release(filter);
	return r < 0 ? refused(why, -r, "the kernel refuses the system call filter") : 0;
}

/* After this neither an exec nor a change of user can bring a capability back. */
static int clear_bounding_and_ambient(struct fault *why)
{
	int cap;

	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 && errno != EINVAL)
		return refused(why, errno, "ambient capabilities stay");
	for (cap = 0; cap <= CAP_LAST_CAP; cap++) {
		if (prctl(PR_CAPBSET_READ, cap, 0, 0, 0) != 1)
			continue;
		/* Without CAP_SETPCAP this is refused: no_new_privs keeps the bounding set out of reach all the same.
		 */
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0 && errno != EPERM)
			return refused(why, errno, "the bounding set stays");
	}
	return 0;
}

/* Keep those of keep_caps that are there now. */
static int keep_capabilities(const int *keep_caps, int ncaps, struct fault *why)
{
	cap_t old = cap_get_proc(), new = cap_init();
	cap_flag_value_t has;
	cap_value_t cap;
	int i, r = 0;

	if (!old || !new)
		r = -1;
	for (i = 0; i < ncaps && r == 0; i++) {
		cap = keep_caps[i];
		r = cap_get_flag(old, cap, CAP_PERMITTED, &has);
		if (r == 0 && has == CAP_SET)
			r = cap_set_flag(new, CAP_PERMITTED, 1, &cap, CAP_SET);
		if (r == 0 && has == CAP_SET)
			r = cap_set_flag(new, CAP_EFFECTIVE, 1, &cap, CAP_SET);
	}
	if (r == 0)
		r = cap_set_proc(new);
	if (r < 0)
		r = refused(why, errno, "capabilities cannot be dropped");
	cap_free(old);
	cap_free(new);
	return r;
}

int confine_recorder(const int *keep_caps, int ncaps, unsigned keep, struct fault *why)
{
	int r;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return refused(why, errno, "no_new_privs cannot be set");
	r = clear_bounding_and_ambient(why);
	if (r == 0)
		r = keep_capabilities(keep_caps, ncaps, why);
	if (r == 0)
		r = install_filter(keep, why);
	return r;
}

int confine_offline(struct fault *why)
{
	/* Root reads and writes files of others with these tools as with any tool: `sudo gpuverify ~user/run.cap`. */
	static const int files[] = {CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH};

	return confine_recorder(files, COUNT(files), CONFINE_NOTHING, why);
}
