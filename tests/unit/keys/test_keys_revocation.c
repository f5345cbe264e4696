/* SPDX-License-Identifier: Apache-2.0 */
/* Revocation lists: their text, and what a capture's signer is worth by them. */
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/home.h"
#include "tests/unit/vouched.h"

static void a_list_survives_the_way_through_its_text(void **state)
{
	struct revocation items[] = {of_key(HOST, 0), of_key(OTHER, SAMPLE_WALL), {.is_delegation = true}}, later;
	struct revocations list = {0}, again = {0};
	struct fault why;
	char *text, *second;
	size_t len, n, i;

	(void)state;
	memset(items[2].hash, 0xa7, sizeof(items[2].hash));
	strcpy(items[2].reason, "wrong name");
	for (i = 0; i < 3; i++)
		assert_int_equal(revocations_add(&list, &items[i], &why), 0);
	later = of_key(HOST, SAMPLE_WALL);
	assert_int_equal(revocations_add(&list, &later, &why), 0); /* does not bring back what was revoked */
	assert_int_equal(list.n, 3);
	assert_int_equal(revocations_find_key(&list, &items[0].key)->since_ns, 0);
	text = revocations_format(&list, &len);
	assert_int_equal(revocations_parse(&again, text, len, &why), 0);
	second = revocations_format(&again, &n);
	assert_int_equal(n, len);
	assert_memory_equal(text, second, n);
	assert_int_equal(revocations_find_key(&again, &items[1].key)->since_ns, SAMPLE_WALL);
	assert_non_null(revocations_find_delegation(&again, items[2].hash));
	revocations_clear(&again);
	for (i = 0; i < len; i++) /* whole lines are a list; the signature shows that lines are missing */
		if (i < 21 || text[i - 1] != '\n') {
			char *cut = malloc(i + 1); /* what is behind the cut is no part of it */

			assert_non_null(cut);
			memcpy(cut, text, i);
			cut[i] = '\0';
			assert_int_equal(revocations_parse(&again, cut, i, &why), ERR_FORMAT);
			assert_non_null(strstr(why.text, i < 21 ? "its first line is not" : "cut off in line"));
			free(cut);
		}
	free(second);
	free(text);
	revocations_clear(&list);
}

static void lines_that_are_none_are_refused(void **state)
{
#define KEY "RWSAyORr13ivvoJT0Q1oDmsoXm/xvmZAJZldZuvAt/EVZRXYKVTafsV5"
	static const char *const bad[] = {
		"",
		"\n",
		"gpurec revocations 2\n",
		"gpurec revocations 1",
		"gpurec revocations 1\r\n",
		"gpurec revocations 1\n\n",
		"gpurec revocations 1\n" KEY "\n",
		"gpurec revocations 1\n" KEY " always\n",
		"gpurec revocations 1\n" KEY " always \n",
		"gpurec revocations 1\n" KEY " never x\n",
		"gpurec revocations 1\n" KEY " 2026-11-21 x\n",
		"gpurec revocations 1\n" KEY " 1970-01-01T00:00:00Z x\n",
		"gpurec revocations 1\n" KEY "  always x\n",
		"gpurec revocations 1\n " KEY " always x\n",
		"gpurec revocations 1\n" KEY " always x \n",
		"gpurec revocations 1\n" KEY " always x\x1b[0m\n",
		"gpurec revocations 1\nBEAF78D76BE4C880 always x\n",
		"gpurec revocations 1\ndelegation:00 always x\n",
		"gpurec revocations 1\ndelegation:"
		"ABCDEF0000000000000000000000000000000000000000000000000000000000 always x\n",
		"gpurec revocations 1\ndelegation:"
		"gh00000000000000000000000000000000000000000000000000000000000000 always x\n",
		"gpurec revocations 1\n" KEY " always x\n" KEY " always y\n",
	};
	struct revocations list = {0};
	struct fault why;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(revocations_parse(&list, bad[i], strlen(bad[i]), &why), ERR_FORMAT);
	assert_int_equal(revocations_parse(&list, "gpurec revocations 1\n" KEY " always x\n", 87, &why), 0);
	assert_int_equal(list.n, 1);
	revocations_clear(&list);
	assert_int_equal(revocations_parse(&list, "gpurec revocations 1\n", 21, &why), 0);
	revocations_clear(&list);
}

static void a_line_is_bounded_before_it_is_taken_apart(void **state)
{
	char text[512], *copy;
	struct revocations list = {0};
	struct fault why;
	size_t n;

	(void)state;
	/* A word longer than any key, hash or date; blanks that are missing; a NUL that would end a text early. */
	for (int word = 0; word < 2; word++) {
		n = (size_t)snprintf(text, sizeof(text), "gpurec revocations 1\n%s%0300d always x\n",
				     word ? KEY " " : "", 7);
		copy = malloc(n);
		assert_non_null(copy);
		memcpy(copy, text, n);
		assert_int_equal(revocations_parse(&list, copy, n, &why), ERR_FORMAT);
		free(copy);
	}
	n = (size_t)snprintf(text, sizeof(text), "gpurec revocations 1\n" KEY " always lost it\n");
	assert_int_equal(revocations_parse(&list, text, n, &why), 0);
	revocations_clear(&list);
	for (size_t at = strlen("gpurec revocations 1\n"); at < n - 1; at++) {
		char was = text[at];

		text[at] = '\0';
		assert_int_equal(revocations_parse(&list, text, n, &why), ERR_FORMAT);
		text[at] = was;
	}
}

static void a_list_takes_only_what_it_can_hold(void **state)
{
	struct revocation item = of_key(HOST, 0);
	struct revocations list = {0}, again = {0};
	struct fault why;
	char *text, *longer;
	size_t len;

	(void)state;
	item.reason[0] = '\n';
	assert_int_equal(revocations_add(&list, &item, &why), ERR_INPUT);
	assert_non_null(strstr(why.text, "the reason must be"));
	item = of_key(HOST, SAMPLE_WALL + 1);
	assert_int_equal(revocations_add(&list, &item, &why), ERR_INPUT);
	assert_non_null(strstr(why.text, "a full second"));
	assert_int_equal(list.n, 0);
	item = of_key(HOST, 0);
	for (uint32_t i = 0; i < REVOCATIONS_MAX; i++) {
		memcpy(item.key.key, &i, sizeof(i));
		assert_int_equal(revocations_add(&list, &item, &why), 0);
	}
	assert_int_equal(revocations_add(&list, &item, &why), 0); /* one that is there */
	text = revocations_format(&list, &len);
	assert_non_null(text);
	item.key.key[5] ^= 1;
	assert_int_equal(revocations_add(&list, &item, &why), ERR_INPUT);
	assert_int_equal(list.n, REVOCATIONS_MAX);
	revocations_clear(&list);
	assert_int_equal(revocations_parse(&again, text, len, &why), 0);
	assert_int_equal(again.n, REVOCATIONS_MAX);
	revocations_clear(&again);
	longer = malloc(len + sizeof(KEY " always x\n"));
	assert_non_null(longer);
	memcpy(longer, text, len);
	memcpy(longer + len, KEY " always x\n", strlen(KEY " always x\n"));
	assert_int_equal(revocations_parse(&again, longer, len + strlen(KEY " always x\n"), &why), ERR_INPUT);
	free(longer);
	free(text);
}

static void a_revoked_key_is_trusted_no_more(void **state)
{
	struct revocation item = of_key(HOST, 0);
	struct evidence e;
	struct fault why;

	(void)state;
	make_capture(true);
	trust_for(HOST, "recorder", ROLE_RECORD | ROLE_REVOKE);
	trust_key(AUTHORITY, "boss");
	/* Under another number it is the same key. */
	memset(item.key.keynum, 0x77, sizeof(item.key.keynum));
	put_revocations("trust/x.revocations", AUTHORITY, &item, 1);
	expect(VERDICT_UNTRUSTED, TRUST_REVOKED, "signed by the key 101010101010101, which is revoked: lost it");
	item.since_ns = SAMPLE_WALL + 3 * S;
	put_revocations("trust/x.revocations", AUTHORITY, &item, 1);
	expect(VERDICT_UNTRUSTED, TRUST_REVOKED, "revoked since 2023-11-14T22:13:23Z: lost it");
	item.since_ns = SAMPLE_WALL + 4 * S;
	put_revocations("trust/x.revocations", AUTHORITY, &item, 1);
	expect(VERDICT_OK, TRUST_DIRECT, "");
	assert_int_equal(evidence_judge(&e, "run.cap", &plain, &why), 0);
	assert_true(e.trust.revoked_later);
	assert_int_equal(e.trust.revoked_ns, item.since_ns);
	evidence_close(&e);
	/* The earliest of all lists counts. */
	item.since_ns = SAMPLE_WALL;
	put_revocations("trust/y.revocations", HOST, &item, 1);
	expect(VERDICT_UNTRUSTED, TRUST_REVOKED, "revoked since 2023-11-14T22:13:20Z");
}

static void a_revoked_authority_or_delegation_vouches_no_more(void **state)
{
	struct delegation d = make(HOST, AUTHORITY, 0, UINT64_MAX);
	struct revocation item = of_key(AUTHORITY, 0), hash = {.is_delegation = true, .reason = "wrong name"};

	(void)state;
	make_capture(true);
	trust_key(AUTHORITY, "boss");
	trust_key(OTHER, "auditor");
	put_delegation("run.cap.delegation", &d);
	expect(VERDICT_OK, TRUST_DELEGATED, "");
	put_revocations("trust/x.revocations", OTHER, &item, 1);
	expect(VERDICT_UNTRUSTED, TRUST_UNKNOWN, "by 202020202020202, whose key is revoked: lost it");
	memcpy(hash.hash, d.hash, sizeof(hash.hash));
	put_revocations("trust/x.revocations", OTHER, &hash, 1);
	expect(VERDICT_UNTRUSTED, TRUST_UNKNOWN, "but that delegation is revoked: wrong name");
	item = of_key(HOST, 0);
	put_revocations("trust/x.revocations", OTHER, &item, 1);
	expect(VERDICT_UNTRUSTED, TRUST_REVOKED, "which is revoked: lost it");
}

static void a_list_that_cannot_be_believed_blinds(void **state)
{
	struct revocation item = of_key(OTHER, 0);

	(void)state;
	make_capture(true);
	trust_for(HOST, "recorder", ROLE_RECORD | ROLE_REVOKE);
	put_revocations("trust/x.revocations", HOST, &item, 1);
	expect(VERDICT_OK, TRUST_DIRECT, "");
	put("trust/x.revocations", "gpurec revocations 1\n", 21); /* a line taken out */
	expect(VERDICT_UNTRUSTED, TRUST_BLIND, "nothing is trusted here while a revocation list cannot be believed");
	put_revocations("trust/x.revocations", AUTHORITY, &item, 1); /* signed by nobody's key */
	expect(VERDICT_UNTRUSTED, TRUST_BLIND, "signed by none of the trusted keys");
	put("trust/x.revocations", "junk\n", 5);
	expect(VERDICT_UNTRUSTED, TRUST_BLIND, "nothing is trusted here");
	put_revocations("trust/x.revocations", HOST, &item, 1);
	assert_int_equal(unlink("trust/x.revocations.minisig"), 0);
	expect(VERDICT_UNTRUSTED, TRUST_BLIND, "x.revocations.minisig");
	put_revocations("trust/x.revocations", HOST, &item, 1);
	assert_int_equal(chmod("trust/x.revocations", 0666), 0);
	expect(VERDICT_UNTRUSTED, TRUST_BLIND, "anybody can change");
	assert_int_equal(unlink("trust/x.revocations"), 0);
	expect(VERDICT_OK, TRUST_DIRECT, "");
}

static void an_older_list_does_not_replace_a_newer_one(void **state)
{
	struct revocation items[] = {of_key(OTHER, 0), of_key(4, SAMPLE_WALL)};
	struct trust_list list;
	struct fault why;

	(void)state;
	trust_key(AUTHORITY, "boss");
	trust_for(HOST, "recorder", ROLE_RECORD | ROLE_REVOKE);
	put_revocations("old.txt", AUTHORITY, items, 1);
	put_revocations("new.txt", AUTHORITY, items, 2);
	put_revocations("other.txt", HOST, items, 2);
	items[1].since_ns += S;
	put_revocations("later.txt", AUTHORITY, items, 2);
	put_revocations("stranger.txt", 5, items, 2);
	assert_int_equal(trust_list_read(&list, &why), 0);
	assert_int_equal(trust_add_revocations(&list, "stranger.txt", "x", &why), ERR_KEY);
	assert_int_equal(trust_add_revocations(&list, "old.txt", "x", &why), 0);
	trust_list_clear(&list);
	assert_int_equal(trust_list_read(&list, &why), 0);
	assert_int_equal(trust_add_revocations(&list, "new.txt", "x", &why), 0);
	trust_list_clear(&list);
	assert_int_equal(trust_list_read(&list, &why), 0);
	assert_int_equal(list.nlists, 1);
	assert_int_equal(list.lists[0].list.n, 2);
	assert_int_equal(trust_add_revocations(&list, "old.txt", "x", &why), ERR_EXISTS);
	assert_int_equal(trust_add_revocations(&list, "later.txt", "x", &why), ERR_EXISTS);
	assert_int_equal(trust_add_revocations(&list, "other.txt", "x", &why), ERR_EXISTS);
	trust_list_clear(&list);
}

#define IN_HOME(test) cmocka_unit_test_setup_teardown(test, make_home, remove_home)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_survives_the_way_through_its_text),
		cmocka_unit_test(lines_that_are_none_are_refused),
		cmocka_unit_test(a_line_is_bounded_before_it_is_taken_apart),
		cmocka_unit_test(a_list_takes_only_what_it_can_hold),
		IN_HOME(a_revoked_key_is_trusted_no_more),
		IN_HOME(a_revoked_authority_or_delegation_vouches_no_more),
		IN_HOME(a_list_that_cannot_be_believed_blinds),
		IN_HOME(an_older_list_does_not_replace_a_newer_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
