/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hashes and signatures, each with a domain of its own: BLAKE2b-256 (RFC 7693) over
 * domain[16] ‖ ..., and Ed25519ph (RFC 8032, empty context) over domain[16] ‖ hash[32], so that no file that the key
 * signs elsewhere is one of them. keys/ signs its statements in the same way, in domains of its own; else this is
 * internal to format/.
 */
#ifndef GPUREC_FORMAT_CRYPT_H
#define GPUREC_FORMAT_CRYPT_H

#include "format/reader.h"

/* ASCII, filled with zeros to 16 bytes. */
#define DOMAIN_BYTES 16
extern const char domain_header[DOMAIN_BYTES];
extern const char domain_chunk[DOMAIN_BYTES];
extern const char domain_seal[DOMAIN_BYTES];
extern const char domain_end[DOMAIN_BYTES];

/* H(domain ‖ bytes) */
void crypt_hash(uint8_t hash[HASH_BYTES], const char domain[DOMAIN_BYTES], const void *bytes, size_t n);

/* H(domain_chunk ‖ capture id ‖ epoch le64 ‖ index le32 ‖ salt ‖ LZ4 frame) */
void crypt_commit(uint8_t commitment[HASH_BYTES], const uint8_t capture_id[CAPTURE_ID_BYTES], uint64_t epoch,
		  uint32_t index, const uint8_t salt[SALT_BYTES], const uint8_t *frame, size_t n);

void crypt_sign(uint8_t signature[SIGNATURE_BYTES], const char domain[DOMAIN_BYTES], const uint8_t hash[HASH_BYTES],
		const uint8_t secret_key[SECRET_KEY_BYTES]);
bool crypt_signed_by(const uint8_t signature[SIGNATURE_BYTES], const char domain[DOMAIN_BYTES],
		     const uint8_t hash[HASH_BYTES], const uint8_t public_key[PUBLIC_KEY_BYTES]);
/* The same by plain Ed25519, as captures without FEATURE_PREHASHED and statements of version 1 are signed. Nothing is
 * signed so any more. */
bool crypt_signed_plainly_by(const uint8_t signature[SIGNATURE_BYTES], const char domain[DOMAIN_BYTES],
			     const uint8_t hash[HASH_BYTES], const uint8_t public_key[PUBLIC_KEY_BYTES]);
/* The one of the two by which a capture with this header is signed. */
bool crypt_signed(const struct header *h, const uint8_t signature[SIGNATURE_BYTES], const char domain[DOMAIN_BYTES],
		  const uint8_t hash[HASH_BYTES], const uint8_t public_key[PUBLIC_KEY_BYTES]);

/*
 * The chain of session keys: one signs the open epoch, the next one's public half goes into that epoch's seal. Lives in
 * locked memory that is neither dumped nor inherited by a fork.
 */
struct session_keys;

int session_open(struct session_keys **s, struct fault *why);
const uint8_t *session_public(const struct session_keys *s);      /* of the open epoch */
const uint8_t *session_next_public(const struct session_keys *s); /* of the epoch after it */
void session_sign(const struct session_keys *s, uint8_t signature[SIGNATURE_BYTES], const char domain[DOMAIN_BYTES],
		  const uint8_t hash[HASH_BYTES]);
/* Wipe the open epoch's key, move on to the next, make one after that. */
void session_advance(struct session_keys *s);
void session_close(struct session_keys *s);

#endif
