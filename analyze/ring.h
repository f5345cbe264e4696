/* SPDX-License-Identifier: Apache-2.0 */
/* The last so many intervals of something, oldest first, by their ends. For the timeline's files only. */
#ifndef GPUREC_ANALYZE_RING_H
#define GPUREC_ANALYZE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define CACHE_LINE_BYTES 64

/* Every item begins with one. */
struct interval {
	uint64_t begin_ns, end_ns;
};

/* A zeroed one is empty. */
struct ring {
	unsigned char *items;
	size_t item_bytes;
	unsigned room, first, n;
	bool truncated; /* older ones have been dropped */
};

/* Make room for more, up to `max`. False: no memory, nothing changed. */
__attribute__((cold)) bool ring_grow(struct ring *r, size_t item_bytes, unsigned max);

/* Item `i` of n, 0 the oldest. */
static inline void *ring_at(const struct ring *r, unsigned i)
{
	unsigned at = r->first + i;

	return r->items + (size_t)(at < r->room ? at : at - r->room) * r->item_bytes;
}

/* Append a copy of `item`, and give it out; beyond `max` the oldest goes. NULL: no memory, nothing changed. */
static inline void *ring_push(struct ring *r, const void *item, size_t item_bytes, unsigned max)
{
	unsigned end;
	unsigned char *at;

	if (r->n == r->room && r->room < max && !ring_grow(r, item_bytes, max))
		return NULL;
	if (r->n < r->room) {
		end = r->first + r->n++;
		end = end < r->room ? end : end - r->room;
	} else {
		end = r->first;
		r->first = end + 1 < r->room ? end + 1 : 0;
		r->truncated = true;
	}
	at = r->items + end * item_bytes;
	__builtin_prefetch(at + CACHE_LINE_BYTES, 1); /* where the next ones go: many rings take turns */
	return memcpy(at, item, item_bytes);
}

/* The first item that ends after `at_ns`; n if there is none. */
unsigned ring_first_after(const struct ring *r, uint64_t at_ns);

void ring_clear(struct ring *r);

#endif
