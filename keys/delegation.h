/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A delegation: an authority's signed statement that a key is that of the host NAME, for a time. docs/KEYS.md has its
 * bytes. Whether anybody should believe the authority is not decided here (keys/trust.h does).
 */
#ifndef GPUREC_KEYS_DELEGATION_H
#define GPUREC_KEYS_DELEGATION_H

#include "keys/minisign.h"

#define DELEGATION_SUFFIX ".delegation"
#define DELEGATION_NAME_MAX 64  /* bytes; plain text, see keys/plain_text.h */
#define DELEGATION_FILE_MAX 512 /* bytes of what delegation_format() makes; reading allows a longer comment */

/* All of it is proven by the signature of the authority that it names. */
struct delegation {
	struct public_key host, authority;
	uint64_t from_ns, until_ns; /* wall clock, ns since 1970: from <= t < until */
	char name[DELEGATION_NAME_MAX + 1];
	uint8_t version;          /* 2; 1: signed by plain Ed25519 */
	uint8_t hash[HASH_BYTES]; /* of domain and statement: what a revocation list calls it by */
	uint8_t signature[SIGNATURE_BYTES];
};

/* Make and sign. ERR_INPUT: the name is none, or until is not after from. */
int delegation_make(struct delegation *d, const struct public_key *host, const char *name, uint64_t from_ns,
		    uint64_t until_ns, const struct identity *authority, struct fault *why);

/* The text of a delegation file into buf; returns its length. */
size_t delegation_format(char buf[DELEGATION_FILE_MAX], const struct delegation *d);

/* Whether a text means to be a delegation: for those who take files of several sorts. */
bool delegation_is_meant(const char *text, size_t len);

/*
 * From text. ERR_KEY: it is no delegation; ERR_FORGED: the authority that it names did not sign this. The sentence
 * names no file.
 */
int delegation_parse(struct delegation *d, const char *text, size_t len, struct fault *why);
/* From a file: the same, with its path; ERR_IO, ERR_DENIED: it cannot be read. */
int delegation_read(struct delegation *d, const char *path, struct fault *why);

#endif
