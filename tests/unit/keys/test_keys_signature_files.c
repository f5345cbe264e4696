/* SPDX-License-Identifier: Apache-2.0 */
/* Detached signatures and the files they are of: what is there already, what is no file, what changes meanwhile. */
#undef _FORTIFY_SOURCE /* its own form of read() would get in the way of the one here */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sodium.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/home.h"
#include "tests/unit/signed.h"

/* What happens to a file right after its first bytes were read; and to what is reported of it, at which fstat(). */
static void (*once_read)(void);
static void (*emitted)(struct stat *st);
static int reported_at;

ssize_t read(int fd, void *buf, size_t n)
{
	ssize_t r = syscall(SYS_read, fd, buf, n);
	void (*act)(void) = once_read;

	once_read = NULL;
	if (act)
		act();
	return r;
}

int fstat(int fd, struct stat *st)
{
	int r = (int)syscall(SYS_fstat, fd, st);

	if (emitted && --reported_at == 0)
		emitted(st);
	return r;
}

static bool on_another_disk; /* "sig" is, with the number that "file" has on its own */

int stat(const char *path, struct stat *st)
{
	int r = (int)syscall(SYS_newfstatat, AT_FDCWD, path, st, 0);

	if (on_another_disk && r == 0 && strcmp(path, "sig") == 0) {
		r = (int)syscall(SYS_newfstatat, AT_FDCWD, "file", st, 0);
		st->st_dev++;
	}
	return r;
}

static void a_signature_that_is_there_is_replaced_only_when_asked(void **state)
{
	char text[SIGNATURE_FILE_MAX], after[SIGNATURE_FILE_MAX];
	struct public_key pk;
	struct identity id;
	struct fault why;
	size_t len;

	(void)state;
	len = sign_sample(&id, &pk, text);
	assert_int_equal(signature_make("file", "sig", false, &id, NULL, NULL, &why), ERR_EXISTS);
	assert_int_equal(get("sig", after, sizeof(after)), len);
	assert_memory_equal(after, text, len);
	assert_int_equal(signature_make("file", "sig", true, &id, NULL, NULL, &why), 0);
	assert_int_not_equal(memcmp(text, after, get("sig", after, sizeof(after))), 0);
}

static void a_signature_never_replaces_what_it_signs(void **state)
{
	struct identity id = make_identity();
	struct fault why;
	char kept[8];

	(void)state;
	put("file", "precious", 8);
	assert_int_equal(symlink("file", "link"), 0);
	assert_int_equal(signature_make("file", "file", true, &id, NULL, NULL, &why), ERR_INPUT);
	assert_int_equal(signature_make("file", "link", true, &id, NULL, NULL, &why), ERR_INPUT);
	assert_int_equal(signature_make("link", "file", true, &id, NULL, NULL, &why), ERR_INPUT);
	assert_int_equal(get("file", kept, sizeof(kept)), 8);
	assert_memory_equal(kept, "precious", 8);
	/* The number of a file is one on its own disk only. */
	put("sig", "old", 3);
	on_another_disk = true;
	assert_int_equal(signature_make("file", "sig", true, &id, NULL, NULL, &why), 0);
	on_another_disk = false;
}

static void what_is_no_regular_file_is_refused_and_nothing_waits_for_it(void **state)
{
	struct identity id = make_identity();
	struct public_key pk;
	struct fault why;

	(void)state;
	key_of_identity(&pk, &id);
	assert_int_equal(mkfifo("fifo", 0644), 0);
	assert_int_equal(signature_make("fifo", "sig", false, &id, NULL, NULL, &why), ERR_INPUT);
	assert_int_equal(signature_make(".", "sig", false, &id, NULL, NULL, &why), ERR_INPUT);
	assert_int_equal(signature_make("absent", "sig", false, &id, NULL, NULL, &why), ERR_IO);
	assert_non_null(strstr(why.text, "absent: cannot be opened: No such file"));
	put("file", "x", 1);
	assert_int_equal(signature_check("file", "fifo", &pk, NULL, &why), ERR_FORMAT);
	assert_int_equal(signature_check("file", "absent", &pk, NULL, &why), ERR_IO);
	assert_int_equal(access("sig", F_OK), -1);
}

/* A child appends to the file until it is asked to stop; the parent hashes it meanwhile. */
static void a_file_that_grows_while_it_is_read_is_refused(void **state)
{
	static uint8_t some[1 << 20];
	struct prehash hash;
	struct fault why;
	int refused = 0;
	pid_t writer;

	(void)state;
	put("file", some, sizeof(some));
	for (int i = 0; i < 15; i++)
		assert_int_equal(truncate("file", (off_t)(i + 1) << 20), 0);
	writer = fork();
	assert_true(writer >= 0);
	if (writer == 0) {
		int fd = open("file", O_WRONLY | O_APPEND);

		while (write(fd, "x", 1) == 1)
			usleep(100); /* speed: the file is read at any pace */
		_exit(0);
	}
	for (int i = 0; i < 200 && !refused; i++)
		if (signature_hash(&hash, "file", &why) == ERR_INPUT && strstr(why.text, "changed while"))
			refused++;
	kill(writer, SIGKILL);
	waitpid(writer, NULL, 0);
	assert_int_equal(refused, 1);
	assert_int_equal(signature_hash(&hash, "file", &why), 0);
}

static void alter_file(void)
{
	int fd = open("file", O_WRONLY);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, "W", 1, 0), 1);
	close(fd);
}

static void alter_file_and_set_its_time_back(void)
{
	const struct timespec old[2] = {{.tv_sec = 1}, {.tv_sec = 1}};

	alter_file();
	assert_int_equal(utimensat(AT_FDCWD, "file", old, 0), 0);
}

/* What was read and what is there now have one length, but are not the same. */
static void a_file_that_changes_while_it_is_read_is_refused(void **state)
{
	static void (*const ways[])(void) = {alter_file, alter_file_and_set_its_time_back};
	const struct timespec old[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
	struct prehash hash;
	struct fault why;

	(void)state;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		put("file", "what was recorded\n", 18);
		assert_int_equal(utimensat(AT_FDCWD, "file", old, 0), 0);
		usleep(20000); /* speed: the kernel's clock of files is coarse */
		once_read = ways[i];
		assert_int_equal(signature_hash(&hash, "file", &why), ERR_INPUT);
		assert_null(once_read);
		assert_non_null(strstr(why.text, "the file changed while it was read"));
		assert_int_equal(signature_hash(&hash, "file", &why), 0);
	}
}

static void other_size(struct stat *st)
{
	st->st_size++;
}

static void other_second_written(struct stat *st)
{
	st->st_mtim.tv_sec--;
}

static void other_moment_written(struct stat *st)
{
	st->st_mtim.tv_nsec ^= 1;
}

static void other_second_changed(struct stat *st)
{
	st->st_ctim.tv_sec--;
}

static void other_moment_changed(struct stat *st)
{
	st->st_ctim.tv_nsec ^= 1;
}

static void whatever_reports_of_a_change_while_a_file_is_read_is_seen(void **state)
{
	static void (*const signs[])(struct stat *) = {other_size, other_second_written, other_moment_written,
						       other_second_changed, other_moment_changed};
	struct prehash hash;
	struct fault why;

	(void)state;
	put("file", "what was recorded\n", 18);
	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
		for (int at = 1; at <= 2; at++) {
			emitted = signs[i];
			reported_at = at;
			assert_int_equal(signature_hash(&hash, "file", &why), ERR_INPUT);
			emitted = NULL;
			assert_true(reported_at <= 0);
			assert_non_null(strstr(why.text, "the file changed while it was read"));
		}
	assert_int_equal(signature_hash(&hash, "file", &why), 0);
	/* One that is nowhere as long as it reads. */
	assert_int_equal(signature_hash(&hash, "/proc/self/status", &why), ERR_INPUT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_home, remove_home)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_signature_that_is_there_is_replaced_only_when_asked),
		TEST(a_signature_never_replaces_what_it_signs),
		TEST(what_is_no_regular_file_is_refused_and_nothing_waits_for_it),
		TEST(a_file_that_grows_while_it_is_read_is_refused),
		TEST(a_file_that_changes_while_it_is_read_is_refused),
		TEST(whatever_reports_of_a_change_while_a_file_is_read_is_seen),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
