// SPDX-License-Identifier: Apache-2.0
/*
 * First calls that took far longer than later ones do (replay/model/first_calls.h): code is loaded or compiled, or a
 * context made, when it is first needed. While a program is at work that stalls it; at its start it is reported where
 * it is a good part of its time.
 */
#include <string.h>

#include "analyze/facts/losses.h"
#include "analyze/stats/callsite.h"
#include "analyze/stats/top_threads.h"

enum { SET_CALL, SET_MIN, SET_WARM_UP, SET_SHARE };

static const struct setting settings[] = {
	[SET_CALL] = {"call", SETTING_NS, 1000000, FIRST_KEPT_NS, 1000000000000,
		      "a first call counts that takes so much longer than is usual; below a millisecond a GPU's queue "
		      "hides it"},
	[SET_MIN] = {"min", SETTING_NS, 100000000, 1000, 1000000000000,
		     "so much time of one process, while it was at work, makes a finding"},
	[SET_WARM_UP] = {"warm-up", SETTING_COUNT, 32, 1, 1000000000,
			 "launches, copies, memsets and collectives of a thread after which it is at work"},
	[SET_SHARE] = {"share", SETTING_PERCENT, 10, 1, 100,
		       "of the time of a process' threads that feed the GPU: so much in first calls, and no less time "
		       "than min, is reported also where all of them were at its start"},
};

#define STARTERS_MAX 4096 /* processes distinguished */

struct starter {
	struct table_key key;                      /* a: process instance */
	uint64_t whole_ns;                         /* of its threads that feed the GPU */
	uint64_t start_ns, work_ns, nstart, nwork; /* lost at its start, and at work */
	const struct first_call *worst;            /* at work, if any was */
	struct roster threads;
	struct occurrence first[OCCURRENCES_KEPT]; /* by time */
	unsigned nfirst;
};

struct first_use_state {
	struct groups starters;
};

static bool is_at_work(const struct first_call *u, const uint64_t *set)
{
	return u->nfed >= set[SET_WARM_UP];
}

static void keep_occurrence(struct starter *s, const struct first_call *u)
{
	unsigned i = s->nfirst < OCCURRENCES_KEPT ? s->nfirst++ : OCCURRENCES_KEPT;

	for (; i > 0 && s->first[i - 1].begin_ns > u->begin_ns; i--)
		if (i < OCCURRENCES_KEPT)
			s->first[i] = s->first[i - 1];
	if (i < OCCURRENCES_KEPT)
		s->first[i] = (struct occurrence){u->begin_ns, u->end_ns, u->thread->key.a, TID_NONE, TID_NONE};
}

static bool is_worse(const struct first_call *u, const struct first_call *than, const uint64_t *set)
{
	if (!than || is_at_work(u, set) != is_at_work(than, set))
		return !than || is_at_work(u, set);
	return u->lost_ns > than->lost_ns;
}

static void take_first(struct first_use_state *s, const struct context *ctx, const uint64_t *set,
		       const struct first_call *u)
{
	struct starter *p = u->lost_ns >= set[SET_CALL] ? groups_get(&s->starters, first_call_process(u), 0) : NULL;
	bool work = is_at_work(u, set);

	if (!p)
		return;
	p->work_ns += work ? u->lost_ns : 0;
	p->nwork += work;
	p->start_ns += work ? 0 : u->lost_ns;
	p->nstart += !work;
	if (is_worse(u, p->worst, set))
		p->worst = u;
	roster_add_thread(&p->threads, ctx->names, u->thread->key.a, u->lost_ns);
	keep_occurrence(p, u);
}

/* What is taken for a first call may be a later one. */
static bool lacks_calls(const struct context *ctx)
{
	return ctx->reader && (rows_missing(ctx, 0) || withheld_ns(ctx->reader));
}

static void worst_add(struct text *t, const struct context *ctx, const struct starter *s)
{
	const struct first_call *u = s->worst;
	const char *name = call_name(ctx->schema, u->key.a & 0xffff);

	text_add(t, s->nstart + s->nwork == 1 ? ": " : "; the longest, ");
	text_add_escaped(t, name, strlen(name));
	if (u->key.b != FIRST_ANY)
		kernel_add(t, ctx, s->key.a, u->key.b);
	text_add(t, "%s took ", s->nstart + s->nwork == 1 ? "" : ",");
	text_add_ns(t, u->end_ns - u->begin_ns);
	text_add(t, " (usual: ");
	text_add_ns(t, u->usual_ns);
	text_add(t, ")");
}

static void headline_add(struct text *t, const struct context *ctx, const struct starter *s)
{
	uint64_t n = s->nwork + s->nstart, ns = s->work_ns + s->start_ns;

	process_add(t, ctx, s->key.a);
	text_add(t, n == 1 ? ": a first call took " : ": %llu first calls took ", (unsigned long long)n);
	text_add_ns(t, ns);
	text_add(t, " longer than later ones do (");
	share_add(t, ns, s->whole_ns);
	text_add(t, " of the time of what feeds the GPU in it), ");
	if (s->nwork && s->nstart) {
		text_add_ns(t, s->work_ns);
		text_add(t, " of that ");
	}
	text_add(t, s->nwork ? "while it was at work" : "at its start");
	worst_add(t, ctx, s);
}

static void report(const struct starter *s, bool at_work, const struct context *ctx, struct findings *out)
{
	const char *name = call_name(ctx->schema, s->worst->key.a & 0xffff);
	bool lacks = lacks_calls(ctx);
	struct finding *f = rule_finding(out, &first_use_rule, at_work ? "at-work" : "at-start",
					 lacks ? CONFIDENCE_LOW : CONFIDENCE_MEDIUM);

	if (!at_work)
		f->severity = SEVERITY_INFO;
	f->process = s->key.a;
	f->tid = roster_only(&s->threads);
	f->weight = s->work_ns + s->start_ns;
	f->unit = WEIGHT_NS;
	f->count = s->nwork + s->nstart;
	f->usual_ns = s->worst->usual_ns;
	memcpy(f->first, s->first, sizeof(s->first));
	f->nfirst = s->nfirst;
	roster_give(&s->threads, PART_WAITER, f);
	headline_add(&f->headline, ctx, s);
	text_add(&f->sure,
		 lacks ? "Low confidence: calls are missing in this capture, so that one that is taken for a first one "
			 "may be a later one"
		       : "Medium confidence: the program was recorded from its begin, and these are the first calls "
			 "that were; what they did, and whether the GPU had work left, is not known");
	text_add(&f->advice,
		 "Compile for this GPU when the program is built (nvcc -gencode), keep the cache of what is compiled "
		 "(CUDA_CACHE_PATH), and load or launch everything once before it matters "
		 "(CUDA_MODULE_LOADING=EAGER, a warm-up)");
	finding_string(f, "function", name);
	if (s->worst->key.b != FIRST_ANY)
		kernel_fact(f, ctx, s->key.a, s->worst->key.b);
	finding_number(f, "at_work_ns", s->work_ns);
	finding_number(f, "at_start_ns", s->start_ns);
	finding_number(f, "threads_ns", s->whole_ns);
}

static void judge(const struct starter *s, const struct context *ctx, const uint64_t *set, struct findings *out)
{
	uint64_t lost_ns = s->work_ns + s->start_ns;

	if (s->work_ns >= set[SET_MIN])
		report(s, true, ctx, out);
	else if (lost_ns >= set[SET_MIN] && lost_ns >= s->whole_ns / 100 * set[SET_SHARE])
		report(s, false, ctx, out);
}

static void first_use_finish(void *state, const struct context *ctx, const uint64_t *set, struct findings *out)
{
	const struct ledger *l = ctx->ledger;
	struct first_use_state *s = state;

	for (size_t i = 0; i < l->firsts.all.nitems; i++)
		take_first(s, ctx, set, (const struct first_call *)l->firsts.all.items[i]);
	out->failed |= s->starters.error != 0;
	for (size_t i = 0; i < l->threads.nitems; i++) {
		const struct ledger_thread *t = (const struct ledger_thread *)l->threads.items[i];
		struct starter *p = t->nfed && t->born ? groups_find(&s->starters, t->born, 0) : NULL;

		if (p)
			p->whole_ns += t->end_ns - t->begin_ns;
	}
	for (size_t i = 0; i < s->starters.table.nitems; i++)
		judge(groups_at(&s->starters, i), ctx, set, out);
	findings_add_limit(out, first_use_rule.name, s->starters.nskipped + l->firsts.nbeyond, "first calls");
}

const struct rule first_use_rule = {
	.name = "first-use",
	.severity = SEVERITY_WARNING,
	.summary = "first calls of functions and GPU kernels that take far longer than later ones",
	.meaning =
		"A function's first call, or a GPU kernel's first launch, took far longer than the next ones: code was "
		"loaded or compiled for this GPU, or a context made, when it was first needed.",
	.wrong = "A first call that waits for something else on a CPU (room in the GPU's queue, by spinning) looks the "
		 "same. Where the program begins with a warm-up on purpose, what is lost at its start was asked for.",
	.remedy =
		"Compile ahead for this GPU, keep the compiler's cache, load or launch everything once before it matters.",
	RULE_SETTINGS(settings),
	.kinds = {0},
	.state_size = sizeof(struct first_use_state),
	.groups = {{offsetof(struct first_use_state, starters), sizeof(struct starter), STARTERS_MAX, 0}},
	.finish = first_use_finish,
};
