/* SPDX-License-Identifier: Apache-2.0 */
/* gpukey check: whether a detached signature is one of this file by a key that is trusted here. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "format/verify.h"
#include "keys/gpukey/gpukey_internal.h"
#include "keys/signature.h"
#include "keys/trust.h"

struct checking {
	const char *path, *sig_path; /* sig_path NULL: FILE.minisig */
	struct tool_list trust;      /* public key files */
};

/* The result of a check. */
struct outcome {
	enum verdict verdict;
	struct signature sig; /* not for MALFORMED and UNCHECKED */
	struct public_key by; /* OK: the key that made it */
	char name[PATH_MAX];  /* and how it is called: its name in the store, or its file */
	struct fault why;     /* else */
};

static int check_options(struct checking *c, int argc, char **argv, int *status)
{
	static const struct tool_option table[] = {
		{"signature", 0, "SIG", "the signature (FILE.minisig)", TOOL_FILE,
		 .at = offsetof(struct checking, sig_path)},
		{"trust", 0, "PUB", "trust this public key file, too; may be repeated", TOOL_LIST,
		 .at = offsetof(struct checking, trust)},
		{0},
	};
	static const struct tool_options o = {
		"check [--signature SIG] [--trust PUB]... FILE\n",
		"Check that FILE.minisig is a signature of FILE by a key that is trusted here.",
		table,
		"The verdict is the first word: OK (0), FORGED (1), UNCHECKED (3), MALFORMED (4), UNTRUSTED (6). In "
		"brackets\nthe exit status. Signatures of minisign's old kind (-S -l) are not accepted.",
	};
	int operand = gpukey_operands(&o, argc, argv, c, 1, status);

	if (operand < 0)
		return -1;
	c->path = argv[operand];
	if (!c->path)
		*status = tool_usage("missing operand: the file to check");
	return c->path ? 0 : -1;
}

/*
 * Compare with one trusted key: 1 if it made the signature. A key number is a label, so another key that has the same
 * may be the right one.
 */
static int try_key(struct outcome *out, const struct prehash *hash, const struct public_key *pk, const char *name)
{
	struct fault why;
	int r = signature_verify(&out->sig, hash, pk, &why);

	if (r == 0) {
		out->verdict = VERDICT_OK;
		out->by = *pk;
		snprintf(out->name, sizeof(out->name), "%s", name);
	} else if (r == ERR_FORGED) {
		out->verdict = VERDICT_FORGED;
		out->why = why;
	}
	return r == 0;
}

/* All keys that are trusted, until one made the signature. */
static int try_keys(struct outcome *out, const struct checking *c, const struct prehash *hash, struct fault *why)
{
	const struct fault *broken = NULL;
	struct trust_list list = {0};
	const struct trusted *t;
	struct public_key pk;
	bool found = false;
	size_t i;
	int r;

	/* All are read, so that a wrong one is reported whatever the signature is. */
	for (i = 0; i < c->trust.n; i++) {
		r = minisign_read_public(&pk, c->trust.items[i], why);
		if (r < 0)
			return r;
		found = found || try_key(out, hash, &pk, c->trust.items[i]);
	}
	if (found)
		return 0;
	r = trust_list_read(&list, why);
	for (t = list.keys; r == 0 && !found && t < list.keys + list.nkeys; t++) {
		if (t->file.broken.code != ERR_NONE)
			broken = &t->file.broken;
		else
			found = try_key(out, hash, &t->key, t->file.name);
	}
	/* The key might be in the file that cannot be read. */
	if (r == 0 && !found && broken)
		r = fault_set(why, broken->code, broken->offset, "%s", broken->text);
	trust_list_clear(&list);
	return r;
}

/*
 * A revoked key's signature counts for nothing from that time on, whatever date it bears: its holder writes the date.
 */
static int refuse_revoked(struct outcome *out, const struct checking *c, struct fault *why)
{
	const uint64_t now_ns = (uint64_t)time(NULL) * 1000000000u;
	struct trust_sources sources;
	struct trust_answer answer;
	int r = trust_sources_read(&sources, c->trust.items, c->trust.n, NULL, 0, NULL, why);

	if (r == 0)
		r = trust_ask(&sources, &out->by, ROLES_ALL, now_ns, now_ns, &answer, why);
	if (r == 0 && answer.trust != TRUST_DIRECT) {
		out->verdict = VERDICT_UNTRUSTED;
		out->why = answer.why;
	}
	trust_sources_clear(&sources);
	return r;
}

/* Judge. 0; negative: it was not possible, for *why. */
static int judge(struct outcome *out, const struct checking *c, struct fault *why)
{
	char sig_path[PATH_MAX], keyid[KEY_ID_CHARS + 1];
	struct prehash hash;
	int r = c->sig_path ? 0 : signature_path(sig_path, c->path, why);

	if (r == 0)
		r = signature_read(&out->sig, c->sig_path ? c->sig_path : sig_path, why);
	if (r == ERR_FORMAT) {
		out->verdict = VERDICT_MALFORMED;
		out->why = *why;
		return 0;
	}
	if (r == 0)
		r = signature_hash(&hash, c->path, why);
	if (r < 0)
		return r;
	out->verdict = VERDICT_UNTRUSTED;
	fault_set(&out->why, ERR_KEY, FAULT_NOWHERE,
		  "signed by the key %s, which is not trusted here; get it from its owner, then: gpukey trust FILE",
		  key_id(keyid, out->sig.keynum));
	r = try_keys(out, c, &hash, why);
	return r == 0 && out->verdict == VERDICT_OK ? refuse_revoked(out, c, why) : r;
}

/* Escaped, but for the tabs with which minisign parts a comment. */
static void print_comment(const char *text)
{
	char shown[SIGNATURE_TRUSTED_MAX * ESCAPE_GROWTH + 1];
	size_t len;

	for (;; text += len + 1) {
		len = strcspn(text, "\t");
		escape_terminal(shown, sizeof(shown), text, len);
		printf("%s", shown);
		if (!text[len])
			break;
		putchar('\t');
	}
	putchar('\n');
}

static void print_outcome(const struct outcome *out, const char *path)
{
	char shown[SHOWN_PATH_MAX], keyid[KEY_ID_CHARS + 1];

	escape_terminal(shown, sizeof(shown), path, strlen(path));
	printf("%s %s\n", verdict_word(out->verdict), shown);
	if (out->verdict == VERDICT_UNCHECKED) {
		tool_fault(NULL, &out->why);
	} else if (out->verdict != VERDICT_OK && !tool_quiet) {
		escape_terminal(shown, sizeof(shown), out->why.text, strlen(out->why.text));
		printf("  why        %s\n", shown);
	} else if (!tool_quiet) {
		escape_terminal(shown, sizeof(shown), out->name, strlen(out->name));
		printf("  signed by  %s (%s), trusted here\n", key_id(keyid, out->sig.keynum), shown);
		printf("  comment    ");
		print_comment(out->sig.trusted);
	}
}

int gpukey_check(int argc, char **argv)
{
	struct checking c = {0};
	struct outcome out = {.verdict = VERDICT_UNCHECKED};
	struct fault why;
	int status;

	if (check_options(&c, argc, argv, &status) == 0) {
		if (judge(&out, &c, &why) < 0) {
			out.verdict = VERDICT_UNCHECKED;
			out.why = why;
		}
		print_outcome(&out, c.path);
		status = verdict_exit_status(out.verdict);
	}
	tool_list_clear(&c.trust);
	return status;
}
