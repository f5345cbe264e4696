/* SPDX-License-Identifier: Apache-2.0 */
/* Address ranges of one process, none overlapping another: which of them holds an address. */
#ifndef GPUREC_ANALYZE_STATS_INTERVALS_H
#define GPUREC_ANALYZE_STATS_INTERVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RANGES_MAX 65536

struct range {
	uint64_t begin, end;
};

/* A zeroed one is empty. */
struct ranges {
	struct range *all; /* by address; owned */
	size_t n, room;
	bool overflowed; /* more than RANGES_MAX once: what is not found may be there all the same */
};

/* Add one; those that it overlaps are gone (they were freed unseen). False: no memory. */
bool ranges_add(struct ranges *r, uint64_t begin, uint64_t bytes);
/* Drop the one that begins there. */
void ranges_remove(struct ranges *r, uint64_t begin);
bool ranges_hold(const struct ranges *r, uint64_t address);
void ranges_clear(struct ranges *r);

#endif
