/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/diff/diff_stats.h"

#include <math.h>
#include <stdlib.h>

#define TRIMMED 5       /* one in so many epochs is left out at each end */
#define CORRELATION 0.9 /* at most: more cannot be distinguished from so few epochs */
#define FREEDOM_MIN 4.0 /* degrees of freedom below which the quantile would be off */
#define MILD_CHANCE 0.05

/* Chances of error, two-sided, and quantiles of the normal distribution for them. */
static const double normal_quantile[] = {[STRICT] = 3.891 /* 1 in 10,000 */, [MILD] = 1.960 /* 1 in 20 */};
static const double rare_quantile = 3.090; /* 1 in 500 */
static const double rare_chance[] = {[STRICT] = 2e-3, [MILD] = MILD_CHANCE};

const struct diff_floor diff_share_floor = {.least = 0.02};
const struct diff_floor diff_growth_floor = {.share = 0.1, .least = 1 << 16};

double diff_inflation(const double *v, size_t n)
{
	double mean = 0, variance = 0, together = 0, r;

	for (size_t i = 0; i < n; i++)
		mean += v[i] / (double)n;
	for (size_t i = 0; i < n; i++) {
		variance += (v[i] - mean) * (v[i] - mean);
		together += i ? (v[i] - mean) * (v[i - 1] - mean) : 0;
	}
	r = variance > 0 ? together / variance : 0;
	r = r > CORRELATION ? CORRELATION : r;
	return r > 0 ? (1 + r) / (1 - r) : 1;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct estimate {
	double mean, variance; /* trimmed; of that mean */
	double freedom;
};

/* The smallest (or largest) value of which `k` are smaller (larger): n is a few thousand at most, k a fifth of it. */
static void limits_of(double *v, size_t n, size_t k, double *low, double *high)
{
	qsort(v, n, sizeof(*v), by_value);
	*low = v[k];
	*high = v[n - 1 - k];
}

/* `sorted` has room for n values. */
static struct estimate estimate_of(double *v, size_t n, double *sorted, bool trimmed)
{
	size_t k = trimmed ? n / TRIMMED : 0, left = n - 2 * k;
	double low, high, mean = 0, variance = 0, inflation;
	struct estimate e = {0};

	for (size_t i = 0; i < n; i++)
		sorted[i] = v[i];
	limits_of(sorted, n, k, &low, &high);
	for (size_t i = k; i < n - k; i++)
		e.mean += sorted[i] / (double)left;
	for (size_t i = 0; i < n; i++) {
		v[i] = v[i] < low ? low : v[i] > high ? high : v[i];
		mean += v[i] / (double)n;
	}
	for (size_t i = 0; i < n; i++)
		variance += (v[i] - mean) * (v[i] - mean);
	inflation = diff_inflation(v, n);
	e.variance = variance * inflation / ((double)left * (double)(left - 1));
	e.freedom = (double)(left - 1) / inflation;
	return e;
}

/* Of Student's distribution (Abramowitz and Stegun 26.7.5). */
static double quantile(double z, double freedom)
{
	double n = freedom < FREEDOM_MIN ? FREEDOM_MIN : freedom;
	double z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z, z9 = z7 * z * z;

	return z + (z3 + z) / (4 * n) + (5 * z5 + 16 * z3 + 3 * z) / (96 * n * n) +
	       (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * n * n * n) +
	       (79 * z9 + 776 * z7 + 1482 * z5 - 1920 * z3 - 945 * z) / (92160 * n * n * n * n);
}

/* Judge the estimates: *c gets its bound and what that says. */
static void judge(struct diff_change *c, double error, double freedom, double z, double least)
{
	double larger = fmax(fabs(c->a), fabs(c->b));

	c->bound = fmax(quantile(z, freedom) * sqrt(error), least);
	c->certainty = fabs(c->b - c->a) > c->bound      ? CERTAINTY_MORE
		       : c->bound <= fmax(larger, least) ? CERTAINTY_NOISE
							 : CERTAINTY_SHORT;
}

static double least_change(const struct diff_change *c, struct diff_floor floor)
{
	return fmax(floor.share * fmax(fabs(c->a), fabs(c->b)), floor.least);
}

struct diff_change diff_compare(double *a, size_t na, double *b, size_t nb, double *scratch, bool trimmed,
				enum strictness strictness, struct diff_floor floor)
{
	struct diff_change c = {.certainty = CERTAINTY_SHORT}, mild;
	double error, freedom = FREEDOM_MIN, least;
	struct estimate ea, eb;

	if (na < DIFF_BLOCKS_MIN || nb < DIFF_BLOCKS_MIN)
		return c;
	ea = estimate_of(a, na, scratch, trimmed);
	eb = estimate_of(b, nb, scratch, trimmed);
	error = ea.variance + eb.variance;
	if (error > 0)
		freedom = error * error /
			  (ea.variance * ea.variance / ea.freedom + eb.variance * eb.variance / eb.freedom);
	c.a = ea.mean;
	c.b = eb.mean;
	least = least_change(&c, floor);
	mild = c;
	judge(&c, error, freedom, normal_quantile[strictness], least);
	judge(&mild, error, freedom, normal_quantile[MILD], least);
	if (!trimmed && c.certainty != CERTAINTY_MORE && mild.certainty == CERTAINTY_MORE)
		c.certainty = CERTAINTY_UNSURE;
	return c;
}

/* Chance of just `k` of `n`, of which each is in the first run with chance p. */
static double chance_of(size_t k, size_t n, double p)
{
	double x = (double)k, all = (double)n;

	return exp(lgamma(all + 1) - lgamma(x + 1) - lgamma(all - x + 1) + x * log(p) + (all - x) * log1p(-p));
}

/* Two-sided: twice the chance of a division that is at least as uneven. */
static double exact_chance(size_t ka, size_t kb, double p)
{
	double low = 0, high = 0;

	for (size_t k = 0; k <= ka; k++)
		low += chance_of(k, ka + kb, p);
	for (size_t k = ka; k <= ka + kb; k++)
		high += chance_of(k, ka + kb, p);
	return fmin(1, 2 * fmin(low, high));
}

/* The least number in the second run that would be too many; and, if there is one, the most that would be too few. */
static double rare_bound(size_t ka, double ta, double tb, double p, double chance)
{
	double rate = (double)ka / ta, up, down = 0;
	size_t low = (size_t)(rate * tb), high = low;

	while (exact_chance(ka, high, p) >= chance)
		high++;
	up = (double)high / tb - rate;
	while (low > 0 && exact_chance(ka, low, p) >= chance)
		low--;
	if (exact_chance(ka, low, p) < chance)
		down = rate - (double)low / tb;
	return down > 0 && down < up ? down : up;
}

struct diff_change diff_compare_rare(size_t ka, double ta, size_t kb, double tb, enum strictness strictness)
{
	struct diff_change c = {.certainty = CERTAINTY_SHORT};
	double p = ta / (ta + tb), chance;

	if (ta <= 0 || tb <= 0)
		return c;
	c.a = (double)ka / ta;
	c.b = (double)kb / tb;
	chance = exact_chance(ka, kb, p);
	c.bound = rare_bound(ka, ta, tb, p, rare_chance[strictness]);
	c.certainty = chance < rare_chance[strictness] ? CERTAINTY_MORE
		      : chance < MILD_CHANCE           ? CERTAINTY_UNSURE
						       : CERTAINTY_NOISE;
	return c;
}

struct diff_change diff_compare_costs(const struct diff_cost *a, const struct diff_cost *b, struct diff_floor floor)
{
	struct diff_change c = {.certainty = CERTAINTY_SHORT};
	double error;

	if (a->seconds <= 0 || b->seconds <= 0)
		return c;
	c.a = a->total / a->seconds;
	c.b = b->total / b->seconds;
	if (a->n < DIFF_BLOCKS_MIN || b->n < DIFF_BLOCKS_MIN)
		return c;
	error = a->squares / (a->seconds * a->seconds) + b->squares / (b->seconds * b->seconds);
	judge(&c, error, (double)(a->n + b->n - 2), rare_quantile, least_change(&c, floor));
	return c;
}

struct diff_change diff_compare_once(double a, double b, struct diff_floor floor)
{
	struct diff_change c = {.a = a, .b = b};

	c.bound = least_change(&c, floor);
	c.certainty = fabs(b - a) > c.bound ? CERTAINTY_MORE : CERTAINTY_NOISE;
	return c;
}
