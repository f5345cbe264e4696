/* SPDX-License-Identifier: Apache-2.0 */
/* A capture, judged: what the format says of it, and whether its signer is trusted. */
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "keys/evidence.h"
#include "keys/files.h"
#include "keys/store.h"
#include "tests/unit/home.h"
#include "tests/unit/sample.h"

static const struct evidence_options plain = {.nthreads = 1};
static const struct evidence_options unverified = {.nthreads = 1, .unverified = true};

static void put(const char *path, const void *bytes, size_t len)
{
	struct fault why;

	assert_int_equal(file_make(path, 0644, true, bytes, len, &why), 0);
}

/* run.cap: three epochs, signed by sample_identity(1); `flip`: a byte to spoil, or 0. Returns its size. */
static size_t make_capture(unsigned nepochs, bool end, size_t flip)
{
	struct memory_sink m = {0};
	size_t n;

	assert_int_equal(sample_write(&m, nepochs, end), 0);
	if (flip)
		m.bytes.data[flip] ^= 1;
	put("run.cap", m.bytes.data, m.bytes.len);
	n = m.bytes.len;
	bytes_free(&m.bytes);
	return n;
}

static void sample_public(struct public_key *pk, uint8_t seed)
{
	struct identity id = sample_identity(seed);

	key_of_identity(pk, &id);
}

static void trust_sample(uint8_t seed, const char *name)
{
	struct public_key pk;
	struct fault why;

	sample_public(&pk, seed);
	assert_int_equal(trust_add(&pk, name, ROLE_RECORD, &why), 0);
}

/* Judge run.cap, expect a verdict, whether a tool may go on, and how the sentence begins. */
static void expect(const struct evidence_options *o, enum verdict verdict, bool acceptable, const char *sentence)
{
	char said[512];
	struct evidence e;
	struct fault why = {0};

	assert_int_equal(evidence_judge(&e, "run.cap", o, &why), 0);
	assert_int_equal(e.verification.verdict, verdict);
	assert_int_equal(evidence_acceptable(&e, o, &why), acceptable);
	if (!acceptable)
		assert_true(why.text[0] != '\0');
	evidence_sentence(&e, said, sizeof(said));
	assert_memory_equal(said, sentence, strlen(sentence));
	evidence_close(&e);
	evidence_close(&e);
}

static void a_capture_of_a_trusted_signer_is_ok(void **state)
{
	(void)state;
	make_capture(3, true, 0);
	trust_sample(2, "another");
	trust_sample(1, "recorder");
	expect(&plain, VERDICT_OK, true, "OK, signed by 101010101010101 (recorder)");
}

static void a_capture_of_an_unknown_signer_is_untrusted(void **state)
{
	(void)state;
	make_capture(3, true, 0);
	expect(&plain, VERDICT_UNTRUSTED, false, "UNVERIFIED: UNTRUSTED: signed by the key 101010101010101, which is");
	trust_sample(2, "another");
	expect(&plain, VERDICT_UNTRUSTED, false, "UNVERIFIED: UNTRUSTED: ");
	expect(&unverified, VERDICT_UNTRUSTED, true, "UNVERIFIED: UNTRUSTED: ");
}

static void a_trusted_key_with_the_signers_number_does_not_do(void **state)
{
	struct public_key pk;
	struct fault why;

	(void)state;
	make_capture(3, true, 0);
	sample_public(&pk, 2);
	memset(pk.keynum, 1, sizeof(pk.keynum));
	assert_int_equal(trust_add(&pk, "lookalike", ROLE_RECORD, &why), 0);
	expect(&plain, VERDICT_UNTRUSTED, false, "UNVERIFIED: UNTRUSTED: ");
}

static void a_key_file_named_on_the_command_line_is_trusted(void **state)
{
	static const char *const files[] = {"other.pub", "given.pub"};
	const struct evidence_options o = {.trust_files = files, .ntrust_files = 2, .nthreads = 1};
	char text[MINISIGN_PUBLIC_FILE_MAX];
	struct public_key pk;

	(void)state;
	make_capture(3, true, 0);
	sample_public(&pk, 2);
	put("other.pub", text, minisign_format_public(text, &pk));
	sample_public(&pk, 1);
	put("given.pub", text, minisign_format_public(text, &pk));
	expect(&o, VERDICT_OK, true, "OK, signed by 101010101010101 (given)");
}

static void a_wrong_key_file_is_reported_whatever_the_capture_is(void **state)
{
	static const char *const files[] = {"wrong.pub"};
	const struct evidence_options o = {.trust_files = files, .ntrust_files = 1, .nthreads = 1};
	struct evidence e;
	struct fault why;

	(void)state;
	put("wrong.pub", "junk\n", 5);
	make_capture(1, true, 0);
	trust_sample(1, "recorder");
	assert_int_equal(evidence_judge(&e, "run.cap", &o, &why), ERR_KEY);
	evidence_close(&e);
	put("run.cap", "junk\n", 5);
	assert_int_equal(evidence_judge(&e, "run.cap", &o, &why), ERR_KEY);
	assert_non_null(strstr(why.text, "wrong.pub"));
	evidence_close(&e);
}

static void a_broken_store_is_no_verdict(void **state)
{
	struct evidence e;
	struct fault why;

	(void)state;
	make_capture(1, true, 0);
	trust_sample(2, "another");
	put("trust/broken.pub", "junk\n", 5);
	assert_int_equal(evidence_judge(&e, "run.cap", &plain, &why), ERR_KEY);
	assert_non_null(strstr(why.text, "broken.pub"));
	evidence_close(&e);
	trust_sample(1, "recorder");
	expect(&plain, VERDICT_OK, true, "OK, ");
}

static void what_is_forged_stays_so_for_a_trusted_signer(void **state)
{
	size_t size;

	(void)state;
	trust_sample(1, "recorder");
	size = make_capture(3, true, 0);
	make_capture(3, true, size - 3); /* in the signature of END */
	expect(&plain, VERDICT_FORGED, false, "UNVERIFIED: FORGED: ");
	expect(&unverified, VERDICT_FORGED, true, "UNVERIFIED: FORGED: ");
}

static void an_unsealed_capture_is_read_up_to_its_last_seal(void **state)
{
	(void)state;
	make_capture(3, false, 0);
	expect(&plain, VERDICT_UNTRUSTED, false, "UNVERIFIED: UNTRUSTED: ");
	trust_sample(1, "recorder");
	expect(&plain, VERDICT_UNSEALED, true,
	       "UNSEALED after 3 epochs, which are signed by 101010101010101 (recorder)");
	make_capture(0, false, 0);
	expect(&plain, VERDICT_UNSEALED, false, "UNSEALED after 0 epochs");
}

static void what_is_no_capture_has_its_verdict_too(void **state)
{
	struct evidence e;
	struct fault why;

	(void)state;
	put("run.cap", "", 0);
	expect(&plain, VERDICT_MALFORMED, false, "UNVERIFIED: MALFORMED: ");
	put("run.cap", "garbage, and more of it, longer than any magic", 46);
	expect(&plain, VERDICT_MALFORMED, false, "UNVERIFIED: MALFORMED: ");
	expect(&unverified, VERDICT_MALFORMED, false, "UNVERIFIED: MALFORMED: ");
	assert_int_equal(evidence_judge(&e, "absent.cap", &plain, &why), 0);
	assert_int_equal(e.verification.verdict, VERDICT_UNCHECKED);
	assert_string_equal(e.signer, "");
	assert_false(evidence_acceptable(&e, &unverified, &why));
	evidence_close(&e);
	assert_int_equal(evidence_judge(&e, ".", &plain, &why), 0);
	assert_int_equal(e.verification.verdict, VERDICT_UNCHECKED);
	evidence_close(&e);
}

#define IN_HOME(test) cmocka_unit_test_setup_teardown(test, make_home, remove_home)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_HOME(a_capture_of_a_trusted_signer_is_ok),
		IN_HOME(a_capture_of_an_unknown_signer_is_untrusted),
		IN_HOME(a_trusted_key_with_the_signers_number_does_not_do),
		IN_HOME(a_key_file_named_on_the_command_line_is_trusted),
		IN_HOME(a_wrong_key_file_is_reported_whatever_the_capture_is),
		IN_HOME(a_broken_store_is_no_verdict),
		IN_HOME(what_is_forged_stays_so_for_a_trusted_signer),
		IN_HOME(an_unsealed_capture_is_read_up_to_its_last_seal),
		IN_HOME(what_is_no_capture_has_its_verdict_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
