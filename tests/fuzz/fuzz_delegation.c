/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Delegations and revocation lists. The first byte says which:
 *
 *	0 a delegation file   1 the bytes of a statement, which are signed here, so that all behind the signature is
 *	reached   2 a revocation list
 */
#include <stdarg.h>
#include <string.h>

#include "tests/unit/sample.h"
#include "tests/unit/sign_as.h"

#include "keys/revocation.h"
#include "tests/fuzz/fuzz.h"

#define COMMENT "untrusted comment: x\n"
#define STATEMENT_MAX 400 /* more than a delegation can have */
#define NAME_AT 100
#define AUTHORITY_AT 43 /* keynum, key */

static const char domain[DOMAIN_BYTES] = "gpurec.deleg.1";

static int try_text(const char *text, size_t n)
{
	char again[DELEGATION_FILE_MAX];
	const char *eol = memchr(text, '\n', n), *line;
	struct fault why = {0};
	struct delegation d, untouched;
	const void *all_of_d = &d, *as_before = &untouched; /* what is between the members, too */
	size_t left;
	int r;

	memset(&untouched, 0xa5, sizeof(untouched));
	memset(&d, 0xa5, sizeof(d));
	r = delegation_parse(&d, text, n, &why);
	if (r < 0) {
		MUST((r == ERR_KEY || r == ERR_FORGED) && why.code == r && why.text[0]);
		MUST(memcmp(all_of_d, as_before, sizeof(d)) == 0);
		return r;
	}
	MUST(delegation_is_meant(text, n) && d.from_ns < d.until_ns && d.name[0]);
	left = (size_t)(text + n - eol);
	MUST(delegation_format(again, &d) < sizeof(again));
	line = strchr(again, '\n');
	MUST(strlen(line) == left || strlen(line) == left + 1); /* the last newline may be missing */
	MUST(memcmp(line, eol, left) == 0);
	return 0;
}

/* The authority is ours, the signature too. */
static void try_statement(const uint8_t *bytes, size_t n)
{
	struct identity id = sample_identity(1);
	uint8_t raw[STATEMENT_MAX + SIGNATURE_BYTES], hash[HASH_BYTES];
	char text[sizeof(COMMENT) + 2 * sizeof(raw)];

	n = n < STATEMENT_MAX ? n : STATEMENT_MAX;
	memcpy(raw, bytes, n);
	if (n >= NAME_AT) {
		memcpy(raw + AUTHORITY_AT, id.keynum, KEYNUM_BYTES);
		memcpy(raw + AUTHORITY_AT + KEYNUM_BYTES, id.public_key, PUBLIC_KEY_BYTES);
	}
	crypt_hash(hash, domain, raw, n);
	sign_as(n > 2 && raw[2] == 1 ? 0 : FEATURE_PREHASHED, raw + n, domain, hash, id.secret_key);
	memcpy(text, COMMENT, sizeof(COMMENT));
	sodium_bin2base64(text + sizeof(COMMENT) - 1, sizeof(text) - sizeof(COMMENT), raw, n + SIGNATURE_BYTES,
			  sodium_base64_VARIANT_ORIGINAL);
	MUST(try_text(text, strlen(text)) != ERR_FORGED);
}

static void try_list(const char *text, size_t n)
{
	struct revocations list = {0};
	struct fault why = {0};
	size_t len, nitems;
	char *again;
	int r = revocations_parse(&list, text, n, &why);

	if (r < 0) {
		MUST(r == ERR_FORMAT && why.text[0] && !list.items && list.n == 0);
		return;
	}
	nitems = list.n;
	for (size_t i = 0; i < nitems; i++) {
		const struct revocation *item = &list.items[i];

		MUST(item == (item->is_delegation ? revocations_find_delegation(&list, item->hash)
						  : revocations_find_key(&list, &item->key)));
	}
	for (size_t i = 0; i < nitems; i++) {
		struct revocation item = list.items[i];

		MUST(revocations_add(&list, &item, &why) == 0 && list.n == nitems);
	}
	again = revocations_format(&list, &len);
	MUST(again && len == n && memcmp(again, text, n) == 0);
	free(again);
	revocations_clear(&list);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	MUST(sodium_init() >= 0);
	if (n == 0)
		return 0;
	switch (bytes[0] % 3) {
	case 0:
		try_text((const char *)bytes + 1, n - 1);
		break;
	case 1:
		try_statement(bytes + 1, n - 1);
		break;
	default:
		try_list((const char *)bytes + 1, n - 1);
	}
	return 0;
}

static unsigned list_seeds(void (*give)(void *arg, const uint8_t *bytes, size_t n), void *arg,
			   const struct public_key *pk)
{
	char key[MINISIGN_PUBLIC_CHARS + 1], hash[2 * HASH_BYTES + 1], text[400];
	int n;

	memset(hash, 'a', sizeof(hash) - 1);
	hash[sizeof(hash) - 1] = '\0';
	n = snprintf(text, sizeof(text),
		     "\2gpurec revocations 1\n%s always stolen\ndelegation:%s 2026-11-21T10:00:00Z sold\n",
		     key_base64(key, pk), hash);
	give(arg, (uint8_t *)text, (size_t)n);
	give(arg, (const uint8_t *)"\2gpurec revocations 1\n", 22);
	return 2;
}

unsigned fuzz_seeds(void (*give)(void *arg, const uint8_t *bytes, size_t n), void *arg)
{
	struct identity id = sample_identity(1), host = sample_identity(2);
	uint8_t raw[NAME_AT + 200];
	char text[DELEGATION_FILE_MAX + 1] = {0};
	struct public_key pk;
	struct delegation d;
	struct fault why;
	const char *line;
	size_t n, bytes;

	MUST(sodium_init() >= 0);
	key_of_identity(&pk, &host);
	MUST(delegation_make(&d, &pk, "node7", 1000, 2000, &id, &why) == 0);
	n = delegation_format(text + 1, &d);
	give(arg, (uint8_t *)text, 1 + n);
	line = strchr(text + 1, '\n') + 1;
	MUST(sodium_base642bin(raw + 1, sizeof(raw) - 1, line, strlen(line) - 1, NULL, &bytes, NULL,
			       sodium_base64_VARIANT_ORIGINAL) == 0);
	raw[0] = 1;
	give(arg, raw, 1 + bytes - SIGNATURE_BYTES);
	return 2 + list_seeds(give, arg, &pk);
}
