/* SPDX-License-Identifier: Apache-2.0 */
/* What the GPUs' own sensors reported over the run, in fixed memory for each GPU: for the pictures of a report. */
#ifndef GPUREC_ANALYZE_FACTS_GPU_GAUGES_H
#define GPUREC_ANALYZE_FACTS_GPU_GAUGES_H

#include "analyze/rule.h"

#define GAUGES_GPUS_MAX 64
#define GAUGES_SLICES 96 /* of the run; the highest and lowest of each are kept */

/* Columns of the picture, in the order in which they are drawn. */
enum gpu_gauge { GAUGE_BUSY = 0, GAUGE_CLOCK, GAUGE_POWER, GAUGE_TEMPERATURE, GAUGE_MEMORY, GAUGES };

struct gauge_slice {
	bool reported;
	uint64_t low, high;
};

struct gauge_gpu {
	uint64_t gpu; /* index, as rows of `health` report it */
	uint64_t nrows;
	struct gauge_slice slices[GAUGES][GAUGES_SLICES];
	uint64_t low[GAUGES], high[GAUGES]; /* of all */
	bool reported[GAUGES];
	bool throttled[GAUGES_SLICES]; /* some reason to slow down was reported */
};

/* A zeroed one is empty. */
struct gauges {
	uint64_t begin_ns, end_ns; /* of the run */
	struct gauge_gpu *gpus;    /* owned */
	unsigned ngpus;
};

/* Take in a row of kind health; others change nothing. ERR_MEMORY. */
int gauges_feed(struct gauges *g, const struct event *ev, struct fault *why);
void gauges_clear(struct gauges *g);

#endif
