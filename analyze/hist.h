/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quantiles of durations in fixed memory: a histogram whose buckets grow with the value, 32 to each power of two.
 * Values below 64 ns are exact; above, a quantile is off by at most 1/64 (1.6 %) of itself. Values from 2^44 ns
 * (4.9 hours) on share the last bucket.
 */
#ifndef GPUREC_ANALYZE_HIST_H
#define GPUREC_ANALYZE_HIST_H

#include <stdint.h>

#define HIST_SUB_BITS 5
#define HIST_VALUE_BITS 44
#define HIST_BUCKETS ((HIST_VALUE_BITS - HIST_SUB_BITS + 1) << HIST_SUB_BITS)

/* A zeroed one is empty. */
struct hist {
	uint64_t n;
	uint32_t buckets[HIST_BUCKETS]; /* a full one stays full */
};

void hist_add(struct hist *h, uint64_t value);

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

void baseline_add(struct baseline *b, uint64_t value);
uint64_t baseline_median(struct baseline *b);
uint64_t baseline_quantile(const struct baseline *b, unsigned percent);

#endif
