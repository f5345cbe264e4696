/* SPDX-License-Identifier: Apache-2.0 */
/* Memory or objects held (replay/model/allocations.h) by the place in the program that made them. */
#ifndef GPUREC_ANALYZE_STATS_ALLOC_SITES_H
#define GPUREC_ANALYZE_STATS_ALLOC_SITES_H

#include "analyze/stats/min_levels.h"
#include "replay/model/allocations.h"

#define ALLOCATIONS_MAX 4194304 /* outstanding at once; others are counted, not followed */
#define SITES_MAX 65536

/* Where memory is allocated: a stack, or without one the probed function. */
struct site {
	struct table_key key; /* a: process instance; b: stack, or probe with SITE_NO_STACK; and the object */
	uint64_t process, stack, probe;
	uint64_t memory;       /* MEM_* or enum object of the latest */
	uint64_t tid;          /* of the latest */
	uint64_t bytes, count; /* outstanding */
	uint64_t peak_bytes;
	uint64_t allocated_bytes, allocated_count;
	uint64_t freed_bytes, freed_count;   /* also with their context */
	uint64_t unseen_bytes, unseen_count; /* freed without a row: the address was handed out again */
	uint64_t first_ns, last_ns;          /* allocation */
	uint64_t refused_ns, nrefused; /* calls that failed since the latest that did not: the first, and how many */
	struct levels levels;          /* of outstanding bytes */
	uint64_t births[4];            /* of those outstanding, by quarter of its life: sites_count_births() */
	struct site *next;             /* of this process */
};

#define SITE_NO_STACK (1ULL << 63)
#define SITE_OBJECT_SHIFT 60 /* of objects their type: one place may make several */
#define SITE_STACK_MASK ((1ULL << SITE_OBJECT_SHIFT) - 1)

struct sites {
	struct allocations allocations;
	struct table all;       /* struct site */
	struct table processes; /* a: process instance: its sites */
	uint64_t nbeyond;       /* allocations of sites beyond SITES_MAX */
};

/* It must stay where it is until sites_clear(). */
void sites_init(struct sites *s, const struct schema *schema, bool objects);
void sites_clear(struct sites *s);

#define SITE_REFUSED_LEAST 4 /* failures one after the other from which on it gets no more */

static inline bool site_is_refused(const struct site *s)
{
	return s->nrefused >= SITE_REFUSED_LEAST;
}

/* Until when a site is judged at end_ns. */
static inline uint64_t site_end_ns(const struct site *s, uint64_t end_ns)
{
	return site_is_refused(s) ? s->refused_ns : end_ns;
}

/* From its first allocation until then. */
static inline uint64_t site_life_ns(const struct site *s, uint64_t end_ns)
{
	uint64_t until_ns = site_end_ns(s, end_ns);

	return until_ns > s->first_ns ? until_ns - s->first_ns : 0;
}

/* The sites of a process, linked by `next`, in order of their first allocation; NULL: none. */
struct site *sites_of(const struct sites *s, uint64_t process);

/* Count how many of a process' outstanding allocations were made in each quarter from a site's first to end_ns. */
void sites_count_births(struct sites *s, uint64_t process, uint64_t end_ns);

/*
 * Whether what is outstanding at a site rises from quarter to quarter of its life, and at least `percent` of it was
 * made in each. A site that gets no more lives until then: a leak levels off where nothing is left. After
 * sites_count_births().
 */
bool site_grows(struct site *s, uint64_t end_ns, uint64_t percent);

/* Drop the sites of a process that has ended and holds nothing any more. */
void sites_forget(struct sites *s, uint64_t process);

#endif
