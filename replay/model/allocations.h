/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which process holds which memory, and how that ended: one tracker for the database, the counters, --diff and the
 * rules.
 *
 * What counts. A call of kind alloc, free or context that succeeded. Libraries call each other: cudaMalloc calls
 * cuMemAlloc, which must not count twice; a launch may allocate, which must count. So a call within a call of the same
 * kind is the inside of that, and counts as the outer call; within calls of other kinds only, it counts itself. Rows
 * come in the order of their ends, an inner one before the outer one: nested rows wait for the call around them. One
 * around which no row is seen (it was lost, or had not returned when recording ended) counts.
 *
 * What an allocation ends by. A free of its address, the destruction of the context or the reset of the device (in a
 * process that was seen with one device only, as an allocation does not report its context), the exit of its process,
 * or another program in its place (exec). An address that is handed out again had been freed before, though no row says
 * so: the older allocation is gone then. If a free of that address returns later that had begun before, it is the older
 * one's; else its end was not seen.
 *
 * Objects other than memory are followed by the same rules, by a tracker of their own: they are made and destroyed by
 * calls of kinds stream, graph, context and load, and known by their handles.
 */
#ifndef GPUREC_REPLAY_MODEL_ALLOCATIONS_H
#define GPUREC_REPLAY_MODEL_ALLOCATIONS_H

#include "format/base/table.h"
#include "replay/model/tasks.h"

#define MEMORY_KINDS 7 /* MEM_DEVICE ... MEM_REGISTERED; 0: one that this build does not know */
#define NESTED_KEPT_MAX                                                                                                \
	16 /* nested rows of a thread that wait for the call around them; more: the first ones count                   \
	    */

/* What a tracker of objects has in place of the kind of memory; each has one "byte". */
enum object { OBJECT_STREAM, OBJECT_EVENT, OBJECT_GRAPH, OBJECT_EXEC, OBJECT_CONTEXT, OBJECT_MODULE, OBJECTS };
_Static_assert((int)OBJECTS <= MEMORY_KINDS, "sums are kept for each");

enum alloc_end { ALLOC_FREED, ALLOC_CONTEXT, ALLOC_EXITED, ALLOC_UNSEEN, ALLOC_REPLACED };

struct allocation {
	uint64_t id; /* of its row, as fed */
	uint64_t at_ns, bytes, addr, stack, probe, tid;
	uint32_t process; /* number of the instance */
	uint8_t memory;   /* MEM_*, 0: unknown; of an object enum object */
	bool held;        /* its bytes are in the sums: the address was not handed out again */
	void *owner;      /* for an observer */
	/* The tracker's own: numbers of other allocations, 0: none. */
	uint32_t younger, youngest; /* at its address; youngest: of the oldest only */
	uint32_t previous, next;    /* of the process; next: or the next unused one */
};

/* What is called as allocations begin and end. All return 0 or an error, which ends the feeding; any may be NULL. */
struct alloc_watch {
	int (*begin)(void *self, struct allocation *a, struct fault *why);
	/* Its bytes are held no longer. How it ended may be known only later. */
	int (*gone)(void *self, const struct allocation *a, uint64_t at_ns, struct fault *why);
	/* Once for each that ended. by: the free's or the context's row, 0: none. */
	int (*end)(void *self, const struct allocation *a, enum alloc_end how, uint64_t end_ns, uint64_t by,
		   struct fault *why);
	/* The call of this row is the inside of another of its kind. */
	int (*inner)(void *self, uint64_t id, struct fault *why);
	/* A call that was to make `a` failed; only what is known of it before it is made is set. */
	int (*refused)(void *self, const struct allocation *a, struct fault *why);
	/* A process holds more or less than before. */
	int (*changed)(void *self, uint32_t process, uint64_t at_ns, struct fault *why);
};

struct alloc_holder;

/* Zeroed but for the first members, which its owner sets, it is empty. */
struct allocations {
	const struct schema *schema; /* names of functions show which calls destroy contexts, and make or end objects */
	bool objects;                /* these are followed, and no memory */
	const struct alloc_watch *watch; /* may be NULL */
	void *self;
	uint32_t max;         /* that are followed at a time; 0: no limit */
	uint64_t nunfollowed; /* beyond it, or without an address */
	uint64_t nunmatched;  /* frees of what was not seen to be allocated */
	/* Its own. */
	struct allocation *all; /* numbered from 1 */
	uint32_t n, unused, nopen;
	size_t room;
	struct map open;              /* (process, address) -> oldest allocation that has not ended */
	struct alloc_holder *holders; /* by number of the process */
	size_t nholders;
	uint8_t *object_calls; /* by probe: what it does to objects, once looked up */
	struct table nested;   /* by TID: rows that wait for the call around them */
	uint32_t nwaiting;
};

void allocations_clear(struct allocations *m);

/* Whether allocations_feed() does anything with an event: with most it does not. */
static inline bool allocations_concern(const struct allocations *m, const struct event *ev)
{
	return ev->kind == KIND_context || ev->kind == KIND_exit || ev->kind == KIND_exec ||
	       (m->objects ? ev->kind == KIND_stream || ev->kind == KIND_graph || ev->kind == KIND_load
			   : ev->kind == KIND_alloc || ev->kind == KIND_free) ||
	       (m->nwaiting && event_is_call(ev));
}

/*
 * Take in the next event. `process`: number of the instance that made the call, exits or runs another program; `id`:
 * what the row is to be known by. Exits may be left out: what a process held when it exited then stays. ERR_MEMORY, or
 * what a watch returns.
 */
int allocations_feed(struct allocations *m, uint32_t process, const struct event *ev, uint64_t id, struct fault *why);

/* The same, of a process that `tasks` knows: it has been fed with the event. */
static inline int allocations_feed_event(struct allocations *m, const struct tasks *tasks, const struct event *ev,
					 uint64_t id, struct fault *why)
{
	if (!allocations_concern(m, ev))
		return 0;
	/* Exits and execs begin as calls do: at, pid, tid. */
	return allocations_feed(m, tasks_process(tasks, (uint32_t)ev->v[F_call_pid]), ev, id, why);
}
_Static_assert((int)F_exit_pid == (int)F_call_pid && (int)F_exec_pid == (int)F_call_pid,
	       "the PID of all is in one place");

/* Nested rows of a process (0: of all) wait no longer: the call around them will not be seen. */
int allocations_settle(struct allocations *m, uint32_t process, struct fault *why);

/* After the last event: ends that were not seen, and those of processes whose exit only `tasks` knows. */
int allocations_finish(struct allocations *m, const struct tasks *tasks, struct fault *why);

/* Bytes that a process holds of a kind of memory. */
uint64_t allocations_held(const struct allocations *m, uint32_t process, unsigned memory);

/* The next allocation of a process that has not ended, in the order of their begins; first that after NULL. */
const struct allocation *allocations_next(const struct allocations *m, uint32_t process, const struct allocation *a);

/* "device", "managed", ... */
const char *memory_word(unsigned memory);

/* "stream", "event", "graph", "executable graph", "context", "module" */
const char *object_word(unsigned object);

#endif
