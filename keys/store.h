/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where keys lie, and which ones this machine trusts. docs/KEYS.md reports the reasons.
 *
 * HOME is $GPUREC_HOME if set; for root /etc/gpurec; else $XDG_CONFIG_HOME/gpurec or ~/.config/gpurec. In it:
 * host.key, host.pub, and in trust/ NAME.pub, one minisign public key file for each trusted key, with its roles in
 * NAME.roles, NAME.delegation, what keys said about others, and NAME.revocations with its .minisig. Someone who is not
 * root, and has not set $GPUREC_HOME, also trusts what /etc/gpurec/trust holds.
 */
#ifndef GPUREC_KEYS_STORE_H
#define GPUREC_KEYS_STORE_H

#include <limits.h>

#include "keys/delegation.h"
#include "keys/revocation.h"
#include "keys/roles.h"

#define TRUST_NAME_MAX 127  /* characters of a key's name: A-Z a-z 0-9 . _ - and no leading dot */
#define TRUST_KEYS_MAX 4096 /* keys in all, and delegations; more are an error */
#define TRUST_LISTS_MAX 64  /* revocation lists */

#define PUBLIC_SUFFIX ".pub"
/* What others could change, where the store is not safe from them: keys/strict_path.h. */
#define TRUST_STAKE "what is trusted here"

/* A file of the store. */
struct trust_file {
	char name[TRUST_NAME_MAX + 1];
	char path[PATH_MAX];
	bool system; /* from /etc/gpurec/trust, for all users */
	struct fault
		broken; /* code ERR_NONE; else why it could not be read: what is beside this in the struct is zero */
};

struct trusted {
	struct trust_file file; /* also broken: its roles cannot be read */
	struct public_key key;
	unsigned roles; /* of this entry: see trust_roles() */
};

struct stored_delegation {
	struct trust_file file;
	struct delegation delegation; /* its signature holds; whether its authority is trusted is open */
};

struct stored_revocations {
	struct trust_file file; /* also broken: not signed, or not by a key of the store that may revoke */
	struct revocations list;
	struct public_key signer;
};

/* Each array: own ones first, then the system's; each by name. */
struct trust_list {
	struct trusted *keys;
	size_t nkeys;
	struct stored_delegation *delegations;
	size_t ndelegations;
	struct stored_revocations *lists;
	size_t nlists;
};

/* HOME, or a file in it (`leaf` NULL: itself), into path[PATH_MAX]. ERR_INPUT: nowhere, or too long. */
int store_path(char path[PATH_MAX], const char *leaf, struct fault *why);

/* The same in the store of the system, which all users have beside their own. */
int store_system_path(char path[PATH_MAX], const char *leaf, struct fault *why);

/* All trusted keys; folders that do not exist are empty. The caller clears. ERR_KEY: others can write the folder. */
int trust_list_read(struct trust_list *list, struct fault *why);
void trust_list_clear(struct trust_list *list);

/*
 * The entry with exactly this key and number: 1 and *found (inside the list), or 0. Not found while a file of the list
 * could not be read: its fault, for the answer might be in there.
 */
int trust_find(const struct trust_list *list, const struct public_key *pk, const struct trusted **found,
	       struct fault *why);

/* What a key may do: all that any of its entries says. 0: it is not trusted. */
unsigned trust_roles(const struct trust_list *list, const struct public_key *pk);

/* The command that gives an entry's key the roles that it has and those `needed`. Returns buf. */
#define ROLE_COMMAND_NAME_MAX 32 /* a longer name: the key id */
#define ROLE_COMMAND_CHARS (20 + ROLES_CHARS + 1 + ROLE_COMMAND_NAME_MAX)
char *trust_role_command(char buf[ROLE_COMMAND_CHARS + 1], const struct trust_list *list, const struct trusted *t,
			 unsigned needed);

bool trust_name_valid(const char *name);

/*
 * Make trust/NAME.pub in HOME, and unless the key may just record NAME.roles, durable. ERR_EXISTS: the name is taken;
 * ERR_INPUT: no valid name.
 */
int trust_add(const struct public_key *pk, const char *name, unsigned roles, struct fault *why);

/* "TRUST/NAME.roles" of an entry. ERR_INPUT: too long. */
int trust_roles_path(char path[PATH_MAX], const struct trusted *entry, struct fault *why);
/* Let exactly these be the roles of an entry. */
int trust_set_roles(const struct trusted *entry, unsigned roles, struct fault *why);

/* Remove one entry's files. ERR_DENIED for the system's when not root. */
int trust_remove(const struct trusted *entry, struct fault *why);
/* The same for a delegation or a revocation list, whose signature goes too. */
int trust_remove_file(const struct trust_file *file, struct fault *why);

/* Make trust/NAME.delegation, as trust_add(). */
int trust_add_delegation(const struct delegation *d, const char *name, struct fault *why);

/* Where the revocation list NAME lies, or would. */
int trust_revocations_path(char path[PATH_MAX], const char *name, struct fault *why);
/*
 * The key of the store that signed a list: 1 and *signer, or 0. All keys with the signature's number are tried, for a
 * number is no identity.
 */
int trust_find_signer(const struct trust_list *list, const struct signature *sig, const struct prehash *hash,
		      const struct trusted **signer);
/*
 * Put a copy of the list at `path` and of its signature into the store. ERR_KEY: no key that may revoke signed it;
 * ERR_EXISTS: NAME is taken by a list of another signer, or by one that revokes more than this.
 */
int trust_add_revocations(const struct trust_list *list, const char *path, const char *name, struct fault *why);

#endif
