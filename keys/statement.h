/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is signed under a delegation or a line of custody: a hash of a domain of 16 bytes and the statement, as
 * docs/FORMAT.md does it. The signature is over the domain again and that hash, 48 bytes, as in a capture. New ones
 * are Ed25519ph (RFC 8032, empty context), so that a file of 48 bytes that the key signs elsewhere is none of them.
 */
#ifndef GPUREC_KEYS_STATEMENT_H
#define GPUREC_KEYS_STATEMENT_H

#include "format/writer.h"

#define STATEMENT_DOMAIN_BYTES 16

void statement_hash(uint8_t hash[HASH_BYTES], const char domain[STATEMENT_DOMAIN_BYTES], const void *bytes, size_t n);
void statement_sign(uint8_t signature[SIGNATURE_BYTES], const char domain[STATEMENT_DOMAIN_BYTES],
		    const uint8_t hash[HASH_BYTES], const struct identity *id);
/* `plain`: by plain Ed25519, as statements of version 1 are signed. */
bool statement_signed_by(const uint8_t signature[SIGNATURE_BYTES], const char domain[STATEMENT_DOMAIN_BYTES],
			 const uint8_t hash[HASH_BYTES], const uint8_t public_key[PUBLIC_KEY_BYTES], bool plain);

#endif
