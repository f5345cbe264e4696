/* SPDX-License-Identifier: Apache-2.0 */
/* A line of custody by itself: there is one way to write it, and what is wrong with it is named. */
#include "tests/unit/sample.h"
#include "tests/unit/sign_as.h"

#include "keys/custody.h"

/* A line without its newline. */
struct text {
	char line[CUSTODY_LINE_MAX];
	size_t len;
};

static void make_line(struct text *m)
{
	struct identity id = sample_identity(1);
	struct custody_line l = {.number = 1, .verdict = VERDICT_UNTRUSTED, .time_s = 1700000000, .who = "ops"};

	strcpy(l.note, "a reason");
	custody_start(l.previous, l.capture_id);
	custody_line_sign(&l, &id);
	m->len = custody_line_format(m->line, &l) - 1;
	m->line[m->len] = '\0';
}

static void a_line_comes_back_as_it_was(void **state)
{
	struct custody_line l;
	struct text m;
	struct fault why;

	(void)state;
	make_line(&m);
	assert_int_equal(custody_line_parse(&l, m.line, m.len, &why), 0);
	assert_true(custody_line_signed(&l));
	assert_int_equal(l.number, 1);
	assert_int_equal(l.time_s, 1700000000);
	assert_int_equal(l.verdict, VERDICT_UNTRUSTED);
	assert_string_equal(l.who, "ops");
	assert_string_equal(l.note, "a reason");
}

/* The line signed again, by plain Ed25519 or not, as this version. */
static bool signed_as(uint64_t features, unsigned version)
{
	static const char domain[DOMAIN_BYTES + 1] = "gpurec.custody.1";
	struct identity id = sample_identity(1);
	struct custody_line l;
	struct text m;
	struct fault why;

	make_line(&m);
	m.line[strlen("gpurec-custody-")] = (char)('0' + version);
	assert_int_equal(custody_line_parse(&l, m.line, m.len, &why), 0);
	assert_int_equal(l.version, version);
	sign_as(features, l.signature, domain, l.hash, id.secret_key);
	m.len = custody_line_format(m.line, &l) - 1;
	assert_int_equal(m.line[strlen("gpurec-custody-")], '0' + version);
	assert_int_equal(custody_line_parse(&l, m.line, m.len, &why), 0);
	return custody_line_signed(&l);
}

static void a_plain_signature_makes_a_line_of_version_1_only(void **state)
{
	(void)state;
	assert_true(signed_as(FEATURE_PREHASHED, 2));
	assert_false(signed_as(0, 2));
	assert_true(signed_as(0, 1));
	assert_false(signed_as(FEATURE_PREHASHED, 1));
}

/* The first line with field `at` (from 0) replaced; what custody_line_parse() says about it. */
static int parse_with(const struct text *m, unsigned at, const char *text, struct fault *why)
{
	const char *begin = m->line, *end;
	size_t before, len;
	struct custody_line l;
	char *line;
	int r;

	for (unsigned i = 0; i < at; i++)
		begin = strchr(begin, '\t') + 1;
	end = begin + strcspn(begin, "\t\n");
	before = (size_t)(begin - m->line);
	len = before + strlen(text) + (m->len - (size_t)(end - m->line));
	line = malloc(len ? len : 1); /* so that a read behind it is seen */
	assert_non_null(line);
	memcpy(line, m->line, before);
	memcpy(line + before, text, strlen(text));
	memcpy(line + before + strlen(text), end, len - before - strlen(text));
	r = custody_line_parse(&l, line, len, why);
	free(line);
	return r;
}

#define HEX64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void each_field_is_read_in_one_way_and_named_when_it_is_not(void **state)
{
	static char who[CUSTODY_WHO_MAX + 2], note[CUSTODY_NOTE_MAX + 2];
	static const struct {
		unsigned at;
		const char *text, *says;
		int code;
	} cases[] = {
		{0, "gpurek-custody-1", "it does not begin with", ERR_FORMAT},
		{0, "gpurec-custody-", "it names no version", ERR_FORMAT},
		{0, "gpurec-custody-2x", "it names no version", ERR_FORMAT},
		{0, "gpurec-custody-3", "a version that this build does not know", ERR_VERSION},
		{0, "gpurec-custody-12", "a version that this build does not know", ERR_VERSION},
		{1, "", "its number", ERR_FORMAT},
		{1, "1x", "its number", ERR_FORMAT},
		{1, "x", "its number", ERR_FORMAT},
		{1, "+1", "its number", ERR_FORMAT},
		{1, "10000000000000000000", "its number", ERR_FORMAT},
		{1, "01", "another way", ERR_FORMAT},
		{1, "1\t1", "13 fields", ERR_FORMAT},
		{2, "", "the hash of the line before", ERR_FORMAT},
		{2, "ab", "the hash of the line before", ERR_FORMAT},
		{2, HEX64 "0", "the hash of the line before", ERR_FORMAT},
		{2, HEX64 "zz", "the hash of the line before", ERR_FORMAT},
		{2, "0123456789ABCDEF" HEX64, "the hash of the line before", ERR_FORMAT},
		{3, "ab", "the capture id", ERR_FORMAT},
		{4, "stolen", "the act", ERR_FORMAT},
		{5, "ab", "the seal's hash", ERR_FORMAT},
		{6, "ab", "the file's hash", ERR_FORMAT},
		{7, "FORGED", "the verdict", ERR_FORMAT},
		{7, "UNCHECKED", "the verdict", ERR_FORMAT},
		{7, "", "the verdict", ERR_FORMAT},
		{8, "2026-11-21T10:00:00", "the time", ERR_FORMAT},
		{8, "2026-11-21T10:00:00Zx", "the time", ERR_FORMAT},
		{8, "1969-12-31T23:59:59Z", "the time", ERR_FORMAT},
		{8, "2026-11-21T10:00:60Z", "the time", ERR_FORMAT},
		{9, "", "the name", ERR_FORMAT},
		{9, "%00", "the name", ERR_FORMAT},
		{9, "o%7", "the name", ERR_FORMAT},
		{9, "o%7zs", "the name", ERR_FORMAT},
		{9, "o%z7s", "the name", ERR_FORMAT},
		{9, "o%+1s", "the name", ERR_FORMAT},
		{9, who, "the name", ERR_FORMAT},
		{9, "o%70s", "another way", ERR_FORMAT},
		{10, "%", "the note", ERR_FORMAT},
		{10, note, "the note", ERR_FORMAT},
		{11, "RW", "the key", ERR_FORMAT},
		{12, "", "the signature", ERR_FORMAT},
		{12, "AAAA", "the signature", ERR_FORMAT},
	};
	struct text m;
	struct fault why;

	(void)state;
	make_line(&m);
	memset(who, 'w', sizeof(who) - 1);
	memset(note, 'n', sizeof(note) - 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int r = parse_with(&m, cases[i].at, cases[i].text, &why);

		if (r != cases[i].code || !strstr(why.text, cases[i].says))
			fail_msg("field %u as '%.60s': %d, %s", cases[i].at, cases[i].text, r, why.text);
	}
}

static void a_line_with_fewer_fields_or_a_nul_is_none(void **state)
{
	struct text m;
	struct fault why;

	(void)state;
	make_line(&m);
	/* Without its last field, and without the last two. */
	for (int i = 0; i < 2; i++) {
		struct custody_line l;

		while (m.line[m.len] != '\t')
			m.len--;
		assert_int_equal(custody_line_parse(&l, m.line, m.len, &why), ERR_FORMAT);
		assert_non_null(strstr(why.text, "13 fields"));
		m.len--;
	}
	make_line(&m);
	/* A NUL, which would end a text early, in place of any byte behind the version. */
	for (size_t at = strlen("gpurec-custody-1") + 1; at < m.len; at++) {
		char was = m.line[at];
		struct custody_line l;

		m.line[at] = '\0';
		assert_int_equal(custody_line_parse(&l, m.line, m.len, &why), ERR_FORMAT);
		assert_non_null(strstr(why.text, "13 fields"));
		m.line[at] = was;
	}
}

/* A signature that is no base64, is of fewer bytes, or goes on. */
static void a_signature_is_one_text_of_88_characters(void **state)
{
	char text[100];
	struct text m;
	struct fault why;

	(void)state;
	make_line(&m);
	memcpy(text, m.line + m.len - 88, 88);
	text[88] = '\0';
	assert_int_equal(parse_with(&m, 12, text, &why), 0);
	text[88] = 'A', text[89] = '\0';
	assert_int_equal(parse_with(&m, 12, text, &why), ERR_FORMAT);
	assert_non_null(strstr(why.text, "the signature"));
	text[87] = '\0';
	assert_int_equal(parse_with(&m, 12, text, &why), ERR_FORMAT);
	assert_non_null(strstr(why.text, "the signature"));
	text[87] = '=', text[88] = '\0';
	text[40] = '*';
	assert_int_equal(parse_with(&m, 12, text, &why), ERR_FORMAT);
	assert_non_null(strstr(why.text, "the signature"));
}

static void a_line_is_shorter_than_its_limit(void **state)
{
	static const size_t longer[] = {CUSTODY_LINE_MAX, CUSTODY_LINE_MAX + 1, 1 << 20};
	char *line = malloc(1 << 20);
	struct custody_line l;
	struct text m;
	struct fault why;

	(void)state;
	assert_non_null(line);
	make_line(&m);
	memset(line, 'x', 1 << 20);
	memcpy(line, m.line, m.len);
	for (size_t i = 0; i < sizeof(longer) / sizeof(longer[0]); i++) {
		assert_int_equal(custody_line_parse(&l, line, longer[i], &why), ERR_FORMAT);
		assert_non_null(strstr(why.text, "it is longer than 8191 bytes"));
	}
	assert_int_equal(custody_line_parse(&l, line, CUSTODY_LINE_MAX - 1, &why), ERR_FORMAT);
	assert_non_null(strstr(why.text, "the signature cannot be read"));
	free(line);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_comes_back_as_it_was),
		cmocka_unit_test(a_plain_signature_makes_a_line_of_version_1_only),
		cmocka_unit_test(each_field_is_read_in_one_way_and_named_when_it_is_not),
		cmocka_unit_test(a_line_is_shorter_than_its_limit),
		cmocka_unit_test(a_line_with_fewer_fields_or_a_nul_is_none),
		cmocka_unit_test(a_signature_is_one_text_of_88_characters),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
