/* SPDX-License-Identifier: Apache-2.0 */
/* gpuanalyze's command line. */
#include <stdio.h>
#include <string.h>

#include "analyze/gpuanalyze_internal.h"
#include "analyze/report/report_file.h"
#include "format/base/units.h"
#include "keys/tool/nearest.h"
#include "keys/tool/tool.h"

enum option_id {
	OPT_REPORT = 1,
	OPT_JSON,
	OPT_OUTPUT,
	OPT_FORCE,
	OPT_FAIL_ON,
	OPT_BASELINE,
	OPT_EXIT_CODE,
	OPT_AT,
	OPT_TID,
	OPT_SET,
	OPT_SETTINGS,
	OPT_RULES,
	OPT_LIST_RULES,
	OPT_EXPLAIN,
	OPT_TRUST,
	OPT_DELEGATION,
	OPT_UNVERIFIED,
};

static const struct tool_option table[] = {
	{"report", 0, "[=OUT]",
	 "the findings: as text on standard output, or to OUT, whose suffix .txt, .json, .sarif or .html selects the "
	 "format",
	 OPT_REPORT},
	{"output", 'o', "OUT", "the same as --report=OUT", OPT_OUTPUT},
	{"at", 0, "TIME",
	 "with --tid: what this thread was doing at that moment, and why; +2.2357, 12s, a wall time, ...", OPT_AT},
	{"tid", 0, "TID", "the thread that --at is about", OPT_TID},
	{"json", 0, NULL, "the findings as JSON on standard output", OPT_JSON},
	{"force", 0, NULL, "replace OUT if it is there", OPT_FORCE},
	{"fail-on", 0, "SEVERITY",
	 "exit with 1 if there is a finding of this severity (info, warning, error) or above; with --baseline: a new "
	 "or worse one",
	 OPT_FAIL_ON},
	{"baseline", 0, "FILE", "compare with this capture: what is new, gone, worse and better since", OPT_BASELINE},
	{"exit-code", 0, NULL, "with --baseline: exit with 1 if anything changed, with 3 if there is too little data",
	 OPT_EXIT_CODE},
	{"set", 0, "RULE.KEY=VALUE", "change a threshold of a rule; may be repeated", OPT_SET},
	{"settings", 0, "FILE", "the same for each line of FILE; may be repeated", OPT_SETTINGS},
	{"rules", 0, "DIR", "apply your own rules, too: the files DIR/*.sql; may be repeated", OPT_RULES},
	{"list-rules", 0, NULL, "show the rules, their settings and the reasons for them", OPT_LIST_RULES},
	{"explain", 0, "RULE", "show what a rule means, when it is wrong, and what to do", OPT_EXPLAIN},
	{"trust", 0, "PUB",
	 "trust this public key file to record, too; vouch:PUB and so on: see gpukey(1); may be repeated", OPT_TRUST},
	{"delegation", 0, "FILE", "believe this delegation by a trusted key; may be repeated", OPT_DELEGATION},
	{"unverified", 0, NULL, "analyse what does not verify all the same; the report says so", OPT_UNVERIFIED},
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

static int take_report(struct request *q, const char *value)
{
	q->bare_report |= !value;
	if (value && !*value)
		return tool_usage("-o needs the name of a file");
	if (!value)
		return -1;
	q->out = value;
	q->out_form = form_of(value);
	if (q->out_form == FORMS)
		return tool_usage("--report=%s: the suffix selects the format, and must be %s", value, forms_endings());
	return -1;
}

static int take_fail_on(struct request *q, const char *value)
{
	struct nearest meant = nearest_to(value);

	for (enum severity s = SEVERITY_INFO; s < SEVERITIES; s++) {
		if (strcmp(value, severity_name(s)))
			continue;
		q->fails = true;
		q->fail_on = s;
		return -1;
	}
	for (enum severity s = SEVERITY_INFO; s < SEVERITIES; s++)
		nearest_offer(&meant, severity_name(s));
	return meant.best ? tool_usage("--fail-on: '%s' is not one of info, warning, error; did you mean '%s'?", value,
				       meant.best)
			  : tool_usage("--fail-on: '%s' is not one of info, warning, error", value);
}

/* Options about rules: -1, or the status to leave with. */
static int take_rule_option(struct request *q, enum option_id id, const char *value)
{
	struct fault why;

	switch (id) {
	case OPT_SET:
		return settings_set(&q->settings, value, &why) ? tool_usage("%s", why.text) : -1;
	case OPT_SETTINGS:
		return settings_read(&q->settings, value, &why) ? tool_fault(NULL, &why) : -1;
	case OPT_RULES:
		return user_rules_read(&q->rules, value, &why) ? tool_fault(NULL, &why) : -1;
	case OPT_LIST_RULES:
		q->list_rules = true;
		return -1;
	default:
		q->explain = value;
		return -1;
	}
}

/* One option; -1, or the status to leave with. */
static int take_option(struct request *q, enum option_id id, const char *value)
{
	struct fault why;

	switch (id) {
	case OPT_REPORT:
	case OPT_OUTPUT:
		return take_report(q, value);
	case OPT_JSON:
		q->json = true;
		return -1;
	case OPT_FORCE:
		q->force = true;
		return -1;
	case OPT_FAIL_ON:
		return take_fail_on(q, value);
	case OPT_BASELINE:
		q->baseline = value;
		return -1;
	case OPT_AT:
		return moment_parse(&q->at, value, &why) ? tool_usage("--at: %s", why.text) : -1;
	case OPT_TID:
		return number_parse(value, 1, UINT32_MAX - 1, &q->tid, &why) ? tool_usage("--tid: %s", why.text)
										  : -1;
	case OPT_EXIT_CODE:
		q->exit_code = true;
		return -1;
	case OPT_TRUST:
		q->trust_files[q->evidence.ntrust_files++] = value;
		return -1;
	case OPT_DELEGATION:
		q->delegation_files[q->evidence.ndelegation_files++] = value;
		return -1;
	case OPT_UNVERIFIED:
		q->evidence.unverified = true;
		return -1;
	default:
		return take_rule_option(q, id, value);
	}
}

static int refuse_rule(const char *name)
{
	struct nearest meant = nearest_to(name);

	for (unsigned i = 0; i < NRULES; i++)
		nearest_offer(&meant, rules[i]->name);
	return meant.best ? tool_usage("--explain: there is no rule '%s'; did you mean '%s'?", name, meant.best)
			  : tool_usage("--explain: there is no rule '%s'; --list-rules shows them", name);
}

/* --list-rules, --explain: what needs no capture. */
static int tell_rules(const struct request *q)
{
	struct text t = {0};
	int status = TOOL_FINE;

	if (q->explain && !about_rule(q->explain, &q->settings, &q->rules, &t))
		status = refuse_rule(q->explain);
	else if (!q->explain)
		about_all_rules(&q->settings, &q->rules, &t);
	fputs(text_string(&t), stdout);
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
	const char *value;
	struct fault why;
	int id, status = TOOL_FINE;

	while ((id = tool_next_option(&options, false, argc, argv, &value, operands, &status)) > 0) {
		status = take_option(q, (enum option_id)id, value);
		if (status >= 0)
			return status;
	}
	if (id < 0)
		return status;
	if (q->list_rules || q->explain)
		return tell_rules(q);
	for (int i = *operands; q->bare_report && i < argc; i++)
		if (form_of(argv[i]) != FORMS)
			return tool_usage("%s is not a capture; did you mean --report=%s, or -o %s?", argv[i], argv[i],
					  argv[i]);
	if (*operands >= argc)
		return tool_usage("which capture? No file was named");
	status = check_baseline(q, argc - *operands);
	if (status < 0)
		status = check_moment(q, argc - *operands);
	if (status >= 0)
		return status;
	if (q->out && output_check(q->out, q->force, &why))
		return tool_fault(NULL, &why);
	return -1;
}
