/* SPDX-License-Identifier: Apache-2.0 */
#include "keys/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "keys/files.h"
#include "keys/strict_path.h"

#define SYSTEM_HOME "/etc/gpurec"

static bool join(char path[PATH_MAX], const char *folder, const char *middle, const char *leaf)
{
	return snprintf(path, PATH_MAX, "%s%s%s%s", folder, middle, leaf ? "/" : "", leaf ? leaf : "") < PATH_MAX;
}

int store_path(char path[PATH_MAX], const char *leaf, struct fault *why)
{
	/* secure_getenv: a recorder with file capabilities does not let its caller choose where it writes. */
	const char *gpurec = secure_getenv("GPUREC_HOME"), *xdg = secure_getenv("XDG_CONFIG_HOME");
	const char *user = secure_getenv("HOME");
	bool fits;

	if (gpurec && *gpurec) {
		fits = join(path, gpurec, "", leaf);
	} else if (geteuid() == 0) {
		fits = join(path, SYSTEM_HOME, "", leaf);
	} else if (xdg && *xdg == '/') {
		fits = join(path, xdg, "/gpurec", leaf);
	} else {
		if (!user || *user != '/')
			return fault_set(why, ERR_INPUT, FAULT_NOWHERE,
					 "HOME names no home folder for keys; set it, or GPUREC_HOME to a folder");
		fits = join(path, user, "/.config/gpurec", leaf);
	}
	if (!fits)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "the path of the folder for keys is too long");
	return 0;
}

int store_system_path(char path[PATH_MAX], const char *leaf, struct fault *why)
{
	if (!join(path, SYSTEM_HOME, "", leaf))
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "the path of the folder for keys is too long");
	return 0;
}

bool trust_name_valid(const char *name)
{
	size_t n = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-");

	return n > 0 && n <= TRUST_NAME_MAX && !name[n] && name[0] != '.' && name[0] != '-';
}

/* The name of what lies in a file called `leaf`; false if such a file is none of the store's with this suffix. */
static bool name_of_leaf(char name[TRUST_NAME_MAX + 1], const char *leaf, const char *suffix)
{
	size_t len = file_stem(leaf, suffix);

	return leaf[len] && snprintf(name, TRUST_NAME_MAX + 1, "%.*s", (int)len, leaf) <= TRUST_NAME_MAX &&
	       trust_name_valid(name);
}

static int check_file(const char *path, struct fault *why)
{
	return strict_check(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, TRUST_STAKE, why);
}

/* NAME.roles beside NAME.pub: a key that may do nobody knows what is as good as one that cannot be read. */
static int read_roles(struct trusted *t)
{
	char path[PATH_MAX];
	int r = trust_roles_path(path, t, &t->file.broken);

	if (r == 0 && (faccessat(AT_FDCWD, path, F_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT))
		r = check_file(path, &t->file.broken);
	return r < 0 ? r : roles_read(&t->roles, &t->key, path, &t->file.broken);
}

static void read_entry(struct trusted *t)
{
	int r;

	t->file.broken.code = ERR_NONE;
	r = check_file(t->file.path, &t->file.broken);
	if (r == 0)
		r = minisign_read_public(&t->key, t->file.path, &t->file.broken);
	if (r == 0)
		r = read_roles(t);
	if (r < 0) {
		memset(&t->key, 0, sizeof(t->key));
		t->roles = 0;
	}
}

static void read_delegation(struct stored_delegation *d)
{
	int r;

	d->file.broken.code = ERR_NONE;
	r = check_file(d->file.path, &d->file.broken);
	if (r == 0)
		r = delegation_read(&d->delegation, d->file.path, &d->file.broken);
	if (r < 0)
		memset(&d->delegation, 0, sizeof(d->delegation));
}

/* Read a list and look for its signer among all keys, so after them. */
static void read_revocations(const struct trust_list *list, struct stored_revocations *l)
{
	struct signature *sig = malloc(sizeof(*sig));
	char command[ROLE_COMMAND_CHARS + 1];
	const struct trusted *signer;
	struct prehash hash;
	int r;

	l->file.broken.code = ERR_NONE;
	r = sig ? check_file(l->file.path, &l->file.broken) : fault_no_memory(&l->file.broken);
	if (r == 0)
		r = revocations_read(&l->list, l->file.path, sig, &hash, &l->file.broken);
	if (r == 0 && trust_find_signer(list, sig, &hash, &signer) > 0) {
		l->signer = signer->key;
		if (!(trust_roles(list, &l->signer) & ROLE_REVOKE))
			fault_set(&l->file.broken, ERR_KEY, FAULT_NOWHERE,
				  "%.40s" REVOCATIONS_SUFFIX
				  " is signed by a key without the role revoke; to give it: %s",
				  l->file.name, trust_role_command(command, list, signer, ROLE_REVOKE));
	} else if (r == 0)
		fault_set(&l->file.broken, ERR_FORGED, FAULT_NOWHERE,
			  "%.100s: forged, or signed by none of the trusted keys", l->file.path);
	if (l->file.broken.code != ERR_NONE)
		revocations_clear(&l->list);
	free(sig);
}

/* A file found in a folder of the store. */
struct found {
	struct trust_file file;
	const char *folder;
};

/* Every item of a list begins with its file. */
static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct trust_file *)a)->name, ((const struct trust_file *)b)->name);
}

/* Room for one more behind `n` items of `size` bytes, zero but for its file; NULL with *why. */
static void *append(void *array, size_t n, size_t size, size_t max, const struct found *f, struct fault *why)
{
	char *more;

	if (n >= max) {
		fault_set(why, ERR_KEY, FAULT_NOWHERE, "%.150s: more than %zu files of one sort", f->folder, max);
		return NULL;
	}
	more = reallocarray(array, n + 1, size);
	if (!more) {
		fault_no_memory(why);
		return NULL;
	}
	memset(more + n * size, 0, size);
	memcpy(more + n * size, &f->file, sizeof(f->file));
	return more;
}

static int append_key(struct trust_list *list, const struct found *f, struct fault *why)
{
	struct trusted *more = append(list->keys, list->nkeys, sizeof(*more), TRUST_KEYS_MAX, f, why);

	if (!more)
		return why ? (int)why->code : ERR_MEMORY;
	list->keys = more;
	read_entry(&more[list->nkeys++]);
	return 0;
}

static int append_delegation(struct trust_list *list, const struct found *f, struct fault *why)
{
	struct stored_delegation *more =
		append(list->delegations, list->ndelegations, sizeof(*more), TRUST_KEYS_MAX, f, why);

	if (!more)
		return why ? (int)why->code : ERR_MEMORY;
	list->delegations = more;
	read_delegation(&more[list->ndelegations++]);
	return 0;
}

/* It is read when all keys are there. */
static int append_list(struct trust_list *list, const struct found *f, struct fault *why)
{
	struct stored_revocations *more = append(list->lists, list->nlists, sizeof(*more), TRUST_LISTS_MAX, f, why);

	if (!more)
		return why ? (int)why->code : ERR_MEMORY;
	list->lists = more;
	list->nlists++;
	return 0;
}

static int list_append(struct trust_list *list, const char *folder, const char *leaf, bool system, struct fault *why)
{
	static const struct {
		const char *suffix;
		int (*append)(struct trust_list *list, const struct found *f, struct fault *why);
	} sorts[] = {
		{PUBLIC_SUFFIX, append_key}, {DELEGATION_SUFFIX, append_delegation}, {REVOCATIONS_SUFFIX, append_list}};
	struct found f = {.folder = folder, .file.system = system};

	for (size_t i = 0; i < sizeof(sorts) / sizeof(sorts[0]); i++) {
		if (!name_of_leaf(f.file.name, leaf, sorts[i].suffix))
			continue;
		if (!join(f.file.path, folder, "", leaf))
			return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "%.100s...: the path is too long", folder);
		return sorts[i].append(list, &f, why);
	}
	return 0;
}

/* qsort() wants no null pointer, not even with nothing behind it. */
static void sort_from(void *array, size_t first, size_t n, size_t size)
{
	if (n > first)
		qsort((char *)array + first * size, n - first, size, compare_names);
}

/* Append what one trust folder holds, sorted by name. */
static int list_folder(struct trust_list *list, const char *folder, bool system, struct fault *why)
{
	int fd = strict_open(folder, O_RDONLY | O_DIRECTORY, S_IWGRP | S_IWOTH, TRUST_STAKE, why), r = 0;
	const struct dirent *entry;
	size_t first = list->nkeys, first_delegation = list->ndelegations, first_list = list->nlists;
	DIR *dir;

	if (fd == ERR_IO && errno == ENOENT)
		return 0;
	if (fd < 0)
		return fd;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return fault_errno(why, "the trust store %.150s cannot be read", folder);
	}
	while (r == 0) {
		errno = 0;
		entry = readdir(dir);
		if (entry)
			r = list_append(list, folder, entry->d_name, system, why);
		else if (errno)
			r = fault_errno(why, "the trust store %.150s cannot be read", folder);
		else
			break;
	}
	closedir(dir);
	sort_from(list->keys, first, list->nkeys, sizeof(*list->keys));
	sort_from(list->delegations, first_delegation, list->ndelegations, sizeof(*list->delegations));
	sort_from(list->lists, first_list, list->nlists, sizeof(*list->lists));
	return r;
}

int trust_list_read(struct trust_list *list, struct fault *why)
{
	struct trust_list l = {0};
	char folder[PATH_MAX];
	const char *gpurec = secure_getenv("GPUREC_HOME");
	int r = store_path(folder, "trust", why);
	size_t i;

	if (r == 0)
		r = list_folder(&l, folder, geteuid() == 0 && !(gpurec && *gpurec), why);
	if (r == 0 && geteuid() != 0 && !(gpurec && *gpurec))
		r = list_folder(&l, SYSTEM_HOME "/trust", true, why);
	for (i = 0; r == 0 && i < l.nlists; i++)
		read_revocations(&l, &l.lists[i]);
	if (r < 0)
		trust_list_clear(&l);
	else
		*list = l;
	return r;
}

void trust_list_clear(struct trust_list *list)
{
	size_t i;

	for (i = 0; i < list->nlists; i++)
		revocations_clear(&list->lists[i].list);
	free(list->lists);
	free(list->delegations);
	free(list->keys);
	memset(list, 0, sizeof(*list));
}

int trust_find(const struct trust_list *list, const struct public_key *pk, const struct trusted **found,
	       struct fault *why)
{
	const struct trusted *t, *broken = NULL;

	for (t = list->keys; t && t < list->keys + list->nkeys; t++) {
		if (t->file.broken.code != ERR_NONE) {
			broken = broken ? broken : t;
		} else if (key_equal(&t->key, pk)) {
			*found = t;
			return 1;
		}
	}
	if (!broken)
		return 0;
	return fault_set(why, broken->file.broken.code, broken->file.broken.offset, "%s", broken->file.broken.text);
}

int trust_find_signer(const struct trust_list *list, const struct signature *sig, const struct prehash *hash,
		      const struct trusted **signer)
{
	const struct trusted *t;

	for (t = list->keys; t && t < list->keys + list->nkeys; t++) {
		if (t->file.broken.code == ERR_NONE && signature_verify(sig, hash, &t->key, NULL) == 0) {
			*signer = t;
			return 1;
		}
	}
	return 0;
}

unsigned trust_roles(const struct trust_list *list, const struct public_key *pk)
{
	const struct trusted *t;
	unsigned roles = 0;

	for (t = list->keys; t && t < list->keys + list->nkeys; t++)
		if (t->file.broken.code == ERR_NONE && key_equal(&t->key, pk))
			roles |= t->roles;
	return roles;
}

char *trust_role_command(char buf[ROLE_COMMAND_CHARS + 1], const struct trust_list *list, const struct trusted *t,
			 unsigned needed)
{
	char roles[ROLES_CHARS + 1], keyid[KEY_ID_CHARS + 1];
	bool is_short = strlen(t->file.name) <= ROLE_COMMAND_NAME_MAX;

	snprintf(buf, ROLE_COMMAND_CHARS + 1, "gpukey trust --role %s %.*s",
		 roles_format(roles, trust_roles(list, &t->key) | needed), ROLE_COMMAND_NAME_MAX,
		 is_short ? t->file.name : key_id(keyid, t->key.keynum));
	return buf;
}
