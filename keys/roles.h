/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a trusted key may do here. A key that is just trusted may record: its captures are believed. All else takes a
 * role that a person gave it, so that a host's stolen key makes no other key trusted and revokes none. docs/KEYS.md
 * gives the rules.
 *
 * In the store, beside NAME.pub, NAME.roles holds one line, "BASE64 record,vouch": the whole public key, so that no
 * other key that comes to be called NAME has its roles. Without such a file a key may record.
 */
#ifndef GPUREC_KEYS_ROLES_H
#define GPUREC_KEYS_ROLES_H

#include "keys/minisign.h"

#define ROLES_SUFFIX ".roles"
#define ROLES_CHARS 27 /* "record,vouch,revoke,custody" */
#define ROLES_FILE_MAX (MINISIGN_PUBLIC_CHARS + 1 + ROLES_CHARS + 1)

/* Sets of them are numbers with these bits. */
enum role {
	ROLE_RECORD = 1,  /* sign captures */
	ROLE_VOUCH = 2,   /* sign delegations */
	ROLE_REVOKE = 4,  /* sign revocation lists */
	ROLE_CUSTODY = 8, /* sign acts of custody */
};
#define ROLES_ALL (ROLE_RECORD | ROLE_VOUCH | ROLE_REVOKE | ROLE_CUSTODY)

const char *role_word(enum role role);
/* "record,vouch", always in the order above. Returns buf. */
char *roles_format(char buf[ROLES_CHARS + 1], unsigned roles);
/* A list of words with commas between, at least one, in any order. ERR_INPUT. */
int roles_parse(unsigned *roles, const char *text, size_t len, struct fault *why);

/* What --trust takes, [ROLES:]FILE: the file's path, inside `arg`, and its roles. */
const char *roles_of_argument(unsigned *roles, const char *arg);

/* The roles of a key out of its file. No such file: ROLE_RECORD. ERR_KEY: it is none, or of another key; ERR_IO... */
int roles_read(unsigned *roles, const struct public_key *pk, const char *path, struct fault *why);
/* The text of that file into buf; returns its length. */
size_t roles_file_format(char buf[ROLES_FILE_MAX + 1], const struct public_key *pk, unsigned roles);

#endif
