/* SPDX-License-Identifier: Apache-2.0 */
/* What a capture's seals say about it as a whole, without reading events. Only what is authentic counts. */
#ifndef GPUREC_REPLAY_VERIFY_SUMMARY_H
#define GPUREC_REPLAY_VERIFY_SUMMARY_H

#include "keys/evidence.h"

/* Withheld chunks of one class: all of it, or those that follow each other without one that is there between them. */
struct withheld_run {
	uint64_t rows, chunks;
	uint64_t first_epoch, last_epoch;
	uint64_t first_ns, last_ns; /* boot clock: of the earliest and the latest row */
};

/* Count a chunk of this epoch in. */
void withheld_add(struct withheld_run *run, uint64_t epoch, const struct chunk *c);

struct withheld_class {
	const char *name;
	uint8_t id;
	struct withheld_run all;
};

struct summary {
	uint64_t nepochs;
	bool ended; /* END stands, and all before it is authentic */
	uint64_t duration_ns;
	const struct counter *counters; /* the last authentic ones; point into the reader */
	uint32_t ncounters;
	const uint8_t *seal; /* HASH_BYTES of END or the last authentic seal; NULL if there is none */
	struct withheld_class withheld[CLASSES_MAX];
	size_t nwithheld;
};

/* A step of the wall clock: how much more (negative: less) it moved than the boot clock between two readings. */
#define CLOCK_STEP_NS 100000000 /* from here on it was set; less is a clock that is kept in time */
struct clock_steps {
	uint64_t first_wall_ns, last_wall_ns; /* of what is authentic: when recording began, the last reading */
	uint64_t n;
	int64_t greatest_ns; /* by its size */
};

/* All readings of the header, the authentic seals and END. e->readable. */
void clock_steps_find(struct clock_steps *c, const struct evidence *e);

/* e->readable. The summary points into *e. */
void summary_make(struct summary *s, const struct evidence *e);

#endif
