/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For whom a thread waited: of each thread a short list, by how much time. Sums of it are the thread's time in the
 * parts of the ledger that say that it waited for a task.
 */
#ifndef GPUREC_REPLAY_MODEL_WAITED_FOR_H
#define GPUREC_REPLAY_MODEL_WAITED_FOR_H

#include "replay/model/cause.h"
#include "replay/model/tasks.h"

/*
 * Of one thread. Beyond that who kept it waiting the least makes room, and is counted as not known: who keeps it
 * waiting a lot comes back and stays.
 */
#define WAITED_FOR_MAX 32

/* A shorter wait is its waker's doing, or that of who had the CPU: what kept that one from working is not followed. */
#define WAITED_FOLLOWED_NS 1000000

/* Who kept a thread waiting in one piece of its time. */
struct whom {
	uint32_t tid;    /* TID_IDLE: nobody, the CPU was idle; TID_NONE: not known, or nobody came */
	uint32_t thread; /* number of its instance; 0: nothing had named it by then */
	uint8_t did;     /* enum cause_class: what it did itself */
	bool more;       /* the same wait as the stretch before, in which it did something else */
};

struct waited_for {
	struct whom whom;
	uint8_t part; /* enum ledger_part */
	uint64_t ns, count;
	uint64_t idle_ns, left_ns;      /* of ns: the GPU had no work, or had some: see ledger_idle(), ledger_left() */
	uint64_t did_ns[CAUSE_CLASSES]; /* their sum is ns; CAUSE_UNKNOWN: not followed, too */
};

/* A zeroed one is empty. */
struct waited_list {
	struct waited_for *all;
	size_t n, room;
};

void waited_clear(struct waited_list *list);
/* It will not grow: give back what it has room for beyond that. */
void waited_fit(struct waited_list *list);

/* One more stretch of `ns`. False: no memory. */
bool waited_add(struct waited_list *list, unsigned part, const struct whom *whom, uint64_t ns);

/* So much of what it has there was without work; or, `left`, with some. */
void waited_work(struct waited_list *list, unsigned part, const struct whom *whom, uint64_t ns, bool left);

/* Append all of `from`, of another thread. False: no memory. After the last of them: waited_merge(). */
bool waited_gather(struct waited_list *list, const struct waited_list *from);
/* Those of the same part and whom become one; sorted. */
void waited_merge(struct waited_list *list);

/* Most time first. */
void waited_sort(struct waited_list *list);

/* What it did for more than half of that time; CAUSE_UNKNOWN: nothing, or that is not known. */
enum cause_class waited_did(const struct waited_for *w);

/*
 * Call `visit` for the stretches of a piece in which the thread slept or lacked a CPU, in order and without gap: each
 * with who kept it waiting. A wait that was ended by a thread is followed to the one that did not wait for another
 * (cause_find(), in *scratch; NULL: it is not followed), and from one that began only meanwhile to who started it. If
 * that one did several things, the wait is cut in their proportion: when it did which is not said so.
 */
void waited_visit(struct cause *scratch, const struct timeline *tl, const struct tasks *tasks, uint32_t tid,
		  const struct span *piece,
		  void (*visit)(void *arg, const struct span *stretch, const struct whom *whom), void *arg);

#endif
