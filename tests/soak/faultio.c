/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bad disk, a bad clock and bad luck, for one process (LD_PRELOAD). What it does is in the environment:
 *
 *	FAULTIO_WRITE=N FAULTIO_ERRNO=28   the Nth write to a capture and each one after fail with this errno (EIO),
 *	FAULTIO_ONCE=1                     only the Nth; the disk is well again then
 *	FAULTIO_PART=1                     of the Nth write, half is taken before
 *	FAULTIO_SHORT=1                    each write to a capture takes half of what it is given; each other one is
 *	                                   interrupted
 *	FAULTIO_SYNC=N                     the Nth sync of a capture and each one after fail with FAULTIO_ERRNO
 *	FAULTIO_STALL=N FAULTIO_MS=3000    the Nth sync of a capture takes so long; with N=0 each one
 *	FAULTIO_STEP=S FAULTIO_AFTER=K     from the Kth reading of the wall clock on, it is S seconds ahead
 *	FAULTIO_ASLEEP=S FAULTIO_AFTER=K   from the Kth reading of the boot clock on, it is S seconds ahead, as after a
 *	                                   suspension, and so is the wall clock
 *	FAULTIO_ASLEEP=S FAULTIO_WRITTEN=N the same, from the Nth write to a capture on (1: its header)
 *	FAULTIO_FAST=S                     each reading of the monotonic clock is S seconds after the one before
 *	FAULTIO_ENDS=NAME                  a process that runs a program of this name has ended before its arguments are
 *	                                   read from /proc, unless it stands still
 *	FAULTIO_SKIPS=NAME                 each time that it is asked, the kernel has skipped 7 more runs of the BPF
 *	                                   program of this name
 *
 * A capture is a file that was opened for appending.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static atomic_bool slept;

static long setting(const char *name, long otherwise)
{
	const char *text = getenv(name);

	return text ? strtol(text, NULL, 10) : otherwise;
}

static bool is_capture(int fd)
{
	struct stat st;
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && (flags & O_APPEND) && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

__attribute__((visibility("default"))) ssize_t write(int fd, const void *buf, size_t n)
{
	static atomic_long writes, interrupted;
	long nth = setting("FAULTIO_WRITE", 0), now;

	if (!is_capture(fd))
		return syscall(SYS_write, fd, buf, n);
	now = atomic_fetch_add(&writes, 1) + 1;
	if (now == setting("FAULTIO_WRITTEN", 0))
		atomic_store(&slept, true);
	if (nth && now == nth && n > 1 && setting("FAULTIO_PART", 0))
		return syscall(SYS_write, fd, buf, n / 2); /* the rest is asked for next */
	if (nth && (now == nth || (now > nth && !setting("FAULTIO_ONCE", 0)))) {
		errno = (int)setting("FAULTIO_ERRNO", EIO);
		return -1;
	}
	if (setting("FAULTIO_SHORT", 0)) {
		if (atomic_fetch_xor(&interrupted, 1) == 0) {
			errno = EINTR;
			return -1;
		}
		n = n > 1 ? n / 2 : n;
	}
	return syscall(SYS_write, fd, buf, n);
}

__attribute__((visibility("default"))) int fdatasync(int fd)
{
	static atomic_long syncs;
	long nth = atomic_fetch_add(&syncs, 1) + 1, fails = setting("FAULTIO_SYNC", 0);
	long stalls = setting("FAULTIO_STALL", -1), ms = setting("FAULTIO_MS", 0);

	if (fails && nth >= fails) {
		errno = (int)setting("FAULTIO_ERRNO", EIO);
		return -1;
	}
	if (nth == stalls || stalls == 0) {
		struct timespec t = {ms / 1000, ms % 1000 * 1000000};

		nanosleep(&t, NULL);
	}
	return (int)syscall(SYS_fdatasync, fd);
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *t)
{
	static atomic_long wall, boot, monotonic;
	int r = (int)syscall(SYS_clock_gettime, clock, t);

	if (clock == CLOCK_MONOTONIC)
		t->tv_sec += atomic_fetch_add(&monotonic, 1) * setting("FAULTIO_FAST", 0);
	if (clock == CLOCK_REALTIME && atomic_fetch_add(&wall, 1) + 1 >= setting("FAULTIO_AFTER", 1))
		t->tv_sec += setting("FAULTIO_STEP", 0);
	if (clock == CLOCK_BOOTTIME && !getenv("FAULTIO_WRITTEN") &&
	    atomic_fetch_add(&boot, 1) + 1 >= setting("FAULTIO_AFTER", 1))
		atomic_store(&slept, true);
	if ((clock == CLOCK_BOOTTIME || clock == CLOCK_REALTIME) && atomic_load(&slept))
		t->tv_sec += setting("FAULTIO_ASLEEP", 0);
	return r;
}

/* The process whose folder's name in `dir` begins `path`, if it runs this program; else 0. */
static int runs(int dir, const char *path, const char *program)
{
	char name[64], text[4096];
	const char *slash;
	ssize_t n;
	int pid;

	if (!program || sscanf(path, "%d/", &pid) != 1)
		return 0;
	snprintf(name, sizeof(name), "%d/exe", pid);
	n = readlinkat(dir, name, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	slash = strrchr(text, '/');
	return slash && strcmp(slash + 1, program) == 0 ? pid : 0;
}

static bool stands_still(int dir, int pid)
{
	char name[64], text[4096];
	const char *state;
	ssize_t n;
	int fd;

	snprintf(name, sizeof(name), "%d/stat", pid);
	fd = (int)syscall(SYS_openat, dir, name, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	state = strrchr(text, ')');
	return state && state[1] == ' ' && state[2] == 'T';
}

/* A file in the folder of a process, or in /proc, is about to be opened. */
static void end_before(int dir, const char *path)
{
	const struct timespec pause = {0, 1000000}, late = {0, 100000000};
	const char *program = getenv("FAULTIO_ENDS"), *last = strrchr(path, '/');
	static int read_once; /* the arguments of this process */
	int pid;

	if (read_once && strcmp(path, "cgroup") == 0)
		nanosleep(&late, NULL);
	if (!last || strcmp(last, "/cmdline") != 0)
		return;
	pid = runs(dir, path, program);
	if (setting("FAULTIO_AGAIN", 0) && pid != read_once)
		read_once = pid;
	else
		for (int i = 0; i < 10000 && runs(dir, path, program) && !stands_still(dir, pid); i++)
			nanosleep(&pause, NULL);
}

__attribute__((visibility("default"))) int openat(int dir, const char *path, int flags, ...)
{
	unsigned mode = 0;

	if ((flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE) {
		va_list args;

		va_start(args, flags);
		mode = va_arg(args, unsigned);
		va_end(args);
	}
	end_before(dir, path);
	return (int)syscall(SYS_openat, dir, path, flags, mode);
}

__attribute__((visibility("default"), alias("openat"))) int openat64(int dir, const char *path, int flags, ...);

/* libbpf's, whose headers need not be here; of programs alone is asked with a structure of this size. */
int bpf_obj_get_info_by_fd(int fd, void *info, __u32 *size);
__attribute__((visibility("default"))) int bpf_obj_get_info_by_fd(int fd, void *info, __u32 *size)
{
	static _Atomic __u64 skips;
	union bpf_attr attr = {.info.bpf_fd = (__u32)fd, .info.info_len = *size, .info.info = (__u64)(uintptr_t)info};
	const bool of_program = *size == sizeof(struct bpf_prog_info);
	const char *name = getenv("FAULTIO_SKIPS");
	int r = (int)syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr));

	*size = attr.info.info_len;
	if (r == 0 && name && of_program && strcmp(((struct bpf_prog_info *)info)->name, name) == 0)
		((struct bpf_prog_info *)info)->recursion_misses += atomic_fetch_add(&skips, 7) + 7;
	return r;
}
