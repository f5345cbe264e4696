/* SPDX-License-Identifier: Apache-2.0 */
/*
 * First calls: the first one of each function, and the first launch of each GPU function, of each process whose begin
 * was recorded. They may load code, compile it or make a context, which later ones do not; what they took beyond the
 * usual is the ledger's part `first` (replay/model/ledger.h). Usual is the middle length of the next FIRST_NEXT calls
 * of the same (of two the longer one); of a GPU function that was launched once, of the next launches of any by that
 * function. Where there is no next one, nothing is known.
 *
 * Only calls that take about the same whatever they are given are judged: launches, allocations of GPU memory, memsets,
 * calls about streams, events and contexts, and a free of nothing, which is made for its side effect. What loading,
 * copying, waiting, pinning memory or a collective takes depends on how much there is to do, and on others.
 */
#ifndef GPUREC_REPLAY_MODEL_FIRST_CALLS_H
#define GPUREC_REPLAY_MODEL_FIRST_CALLS_H

#include "format/base/table.h"
#include "format/cursor.h"

#define FIRST_CALLS_MAX 65536 /* functions and GPU functions of all processes; of later ones no call is a first one */
#define FIRST_NEXT 15
#define FIRST_KEPT_NS 1000000 /* one that took less beyond the usual is dropped when its process is over */
#define FIRST_ANY UINT64_MAX
#define FIRST_KNOWN 256 /* functions at hand of which all that matters is known */
#define FIRST_KINDS                                                                                                    \
	(1U << KIND_launch | 1U << KIND_alloc | 1U << KIND_free | 1U << KIND_set | 1U << KIND_stream |                 \
	 1U << KIND_context)

/* Time that a first call spent in itself, and in the kernel on its own behalf, in one slice of the ledger's. */
struct first_spent {
	uint64_t slice_ns, calls_ns, kernel_ns;
};

struct first_call {
	struct table_key key;         /* a: process << 16 | probe; b: GPU function, or FIRST_ANY */
	struct first_call *before;    /* of the same process */
	struct ledger_thread *thread; /* that made it; NULL: there was none that is judged */
	uint64_t begin_ns, end_ns;
	uint64_t nfed;              /* calls by which the thread had given the GPU work before */
	uint64_t usual_ns, lost_ns; /* set by first_call_judge() */
	bool judged;
	bool idle; /* set by the ledger: its process had no work on a GPU when it began, and it gave it none */
	struct first_spent *spent;
	size_t nspent, spent_room;
	uint64_t next_ns[FIRST_NEXT]; /* lengths of the next calls */
	unsigned nnext;
};

/* A zeroed one is empty. */
struct first_calls {
	struct table all;       /* struct first_call */
	struct table processes; /* a: process; struct first_of_process */
	uint64_t nbeyond;       /* calls that may have been first ones, beyond FIRST_CALLS_MAX */
	bool failed;            /* memory was missing */
	struct table_key known[FIRST_KNOWN];
};

struct first_of_process {
	struct table_key key;
	struct first_call *latest;
};

static inline uint32_t first_call_process(const struct first_call *u)
{
	return (uint32_t)(u->key.a >> 16);
}

static inline uint64_t first_call_key(uint32_t process, const struct event *ev)
{
	return (uint64_t)process << 16 | (ev->v[F_call_probe] & 0xffff);
}

static inline uint64_t first_call_function(const struct event *ev)
{
	return ev->kind == KIND_launch ? ev->v[F_launch_function] : FIRST_ANY;
}

/* Where it is noted that all that matters of it is known. */
static inline struct table_key *first_calls_known(struct first_calls *f, uint64_t a, uint64_t b)
{
	return &f->known[(a ^ b >> 4 ^ b >> 12) % FIRST_KNOWN];
}

/* Whether first_calls_meet() is to be asked about a call: not if it can learn nothing from it. */
static inline bool first_calls_want(struct first_calls *f, uint32_t process, const struct event *ev)
{
	uint64_t a = first_call_key(process, ev), b = first_call_function(ev);
	const struct table_key *known = first_calls_known(f, a, b);

	return 1U << ev->kind & FIRST_KINDS && !(known->a == a && known->b == b);
}

/* Count an outermost call in. One that is a first one, and is judged: it is the caller's to note what it spent. */
struct first_call *first_calls_meet(struct first_calls *f, uint32_t process, const struct event *ev);

/* It spent so much in the slice that began at slice_ns. */
void first_call_spend(struct first_calls *f, struct first_call *u, uint64_t slice_ns, uint64_t calls_ns,
		      uint64_t kernel_ns);

/* No more calls come: work out, once, what was usual and what was lost beyond it. False: that was done. */
bool first_call_judge(const struct first_calls *f, struct first_call *u);

/* All of a process, each once, latest first: u = first_calls_latest(), then u->before. */
struct first_call *first_calls_latest(const struct first_calls *f, uint32_t process);

/* The process is over: what did not matter is dropped, and what is left is in `all` only. */
void first_calls_forget(struct first_calls *f, uint32_t process);

void first_calls_clear(struct first_calls *f);

#endif
