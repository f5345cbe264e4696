// SPDX-License-Identifier: Apache-2.0
/* gpuanalyze: what went wrong in a capture, and whose doing it was. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/about_rules.h"
#include "analyze/forms.h"
#include "analyze/gauges.h"
#include "analyze/handover.h"
#include "analyze/output.h"
#include "keys/confine.h"
#include "keys/tool.h"

enum option_id {
	OPT_REPORT = 1,
	OPT_JSON,
	OPT_FORCE,
	OPT_FAIL_ON,
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
	 "the findings: as text on standard output, or to OUT, whose ending .txt, .json, .sarif or .html says how",
	 OPT_REPORT},
	{"json", 0, NULL, "the findings as JSON on standard output", OPT_JSON},
	{"force", 0, NULL, "replace OUT if it is there", OPT_FORCE},
	{"fail-on", 0, "SEVERITY", "exit with 1 if there is a finding of this severity (info, warning, error) or above",
	 OPT_FAIL_ON},
	{"set", 0, "RULE.KEY=VALUE", "change a threshold of a rule; may be repeated", OPT_SET},
	{"settings", 0, "FILE", "the same for each line of FILE; may be repeated", OPT_SETTINGS},
	{"rules", 0, "DIR", "apply your own rules, too: the files DIR/*.sql; may be repeated", OPT_RULES},
	{"list-rules", 0, NULL, "show the rules, their settings and the reasons for them", OPT_LIST_RULES},
	{"explain", 0, "RULE", "show what a rule means, when it is wrong, and what to do", OPT_EXPLAIN},
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

struct request {
	const char **trust_files;
	size_t ntrust_files;
	const char **delegation_files; /* in the same memory */
	size_t ndelegation_files;
	bool unverified, force, json, list_rules;
	const char *explain; /* NULL: none */
	const char *out;     /* NULL: standard output */
	enum form out_form;
	bool fails;
	enum severity fail_on;
	struct settings settings;
	struct user_rules rules;
	struct forms forms; /* of all files */
};

static int take_report(struct request *q, const char *value)
{
	if (!value)
		return -1;
	q->out = value;
	q->out_form = form_of(value);
	if (q->out_form == FORMS)
		return tool_usage("--report=%s: the ending says how to write it, and must be %s", value,
				  forms_endings());
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
	case OPT_TRUST:
		q->trust_files[q->ntrust_files++] = value;
		return -1;
	case OPT_DELEGATION:
		q->delegation_files[q->ndelegation_files++] = value;
		return -1;
	case OPT_UNVERIFIED:
		q->unverified = true;
		return -1;
	default:
		return take_rule_option(q, id, value);
	}
}

/* --list-rules, --explain: what needs no capture. */
static int tell_rules(const struct request *q)
{
	struct text t = {0};
	int status = TOOL_FINE;

	if (q->explain && !about_rule(q->explain, &q->settings, &q->rules, &t))
		status = tool_usage("--explain: there is no rule %s; --list-rules shows them", q->explain);
	else if (!q->explain)
		about_all_rules(&q->settings, &q->rules, &t);
	fputs(text_string(&t), stdout);
	text_clear(&t);
	return status;
}

/* What is made of one capture. */
struct work {
	struct engine *engine;
	struct findings findings;
	struct gauges gauges;
	struct handover custody;
	/* Where events that were read with --unverified end before the capture does. */
	bool stopped;
	uint64_t last_ns; /* of the last event that could be read; the start if there is none */
	struct fault stop;
};

/* All events through the engine. ERR_*; with `unverified` what cannot be read ends the events, and is told in w->stop.
 */
static int run_engine(struct work *w, const struct reader *reader, bool unverified, struct fault *why)
{
	struct cursor *cur = NULL;
	struct event ev;
	int fed = 0, r = cursor_open(&cur, reader, unverified, why);

	w->last_ns = w->gauges.begin_ns = reader->header.start_boot_ns;
	w->gauges.end_ns = reader->nepochs ? reader->epochs[reader->nepochs - 1].end_ns : w->last_ns;
	if (r < 0)
		return r;
	while (fed == 0 && (r = cursor_next(cur, &ev, why)) > 0) {
		w->last_ns = ev.at_ns;
		fed = engine_feed(w->engine, &ev, why);
		if (fed == 0 && ev.kind == KIND_health)
			fed = gauges_feed(&w->gauges, &ev, why);
	}
	cursor_close(cur);
	if (fed < 0)
		return fed;
	if (r < 0 && unverified && (r == ERR_FORMAT || r == ERR_FORGED)) {
		w->stop = *why;
		w->stopped = true;
		return 0;
	}
	if (r == 0 && reader->tail == TAIL_BROKEN) {
		w->stop = reader->broken;
		w->stopped = true;
	}
	return r;
}

/*
 * How the SQLite module of a capture begins (replay/module.h): the one thing of replay/ that is used here, by its name
 * alone, as any program does that loads a module of SQLite.
 */
int sqlite3_gpucap_init(struct sqlite3 *db, char **message, const struct sqlite3_api_routines *api);

static int run_rules_over(struct request *q, const char *path, bool unverified, struct findings *out, struct fault *why)
{
	const struct user_rules_view view = {.path = path,
					     .trust_files = q->trust_files,
					     .ntrust_files = q->ntrust_files,
					     .delegation_files = q->delegation_files,
					     .ndelegation_files = q->ndelegation_files,
					     .unverified = unverified};
	struct text sql = {0};
	int r;

	user_rules_prepare(&view, &sql);
	r = sql.failed ? fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "out of memory when running rules")
		       : user_rules_run(&q->rules, sqlite3_gpucap_init, text_string(&sql), out, why);
	text_clear(&sql);
	return r;
}

/* The user's rules, after the built-in ones: their findings stand among the others. */
static int run_user_rules(struct request *q, struct work *w, const char *path, struct fault *why)
{
	const struct context *ctx = engine_context(w->engine);
	int r;

	if (q->rules.n == 0)
		return 0;
	r = run_rules_over(q, path, ctx->unverified, &w->findings, why);
	if (r == 0 && !findings_complete(&w->findings, engine_judged_ns(w->engine)))
		r = fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "out of memory while telling what was found");
	findings_sort(&w->findings);
	return r;
}

static int analyze(struct request *q, const char *path, const struct evidence *evidence,
		   const struct evidence_options *o, struct work *w, struct fault *why)
{
	const struct context ctx = {
		.schema = &evidence->reader.header.schema,
		.reader = &evidence->reader,
		.unverified = q->unverified && evidence->verification.verdict >= VERDICT_UNCHECKED &&
			      evidence->verification.verdict != VERDICT_UNSEALED,
		.unsealed = evidence->reader.tail != TAIL_END,
	};
	int r = engine_open(&w->engine, &ctx, &q->settings, why);

	if (r == 0)
		r = run_engine(w, &evidence->reader, ctx.unverified, why);
	if (r == 0)
		r = engine_finish(w->engine, &w->findings, why);
	if (r == 0)
		r = run_user_rules(q, w, path, why);
	if (r == 0 && !findings_relate(&w->findings))
		r = fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "out of memory while telling what was found");
	if (r == 0)
		r = handover_read(&w->custody, path, evidence, o, why);
	return r;
}

static bool is_met(const struct request *q, const struct findings *findings)
{
	for (size_t i = 0; i < findings->n; i++)
		if (q->fails && findings->all[i]->severity >= q->fail_on)
			return true;
	return false;
}

static int report_on(struct request *q, const char *path, const struct evidence *evidence,
		     const struct evidence_options *o)
{
	struct work w = {0};
	struct fault why;
	int status, r = analyze(q, path, evidence, o, &w, &why);

	if (r == 0) {
		const struct report report = {.evidence = evidence,
					      .engine = w.engine,
					      .findings = &w.findings,
					      .settings = &q->settings,
					      .user_rules = &q->rules,
					      .custody = &w.custody,
					      .gauges = &w.gauges,
					      .stopped = w.stopped ? &w.stop : NULL,
					      .stopped_ns = w.last_ns};

		forms_add(&q->forms, &report);
		status = is_met(q, &w.findings) || w.stopped ? TOOL_BAD : TOOL_FINE;
		if (w.stopped)
			tool_fault("the events end early", &w.stop);
	} else {
		tool_fault(r == ERR_INPUT ? NULL : path, &why);
		status = r == ERR_FORMAT || r == ERR_FORGED ? TOOL_BAD : TOOL_FAILED;
	}
	findings_clear(&w.findings);
	gauges_clear(&w.gauges);
	handover_clear(&w.custody);
	engine_close(w.engine);
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
		status = report_on(q, path, &evidence, &o);
	}
	evidence_close(&evidence);
	return status;
}

static int write_results(struct request *q)
{
	const struct text *out = &q->forms.out[q->json ? FORM_JSON : FORM_TEXT];
	struct fault why;

	if (!forms_end(&q->forms)) {
		tool_error("out of memory when writing the report");
		return TOOL_FAILED;
	}
	if (q->json || !q->out)
		fwrite(text_string(out), 1, out->len, stdout);
	out = &q->forms.out[q->out_form];
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
	if (q->list_rules || q->explain)
		return tell_rules(q);
	if (*operands >= argc)
		return tool_usage("which capture? No file was named");
	if (q->out && output_check(q->out, q->force, &why))
		return tool_fault(NULL, &why);
	return -1;
}

static int run(struct request *q, char **paths, int npaths)
{
	int worst = TOOL_FINE, status;

	q->forms.wanted[FORM_JSON] = q->json;
	q->forms.wanted[q->out ? q->out_form : FORM_TEXT] |= q->out || !q->json;
	forms_begin(&q->forms);
	for (int i = 0; i < npaths; i++) {
		status = analyze_file(q, paths[i]);
		worst = status > worst ? status : worst;
	}
	/* With nothing to report there is no report, not an empty one that looks like a clean one. */
	if (q->forms.nreports == 0)
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
	user_rules_clear(&q.rules);
	forms_clear(&q.forms);
	return tool_finish(status);
}
