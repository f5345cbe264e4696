/* SPDX-License-Identifier: Apache-2.0 */
/* What launches call: the kernels' names, as `kernel` rows tell them, by process and the function that was given. */
#ifndef GPUREC_REPLAY_KERNELS_H
#define GPUREC_REPLAY_KERNELS_H

#include "replay/people.h"

struct kernel_name {
	char *terminal; /* demangled and escaped for a terminal */
	char *json;     /* the same inside a JSON string */
};

struct kernels {
	struct kernel_name *names; /* numbered from 1 */
	uint32_t nnames, names_room;
	struct map by_function; /* (number of the process, function) -> name */
};

/* A zeroed struct kernels knows none. */
void kernels_clear(struct kernels *k);

/* Take in the next event, which `people` has seen. ERR_MEMORY. */
int kernels_see(struct kernels *k, const struct people *people, const struct event *ev, struct fault *why);

/* The kernel that a launch started; NULL: the event is none, or its kernel is not told. */
const struct kernel_name *kernels_of(const struct kernels *k, const struct people *people, const struct event *ev);

#endif
