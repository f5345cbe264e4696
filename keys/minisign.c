/* SPDX-License-Identifier: Apache-2.0 */
#include "keys/minisign.h"

#include <assert.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "keys/files.h"
#include "format/base/bytes.h"

#define COMMENT_PREFIX "untrusted comment: "
#define COMMENT_LINE_MAX (sizeof(COMMENT_PREFIX) + 1024)
#define KEY_FILE_MAX (COMMENT_LINE_MAX + MINISIGN_SECRET_CHARS + 2)

#define ALGORITHM "Ed"
#define KDF_SCRYPT "Sc"
#define KDF_NONE "\0"
#define CHECKSUM "B2"

enum public_at { PUBLIC_AT_KEYNUM = 2, PUBLIC_AT_KEY = 10 };
enum secret_at {
	SECRET_AT_KDF = 2,
	SECRET_AT_CHECKSUM_KIND = 4,
	SECRET_AT_SALT = 6,
	SECRET_AT_OPSLIMIT = 38,
	SECRET_AT_MEMLIMIT = 46,
	SECRET_AT_KEYNUM = 54,
	SECRET_AT_KEY = 62,
	SECRET_AT_CHECKSUM = 126,
};
#define CIPHERED_BYTES (MINISIGN_SECRET_BYTES - SECRET_AT_KEYNUM)
#define CHECKSUM_BYTES (MINISIGN_SECRET_BYTES - SECRET_AT_CHECKSUM)
#define SALT_BYTES_SCRYPT (SECRET_AT_OPSLIMIT - SECRET_AT_SALT)

static_assert(SALT_BYTES_SCRYPT == crypto_pwhash_scryptsalsa208sha256_SALTBYTES, "salt");

const struct scrypt_cost MINISIGN_SENSITIVE = {
	crypto_pwhash_scryptsalsa208sha256_OPSLIMIT_SENSITIVE,
	crypto_pwhash_scryptsalsa208sha256_MEMLIMIT_SENSITIVE,
};

/* Memory for secrets: locked, guarded, not dumped, wiped by sodium_free(). */
static void *locked_memory(size_t size, struct fault *why)
{
	void *p = sodium_init() < 0 ? NULL : sodium_malloc(size);

	if (!p)
		fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "no locked memory for a secret key");
	return p;
}

char *key_id(char buf[KEY_ID_CHARS + 1], const uint8_t keynum[KEYNUM_BYTES])
{
	snprintf(buf, KEY_ID_CHARS + 1, "%" PRIX64, get_le64(keynum));
	return buf;
}

char *key_fingerprint(char buf[FINGERPRINT_CHARS + 1], const struct public_key *pk)
{
	uint8_t hash[32];
	size_t i;

	crypto_generichash(hash, sizeof(hash), pk->key, sizeof(pk->key), NULL, 0);
	for (i = 0; i < sizeof(hash); i += 2)
		snprintf(buf + i / 2 * 5, 6, "%02x%02x%s", hash[i], hash[i + 1], i + 2 < sizeof(hash) ? " " : "");
	return buf;
}

char *key_base64(char buf[MINISIGN_PUBLIC_CHARS + 1], const struct public_key *pk)
{
	uint8_t raw[MINISIGN_PUBLIC_BYTES];

	memcpy(raw, ALGORITHM, PUBLIC_AT_KEYNUM);
	memcpy(raw + PUBLIC_AT_KEYNUM, pk->keynum, sizeof(pk->keynum));
	memcpy(raw + PUBLIC_AT_KEY, pk->key, sizeof(pk->key));
	return sodium_bin2base64(buf, MINISIGN_PUBLIC_CHARS + 1, raw, sizeof(raw), sodium_base64_VARIANT_ORIGINAL);
}

bool key_equal(const struct public_key *a, const struct public_key *b)
{
	return sodium_memcmp(a->keynum, b->keynum, sizeof(a->keynum)) == 0 &&
	       sodium_memcmp(a->key, b->key, sizeof(a->key)) == 0;
}

void key_of_identity(struct public_key *pk, const struct identity *id)
{
	memcpy(pk->keynum, id->keynum, sizeof(pk->keynum));
	memcpy(pk->key, id->public_key, sizeof(pk->key));
}

/* The bytes must give the very text again: libsodium 1.0.18 takes some characters beyond 127 for letters. */
bool base64_decode(uint8_t *out, size_t room, size_t *n, const char *text, size_t chars)
{
	char again[BASE64_CHARS_MAX + 1];
	bool good;

	if (chars > BASE64_CHARS_MAX ||
	    sodium_base642bin(out, room, text, chars, NULL, n, NULL, sodium_base64_VARIANT_ORIGINAL) != 0)
		return false;
	sodium_bin2base64(again, sizeof(again), out, *n, sodium_base64_VARIANT_ORIGINAL);
	good = sodium_memcmp(again, text, chars) == 0;
	sodium_memzero(again, sizeof(again)); /* it may have been a secret key */
	return good;
}

bool minisign_decode_base64(uint8_t *out, size_t size, const char *text, size_t chars)
{
	size_t n;

	return base64_decode(out, size, &n, text, chars) && n == size;
}

/* Two lines of `text`: a comment and base64. Sets *base64 and *chars to the second. */
static int split_lines(const char *text, size_t len, const char **base64, size_t *chars, struct fault *why)
{
	const char *eol = memchr(text, '\n', len);
	size_t prefix = strlen(COMMENT_PREFIX), rest;

	if (len == 0)
		return fault_set(why, ERR_KEY, FAULT_NOWHERE, "the file is empty, so no minisign key");
	if (len < prefix || memcmp(text, COMMENT_PREFIX, prefix) != 0)
		return fault_set(why, ERR_KEY, FAULT_NOWHERE,
				 "not a minisign key: the first line does not begin with \"untrusted comment: \"");
	if (!eol)
		return fault_set(why, ERR_KEY, FAULT_NOWHERE, "a key file cut off after its comment");
	if ((size_t)(eol - text) > COMMENT_LINE_MAX)
		return fault_set(why, ERR_KEY, FAULT_NOWHERE, "not a minisign key: the comment is too long");
	rest = len - (size_t)(eol + 1 - text);
	if (rest > 0 && eol[rest] == '\n')
		rest--;
	if (memchr(text, '\0', len) || memchr(eol + 1, '\n', rest) || memchr(eol + 1, '\r', rest))
		return fault_set(why, ERR_KEY, FAULT_NOWHERE, "not a minisign key: not two lines of plain text");
	*base64 = eol + 1;
	*chars = rest;
	return 0;
}

/* A public key out of a line of base64 that is known to have `chars` characters. */
static int parse_public(struct public_key *pk, const char *base64, size_t chars, struct fault *why)
{
	uint8_t raw[MINISIGN_PUBLIC_BYTES];

	if (chars == MINISIGN_SECRET_CHARS)
		return fault_set(why, ERR_KEY, FAULT_NOWHERE, "a secret key, where a public key is needed");
	if (chars < MINISIGN_PUBLIC_CHARS)
		return fault_set(why, ERR_KEY, FAULT_NOWHERE, "a public key that is cut off: %zu of %d characters",
				 chars, MINISIGN_PUBLIC_CHARS);
	if (!minisign_decode_base64(raw, sizeof(raw), base64, chars))
		return fault_set(why, ERR_KEY, FAULT_NOWHERE, "not a minisign public key: not %d characters of base64",
				 MINISIGN_PUBLIC_CHARS);
	if (memcmp(raw, ALGORITHM, PUBLIC_AT_KEYNUM) != 0)
		return fault_set(why, ERR_KEY, FAULT_NOWHERE, "not a minisign public key: not of the algorithm Ed");
	memcpy(pk->keynum, raw + PUBLIC_AT_KEYNUM, sizeof(pk->keynum));
	memcpy(pk->key, raw + PUBLIC_AT_KEY, sizeof(pk->key));
	return 0;
}

int key_parse(struct public_key *pk, const char *base64, struct fault *why)
{
	return parse_public(pk, base64, strlen(base64), why);
}

int minisign_read_public(struct public_key *pk, const char *path, struct fault *why)
{
	char text[KEY_FILE_MAX];
	const char *base64 = "";
	size_t len, chars = 0;
	int r;

	r = file_read(path, FILE_PUBLIC, text, sizeof(text), &len, why);
	if (r < 0)
		return r;
	r = split_lines(text, len, &base64, &chars, why);
	if (r == 0)
		r = parse_public(pk, base64, chars, why);
	sodium_memzero(text, sizeof(text)); /* somebody may have named a secret key file */
	return r < 0 ? fault_at_path(why, r, path) : 0;
}

size_t minisign_format_public(char buf[MINISIGN_PUBLIC_FILE_MAX], const struct public_key *pk)
{
	char id[KEY_ID_CHARS + 1], base64[MINISIGN_PUBLIC_CHARS + 1];

	return (size_t)snprintf(buf, MINISIGN_PUBLIC_FILE_MAX, COMMENT_PREFIX "minisign public key %s\n%s\n",
				key_id(id, pk->keynum), key_base64(base64, pk));
}

/* A secret key's 158 bytes out of the text of its file. */
static int parse_secret(uint8_t raw[MINISIGN_SECRET_BYTES], const char *text, size_t len, struct fault *why)
{
	const char *base64 = "";
	size_t chars = 0;
	int r = split_lines(text, len, &base64, &chars, why);

	if (r < 0)
		return r;
	if (chars < MINISIGN_SECRET_CHARS)
		return fault_set(why, ERR_KEY, FAULT_NOWHERE, "a secret key that is cut off: %zu of %d characters",
				 chars, MINISIGN_SECRET_CHARS);
	if (!minisign_decode_base64(raw, MINISIGN_SECRET_BYTES, base64, chars))
		return fault_set(why, ERR_KEY, FAULT_NOWHERE, "not a minisign secret key: not %d characters of base64",
				 MINISIGN_SECRET_CHARS);
	if (memcmp(raw, ALGORITHM, SECRET_AT_KDF) != 0 || memcmp(raw + SECRET_AT_CHECKSUM_KIND, CHECKSUM, 2) != 0)
		return fault_set(why, ERR_KEY, FAULT_NOWHERE,
				 "not a minisign secret key: not of the algorithms Ed and B2");
	if (memcmp(raw + SECRET_AT_KDF, KDF_SCRYPT, 2) != 0 && memcmp(raw + SECRET_AT_KDF, KDF_NONE, 2) != 0)
		return fault_set(why, ERR_KEY, FAULT_NOWHERE, "a secret key encrypted in an unknown way");
	return 0;
}

int minisign_read_secret(uint8_t raw[MINISIGN_SECRET_BYTES], const char *path, struct fault *why)
{
	char *text = locked_memory(KEY_FILE_MAX, why);
	struct public_key pk;
	size_t len;
	int r;

	if (!text)
		return ERR_MEMORY;
	r = file_read(path, FILE_SECRET, text, KEY_FILE_MAX, &len, why);
	if (r == 0) {
		r = parse_secret(raw, text, len, why);
		if (r < 0)
			r = fault_at_path(why, r, path);
	}
	sodium_free(text); /* wipes */
	/* Whether others may read it does not matter to who has named the wrong half. */
	if (r == ERR_KEY && minisign_read_public(&pk, path, NULL) == 0)
		r = fault_set(why, ERR_KEY, FAULT_NOWHERE, "%.140s: a public key, where a secret key is needed", path);
	return r;
}

bool minisign_is_encrypted(const uint8_t raw[MINISIGN_SECRET_BYTES])
{
	return memcmp(raw + SECRET_AT_KDF, KDF_SCRYPT, 2) == 0;
}

/* XOR the last 104 bytes with the scrypt stream that the passphrase, salt and limits in `raw` give. */
static int cipher(uint8_t raw[MINISIGN_SECRET_BYTES], const char *passphrase, struct fault *why)
{
	uint64_t opslimit = get_le64(raw + SECRET_AT_OPSLIMIT), memlimit = get_le64(raw + SECRET_AT_MEMLIMIT);
	uint8_t *stream;
	size_t i;
	int r = 0;

	if (opslimit > MINISIGN_OPSLIMIT_MAX || memlimit > MINISIGN_MEMLIMIT_MAX)
		return fault_set(why, ERR_KEY, FAULT_NOWHERE,
				 "a secret key that asks for too much work (%" PRIu64 " operations, %" PRIu64 " bytes)",
				 opslimit, memlimit);
	stream = locked_memory(CIPHERED_BYTES, why);
	if (!stream)
		return ERR_MEMORY;
	if (crypto_pwhash_scryptsalsa208sha256(stream, CIPHERED_BYTES, passphrase, strlen(passphrase),
					       raw + SECRET_AT_SALT, opslimit, (size_t)memlimit) != 0)
		r = fault_set(why, ERR_MEMORY, FAULT_NOWHERE,
			      "scrypt needs %" PRIu64 " MiB of memory for this passphrase", memlimit >> 20);
	for (i = 0; r == 0 && i < CIPHERED_BYTES; i++)
		raw[SECRET_AT_KEYNUM + i] ^= stream[i];
	sodium_free(stream);
	return r;
}

static void checksum(uint8_t sum[CHECKSUM_BYTES], const uint8_t raw[MINISIGN_SECRET_BYTES])
{
	crypto_generichash_state state;

	crypto_generichash_init(&state, NULL, 0, CHECKSUM_BYTES);
	crypto_generichash_update(&state, (const uint8_t *)ALGORITHM, SECRET_AT_KDF);
	crypto_generichash_update(&state, raw + SECRET_AT_KEYNUM, SECRET_AT_CHECKSUM - SECRET_AT_KEYNUM);
	crypto_generichash_final(&state, sum, CHECKSUM_BYTES);
	sodium_memzero(&state, sizeof(state));
}

int minisign_open_secret(struct identity *id, uint8_t raw[MINISIGN_SECRET_BYTES], const char *passphrase,
			 struct fault *why)
{
	uint8_t sum[CHECKSUM_BYTES], pk[PUBLIC_KEY_BYTES], sk[SECRET_KEY_BYTES];
	bool encrypted = minisign_is_encrypted(raw), consistent;
	int r;

	if (encrypted) {
		r = cipher(raw, passphrase ? passphrase : "", why);
		if (r < 0)
			return r;
	}
	checksum(sum, raw);
	if (encrypted && sodium_memcmp(sum, raw + SECRET_AT_CHECKSUM, sizeof(sum)) != 0)
		return fault_set(why, ERR_KEY, FAULT_NOWHERE, "wrong passphrase for this secret key");
	/* A key that is not encrypted has no checksum; but its second half follows from the first. */
	crypto_sign_seed_keypair(pk, sk, raw + SECRET_AT_KEY);
	consistent = sodium_memcmp(sk, raw + SECRET_AT_KEY, sizeof(sk)) == 0;
	if (consistent) {
		memcpy(id->keynum, raw + SECRET_AT_KEYNUM, sizeof(id->keynum));
		memcpy(id->public_key, pk, sizeof(id->public_key));
		memcpy(id->secret_key, sk, sizeof(id->secret_key));
	}
	sodium_memzero(sk, sizeof(sk));
	sodium_memzero(sum, sizeof(sum));
	return consistent ? 0
			  : fault_set(why, ERR_KEY, FAULT_NOWHERE,
				      "a damaged secret key: its two halves do not belong together");
}

int identity_generate(struct identity *id, struct fault *why)
{
	if (sodium_init() < 0)
		return fault_set(why, ERR_IO, FAULT_NOWHERE, "the system provides no random numbers");
	randombytes_buf(id->keynum, sizeof(id->keynum));
	crypto_sign_keypair(id->public_key, id->secret_key);
	return 0;
}

int minisign_format_secret(char buf[MINISIGN_SECRET_FILE_MAX], size_t *len, const struct identity *id,
			   const char *passphrase, const struct scrypt_cost *cost, struct fault *why)
{
	static const char comment[] = COMMENT_PREFIX "minisign encrypted secret key\n"; /* minisign's, for both sorts */
	uint8_t *raw = locked_memory(MINISIGN_SECRET_BYTES, why);
	size_t n = sizeof(comment) - 1;
	int r = 0;

	if (!raw)
		return ERR_MEMORY;
	memset(raw, 0, MINISIGN_SECRET_BYTES);
	memcpy(raw, ALGORITHM, SECRET_AT_KDF);
	memcpy(raw + SECRET_AT_CHECKSUM_KIND, CHECKSUM, 2);
	memcpy(raw + SECRET_AT_KEYNUM, id->keynum, sizeof(id->keynum));
	memcpy(raw + SECRET_AT_KEY, id->secret_key, sizeof(id->secret_key));
	if (passphrase) {
		memcpy(raw + SECRET_AT_KDF, KDF_SCRYPT, 2);
		randombytes_buf(raw + SECRET_AT_SALT, SALT_BYTES_SCRYPT);
		put_le64(raw + SECRET_AT_OPSLIMIT, cost->opslimit);
		put_le64(raw + SECRET_AT_MEMLIMIT, cost->memlimit);
		checksum(raw + SECRET_AT_CHECKSUM, raw);
		r = cipher(raw, passphrase, why);
	}
	if (r == 0) {
		memcpy(buf, comment, n);
		sodium_bin2base64(buf + n, MINISIGN_SECRET_FILE_MAX - n, raw, MINISIGN_SECRET_BYTES,
				  sodium_base64_VARIANT_ORIGINAL);
		n += MINISIGN_SECRET_CHARS;
		buf[n++] = '\n';
		*len = n;
	}
	sodium_free(raw);
	return r;
}
