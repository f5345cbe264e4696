// SPDX-License-Identifier: Apache-2.0
#include "analyze/stats/intervals.h"
#include "format/base/array.h"

#include <stdlib.h>
#include <string.h>

/* The first range that ends behind the address. */
static size_t first_behind(const struct ranges *r, uint64_t address)
{
	size_t low = 0, high = r->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (r->all[mid].end > address)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

static void cut_out(struct ranges *r, size_t from, size_t to)
{
	memmove(&r->all[from], &r->all[to], (r->n - to) * sizeof(*r->all));
	r->n -= to - from;
}

bool ranges_add(struct ranges *r, uint64_t begin, uint64_t bytes)
{
	uint64_t end = bytes > UINT64_MAX - begin ? UINT64_MAX : begin + bytes;
	size_t at = r->n ? first_behind(r, begin) : 0, to = at;
	struct range *all;

	if (begin == end)
		return true;
	while (to < r->n && r->all[to].begin < end)
		to++;
	if (to > at)
		cut_out(r, at, to);
	if (r->n == RANGES_MAX) {
		r->overflowed = true;
		return true;
	}
	all = array_grow(r->all, &r->room, r->n + 1, sizeof(*all));
	if (!all)
		return false;
	r->all = all;
	memmove(&r->all[at + 1], &r->all[at], (r->n - at) * sizeof(*r->all));
	r->all[at] = (struct range){begin, end};
	r->n++;
	return true;
}

void ranges_remove(struct ranges *r, uint64_t begin)
{
	size_t at = r->n ? first_behind(r, begin) : 0;

	if (at < r->n && r->all[at].begin == begin)
		cut_out(r, at, at + 1);
}

bool ranges_hold(const struct ranges *r, uint64_t address)
{
	size_t at = r->n ? first_behind(r, address) : 0;

	return at < r->n && r->all[at].begin <= address;
}

void ranges_clear(struct ranges *r)
{
	free(r->all);
	memset(r, 0, sizeof(*r));
}
