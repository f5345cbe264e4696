/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What waits for answers about processes and files (record/inspect/inspector.h), so that the loop which drains and
 * seals does not. Users take turns, so that what one of them does keeps another waiting for one question at most.
 */
#ifndef GPUREC_RECORD_DEFERRED_H
#define GPUREC_RECORD_DEFERRED_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/ring.h"
#include "format/base/fault.h"

#define DEFERRED_MAX 8192            /* that wait; */
#define DEFERRED_PROCESS_MAX 1024    /* of one process */
#define DEFERRED_USERS 64            /* whose turns are known */
#define DEFERRED_EACH_NS 5000000000u /* that one waits at most */

enum deferred_what {
	DEFERRED_MAPPED, /* a mapping is to be inspected */
	DEFERRED_WHOLE,  /* all that a process has mapped */
	DEFERRED_CODE,   /* the same, for the names of functions */
	DEFERRED_FACTS   /* what a process is */
};

struct deferred {
	enum deferred_what what;
	uint32_t pid, uid;
	uint64_t start_ns; /* FACTS: of the process */
	uint64_t since_ns;
	struct ring_mapped mapped; /* MAPPED */
	struct ring_exec *exec;    /* FACTS: NULL, or what the kernel side saw */
};

/* All zero: nothing waits. */
struct deferred_queue {
	struct deferred *list; /* in the order in which they came */
	size_t n, room;
	size_t current; /* is worked at; n: none */
	struct {
		uint32_t uid;
		uint64_t turn; /* its last one; 0: free */
	} users[DEFERRED_USERS];
	uint64_t turn;
};

/* *d waits from now on; exec, which may be NULL, is copied. False: there is no room, or no memory. */
bool deferred_add(struct deferred_queue *q, const struct deferred *d, const struct ring_exec *exec);
/* Who is to be worked at now: the same until it is removed. NULL: nobody waits. */
struct deferred *deferred_next(struct deferred_queue *q);
/* The one that deferred_next() returned is done with. */
void deferred_remove(struct deferred_queue *q);
void deferred_clear(struct deferred_queue *q);

#endif
