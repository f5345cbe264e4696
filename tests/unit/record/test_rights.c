/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Somebody has taken over the recorder while it records. Each test is a child that has given up its rights as the
 * recorder does, and then tries what an attacker would.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "keys/tool/confine.h"
#include "record/rights.h"
#include "tests/unit/child.h"

static char folder[64], output[80], key_folder[64], key[80];

#define MUST(condition)                                                                                                \
	do {                                                                                                           \
		errno = 0;                                                                                             \
		if (!(condition)) {                                                                                    \
			fprintf(stderr, "# line %d: not so: %s (%s)\n", __LINE__, #condition, strerror(errno));        \
			return 1;                                                                                      \
		}                                                                                                      \
	} while (0)

/* As `gpurec -o FILE`, for all that use CUDA. */
static const struct rights usual = {.output = output, .late = true, .group_fds = {-1, -1}};

static int give_up(struct rights r)
{
	struct fault why;
	int e = rights_give_up(&r, &why);

	if (e < 0)
		fprintf(stderr, "# %s\n", why.text);
	return e;
}

static const char *const of_others[] = {"/etc/passwd", "/proc/sys/kernel/core_pattern", "/proc/self/mem",
					"/proc/self/oom_score_adj", "/dev/mem"};

/* Whatever kernel this is. */
static int nothing_is_written(void)
{
	char mem[64];

	snprintf(mem, sizeof(mem), "/proc/%d/mem", getppid());
	MUST(give_up(usual) == 0);
	MUST(open(mem, O_WRONLY) < 0 && open(mem, O_RDWR) < 0);
	for (size_t i = 0; i < sizeof(of_others) / sizeof(of_others[0]); i++) {
		MUST(open(of_others[i], O_WRONLY) < 0);
		MUST(open(of_others[i], O_RDWR) < 0);
		MUST(open(of_others[i], O_RDWR | O_CREAT, 0600) < 0);
		MUST(truncate(of_others[i], 0) < 0);
	}
	MUST(open(output, O_WRONLY | O_CREAT | O_EXCL, 0600) < 0);
	MUST(rename("/etc/passwd", "/etc/passwd-") < 0);
	MUST(chmod("/etc/passwd", 0666) < 0);
	MUST(link("/etc/passwd", output) < 0);
	return 0;
}

static int no_program_is_run(void)
{
	char *argv[] = {"false", NULL}, *envp[] = {NULL};

	MUST(give_up(usual) == 0);
	MUST(execve("/bin/false", argv, envp) < 0 && errno == EPERM);
	MUST(fork() < 0);
	return 0;
}

/* What it was started with is closed before; what is made later cannot be a socket. */
static int nothing_is_sent(void)
{
	int pair[2], ends[2];
	char byte = 'x';
	struct fault why;
	struct iovec part = {&byte, 1};

	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && pipe(ends) == 0);
	MUST(write(pair[0], &byte, 1) == 1 && write(ends[1], &byte, 1) == 1); /* a control */
	MUST(confine_inherited(NULL, 0, &why) == 0);
	MUST(give_up(usual) == 0);
	for (int fd = 3; fd < 64; fd++)
		MUST(write(fd, &byte, 1) < 0 && writev(fd, &part, 1) < 0);
	MUST(socket(AF_UNIX, SOCK_STREAM, 0) < 0 && errno == EPERM);
	MUST(socket(AF_INET, SOCK_STREAM, 0) < 0 && errno == EPERM);
	return 0;
}

/* A service manager that listens for us: its sockets are no way out, nor is the command's loss ours. */
static int standard_sockets_are_none_of_ours(void)
{
	struct fault why = {0};
	struct stat st, null;
	int inet = socket(AF_INET, SOCK_STREAM, 0), saved = dup(2);

	MUST(stat("/dev/null", &null) == 0);
	MUST(dup2(inet, 0) == 0 && dup2(inet, 1) == 1);
	MUST(confine_inherited(&saved, 1, &why) == 0);
	for (int fd = 0; fd <= 1; fd++)
		MUST(fstat(fd, &st) == 0 && st.st_rdev == null.st_rdev);
	MUST(fcntl(inet, F_GETFD) < 0 && fcntl(saved, F_GETFD) >= 0);
	inet = socket(AF_INET, SOCK_STREAM, 0);
	MUST(dup2(inet, 2) == 2);
	MUST(confine_inherited(&saved, 1, &why) == ERR_DENIED);
	MUST(strstr(why.text, "standard error is a network socket"));
	return 0;
}

static int no_right_is_left(void)
{
	cap_t none = cap_init(), now;
	int differ;

	MUST(give_up(usual) == 0);
	now = cap_get_proc();
	differ = cap_compare(now, none);
	cap_free(now);
	cap_free(none);
	MUST(differ == 0);
	return 0;
}

/* As long as one reads about others, whose mappings Landlock hides, the rights for that stay. */
static int rights_to_read_others_stay(void)
{
	struct rights one_by_one = usual, hidden = usual;

	one_by_one.single = true;
	hidden.hidden = true;
	MUST(rights_read_others(&one_by_one) && rights_read_others(&hidden) && !rights_read_others(&usual));
	one_by_one.late = hidden.late = false;
	MUST(!rights_read_others(&one_by_one) && !rights_read_others(&hidden));
	return 0;
}

static int others_are_out_of_reach(void)
{
	char path[PATH_MAX];

	if (!landlock_version())
		return 77;
	MUST(give_up(usual) == 0);
	snprintf(path, sizeof(path), "/proc/%d/mem", getppid());
	MUST(open(path, O_RDONLY) < 0 && errno == EACCES);
	snprintf(path, sizeof(path), "/proc/%d/maps", getppid());
	MUST(open(path, O_RDONLY) < 0 && errno == EACCES);
	MUST(open("/etc/passwd", O_RDONLY) < 0 && errno == EACCES);
	MUST(open("/etc/shadow", O_RDONLY) < 0);
	MUST(open("/", O_RDONLY | O_DIRECTORY) < 0 && errno == EACCES);
	MUST(unlink(key) < 0 && errno == EACCES);
	/* What it reads all the time, and how a capture without a seal is taken back. */
	snprintf(path, sizeof(path), "/proc/%d/stat", getppid());
	MUST(open(path, O_RDONLY) >= 0);
	MUST(open("/sys/devices/system/cpu/online", O_RDONLY) >= 0);
	MUST(unlink(output) == 0);
	return 0;
}

/* Another capture is made in the folder of the first one, and signed with the key. */
static int only_the_folder_of_captures_is_written(void)
{
	struct rights r = usual;
	char next[PATH_MAX], elsewhere[PATH_MAX];

	r.key = key;
	MUST(give_up(r) == 0);
	snprintf(next, sizeof(next), "%s/next.cap", folder);
	snprintf(elsewhere, sizeof(elsewhere), "%s/next.cap", key_folder);
	MUST(open(next, O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0640) >= 0);
	MUST(open(next, O_WRONLY) < 0 && open(next, O_WRONLY | O_TRUNC) < 0);
	MUST(open(key, O_RDONLY) >= 0);
	MUST(unlink(next) == 0);
	if (!landlock_version())
		return 77;
	MUST(open(elsewhere, O_WRONLY | O_CREAT | O_EXCL, 0600) < 0 && errno == EACCES);
	MUST(open("/etc/cron.d/gpurec", O_WRONLY | O_CREAT | O_EXCL, 0600) < 0);
	MUST(open("/etc/ld.so.preload", O_WRONLY | O_CREAT | O_EXCL, 0600) < 0);
	MUST(unlink(key) < 0 && errno == EACCES);
	return 0;
}

static int nobody_is_signalled(void)
{
	MUST(give_up(usual) == 0);
	MUST(kill(getppid(), 0) < 0 && errno == EPERM);
	return 0;
}

/* The command, which is none of Landlock's domain. */
static int the_command_is_signalled(void)
{
	struct rights r = usual;

	r.signals = true;
	MUST(give_up(r) == 0);
	MUST(kill(getppid(), 0) == 0);
	return 0;
}

static void holds(int (*body)(void))
{
	int r = run_in_child(body);

	if (r == 77) {
		print_message("# this kernel has no Landlock\n");
		skip();
	}
	assert_int_equal(r, 0);
}

#define CHILD_TEST(name, body)                                                                                         \
	static void name(void **state)                                                                                 \
	{                                                                                                              \
		(void)state;                                                                                           \
		holds(body);                                                                                           \
	}

CHILD_TEST(no_file_of_others_is_opened_for_writing_nor_changed, nothing_is_written)
CHILD_TEST(no_program_is_run_and_no_process_made, no_program_is_run)
CHILD_TEST(nothing_is_written_to_what_was_inherited, nothing_is_sent)
CHILD_TEST(a_network_socket_among_the_standard_descriptors_is_none_of_ours, standard_sockets_are_none_of_ours)
CHILD_TEST(no_capability_is_left, no_right_is_left)
CHILD_TEST(who_reads_about_others_keeps_the_rights_for_it, rights_to_read_others_stay)
CHILD_TEST(memory_and_files_of_others_are_out_of_reach, others_are_out_of_reach)
CHILD_TEST(with_rotation_only_the_folder_of_captures_is_written, only_the_folder_of_captures_is_written)
CHILD_TEST(without_a_command_nobody_is_signalled, nobody_is_signalled)
CHILD_TEST(a_command_can_be_reported_to_go_on, the_command_is_signalled)

static int make_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);

	return fd < 0 ? -1 : close(fd);
}

static int make_folders(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/rights-XXXXXX");
	strcpy(key_folder, "/tmp/rights-key-XXXXXX");
	if (!mkdtemp(folder) || !mkdtemp(key_folder))
		return -1;
	snprintf(output, sizeof(output), "%s/run.cap", folder);
	snprintf(key, sizeof(key), "%s/host.key", key_folder);
	return make_file(output) || make_file(key);
}

static int remove_folders(void **state)
{
	(void)state;
	(void)unlink(output); /* a test may have */
	return unlink(key) || rmdir(folder) || rmdir(key_folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_file_of_others_is_opened_for_writing_nor_changed),
		cmocka_unit_test(no_program_is_run_and_no_process_made),
		cmocka_unit_test(nothing_is_written_to_what_was_inherited),
		cmocka_unit_test(a_network_socket_among_the_standard_descriptors_is_none_of_ours),
		cmocka_unit_test(no_capability_is_left),
		cmocka_unit_test(who_reads_about_others_keeps_the_rights_for_it),
		cmocka_unit_test(memory_and_files_of_others_are_out_of_reach),
		cmocka_unit_test(with_rotation_only_the_folder_of_captures_is_written),
		cmocka_unit_test(without_a_command_nobody_is_signalled),
		cmocka_unit_test(a_command_can_be_reported_to_go_on),
	};

	return cmocka_run_group_tests(tests, make_folders, remove_folders);
}
