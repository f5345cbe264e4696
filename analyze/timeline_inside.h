/* SPDX-License-Identifier: Apache-2.0 */
/* What the timeline keeps: shared by timeline.c, which builds it, and timeline_walk.c, which answers from it. */
#ifndef GPUREC_ANALYZE_TIMELINE_INSIDE_H
#define GPUREC_ANALYZE_TIMELINE_INSIDE_H

#include "analyze/ring.h"
#include "analyze/table.h"
#include "analyze/timeline.h"

#define NEVER UINT64_MAX

struct thread {
	struct table_key key; /* a: tid */
	struct ring spans;    /* struct span */
	struct span open;     /* what it does since open.begin_ns; STATE_UNKNOWN before the first row */
	uint64_t first_ns;    /* from when on its state is known */
	bool began_running;   /* the first row about it shows that it ran at first_ns, on `first_cpu` */
	uint32_t first_cpu;
	uint64_t ran_since_ns;     /* with began_running: it ran from here to first_ns; NEVER: not known */
	uint64_t tracked_since_ns; /* NEVER: nothing shows that it is tracked */
	bool woken_while_running;  /* a waking row came since it last began to run */
};

/* Between two looks at a CPU that was not left alone. */
struct theft {
	uint64_t begin_ns, end_ns;
	uint64_t stolen_ns;
};

struct cpu {
	struct table_key key; /* a: its number */
	struct ring occupants;
	struct ring thefts;
	uint64_t looked_ns, steal_ns; /* at the last look; looked_ns 0: none yet */
	bool known;
	uint32_t tid;
	uint64_t since_ns;
};

struct timeline {
	bool failed; /* memory was missing for something that should be kept */
	struct table threads;
	struct table cpus;
	struct ring blind;                                  /* struct interval, disjoint */
	uint64_t (*tracked_since)(void *arg, uint32_t tid); /* may be NULL */
	void *tracked_arg;
};

#endif
