/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults on demand: of the calls of one sort, in all threads, the nth fails. Included by one file of a program, which
 * must begin with `#undef _FORTIFY_SOURCE`: its own forms of open() and read() would get in the way of those here.
 * Memory cannot be made to fail under the address sanitizer, which has an allocator of its own.
 */
#ifndef GPUREC_TESTS_FAULTS_H
#define GPUREC_TESTS_FAULTS_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * OF_SOFT: calls whose failure may be passed over, where nothing hangs on it: close(), flock(), and open() of a folder
 * that is to be synced. OF_FOLDER: readdir().
 */
enum sort { OF_NONE, OF_IO, OF_SOFT, OF_FOLDER, OF_MEMORY };
static _Atomic enum sort armed;
static atomic_ulong calls, fail_at;
static atomic_bool failed; /* whether there was an nth call */

static bool refuse(enum sort sort, int error)
{
	if (atomic_load(&armed) != sort || atomic_fetch_add(&calls, 1) + 1 != atomic_load(&fail_at))
		return false;
	atomic_store(&failed, true);
	errno = error;
	return true;
}

static inline void arm(enum sort sort, unsigned long n)
{
	atomic_store(&calls, 0);
	atomic_store(&fail_at, n);
	atomic_store(&failed, false);
	atomic_store(&armed, sort);
}

static inline void disarm(void)
{
	atomic_store(&armed, OF_NONE);
}

ssize_t read(int fd, void *buf, size_t n)
{
	return refuse(OF_IO, EIO) ? -1 : syscall(SYS_read, fd, buf, n);
}

ssize_t pread(int fd, void *buf, size_t n, off_t offset)
{
	return refuse(OF_IO, EIO) ? -1 : syscall(SYS_pread64, fd, buf, n, offset);
}

ssize_t write(int fd, const void *buf, size_t n)
{
	return refuse(OF_IO, ENOSPC) ? -1 : syscall(SYS_write, fd, buf, n);
}

/* Not brought to disk: tests ask what becomes of the error, thousands of times, and no test cuts the power. */
int fsync(int fd)
{
	return refuse(OF_IO, EIO) || fcntl(fd, F_GETFD) < 0 ? -1 : 0;
}

int fdatasync(int fd)
{
	return fsync(fd);
}

int fchmod(int fd, mode_t mode)
{
	return refuse(OF_IO, EIO) ? -1 : (int)syscall(SYS_fchmod, fd, mode);
}

int fstat(int fd, struct stat *st)
{
	return refuse(OF_IO, EIO) ? -1 : (int)syscall(SYS_fstat, fd, st);
}

static bool lock_is_held; /* by another program, for ever */

int flock(int fd, int operation)
{
	if (lock_is_held) {
		errno = EWOULDBLOCK;
		return -1;
	}
	return refuse(OF_SOFT, ENOLCK) ? -1 : (int)syscall(SYS_flock, fd, operation);
}

int rename(const char *from, const char *to)
{
	return refuse(OF_IO, EIO) ? -1 : (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags)
{
	return refuse(OF_IO, EIO) ? -1 : (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
}

/* A folder that is opened as no more than a step on the way, or as what it is and no link, is not to be synced. */
static enum sort sort_of_open(int flags)
{
	return flags & O_DIRECTORY && !(flags & (O_PATH | O_NOFOLLOW)) ? OF_SOFT : OF_IO;
}

int open(const char *path, int flags, ...)
{
	mode_t mode;
	va_list ap;

	va_start(ap, flags);
	mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	if (refuse(sort_of_open(flags), EIO))
		return -1;
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...)
{
	mode_t mode;
	va_list ap;

	va_start(ap, flags);
	mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	if (refuse(sort_of_open(flags), EIO))
		return -1;
	return (int)syscall(SYS_openat, folder, path, flags, mode);
}

int mkostemp(char *path, int flags)
{
	int fd;

	if (refuse(OF_IO, EIO))
		return -1;
	fd = mkstemp(path);
	return fd < 0 || fcntl(fd, F_SETFD, flags & O_CLOEXEC ? FD_CLOEXEC : 0) < 0 ? -1 : fd;
}

/* readdir64() is the same, but where files cannot be larger than 2 GiB. */
struct dirent *readdir(DIR *folder)
{
	return refuse(OF_FOLDER, EIO) ? NULL : (struct dirent *)(void *)readdir64(folder);
}

/* The file is closed all the same, as Linux does it. */
int close(int fd)
{
	int r = (int)syscall(SYS_close, fd);

	return refuse(OF_SOFT, EIO) ? -1 : r;
}

#ifndef __SANITIZE_ADDRESS__
#define CAN_FAIL_MALLOC 1
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

/* Visible, so that shared libraries such as LZ4 find these, too. */
#pragma GCC visibility push(default)
void *malloc(size_t n)
{
	return refuse(OF_MEMORY, ENOMEM) ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	return refuse(OF_MEMORY, ENOMEM) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
	return refuse(OF_MEMORY, ENOMEM) ? NULL : __libc_realloc(p, n);
}
#pragma GCC visibility pop
#endif

#endif
