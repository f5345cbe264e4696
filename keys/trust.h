/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a capture's signer is trusted: because somebody here said so, or because an authority that is trusted here
 * vouches for it; and not if the key, the authority or the delegation was revoked. docs/KEYS.md gives the rules.
 */
#ifndef GPUREC_KEYS_TRUST_H
#define GPUREC_KEYS_TRUST_H

#include "keys/store.h"

#define TRUST_SHOWN_MAX 128 /* room for a name */

/* A public key from --trust [ROLES:]FILE. */
struct given_key {
	struct public_key key;
	unsigned roles;
	char name[TRUST_SHOWN_MAX]; /* its file's, safe to show */
};

/* All that trust can rest on. */
struct trust_sources {
	struct trust_list store;
	struct given_key *given;
	size_t ngiven;
	struct stored_delegation *offered; /* from --delegation, and beside the capture; forged ones are `broken` */
	size_t noffered;
};

/*
 * Read the store, the key files of --trust, the files of --delegation, and CAPTURE.delegation if there is one (capture
 * may be NULL). ERR_KEY, ERR_IO, ERR_DENIED: one that was named on the command line cannot serve, or the store cannot
 * be read; what lies beside the capture is a stranger's and never an error. The caller clears, also after a failure.
 */
int trust_sources_read(struct trust_sources *s, const char *const *trust_files, size_t ntrust_files,
		       const char *const *delegation_files, size_t ndelegation_files, const char *capture,
		       struct fault *why);
void trust_sources_clear(struct trust_sources *s);

enum trust {
	TRUST_UNKNOWN = 0, /* nothing here speaks for it, or what does is no use, or may not do this */
	TRUST_REVOKED,     /* its own key is revoked for the time of the capture */
	TRUST_BLIND,       /* a revocation list cannot be read: nothing is trusted */
	TRUST_DIRECT,      /* from here on: trusted */
	TRUST_DELEGATED,
};

struct trust_answer {
	enum trust trust;
	char name[TRUST_SHOWN_MAX];  /* when trusted: the key's name here, or the one the authority gave it */
	struct public_key authority; /* when DELEGATED */
	char authority_name[TRUST_SHOWN_MAX];
	uint64_t from_ns, until_ns; /* when DELEGATED: the interval */
	char delegation[PATH_MAX];  /* when DELEGATED: the file that says so */
	bool revoked_later;         /* trusted, but one of the keys was revoked for a time after the capture */
	uint64_t revoked_ns;        /* then, and when REVOKED: since when; 0: always */
	char revoked_reason[REVOCATION_REASON_MAX + 1];
	struct fault why; /* when not trusted */
	bool stranger;    /* with TRUST_UNKNOWN: nothing here speaks of the key, no delegation either */
};

/* The earliest that the store's lists say about a key, or (pk NULL) about the delegation of that hash; NULL: nothing.
 */
const struct revocation *trust_revocation(const struct trust_list *store, const struct public_key *pk,
					  const uint8_t *hash);

/*
 * Whether `pk` is trusted to have signed what takes one of `roles`: a capture in which the wall clock was nowhere
 * before first_ns or after last_ns, an act of custody of that time, or (ROLES_ALL) a file. An authority lends those for
 * which it vouches ROLE_RECORD, and ROLE_CUSTODY if it has that itself. 0 with *answer; or what is wrong with a key
 * file of the store that might have held the answer.
 */
int trust_ask(const struct trust_sources *s, const struct public_key *pk, unsigned roles, uint64_t first_ns,
	      uint64_t last_ns, struct trust_answer *answer, struct fault *why);

#endif
