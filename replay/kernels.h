/* SPDX-License-Identifier: Apache-2.0 */
/* What launches call: the kernels' names, as `kernel` rows tell them, by process and the function that was given. */
#ifndef GPUREC_REPLAY_KERNELS_H
#define GPUREC_REPLAY_KERNELS_H

#include "keys/demangle.h"
#include "replay/people.h"

#define NAME_SHOWN_MAX (DEMANGLED_MAX + TEXT_MAX + 1) /* for a name as people read it, or as it was */

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

/* Whether a field's text is a name as a compiler mangled it: of a frame's function, of a kernel. */
bool name_is_mangled(uint16_t kind, uint8_t field);
/* That name as people read it, or as it is if it is not mangled: a stranger's text. Returns its length. */
size_t name_shown(char buf[NAME_SHOWN_MAX], const struct event *ev, uint8_t field);

#endif
