// SPDX-License-Identifier: Apache-2.0
#include "analyze/ring.h"

#include <stdlib.h>

#define ROOM_MIN 8

bool ring_grow(struct ring *r, size_t item_bytes, unsigned max)
{
	unsigned room = r->room ? r->room * 2 : ROOM_MIN;
	unsigned char *items;

	if (room > max)
		room = max;
	items = malloc(room * item_bytes);
	if (!items)
		return false;
	for (unsigned i = 0; i < r->n; i++)
		memcpy(items + i * item_bytes, ring_at(r, i), item_bytes);
	free(r->items);
	r->items = items;
	r->item_bytes = item_bytes;
	r->room = room;
	r->first = 0;
	return true;
}

unsigned ring_first_after(const struct ring *r, uint64_t at_ns)
{
	unsigned low = 0, high = r->n;

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

void ring_clear(struct ring *r)
{
	free(r->items);
	memset(r, 0, sizeof(*r));
}
