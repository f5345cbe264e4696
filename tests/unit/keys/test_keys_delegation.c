/* SPDX-License-Identifier: Apache-2.0 */
/* Delegations: their bytes, and what a capture's signer is worth by them. */
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "keys/plain_text.h"
#include "tests/unit/home.h"
#include "tests/unit/sign_as.h"
#include "tests/unit/vouched.h"

/* The bytes of a delegation file, and back. Returns what delegation_parse() does with them. */
static size_t raw_of(uint8_t raw[256], const struct delegation *d)
{
	char text[DELEGATION_FILE_MAX];
	size_t len = delegation_format(text, d), n;
	const char *line = strchr(text, '\n') + 1;

	assert_int_equal(sodium_base642bin(raw, 256, line, len - (size_t)(line - text) - 1, NULL, &n, NULL,
					   sodium_base64_VARIANT_ORIGINAL),
			 0);
	return n;
}

static int parse_raw(struct delegation *d, const uint8_t *raw, size_t n, struct fault *why)
{
	char text[1024];
	size_t len = (size_t)snprintf(text, sizeof(text), "untrusted comment: x\n");

	sodium_bin2base64(text + len, sizeof(text) - len, raw, n, sodium_base64_VARIANT_ORIGINAL);
	return delegation_parse(d, text, strlen(text), why);
}

/* Sign whatever is in raw anew, as delegation_make() would. */
static void sign_raw(uint8_t *raw, size_t n, uint8_t seed)
{
	static const char domain[DOMAIN_BYTES] = "gpurec.deleg.1";
	struct identity id = sample_identity(seed);
	uint8_t hash[HASH_BYTES];

	crypt_hash(hash, domain, raw, n - SIGNATURE_BYTES);
	sign_as(raw[2] == 1 ? 0 : FEATURE_PREHASHED, raw + n - SIGNATURE_BYTES, domain, hash, id.secret_key);
}

/* --- its bytes --- */

static void a_delegation_survives_the_way_through_its_file(void **state)
{
	struct delegation d = make(HOST, AUTHORITY, 5 * S, 9 * S), again;
	char text[DELEGATION_FILE_MAX], second[DELEGATION_FILE_MAX];
	struct fault why;
	size_t len = delegation_format(text, &d);

	(void)state;
	assert_true(delegation_is_meant(text, len));
	assert_int_equal(delegation_parse(&again, text, len, &why), 0);
	assert_true(key_equal(&again.host, &d.host) && key_equal(&again.authority, &d.authority));
	assert_int_equal(again.from_ns, 5 * S);
	assert_int_equal(again.until_ns, 9 * S);
	assert_string_equal(again.name, "node17");
	assert_memory_equal(again.hash, d.hash, sizeof(d.hash));
	assert_int_equal(delegation_format(second, &again), len);
	assert_memory_equal(text, second, len);
	assert_int_equal(delegation_parse(&again, text, len - 1, &why), 0); /* the last newline may be missing */
}

static void no_flipped_bit_of_a_delegation_passes(void **state)
{
	struct delegation d = make(HOST, AUTHORITY, 5 * S, 9 * S), out;
	uint8_t raw[256];
	size_t n = raw_of(raw, &d), bit;
	struct fault why;
	int r;

	(void)state;
	for (bit = 0; bit < 8 * n; bit++) {
		raw[bit / 8] ^= (uint8_t)(1u << bit % 8);
		memset(&out, 0x5a, sizeof(out));
		r = parse_raw(&out, raw, n, &why);
		assert_true(r == ERR_KEY || r == ERR_FORGED);
		assert_int_equal(*(uint8_t *)&out, 0x5a); /* untouched on failure */
		raw[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	assert_int_equal(parse_raw(&out, raw, n, &why), 0);
}

/* What the authority signed elsewhere, a file of 48 bytes, is no delegation; what versions before signed so still is.
 */
static void a_plain_signature_makes_a_delegation_of_version_1_only(void **state)
{
	struct delegation d = make(HOST, AUTHORITY, 5 * S, 9 * S), out;
	static const char domain[DOMAIN_BYTES] = "gpurec.deleg.1";
	struct identity id = sample_identity(AUTHORITY);
	uint8_t raw[256], hash[HASH_BYTES];
	char text[DELEGATION_FILE_MAX];
	size_t n = raw_of(raw, &d);
	struct fault why;

	(void)state;
	assert_int_equal(raw[2], 2);
	crypt_hash(hash, domain, raw, n - SIGNATURE_BYTES);
	sign_as(0, raw + n - SIGNATURE_BYTES, domain, hash, id.secret_key);
	assert_int_equal(parse_raw(&out, raw, n, &why), ERR_FORGED);
	raw[2] = 1;
	sign_raw(raw, n, AUTHORITY);
	assert_int_equal(parse_raw(&out, raw, n, &why), 0);
	assert_int_equal(out.version, 1);
	delegation_format(text, &out);
	assert_int_equal(delegation_parse(&out, text, strlen(text), &why), 0); /* written as it was */
	crypt_hash(hash, domain, raw, n - SIGNATURE_BYTES);
	crypt_sign(raw + n - SIGNATURE_BYTES, domain, hash, id.secret_key);
	assert_int_equal(parse_raw(&out, raw, n, &why), ERR_FORGED);
}

static void no_cut_and_no_addition_passes(void **state)
{
	struct delegation d = make(HOST, AUTHORITY, 5 * S, 9 * S), out;
	char text[DELEGATION_FILE_MAX + 8];
	uint8_t raw[256] = {0};
	size_t n = raw_of(raw, &d), len, i;
	struct fault why;

	(void)state;
	for (i = 0; i < n; i++)
		assert_int_equal(parse_raw(&out, raw, i, &why), ERR_KEY);
	assert_int_equal(parse_raw(&out, raw, n + 1, &why), ERR_KEY);
	len = delegation_format(text, &d);
	for (i = 0; i < len - 1; i++)
		assert_true(delegation_parse(&out, text, i, &why) < 0);
	text[len] = '\n';
	assert_int_equal(delegation_parse(&out, text, len + 1, &why), ERR_KEY);
	text[len] = 'A';
	assert_int_equal(delegation_parse(&out, text, len + 1, &why), ERR_KEY);
	text[3] = '\0';
	assert_int_equal(delegation_parse(&out, text, len, &why), ERR_KEY);
}

/* Text in memory that ends where it does, so that a read behind it is seen. */
static int parse_exact(const char *text, size_t len, struct fault *why)
{
	char *copy = malloc(len ? len : 1);
	struct delegation out;
	int r;

	assert_non_null(copy);
	memcpy(copy, text, len);
	r = delegation_parse(&out, copy, len, why);
	free(copy);
	return r;
}

static void the_lines_of_a_delegation_are_written_in_one_way(void **state)
{
	struct delegation d = make(HOST, AUTHORITY, 5 * S, 9 * S), out;
	char text[DELEGATION_FILE_MAX], longer[4096];
	size_t len = delegation_format(text, &d), first = (size_t)(strchr(text, '\n') - text), i;
	uint8_t raw[2] = {'g', 'D'};
	struct fault why;

	(void)state;
	assert_int_equal(parse_exact(text, len, &why), 0);
	for (i = 0; i < len - 1; i++)
		assert_true(parse_exact(text, i, &why) < 0);
	for (i = 0; i < strlen("untrusted comment: "); i++) {
		text[i] ^= 1;
		assert_int_equal(parse_exact(text, len, &why), ERR_KEY);
		assert_non_null(strstr(why.text, "no line \"untrusted comment: ...\""));
		text[i] ^= 1;
	}
	text[first - 1] ^= 1; /* the rest of the comment is anybody's, but for a NUL */
	assert_int_equal(parse_exact(text, len, &why), 0);
	text[first - 1] = '\0';
	assert_int_equal(parse_exact(text, len, &why), ERR_KEY);
	text[first - 1] = 'x';
	/* A comment of 1024 bytes is the longest. */
	for (size_t n = 1024; n <= 1025; n++) {
		i = (size_t)snprintf(longer, sizeof(longer), "untrusted comment: %0*d", (int)n, 7);
		memcpy(longer + i, text + first, len - first);
		assert_int_equal(parse_exact(longer, i + len - first, &why), n == 1024 ? 0 : ERR_KEY);
	}
	/* Some decoders take characters beyond 127 for letters. */
	for (i = first + 1; i < len - 1; i++) {
		char was = text[i];

		for (int c = 128; c < 256; c++) {
			text[i] = (char)c;
			assert_int_equal(parse_exact(text, len, &why), ERR_KEY);
		}
		text[i] = was;
	}
	assert_int_equal(parse_raw(&out, raw, 2, &why), ERR_KEY);
	assert_non_null(strstr(why.text, "does not begin like one"));
}

static void a_file_is_meant_as_a_delegation_by_how_its_second_line_begins(void **state)
{
	static const struct {
		const char *text;
		bool meant;
	} cases[] = {{"", false},      {"Z0Q", false},   {"x", false},       {"x\n", false},
		     {"x\nZ", false},  {"x\nZ0", false}, {"x\nZ0R", false},  {"x\nRWQ", false},
		     {"x\nZ0Q", true}, {"\nZ0QB", true}, {"x\n\nZ0Q", false}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t n = strlen(cases[i].text);
		char *copy = malloc(n ? n : 1);

		assert_non_null(copy);
		memcpy(copy, cases[i].text, n);
		assert_int_equal(delegation_is_meant(copy, n), cases[i].meant);
		free(copy);
	}
}

static void fields_that_break_the_rules_are_refused_although_signed(void **state)
{
	static const struct {
		size_t at;
		uint8_t value;
	} wrong[] = {{0, 'E'},   {2, 0},     {2, 3},     {99, 0},     {99, 5},  {99, 7},     {99, 255},   {100, '\n'},
		     {100, ' '}, {105, ' '}, {101, '"'}, {101, '\\'}, {101, 0}, {101, 0x1b}, {101, 0xff}, {101, 0x80}};
	struct delegation d = make(HOST, AUTHORITY, 5 * S, 9 * S), out;
	uint8_t raw[256];
	size_t n, i;
	struct fault why;

	(void)state;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		n = raw_of(raw, &d);
		raw[wrong[i].at] = wrong[i].value;
		sign_raw(raw, n, AUTHORITY);
		assert_int_equal(parse_raw(&out, raw, n, &why), ERR_KEY);
	}
	n = raw_of(raw, &d);
	memcpy(raw + 91, raw + 83, 8); /* until = from: no moment lies between */
	sign_raw(raw, n, AUTHORITY);
	assert_int_equal(parse_raw(&out, raw, n, &why), ERR_KEY);
}

static void what_another_key_signed_is_forged(void **state)
{
	struct delegation d = make(HOST, AUTHORITY, 5 * S, 9 * S), out;
	uint8_t raw[256];
	size_t n = raw_of(raw, &d);
	struct fault why;

	(void)state;
	raw[91 + 5] ^= 0xff; /* a longer interval */
	assert_int_equal(parse_raw(&out, raw, n, &why), ERR_FORGED);
	sign_raw(raw, n, OTHER);
	assert_int_equal(parse_raw(&out, raw, n, &why), ERR_FORGED);
	sign_raw(raw, n, AUTHORITY); /* only the authority can */
	assert_int_equal(parse_raw(&out, raw, n, &why), 0);
	n = raw_of(raw, &d);
	memset(raw + n - SIGNATURE_BYTES, 0, SIGNATURE_BYTES);
	assert_int_equal(parse_raw(&out, raw, n, &why), ERR_FORGED);
}

static void a_name_must_be_plain_text(void **state)
{
	static const char *const bad[] = {"",
					  " a",
					  "a ",
					  "a\nb",
					  "a\x1b[31m",
					  "a\"b",
					  "a\\b",
					  "a\xff",
					  ("a\xe2\x80\xae"
					   "b")};
	struct identity id = sample_identity(AUTHORITY);
	struct public_key pk = public_of(HOST);
	char longest[DELEGATION_NAME_MAX + 2];
	struct delegation d, again;
	struct fault why;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(delegation_make(&d, &pk, bad[i], 1, 2, &id, &why), ERR_INPUT);
	memset(longest, 'x', sizeof(longest));
	longest[DELEGATION_NAME_MAX + 1] = '\0';
	assert_int_equal(delegation_make(&d, &pk, longest, 1, 2, &id, &why), ERR_INPUT);
	longest[DELEGATION_NAME_MAX] = '\0';
	assert_int_equal(delegation_make(&d, &pk, longest, 1, UINT64_MAX, &id, &why), 0);
	{
		uint8_t raw[256];
		size_t n = raw_of(raw, &d);

		assert_int_equal(parse_raw(&again, raw, n, &why), 0);
		assert_string_equal(again.name, longest);
	}
	assert_int_equal(delegation_make(&d, &pk, "K\xc3\xb6ln 7", 1, 2, &id, &why), 0);
	assert_int_equal(delegation_make(&d, &pk, "a", 2, 2, &id, &why), ERR_INPUT);
}

static void dates_are_read_in_one_way(void **state)
{
	static const char *const bad[] = {"",
					  "2026",
					  "2026-11-21T10:00Z",
					  "2026-02-30",
					  "2026-13-01",
					  "1969-12-31",
					  "2554-07-21T23:34:34Z",
					  "2555-01-01",
					  "2026-11-21T24:00:00Z",
					  "2026-11-21T10:00:60Z",
					  " 2026-11-21",
					  "2026-11-21Z",
					  "2026-11-2\xb2"};
	char text[DATE_CHARS + 1];
	struct fault why;
	uint64_t ns = 0;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(date_parse(&ns, bad[i], &why), ERR_INPUT);
	assert_int_equal(date_parse(&ns, "2023-11-14T22:13:20Z", &why), 0);
	assert_int_equal(ns, SAMPLE_WALL);
	assert_string_equal(date_format(text, ns), "2023-11-14T22:13:20Z");
	assert_int_equal(date_parse(&ns, "2554-07-21T23:34:33Z", &why), 0);
	assert_int_equal(date_parse(&ns, "1970-01-02", &why), 0);
	assert_int_equal(ns, 86400 * S);
}

/* --- what a capture's signer is worth --- */

static void a_host_is_trusted_through_a_trusted_authority_alone(void **state)
{
	struct delegation d = make(HOST, AUTHORITY, SAMPLE_WALL, SAMPLE_WALL + 4 * S);
	char sentence[512];
	struct evidence e;
	struct fault why;

	(void)state;
	make_capture(true);
	expect(VERDICT_UNTRUSTED, TRUST_UNKNOWN, "which is not trusted on this machine");
	put_delegation("run.cap.delegation", &d);
	expect(VERDICT_UNTRUSTED, TRUST_UNKNOWN, "vouched for as \"node17\" by the key 202020202020202, which is");
	trust_key(AUTHORITY, "boss");
	expect(VERDICT_OK, TRUST_DELEGATED, "");
	assert_int_equal(evidence_judge(&e, "run.cap", &plain, &why), 0);
	assert_string_equal(e.signer_name, "node17");
	assert_string_equal(e.trust.authority_name, "boss");
	evidence_sentence(&e, sentence, sizeof(sentence));
	assert_string_equal(sentence, "OK, signed by 101010101010101 (node17, vouched for by 202020202020202 until "
				      "2023-11-14T22:13:24Z)");
	evidence_close(&e);
	/* From the store, and named on the command line, it is the same. */
	assert_int_equal(unlink("run.cap.delegation"), 0);
	expect(VERDICT_UNTRUSTED, TRUST_UNKNOWN, "which is not trusted on this machine");
	assert_int_equal(trust_add_delegation(&d, "node17", &why), 0);
	expect(VERDICT_OK, TRUST_DELEGATED, "");
	trust_key(HOST, "myself");
	expect(VERDICT_OK, TRUST_DIRECT, "");
}

static void the_whole_capture_must_lie_in_the_interval(void **state)
{
	static const struct {
		uint64_t from_ns, until_ns;
		const char *said; /* NULL: trusted */
	} cases[] = {
		{SAMPLE_WALL, SAMPLE_WALL + 3 * S + 1, NULL},
		{SAMPLE_WALL, SAMPLE_WALL + 3 * S, "only until 2023-11-14T22:13:23Z"},
		{SAMPLE_WALL + 1, SAMPLE_WALL + 4 * S, "only from"},
		{0, UINT64_MAX, NULL},
		{SAMPLE_WALL + S, SAMPLE_WALL + 2 * S, "only from"},
		{0, 1, "only until"},
		{UINT64_MAX - 1, UINT64_MAX, "only from"},
	};
	struct delegation d;
	size_t i;

	(void)state;
	trust_key(AUTHORITY, "boss");
	for (i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
		make_capture(i % 2);
		d = make(HOST, AUTHORITY, cases[i / 2].from_ns, cases[i / 2].until_ns);
		put_delegation("run.cap.delegation", &d);
		if (cases[i / 2].said)
			expect(VERDICT_UNTRUSTED, TRUST_UNKNOWN, cases[i / 2].said);
		else
			expect(i % 2 ? VERDICT_OK : VERDICT_UNSEALED, TRUST_DELEGATED, "");
	}
}

static void one_good_delegation_of_several_does(void **state)
{
	struct delegation early = make(HOST, AUTHORITY, 1, 2), good = make(HOST, AUTHORITY, 1, UINT64_MAX);
	struct fault why;

	(void)state;
	make_capture(true);
	trust_key(AUTHORITY, "boss");
	put("run.cap.delegation", "junk\n", 5);
	assert_int_equal(trust_add_delegation(&early, "a", &why), 0);
	expect(VERDICT_UNTRUSTED, TRUST_UNKNOWN, "only until");
	assert_int_equal(trust_add_delegation(&good, "b", &why), 0);
	expect(VERDICT_OK, TRUST_DELEGATED, "");
}

/* Of several that are no use, the sentence is about the one that was nearest to it, wherever it stands. */
static void the_sentence_is_about_the_delegation_that_came_farthest(void **state)
{
	static const char *const names[] = {"stranger.delegation", "late.delegation", "revoked.delegation"};
	static const char *const said[] = {"by the key 303030303030303, which is not trusted on this machine",
					   "only until", "but that delegation is revoked: wrong name"};
	static const unsigned farthest[] = {1, 1, 2}; /* of each pair: 0 and 1, 1 and 2, 0 and 2 */
	struct delegation d[] = {make(HOST, OTHER, 0, UINT64_MAX), make(HOST, AUTHORITY, 1, 2),
				 make(HOST, AUTHORITY, 1, UINT64_MAX)};
	struct revocation hash = {.is_delegation = true, .reason = "wrong name"};

	(void)state;
	make_capture(true);
	trust_key(AUTHORITY, "boss");
	memcpy(hash.hash, d[2].hash, sizeof(hash.hash));
	put_revocations("trust/x.revocations", AUTHORITY, &hash, 1);
	for (unsigned i = 0; i < 3; i++)
		put_delegation(names[i], &d[i]);
	for (unsigned pair = 0; pair < 6; pair++) {
		unsigned a = pair / 2 == 1 ? 1 : 0, b = pair / 2 == 0 ? 1 : 2;
		const char *const files[] = {names[pair % 2 ? b : a], names[pair % 2 ? a : b]};
		const struct evidence_options o = {.nthreads = 1, .delegation_files = files, .ndelegation_files = 2};
		struct evidence e;
		struct fault why;

		assert_int_equal(evidence_judge(&e, "run.cap", &o, &why), 0);
		assert_int_equal(e.verification.verdict, VERDICT_UNTRUSTED);
		if (!strstr(e.verification.why.text, said[farthest[pair / 2]]))
			fail_msg("'%s' does not say '%s'", e.verification.why.text, said[farthest[pair / 2]]);
		evidence_close(&e);
	}
}

static void a_key_with_the_same_number_is_another_key(void **state)
{
	struct identity id = sample_identity(AUTHORITY), liar = sample_identity(OTHER);
	struct public_key pk = public_of(OTHER);
	struct delegation d;
	struct fault why;

	(void)state;
	make_capture(true);
	trust_key(AUTHORITY, "boss");
	/* Another host key with the signer's number. */
	memset(pk.keynum, HOST, sizeof(pk.keynum));
	assert_int_equal(delegation_make(&d, &pk, "node17", 0, UINT64_MAX, &id, &why), 0);
	put_delegation("run.cap.delegation", &d);
	expect(VERDICT_UNTRUSTED, TRUST_UNKNOWN, "which is not trusted on this machine");
	/* Another authority with the trusted one's number. */
	pk = public_of(HOST);
	memset(liar.keynum, AUTHORITY, sizeof(liar.keynum));
	assert_int_equal(delegation_make(&d, &pk, "node17", 0, UINT64_MAX, &liar, &why), 0);
	put_delegation("run.cap.delegation", &d);
	expect(VERDICT_UNTRUSTED, TRUST_UNKNOWN, "which is not trusted on this machine");
}

static void who_is_vouched_for_cannot_vouch(void **state)
{
	struct delegation first = make(OTHER, AUTHORITY, 0, UINT64_MAX), second = make(HOST, OTHER, 0, UINT64_MAX);
	struct fault why;

	(void)state;
	make_capture(true);
	trust_key(AUTHORITY, "boss");
	assert_int_equal(trust_add_delegation(&first, "first", &why), 0);
	assert_int_equal(trust_add_delegation(&second, "second", &why), 0);
	expect(VERDICT_UNTRUSTED, TRUST_UNKNOWN, "by the key 303030303030303, which is not trusted on this machine");
}

static void a_forged_delegation_says_so(void **state)
{
	struct delegation d = make(HOST, AUTHORITY, 0, UINT64_MAX);

	(void)state;
	make_capture(true);
	trust_key(AUTHORITY, "boss");
	d.signature[7] ^= 1;
	put_delegation("run.cap.delegation", &d);
	expect(VERDICT_UNTRUSTED, TRUST_UNKNOWN, "run.cap.delegation: a forged delegation");
	put("run.cap.delegation", "junk\n", 5);
	expect(VERDICT_UNTRUSTED, TRUST_UNKNOWN, "run.cap.delegation: not a delegation");
	assert_int_equal(unlink("run.cap.delegation"), 0);
	put_delegation("trust/forged.delegation", &d);
	expect(VERDICT_UNTRUSTED, TRUST_UNKNOWN, "forged.delegation: a forged delegation");
}

static void a_delegation_on_the_command_line_that_is_none_is_an_error(void **state)
{
	static const char *const files[] = {"given.delegation"};
	const struct evidence_options o = {.nthreads = 1, .delegation_files = files, .ndelegation_files = 1};
	struct delegation d = make(HOST, AUTHORITY, 0, UINT64_MAX);
	struct evidence e;
	struct fault why;

	(void)state;
	make_capture(true);
	trust_key(AUTHORITY, "boss");
	assert_int_equal(evidence_judge(&e, "run.cap", &o, &why), ERR_IO);
	evidence_close(&e);
	put("given.delegation", "junk\n", 5);
	assert_int_equal(evidence_judge(&e, "run.cap", &o, &why), ERR_KEY);
	assert_non_null(strstr(why.text, "given.delegation"));
	evidence_close(&e);
	put_delegation("given.delegation", &d);
	assert_int_equal(evidence_judge(&e, "run.cap", &o, &why), 0);
	assert_int_equal(e.verification.verdict, VERDICT_OK);
	evidence_close(&e);
}

#define IN_HOME(test) cmocka_unit_test_setup_teardown(test, make_home, remove_home)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_delegation_survives_the_way_through_its_file),
		cmocka_unit_test(no_flipped_bit_of_a_delegation_passes),
		cmocka_unit_test(a_plain_signature_makes_a_delegation_of_version_1_only),
		cmocka_unit_test(no_cut_and_no_addition_passes),
		cmocka_unit_test(the_lines_of_a_delegation_are_written_in_one_way),
		cmocka_unit_test(a_file_is_meant_as_a_delegation_by_how_its_second_line_begins),
		cmocka_unit_test(fields_that_break_the_rules_are_refused_although_signed),
		cmocka_unit_test(what_another_key_signed_is_forged),
		cmocka_unit_test(a_name_must_be_plain_text),
		cmocka_unit_test(dates_are_read_in_one_way),
		IN_HOME(a_host_is_trusted_through_a_trusted_authority_alone),
		IN_HOME(the_whole_capture_must_lie_in_the_interval),
		IN_HOME(one_good_delegation_of_several_does),
		IN_HOME(the_sentence_is_about_the_delegation_that_came_farthest),
		IN_HOME(a_key_with_the_same_number_is_another_key),
		IN_HOME(who_is_vouched_for_cannot_vouch),
		IN_HOME(a_forged_delegation_says_so),
		IN_HOME(a_delegation_on_the_command_line_that_is_none_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
