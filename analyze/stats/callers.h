/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who makes GPU calls: the threads, while they live, with their cadence, and the time in which each process makes any.
 * Kept once, for all rules. Only outermost calls count.
 */
#ifndef GPUREC_ANALYZE_STATS_CALLERS_H
#define GPUREC_ANALYZE_STATS_CALLERS_H

#include "analyze/stats/hist.h"
#include "format/base/table.h"
#include "format/cursor.h"

#define CALLERS_MAX 1048576   /* threads; what others call is not judged by rules that distinguish threads */
#define CALLERS_GAPS_MAX 8192 /* of them, those whose cadence is known (10 KiB each) */

/* What shares of a process' time are taken of, and what it did in it. */
struct life {
	struct table_key key;      /* a: process instance */
	uint64_t begin_ns, end_ns; /* from its first call's begin to its last one's end; end_ns 0: none yet */
	uint64_t functions;        /* which it called: a set of their probes, hashed to bits */
	uint64_t nlaunches;
	uint64_t first_launch_ns, last_launch_ns; /* begins */
	uint64_t launch_tid;                      /* who made the latest */
};

struct caller {
	struct table_key key;      /* a: tid, b: process instance */
	uint64_t begin_ns, end_ns; /* as in a life */
	uint64_t ncalls, nlaunches;
	struct baseline *gaps; /* between a call's end and the next one's begin; NULL: not known. Owned */
	struct life *life;
	struct ledger_thread *ledger; /* where its time goes; NULL: not known. The engine's */
};

/* A zeroed one is empty. */
struct callers {
	struct table threads, lives;
	struct table latest; /* by tid: struct caller_by_tid */
	size_t ngaps;
	uint64_t nbeyond; /* calls of threads beyond CALLERS_MAX */
};

struct caller_by_tid {
	struct table_key key; /* a: tid */
	struct caller *caller;
};

/* As callers_meet(), for one that is not the latest of its number. */
__attribute__((cold)) int callers_look_up(struct callers *c, uint64_t tid, uint64_t process, struct caller **out,
					  struct fault *why);

/* Who has this number, by its calls; NULL: who has it now made none. */
static inline struct caller *callers_latest(const struct callers *c, uint64_t tid)
{
	const struct caller_by_tid *latest = table_find(&c->latest, tid, 0);

	return latest ? latest->caller : NULL;
}

/* The caller, known or new; *out NULL: beyond CALLERS_MAX. ERR_MEMORY. */
static inline int callers_meet(struct callers *c, uint64_t tid, uint64_t process, struct caller **out,
			       struct fault *why)
{
	*out = callers_latest(c, tid);
	return *out && (*out)->key.b == process ? 0 : callers_look_up(c, tid, process, out, why);
}

/* A call is over that callers_meet() was asked about: from now on it counts. */
void caller_called(struct caller *caller, const struct event *ev);

/* The number is free for another thread, or is another's by now, also where nothing reported that its thread ended. */
void callers_leave(struct callers *c, uint64_t tid);

/* The thread ended: *caller is gone; its process' life stays. */
void callers_forget(struct callers *c, struct caller *caller);

/* What a process did; NULL: it made no calls. */
const struct life *callers_life(const struct callers *c, uint64_t process);

/* For how long a process made calls; 0 if it made none. */
uint64_t callers_life_ns(const struct callers *c, uint64_t process);

void callers_clear(struct callers *c);

#endif
