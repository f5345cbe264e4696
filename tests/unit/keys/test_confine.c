/* SPDX-License-Identifier: Apache-2.0 */
/* Each test confines a child of its own: what is given up cannot be taken back. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "keys/tool/confine.h"
#include "tests/unit/child.h"

/* In a child: end with `line` unless the call failed with EPERM. */
#define MUST_BE_REFUSED(call)                                                                                          \
	do {                                                                                                           \
		errno = 0;                                                                                             \
		if ((long)(call) != -1 || errno != EPERM) {                                                            \
			fprintf(stderr, "# not refused: %s (%s)\n", #call, strerror(errno));                           \
			return 1;                                                                                      \
		}                                                                                                      \
	} while (0)

#define MUST_WORK(condition)                                                                                           \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			fprintf(stderr, "# does not work: %s (%s)\n", #condition, strerror(errno));                    \
			return 1;                                                                                      \
		}                                                                                                      \
	} while (0)

/* As an offline tool that reads one folder and writes another. */
static char readable[64], writable[64];

static int confined(void)
{
	struct landlock l;
	struct fault why;
	int r = landlock_open(&l, LANDLOCK_DENY_READING | LANDLOCK_DENY_SIGNALS, &why);

	if (r == 0)
		r = landlock_allow(&l, readable, LANDLOCK_READ, &why);
	if (r == 0)
		r = landlock_allow(&l, writable, LANDLOCK_MAKE, &why);
	if (r == 0)
		r = confine_offline(&l, -1, &why);
	if (r == 0)
		return 0;
	fprintf(stderr, "# %s\n", why.text);
	return -1;
}

/* With Landlock: end with `line` unless the call failed with EACCES. */
#define MUST_BE_OUT_OF_REACH(call)                                                                                     \
	do {                                                                                                           \
		errno = 0;                                                                                             \
		if (landlock_version() && ((long)(call) != -1 || errno != EACCES)) {                                   \
			fprintf(stderr, "# in reach: %s (%s)\n", #call, strerror(errno));                              \
			return 1;                                                                                      \
		}                                                                                                      \
	} while (0)

static int no_socket(void)
{
	int pair[2];

	MUST_WORK(confined() == 0);
	MUST_BE_REFUSED(socket(AF_INET, SOCK_STREAM, 0));
	MUST_BE_REFUSED(socket(AF_INET6, SOCK_DGRAM, 0));
	MUST_BE_REFUSED(socket(AF_UNIX, SOCK_STREAM, 0));
	MUST_BE_REFUSED(socket(AF_NETLINK, SOCK_RAW, 0));
	MUST_BE_REFUSED(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	return 0;
}

/* Sockets as a process may be started with them: whatever call they are used by, nothing goes out. */
static int no_inherited_socket(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(to);
	int here = socket(AF_INET, SOCK_DGRAM, 0), fd = socket(AF_INET, SOCK_DGRAM, 0), pair[2], file;
	char byte = 'x';
	struct iovec part = {&byte, 1};

	MUST_WORK(here >= 0 && fd >= 0 && bind(here, (struct sockaddr *)&to, size) == 0);
	MUST_WORK(getsockname(here, (struct sockaddr *)&to, &size) == 0);
	MUST_WORK(connect(fd, (struct sockaddr *)&to, size) == 0);
	MUST_WORK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	MUST_WORK(write(fd, &byte, 1) == 1 && recv(here, &byte, 1, MSG_DONTWAIT) == 1); /* a control */
	MUST_WORK(confined() == 0);
	file = open("/dev/null", O_RDONLY);
	for (int i = 3; i < 64; i++) {
		MUST_WORK(write(i, &byte, 1) < 0);
		MUST_WORK(writev(i, &part, 1) < 0);
		MUST_WORK(syscall(SYS_sendfile, i, file, NULL, 1) < 0);
		MUST_WORK(syscall(SYS_splice, file, NULL, i, NULL, 1, 0) < 0);
		MUST_WORK(syscall(SYS_vmsplice, i, &part, 1, 0) < 0);
	}
	MUST_BE_REFUSED(connect(fd, (struct sockaddr *)&to, sizeof(to)));
	MUST_BE_REFUSED(bind(fd, (struct sockaddr *)&to, sizeof(to)));
	MUST_BE_REFUSED(listen(fd, 1));
	MUST_BE_REFUSED(accept(fd, NULL, NULL));
	MUST_BE_REFUSED(accept4(fd, NULL, NULL, 0));
	MUST_BE_REFUSED(sendto(fd, &byte, 1, 0, (struct sockaddr *)&to, sizeof(to)));
	MUST_BE_REFUSED(sendmsg(fd, NULL, 0));
	MUST_BE_REFUSED(syscall(SYS_sendmmsg, fd, NULL, 1, 0));
	MUST_BE_REFUSED(recvfrom(fd, &byte, 1, MSG_DONTWAIT, NULL, NULL));
	MUST_BE_REFUSED(recvmsg(fd, NULL, MSG_DONTWAIT));
	MUST_BE_REFUSED(syscall(SYS_recvmmsg, fd, NULL, 1, MSG_DONTWAIT, NULL));
	return 0;
}

/* What is written to a standard descriptor that is a socket goes to the network: then nothing is done at all. */
static int no_standard_socket(void)
{
	for (int fd = 0; fd <= 2; fd++) {
		struct fault why = {0};
		int saved = dup(fd), inet = socket(AF_INET, SOCK_STREAM, 0), pair[2];

		MUST_WORK(saved > 2 && inet > 2 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
		MUST_WORK(dup2(inet, fd) == fd);
		MUST_WORK(confine_descriptors(saved, &why) == ERR_DENIED);
		MUST_WORK(strstr(why.text, "is a network socket") != NULL);
		/* A service manager's, for the journal, is none. */
		MUST_WORK(dup2(pair[0], fd) == fd);
		MUST_WORK(confine_descriptors(saved, &why) == 0);
		MUST_WORK(dup2(saved, fd) == fd && close(saved) == 0);
	}
	return 0;
}

static int one_descriptor_is_kept(void)
{
	int first = dup(0), kept = dup(0), last = dup(0);
	struct fault why;

	MUST_WORK(confine_descriptors(kept, &why) == 0);
	MUST_WORK(fcntl(first, F_GETFD) < 0 && fcntl(kept, F_GETFD) >= 0 && fcntl(last, F_GETFD) < 0);
	MUST_WORK(fcntl(0, F_GETFD) >= 0 && fcntl(1, F_GETFD) >= 0 && fcntl(2, F_GETFD) >= 0);
	return 0;
}

/* The files by which an attacker gets from inside this process to the rest of the machine. */
static int no_file_of_others(void)
{
	static const char *const files[] = {"/etc/passwd",
					    "/etc/shadow",
					    "/proc/sys/kernel/core_pattern",
					    "/proc/self/mem",
					    "/proc/self/oom_score_adj",
					    "/root/.profile",
					    "/dev/sda",
					    "/dev/mem"};
	char mem[64], made[PATH_MAX], moved[PATH_MAX];

	snprintf(mem, sizeof(mem), "/proc/%d/mem", getppid());
	MUST_WORK(confined() == 0);
	if (!landlock_version())
		return 77;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		if (access(files[i], F_OK) != 0)
			continue;
		MUST_WORK(open(files[i], O_WRONLY) < 0);
		MUST_WORK(open(files[i], O_RDWR) < 0);
		MUST_WORK(open(files[i], O_RDONLY) < 0);
		MUST_WORK(truncate(files[i], 0) < 0);
	}
	MUST_BE_OUT_OF_REACH(open("/etc/passwd", O_WRONLY));
	MUST_BE_OUT_OF_REACH(open(mem, O_RDWR));
	MUST_BE_OUT_OF_REACH(open(mem, O_WRONLY));
	MUST_BE_OUT_OF_REACH(open(mem, O_RDONLY));
	MUST_BE_OUT_OF_REACH(open("/tmp", O_RDONLY | O_DIRECTORY));
	MUST_BE_OUT_OF_REACH(open("/etc/cron.d/gpurec", O_WRONLY | O_CREAT, 0644));
	MUST_BE_OUT_OF_REACH(open("/etc/ld.so.preload", O_WRONLY | O_CREAT, 0644));
	/* In the folder that is only read, either. */
	snprintf(made, sizeof(made), "%s/in", readable);
	MUST_WORK(open(made, O_RDONLY) >= 0);
	MUST_BE_OUT_OF_REACH(open(made, O_WRONLY));
	MUST_BE_OUT_OF_REACH(unlink(made));
	snprintf(moved, sizeof(moved), "%s/moved", readable);
	MUST_BE_OUT_OF_REACH(rename(made, moved));
	snprintf(made, sizeof(made), "%s/link", writable);
	MUST_WORK(symlink("/etc/passwd", made) < 0);
	MUST_WORK(mkdir(made, 0755) < 0);
	MUST_WORK(link("/etc/passwd", made) < 0);
	return 0;
}

/* What opens files for the recorder, whose kernel may have no Landlock, or which needs what that forbids. */
static int no_writing_for_the_recorder(void)
{
	char mem[64], fresh[PATH_MAX];
	struct fault why;

	snprintf(mem, sizeof(mem), "/proc/%d/mem", getppid());
	snprintf(fresh, sizeof(fresh), "%s/fresh", writable);
	MUST_WORK(confine_recorder(NULL, 0, NULL, SYSCALLS_RECORD | SYSCALLS_NEW, &why) == 0);
	MUST_WORK(open("/etc/passwd", O_RDONLY) >= 0);
	MUST_WORK(open(mem, O_RDWR) < 0);
	MUST_WORK(open("/etc/passwd", O_WRONLY) < 0 && errno == ENOSYS);
	MUST_WORK(open("/etc/passwd", O_RDWR | O_CREAT, 0644) < 0 && errno == ENOSYS);
	MUST_WORK(open("/etc/passwd", O_RDONLY | O_TRUNC) < 0 && errno == ENOSYS);
	MUST_WORK(syscall(SYS_openat2, AT_FDCWD, "/etc/passwd", NULL, 0) < 0 && errno == ENOSYS);
	MUST_WORK(truncate("/etc/passwd", 1 << 30) < 0 && errno == ENOSYS);
	MUST_BE_REFUSED(chmod("/etc/shadow", 0666));
	MUST_BE_REFUSED(rename("/etc/passwd", "/etc/passwd-"));
	MUST_BE_REFUSED(link("/etc/passwd", fresh));
	MUST_WORK(open(fresh, O_WRONLY | O_CREAT | O_EXCL, 0600) >= 0);
	MUST_WORK(open(fresh, O_WRONLY | O_CREAT | O_EXCL, 0600) < 0 && errno == EEXIST);
	MUST_WORK(unlink(fresh) == 0);
	MUST_WORK(confine_recorder(NULL, 0, NULL, SYSCALLS_RECORD, &why) == 0);
	MUST_WORK(open(fresh, O_WRONLY | O_CREAT | O_EXCL, 0600) < 0 && errno == ENOSYS);
	return 0;
}

static int no_way_around(void)
{
	char params[256] = {0};

	MUST_WORK(confined() == 0);
	MUST_BE_REFUSED(syscall(SYS_io_uring_setup, 4, params));
	MUST_BE_REFUSED(syscall(SYS_io_uring_enter, -1, 0, 0, 0, NULL, 0));
	MUST_BE_REFUSED(syscall(SYS_io_uring_register, -1, 0, NULL, 0));
#ifdef __x86_64__
	/* socket(2) by its number in the x32 ABI */
	MUST_BE_REFUSED(syscall(0x40000000 + SYS_socket, AF_INET, SOCK_STREAM, 0));
#endif
	return 0;
}

#if defined(__x86_64__)
/* socket(AF_INET, SOCK_STREAM, 0) by the 32-bit entry, which has numbers of its own. */
static int no_32_bit_entry(void)
{
	long r;

	MUST_WORK(confined() == 0);
	__asm__ volatile("int $0x80"
			 : "=a"(r)
			 : "a"(359L), "b"(2L), "c"(1L), "d"(0L)
			 : "memory", "r8", "r9", "r10", "r11");
	if (r != -EPERM)
		fprintf(stderr, "# int 0x80 gave %ld\n", r);
	return r != -EPERM;
}
#endif

/* /bin/false, so that a program which is run after all does not look like success. */
static int no_program(void)
{
	char *argv[] = {"false", NULL}, *envp[] = {NULL};

	MUST_WORK(confined() == 0);
	MUST_BE_REFUSED(execve("/bin/false", argv, envp));
	MUST_BE_REFUSED(syscall(SYS_execveat, AT_FDCWD, "/bin/false", argv, envp, 0));
	return 0;
}

static int no_other_process(void)
{
	pid_t other = getppid();
	char byte;
	struct iovec here = {&byte, 1}, there = {&byte, 1};

	MUST_WORK(confined() == 0);
	MUST_BE_REFUSED(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
	MUST_BE_REFUSED(syscall(SYS_process_vm_readv, other, &here, 1, &there, 1, 0));
	MUST_BE_REFUSED(syscall(SYS_process_vm_writev, other, &here, 1, &there, 1, 0));
	MUST_BE_REFUSED(syscall(SYS_pidfd_getfd, -1, 0, 0));
	MUST_BE_REFUSED(kill(other, 0));
	MUST_BE_REFUSED(kill(0, 0));
	MUST_BE_REFUSED(kill(-1, 0));
	MUST_BE_REFUSED(syscall(SYS_tgkill, other, other, 0));
	MUST_BE_REFUSED(syscall(SYS_tkill, other, 0));
	MUST_BE_REFUSED(syscall(SYS_pidfd_send_signal, -1, 0, NULL, 0));
	return 0;
}

static int no_power_over_the_machine(void)
{
	struct perf_event_attr attr = {.size = sizeof(attr)};
	char input = 'x';

	MUST_WORK(confined() == 0);
	MUST_BE_REFUSED(syscall(SYS_bpf, 0, NULL, 0));
	MUST_BE_REFUSED(syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0));
	MUST_BE_REFUSED(syscall(SYS_init_module, NULL, 0, ""));
	MUST_BE_REFUSED(syscall(SYS_finit_module, -1, "", 0));
	MUST_BE_REFUSED(syscall(SYS_delete_module, "", 0));
	MUST_BE_REFUSED(syscall(SYS_kexec_load, 0, 0, NULL, 0));
	MUST_BE_REFUSED(syscall(SYS_keyctl, 0, 0, 0, 0, 0));
	MUST_BE_REFUSED(syscall(SYS_add_key, "user", "x", "x", 1, -2));
	MUST_BE_REFUSED(syscall(SYS_userfaultfd, 0));
	MUST_BE_REFUSED(mount("none", "/", NULL, MS_BIND, NULL));
	MUST_BE_REFUSED(umount2("/", MNT_DETACH));
	MUST_BE_REFUSED(syscall(SYS_open_tree, AT_FDCWD, "/", 0));
	MUST_BE_REFUSED(syscall(SYS_fsopen, "tmpfs", 0));
	MUST_BE_REFUSED(chroot("/"));
	MUST_BE_REFUSED(syscall(SYS_pivot_root, "/", "/"));
	MUST_BE_REFUSED(setns(-1, 0));
	MUST_BE_REFUSED(unshare(CLONE_NEWUSER));
	MUST_BE_REFUSED(syscall(SYS_clone, (unsigned long)(CLONE_NEWNET | CLONE_NEWUSER | SIGCHLD), 0, 0, 0, 0));
	MUST_BE_REFUSED(ioctl(0, TIOCSTI, &input));
	return 0;
}

static int files_work(void)
{
	char path[PATH_MAX], moved[PATH_MAX + 8], buf[8] = "";
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	char *map;
	int fd;

	snprintf(path, sizeof(path), "%s/file-XXXXXX", writable);
	fd = mkstemp(path);

	MUST_WORK(fd >= 0);
	close(fd);
	MUST_WORK(confined() == 0);
	fd = open(path, O_RDWR | O_CLOEXEC);
	MUST_WORK(fd >= 0);
	MUST_WORK(fcntl(fd, F_SETLK, &whole) == 0);
	MUST_WORK(fcntl(fd, F_OFD_SETLK, &whole) == 0 || errno == EAGAIN);
	MUST_WORK(flock(fd, LOCK_EX | LOCK_NB) == 0);
	MUST_WORK(pwrite(fd, "abc", 3, 0) == 3);
	MUST_WORK(fsync(fd) == 0 && fdatasync(fd) == 0);
	MUST_WORK(ftruncate(fd, 4096) == 0);
	map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MUST_WORK(map != MAP_FAILED && memcmp(map, "abc", 3) == 0);
	map[0] = 'x';
	MUST_WORK(msync(map, 4096, MS_SYNC) == 0);
	MUST_WORK(pread(fd, buf, 3, 0) == 3 && memcmp(buf, "xbc", 3) == 0);
	snprintf(moved, sizeof(moved), "%s.moved", path);
	MUST_WORK(chmod(path, 0600) == 0);
	MUST_WORK(rename(path, moved) == 0);
	MUST_WORK(unlink(moved) == 0);
	return 0;
}

static void *set_flag(void *flag)
{
	*(int *)flag = 1;
	return NULL;
}

static int threads_work(void)
{
	pthread_t thread;
	int flag = 0;

	MUST_WORK(confined() == 0);
	MUST_WORK(pthread_create(&thread, NULL, set_flag, &flag) == 0);
	MUST_WORK(pthread_join(thread, NULL) == 0);
	MUST_WORK(flag == 1);
	return 0;
}

static void *try_socket(void *refused)
{
	errno = 0;
	*(int *)refused = socket(AF_INET, SOCK_STREAM, 0) < 0 && errno == EPERM;
	return NULL;
}

static int threads_are_confined(void)
{
	pthread_t thread;
	int was_refused = 0;

	MUST_WORK(confined() == 0);
	MUST_WORK(pthread_create(&thread, NULL, try_socket, &was_refused) == 0);
	MUST_WORK(pthread_join(thread, NULL) == 0);
	MUST_WORK(was_refused);
	return 0;
}

static int aborts(void)
{
	MUST_WORK(confined() == 0);
	abort();
}

static int no_capability(void)
{
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct data[2];
	unsigned files = 1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH;

	MUST_WORK(confined() == 0);
	MUST_WORK(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
	MUST_WORK(syscall(SYS_capget, &header, data) == 0);
	MUST_WORK((data[0].effective & ~files) == 0 && data[1].effective == 0);
	MUST_WORK((data[0].permitted & ~files) == 0 && data[1].permitted == 0);
	MUST_WORK(data[0].inheritable == 0 && data[1].inheritable == 0);
	return 0;
}

static int recorder_keeps_what_it_says(void)
{
	static const int caps[] = {CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH};
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct before[2], after[2];
	unsigned wanted = 1u << CAP_SYS_PTRACE | 1u << CAP_DAC_READ_SEARCH;
	struct fault why;

	MUST_WORK(syscall(SYS_capget, &header, before) == 0);
	MUST_WORK(confine_recorder(caps, 2, NULL, SYSCALLS_BPF | SYSCALLS_SIGNAL, &why) == 0);
	MUST_WORK(syscall(SYS_capget, &header, after) == 0);
	MUST_WORK(after[0].effective == (before[0].permitted & wanted) && after[1].effective == 0);
	MUST_WORK(kill(getppid(), 0) == 0 || errno != EPERM);
	errno = 0;
	MUST_WORK(syscall(SYS_bpf, 0, NULL, 0) < 0 && errno != ENOSYS);
	MUST_BE_REFUSED(socket(AF_INET, SOCK_STREAM, 0));
	MUST_BE_REFUSED(syscall(SYS_execve, "/bin/false", NULL, NULL));
	return 0;
}

static int recorder_with_a_child(void)
{
	struct fault why;
	int status = -1;
	pid_t pid;

	MUST_WORK(confine_recorder(NULL, 0, NULL, SYSCALLS_RECORD | SYSCALLS_CHILD, &why) == 0);
	pid = fork();
	MUST_WORK(pid >= 0);
	if (pid == 0) {
		errno = 0;
		_exit(syscall(SYS_execve, "/bin/false", NULL, NULL) < 0 && errno == EPERM && setsid() > 0 ? 0 : 1);
	}
	MUST_WORK(waitpid(pid, &status, 0) == pid && status == 0);
	errno = 0;
	MUST_WORK(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL) < 0);
	errno = 0;
	MUST_WORK(syscall(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL, NULL, NULL, NULL) < 0);
	return 0;
}

/* bpf(2) of no length is EINVAL where it reaches the kernel as root, EPERM by the filter. */
static int recorder_without_bpf(void)
{
	struct fault why;

	MUST_WORK(confine_recorder(NULL, 0, NULL, SYSCALLS_SIGNAL, &why) == 0);
	MUST_BE_REFUSED(syscall(SYS_bpf, 0, NULL, 0));
	MUST_BE_REFUSED(syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0));
	return 0;
}

/* What the kernel itself says without rights, it says of these three still; of all others the filter does. */
static int recorder_with_maps(void)
{
	struct fault why;
	int errors[40];

	MUST_WORK(confine_recorder(NULL, 0, NULL, SYSCALLS_BPF, &why) == 0);
	for (int command = 0; command < 40; command++) {
		MUST_WORK(syscall(SYS_bpf, command, NULL, 0) < 0);
		errors[command] = errno;
	}
	MUST_WORK(confine_recorder(NULL, 0, NULL, SYSCALLS_MAPS, &why) == 0);
	for (int command = 0; command < 40; command++) {
		if (command == 1 || command == 3 || command == 15) /* look up, delete, ask about what is open */
			MUST_WORK(syscall(SYS_bpf, command, NULL, 0) < 0 && errno == errors[command]);
		else
			MUST_BE_REFUSED(syscall(SYS_bpf, command, NULL, 0));
	}
	MUST_BE_REFUSED(syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0));
	return 0;
}

static int confined_twice(void)
{
	MUST_WORK(confined() == 0);
	MUST_WORK(confined() == 0);
	return 0;
}

/* A filter that refuses filters: how it is in a container whose host does not permit seccomp. */
static int host_without_seccomp(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	struct fault why = {0};

	MUST_WORK(seccomp_rule_add(filter, SCMP_ACT_ERRNO(EINVAL), SCMP_SYS(seccomp), 0) == 0);
	MUST_WORK(seccomp_rule_add(filter, SCMP_ACT_ERRNO(EINVAL), SCMP_SYS(prctl), 1,
				   SCMP_A0(SCMP_CMP_EQ, PR_SET_SECCOMP)) == 0);
	MUST_WORK(seccomp_load(filter) == 0);
	seccomp_release(filter);
	MUST_WORK(confine_recorder(NULL, 0, NULL, SYSCALLS_FILES, &why) == ERR_DENIED);
	MUST_WORK(why.code == ERR_DENIED && strstr(why.text, "seccomp") != NULL);
	return 0;
}

#define CHILD_TEST(name, body)                                                                                         \
	static void name(void **state)                                                                                 \
	{                                                                                                              \
		(void)state;                                                                                           \
		assert_int_equal(run_in_child(body), 0);                                                               \
	}

CHILD_TEST(a_confined_process_gets_no_socket, no_socket)
CHILD_TEST(a_confined_process_cannot_use_a_socket_it_inherited, no_inherited_socket)
CHILD_TEST(a_tool_whose_standard_descriptor_is_a_network_socket_does_not_run, no_standard_socket)
CHILD_TEST(the_one_descriptor_that_is_asked_for_is_kept, one_descriptor_is_kept)
CHILD_TEST(the_recorder_opens_nothing_for_writing_but_what_it_makes, no_writing_for_the_recorder)
CHILD_TEST(io_uring_and_other_call_tables_are_no_way_around, no_way_around)
CHILD_TEST(no_other_program_can_be_run, no_program)
CHILD_TEST(no_other_process_can_be_entered_or_signalled, no_other_process)
CHILD_TEST(the_kernel_and_the_file_systems_cannot_be_changed, no_power_over_the_machine)
CHILD_TEST(files_locks_and_mappings_work, files_work)
CHILD_TEST(threads_can_be_made, threads_work)
CHILD_TEST(threads_inherit_the_filter, threads_are_confined)
CHILD_TEST(no_capability_but_for_files_is_left, no_capability)
CHILD_TEST(the_recorder_keeps_what_it_says_and_no_more, recorder_keeps_what_it_says)
CHILD_TEST(the_recorder_may_have_a_child_that_is_confined_too, recorder_with_a_child)
CHILD_TEST(the_recorder_without_bpf_is_refused_bpf, recorder_without_bpf)
CHILD_TEST(the_recorder_with_maps_only_can_neither_load_nor_write, recorder_with_maps)
CHILD_TEST(confining_twice_is_harmless, confined_twice)
CHILD_TEST(a_host_that_refuses_seccomp_is_an_error_with_a_sentence, host_without_seccomp)

static void only_files_that_were_named_can_be_opened(void **state)
{
	int r = run_in_child(no_file_of_others);

	(void)state;
	if (r == 77) {
		print_message("# this kernel has no Landlock\n");
		skip();
	}
	assert_int_equal(r, 0);
}

static int make_folders(void **state)
{
	char path[80];

	(void)state;
	strcpy(readable, "/tmp/confine-read-XXXXXX");
	strcpy(writable, "/tmp/confine-write-XXXXXX");
	if (!mkdtemp(readable) || !mkdtemp(writable))
		return -1;
	snprintf(path, sizeof(path), "%s/in", readable);
	return close(open(path, O_WRONLY | O_CREAT | O_EXCL, 0644));
}

static int remove_folders(void **state)
{
	char path[80];

	(void)state;
	snprintf(path, sizeof(path), "%s/in", readable);
	return unlink(path) || rmdir(readable) || rmdir(writable);
}

#if defined(__x86_64__)
static void the_32_bit_entry_is_closed(void **state)
{
	(void)state;
	switch (run_in_child(no_32_bit_entry)) {
	case 0:
		return;
	case 1000 + SIGSEGV:
		print_message("# this kernel has no 32-bit entry at all\n");
		skip();
	default:
		fail();
	}
}
#endif

static void abort_still_ends_with_sigabrt(void **state)
{
	(void)state;
	assert_int_equal(run_in_child(aborts), 1000 + SIGABRT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_confined_process_gets_no_socket),
		cmocka_unit_test(a_confined_process_cannot_use_a_socket_it_inherited),
		cmocka_unit_test(a_tool_whose_standard_descriptor_is_a_network_socket_does_not_run),
		cmocka_unit_test(the_one_descriptor_that_is_asked_for_is_kept),
		cmocka_unit_test(only_files_that_were_named_can_be_opened),
		cmocka_unit_test(the_recorder_opens_nothing_for_writing_but_what_it_makes),
		cmocka_unit_test(io_uring_and_other_call_tables_are_no_way_around),
#if defined(__x86_64__)
		cmocka_unit_test(the_32_bit_entry_is_closed),
#endif
		cmocka_unit_test(no_other_program_can_be_run),
		cmocka_unit_test(no_other_process_can_be_entered_or_signalled),
		cmocka_unit_test(the_kernel_and_the_file_systems_cannot_be_changed),
		cmocka_unit_test(files_locks_and_mappings_work),
		cmocka_unit_test(threads_can_be_made),
		cmocka_unit_test(threads_inherit_the_filter),
		cmocka_unit_test(no_capability_but_for_files_is_left),
		cmocka_unit_test(the_recorder_keeps_what_it_says_and_no_more),
		cmocka_unit_test(the_recorder_may_have_a_child_that_is_confined_too),
		cmocka_unit_test(the_recorder_without_bpf_is_refused_bpf),
		cmocka_unit_test(the_recorder_with_maps_only_can_neither_load_nor_write),
		cmocka_unit_test(confining_twice_is_harmless),
		cmocka_unit_test(a_host_that_refuses_seccomp_is_an_error_with_a_sentence),
		cmocka_unit_test(abort_still_ends_with_sigabrt),
	};

	return cmocka_run_group_tests(tests, make_folders, remove_folders);
}
