/* SPDX-License-Identifier: Apache-2.0 */
/* gpuverify: is this capture what a recorder that is trusted here sealed, and is all of it there? */
#include <stdlib.h>

#include "keys/confine.h"
#include "keys/tool.h"
#include "replay/verdict.h"

#define STATUS_REFUSED 7

enum option_id { OPT_TRUST = 1, OPT_COMPLETE, OPT_JSON };

static const struct tool_option table[] = {
	{"trust", 0, "PUB", "trust this public key file, too; may be repeated", OPT_TRUST},
	{"require-complete", 0, NULL, "refuse (status 7) a capture of which parts are withheld", OPT_COMPLETE},
	{"json", 0, NULL, "one JSON object a line for each file", OPT_JSON},
	{0},
};

static const struct tool_options options = {
	.synopsis = "[--trust PUB]... [--require-complete] [--json] FILE...\n",
	.summary = "Say whether captures are authentic: signed by a key that is trusted here, unchanged, and whole.",
	.table = table,
	.more = "The verdict is the first word: OK, OK-SLICE, OK-REDACTED (0; authentic), FORGED (1), MALFORMED (4),\n"
		"UNSEALED (5), UNTRUSTED (6), UNCHECKED (3). In brackets the exit status; of several files, the "
		"worst's.\n"
		"-q prints no more than that line.\n",
};

struct settings {
	const char **trust_files;
	size_t ntrust_files;
	bool require_complete, json;
};

static int read_options(struct settings *s, int argc, char **argv, int *operands)
{
	const char *value;
	int id, status = TOOL_FINE;

	while ((id = tool_next_option(&options, false, argc, argv, &value, operands, &status)) > 0) {
		switch ((enum option_id)id) {
		case OPT_TRUST:
			s->trust_files[s->ntrust_files++] = value;
			break;
		case OPT_COMPLETE:
			s->require_complete = true;
			break;
		case OPT_JSON:
			s->json = true;
			break;
		}
	}
	if (id < 0)
		return status;
	if (*operands == argc)
		return tool_usage("which capture? No file was named");
	return -1;
}

/* How bad an answer is, so that of several files the worst wins: a refusal is worse than OK, better than the rest. */
static int badness(enum verdict v, bool refused)
{
	return v >= VERDICT_UNCHECKED ? (int)v + 1 : refused ? (int)VERDICT_UNCHECKED : 0;
}

/* Judge and print one file. Its exit status, and in *bad how bad it is; -1 if judging itself failed (and was told). */
static int judge(const struct settings *s, const char *path, int *bad)
{
	const struct evidence_options o = {.trust_files = s->trust_files, .ntrust_files = s->ntrust_files};
	struct evidence e;
	struct fault why;
	struct judgement j = {.path = path, .evidence = &e};
	enum verdict verdict;
	int r = evidence_judge(&e, path, &o, &why);

	if (r) {
		tool_fault(NULL, &why);
		evidence_close(&e);
		return -1;
	}
	verdict = e.verification.verdict;
	j.refused = s->require_complete && (verdict == VERDICT_OK_SLICE || verdict == VERDICT_OK_REDACTED);
	j.exit_status = j.refused ? STATUS_REFUSED : verdict_exit_status(verdict);
	*bad = badness(verdict, j.refused);
	if (s->json)
		verdict_print_json(stdout, &j);
	else
		verdict_print(stdout, &j, tool_quiet || !e.readable);
	/* Of what cannot even be read there is no more to tell than why. */
	if (!e.readable)
		tool_fault(path, &e.verification.why);
	evidence_close(&e);
	return j.exit_status;
}

int main(int argc, char **argv)
{
	struct settings s = {0};
	struct fault why;
	int operands = 0, status, worst = 0, worst_badness = -1;

	tool_init("gpuverify");
	s.trust_files = calloc((size_t)argc, sizeof(*s.trust_files));
	if (!s.trust_files) {
		tool_error("out of memory");
		return TOOL_FAILED;
	}
	status = read_options(&s, argc, argv, &operands);
	if (status >= 0)
		goto out;
	if (confine_offline(&why)) {
		status = tool_fault(NULL, &why);
		goto out;
	}
	for (int i = operands; i < argc; i++) {
		int bad = 0;

		status = judge(&s, argv[i], &bad);
		if (status < 0) {
			worst = TOOL_FAILED;
			break;
		}
		if (bad > worst_badness) {
			worst_badness = bad;
			worst = status;
		}
	}
	status = tool_finish(worst);
out:
	free(s.trust_files);
	return status;
}
