// SPDX-License-Identifier: Apache-2.0
#include "analyze/stats/hist.h"

#include <stddef.h>
#include <string.h>

uint64_t hist_bucket_value(unsigned bucket)
{
	unsigned shift;

	if (bucket < HIST_SUB)
		return bucket;
	shift = (bucket >> HIST_SUB_BITS) - 1;
	return ((uint64_t)(HIST_SUB + (bucket & (HIST_SUB - 1))) << shift) + ((1ULL << shift) >> 1);
}

void hist_join(struct hist *into, const struct hist *from)
{
	for (unsigned b = 0; b < HIST_BUCKETS; b++) {
		uint32_t room = UINT32_MAX - into->buckets[b];
		uint32_t more = from->buckets[b] < room ? from->buckets[b] : room;

		into->buckets[b] += more;
		into->n += more;
	}
}

uint64_t hist_quantile(const struct hist *h, const struct hist *also, unsigned percent)
{
	uint64_t n = h->n + (also ? also->n : 0);
	uint64_t rank, seen = 0;

	if (n == 0)
		return 0;
	/* The smallest value with at least `percent` of all at or below it; n / 100 first, so that nothing overflows.
	 */
	rank = n / 100 * percent + (n % 100 * percent + 99) / 100;
	if (rank == 0)
		rank = 1;
	for (unsigned b = 0; b < HIST_BUCKETS; b++) {
		seen += h->buckets[b] + (also ? (uint64_t)also->buckets[b] : 0);
		if (seen >= rank)
			return hist_bucket_value(b);
	}
	return hist_bucket_value(HIST_BUCKETS - 1);
}

void baseline_begin_anew(struct baseline *b)
{
	b->old = b->now;
	memset(&b->now, 0, sizeof(b->now));
}

void baseline_add_anew(struct baseline *b, uint64_t value)
{
	baseline_begin_anew(b);
	baseline_add(b, value);
}

uint64_t baseline_quantile(const struct baseline *b, unsigned percent)
{
	return hist_quantile(&b->now, &b->old, percent);
}

uint64_t baseline_median(struct baseline *b)
{
	/* Walking the buckets costs a microsecond: a median 16 values old is as good. */
	if (b->cached_at == 0 || b->n - b->cached_at >= 16 || b->n < 64) {
		b->cached_median = baseline_quantile(b, 50);
		b->cached_at = b->n;
	}
	return b->cached_median;
}
