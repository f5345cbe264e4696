/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list of keys and delegations that count no longer, as text, with a detached minisign signature beside it:
 *
 *	gpurec revocations 1
 *	RWSAyORr13ivvoJT0Q1oDmsoXm/xvmZAJZldZuvAt/EVZRXYKVTafsV5 always the disk was stolen
 *	delegation:8ceab411bf90...7eef (64 digits) 2026-11-21T10:00:00Z the host has another owner
 *
 * One way to write each list: every line ends with a newline, one blank between its parts, no line about the same thing
 * twice. Who may sign it is decided by keys/store.h.
 */
#ifndef GPUREC_KEYS_REVOCATION_H
#define GPUREC_KEYS_REVOCATION_H

#include "keys/delegation.h"
#include "keys/signature.h"

#define REVOCATIONS_SUFFIX ".revocations"
#define REVOCATIONS_MAX 4096      /* lines of a list */
#define REVOCATION_REASON_MAX 120 /* bytes of plain text, see keys/plain_text.h */
#define REVOCATIONS_FILE_MAX 1048576

struct revocation {
	bool is_delegation;
	struct public_key key;    /* of a key; its number is a label: the 32 bytes count */
	uint8_t hash[HASH_BYTES]; /* of a delegation */
	uint64_t since_ns;        /* wall clock; 0: always */
	char reason[REVOCATION_REASON_MAX + 1];
};

struct revocations {
	struct revocation *items;
	size_t n, room;
};

/* What is said about a key or a delegation, or NULL. */
const struct revocation *revocations_find_key(const struct revocations *r, const struct public_key *pk);
const struct revocation *revocations_find_delegation(const struct revocations *r, const uint8_t hash[HASH_BYTES]);
/* What is said about the same thing as `item`, or NULL. */
const struct revocation *revocations_find(const struct revocations *r, const struct revocation *item);

/*
 * Add one, or, where there is a line about the same thing, let the earlier `since` hold. ERR_INPUT: the reason is no
 * plain text, a date that is no full second, or the list is full; ERR_MEMORY. The list is unchanged then.
 */
int revocations_add(struct revocations *r, const struct revocation *item, struct fault *why);

/* From text; the caller clears. ERR_FORMAT with the line in the sentence; ERR_MEMORY. */
int revocations_parse(struct revocations *r, const char *text, size_t len, struct fault *why);
/* The text of a list, to be freed; NULL: no memory. */
char *revocations_format(const struct revocations *r, size_t *len);

/*
 * A list from its file, and the signature beside it: parsed, not compared with any key. *hash is of the very bytes that
 * were parsed. ERR_FORMAT, ERR_KEY, ERR_IO, ERR_DENIED, ERR_MEMORY, with the path.
 */
int revocations_read(struct revocations *r, const char *path, struct signature *sig, struct prehash *hash,
		     struct fault *why);

/*
 * Write a list and its signature, which is made here, or was made over this very list before. Each is complete at any
 * moment; between the two, the list reads as forged.
 */
int revocations_write(const struct revocations *r, const char *path, bool replace, const struct identity *signer,
		      struct fault *why);
int revocations_write_signed(const struct revocations *r, const char *path, bool replace, const struct signature *sig,
			     struct fault *why);

void revocations_clear(struct revocations *r);

#endif
