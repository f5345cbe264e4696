/* SPDX-License-Identifier: Apache-2.0 */
/* gpukey list, show, untrust: which keys this machine trusts. */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "keys/gpukey/gpukey_internal.h"

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

/* roles 0: it is not trusted */
static void print_row(const struct trust_list *list, const struct public_key *pk, const char *name, const char *path,
		      unsigned roles, const char *remark)
{
	char words[ROLES_CHARS + 1];
	char keyid[KEY_ID_CHARS + 1], shown[SHOWN_PATH_MAX], revoked[GPUKEY_REVOKED_MAX];
	char fingerprint[FINGERPRINT_CHARS + 1];

	escape_terminal(shown, sizeof(shown), path, strlen(path));
	printf("%s  %-32s  %s", key_id(keyid, pk->keynum), name, shown);
	if (roles)
		printf(" (may %s)", roles_format(words, roles));
	printf("%s", remark);
	if (*gpukey_revoked(revoked, list, pk, NULL))
		printf(" (%s)", revoked);
	putchar('\n');
	if (tool_verbose)
		printf("                  fingerprint %s\n", key_fingerprint(fingerprint, pk));
}

static void json_member(const char *key, const char *value, const char *comma)
{
	static char escaped[PATH_MAX * ESCAPE_GROWTH + 1];

	escape_json(escaped, sizeof(escaped), value, strlen(value));
	printf("%s\"%s\":\"%s\"", comma, key, escaped);
}

/* What identifies a key, as the first members of an object that stays open. */
static void json_key(const struct public_key *pk)
{
	char keyid[KEY_ID_CHARS + 1], fingerprint[FINGERPRINT_CHARS + 1], base64[MINISIGN_PUBLIC_CHARS + 1];

	json_member("key_id", key_id(keyid, pk->keynum), "{");
	json_member("public_key", key_base64(base64, pk), ",");
	json_member("fingerprint", key_fingerprint(fingerprint, pk), ",");
}

/* ,"roles":["record"] */
static void json_roles(unsigned roles)
{
	const char *before = ",\"roles\":[";

	for (unsigned role = ROLE_RECORD; role <= ROLE_CUSTODY; role <<= 1) {
		if (!(roles & role))
			continue;
		printf("%s\"%s\"", before, role_word(role));
		before = ",";
	}
	if (roles)
		putchar(']');
}

static void json_row(const struct trust_list *list, const struct public_key *pk, const char *name, const char *path,
		     unsigned roles, bool is_own)
{
	char revoked[GPUKEY_REVOKED_MAX];

	json_key(pk);
	if (name)
		json_member("name", name, ",");
	json_member("file", path, ",");
	printf(",\"trusted\":%s,\"own\":%s", name ? "true" : "false", is_own ? "true" : "false");
	json_roles(roles);
	if (*gpukey_revoked(revoked, list, pk, NULL))
		json_member("revoked", revoked, ",");
	printf("}\n");
}

/* One key, for people or as JSON; name NULL: it is not trusted. */
static void list_key(const struct trust_list *list, const struct public_key *pk, const char *name, const char *path,
		     unsigned roles, bool is_own, bool json)
{
	if (json)
		json_row(list, pk, name, path, roles, is_own);
	else
		print_row(list, pk, name ? name : "-", path, roles,
			  !is_own ? ""
			  : name  ? " (this host)"
				  : " (this host; not trusted)");
}

#define JSON_OPTION                                                                                                    \
	{                                                                                                              \
		"json", 0, NULL, "one JSON object a line", TOOL_SET, .at = 0                                           \
	}
static const struct tool_option list_table[] = {
	JSON_OPTION,
	TOOL_VERBOSE("show fingerprints, too"),
	{0},
};
static const struct tool_option show_table[] = {JSON_OPTION, {0}};

/* 1 with --json, 0 without; -1 with *status. *operand: the first one. */
static int read_json_option(const struct tool_options *o, int argc, char **argv, int max, int *operand, int *status)
{
	bool json = false;

	*operand = gpukey_operands(o, argc, argv, &json, max, status);
	return *operand < 0 ? -1 : json;
}

int gpukey_list(int argc, char **argv)
{
	static const struct tool_options o = {
		"list [--json]\n", "Show the keys that this machine trusts, and its own: key id, name, file, roles.",
		list_table, NULL};
	struct trust_list list = {0};
	struct public_key own;
	char own_path[PATH_MAX];
	struct fault why;
	int status, has_own, operand, json;
	const struct trusted *t;
	bool own_listed = false, is_own;

	json = read_json_option(&o, argc, argv, 0, &operand, &status);
	if (json < 0)
		return status;
	status = TOOL_FINE;
	if (trust_list_read(&list, &why) < 0)
		return tool_fault(NULL, &why);
	has_own = own_key(&own, own_path, &why);
	if (has_own < 0)
		status = tool_fault(NULL, &why);
	for (t = list.keys; t < list.keys + list.nkeys; t++) {
		if (t->file.broken.code != ERR_NONE) {
			status = tool_fault(NULL, &t->file.broken);
			continue;
		}
		is_own = has_own > 0 && key_equal(&own, &t->key);
		own_listed |= is_own;
		list_key(&list, &t->key, t->file.name, t->file.path, t->roles, is_own, json);
	}
	if (has_own > 0 && !own_listed)
		list_key(&list, &own, NULL, own_path, 0, true, json);
	if (!json && gpukey_list_statements(&list) != TOOL_FINE)
		status = TOOL_FAILED;
	if (list.nkeys == 0 && has_own == 0)
		tool_note("no key is trusted here yet; gpurec makes one at its first recording, or: gpukey generate");
	trust_list_clear(&list);
	return status;
}

bool gpukey_matches(const struct trusted *t, const char *what)
{
	char keyid[KEY_ID_CHARS + 1];

	if (strcmp(t->file.name, what) == 0)
		return true;
	return t->file.broken.code == ERR_NONE && strcasecmp(key_id(keyid, t->key.keynum), what) == 0;
}

const struct trusted *gpukey_find(const struct trust_list *list, const char *what)
{
	const struct trusted *t;

	for (t = list->keys; t < list->keys + list->nkeys; t++)
		if (gpukey_matches(t, what))
			return t;
	return NULL;
}

bool gpukey_is_like_base64(const char *what, size_t len)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";

	return len >= MINISIGN_PUBLIC_CHARS / 2 && strspn(what, letters) >= len;
}

int gpukey_check_base64(const char *what, struct fault *why)
{
	size_t len = strlen(what);

	if (!gpukey_is_like_base64(what, len) || gpukey_exists(what))
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
	t = gpukey_find(list, what);
	if (t && t->file.broken.code != ERR_NONE)
		return fault_set(why, t->file.broken.code, t->file.broken.offset, "%s", t->file.broken.text);
	if (t) {
		*pk = t->key;
		return 0;
	}
	r = gpukey_check_base64(what, why);
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

	for (d = list->delegations; what && !gpukey_find(list, what) && d < list->delegations + list->ndelegations;
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
	char revoked[GPUKEY_REVOKED_MAX], roles[ROLES_CHARS + 1];

	gpukey_revoked(revoked, list, pk, NULL);
	printf("trusted as   %s", name ? name : "- (not trusted here)");
	if (revoked[0])
		printf(", %s %s", name ? "but" : "and", revoked);
	putchar('\n');
	if (name)
		printf("roles        %s\n", roles_format(roles, trust_roles(list, pk)));
}

static void show_json(const struct trust_list *list, const struct public_key *pk, const char *name)
{
	char revoked[GPUKEY_REVOKED_MAX];

	json_key(pk);
	printf(",\"trusted\":%s", name ? "true" : "false");
	if (name)
		json_member("name", name, ",");
	json_roles(trust_roles(list, pk));
	if (*gpukey_revoked(revoked, list, pk, NULL))
		json_member("revoked", revoked, ",");
	printf("}\n");
}

void gpukey_print_key(const struct public_key *pk)
{
	char keyid[KEY_ID_CHARS + 1], fingerprint[FINGERPRINT_CHARS + 1], base64[MINISIGN_PUBLIC_CHARS + 1];

	printf("public key   %s\n", key_base64(base64, pk));
	printf("key id       %s\n", key_id(keyid, pk->keynum));
	printf("fingerprint  %s\n", key_fingerprint(fingerprint, pk));
}

static void show_text(const struct trust_list *list, const struct public_key *pk, const char *name)
{
	gpukey_print_key(pk);
	print_trust(list, pk, name);
	gpukey_show_delegations(list, pk);
}

int gpukey_show(int argc, char **argv)
{
	static const struct tool_options o = {
		"show [--json] [FILE | NAME | KEYID]\n",
		"Show a public key, this host's own when none is named, in a form that can be read out or pasted.",
		show_table, NULL};
	struct trust_list list = {0};
	const struct trusted *found = NULL;
	struct public_key pk;
	struct fault why;
	int status, operand, r, json = read_json_option(&o, argc, argv, 1, &operand, &status);

	if (json < 0)
		return status;
	r = trust_list_read(&list, &why);
	if (r == 0)
		r = key_to_show(&pk, operand < argc ? argv[operand] : NULL, &list, &why);
	if (r == 0)
		r = trust_find(&list, &pk, &found, &why);
	if (r >= 0)
		(json ? show_json : show_text)(&list, &pk, r > 0 ? found->file.name : NULL);
	trust_list_clear(&list);
	return r < 0 ? tool_fault(NULL, &why) : TOOL_FINE;
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
		if (!gpukey_matches(t, what))
			continue;
		r = trust_remove(t, why);
		if (r < 0)
			return r;
		printf("no longer trusted: %s\n", t->file.name);
		n++;
		for (other = list->keys; other < list->keys + list->nkeys; other++)
			if (!gpukey_matches(other, what) && other->file.broken.code == ERR_NONE &&
			    key_equal(&other->key, &t->key))
				tool_note("the same key stays trusted as %s (%s)", other->file.name, other->file.path);
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

	operand = gpukey_operands(&o, argc, argv, NULL, 1, &status);
	if (operand < 0)
		return status;
	if (operand == argc)
		return tool_usage("missing operand: the name or the id of a key");
	r = trust_list_read(&list, &why);
	if (r == 0)
		r = untrust_key(&list, argv[operand], &why);
	trust_list_clear(&list);
	return r < 0 ? tool_fault(NULL, &why) : TOOL_FINE;
}
