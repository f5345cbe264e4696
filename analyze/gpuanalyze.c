// SPDX-License-Identifier: Apache-2.0
/* gpuanalyze: what went wrong in a capture, and whose doing it was. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/output.h"
#include "analyze/report.h"
#include "keys/confine.h"
#include "keys/tool.h"

enum option_id {
	OPT_REPORT = 1,
	OPT_JSON,
	OPT_FORCE,
	OPT_FAIL_ON,
	OPT_SET,
	OPT_LIST_RULES,
	OPT_TRUST,
	OPT_DELEGATION,
	OPT_UNVERIFIED,
};

static const struct tool_option table[] = {
	{"report", 0, "[=OUT]",
	 "the findings: as text on standard output, or to OUT, whose ending .txt or .json says how", OPT_REPORT},
	{"json", 0, NULL, "the findings as JSON on standard output", OPT_JSON},
	{"force", 0, NULL, "replace OUT if it is there", OPT_FORCE},
	{"fail-on", 0, "SEVERITY", "exit with 1 if there is a finding of this severity (info, warning, error) or above",
	 OPT_FAIL_ON},
	{"set", 0, "RULE.KEY=VALUE", "change a threshold of a rule; may be repeated", OPT_SET},
	{"list-rules", 0, NULL, "show the rules, their settings and the reasons for them", OPT_LIST_RULES},
	{"trust", 0, "PUB", "trust this public key file, too; may be repeated", OPT_TRUST},
	{"delegation", 0, "FILE", "believe this delegation by a trusted key; may be repeated", OPT_DELEGATION},
	{"unverified", 0, NULL, "analyse what does not verify all the same; the report says so", OPT_UNVERIFIED},
	{0},
};

static const struct tool_options options = {
	.synopsis = "[OPTION]... FILE...\n",
	.summary = "Find what held up GPU work in a capture, who did it, and what leaks.",
	.table = table,
	.more = "A capture that does not verify is refused. One without an end is analysed up to its last seal.\n"
		"Exit status: 0 fine; 1 a capture was refused or could be read in part only, or --fail-on met; 2 "
		"usage;\n"
		"3 could not do it.\n",
};

enum output_form { FORM_TEXT, FORM_JSON };

struct request {
	const char **trust_files;
	size_t ntrust_files;
	const char **delegation_files; /* in the same memory */
	size_t ndelegation_files;
	bool unverified, force, json, list_rules;
	const char *out; /* NULL: standard output */
	enum output_form out_form;
	bool fails;
	enum severity fail_on;
	struct settings settings;
	struct text text, document; /* of all files */
	struct json writer;         /* into document */
};

static bool ends_with(const char *s, const char *suffix)
{
	size_t n = strlen(s), k = strlen(suffix);

	return n > k && strcmp(s + n - k, suffix) == 0;
}

static int take_report(struct request *q, const char *value)
{
	if (!value)
		return -1;
	q->out = value;
	if (ends_with(value, ".txt"))
		q->out_form = FORM_TEXT;
	else if (ends_with(value, ".json"))
		q->out_form = FORM_JSON;
	else
		return tool_usage("--report=%s: the ending says how to write it, and must be .txt or .json", value);
	return -1;
}

static int take_fail_on(struct request *q, const char *value)
{
	for (enum severity s = SEVERITY_INFO; s < SEVERITIES; s++) {
		if (strcmp(value, severity_name(s)))
			continue;
		q->fails = true;
		q->fail_on = s;
		return -1;
	}
	return tool_usage("--fail-on: '%s' is none of info, warning, error", value);
}

/* One option; -1, or the status to leave with. */
static int take_option(struct request *q, enum option_id id, const char *value)
{
	struct fault why;

	switch (id) {
	case OPT_REPORT:
		return take_report(q, value);
	case OPT_JSON:
		q->json = true;
		return -1;
	case OPT_FORCE:
		q->force = true;
		return -1;
	case OPT_FAIL_ON:
		return take_fail_on(q, value);
	case OPT_SET:
		return settings_set(&q->settings, value, &why) ? tool_usage("%s", why.text) : -1;
	case OPT_LIST_RULES:
		q->list_rules = true;
		return -1;
	case OPT_TRUST:
		q->trust_files[q->ntrust_files++] = value;
		return -1;
	case OPT_DELEGATION:
		q->delegation_files[q->ndelegation_files++] = value;
		return -1;
	case OPT_UNVERIFIED:
		q->unverified = true;
		return -1;
	}
	return -1;
}

static void list_rules(const struct settings *settings)
{
	struct text t = {0};

	for (unsigned i = 0; i < NRULES; i++) {
		text_add(&t, "%s%s (%s): %s\n", i ? "\n" : "", rules[i]->name, severity_name(rules[i]->severity),
			 rules[i]->summary);
		for (unsigned k = 0; k < rules[i]->nsettings; k++) {
			text_add(&t, "  %s.%s = ", rules[i]->name, rules[i]->settings[k].key);
			setting_text(&rules[i]->settings[k], settings->v[i][k], &t);
			text_add(&t, "\n      %s\n", rules[i]->settings[k].help);
		}
	}
	fputs(text_string(&t), stdout);
	text_clear(&t);
}

/* Where events that were read with --unverified end before the capture does. */
struct stop {
	bool early;
	uint64_t last_ns; /* of the last event that could be read; the start if there is none */
	struct fault why;
};

/* All events through the engine. ERR_*; with `unverified` what cannot be read ends the events, and is told in *stop. */
static int run_engine(struct engine *e, const struct reader *reader, bool unverified, struct stop *stop,
		      struct fault *why)
{
	struct cursor *cur = NULL;
	struct event ev;
	int fed = 0, r = cursor_open(&cur, reader, unverified, why);

	stop->last_ns = reader->header.start_boot_ns;

	if (r < 0)
		return r;
	while ((r = cursor_next(cur, &ev, why)) > 0) {
		stop->last_ns = ev.at_ns;
		fed = engine_feed(e, &ev, why);
		if (fed < 0)
			break;
	}
	cursor_close(cur);
	if (fed < 0)
		return fed;
	if (r < 0 && unverified && (r == ERR_FORMAT || r == ERR_FORGED)) {
		stop->why = *why;
		stop->early = true;
		return 0;
	}
	if (r == 0 && reader->tail == TAIL_BROKEN) {
		stop->why = reader->broken;
		stop->early = true;
	}
	return r;
}

/* What was found goes into the text and the JSON of this request. */
static void add_report(struct request *q, const struct report *report)
{
	bool text = q->out ? q->out_form == FORM_TEXT : !q->json;

	if (text) {
		if (q->text.len)
			text_add(&q->text, "\n");
		report_text(report, &q->text);
	}
	if (q->json || (q->out && q->out_form == FORM_JSON))
		report_json(report, &q->writer);
}

static bool is_met(const struct request *q, const struct findings *findings)
{
	for (size_t i = 0; i < findings->n; i++)
		if (q->fails && findings->all[i]->severity >= q->fail_on)
			return true;
	return false;
}

static int analyze(struct request *q, const char *path, const struct evidence *evidence)
{
	const struct context ctx = {
		.schema = &evidence->reader.header.schema,
		.reader = &evidence->reader,
		.unverified = q->unverified && evidence->verification.verdict >= VERDICT_UNCHECKED &&
			      evidence->verification.verdict != VERDICT_UNSEALED,
		.unsealed = evidence->reader.tail != TAIL_END,
	};
	struct engine *engine = NULL;
	struct findings findings = {0};
	struct stop stop = {0};
	struct fault why;
	int status = TOOL_FINE, r = engine_open(&engine, &ctx, &q->settings, &why);

	if (r == 0)
		r = run_engine(engine, &evidence->reader, ctx.unverified, &stop, &why);
	if (r == 0)
		r = engine_finish(engine, &findings, &why);
	if (r == 0) {
		const struct report report = {.evidence = evidence,
					      .engine = engine,
					      .findings = &findings,
					      .settings = &q->settings,
					      .stopped = stop.early ? &stop.why : NULL,
					      .stopped_ns = stop.last_ns};

		add_report(q, &report);
		status = is_met(q, &findings) || stop.early ? TOOL_BAD : TOOL_FINE;
		if (stop.early)
			tool_fault("the events end early", &stop.why);
	} else {
		tool_fault(path, &why);
		status = r == ERR_FORMAT || r == ERR_FORGED ? TOOL_BAD : TOOL_FAILED;
	}
	findings_clear(&findings);
	engine_close(engine);
	return status;
}

static int analyze_file(struct request *q, const char *path)
{
	const struct evidence_options o = {.trust_files = q->trust_files,
					   .ntrust_files = q->ntrust_files,
					   .delegation_files = q->delegation_files,
					   .ndelegation_files = q->ndelegation_files,
					   .unverified = q->unverified};
	struct evidence evidence;
	struct fault why;
	int status;

	if (evidence_judge(&evidence, path, &o, &why)) {
		status = tool_fault(NULL, &why);
	} else if (!evidence_acceptable(&evidence, &o, &why)) {
		tool_fault(path, &why);
		status = evidence.verification.verdict == VERDICT_UNCHECKED ? TOOL_FAILED : TOOL_BAD;
	} else {
		status = analyze(q, path, &evidence);
	}
	evidence_close(&evidence);
	return status;
}

static int write_results(const struct request *q)
{
	const struct text *out = q->out_form == FORM_JSON ? &q->document : &q->text;
	struct fault why;

	if (q->text.failed || q->document.failed) {
		tool_error("out of memory when writing the report");
		return TOOL_FAILED;
	}
	if (q->json)
		fwrite(text_string(&q->document), 1, q->document.len, stdout);
	else if (!q->out)
		fwrite(text_string(&q->text), 1, q->text.len, stdout);
	if (q->out && output_write(q->out, text_string(out), out->len, q->force, &why))
		return tool_fault(NULL, &why);
	return TOOL_FINE;
}

/* -1: go on; else the status to leave with. */
static int read_options(struct request *q, int argc, char **argv, int *operands)
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
	if (q->list_rules) {
		list_rules(&q->settings);
		return TOOL_FINE;
	}
	if (*operands >= argc)
		return tool_usage("which capture? No file was named");
	if (q->out && output_check(q->out, q->force, &why))
		return tool_fault(NULL, &why);
	return -1;
}

static int run(struct request *q, char **paths, int npaths)
{
	int worst = TOOL_FINE, analysed = 0, status;

	q->writer.out = &q->document;
	report_json_begin(&q->writer);
	for (int i = 0; i < npaths; i++) {
		size_t before = q->text.len + q->document.len;

		status = analyze_file(q, paths[i]);
		worst = status > worst ? status : worst;
		analysed += q->text.len + q->document.len > before;
	}
	report_json_end(&q->writer);
	/* With nothing to report there is no report, not an empty one that looks like a clean one. */
	if (analysed == 0)
		return worst;
	status = write_results(q);
	return status > worst ? status : worst;
}

int main(int argc, char **argv)
{
	static struct request q;
	struct fault why;
	int status, operands = 0;

	tool_init("gpuanalyze");
	settings_default(&q.settings);
	q.trust_files = calloc((size_t)argc * 2, sizeof(*q.trust_files));
	if (!q.trust_files) {
		tool_error("out of memory");
		return TOOL_FAILED;
	}
	q.delegation_files = q.trust_files + argc;
	status = read_options(&q, argc, argv, &operands);
	if (status < 0 && confine_offline(&why))
		status = tool_fault(NULL, &why);
	if (status < 0)
		status = run(&q, argv + operands, argc - operands);
	free(q.trust_files);
	text_clear(&q.text);
	text_clear(&q.document);
	return tool_finish(status);
}
