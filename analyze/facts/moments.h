/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What recorded threads were in when the capture began and when recording ended: rows of kinds state, in_flight and
 * thread_stack; and which functions were probed, by which a stack shows a call.
 */
#ifndef GPUREC_ANALYZE_FACTS_MOMENTS_H
#define GPUREC_ANALYZE_FACTS_MOMENTS_H

#include "analyze/people.h"

#define MOMENTS_MAX 65536 /* threads that are kept */

struct moment {
	bool known;
	uint8_t state;    /* THREAD_* */
	uint64_t syscall; /* number + 1; 0: none */
	uint64_t stack;   /* its user stack; 0: not known */
};

/* A thread. */
struct thread_moments {
	struct table_key key; /* a: tid */
	uint32_t pid;
	struct moment begin, end;
	/* When recording ended: it was in a call that is in the capture; which one, the outermost, */
	bool calls;
	uint16_t probe;
	uint64_t call_ns;     /* and how long that had taken; */
	uint64_t futex_ns;    /* how long it had waited in a futex; 0: it did not */
	uint32_t futex_flags; /* FLIGHT_* of that wait */
};

/* A process of which threads were alive then. */
struct process_moments {
	struct table_key key; /* a: pid */
	bool begin, end;
	uint64_t any_tid; /* of one of these threads */
};

/* A zeroed one is empty. */
struct moments {
	struct table threads;   /* struct thread_moments */
	struct table processes; /* struct process_moments */
	struct table probed;    /* before stacks were read; keys alone; a: module, b: probe */
	uint64_t stacks_ns;     /* when the first stack was read; 0: none yet */
	struct open_call {
		uint64_t tid, pid, probe, dur_ns;
	} longest; /* of the calls in flight at the end, no waits for a lock; dur_ns 0: none */
};

/* 0 or ERR_MEMORY. */
int moments_feed(struct moments *m, const struct schema *schema, const struct event *ev);
void moments_clear(struct moments *m);

/* How many processes there were at MOMENT_BEGIN or MOMENT_END, and the lowest `max` of their numbers in order. */
size_t moments_processes(const struct moments *m, unsigned moment, uint64_t *pids, size_t max);
/* The thread that speaks for process `pid`: its main one, unless that had ended before. NULL: none is known. */
const struct thread_moments *moments_main(const struct moments *m, uint64_t pid);

/*
 * The outermost call into a probed function that a stack shows: its probe, or 0 where it shows none. *caller, unless
 * `caller` is NULL: the frame that made it, or NULL where that is not known.
 */
uint16_t moments_call(const struct moments *m, const struct schema *schema, const struct names *names, uint64_t stack,
		      const struct frame **caller);

/*
 * "slept in futex inside cudaStreamSynchronize when the capture began and when recording ended". begin_call, end_call:
 * as moments_call() has them, "" for none.
 */
void moments_add(struct text *t, const struct thread_moments *thread, const char *begin_call, const char *end_call,
		 enum machine machine);
/* It was known at both moments, and could not run at either. */
bool moments_waits(const struct thread_moments *thread);

#endif
