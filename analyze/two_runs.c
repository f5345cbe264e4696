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

static void write_findings(const struct run_side *a, const struct run_side *b, bool json, bool verbose, struct text *t,
			   const struct baseline_result *result)
{
	struct json j = {.out = t};

	if (json)
		baseline_json(result, &a->findings, &b->findings, &j);
	else
		baseline_text(result, verbose, t);
}

int two_runs_write(const struct run_side *a, const struct run_side *b, bool json, bool verbose, struct out *o,
		   struct two_runs_result *result, struct fault *why)
{
	struct text findings = {0};
	int r = baseline_compare(&result->findings, &a->findings, &b->findings, why);

	if (json)
		out_string(o, "{\"format\":\"gpurec-baseline\",\"version\":1,\"diff\":");
	if (r == 0)
		r = diff_write(a->diff, b->diff, json, verbose ? DIFF_CHANGES : DIFF_LARGEST, o, &result->numbers, why);
	if (r == 0) {
		write_findings(a, b, json, verbose, &findings, &result->findings);
		if (json)
			out_string(o, ",\"findings\":");
		for (size_t i = 0; i < findings.len; i += OUT_ROOM)
			out_bytes(o, findings.s + i, findings.len - i < OUT_ROOM ? findings.len - i : OUT_ROOM);
		if (json)
			out_string(o, "}\n");
		if (findings.failed)
			r = fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "out of memory when comparing findings");
	}
	text_clear(&findings);
	return r;
}
