/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who holds how much device and pinned memory: what was allocated with success and not yet given back with success, by
 * (process instance, address) and by allocation site. An allocation within an allocation of the same thread (a runtime
 * call that calls the driver's) counts once, as the outer one; so does a free within a free.
 */
#ifndef GPUREC_ANALYZE_MEMORY_H
#define GPUREC_ANALYZE_MEMORY_H

#include "analyze/levels.h"
#include "analyze/rule.h"

#define MEMORY_LIVE_MAX 4194304 /* allocations outstanding at once; others are counted, not followed */
#define MEMORY_SITES_MAX 65536
#define MEMORY_NESTED_MAX 16 /* nested rows of a thread that wait for the call around them */

struct live;

/* Where memory is allocated: a stack, or without one the probed function. */
struct site {
	struct table_key key; /* a: process instance; b: stack, or probe with SITE_NO_STACK */
	uint64_t process, stack, probe;
	uint64_t memory;       /* MEM_* of the latest */
	uint64_t tid;          /* of the latest */
	uint64_t bytes, count; /* outstanding */
	uint64_t peak_bytes;
	uint64_t allocated_bytes, allocated_count;
	uint64_t freed_bytes, freed_count;
	uint64_t unseen_bytes, unseen_count; /* given back without a row: the address was handed out again */
	uint64_t first_ns, last_ns;          /* allocation */
	struct levels levels;                /* of outstanding bytes */
	struct live *oldest, *newest;        /* outstanding, in order of birth */
	struct site *next;                   /* of this process */
};

#define SITE_NO_STACK (1ULL << 63)

/* A zeroed one is empty. */
struct memory {
	struct table lives;     /* a: process instance, b: address */
	struct table sites;     /* struct site */
	struct table processes; /* a: process instance: its sites */
	struct table nested;    /* a: tid: rows that wait for the call around them */
	size_t nwaiting;        /* such rows */
	uint64_t nunfollowed;   /* beyond the limits, or without an address */
	uint64_t nunmatched;    /* frees of what was not seen to be allocated */
};

/* Whether a call matters to memory_feed(): most do not. */
static inline bool memory_concerns(const struct memory *m, const struct event *ev)
{
	return ev->kind == KIND_alloc || ev->kind == KIND_free || (m->nwaiting && !event_is_nested(ev));
}

/* Take in a call. */
int memory_feed(struct memory *m, uint64_t process, const struct event *ev, struct fault *why);

/* What still waits for the call around it will not see it any more: the end of the capture, or of the thread. */
int memory_settle(struct memory *m, struct fault *why);

/* The sites of a process, linked by `next`, in order of their first allocation; NULL: none. */
struct site *memory_sites(const struct memory *m, uint64_t process);

/* How many of the outstanding allocations were made in each quarter of [first_ns, end_ns]. */
void site_births(const struct site *s, uint64_t end_ns, uint64_t quarters[4]);

/* Drop all that a process has: it ended. */
void memory_forget(struct memory *m, uint64_t process);

void memory_clear(struct memory *m);

#endif
