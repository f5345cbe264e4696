/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Items on the heap, found by a pair of numbers. They are kept in the order in which they were added (a removal puts
 * the last one in the gap), so that walking the table is the same on every machine.
 */
#ifndef GPUREC_FORMAT_BASE_TABLE_H
#define GPUREC_FORMAT_BASE_TABLE_H

#include "format/base/map.h"

/* Every item begins with one; it must not be changed. */
struct table_key {
	uint64_t a, b;
};

/*
 * A hash of some bytes more (FNV-1a), from TABLE_HASH on: for a key that is a text. Who chooses the texts can make two
 * of them the same.
 */
#define TABLE_HASH 0xcbf29ce484222325ull
static inline uint64_t table_hash(uint64_t hash, const void *bytes, size_t n)
{
	const uint8_t *p = bytes;

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ p[i]) * 0x100000001b3ull;
	return hash;
}

/* A zeroed one is empty and ready. */
struct table {
	struct table_key **items; /* nitems of them; each is calloc()ed and owned by the table */
	size_t nitems;
	size_t items_room;
	struct map index;          /* place in items plus 1 */
	struct table_key **recent; /* TABLE_RECENT items that were looked up lately; NULL at first */
	struct table_key ***pages; /* items with b = 0 and a < ndirect, by a */
	size_t ndirect;            /* TABLE_DIRECT; 0 at first */
};

#define TABLE_DIRECT (1U << 22) /* threads and processes have such numbers */
#define TABLE_PAGE 2048

#define TABLE_RECENT 512

/* Events come in runs about the same few keys: where the item of a key is kept at hand. */
static inline struct table_key **table_recent(const struct table *t, uint64_t a, uint64_t b)
{
	uint64_t both = a ^ b ^ b / 4096;

	return &t->recent[(both ^ both / 64) & (TABLE_RECENT - 1)];
}

/* As table_find(), for keys that are neither found by number nor at hand. */
void *table_search(const struct table *t, uint64_t a, uint64_t b);

/* As table_find(a, 0), for those that are found by number alone; NULL: it is not there, or has to be searched for. */
static inline void *table_at(const struct table *t, uint64_t a)
{
	return a < t->ndirect ? t->pages[a / TABLE_PAGE][a % TABLE_PAGE] : NULL;
}

/* As table_find(), for those that were looked up lately; NULL: it is not there, or has to be searched for. */
static inline void *table_at_hand(const struct table *t, uint64_t a, uint64_t b)
{
	struct table_key *known = t->recent ? *table_recent(t, a, b) : NULL;

	return known && known->a == a && known->b == b ? known : NULL;
}

/* The item, or NULL. It stays where it is until it is removed. */
static inline void *table_find(const struct table *t, uint64_t a, uint64_t b)
{
	void *known;

	if (b == 0 && a < t->ndirect)
		return table_at(t, a);
	known = table_at_hand(t, a, b);
	return known ? known : table_search(t, a, b);
}

/* A zeroed item of `size` bytes under a key that is not there yet; NULL: no memory, and nothing changed. */
void *table_add(struct table *t, uint64_t a, uint64_t b, size_t size);

/* Removes and frees the item under the key, if there is one. */
void table_remove(struct table *t, uint64_t a, uint64_t b);

/* Removes and frees all items. What they point to is the caller's. */
void table_clear(struct table *t);

#endif
