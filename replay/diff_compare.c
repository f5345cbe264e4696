/* SPDX-License-Identifier: Apache-2.0 */
/* What of two runs differs, and whether it is more than noise. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay/diff_inside.h"

/* --- is it more than noise? --- */

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
	r = r > 0.9 ? 0.9 : r;
	return r > 0 ? (1 + r) / (1 - r) : 1;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Elements equal to v[i] from i on. */
static size_t ties(const double *v, size_t n, size_t i, double value)
{
	size_t k = i;

	while (k < n && v[k] <= value)
		k++;
	return k - i;
}

double diff_rank_sum(double *a, size_t na, double *b, size_t nb, double inflation)
{
	double n = (double)(na + nb), ranks = 0, tied = 0, rank = 1, u, mean, variance, z;
	size_t i = 0, k = 0;

	if (na == 0 || nb == 0)
		return 1;
	qsort(a, na, sizeof(*a), by_value);
	qsort(b, nb, sizeof(*b), by_value);
	while (i < na || k < nb) {
		double value = k == nb || (i < na && a[i] <= b[k]) ? a[i] : b[k];
		size_t in_a = ties(a, na, i, value), in_b = ties(b, nb, k, value);
		double t = (double)(in_a + in_b);

		ranks += (double)in_a * (rank + (t - 1) / 2);
		tied += t * t * t - t;
		rank += t;
		i += in_a;
		k += in_b;
	}
	u = ranks - (double)na * ((double)na + 1) / 2;
	mean = (double)na * (double)nb / 2;
	variance = (double)na * (double)nb / 12 * (n + 1 - tied / (n * (n - 1)));
	variance *= inflation;
	if (variance <= 0)
		return 1; /* all equal */
	z = (fabs(u - mean) - 0.5) / sqrt(variance);
	return z > 0 ? erfc(z / sqrt(2)) : 1;
}

/* Epochs that resemble their neighbours are fewer observations than they seem. */
static double compare_series(struct comparison *c, double *a, size_t na, double *b, size_t nb)
{
	double more;

	if (na < DIFF_BLOCKS_MIN || nb < DIFF_BLOCKS_MIN)
		return NOT_TESTED;
	more = ((double)na * diff_inflation(a, na) + (double)nb * diff_inflation(b, nb)) / (double)(na + nb);
	c->ntests++;
	return diff_rank_sum(a, na, b, nb, more);
}

enum certainty certainty_of(const struct comparison *c, double p)
{
	if (p > 1)
		return CERTAINTY_SHORT;
	return p < DIFF_LEVEL / (double)c->ntests ? CERTAINTY_MORE : CERTAINTY_NOISE;
}

/* --- series of epochs --- */

static size_t medians_of(double *v, const struct diff_row *row)
{
	for (size_t i = 0; row && i < row->nblocks; i++)
		v[i] = (double)row->blocks[i].median_ns;
	return row ? row->nblocks : 0;
}

static size_t tails_of(double *v, const struct diff_row *row)
{
	size_t n = 0;

	for (size_t i = 0; row && i < row->nblocks; i++)
		if (row->blocks[i].p99_ns)
			v[n++] = (double)row->blocks[i].p99_ns;
	return n;
}

/* Calls a second, of every epoch; those without a call count as well. */
static size_t rates_of(double *v, const struct diff_side *s, const struct diff_row *row)
{
	size_t k = 0, n = 0;

	for (size_t e = 0; e < s->nepochs; e++) {
		bool here = row && k < row->nblocks && row->blocks[k].number == e;

		if (s->epoch_ns[e])
			v[n++] = here ? (double)row->blocks[k].ncalls * 1e9 / (double)s->epoch_ns[e] : 0;
		k += here;
	}
	return n;
}

/* Which part of the time in calls went there, of every epoch with calls. */
static size_t shares_of(double *v, const struct diff_process *p, enum diff_cause cause)
{
	for (size_t i = 0; i < p->nblocks; i++)
		v[i] = (double)p->blocks[i].split.ns[cause] / (double)p->blocks[i].split.in_calls_ns;
	return p->nblocks;
}

static void test_pair(struct comparison *c, struct pair *p, double *va, double *vb)
{
	size_t na = rates_of(va, c->a, p->a), nb = rates_of(vb, c->b, p->b);

	p->p_rate = compare_series(c, va, na, vb, nb);
	na = medians_of(va, p->a);
	nb = medians_of(vb, p->b);
	p->p_median = compare_series(c, va, na, vb, nb);
	na = tails_of(va, p->a);
	nb = tails_of(vb, p->b);
	p->p_tail = compare_series(c, va, na, vb, nb);
}

static void test_causes(struct comparison *c, struct process_pair *p, double *va, double *vb)
{
	assert(p->a && p->b);
	for (unsigned i = 0; i < DIFF_NCAUSES; i++) {
		size_t na = shares_of(va, p->a, i), nb = shares_of(vb, p->b, i);

		/* What neither run has is no comparison: there is no difference. */
		p->p_cause[i] = p->a->split.ns[i] || p->b->split.ns[i] ? compare_series(c, va, na, vb, nb) : 1;
	}
}

/* --- who is compared with whom --- */

static const struct diff_row *find_row(const struct diff_side *s, const struct diff_row *like)
{
	for (size_t i = 0; i < s->nrows; i++)
		if (!strcmp(s->rows[i]->process, like->process) && !strcmp(s->rows[i]->function, like->function))
			return s->rows[i];
	return NULL;
}

static uint64_t time_of(const struct pair *p)
{
	return (p->a ? p->a->total_ns : 0) + (p->b ? p->b->total_ns : 0);
}

/* Most time first. */
static int by_time(const void *x, const void *y)
{
	const struct pair *a = x, *b = y;
	uint64_t ta = time_of(a), tb = time_of(b);
	int r = strcmp(a->process, b->process);

	if (ta != tb)
		return ta < tb ? 1 : -1;
	return r ? r : strcmp(a->function, b->function);
}

static const struct diff_process *find_process(const struct diff_side *s, const char *name)
{
	static const struct diff_process none;

	for (size_t i = 0; i < s->nprocesses; i++)
		if (strcmp(s->processes[i].name, name) == 0)
			return &s->processes[i];
	return &none;
}

static void add_pair(struct comparison *c, const struct diff_row *row, const struct diff_row *a,
		     const struct diff_row *b)
{
	c->pairs[c->npairs++] = (struct pair){.a = a, .b = b, .process = row->process, .function = row->function};
}

static void pair_calls(struct comparison *c)
{
	for (size_t i = 0; i < c->a->nrows; i++)
		add_pair(c, c->a->rows[i], c->a->rows[i], find_row(c->b, c->a->rows[i]));
	for (size_t i = 0; i < c->b->nrows; i++)
		if (!find_row(c->a, c->b->rows[i]))
			add_pair(c, c->b->rows[i], NULL, c->b->rows[i]);
}

static void pair_processes(struct comparison *c)
{
	for (size_t i = 0; i < c->a->nprocesses; i++) {
		const struct diff_process *p = &c->a->processes[i];

		c->processes[c->nprocesses++] = (struct process_pair){p->name, p, find_process(c->b, p->name), {0}};
	}
	for (size_t i = 0; i < c->b->nprocesses; i++) {
		const struct diff_process *p = &c->b->processes[i];

		if (!find_process(c->a, p->name)->name)
			c->processes[c->nprocesses++] =
				(struct process_pair){p->name, find_process(c->a, p->name), p, {0}};
	}
}

int comparison_make(struct comparison *c, const struct diff_side *a, const struct diff_side *b, struct fault *why)
{
	size_t most = a->nepochs > b->nepochs ? a->nepochs : b->nepochs;
	double *va = calloc(most + 1, sizeof(*va)), *vb = calloc(most + 1, sizeof(*vb));
	int r = 0;

	*c = (struct comparison){.a = a, .b = b};
	c->pairs = calloc(a->nrows + b->nrows + 1, sizeof(*c->pairs));
	c->processes = calloc(a->nprocesses + b->nprocesses + 1, sizeof(*c->processes));
	if (!va || !vb || !c->pairs || !c->processes) {
		r = fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "no memory to compare captures");
		goto out;
	}
	pair_calls(c);
	pair_processes(c);
	for (size_t i = 0; i < c->npairs; i++)
		test_pair(c, &c->pairs[i], va, vb);
	for (size_t i = 0; i < c->nprocesses; i++)
		test_causes(c, &c->processes[i], va, vb);
	qsort(c->pairs, c->npairs, sizeof(*c->pairs), by_time);
out:
	free(va);
	free(vb);
	return r;
}

void comparison_clear(struct comparison *c)
{
	free(c->pairs);
	free(c->processes);
	*c = (struct comparison){0};
}
