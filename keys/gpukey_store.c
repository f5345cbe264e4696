/* SPDX-License-Identifier: Apache-2.0 */
/* gpukey list, show, trust, untrust: which keys this machine trusts. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "keys/gpukey_inside.h"

/* This host's public key: 1, or 0 if it has none yet. */
static int own_key(struct public_key *pk, char path[PATH_MAX], struct fault *why)
{
	int r = store_path(path, "host.pub", why);

	if (r < 0)
		return r;
	if (!gpukey_exists(path))
		return 0;
	r = minisign_read_public(pk, path, why);
	return r < 0 ? r : 1;
}

static void print_row(const struct trust_list *list, const struct public_key *pk, const char *name, const char *path,
		      const char *remark)
{
	char keyid[KEY_ID_CHARS + 1], shown[SHOWN_PATH_MAX], revoked[GPUKEY_REVOKED_MAX];

	escape_terminal(shown, sizeof(shown), path, strlen(path));
	printf("%s  %-32s  %s%s", key_id(keyid, pk->keynum), name, shown, remark);
	if (*gpukey_revoked(revoked, list, pk, NULL))
		printf(" (%s)", revoked);
	putchar('\n');
}

int gpukey_list(int argc, char **argv)
{
	static const struct tool_options o = {
		"list\n", "Show the keys that this machine trusts, and its own: key id, name, file.", NULL, NULL};
	struct trust_list list = {0};
	struct public_key own;
	char own_path[PATH_MAX];
	struct fault why;
	int status = TOOL_FINE, has_own;
	const struct trusted *t;
	bool own_listed = false, is_own;

	if (gpukey_operands(&o, argc, argv, 0, &status) < 0)
		return status;
	if (trust_list_read(&list, &why) < 0)
		return tool_fault(NULL, &why);
	has_own = own_key(&own, own_path, &why);
	if (has_own < 0)
		status = tool_fault(NULL, &why);
	for (t = list.keys; t < list.keys + list.nkeys; t++) {
		if (t->broken.code != ERR_NONE) {
			status = tool_fault(NULL, &t->broken);
			continue;
		}
		is_own = has_own > 0 && key_equal(&own, &t->key);
		own_listed |= is_own;
		print_row(&list, &t->key, t->name, t->path, is_own ? " (this host)" : "");
	}
	if (has_own > 0 && !own_listed)
		print_row(&list, &own, "-", own_path, " (this host; not trusted)");
	if (gpukey_list_statements(&list) != TOOL_FINE)
		status = TOOL_FAILED;
	if (list.nkeys == 0 && has_own == 0)
		tool_note("no key is trusted here yet; gpurec makes one at its first recording, or: gpukey generate");
	trust_list_clear(&list);
	return status;
}

static bool matches(const struct trusted *t, const char *what)
{
	char keyid[KEY_ID_CHARS + 1];

	if (strcmp(t->name, what) == 0)
		return true;
	return t->broken.code == ERR_NONE && strcasecmp(key_id(keyid, t->key.keynum), what) == 0;
}

/* A key of the store by name or key id, or NULL. */
static const struct trusted *find_by_word(const struct trust_list *list, const char *what)
{
	const struct trusted *t;

	for (t = list->keys; t < list->keys + list->nkeys; t++)
		if (matches(t, what))
			return t;
	return NULL;
}

/* What is no file, and was perhaps to be a public key, of which a part was lost on the way. */
static int check_base64(const char *what, struct fault *why)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";
	size_t len = strlen(what);

	if (len < MINISIGN_PUBLIC_CHARS / 2 || strspn(what, letters) < len || gpukey_exists(what))
		return 0;
	if (len == MINISIGN_PUBLIC_CHARS)
		return fault_set(why, ERR_KEY, FAULT_NOWHERE, "%s: neither a file nor a public key: a letter is wrong",
				 what);
	return fault_set(why, ERR_KEY, FAULT_NOWHERE,
			 "%.80s: neither a file nor a whole public key (%d characters of base64, this has %zu)", what,
			 MINISIGN_PUBLIC_CHARS, len);
}

/* The key that `what` means: base64, a name or key id of the store, or a file; NULL: this host's own. */
int gpukey_key_meant(struct public_key *pk, const char *what, const struct trust_list *list, struct fault *why)
{
	const struct trusted *t;
	char path[PATH_MAX];
	int r;

	if (!what) {
		r = own_key(pk, path, why);
		if (r == 0)
			r = fault_set(why, ERR_KEY, FAULT_NOWHERE,
				      "this host has no key yet; gpurec makes one at its first recording, or: gpukey "
				      "generate");
		return r < 0 ? r : 0;
	}
	if (key_parse(pk, what, NULL) == 0)
		return 0;
	t = find_by_word(list, what);
	if (t && t->broken.code != ERR_NONE)
		return fault_set(why, t->broken.code, t->broken.offset, "%s", t->broken.text);
	if (t) {
		*pk = t->key;
		return 0;
	}
	r = check_base64(what, why);
	if (r < 0)
		return r;
	if (!gpukey_exists(what) && !strchr(what, '/'))
		return fault_set(why, ERR_KEY, FAULT_NOWHERE,
				 "%.150s: neither a file nor the name or id of a trusted key (gpukey list shows them)",
				 what);
	return minisign_read_public(pk, what, why);
}

/* The key meant, or, since the list shows these names, too, the one that the delegation so called is about. */
static int key_to_show(struct public_key *pk, const char *what, const struct trust_list *list, struct fault *why)
{
	const struct stored_delegation *d;

	for (d = list->delegations; what && !find_by_word(list, what) && d < list->delegations + list->ndelegations;
	     d++) {
		if (d->file.broken.code != ERR_NONE || strcmp(d->file.name, what) != 0)
			continue;
		*pk = d->delegation.host;
		return 0;
	}
	return gpukey_key_meant(pk, what, list, why);
}

static void print_trust(const struct trust_list *list, const struct public_key *pk, const char *name)
{
	char revoked[GPUKEY_REVOKED_MAX];

	gpukey_revoked(revoked, list, pk, NULL);
	printf("trusted as   %s", name ? name : "- (not trusted here)");
	if (revoked[0])
		printf(", %s %s", name ? "but" : "and", revoked);
	putchar('\n');
}

int gpukey_show(int argc, char **argv)
{
	static const struct tool_options o = {
		"show [FILE | NAME | KEYID]\n",
		"Show a public key, this host's own when none is named, in a form that can be read out or pasted.",
		NULL, NULL};
	char keyid[KEY_ID_CHARS + 1], fingerprint[FINGERPRINT_CHARS + 1], base64[MINISIGN_PUBLIC_CHARS + 1];
	struct trust_list list = {0};
	const struct trusted *found;
	struct public_key pk;
	struct fault why;
	int status, operand, r;

	operand = gpukey_operands(&o, argc, argv, 1, &status);
	if (operand < 0)
		return status;
	r = trust_list_read(&list, &why);
	if (r == 0)
		r = key_to_show(&pk, operand < argc ? argv[operand] : NULL, &list, &why);
	if (r == 0) {
		printf("public key   %s\n", key_base64(base64, &pk));
		printf("key id       %s\n", key_id(keyid, pk.keynum));
		printf("fingerprint  %s\n", key_fingerprint(fingerprint, &pk));
		r = trust_find(&list, &pk, &found, &why);
		if (r >= 0)
			print_trust(&list, &pk, r > 0 ? found->name : NULL);
		gpukey_show_delegations(&list, &pk);
	}
	trust_list_clear(&list);
	return r < 0 ? tool_fault(NULL, &why) : TOOL_FINE;
}

/* What a key is called when nobody says: as its file, else as its id. */
static void default_name(char name[TRUST_NAME_MAX + 1], const char *what, const struct public_key *pk)
{
	const char *slash = strrchr(what, '/'), *leaf = slash ? slash + 1 : what;
	size_t len = strlen(leaf);

	if (len > 4 && strcmp(leaf + len - 4, ".pub") == 0)
		len -= 4;
	snprintf(name, TRUST_NAME_MAX + 1, "%.*s", (int)len, leaf);
	if (key_parse(&(struct public_key){0}, what, NULL) == 0 || !trust_name_valid(name))
		key_id(name, pk->keynum);
}

/* Nothing overrules a list: who trusts a key that is revoked for all time is not to believe that it helps. */
static int check_revoked(const struct trust_list *list, const struct public_key *pk, struct fault *why)
{
	const struct revocation *found = trust_revocation(list, pk, NULL);
	char keyid[KEY_ID_CHARS + 1], words[GPUKEY_REVOKED_MAX];

	if (!found)
		return 0;
	if (found->since_ns == 0)
		return fault_set(why, ERR_KEY, FAULT_NOWHERE,
				 "key %s is revoked here: %s; to trust it would change nothing while that list is kept "
				 "(gpukey list)",
				 key_id(keyid, pk->keynum), found->reason);
	tool_note("key %s is %s; captures of before count", key_id(keyid, pk->keynum),
		  gpukey_revoked(words, list, pk, NULL));
	return 0;
}

static int trust_key(const char *what, const char *name, struct fault *why)
{
	char chosen[TRUST_NAME_MAX + 1], fingerprint[FINGERPRINT_CHARS + 1], keyid[KEY_ID_CHARS + 1];
	struct trust_list list = {0};
	const struct trusted *found;
	struct public_key pk;
	enum gpukey_sort sort;
	int r = key_parse(&pk, what, NULL);

	sort = r < 0 ? gpukey_sort_of(what) : GPUKEY_OTHER;
	if (sort != GPUKEY_OTHER)
		return sort == GPUKEY_DELEGATION ? gpukey_trust_delegation(what, name, why)
						 : gpukey_trust_revocations(what, name, why);
	if (r < 0) {
		r = check_base64(what, why);
		r = r < 0 ? r : minisign_read_public(&pk, what, why);
	}
	if (r == 0)
		r = trust_list_read(&list, why);
	if (r < 0)
		return r;
	r = check_revoked(&list, &pk, why);
	if (r < 0)
		goto out;
	/* A broken file in the store does not stop a key from being added to it. */
	if (trust_find(&list, &pk, &found, NULL) > 0) {
		printf("trusted already as %s\n", found->name);
		goto out;
	}
	default_name(chosen, what, &pk);
	r = trust_add(&pk, name ? name : chosen, why);
	if (r == ERR_EXISTS)
		fault_set(why, ERR_EXISTS, FAULT_NOWHERE,
			  "another key is trusted as %.127s; choose a name with --name, or first: gpukey untrust %.60s",
			  name ? name : chosen, name ? name : chosen);
	if (r == 0)
		printf("trusted as %s: key %s, fingerprint %s\n", name ? name : chosen, key_id(keyid, pk.keynum),
		       key_fingerprint(fingerprint, &pk));
out:
	trust_list_clear(&list);
	return r;
}

int gpukey_trust(int argc, char **argv)
{
	enum { OPT_NAME = 1 };
	static const struct tool_option table[] = {
		{"name", 0, "NAME", "what to call the key: letters, digits, '.', '_', '-' (the file's name)", OPT_NAME},
		{0},
	};
	static const struct tool_options o = {
		"trust FILE | BASE64 [--name NAME]\n",
		"Trust what a key signs from now on. Compare the fingerprint with 'gpukey show' on its host first.",
		table,
		"FILE may also be a delegation, or a revocation list with its signature beside it: they count as far "
		"as\n"
		"the keys that signed them are trusted here.\n"};
	const char *value, *name = NULL;
	int id, operands, status;
	struct fault why;

	while ((id = tool_next_option(&o, false, argc, argv, &value, &operands, &status)) > 0)
		name = value;
	if (id < 0)
		return status;
	if (argc - operands != 1)
		return tool_usage("trust needs one key: its file, or the line of base64 that 'gpukey show' prints");
	if (name && !trust_name_valid(name))
		return tool_usage("--name: '%s' cannot name a key: only letters, digits, '.', '_' and '-', at most %d",
				  name, TRUST_NAME_MAX);
	return trust_key(argv[operands], name, &why) < 0 ? tool_fault(NULL, &why) : TOOL_FINE;
}

/* Remove all entries that `what` names; notes under which other names their keys stay trusted. */
static int untrust_key(const struct trust_list *list, const char *what, struct fault *why)
{
	const struct trusted *t, *other;
	int n, r;

	n = gpukey_untrust_statements(list, what, why);
	if (n < 0)
		return n;
	for (t = list->keys; t < list->keys + list->nkeys; t++) {
		if (!matches(t, what))
			continue;
		r = trust_remove(t, why);
		if (r < 0)
			return r;
		printf("no longer trusted: %s\n", t->name);
		n++;
		for (other = list->keys; other < list->keys + list->nkeys; other++)
			if (!matches(other, what) && other->broken.code == ERR_NONE && key_equal(&other->key, &t->key))
				tool_note("the same key stays trusted as %s (%s)", other->name, other->path);
	}
	if (n == 0)
		return fault_set(why, ERR_KEY, FAULT_NOWHERE,
				 "no key named %.100s, nor with that id, is trusted here (gpukey list shows them)",
				 what);
	return 0;
}

int gpukey_untrust(int argc, char **argv)
{
	static const struct tool_options o = {"untrust KEYID | NAME\n", "Trust a key no longer.", NULL, NULL};
	struct trust_list list = {0};
	struct fault why;
	int status, operand, r;

	operand = gpukey_operands(&o, argc, argv, 1, &status);
	if (operand < 0)
		return status;
	if (operand == argc)
		return tool_usage("untrust needs the name or the id of a key");
	r = trust_list_read(&list, &why);
	if (r == 0)
		r = untrust_key(&list, argv[operand], &why);
	trust_list_clear(&list);
	return r < 0 ? tool_fault(NULL, &why) : TOOL_FINE;
}
