/* SPDX-License-Identifier: Apache-2.0 */
/* What the timeline keeps: shared by timeline.c and timeline_details.c,
 * which build it, and timeline_walk.c, which answers from it. */
#ifndef GPUREC_REPLAY_MODEL_TIMELINE_INTERNAL_H
#define GPUREC_REPLAY_MODEL_TIMELINE_INTERNAL_H

#include "replay/model/recent_intervals.h"
#include "format/base/table.h"
#include "replay/model/timeline.h"

#define NEVER UINT64_MAX

struct track {
	struct table_key key; /* a: tid */
	struct ring reclaims; /* struct reclaim, disjoint */
	struct ring spans;    /* struct span; where the next one goes stands what it does now: see open_of() */
	uint64_t first_ns;    /* from when on its state is known */
	bool began_running;   /* the first row about it shows that it ran at first_ns, on `first_cpu` */
	uint32_t first_cpu;
	uint32_t parent_tid;       /* it was started by that one at first_ns; TID_NONE: not known */
	uint64_t ran_since_ns;     /* with began_running: it ran from here to first_ns; NEVER: not known */
	uint64_t tracked_since_ns; /* NEVER: nothing shows that it is tracked */
	bool pinned;               /* when it last left a CPU while it could run on */
	bool timed;                /* its last sleep but this one was until its time was up */
	bool woken_while_running;  /* a waking row came since it last began to run */
};

/* The thread got memory meanwhile. */
struct reclaim {
	uint64_t begin_ns, end_ns;
	uint32_t flags; /* SPAN_MEMORY, with why */
};

/* Between two looks at a CPU that was not left alone. */
struct taken {
	uint64_t begin_ns, end_ns;
	uint64_t ns[TAKERS];
};

struct cpu {
	struct table_key key; /* a: its number */
	struct ring occupants;
	struct ring taken;
	uint64_t looked_ns, taken_ns[TAKERS]; /* at the last look; looked_ns 0: none yet */
	uint64_t since_ns;                    /* `tid` has it from then on; NEVER: not known */
	uint32_t tid;
};

/* Of a futex: a thread called wake for it, whoever slept there; and one slept there until its time was up. */
struct wake {
	uint64_t at_ns, block;
	uint32_t pid, tid;
	uint32_t late_tid; /* 0: nobody, or its wait was ended */
};

#define WAKES 1024 /* by futex_block(), the latest */

struct timeline {
	bool reports_pins; /* see timeline_reports_pins() */
	int (*may_run)(void *arg, uint32_t tid, uint32_t cpu);
	void *may_run_arg;
	bool failed; /* memory was missing for something that should be kept */
	struct table threads;
	struct table cpus;
	struct ring blind;                                  /* struct interval, disjoint */
	uint64_t (*tracked_since)(void *arg, uint32_t tid); /* may be NULL */
	void *tracked_arg;
	void (*full)(void *arg, uint32_t tid, uint64_t until_ns); /* may be NULL */
	void *full_arg;
	struct wake wakes[WAKES];
};

/* The sleep that is the last item is over. If a thread ended it: earlier ones, until their time was up, may be the same
 * wait. */
void timeline_wait_ended(struct track *th);

/* What it does since begin_ns; before the first row: STATE_UNKNOWN since NEVER. */
static inline struct span *open_of(const struct track *th)
{
	return (struct span *)(void *)th->spans.next;
}

/* What a function returns that passes something to the timeline for which it may need memory. */
static inline int outcome(const struct timeline *tl, struct fault *why)
{
	return tl->failed ? fault_no_memory(why) : 0;
}

/*
 * Of the usual row all that it needs is at hand: who takes part is found by number, and their rings have room. Then
 * `sure` is true, a constant everywhere, and nothing has to be called.
 */
#define INLINE static inline __attribute__((always_inline))

/* One more. Unless `sure`, that there was no memory for it is remembered, and NULL comes back. */
INLINE void *add(struct timeline *tl, struct ring *r, size_t item_bytes, unsigned max, bool sure)
{
	void *kept =
		sure || ring_has_room(r, item_bytes) ? ring_keep(r, item_bytes) : ring_keep_more(r, item_bytes, max);

	if (!sure && !kept)
		tl->failed = true;
	return kept;
}

/* As cpu_get(), of a new one. */
__attribute__((cold)) struct cpu *cpu_add(struct timeline *tl, uint32_t number);

/* Known or new. NULL: beyond the limit, or no memory. */
static inline struct cpu *cpu_get(struct timeline *tl, uint32_t number)
{
	struct cpu *cpu = table_find(&tl->cpus, number, 0);

	return cpu ? cpu : cpu_add(tl, number);
}

#endif
