/* SPDX-License-Identifier: Apache-2.0 */
#include "format/crypt.h"

#include <sodium.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/base/bytes.h"

_Static_assert(PUBLIC_KEY_BYTES == crypto_sign_PUBLICKEYBYTES, "Ed25519 public key");
_Static_assert(SECRET_KEY_BYTES == crypto_sign_SECRETKEYBYTES, "Ed25519 secret key");
_Static_assert(SIGNATURE_BYTES == crypto_sign_BYTES, "Ed25519 signature");
_Static_assert(HASH_BYTES == crypto_generichash_BYTES, "BLAKE2b-256");

const char domain_header[DOMAIN_BYTES] = "gpurec.header.1";
const char domain_chunk[DOMAIN_BYTES] = "gpurec.chunk.1";
const char domain_seal[DOMAIN_BYTES] = "gpurec.seal.1";
const char domain_end[DOMAIN_BYTES] = "gpurec.end.1";

/* libsodium's hash functions only fail on wrong lengths, which are constants here. */
void crypt_hash(uint8_t hash[HASH_BYTES], const char domain[DOMAIN_BYTES], const void *bytes, size_t n)
{
	crypto_generichash_state state;

	(void)crypto_generichash_init(&state, NULL, 0, HASH_BYTES);
	(void)crypto_generichash_update(&state, (const uint8_t *)domain, DOMAIN_BYTES);
	(void)crypto_generichash_update(&state, bytes, n);
	(void)crypto_generichash_final(&state, hash, HASH_BYTES);
}

void crypt_commit(uint8_t commitment[HASH_BYTES], const uint8_t capture_id[CAPTURE_ID_BYTES], uint64_t epoch,
		  uint32_t index, const uint8_t salt[SALT_BYTES], const uint8_t *frame, size_t n)
{
	crypto_generichash_state state;
	uint8_t head[DOMAIN_BYTES + CAPTURE_ID_BYTES + 8 + 4 + SALT_BYTES];
	uint8_t *number = head + DOMAIN_BYTES + CAPTURE_ID_BYTES;

	memcpy(head, domain_chunk, DOMAIN_BYTES);
	memcpy(head + DOMAIN_BYTES, capture_id, CAPTURE_ID_BYTES);
	put_le64(number, epoch);
	put_le32(number + 8, index);
	memcpy(number + 8 + 4, salt, SALT_BYTES);
	(void)crypto_generichash_init(&state, NULL, 0, HASH_BYTES);
	(void)crypto_generichash_update(&state, head, sizeof(head));
	(void)crypto_generichash_update(&state, frame, n);
	(void)crypto_generichash_final(&state, commitment, HASH_BYTES);
}

#define SIGNED_BYTES (DOMAIN_BYTES + HASH_BYTES)

static void signed_message(uint8_t message[SIGNED_BYTES], const char *domain, const uint8_t *hash)
{
	memcpy(message, domain, DOMAIN_BYTES);
	memcpy(message + DOMAIN_BYTES, hash, HASH_BYTES);
}

void crypt_sign(uint8_t signature[SIGNATURE_BYTES], const char domain[DOMAIN_BYTES], const uint8_t hash[HASH_BYTES],
		const uint8_t secret_key[SECRET_KEY_BYTES])
{
	uint8_t message[SIGNED_BYTES];
	crypto_sign_state state;

	signed_message(message, domain, hash);
	(void)crypto_sign_init(&state);
	(void)crypto_sign_update(&state, message, sizeof(message));
	(void)crypto_sign_final_create(&state, signature, NULL, secret_key);
}

bool crypt_signed_by(const uint8_t signature[SIGNATURE_BYTES], const char domain[DOMAIN_BYTES],
		     const uint8_t hash[HASH_BYTES], const uint8_t public_key[PUBLIC_KEY_BYTES])
{
	uint8_t message[SIGNED_BYTES];
	crypto_sign_state state;

	signed_message(message, domain, hash);
	(void)crypto_sign_init(&state);
	(void)crypto_sign_update(&state, message, sizeof(message));
	return crypto_sign_final_verify(&state, signature, public_key) == 0;
}

bool crypt_signed_plainly_by(const uint8_t signature[SIGNATURE_BYTES], const char domain[DOMAIN_BYTES],
			     const uint8_t hash[HASH_BYTES], const uint8_t public_key[PUBLIC_KEY_BYTES])
{
	uint8_t message[SIGNED_BYTES];

	signed_message(message, domain, hash);
	return crypto_sign_verify_detached(signature, message, sizeof(message), public_key) == 0;
}

bool crypt_signed(const struct header *h, const uint8_t signature[SIGNATURE_BYTES], const char domain[DOMAIN_BYTES],
		  const uint8_t hash[HASH_BYTES], const uint8_t public_key[PUBLIC_KEY_BYTES])
{
	if (h->incompatible & FEATURE_PREHASHED)
		return crypt_signed_by(signature, domain, hash, public_key);
	return crypt_signed_plainly_by(signature, domain, hash, public_key);
}

struct session_keys {
	uint8_t public_key[PUBLIC_KEY_BYTES];
	uint8_t secret_key[SECRET_KEY_BYTES];
	uint8_t next_public[PUBLIC_KEY_BYTES];
	uint8_t next_secret[SECRET_KEY_BYTES];
};

int session_open(struct session_keys **s, struct fault *why)
{
	struct session_keys *k;
	uintptr_t page;

	if (sodium_init() < 0)
		return fault_set(why, ERR_IO, FAULT_NOWHERE, "the system provides no random numbers");
	/* Guard pages, left out of core dumps. It goes on in silence when it cannot lock, so that is asked for again.
	 */
	k = sodium_malloc(sizeof(*k));
	if (!k)
		return fault_no_memory(why);
	if (sodium_mlock(k, sizeof(*k)) < 0) {
		sodium_free(k);
		return fault_set(why, ERR_MEMORY, FAULT_NOWHERE,
				 "no locked memory for the session keys (raise the limit: ulimit -l)");
	}
	page = (uintptr_t)k & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
	if (madvise((void *)page, (uintptr_t)k + sizeof(*k) - page, MADV_WIPEONFORK) < 0) {
		fault_errno(why, "cannot keep the session keys from child processes");
		sodium_free(k);
		return why ? (int)why->code : ERR_IO;
	}
	crypto_sign_keypair(k->public_key, k->secret_key);
	crypto_sign_keypair(k->next_public, k->next_secret);
	*s = k;
	return 0;
}

const uint8_t *session_public(const struct session_keys *s)
{
	return s->public_key;
}

const uint8_t *session_next_public(const struct session_keys *s)
{
	return s->next_public;
}

void session_sign(const struct session_keys *s, uint8_t signature[SIGNATURE_BYTES], const char domain[DOMAIN_BYTES],
		  const uint8_t hash[HASH_BYTES])
{
	crypt_sign(signature, domain, hash, s->secret_key);
}

void session_advance(struct session_keys *s)
{
	memcpy(s->public_key, s->next_public, PUBLIC_KEY_BYTES);
	memcpy(s->secret_key, s->next_secret, SECRET_KEY_BYTES);
	crypto_sign_keypair(s->next_public, s->next_secret);
}

void session_close(struct session_keys *s)
{
	sodium_free(s); /* wipes */
}
