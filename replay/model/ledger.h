/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the time of threads went: all of it since they were recorded, in parts that exclude each other and add up to
 * it, to the nanosecond. Of what the timeline knows, and of which calls a thread was in. There is no threshold: what is
 * short counts as well.
 *
 * A thread's time is settled up to the end of its outermost calls (some of them at a time), and of the thread, and when
 * the capture ends: what is settled does not change, but that first calls are known to have been longer than usual
 * (replay/model/first_calls.h) only once their process is over, or the capture. It is cut into slices of the capture,
 * too, which are a second long, and twice as long whenever there would be more than LEDGER_SLICES of them.
 */
#ifndef GPUREC_REPLAY_MODEL_LEDGER_H
#define GPUREC_REPLAY_MODEL_LEDGER_H

#include "format/base/table.h"
#include "format/cursor.h"
#include "replay/model/first_calls.h"
#include "replay/model/gpu_work.h"
#include "replay/model/waited_for.h"

#define LEDGER_THREADS_MAX 65536
#define LEDGER_SLICED_MAX 1024 /* of them, with slices */
#define LEDGER_SLICES 600
#define LEDGER_SLICE_NS 1000000000ULL /* at first */
#define LEDGER_AGAIN (1ULL << 32)
#define LEDGER_STAYS 64         /* of a thread that are settled together, and how much of its time at most: */
#define LEDGER_STAYS_NS 1000000 /* later, less may be known of others */
#define LEDGER_PIECES_MAX 16384 /* of a thread that are not settled and no longer in the timeline; */
#define LEDGER_EARLY_MAX 2048   /* and of one that made no call yet */

/* P(name, key in SQL and JSON, letter in a report's strip, words) */
#define LEDGER(P)                                                                                                      \
	P(CALLS, calls, 'c', "in GPU calls: launching, copying, allocating")                                           \
	P(FIRST, first, 'f', "in first calls, beyond what later ones take: loading, compiling")                        \
	P(GPU, gpu, 'g', "waiting for the GPU")                                                                        \
	P(OWN, own, 'o', "on a CPU in its own code")                                                                   \
	P(CPU, cpu, 'w', "waiting for a CPU")                                                                          \
	P(QUOTA, quota, 'q', "out of CPU quota")                                                                       \
	P(TASK, task, 't', "waiting for another thread or process")                                                    \
	P(DEVICE, device, 'd', "waiting for a disk")                                                                   \
	P(NETWORK, network, 'n', "waiting for the network: for what came through a connection begun here")             \
	P(MEMORY, memory, 'm', "short of memory: freeing some in the kernel, or waiting for it")                       \
	P(KERNEL, kernel, 'k', "in the kernel: page faults, memory maps")                                              \
	P(STOPPED, stopped, 's', "stopped or frozen")                                                                  \
	P(CHOICE, choice, '.', "asleep until a time, or until something came from outside")                            \
	P(OPEN, open, 'e', "in a GPU call or a sleep that had not ended when recording did")                           \
	P(UNKNOWN, unknown, '?', "unknown")

#define LEDGER_PART(name, key, letter, words) LEDGER_##name,
enum ledger_part { LEDGER(LEDGER_PART) LEDGER_PARTS };

const char *ledger_part_key(enum ledger_part part);
const char *ledger_part_words(enum ledger_part part);
char ledger_part_letter(enum ledger_part part);
/* The part with the most time. */
enum ledger_part ledger_most(const uint64_t ns[LEDGER_PARTS]);

struct ledger_slice {
	uint64_t ns[LEDGER_PARTS];
};

/* How a thread was stopped. */
enum ledger_stop { STOP_SIGNALLED, STOP_TRACED, STOP_FROZEN, LEDGER_STOPS };

/* By a span's. */
static inline enum ledger_stop ledger_stop_of(uint32_t flags, uint32_t task_state)
{
	if (flags & SPAN_FROZEN)
		return STOP_FROZEN;
	return task_state & TASK_TRACED_BIT ? STOP_TRACED : STOP_SIGNALLED;
}

/* What a thread is in; of a piece of its time it is known later. */
enum ledger_where { LEDGER_OUTSIDE, LEDGER_IN_CALL, LEDGER_IN_WAIT, LEDGER_WHERES };

/* What it was in, from the end of the one before it. */
struct ledger_stay {
	uint64_t end_ns;
	enum ledger_where where;
};

/* A piece of its time, from the end of the one before it. */
struct ledger_piece {
	uint64_t end_ns;
	uint64_t object;             /* it slept in that until its time was up, and may go on; 0: it did not */
	struct whom whom;            /* kept it waiting */
	uint8_t part[LEDGER_WHERES]; /* that it belongs to, if the thread is there */
	uint8_t stop;                /* enum ledger_stop, if that is LEDGER_STOPPED */
};

struct ledger_thread {
	struct table_key key; /* a: tid, b: instance, and LEDGER_AGAIN for each earlier one that had both */
	uint64_t begin_ns;    /* recorded from then on */
	uint64_t end_ns;      /* settled up to here: sum of ns[] = end_ns - begin_ns */
	uint64_t open_ns;     /* when it entered the call that it is in when recording ends; 0: none */
	uint64_t nfed;        /* calls that give the GPU work */
	uint32_t born;        /* its process, if the begin of that was recorded; 0: it was not; set at its first call */
	bool called;
	bool ended;
	bool sliced;
	uint64_t ns[LEDGER_PARTS];
	struct waited_list waited;   /* of parts that wait for a task: see ledger_names() */
	struct waited_list stops;    /* of LEDGER_STOPPED, by enum ledger_stop in place of a part: who let it go on */
	struct ledger_slice *slices; /* sums of them are ns[] */
	size_t nslices, slices_room;
	size_t first_slice;                /* since the ledger's begin */
	uint64_t slice_ns;                 /* how long these are: the ledger's, or less and yet to be joined */
	uint64_t latest_ns, latest_end_ns; /* the last of them, or a half of it, ...; 0: none */
	struct ledger_piece *pieces;       /* from end_ns on, without gap: what the timeline no longer keeps */
	size_t npieces, pieces_room;
	struct ledger_stay *stays; /* LEDGER_STAYS; NULL at first: from end_ns on, yet to be settled together */
	size_t nstays;
	struct gpu_process *gpu;   /* its process' work; NULL: that is not known; set at its first call */
	uint32_t device;           /* that its calls are for */
	bool open_feeds;           /* the call that it is in when recording ends gives the GPU work */
	uint64_t *idle_ns;         /* of ns[]: see ledger_idle(); NULL: none */
	uint64_t *left_ns;         /* the same, ledger_left() */
	struct waited_list idling; /* its time since idling_ns, in which its process had no work so far, or may have
				      had some all the time: see idle_counts() */
	uint64_t idling_ns;
	uint64_t idling_nfed;       /* by so many calls that had been given; 0: it had none */
	struct waited_list earlier; /* what it had there before the latest of these calls, */
	uint64_t earlier_nfed;      /* since so many */
	uint64_t first_idle_ns[2]; /* what was moved to LEDGER_FIRST was such time in LEDGER_CALLS, and in LEDGER_KERNEL
				    */
};

struct ledger_by_tid {
	struct table_key key; /* a: tid */
	struct ledger_thread *thread;
};

/* A zeroed one is empty, but for what ledger_open() sets. */
struct ledger {
	const struct timeline *timeline;
	const struct tasks *tasks; /* set by its owner; NULL: who is who is not known yet */
	struct table threads;      /* struct ledger_thread */
	struct table latest;       /* by tid: struct ledger_by_tid */
	uint64_t begin_ns;         /* of the capture */
	uint64_t slice_ns;
	uint64_t nsliced;
	uint64_t over_ns; /* recording ended then; 0: not yet */
	uint64_t nbeyond; /* threads beyond LEDGER_THREADS_MAX, as often as they were met */
	bool failed;      /* memory was missing */
	bool calling;
	const struct schema *schema; /* set by its owner; NULL: when processes had no work is not followed */
	struct gpu_work work;
	struct first_calls firsts;
	struct first_call *first; /* the first call whose time is being settled; NULL: none is */
	struct cause scratch;
};

/*
 * What happened is asked of the timeline, which has taken in each row before the ledger does. calling: threads that end
 * without a call are dropped.
 */
void ledger_open(struct ledger *l, uint64_t begin_ns, const struct timeline *tl, bool calling);
void ledger_clear(struct ledger *l);

/* Whether it is known of such a part for whom the thread waited: its waited list has all of that time. */
static inline bool ledger_names(enum ledger_part part)
{
	return part == LEDGER_TASK || part == LEDGER_CPU;
}

/* The thread that has this number, or had it last. NULL: it is not recorded, or it ended and had made no call. */
const struct ledger_thread *ledger_find(const struct ledger *l, uint64_t tid);

/* Whether that one did. */
bool ledger_fed(const struct ledger *l, uint64_t tid);

/*
 * Of the time in each part, how much the process of the thread is known to have had no work on a GPU (gpu_work.h),
 * until this thread gave it some, or it ended, or recording did. So of several threads that feed the GPU only the one
 * counts that was the next to do it. NULL: that is not known.
 */
const uint64_t *ledger_idle(const struct ledger_thread *t);

/*
 * Once all is settled: how the time of ledger_find() since since_ns went, of which the ledger knows whole slices only.
 * Returns when the first of these begins; NO_TIME: there is none, and ns[] is zeroed.
 */
uint64_t ledger_spent(const struct ledger *l, uint64_t tid, uint64_t since_ns, uint64_t ns[LEDGER_PARTS]);

/*
 * Of the time in each part, how much the GPU is known to have had work of the process that was not done: what held this
 * thread up since the process gave it some, until a call of this thread showed that it was left. NULL: that is not
 * known. With ledger_idle() no more than the time in the part.
 */
const uint64_t *ledger_left(const struct ledger_thread *t);

/* Since when the thread is recorded: its process is, and it began. */
uint64_t ledger_since(const struct tasks *tasks, const struct thread *thread);

/* The kind of the call that an in_flight row says a thread is in when recording ends; 0: it says something else. */
uint16_t ledger_open_call(const struct schema *schema, const struct event *ev);

/*
 * A thread of a process instance that is recorded since `since_ns`, known or new. NULL: beyond LEDGER_THREADS_MAX, or
 * no memory.
 */
struct ledger_thread *ledger_meet(struct ledger *l, uint64_t tid, uint64_t instance, uint64_t since_ns);

/* Another thread has this number from now on. */
void ledger_forget(struct ledger *l, uint64_t tid);

/* The timeline will not keep what came before until_ns: see timeline_watch(). */
void ledger_keep(struct ledger *l, struct ledger_thread *t, uint64_t until_ns);

/* An outermost call of this thread, that is over. */
void ledger_call(struct ledger *l, struct ledger_thread *t, const struct event *ev);
/* It is in such a call since begin_ns, and recording ends. */
void ledger_in_flight(struct ledger_thread *t, uint16_t kind, uint64_t begin_ns);
/* An exec row: the process has another program, of which nobody knows for which GPU its calls are. */
void ledger_exec(struct ledger *l, const struct event *ev);
/* An exit row, that the tasks have been fed: the thread ended, which may be unknown. */
void ledger_leave(struct ledger *l, const struct event *ev);

/* The capture is over: all are settled, all slices are of one length, and waited lists are sorted. ERR_MEMORY, also of
 * what failed before. */
int ledger_finish(struct ledger *l, uint64_t now_ns, struct fault *why);

#endif
