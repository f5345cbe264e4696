/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What fired, what was recorded, what was lost, by probe. The kernel's part is a mapped array, one copy for each of up
 * to SHARDS_MAX CPUs; ours is added here.
 */
#ifndef GPUREC_RECORD_PROBE_COUNTERS_H
#define GPUREC_RECORD_PROBE_COUNTERS_H

#include "format/reader.h"
#include "keys/completeness.h"
#include "record/probe/probes.h"

struct counters {
	const struct tally *tallies; /* mapped from the kernel; NULL: none */
	uint32_t nslots, nshards;
	size_t mapped_bytes;
	struct tally own[PROBES_LIMIT]; /* recorded, not_staged */
	struct counter *rows;           /* room for one table, see counters_collect() */
	size_t nrows;
	bool ended; /* they are the last ones */
};

/* Shards for this machine: a power of two, the CPU numbers' mask plus one. */
uint32_t counters_shards(void);
/* Ids are below this. */
uint32_t counters_slots(void);

int counters_open(struct counters *c, int map_fd, struct fault *why);
void counters_close(struct counters *c);

/* One more, found out here. */
void counters_add(struct counters *c, uint32_t probe, enum counter_index what);
/* So many more that fired, and were lost for this reason: found out here, or runs that the kernel skipped. */
void counters_add_lost(struct counters *c, uint32_t probe, enum counter_index why, uint64_t n);

/*
 * The table for a seal: ascending, without zeros, valid until the next call. Losses are read before firings, so that
 * fired is never less than recorded and lost together. `at_end`: what fired and is neither recorded nor lost was in
 * flight. From then on the table is always the same: the last seal and the END report one truth, whatever a probe that
 * was kept waiting, or lost its CPU, counts after it.
 */
size_t counters_collect(struct counters *c, bool at_end, const struct counter **rows);

/* Sums over all probes, of the table as collected last. */
struct counter_sums {
	uint64_t fired, recorded;
	uint64_t absent[ABSENCES];       /* by enum absence: why they have no row */
	uint64_t sampled_out, over_rate; /* of those left out on purpose */
};
void counters_sum(const struct counter *rows, size_t n, struct counter_sums *sums);

const char *counter_name(uint8_t id);
bool counter_is_loss(uint8_t id);

#endif
