/* SPDX-License-Identifier: Apache-2.0 */
/* gpukey revoke: say in a signed list that a key or a delegation counts no longer. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "keys/gpukey/gpukey_internal.h"
#include "keys/plain_text.h"

struct revoking {
	const char *secret; /* NULL: the host's identity */
	const char *output; /* NULL: the list in the store */
	const char *reason;
	uint64_t since_ns;
	int passphrase_fd;
};

static int take_since(void *revoking, const char *value, struct fault *why)
{
	return date_parse(&((struct revoking *)revoking)->since_ns, value, why);
}

static int revoke_options(struct revoking *o, int argc, char **argv, int *status)
{
	static const struct tool_option table[] = {
		{"secret", 's', "FILE", "sign the list with this secret key instead of the host's", TOOL_FILE,
		 .at = offsetof(struct revoking, secret)},
		{"passphrase-fd", 0, "N", "read the passphrase from descriptor N, not from the terminal",
		 TOOL_DESCRIPTOR, .at = offsetof(struct revoking, passphrase_fd)},
		{"since", 0, "DATE", "go on trusting captures that ended before (trust none)", TOOL_CALL,
		 .take = take_since},
		{"reason", 0, "TEXT", "one line that is shown where the key is refused", TOOL_TEXT,
		 .at = offsetof(struct revoking, reason)},
		{"output", 'o', "FILE", "the list to add to (the one in the trust store)", TOOL_FILE,
		 .at = offsetof(struct revoking, output)},
		{0},
	};
	static const struct tool_options options = {
		"revoke [--since DATE] [--reason TEXT] [-s FILE] [-o FILE] PUB | DELEGATION\n",
		"Add a key or a delegation to a signed list of what counts no longer, here and wherever the list is "
		"brought.",
		table,
		"DATE is 2026-11-21 or 2026-11-21T10:00:00Z, UTC. A thief of the key can set the clock back: without\n"
		"--since, no capture that the key signed is trusted any more.\n",
	};
	int operands;

	*status = tool_read_options(&options, false, argc, argv, o, &operands);
	if (*status >= 0)
		return -1;
	if (argc - operands == 1)
		return operands;
	*status = tool_usage("one operand is needed: a public key or a delegation");
	return -1;
}

enum gpukey_sort gpukey_sort_of(const char *path)
{
	static const char first[] = "gpurec revocations ";
	char *text = malloc(REVOCATIONS_FILE_MAX);
	enum gpukey_sort sort = GPUKEY_OTHER;
	size_t len;

	if (text && file_read(path, FILE_PUBLIC, text, REVOCATIONS_FILE_MAX, &len, NULL) == 0) {
		if (len >= strlen(first) && memcmp(text, first, strlen(first)) == 0)
			sort = GPUKEY_REVOCATIONS;
		else if (delegation_is_meant(text, len))
			sort = GPUKEY_DELEGATION;
		sodium_memzero(text, len); /* somebody may have named a secret key file */
	}
	free(text);
	return sort;
}

/* What is to be revoked: a delegation's file, or whatever means a key. */
static int item_meant(struct revocation *item, const char *what, const struct trust_list *list, struct fault *why)
{
	struct delegation d;
	int r;

	if (gpukey_sort_of(what) != GPUKEY_DELEGATION)
		return gpukey_key_meant(&item->key, what, list, why);
	r = delegation_read(&d, what, why);
	if (r < 0)
		return r;
	item->is_delegation = true;
	memcpy(item->hash, d.hash, sizeof(item->hash));
	return 0;
}

/* The list so far, if there is one, which the same key must have signed. */
static int read_so_far(struct revocations *r, const char *path, const struct public_key *signer, struct fault *why)
{
	struct signature *sig;
	struct prehash hash;
	struct fault inner;
	int result;

	if (!gpukey_exists(path))
		return 0;
	sig = malloc(sizeof(*sig));
	if (!sig)
		return fault_no_memory(why);
	result = revocations_read(r, path, sig, &hash, why);
	if (result == 0 && signature_verify(sig, &hash, signer, &inner) < 0)
		result = fault_set(why, ERR_KEY, FAULT_NOWHERE, "%.100s: this key cannot add to the list: %.120s", path,
				   inner.text);
	free(sig);
	return result;
}

/* Where the list is that this key signs. One that nobody here trusts would make the store unbelievable. */
static int list_path(char path[PATH_MAX], const struct revoking *o, const struct public_key *signer,
		     const struct trust_list *list, struct fault *why)
{
	char keyid[KEY_ID_CHARS + 1], command[ROLE_COMMAND_CHARS + 1];
	const struct trusted *found;
	int r;

	if (o->output)
		return file_beside(path, o->output, "", why);
	key_id(keyid, signer->keynum);
	r = trust_find(list, signer, &found, why);
	if (r == 0)
		r = fault_set(why, ERR_KEY, FAULT_NOWHERE,
			      "the key %s is not trusted here, so its list would not count; first gpukey trust its "
			      "public half, or write the list to a file with -o",
			      keyid);
	else if (r > 0 && !(trust_roles(list, signer) & ROLE_REVOKE))
		r = fault_set(
			why, ERR_KEY, FAULT_NOWHERE,
			"the key %s is trusted here without the role revoke, so its list would not count; to give "
			"it: %s; or write the list to a file with -o",
			keyid, trust_role_command(command, list, found, ROLE_REVOKE));
	return r < 0 ? r : trust_revocations_path(path, keyid, why);
}

const char *gpukey_revoked(char buf[GPUKEY_REVOKED_MAX], const struct trust_list *list, const struct public_key *pk,
			   const uint8_t *hash)
{
	const struct revocation *r = trust_revocation(list, pk, hash);
	char reason[REVOCATION_REASON_MAX * ESCAPE_GROWTH + 1], date[DATE_CHARS + 1];

	buf[0] = '\0';
	if (!r)
		return buf;
	escape_terminal(reason, sizeof(reason), r->reason, strlen(r->reason));
	snprintf(buf, GPUKEY_REVOKED_MAX, "revoked%s%s: %s", r->since_ns ? " since " : "",
		 r->since_ns ? date_format(date, r->since_ns) : "", reason);
	return buf;
}

/* Says what the list holds now: an earlier date that was there already stays. */
static void print_revoked(const struct revocation *item, const char *path)
{
	char shown[SHOWN_PATH_MAX], keyid[KEY_ID_CHARS + 1], date[DATE_CHARS + 1];

	escape_terminal(shown, sizeof(shown), path, strlen(path));
	printf("revoked: %s%s, %s%s (%s)\n", item->is_delegation ? "a delegation" : "key ",
	       item->is_delegation ? "" : key_id(keyid, item->key.keynum), item->since_ns ? "since " : "for all time",
	       item->since_ns ? date_format(date, item->since_ns) : "", item->reason);
	printf("list:    %s\n", shown);
	tool_note("on other machines: bring %s and %s.minisig there, then run: gpukey trust %s", path, path, path);
}

static int revoke(const struct revoking *o, const struct revocation *item, const struct trust_list *list,
		  const struct identity *id, struct fault *why)
{
	const struct revocation *now;
	struct revocations all = {0};
	struct public_key signer;
	char path[PATH_MAX];
	int r;

	key_of_identity(&signer, id);
	r = list_path(path, o, &signer, list, why);
	if (r == 0)
		r = read_so_far(&all, path, &signer, why);
	if (r == 0)
		r = revocations_add(&all, item, why);
	if (r == 0)
		r = revocations_write(&all, path, true, id, why);
	if (r == 0) {
		now = revocations_find(&all, item);
		print_revoked(now ? now : item, path);
	}
	revocations_clear(&all);
	return r;
}

int gpukey_revoke(int argc, char **argv)
{
	struct revoking o = {.passphrase_fd = -1, .reason = "no reason given"};
	struct revocation item = {0};
	struct trust_list list = {0};
	struct identity id = {0};
	int status, operand, r;
	struct fault why;

	operand = revoke_options(&o, argc, argv, &status);
	if (operand < 0)
		return status;
	if (!plain_text_valid(o.reason, strlen(o.reason), REVOCATION_REASON_MAX))
		return tool_usage(
			"--reason: 1 to %d bytes of printable text without quotation mark, backslash or outer blanks",
			REVOCATION_REASON_MAX);
	item.since_ns = o.since_ns;
	memcpy(item.reason, o.reason, strlen(o.reason));
	r = trust_list_read(&list, &why);
	if (r == 0)
		r = item_meant(&item, argv[operand], &list, &why);
	if (r == 0)
		r = gpukey_signer(&id, o.secret, o.passphrase_fd, &why);
	if (r == 0)
		r = revoke(&o, &item, &list, &id, &why);
	identity_wipe(&id);
	trust_list_clear(&list);
	return r < 0 ? tool_fault(NULL, &why) : TOOL_FINE;
}

int gpukey_trust_revocations(const char *path, const char *said, struct fault *why)
{
	char name[TRUST_NAME_MAX + 1];
	struct trust_list list = {0};
	int r = trust_list_read(&list, why);

	if (r < 0)
		return r;
	gpukey_store_name(name, said, path, REVOCATIONS_SUFFIX, "revoked");
	r = trust_add_revocations(&list, path, name, why);
	if (r == 0)
		printf("kept as %s: what this list revokes counts no longer here\n", name);
	trust_list_clear(&list);
	return r;
}
