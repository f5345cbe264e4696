/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why something took long: the time of a thread between two moments, split into parts that exclude each other and add
 * up exactly to its length; and from there the chain of those who kept it waiting.
 */
#ifndef GPUREC_REPLAY_MODEL_CAUSE_H
#define GPUREC_REPLAY_MODEL_CAUSE_H

#include "replay/model/timeline.h"

#define CAUSE_LINKS_MAX 8 /* wakers followed back */
/*
 * Parts distinguished in one split, of waits for a CPU and of all others; those beyond are joined by class. On a busy
 * host dozens of threads may have had the CPU: they must not take the place of what the thread slept in.
 */
#define SPLIT_PARTS_MAX 16

enum cause_class {
	CAUSE_CPU = 0,  /* it ran */
	CAUSE_RUNNABLE, /* it could have run, but had no CPU */
	CAUSE_QUOTA,    /* it could have run, but the CPU quota of its control group was used up */
	CAUSE_STOPPED,  /* stopped by a signal or a debugger, or frozen with its control group */
	CAUSE_FUTEX,    /* asleep in a futex */
	CAUSE_FAULT,    /* asleep in a page fault */
	CAUSE_MEMORY,   /* short of memory: freeing some, on a CPU or asleep, or waiting for it */
	CAUSE_IO,       /* asleep until a disk has answered */
	CAUSE_NETWORK,  /* asleep until something came through a TCP connection that was begun here */
	CAUSE_ASLEEP,   /* asleep in something else */
	CAUSE_UNKNOWN,
	CAUSE_CLASSES,
};

const char *
	cause_class_name(enum cause_class class);    /* "on-cpu", "waiting-for-cpu", "futex", "page-fault", "io", ... */
const char *cause_class_key(enum cause_class class); /* "on_cpu_ns", "waiting_for_cpu_ns", ...: members of the JSON */
const char *cause_class_label(enum cause_class class); /* "on CPU", "waiting for a CPU", ...: for people */

const char *cause_class_doing(enum cause_class class); /* what one is then: "at work", "without a CPU"; NULL: unknown */

/* What such a sleep is. */
static inline enum cause_class class_of_sleep(const struct span *sleep)
{
	if (is_stop(sleep))
		return CAUSE_STOPPED;
	if (sleep->flags & SPAN_MEMORY)
		return CAUSE_MEMORY;
	if (sleep->flags & SPAN_FAULT)
		return CAUSE_FAULT;
	if (sleep->flags & SPAN_FUTEX)
		return CAUSE_FUTEX;
	if (sleep->flags & SPAN_IO)
		return CAUSE_IO;
	return sleep->flags & SPAN_NETWORK && sleep->flags & SPAN_IRQ ? CAUSE_NETWORK : CAUSE_ASLEEP;
}

/* It runs, or sleeps, in order to get memory. */
static inline bool gets_memory(const struct span *piece)
{
	return piece->flags & SPAN_MEMORY && class_of_sleep(piece) == CAUSE_MEMORY;
}

/* FUTEX, FAULT, IO, ASLEEP: that somebody or something else ends. */
bool cause_class_sleeps(enum cause_class class);

/* Time of one class with one cause. */
struct part {
	uint64_t ns;
	uint64_t count; /* stretches */
	uint64_t longest_begin_ns, longest_end_ns;
	uint64_t futex; /* CAUSE_FUTEX: address */
	uint32_t tid;   /* STOPPED, FUTEX, FAULT, IO, ASLEEP: the waker; RUNNABLE: who had the CPU; TID_NONE: not known,
			 * or not one
			 */
	uint32_t cpu;   /* CPU, RUNNABLE */
	uint32_t task_state; /* STOPPED, FUTEX, FAULT, IO, ASLEEP */
	uint32_t syscall;    /* ASLEEP, IO: in which system call, its number + 1; 0: none or not reported */
	uint32_t flags;      /* enum span_flags */
	uint8_t class;       /* enum cause_class */
	uint8_t reason;      /* UNKNOWN: enum unknown_reason */
	bool likely;         /* RUNNABLE: `tid` is whom the CPU came from or went to; not seen for all of the time */
	uint32_t idle_cpu;   /* RUNNABLE: number + 1 of another CPU that was idle, as far as is known; 0: none */
	bool idle_barred;    /* on which the thread may not run */
	bool joined;         /* several causes, too many to distinguish */
};

/* It had no CPU though another one was idle, on which it may run as far as is known. */
static inline bool part_is_beside(const struct part *p)
{
	return p->idle_cpu && !p->idle_barred;
}

struct split {
	uint32_t tid;
	uint64_t begin_ns, end_ns;
	uint64_t ns[CAUSE_CLASSES];                             /* their sum is end_ns - begin_ns */
	struct part parts[2 * SPLIT_PARTS_MAX + CAUSE_CLASSES]; /* longest first; their sums by class are ns[] */
	unsigned nparts;
	unsigned nkeepers; /* of them waits for a CPU that are distinguished */
};

/* Split the thread's time in [begin_ns, end_ns], which must not reach beyond the last row reported. */
void split_make(struct split *s, const struct timeline *tl, uint32_t tid, uint64_t begin_ns, uint64_t end_ns);

/*
 * Whether what it says of one class is proven: a thread that had no CPU could have run on no other one that was idle,
 * and who had its CPU was seen; a quota's part is the kernel's account.
 */
bool split_is_proven(const struct split *s, enum cause_class class);

/* The class with the most time; of equals the one that says more. */
enum cause_class split_main(const struct split *s);
/* The longest part of a class; NULL if there is none. */
const struct part *split_longest(const struct split *s, enum cause_class class);

/* How the chain ends. */
enum chain_end {
	CHAIN_RAN = 0,   /* the last thread was at work */
	CHAIN_NO_CPU,    /* the last thread had no CPU */
	CHAIN_INTERRUPT, /* the last thread slept until an interrupt: a timer, a device; nobody is to blame */
	CHAIN_TIMED_OUT, /* the last thread slept in a futex until its time was up */
	CHAIN_SIGNAL,    /* the last thread slept until it got a signal */
	CHAIN_UNKNOWN,
	CHAIN_CYCLE,    /* the last thread was woken by one that is in the chain already */
	CHAIN_TOO_LONG, /* the last thread was woken by another, and so on: more than CAUSE_LINKS_MAX */
	CHAIN_QUOTA,    /* the last thread was kept from running by a CPU quota */
	CHAIN_STOPPED,  /* the last thread was stopped or frozen */
	CHAIN_MEMORY,   /* the last thread was short of memory */
	CHAIN_NETWORK,  /* the last thread waited for the network */
};

const char *chain_end_name(enum chain_end end);

/* The last thread could have run, had it been let. */
static inline bool chain_lacks_cpu(enum chain_end end)
{
	return end == CHAIN_NO_CPU || end == CHAIN_QUOTA;
}

/*
 * links[0] is the thread itself; links[i + 1] is the waker of links[i]'s longest sleep of its main class, over the
 * longest stretch of that sleep.
 */
struct cause {
	struct split links[1 + CAUSE_LINKS_MAX];
	unsigned nlinks; /* at least 1 */
	enum chain_end end;
	uint32_t cycle_tid; /* CHAIN_CYCLE: the waker that is in the chain already */
};

/* Whether each link's main class is proven. (How the chain ends is another matter: CHAIN_UNKNOWN and others.) */
bool cause_is_proven(const struct cause *c);

void cause_find(struct cause *c, const struct timeline *tl, uint32_t tid, uint64_t begin_ns, uint64_t end_ns);

#endif
