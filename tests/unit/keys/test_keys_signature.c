/* SPDX-License-Identifier: Apache-2.0 */
/* Detached signatures in minisign's format: made, read, and refused in every altered form. */
#include <setjmp.h>
#include <signal.h>
#include <sodium.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/home.h"
#include "tests/unit/signed.h"

/* A signature that minisign 0.11 made of the file "gpu\n", and the key it made it with. */
static const char stock_key[] = "RWSLZnbdPTGzFLqlTr8ms/sInIKKGVDiFA85AzyWn39HGIXNG4zjGepZ";
static const char stock_signature[] =
	"untrusted comment: signature from minisign secret key\n"
	"RUSLZnbdPTGzFLJKxBAy7wZduthqJCROQ8K0cXYTtQ7QPl/9z3Xo3Q61iQ8WD3dScs5VvjB60wFzP5l7JgGBhM60YJWHY4T18A8=\n"
	"trusted comment: by the stock tool\n"
	"KaYdaSOU500HCfpFE7Qi7Pe/tBUQ+V4Ui+QmW5hSUp7A5H4p8ENpde3fQ1FMENHXw+5Y4Mfe07HOwr9hmxHcBA==\n";

/* As signature_check(), without a file for each of thousands of texts. */
static int check_text(const char *text, size_t len, const struct public_key *pk, struct fault *why)
{
	struct signature sig;
	struct prehash hash;
	int r = signature_parse(&sig, text, len, why);

	if (r == 0)
		r = signature_hash(&hash, "file", why);
	return r < 0 ? r : signature_verify(&sig, &hash, pk, why);
}

/* --- what holds --- */

static void a_signature_that_was_made_holds(void **state)
{
	static const size_t sizes[] = {0, 1, 63, 64, 65, 65535, 65536, 65537, 1000000};
	struct identity id = make_identity();
	struct signature sig;
	struct public_key pk;
	struct fault why;
	uint8_t *bytes = malloc(1000000);

	(void)state;
	assert_non_null(bytes);
	randombytes_buf(bytes, 1000000);
	key_of_identity(&pk, &id);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct prehash whole, pieces;

		put("file", bytes, sizes[i]);
		assert_int_equal(signature_make("file", "file.minisig", true, &id, NULL, NULL, &why), 0);
		assert_int_equal(signature_check("file", "file.minisig", &pk, &sig, &why), 0);
		assert_string_equal(sig.comment, "signature from minisign secret key");
		assert_non_null(strstr(sig.trusted, "\tfile:file\thashed"));
		assert_memory_equal(sig.trusted, "timestamp:", 10);
		signature_hash_bytes(&whole, bytes, sizes[i]);
		assert_int_equal(signature_hash(&pieces, "file", &why), 0);
		assert_memory_equal(&whole, &pieces, sizeof(whole));
	}
	free(bytes);
}

static void a_signature_that_minisign_made_holds(void **state)
{
	struct signature sig;
	struct public_key pk;
	struct fault why;
	char again[SIGNATURE_FILE_MAX];

	(void)state;
	assert_int_equal(key_parse(&pk, stock_key, &why), 0);
	put("file", "gpu\n", 4);
	put("sig", stock_signature, strlen(stock_signature));
	assert_int_equal(signature_check("file", "sig", &pk, &sig, &why), 0);
	assert_string_equal(sig.trusted, "by the stock tool");
	assert_int_equal(signature_format(again, &sig), strlen(stock_signature));
	assert_string_equal(again, stock_signature);
}

static void comments_of_the_greatest_length_hold_and_longer_ones_are_refused(void **state)
{
	static char comment[SIGNATURE_COMMENT_MAX + 2], trusted[SIGNATURE_TRUSTED_MAX + 2];
	struct identity id = make_identity();
	struct signature sig;
	struct public_key pk;
	struct fault why;

	(void)state;
	key_of_identity(&pk, &id);
	put("file", "x", 1);
	memset(comment, 'c', SIGNATURE_COMMENT_MAX);
	memset(trusted, 't', SIGNATURE_TRUSTED_MAX);
	assert_int_equal(signature_make("file", "sig", false, &id, comment, trusted, &why), 0);
	assert_int_equal(signature_check("file", "sig", &pk, &sig, &why), 0);
	assert_string_equal(sig.trusted, trusted);
	comment[SIGNATURE_COMMENT_MAX] = 'c';
	assert_int_equal(signature_make("file", "sig", true, &id, comment, trusted, &why), ERR_INPUT);
	trusted[SIGNATURE_TRUSTED_MAX] = 't';
	assert_int_equal(signature_make("file", "sig", true, &id, NULL, trusted, &why), ERR_INPUT);
}

/* --- what does not --- */

/*
 * The untrusted comment is the one thing that no signature covers, by minisign's design. A flip there leaves who signed
 * and what was said as they were; everywhere else it is refused.
 */
static void no_flipped_bit_of_a_signature_file_is_accepted(void **state)
{
	char text[SIGNATURE_FILE_MAX], altered[SIGNATURE_FILE_MAX];
	struct signature sig, kept;
	struct public_key pk;
	struct identity id;
	struct fault why;
	size_t len, begin = strlen("untrusted comment: "), end, tried = 0, refused = 0;

	(void)state;
	len = sign_sample(&id, &pk, text);
	end = begin + strlen("no matter");
	assert_int_equal(signature_parse(&kept, text, len, &why), 0);
	for (size_t i = 0; i < len * 8; i++) {
		int r;

		memcpy(altered, text, len);
		altered[i / 8] = (char)(altered[i / 8] ^ 1 << i % 8);
		r = check_text(altered, len, &pk, &why);
		tried++;
		refused += r < 0;
		if (r == 0) {
			assert_in_range(i / 8, begin, end - 1);
			assert_int_equal(signature_parse(&sig, altered, len, &why), 0);
			assert_string_equal(sig.trusted, kept.trusted);
			assert_memory_equal(sig.of_file, kept.of_file, sizeof(sig.of_file));
		} else {
			assert_true(r == ERR_FORMAT || r == ERR_FORGED || r == ERR_KEY);
		}
	}
	assert_int_equal(tried, len * 8);
	assert_true(refused >= (len - strlen("no matter")) * 8);
}

static void no_flipped_bit_of_the_file_is_accepted(void **state)
{
	char text[SIGNATURE_FILE_MAX], file[64];
	struct public_key pk;
	struct identity id;
	struct fault why;
	size_t n;

	(void)state;
	(void)sign_sample(&id, &pk, text);
	n = get("file", file, sizeof(file));
	for (size_t i = 0; i < n * 8; i++) {
		file[i / 8] = (char)(file[i / 8] ^ 1 << i % 8);
		put("file", file, n);
		assert_int_equal(signature_check("file", "sig", &pk, NULL, &why), ERR_FORGED);
		file[i / 8] = (char)(file[i / 8] ^ 1 << i % 8);
	}
	put("file", file, n);
	assert_int_equal(signature_check("file", "sig", &pk, NULL, &why), 0);
}

static void no_cut_is_accepted_but_that_of_the_last_newline(void **state)
{
	char text[SIGNATURE_FILE_MAX];
	struct public_key pk;
	struct identity id;
	struct fault why;
	size_t len;

	(void)state;
	len = sign_sample(&id, &pk, text);
	for (size_t n = 0; n + 1 < len; n++) {
		const char *said = n == 0 ? "is empty" : n <= len - 89 ? "cut off" : "the fourth line is not";

		assert_int_equal(check_text(text, n, &pk, &why), ERR_FORMAT);
		assert_non_null(strstr(why.text, said));
	}
	assert_int_equal(check_text(text, len - 1, &pk, &why), 0);
}

static void nothing_may_stand_behind_a_signature(void **state)
{
	static const char *const tails[] = {"\n", " ", "x", "\r", "trusted comment: more\n", ""};
	char text[SIGNATURE_FILE_MAX * 2];
	struct public_key pk;
	struct identity id;
	struct fault why;
	size_t len;

	(void)state;
	len = sign_sample(&id, &pk, text);
	for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
		size_t more = i == 5 ? 1 : strlen(tails[i]); /* the last one: a NUL */

		memcpy(text + len, tails[i], more);
		assert_int_equal(check_text(text, len + more, &pk, &why), ERR_FORMAT);
	}
	memset(text + len, 'x', SIGNATURE_FILE_MAX);
	put("sig", text, len + SIGNATURE_FILE_MAX);
	assert_int_equal(signature_check("file", "sig", &pk, NULL, &why), ERR_FORMAT);
	assert_non_null(strstr(why.text, "too large"));
}

/* A .minisig of this algorithm, both signatures right, over `message`. */
static size_t forge(char *text, const char alg[2], const void *message, size_t len, const char *trusted,
		    const struct identity *id)
{
	uint8_t raw[74], global[64], both[64 + SIGNATURE_TRUSTED_MAX + 1];
	char first[101], second[89];

	memcpy(raw, alg, 2);
	memcpy(raw + 2, id->keynum, 8);
	crypto_sign_detached(raw + 10, NULL, message, len, id->secret_key);
	memcpy(both, raw + 10, 64);
	memcpy(both + 64, trusted, strlen(trusted));
	crypto_sign_detached(global, NULL, both, 64 + strlen(trusted), id->secret_key);
	sodium_bin2base64(first, sizeof(first), raw, sizeof(raw), sodium_base64_VARIANT_ORIGINAL);
	sodium_bin2base64(second, sizeof(second), global, sizeof(global), sodium_base64_VARIANT_ORIGINAL);
	return (size_t)sprintf(text, "untrusted comment: c\n%s\ntrusted comment: %s\n%s\n", first, trusted, second);
}

static void a_signature_of_the_old_kind_is_refused_however_right_it_is(void **state)
{
	struct identity id = make_identity();
	struct public_key pk;
	struct prehash hash;
	struct fault why;
	char text[1024];

	(void)state;
	key_of_identity(&pk, &id);
	put("file", "what was recorded\n", 18);
	assert_int_equal(signature_hash(&hash, "file", &why), 0);
	assert_int_equal(check_text(text, forge(text, "ED", &hash, 64, "t", &id), &pk, &why), 0);
	assert_int_equal(check_text(text, forge(text, "Ed", "what was recorded\n", 18, "t", &id), &pk, &why),
			 ERR_FORMAT);
	assert_non_null(strstr(why.text, "old kind"));
	/* A signature over the hash of one file, offered as one over a file that consists of this hash. */
	put("file", &hash, 64);
	assert_int_equal(check_text(text, forge(text, "Ed", &hash, 64, "t", &id), &pk, &why), ERR_FORMAT);
	assert_int_equal(check_text(text, forge(text, "ED", &hash, 64, "t", &id), &pk, &why), ERR_FORGED);
	assert_int_equal(check_text(text, forge(text, "eD", &hash, 64, "t", &id), &pk, &why), ERR_FORMAT);
}

static void an_empty_trusted_comment_is_neither_made_nor_accepted(void **state)
{
	struct identity id = make_identity();
	struct signature sig;
	struct public_key pk;
	struct prehash hash;
	struct fault why;
	char text[1024];

	(void)state;
	key_of_identity(&pk, &id);
	put("file", "x", 1);
	assert_int_equal(signature_hash(&hash, "file", &why), 0);
	assert_int_equal(signature_sign(&sig, &hash, &id, NULL, "", &why), ERR_INPUT);
	assert_int_equal(check_text(text, forge(text, "ED", &hash, 64, "", &id), &pk, &why), ERR_FORMAT);
}

static void a_comment_longer_than_the_limit_is_not_read(void **state)
{
	static char trusted[SIGNATURE_TRUSTED_MAX + 2], text[SIGNATURE_FILE_MAX + 1000];
	struct identity id = make_identity();
	struct public_key pk;
	struct prehash hash;
	struct fault why;
	size_t len;

	(void)state;
	key_of_identity(&pk, &id);
	put("file", "x", 1);
	assert_int_equal(signature_hash(&hash, "file", &why), 0);
	memset(trusted, 't', SIGNATURE_TRUSTED_MAX + 1);
	len = forge(text, "ED", &hash, 64, trusted, &id);
	assert_int_equal(check_text(text, len, &pk, &why), ERR_FORMAT);
	trusted[SIGNATURE_TRUSTED_MAX] = '\0';
	assert_int_equal(check_text(text, forge(text, "ED", &hash, 64, trusted, &id), &pk, &why), 0);

	len = forge(text, "ED", &hash, 64, "t", &id);
	memmove(text + strlen("untrusted comment: ") + SIGNATURE_COMMENT_MAX, text + strlen("untrusted comment: "),
		len - strlen("untrusted comment: "));
	memset(text + strlen("untrusted comment: "), 'c', SIGNATURE_COMMENT_MAX);
	assert_int_equal(check_text(text, len + SIGNATURE_COMMENT_MAX, &pk, &why), ERR_FORMAT);
	assert_non_null(strstr(why.text, "a comment of 1001 bytes"));
}

static void another_key_another_file_and_another_comment_are_reported_apart(void **state)
{
	struct identity id, other = make_identity();
	char text[SIGNATURE_FILE_MAX], kept[18];
	struct public_key pk, wrong;
	struct signature a, b;
	struct prehash hash;
	struct fault why;

	(void)state;
	(void)sign_sample(&id, &pk, text);
	key_of_identity(&wrong, &other);
	assert_int_equal(signature_check("file", "sig", &wrong, NULL, &why), ERR_KEY);
	memcpy(wrong.keynum, pk.keynum, sizeof(wrong.keynum)); /* a key number is a label that anybody can take */
	assert_int_equal(signature_check("file", "sig", &wrong, NULL, &why), ERR_FORGED);
	assert_int_equal(get("file", kept, sizeof(kept)), sizeof(kept));
	put("file", "what was Recorded\n", 18);
	assert_int_equal(signature_check("file", "sig", &pk, NULL, &why), ERR_FORGED);
	assert_non_null(strstr(why.text, "the file is not"));
	put("file", kept, sizeof(kept));
	assert_int_equal(signature_hash(&hash, "file", &why), 0);

	/* The trusted comment of another signature by the same key, of the same file, with its own signature. */
	assert_int_equal(signature_sign(&a, &hash, &id, NULL, "approved", &why), 0);
	signature_hash_bytes(&hash, "another", 7);
	assert_int_equal(signature_sign(&b, &hash, &id, NULL, "refused", &why), 0);
	strcpy(a.trusted, b.trusted);
	memcpy(a.of_comment, b.of_comment, sizeof(a.of_comment));
	assert_int_equal(check_text(text, signature_format(text, &a), &pk, &why), ERR_FORGED);
	assert_non_null(strstr(why.text, "trusted comment is not"));
}

static void a_failed_check_leaves_the_output_alone(void **state)
{
	char text[SIGNATURE_FILE_MAX];
	struct signature sig, before;
	struct public_key pk;
	struct identity id;
	struct fault why;
	size_t len;

	(void)state;
	len = sign_sample(&id, &pk, text);
	memset(&sig, 0xa5, sizeof(sig));
	before = sig;
	assert_int_equal(signature_parse(&sig, text, len - 2, &why), ERR_FORMAT);
	put("file", "", 0);
	assert_int_equal(signature_check("file", "sig", &pk, &sig, &why), ERR_FORGED);
	assert_memory_equal(&sig, &before, sizeof(sig));
}

/* --- text --- */

static void a_comment_that_cannot_stand_in_a_line_is_refused(void **state)
{
	static const char *const bad[] = {"a\nb", "a\rb", "\x1b[2J", "\x7f", "\x01"};
	struct identity id = make_identity();
	struct signature sig;
	struct prehash hash;
	struct public_key pk;
	struct fault why;
	char text[1024];

	(void)state;
	key_of_identity(&pk, &id);
	put("file", "x", 1);
	signature_hash_bytes(&hash, "x", 1);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(signature_sign(&sig, &hash, &id, NULL, bad[i], &why), ERR_INPUT);
		assert_int_equal(signature_sign(&sig, &hash, &id, bad[i], "t", &why), ERR_INPUT);
		assert_int_equal(check_text(text, forge(text, "ED", &hash, 64, bad[i], &id), &pk, &why), ERR_FORMAT);
	}
	assert_int_equal(check_text(text, forge(text, "ED", &hash, 64, "t\xc3\xa4", &id), &pk, &why), 0);
}

static void the_default_comment_names_the_file_without_its_folder_and_without_tricks(void **state)
{
	char trusted[SIGNATURE_TRUSTED_MAX + 1];

	(void)state;
	signature_default_trusted(trusted, "/a/b/run.cap", 1700000000);
	assert_string_equal(trusted, "timestamp:1700000000\tfile:run.cap\thashed");
	signature_default_trusted(trusted, "x\thashed\nfile:y", 7);
	assert_string_equal(trusted, "timestamp:7\tfile:x_hashed_file:y\thashed");
}

/* Lines of their own lengths, in memory that ends where the text does, so that a read behind it is seen. */
static void each_line_has_its_length(void **state)
{
	char text[SIGNATURE_FILE_MAX], *copy;
	struct public_key pk;
	struct signature sig;
	struct identity id;
	struct fault why;
	size_t len, third;

	(void)state;
	len = sign_sample(&id, &pk, text);
	for (int line = 0; line < 4; line++) {
		const char *eol = text;
		size_t at;

		for (int i = 0; i <= line; i++)
			eol = (const char *)memchr(eol, '\n', len - (size_t)(eol - text)) + 1;
		at = (size_t)(eol - text) - 1;
		third = line == 1 ? at + 1 : 0;
		copy = malloc(len + 1);
		assert_non_null(copy);
		memcpy(copy, text, at);
		copy[at] = 'A';
		memcpy(copy + at + 1, text + at, len - at);
		/* A longer comment is none that was signed; a longer line of base64 is no line of a signature. */
		assert_int_equal(check_text(copy, len + 1, &pk, &why), line == 0   ? 0
								       : line == 2 ? ERR_FORGED
										   : ERR_FORMAT);
		free(copy);
		if (!third)
			continue;
		copy = malloc(third + 3);
		assert_non_null(copy);
		memcpy(copy, text, third);
		memcpy(copy + third, "t\nx", 3);
		assert_int_equal(signature_parse(&sig, copy, third + 3, &why), ERR_FORMAT);
		assert_non_null(strstr(why.text, "does not begin with \"trusted comment: \""));
		free(copy);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_home, remove_home)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_signature_that_was_made_holds),
		TEST(a_signature_that_minisign_made_holds),
		TEST(comments_of_the_greatest_length_hold_and_longer_ones_are_refused),
		TEST(no_flipped_bit_of_a_signature_file_is_accepted),
		TEST(no_flipped_bit_of_the_file_is_accepted),
		TEST(no_cut_is_accepted_but_that_of_the_last_newline),
		TEST(nothing_may_stand_behind_a_signature),
		TEST(each_line_has_its_length),
		TEST(a_signature_of_the_old_kind_is_refused_however_right_it_is),
		TEST(an_empty_trusted_comment_is_neither_made_nor_accepted),
		TEST(a_comment_longer_than_the_limit_is_not_read),
		TEST(another_key_another_file_and_another_comment_are_reported_apart),
		TEST(a_failed_check_leaves_the_output_alone),
		TEST(a_comment_that_cannot_stand_in_a_line_is_refused),
		TEST(the_default_comment_names_the_file_without_its_folder_and_without_tricks),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
