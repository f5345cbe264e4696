/* SPDX-License-Identifier: Apache-2.0 */
#include "keys/statement.h"

#include <sodium.h>
#include <string.h>

#define SIGNED_BYTES (STATEMENT_DOMAIN_BYTES + HASH_BYTES)

void statement_hash(uint8_t hash[HASH_BYTES], const char domain[STATEMENT_DOMAIN_BYTES], const void *bytes, size_t n)
{
	crypto_generichash_state state;

	(void)crypto_generichash_init(&state, NULL, 0, HASH_BYTES);
	(void)crypto_generichash_update(&state, (const uint8_t *)domain, STATEMENT_DOMAIN_BYTES);
	(void)crypto_generichash_update(&state, bytes, n);
	(void)crypto_generichash_final(&state, hash, HASH_BYTES);
}

static void message_of(uint8_t message[SIGNED_BYTES], const char *domain, const uint8_t *hash)
{
	memcpy(message, domain, STATEMENT_DOMAIN_BYTES);
	memcpy(message + STATEMENT_DOMAIN_BYTES, hash, HASH_BYTES);
}

void statement_sign(uint8_t signature[SIGNATURE_BYTES], const char domain[STATEMENT_DOMAIN_BYTES],
		    const uint8_t hash[HASH_BYTES], const struct identity *id)
{
	uint8_t message[SIGNED_BYTES];
	crypto_sign_state state;

	message_of(message, domain, hash);
	(void)crypto_sign_init(&state);
	(void)crypto_sign_update(&state, message, sizeof(message));
	(void)crypto_sign_final_create(&state, signature, NULL, id->secret_key);
}

bool statement_signed_by(const uint8_t signature[SIGNATURE_BYTES], const char domain[STATEMENT_DOMAIN_BYTES],
			 const uint8_t hash[HASH_BYTES], const uint8_t public_key[PUBLIC_KEY_BYTES], bool plain)
{
	uint8_t message[SIGNED_BYTES];
	crypto_sign_state state;

	message_of(message, domain, hash);
	if (plain)
		return crypto_sign_verify_detached(signature, message, sizeof(message), public_key) == 0;
	(void)crypto_sign_init(&state);
	(void)crypto_sign_update(&state, message, sizeof(message));
	return crypto_sign_final_verify(&state, signature, public_key) == 0;
}
