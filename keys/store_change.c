/* SPDX-License-Identifier: Apache-2.0 */
/* What is put into the trust store, and taken out. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "keys/files.h"
#include "keys/store.h"
#include "keys/strict_path.h"

#define PUBLIC_MODE 0644

/* HOME/trust/NAMESUFFIX, and the folders down to it, which are ours. */
static int path_for(char path[PATH_MAX], const char *name, const char *suffix, struct fault *why)
{
	char leaf[sizeof("trust/") + TRUST_NAME_MAX + 32], folder[PATH_MAX];
	int r;

	if (!trust_name_valid(name))
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE,
				 "'%.80s' cannot name a key: only letters, digits, '.', '_' and '-', at most %d", name,
				 TRUST_NAME_MAX);
	snprintf(leaf, sizeof(leaf), "trust/%s%s", name, suffix);
	r = store_path(path, leaf, why);
	if (r == 0)
		r = file_make_folders(path, why);
	if (r < 0)
		return r;
	file_folder(folder, path);
	return strict_check(folder, O_PATH | O_DIRECTORY, TRUST_STAKE, why);
}

/* The roles of a key as a file; none for a key that may just record. */
static int put_roles(const char *path, const struct public_key *pk, unsigned roles, struct fault *why)
{
	char text[ROLES_FILE_MAX + 1];

	if (roles != ROLE_RECORD)
		return file_make(path, PUBLIC_MODE, true, text, roles_file_format(text, pk, roles), why);
	if (unlink(path) < 0 && errno != ENOENT)
		return fault_errno(why, "%.150s: cannot be removed", path);
	return 0;
}

/* The roles first: without its key the file means nothing, and the key without it might do what it may not. */
int trust_add(const struct public_key *pk, const char *name, unsigned roles, struct fault *why)
{
	char path[PATH_MAX], roles_path[PATH_MAX], text[MINISIGN_PUBLIC_FILE_MAX];
	int r = path_for(path, name, PUBLIC_SUFFIX, why);

	if (r == 0)
		r = path_for(roles_path, name, ROLES_SUFFIX, why);
	/* Those of a key that is there stay. */
	if (r == 0 && (faccessat(AT_FDCWD, path, F_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT))
		r = fault_set(why, ERR_EXISTS, FAULT_NOWHERE, "%.150s: there is one already", path);
	if (r == 0)
		r = put_roles(roles_path, pk, roles, why);
	return r < 0 ? r : file_make(path, PUBLIC_MODE, false, text, minisign_format_public(text, pk), why);
}

int trust_roles_path(char path[PATH_MAX], const struct trusted *entry, struct fault *why)
{
	int stem = (int)file_stem(entry->file.path, PUBLIC_SUFFIX);

	if (snprintf(path, PATH_MAX, "%.*s" ROLES_SUFFIX, stem, entry->file.path) >= PATH_MAX)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "%.100s...: the path is too long", entry->file.path);
	return 0;
}

int trust_set_roles(const struct trusted *entry, unsigned roles, struct fault *why)
{
	char path[PATH_MAX];
	int r = trust_roles_path(path, entry, why);

	return r < 0 ? r : put_roles(path, &entry->key, roles, why);
}

int trust_add_delegation(const struct delegation *d, const char *name, struct fault *why)
{
	char path[PATH_MAX], text[DELEGATION_FILE_MAX];
	int r = path_for(path, name, DELEGATION_SUFFIX, why);

	return r < 0 ? r : file_make(path, PUBLIC_MODE, false, text, delegation_format(text, d), why);
}

int trust_revocations_path(char path[PATH_MAX], const char *name, struct fault *why)
{
	return path_for(path, name, REVOCATIONS_SUFFIX, why);
}

/* Whether the list in the store at `path` may give way to `list`: nothing that it revokes comes back to life. */
static int may_replace(const struct trust_list *store, const char *path, const struct revocations *list,
		       const struct public_key *signer, struct fault *why)
{
	const struct stored_revocations *old;
	const struct revocation *i, *now;

	for (old = store->lists; old < store->lists + store->nlists; old++) {
		if (strcmp(old->file.path, path) != 0 || old->file.broken.code != ERR_NONE)
			continue;
		if (!key_equal(&old->signer, signer))
			return fault_set(why, ERR_EXISTS, FAULT_NOWHERE,
					 "%.120s: a list that another key signed; choose a name with --name", path);
		for (i = old->list.items; i && i < old->list.items + old->list.n; i++) {
			now = revocations_find(list, i);
			if (!now || now->since_ns > i->since_ns)
				return fault_set(why, ERR_EXISTS, FAULT_NOWHERE,
						 "%.100s: the list that is here revokes more than the new one, which "
						 "may be older; remove it first with gpukey untrust if that is meant",
						 path);
		}
	}
	return 0;
}

int trust_add_revocations(const struct trust_list *list, const char *path, const char *name, struct fault *why)
{
	struct signature *sig = malloc(sizeof(*sig));
	const struct trusted *signer = NULL;
	struct revocations revoked = {0};
	char to[PATH_MAX], command[ROLE_COMMAND_CHARS + 1];
	struct prehash hash;
	int r;

	r = sig ? revocations_read(&revoked, path, sig, &hash, why) : fault_no_memory(why);
	if (r == 0 && trust_find_signer(list, sig, &hash, &signer) == 0)
		r = fault_set(why, ERR_KEY, FAULT_NOWHERE,
			      "%.120s: forged, or signed by none of the keys that are trusted here", path);
	if (r == 0 && !(trust_roles(list, &signer->key) & ROLE_REVOKE))
		r = fault_set(why, ERR_KEY, FAULT_NOWHERE,
			      "%.70s: signed by a key that is trusted here without the role revoke; to give it: %s",
			      path, trust_role_command(command, list, signer, ROLE_REVOKE));
	if (r == 0)
		r = path_for(to, name, REVOCATIONS_SUFFIX, why);
	if (r == 0)
		r = may_replace(list, to, &revoked, &signer->key, why);
	if (r == 0)
		r = revocations_write_signed(&revoked, to, true, sig,
					     why); /* a canonical list stays the same to the byte */
	revocations_clear(&revoked);
	free(sig);
	return r;
}

static int remove_path(const char *path, bool system, struct fault *why)
{
	if (unlink(path) == 0)
		return 0;
	if (system && geteuid() != 0)
		return fault_set(why, ERR_DENIED, FAULT_NOWHERE,
				 "%.150s: trusted for the whole system; only root can remove it", path);
	return fault_errno(why, "%.150s: cannot be removed", path);
}

int trust_remove(const struct trusted *entry, struct fault *why)
{
	char roles[PATH_MAX];
	int r = remove_path(entry->file.path, entry->file.system, why);

	/* The roles without their key mean nothing. */
	if (r == 0 && trust_roles_path(roles, entry, NULL) == 0)
		(void)unlink(roles);
	return r;
}

int trust_remove_file(const struct trust_file *file, struct fault *why)
{
	char sig_path[PATH_MAX];
	int r = remove_path(file->path, file->system, why);

	/* A signature without its list means nothing; a delegation has none. */
	if (r == 0 && file_stem(file->path, REVOCATIONS_SUFFIX) < strlen(file->path) &&
	    signature_path(sig_path, file->path, NULL) == 0)
		(void)unlink(sig_path);
	return r;
}
