/* SPDX-License-Identifier: Apache-2.0 */
/*
 * minisign's detached signatures, FILE.minisig beside FILE (https://jedisct1.github.io/minisign/). Four lines:
 *
 *	untrusted comment: anything          not signed: never shown
 *	base64 of 74 bytes                   "ED", keynum, Ed25519 over the 64 bytes of BLAKE2b-512(file)
 *	trusted comment: anything            signed by the next line
 *	base64 of 64 bytes                   Ed25519 over (the 64 bytes of the first signature, the trusted comment)
 *
 * minisign's older kind, "Ed", signs the file itself. An "ED" signature would pass for an "Ed" one over the 64 bytes of
 * the hash; so "Ed" is neither made nor accepted, and nothing but such a hash is ever signed as 64 bytes: hence a type
 * that only signature_hash*() make, and no empty trusted comment.
 */
#ifndef GPUREC_KEYS_SIGNATURE_H
#define GPUREC_KEYS_SIGNATURE_H

#include "format/reader.h"
#include "keys/minisign.h"

#define SIGNATURE_SUFFIX ".minisig"
/* Bytes of a comment without its prefix. minisign reads lines of at most 1023 and 8191 bytes with all that is in them.
 */
#define SIGNATURE_COMMENT_MAX 1000
#define SIGNATURE_TRUSTED_MAX 8000
#define SIGNATURE_FILE_MAX 9400

#define PREHASH_BYTES 64

/* BLAKE2b-512 of a whole file. */
struct prehash {
	uint8_t bytes[PREHASH_BYTES];
};

/* A .minisig file. Text has no newline or other control character but the tab; escape it before showing it. */
struct signature {
	uint8_t keynum[KEYNUM_BYTES];
	uint8_t of_file[SIGNATURE_BYTES];
	uint8_t of_comment[SIGNATURE_BYTES];
	char comment[SIGNATURE_COMMENT_MAX + 1];
	char trusted[SIGNATURE_TRUSTED_MAX + 1];
};

/*
 * Sign the file at `path` and write `sig_path`, whole or not at all. comment, trusted: NULL for what minisign writes
 * ("timestamp:UNIX\tfile:BASENAME\thashed"). ERR_INPUT: no regular file, it changed meanwhile, or a comment that cannot
 * be in a line; ERR_EXISTS: there is such a file, unless `replace`; ERR_IO, ERR_DENIED.
 */
int signature_make(const char *path, const char *sig_path, bool replace, const struct identity *id, const char *comment,
		   const char *trusted, struct fault *why);

/*
 * Whether `sig_path` is a signature of the file at `path` by `pk`; both are read whole. 0 and *sig (may be NULL), whose
 * trusted comment holds then. ERR_FORMAT: no such signature file, or one of the kind "Ed"; ERR_KEY: by a key with
 * another number; ERR_FORGED: the file, the trusted comment or the signature is not what was signed; ERR_INPUT: `path`
 * is no regular file or changed meanwhile; ERR_IO, ERR_DENIED.
 */
int signature_check(const char *path, const char *sig_path, const struct public_key *pk, struct signature *sig,
		    struct fault *why);

/* The steps of these two, for those who sign from memory, or compare with several keys. */

/* "PATH.minisig" into sig_path[PATH_MAX]. ERR_INPUT: too long. */
int signature_path(char *sig_path, const char *path, struct fault *why);
/* Hash a regular file, in pieces. Errors as above. */
int signature_hash(struct prehash *hash, const char *path, struct fault *why);
void signature_hash_bytes(struct prehash *hash, const void *bytes, size_t len);
/* comment: NULL for minisign's; trusted: not NULL. ERR_INPUT: one of them cannot be in a line. */
int signature_sign(struct signature *sig, const struct prehash *hash, const struct identity *id, const char *comment,
		   const char *trusted, struct fault *why);
/* minisign's trusted comment for a file called `path`, signed at `unix_s`. What cannot be in a line becomes '_'. */
void signature_default_trusted(char trusted[SIGNATURE_TRUSTED_MAX + 1], const char *path, int64_t unix_s);
/* ERR_KEY or ERR_FORGED, as signature_check(). */
int signature_verify(const struct signature *sig, const struct prehash *hash, const struct public_key *pk,
		     struct fault *why);
/* The text of a .minisig file into buf; returns its length. */
size_t signature_format(char buf[SIGNATURE_FILE_MAX], const struct signature *sig);
/* From text: exactly four lines, the last newline may be missing. ERR_FORMAT with a sentence that names no file. */
int signature_parse(struct signature *sig, const char *text, size_t len, struct fault *why);
/* From a file: the same, with its path. ERR_IO, ERR_DENIED: it cannot be read. */
int signature_read(struct signature *sig, const char *path, struct fault *why);

#endif
