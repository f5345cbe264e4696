/* SPDX-License-Identifier: Apache-2.0 */
/* Between diff.c, which sums a run up, and diff_write.c, which compares two. */
#ifndef GPUREC_REPLAY_DIFF_INSIDE_H
#define GPUREC_REPLAY_DIFF_INSIDE_H

#include "replay/diff.h"
#include "replay/memory.h"

/* Durations by size: 32 steps in each doubling, so that a quantile is told to within 3 %. */
#define STEPS 32
#define NBUCKETS ((size_t)60 * STEPS)

#define DIFF_TAIL_CALLS_MIN 100 /* calls of an epoch that its p99 needs */

/* What a thread was waiting for inside a call. */
enum diff_cause {
	CAUSE_CPU,   /* able to run */
	CAUSE_FUTEX, /* asleep: in a futex call, */
	CAUSE_DISK,  /* for a block device, */
	CAUSE_FAULT, /* in a page fault, */
	CAUSE_OTHER, /* in something else */
	DIFF_NCAUSES
};

/* Where the time of outer calls went; what is in no cause was spent on a CPU, or is not known. */
struct split {
	uint64_t in_calls_ns, ns[DIFF_NCAUSES];
};

/* Calls of one epoch. */
struct block {
	uint64_t number; /* of the epoch */
	uint64_t ncalls;
	uint64_t median_ns;
	uint64_t p99_ns; /* 0: too few calls */
};

struct split_block {
	uint64_t number;
	struct split split;
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
	struct split split;
};

/* Of all processes with one name. */
struct diff_process {
	char *name;
	/* Memory by kind, and of all kinds in the last place; what was never given back is held for ever. */
	uint64_t held_bytes[MEMORY_KINDS + 1], peak_bytes[MEMORY_KINDS + 1];
	struct split split, now; /* of the run; of the open epoch */
	struct split_block *blocks;
	size_t nblocks, blocks_room;
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

/* --- threads off their CPUs, and what for: diff_offs.c. --- */

struct thread_offs;

/* A zeroed one knows of nothing. */
struct offs {
	struct thread_offs **threads; /* by number */
	size_t nthreads;
};

void offs_clear(struct offs *o);

/* Take in a switch, waking or futex call; other events pass. ERR_MEMORY. */
int offs_see(struct offs *o, const struct walk *w, const struct event *ev, struct fault *why);

/*
 * Split a call by what its thread waited for meanwhile, into *out. It is the thread's last outer call: stretches before
 * its end are forgotten.
 */
void offs_split(struct offs *o, uint32_t thread, uint64_t start_ns, uint64_t end_ns, struct split *out);

/* `array` with room for one more than `n` elements; NULL without memory, and `array` stays. */
void *diff_with_room(void *array, size_t *room, size_t n, size_t size);

/* --- two runs compared: diff_compare.c. --- */

enum certainty { CERTAINTY_SHORT, CERTAINTY_NOISE, CERTAINTY_MORE };

#define NOT_TESTED 2 /* in place of a probability */

/* A function of processes with one name, in both runs. Either may be NULL. */
struct pair {
	const struct diff_row *a, *b;
	const char *process, *function;
	double p_rate, p_median, p_tail;
};

/* Processes with one name. Never NULL: zeroed where the run has none. */
struct process_pair {
	const char *name;
	const struct diff_process *a, *b;
	double p_cause[DIFF_NCAUSES]; /* of its share of the time in calls */
};

struct comparison {
	const struct diff_side *a, *b;
	struct pair *pairs; /* most time first */
	size_t npairs;
	struct process_pair *processes;
	size_t nprocesses;
	size_t ntests;
};

/* Both runs must outlive it. ERR_MEMORY. *c: comparison_clear(). */
int comparison_make(struct comparison *c, const struct diff_side *a, const struct diff_side *b, struct fault *why);
void comparison_clear(struct comparison *c);

enum certainty certainty_of(const struct comparison *c, double p);

/* Take a call's duration in. */
void diff_count(struct diff_row *row, uint64_t dur_ns);

/* The duration that `share` (0 to 1) of the calls did not exceed, to within a step; the longest for 1. */
uint64_t diff_quantile(const struct diff_row *row, double share);

#endif
