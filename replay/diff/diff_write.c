/* SPDX-License-Identifier: Apache-2.0 */
/* Two runs side by side. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/diff/diff_internal.h"
#include "replay/out.h"

#define SHOWN 10 /* changes, on the first screen */

/* --- numbers --- */

static uint64_t quantile(const struct diff_row *row, double share)
{
	return row ? diff_quantile(row, share) : 0;
}

/* " (+23 %)", " (17.5 times)", " (1/17.5)"; nothing when there is nothing to compare with. */
static void out_change(struct out *o, double a, double b)
{
	char text[48];
	double change = a > 0 ? (b - a) / a * 100 : 0;

	if (a <= 0 || b <= 0)
		return;
	if (change >= 1000)
		snprintf(text, sizeof(text), b >= 1000 * a ? " (%.0f times)" : " (%.3g times)", b / a);
	else if (a >= 11 * b) /* as far the other way: -100 % would be nothing at all */
		snprintf(text, sizeof(text), " (1/%.3g)", a / b);
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
		out_string(o, " lost; only what was recorded is compared");
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

static const char *const call_words[] = {
	[CALL_RATE] = "rate", [CALL_MEDIAN] = "median", [CALL_TAIL] = "p99", [CALL_SLOW] = "slow calls"};
static const char *const process_words[] = {[PROCESS_HELD] = "memory held",
					    [PROCESS_GROWTH] = "memory growth",
					    [PROCESS_UNFREED] = "memory not freed",
					    [PROCESS_SLOW] = "slow calls"};

enum quantity { QUANTITY_RATE, QUANTITY_DURATION, QUANTITY_INCIDENTS, QUANTITY_SHARE, QUANTITY_BYTES, QUANTITY_GROWTH };

static enum quantity call_unit(unsigned metric)
{
	return metric == CALL_RATE    ? QUANTITY_RATE
	       : metric == CALL_SLOW  ? QUANTITY_INCIDENTS
	       : metric < CALL_CAUSES ? QUANTITY_DURATION
				      : QUANTITY_SHARE;
}

static enum quantity process_unit(unsigned metric)
{
	return metric == PROCESS_SLOW     ? QUANTITY_INCIDENTS
	       : metric == PROCESS_GROWTH ? QUANTITY_GROWTH
	       : metric < PROCESS_CAUSES  ? QUANTITY_BYTES
					  : QUANTITY_SHARE;
}

static void out_points(struct out *o, double share, const char *unit)
{
	char text[32];

	snprintf(text, sizeof(text), "%.1f %s", 100 * share, unit);
	out_string(o, text);
}

static void out_per_minute(struct out *o, double per_second)
{
	char text[32];

	snprintf(text, sizeof(text), "%.3g/min", 60 * per_second);
	out_string(o, text);
}

static void out_signed_bytes(struct out *o, double bytes)
{
	if (bytes < 0)
		out_char(o, '-');
	out_bytes_of(o, (uint64_t)(bytes < 0 ? -bytes : bytes));
}

static void out_value(struct out *o, enum quantity unit, double v)
{
	switch (unit) {
	case QUANTITY_RATE:
		out_rate(o, v);
		return;
	case QUANTITY_DURATION:
		out_duration(o, (uint64_t)v);
		return;
	case QUANTITY_INCIDENTS:
		out_per_minute(o, v);
		return;
	case QUANTITY_SHARE:
		out_points(o, v, "%");
		return;
	case QUANTITY_BYTES:
		out_signed_bytes(o, v);
		return;
	case QUANTITY_GROWTH:
		out_signed_bytes(o, v);
		out_string(o, "/s");
		return;
	}
}

/* The least change that would have been more than noise. */
static void out_bound(struct out *o, enum quantity unit, const struct diff_change *c)
{
	out_string(o, "±");
	if (unit == QUANTITY_SHARE)
		out_points(o, c->bound, "points");
	else
		out_value(o, unit, c->bound);
}

/* ": within noise (±3.2/s)". */
static void text_certainty(struct out *o, enum quantity unit, const struct diff_change *c)
{
	static const char *const words[CERTAINTIES] = {[CERTAINTY_NONE] = "",
						       [CERTAINTY_SHORT] = ": too little data",
						       [CERTAINTY_NOISE] = ": within noise (",
						       [CERTAINTY_UNSURE] = ": may be noise (",
						       [CERTAINTY_MORE] = ": more than noise ("};

	out_string(o, words[c->certainty]);
	if (c->certainty < CERTAINTY_NOISE)
		return;
	out_bound(o, unit, c);
	out_char(o, ')');
}

const char *diff_cause_words(enum diff_cause cause)
{
	static const char *const words[DIFF_NCAUSES] = {
		[DIFF_CPU] = "waiting for a CPU",          [DIFF_FUTEX] = "asleep in futexes",
		[DIFF_DISK] = "asleep for a block device", [DIFF_FAULT] = "asleep in page faults",
		[DIFF_OTHER] = "asleep in something else",
	};

	return words[cause];
}

/* `changes`: of the causes. */
static void text_split(struct out *o, const struct diff_split *a, const struct diff_split *b,
		       const struct diff_change *changes)
{
	for (unsigned i = 0; i < DIFF_NCAUSES; i++) {
		if (!a->ns[i] && !b->ns[i])
			continue;
		out_string(o, "\n    ");
		out_string(o, diff_cause_words(i));
		out_char(o, ' ');
		out_share(o, a->ns[i], a->in_calls_ns);
		out_string(o, " -> ");
		out_share(o, b->ns[i], b->in_calls_ns);
		text_certainty(o, QUANTITY_SHARE, &changes[i]);
	}
}

static void text_slow(struct out *o, const struct pair *p)
{
	uint64_t ns;

	if (p->change[CALL_SLOW].certainty == CERTAINTY_NONE)
		return;
	out_string(o, "\n  over ");
	out_duration(o, p->slow_ns);
	out_char(o, ' ');
	out_u64(o, diff_slow_calls(p->a, p->slow_ns, &ns));
	out_string(o, " -> ");
	out_u64(o, diff_slow_calls(p->b, p->slow_ns, &ns));
	out_string(o, " calls, incidents ");
	out_value(o, QUANTITY_INCIDENTS, p->change[CALL_SLOW].a);
	out_string(o, " -> ");
	out_value(o, QUANTITY_INCIDENTS, p->change[CALL_SLOW].b);
	text_certainty(o, QUANTITY_INCIDENTS, &p->change[CALL_SLOW]);
}

static void text_pair(struct out *o, const struct comparison *c, const struct pair *p)
{
	double ra = p->a ? diff_per_second(c->a, p->a->ncalls) : 0, rb = p->b ? diff_per_second(c->b, p->b->ncalls) : 0;
	uint64_t fa = p->a ? p->a->nfailed : 0, fb = p->b ? p->b->nfailed : 0;

	out_string(o, p->process);
	out_string(o, "  ");
	out_string(o, p->function);
	out_string(o, !p->a ? "  only in B\n  rate    " : !p->b ? "  only in A\n  rate    " : "\n  rate    ");
	out_rate(o, ra);
	out_string(o, " -> ");
	out_rate(o, rb);
	out_change(o, ra, rb);
	text_certainty(o, QUANTITY_RATE, &p->change[CALL_RATE]);
	if (p->a && p->b) {
		text_times(o, "\n  median  ", quantile(p->a, 0.5), quantile(p->b, 0.5));
		text_certainty(o, QUANTITY_DURATION, &p->change[CALL_MEDIAN]);
		text_times(o, "\n  p99     ", quantile(p->a, 0.99), quantile(p->b, 0.99));
		text_certainty(o, QUANTITY_DURATION, &p->change[CALL_TAIL]);
		text_times(o, "\n  longest ", p->a->max_ns, p->b->max_ns);
		text_slow(o, p);
		if (p->a->split.in_calls_ns || p->b->split.in_calls_ns)
			text_times(o, "\n  in sum  ", p->a->split.in_calls_ns, p->b->split.in_calls_ns);
		text_split(o, &p->a->split, &p->b->split, &p->change[CALL_CAUSES]);
	}
	if (fa || fb) {
		out_string(o, "\n  failed  ");
		out_u64(o, fa);
		out_string(o, " -> ");
		out_u64(o, fb);
	}
	out_char(o, '\n');
}

/* Memory of one kind, or (MEMORY_KINDS) of all. */
static void text_memory(struct out *o, const struct process_pair *p, unsigned kind)
{
	uint64_t a = p->a->peak_bytes[kind], b = p->b->peak_bytes[kind];
	bool all = kind == MEMORY_KINDS;

	out_string(o, all ? "\n  memory held at most " : "\n    ");
	if (!all) {
		out_string(o, memory_word(kind));
		out_char(o, ' ');
	}
	out_bytes_of(o, a);
	out_string(o, " -> ");
	out_bytes_of(o, b);
	out_change(o, (double)a, (double)b);
	if (all)
		text_certainty(o, QUANTITY_BYTES, &p->change[PROCESS_HELD]);
	out_string(o, all ? "\n  not freed " : "; not freed ");
	out_bytes_of(o, p->a->held_bytes[kind]);
	out_string(o, " -> ");
	out_bytes_of(o, p->b->held_bytes[kind]);
	if (all)
		text_certainty(o, QUANTITY_BYTES, &p->change[PROCESS_UNFREED]);
}

static void text_growth(struct out *o, const struct process_pair *p)
{
	const struct diff_change *c = &p->change[PROCESS_GROWTH];

	if (c->certainty == CERTAINTY_NONE)
		return;
	out_string(o, "\n  growth of memory ");
	out_value(o, QUANTITY_GROWTH, c->a);
	out_string(o, " -> ");
	out_value(o, QUANTITY_GROWTH, c->b);
	text_certainty(o, QUANTITY_GROWTH, c);
}

static void text_process(struct out *o, const struct process_pair *p)
{
	unsigned nkinds = 0;

	for (unsigned kind = 0; kind < MEMORY_KINDS; kind++)
		nkinds += p->a->peak_bytes[kind] || p->b->peak_bytes[kind];
	out_string(o, p->name);
	text_memory(o, p, MEMORY_KINDS);
	for (unsigned kind = 0; nkinds > 1 && kind < MEMORY_KINDS; kind++)
		if (p->a->peak_bytes[kind] || p->b->peak_bytes[kind])
			text_memory(o, p, kind);
	text_growth(o, p);
	text_times(o, "\n  time in calls ", p->a->split.in_calls_ns, p->b->split.in_calls_ns);
	text_split(o, &p->a->split, &p->b->split, &p->change[PROCESS_CAUSES]);
	out_char(o, '\n');
}

/* "  driver  cudaFree  rate 134/s -> 234/s (+75 %), beyond ±13.4/s". */
static void text_finding(struct out *o, const struct diff_finding *f)
{
	const struct diff_change *c = f->pair ? &f->pair->change[f->metric] : &f->process->change[f->metric];
	unsigned causes = f->pair ? CALL_CAUSES : PROCESS_CAUSES;
	enum quantity unit = f->pair ? call_unit(f->metric) : process_unit(f->metric);

	out_string(o, "  ");
	out_string(o, f->pair ? f->pair->process : f->process->name);
	out_string(o, "  ");
	if (f->pair) {
		out_string(o, f->pair->function);
		out_string(o, "  ");
	}
	out_string(o, f->metric >= causes ? diff_cause_words(f->metric - causes)
		      : f->pair           ? call_words[f->metric]
					  : process_words[f->metric]);
	if (f->pair && f->metric == CALL_SLOW) {
		out_string(o, " (over ");
		out_duration(o, f->pair->slow_ns);
		out_char(o, ')');
	}
	out_char(o, ' ');
	out_value(o, unit, c->a);
	out_string(o, " -> ");
	out_value(o, unit, c->b);
	if (unit <= QUANTITY_INCIDENTS)
		out_change(o, c->a, c->b);
	out_string(o, "; noise is ");
	out_bound(o, unit, c);
	out_char(o, '\n');
}

static void text_findings(struct out *o, const struct diff_finding *f, size_t n)
{
	char text[64];

	for (size_t i = 0; i < n && i < SHOWN; i++)
		text_finding(o, &f[i]);
	if (n <= SHOWN)
		return;
	snprintf(text, sizeof(text), "  and %zu smaller ones\n", n - SHOWN);
	out_string(o, text);
}

/* What came of all comparisons: the first screen. */
static void text_sum(struct out *o, const struct comparison *c)
{
	size_t more = c->n[CERTAINTY_MORE], unsure = c->n[CERTAINTY_UNSURE], few = c->n[CERTAINTY_SHORT];
	size_t all = more + unsure + few + c->n[CERTAINTY_NOISE];
	char text[200];

	if (all == few) {
		snprintf(text, sizeof(text),
			 "\nNothing can be concluded: there is too little data for any of %zu comparisons.\n", all);
	} else {
		char number[24] = "None";

		if (more)
			snprintf(number, sizeof(number), "%zu", more);
		snprintf(text, sizeof(text),
			 "\n%s of %zu metrics changed by more than noise; %zu had too little data%s\n", number, all,
			 few, more ? ":" : ".");
	}
	out_string(o, text);
	text_findings(o, c->findings, more);
	if (unsure)
		out_string(o, "Changes that may be noise (once in 20 to 500 such pairs of runs); longer runs would "
			      "show which:\n");
	text_findings(o, c->findings + more, unsure);
	if (few) {
		snprintf(text, sizeof(text),
			 "Data is enough with %d seconds of such calls in each run (for p99, %d calls in each "
			 "second).\n",
			 DIFF_BLOCKS_MIN, DIFF_TAIL_CALLS_MIN);
		out_string(o, text);
	}
}

static bool any_more(const struct diff_change *changes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (changes[i].certainty >= CERTAINTY_UNSURE)
			return true;
	return false;
}

static void text_write(struct out *o, const struct comparison *c, enum diff_detail detail)
{
	bool all = detail == DIFF_ALL;

	text_side(o, 'A', c->a);
	text_side(o, 'B', c->b);
	text_sum(o, c);
	if (detail == DIFF_LARGEST)
		return;
	out_string(o, all ? "\nCalls, by process and function (A -> B; durations are the host's)\n"
			  : "\nCalls that changed, by process and function (A -> B; durations are the host's; -v shows "
			    "all)\n");
	for (size_t i = 0; i < c->npairs; i++)
		if (all || !c->pairs[i].a || !c->pairs[i].b || any_more(c->pairs[i].change, CALL_METRICS))
			text_pair(o, c, &c->pairs[i]);
	out_string(o, "\nProcesses\n");
	for (size_t i = 0; i < c->nprocesses; i++)
		text_process(o, &c->processes[i]);
	out_string(o, "\nMore than noise: beyond the bound that is shown. It follows from how the seconds of each run "
		      "differ (chance of\n"
		      "error 1 in 10,000; for slow calls 1 in 500) and is at least 10 % of a rate or of memory, 25 % "
		      "of a duration, and\n"
		      "2 points of a share. That two runs differ does not show why.\n");
}

int diff_write(const struct diff_side *a, const struct diff_side *b, bool json, enum diff_detail detail, struct out *o,
	       struct diff_result *result, struct fault *why)
{
	struct comparison c = {0};
	int r = comparison_make(&c, a, b, why);

	if (r == 0) {
		if (json)
			diff_write_json(o, &c);
		else
			text_write(o, &c, detail);
		*result = (struct diff_result){.ntold = c.n[CERTAINTY_MORE] + c.n[CERTAINTY_UNSURE] +
							c.n[CERTAINTY_NOISE],
					       .nchanges = c.n[CERTAINTY_MORE]};
	}
	comparison_clear(&c);
	return r;
}
