/* SPDX-License-Identifier: Apache-2.0 */
/* What recorded threads were in when the capture began and when recording ended: rows of kinds state and in_flight. */
#ifndef GPUREC_ANALYZE_FACTS_MOMENTS_H
#define GPUREC_ANALYZE_FACTS_MOMENTS_H

#include "analyze/people.h"

#define MOMENTS_MAX 65536 /* threads that are kept */

struct moment {
	bool known;
	uint8_t state;    /* THREAD_* */
	uint64_t syscall; /* number + 1; 0: none */
};

/* A thread. */
struct thread_moments {
	struct table_key key; /* a: tid */
	uint32_t pid;
	struct moment begin, end;
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

/* "slept in futex when the capture began and when recording ended". */
void moments_add(struct text *t, const struct thread_moments *thread, enum machine machine);
/* It was known at both moments, and could not run at either. */
bool moments_waits(const struct thread_moments *thread);

#endif
