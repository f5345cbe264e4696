/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that play one part in some trouble, by how much time that cost. */
#ifndef GPUREC_ANALYZE_STATS_TOP_THREADS_H
#define GPUREC_ANALYZE_STATS_TOP_THREADS_H

#include "analyze/finding.h"

#define NAMED_MAX 8 /* threads named of each part */

/* A zeroed one is empty. */
struct roster {
	struct who who[NAMED_MAX];
	uint64_t ns[NAMED_MAX], count[NAMED_MAX];
	unsigned n;
	bool more; /* others are not named */
};

/* One more time, of `ns`. The idle task is nobody. */
void roster_add(struct roster *r, const struct who *who, uint64_t ns);
/* So many times, of `ns` together. */
void roster_add_times(struct roster *r, const struct who *who, uint64_t ns, uint64_t count);
/* The same for a thread of this cause; nothing if it is not known. */
void roster_add_tid(struct roster *r, const struct explained *e, uint32_t tid, uint64_t ns);

/* The same for a thread by its number, as it is called now. */
void roster_add_thread(struct roster *r, const struct names *names, uint64_t tid, uint64_t ns);

/* Count all of `from` in. */
void roster_join(struct roster *r, const struct roster *from);

/* Who matters most; NULL if nobody is known. */
const struct who *roster_first(const struct roster *r);
/* Its number if it is the only one, else 0. */
uint64_t roster_only(const struct roster *r);

/* Write them down as parties of a finding. */
void roster_give(const struct roster *r, enum part_played part, struct finding *f);

#endif
