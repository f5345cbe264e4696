/* SPDX-License-Identifier: Apache-2.0 */
/* gpuverify: is this capture what a recorder that is trusted here sealed, and is all of it there? */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "keys/confine.h"
#include "keys/identity.h"
#include "keys/tool.h"
#include "replay/joints.h"
#include "replay/verdict.h"

#define STATUS_REFUSED 7
#define FD_MAX 1023

enum option_id {
	OPT_TRUST = 1,
	OPT_DELEGATION,
	OPT_COMPLETE,
	OPT_BYTES_ONLY,
	OPT_JSON,
	OPT_CUSTODY_FILE,
	OPT_CUSTODY_HEAD,
	OPT_CUSTODY,
	OPT_NAME,
	OPT_NOTE,
	OPT_SECRET,
	OPT_PASSPHRASE_FD
};

static const struct tool_option table[] = {
	{"trust", 0, "PUB", "trust this public key file, too; may be repeated", OPT_TRUST},
	{"delegation", 0, "FILE", "believe this delegation by a trusted key; may be repeated", OPT_DELEGATION},
	{"require-complete", 0, NULL, "refuse (status 7) a capture of which parts are withheld", OPT_COMPLETE},
	{"bytes-only", 0, NULL, "check that every byte is what was sealed, and do not decode the rows: faster",
	 OPT_BYTES_ONLY},
	{"json", 0, NULL, "one JSON object a line for each file", OPT_JSON},
	{"custody-file", 0, "PATH", "the chain of custody (FILE.custody, if it is there)", OPT_CUSTODY_FILE},
	{"custody-head", 0, "HASH", "a line of custody that must be in the chain", OPT_CUSTODY_HEAD},
	{"custody", 0, "ACT", "add a signed line: recorded, verified, transferred, narrowed, received or archived",
	 OPT_CUSTODY},
	{"name", 0, "WHO", "in that line: who does it (user@host)", OPT_NAME},
	{"note", 0, "TEXT", "in that line: a reason", OPT_NOTE},
	{"secret", 's', "KEY", "sign that line with this secret key instead of the host's", OPT_SECRET},
	{"passphrase-fd", 0, "N", "read its passphrase from descriptor N, not from the terminal", OPT_PASSPHRASE_FD},
	{0},
};

static const struct tool_options options = {
	.synopsis = "[--trust PUB]... [--delegation FILE]... [--require-complete] [--bytes-only] [--json] FILE...\n"
		    "--custody ACT [--name WHO] [--note TEXT] [-s KEY] FILE...\n",
	.summary = "Say whether captures are authentic: signed by a key that is trusted here, unchanged, and whole.",
	.table = table,
	.more = "The verdict is the first word; in brackets the exit status. OK, OK-SLICE and OK-REDACTED (0) are\n"
		"authentic. Of several files the worst counts: FORGED (1), MALFORMED (4), UNTRUSTED (6), UNSEALED "
		"(5),\n"
		"UNCHECKED (3), refused by --require-complete (7), OK. Status 2: wrong usage.\n"
		"--bytes-only proves what a plain signature of the file would, and all seals, sums and losses; not "
		"that "
		"rows\ncan be read.\n"
		"-q prints no more than that line. A chain of custody that does not hold counts as FORGED, one by a "
		"key "
		"that\nis not trusted here as UNTRUSTED in the exit status.\n",
};

struct settings {
	const char **trust_files;
	size_t ntrust_files;
	const char **delegation_files; /* in the same memory */
	size_t ndelegation_files;
	bool require_complete, bytes_only, json;
	const char *custody_file, *secret;
	uint8_t head[HASH_BYTES];
	bool has_head, record; /* --custody-head; --custody */
	struct custody_request act;
	int passphrase_fd;
	struct identity *id; /* in locked memory; NULL unless an act is recorded */
};

/* The options of custody: 0, or the exit status of a wrong one. */
static int read_custody_option(struct settings *s, enum option_id id, const char *value)
{
	struct fault why;
	uint64_t n;
	size_t got;

	if (id == OPT_CUSTODY) {
		if (custody_action_parse(&s->act.action, value, &why) < 0)
			return tool_usage("--custody: %s", why.text);
		s->record = true;
	} else if (id == OPT_CUSTODY_HEAD) {
		if (sodium_hex2bin(s->head, sizeof(s->head), value, strlen(value), NULL, &got, NULL) != 0 ||
		    got != sizeof(s->head))
			return tool_usage("--custody-head: '%s' is no hash; 64 hex digits are", value);
		s->has_head = true;
	} else if (id == OPT_PASSPHRASE_FD) {
		if (tool_parse_number(value, 0, FD_MAX, &n, &why) < 0)
			return tool_usage("--passphrase-fd: %s", why.text);
		s->passphrase_fd = (int)n;
	} else {
		*(id == OPT_CUSTODY_FILE ? &s->custody_file
		  : id == OPT_NAME       ? &s->act.who
		  : id == OPT_NOTE       ? &s->act.note
					 : &s->secret) = value;
	}
	return 0;
}

static int check_options(const struct settings *s, int nfiles)
{
	if (nfiles == 0)
		return tool_usage("which capture? No file was named");
	if (nfiles > 1 && (s->custody_file || s->has_head))
		return tool_usage("--custody-file and --custody-head are about one capture, and %d were named", nfiles);
	if (s->record && s->bytes_only)
		return tool_usage("--custody says that all was checked; it does not go with --bytes-only");
	if (!s->record && (s->act.who || s->act.note || s->secret || s->passphrase_fd >= 0))
		return tool_usage("--name, --note, --secret and --passphrase-fd go with --custody ACT");
	return -1;
}

static int read_options(struct settings *s, int argc, char **argv, int *operands)
{
	const char *value;
	int id, status = TOOL_FINE;

	while ((id = tool_next_option(&options, false, argc, argv, &value, operands, &status)) > 0) {
		switch ((enum option_id)id) {
		case OPT_TRUST:
			s->trust_files[s->ntrust_files++] = value;
			break;
		case OPT_DELEGATION:
			s->delegation_files[s->ndelegation_files++] = value;
			break;
		case OPT_COMPLETE:
			s->require_complete = true;
			break;
		case OPT_BYTES_ONLY:
			s->bytes_only = true;
			break;
		case OPT_JSON:
			s->json = true;
			break;
		default:
			status = read_custody_option(s, (enum option_id)id, value);
			if (status)
				return status;
		}
	}
	if (id < 0)
		return status;
	return check_options(s, argc - *operands);
}

/* How bad an answer is, so that of several files the worst wins: a refusal is worse than OK, better than the rest. */
static int badness(enum verdict v, bool refused)
{
	return v >= VERDICT_UNCHECKED ? (int)v + 1 : refused ? (int)VERDICT_UNCHECKED : 0;
}

/* The key for --custody, before any file is read. 0, or the exit status. */
static int load_identity(struct settings *s)
{
	struct identity_origin from = {0};
	char what[512], command[512];
	struct fault why;

	s->id = sodium_init() < 0 ? NULL : sodium_malloc(sizeof(*s->id));
	if (!s->id) {
		tool_error("no locked memory for a secret key");
		return TOOL_FAILED;
	}
	if (identity_load(s->id, s->secret, s->passphrase_fd, &from, &why) < 0)
		return tool_fault(NULL, &why);
	if (from.made) {
		identity_introduce(s->id, &from, what, sizeof(what), command, sizeof(command));
		tool_note("%s", what);
		tool_note("%s", command);
	}
	return 0;
}

/* --custody: add the line. 0; or -1 when it could not be, which was told. */
static int record(const struct settings *s, const char *path, const struct evidence *e)
{
	char beside[PATH_MAX];
	struct custody_request q = s->act;
	struct custody_line line;
	struct fault why;
	int r = 0;

	q.path = s->custody_file ? s->custody_file : beside;
	if (!s->custody_file)
		r = custody_path(beside, path, &why);
	if (r == 0)
		r = custody_record(&q, e, s->id, &line, &why);
	if (r < 0)
		tool_fault(path, &why);
	return r < 0 ? -1 : 0;
}

/* The chain of a capture that was judged: recorded in, if asked for, and checked. 0; -1: not possible, and told. */
static int judge_chain(const struct settings *s, const char *path, const struct evidence *e,
		       const struct evidence_options *trust, struct chain *c)
{
	const struct chain_options o = {s->custody_file, s->has_head ? s->head : NULL, trust};
	int recorded = s->record ? record(s, path, e) : 0;
	struct fault why;

	if (!e->readable)
		return recorded;
	if (chain_check(c, path, e, &o, &why) < 0) {
		tool_fault(path, &why);
		return -1;
	}
	return recorded;
}

static int status_of(enum verdict verdict, bool refused)
{
	return refused ? STATUS_REFUSED : verdict_exit_status(verdict);
}

/* Judge and print one file. Its exit status, and in *bad how bad it is; -1 if judging itself failed (and was told). */
static int judge(const struct settings *s, const char *path, struct joints *joints, int *bad)
{
	const struct evidence_options o = {.scope = s->bytes_only ? VERIFY_BYTES : VERIFY_ROWS,
					   .trust_files = s->trust_files,
					   .ntrust_files = s->ntrust_files,
					   .delegation_files = s->delegation_files,
					   .ndelegation_files = s->ndelegation_files};
	struct evidence e;
	struct fault why;
	struct chain chain = {0};
	struct judgement j = {.path = path, .evidence = &e, .chain = &chain};
	char sentence[1024];
	enum verdict verdict;
	int r = evidence_judge(&e, path, &o, &why), told;

	if (r) {
		tool_fault(NULL, &why);
		evidence_close(&e);
		return -1;
	}
	verdict = e.verification.verdict;
	j.refused = s->require_complete && (verdict == VERDICT_OK_SLICE || verdict == VERDICT_OK_REDACTED);
	told = judge_chain(s, path, &e, &o, &chain);
	j.exit_status = status_of(verdict, j.refused);
	*bad = badness(verdict, j.refused);
	verdict = told < 0 && chain_verdict(&chain) < VERDICT_UNCHECKED ? VERDICT_UNCHECKED : chain_verdict(&chain);
	if (badness(verdict, false) > *bad) {
		*bad = badness(verdict, false);
		j.exit_status = status_of(verdict, false);
	}
	if (s->json)
		verdict_print_json(stdout, &j);
	else
		verdict_print(stdout, &j, tool_quiet || !e.readable);
	if (tool_quiet && chain_verdict(&chain) != VERDICT_OK) {
		chain_sentence(&chain, sentence, sizeof(sentence));
		tool_error("%s: custody %s", path, sentence);
	}
	if (joints_add(joints, path, &e, &why) < 0) {
		tool_fault(path, &why);
		j.exit_status = -1;
	}
	/* Of what cannot even be read there is no more to tell than why. */
	if (!e.readable)
		tool_fault(path, &e.verification.why);
	chain_clear(&chain);
	evidence_close(&e);
	return j.exit_status;
}

int main(int argc, char **argv)
{
	struct settings s = {.passphrase_fd = -1};
	struct joints joints = {0};
	struct fault why;
	int operands = 0, status, worst = 0, worst_badness = -1;

	tool_init("gpuverify");
	s.trust_files = calloc((size_t)argc * 2, sizeof(*s.trust_files));
	if (!s.trust_files) {
		tool_error("out of memory");
		return TOOL_FAILED;
	}
	s.delegation_files = s.trust_files + argc;
	status = read_options(&s, argc, argv, &operands);
	if (status >= 0)
		goto out;
	if (confine_offline(&why)) {
		status = tool_fault(NULL, &why);
		goto out;
	}
	if (s.record) {
		status = load_identity(&s);
		if (status)
			goto out;
	}
	for (int i = operands; i < argc; i++) {
		int bad = 0;

		status = judge(&s, argv[i], &joints, &bad);
		if (status < 0) {
			worst = TOOL_FAILED;
			break;
		}
		if (bad > worst_badness) {
			worst_badness = bad;
			worst = status;
		}
	}
	if (argc - operands > 1 && joints_print(stdout, &joints, s.json, tool_quiet) &&
	    worst_badness < badness(VERDICT_FORGED, false))
		worst = verdict_exit_status(VERDICT_FORGED);
	status = tool_finish(worst);
out:
	joints_clear(&joints);
	sodium_free(s.id); /* wipes it */
	free(s.trust_files);
	return status;
}
