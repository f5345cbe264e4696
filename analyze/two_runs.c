/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/two_runs.h"

int run_side_read(struct run_side *s, const char *path, const struct pass_options *o, struct fault *why)
{
	static const struct filter everything = {.to_ns = NO_TIME};
	const struct replay replay = {.evidence = &s->evidence,
				      .filter = &everything,
				      .unverified = o->evidence->unverified,
				      .progress = o->progress};
	int r = pass_run(&s->pass, path, &s->evidence, o, why);

	if (r < 0)
		return r;
	if (s->pass.stopped) {
		*why = s->pass.stop;
		return ERR_FORMAT;
	}
	s->findings = (struct run_findings){.findings = &s->pass.findings,
					    .names = engine_context(s->pass.engine)->names,
					    .schema = &s->evidence.reader.header.schema,
					    .judged_ns = engine_judged_ns(s->pass.engine)};
	r = diff_collect(&s->diff, &replay, why);
	return r == WALK_STOPPED ? ERR_FORMAT : r;
}

void run_side_clear(struct run_side *s)
{
	diff_free(s->diff);
	pass_clear(&s->pass);
	s->diff = NULL;
}

static int write_text(const struct run_side *a, const struct run_side *b, bool verbose, struct text *t,
		      struct two_runs_result *result, struct fault *why)
{
	int r = diff_text(a->diff, b->diff, verbose ? DIFF_CHANGES : DIFF_LARGEST, t, &result->numbers, why);

	if (r == 0)
		baseline_text(&result->findings, verbose, t);
	return r;
}

static int write_json(const struct run_side *a, const struct run_side *b, struct text *t,
		      struct two_runs_result *result, struct fault *why)
{
	struct json j = {.out = t};
	int r;

	json_open(&j, NULL, '{');
	json_string(&j, "format", "gpurec-baseline");
	json_u64(&j, "version", 1);
	r = diff_json(a->diff, b->diff, "diff", &j, &result->numbers, why);
	if (r == 0)
		baseline_json(&result->findings, &a->findings, &b->findings, "findings", &j);
	json_close(&j, '}');
	return r;
}

int two_runs_write(const struct run_side *a, const struct run_side *b, bool json, bool verbose, struct text *t,
		   struct two_runs_result *result, struct fault *why)
{
	int r = baseline_compare(&result->findings, &a->findings, &b->findings, why);

	if (r == 0)
		r = json ? write_json(a, b, t, result, why) : write_text(a, b, verbose, t, result, why);
	if (r == 0 && t->failed)
		r = fault_no_memory(why);
	return r;
}
