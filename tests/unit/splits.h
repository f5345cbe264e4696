/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of causes have in common: twelve threads of process 100, and splits whose sums are checked. */
#ifndef TESTS_UNIT_SPLITS_H
#define TESTS_UNIT_SPLITS_H

#include "tests/unit/feed.h"

static inline int setup(void **state)
{
	struct feed *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	feed_open(f);
	feed_cast(f, 12);
	*state = f;
	return 0;
}

static inline int teardown(void **state)
{
	feed_close(*state);
	free(*state);
	return 0;
}

/* Splits always add up. */
static inline void check_sums(const struct split *s)
{
	uint64_t by_class[CAUSE_CLASSES] = {0}, sum = 0;

	for (unsigned i = 0; i < s->nparts; i++) {
		assert_true(s->parts[i].ns > 0);
		assert_true(s->parts[i].ns <= s->end_ns - s->begin_ns);
		by_class[s->parts[i].class] += s->parts[i].ns;
	}
	for (unsigned c = 0; c < CAUSE_CLASSES; c++) {
		assert_int_equal(by_class[c], s->ns[c]);
		sum += s->ns[c];
	}
	assert_int_equal(sum, s->end_ns - s->begin_ns);
}

static inline struct cause cause_of(struct feed *f, uint32_t tid, uint64_t begin, uint64_t end)
{
	struct cause c;

	feed_settle(f, end + 1);
	cause_find(&c, feed_timeline(f), tid, begin, end);
	for (unsigned i = 0; i < c.nlinks; i++)
		check_sums(&c.links[i]);
	return c;
}

static inline void check_ns(const struct split *s, uint64_t cpu, uint64_t runnable, uint64_t futex, uint64_t asleep,
			    uint64_t unknown)
{
	assert_int_equal(s->ns[CAUSE_CPU], cpu);
	assert_int_equal(s->ns[CAUSE_RUNNABLE], runnable);
	assert_int_equal(s->ns[CAUSE_FUTEX], futex);
	assert_int_equal(s->ns[CAUSE_ASLEEP], asleep);
	assert_int_equal(s->ns[CAUSE_UNKNOWN], unknown);
}

#endif
