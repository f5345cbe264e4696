/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each thread was doing when: running on a CPU, runnable and waiting for one, or asleep, built in one pass from
 * the rows of kinds switch, waking, throttled, network, futex, fault, reclaim, fork, exit and the calls. All times are
 * boot clock, ns.
 *
 * A call or futex row arrives at its end, so the past of every thread is kept for a while: the last
 * TIMELINE_SPANS_MAX changes of state. What is older, lost, withheld or contradictory is *unknown*, never fine.
 *
 * What the rows prove:
 * - A thread ran at the begin and at the end of each of its call and futex rows, and was tracked from the begin on. So
 *   if the first switch row of a thread shows it leaving a CPU, it had run since the earliest such begin.
 * - The waker of a waking row, and the parent of a fork row, ran on that CPU at that moment.
 * - A waking row may stand before the switch row of the sleep that it ends (the kernel reports both under different
 *   locks). A sleep that ends without a waking row of its own, while one arrived since the thread last began to run, is
 *   such a case: it took no time, and what follows is waiting for a CPU.
 * - A throttled row says for how much of the time just before it the thread was kept from running by a CPU quota, from
 *   the moment on at which it was ready. Where there is none, a thread that left its CPU throttled was throttled for an
 *   unknown part of the time until it ran again: all of it counts as that.
 * - A thread that leaves its CPU while it could run on was preempted by the thread that gets the CPU, unless it was
 *   throttled, is moved to another CPU, gave the CPU up, or nobody gets it. One that runs next on another CPU, to which
 * it was not pulled because that was idle, may have waited there for most of the time.
 * - A switch row that says for which CPU the thread that enters has waited (next_queue) says, too, that all switches on
 *   that CPU since then have rows. Of a thread that was woken, and of which no row says that, it is the CPU that it
 *   enters.
 * - A thread that is seen to run although it was asleep, or the other way round, has rows missing: its state since the
 *   row before is unknown.
 */
#ifndef GPUREC_REPLAY_MODEL_TIMELINE_H
#define GPUREC_REPLAY_MODEL_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/fault.h"

#define TIMELINE_SPANS_MAX 512       /* kept for a thread */
#define TIMELINE_OCCUPANTS_MAX 4096  /* changes of occupant kept for a CPU */
#define TIMELINE_TAKEN_MAX 4096      /* looks at a CPU from which time was taken: enum taker */
#define TIMELINE_RECLAIMS_MAX 512    /* kept for a thread */
#define TIMELINE_BLIND_MAX 1024      /* blind intervals kept; older ones are joined, with what is between them */
#define TIMELINE_THREADS_MAX 1048576 /* threads followed; the others are unknown */
#define TIMELINE_CPUS_MAX 8192

#define TID_IDLE 0          /* a CPU's idle task */
#define TID_NONE UINT32_MAX /* not known */

/* A number of the capture as a thread id: what does not fit is no thread. */
static inline uint32_t as_tid(uint64_t v)
{
	return v < TID_NONE ? (uint32_t)v : TID_NONE;
}

enum state {
	STATE_UNKNOWN = 0,
	STATE_RUNNING,
	STATE_RUNNABLE,
	STATE_ASLEEP,
};

enum unknown_reason {
	UNKNOWN_NOT_SEEN = 0, /* before the first row about the thread, or it is not tracked */
	UNKNOWN_LOST,         /* rows were lost or withheld then */
	UNKNOWN_HISTORY,      /* longer ago than what is kept */
	UNKNOWN_CONTRADICTED, /* the rows around it do not fit together */
};

enum span_flags {
	SPAN_WOKEN = 1,        /* asleep: by `other_tid`, at the end */
	SPAN_IRQ = 2,          /* that was an interrupt (timer, device), no thread's doing */
	SPAN_FUTEX = 4,        /* asleep in `futex` */
	SPAN_TIMED_OUT = 8,    /* asleep in a futex until its time was up */
	SPAN_SIGNALLED = 16,   /* asleep in a futex until a signal came */
	SPAN_PREEMPTED = 32,   /* runnable: it was made to leave the CPU */
	SPAN_LOCK = 128,       /* asleep in a futex that, by the way it waited, is a lock (see timeline_futex()) */
	SPAN_FORKED = 64,      /* runnable: it has never run yet */
	SPAN_FAULT = 256,      /* asleep in a page fault */
	SPAN_IO = 512,         /* asleep until a block device has answered */
	SPAN_THROTTLED = 1024, /* runnable: the CPU quota of its control group was used up */
	SPAN_TIMED = 2048,     /* throttled: a row says for how long */
	SPAN_PINNED = 4096,    /* runnable: as far as is known it may run on one CPU only */
	SPAN_MOVED = 8192,    /* runnable: moved from the CPU that it left to the one where it ran next, at some time */
	SPAN_YIELDED = 16384, /* runnable: it gave the CPU up of its own accord */
	SPAN_FROZEN = 32768,  /* asleep: its control group is frozen */
	SPAN_MEMORY = 131072, /* running or asleep: to get memory, in the kernel; why, if that is known: */
	SPAN_LIMIT = 262144,  /* its control group, or one above, is at a limit */
	SPAN_COMPACT = 524288,  /* what is free does not lie in one piece */
	SPAN_HOST = 1048576,    /* the host has too little */
	SPAN_WRITES = 4194304,  /* asleep, with SPAN_IO: its writes are held back */
	SPAN_SWAP = 16777216,   /* asleep, with SPAN_MEMORY: until memory that had been swapped out was back */
	SPAN_TIMER = 8388608,   /* asleep: with SPAN_IRQ, that was the timer until which it slept */
	SPAN_NETWORK = 2097152, /* asleep: with SPAN_IRQ, for what came through a connection begun here */
	SPAN_WATCHED = 65536,   /* runnable: all switches on the CPU that it waited for have rows */
};

/* A piece of a thread's time. */
struct span {
	uint64_t begin_ns, end_ns;
	uint64_t futex;      /* address, with SPAN_FUTEX */
	uint32_t other_tid;  /* asleep: waker; runnable: whom the CPU was given to, or (not preempted) who had it last;
				or TID_NONE */
	uint32_t cpu;        /* running: where; runnable: where it waited */
	uint32_t task_state; /* asleep: the kernel's state bits */
	uint32_t flags;      /* enum span_flags */
	uint16_t syscall;    /* asleep: in which system call, its number + 1; 0: in none, or not reported */
	uint8_t state;       /* enum state */
	uint8_t reason;      /* unknown: enum unknown_reason */
};

#define SPAN_MEMORY_BITS (SPAN_MEMORY | SPAN_LIMIT | SPAN_COMPACT | SPAN_HOST | SPAN_SWAP)

/* In task_state, from include/linux/sched.h */
#define TASK_UNINTERRUPTIBLE_BIT 0x2
#define TASK_STOPPED_BIT 0x4
#define TASK_TRACED_BIT 0x8

/* A thread ended the sleep. */
static inline bool woken_by_task(const struct span *s)
{
	return s->flags & SPAN_WOKEN && !(s->flags & SPAN_IRQ);
}

/* It does not sleep for anything: it is stopped by a signal, traced, or frozen. */
static inline bool is_stop(const struct span *sleep)
{
	return sleep->flags & SPAN_FROZEN || sleep->task_state & (TASK_STOPPED_BIT | TASK_TRACED_BIT);
}

struct timeline;

int timeline_open(struct timeline **tl, struct fault *why);
void timeline_close(struct timeline *tl);

/*
 * The rows, in the order of time; of rows at the same time: forks, network rows, wakings of sleepers, throttled rows,
 * switches, other wakings, futex, fault and reclaim rows, calls. `v` are the values of the row, by field. All return 0
 * or ERR_MEMORY.
 */
/* *waited_ns: how long who got the CPU had been ready for one; 0: not at all, or not known. */
int timeline_switch(struct timeline *tl, const uint64_t *v, uint64_t *waited_ns, struct fault *why);
int timeline_throttled(struct timeline *tl, const uint64_t *v, struct fault *why);
int timeline_waking(struct timeline *tl, const uint64_t *v, struct fault *why);
int timeline_fork(struct timeline *tl, uint64_t at_ns, uint32_t parent_tid, uint32_t child_tid, struct fault *why);
int timeline_exit(struct timeline *tl, uint64_t at_ns, uint32_t tid, struct fault *why);

/* The thread ran at both ends of [begin_ns, at_ns], the later one on `cpu`: a call row. */
int timeline_call(struct timeline *tl, uint64_t begin_ns, uint64_t at_ns, uint64_t tid, uint32_t cpu,
		  struct fault *why);

/*
 * What a thread waits in that sleeps in this futex: two words that stand together are one, as those of a condition
 * variable of glibc's, in which a thread that looked sleeps on in the other one.
 */
static inline uint64_t futex_block(uint64_t addr)
{
	return addr & ~(uint64_t)7;
}

/*
 * Whether a wait goes on that was slept in for so long, when between the sleeps the thread was on a CPU for that long:
 * it looked, and did nothing else. In a virtual machine a look may take milliseconds, for the host had the CPU.
 */
static inline bool wait_goes_on(uint64_t slept_ns, uint64_t looked_ns)
{
	return looked_ns <= 1000000 + slept_ns / 4;
}

/*
 * What a thread waits in that sleeps there with a time limit: the same number for sleeps in the same futex, and for
 * those in the same system call; 0: it is not known. (Of a system call for futexes the address counts, which its own
 * row gives, at the end of the call.)
 */
static inline uint64_t wait_object(const struct span *sleep)
{
	switch (sleep->flags & SPAN_FUTEX ? 0 : sleep->syscall) {
	case 0:
		return sleep->flags & SPAN_FUTEX ? futex_block(sleep->futex) : 0;
	case 202 + 1: /* futex, on x86_64; */
	case 98 + 1:  /* on arm64; what else these are on the other one has no time limit */
	case 449 + 1: /* futex_waitv */
	case 455 + 1: /* futex_wait */
		return 0;
	default:
		return UINT64_MAX - sleep->syscall;
	}
}

struct futex_row {
	uint64_t begin_ns, at_ns;
	uint64_t addr;
	uint32_t pid;
	uint32_t tid;
	uint32_t cpu;
	uint32_t op; /* futex(2) command */
	uint64_t val;
	int64_t ret;
};

/*
 * As timeline_call(); sleeps inside it are sleeps in that futex, if the operation is one that waits. It is a lock if
 * the kernel knows its owner (the PI operations), or if the wait was for the value by which glibc, musl, Rust and LLVM
 * mark a lock as taken with others waiting: 2, in a plain FUTEX_WAIT, or the owner's tid with the bit FUTEX_WAITERS.
 * (Condition variables, semaphores and joins wait with FUTEX_WAIT_BITSET or for other values.)
 *
 * Who sleeps in a futex until its time is up, looks, and sleeps in it again, waits on: if a thread ends the last of
 * such sleeps, it ended them all, and none timed out. (CPython waits so for its interpreter lock, 5 ms at a time.) So
 * did a thread of its process that called wake for this futex while it was on its way out; or while it looked, and
 * found nobody asleep; or while it looked, and then let it on, that had to wait for a lock to look.
 */
int timeline_futex(struct timeline *tl, const struct futex_row *row, struct fault *why);

/* Recording ends, and it sleeps in that futex since begin_ns: no row of it will come. */
void timeline_in_futex(struct timeline *tl, uint64_t begin_ns, uint32_t tid, uint64_t addr);

/*
 * The thread ran at begin_ns; sleeps in [begin_ns, at_ns] are sleeps in that page fault. At at_ns it is about to run:
 * the row comes just before that of the switch, and does not prove that it has a CPU.
 */
void timeline_fault(struct timeline *tl, uint64_t begin_ns, uint64_t at_ns, uint32_t tid);

/*
 * The thread ran at both ends of [begin_ns, at_ns], the later one on `cpu`, and got memory in between. flags:
 * SPAN_MEMORY, with why. Of a thread the last TIMELINE_RECLAIMS_MAX such intervals are kept.
 */
int timeline_reclaim(struct timeline *tl, uint64_t begin_ns, uint64_t at_ns, uint32_t tid, uint32_t cpu, uint32_t flags,
		     struct fault *why);

/* What ends its sleep, if it sleeps, has come through a connection that was begun here. Just before the waking row. */
void timeline_network(struct timeline *tl, uint32_t tid);
/* What it sleeps for, if it sleeps, is memory that had been swapped out. Likewise. */
void timeline_swap_in(struct timeline *tl, uint32_t tid);
/* Since when it sleeps; NO_SLEEP: it does not, as far as is known. */
#define NO_SLEEP UINT64_MAX
uint64_t timeline_sleeps_since(const struct timeline *tl, uint32_t tid);

/* What takes time from whoever runs on a CPU, and does not show as another thread. */
enum taker { TAKER_HYPERVISOR, TAKER_INTERRUPTS, TAKERS };

/* A `cpu` row: what these have taken from this CPU since boot. */
int timeline_take(struct timeline *tl, uint64_t at_ns, uint32_t cpu, const uint64_t ns[TAKERS], struct fault *why);

/*
 * How much of [begin_ns, end_ns) one of them can at most have taken from the CPU, as far as `cpu` rows around it
 * report; 0 if they report nothing.
 */
uint64_t timeline_taken(const struct timeline *tl, uint32_t cpu, enum taker by, uint64_t begin_ns, uint64_t end_ns);

/* The capture shows which threads may run on one CPU only (SWITCH_PINNED). */
void timeline_reports_pins(struct timeline *tl);

/* Who reports whether a thread may run on a CPU: 1: it may; 0: it may not; -1: that is not known. */
void timeline_ask_cpus(struct timeline *tl, int (*may_run)(void *arg, uint32_t tid, uint32_t cpu), void *arg);

/*
 * A CPU other than that of a runnable piece which was idle for half of it or more, as far as rows report: what is not
 * recorded may have run there. *barred: the thread may not run there; one where it may comes first. CPU_NONE: none was,
 * or the capture does not show who is pinned.
 */
#define CPU_NONE UINT32_MAX
uint32_t timeline_idle_beside(const struct timeline *tl, uint32_t tid, const struct span *piece, bool *barred);

/* Rows of switch or waking are missing in [begin_ns, end_ns). Such intervals are reported in order, more or less. */
int timeline_blind(struct timeline *tl, uint64_t begin_ns, uint64_t end_ns, struct fault *why);

/*
 * Who reports since when a thread's process is tracked: UINT64_MAX: not that it knows. Besides, its own call, futex and
 * exit rows show it, and a waking row that names it (only of sleeps of tracked threads the end is reported). Before
 * that moment a thread's doings are unknown: rows without it were not recorded.
 */
void timeline_ask_tracked(struct timeline *tl, uint64_t (*since_ns)(void *arg, uint32_t tid), void *arg);

/*
 * `full` is called before the past of a thread begins to go: who still wants what came before until_ns must look at it
 * then, by timeline_walk().
 */
void timeline_watch(struct timeline *tl, void (*full)(void *arg, uint32_t tid, uint64_t until_ns), void *arg);

/* Another thread has this number from now on. */
void timeline_forget(struct timeline *tl, uint32_t tid);

/* Whether it is known to have run all the time since then: what timeline_walk() would say at more length. */
bool timeline_ran(const struct timeline *tl, uint32_t tid, uint64_t since_ns);

/*
 * Call `visit` for the pieces of the thread's time in [begin_ns, end_ns), in order, without gap or overlap, unknown
 * ones included. `end_ns` must not be after the last row reported. Pieces are cut at the window; flags that speak of a
 * piece's end (woken, timed out, signalled) are on it also when the end was cut off.
 */
void timeline_walk(const struct timeline *tl, uint32_t tid, uint64_t begin_ns, uint64_t end_ns,
		   void (*visit)(void *arg, const struct span *piece), void *arg);

/*
 * Whether the thread, which runs as far as is known, was off the CPUs from `left_ns`, when it left one, until it began
 * to run. *ready_ns: since when it could have run; UINT64_MAX: not known.
 */
bool timeline_absence(const struct timeline *tl, uint32_t tid, uint64_t left_ns, uint64_t *ready_ns);

/* Who started the thread, and when: of a fork row. TID_NONE: there was no such row. */
uint32_t timeline_started_by(const struct timeline *tl, uint32_t tid, uint64_t *at_ns);

/* What the thread did last before what it does now, as its rows alone report. False: nothing is kept. */
bool timeline_last(const struct timeline *tl, uint32_t tid, struct span *last);

/*
 * Who had a CPU for a while. Switches between threads that are not recorded have no rows: of several such that follow
 * each other the first and the last are known.
 */
struct occupant {
	uint64_t begin_ns, end_ns;
	uint32_t first_tid, last_tid; /* TID_IDLE: nobody had it */
};

/*
 * Of an occupant in a wait for that CPU that began at begin_ns: whether last_tid had the CPU all the time. If all
 * switches of the wait have rows (SPAN_WATCHED), that one came before its begin.
 */
static inline bool occupant_is_last(const struct occupant *o, uint32_t flags, uint64_t begin_ns)
{
	return o->first_tid == o->last_tid || (flags & SPAN_WATCHED && o->begin_ns == begin_ns);
}

/*
 * Who had the CPU in [begin_ns, end_ns): `visit` is called for each stretch of which something is known, in order, cut
 * to that time.
 */
void timeline_occupants(const struct timeline *tl, uint32_t cpu, uint64_t begin_ns, uint64_t end_ns,
			void (*visit)(void *arg, const struct occupant *o), void *arg);

/* "S", "D", ...: the letter that ps shows for task state bits; "?" for others. */
const char *task_state_letter(uint32_t task_state);

#endif
