/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings of two runs compared: what is new, gone, worse or better in the second. Numbers are judged as gpureplay
 * --diff judges them (replay/diff/diff_stats.h): what may be chance is said to be so.
 */
#ifndef GPUREC_ANALYZE_BASELINE_H
#define GPUREC_ANALYZE_BASELINE_H

#include "analyze/engine.h"
#include "analyze/finding.h"
#include "format/base/json.h"
#include "replay/diff/diff_stats.h"

/*
 * What makes it the same trouble of the same program in two captures: no address, number or time is in it. Lines: rule,
 * class, process, function, and the innermost function of its stack.
 */
void finding_identity(const struct finding *f, const struct names *names, const struct schema *schema, struct text *t);

/* In the order in which they are listed. */
enum outcome {
	OUTCOME_NEW,   /* only in the second run */
	OUTCOME_WORSE, /* in both; more often, or it costs more */
	OUTCOME_GONE,  /* only in the first run */
	OUTCOME_BETTER,
	OUTCOME_UNSURE, /* there is a difference, but it may be chance */
	OUTCOME_SAME,
	OUTCOMES
};

const char *outcome_name(enum outcome o); /* "new", "worse", "gone", "better", "unsure", "same" */

/* What a number of one run is. */
enum measure { MEASURE_COUNT /* a second */, MEASURE_COST /* ns a second */, MEASURE_SHARE, MEASURE_GROWTH };

struct compared {
	const struct finding *a, *b; /* the worst of its kind in each run; one may be NULL */
	uint64_t count_a, count_b;   /* occurrences, of all of its kind */
	enum measure measure;        /* by what it was judged */
	struct diff_change change;
	enum outcome outcome;
	double cost; /* by how much they differ: ns or bytes in a second */
};

/* The finding that it is about: the second run's, else the first's. */
static inline const struct finding *compared_finding(const struct compared *c)
{
	return c->b ? c->b : c->a;
}

/* One run. */
struct run_findings {
	const struct findings *findings;
	const struct names *names;
	const struct schema *schema;
	uint64_t judged_ns; /* engine_judged_ns() */
};

struct baseline_result {
	struct compared *all; /* new, worse, ...; in each, errors first, then by cost */
	size_t n, noutcome[OUTCOMES];
};

/* Findings about the captures themselves (rule "evidence", class "limit") are left out. Both runs must outlive it. */
int baseline_compare(struct baseline_result *out, const struct run_findings *a, const struct run_findings *b,
		     struct fault *why);
void baseline_clear(struct baseline_result *b);

/* Lines for people; an array of JSON. all: what did not change, too. */
void baseline_text(const struct baseline_result *b, bool all, struct text *t);
void baseline_json(const struct baseline_result *b, const struct run_findings *first, const struct run_findings *second,
		   const char *key, struct json *j);

#endif
