/* SPDX-License-Identifier: Apache-2.0 */
/* Findings compared, for people and for programs: docs/REPORTS.md. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/baseline.h"

static void add_number(struct text *t, enum measure m, double v)
{
	switch (m) {
	case MEASURE_COUNT:
		text_add(t, "%.3g/min", 60 * v);
		return;
	case MEASURE_COST:
		text_add_ns(t, (uint64_t)v);
		text_add(t, "/s");
		return;
	case MEASURE_SHARE:
		text_add(t, "%.1f %%", 100 * v);
		return;
	case MEASURE_GROWTH:
		text_add_size(t, (uint64_t)v);
		text_add(t, "/s");
		return;
	}
}

/* "new      error    alloc-leak: leak_site leaks ...". */
static void add_compared(struct text *t, const struct compared *c)
{
	const struct finding *f = compared_finding(c);

	text_add(t, "  %-7s  %-8s %s: %s.\n", outcome_name(c->outcome), severity_name(f->severity), f->rule,
		 text_string(&f->headline));
	text_add(t, "                    ");
	add_number(t, c->measure, c->change.a);
	text_add(t, " -> ");
	add_number(t, c->measure, c->change.b);
	if (c->change.bound > 0) {
		text_add(t, "; noise is ±");
		add_number(t, c->measure, c->change.bound);
	}
	if (c->measure == MEASURE_COUNT && c->count_a + c->count_b > 0)
		text_add(t, " (%" PRIu64 " -> %" PRIu64 " times)", c->count_a, c->count_b);
	text_add(t, "\n");
}

void baseline_text(const struct baseline_result *b, bool all, struct text *t)
{
	text_add(t,
		 "\nFindings, B against A: %zu new, %zu worse, %zu gone, %zu better, %zu that may be chance, %zu "
		 "unchanged\n",
		 b->noutcome[OUTCOME_NEW], b->noutcome[OUTCOME_WORSE], b->noutcome[OUTCOME_GONE],
		 b->noutcome[OUTCOME_BETTER], b->noutcome[OUTCOME_UNSURE], b->noutcome[OUTCOME_SAME]);
	for (size_t i = 0; i < b->n; i++)
		if (all || b->all[i].outcome != OUTCOME_SAME)
			add_compared(t, &b->all[i]);
}

static void add_value(struct json *j, const char *key, double value)
{
	char digits[48];

	snprintf(digits, sizeof(digits), "%.9g", value);
	json_number(j, key, digits);
}

static void add_run(struct json *j, const char *key, const struct run_findings *run, const struct finding *f,
		    uint64_t count)
{
	const struct process *p = f && f->process ? names_instance(run->names, f->process) : NULL;

	if (!f) {
		json_null(j, key);
		return;
	}
	json_open(j, key, '{');
	json_string(j, "severity", severity_name(f->severity));
	json_text(j, "headline", text_string(&f->headline), f->headline.len);
	if (p)
		json_text(j, "process", p->name.s, p->name.len);
	if (f->probe)
		json_string(j, "function", call_name(run->schema, f->probe));
	json_u64(j, "count", count);
	json_close(j, '}');
}

void baseline_json(const struct baseline_result *b, const struct run_findings *first, const struct run_findings *second,
		   const char *key, struct json *j)
{
	static const char *const measures[] = {"count_per_s", "cost_ns_per_s", "share", "bytes_per_s"};

	json_open(j, key, '[');
	for (size_t i = 0; i < b->n; i++) {
		const struct compared *c = &b->all[i];
		const struct finding *f = compared_finding(c);

		json_open(j, NULL, '{');
		json_string(j, "outcome", outcome_name(c->outcome));
		json_string(j, "rule", f->rule);
		json_string(j, "class", f->class);
		add_run(j, "a", first, c->a, c->count_a);
		add_run(j, "b", second, c->b, c->count_b);
		json_string(j, "measure", measures[c->measure]);
		add_value(j, "value_a", c->change.a);
		add_value(j, "value_b", c->change.b);
		add_value(j, "bound", c->change.bound);
		json_close(j, '}');
	}
	json_close(j, ']');
}
