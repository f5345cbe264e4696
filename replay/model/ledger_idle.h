/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What threads did while their process had no work on a GPU: the ledger's own, see ledger_idle() in ledger.h. A span
 * without work ends when a thread gives the process some; that thread's time in it is what counts.
 *
 * A call is reported when it returns. One that began before a span was over, and returns later than the one by which
 * that ended, may have given work meanwhile: such a span is dropped. So they are kept for a while; one that is dropped
 * too late takes all of its process with it.
 */
#ifndef GPUREC_REPLAY_MODEL_LEDGER_IDLE_H
#define GPUREC_REPLAY_MODEL_LEDGER_IDLE_H

#include "replay/model/ledger.h"

#define IDLE_SPANS_MAX 64 /* of a process that are kept */

struct idle_span {
	uint64_t begin_ns, end_ns;
	struct ledger_thread *thread;
	struct waited_list parts; /* of its time, also those that are no wait for anybody */
};

/* From 0, the oldest. */
static inline struct idle_span *idle_span_at(const struct gpu_process *p, unsigned i)
{
	return &p->spans[(p->first_span + i) % IDLE_SPANS_MAX];
}

/* What keeps a thread from giving the GPU work, and is not its own doing. */
static inline bool idle_holds_up(enum ledger_part part)
{
	return part == LEDGER_CPU || part == LEDGER_QUOTA || part == LEDGER_TASK || part == LEDGER_DEVICE ||
	       part == LEDGER_NETWORK || part == LEDGER_MEMORY || part == LEDGER_KERNEL || part == LEDGER_STOPPED;
}

/*
 * Whether it matters what the thread did until end_ns: there may be time without work in that; or it may be found later
 * that there was some, since the process gave it (gpu_process.fed_ns), which is asked of what held it up only.
 */
static inline bool idle_counts(const struct ledger_thread *t, enum ledger_part part, uint64_t end_ns)
{
	return t->gpu && (t->gpu->idle_ns < end_ns || (t->gpu->idle_ns == NO_TIME && idle_holds_up(part)));
}

/* The thread spent that in this part. False, of all: no memory. */
bool idle_spend(struct ledger_thread *t, enum ledger_part part, const struct whom *whom, uint64_t begin_ns,
		uint64_t end_ns);

/* It gives its process work by a call that began then. All of its time until then is settled. */
bool idle_end(struct ledger_thread *t, uint64_t begin_ns);

/* There was work left all the time since then, when the process was given it, until now. All of it is settled. */
bool idle_left(struct ledger_thread *t, uint64_t since_ns);

/* The call that just gave work had to wait so long for room: what had been given just before was left, then, too. */
bool idle_left_full(struct ledger_thread *t, uint64_t room_ns);

/* It ends, or recording does. */
bool idle_leave(struct ledger_thread *t, uint64_t at_ns);

/* All is over: what is kept counts. */
bool idle_count(struct gpu_work *w);
/* Of a thread: as its time was, it is moved to first calls; where it is not known, it is taken from its waits. */
void idle_finish(struct ledger_thread *t);

void idle_clear(struct gpu_work *w);

#endif
