/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who makes GPU calls: the threads, while they live, with their cadence, and the time in which each process makes any.
 * Kept once, for all rules. Only outermost calls count.
 */
#ifndef GPUREC_ANALYZE_CALLERS_H
#define GPUREC_ANALYZE_CALLERS_H

#include "analyze/hist.h"
#include "analyze/table.h"
#include "format/cursor.h"

#define CALLERS_MAX 1048576   /* threads; what others call is not judged by rules that tell threads apart */
#define CALLERS_GAPS_MAX 8192 /* of them, those whose cadence is known (10 KiB each) */

/* What shares of a process' time are taken of. */
struct life {
	struct table_key key;      /* a: process instance */
	uint64_t begin_ns, end_ns; /* from its first call's begin to its last one's end; end_ns 0: none yet */
};

struct caller {
	struct table_key key;      /* a: tid, b: process instance */
	uint64_t begin_ns, end_ns; /* as in a life */
	uint64_t nlaunches;
	struct baseline *gaps; /* between a call's end and the next one's begin; NULL: not known. Owned */
	struct life *life;
};

/* A zeroed one is empty. */
struct callers {
	struct table threads, lives;
	size_t ngaps;
};

/* As callers_meet(), for a new one. */
int callers_add(struct callers *c, uint64_t tid, uint64_t process, struct caller **out, struct fault *why);

/* The caller, known or new; *out NULL: beyond CALLERS_MAX. ERR_MEMORY. */
static inline int callers_meet(struct callers *c, uint64_t tid, uint64_t process, struct caller **out,
			       struct fault *why)
{
	*out = table_find(&c->threads, tid, process);
	return *out ? 0 : callers_add(c, tid, process, out, why);
}

/* A call is over that callers_meet() was asked about: from now on it counts. */
void caller_called(struct caller *caller, const struct event *ev);

/* The thread ended: *caller is gone; its process' life stays. */
void callers_forget(struct callers *c, struct caller *caller);

/* For how long a process made calls; 0 if it made none. */
uint64_t callers_life_ns(const struct callers *c, uint64_t process);

void callers_clear(struct callers *c);

#endif
