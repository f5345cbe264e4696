/* SPDX-License-Identifier: Apache-2.0 */
/* What a trusted key may do: its file in the store, and that nobody records, vouches or revokes without the role. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/home.h"
#include "tests/unit/vouched.h"

#define ROLES_PATH "trust/boss.roles"

static void roles_are_words_in_one_order(void **state)
{
	static const struct {
		const char *text, *written; /* NULL: refused */
		unsigned roles;
	} cases[] = {
		{"record", "record", ROLE_RECORD},
		{"custody,record", "record,custody", ROLE_RECORD | ROLE_CUSTODY},
		{"vouch,vouch", "vouch", ROLE_VOUCH},
		{"custody,revoke,vouch,record", "record,vouch,revoke,custody", ROLES_ALL},
		{"", NULL, 0},
		{",", NULL, 0},
		{"record,", NULL, 0},
		{",record", NULL, 0},
		{"records", NULL, 0},
		{"recor", NULL, 0},
		{"Record", NULL, 0},
		{"record vouch", NULL, 0},
	};
	char written[ROLES_CHARS + 1];
	struct fault why;
	unsigned roles;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int r = roles_parse(&roles, cases[i].text, strlen(cases[i].text), &why);

		assert_int_equal(r, cases[i].written ? 0 : ERR_INPUT);
		if (r < 0) {
			assert_non_null(strstr(why.text, "is not a role: must be record, vouch, revoke or custody"));
			continue;
		}
		assert_int_equal(roles, cases[i].roles);
		assert_string_equal(roles_format(written, roles), cases[i].written);
	}
	assert_string_equal(role_word(ROLE_REVOKE), "revoke");
	assert_string_equal(roles_of_argument(&roles, "vouch,revoke:/a:b"), "/a:b");
	assert_int_equal(roles, ROLE_VOUCH | ROLE_REVOKE);
	assert_string_equal(roles_of_argument(&roles, "x:record"), "x:record");
	assert_int_equal(roles, ROLE_RECORD);
	assert_string_equal(roles_of_argument(&roles, "vouch"), "vouch");
	assert_int_equal(roles, ROLE_RECORD);
}

static size_t good_file(char text[ROLES_FILE_MAX + 1])
{
	struct public_key pk = public_of(AUTHORITY);

	return roles_file_format(text, &pk, ROLE_RECORD | ROLE_VOUCH);
}

/* The one entry of the store; the list stays to be cleared. */
static const struct trusted *only_entry(struct trust_list *list)
{
	struct fault why;

	assert_int_equal(trust_list_read(list, &why), 0);
	assert_int_equal(list->nkeys, 1);
	return list->keys;
}

/* Whatever the file is, the key can do no more than with the good one, and all is refused that is not that one. */
static void expect_broken(const char *said)
{
	struct public_key pk = public_of(AUTHORITY);
	const struct trusted *t, *found;
	struct trust_list list;
	struct fault why;

	t = only_entry(&list);
	assert_int_not_equal(t->file.broken.code, ERR_NONE);
	assert_int_equal(t->roles, 0);
	assert_int_equal(trust_roles(&list, &pk), 0);
	assert_true(trust_find(&list, &pk, &found, &why) < 0);
	if (!strstr(why.text, said))
		fail_msg("'%s' does not say '%s'", why.text, said);
	trust_list_clear(&list);
}

static void each_change_of_a_file_of_roles_is_refused(void **state)
{
	char good[ROLES_FILE_MAX + 1], bad[ROLES_FILE_MAX + 1];
	size_t len = good_file(good);
	struct trust_list list;

	(void)state;
	trust_for(AUTHORITY, "boss", ROLE_RECORD | ROLE_VOUCH);
	assert_int_equal(only_entry(&list)->roles, ROLE_RECORD | ROLE_VOUCH);
	trust_list_clear(&list);
	for (size_t i = 0; i < len * 8; i++) {
		memcpy(bad, good, len);
		bad[i / 8] ^= (char)(1u << i % 8);
		put(ROLES_PATH, bad, len);
		expect_broken("boss.roles: ");
	}
	for (size_t i = 0; i < len; i++) {
		put(ROLES_PATH, good, i);
		expect_broken("boss.roles: ");
	}
	put(ROLES_PATH, good, len);
	assert_int_equal(only_entry(&list)->file.broken.code, ERR_NONE);
	trust_list_clear(&list);
}

static void words_that_are_no_roles_are_refused(void **state)
{
	static const struct {
		const char *words, *said;
	} cases[] = {
		{"admin\n", "not a line with a public key and its roles"},
		{"record,admin\n", "not a line with a public key and its roles"},
		{"\n", "not a line with a public key and its roles"},
		{"vouch,record\n", "roles that are not in their order"},
		{"vouch,vouch\n", "roles that are not in their order"},
		{"vouch\nvouch\n", "not a line with a public key and its roles"},
		{"vouch", "not a line with a public key and its roles"},
		{"vouch \n", "not a line with a public key and its roles"},
	};
	char text[ROLES_FILE_MAX + 1], base64[MINISIGN_PUBLIC_CHARS + 1];
	struct public_key pk = public_of(AUTHORITY), other = public_of(OTHER);

	(void)state;
	trust_key(AUTHORITY, "boss");
	key_base64(base64, &pk);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		put(ROLES_PATH, text, (size_t)snprintf(text, sizeof(text), "%s %s", base64, cases[i].words));
		expect_broken(cases[i].said);
	}
	/* A key that came to be called like another one does not have its roles. */
	put(ROLES_PATH, text, roles_file_format(text, &other, ROLES_ALL));
	expect_broken("the roles of another key");
}

static void files_that_hold_no_roles_are_refused(void **state)
{
	static char huge[1 << 20];
	char good[ROLES_FILE_MAX + 1];
	size_t len = good_file(good);

	(void)state;
	trust_key(AUTHORITY, "boss");
	memset(huge, 'x', sizeof(huge));
	put(ROLES_PATH, huge, sizeof(huge));
	expect_broken("too large");
	put(ROLES_PATH, good, len);
	assert_int_equal(chmod(ROLES_PATH, 0664), 0);
	expect_broken("can change what is trusted here");
	put(ROLES_PATH, good, len);
	assert_int_equal(chmod(ROLES_PATH, 0646), 0);
	expect_broken("can change what is trusted here");
	assert_int_equal(unlink(ROLES_PATH), 0);
	assert_int_equal(symlink("nowhere", ROLES_PATH), 0);
	expect_broken("No such file");
	assert_int_equal(unlink(ROLES_PATH), 0);
	assert_int_equal(symlink("boss.roles", ROLES_PATH), 0);
	expect_broken("symbolic links");
	assert_int_equal(unlink(ROLES_PATH), 0);
	put("open.roles", good, len);
	assert_int_equal(chmod("open.roles", 0666), 0);
	assert_int_equal(symlink("../open.roles", ROLES_PATH), 0);
	expect_broken("can change what is trusted here");
	assert_int_equal(unlink(ROLES_PATH), 0);
	assert_int_equal(mkdir(ROLES_PATH, 0755), 0);
	expect_broken("not a regular file");
	assert_int_equal(rmdir(ROLES_PATH), 0);
	assert_int_equal(mkfifo(ROLES_PATH, 0644), 0);
	expect_broken("not a regular file");
}

static void a_key_has_its_roles_until_it_goes(void **state)
{
	struct public_key pk = public_of(AUTHORITY);
	const struct trusted *t;
	struct trust_list list;
	struct fault why;

	(void)state;
	trust_for(AUTHORITY, "boss", ROLE_VOUCH);
	assert_int_equal(only_entry(&list)->roles, ROLE_VOUCH);
	assert_int_equal(trust_add(&pk, "boss", ROLES_ALL, &why), ERR_EXISTS);
	trust_list_clear(&list);
	t = only_entry(&list);
	assert_int_equal(t->roles, ROLE_VOUCH); /* as it was */
	assert_int_equal(trust_set_roles(t, ROLE_REVOKE | ROLE_RECORD, &why), 0);
	trust_list_clear(&list);
	t = only_entry(&list);
	assert_int_equal(t->roles, ROLE_REVOKE | ROLE_RECORD);
	assert_int_equal(trust_set_roles(t, ROLE_RECORD, &why), 0);
	assert_int_equal(access(ROLES_PATH, F_OK), -1); /* none is needed for that */
	assert_int_equal(trust_set_roles(t, ROLES_ALL, &why), 0);
	assert_int_equal(trust_remove(t, &why), 0);
	assert_int_equal(access(ROLES_PATH, F_OK), -1);
	trust_list_clear(&list);
	/* What was left of a key that went another way goes to none that comes. */
	trust_for(AUTHORITY, "boss", ROLES_ALL);
	assert_int_equal(unlink("trust/boss.pub"), 0);
	trust_for(OTHER, "boss", ROLE_RECORD);
	assert_int_equal(only_entry(&list)->roles, ROLE_RECORD);
	trust_list_clear(&list);
	trust_for(OTHER, "again", ROLE_CUSTODY);
	pk = public_of(OTHER);
	assert_int_equal(trust_list_read(&list, &why), 0);
	assert_int_equal(trust_roles(&list, &pk), ROLE_RECORD | ROLE_CUSTODY); /* of all its names */
	trust_list_clear(&list);
}

static void a_stolen_host_key_makes_no_other_key_trusted(void **state)
{
	struct delegation d = make(HOST, OTHER, 0, UINT64_MAX);

	(void)state;
	make_capture(true);
	put_delegation("run.cap.delegation", &d);
	trust_for(OTHER, "hostA", ROLES_ALL & ~(unsigned)ROLE_VOUCH);
	expect(VERDICT_UNTRUSTED, TRUST_UNKNOWN,
	       "signed by the key 101010101010101, vouched for as \"node17\" by 303030303030303, trusted here without "
	       "the role vouch; to give it: gpukey trust --role record,vouch,revoke,custody hostA");
	assert_int_equal(unlink("trust/hostA.pub"), 0);
	trust_for(OTHER, "a-name-of-more-than-thirty-two-letters", ROLE_RECORD);
	expect(VERDICT_UNTRUSTED, TRUST_UNKNOWN, "gpukey trust --role record,vouch 303030303030303");
	trust_for(OTHER, "authority", ROLE_VOUCH);
	expect(VERDICT_OK, TRUST_DELEGATED, "");
}

static void a_key_that_may_only_vouch_records_nothing(void **state)
{
	struct delegation d = make(HOST, AUTHORITY, 0, UINT64_MAX);

	(void)state;
	make_capture(true);
	trust_for(HOST, "recorder", ROLES_ALL & ~(unsigned)ROLE_RECORD);
	expect(VERDICT_UNTRUSTED, TRUST_UNKNOWN,
	       "signed by the key 101010101010101 (recorder), trusted here without the role record; to give it: gpukey "
	       "trust --role record,vouch,revoke,custody recorder");
	/* Another one's word is as good for it as for any key. */
	trust_for(AUTHORITY, "boss", ROLE_VOUCH);
	put_delegation("run.cap.delegation", &d);
	expect(VERDICT_OK, TRUST_DELEGATED, "");
}

static void a_stolen_host_key_revokes_no_other(void **state)
{
	struct revocation item = of_key(HOST, 0);
	struct trust_list list;
	struct fault why;

	(void)state;
	make_capture(true);
	trust_key(HOST, "recorder");
	trust_for(OTHER, "hostA", ROLES_ALL & ~(unsigned)ROLE_REVOKE);
	put_revocations("thief.txt", OTHER, &item, 1);
	assert_int_equal(trust_list_read(&list, &why), 0);
	assert_int_equal(trust_add_revocations(&list, "thief.txt", "x", &why), ERR_KEY);
	assert_non_null(strstr(why.text, "without the role revoke; to give it: gpukey trust --role "
					 "record,vouch,revoke,custody hostA"));
	trust_list_clear(&list);
	expect(VERDICT_OK, TRUST_DIRECT, "");
	/* One that is in the store for all that, or from before there were roles, may name any key. */
	put_revocations("trust/x.revocations", OTHER, &item, 1);
	expect(VERDICT_UNTRUSTED, TRUST_BLIND,
	       "x.revocations is signed by a key without the role revoke; to give it: gpukey trust --role "
	       "record,vouch,revoke,custody hostA");
	trust_for(OTHER, "hostB", ROLE_REVOKE);
	expect(VERDICT_UNTRUSTED, TRUST_REVOKED, "which is revoked: lost it");
}

/* Whether the host is trusted with these files of --trust, and why not. */
static bool is_trusted(const char *const *files, size_t n, unsigned roles, struct fault *said)
{
	struct public_key pk = public_of(HOST);
	struct trust_sources s;
	struct trust_answer a;
	struct fault why;

	assert_int_equal(trust_sources_read(&s, files, n, NULL, 0, "run.cap", &why), 0);
	assert_int_equal(trust_ask(&s, &pk, roles, 1, 2, &a, &why), 0);
	trust_sources_clear(&s);
	*said = a.why;
	return a.trust >= TRUST_DIRECT;
}

static void put_public(const char *path, uint8_t seed)
{
	struct public_key pk = public_of(seed);
	char text[MINISIGN_PUBLIC_FILE_MAX];

	put(path, text, minisign_format_public(text, &pk));
}

static void keys_of_the_command_line_have_the_roles_that_it_says(void **state)
{
	static const struct {
		const char *files[2];
		unsigned roles;
		const char *said; /* NULL: trusted */
	} cases[] = {
		{{"host.pub"}, ROLE_RECORD, NULL},
		{{"host.pub"},
		 ROLE_CUSTODY,
		 "(host), trusted here without the role custody; to give it: --trust record,custody:FILE"},
		{{"custody:host.pub"}, ROLE_CUSTODY, NULL},
		{{"custody:host.pub"}, ROLE_RECORD, "without the role record; to give it: --trust record,custody:FILE"},
		{{"custody:host.pub", "host.pub"}, ROLE_RECORD, NULL},
		{{"boss.pub"}, ROLE_RECORD, "without the role vouch; to give it: --trust record,vouch:FILE"},
		{{"vouch:boss.pub"}, ROLE_RECORD, NULL},
		{{"vouch:boss.pub"}, ROLE_CUSTODY, "without the role custody; to give it: --trust vouch,custody:FILE"},
		{{"custody:boss.pub"}, ROLE_CUSTODY, "without the role vouch; to give it: --trust vouch,custody:FILE"},
		{{"vouch,custody:boss.pub"}, ROLE_CUSTODY, NULL},
		{{"vouch:boss.pub", "custody:host.pub"}, ROLE_CUSTODY, NULL},
		{{"vouch:boss.pub", "custody:host.pub"}, ROLE_RECORD, NULL},
	};
	struct delegation d = make(HOST, AUTHORITY, 0, UINT64_MAX);
	struct fault said;

	(void)state;
	put_delegation("run.cap.delegation", &d);
	put_public("host.pub", HOST);
	put_public("boss.pub", AUTHORITY);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool trusted = is_trusted(cases[i].files, cases[i].files[1] ? 2 : 1, cases[i].roles, &said);

		if (trusted != !cases[i].said)
			fail_msg("case %zu: trusted %d: %s", i, trusted, said.text);
		if (cases[i].said && !strstr(said.text, cases[i].said))
			fail_msg("case %zu: '%s' does not say '%s'", i, said.text, cases[i].said);
	}
}

#define IN_HOME(test) cmocka_unit_test_setup_teardown(test, make_home, remove_home)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(roles_are_words_in_one_order),
		IN_HOME(each_change_of_a_file_of_roles_is_refused),
		IN_HOME(words_that_are_no_roles_are_refused),
		IN_HOME(files_that_hold_no_roles_are_refused),
		IN_HOME(a_key_has_its_roles_until_it_goes),
		IN_HOME(a_stolen_host_key_makes_no_other_key_trusted),
		IN_HOME(a_key_that_may_only_vouch_records_nothing),
		IN_HOME(a_stolen_host_key_revokes_no_other),
		IN_HOME(keys_of_the_command_line_have_the_roles_that_it_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
