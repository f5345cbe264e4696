/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Custody and signatures when the nth read, write, sync, rename, close, lock or allocation fails, for every n: nothing
 * half is left, no temporary file, and nothing is believed that would not be without the fault.
 */
#undef _FORTIFY_SOURCE /* see faults.h */
#include "tests/unit/survive.h"

#include "keys/signature.h"

static struct custody chain; /* as run() read it */
static struct signature got; /* as run() read it */

/* --- custody --- */

static void no_chain(void)
{
	unlink(CHAIN);
}

/* A file without a byte may be left: it is begun as one that is not there. */
static void check_begun(int r)
{
	struct stat st;

	if (r == 0)
		assert_int_equal(acts(CHAIN), 1);
	else if (stat(CHAIN, &st) == 0 && st.st_size > 0)
		assert_int_equal(acts(CHAIN), 1);
}

static void two_acts(void)
{
	put(CHAIN, bytes_before, nbefore);
}

static void check_extended(int r)
{
	size_t n = acts(CHAIN);

	/* Written, synced, and only then not closed: the act is there, and whoever asked is asked to look. */
	assert_true(n == 3 || (r < 0 && n == 2));
}

static int read_chain(struct fault *why)
{
	const struct custody_subject s = custody_subject_of(&capture);

	return custody_read(&chain, CHAIN, &s, why);
}

static void check_chain_read(int r)
{
	if (r == 1 && chain.state == CUSTODY_INTACT)
		assert_true(chain.nlines == 2 && !out_of_memory());
	else if (r == 1)
		assert_int_equal(chain.state, CUSTODY_UNCHECKED);
	custody_clear(&chain);
}

/* The second act alone. */
static void first_act_missing(void)
{
	const char *second = (const char *)memchr(bytes_before, '\n', nbefore) + 1;

	put(CHAIN, second, nbefore - (size_t)(second - bytes_before));
}

static void check_missing(int r)
{
	if (r == 1 && chain.state != CUSTODY_UNCHECKED)
		assert_int_equal(chain.state, CUSTODY_MISSING);
	custody_clear(&chain);
}

static int extend_broken(struct fault *why)
{
	return record(why);
}

static void check_not_extended(int r)
{
	const char *second = (const char *)memchr(bytes_before, '\n', nbefore) + 1;

	assert_true(r < 0);
	assert_true(holds(CHAIN, second, nbefore - (size_t)(second - bytes_before)));
}

static void no_copy(void)
{
	two_acts();
	unlink("part.cap" CUSTODY_SUFFIX);
}

static int copy_chain(struct fault *why)
{
	return custody_copy("run.cap", "part.cap", false, why);
}

static void check_copied(int r)
{
	assert_true(r == 1 ? is_there("part.cap" CUSTODY_SUFFIX) : r < 0);
	if (is_there("part.cap" CUSTODY_SUFFIX))
		assert_true(holds("part.cap" CUSTODY_SUFFIX, bytes_before, nbefore));
}

static void older_copy(void)
{
	two_acts();
	put("part.cap" CUSTODY_SUFFIX, "old", 3);
}

static int replace_chain(struct fault *why)
{
	return custody_copy("run.cap", "part.cap", true, why);
}

static void check_replaced(int r)
{
	bool is_new = holds("part.cap" CUSTODY_SUFFIX, bytes_before, nbefore);

	assert_true(is_new || (r < 0 && holds("part.cap" CUSTODY_SUFFIX, "old", 3)));
}

static const struct operation custody_operations[] = {
	{"a chain is begun", no_chain, record, check_begun, 0, 6, 2, false, false},
	{"a chain is extended", two_acts, record, check_extended, 0, 6, 3, false, true},
	{"a chain is read", two_acts, read_chain, check_chain_read, 1, 2, 2, false, false},
	{"a chain with a gap is read", first_act_missing, read_chain, check_missing, 1, 2, 3, false, false},
	{"a chain with a gap is to be extended", first_act_missing, extend_broken, check_not_extended, ERR_FORGED, 3, 4,
	 false, false},
	{"a chain is copied", no_copy, copy_chain, check_copied, 1, 7, 1, false, false},
	{"a chain replaces another", older_copy, replace_chain, check_replaced, 1, 7, 1, false, false},
};

/* --- signatures --- */

static int check_signature(struct fault *why)
{
	struct public_key pk = public_of(HOST);

	memset(&got, 0x5a, sizeof(got));
	return signature_check("file", "sig", &pk, &got, why);
}

/* Whether the signature in "sig" is whole and of "file". */
static bool is_good(void)
{
	struct fault why;

	return check_signature(&why) == 0;
}

static void unsigned_file(void)
{
	put("file", "what was recorded\n", 18);
	unlink("sig");
}

static int sign(struct fault *why)
{
	struct identity id = sample_identity(HOST);

	return signature_make("file", "sig", false, &id, NULL, "timestamp:1", why);
}

static void check_signed(int r)
{
	assert_true(r == 0 ? is_good() : !is_there("sig") || is_good());
}

static void signed_file(void)
{
	struct fault why;

	unsigned_file();
	assert_int_equal(sign(&why), 0);
}

static int sign_again(struct fault *why)
{
	struct identity id = sample_identity(HOST);

	return signature_make("file", "sig", true, &id, NULL, "timestamp:2", why);
}

static void check_signed_again(int r)
{
	assert_true(is_good()); /* the one or the other */
	assert_true(r < 0 || strcmp(got.trusted, "timestamp:2") == 0);
}

static void check_checked(int r)
{
	static struct signature untouched;

	memset(&untouched, 0x5a, sizeof(untouched));
	if (r == 0)
		assert_string_equal(got.trusted, "timestamp:1");
	else
		assert_memory_equal(&got, &untouched, sizeof(got));
}

static void altered_file(void)
{
	signed_file();
	put("file", "what was recordeD\n", 18);
}

static void check_forged(int r)
{
	assert_true(r < 0);
	check_checked(r);
}

static const struct operation signature_operations[] = {
	{"a file is signed", unsigned_file, sign, check_signed, 0, 9, 0, false, false},
	{"a signature is replaced", signed_file, sign_again, check_signed_again, 0, 9, 0, false, false},
	{"a signature is checked", signed_file, check_signature, check_checked, 0, 6, 0, false, false},
	{"a forged signature is checked", altered_file, check_signature, check_forged, ERR_FORGED, 6, 0, false, false},
};

static void a_chain_that_another_program_holds_is_left_alone(void **state)
{
	struct fault why;

	(void)state;
	lock_is_held = true;
	assert_int_equal(record(&why), ERR_IO);
	lock_is_held = false;
	assert_non_null(strstr(why.text, "another program holds it locked; try again"));
	assert_true(holds(CHAIN, bytes_before, nbefore));
	assert_int_equal(record(&why), 0);
	/* Who only reads waits for it, but not for ever. */
	lock_is_held = true;
	assert_int_equal(read_chain(&why), 1);
	lock_is_held = false;
	assert_int_equal(chain.state, CUSTODY_INTACT);
	custody_clear(&chain);
}

static void whatever_fails_a_chain_of_custody_is_whole_and_never_called_broken(void **state)
{
	(void)state;
	ALL(custody_operations);
}

static void whatever_fails_a_signature_is_whole_and_never_good_by_accident(void **state)
{
	(void)state;
	ALL(signature_operations);
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, make_files, remove_files)
	const struct CMUnitTest tests[] = {
		TEST(whatever_fails_a_chain_of_custody_is_whole_and_never_called_broken),
		TEST(a_chain_that_another_program_holds_is_left_alone),
		TEST(whatever_fails_a_signature_is_whole_and_never_good_by_accident),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
