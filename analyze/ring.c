// SPDX-License-Identifier: Apache-2.0
#include "analyze/ring.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_MIN 8

static bool grow(struct ring *r, unsigned max)
{
	unsigned room = r->room ? r->room * 2 : ROOM_MIN;
	unsigned char *items;

	if (room > max)
		room = max;
	items = malloc(room * r->item_bytes);
	if (!items)
		return false;
	for (unsigned i = 0; i < r->n; i++)
		memcpy(items + i * r->item_bytes, ring_at(r, i), r->item_bytes);
	free(r->items);
	r->items = items;
	r->room = room;
	r->first = 0;
	return true;
}

bool ring_push(struct ring *r, const void *item, size_t item_bytes, unsigned max)
{
	r->item_bytes = item_bytes;
	if (r->n == r->room && r->room < max && !grow(r, max))
		return false;
	if (r->n == r->room) {
		r->first = (r->first + 1) % r->room;
		r->n--;
		r->truncated = true;
	}
	r->n++;
	memcpy(ring_at(r, r->n - 1), item, item_bytes);
	return true;
}

void *ring_at(const struct ring *r, unsigned i)
{
	return r->items + (r->first + i) % r->room * r->item_bytes;
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
