// SPDX-License-Identifier: Apache-2.0
#include "analyze/stats/min_levels.h"

#include <stddef.h>

static void widen(struct levels *l)
{
	for (size_t i = 0; i < LEVELS / 2; i++) {
		uint64_t a = l->low[2 * i], b = l->low[2 * i + 1];

		l->low[i] = a < b ? a : b;
	}
	l->n = LEVELS / 2;
	l->width_ns *= 2;
}

/* Slices up to that of `at_ns` are begun, at the level that holds until then. */
static unsigned reach(struct levels *l, uint64_t at_ns)
{
	uint64_t since_ns = at_ns > l->begin_ns ? at_ns - l->begin_ns : 0;
	unsigned slice;

	while (since_ns / l->width_ns >= LEVELS) {
		while (l->n < LEVELS)
			l->low[l->n++] = l->level;
		widen(l);
	}
	slice = (unsigned)(since_ns / l->width_ns);
	while (l->n <= slice)
		l->low[l->n++] = l->level;
	return slice;
}

void levels_change(struct levels *l, uint64_t at_ns, uint64_t level)
{
	unsigned slice;

	if (l->width_ns == 0) {
		l->width_ns = LEVELS_FIRST_NS;
		l->begin_ns = at_ns;
		l->level = level;
	}
	slice = reach(l, at_ns);
	l->level = level;
	if (level < l->low[slice])
		l->low[slice] = level;
}

uint64_t levels_lowest(struct levels *l, uint64_t end_ns, unsigned from, unsigned to)
{
	uint64_t whole_ns, lowest = UINT64_MAX;
	unsigned first, last;

	if (l->width_ns == 0)
		return 0;
	reach(l, end_ns);
	whole_ns = end_ns > l->begin_ns ? end_ns - l->begin_ns : 0;
	first = (unsigned)(whole_ns / 100 * from / l->width_ns);
	last = (unsigned)(whole_ns / 100 * to / l->width_ns);
	for (unsigned i = first; i < l->n && (i < last || i == first); i++)
		if (l->low[i] < lowest)
			lowest = l->low[i];
	return lowest == UINT64_MAX ? l->level : lowest;
}
