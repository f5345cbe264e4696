/* SPDX-License-Identifier: Apache-2.0 */
/* What is trusted, and secret keys, are read only from places where nobody else could have put them. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "keys/files.h"
#include "keys/store.h"
#include "keys/strict_path.h"
#include "tests/unit/home.h"

#define STRANGER 65534

static void make(const char *path, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "x", 1), 1);
	close(fd);
	assert_int_equal(chmod(path, mode), 0);
}

static void make_folder(const char *path, mode_t mode)
{
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(chmod(path, mode), 0);
}

static void expect_open(const char *path)
{
	struct stat st, plain;
	struct fault why;
	int fd = strict_open(path, O_RDONLY, S_IWGRP | S_IWOTH, "it", &why);

	if (fd < 0)
		fail_msg("%s: %s", path, why.text);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(stat(path, &plain), 0);
	assert_int_equal(st.st_ino, plain.st_ino);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
}

/* ERR_KEY, with this in the sentence */
static void expect_refused(const char *path, const char *words)
{
	struct fault why;

	assert_int_equal(strict_open(path, O_RDONLY, S_IWGRP | S_IWOTH, "it", &why), ERR_KEY);
	if (!strstr(why.text, words))
		fail_msg("not '%s' but: %s", words, why.text);
}

static void it_opens_what_open_opens(void **state)
{
	char absolute[PATH_MAX + 16];

	make_folder("a", 0755);
	make_folder("a/b", 0700);
	make("a/b/c", 0644);
	assert_int_equal(symlink("b/c", "a/link"), 0);
	assert_int_equal(symlink("../../a", "a/b/up"), 0);
	snprintf(absolute, sizeof(absolute), "%s/a/b", (char *)*state);
	assert_int_equal(symlink(absolute, "far"), 0);
	expect_open("a/b/c");
	expect_open("./a//b/../b/./c");
	expect_open("a/link");
	expect_open("a/b/up/link");
	expect_open("far/c");
	expect_open("a/b");
	expect_open("a/b/");
	expect_open(".");
	expect_open("a/..");
	expect_open("/");
	strcat(absolute, "/c");
	expect_open(absolute);
}

static void what_is_not_there_is_said_as_by_open(void **state)
{
	struct fault why;
	char longest[PATH_MAX];

	(void)state;
	assert_int_equal(strict_open("a/none", O_RDONLY, S_IWGRP | S_IWOTH, "it", &why), ERR_IO);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(strict_open("none/a", O_RDONLY, S_IWGRP | S_IWOTH, "it", &why), ERR_IO);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(strict_open("a/b/c/d", O_RDONLY, S_IWGRP | S_IWOTH, "it", &why), ERR_IO);
	assert_int_equal(errno, ENOTDIR);
	assert_int_equal(strict_open("a/link", O_RDONLY | O_NOFOLLOW, S_IWGRP | S_IWOTH, "it", &why), ERR_IO);
	assert_int_equal(errno, ELOOP);
	assert_int_equal(symlink("round", "round"), 0);
	assert_int_equal(strict_open("round", O_RDONLY, S_IWGRP | S_IWOTH, "it", &why), ERR_IO);
	assert_int_equal(errno, ELOOP);
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(strict_open(longest, O_RDONLY, S_IWGRP | S_IWOTH, "it", &why), ERR_IO);
	assert_int_equal(errno, ENAMETOOLONG);
}

/* "./././.../none", which names the current folder when its end is cut off. Returns `path`. */
static char *put_dots(char *path, size_t n, const char *end)
{
	path[0] = '\0';
	for (size_t i = 0; i < n; i++)
		strcpy(path + 2 * i, "./");
	return strcat(path, end);
}

static void a_path_that_is_too_long_is_not_cut(void **state)
{
	static char path[4 * PATH_MAX];
	struct fault why;

	(void)state;
	put_dots(path, PATH_MAX, "none");
	assert_int_equal(strict_open(path, O_RDONLY, S_IWGRP | S_IWOTH, "it", &why), ERR_IO);
	assert_int_equal(errno, ENAMETOOLONG);
	assert_int_equal(symlink(put_dots(path, PATH_MAX / 2 - 1, ""), "dots"), 0);
	expect_open("dots");
	strcpy(path, "dots/");
	put_dots(path + 5, PATH_MAX - 300, "none");
	assert_int_equal(strict_open(path, O_RDONLY, S_IWGRP | S_IWOTH, "it", &why), ERR_IO);
	assert_int_equal(errno, ENAMETOOLONG);
	assert_non_null(strstr(why.text, "cannot be followed"));
}

static void a_file_or_folder_that_others_may_write_to_is_refused(void **state)
{
	(void)state;
	make_folder("w", 0755);
	make_folder("w/x", 0755);
	make("w/x/f", 0644);
	expect_open("w/x/f");
	assert_int_equal(chmod("w/x/f", 0646), 0);
	expect_refused("w/x/f", "w/x/f: anybody can change it; run: chmod go-w ");
	assert_int_equal(chmod("w/x/f", 0664), 0);
	expect_refused("w/x/f", "w/x/f: its group can change it; run: chmod g-w ");
	assert_int_equal(chmod("w/x/f", 0644), 0);
	assert_int_equal(chmod("w/x", 0777), 0);
	expect_refused("w/x/f", "w/x: anybody can change it");
	assert_int_equal(chmod("w/x", 0755), 0);
	assert_int_equal(chmod("w", 02775), 0);
	expect_refused("w/x/f", "w: its group can change it");
	/* Also behind a link whose own folders are safe. */
	assert_int_equal(symlink("../w/x/f", "a/into"), 0);
	expect_refused("a/into", "w: its group can change it");
	/* As /tmp is: what is in it stays whose it is. */
	assert_int_equal(chmod("w", 01777), 0);
	expect_open("w/x/f");
	/* But it is not itself what may hold trusted files. */
	expect_refused("w", "w: anybody can change it");
}

static void what_belongs_to_another_is_refused(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	make_folder("o", 01777);
	make_folder("o/x", 0755);
	make("o/x/f", 0644);
	assert_int_equal(symlink("x/f", "o/link"), 0);
	expect_open("o/link");
	assert_int_equal(chown("o/x/f", STRANGER, 0), 0);
	expect_refused("o/x/f", "o/x/f: user 65534 owns it and can change it; run: chown 0 ");
	assert_int_equal(chown("o/x/f", 0, STRANGER), 0);
	assert_int_equal(chown("o/x", STRANGER, 0), 0);
	expect_refused("o/x/f", "o/x: user 65534 owns it");
	assert_int_equal(chown("o/x", 0, 0), 0);
	assert_int_equal(lchown("o/link", STRANGER, 0), 0);
	expect_refused("o/link", "o/link: user 65534 owns it");
	/* Of an ordinary user: root's, and his own. */
	assert_int_equal(chown("o/x", STRANGER, 0), 0);
	assert_int_equal(chmod(".", 0755), 0);
	assert_int_equal(seteuid(STRANGER), 0);
	expect_open("o/x/f");
	expect_open("o/link");
	assert_int_equal(seteuid(0), 0);
	assert_int_equal(seteuid(1), 0);
	expect_refused("o/x/f", "o/x: user 65534 owns it");
	/* Of the user who called sudo, for root alone. */
	setenv("SUDO_UID", "65534", 1);
	expect_refused("o/x/f", "o/x: user 65534 owns it");
	assert_int_equal(seteuid(0), 0);
	expect_open("o/x/f");
	setenv("SUDO_UID", "6553", 1);
	expect_refused("o/x/f", "o/x: user 65534 owns it");
	unsetenv("SUDO_UID");
	expect_refused("o/x/f", "o/x: user 65534 owns it");
}

static void a_secret_key_that_others_could_replace_is_refused(void **state)
{
	struct fault why;
	char buf[8];
	size_t n;

	(void)state;
	make_folder("k", 0755);
	make("k/host.key", 0600);
	assert_int_equal(file_read("k/host.key", FILE_SECRET, buf, sizeof(buf), &n, &why), 0);
	assert_int_equal(n, 1);
	assert_int_equal(chmod("k", 0777), 0);
	assert_int_equal(file_read("k/host.key", FILE_SECRET, buf, sizeof(buf), &n, &why), ERR_KEY);
	assert_non_null(strstr(why.text, "k: anybody can change this secret key; run: chmod go-w "));
	assert_int_equal(file_read("k/host.key", FILE_PUBLIC, buf, sizeof(buf), &n, &why), 0);
}

/* The store's own folder is safe, the one above it is not: another one can be put in its place. */
static void a_store_in_an_open_folder_is_refused(void **state)
{
	struct trust_list list;
	struct public_key key = {.key = {1}};
	struct fault why;

	assert_int_equal(trust_add(&key, "a", ROLE_RECORD, &why), 0);
	assert_int_equal(trust_list_read(&list, &why), 0);
	trust_list_clear(&list);
	assert_int_equal(chmod(*state, 0777), 0);
	assert_int_equal(trust_list_read(&list, &why), ERR_KEY);
	assert_non_null(strstr(why.text, ": anybody can change what is trusted here; run: chmod go-w "));
	assert_int_equal(trust_add(&key, "b", ROLE_RECORD, &why), ERR_KEY);
	assert_int_equal(access("trust/b.pub", F_OK), -1);
	assert_int_equal(chmod(*state, 0700), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_opens_what_open_opens),
		cmocka_unit_test(what_is_not_there_is_said_as_by_open),
		cmocka_unit_test(a_path_that_is_too_long_is_not_cut),
		cmocka_unit_test(a_file_or_folder_that_others_may_write_to_is_refused),
		cmocka_unit_test(what_belongs_to_another_is_refused),
		cmocka_unit_test(a_secret_key_that_others_could_replace_is_refused),
		cmocka_unit_test(a_store_in_an_open_folder_is_refused),
	};

	return cmocka_run_group_tests(tests, make_home, remove_home);
}
