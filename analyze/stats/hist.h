/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quantiles of durations in fixed memory: a histogram whose buckets grow with the value, 32 to each power of two.
 * Values below 64 ns are exact; above, a quantile is off by at most 1/64 (1.6 %) of itself. Values from 2^44 ns
 * (4.9 hours) on share the last bucket.
 */
#ifndef GPUREC_ANALYZE_STATS_HIST_H
#define GPUREC_ANALYZE_STATS_HIST_H

#include <stdint.h>

#define HIST_SUB_BITS 5
#define HIST_SUB (1U << HIST_SUB_BITS)
#define HIST_VALUE_BITS 44
#define HIST_BUCKETS ((HIST_VALUE_BITS - HIST_SUB_BITS + 1) << HIST_SUB_BITS)

/* A zeroed one is empty. */
struct hist {
	uint64_t n;
	uint32_t buckets[HIST_BUCKETS]; /* a full one stays full */
};

static inline unsigned hist_bucket(uint64_t value)
{
	/* Of values below 2 * HIST_SUB each has a bucket of its own. */
	unsigned shift = (63U ^ (unsigned)__builtin_clzll(value | HIST_SUB)) - HIST_SUB_BITS;

	return value >> HIST_VALUE_BITS ? HIST_BUCKETS - 1 : (shift << HIST_SUB_BITS) + (unsigned)(value >> shift);
}

static inline void hist_add(struct hist *h, uint64_t value)
{
	unsigned b = hist_bucket(value);

	if (h->buckets[b] == UINT32_MAX)
		return;
	h->buckets[b]++;
	h->n++;
}

/* What the values in a bucket are taken for: its middle. They grow with the bucket. */
uint64_t hist_bucket_value(unsigned bucket);

/* Count all of `from` in. */
void hist_join(struct hist *into, const struct hist *from);

/* The value below which `percent` (0..100) of the values lie, of `h` and `also` (may be NULL) together; 0 if empty. */
uint64_t hist_quantile(const struct hist *h, const struct hist *also, unsigned percent);

/*
 * What is usual lately: the last one to two thousand values count, so a slow drift moves it along, and a spike does
 * not. A zeroed one is empty.
 */
struct baseline {
	struct hist old, now;
	uint64_t cached_median;
	uint64_t cached_at; /* n when it was computed */
	uint64_t n;         /* values ever added */
};

#define BASELINE_WINDOW 1024 /* values in `now` before it becomes `old` */

void baseline_begin_anew(struct baseline *b);

/* As baseline_add(), where `now` is full. */
void baseline_add_anew(struct baseline *b, uint64_t value);

static inline void baseline_add(struct baseline *b, uint64_t value)
{
	if (b->now.n == BASELINE_WINDOW) {
		baseline_add_anew(b, value);
		return;
	}
	hist_add(&b->now, value);
	b->n++;
}

uint64_t baseline_median(struct baseline *b);
uint64_t baseline_quantile(const struct baseline *b, unsigned percent);

#endif
