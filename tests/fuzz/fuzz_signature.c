/* SPDX-License-Identifier: Apache-2.0 */
/*
 * .minisig files. What parses is written as the same bytes; a signature that another key or hash did not make never
 * verifies, and one that we make over what was parsed always does.
 */
#include <stdarg.h>
#include <string.h>

#include "tests/unit/sample.h"

#include "keys/signature.h"
#include "tests/fuzz/fuzz.h"

/* Sign the parsed comments; then spoil one bit that the input chooses. */
static void must_sign(const struct signature *parsed, const uint8_t *text, size_t n)
{
	struct identity id = sample_identity(1);
	struct public_key pk;
	struct signature sig, again;
	struct prehash hash;
	struct fault why;
	char buf[SIGNATURE_FILE_MAX];
	size_t len, bit = n % (8 * SIGNATURE_BYTES);

	key_of_identity(&pk, &id);
	signature_hash_bytes(&hash, text, n);
	MUST(signature_verify(parsed, &hash, &pk, &why) == ERR_KEY || why.code == ERR_FORGED);
	MUST(signature_sign(&sig, &hash, &id, parsed->comment, parsed->trusted, &why) == 0);
	MUST(signature_verify(&sig, &hash, &pk, &why) == 0);
	len = signature_format(buf, &sig);
	MUST(len < sizeof(buf) && signature_parse(&again, buf, len, &why) == 0);
	MUST(signature_verify(&again, &hash, &pk, &why) == 0);
	again.of_comment[bit / 8] ^= (uint8_t)(1u << bit % 8);
	MUST(signature_verify(&again, &hash, &pk, &why) == ERR_FORGED);
	again = sig;
	again.of_file[bit / 8] ^= (uint8_t)(1u << bit % 8);
	MUST(signature_verify(&again, &hash, &pk, &why) == ERR_FORGED);
	again = sig;
	again.trusted[0] ^= 1;
	MUST(signature_verify(&again, &hash, &pk, &why) == ERR_FORGED);
	hash.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
	MUST(signature_verify(&sig, &hash, &pk, &why) == ERR_FORGED);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	static struct signature sig;
	char buf[SIGNATURE_FILE_MAX];
	struct fault why = {0};
	size_t len;
	int r;

	MUST(sodium_init() >= 0);
	r = signature_parse(&sig, (const char *)bytes, n, &why);
	if (r < 0) {
		MUST(r == ERR_FORMAT && why.code == ERR_FORMAT && why.text[0]);
		return 0;
	}
	len = signature_format(buf, &sig);
	MUST(len == n || len == n + 1); /* the last newline may be missing */
	MUST(memcmp(buf, bytes, n) == 0);
	must_sign(&sig, bytes, n);
	return 0;
}

unsigned fuzz_seeds(void (*give)(void *arg, const uint8_t *bytes, size_t n), void *arg)
{
	static const char *const trusted[] = {"timestamp:1\tfile:a\thashed", "x"};
	struct identity id = sample_identity(1);
	struct prehash hash;
	struct signature sig;
	struct fault why;
	unsigned i;

	MUST(sodium_init() >= 0);
	signature_hash_bytes(&hash, "abc", 3);
	for (i = 0; i < 2; i++) {
		char buf[SIGNATURE_FILE_MAX];

		MUST(signature_sign(&sig, &hash, &id, i ? "" : NULL, trusted[i], &why) == 0);
		give(arg, (const uint8_t *)buf, signature_format(buf, &sig) - i);
	}
	return i;
}
