/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much memory a process holds at every moment, by the rules of the SQL view: the outer of nested calls counts, and
 * only if it succeeded; a free means the oldest allocation at its address that was complete when it began; the exit of
 * a process gives back the rest.
 */
#ifndef GPUREC_REPLAY_MEMORY_H
#define GPUREC_REPLAY_MEMORY_H

#include "replay/walk.h"

#define MEMORY_KINDS 7 /* MEM_DEVICE ... MEM_REGISTERED; 0: one that this build does not know */

struct memory_block;

struct memory {
	struct memory_block *blocks; /* numbered from 1 */
	uint32_t nblocks, blocks_room, unused;
	struct map open;                /* (process, address) -> oldest block */
	uint64_t (*held)[MEMORY_KINDS]; /* bytes, by number of the process */
	uint32_t nheld;
};

/* A zeroed struct memory knows of nothing. */
void held_clear(struct memory *m);

/* Take in the next event. *process: the number of the one whose sums changed, 0: none. ERR_MEMORY. */
int held_see(struct memory *m, const struct walk *w, const struct event *ev, uint32_t *process, struct fault *why);

/* Bytes that a process holds of a kind of memory. */
uint64_t held_bytes_of(const struct memory *m, uint32_t process, unsigned kind);

/* "device", "managed", ... */
const char *held_word(unsigned kind);

#endif
