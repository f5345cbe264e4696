/* SPDX-License-Identifier: Apache-2.0 */
/* A cause with the names of those in it, as they were called at that moment, and the sentence about it. */
#ifndef GPUREC_ANALYZE_EXPLAIN_H
#define GPUREC_ANALYZE_EXPLAIN_H

#include "format/base/text.h"
#include "replay/model/cause.h"
#include "analyze/people.h"

#define EXPLAINED_WHOS_MAX 64 /* names kept; beyond, numbers alone */

struct explained {
	struct cause cause;
	struct who whos[EXPLAINED_WHOS_MAX];
	unsigned nwhos;
	const struct cpu_group *quota[1 + CAUSE_LINKS_MAX]; /* that bounds the link's thread; NULL: not known */
	struct stop_signal stop[1 + CAUSE_LINKS_MAX]; /* the signal that stopped it; number 0: none, or not known */
	enum machine machine;
	bool unreported; /* the kernel has no tracepoint of switches or wakings: what is unknown is so for that */
};

/* Find the cause of [begin_ns, end_ns] on the thread and remember the names in it. */
void explain(struct explained *e, const struct timeline *tl, const struct names *names, uint32_t tid, uint64_t begin_ns,
	     uint64_t end_ns);

/* As `*to = *from`, but of the room for many links and names only what is used. */
void explained_copy(struct explained *to, const struct explained *from);

/* NULL: no name is kept for it. */
const struct who *explained_who(const struct explained *e, uint32_t tid);

/*
 * The thread that kept the last link from going on: who had its CPU (CHAIN_NO_CPU), who stopped it by a signal
 * (CHAIN_STOPPED), or that link's own thread (CHAIN_RAN, links beyond the first). TID_NONE: nobody in particular.
 */
uint32_t explained_keeper(const struct explained *e);

/* What helps against time lost to this class, whatever it was lost for; NULL: that depends. */
const char *cause_remedy(enum cause_class class);

/*
 * What helps a thread that had no CPU, by how it and the one that had it are scheduled; NULL: nothing of that explains
 * it, or it is not known. Either may be NULL. barred: a CPU was idle on which it may not run.
 */
const char *cpu_remedy(const struct who *without, const struct who *keeper, bool barred);
/* The same for the last link, the one that had no CPU. */
const char *explained_cpu_remedy(const struct explained *e);

/*
 * Priority inversion: the last link had no CPU because of a thread that goes before it, and kept one waiting that goes
 * before both. Only where it is known of all three.
 */
bool explained_is_inversion(const struct explained *e);

/* How a thread is scheduled, "SCHED_FIFO 50", between these; nothing of one that is as most are, or if not known. */
void text_add_how(struct text *t, const char *before, const struct scheduling *how, const char *after);

/* "4399 tokenizer"; "the idle task"; "an unknown thread" (NULL). Escaped. */
void text_add_who(struct text *t, const struct who *who);

/* "13.0 ms asleep in futex 0x7f..., woken by 4399 tokenizer, which had been preempted on CPU 1 by 4410 hog for ..." */
void text_add_cause(struct text *t, const struct explained *e);

#endif
