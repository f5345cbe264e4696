// SPDX-License-Identifier: Apache-2.0
#include "analyze/stats/call_stats.h"

#include <stdlib.h>
#include <string.h>

static inline void count(struct calls *c, struct call_stats *s, const struct event *ev)
{
	uint64_t dur_ns = ev->v[F_call_dur];

	s->kind = ev->kind;
	s->min_ns = dur_ns < s->min_ns ? dur_ns : s->min_ns;
	s->max_ns = dur_ns > s->max_ns ? dur_ns : s->max_ns;
	s->n++;
	s->nfailed += (int64_t)ev->v[F_call_ret] != 0;
	s->total_ns += dur_ns;
	s->squares += (unsigned __int128)dur_ns * dur_ns;
	hist_add(&s->hist, dur_ns);
	if (!s->key.b)
		c->total_ns += dur_ns;
}

/* A nested one, or the first of its probe. Out of line: those are fewer. */
static __attribute__((noinline)) int feed_other(struct calls *c, const struct event *ev, struct fault *why)
{
	uint64_t nested = event_is_nested(ev);
	struct call_stats *s = table_find(&c->table, ev->v[F_call_probe], nested);

	/* Probes are few: the schema holds at most PROBES_MAX, and rows of others break the format. */
	if (!s && c->table.nitems / 2 >= PROBES_MAX)
		return 0;
	if (!s) {
		s = table_add(&c->table, ev->v[F_call_probe], nested, sizeof(*s));
		if (!s)
			return fault_no_memory(why);
		s->min_ns = UINT64_MAX;
	}
	count(c, s, ev);
	return 0;
}

int calls_feed(struct calls *c, const struct event *ev, struct fault *why)
{
	struct call_stats *s = event_is_nested(ev) ? NULL : table_at(&c->table, ev->v[F_call_probe]);

	if (!s)
		return feed_other(c, ev, why);
	count(c, s, ev);
	return 0;
}

static int by_total(const void *a, const void *b)
{
	const struct call_stats *x = *(const struct call_stats *const *)a, *y = *(const struct call_stats *const *)b;

	if (x->key.b != y->key.b)
		return x->key.b < y->key.b ? -1 : 1;
	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	return x->key.a < y->key.a ? -1 : 1;
}

const struct call_stats **calls_sorted(const struct calls *c)
{
	const struct call_stats **all;

	if (c->table.nitems == 0)
		return NULL;
	all = malloc(c->table.nitems * sizeof(*all));
	if (!all)
		return NULL;
	for (size_t i = 0; i < c->table.nitems; i++)
		all[i] = (const struct call_stats *)c->table.items[i];
	qsort(all, c->table.nitems, sizeof(*all), by_total);
	return all;
}

uint64_t call_stats_average(const struct call_stats *s)
{
	return s->n ? s->total_ns / s->n : 0;
}

uint64_t call_stats_median(const struct call_stats *s)
{
	uint64_t median_ns = hist_quantile(&s->hist, NULL, 50);

	if (median_ns < s->min_ns)
		return s->min_ns;
	return median_ns > s->max_ns ? s->max_ns : median_ns;
}

/* The largest r with r * r <= x, bit by bit: the same on every machine, as floating point may not be. */
static uint64_t root(unsigned __int128 x)
{
	uint64_t r = 0;

	for (int bit = 63; bit >= 0; bit--) {
		uint64_t next = r | 1ULL << bit;

		if ((unsigned __int128)next * next <= x)
			r = next;
	}
	return r;
}

/* sqrt(mean of squares - square of mean), of the population. */
uint64_t call_stats_deviation(const struct call_stats *s)
{
	unsigned __int128 mean, squares;

	if (s->n == 0)
		return 0;
	mean = (unsigned __int128)s->total_ns * s->total_ns / s->n / s->n;
	squares = s->squares / s->n;
	return squares > mean ? root(squares - mean) : 0;
}

void calls_clear(struct calls *c)
{
	table_clear(&c->table);
	memset(c, 0, sizeof(*c));
}
