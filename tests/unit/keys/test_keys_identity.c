/* SPDX-License-Identifier: Apache-2.0 */
/* The trust store, the host's identity, and passphrases on a terminal, each test in a folder of its own. */
#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <setjmp.h>
#include <signal.h>
#include <sodium.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cmocka.h>

#include "keys/files.h"
#include "keys/identity.h"
#include "keys/tool/passphrase.h"
#include "keys/store.h"
#include "tests/unit/home.h"

/* scrypt at its cheapest: minisign's own cost takes a second and a gigabyte. */
static const struct scrypt_cost cheap = {crypto_pwhash_scryptsalsa208sha256_OPSLIMIT_MIN,
					 crypto_pwhash_scryptsalsa208sha256_MEMLIMIT_MIN};

static void put(const char *path, mode_t mode, const char *text, size_t len)
{
	struct fault why;

	assert_int_equal(file_make(path, mode, true, text, len, &why), 0);
}

/* --- the trust store --- */

static void make_key(struct public_key *pk)
{
	struct identity id;
	struct fault why;

	assert_int_equal(identity_generate(&id, &why), 0);
	key_of_identity(pk, &id);
}

static void names_of_keys_hold_no_tricks(void **state)
{
	static const char *const good[] = {"a", "gpu-host_1.example.org", "A-6AD2764B2DBBD4EC", "0", "_"};
	static const char *const bad[] = {"",     ".",   "..",  ".hidden", "-f",       "a/b",
					  "../a", "a b", "a\n", "a\033",   "\xc3\xa4", "a*"};
	char longest[TRUST_NAME_MAX + 2];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(trust_name_valid(good[i]));
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(trust_name_valid(bad[i]));
	memset(longest, 'a', sizeof(longest));
	longest[TRUST_NAME_MAX + 1] = '\0';
	assert_false(trust_name_valid(longest));
	longest[TRUST_NAME_MAX] = '\0';
	assert_true(trust_name_valid(longest));
}

static void a_key_is_trusted_from_adding_to_removing(void **state)
{
	struct trust_list list;
	const struct trusted *found;
	struct public_key a, b;
	struct fault why;

	(void)state;
	make_key(&a);
	make_key(&b);
	assert_int_equal(trust_list_read(&list, &why), 0);
	assert_int_equal(list.nkeys, 0);
	assert_int_equal(trust_find(&list, &a, &found, &why), 0);
	assert_int_equal(trust_add(&b, "zed", ROLE_RECORD, &why), 0);
	assert_int_equal(trust_add(&a, "abel", ROLE_RECORD, &why), 0);
	assert_int_equal(trust_add(&a, "../abel", ROLE_RECORD, &why), ERR_INPUT);
	assert_int_equal(trust_add(&b, "abel", ROLE_RECORD, &why), ERR_EXISTS);
	assert_int_equal(trust_list_read(&list, &why), 0);
	assert_int_equal(list.nkeys, 2);
	assert_string_equal(list.keys[0].file.name, "abel");
	assert_string_equal(list.keys[1].file.name, "zed");
	assert_int_equal(trust_find(&list, &a, &found, &why), 1);
	assert_string_equal(found->file.name, "abel");
	assert_int_equal(trust_remove(found, &why), 0);
	trust_list_clear(&list);
	assert_int_equal(trust_list_read(&list, &why), 0);
	assert_int_equal(trust_find(&list, &a, &found, &why), 0);
	assert_int_equal(trust_find(&list, &b, &found, &why), 1);
	trust_list_clear(&list);
}

static void a_key_with_the_number_of_a_trusted_one_is_not_trusted(void **state)
{
	struct trust_list list;
	const struct trusted *found;
	struct public_key trusted, forged, renumbered;
	struct fault why;

	(void)state;
	make_key(&trusted);
	make_key(&forged);
	memcpy(forged.keynum, trusted.keynum, sizeof(forged.keynum));
	renumbered = trusted;
	renumbered.keynum[3] ^= 4;
	assert_int_equal(trust_add(&trusted, "host", ROLE_RECORD, &why), 0);
	assert_int_equal(trust_list_read(&list, &why), 0);
	assert_int_equal(trust_find(&list, &forged, &found, &why), 0);
	assert_int_equal(trust_find(&list, &renumbered, &found, &why), 0);
	assert_int_equal(trust_find(&list, &trusted, &found, &why), 1);
	trust_list_clear(&list);
}

static void a_broken_file_in_the_store_is_reported_when_it_could_matter(void **state)
{
	struct trust_list list;
	const struct trusted *found;
	struct public_key a, b;
	struct fault why;

	(void)state;
	make_key(&a);
	make_key(&b);
	assert_int_equal(trust_add(&a, "good", ROLE_RECORD, &why), 0);
	put("trust/bad.pub", 0644, "untrusted comment: minisign pu", 30);
	put("trust/README", 0644, "anything", 8);
	put("trust/.hidden.pub", 0644, "anything", 8);
	assert_int_equal(trust_list_read(&list, &why), 0);
	assert_int_equal(list.nkeys, 2);
	assert_int_equal(trust_find(&list, &a, &found, &why), 1);
	assert_int_equal(trust_find(&list, &b, &found, &why), ERR_KEY);
	assert_non_null(strstr(why.text, "bad.pub"));
	trust_list_clear(&list);
}

static void a_store_that_anybody_can_write_to_is_refused(void **state)
{
	struct trust_list list;
	const struct trusted *found;
	struct public_key a;
	struct fault why;

	(void)state;
	make_key(&a);
	assert_int_equal(trust_add(&a, "a", ROLE_RECORD, &why), 0);
	assert_int_equal(chmod("trust", 0777), 0);
	assert_int_equal(trust_list_read(&list, &why), ERR_KEY);
	assert_non_null(strstr(why.text, "chmod go-w"));
	assert_int_equal(chmod("trust", 0755), 0);
	assert_int_equal(chmod("trust/a.pub", 0666), 0);
	assert_int_equal(trust_list_read(&list, &why), 0);
	assert_int_equal(trust_find(&list, &a, &found, &why), ERR_KEY);
	trust_list_clear(&list);
}

static void home_is_where_the_environment_says(void **state)
{
	char path[PATH_MAX];
	struct fault why;

	assert_int_equal(store_path(path, "host.key", &why), 0);
	assert_memory_equal(path, *state, strlen(*state));
	assert_string_equal(path + strlen(*state), "/host.key");
	unsetenv("GPUREC_HOME");
	setenv("XDG_CONFIG_HOME", "/xdg", 1);
	assert_int_equal(store_path(path, NULL, &why), 0);
	assert_string_equal(path, geteuid() == 0 ? "/etc/gpurec" : "/xdg/gpurec");
	setenv("XDG_CONFIG_HOME", "relative", 1);
	setenv("HOME", "/home/x", 1);
	assert_int_equal(store_path(path, NULL, &why), 0);
	assert_string_equal(path, geteuid() == 0 ? "/etc/gpurec" : "/home/x/.config/gpurec");
}

/* --- identities --- */

static size_t count_trusted(const struct public_key *pk)
{
	struct trust_list list;
	const struct trusted *found;
	struct fault why;
	size_t n;

	assert_int_equal(trust_list_read(&list, &why), 0);
	assert_int_equal(trust_find(&list, pk, &found, &why), 1);
	n = list.nkeys;
	trust_list_clear(&list);
	return n;
}

static void the_first_use_makes_an_identity_and_trusts_it(void **state)
{
	char inner[PATH_MAX], what[512], command[512];
	struct identity_origin from, second;
	struct identity id, again, zero = {0};
	struct public_key pk, on_disk;
	struct fault why;
	struct stat st;

	snprintf(inner, sizeof(inner), "%s/not/there/yet", (char *)*state);
	setenv("GPUREC_HOME", inner, 1);
	umask(077);
	assert_int_equal(identity_load(&id, NULL, -1, &from, &why), 0);
	umask(022);
	assert_true(from.made);
	assert_int_equal(stat(from.path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(stat(inner, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	key_of_identity(&pk, &id);
	assert_int_equal(count_trusted(&pk), 1);
	assert_int_equal(minisign_read_public(&on_disk, "not/there/yet/host.pub", &why), 0);
	assert_true(key_equal(&pk, &on_disk));
	identity_introduce(&id, &from, what, sizeof(what), command, sizeof(command));
	assert_non_null(strstr(command, "gpukey trust RW"));
	assert_non_null(strstr(command, from.name));
	assert_int_equal(identity_load(&again, NULL, -1, &second, &why), 0);
	assert_false(second.made);
	assert_memory_equal(&id, &again, sizeof(id));
	identity_wipe(&id);
	identity_wipe(&id);
	assert_memory_equal(&id, &zero, sizeof(zero));
}

static void an_identity_once_untrusted_stays_so(void **state)
{
	struct identity_origin from;
	struct trust_list list;
	struct identity id;
	struct fault why;

	(void)state;
	assert_int_equal(identity_load(&id, NULL, -1, &from, &why), 0);
	assert_int_equal(trust_list_read(&list, &why), 0);
	assert_int_equal(trust_remove(&list.keys[0], &why), 0);
	trust_list_clear(&list);
	assert_int_equal(identity_load(&id, NULL, -1, &from, &why), 0);
	assert_int_equal(trust_list_read(&list, &why), 0);
	assert_int_equal(list.nkeys, 0);
	trust_list_clear(&list);
}

#define RACERS 8

static void several_first_uses_at_once_end_with_one_identity(void **state)
{
	struct identity_origin from;
	struct identity id, seen;
	struct public_key pk;
	struct fault why;
	int go[2], results[2], i, status;
	char byte;

	(void)state;
	assert_int_equal(pipe(go), 0);
	assert_int_equal(pipe(results), 0);
	for (i = 0; i < RACERS; i++) {
		if (fork() != 0)
			continue;
		close(go[1]);
		/* all wait for the pipe's end, so that they start together */
		status = read(go[0], &byte, 1) == 0 && identity_load(&id, NULL, -1, &from, &why) == 0 &&
			 write(results[1], &id, sizeof(id)) == sizeof(id);
		_exit(!status);
	}
	close(go[0]);
	close(go[1]);
	for (i = 0; i < RACERS; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	assert_int_equal(read(results[0], &id, sizeof(id)), sizeof(id));
	for (i = 1; i < RACERS; i++) {
		assert_int_equal(read(results[0], &seen, sizeof(seen)), sizeof(seen));
		assert_memory_equal(&id, &seen, sizeof(id));
	}
	key_of_identity(&pk, &id);
	assert_int_equal(count_trusted(&pk), 1);
	close(results[0]);
	close(results[1]);
}

static void an_identity_out_of_a_file_takes_its_passphrase_from_a_descriptor(void **state)
{
	char text[MINISIGN_SECRET_FILE_MAX];
	struct identity id, loaded, zero = {0};
	struct identity_origin from;
	struct fault why;
	size_t len;
	int fd[2];

	(void)state;
	assert_int_equal(identity_generate(&id, &why), 0);
	assert_int_equal(minisign_format_secret(text, &len, &id, "open sesame", &cheap, &why), 0);
	put("my.key", 0600, text, len);
	assert_int_equal(pipe(fd), 0);
	assert_int_equal(write(fd[1], "open sesame\nwrong\n", 18), 18);
	close(fd[1]);
	assert_int_equal(identity_load(&loaded, "my.key", fd[0], &from, &why), 0);
	assert_memory_equal(&loaded, &id, sizeof(id));
	assert_false(from.made);
	assert_string_equal(from.path, "my.key");
	assert_int_equal(identity_load(&loaded, "my.key", fd[0], &from, &why), ERR_KEY);
	assert_string_equal(why.text, "my.key: wrong passphrase for this secret key");
	assert_memory_equal(&loaded, &zero, sizeof(zero));
	assert_int_equal(identity_load(&loaded, "my.key", fd[0], &from, &why), ERR_INPUT);
	assert_non_null(strstr(why.text, "empty"));
	assert_int_equal(identity_load(&loaded, "absent.key", -1, &from, &why), ERR_IO);
	close(fd[0]);
}

static void a_host_identity_is_replaced_only_when_reported_so(void **state)
{
	struct identity id, other;
	struct identity_origin from;
	struct public_key pk;
	struct fault why;

	(void)state;
	assert_int_equal(identity_load(&id, NULL, -1, &from, &why), 0);
	assert_int_equal(identity_make_host(&other, false, NULL, &from, &why), ERR_EXISTS);
	key_of_identity(&pk, &id);
	assert_int_equal(count_trusted(&pk), 1);
	assert_int_equal(identity_make_host(&other, true, NULL, &from, &why), 0);
	assert_int_equal(count_trusted(&pk), 2); /* what it signed stays valid */
	assert_int_equal(identity_load(&id, NULL, -1, &from, &why), 0);
	assert_memory_equal(&id, &other, sizeof(id));
}

/* --- passphrases on a terminal --- */

/* Read from the terminal's other side until `wanted` has come; false when it ends before, or after ten seconds. */
static bool wait_for(int master, const char *wanted, char *seen, size_t size)
{
	struct pollfd fds = {.fd = master, .events = POLLIN};
	size_t len = strlen(seen);
	ssize_t n;

	while (!strstr(seen, wanted)) {
		if (len + 1 >= size || poll(&fds, 1, 10000) <= 0)
			return false;
		n = read(master, seen + len, size - 1 - len);
		if (n <= 0)
			return false;
		len += (size_t)n;
		seen[len] = '\0';
	}
	return true;
}

static bool has_echo(int master)
{
	struct termios t;

	return tcgetattr(master, &t) == 0 && (t.c_lflag & ECHO);
}

/* The child asks on a terminal of its own, shows what it got, then waits for a line, so that the terminal stays. */
static pid_t ask_on_terminal(int *master)
{
	char passphrase[PASSPHRASE_MAX], line[8];
	struct fault why;
	pid_t pid = forkpty(master, NULL, NULL, NULL);

	assert_true(pid >= 0);
	if (pid == 0) {
		if (passphrase_read(passphrase, -1, "Tell: ", &why) == 0)
			printf("got <%zu> %s\n", strlen(passphrase),
			       strcmp(passphrase, "secret") == 0 ? "right" : "wrong");
		else
			printf("fault: %s\n", why.text);
		fflush(stdout);
		_exit(fgets(line, sizeof(line), stdin) == NULL);
	}
	return pid;
}

static void a_passphrase_is_asked_for_without_echo(void **state)
{
	char seen[256] = "";
	int master, status;
	pid_t pid = ask_on_terminal(&master);

	(void)state;
	assert_true(wait_for(master, "Tell: ", seen, sizeof(seen)));
	assert_false(has_echo(master));
	assert_int_equal(write(master, "secret\n", 7), 7);
	assert_true(wait_for(master, "got <6> right", seen, sizeof(seen)));
	assert_null(strstr(seen, "secret"));
	assert_true(has_echo(master));
	assert_int_equal(write(master, "\n", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(master);
}

static void ctrl_c_at_the_passphrase_ends_the_program_with_echo_back_on(void **state)
{
	char seen[256] = "";
	int master, status;
	pid_t pid = ask_on_terminal(&master);

	(void)state;
	assert_true(wait_for(master, "Tell: ", seen, sizeof(seen)));
	assert_false(has_echo(master));
	assert_int_equal(write(master, "sec\003", 4), 4);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
	assert_true(has_echo(master));
	close(master);
}

static void without_a_terminal_the_sentence_names_the_option(void **state)
{
	char passphrase[PASSPHRASE_MAX];
	struct fault why;
	int status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		setsid();
		_exit(passphrase_read(passphrase, -1, "Tell: ", &why) != ERR_INPUT ||
		      !strstr(why.text, "--passphrase-fd"));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void a_passphrase_too_long_is_refused(void **state)
{
	char passphrase[PASSPHRASE_MAX], line[PASSPHRASE_MAX + 1];
	struct fault why;
	int fd[2];

	(void)state;
	memset(line, 'a', sizeof(line));
	assert_int_equal(pipe(fd), 0);
	line[PASSPHRASE_MAX - 1] = '\n';
	assert_int_equal(write(fd[1], line, PASSPHRASE_MAX), PASSPHRASE_MAX);
	assert_int_equal(passphrase_read(passphrase, fd[0], "", &why), 0);
	assert_int_equal(strlen(passphrase), PASSPHRASE_MAX - 1);
	line[PASSPHRASE_MAX - 1] = 'a';
	assert_int_equal(write(fd[1], line, PASSPHRASE_MAX), PASSPHRASE_MAX);
	assert_int_equal(passphrase_read(passphrase, fd[0], "", &why), ERR_INPUT);
	assert_int_equal(passphrase[0], 0);
	close(fd[0]);
	close(fd[1]);
}

#define IN_HOME(test) cmocka_unit_test_setup_teardown(test, make_home, remove_home)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_keys_hold_no_tricks),
		IN_HOME(a_key_is_trusted_from_adding_to_removing),
		IN_HOME(a_key_with_the_number_of_a_trusted_one_is_not_trusted),
		IN_HOME(a_broken_file_in_the_store_is_reported_when_it_could_matter),
		IN_HOME(a_store_that_anybody_can_write_to_is_refused),
		IN_HOME(home_is_where_the_environment_says),
		IN_HOME(the_first_use_makes_an_identity_and_trusts_it),
		IN_HOME(an_identity_once_untrusted_stays_so),
		IN_HOME(several_first_uses_at_once_end_with_one_identity),
		IN_HOME(an_identity_out_of_a_file_takes_its_passphrase_from_a_descriptor),
		IN_HOME(a_host_identity_is_replaced_only_when_reported_so),
		cmocka_unit_test(a_passphrase_is_asked_for_without_echo),
		cmocka_unit_test(ctrl_c_at_the_passphrase_ends_the_program_with_echo_back_on),
		cmocka_unit_test(without_a_terminal_the_sentence_names_the_option),
		cmocka_unit_test(a_passphrase_too_long_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
