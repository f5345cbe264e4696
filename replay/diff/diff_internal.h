/* SPDX-License-Identifier: Apache-2.0 */
/* Between diff.c, which sums a run up, and diff_write.c, which compares two. */
#ifndef GPUREC_REPLAY_DIFF_DIFF_INTERNAL_H
#define GPUREC_REPLAY_DIFF_DIFF_INTERNAL_H

#include "replay/diff/diff.h"
#include "replay/diff/diff_stats.h"
#include "replay/model/allocations.h"

/* Durations by size: 32 steps in each doubling, so that a quantile is asked to within 3 %. */
#define STEPS 32
#define NBUCKETS ((size_t)60 * STEPS)

#define DIFF_TAIL_CALLS_MIN 100 /* calls of an epoch that its p99 needs */

/* What a thread was waiting for inside a call. */
enum diff_cause {
	DIFF_CPU,   /* able to run */
	DIFF_FUTEX, /* asleep: in a futex call, */
	DIFF_DISK,  /* for a block device, */
	DIFF_FAULT, /* in a page fault, */
	DIFF_OTHER, /* in something else, or stopped */
	DIFF_NCAUSES
};

/* Where the time of outer calls went; what is in no cause was spent on a CPU, or is not known. */
struct diff_split {
	uint64_t in_calls_ns, ns[DIFF_NCAUSES];
};

/* Calls of one epoch. */
struct block {
	uint64_t number; /* of the epoch */
	uint64_t ncalls;
	uint64_t median_ns;
	uint64_t p99_ns; /* 0: too few calls */
	struct diff_split split;
};

struct split_block {
	uint64_t number;
	struct diff_split split;
};

/*
 * Calls of one row that took long, and overlap or follow each other closely: they are likely to have one cause, and are
 * counted as one.
 */
struct incident {
	uint64_t start_ns, end_ns; /* boot clock */
	uint64_t max_ns;           /* the longest of them */
};

#define INCIDENT_NS 1000000      /* what is shorter is none */
#define INCIDENT_GAP_NS 20000000 /* closer ones are one */

/* Memory of all kinds in one epoch. */
struct memory_block {
	uint64_t number;
	uint64_t low_bytes, peak_bytes;
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
	struct diff_split split, now_split; /* of the run; of the open epoch */
	struct incident *incidents;         /* of outer calls */
	size_t nincidents, incidents_room;
};

/* Of all processes with one name. */
struct diff_process {
	char *name;
	/* Memory by kind, and of all kinds in the last place; what was never freed is held for ever. */
	uint64_t held_bytes[MEMORY_KINDS + 1], peak_bytes[MEMORY_KINDS + 1];
	struct diff_split split, now; /* of the run; of the open epoch */
	struct split_block *blocks;
	size_t nblocks, blocks_room;
	uint64_t low_bytes, high_bytes; /* of the open epoch */
	struct memory_block *memory;    /* every epoch from its first on */
	size_t nmemory, memory_room;
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

/* --- two runs compared: diff_compare.c. --- */

/* What is compared of a function. */
enum call_metric {
	CALL_RATE,
	CALL_MEDIAN,
	CALL_TAIL, /* p99 */
	CALL_SLOW, /* incidents: calls longer than the pair's slow_ns */
	CALL_CAUSES,
	CALL_METRICS = CALL_CAUSES + DIFF_NCAUSES /* its share of the time in calls */
};

/* And of all processes with one name. */
enum process_metric {
	PROCESS_HELD,   /* the most in an epoch */
	PROCESS_GROWTH, /* of the least in an epoch, a second */
	PROCESS_UNFREED,
	PROCESS_SLOW, /* incidents of all its functions */
	PROCESS_CAUSES,
	PROCESS_METRICS = PROCESS_CAUSES + DIFF_NCAUSES
};

/* A function of processes with one name, in both runs. Either may be NULL. */
struct pair {
	const struct diff_row *a, *b;
	const char *process, *function;
	uint64_t slow_ns;
	struct diff_change change[CALL_METRICS];
};

/* Processes with one name. Never NULL: zeroed where the run has none. */
struct process_pair {
	const char *name;
	const struct diff_process *a, *b;
	uint64_t nslow_a, nslow_b; /* incidents */
	struct diff_change change[PROCESS_METRICS];
};

/* One of the changes that are more than noise. */
struct diff_finding {
	const struct pair *pair; /* NULL: of a process */
	const struct process_pair *process;
	unsigned metric;
	double cost; /* ns in each second, bytes of memory: of what is compared, so that the largest comes first */
	bool memory, unsure;
};

struct comparison {
	const struct diff_side *a, *b;
	struct pair *pairs; /* most time first */
	size_t npairs;
	struct process_pair *processes;
	size_t nprocesses;
	size_t n[CERTAINTIES]; /* comparisons */
	/* n[CERTAINTY_MORE] of them, memory first, then the most costly; then n[CERTAINTY_UNSURE]. */
	struct diff_finding *findings;
	double *va, *vb, *scratch;
};

/* Both runs must outlive it. ERR_MEMORY. *c: comparison_clear(). */
int comparison_make(struct comparison *c, const struct diff_side *a, const struct diff_side *b, struct fault *why);
void comparison_clear(struct comparison *c);

/* How much of its time in calls, in a second, goes there. */
double diff_per_second(const struct diff_side *s, uint64_t n);

/* Calls that took longer, and their time, to within a step of the buckets. */
uint64_t diff_slow_calls(const struct diff_row *row, uint64_t slow_ns, uint64_t *total_ns);

/* How what is compared is called, its key in JSON, and what it is counted in. */
enum quantity { QUANTITY_RATE, QUANTITY_DURATION, QUANTITY_INCIDENTS, QUANTITY_SHARE, QUANTITY_BYTES, QUANTITY_GROWTH };
struct diff_metric {
	const char *words, *key;
	enum quantity unit;
};
extern const struct diff_metric diff_call_metrics[CALL_METRICS], diff_process_metrics[PROCESS_METRICS];

/* The JSON object. */
void diff_write_json(struct json *j, const char *key, const struct comparison *c);

/* Take a call's duration in. */
void diff_count(struct diff_row *row, uint64_t dur_ns);

/* The duration that `share` (0 to 1) of the calls did not exceed, to within a step; the longest for 1; 0 of no row. */
uint64_t diff_quantile(const struct diff_row *row, double share);

#endif
