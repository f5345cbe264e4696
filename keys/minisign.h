/* SPDX-License-Identifier: Apache-2.0 */
/*
 * minisign's key files (https://jedisct1.github.io/minisign/), so that existing keys and the stock tool serve.
 *
 * A file is two lines: "untrusted comment: ..." and base64. Decoded, a public key is 42 bytes, a secret key 158:
 *
 *	public  0  2 "Ed"      secret    0  2 "Ed"
 *	        2  8 keynum              2  2 kdf: "Sc", or two zeros: not encrypted
 *	       10 32 Ed25519             4  2 "B2"
 *	                                 6 32 salt
 *	                                38  8 opslimit, little-endian
 *	                                46  8 memlimit, little-endian
 *	                                54  8 keynum                     } these 104 XORed with
 *	                                62 64 Ed25519 seed, public key   } scrypt(passphrase, salt)
 *	                               126 32 BLAKE2b-256("Ed", keynum, secret key) } when encrypted
 *
 * In a key that is not encrypted salt, limits and checksum are all zero.
 */
#ifndef GPUREC_KEYS_MINISIGN_H
#define GPUREC_KEYS_MINISIGN_H

#include "format/writer.h"

#define MINISIGN_PUBLIC_BYTES 42
#define MINISIGN_SECRET_BYTES 158
#define MINISIGN_PUBLIC_CHARS 56 /* of base64 */
#define MINISIGN_SECRET_CHARS 212
#define KEY_ID_CHARS 16
#define FINGERPRINT_CHARS 79 /* 16 groups of 4 */

/* What scrypt may be asked for by a key file: twice what minisign itself asks for. */
#define MINISIGN_MEMLIMIT_MAX (2ull << 30)
#define MINISIGN_OPSLIMIT_MAX (2ull << 25)

struct public_key {
	uint8_t keynum[KEYNUM_BYTES];
	uint8_t key[PUBLIC_KEY_BYTES];
};

/* Key id as minisign prints it: the little-endian number in upper-case hex, without leading zeros. Returns buf. */
char *key_id(char buf[KEY_ID_CHARS + 1], const uint8_t keynum[KEYNUM_BYTES]);
/* BLAKE2b-256 of the 32-byte key in hex, in groups of four. Returns buf. */
char *key_fingerprint(char buf[FINGERPRINT_CHARS + 1], const struct public_key *pk);
/* The whole public key in one line: the base64 of its file. Returns buf. */
char *key_base64(char buf[MINISIGN_PUBLIC_CHARS + 1], const struct public_key *pk);
/* Same number and same key, in constant time. */
bool key_equal(const struct public_key *a, const struct public_key *b);
/* The public half of an identity. */
void key_of_identity(struct public_key *pk, const struct identity *id);

/* From one line of base64, exactly MINISIGN_PUBLIC_CHARS long. ERR_KEY with a sentence that names nothing. */
int key_parse(struct public_key *pk, const char *base64, struct fault *why);

/* Public key file at `path`. ERR_KEY: it is no such file; ERR_IO, ERR_DENIED: it cannot be read. */
int minisign_read_public(struct public_key *pk, const char *path, struct fault *why);
/* The text of a public key file, into buf; returns its length. */
#define MINISIGN_PUBLIC_FILE_MAX 160
size_t minisign_format_public(char buf[MINISIGN_PUBLIC_FILE_MAX], const struct public_key *pk);

/*
 * Secret key file at `path`: a regular file, not a link, that only its owner can read. Its 158 bytes go into `raw`,
 * memory of the caller's that is locked and that the caller wipes.
 */
int minisign_read_secret(uint8_t raw[MINISIGN_SECRET_BYTES], const char *path, struct fault *why);
/* Whether opening it takes a passphrase. */
bool minisign_is_encrypted(const uint8_t raw[MINISIGN_SECRET_BYTES]);
/*
 * The identity in `raw`; decrypts `raw` in place. passphrase: NULL if not encrypted. ERR_KEY: wrong passphrase, or the
 * key contradicts itself; ERR_MEMORY.
 */
int minisign_open_secret(struct identity *id, uint8_t raw[MINISIGN_SECRET_BYTES], const char *passphrase,
			 struct fault *why);

#define BASE64_CHARS(bytes) (((bytes) + 2) / 3 * 4)
#define BASE64_CHARS_MAX 304 /* of a delegation with the longest name; a secret key has fewer */
/*
 * Bytes out of `chars` characters of canonical base64, at most BASE64_CHARS_MAX of them: at most `room` bytes, their
 * number into *n; or exactly `size`. On failure what was decoded is still in `out`.
 */
bool base64_decode(uint8_t *out, size_t room, size_t *n, const char *text, size_t chars);
bool minisign_decode_base64(uint8_t *out, size_t size, const char *text, size_t chars);

/* Limits for scrypt; minisign's own are MINISIGN_SENSITIVE. */
struct scrypt_cost {
	uint64_t opslimit, memlimit;
};
extern const struct scrypt_cost MINISIGN_SENSITIVE;

/* A new identity from the system's randomness. */
int identity_generate(struct identity *id, struct fault *why);
/*
 * The text of a secret key file, into buf (locked memory; the caller wipes it); sets *len. passphrase: NULL for a key
 * that is not encrypted; then `cost` is not used.
 */
#define MINISIGN_SECRET_FILE_MAX 320
int minisign_format_secret(char buf[MINISIGN_SECRET_FILE_MAX], size_t *len, const struct identity *id,
			   const char *passphrase, const struct scrypt_cost *cost, struct fault *why);

#endif
