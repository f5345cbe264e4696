/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing two runs: what is more than noise, and quantiles out of buckets. The rest is driven from tests/cli/diff.sh.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "replay/diff/diff_internal.h"

#define NEAR(value, wanted) assert_true(fabs((value) - (wanted)) < 1e-6)

static uint64_t state = 1;

static uint64_t next_random(void)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return state >> 33;
}

static const struct diff_floor no_floor;

static struct diff_change compare(double *a, size_t na, double *b, size_t nb, bool trimmed, struct diff_floor floor)
{
	double scratch[64];

	return diff_compare(a, na, b, nb, scratch, trimmed, STRICT, floor);
}

/* Welch's test of 8 and 8 values, untrimmed: |difference| 8, standard error sqrt(12/8), 14 degrees of freedom. */
static void the_bound_is_the_textbook_s(void **unused)
{
	double a[] = {3, 1, 5, 2, 8, 4, 7, 6}, b[] = {16, 12, 9, 14, 10, 15, 11, 13};
	struct diff_change c;

	(void)unused;
	c = compare(a, 8, b, 8, false, no_floor);
	NEAR(c.a, 4.5);
	NEAR(c.b, 12.5);
	/* 5.363 is the quantile of Student's distribution for 14 degrees and 1 in 10,000; the series is not inflated.
	 */
	assert_true(fabs(c.bound - 5.363 * sqrt(1.5)) < 0.05);
	assert_int_equal(c.certainty, CERTAINTY_MORE);
}

/* Frees a second in two runs of twelve, as they were: the begin and the end do not hide that they doubled. */
static void a_doubled_rate_is_a_change_whatever_its_begin_and_end(void **unused)
{
	double a[] = {12, 49, 50, 50, 49, 50, 50, 50, 49, 50, 50, 17},
	       b[] = {30, 99, 100, 100, 99, 100, 100, 99, 100, 100, 100, 41};
	struct diff_change c;

	(void)unused;
	c = compare(a, 12, b, 12, true, (struct diff_floor){.share = 0.1});
	assert_int_equal(c.certainty, CERTAINTY_MORE);
	NEAR(c.bound, c.b / 10);
}

static void equal_series_do_not_differ_and_have_the_floor_as_bound(void **unused)
{
	double a[] = {5, 5, 5, 5, 5, 5, 5, 5}, b[] = {5, 5, 5, 5, 5, 5, 5, 5};
	struct diff_change c;

	(void)unused;
	c = compare(a, 8, b, 8, true, (struct diff_floor){.least = 2});
	assert_int_equal(c.certainty, CERTAINTY_NOISE);
	NEAR(c.bound, 2);
	b[0] = b[1] = b[2] = b[3] = b[4] = b[5] = b[6] = b[7] = 6.9;
	assert_int_equal(compare(a, 8, b, 8, true, (struct diff_floor){.least = 2}).certainty, CERTAINTY_NOISE);
	b[0] = b[1] = b[2] = b[3] = b[4] = b[5] = b[6] = b[7] = 7.1;
	assert_int_equal(compare(a, 8, b, 8, true, (struct diff_floor){.least = 2}).certainty, CERTAINTY_MORE);
	assert_int_equal(compare(a, 7, b, 8, true, (struct diff_floor){.least = 2}).certainty, CERTAINTY_SHORT);
	assert_int_equal(compare(a, 8, b, 0, true, (struct diff_floor){.least = 2}).certainty, CERTAINTY_SHORT);
}

/* "Within noise" would be no statement where not even all or nothing could be distinguished. */
static void what_is_too_noisy_is_not_called_noise(void **unused)
{
	double a[] = {0, 0, 90, 0, 0, 100, 0, 0, 0, 80}, b[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0};

	(void)unused;
	assert_int_equal(compare(a, 10, b, 10, false, no_floor).certainty, CERTAINTY_SHORT);
}

/* Of 20,000 pairs of samples from one distribution about 2 may differ by more than their bound; 20 would be wrong. */
static void noise_is_rarely_taken_for_a_change(void **unused)
{
	unsigned wrong = 0;
	double a[12], b[15];

	(void)unused;
	for (unsigned round = 0; round < 20000; round++) {
		for (size_t i = 0; i < 12; i++)
			a[i] = (double)(next_random() % 1000);
		for (size_t i = 0; i < 15; i++)
			b[i] = (double)(next_random() % 1000);
		wrong += compare(a, 12, b, 15, round % 2, no_floor).certainty == CERTAINTY_MORE;
	}
	assert_true(wrong < 20);
}

/* Series that wander: without the correction many pairs would differ. */
static void neighbours_that_resemble_each_other_count_less(void **unused)
{
	unsigned wrong = 0;
	double a[40], b[40];

	(void)unused;
	for (unsigned round = 0; round < 2000; round++) {
		double x = 0, y = 0;

		for (size_t i = 0; i < 40; i++) {
			x = 0.7 * x + (double)(next_random() % 1000) - 500;
			y = 0.7 * y + (double)(next_random() % 1000) - 500;
			a[i] = x;
			b[i] = y;
		}
		wrong += compare(a, 40, b, 40, true, no_floor).certainty == CERTAINTY_MORE;
	}
	assert_true(wrong < 20);
	for (size_t i = 0; i < 40; i++)
		a[i] = (double)(i % 2);
	NEAR(diff_inflation(a, 40), 1);
	NEAR(diff_inflation(a, 0), 1);
	for (size_t i = 0; i < 40; i++)
		a[i] = 5;
	NEAR(diff_inflation(a, 40), 1);
}

static void assert_rare(size_t ka, double ta, size_t kb, double tb, enum strictness strictness, enum certainty want)
{
	assert_int_equal(diff_compare_rare(ka, ta, kb, tb, strictness).certainty, want);
	assert_int_equal(diff_compare_rare(kb, tb, ka, ta, strictness).certainty, want);
}

/* Ten in one run and none in the other are chance 2 times in 1,024. */
static void rare_things_are_compared_by_their_number(void **unused)
{
	(void)unused;
	assert_rare(10, 12, 0, 12, STRICT, CERTAINTY_MORE);
	assert_rare(9, 12, 0, 12, STRICT, CERTAINTY_UNSURE);
	assert_rare(6, 12, 0, 12, STRICT, CERTAINTY_UNSURE);
	assert_rare(5, 12, 0, 12, STRICT, CERTAINTY_NOISE);
	assert_rare(6, 12, 0, 12, MILD, CERTAINTY_MORE);
	assert_rare(5, 12, 0, 12, MILD, CERTAINTY_NOISE);
	assert_rare(100, 12, 100, 12, STRICT, CERTAINTY_NOISE);
	assert_rare(100, 12, 200, 24, STRICT, CERTAINTY_NOISE);
	assert_rare(100, 12, 100, 24, STRICT, CERTAINTY_MORE);
	assert_rare(0, 12, 3, 0, STRICT, CERTAINTY_SHORT);
}

/* The bound is the least change that would have been called one. */
static void the_bound_of_rare_things_is_sharp(void **unused)
{
	(void)unused;
	for (size_t ka = 0; ka < 40; ka += 3) {
		struct diff_change c = diff_compare_rare(ka, 10, ka, 10, STRICT);
		size_t more = (size_t)lround(c.bound * 10);

		assert_int_equal(c.certainty, CERTAINTY_NOISE);
		assert_true(more > 0);
		assert_true(
			diff_compare_rare(ka, 10, ka + more, 10, STRICT).certainty == CERTAINTY_MORE ||
			(more <= ka && diff_compare_rare(ka, 10, ka - more, 10, STRICT).certainty == CERTAINTY_MORE));
		assert_int_not_equal(diff_compare_rare(ka, 10, ka + more - 1, 10, STRICT).certainty, CERTAINTY_MORE);
		if (more <= ka + 1)
			assert_int_not_equal(diff_compare_rare(ka, 10, ka + 1 - more, 10, STRICT).certainty,
					     CERTAINTY_MORE);
	}
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void quantiles_are_reported_to_within_a_step(void **unused)
{
	static const double shares[] = {0, 0.01, 0.5, 0.9, 0.99, 0.999, 1};
	enum { N = 5000 };
	uint64_t *v = calloc(N, sizeof(*v));
	struct diff_row *row = calloc(1, sizeof(*row));

	(void)unused;
	assert_non_null(v);
	assert_non_null(row);
	for (unsigned scale = 1; scale < 50; scale += 7) {
		memset(row, 0, sizeof(*row));
		for (size_t i = 0; i < N; i++) {
			v[i] = (next_random() << 20 ^ next_random()) & ((UINT64_C(1) << scale) - 1);
			diff_count(row, v[i]);
		}
		qsort(v, N, sizeof(*v), by_number);
		for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
			size_t at = (size_t)(shares[i] * N);
			uint64_t want = v[at < N ? at : N - 1], is = diff_quantile(row, shares[i]);

			assert_true(is >= want);
			assert_true(is - want <= want / 32 + 1);
		}
	}
	free(row);
	free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_bound_is_the_textbook_s),
		cmocka_unit_test(a_doubled_rate_is_a_change_whatever_its_begin_and_end),
		cmocka_unit_test(equal_series_do_not_differ_and_have_the_floor_as_bound),
		cmocka_unit_test(what_is_too_noisy_is_not_called_noise),
		cmocka_unit_test(noise_is_rarely_taken_for_a_change),
		cmocka_unit_test(neighbours_that_resemble_each_other_count_less),
		cmocka_unit_test(rare_things_are_compared_by_their_number),
		cmocka_unit_test(the_bound_of_rare_things_is_sharp),
		cmocka_unit_test(quantiles_are_reported_to_within_a_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
