/* SPDX-License-Identifier: Apache-2.0 */
/* Two runs side by side. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/diff_inside.h"
#include "replay/out.h"

/* --- is it more than noise? --- */

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

double diff_rank_sum(double *a, size_t na, double *b, size_t nb)
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
	if (variance <= 0)
		return 1; /* all equal */
	z = (fabs(u - mean) - 0.5) / sqrt(variance);
	return z > 0 ? erfc(z / sqrt(2)) : 1;
}

enum certainty { CERTAINTY_SHORT, CERTAINTY_NOISE, CERTAINTY_MORE };

static const struct {
	const char *word, *json;
} certainties[] = {
	[CERTAINTY_SHORT] = {"too short to tell", "too_short"},
	[CERTAINTY_NOISE] = {"within noise", "noise"},
	[CERTAINTY_MORE] = {"more than noise", "more"},
};

/* A function of processes with one name, in both runs. Either may be NULL. */
struct pair {
	const struct diff_row *a, *b;
	const char *process, *function;
	double p_median, p_rate; /* 2: not tested */
};

struct comparison {
	const struct diff_side *a, *b;
	struct pair *pairs;
	size_t npairs, ntests;
};

static size_t medians_of(double *v, const struct diff_row *row)
{
	for (size_t i = 0; i < row->nblocks; i++)
		v[i] = (double)row->blocks[i].median_ns;
	return row->nblocks;
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

static void test_pair(struct comparison *c, struct pair *p, double *va, double *vb)
{
	size_t na, nb;

	p->p_median = p->p_rate = 2;
	if (c->a->nepochs >= DIFF_BLOCKS_MIN && c->b->nepochs >= DIFF_BLOCKS_MIN) {
		na = rates_of(va, c->a, p->a);
		nb = rates_of(vb, c->b, p->b);
		p->p_rate = diff_rank_sum(va, na, vb, nb);
		c->ntests++;
	}
	if (p->a && p->b && p->a->nblocks >= DIFF_BLOCKS_MIN && p->b->nblocks >= DIFF_BLOCKS_MIN) {
		na = medians_of(va, p->a);
		nb = medians_of(vb, p->b);
		p->p_median = diff_rank_sum(va, na, vb, nb);
		c->ntests++;
	}
}

static enum certainty certainty_of(const struct comparison *c, double p)
{
	if (p > 1)
		return CERTAINTY_SHORT;
	return p < DIFF_LEVEL / (double)c->ntests ? CERTAINTY_MORE : CERTAINTY_NOISE;
}

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

static int compare(struct comparison *c, struct fault *why)
{
	size_t most = c->a->nepochs > c->b->nepochs ? c->a->nepochs : c->b->nepochs;
	double *va = calloc(most + 1, sizeof(*va)), *vb = calloc(most + 1, sizeof(*vb));
	int r = 0;

	c->pairs = calloc(c->a->nrows + c->b->nrows + 1, sizeof(*c->pairs));
	if (!va || !vb || !c->pairs) {
		r = fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "no memory to compare captures");
		goto out;
	}
	for (size_t i = 0; i < c->a->nrows; i++)
		c->pairs[c->npairs++] = (struct pair){.a = c->a->rows[i], .b = find_row(c->b, c->a->rows[i])};
	for (size_t i = 0; i < c->b->nrows; i++)
		if (!find_row(c->a, c->b->rows[i]))
			c->pairs[c->npairs++] = (struct pair){.b = c->b->rows[i]};
	for (size_t i = 0; i < c->npairs; i++) {
		struct pair *p = &c->pairs[i];

		p->process = (p->a ? p->a : p->b)->process;
		p->function = (p->a ? p->a : p->b)->function;
		test_pair(c, p, va, vb);
	}
	qsort(c->pairs, c->npairs, sizeof(*c->pairs), by_time);
out:
	free(va);
	free(vb);
	return r;
}

/* --- numbers --- */

static double per_second(const struct diff_side *s, uint64_t n)
{
	return s->duration_ns ? (double)n * 1e9 / (double)s->duration_ns : 0;
}

static uint64_t quantile(const struct diff_row *row, double share)
{
	return row ? diff_quantile(row, share) : 0;
}

/* " (+23 %)"; nothing when there is nothing to compare with. */
static void out_change(struct out *o, double a, double b)
{
	char text[48];
	double change = a > 0 ? (b - a) / a * 100 : 0;

	if (a <= 0 || b <= 0)
		return;
	if (change >= 1000)
		snprintf(text, sizeof(text), " (%.3g times)", b / a);
	else
		snprintf(text, sizeof(text), " (%+.0f %%)", change);
	out_string(o, text);
}

static void out_rate(struct out *o, double rate)
{
	char text[48];

	snprintf(text, sizeof(text), rate >= 100 ? "%.0f/s" : "%.3g/s", rate);
	out_string(o, text);
}

static void out_bytes_of(struct out *o, uint64_t bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	double value = (double)bytes;
	char text[48];
	size_t unit = 0;

	while (value >= 1024 && unit < 4) {
		value /= 1024;
		unit++;
	}
	snprintf(text, sizeof(text), unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
	out_string(o, text);
}

static void out_share(struct out *o, uint64_t part, uint64_t whole)
{
	char text[32];

	snprintf(text, sizeof(text), "%.1f %%", whole ? 100.0 * (double)part / (double)whole : 0.0);
	out_string(o, text);
}

/* --- for people --- */

static void text_side(struct out *o, char letter, const struct diff_side *s)
{
	out_char(o, letter);
	out_string(o, "  ");
	out_string(o, s->verdict);
	out_string(o, "  capture ");
	out_string(o, s->capture);
	out_string(o, "  ");
	out_duration(o, s->duration_ns);
	out_string(o, ", ");
	out_u64(o, s->nevents);
	out_string(o, " events");
	if (s->nlost) {
		out_string(o, ", ");
		out_u64(o, s->nlost);
		out_string(o, " lost: what is told of this run is of the recorded part");
	}
	out_char(o, '\n');
}

static void text_times(struct out *o, const char *what, uint64_t a, uint64_t b)
{
	out_string(o, what);
	out_duration(o, a);
	out_string(o, " -> ");
	out_duration(o, b);
	out_change(o, (double)a, (double)b);
}

static void text_pair(struct out *o, const struct comparison *c, const struct pair *p)
{
	double ra = p->a ? per_second(c->a, p->a->ncalls) : 0, rb = p->b ? per_second(c->b, p->b->ncalls) : 0;
	uint64_t fa = p->a ? p->a->nfailed : 0, fb = p->b ? p->b->nfailed : 0;

	out_string(o, p->process);
	out_string(o, "  ");
	out_string(o, p->function);
	out_string(o, !p->a ? "  only in B\n  rate    " : !p->b ? "  only in A\n  rate    " : "\n  rate    ");
	out_rate(o, ra);
	out_string(o, " -> ");
	out_rate(o, rb);
	out_change(o, ra, rb);
	out_string(o, ": ");
	out_string(o, certainties[certainty_of(c, p->p_rate)].word);
	if (p->a && p->b) {
		text_times(o, "\n  median  ", quantile(p->a, 0.5), quantile(p->b, 0.5));
		out_string(o, ": ");
		out_string(o, certainties[certainty_of(c, p->p_median)].word);
		text_times(o, "\n  p99     ", quantile(p->a, 0.99), quantile(p->b, 0.99));
		text_times(o, "\n  longest ", p->a->max_ns, p->b->max_ns);
	}
	if (fa || fb) {
		out_string(o, "\n  failed  ");
		out_u64(o, fa);
		out_string(o, " -> ");
		out_u64(o, fb);
	}
	out_char(o, '\n');
}

static const struct diff_process *find_process(const struct diff_side *s, const char *name)
{
	static const struct diff_process none;

	for (size_t i = 0; i < s->nprocesses; i++)
		if (strcmp(s->processes[i].name, name) == 0)
			return &s->processes[i];
	return &none;
}

static void text_share(struct out *o, const char *what, uint64_t a, uint64_t whole_a, uint64_t b, uint64_t whole_b)
{
	out_string(o, what);
	out_share(o, a, whole_a);
	out_string(o, " -> ");
	out_share(o, b, whole_b);
}

static void text_process(struct out *o, const char *name, const struct diff_process *a, const struct diff_process *b)
{
	out_string(o, name);
	out_string(o, "\n  memory held at most ");
	out_bytes_of(o, a->peak_bytes);
	out_string(o, " -> ");
	out_bytes_of(o, b->peak_bytes);
	out_change(o, (double)a->peak_bytes, (double)b->peak_bytes);
	out_string(o, "; at the end ");
	out_bytes_of(o, a->held_bytes);
	out_string(o, " -> ");
	out_bytes_of(o, b->held_bytes);
	text_times(o, "\n  time in calls ", a->in_calls_ns, b->in_calls_ns);
	text_share(o, "; of it waiting for a CPU ", a->runnable_ns, a->in_calls_ns, b->runnable_ns, b->in_calls_ns);
	text_share(o, ", asleep in futexes ", a->futex_ns, a->in_calls_ns, b->futex_ns, b->in_calls_ns);
	text_share(o, ", asleep in something else ", a->asleep_ns, a->in_calls_ns, b->asleep_ns, b->in_calls_ns);
	out_char(o, '\n');
}

static void text_write(struct out *o, const struct comparison *c)
{
	text_side(o, 'A', c->a);
	text_side(o, 'B', c->b);
	out_string(o, "\nCalls, by process and function (A -> B; durations are the host's)\n");
	for (size_t i = 0; i < c->npairs; i++)
		text_pair(o, c, &c->pairs[i]);
	out_string(o, "\nProcesses\n");
	for (size_t i = 0; i < c->a->nprocesses; i++)
		text_process(o, c->a->processes[i].name, &c->a->processes[i],
			     find_process(c->b, c->a->processes[i].name));
	for (size_t i = 0; i < c->b->nprocesses; i++)
		if (!find_process(c->a, c->b->processes[i].name)->name)
			text_process(o, c->b->processes[i].name, find_process(c->a, c->b->processes[i].name),
				     &c->b->processes[i]);
	out_string(
		o,
		"\nMore than noise: rates and medians of whole epochs differ (rank-sum test, chance below 1 % over "
		"all comparisons together).\nThat these two runs differ does not say why, nor that two more would.\n");
}

/* --- JSON --- */

static void json_number(struct out *o, const char *key, uint64_t value)
{
	out_string(o, key);
	out_u64(o, value);
}

static void json_side(struct out *o, const char *key, const struct diff_side *s)
{
	out_string(o, key);
	out_string(o, "{\"verdict\":\"");
	out_string(o, s->verdict);
	out_string(o, "\",\"capture\":\"");
	out_string(o, s->capture);
	json_number(o, "\",\"duration_ns\":", s->duration_ns);
	json_number(o, ",\"epochs\":", s->nepochs);
	json_number(o, ",\"events\":", s->nevents);
	json_number(o, ",\"lost\":", s->nlost);
	out_char(o, '}');
}

static void json_row(struct out *o, const char *key, const struct diff_row *row)
{
	out_string(o, key);
	if (!row) {
		out_string(o, "null");
		return;
	}
	json_number(o, "{\"calls\":", row->ncalls);
	json_number(o, ",\"failed\":", row->nfailed);
	json_number(o, ",\"total_ns\":", row->total_ns);
	json_number(o, ",\"median_ns\":", quantile(row, 0.5));
	json_number(o, ",\"p99_ns\":", quantile(row, 0.99));
	json_number(o, ",\"max_ns\":", row->max_ns);
	json_number(o, ",\"epochs\":", row->nblocks);
	out_char(o, '}');
}

static void json_process(struct out *o, const char *key, const struct diff_process *p)
{
	out_string(o, key);
	json_number(o, "{\"peak_bytes\":", p->peak_bytes);
	json_number(o, ",\"held_bytes\":", p->held_bytes);
	json_number(o, ",\"in_calls_ns\":", p->in_calls_ns);
	json_number(o, ",\"waited_for_cpu_ns\":", p->runnable_ns);
	json_number(o, ",\"futex_ns\":", p->futex_ns);
	json_number(o, ",\"asleep_ns\":", p->asleep_ns);
	out_char(o, '}');
}

static void json_processes(struct out *o, const struct comparison *c)
{
	const struct diff_side *sides[] = {c->a, c->b};
	bool first = true;

	for (size_t k = 0; k < 2; k++) {
		for (size_t i = 0; i < sides[k]->nprocesses; i++) {
			const char *name = sides[k]->processes[i].name;

			if (k == 1 && find_process(c->a, name)->name)
				continue;
			out_string(o, first ? "{\"process\":" : ",{\"process\":");
			out_json(o, name, strlen(name));
			json_process(o, ",\"a\":", find_process(c->a, name));
			json_process(o, ",\"b\":", find_process(c->b, name));
			out_char(o, '}');
			first = false;
		}
	}
}

static void json_write(struct out *o, const struct comparison *c)
{
	json_side(o, "{\"a\":", c->a);
	json_side(o, ",\"b\":", c->b);
	out_string(o, ",\"calls\":[");
	for (size_t i = 0; i < c->npairs; i++) {
		const struct pair *p = &c->pairs[i];

		out_string(o, i ? ",{\"process\":" : "{\"process\":");
		out_json(o, p->process, strlen(p->process));
		out_string(o, ",\"function\":");
		out_json(o, p->function, strlen(p->function));
		json_row(o, ",\"a\":", p->a);
		json_row(o, ",\"b\":", p->b);
		out_string(o, ",\"rate\":\"");
		out_string(o, certainties[certainty_of(c, p->p_rate)].json);
		out_string(o, "\",\"median\":\"");
		out_string(o, certainties[certainty_of(c, p->p_median)].json);
		out_string(o, "\"}");
	}
	out_string(o, "],\"processes\":[");
	json_processes(o, c);
	out_string(o, "]}\n");
}

int diff_write(const struct diff_side *a, const struct diff_side *b, bool json, int fd, struct fault *why)
{
	struct comparison c = {.a = a, .b = b};
	struct out o;
	int r = out_open(&o, fd, why);

	if (r < 0)
		return r;
	r = compare(&c, why);
	if (r == 0) {
		(json ? json_write : text_write)(&o, &c);
		r = out_finish(&o, why);
	}
	free(c.pairs);
	out_close(&o);
	return r;
}
