/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where keys lie, and which ones this machine trusts. docs/KEYS.md tells the reasons.
 *
 * HOME is $GPUREC_HOME if set; for root /etc/gpurec; else $XDG_CONFIG_HOME/gpurec or ~/.config/gpurec. In it:
 * host.key, host.pub, and trust/NAME.pub, one minisign public key file for each trusted key. Someone who is not root,
 * and has not set $GPUREC_HOME, also trusts what /etc/gpurec/trust holds.
 */
#ifndef GPUREC_KEYS_STORE_H
#define GPUREC_KEYS_STORE_H

#include <limits.h>

#include "keys/minisign.h"

#define TRUST_NAME_MAX 127  /* characters of a key's name: A-Z a-z 0-9 . _ - and no leading dot */
#define TRUST_KEYS_MAX 4096 /* keys in one folder; more are an error */

struct trusted {
	struct public_key key;
	char name[TRUST_NAME_MAX + 1];
	char path[PATH_MAX];
	bool system;         /* from /etc/gpurec/trust, for all users */
	struct fault broken; /* code ERR_NONE; else why the file could not be read, and `key` is zero */
};

struct trust_list {
	struct trusted *keys; /* own ones first, then the system's; each by name */
	size_t nkeys;
};

/* HOME, or a file in it (`leaf` NULL: itself), into path[PATH_MAX]. ERR_INPUT: nowhere, or too long. */
int store_path(char path[PATH_MAX], const char *leaf, struct fault *why);

/* All trusted keys; folders that do not exist are empty. The caller clears. ERR_KEY: others can write the folder. */
int trust_list_read(struct trust_list *list, struct fault *why);
void trust_list_clear(struct trust_list *list);

/*
 * The entry with exactly this key and number: 1 and *found (inside the list), or 0. Not found while a file of the list
 * could not be read: its fault, for the answer might be in there.
 */
int trust_find(const struct trust_list *list, const struct public_key *pk, const struct trusted **found,
	       struct fault *why);

bool trust_name_valid(const char *name);

/* Make trust/NAME.pub in HOME, durable. ERR_EXISTS: the name is taken; ERR_INPUT: no valid name. */
int trust_add(const struct public_key *pk, const char *name, struct fault *why);

/* Remove one entry's file. ERR_DENIED for the system's when not root. */
int trust_remove(const struct trusted *entry, struct fault *why);

#endif
