/* SPDX-License-Identifier: Apache-2.0 */
#include "keys/store.h"

#include <dirent.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "keys/files.h"

#define SYSTEM_HOME "/etc/gpurec"
#define SUFFIX ".pub"
#define PUBLIC_MODE 0644

static bool join(char path[PATH_MAX], const char *folder, const char *middle, const char *leaf)
{
	int n = snprintf(path, PATH_MAX, "%s%s%s%s", folder, middle, leaf ? "/" : "", leaf ? leaf : "");

	return n >= 0 && n < PATH_MAX;
}

int store_path(char path[PATH_MAX], const char *leaf, struct fault *why)
{
	/* secure_getenv: a recorder with file capabilities is not told by its caller where to write. */
	const char *gpurec = secure_getenv("GPUREC_HOME"), *xdg = secure_getenv("XDG_CONFIG_HOME");
	const char *user = secure_getenv("HOME");
	const struct passwd *entry;
	bool fits;

	if (gpurec && *gpurec) {
		fits = join(path, gpurec, "", leaf);
	} else if (geteuid() == 0) {
		fits = join(path, SYSTEM_HOME, "", leaf);
	} else if (xdg && *xdg == '/') {
		fits = join(path, xdg, "/gpurec", leaf);
	} else {
		if (!user || *user != '/') {
			entry = getpwuid(geteuid());
			user = entry ? entry->pw_dir : NULL;
		}
		if (!user || *user != '/')
			return fault_set(why, ERR_INPUT, FAULT_NOWHERE,
					 "this user has no home folder for keys; set GPUREC_HOME to a folder");
		fits = join(path, user, "/.config/gpurec", leaf);
	}
	if (!fits)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "the path of the folder for keys is too long");
	return 0;
}

bool trust_name_valid(const char *name)
{
	size_t n = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-");

	return n > 0 && n <= TRUST_NAME_MAX && !name[n] && name[0] != '.' && name[0] != '-';
}

/* The name of a key whose file is called `leaf`; false if such a file is none of the store's. */
static bool name_of_leaf(char name[TRUST_NAME_MAX + 1], const char *leaf)
{
	size_t len = strlen(leaf), suffix = strlen(SUFFIX);

	if (len <= suffix || len - suffix > TRUST_NAME_MAX || strcmp(leaf + len - suffix, SUFFIX) != 0)
		return false;
	memcpy(name, leaf, len - suffix);
	name[len - suffix] = '\0';
	return trust_name_valid(name);
}

static int refuse_writable(const char *path, const struct stat *st, struct fault *why)
{
	if (!(st->st_mode & S_IWOTH))
		return 0;
	return fault_set(why, ERR_KEY, FAULT_NOWHERE,
			 "%.100s: anybody can change what is trusted here; run: chmod o-w %.100s", path, path);
}

static void read_entry(struct trusted *t)
{
	struct stat st;
	int r;

	t->broken.code = ERR_NONE;
	if (stat(t->path, &st) < 0)
		r = fault_errno(&t->broken, "%.150s: cannot be examined", t->path);
	else
		r = refuse_writable(t->path, &st, &t->broken);
	if (r == 0)
		r = minisign_read_public(&t->key, t->path, &t->broken);
	if (r < 0)
		memset(&t->key, 0, sizeof(t->key));
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct trusted *)a)->name, ((const struct trusted *)b)->name);
}

static int list_append(struct trust_list *list, const char *folder, const char *leaf, bool system, struct fault *why)
{
	struct trusted *more, *t;
	char name[TRUST_NAME_MAX + 1];

	if (!name_of_leaf(name, leaf))
		return 0;
	if (list->nkeys >= TRUST_KEYS_MAX)
		return fault_set(why, ERR_KEY, FAULT_NOWHERE, "%.150s: more than %d trusted keys", folder,
				 TRUST_KEYS_MAX);
	more = realloc(list->keys, (list->nkeys + 1) * sizeof(*more));
	if (!more)
		return fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "out of memory");
	list->keys = more;
	t = &more[list->nkeys];
	memset(t, 0, sizeof(*t));
	memcpy(t->name, name, sizeof(name));
	t->system = system;
	if (!join(t->path, folder, "", leaf))
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "%.100s...: the path is too long", folder);
	read_entry(t);
	list->nkeys++;
	return 0;
}

/* Append what one trust folder holds, sorted by name. */
static int list_folder(struct trust_list *list, const char *folder, bool system, struct fault *why)
{
	DIR *dir = opendir(folder);
	const struct dirent *entry;
	size_t first = list->nkeys;
	struct stat st;
	int r = 0;

	if (!dir && errno == ENOENT)
		return 0;
	if (!dir)
		return fault_errno(why, "the trust store %.150s cannot be read", folder);
	if (fstat(dirfd(dir), &st) < 0)
		r = fault_errno(why, "the trust store %.150s cannot be examined", folder);
	else
		r = refuse_writable(folder, &st, why);
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
	if (list->nkeys > first)
		qsort(list->keys + first, list->nkeys - first, sizeof(*list->keys), compare_names);
	return r;
}

int trust_list_read(struct trust_list *list, struct fault *why)
{
	struct trust_list l = {0};
	char folder[PATH_MAX];
	const char *gpurec = secure_getenv("GPUREC_HOME");
	int r = store_path(folder, "trust", why);

	if (r == 0)
		r = list_folder(&l, folder, geteuid() == 0 && !(gpurec && *gpurec), why);
	if (r == 0 && geteuid() != 0 && !(gpurec && *gpurec))
		r = list_folder(&l, SYSTEM_HOME "/trust", true, why);
	if (r < 0)
		trust_list_clear(&l);
	else
		*list = l;
	return r;
}

void trust_list_clear(struct trust_list *list)
{
	free(list->keys);
	list->keys = NULL;
	list->nkeys = 0;
}

int trust_find(const struct trust_list *list, const struct public_key *pk, const struct trusted **found,
	       struct fault *why)
{
	const struct trusted *t, *broken = NULL;

	for (t = list->keys; t < list->keys + list->nkeys; t++) {
		if (t->broken.code != ERR_NONE) {
			broken = broken ? broken : t;
		} else if (key_equal(&t->key, pk)) {
			*found = t;
			return 1;
		}
	}
	if (!broken)
		return 0;
	return fault_set(why, broken->broken.code, broken->broken.offset, "%s", broken->broken.text);
}

int trust_add(const struct public_key *pk, const char *name, struct fault *why)
{
	char path[PATH_MAX], leaf[sizeof("trust/" SUFFIX) + TRUST_NAME_MAX], text[MINISIGN_PUBLIC_FILE_MAX];
	size_t len;
	int r;

	if (!trust_name_valid(name))
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE,
				 "'%.80s' cannot name a key: only letters, digits, '.', '_' and '-', at most %d", name,
				 TRUST_NAME_MAX);
	snprintf(leaf, sizeof(leaf), "trust/%s" SUFFIX, name);
	r = store_path(path, leaf, why);
	if (r == 0)
		r = file_make_folders(path, why);
	if (r < 0)
		return r;
	len = minisign_format_public(text, pk);
	return file_make(path, PUBLIC_MODE, false, text, len, why);
}

int trust_remove(const struct trusted *entry, struct fault *why)
{
	if (unlink(entry->path) == 0)
		return 0;
	if (entry->system && geteuid() != 0)
		return fault_set(why, ERR_DENIED, FAULT_NOWHERE,
				 "%.150s: trusted for the whole system; only root can remove it", entry->path);
	return fault_errno(why, "%.150s: cannot be removed", entry->path);
}
