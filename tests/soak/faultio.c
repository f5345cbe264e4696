/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bad disk and a bad clock, for one process (LD_PRELOAD). What it does stands in the environment:
 *
 *	FAULTIO_WRITE=N FAULTIO_ERRNO=28    the Nth write to a capture, and each one after, fails with this errno (EIO)
 *	FAULTIO_SHORT=1                     each write to a capture takes only half of what it is given, and is
 *interrupted once FAULTIO_SYNC=N                      the Nth fdatasync of a capture, and each one after, fails with
 *FAULTIO_ERRNO FAULTIO_STALL=N FAULTIO_MS=3000     the Nth fdatasync takes so long FAULTIO_STEP=SECONDS FAULTIO_AFTER=K
 *from the Kth reading on, the wall clock is wrong by so much
 *
 * A capture is a file that was opened for appending.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

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
	long nth = setting("FAULTIO_WRITE", 0);

	if (is_capture(fd)) {
		if (nth && atomic_fetch_add(&writes, 1) + 1 >= nth) {
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
	}
	return syscall(SYS_write, fd, buf, n);
}

__attribute__((visibility("default"))) int fdatasync(int fd)
{
	static atomic_long syncs;
	long nth = atomic_fetch_add(&syncs, 1) + 1, fails = setting("FAULTIO_SYNC", 0);
	long ms = setting("FAULTIO_MS", 0);

	if (fails && nth >= fails) {
		errno = (int)setting("FAULTIO_ERRNO", EIO);
		return -1;
	}
	if (nth == setting("FAULTIO_STALL", 0)) {
		struct timespec t = {ms / 1000, ms % 1000 * 1000000};

		nanosleep(&t, NULL);
	}
	return (int)syscall(SYS_fdatasync, fd);
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *t)
{
	static atomic_long readings;
	int r = (int)syscall(SYS_clock_gettime, clock, t);

	if (clock == CLOCK_REALTIME && atomic_fetch_add(&readings, 1) + 1 >= setting("FAULTIO_AFTER", 1))
		t->tv_sec += setting("FAULTIO_STEP", 0);
	return r;
}
