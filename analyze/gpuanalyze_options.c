/* SPDX-License-Identifier: Apache-2.0 */
/* gpuanalyze's command line. */
#include <stdio.h>
#include <string.h>

#include "analyze/gpuanalyze_internal.h"
#include "format/base/output_file.h"
#include "format/base/units.h"
#include "keys/tool/nearest.h"
#include "keys/tool/tool.h"

static const char *const severities[] = {
	[SEVERITY_INFO] = "info", [SEVERITY_WARNING] = "warning", [SEVERITY_ERROR] = "error", NULL};

static int take_output(void *request, const char *value, struct fault *why)
{
	struct request *q = request;

	if (!*value)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "the name of a file is missing");
	q->out = value;
	q->out_form = form_of(value);
	if (q->out_form == FORMS)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE,
				 "'%.160s': the suffix selects the format, and must be %s", value, forms_endings());
	return 0;
}

static int take_report(void *request, const char *value, struct fault *why)
{
	struct request *q = request;

	q->bare_report |= !value;
	return value ? take_output(request, value, why) : 0;
}

static int take_moment(void *request, const char *value, struct fault *why)
{
	return moment_parse(&((struct request *)request)->at, value, why);
}

static int take_setting(void *request, const char *value, struct fault *why)
{
	return settings_set(&((struct request *)request)->settings, value, why);
}

/* What is wrong with a file is no wrong usage. */
static int of_file(int r, struct fault *why)
{
	return r ? tool_fault(NULL, why) : 0;
}

static int take_settings(void *request, const char *value, struct fault *why)
{
	return of_file(settings_read(&((struct request *)request)->settings, value, why), why);
}

static int take_rules(void *request, const char *value, struct fault *why)
{
	return of_file(user_rules_read(&((struct request *)request)->rules, value, why), why);
}

#define AT(member) .at = offsetof(struct request, member)

static const struct tool_option table[] = {
	{"report", 0, "[=OUT]",
	 "the findings: as text on standard output, or to OUT, whose suffix .txt, .json, .sarif or .html selects the "
	 "format",
	 TOOL_CALL, .take = take_report},
	{"output", 'o', "OUT", "the same as --report=OUT", TOOL_CALL, .take = take_output},
	{"at", 0, "TIME",
	 "with --tid: what this thread was doing at that moment, and why; +2.2357, 12s, a wall time, ...", TOOL_CALL,
	 .take = take_moment},
	{"tid", 0, "TID", "the thread that --at is about", TOOL_NUMBER, AT(tid), .min = 1, .max = UINT32_MAX - 1},
	{"json", 0, NULL, "the findings as JSON on standard output", TOOL_SET, AT(json)},
	{"force", 0, NULL, "replace OUT if it is there", TOOL_SET, AT(force)},
	{"fail-on", 0, "SEVERITY",
	 "exit with 1 if there is a finding of this severity (info, warning, error) or above; with --baseline: a new "
	 "or worse one",
	 TOOL_WORD, AT(fail_on), .words = severities},
	{"baseline", 0, "FILE", "compare with this capture: what is new, gone, worse and better since", TOOL_FILE,
	 AT(baseline)},
	{"exit-code", 0, NULL, "with --baseline: exit with 1 if anything changed, with 3 if there is too little data",
	 TOOL_SET, AT(exit_code)},
	TOOL_VERBOSE("with --baseline: show all changes"),
	{"set", 0, "RULE.KEY=VALUE", "change a threshold of a rule; may be repeated", TOOL_CALL, .take = take_setting},
	{"settings", 0, "FILE", "the same for each line of FILE; may be repeated", TOOL_CALL, .take = take_settings},
	{"rules", 0, "DIR", "apply your own rules, too: the files DIR/*.sql; may be repeated", TOOL_CALL,
	 .take = take_rules},
	{"list-rules", 0, NULL, "show the rules, their settings and the reasons for them", TOOL_SET, AT(list_rules)},
	{"explain", 0, "RULE", "show what a rule means, when it is wrong, and what to do", TOOL_TEXT, AT(explain)},
	{"trust", 0, "PUB",
	 "trust this public key file to record, too; vouch:PUB and so on: see gpukey(1); may be repeated", TOOL_LIST,
	 AT(trust)},
	{"delegation", 0, "FILE", "believe this delegation by a trusted key; may be repeated", TOOL_LIST,
	 AT(delegations)},
	{"unverified", 0, NULL, "analyse what does not verify all the same; the report says so", TOOL_SET,
	 AT(evidence.unverified)},
	{0},
};

static const struct tool_options options = {
	.synopsis = "[OPTION]... FILE...\n",
	.summary = "Find what held up GPU work in a capture, who did it, and what leaks.",
	.table = table,
	.more = "A capture that does not verify is refused. One without an end is analysed up to its last seal.\n"
		"Exit status: 0 fine; 1 a capture was refused or could be read in part only, or --fail-on or "
		"--exit-code met; 2 usage;\n"
		"3 could not do it.\n",
};

static int refuse_rule(const char *name)
{
	struct nearest meant = nearest_to(name);

	for (unsigned i = 0; i < NRULES; i++)
		nearest_offer(&meant, rules[i]->name);
	return meant.best ? tool_usage("--explain: there is no rule '%s'; did you mean '%s'?", name, meant.best)
			  : tool_usage("--explain: there is no rule '%s'; --list-rules shows them", name);
}

/* --list-rules, --explain: what needs no capture. */
static int report_rules(const struct request *q)
{
	struct text t = {0};
	int status = TOOL_FINE;

	if (q->explain && !about_rule(q->explain, &q->settings, &q->rules, &t))
		status = refuse_rule(q->explain);
	else if (!q->explain)
		about_all_rules(&q->settings, &q->rules, &t);
	fputs(text_string(&t), stdout);
	if (t.failed) {
		tool_error("out of memory when writing");
		status = TOOL_FAILED;
	}
	text_clear(&t);
	return status;
}

/* -1: go on; else the status to leave with. */
static int check_moment(const struct request *q, int nfiles)
{
	if (q->at.given != (q->tid != 0))
		return tool_usage("--at and --tid go together: what was this thread doing then?");
	if (q->at.given && nfiles != 1)
		return tool_usage("--at is about one capture: %d were named", nfiles);
	if (q->at.given && q->baseline)
		return tool_usage("--at and --baseline cannot be combined");
	if (q->at.given && q->out && q->out_form != FORM_TEXT && q->out_form != FORM_JSON)
		return tool_usage("-o %s: with --at the name must end in .txt or .json", q->out);
	return -1;
}

/* -1: go on; else the status to leave with. */
static int check_baseline(const struct request *q, int nfiles)
{
	if (q->exit_code && !q->baseline)
		return tool_usage("--exit-code goes with --baseline");
	if (q->baseline && nfiles != 1)
		return tool_usage("--baseline compares two captures: %d were named besides it, not 1", nfiles);
	if (q->baseline && q->out && q->out_form != FORM_TEXT && q->out_form != FORM_JSON)
		return tool_usage("-o %s: with --baseline the name must end in .txt or .json", q->out);
	return -1;
}

int request_read(struct request *q, int argc, char **argv, int *operands)
{
	int status = tool_read_options(&options, false, argc, argv, q, operands);
	struct fault why;

	if (status >= 0)
		return status;
	q->evidence.trust_files = q->trust.items;
	q->evidence.ntrust_files = q->trust.n;
	q->evidence.delegation_files = q->delegations.items;
	q->evidence.ndelegation_files = q->delegations.n;
	if (q->list_rules || q->explain)
		return report_rules(q);
	for (int i = *operands; q->bare_report && i < argc; i++)
		if (form_of(argv[i]) != FORMS)
			return tool_usage("%s is not a capture; did you mean --report=%s, or -o %s?", argv[i], argv[i],
					  argv[i]);
	if (*operands >= argc)
		return tool_usage("missing operand: a capture file");
	status = check_baseline(q, argc - *operands);
	if (status < 0)
		status = check_moment(q, argc - *operands);
	if (status >= 0)
		return status;
	if (q->out && target_check(q->out, q->force, &why))
		return tool_fault(NULL, &why);
	return -1;
}
