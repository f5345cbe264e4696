/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A picture of one occurrence: what its thread, and those that the chain of causes goes back to, did from a little
 * before it began until it ended. A row for each thread, cut into pieces in order of time, without gap or overlap.
 */
#ifndef GPUREC_ANALYZE_REPORT_PICTURE_TIMELINE_H
#define GPUREC_ANALYZE_REPORT_PICTURE_TIMELINE_H

#include "replay/model/cause.h"

#define SCENE_ROWS_MAX 4    /* the thread, wakers, and who had the last one's CPU */
#define SCENE_PIECES_MAX 48 /* in a row; the shortest neighbours beyond are joined */

struct scene_piece {
	uint64_t begin_ns, end_ns;
	uint64_t futex;   /* CAUSE_FUTEX */
	uint32_t tid;     /* FUTEX, ASLEEP and the like: the waker; RUNNABLE: who had the CPU; TID_NONE: not known */
	uint32_t cpu;     /* CPU, RUNNABLE */
	uint32_t syscall; /* IO, ASLEEP: number + 1; 0: not reported */
	uint32_t flags;   /* enum span_flags */
	uint8_t class;    /* enum cause_class */
	bool joined;      /* several pieces, too short to draw apart; `class` is that of most of the time */
};

struct scene_row {
	uint32_t tid; /* explained_who() of the occurrence's cause has its name */
	unsigned npieces;
	struct scene_piece *pieces; /* owned */
};

struct scene {
	uint64_t begin_ns, end_ns; /* what is drawn: a quarter more than the occurrence, before it */
	unsigned nrows; /* row 0: the thread itself; each further one ended a sleep of the row before, or had its CPU */
	struct scene_row rows[SCENE_ROWS_MAX];
};

/* NULL: no memory. `c` is the cause of [begin_ns, end_ns] on its first link's thread. */
struct scene *scene_make(const struct timeline *tl, const struct cause *c, uint32_t keeper_tid);
void scene_free(struct scene *s);

#endif
