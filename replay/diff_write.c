/* SPDX-License-Identifier: Apache-2.0 */
/* Two runs side by side. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/diff_inside.h"
#include "replay/out.h"

static const struct {
	const char *word, *json;
} certainties[] = {
	[CERTAINTY_SHORT] = {"too short to tell", "too_short"},
	[CERTAINTY_NOISE] = {"within noise", "noise"},
	[CERTAINTY_MORE] = {"more than noise", "more"},
};

/* --- numbers --- */

static double per_second(const struct diff_side *s, uint64_t n)
{
	return s->duration_ns ? (double)n * 1e9 / (double)s->duration_ns : 0;
}

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
		snprintf(text, sizeof(text), " (%.3g times)", b / a);
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

/* How a part of the time in calls is called, and its keys in JSON. */
static const struct {
	const char *words, *key;
} causes[DIFF_NCAUSES] = {
	[CAUSE_CPU] = {"waiting for a CPU", "waited_for_cpu"},  [CAUSE_FUTEX] = {"asleep in futexes", "futex"},
	[CAUSE_DISK] = {"asleep for a block device", "disk"},   [CAUSE_FAULT] = {"asleep in page faults", "fault"},
	[CAUSE_OTHER] = {"asleep in something else", "asleep"},
};

static void text_split(struct out *o, const struct comparison *c, const struct split *a, const struct split *b,
		       const double *p)
{
	for (unsigned i = 0; i < DIFF_NCAUSES; i++) {
		if (!a->ns[i] && !b->ns[i])
			continue;
		out_string(o, "\n    ");
		out_string(o, causes[i].words);
		out_char(o, ' ');
		out_share(o, a->ns[i], a->in_calls_ns);
		out_string(o, " -> ");
		out_share(o, b->ns[i], b->in_calls_ns);
		if (p) {
			out_string(o, ": ");
			out_string(o, certainties[certainty_of(c, p[i])].word);
		}
	}
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
		out_string(o, ": ");
		out_string(o, certainties[certainty_of(c, p->p_tail)].word);
		text_times(o, "\n  longest ", p->a->max_ns, p->b->max_ns);
	}
	if (p->a && p->b) {
		text_times(o, "\n  in sum  ", p->a->split.in_calls_ns, p->b->split.in_calls_ns);
		text_split(o, c, &p->a->split, &p->b->split, NULL);
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

	out_string(o, kind == MEMORY_KINDS ? "\n  memory held at most " : "\n    ");
	if (kind != MEMORY_KINDS) {
		out_string(o, held_word(kind));
		out_char(o, ' ');
	}
	out_bytes_of(o, a);
	out_string(o, " -> ");
	out_bytes_of(o, b);
	out_change(o, (double)a, (double)b);
	out_string(o, "; never given back ");
	out_bytes_of(o, p->a->held_bytes[kind]);
	out_string(o, " -> ");
	out_bytes_of(o, p->b->held_bytes[kind]);
}

static void text_process(struct out *o, const struct comparison *c, const struct process_pair *p)
{
	unsigned nkinds = 0;

	for (unsigned kind = 0; kind < MEMORY_KINDS; kind++)
		nkinds += p->a->peak_bytes[kind] || p->b->peak_bytes[kind];
	out_string(o, p->name);
	text_memory(o, p, MEMORY_KINDS);
	for (unsigned kind = 0; nkinds > 1 && kind < MEMORY_KINDS; kind++)
		if (p->a->peak_bytes[kind] || p->b->peak_bytes[kind])
			text_memory(o, p, kind);
	text_times(o, "\n  time in calls ", p->a->split.in_calls_ns, p->b->split.in_calls_ns);
	text_split(o, c, &p->a->split, &p->b->split, p->p_cause);
	out_char(o, '\n');
}

/* What came of all comparisons that are shown below. */
static void text_sum(struct out *o, const struct comparison *c)
{
	size_t n[sizeof(certainties) / sizeof(certainties[0])] = {0};
	char text[160];

	for (size_t k = 0; k < c->npairs; k++) {
		const struct pair *p = &c->pairs[k];

		n[certainty_of(c, p->p_rate)]++;
		if (p->a && p->b) {
			n[certainty_of(c, p->p_median)]++;
			n[certainty_of(c, p->p_tail)]++;
		}
	}
	for (size_t k = 0; k < c->nprocesses; k++) {
		const struct process_pair *p = &c->processes[k];

		for (unsigned i = 0; i < DIFF_NCAUSES; i++)
			if (p->a->split.ns[i] || p->b->split.ns[i])
				n[certainty_of(c, p->p_cause[i])]++;
	}
	snprintf(text, sizeof(text),
		 "\nOf %zu comparisons %zu are more than noise, %zu within it, %zu of runs too short to tell.\n",
		 n[CERTAINTY_MORE] + n[CERTAINTY_NOISE] + n[CERTAINTY_SHORT], n[CERTAINTY_MORE], n[CERTAINTY_NOISE],
		 n[CERTAINTY_SHORT]);
	out_string(o, text);
}

static void text_write(struct out *o, const struct comparison *c)
{
	text_side(o, 'A', c->a);
	text_side(o, 'B', c->b);
	text_sum(o, c);
	out_string(o, "\nCalls, by process and function (A -> B; durations are the host's)\n");
	for (size_t i = 0; i < c->npairs; i++)
		text_pair(o, c, &c->pairs[i]);
	out_string(o, "\nProcesses\n");
	for (size_t i = 0; i < c->nprocesses; i++)
		text_process(o, c, &c->processes[i]);
	out_string(o, "\nMore than noise: rates, medians, p99s and shares of whole epochs differ (rank-sum test, "
		      "chance below "
		      "1 % over\nall ");
	out_u64(o, c->ntests);
	out_string(o, " comparisons together; epochs that resemble their neighbours count less).\n"
		      "That these two runs differ does not say why, nor that two more would.\n");
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

static void json_split(struct out *o, const struct split *s)
{
	json_number(o, ",\"in_calls_ns\":", s->in_calls_ns);
	for (unsigned i = 0; i < DIFF_NCAUSES; i++) {
		out_string(o, ",\"");
		out_string(o, causes[i].key);
		json_number(o, "_ns\":", s->ns[i]);
	}
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
	json_split(o, &row->split);
	out_char(o, '}');
}

static void json_process(struct out *o, const char *key, const struct diff_process *p)
{
	out_string(o, key);
	json_number(o, "{\"peak_bytes\":", p->peak_bytes[MEMORY_KINDS]);
	json_number(o, ",\"held_bytes\":", p->held_bytes[MEMORY_KINDS]);
	out_string(o, ",\"memory\":{");
	for (unsigned kind = 0, first = 1; kind < MEMORY_KINDS; kind++) {
		if (!p->peak_bytes[kind])
			continue;
		out_string(o, first ? "\"" : ",\"");
		out_string(o, held_word(kind));
		json_number(o, "\":{\"peak_bytes\":", p->peak_bytes[kind]);
		json_number(o, ",\"held_bytes\":", p->held_bytes[kind]);
		out_char(o, '}');
		first = 0;
	}
	out_char(o, '}');
	json_split(o, &p->split);
	out_char(o, '}');
}

static void json_processes(struct out *o, const struct comparison *c)
{
	for (size_t i = 0; i < c->nprocesses; i++) {
		const struct process_pair *p = &c->processes[i];

		out_string(o, i ? ",{\"process\":" : "{\"process\":");
		out_json(o, p->name, strlen(p->name));
		json_process(o, ",\"a\":", p->a);
		json_process(o, ",\"b\":", p->b);
		for (unsigned k = 0; k < DIFF_NCAUSES; k++) {
			out_string(o, ",\"");
			out_string(o, causes[k].key);
			out_string(o, "\":\"");
			out_string(o, certainties[certainty_of(c, p->p_cause[k])].json);
			out_char(o, '"');
		}
		out_char(o, '}');
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
		out_string(o, "\",\"p99\":\"");
		out_string(o, certainties[certainty_of(c, p->p_tail)].json);
		out_string(o, "\"}");
	}
	out_string(o, "],\"processes\":[");
	json_processes(o, c);
	out_string(o, "]}\n");
}

int diff_write(const struct diff_side *a, const struct diff_side *b, bool json, int fd, struct fault *why)
{
	struct comparison c = {0};
	struct out o;
	int r = out_open(&o, fd, why);

	if (r < 0)
		return r;
	r = comparison_make(&c, a, b, why);
	if (r == 0) {
		(json ? json_write : text_write)(&o, &c);
		r = out_finish(&o, why);
	}
	comparison_clear(&c);
	out_close(&o);
	return r;
}
