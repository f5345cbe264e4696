// SPDX-License-Identifier: Apache-2.0
/* gpuanalyze: what went wrong in a capture, and whose doing it was. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "analyze/gpuanalyze_internal.h"
#include "format/base/output_file.h"
#include "analyze/report/report_at.h"
#include "analyze/two_runs.h"
#include "keys/tool/reach.h"
#include "keys/tool/confine.h"
#include "keys/tool/tool.h"

/* A folder of ours, for SQLite's temporary files; "" none. */
static char scratch[PATH_MAX];

/* A query that does not end, and cannot be ended: nothing was written yet. */
static void end_stuck(const struct fault *why)
{
	tool_fault(NULL, why);
	reach_scratch_end(scratch);
	_exit(TOOL_FAILED);
}

static bool is_met(const struct request *q, const struct findings *findings)
{
	for (size_t i = 0; i < findings->n; i++)
		if ((int)findings->all[i]->severity >= q->fail_on)
			return true;
	return false;
}

/* The capture, opened and judged. -1: go on; else the status to leave with. evidence_close() in any case. */
static int open_capture(struct request *q, const char *path, struct evidence *evidence)
{
	struct fault why;
	int r;

	q->evidence.progress = tool_progress;
	tool_progress_begin("verifying");
	r = evidence_judge(evidence, path, &q->evidence, &why);
	tool_progress_end();
	if (r < 0)
		return tool_fault(NULL, &why);
	if (!evidence_acceptable(evidence, &q->evidence, &why)) {
		tool_fault(path, &why);
		return evidence->verification.verdict == VERDICT_UNCHECKED ? TOOL_FAILED : TOOL_BAD;
	}
	q->mode &= evidence_mode(evidence);
	return -1;
}

static int refuse_pass(int r, const char *path, const struct fault *why)
{
	tool_fault(r == ERR_INPUT ? NULL : path, why);
	return r == ERR_FORMAT || r == ERR_FORGED ? TOOL_BAD : TOOL_FAILED;
}

/* -1: go on; else the status to leave with. pass_clear() in any case. */
static int run_pass(struct request *q, const char *path, const struct evidence *evidence, struct at *at, struct pass *p)
{
	const struct pass_options o = {.evidence = &q->evidence,
				       .settings = &q->settings,
				       .rules = &q->rules,
				       .at = at,
				       .progress = tool_progress};
	struct fault why;
	int r;

	tool_progress_begin("analysing");
	r = pass_run(p, path, evidence, &o, &why);
	tool_progress_end();
	if (r < 0)
		return refuse_pass(r, path, &why);
	if (p->stopped)
		tool_fault("the events end early", &p->stop);
	return -1;
}

/* `only`: there is no other report beside this one. */
static int analyze_file(struct request *q, const char *path, bool only)
{
	struct evidence evidence;
	struct pass p = {0};
	int status = open_capture(q, path, &evidence);

	if (status < 0)
		status = run_pass(q, path, &evidence, NULL, &p);
	if (status < 0) {
		const struct report report = {.evidence = &evidence,
					      .file = only ? NULL : path,
					      .engine = p.engine,
					      .findings = &p.findings,
					      .settings = &q->settings,
					      .user_rules = &q->rules,
					      .custody = &p.custody,
					      .gauges = &p.gauges,
					      .stopped = p.stopped ? &p.stop : NULL,
					      .stopped_ns = p.last_ns};

		forms_add(&q->forms, &report);
		status = is_met(q, &p.findings) || p.stopped ? TOOL_BAD : TOOL_FINE;
	}
	pass_clear(&p);
	evidence_close(&evidence);
	return status;
}

/* To OUT, or to standard output. */
static int deliver(const struct request *q, char *text, size_t n)
{
	struct fault why;

	if (!q->out && q->json)
		fwrite(text, 1, n, stdout);
	else if (!q->out)
		tool_print(text, n);
	else if (output_write(q->out, text, n, q->force, q->mode, &why))
		return tool_fault(NULL, &why);
	return TOOL_FINE;
}

/* --- --baseline --- */

static bool is_worse(const struct request *q, const struct baseline_result *b)
{
	for (size_t i = 0; i < b->n; i++)
		if (b->all[i].outcome <= OUTCOME_WORSE && (int)b->all[i].b->severity >= q->fail_on)
			return true;
	return false;
}

static int baseline_status(const struct request *q, const struct two_runs_result *r)
{
	const struct baseline_result *b = &r->findings;
	size_t changed = b->n - b->noutcome[OUTCOME_SAME] - b->noutcome[OUTCOME_UNSURE] + r->numbers.nchanges;

	if (is_worse(q, b) || (q->exit_code && changed))
		return TOOL_BAD;
	if (q->exit_code && r->numbers.nreported == 0) {
		tool_error("--exit-code: there is too little data to compare; record each run for longer");
		return TOOL_FAILED;
	}
	return TOOL_FINE;
}

static int write_baseline(struct request *q, const struct run_side *sides)
{
	bool json = q->json || (q->out && q->out_form == FORM_JSON);
	struct two_runs_result result = {0};
	struct text t = {0};
	struct fault why;
	int status = two_runs_write(&sides[0], &sides[1], json, tool_verbose > 0, &t, &result, &why)
			     ? tool_fault(NULL, &why)
			     : deliver(q, t.s, t.len);

	if (status == TOOL_FINE)
		status = baseline_status(q, &result);
	baseline_clear(&result.findings);
	text_clear(&t);
	return status;
}

/* -1: go on; else the status to leave with. */
static int read_side(struct request *q, const char *path, struct run_side *s)
{
	const struct pass_options o = {
		.evidence = &q->evidence, .settings = &q->settings, .rules = &q->rules, .progress = tool_progress};
	struct fault why;
	int r;

	tool_progress_begin("analysing");
	r = run_side_read(s, path, &o, &why);
	tool_progress_end();
	return r ? refuse_pass(r, path, &why) : -1;
}

/* The first run against the second. */
static int compare_captures(struct request *q, const char *a, const char *b)
{
	static struct run_side sides[2];
	const char *const paths[2] = {a, b};
	int status = -1, nopen = 0;

	for (; nopen < 2 && status < 0; nopen++) {
		status = open_capture(q, paths[nopen], &sides[nopen].evidence);
		if (status < 0)
			status = read_side(q, paths[nopen], &sides[nopen]);
	}
	if (status < 0)
		status = write_baseline(q, sides);
	for (int i = 0; i < nopen; i++) {
		run_side_clear(&sides[i]);
		evidence_close(&sides[i].evidence);
	}
	return status;
}

/* --- --at --- */

static int write_moment(struct request *q, const struct at *at, const struct pass *p, const struct evidence *e)
{
	bool json = q->json || (q->out && q->out_form == FORM_JSON);
	struct text t = {0};
	int status = TOOL_FAILED;

	if (json)
		at_json(at, p, e, &t);
	else
		at_text(at, p, e, &t);
	if (t.failed)
		tool_error("out of memory when writing");
	else
		status = deliver(q, t.s, t.len);
	if (status == TOOL_FINE && !at->ncalls && !at->known)
		status = TOOL_BAD;
	text_clear(&t);
	return status;
}

/* What a thread was doing at a moment. */
static int explain_moment(struct request *q, const char *path)
{
	static struct at at;
	struct evidence evidence;
	struct pass p = {0};
	int status = open_capture(q, path, &evidence);

	if (status < 0) {
		at_begin(&at, moment_boot_ns(&q->at, &evidence.reader), (uint32_t)q->tid);
		status = run_pass(q, path, &evidence, &at, &p);
	}
	if (status < 0)
		status = write_moment(q, &at, &p, &evidence);
	pass_clear(&p);
	evidence_close(&evidence);
	return status;
}

static int write_results(struct request *q)
{
	struct text *out = &q->forms.out[q->json ? FORM_JSON : FORM_TEXT];
	struct fault why;

	if (!forms_end(&q->forms)) {
		tool_error("out of memory when writing the report");
		return TOOL_FAILED;
	}
	if (q->json)
		fwrite(out->s, 1, out->len, stdout);
	else if (!q->out)
		tool_print(out->s, out->len);
	out = &q->forms.out[q->out_form];
	if (q->out && output_write(q->out, text_string(out), out->len, q->force, q->mode, &why))
		return tool_fault(NULL, &why);
	return TOOL_FINE;
}

static int run(struct request *q, char **paths, int npaths)
{
	int worst = TOOL_FINE, status;

	q->forms.wanted[FORM_JSON] = q->json;
	q->forms.wanted[q->out ? q->out_form : FORM_TEXT] |= q->out || !q->json;
	forms_begin(&q->forms);
	for (int i = 0; i < npaths; i++) {
		status = analyze_file(q, paths[i], npaths == 1);
		worst = status > worst ? status : worst;
	}
	/* With nothing to report there is no report, not an empty one that looks like a clean one. */
	if (q->forms.nreports == 0)
		return worst;
	status = write_results(q);
	return status > worst ? status : worst;
}

/* From here on only what was named is opened, and what lies beside it. */
static int confine(const struct request *q, char **files, int nfiles, struct fault *why)
{
	struct landlock l;
	int r = reach_begin(&l, false, why);

	if (r == 0)
		r = reach_trusted(&l, q->evidence.trust_files, q->evidence.ntrust_files, why);
	if (r == 0)
		r = reach_files(&l, q->evidence.delegation_files, q->evidence.ndelegation_files, why);
	for (int i = 0; i < nfiles && r == 0; i++)
		r = reach_capture(&l, files[i], why);
	if (r == 0 && q->baseline)
		r = reach_capture(&l, q->baseline, why);
	if (r == 0 && q->out)
		r = reach_output(&l, q->out, why);
	if (r == 0 && q->rules.n)
		r = reach_scratch(&l, scratch, why);
	if (r == 0)
		r = confine_offline(&l, -1, why);
	landlock_close(&l);
	return r;
}

int main(int argc, char **argv)
{
	static struct request q;
	struct fault why;
	int status, operands = 0;

	tool_init("gpuanalyze");
	settings_default(&q.settings);
	q.mode = 0666;
	q.rules.stuck = end_stuck;
	q.fail_on = FAIL_NEVER;
	status = request_read(&q, argc, argv, &operands);
	if (status < 0 && confine(&q, argv + operands, argc - operands, &why))
		status = tool_fault(NULL, &why);
	if (status < 0)
		status = q.baseline   ? compare_captures(&q, q.baseline, argv[operands])
			 : q.at.given ? explain_moment(&q, argv[operands])
				      : run(&q, argv + operands, argc - operands);
	tool_list_clear(&q.trust);
	tool_list_clear(&q.delegations);
	reach_scratch_end(scratch);
	user_rules_clear(&q.rules);
	forms_clear(&q.forms);
	return tool_finish(status);
}
