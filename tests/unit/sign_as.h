/* SPDX-License-Identifier: Apache-2.0 */
/* Signs as a capture with these feature bits is signed, also in the way of format 1.0, which no writer does any more.
 */
#ifndef GPUREC_TESTS_SIGN_AS_H
#define GPUREC_TESTS_SIGN_AS_H

#include <sodium.h>
#include <string.h>

#include "format/crypt.h"

static inline void sign_as(uint64_t features, uint8_t *signature, const char *domain, const uint8_t *hash,
			   const uint8_t *secret_key)
{
	uint8_t message[DOMAIN_BYTES + HASH_BYTES];

	if (features & FEATURE_PREHASHED) {
		crypt_sign(signature, domain, hash, secret_key);
		return;
	}
	memcpy(message, domain, DOMAIN_BYTES);
	memcpy(message + DOMAIN_BYTES, hash, HASH_BYTES);
	crypto_sign_detached(signature, NULL, message, sizeof(message), secret_key);
}

#endif
