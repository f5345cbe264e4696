/* SPDX-License-Identifier: Apache-2.0 */
/* OTLP JSON in the making: what export_otlp.c walks, and what its parts share. */
#ifndef GPUREC_REPLAY_EXPORT_OTLP_H
#define GPUREC_REPLAY_EXPORT_OTLP_H

#include "replay/export/export.h"
#include "replay/model/allocations.h"

#define NBOUNDS 7

struct batch { /* spans of a process that wait for their line */
	struct out spans;
	uint64_t voluntary, involuntary; /* context switches */
	uint64_t reported[MEMORY_KINDS]; /* bytes held, as last reported */
};

struct calls { /* of a function in a process */
	uint32_t process;
	uint64_t probe, n, nfailed, sum_ns, buckets[NBOUNDS + 1];
};

struct otlp_gpu {
	char name[128], uuid[128]; /* escaped for a terminal */
};

struct otlp {
	struct out *out;
	const struct schema *schema;
	struct allocations allocations;
	struct batch *batches; /* by number of the process; 0: of an unknown one */
	size_t nbatches;
	struct calls *calls; /* numbered from 1 */
	uint32_t ncalls;
	size_t calls_room;
	struct map by_call; /* (process, probe) */
	struct map by_gpu;  /* index -> place in gpus + 1 */
	struct otlp_gpu *gpus;
	uint32_t ngpus;
	char id[2 * CAPTURE_ID_BYTES + 1];
	char sentence[SENTENCE_MAX];
};

#define OTLP_RECORDER UINT32_MAX /* in place of a process: the recorder itself, and the host */
#define OTLP_CUMULATIVE ",\"aggregationTemporality\":2,\"isMonotonic\":true"
#define OTLP_UP_AND_DOWN ",\"aggregationTemporality\":2,\"isMonotonic\":false"

/* --- otlp_write.c: pieces of a line --- */

/* {"key":"k","value":{"stringValue":"v"}} with a comma before all but the first. */
void otlp_string(struct out *o, bool first, const char *key, const char *value);
void otlp_number(struct out *o, bool first, const char *key, int64_t value);

/* `key` and the wall-clock time in quotes. */
void otlp_nanoseconds(struct out *o, const struct walk *w, const char *key, uint64_t boot_ns);

/* "resource":{...}: a process (0: one that is not known) or OTLP_RECORDER. "scope":{...} */
void otlp_resource(struct otlp *t, const struct walk *w, uint32_t number);
void otlp_scope(struct otlp *t);

/* A metrics line up to its first data point; otlp_end_metric() finishes it. `form`: "sum", "gauge" or "histogram". */
void otlp_begin_metric(struct otlp *t, const struct walk *w, uint32_t process, const char *name, const char *unit,
		       const char *form);
/* `more`: what is beside the data points, with a comma before it. */
void otlp_end_metric(struct otlp *t, const char *more);

/* {"startTimeUnixNano":..,"timeUnixNano":..,"attributes":[{..}] with one attribute, if `key` is not NULL. */
void otlp_begin_point(struct otlp *t, const struct walk *w, uint64_t at_ns, const char *key, const char *value);
void otlp_end_point(struct otlp *t, uint64_t value);

/* --- otlp_metrics.c: sums over processes and calls --- */

struct batch *otlp_batch_of(struct otlp *t, uint32_t number, struct fault *why);
int otlp_count_call(struct otlp *t, const struct event *ev, uint32_t process, struct fault *why);
int otlp_count_switch(struct otlp *t, const struct walk *w, const struct event *ev, struct fault *why);
void otlp_write_memory(struct otlp *t, const struct walk *w, uint64_t at_ns);
void otlp_write_calls(struct otlp *t, const struct walk *w, const struct calls *c, uint64_t end_ns);

/* --- otlp_host.c: GPUs, CPUs, and what happens to the host --- */

/* Figures as metrics, notes (export_note()) as log records; other events pass. ERR_MEMORY. */
int otlp_see_host(struct otlp *t, const struct walk *w, const struct event *ev, struct fault *why);

#endif
