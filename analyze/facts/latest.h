/* SPDX-License-Identifier: Apache-2.0 */
/* The latest of things that are kept in the order of time, in a ring of `max`: number i is at i % max. */
#ifndef GPUREC_ANALYZE_FACTS_LATEST_H
#define GPUREC_ANALYZE_FACTS_LATEST_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The first of those that are kept which is not before begin_ns. `n`: there were ever; each begins with its time. */
static inline uint64_t latest_since(const void *ring, size_t item_bytes, uint64_t max, uint64_t n, uint64_t begin_ns)
{
	uint64_t low = n > max ? n - max : 0, high = n;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2, at_ns;

		memcpy(&at_ns, (const char *)ring + middle % max * item_bytes, sizeof(at_ns));
		if (at_ns < begin_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

#endif
