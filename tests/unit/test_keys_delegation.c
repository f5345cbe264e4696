/* SPDX-License-Identifier: Apache-2.0 */
/* Delegations and revocations: their bytes, and what a capture's signer is worth by them. */
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "keys/evidence.h"
#include "keys/files.h"
#include "keys/plain.h"
#include "tests/unit/home.h"
#include "tests/unit/sample.h"

#define S SAMPLE_SECOND
#define HOST 1 /* signs the samples */
#define AUTHORITY 2
#define OTHER 3

static const struct evidence_options plain = {.nthreads = 1};

static void put(const char *path, const void *bytes, size_t len)
{
	struct fault why;

	assert_int_equal(file_make(path, 0644, true, bytes, len, &why), 0);
}

static struct public_key public_of(uint8_t seed)
{
	struct identity id = sample_identity(seed);
	struct public_key pk;

	key_of_identity(&pk, &id);
	return pk;
}

static struct delegation make(uint8_t host, uint8_t authority, uint64_t from_ns, uint64_t until_ns)
{
	struct identity id = sample_identity(authority);
	struct public_key pk = public_of(host);
	struct delegation d;
	struct fault why;

	assert_int_equal(delegation_make(&d, &pk, "node17", from_ns, until_ns, &id, &why), 0);
	return d;
}

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

/* Sign whatever stands in raw anew, as delegation_make() would. */
static void sign_raw(uint8_t *raw, size_t n, uint8_t seed)
{
	static const char domain[DOMAIN_BYTES] = "gpurec.deleg.1";
	struct identity id = sample_identity(seed);
	uint8_t hash[HASH_BYTES];

	crypt_hash(hash, domain, raw, n - SIGNATURE_BYTES);
	crypt_sign(raw + n - SIGNATURE_BYTES, domain, hash, id.secret_key);
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
	} wrong[] = {{0, 'E'},   {2, 0},     {2, 2},     {99, 0},     {99, 5},  {99, 7},     {99, 255},   {100, '\n'},
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
					  "2554-01-01",
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
	assert_int_equal(date_parse(&ns, "1970-01-02", &why), 0);
	assert_int_equal(ns, 86400 * S);
}

/* --- what a capture's signer is worth --- */

/* run.cap: three epochs from SAMPLE_WALL on, signed by HOST: its clock reads SAMPLE_WALL to SAMPLE_WALL + 3 s. */
static void make_capture(bool end)
{
	struct memory_sink m = {0};

	assert_int_equal(sample_write(&m, 3, end), 0);
	put("run.cap", m.bytes.data, m.bytes.len);
	bytes_free(&m.bytes);
}

static void trust_key(uint8_t seed, const char *name)
{
	struct public_key pk = public_of(seed);
	struct fault why;

	assert_int_equal(trust_add(&pk, name, &why), 0);
}

static void put_delegation(const char *path, const struct delegation *d)
{
	char text[DELEGATION_FILE_MAX];

	put(path, text, delegation_format(text, d));
}

static struct revocation of_key(uint8_t seed, uint64_t since_ns)
{
	struct revocation item = {.key = public_of(seed), .since_ns = since_ns};

	strcpy(item.reason, "lost it");
	return item;
}

static void put_revocations(const char *path, uint8_t signer, const struct revocation *items, size_t n)
{
	struct identity id = sample_identity(signer);
	struct revocations list = {0};
	struct fault why;

	for (size_t i = 0; i < n; i++)
		assert_int_equal(revocations_add(&list, &items[i], &why), 0);
	assert_int_equal(revocations_write(&list, path, true, &id, &why), 0);
	revocations_clear(&list);
}

static void expect(enum verdict verdict, enum trust trust, const char *said)
{
	struct evidence e;
	struct fault why = {0};

	assert_int_equal(evidence_judge(&e, "run.cap", &plain, &why), 0);
	assert_int_equal(e.verification.verdict, verdict);
	assert_int_equal(e.trust.trust, trust);
	if (!strstr(e.verification.why.text, said))
		fail_msg("'%s' does not say '%s'", e.verification.why.text, said);
	assert_int_equal(e.signer_name[0] != '\0', trust >= TRUST_DIRECT);
	evidence_close(&e);
}

static void a_host_is_trusted_through_a_trusted_authority_alone(void **state)
{
	struct delegation d = make(HOST, AUTHORITY, SAMPLE_WALL, SAMPLE_WALL + 4 * S);
	char sentence[512];
	struct evidence e;
	struct fault why;

	(void)state;
	make_capture(true);
	expect(VERDICT_UNTRUSTED, TRUST_UNKNOWN, "which nothing here trusts");
	put_delegation("run.cap.delegation", &d);
	expect(VERDICT_UNTRUSTED, TRUST_UNKNOWN, "vouched for as \"node17\" by the key 202020202020202, which nothing");
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
	expect(VERDICT_UNTRUSTED, TRUST_UNKNOWN, "which nothing here trusts");
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
	static const char *const said[] = {"by the key 303030303030303, which nothing here trusts", "only until",
					   "but that delegation is revoked: wrong name"};
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
	expect(VERDICT_UNTRUSTED, TRUST_UNKNOWN, "which nothing here trusts");
	/* Another authority with the trusted one's number. */
	pk = public_of(HOST);
	memset(liar.keynum, AUTHORITY, sizeof(liar.keynum));
	assert_int_equal(delegation_make(&d, &pk, "node17", 0, UINT64_MAX, &liar, &why), 0);
	put_delegation("run.cap.delegation", &d);
	expect(VERDICT_UNTRUSTED, TRUST_UNKNOWN, "which nothing here trusts");
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
	expect(VERDICT_UNTRUSTED, TRUST_UNKNOWN, "by the key 303030303030303, which nothing here trusts");
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

/* --- revocations --- */

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
	for (i = 0; i < len; i++) /* whole lines are a list; the signature tells that lines are missing */
		if (i < 21 || text[i - 1] != '\n') {
			char *cut = malloc(i + 1); /* what stands behind the cut is no part of it */

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
	trust_key(HOST, "recorder");
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
	trust_key(HOST, "recorder");
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
	trust_key(HOST, "recorder");
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
		cmocka_unit_test(a_delegation_survives_the_way_through_its_file),
		cmocka_unit_test(no_flipped_bit_of_a_delegation_passes),
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
