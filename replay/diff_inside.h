/* SPDX-License-Identifier: Apache-2.0 */
/* Between diff.c, which sums a run up, and diff_write.c, which compares two. */
#ifndef GPUREC_REPLAY_DIFF_INSIDE_H
#define GPUREC_REPLAY_DIFF_INSIDE_H

#include "replay/diff.h"

/* Durations by size: 32 steps in each doubling, so that a quantile is told to within 3 %. */
#define STEPS 32
#define NBUCKETS (60 * STEPS)

/* Calls of one epoch. */
struct block {
	uint64_t number; /* of the epoch */
	uint64_t ncalls;
	uint64_t median_ns;
};

/* Calls of processes with one name to functions with one name. */
struct diff_row {
	char *process, *function; /* process: escaped for a terminal */
	uint64_t ncalls, nfailed, total_ns, max_ns;
	uint64_t buckets[NBUCKETS];
	uint64_t *now; /* durations in the open epoch */
	size_t nnow, now_room;
	struct block *blocks; /* epochs with calls */
	size_t nblocks, blocks_room;
};

/* Of all processes with one name. */
struct diff_process {
	char *name;
	uint64_t held_bytes, peak_bytes; /* of GPU and pinned memory */
	uint64_t in_calls_ns;            /* outer calls; of that: */
	uint64_t runnable_ns, futex_ns, asleep_ns;
};

struct diff_side {
	const char *verdict;
	char capture[33];
	uint64_t nevents, nlost, duration_ns;
	uint64_t *epoch_ns; /* how long each took */
	size_t nepochs, epochs_room;
	struct diff_row **rows;
	size_t nrows;
	struct diff_process *processes;
	size_t nprocesses;
	struct gather *gather; /* only while collecting */
};

/* Take a call's duration in. */
void diff_count(struct diff_row *row, uint64_t dur_ns);

/* The duration that `share` (0 to 1) of the calls did not exceed, to within a step; the longest for 1. */
uint64_t diff_quantile(const struct diff_row *row, double share);

#endif
