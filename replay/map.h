/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table from a pair of numbers to an index. Answers do not depend on its inner order, and nobody iterates it. */
#ifndef GPUREC_REPLAY_MAP_H
#define GPUREC_REPLAY_MAP_H

#include <stddef.h>
#include <stdint.h>

struct map_slot {
	uint64_t a, b;
	uint32_t value; /* 0: free */
};

struct map {
	struct map_slot *slots;
	size_t nslots; /* a power of two, or 0 */
	size_t nused;
};

/* A zeroed struct map is an empty one. */
void map_clear(struct map *m);

/* The value of (a, b), 0 if there is none. */
uint32_t map_get(const struct map *m, uint64_t a, uint64_t b);

/* Set it; `value` is not 0. 0, or -1 without memory (nothing changed). */
int map_put(struct map *m, uint64_t a, uint64_t b, uint32_t value);

void map_remove(struct map *m, uint64_t a, uint64_t b);

#endif
