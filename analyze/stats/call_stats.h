/* SPDX-License-Identifier: Apache-2.0 */
/* How often each function was called and how long it took. */
#ifndef GPUREC_ANALYZE_STATS_CALL_STATS_H
#define GPUREC_ANALYZE_STATS_CALL_STATS_H

#include "analyze/stats/hist.h"
#include "analyze/rule.h"

struct call_stats {
	struct table_key key; /* a: probe, b: 1 for calls nested in another recorded call */
	uint16_t kind;
	uint64_t n;
	uint64_t nfailed; /* returned something other than 0 */
	uint64_t total_ns, min_ns, max_ns;
	unsigned __int128 squares; /* of ns, for the standard deviation */
	struct hist hist;
};

/* A zeroed one is empty. */
struct calls {
	struct table table;
	uint64_t total_ns; /* of all that are not nested */
};

int calls_feed(struct calls *c, const struct event *ev, struct fault *why);

/* All of them, most time first, into an array that the caller frees; NULL: no memory or none. */
const struct call_stats **calls_sorted(const struct calls *c);

uint64_t call_stats_average(const struct call_stats *s);
uint64_t call_stats_median(const struct call_stats *s); /* off by at most 1/64, see hist.h */
uint64_t call_stats_deviation(const struct call_stats *s);

void calls_clear(struct calls *c);

#endif
