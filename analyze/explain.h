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
	const struct control_group *quota[1 + CAUSE_LINKS_MAX];  /* that bounds the link's thread; NULL: not known */
	const struct control_group *memory[1 + CAUSE_LINKS_MAX]; /* that is short of memory; NULL: not known */
	struct stop_signal stop[1 + CAUSE_LINKS_MAX];    /* the signal that stopped it; number 0: none, or not known */
	struct disk_use disk[1 + CAUSE_LINKS_MAX];       /* the requests that its thread slept for */
	struct network_use network[1 + CAUSE_LINKS_MAX]; /* what came for it through connections */
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

/* How a thread is scheduled, "SCHED_FIFO 50", between these; nothing of one that is as most are, or if not known. */
void text_add_how(struct text *t, const char *before, const struct scheduling *how, const char *after);

/* The device of the longest: "vda"; "device 254:0", where it has no name. */
void text_add_disk(struct text *t, const struct disk_use *use);
/* "vda: 38 reads of 4.75 MiB, which took 480 ms, of that 470 ms in the device". There are requests in it. */
void text_add_disk_use(struct text *t, const struct disk_use *use);

/* "10.0.0.1:80"; "an unknown peer". */
void text_add_peer(struct text *t, const struct network_peer *peer);
/* "10.0.0.1:80: 3 times, 120 ms in all; 2 segments had to be sent again". There are waits in it. */
void text_add_network_use(struct text *t, const struct network_use *use);

/* Why a thread had to free memory, by a part's flags: "limit", "host", "compaction"; "unknown". */
const char *shortage_word(uint32_t flags);

/* "4399 tokenizer"; "the idle task"; "an unknown thread" (NULL). Escaped. */
void text_add_who(struct text *t, const struct who *who);

/*
 * What one did meanwhile, of did_ns[CAUSE_CLASSES], after `before`: "at work"; or, if that was for less than nine
 * tenths of `ns`, "at work for 482 ms, without a CPU for 466 ms", of what it did for a tenth or more. Nothing, if none
 * of that is known.
 */
void text_add_doing(struct text *t, const char *before, const uint64_t *did_ns, uint64_t ns);

/* "13.0 ms asleep in futex 0x7f..., woken by 4399 tokenizer, which had been preempted on CPU 1 by 4410 hog for ..." */
void text_add_cause(struct text *t, const struct explained *e);

#endif
