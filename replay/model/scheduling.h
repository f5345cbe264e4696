/* SPDX-License-Identifier: Apache-2.0 */
/* How the kernel schedules a thread, as the latest row about it reports. */
#ifndef GPUREC_REPLAY_MODEL_SCHEDULING_H
#define GPUREC_REPLAY_MODEL_SCHEDULING_H

#include "format/cursor.h"

#define CPU_SETS_MAX 1024 /* kept; of threads with another one it is not known where they may run */

struct cpu_set {
	size_t nbytes;
	char list[]; /* as in the capture, see format/base/cpu_list.h */
};

/* Those that rows name; each is kept once, until the end. A zeroed one is empty. */
struct cpu_sets {
	struct cpu_set **all;
	size_t n, room;
};

struct scheduling {
	const struct cpu_set *cpus; /* where it may run; NULL: not known */
	bool known;                 /* the following */
	uint8_t policy;             /* POLICY_* */
	int8_t nice;
	uint8_t priority; /* of a real-time thread, 1 to 99 */
};

/* Take in a row of this kind. ERR_MEMORY. */
int scheduling_feed(struct scheduling *s, struct cpu_sets *sets, const struct event *ev, struct fault *why);

void cpu_sets_clear(struct cpu_sets *sets);

/* It goes before all that are not real-time. */
bool scheduling_is_real_time(const struct scheduling *s);

/* Of two that want one CPU that of the higher rank gets it, or more of it. Of a known one. */
int scheduling_rank(const struct scheduling *s);

/* 1: it may run there; 0: not; -1: not known. */
int scheduling_may_run(const struct scheduling *s, uint32_t cpu);

#endif
