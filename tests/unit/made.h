/* SPDX-License-Identifier: Apache-2.0 */
/* For tests that need real files: a private folder, libraries built on the fly, and memory that runs out. */
#ifndef GPUREC_TESTS_UNIT_MADE_H
#define GPUREC_TESTS_UNIT_MADE_H

#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <cmocka.h>

#define MADE_PATH 512

/* The folder of this test program; made at first use, removed by made_clear(). */
static inline const char *made_folder(void)
{
	static char folder[MADE_PATH];

	if (!folder[0]) {
		const char *tmp = getenv("TMPDIR");

		snprintf(folder, sizeof(folder), "%s/gpurec-test-XXXXXX", tmp && *tmp ? tmp : "/tmp");
		assert_non_null(mkdtemp(folder));
	}
	return folder;
}

static inline int made_remove(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static inline int made_clear(void **state)
{
	(void)state;
	return nftw(made_folder(), made_remove, 16, FTW_DEPTH | FTW_PHYS);
}

/* FOLDER/name, in one of a few buffers that take turns. */
static inline char *made_path(const char *name)
{
	static char paths[8][2 * MADE_PATH];
	static unsigned turn;
	char *path = paths[turn++ % 8];

	snprintf(path, sizeof(paths[0]), "%s/%s", made_folder(), name);
	return path;
}

static inline void made_write(const char *path, const void *bytes, size_t n)
{
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

static inline char *made_read(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	char *bytes;
	long size;

	assert_non_null(f);
	assert_int_equal(fseek(f, 0, SEEK_END), 0);
	size = ftell(f);
	assert_true(size >= 0);
	rewind(f);
	bytes = malloc((size_t)size + 1);
	assert_non_null(bytes);
	*n = fread(bytes, 1, (size_t)size, f);
	assert_int_equal(*n, size);
	bytes[*n] = '\0';
	fclose(f);
	return bytes;
}

/* Run a shell command in the folder; it has to succeed. */
__attribute__((format(printf, 1, 2))) static inline void made_run(const char *fmt, ...)
{
	char command[4096];
	size_t len = (size_t)snprintf(command, sizeof(command), "cd '%s' && ", made_folder());
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(command + len, sizeof(command) - len, fmt, ap);
	va_end(ap);
	if (system(command) != 0)
		fail_msg("this failed: %s", command);
}

/* A library FOLDER/name from C source, with more options for the compiler. Returns its path (see made_path()). */
static inline char *made_library(const char *name, const char *source, const char *options)
{
	char c_name[64];

	snprintf(c_name, sizeof(c_name), "%s.c", name);
	made_write(made_path(c_name), source, strlen(source));
	made_run("${CC:-cc} -O1 -fPIC -shared -o %s %s.c %s", name, name, options);
	return made_path(name);
}

/*
 * Memory that runs out. MADE_FAILING_MALLOC defined before the include makes this program's malloc() fail from the
 * made_malloc_left-th call on, once. Not with sanitizers, which bring a malloc() of their own.
 */
#if defined(MADE_FAILING_MALLOC) && !defined(__SANITIZE_ADDRESS__)
#define MADE_CAN_FAIL 1
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

static long made_malloc_left = -1; /* calls that still succeed; -1: all do */
static bool made_malloc_failed;

static bool made_malloc_fails(void)
{
	if (made_malloc_left < 0 || made_malloc_left-- > 0)
		return false;
	made_malloc_failed = true;
	return true;
}

/* Visible, so that shared libraries such as LZ4 find these, too. */
#pragma GCC visibility push(default)
void *malloc(size_t n)
{
	return made_malloc_fails() ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	return made_malloc_fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
	return made_malloc_fails() ? NULL : __libc_realloc(p, n);
}
#pragma GCC visibility pop
#endif

#endif
