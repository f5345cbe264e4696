/* SPDX-License-Identifier: Apache-2.0 */
/* Output files that appear when they are whole, and replace nothing unasked. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "format/base/output_file.h"

static void a_target_appears_when_it_is_whole_and_not_before(void **state)
{
	char folder[] = "/tmp/gpurec-target.XXXXXX", path[64], target_text[64] = {0};
	struct target t;
	struct fault why;
	FILE *f;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/out", folder);
	assert_int_equal(target_open(&t, path, false, 0666, &why), 0);
	assert_int_equal(write(t.fd, "first", 5), 5);
	assert_int_not_equal(access(path, F_OK), 0);
	assert_int_equal(target_commit(&t, &why), 0);
	assert_int_equal(access(path, F_OK), 0);

	assert_int_equal(target_open(&t, path, false, 0666, &why), ERR_EXISTS);
	target_discard(&t);
	assert_int_equal(target_open(&t, path, true, 0666, &why), 0);
	target_discard(&t);
	f = fopen(path, "r");
	assert_non_null(fgets(target_text, sizeof(target_text), f));
	fclose(f);
	assert_string_equal(target_text, "first");

	/* What comes to be there meanwhile is not replaced. */
	unlink(path);
	assert_int_equal(target_open(&t, path, false, 0666, &why), 0);
	fclose(fopen(path, "w"));
	assert_int_equal(target_commit(&t, &why), ERR_EXISTS);
	unlink(path);
	assert_int_equal(rmdir(folder), 0); /* nothing else was left there */
}

static void touch(const char *path, const char *ending)
{
	char name[128];
	FILE *f;

	snprintf(name, sizeof(name), "%s%s", path, ending);
	f = fopen(name, "w");
	assert_non_null(f);
	fclose(f);
}

static bool is_there(const char *path, const char *ending)
{
	char name[128];

	snprintf(name, sizeof(name), "%s%s", path, ending);
	return access(name, F_OK) == 0;
}

static void an_output_stands_alone(void **state)
{
	static const char *const endings[] = {"-a", "-b", NULL};
	char folder[] = "/tmp/gpurec-alone.XXXXXX", path[64], name[128];
	struct target t;
	struct fault why;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/out", folder);
	snprintf(name, sizeof(name), "%s-b", path);

	touch(path, "-b");
	touch(path, "-c");
	assert_int_equal(target_open(&t, path, false, 0666, &why), 0);
	assert_int_equal(target_alone(&t, endings, &why), ERR_EXISTS);
	assert_non_null(strstr(why.text, "out-b is there"));
	target_discard(&t);
	assert_true(is_there(path, "-b"));

	/* Unless it is to be removed, which it is when the output is whole. */
	assert_int_equal(target_open(&t, path, true, 0666, &why), 0);
	assert_int_equal(target_alone(&t, endings, &why), 0);
	assert_true(is_there(path, "-b"));
	assert_int_equal(target_commit(&t, &why), 0);
	assert_true(is_there(path, ""));
	assert_false(is_there(path, "-b"));
	assert_true(is_there(path, "-c"));
	unlink(path);

	/* One that comes meanwhile. */
	assert_int_equal(target_open(&t, path, false, 0666, &why), 0);
	assert_int_equal(target_alone(&t, endings, &why), 0);
	touch(path, "-b");
	assert_int_equal(target_commit(&t, &why), ERR_EXISTS);
	assert_false(is_there(path, ""));
	unlink(name);

	/* One that cannot be removed. */
	assert_int_equal(mkdir(name, 0777), 0);
	assert_int_equal(target_open(&t, path, true, 0666, &why), 0);
	assert_int_equal(target_alone(&t, endings, &why), 0);
	assert_true(target_commit(&t, &why) < 0);
	assert_false(is_there(path, ""));
	rmdir(name);
	snprintf(name, sizeof(name), "%s-c", path);
	unlink(name);
	assert_int_equal(rmdir(folder), 0);
}

static void an_output_is_written_whole_and_replaces_nothing_unasked(void **state)
{
	char path[] = "/tmp/gpurec-test-XXXXXX";
	char read_back[16] = {0};
	struct fault why;
	int fd = mkstemp(path);
	FILE *f;

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(output_write(path, "new", 3, false, 0666, &why), ERR_EXISTS);
	assert_int_equal(target_check(path, false, &why), ERR_EXISTS);
	assert_int_equal(output_write(path, "newer", 5, true, 0666, &why), 0);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_int_equal(fread(read_back, 1, sizeof(read_back), f), 5);
	fclose(f);
	assert_memory_equal(read_back, "newer", 5);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(output_write(path, "", 0, false, 0666, &why), 0);
	assert_int_equal(unlink(path), 0);
}

/* As nobody, where root runs the tests: root may read every folder. */
static void a_folder_that_may_be_written_but_not_read_holds_outputs(void **state)
{
	char folder[] = "/tmp/gpurec-target.XXXXXX", path[64];
	struct fault why;
	bool root = geteuid() == 0;
	int made, synced, gone;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/out", folder);
	assert_int_equal(chmod(folder, 0333), 0);
	assert_true(!root || seteuid(65534) == 0);
	made = output_write(path, "new", 3, false, 0666, &why);
	synced = sync_folder_of(path);
	assert_true(!root || seteuid(0) == 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(folder), 0);
	gone = sync_folder_of(path);
	assert_int_equal(made, 0);
	assert_int_equal(synced, 0);
	assert_int_equal(gone, -1);
	assert_int_equal(errno, ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_target_appears_when_it_is_whole_and_not_before),
		cmocka_unit_test(an_output_is_written_whole_and_replaces_nothing_unasked),
		cmocka_unit_test(an_output_stands_alone),
		cmocka_unit_test(a_folder_that_may_be_written_but_not_read_holds_outputs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
