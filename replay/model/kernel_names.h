/* SPDX-License-Identifier: Apache-2.0 */
/* What launches call: the kernels' names, as `kernel` rows report them, by process and the function that was given. */
#ifndef GPUREC_REPLAY_MODEL_KERNEL_NAMES_H
#define GPUREC_REPLAY_MODEL_KERNEL_NAMES_H

#include "replay/demangle/demangle.h"
#include "replay/model/tasks.h"

#define NAME_SHOWN_MAX (DEMANGLED_MAX + TEXT_MAX + 1) /* for a name as people read it, or as it was */

struct kernel_name {
	char *terminal; /* demangled and escaped for a terminal */
	char *json;     /* the same inside a JSON string */
};

struct kernels {
	struct kernel_name *names; /* numbered from 1 */
	uint32_t nnames;
	size_t names_room;
	uint32_t max;           /* names that are kept; 0: no limit; set by the owner */
	uint64_t nbeyond;       /* rows that were not kept for it */
	struct map by_function; /* (number of the process, function) -> name */
};

/* A zeroed struct kernels knows none. */
void kernels_clear(struct kernels *k);

/* Take in the next event, that the tasks have been fed. ERR_MEMORY. */
int kernels_see(struct kernels *k, const struct tasks *tasks, const struct event *ev, struct fault *why);

/* The kernel that a process knows by this function; NULL: no row reported it. */
const struct kernel_name *kernels_find(const struct kernels *k, uint32_t process, uint64_t function);

/* The kernel that a launch started; NULL: the event is none, or its kernel is not reported. */
const struct kernel_name *kernels_of(const struct kernels *k, const struct tasks *tasks, const struct event *ev);

/* Whether a field's text is a name as a compiler mangled it: of a frame's function, of a kernel. */
bool name_is_mangled(uint16_t kind, uint8_t field);
/* That name as people read it, or as it is if it is not mangled: a stranger's text. Returns its length. */
size_t name_shown(char buf[NAME_SHOWN_MAX], const struct event *ev, uint8_t field);

#endif
