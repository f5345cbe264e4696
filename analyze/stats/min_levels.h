/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How low something stood over a run of unknown length, in fixed memory: the lowest level in each of up to LEVELS
 * slices of equal width; when they do not reach, two and two become one.
 */
#ifndef GPUREC_ANALYZE_STATS_MIN_LEVELS_H
#define GPUREC_ANALYZE_STATS_MIN_LEVELS_H

#include <stdint.h>

#define LEVELS 64
#define LEVELS_FIRST_NS 1000000 /* width of a slice at the start */

struct levels {
	uint64_t low[LEVELS];
	uint64_t begin_ns;
	uint64_t width_ns; /* 0: empty */
	unsigned n;        /* slices begun */
	uint64_t level;    /* now */
};

/* The level is `level` from `at_ns` on, which is never before the change before. A zeroed one stood at 0. */
void levels_change(struct levels *l, uint64_t at_ns, uint64_t level);

/* Lowest level between two moments, `from` and `to` percent of the way from the first change to `end_ns`. */
uint64_t levels_lowest(struct levels *l, uint64_t end_ns, unsigned from, unsigned to);

#endif
