/* SPDX-License-Identifier: Apache-2.0 */
/* What a rule counts together: like things in its state, found by a pair of numbers, up to a limit. */
#ifndef GPUREC_ANALYZE_RULES_GROUPS_H
#define GPUREC_ANALYZE_RULES_GROUPS_H

#include "format/base/table.h"

#define GROUPS_OF_RULE_MAX 3 /* kinds of groups */

/* Constants of the groups at one place in a state. */
struct groups_of {
	size_t at;    /* offset of the struct groups in the state */
	size_t size;  /* of a group, which begins with a struct table_key; 0: ends a list of fewer kinds */
	size_t max;   /* groups */
	size_t tally; /* offset of the group's struct tally; 0: it has none */
};

/* The engine prepares and clears them. */
struct groups {
	struct table table;
	const struct groups_of *of;
	uint64_t nskipped; /* what was not counted because it would have made one more than the limit */
	int error;         /* ERR_MEMORY: there was no memory for one; else 0 */
};

/* NULL: not found. */
static inline void *groups_find(const struct groups *g, uint64_t a, uint64_t b)
{
	return table_find(&g->table, a, b);
}

/* As groups_get(), for one that is not there. */
void *groups_add(struct groups *g, uint64_t a, uint64_t b);

/* The group, which is zeroed if it is new. NULL: beyond the limit, and counted in nskipped; or no memory: see error. */
static inline void *groups_get(struct groups *g, uint64_t a, uint64_t b)
{
	void *known = table_find(&g->table, a, b);

	return known ? known : groups_add(g, a, b);
}

/* Number i, from 0 to g->table.nitems - 1. */
static inline void *groups_at(const struct groups *g, size_t i)
{
	return g->table.items[i];
}

/* Remove all of process a, which own nothing. */
void groups_forget(struct groups *g, uint64_t a);

/* In a zeroed state; and when it is no longer used. */
void groups_prepare(const struct groups_of *all, void *state);
void groups_clear(const struct groups_of *all, void *state);

#endif
