/* SPDX-License-Identifier: Apache-2.0 */
/* Two runs side by side. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/text.h"
#include "replay/diff/diff_internal.h"

#define SHOWN 10 /* changes, on the first screen */

/* --- numbers --- */

/* " (+23 %)", " (17.5 times)", " (1/17.5)"; nothing when there is nothing to compare with. */
static void add_change(struct text *t, double a, double b)
{
	double change = a > 0 ? (b - a) / a * 100 : 0;

	if (a <= 0 || b <= 0)
		return;
	if (change >= 1000)
		text_add(t, b >= 1000 * a ? " (%.0f times)" : " (%.3g times)", b / a);
	else if (a >= 11 * b) /* as far the other way: -100 % would be nothing at all */
		text_add(t, " (1/%.3g)", a / b);
	else
		text_add(t, " (%+.0f %%)", change);
}

static void add_rate(struct text *t, double rate)
{
	text_add(t, rate >= 100 ? "%.0f/s" : "%.3g/s", rate);
}

static void add_share(struct text *t, uint64_t part, uint64_t whole)
{
	text_add_percent(t, part, whole);
	text_add_string(t, " %");
}

/* --- for people --- */

static void text_side(struct text *t, char letter, const struct diff_side *s)
{
	text_add(t, "%c  %s  capture %s  ", letter, s->verdict, s->capture);
	text_add_ns(t, s->duration_ns);
	text_add(t, ", %" PRIu64 " events", s->nevents);
	if (s->nlost)
		text_add(t, ", %" PRIu64 " lost; only what was recorded is compared", s->nlost);
	text_add_string(t, "\n");
}

static void text_times(struct text *t, const char *what, uint64_t a, uint64_t b)
{
	text_add_string(t, what);
	text_add_ns(t, a);
	text_add_string(t, " -> ");
	text_add_ns(t, b);
	add_change(t, (double)a, (double)b);
}

/* The causes of calls and of processes: metrics from `first` on. */
#define CAUSES(first)                                                                                                  \
	[(first) + DIFF_CPU] = {"waiting for a CPU", "waited_for_cpu", QUANTITY_SHARE},                                \
		   [(first) + DIFF_FUTEX] = {"asleep in futexes", "futex", QUANTITY_SHARE},                            \
		   [(first) + DIFF_DISK] = {"asleep for a block device", "disk", QUANTITY_SHARE},                      \
		   [(first) + DIFF_FAULT] = {"asleep in page faults", "fault", QUANTITY_SHARE},                        \
		   [(first) + DIFF_OTHER] = {"asleep in something else", "asleep", QUANTITY_SHARE}

const struct diff_metric diff_call_metrics[CALL_METRICS] = {
	[CALL_RATE] = {"rate", "rate", QUANTITY_RATE},
	[CALL_MEDIAN] = {"median", "median", QUANTITY_DURATION},
	[CALL_TAIL] = {"p99", "p99", QUANTITY_DURATION},
	[CALL_SLOW] = {"slow calls", "slow", QUANTITY_INCIDENTS},
	CAUSES(CALL_CAUSES),
};

const struct diff_metric diff_process_metrics[PROCESS_METRICS] = {
	[PROCESS_HELD] = {"memory held", "held", QUANTITY_BYTES},
	[PROCESS_GROWTH] = {"memory growth", "growth", QUANTITY_GROWTH},
	[PROCESS_UNFREED] = {"memory not freed", "unfreed", QUANTITY_BYTES},
	[PROCESS_SLOW] = {"slow calls", "slow", QUANTITY_INCIDENTS},
	CAUSES(PROCESS_CAUSES),
};

static void add_signed_size(struct text *t, double bytes)
{
	if (bytes < 0)
		text_add_string(t, "-");
	text_add_size(t, (uint64_t)(bytes < 0 ? -bytes : bytes));
}

static void add_value(struct text *t, enum quantity unit, double v)
{
	switch (unit) {
	case QUANTITY_RATE:
		add_rate(t, v);
		return;
	case QUANTITY_DURATION:
		text_add_ns(t, (uint64_t)v);
		return;
	case QUANTITY_INCIDENTS:
		text_add(t, "%.3g/min", 60 * v);
		return;
	case QUANTITY_SHARE:
		text_add(t, "%.1f %%", 100 * v);
		return;
	case QUANTITY_BYTES:
		add_signed_size(t, v);
		return;
	case QUANTITY_GROWTH:
		add_signed_size(t, v);
		text_add_string(t, "/s");
		return;
	}
}

/* "134/s -> 234/s" */
static void add_values(struct text *t, enum quantity unit, double a, double b)
{
	add_value(t, unit, a);
	text_add_string(t, " -> ");
	add_value(t, unit, b);
}

/* The least change that would have been more than noise. */
static void add_bound(struct text *t, enum quantity unit, const struct diff_change *c)
{
	text_add_string(t, "±");
	if (unit == QUANTITY_SHARE)
		text_add(t, "%.1f points", 100 * c->bound);
	else
		add_value(t, unit, c->bound);
}

/* ": within noise (±3.2/s)". */
static void text_certainty(struct text *t, enum quantity unit, const struct diff_change *c)
{
	static const char *const words[CERTAINTIES] = {[CERTAINTY_NONE] = "",
						       [CERTAINTY_SHORT] = ": too little data",
						       [CERTAINTY_NOISE] = ": within noise (",
						       [CERTAINTY_UNSURE] = ": may be noise (",
						       [CERTAINTY_MORE] = ": more than noise ("};

	text_add_string(t, words[c->certainty]);
	if (c->certainty < CERTAINTY_NOISE)
		return;
	add_bound(t, unit, c);
	text_add_string(t, ")");
}

/* `changes`: of the causes. */
static void text_split(struct text *t, const struct diff_split *a, const struct diff_split *b,
		       const struct diff_change *changes)
{
	for (unsigned i = 0; i < DIFF_NCAUSES; i++) {
		if (!a->ns[i] && !b->ns[i])
			continue;
		text_add(t, "\n    %s ", diff_call_metrics[CALL_CAUSES + i].words);
		add_share(t, a->ns[i], a->in_calls_ns);
		text_add_string(t, " -> ");
		add_share(t, b->ns[i], b->in_calls_ns);
		text_certainty(t, QUANTITY_SHARE, &changes[i]);
	}
}

static void text_slow(struct text *t, const struct pair *p)
{
	uint64_t ns;

	if (p->change[CALL_SLOW].certainty == CERTAINTY_NONE)
		return;
	text_add_string(t, "\n  over ");
	text_add_ns(t, p->slow_ns);
	text_add(t, " %" PRIu64 " -> %" PRIu64 " calls, incidents ", diff_slow_calls(p->a, p->slow_ns, &ns),
		 diff_slow_calls(p->b, p->slow_ns, &ns));
	add_values(t, QUANTITY_INCIDENTS, p->change[CALL_SLOW].a, p->change[CALL_SLOW].b);
	text_certainty(t, QUANTITY_INCIDENTS, &p->change[CALL_SLOW]);
}

static void text_pair(struct text *t, const struct comparison *c, const struct pair *p)
{
	double ra = p->a ? diff_per_second(c->a, p->a->ncalls) : 0, rb = p->b ? diff_per_second(c->b, p->b->ncalls) : 0;
	uint64_t fa = p->a ? p->a->nfailed : 0, fb = p->b ? p->b->nfailed : 0;

	text_add(t, "%s  %s%s\n  rate    ", p->process, p->function,
		 !p->a   ? "  only in B"
		 : !p->b ? "  only in A"
			 : "");
	add_rate(t, ra);
	text_add_string(t, " -> ");
	add_rate(t, rb);
	add_change(t, ra, rb);
	text_certainty(t, QUANTITY_RATE, &p->change[CALL_RATE]);
	if (p->a && p->b) {
		text_times(t, "\n  median  ", diff_quantile(p->a, 0.5), diff_quantile(p->b, 0.5));
		text_certainty(t, QUANTITY_DURATION, &p->change[CALL_MEDIAN]);
		text_times(t, "\n  p99     ", diff_quantile(p->a, 0.99), diff_quantile(p->b, 0.99));
		text_certainty(t, QUANTITY_DURATION, &p->change[CALL_TAIL]);
		text_times(t, "\n  longest ", p->a->max_ns, p->b->max_ns);
		text_slow(t, p);
		if (p->a->split.in_calls_ns || p->b->split.in_calls_ns)
			text_times(t, "\n  in sum  ", p->a->split.in_calls_ns, p->b->split.in_calls_ns);
		text_split(t, &p->a->split, &p->b->split, &p->change[CALL_CAUSES]);
	}
	if (fa || fb)
		text_add(t, "\n  failed  %" PRIu64 " -> %" PRIu64, fa, fb);
	text_add_string(t, "\n");
}

/* Memory of one kind, or (MEMORY_KINDS) of all. */
static void text_memory(struct text *t, const struct process_pair *p, unsigned kind)
{
	uint64_t a = p->a->peak_bytes[kind], b = p->b->peak_bytes[kind];
	bool all = kind == MEMORY_KINDS;

	if (all)
		text_add_string(t, "\n  memory held at most ");
	else
		text_add(t, "\n    %s ", memory_word(kind));
	text_add_size(t, a);
	text_add_string(t, " -> ");
	text_add_size(t, b);
	add_change(t, (double)a, (double)b);
	if (all)
		text_certainty(t, QUANTITY_BYTES, &p->change[PROCESS_HELD]);
	text_add_string(t, all ? "\n  not freed " : "; not freed ");
	text_add_size(t, p->a->held_bytes[kind]);
	text_add_string(t, " -> ");
	text_add_size(t, p->b->held_bytes[kind]);
	if (all)
		text_certainty(t, QUANTITY_BYTES, &p->change[PROCESS_UNFREED]);
}

static void text_growth(struct text *t, const struct process_pair *p)
{
	const struct diff_change *c = &p->change[PROCESS_GROWTH];

	if (c->certainty == CERTAINTY_NONE)
		return;
	text_add_string(t, "\n  growth of memory ");
	add_values(t, QUANTITY_GROWTH, c->a, c->b);
	text_certainty(t, QUANTITY_GROWTH, c);
}

static void text_process(struct text *t, const struct process_pair *p)
{
	unsigned nkinds = 0;

	for (unsigned kind = 0; kind < MEMORY_KINDS; kind++)
		nkinds += p->a->peak_bytes[kind] || p->b->peak_bytes[kind];
	text_add_string(t, p->name);
	text_memory(t, p, MEMORY_KINDS);
	for (unsigned kind = 0; nkinds > 1 && kind < MEMORY_KINDS; kind++)
		if (p->a->peak_bytes[kind] || p->b->peak_bytes[kind])
			text_memory(t, p, kind);
	text_growth(t, p);
	text_times(t, "\n  time in calls ", p->a->split.in_calls_ns, p->b->split.in_calls_ns);
	text_split(t, &p->a->split, &p->b->split, &p->change[PROCESS_CAUSES]);
	text_add_string(t, "\n");
}

/* "  driver  cudaFree  rate 134/s -> 234/s (+75 %), beyond ±13.4/s". */
static void text_finding(struct text *t, const struct diff_finding *f)
{
	const struct diff_change *c = f->pair ? &f->pair->change[f->metric] : &f->process->change[f->metric];
	const struct diff_metric *m = &(f->pair ? diff_call_metrics : diff_process_metrics)[f->metric];

	text_add(t, "  %s  ", f->pair ? f->pair->process : f->process->name);
	if (f->pair)
		text_add(t, "%s  ", f->pair->function);
	text_add_string(t, m->words);
	if (f->pair && f->metric == CALL_SLOW) {
		text_add_string(t, " (over ");
		text_add_ns(t, f->pair->slow_ns);
		text_add_string(t, ")");
	}
	text_add_string(t, " ");
	add_values(t, m->unit, c->a, c->b);
	if (m->unit <= QUANTITY_INCIDENTS)
		add_change(t, c->a, c->b);
	text_add_string(t, "; noise is ");
	add_bound(t, m->unit, c);
	text_add_string(t, "\n");
}

static void text_findings(struct text *t, const struct diff_finding *f, size_t n)
{
	for (size_t i = 0; i < n && i < SHOWN; i++)
		text_finding(t, &f[i]);
	if (n > SHOWN)
		text_add(t, "  and %zu smaller ones\n", n - SHOWN);
}

/* The result of all comparisons: the first screen. */
static void text_sum(struct text *t, const struct comparison *c)
{
	size_t more = c->n[CERTAINTY_MORE], unsure = c->n[CERTAINTY_UNSURE], few = c->n[CERTAINTY_SHORT];
	size_t all = more + unsure + few + c->n[CERTAINTY_NOISE];

	if (all == few) {
		text_add(t, "\nNothing can be concluded: there is too little data for any of %zu comparisons.\n", all);
	} else {
		text_add(t, more ? "\n%zu" : "\nNone", more);
		text_add(t, " of %zu metrics changed by more than noise; %zu had too little data%s\n", all, few,
			 more ? ":" : ".");
	}
	text_findings(t, c->findings, more);
	if (unsure)
		text_add_string(t,
				"Changes that may be noise (once in 20 to 500 such pairs of runs); longer runs would "
				"show which:\n");
	text_findings(t, c->findings + more, unsure);
	if (few)
		text_add(t,
			 "Data is enough with %d seconds of such calls in each run (for p99, %d calls in each "
			 "second).\n",
			 DIFF_BLOCKS_MIN, DIFF_TAIL_CALLS_MIN);
}

static bool any_more(const struct diff_change *changes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (changes[i].certainty >= CERTAINTY_UNSURE)
			return true;
	return false;
}

static void text_write(struct text *t, const struct comparison *c, enum diff_detail detail)
{
	bool all = detail == DIFF_ALL;

	text_side(t, 'A', c->a);
	text_side(t, 'B', c->b);
	text_sum(t, c);
	if (detail == DIFF_LARGEST)
		return;
	text_add_string(
		t, all ? "\nCalls, by process and function (A -> B; durations are the host's)\n"
		       : "\nCalls that changed, by process and function (A -> B; durations are the host's; -v shows "
			 "all)\n");
	for (size_t i = 0; i < c->npairs; i++)
		if (all || !c->pairs[i].a || !c->pairs[i].b || any_more(c->pairs[i].change, CALL_METRICS))
			text_pair(t, c, &c->pairs[i]);
	text_add_string(t, "\nProcesses\n");
	for (size_t i = 0; i < c->nprocesses; i++)
		text_process(t, &c->processes[i]);
	text_add_string(
		t, "\nMore than noise: beyond the bound that is shown. It follows from how the seconds of each run "
		   "differ (chance of\n"
		   "error 1 in 10,000; for slow calls 1 in 500) and is at least 10 % of a rate or of memory, 25 % "
		   "of a duration, and\n"
		   "2 points of a share. That two runs differ does not show why.\n");
}

/* After writing; `r` is what making it returned. */
static int finish(struct comparison *c, int r, struct diff_result *result)
{
	if (r == 0)
		*result = (struct diff_result){.nreported = c->n[CERTAINTY_MORE] + c->n[CERTAINTY_UNSURE] +
							    c->n[CERTAINTY_NOISE],
					       .nchanges = c->n[CERTAINTY_MORE]};
	comparison_clear(c);
	return r;
}

int diff_text(const struct diff_side *a, const struct diff_side *b, enum diff_detail detail, struct text *t,
	      struct diff_result *result, struct fault *why)
{
	struct comparison c = {0};
	int r = comparison_make(&c, a, b, why);

	if (r == 0)
		text_write(t, &c, detail);
	return finish(&c, r, result);
}

int diff_json(const struct diff_side *a, const struct diff_side *b, const char *key, struct json *j,
	      struct diff_result *result, struct fault *why)
{
	struct comparison c = {0};
	int r = comparison_make(&c, a, b, why);

	if (r == 0)
		diff_write_json(j, key, &c);
	return finish(&c, r, result);
}
