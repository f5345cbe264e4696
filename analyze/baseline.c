/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/baseline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TOGETHER_NS 20000000 /* occurrences that follow each other more closely have one cause, and count as one */

const char *outcome_name(enum outcome o)
{
	static const char *const names[OUTCOMES] = {"new", "worse", "gone", "better", "unsure", "same"};

	return names[o];
}

void finding_identity(const struct finding *f, const struct names *names, const struct schema *schema, struct text *t)
{
	const struct process *p = f->process ? names_instance(names, f->process) : NULL;
	const struct stack *s = f->stack ? names_stack(names, f->stack) : NULL;

	text_add(t, "%s\n%s\n", f->rule, f->class);
	if (p)
		text_add_bytes(t, p->name.s, p->name.len);
	text_add(t, "\n%s\n", f->probe ? call_name(schema, f->probe) : "");
	if (s && s->nframes && s->frames[0].symbol)
		text_add_bytes(t, s->frames[0].symbol, s->frames[0].symbol_len);
}

/* --- what each run has of a kind --- */

/* Findings of one run with one identity, taken together. */
struct kin {
	struct text identity;
	const struct finding *worst;
	uint64_t count;
	double weight;
	struct diff_cost cost; /* of independent occurrences */
};

/* Which part of the occurrences is independent of the one before, judged by the first ones. */
static double independent(const struct finding *f)
{
	unsigned n = 0;

	for (unsigned i = 0; i < f->nfirst; i++)
		n += i == 0 || f->first[i].begin_ns > f->first[i - 1].end_ns + TOGETHER_NS;
	return f->nfirst ? (double)n / f->nfirst : 1;
}

static void add_to(struct kin *k, const struct finding *f)
{
	double share = independent(f), squares = 0;

	for (unsigned i = 0; f->hist && i < HIST_BUCKETS; i++)
		squares += (double)f->hist->buckets[i] * (double)hist_bucket_value(i) * (double)hist_bucket_value(i);
	if (!k->worst || f->severity > k->worst->severity)
		k->worst = f;
	k->count += f->count;
	k->weight += (double)f->weight;
	k->cost.n += (size_t)ceil(share * (double)f->count);
	k->cost.total += (double)f->weight;
	/* Of n occurrences that come together the sum varies like one that costs n times as much. */
	k->cost.squares += squares / share;
}

static bool is_of_the_run(const struct finding *f)
{
	return strcmp(f->rule, evidence_rule.name) != 0 && strcmp(f->class, "limit") != 0;
}

static void kins_clear(struct kin *all, size_t n)
{
	for (size_t i = 0; all && i < n; i++)
		text_clear(&all[i].identity);
	free(all);
}

static struct kin *find_kin(struct kin *all, size_t n, const struct text *identity)
{
	for (size_t i = 0; i < n; i++)
		if (all[i].identity.len == identity->len &&
		    !memcmp(text_string(&all[i].identity), text_string(identity), identity->len))
			return &all[i];
	return NULL;
}

/* NULL: no memory. */
static struct kin *kins_of(const struct run_findings *run, size_t *n)
{
	struct kin *all = calloc(run->findings->n + 1, sizeof(*all)), *k;

	*n = 0;
	for (size_t i = 0; all && i < run->findings->n; i++) {
		const struct finding *f = run->findings->all[i];
		struct text identity = {0};

		if (!is_of_the_run(f))
			continue;
		finding_identity(f, run->names, run->schema, &identity);
		if (identity.failed) {
			text_clear(&identity);
			kins_clear(all, *n);
			return NULL;
		}
		k = find_kin(all, *n, &identity);
		if (k)
			text_clear(&identity);
		else
			(k = &all[(*n)++])->identity = identity;
		add_to(k, f);
		k->cost.seconds = (double)run->judged_ns / 1e9;
	}
	return all;
}

/* --- judgement --- */

static enum outcome outcome_of(const struct compared *c)
{
	if (c->change.certainty == CERTAINTY_UNSURE)
		return OUTCOME_UNSURE;
	if (c->change.certainty != CERTAINTY_MORE)
		return c->a && c->b ? OUTCOME_SAME : OUTCOME_UNSURE;
	if (!c->a || !c->b)
		return c->a ? OUTCOME_GONE : OUTCOME_NEW;
	return c->change.b > c->change.a ? OUTCOME_WORSE : OUTCOME_BETTER;
}

static double a_second(double v, double seconds)
{
	return seconds > 0 ? v / seconds : 0;
}

/* How often it happened; and where that is no difference, what it cost. */
static void judge_occurrences(struct compared *c, const struct kin *a, const struct kin *b)
{
	struct diff_change costs;

	c->measure = MEASURE_COUNT;
	c->change = diff_compare_rare(a->cost.n, a->cost.seconds, b->cost.n, b->cost.seconds, STRICT);
	if (c->change.certainty == CERTAINTY_MORE || a->worst->unit != WEIGHT_NS || b->worst->unit != WEIGHT_NS)
		return;
	costs = diff_compare_costs(&a->cost, &b->cost, (struct diff_floor){.share = 0.25});
	if (costs.certainty < CERTAINTY_NOISE)
		return;
	c->measure = MEASURE_COST;
	c->change = costs;
}

/* What is there once, or is not: that it is only in one run is a difference. */
static void judge_state(struct compared *c, const struct kin *a, const struct kin *b)
{
	const struct finding *f = compared_finding(c);
	double va = a_second(a->weight, a->cost.seconds), vb = a_second(b->weight, b->cost.seconds);

	c->measure = f->unit == WEIGHT_BYTES ? MEASURE_GROWTH : f->unit == WEIGHT_NS ? MEASURE_SHARE : MEASURE_COUNT;
	c->change = c->measure == MEASURE_SHARE ? diff_compare_once(va / 1e9, vb / 1e9, diff_share_floor)
						: diff_compare_once(va, vb, diff_growth_floor);
	if (!c->a || !c->b)
		c->change.certainty = CERTAINTY_MORE;
}

static void judge_kins(struct compared *c, const struct kin *a, const struct kin *b)
{
	const struct finding *f = compared_finding(c);
	bool occurs = !f->lasted && !f->levels && f->unit != WEIGHT_NONE;

	c->count_a = a->count;
	c->count_b = b->count;
	c->cost = fabs(a_second(a->weight, a->cost.seconds) - a_second(b->weight, b->cost.seconds));
	if (!occurs) {
		judge_state(c, a, b);
	} else if (c->a && c->b) {
		judge_occurrences(c, a, b);
	} else {
		c->measure = MEASURE_COUNT;
		c->change = diff_compare_rare(a->cost.n, a->cost.seconds, b->cost.n, b->cost.seconds, STRICT);
		/* An error is no noise, however seldom it happens. */
		if (f->severity == SEVERITY_ERROR)
			c->change.certainty = CERTAINTY_MORE;
	}
	c->outcome = outcome_of(c);
}

static int in_order(const void *x, const void *y)
{
	const struct compared *a = x, *b = y;
	const struct finding *fa = compared_finding(a), *fb = compared_finding(b);

	if (a->outcome != b->outcome)
		return a->outcome < b->outcome ? -1 : 1;
	if (fa->severity != fb->severity)
		return fa->severity > fb->severity ? -1 : 1;
	if (a->cost != b->cost)
		return a->cost > b->cost ? -1 : 1;
	return strcmp(fa->rule, fb->rule);
}

static void add_pair(struct baseline_result *out, const struct kin *a, const struct kin *b)
{
	struct compared *c = &out->all[out->n++];

	*c = (struct compared){.a = a->worst, .b = b->worst};
	judge_kins(c, a, b);
	out->noutcome[c->outcome]++;
}

int baseline_compare(struct baseline_result *out, const struct run_findings *a, const struct run_findings *b,
		     struct fault *why)
{
	const struct kin no_a = {.cost.seconds = (double)a->judged_ns / 1e9},
			 no_b = {.cost.seconds = (double)b->judged_ns / 1e9};
	size_t na = 0, nb = 0;
	struct kin *ka = kins_of(a, &na), *kb = kins_of(b, &nb), *k;
	int r = 0;

	*out = (struct baseline_result){.all = calloc(a->findings->n + b->findings->n + 1, sizeof(*out->all))};
	if (!ka || !kb || !out->all) {
		r = fault_no_memory(why);
		goto out;
	}
	for (size_t i = 0; i < na; i++) {
		k = find_kin(kb, nb, &ka[i].identity);
		add_pair(out, &ka[i], k ? k : &no_b);
	}
	for (size_t i = 0; i < nb; i++)
		if (!find_kin(ka, na, &kb[i].identity))
			add_pair(out, &no_a, &kb[i]);
	qsort(out->all, out->n, sizeof(*out->all), in_order);
out:
	kins_clear(ka, na);
	kins_clear(kb, nb);
	return r;
}

void baseline_clear(struct baseline_result *b)
{
	free(b->all);
	*b = (struct baseline_result){0};
}
