/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks by their number, with the files their frames lie in. Read ahead: a stack may come after its first event. */
#ifndef GPUREC_REPLAY_MODEL_STACKS_H
#define GPUREC_REPLAY_MODEL_STACKS_H

#include "replay/model/walk.h"

struct frame {
	uint64_t address, offset;
	char *symbol;    /* escaped for a terminal; "": unknown */
	uint32_t module; /* its id, 0: none */
};

struct stacks {
	struct frame *frames; /* numbered from 1 */
	uint32_t nframes;
	size_t frames_room;
	char **paths; /* of modules, escaped for a terminal, by number from 1 */
	uint32_t npaths;
	size_t paths_room;
	struct map by_depth; /* (stack, depth) -> frame */
	struct map by_module;
};

#define STACK_DEPTH_MAX 1024 /* frames of a stack that are shown */

/* A zeroed struct stacks has none. */
void stacks_clear(struct stacks *s);

/* All of a capture, in a pass of its own, whatever its filter says. Errors as walk(); also WALK_STOPPED. */
int stacks_read(struct stacks *s, const struct replay *replay, struct fault *why);

/* The frame at `depth` (0: the caller of the probed function), NULL: the stack is not that deep, or not reported. */
const struct frame *stacks_frame(const struct stacks *s, uint64_t stack, uint32_t depth);

/* How deep it is, up to STACK_DEPTH_MAX. */
uint32_t stacks_depth(const struct stacks *s, uint64_t stack);

/* What to call a frame: its symbol, else file+offset, else its address. */
void stacks_describe(const struct stacks *s, const struct frame *f, char *buf, size_t size);

#endif
