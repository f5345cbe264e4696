/* SPDX-License-Identifier: Apache-2.0 */
/* gpuverify: is this capture what a recorder that is trusted here sealed, and is all of it there? */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/units.h"
#include "keys/tool/reach.h"
#include "keys/tool/confine.h"
#include "keys/identity.h"
#include "keys/tool/tool.h"
#include "replay/verify/continuity.h"
#include "replay/verify/verdict.h"

#define STATUS_REFUSED 7

struct settings {
	struct tool_list trust, delegations;
	bool require_complete, require_chain, bytes_only, json;
	bool has_limit; /* --max-lost */
	struct loss_limit limit;
	bool has_after;
	uint8_t after[HASH_BYTES];
	const char *custody_file, *secret;
	uint8_t head[HASH_BYTES];
	bool has_head, record; /* --custody-head; --custody */
	struct custody_request act;
	int passphrase_fd;
	struct identity *id; /* in locked memory; NULL unless an act is recorded */
};

/* A hash of 64 hex digits. */
static int read_hash(uint8_t hash[HASH_BYTES], bool *given, const char *value, struct fault *why)
{
	size_t got;

	if (sodium_hex2bin(hash, HASH_BYTES, value, strlen(value), NULL, &got, NULL) != 0 || got != HASH_BYTES)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "'%.160s' is not a hash of 64 hex digits", value);
	*given = true;
	return 0;
}

static int take_after(void *settings, const char *value, struct fault *why)
{
	struct settings *s = settings;

	return read_hash(s->after, &s->has_after, value, why);
}

static int take_head(void *settings, const char *value, struct fault *why)
{
	struct settings *s = settings;

	return read_hash(s->head, &s->has_head, value, why);
}

static int take_limit(void *settings, const char *value, struct fault *why)
{
	struct settings *s = settings;

	s->has_limit = true;
	return loss_limit_parse(&s->limit, value, why);
}

static int take_act(void *settings, const char *value, struct fault *why)
{
	struct settings *s = settings;

	s->record = true;
	return custody_action_parse(&s->act.action, value, why);
}

#define AT(member) .at = offsetof(struct settings, member)

static const struct tool_option table[] = {
	{"trust", 0, "PUB",
	 "trust this public key file to record, too; vouch:PUB and so on: see gpukey(1); may be repeated", TOOL_LIST,
	 AT(trust)},
	{"delegation", 0, "FILE", "believe this delegation by a trusted key; may be repeated", TOOL_LIST,
	 AT(delegations)},
	{"require-complete", 0, NULL, "refuse (status 7) a capture of which anything was lost, sampled out or withheld",
	 TOOL_SET, AT(require_complete)},
	{"max-lost", 0, "N|P%", "refuse (status 7) a capture that lacks more than N events, or P % of all", TOOL_CALL,
	 .take = take_limit},
	{"require-chain", 0, NULL, "refuse (status 7) captures of a rotation of which one is missing", TOOL_SET,
	 AT(require_chain)},
	{"after", 0, "HASH", "with --require-chain: the last seal before the first capture, of one removed on purpose",
	 TOOL_CALL, .take = take_after},
	{"bytes-only", 0, NULL, "check that every byte is what was sealed, and do not decode the rows: faster",
	 TOOL_SET, AT(bytes_only)},
	{"json", 0, NULL, "one JSON object a line for each file", TOOL_SET, AT(json)},
	{"custody-file", 0, "PATH", "the chain of custody (FILE.custody, if it is there)", TOOL_FILE, AT(custody_file)},
	{"custody-head", 0, "HASH", "a line of custody that must be in the chain", TOOL_CALL, .take = take_head},
	{"custody", 0, "ACT", "add a signed line: recorded, verified, transferred, narrowed, received or archived",
	 TOOL_CALL, .take = take_act},
	{"name", 0, "WHO", "in that line: who does it (user@host)", TOOL_TEXT, AT(act.who)},
	{"note", 0, "TEXT", "in that line: a reason", TOOL_TEXT, AT(act.note)},
	{"secret", 's', "KEY", "sign that line with this secret key instead of the host's", TOOL_FILE, AT(secret)},
	{"passphrase-fd", 0, "N", "read its passphrase from descriptor N, not from the terminal", TOOL_DESCRIPTOR,
	 AT(passphrase_fd)},
	{0},
};

static const struct tool_options options = {
	.synopsis = "[--trust PUB]... [--delegation FILE]... [--require-complete] [--max-lost N|P%] [--bytes-only] "
		    "[--json] FILE...\n"
		    "--require-chain [--after HASH] FILE...\n"
		    "--custody ACT [--name WHO] [--note TEXT] [-s KEY] FILE...\n",
	.summary = "Check that captures are authentic: signed by a key that is trusted here, unchanged, and whole.",
	.table = table,
	.more = "The verdict is the first word of the output. With several files the worst verdict is the exit "
		"status:\n"
		"  FORGED     1  bytes contradict a seal; or the chain of custody, or a joint of a series, does not "
		"hold\n"
		"  MALFORMED  4  the file breaks the format\n"
		"  UNTRUSTED  6  consistent, but the signer (or one of the chain of custody) is not trusted here\n"
		"  UNSEALED   5  authentic up to its last seal; the end is missing (a crash, a cut)\n"
		"  UNCHECKED  3  could not be checked: I/O, memory, or a later version\n"
		"  OK...      7  authentic, but refused by --require-complete, --max-lost or --require-chain\n"
		"  OK         0  authentic; the line shows how many events were lost, if any were\n"
		"  OK-SLICE, OK-REDACTED  0  authentic, and parts were withheld\n"
		"Wrong usage is status 2. -q prints the first line only. --bytes-only checks signatures and hashes but "
		"does\n"
		"not decode events.\n",
};

static int check_options(const struct settings *s, int nfiles)
{
	if (nfiles == 0)
		return tool_usage("missing operand: a capture file");
	if (nfiles > 1 && (s->custody_file || s->has_head))
		return tool_usage("--custody-file and --custody-head are about one capture, and %d were named", nfiles);
	if (s->has_after && !s->require_chain)
		return tool_usage("--after goes with --require-chain");
	if (s->record && s->bytes_only)
		return tool_usage("--custody asserts that all was checked; it does not go with --bytes-only");
	if (!s->record && (s->act.who || s->act.note || s->secret || s->passphrase_fd >= 0))
		return tool_usage("--name, --note, --secret and --passphrase-fd go with --custody ACT");
	return -1;
}

static int read_options(struct settings *s, int argc, char **argv, int *operands)
{
	int status = tool_read_options(&options, false, argc, argv, s, operands);

	return status < 0 ? check_options(s, argc - *operands) : status;
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

/* --custody: add the line. 0; or -1 when it could not be, which was reported. */
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

/* The chain of a capture that was judged: recorded in, if asked for, and checked. 0; -1: not possible, and reported. */
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

/* Why an authentic capture is not taken, for what is not in it; NULL: it is. --max-lost says how much may be lost. */
static const char *refusal(const struct settings *s, enum verdict verdict, const struct completeness *c)
{
	if (verdict >= VERDICT_UNCHECKED)
		return NULL;
	if (s->require_complete && c->nwithheld > 0)
		return "parts are withheld, and --require-complete was given";
	if (s->has_limit)
		return completeness_within(c, &s->limit) ? NULL : "more events are missing than --max-lost allows";
	if (s->require_complete && !completeness_is_full(c))
		return "events are missing, and --require-complete was given";
	return NULL;
}

/* 0; -1: there was no memory for all of it, and this was said. */
static int print_text(struct text *t)
{
	bool failed = t->failed;

	if (failed)
		tool_error("out of memory");
	else if (t->s)
		fwrite(t->s, 1, t->len, stdout);
	text_clear(t);
	return failed ? -1 : 0;
}

static int print_json(const struct judgement *judgement)
{
	struct text t = {0};
	struct json j = {.out = &t, .line = true};

	verdict_json(&j, judgement);
	return print_text(&t);
}

static int print_verdict(const struct judgement *judgement, bool brief)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	if (!f) {
		tool_error("out of memory");
		return -1;
	}
	verdict_print(f, judgement, brief);
	fclose(f);
	tool_print(text, n);
	free(text);
	return 0;
}

/* Judge and print one file. Its exit status, and in *bad how bad it is; -1 if judging itself failed (and was reported).
 */
static int judge(const struct settings *s, const char *path, struct joints *joints, int *bad)
{
	const struct evidence_options o = {.scope = s->bytes_only ? VERIFY_BYTES : VERIFY_ROWS,
					   .progress = tool_progress,
					   .trust_files = s->trust.items,
					   .ntrust_files = s->trust.n,
					   .delegation_files = s->delegations.items,
					   .ndelegation_files = s->delegations.n};
	struct evidence e;
	struct fault why;
	struct chain chain = {0};
	struct completeness complete;
	struct judgement j = {.path = path, .evidence = &e, .completeness = &complete, .chain = &chain};
	char sentence[1024];
	enum verdict verdict;
	int r, reported;

	tool_progress_begin("verifying");
	r = evidence_judge(&e, path, &o, &why);
	tool_progress_end();
	if (r) {
		tool_fault(NULL, &why);
		evidence_close(&e);
		return -1;
	}
	verdict = e.verification.verdict;
	completeness_of(&complete, &e);
	j.refused = refusal(s, verdict, &complete);
	reported = judge_chain(s, path, &e, &o, &chain);
	j.exit_status = status_of(verdict, j.refused);
	*bad = badness(verdict, j.refused);
	verdict = reported < 0 && chain_verdict(&chain) < VERDICT_UNCHECKED ? VERDICT_UNCHECKED : chain_verdict(&chain);
	if (badness(verdict, false) > *bad) {
		*bad = badness(verdict, false);
		j.exit_status = status_of(verdict, false);
	}
	if ((s->json ? print_json(&j) : print_verdict(&j, tool_quiet || !e.readable)) < 0)
		j.exit_status = -1;
	if (tool_quiet && chain_verdict(&chain) != VERDICT_OK) {
		chain_sentence(&chain, sentence, sizeof(sentence));
		tool_error("%s: custody %s", path, sentence);
	}
	if (joints_add(joints, path, &e, &why) < 0) {
		tool_fault(path, &why);
		j.exit_status = -1;
	}
	/* Of what cannot even be read there is no more to report than why. */
	if (!e.readable)
		tool_fault(path, &e.verification.why);
	chain_clear(&chain);
	evidence_close(&e);
	return j.exit_status;
}

/* What of several files that belong together is said; `*bad` and `status` are of the files by themselves. */
static int judge_joints(const struct settings *s, const struct joints *joints, int *bad, int status)
{
	const struct joints_options o = {.json = s->json,
					 .brief = tool_quiet,
					 .open = s->require_complete || s->require_chain,
					 .after = s->has_after ? s->after : NULL};
	struct text t = {0};
	const struct joints_result found = joints_text(&t, joints, &o);

	if (print_text(&t) < 0) {
		*bad = INT_MAX;
		return TOOL_FAILED;
	}
	if (found.nwrong && *bad < badness(VERDICT_FORGED, false)) {
		*bad = badness(VERDICT_FORGED, false);
		status = verdict_exit_status(VERDICT_FORGED);
	}
	if (found.nmissing && s->require_chain && *bad < badness(VERDICT_OK, true)) {
		*bad = badness(VERDICT_OK, true);
		status = STATUS_REFUSED;
	}
	return status;
}

/* From here on only what was named is opened, and what lies beside it. */
static int confine(const struct settings *s, char **files, int nfiles, struct fault *why)
{
	struct landlock l;
	int r = reach_begin(&l, s->record, why);

	if (r == 0)
		r = reach_trusted(&l, s->trust.items, s->trust.n, why);
	if (r == 0)
		r = reach_files(&l, s->delegations.items, s->delegations.n, why);
	if (r == 0 && s->secret)
		r = reach_files(&l, &s->secret, 1, why);
	if (r == 0 && s->custody_file)
		r = reach_files(&l, &s->custody_file, 1, why);
	if (r == 0 && s->record && s->custody_file)
		r = reach_output(&l, s->custody_file, why);
	for (int i = 0; i < nfiles && r == 0; i++) {
		r = reach_capture(&l, files[i], why);
		if (r == 0 && s->record && !s->custody_file)
			r = reach_output(&l, files[i], why);
	}
	if (r == 0)
		r = confine_offline(&l, s->passphrase_fd, why);
	landlock_close(&l);
	return r;
}

int main(int argc, char **argv)
{
	struct settings s = {.passphrase_fd = -1};
	struct joints joints = {0};
	struct fault why;
	int operands = 0, status, worst = 0, worst_badness = -1;

	tool_init("gpuverify");
	status = read_options(&s, argc, argv, &operands);
	if (status >= 0)
		goto out;
	if (confine(&s, argv + operands, argc - operands, &why)) {
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
	if (argc - operands > 1 || s.require_chain || s.require_complete)
		worst = judge_joints(&s, &joints, &worst_badness, worst);
	status = tool_finish(worst);
out:
	joints_clear(&joints);
	sodium_free(s.id); /* wipes it */
	tool_list_clear(&s.trust);
	tool_list_clear(&s.delegations);
	return status;
}
