/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many threads slept in one futex at once: a lock for which a queue forms is a convoy. Waits are reported when they
 * end, so of each futex the latest ones are kept, to be laid over those that end later.
 */
#ifndef GPUREC_ANALYZE_STATS_LOCK_CONVOY_H
#define GPUREC_ANALYZE_STATS_LOCK_CONVOY_H

#include "format/base/table.h"
#include "format/cursor.h"

#define CONVOY_FUTEXES_MAX 4096 /* followed */
#define CONVOY_WAITS 64         /* kept of each: so many sleepers at once can be reported */

struct convoy {
	struct table_key key; /* a: process instance, b: address */
	struct {
		uint64_t begin_ns, end_ns;
	} waits[CONVOY_WAITS];
	unsigned nwaits, next;
	unsigned most; /* threads asleep in it at once */
};

/* Count a wait in. ERR_MEMORY. */
int convoys_add(struct table *convoys, uint64_t process, uint64_t futex, uint64_t begin_ns, uint64_t end_ns,
		struct fault *why);

/* NULL: none of its waits was long enough, or it is beyond what is followed. */
const struct convoy *convoys_find(const struct table *convoys, uint64_t process, uint64_t futex);

#endif
