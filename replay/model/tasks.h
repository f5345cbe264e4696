/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes and threads, as the events of a capture name them in their order. PIDs and TIDs are reused, so what is kept
 * are instances. Where a row is missing (lost, withheld, not yet there) an instance is implied by the first event that
 * names the id; a row that comes later completes it.
 *
 * When rows about one id are about one instance: a start is read from the kernel in nanoseconds, or from /proc in ticks
 * of 10 ms. Starts less than a tick apart are the same, unless the instance had ended when the other began. Where one
 * of the starts is unknown, the instance is another one only if the earlier one is known to have ended before.
 */
#ifndef GPUREC_REPLAY_MODEL_TASKS_H
#define GPUREC_REPLAY_MODEL_TASKS_H

#include "format/base/map.h"
#include "format/base/table.h"
#include "format/cursor.h"
#include "replay/model/scheduling.h"

#define NO_TIME UINT64_MAX
#define NAME_KEPT_BYTES 32 /* of a name as it is in the capture; the kernel gives 15 */

/* Bytes of a capture: not escaped, not NUL-terminated. */
struct name {
	char s[NAME_KEPT_BYTES];
	uint8_t len;
};

struct process {
	uint32_t number; /* from 1, in the order in which they are named */
	uint32_t pid;
	bool reported; /* by a row; else only implied, and uid, tracked and start_ns are not known, */
	bool tracked;  /* recorded; from tracked_since_ns on */
	bool began;    /* a fork or exec row was seen: it, or its program, began while recording */
	uint32_t ppid; /* nor is this, unless a fork row reported it: 0 */
	uint32_t uid;
	uint32_t pid_inside; /* as it knows itself, in its own pid namespace; 0: not known */
	uint64_t start_ns;   /* boot clock, as are all; of its first row that has one; NO_TIME */
	uint64_t first_ns;   /* first event that names it */
	uint64_t end_ns;     /* its last thread's exit; NO_TIME */
	uint64_t tracked_since_ns;
	/* Numbers of the control groups it was in last, or began in, by the code that numbers them; 0: not known. */
	uint64_t cpu_group, memory_group;
	uint32_t status;  /* wait(2) status, if it ended */
	struct name name; /* the latest */
	char *shown;      /* the same, whole and escaped for a terminal; NULL: unknown */
	char *path;       /* of its executable, likewise */
};

struct thread {
	uint32_t number; /* as a process' */
	uint32_t tid;
	uint32_t process; /* number of its process, 0: unknown */
	bool reported;
	bool calls; /* it made a recorded call */
	uint64_t start_ns, first_ns, end_ns;
	uint64_t followed_ns; /* its switches and wakings are recorded from then on, whatever is of its process */
	uint32_t status;
	struct scheduling scheduling;
	struct name name;
	char *shown; /* escaped for a terminal; NULL: unknown */
	char *json;  /* escaped for a string of JSON; the same as shown, if that needs no escaping */
};

/* A thread that is recorded at some time, where the rows that name processes and threads are withheld. */
struct nameless {
	struct table_key key; /* a: tid */
	uint32_t pid;         /* 0: not known */
	uint64_t since_ns;    /* recorded since then; 0: as long as there are rows of it */
};

/* A zeroed one is empty. */
struct tasks {
	struct process *processes; /* by number; processes[0] is unused. They move when one is added */
	uint32_t nprocesses;
	size_t processes_room;
	uint32_t processes_max; /* 0: no limit; set by the owner */
	struct thread *threads; /* likewise */
	uint32_t nthreads;
	size_t threads_room;
	struct map by_pid, by_tid; /* the current instance */
	struct cpu_sets cpu_sets;
	uint64_t nbeyond;      /* how often a process was not kept: there were processes_max */
	struct table nameless; /* struct nameless; see tasks_look_ahead() */
};

void tasks_clear(struct tasks *t);

/* Take in what the next event says about tasks. ERR_MEMORY. */
int tasks_feed(struct tasks *t, const struct event *ev, struct fault *why);

/*
 * Before all rows: fills in who is nameless; of a capture that has the rows of processes nobody is. What cannot be read
 * ends it: the reading proper reports that. ERR_MEMORY.
 */
int tasks_look_ahead(struct tasks *t, const struct reader *reader, bool unverified, struct fault *why);

/* The number of the current instance, 0 if the id was never named. Valid until the next tasks_feed(). */
static inline uint32_t tasks_process(const struct tasks *t, uint32_t pid)
{
	return map_get(&t->by_pid, pid, 0);
}

static inline uint32_t tasks_thread(const struct tasks *t, uint32_t tid)
{
	return map_get(&t->by_tid, tid, 0);
}

/* The thread's instance, or NULL. */
static inline const struct thread *tasks_find_thread(const struct tasks *t, uint32_t tid)
{
	uint32_t number = tasks_thread(t, tid);

	return number ? &t->threads[number] : NULL;
}

static inline const struct process *tasks_find_process(const struct tasks *t, uint32_t pid)
{
	uint32_t number = tasks_process(t, pid);

	return number ? &t->processes[number] : NULL;
}

/*
 * The current instance, an implied one if the pid was not named before. *out NULL: PID 0 (the idle tasks are no
 * process), or beyond processes_max. ERR_MEMORY.
 */
int tasks_name_process(struct tasks *t, uint32_t pid, uint64_t at_ns, struct process **out, struct fault *why);

/* Whether a row about a process that started at `start_ns` is about this instance. */
bool process_is(const struct process *p, uint64_t start_ns);

/* Whether it ran its program from the program's begin on while recording, which began then, did. */
static inline bool process_saw_begin(const struct process *p, uint64_t recording_ns)
{
	return p->began || (p->start_ns != NO_TIME && p->start_ns > recording_ns);
}

/* The number that the process knows itself by, where it is another one than `pid`; else 0. */
static inline uint32_t process_alias(const struct process *p)
{
	return p->pid_inside != p->pid ? p->pid_inside : 0;
}

/* Whether the scheduler's view of a thread is whole: it is one of those recorded, not a bystander. number > 0. */
static inline bool tasks_is_recorded(const struct tasks *t, uint32_t number)
{
	const struct thread *thread = &t->threads[number];

	return thread->calls || (thread->process && t->processes[thread->process].tracked);
}

#define ANCESTORS_MAX 64 /* followed */

/* Whether a process is `from`, or descends from it, by numbers; as far as rows report who started whom. */
bool tasks_descends(const struct tasks *t, uint32_t process, uint32_t from);

/*
 * Since when the process of this thread is recorded, or it is followed; NO_TIME: never, or that is not known.
 */
static inline uint64_t tasks_tracked_since(const struct tasks *t, const struct thread *thread)
{
	const struct process *p = thread && thread->process ? &t->processes[thread->process] : NULL;
	uint64_t since_ns = thread ? thread->followed_ns : NO_TIME;

	return p && p->tracked && p->tracked_since_ns < since_ns ? p->tracked_since_ns : since_ns;
}

/*
 * The same of who has this number now. Where the rows of processes are withheld nothing says when that began: who is
 * recorded at any time is taken to be so from the start.
 */
uint64_t tasks_tid_tracked_since(const struct tasks *t, uint32_t tid);
/* The PID of its process; 0: not known. */
uint32_t tasks_tid_pid(const struct tasks *t, uint32_t tid);

#endif
