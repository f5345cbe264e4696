/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is who: processes and threads as a capture tells of them, in the order of its events. Ids come round, so what is
 * kept are instances: (id, start). Where a row is missing (lost, withheld, not yet come) an instance is implied by the
 * first event that names the id; a row that comes later completes it.
 */
#ifndef GPUREC_REPLAY_PEOPLE_H
#define GPUREC_REPLAY_PEOPLE_H

#include "format/cursor.h"
#include "replay/map.h"

#define NO_TIME UINT64_MAX

struct process {
	uint32_t pid;
	bool told; /* by a row; else only implied by events, and what follows is unknown */
	bool tracked;
	uint32_t ppid, uid;
	uint64_t start_ns; /* boot clock, as are all; NO_TIME */
	uint64_t first_ns; /* first event that names it */
	uint64_t end_ns;   /* its last thread's exit; NO_TIME */
	uint32_t status;   /* wait(2) status, if it ended */
	char *name;        /* escaped for a terminal; the latest; NULL: unknown */
	char *path;        /* of its executable, likewise */
};

struct thread {
	uint32_t tid;
	uint32_t process; /* number of its process, 0: unknown */
	bool told;
	bool calls; /* it made a recorded call */
	uint64_t start_ns, first_ns, end_ns;
	uint32_t status;
	char *name; /* escaped for a terminal; NULL: unknown */
	char *json; /* the same inside a JSON string */
};

struct people {
	struct process *processes; /* numbered from 1: processes[0] is unused */
	uint32_t nprocesses, processes_room;
	struct thread *threads; /* likewise */
	uint32_t nthreads, threads_room;
	struct map by_pid, by_tid; /* the current instance */
};

/* A zeroed struct people knows nobody. */
void people_clear(struct people *p);

/* Take in what the next event says about who is who. ERR_MEMORY. */
int people_see(struct people *p, const struct event *ev, struct fault *why);

/* The number of the current instance, 0 if the id was never named. Valid until the next people_see(). */
uint32_t people_process(const struct people *p, uint32_t pid);
uint32_t people_thread(const struct people *p, uint32_t tid);

/* The thread's instance, or NULL. */
static inline const struct thread *people_find_thread(const struct people *p, uint32_t tid)
{
	uint32_t number = people_thread(p, tid);

	return number ? &p->threads[number] : NULL;
}

/* Whether the scheduler's view of a thread is whole: it is one of those recorded, not a bystander. number > 0. */
static inline bool people_is_recorded(const struct people *p, uint32_t number)
{
	const struct thread *t = &p->threads[number];

	return t->calls || (t->process && p->processes[t->process].tracked);
}

#endif
