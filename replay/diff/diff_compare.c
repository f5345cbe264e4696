/* SPDX-License-Identifier: Apache-2.0 */
/* What of two runs differs, and whether it is more than noise. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay/diff/diff_internal.h"

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
static size_t row_shares(double *v, const struct diff_row *row, unsigned cause)
{
	size_t n = 0;

	for (size_t i = 0; row && i < row->nblocks; i++)
		if (row->blocks[i].split.in_calls_ns)
			v[n++] = (double)row->blocks[i].split.ns[cause] / (double)row->blocks[i].split.in_calls_ns;
	return n;
}

static size_t process_shares(double *v, const struct diff_process *p, unsigned cause)
{
	for (size_t i = 0; i < p->nblocks; i++)
		v[i] = (double)p->blocks[i].split.ns[cause] / (double)p->blocks[i].split.in_calls_ns;
	return p->nblocks;
}

static size_t peaks_of(double *v, const struct diff_process *p)
{
	for (size_t i = 0; i < p->nmemory; i++)
		v[i] = (double)p->memory[i].peak_bytes;
	return p->nmemory;
}

/* What the least that is held grew by, a second: a working set comes and goes, a leak stays. */
static size_t growths_of(double *v, const struct diff_side *s, const struct diff_process *p)
{
	size_t n = 0;

	for (size_t i = 1; i < p->nmemory; i++) {
		uint64_t ns = s->epoch_ns[p->memory[i].number];

		if (ns)
			v[n++] = ((double)p->memory[i].low_bytes - (double)p->memory[i - 1].low_bytes) * 1e9 /
				 (double)ns;
	}
	return n;
}

/* How far what is held goes up and down in the second half of the run, but for the last epoch: the end is judged by it.
 */
static double swing_of(const struct diff_process *p)
{
	uint64_t low = UINT64_MAX, high = 0;

	for (size_t i = p->nmemory / 2; i + 1 < p->nmemory; i++) {
		low = p->memory[i].low_bytes < low ? p->memory[i].low_bytes : low;
		high = p->memory[i].peak_bytes > high ? p->memory[i].peak_bytes : high;
	}
	return high > low ? (double)(high - low) : 0;
}

/* --- comparisons --- */

static const struct diff_floor rate_floor = {.share = 0.1, .least = 0.5}; /* calls a second */
static const struct diff_floor duration_floor = {.share = 0.25,
						 .least = 1000}; /* ns: another host's load does as much */
static const struct diff_floor memory_floor = {.share = 0.1, .least = 1 << 20};

#define SLOW_FACTOR 10 /* times the larger median */

static struct diff_change compare(struct comparison *c, size_t na, size_t nb, struct diff_floor floor)
{
	return diff_compare(c->va, na, c->vb, nb, c->scratch, true, STRICT, floor);
}

static void set_slow(struct pair *p)
{
	uint64_t a_ns = diff_quantile(p->a, 0.5), b_ns = diff_quantile(p->b, 0.5), usual_ns = a_ns > b_ns ? a_ns : b_ns;

	p->slow_ns = usual_ns * SLOW_FACTOR > INCIDENT_NS ? usual_ns * SLOW_FACTOR : INCIDENT_NS;
}

static size_t incidents_of(const struct diff_row *row, uint64_t slow_ns)
{
	size_t n = 0;

	for (size_t i = 0; row && i < row->nincidents; i++)
		n += row->incidents[i].max_ns > slow_ns;
	return n;
}

static double seconds(const struct diff_side *s)
{
	return (double)s->duration_ns / 1e9;
}

static void compare_causes(struct comparison *c, struct pair *p, enum strictness strictness)
{
	for (unsigned i = 0; i < DIFF_NCAUSES; i++) {
		size_t na, nb;

		/* What neither run has is no comparison: there is no difference. */
		if (!p->a->split.ns[i] && !p->b->split.ns[i])
			continue;
		na = row_shares(c->va, p->a, i), nb = row_shares(c->vb, p->b, i);
		p->change[CALL_CAUSES + i] =
			diff_compare(c->va, na, c->vb, nb, c->scratch, false, strictness, diff_share_floor);
	}
}

/* `strictness`: MILD if the process has more or fewer incidents than noise, and this may be where. */
static void compare_pair(struct comparison *c, struct pair *p, enum strictness strictness)
{
	size_t na = rates_of(c->va, c->a, p->a), nb = rates_of(c->vb, c->b, p->b);
	size_t ka = incidents_of(p->a, p->slow_ns), kb = incidents_of(p->b, p->slow_ns);

	p->change[CALL_RATE] = compare(c, na, nb, rate_floor);
	if (ka || kb)
		p->change[CALL_SLOW] = diff_compare_rare(ka, seconds(c->a), kb, seconds(c->b), strictness);
	if (!p->a || !p->b)
		return;
	na = medians_of(c->va, p->a), nb = medians_of(c->vb, p->b);
	p->change[CALL_MEDIAN] = compare(c, na, nb, duration_floor);
	na = tails_of(c->va, p->a), nb = tails_of(c->vb, p->b);
	p->change[CALL_TAIL] = compare(c, na, nb, duration_floor);
	compare_causes(c, p, strictness);
}

/* --- incidents of a process --- */

static int by_start(const void *x, const void *y)
{
	const struct incident *a = x, *b = y;

	return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

/* Those of all functions; what overlaps is one. `which`: 0 for the first run. */
static int count_incidents(const struct comparison *c, const char *process, unsigned which, uint64_t *out,
			   struct fault *why)
{
	struct incident *all;
	size_t room = 0, n = 0;
	uint64_t end_ns = 0;

	for (size_t i = 0; i < c->npairs; i++) {
		const struct diff_row *row = which ? c->pairs[i].b : c->pairs[i].a;

		room += row ? row->nincidents : 0;
	}
	all = calloc(room + 1, sizeof(*all));
	if (!all)
		return fault_no_memory(why);
	for (size_t i = 0; i < c->npairs; i++) {
		const struct diff_row *row = which ? c->pairs[i].b : c->pairs[i].a;

		for (size_t k = 0; row && !strcmp(row->process, process) && k < row->nincidents; k++)
			if (row->incidents[k].max_ns > c->pairs[i].slow_ns)
				all[n++] = row->incidents[k];
	}
	qsort(all, n, sizeof(*all), by_start);
	*out = 0;
	for (size_t i = 0; i < n; i++) {
		*out += i == 0 || all[i].start_ns > end_ns + INCIDENT_GAP_NS;
		end_ns = all[i].end_ns > end_ns ? all[i].end_ns : end_ns;
	}
	free(all);
	return 0;
}

static int compare_incidents(struct comparison *c, struct process_pair *p, struct fault *why)
{
	int r = count_incidents(c, p->name, 0, &p->nslow_a, why);

	if (r == 0)
		r = count_incidents(c, p->name, 1, &p->nslow_b, why);
	if (r == 0 && (p->nslow_a || p->nslow_b))
		p->change[PROCESS_SLOW] =
			diff_compare_rare(p->nslow_a, seconds(c->a), p->nslow_b, seconds(c->b), STRICT);
	return r;
}

static enum strictness strictness_of(const struct comparison *c, const char *process)
{
	for (size_t i = 0; i < c->nprocesses; i++)
		if (!strcmp(c->processes[i].name, process) &&
		    c->processes[i].change[PROCESS_SLOW].certainty == CERTAINTY_MORE)
			return MILD;
	return STRICT;
}

/* What was never freed is one number for each run: how far the program's memory swings is its noise. */
static struct diff_change compare_unfreed(const struct diff_process *a, const struct diff_process *b)
{
	struct diff_change c = {.a = (double)a->held_bytes[MEMORY_KINDS], .b = (double)b->held_bytes[MEMORY_KINDS]};

	c.certainty = CERTAINTY_SHORT;
	if (a->nmemory < DIFF_BLOCKS_MIN || b->nmemory < DIFF_BLOCKS_MIN)
		return c;
	c.bound = fmax(fmax(memory_floor.share * fmax(c.a, c.b), memory_floor.least), fmax(swing_of(a), swing_of(b)));
	c.certainty = fabs(c.b - c.a) > c.bound ? CERTAINTY_MORE : CERTAINTY_NOISE;
	return c;
}

static void compare_process(struct comparison *c, struct process_pair *p)
{
	size_t na, nb;

	assert(p->a && p->b);
	if (p->a->peak_bytes[MEMORY_KINDS] || p->b->peak_bytes[MEMORY_KINDS]) {
		na = peaks_of(c->va, p->a), nb = peaks_of(c->vb, p->b);
		p->change[PROCESS_HELD] = compare(c, na, nb, memory_floor);
		na = growths_of(c->va, c->a, p->a), nb = growths_of(c->vb, c->b, p->b);
		p->change[PROCESS_GROWTH] = compare(c, na, nb, diff_growth_floor);
		p->change[PROCESS_UNFREED] = compare_unfreed(p->a, p->b);
	}
	for (unsigned i = 0; i < DIFF_NCAUSES; i++) {
		if (!p->a->split.ns[i] && !p->b->split.ns[i])
			continue;
		na = process_shares(c->va, p->a, i), nb = process_shares(c->vb, p->b, i);
		p->change[PROCESS_CAUSES + i] = diff_compare(c->va, na, c->vb, nb, c->scratch, false,
							     strictness_of(c, p->name), diff_share_floor);
	}
}

/* --- what they cost --- */

double diff_per_second(const struct diff_side *s, uint64_t n)
{
	return s->duration_ns ? (double)n * 1e9 / (double)s->duration_ns : 0;
}

static double apart(double a, double b)
{
	return fabs(a - b);
}

/* Time in a second that the change adds or takes. */
static double call_cost(const struct comparison *c, const struct pair *p, unsigned metric)
{
	const struct diff_row *most = !p->a || (p->b && p->b->ncalls > p->a->ncalls) ? p->b : p->a;
	uint64_t slow_a, slow_b;
	double rate;

	assert(most);
	rate = diff_per_second(most == p->a ? c->a : c->b, most->ncalls);
	switch (metric) {
	case CALL_RATE:
		return apart(p->change[metric].a, p->change[metric].b) * (double)most->total_ns / (double)most->ncalls;
	case CALL_MEDIAN:
		return apart(p->change[metric].a, p->change[metric].b) * rate;
	case CALL_TAIL:
		return apart(p->change[metric].a, p->change[metric].b) * rate / 100;
	case CALL_SLOW:
		diff_slow_calls(p->a, p->slow_ns, &slow_a);
		diff_slow_calls(p->b, p->slow_ns, &slow_b);
		return apart(diff_per_second(c->a, slow_a), diff_per_second(c->b, slow_b));
	default:
		return apart(p->a ? diff_per_second(c->a, p->a->split.ns[metric - CALL_CAUSES]) : 0,
			     p->b ? diff_per_second(c->b, p->b->split.ns[metric - CALL_CAUSES]) : 0);
	}
}

static double process_cost(const struct comparison *c, const struct process_pair *p, unsigned metric)
{
	double cost = 0;

	if (metric < PROCESS_SLOW)
		return apart(p->change[metric].a, p->change[metric].b);
	if (metric >= PROCESS_CAUSES)
		return apart(diff_per_second(c->a, p->a->split.ns[metric - PROCESS_CAUSES]),
			     diff_per_second(c->b, p->b->split.ns[metric - PROCESS_CAUSES]));
	for (size_t i = 0; i < c->npairs; i++)
		if (!strcmp(c->pairs[i].process, p->name))
			cost += call_cost(c, &c->pairs[i], CALL_SLOW);
	return cost;
}

static int by_cost(const void *x, const void *y)
{
	const struct diff_finding *a = x, *b = y;

	if (a->unsure != b->unsure)
		return a->unsure ? 1 : -1;
	if (a->memory != b->memory)
		return a->memory ? -1 : 1;
	if (a->cost != b->cost)
		return a->cost < b->cost ? 1 : -1;
	return (a->metric > b->metric) - (a->metric < b->metric);
}

/* Count a comparison; if it is more than noise, or may be, it becomes a finding. */
static void add_finding(struct comparison *c, struct diff_finding f, enum certainty certainty, double cost)
{
	size_t n = c->n[CERTAINTY_MORE] + c->n[CERTAINTY_UNSURE];

	c->n[certainty]++;
	if (certainty < CERTAINTY_UNSURE)
		return;
	f.unsure = certainty == CERTAINTY_UNSURE;
	f.cost = cost;
	c->findings[n] = f;
}

static int find_changes(struct comparison *c, struct fault *why)
{
	c->findings = calloc(c->npairs * CALL_METRICS + c->nprocesses * PROCESS_METRICS + 1, sizeof(*c->findings));
	if (!c->findings)
		return fault_no_memory(why);
	for (size_t i = 0; i < c->npairs; i++)
		for (unsigned m = 0; m < CALL_METRICS; m++) {
			const struct pair *p = &c->pairs[i];
			const struct diff_finding f = {.pair = p, .metric = m};

			add_finding(c, f, p->change[m].certainty, call_cost(c, p, m));
		}
	for (size_t i = 0; i < c->nprocesses; i++)
		for (unsigned m = 0; m < PROCESS_METRICS; m++) {
			const struct process_pair *p = &c->processes[i];
			const struct diff_finding f = {.process = p, .metric = m, .memory = m < PROCESS_SLOW};

			add_finding(c, f, p->change[m].certainty, process_cost(c, p, m));
		}
	qsort(c->findings, c->n[CERTAINTY_MORE] + c->n[CERTAINTY_UNSURE], sizeof(*c->findings), by_cost);
	return 0;
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

		c->processes[c->nprocesses++] =
			(struct process_pair){.name = p->name, .a = p, .b = find_process(c->b, p->name)};
	}
	for (size_t i = 0; i < c->b->nprocesses; i++) {
		const struct diff_process *p = &c->b->processes[i];

		if (!find_process(c->a, p->name)->name)
			c->processes[c->nprocesses++] =
				(struct process_pair){.name = p->name, .a = find_process(c->a, p->name), .b = p};
	}
}

int comparison_make(struct comparison *c, const struct diff_side *a, const struct diff_side *b, struct fault *why)
{
	size_t most = a->nepochs > b->nepochs ? a->nepochs : b->nepochs;
	int r = 0;

	*c = (struct comparison){.a = a, .b = b};
	c->va = calloc(most + 1, sizeof(*c->va));
	c->vb = calloc(most + 1, sizeof(*c->vb));
	c->scratch = calloc(most + 1, sizeof(*c->scratch));
	c->pairs = calloc(a->nrows + b->nrows + 1, sizeof(*c->pairs));
	c->processes = calloc(a->nprocesses + b->nprocesses + 1, sizeof(*c->processes));
	if (!c->va || !c->vb || !c->scratch || !c->pairs || !c->processes)
		return fault_no_memory(why);
	pair_calls(c);
	pair_processes(c);
	for (size_t i = 0; i < c->npairs; i++)
		set_slow(&c->pairs[i]);
	for (size_t i = 0; i < c->nprocesses && r == 0; i++) {
		r = compare_incidents(c, &c->processes[i], why);
		compare_process(c, &c->processes[i]);
	}
	if (r < 0)
		return r;
	for (size_t i = 0; i < c->npairs; i++)
		compare_pair(c, &c->pairs[i], strictness_of(c, c->pairs[i].process));
	qsort(c->pairs, c->npairs, sizeof(*c->pairs), by_time);
	return find_changes(c, why);
}

void comparison_clear(struct comparison *c)
{
	free(c->va);
	free(c->vb);
	free(c->scratch);
	free(c->pairs);
	free(c->processes);
	free(c->findings);
	*c = (struct comparison){0};
}
