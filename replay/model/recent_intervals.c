// SPDX-License-Identifier: Apache-2.0
#include "replay/model/recent_intervals.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_MIN 8

static bool grow(struct ring *r, size_t item_bytes, size_t room)
{
	size_t at = (size_t)(r->next - r->items);
	unsigned char *items = realloc(r->items, room * item_bytes);

	if (!items)
		return false;
	r->items = items;
	r->next = items + at;
	r->limit = items + room * item_bytes;
	r->item_bytes = item_bytes;
	return true;
}

void *ring_keep_more(struct ring *r, size_t item_bytes, unsigned max)
{
	size_t room = (size_t)(r->limit - r->items) / item_bytes;
	unsigned char *at;

	if (room <= max && (size_t)(r->limit - r->next) <= 2 * item_bytes &&
	    !grow(r, item_bytes,
		  room == 0         ? ROOM_MIN
		  : room * 2 <= max ? room * 2
				    : max + 1))
		return NULL;
	at = ring_keep(r, item_bytes);
	if (r->next == r->limit) {
		r->next = r->items;
		r->truncated = true;
	}
	return at;
}

unsigned ring_first_after(const struct ring *r, uint64_t at_ns)
{
	unsigned low = 0, high = ring_n(r);

	/* Mostly asked about what was not long ago: from the latest back, in growing steps. */
	for (unsigned step = 1; high > 0 && !low; step *= 2) {
		unsigned at = high > step ? high - step : 0;
		const struct interval *item = ring_at(r, at);

		if (item->end_ns > at_ns)
			high = at;
		else
			low = at + 1;
	}
	while (low < high) {
		unsigned mid = low + (high - low) / 2;
		const struct interval *item = ring_at(r, mid);

		if (item->end_ns > at_ns)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

void ring_drop_first(struct ring *r)
{
	memmove(r->items, r->items + r->item_bytes, (size_t)(r->next - r->items) - r->item_bytes);
	ring_drop_last(r);
}

void ring_drop_last(struct ring *r)
{
	r->next -= r->item_bytes;
}

void ring_clear(struct ring *r)
{
	free(r->items);
	memset(r, 0, sizeof(*r));
}
