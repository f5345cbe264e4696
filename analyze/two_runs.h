/* SPDX-License-Identifier: Apache-2.0 */
/* Two captures compared: by their findings (analyze/baseline.h) and their numbers (replay/diff/diff.h). */
#ifndef GPUREC_ANALYZE_TWO_RUNS_H
#define GPUREC_ANALYZE_TWO_RUNS_H

#include "analyze/baseline.h"
#include "analyze/pass.h"
#include "replay/diff/diff.h"

/* One of them. A zeroed one is empty; not to be moved once it is not. */
struct run_side {
	struct evidence evidence; /* the caller opens it, and closes it after run_side_clear() */
	struct pass pass;
	struct diff_side *diff;
	struct run_findings findings;
};

/* Sums it up. As pass_run(); but events that end early are an error, too: what is missing would look like a change. */
int run_side_read(struct run_side *s, const char *path, const struct pass_options *o, struct fault *why);
void run_side_clear(struct run_side *s);

struct two_runs_result {
	struct baseline_result findings; /* baseline_clear() */
	struct diff_result numbers;
};

/* Lines for people, the largest changes first (verbose: all), or a JSON object. ERR_MEMORY. */
int two_runs_write(const struct run_side *a, const struct run_side *b, bool json, bool verbose, struct text *t,
		   struct two_runs_result *result, struct fault *why);

#endif
