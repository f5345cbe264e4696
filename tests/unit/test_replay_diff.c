/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing two runs: the test for noise, and quantiles out of buckets. The rest is driven from tests/cli/diff.sh. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "replay/diff_inside.h"

#define NEAR(value, wanted) assert_true(fabs((value) - (wanted)) < 1e-6)

static uint64_t state = 1;

static uint64_t next_random(void)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return state >> 33;
}

/* No rank in common: U is 0 or 100, its mean 50, its variance 10 * 10 * 21 / 12 = 175. */
static void the_rank_sum_test_gives_the_textbook_s_chance(void **unused)
{
	double a[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, b[] = {20, 19, 18, 17, 16, 15, 14, 13, 12, 11};
	double c[] = {1, 2, 2, 3, 5}, d[] = {2, 3, 3, 4, 6, 7};

	(void)unused;
	NEAR(diff_rank_sum(a, 10, b, 10, 1), erfc(49.5 / sqrt(175) / sqrt(2)));
	NEAR(diff_rank_sum(b, 10, a, 10, 1), erfc(49.5 / sqrt(175) / sqrt(2)));
	NEAR(diff_rank_sum(c, 5, d, 6, 1), diff_rank_sum(d, 6, c, 5, 1));
}

/* Against all ways to divide eleven numbers, some of them equal, into five and six. */
static void it_agrees_with_all_permutations(void **unused)
{
	double all[] = {1, 2, 2, 3, 5, 2, 3, 3, 4, 6, 7}, a[5], b[6];
	unsigned total = 0, as_far = 0;
	double observed = 0, chance;

	(void)unused;
	for (unsigned mask = 0; mask < 1u << 11; mask++) {
		double u = 0;

		if (__builtin_popcount(mask) != 5)
			continue;
		for (size_t i = 0; i < 11; i++)
			for (size_t k = 0; k < 11; k++)
				if ((mask >> i & 1) && !(mask >> k & 1))
					u += all[i] > all[k] ? 1 : all[i] < all[k] ? 0 : 0.5;
		total++;
		if (mask == 0x1f)
			observed = fabs(u - 15);
	}
	for (unsigned mask = 0; mask < 1u << 11; mask++) {
		double u = 0;

		if (__builtin_popcount(mask) != 5)
			continue;
		for (size_t i = 0; i < 11; i++)
			for (size_t k = 0; k < 11; k++)
				if ((mask >> i & 1) && !(mask >> k & 1))
					u += all[i] > all[k] ? 1 : all[i] < all[k] ? 0 : 0.5;
		as_far += fabs(u - 15) >= observed - 1e-9;
	}
	memcpy(a, all, sizeof(a));
	memcpy(b, all + 5, sizeof(b));
	chance = diff_rank_sum(a, 5, b, 6, 1);
	assert_int_equal(total, 462);
	/* An approximation: for so few numbers to within a few hundredths. */
	assert_true(fabs(chance - (double)as_far / total) < 0.03);
}

static void equal_samples_do_not_differ(void **unused)
{
	double a[] = {5, 5, 5, 5}, b[] = {5, 5, 5, 5, 5}, c[] = {1, 2, 3, 4}, d[] = {4, 3, 2, 1};

	(void)unused;
	NEAR(diff_rank_sum(a, 4, b, 5, 1), 1);
	NEAR(diff_rank_sum(c, 4, d, 4, 1), 1);
	NEAR(diff_rank_sum(a, 0, b, 5, 1), 1);
}

/* Of 2,000 pairs of samples from one distribution about 1 in 100 may differ at 0.01; 40 would be a wrong test. */
static void noise_is_rarely_taken_for_a_difference(void **unused)
{
	unsigned wrong = 0;
	double a[12], b[15];

	(void)unused;
	for (unsigned round = 0; round < 2000; round++) {
		for (size_t i = 0; i < 12; i++)
			a[i] = (double)(next_random() % 1000);
		for (size_t i = 0; i < 15; i++)
			b[i] = (double)(next_random() % 1000);
		wrong += diff_rank_sum(a, 12, b, 15, 1) < DIFF_LEVEL;
	}
	assert_in_range(wrong, 4, 40);
}

/* Series that wander: without the correction every second pair would differ. */
static void neighbours_that_resemble_each_other_count_less(void **unused)
{
	unsigned naive = 0, wrong = 0;
	double a[40], b[40], even[40];

	(void)unused;
	for (unsigned round = 0; round < 1000; round++) {
		double x = 0, y = 0, more;

		for (size_t i = 0; i < 40; i++) {
			x = 0.7 * x + (double)(next_random() % 1000) - 500;
			y = 0.7 * y + (double)(next_random() % 1000) - 500;
			a[i] = x;
			b[i] = y;
		}
		more = (diff_inflation(a, 40) + diff_inflation(b, 40)) / 2;
		naive += diff_rank_sum(a, 40, b, 40, 1) < DIFF_LEVEL;
		wrong += diff_rank_sum(a, 40, b, 40, more) < DIFF_LEVEL;
	}
	assert_true(naive > 150);
	assert_true(wrong < 50);
	for (size_t i = 0; i < 40; i++)
		even[i] = (double)(i % 2);
	NEAR(diff_inflation(even, 40), 1);
	NEAR(diff_inflation(even, 0), 1);
	for (size_t i = 0; i < 40; i++)
		even[i] = 5;
	NEAR(diff_inflation(even, 40), 1);
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void quantiles_are_told_to_within_a_step(void **unused)
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
		cmocka_unit_test(the_rank_sum_test_gives_the_textbook_s_chance),
		cmocka_unit_test(it_agrees_with_all_permutations),
		cmocka_unit_test(equal_samples_do_not_differ),
		cmocka_unit_test(noise_is_rarely_taken_for_a_difference),
		cmocka_unit_test(neighbours_that_resemble_each_other_count_less),
		cmocka_unit_test(quantiles_are_told_to_within_a_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
