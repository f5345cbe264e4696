/* SPDX-License-Identifier: Apache-2.0 */
/* gpukey delegate: an authority vouches for a host's key, for a time; and what trust, list, untrust do with that. */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "format/base/units.h"
#include "keys/gpukey/gpukey_internal.h"
#include "keys/plain_text.h"

#define PUBLIC_MODE 0644
#define NS_PER_S 1000000000ull

struct delegating {
	const char *secret; /* NULL: the host's identity */
	const char *name, *output;
	const char *from, *until, *length; /* as given, or NULL */
	bool force;
	int passphrase_fd;
	uint64_t from_ns, until_ns;
};

/* The interval out of --from and one of --until and --for; -1 with *status. */
static int take_interval(struct delegating *d, int *status)
{
	const char *option = "--from";
	uint64_t length_ns = 0;
	struct fault why;
	int r = 0;

	if (!d->until == !d->length) {
		*status = tool_usage("missing end: either --for, such as --for 365d, or --until DATE");
		return -1;
	}
	d->from_ns = (uint64_t)time(NULL) * NS_PER_S;
	if (d->from)
		r = date_parse(&d->from_ns, d->from, &why);
	if (r == 0) {
		option = d->until ? "--until" : "--for";
		r = d->until ? date_parse(&d->until_ns, d->until, &why) : duration_parse(d->length, &length_ns, &why);
	}
	if (r == 0 && d->length && __builtin_add_overflow(d->from_ns, length_ns, &d->until_ns))
		r = fault_set(&why, ERR_INPUT, FAULT_NOWHERE, "'%.40s' is too long", d->length);
	if (r < 0)
		*status = tool_usage("%s: %s", option, why.text);
	return r < 0 ? -1 : 0;
}

static int delegate_options(struct delegating *d, int argc, char **argv, int *status)
{
	static const struct tool_option table[] = {
		{"secret", 's', "FILE", "the authority's secret key (this host's)", TOOL_FILE,
		 .at = offsetof(struct delegating, secret)},
		{"passphrase-fd", 0, "N", "read the passphrase from descriptor N, not from the terminal",
		 TOOL_DESCRIPTOR, .at = offsetof(struct delegating, passphrase_fd)},
		{"name", 0, "NAME", "what the host is called", TOOL_TEXT, .at = offsetof(struct delegating, name)},
		{"from", 0, "DATE", "captures from this time on: 2026-11-21 or 2026-11-21T10:00:00Z (now)", TOOL_TEXT,
		 .at = offsetof(struct delegating, from)},
		{"until", 0, "DATE", "captures that end before this time", TOOL_TEXT,
		 .at = offsetof(struct delegating, until)},
		{"for", 0, "TIME", "the same as a length: 365d", TOOL_TEXT, .at = offsetof(struct delegating, length)},
		{"output", 'o', "FILE", "write the delegation here (standard output)", TOOL_FILE,
		 .at = offsetof(struct delegating, output)},
		{"force", 'f', NULL, "replace a file that is there", TOOL_SET,
		 .at = offsetof(struct delegating, force)},
		{0},
	};
	static const struct tool_options o = {
		"delegate --name NAME --for TIME | --until DATE [--from DATE] [-s FILE] [-o FILE] [-f] PUB\n",
		"Vouch for the key of another host: who trusts this authority then trusts what it records in that "
		"time.",
		table,
		"Times are UTC, and compared with the wall clock in the capture: all of it must lie within.\n",
	};
	int operands;

	*status = tool_read_options(&o, false, argc, argv, d, &operands);
	if (*status >= 0)
		return -1;
	if (argc - operands != 1)
		*status = tool_usage("delegate needs one public key: its file, or the line that 'gpukey show' prints "
				     "on that host");
	else if (!d->name)
		*status = tool_usage("missing name of the host: --name NAME");
	else if (take_interval(d, status) == 0)
		return operands;
	return -1;
}

int gpukey_signer(struct identity *id, const char *secret, int passphrase_fd, struct fault *why)
{
	struct identity_origin from = {0};
	char path[PATH_MAX];
	int r = secret ? 0 : store_path(path, "host.key", why);

	/* A statement about others is no occasion to make a key. */
	if (r == 0 && !secret && !gpukey_exists(path))
		r = fault_set(why, ERR_KEY, FAULT_NOWHERE, "this host has no key to sign with; -s FILE names another");
	return r < 0 ? r : identity_load(id, secret, passphrase_fd, &from, why);
}

static int write_delegation(const struct delegating *o, const struct delegation *d, struct fault *why)
{
	char text[DELEGATION_FILE_MAX], host[KEY_ID_CHARS + 1], authority[KEY_ID_CHARS + 1], from[DATE_CHARS + 1],
		until[DATE_CHARS + 1];
	size_t len = delegation_format(text, d);
	int r = 0;

	if (o->output)
		r = file_make(o->output, PUBLIC_MODE, o->force, text, len, why);
	else
		printf("%s", text);
	if (r == 0)
		tool_note("key %s vouched for as \"%s\" by %s, from %s until %s", key_id(host, d->host.keynum), d->name,
			  key_id(authority, d->authority.keynum), date_format(from, d->from_ns),
			  date_format(until, d->until_ns));
	return r;
}

int gpukey_delegate(int argc, char **argv)
{
	struct delegating o = {.passphrase_fd = -1};
	struct trust_list list = {0};
	struct identity id = {0};
	struct delegation d;
	struct public_key host;
	struct fault why;
	int status, operand, r;

	operand = delegate_options(&o, argc, argv, &status);
	if (operand < 0)
		return status;
	r = trust_list_read(&list, &why);
	if (r == 0)
		r = gpukey_key_meant(&host, argv[operand], &list, &why);
	if (r == 0 && o.output && !o.force && gpukey_exists(o.output))
		r = fault_set(&why, ERR_EXISTS, FAULT_NOWHERE, "%.150s: there is a file already; -f replaces it",
			      o.output);
	if (r == 0)
		r = gpukey_signer(&id, o.secret, o.passphrase_fd, &why);
	if (r == 0)
		r = delegation_make(&d, &host, o.name, o.from_ns, o.until_ns, &id, &why);
	identity_wipe(&id);
	if (r == 0)
		r = write_delegation(&o, &d, &why);
	trust_list_clear(&list);
	return r < 0 ? tool_fault(NULL, &why) : TOOL_FINE;
}

/* --- in the store --- */

/* The name of a file in the store: as said; else as its file is called without the suffix; else `otherwise`. */
void gpukey_store_name(char name[TRUST_NAME_MAX + 1], const char *said, const char *path, const char *suffix,
		       const char *otherwise)
{
	const char *leaf = file_leaf(path);

	if (said)
		snprintf(name, TRUST_NAME_MAX + 1, "%s", said);
	else
		snprintf(name, TRUST_NAME_MAX + 1, "%.*s", (int)file_stem(leaf, suffix), leaf);
	if (!said && !trust_name_valid(name))
		snprintf(name, TRUST_NAME_MAX + 1, "%s", otherwise);
}

int gpukey_trust_delegation(const char *path, const char *said, struct fault *why)
{
	char name[TRUST_NAME_MAX + 1], host[KEY_ID_CHARS + 1], authority[KEY_ID_CHARS + 1];
	char command[ROLE_COMMAND_CHARS + 1];
	struct trust_list list = {0};
	const struct trusted *found;
	struct delegation d;
	int r = delegation_read(&d, path, why);

	if (r == 0)
		r = trust_list_read(&list, why);
	if (r < 0)
		return r;
	key_id(host, d.host.keynum);
	key_id(authority, d.authority.keynum);
	gpukey_store_name(name, said, path, DELEGATION_SUFFIX, host);
	r = trust_add_delegation(&d, name, why);
	if (r == ERR_EXISTS)
		fault_set(why, ERR_EXISTS, FAULT_NOWHERE,
			  "there is a delegation %.127s already; choose a name with --name, or first: gpukey untrust "
			  "%.60s",
			  name, name);
	if (r == 0) {
		printf("kept as %s: key %s is \"%s\", signed by the authority %s\n", name, host, d.name, authority);
		if (trust_find(&list, &d.authority, &found, NULL) <= 0)
			tool_note(
				"which is not trusted here: bring its public key and run 'gpukey trust --role vouch', "
				"too");
		else if (!(trust_roles(&list, &d.authority) & ROLE_VOUCH))
			tool_note("which is trusted here without the role vouch; to give it: %s",
				  trust_role_command(command, &list, found, ROLE_VOUCH));
	}
	trust_list_clear(&list);
	return r;
}

static void print_row(const uint8_t *keynum, const struct trust_file *file)
{
	char keyid[KEY_ID_CHARS + 1], shown[SHOWN_PATH_MAX];

	escape_terminal(shown, sizeof(shown), file->path, strlen(file->path));
	printf("%s  %-32s  %s", key_id(keyid, keynum), file->name, shown);
}

/* ""node17" from ... until ..., says KEYID, which is trusted", and what is revoked of it. */
static void print_statement(const struct trust_list *list, const struct delegation *d)
{
	char keyid[KEY_ID_CHARS + 1], from[DATE_CHARS + 1], until[DATE_CHARS + 1], revoked[GPUKEY_REVOKED_MAX];
	const struct trusted *found;

	printf("\"%s\" from %s until %s, signed by %s, which is ", d->name, date_format(from, d->from_ns),
	       date_format(until, d->until_ns), key_id(keyid, d->authority.keynum));
	if (*gpukey_revoked(revoked, list, &d->authority, NULL))
		printf("%s", revoked);
	else if (trust_find(list, &d->authority, &found, NULL) <= 0)
		printf("not trusted");
	else
		printf("trusted%s", trust_roles(list, &d->authority) & ROLE_VOUCH ? "" : " without the role vouch");
	if (*gpukey_revoked(revoked, list, NULL, d->hash))
		printf("; it is %s", revoked);
	if (*gpukey_revoked(revoked, list, &d->host, NULL))
		printf("; the host's key is %s", revoked);
}

void gpukey_show_delegations(const struct trust_list *list, const struct public_key *host)
{
	const struct stored_delegation *d;

	for (d = list->delegations; d < list->delegations + list->ndelegations; d++) {
		if (d->file.broken.code != ERR_NONE || !key_equal(&d->delegation.host, host))
			continue;
		printf("vouched for  as ");
		print_statement(list, &d->delegation);
		putchar('\n');
	}
}

int gpukey_list_statements(const struct trust_list *list)
{
	const struct stored_delegation *d;
	const struct stored_revocations *l;
	int status = TOOL_FINE;

	for (d = list->delegations; d < list->delegations + list->ndelegations; d++) {
		if (d->file.broken.code != ERR_NONE) {
			status = tool_fault(NULL, &d->file.broken);
			continue;
		}
		print_row(d->delegation.host.keynum, &d->file);
		printf(" (");
		print_statement(list, &d->delegation);
		printf(")\n");
	}
	for (l = list->lists; l < list->lists + list->nlists; l++) {
		if (l->file.broken.code != ERR_NONE) {
			status = tool_fault(NULL, &l->file.broken);
			continue;
		}
		print_row(l->signer.keynum, &l->file);
		printf(" (revokes %zu)\n", l->list.n);
	}
	return status;
}

int gpukey_untrust_statements(const struct trust_list *list, const char *what, struct fault *why)
{
	char keyid[KEY_ID_CHARS + 1];
	const struct stored_delegation *d;
	const struct stored_revocations *l;
	int n = 0, r = 0;

	for (d = list->delegations; r == 0 && d < list->delegations + list->ndelegations; d++) {
		if (strcmp(d->file.name, what) != 0 &&
		    (d->file.broken.code != ERR_NONE ||
		     strcasecmp(key_id(keyid, d->delegation.host.keynum), what) != 0))
			continue;
		r = trust_remove_file(&d->file, why);
		if (r == 0)
			printf("no longer kept: the delegation %s\n", d->file.name);
		n++;
	}
	for (l = list->lists; r == 0 && l < list->lists + list->nlists; l++) {
		if (strcmp(l->file.name, what) != 0)
			continue;
		r = trust_remove_file(&l->file, why);
		if (r == 0)
			printf("no longer kept: the revocation list %s\n", l->file.name);
		n++;
	}
	return r < 0 ? r : n;
}
