/* SPDX-License-Identifier: Apache-2.0 */
/* The last so many intervals of something, oldest first, by their ends. For the timeline's files only. */
#ifndef GPUREC_REPLAY_MODEL_RECENT_INTERVALS_H
#define GPUREC_REPLAY_MODEL_RECENT_INTERVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CACHE_LINE_BYTES 64

/* Every item begins with one. */
struct interval {
	uint64_t begin_ns, end_ns;
};

/* A zeroed one is empty. One place in the room, that at `next`, is free: what is written there is not yet an item. */
struct ring {
	unsigned char *items, *next, *limit; /* the room; where the next one goes; the room's end */
	size_t item_bytes;
	bool truncated; /* older ones have been dropped: the oldest is behind `next` */
};

#define RING_SPARE 8 /* places */

/* Whether one more can be added and leaves RING_SPARE of them free. */
static inline bool ring_has_room(const struct ring *r, size_t item_bytes)
{
	return (size_t)(r->limit - r->next) > RING_SPARE * item_bytes;
}

/* What is at `next` is an item now; there is room. */
static inline void *ring_keep(struct ring *r, size_t item_bytes)
{
	unsigned char *at = r->next;

	r->next = at + item_bytes;
	__builtin_prefetch(at + 2 * CACHE_LINE_BYTES, 1); /* where the next ones go: many rings take turns */
	return at;
}

/* The same where there is none: the room grows, if need be; at `max` items the oldest goes. NULL: no memory, nothing
 * changed. */
__attribute__((cold)) void *ring_keep_more(struct ring *r, size_t item_bytes, unsigned max);

/*
 * Whether the oldest will go soon, before this is true again. It is RING_SPARE times in a round, so that who looks each
 * time at all but the latest RING_SPARE - 2 misses none.
 */
static inline bool ring_is_full(const struct ring *r, size_t item_bytes, unsigned max)
{
	return (size_t)(r->limit - r->items) / item_bytes > max && !ring_has_room(r, item_bytes);
}

/* How many there are. */
static inline unsigned ring_n(const struct ring *r)
{
	if (!r->items)
		return 0;
	return r->truncated ? (unsigned)((size_t)(r->limit - r->items) / r->item_bytes) - 1
			    : (unsigned)((size_t)(r->next - r->items) / r->item_bytes);
}

/* Item `i` of so many, 0 the oldest. */
static inline void *ring_at(const struct ring *r, unsigned i)
{
	size_t at = (r->truncated ? (size_t)(r->next - r->items) + r->item_bytes : 0) + i * r->item_bytes;
	size_t room = (size_t)(r->limit - r->items);

	return r->items + (at < room ? at : at - room);
}

/* What stands behind an item: the next one, or the place at `next`. */
static inline void *ring_after(const struct ring *r, void *item)
{
	unsigned char *at = (unsigned char *)item + r->item_bytes;

	return at == r->limit ? r->items : at;
}

/* The first item that ends after `at_ns`; as many as there are if there is none. */
unsigned ring_first_after(const struct ring *r, uint64_t at_ns);

/* The oldest, or the latest, goes. Of one that is not empty and not truncated. */
void ring_drop_first(struct ring *r);
void ring_drop_last(struct ring *r);

void ring_clear(struct ring *r);

#endif
