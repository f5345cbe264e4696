/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hash table of the project: from a pair of numbers to a number, which most often is an index. It cannot be
 * iterated, so that no answer depends on its inner order. table.h keeps items in one.
 */
#ifndef GPUREC_FORMAT_BASE_MAP_H
#define GPUREC_FORMAT_BASE_MAP_H

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

/* Finalizer of splitmix64 (Steele, Lea, Flood 2014): numbers that differ in few bits land far apart. */
static inline uint64_t map_mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static inline size_t map_home(const struct map *m, uint64_t a, uint64_t b)
{
	return (size_t)map_mix((a + 1) * 0x9e3779b97f4a7c15u ^ b) & (m->nslots - 1);
}

/* Its slot, or the free one where it belongs. There is always a free one. */
static inline struct map_slot *map_slot_of(const struct map *m, uint64_t a, uint64_t b)
{
	size_t i = map_home(m, a, b);

	while (m->slots[i].value && (m->slots[i].a != a || m->slots[i].b != b))
		i = (i + 1) & (m->nslots - 1);
	return &m->slots[i];
}

/* The value of (a, b), 0 if there is none. */
static inline uint32_t map_get(const struct map *m, uint64_t a, uint64_t b)
{
	return m->nslots ? map_slot_of(m, a, b)->value : 0;
}

/* Set it; `value` is not 0. 0, or -1 without memory (nothing changed; one that is there needs none). */
int map_put(struct map *m, uint64_t a, uint64_t b, uint32_t value);

/* Remove it, if it is there. */
void map_remove(struct map *m, uint64_t a, uint64_t b);

#endif
