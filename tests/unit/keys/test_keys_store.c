/* SPDX-License-Identifier: Apache-2.0 */
/* Where the trust store lies, and what it takes: limits, and folders that are none. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "keys/store.h"
#include "tests/unit/home.h"

static void put(const char *path)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs("junk", f) >= 0);
	assert_int_equal(fclose(f), 0);
}

/* For who is not root; so a child looks, which is nobody. 0, or the line that was wrong. */
static int look_for_home_as_nobody(void)
{
	static char longest[PATH_MAX];
	char path[PATH_MAX];
	struct fault why;

	unsetenv("GPUREC_HOME");
	unsetenv("XDG_CONFIG_HOME");
	unsetenv("HOME");
	if (geteuid() == 0 && setuid(65534) < 0)
		return __LINE__;
	if (store_path(path, NULL, &why) != ERR_INPUT || !strstr(why.text, "no home folder for keys"))
		return __LINE__;
	setenv("HOME", "relative", 1);
	if (store_path(path, NULL, &why) != ERR_INPUT || !strstr(why.text, "no home folder for keys"))
		return __LINE__;
	setenv("HOME", "/home/x", 1);
	if (store_path(path, "trust", &why) != 0 || strcmp(path, "/home/x/.config/gpurec/trust") != 0)
		return __LINE__;
	setenv("XDG_CONFIG_HOME", "/xdg", 1);
	if (store_path(path, "trust", &why) != 0 || strcmp(path, "/xdg/gpurec/trust") != 0)
		return __LINE__;
	memset(longest, 'x', sizeof(longest) - 1);
	longest[0] = '/';
	setenv("XDG_CONFIG_HOME", longest, 1);
	if (store_path(path, NULL, &why) != ERR_INPUT || !strstr(why.text, "is too long"))
		return __LINE__;
	unsetenv("XDG_CONFIG_HOME");
	setenv("HOME", longest, 1);
	if (store_path(path, NULL, &why) != ERR_INPUT || !strstr(why.text, "is too long"))
		return __LINE__;
	return 0;
}

static void without_a_home_there_is_no_place_for_keys(void **state)
{
	static char longest[PATH_MAX + 8];
	char path[PATH_MAX];
	struct fault why;
	int status;
	pid_t child;

	(void)state;
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(look_for_home_as_nobody() != 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	memset(longest, 'x', PATH_MAX - strlen("/leaf") - 1);
	longest[0] = '/';
	setenv("GPUREC_HOME", longest, 1);
	assert_int_equal(store_path(path, "leaf", &why), 0);
	assert_int_equal(strlen(path), PATH_MAX - 1);
	assert_int_equal(store_path(path, "leaf1", &why), ERR_INPUT);
	assert_non_null(strstr(why.text, "the folder for keys is too long"));

	longest[0] = 'x';
	longest[PATH_MAX - 1 - strlen("/etc/gpurec/")] = '\0';
	assert_int_equal(store_system_path(path, longest, &why), 0);
	assert_int_equal(strlen(path), PATH_MAX - 1);
	longest[strlen(longest)] = 'x';
	longest[PATH_MAX - strlen("/etc/gpurec/")] = '\0';
	assert_int_equal(store_system_path(path, longest, &why), ERR_INPUT);
	assert_non_null(strstr(why.text, "the folder for keys is too long"));
}

static void a_store_holds_so_many_files_and_names_so_long(void **state)
{
	static const size_t lengths[] = {TRUST_NAME_MAX, TRUST_NAME_MAX + 1, 200, 250};
	char path[512] = "trust/";
	struct trust_list list;
	struct public_key pk;
	struct fault why;

	(void)state;
	memset(&pk, 7, sizeof(pk));
	assert_int_equal(trust_add(&pk, "a", ROLE_RECORD, &why), 0);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		memset(path + 6, 'x', lengths[i]);
		strcpy(path + 6 + lengths[i], ".pub");
		put(path);
	}
	put("trust/.pub");
	put("trust/x");
	assert_int_equal(trust_list_read(&list, &why), 0);
	assert_int_equal(list.nkeys, 2); /* the one that was added, and that of the longest name there may be */
	trust_list_clear(&list);
	for (unsigned i = 0; i <= TRUST_LISTS_MAX; i++) {
		snprintf(path, sizeof(path), "trust/l%u.revocations", i);
		put(path);
		assert_int_equal(trust_list_read(&list, &why), i < TRUST_LISTS_MAX ? 0 : ERR_KEY);
		if (i < TRUST_LISTS_MAX)
			trust_list_clear(&list);
	}
	assert_non_null(strstr(why.text, "more than 64 files of one sort"));
}

static void a_store_that_is_no_folder_is_not_taken_for_an_empty_one(void **state)
{
	struct trust_list list;
	struct fault why;

	(void)state;
	put("trust");
	assert_int_equal(trust_list_read(&list, &why), ERR_IO);
	assert_non_null(strstr(why.text, "cannot be opened: Not a directory"));
}

/* A folder whose own path may just be, but with a file's name no more. */
static void a_file_whose_path_is_too_long_is_reported_and_not_passed_over(void **state)
{
	char home[PATH_MAX], roles_path[PATH_MAX], part[201];
	struct trust_list list;
	struct fault why;

	memset(part, 'x', sizeof(part) - 1);
	part[sizeof(part) - 1] = '\0';
	strcpy(home, *state);
	while (strlen(home) + 1 + strlen(part) + strlen("/trust/") < PATH_MAX) {
		strcat(strcat(home, "/"), part);
		assert_int_equal(mkdir(home, 0700), 0);
	}
	part[PATH_MAX - 1 - strlen(home) -
	     strlen("/"
		    "/trust"
		    "/a.pub")] = '\0';
	strcat(strcat(home, "/"), part);
	assert_int_equal(mkdir(home, 0700), 0);
	assert_int_equal(chdir(home), 0);
	assert_int_equal(mkdir("trust", 0700), 0);
	setenv("GPUREC_HOME", home, 1);
	put("trust/a.pub");
	assert_int_equal(trust_list_read(&list, &why), 0);
	assert_int_equal(list.nkeys, 1);
	assert_int_equal(strlen(list.keys[0].file.path), PATH_MAX - 1);
	assert_int_equal(trust_roles_path(roles_path, &list.keys[0], &why), ERR_INPUT);
	assert_non_null(strstr(why.text, "the path is too long"));
	trust_list_clear(&list);
	for (unsigned i = 0; i < 3; i++) {
		static const char *const names[] = {"trust/ab.pub", "trust/a.delegation", "trust/a.revocations"};

		put(names[i]);
		assert_int_equal(trust_list_read(&list, &why), ERR_INPUT);
		assert_non_null(strstr(why.text, "the path is too long"));
		assert_int_equal(unlink(names[i]), 0);
	}
}

static void where_no_folder_can_be_made_nothing_is_trusted(void **state)
{
	static char longest[PATH_MAX];
	struct public_key pk = {.keynum = {1}};
	struct fault why;

	(void)state;
	put("file");
	setenv("GPUREC_HOME", "file", 1);
	assert_int_equal(trust_add(&pk, "a", ROLE_RECORD, &why), ERR_IO);
	assert_non_null(strstr(why.text, "the folder file/trust cannot be made"));
	memset(longest, 'x', sizeof(longest) - 1);
	setenv("GPUREC_HOME", longest, 1);
	assert_int_equal(trust_add(&pk, "a", ROLE_RECORD, &why), ERR_INPUT);
	assert_non_null(strstr(why.text, "the folder for keys is too long"));
}

static void what_cannot_be_removed_is_reported(void **state)
{
	static struct trusted own = {.file.path = "absent.pub"};
	static struct trusted system = {.file.path = "absent.pub", .file.system = true};
	struct fault why;
	int status;
	pid_t child;

	(void)state;
	assert_int_equal(trust_remove(&own, &why), ERR_IO);
	assert_non_null(strstr(why.text, "absent.pub: cannot be removed: No such file"));
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		if (geteuid() == 0 && setuid(65534) < 0)
			_exit(2);
		_exit(trust_remove(&system, &why) != ERR_DENIED || !strstr(why.text, "only root can remove it"));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

#define IN_HOME(test) cmocka_unit_test_setup_teardown(test, make_home, remove_home)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_HOME(without_a_home_there_is_no_place_for_keys),
		IN_HOME(a_store_holds_so_many_files_and_names_so_long),
		IN_HOME(a_file_whose_path_is_too_long_is_reported_and_not_passed_over),
		IN_HOME(where_no_folder_can_be_made_nothing_is_trusted),
		IN_HOME(what_cannot_be_removed_is_reported),
		IN_HOME(a_store_that_is_no_folder_is_not_taken_for_an_empty_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
