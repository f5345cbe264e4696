// SPDX-License-Identifier: Apache-2.0
#include "analyze/ring.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_MIN 32

bool ring_make_room(struct ring *r, size_t item_bytes, unsigned max)
{
	unsigned room = ring_n(r), more = room ? room * 2 : ROOM_MIN;
	unsigned char *items;

	if (room >= max) {
		r->truncated = true;
		r->next = r->items;
		return true;
	}
	if (more > max)
		more = max;
	items = realloc(r->items, more * item_bytes);
	if (!items)
		return false;
	r->items = items;
	r->next = items + room * item_bytes;
	r->limit = items + more * item_bytes;
	r->item_bytes = item_bytes;
	return true;
}

unsigned ring_first_after(const struct ring *r, uint64_t at_ns)
{
	unsigned low = 0, high = ring_n(r);

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
