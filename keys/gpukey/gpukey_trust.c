/* SPDX-License-Identifier: Apache-2.0 */
/* gpukey trust: take a key into the store, or give one that is there other roles. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "keys/gpukey/gpukey_internal.h"

struct trusting {
	const char *what, *name; /* name NULL: as the file is called */
	unsigned roles;          /* 0: not said */
	bool yes;
};

/* What a key is called when nobody says: as its file, else as its id. */
static void default_name(char name[TRUST_NAME_MAX + 1], const char *what, const struct public_key *pk)
{
	const char *leaf = file_leaf(what);

	snprintf(name, TRUST_NAME_MAX + 1, "%.*s", (int)file_stem(leaf, PUBLIC_SUFFIX), leaf);
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

/* On a terminal a person compares first. False: the answer is no. */
static bool is_wanted(const struct public_key *pk, unsigned roles, bool yes)
{
	char words[ROLES_CHARS + 1], fingerprint[FINGERPRINT_CHARS + 1], keyid[KEY_ID_CHARS + 1], answer[16] = "";

	if (yes || !isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return true;
	printf("key id       %s\n", key_id(keyid, pk->keynum));
	printf("fingerprint  %s\n", key_fingerprint(fingerprint, pk));
	printf("roles        %s\n", roles_format(words, roles));
	printf("Is this what 'gpukey show' prints on the recording host? Trust it? [y/N] ");
	fflush(stdout);
	return fgets(answer, sizeof(answer), stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

/* The entry that `what` names, where it is no key itself and no file; NULL: none. ERR_KEY: it may mean two. */
static int entry_meant(const struct trusted **entry, const char *what, const struct trust_list *list, struct fault *why)
{
	const struct trusted *t = strchr(what, '/') ? NULL : gpukey_find(list, what), *other;

	*entry = t;
	if (!t)
		return 0;
	if (t->file.broken.code != ERR_NONE)
		return fault_set(why, t->file.broken.code, t->file.broken.offset, "%s", t->file.broken.text);
	if (gpukey_exists(what))
		return fault_set(why, ERR_KEY, FAULT_NOWHERE,
				 "%.100s: a file and a trusted key; use ./%.80s for the file, else the key's id", what,
				 what);
	for (other = t + 1; other < list->keys + list->nkeys; other++)
		if (gpukey_matches(other, what) && other->file.broken.code == ERR_NONE &&
		    !key_equal(&other->key, &t->key))
			return fault_set(why, ERR_KEY, FAULT_NOWHERE,
					 "%.40s: two trusted keys have this name: %.80s and %.80s", what, t->file.name,
					 other->file.name);
	return 0;
}

/* Let a trusted key have these roles: in each of its entries that are ours to change, else in a new one. */
static int change_roles(const struct trust_list *list, const struct public_key *pk, const struct trusting *o,
			const struct trusted *found, struct fault *why)
{
	char before[ROLES_CHARS + 1], now[ROLES_CHARS + 1];
	const struct trusted *t;
	unsigned n = 0, rest = 0;
	int r = 0;

	for (t = list->keys; r == 0 && t < list->keys + list->nkeys; t++) {
		if (t->file.broken.code != ERR_NONE || !key_equal(&t->key, pk))
			continue;
		if (t->file.system && geteuid() != 0) {
			rest |= t->roles;
			continue;
		}
		r = trust_set_roles(t, o->roles, why);
		n++;
	}
	if (r == 0 && n == 0)
		r = trust_add(pk, o->name ? o->name : found->file.name, o->roles, why);
	if (r < 0)
		return r;
	printf("%s may %s now, before %s\n", found->file.name, roles_format(now, o->roles | rest),
	       roles_format(before, trust_roles(list, pk)));
	return 0;
}

/* Take a key that is not trusted yet into the store. */
static int add_key(const struct trusting *o, const struct public_key *pk, struct fault *why)
{
	char chosen[TRUST_NAME_MAX + 1], fingerprint[FINGERPRINT_CHARS + 1], keyid[KEY_ID_CHARS + 1];
	unsigned roles = o->roles ? o->roles : ROLE_RECORD;
	char words[ROLES_CHARS + 1];
	const char *name = o->name ? o->name : chosen;
	int r;

	if (!is_wanted(pk, roles, o->yes))
		return fault_set(why, ERR_KEY, FAULT_NOWHERE,
				 "the key was not trusted: the question was not answered with y");
	default_name(chosen, o->what, pk);
	r = trust_add(pk, name, roles, why);
	if (r == ERR_EXISTS)
		fault_set(why, ERR_EXISTS, FAULT_NOWHERE,
			  "another key is trusted as %.127s; choose a name with --name, or first: gpukey untrust %.60s",
			  name, name);
	if (r == 0)
		printf("trusted as %s: key %s, fingerprint %s; it may %s\n", name, key_id(keyid, pk->keynum),
		       key_fingerprint(fingerprint, pk), roles_format(words, roles));
	return r;
}

/* A delegation or a revocation list. */
static int trust_statement(const struct trusting *o, enum gpukey_sort sort, struct fault *why)
{
	if (o->roles)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE,
				 "%.120s is not a key: it counts as far as its signer's roles go", o->what);
	return sort == GPUKEY_DELEGATION ? gpukey_trust_delegation(o->what, o->name, why)
					 : gpukey_trust_revocations(o->what, o->name, why);
}

/* The key that `what` means: itself, a trusted one by name or id, or one in a file. */
static int key_to_trust(struct public_key *pk, const char *what, const struct trust_list *list, struct fault *why)
{
	const struct trusted *entry;
	int r;

	if (key_parse(pk, what, NULL) == 0)
		return 0;
	r = entry_meant(&entry, what, list, why);
	if (r == 0 && !entry)
		r = gpukey_check_base64(what, why);
	if (r < 0)
		return r;
	if (!entry)
		return minisign_read_public(pk, what, why);
	*pk = entry->key;
	return 0;
}

static int trust(const struct trusting *o, struct fault *why)
{
	enum gpukey_sort sort = gpukey_sort_of(o->what);
	struct trust_list list = {0};
	const struct trusted *found;
	char words[ROLES_CHARS + 1];
	struct public_key pk;
	int r;

	if (sort != GPUKEY_OTHER)
		return trust_statement(o, sort, why);
	r = trust_list_read(&list, why);
	if (r < 0)
		return r;
	r = key_to_trust(&pk, o->what, &list, why);
	if (r == 0)
		r = check_revoked(&list, &pk, why);
	if (r < 0)
		goto out;
	/* A broken file in the store does not stop a key from being added to it. */
	if (trust_find(&list, &pk, &found, NULL) <= 0)
		r = add_key(o, &pk, why);
	else if (o->roles && o->roles != trust_roles(&list, &pk))
		r = change_roles(&list, &pk, o, found, why);
	else
		printf("trusted already as %s; it may %s\n", found->file.name,
		       roles_format(words, trust_roles(&list, &pk)));
out:
	trust_list_clear(&list);
	return r;
}

static int take_roles(void *trusting, const char *value, struct fault *why)
{
	return roles_parse(&((struct trusting *)trusting)->roles, value, strlen(value), why);
}

int gpukey_trust(int argc, char **argv)
{
	static const struct tool_option table[] = {
		{"name", 0, "NAME", "what to call the key: letters, digits, '.', '_', '-' (the file's name)", TOOL_TEXT,
		 .at = offsetof(struct trusting, name)},
		{"role", 0, "LIST", "what it may do: record,vouch,revoke,custody (record)", TOOL_CALL,
		 .take = take_roles},
		{"yes", 'y', NULL, "do not ask on a terminal: the fingerprint has been compared", TOOL_SET,
		 .at = offsetof(struct trusting, yes)},
		{0},
	};
	static const struct tool_options o = {
		"trust [--role LIST] [--name NAME] [--yes] FILE | BASE64 | NAME | KEYID\n",
		"Trust what a key signs from now on. Compare the fingerprint with 'gpukey show' on its host first.",
		table,
		"A key may record; with --role vouch also, or instead, vouch for others' keys, revoke keys, or sign "
		"acts of\n"
		"custody. A key that is trusted gets the roles named, and no others.\n"
		"FILE may also be a delegation, or a revocation list with its signature beside it: they count as far "
		"as\n"
		"the keys that signed them are trusted here.\n"};
	struct trusting t = {0};
	int operands, status = tool_read_options(&o, false, argc, argv, &t, &operands);
	struct fault why;

	if (status >= 0)
		return status;
	if (argc - operands != 1)
		return tool_usage("trust needs one key: its file, or the line of base64 that 'gpukey show' prints");
	if (t.name && !trust_name_valid(t.name))
		return tool_usage("--name: '%s' cannot name a key: only letters, digits, '.', '_' and '-', at most %d",
				  t.name, TRUST_NAME_MAX);
	t.what = argv[operands];
	return trust(&t, &why) < 0 ? tool_fault(NULL, &why) : TOOL_FINE;
}
