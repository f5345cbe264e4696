// SPDX-License-Identifier: Apache-2.0
/*
 * One of several that do the same and lags behind. Ranks of a collective are compared call by call: who comes to it
 * last keeps all others waiting. Processes without collectives that make the same calls are compared by how fast they
 * make them.
 */
#include <stdlib.h>

#include "analyze/stats/callsite.h"

enum { SET_ROUNDS, SET_LAST, SET_LAG, SET_SHARE, SET_PEERS, SET_LAUNCHES, SET_SLOWER };

static const struct setting settings[] = {
	[SET_ROUNDS] = {"rounds", SETTING_COUNT, 16, 4, 1000000000, "collectives that all ranks came to, at least;"},
	[SET_LAST] = {"last", SETTING_PERCENT, 60, 1, 100, "of so many of them the same rank was the last,"},
	[SET_LAG] = {"lag", SETTING_NS, 1000000, 1000, 1000000000000,
		     "later than the one before it by so much in the mean; less is noise between processes,"},
	[SET_SHARE] = {"share", SETTING_PERCENT, 5, 1, 100,
		       "and this share of the time between the first and the last"},
	[SET_PEERS] = {"peers", SETTING_COUNT, 3, 2, 10000, "processes that make the same calls, at least, to compare"},
	[SET_LAUNCHES] = {"launches", SETTING_COUNT, 200, 10, 1000000000, "launches of each of them, at least"},
	[SET_SLOWER] =
		{"slower", SETTING_PERCENT, 30, 5, 1000,
		 "one is slow if it takes so much longer from launch to launch than the middle one of its peers"},
};

#define RANKS_MAX 1024
#define OPEN_ROUNDS 64 /* rounds in which ranks are still awaited */
#define PROCESSES_COMPARED_MAX 4096

/* A process that takes part in collectives. */
struct worker {
	struct table_key key; /* a: process instance */
	struct crew *crew;    /* NULL: it takes part in none that can be compared */
	uint64_t rank;        /* in it */
	uint64_t nrounds;     /* collectives begun */
	uint64_t nlast, lag_ns;
	struct tally tally; /* what it did between the last rank but one's coming and its own */
};

/* The n-th collective of a set of ranks. */
struct round {
	uint64_t number; /* + 1; 0: free */
	unsigned ncame;
	uint64_t last_begin_ns, before_ns; /* the latest begin, and the one before that */
	uint64_t last_process, last_tid;
};

struct crew {
	struct table_key key; /* a: number of ranks, b: which of several such crews */
	uint64_t nrounds, begin_ns, end_ns;
	bool taken[RANKS_MAX]; /* by rank */
	struct round rounds[OPEN_ROUNDS];
};

struct straggler_state {
	struct groups workers, crews;
	struct explained scratch;
};

/* A process reports its rank: it belongs to the first crew of that size in which the rank is free. */
static int join_crew(struct straggler_state *s, struct worker *w, uint64_t rank, uint64_t nranks)
{
	struct crew *c = NULL;

	if (w->crew || nranks < 2 || nranks > RANKS_MAX || rank >= nranks)
		return 0;
	for (uint64_t i = 0; !c || c->taken[rank]; i++) {
		c = groups_get(&s->crews, nranks, i);
		if (!c)
			return s->crews.error;
	}
	c->taken[rank] = true;
	w->crew = c;
	w->rank = rank;
	return 0;
}

static int count_lag(struct straggler_state *s, const struct context *ctx, struct worker *w, const struct round *round)
{
	w->nlast++;
	w->lag_ns += round->last_begin_ns - round->before_ns;
	return tally_add_call(&w->tally, ctx->timeline, ctx->names, as_tid(round->last_tid), round->before_ns,
			      round->last_begin_ns, &s->scratch)
		       ? 0
		       : ERR_MEMORY;
}

static int take_round(struct straggler_state *s, const struct context *ctx, struct worker *w, const struct event *ev)
{
	struct crew *c = w->crew;
	struct round *round = &c->rounds[w->nrounds % OPEN_ROUNDS];
	uint64_t begin_ns = call_begin_ns(ev);

	if (round->number != w->nrounds + 1) {
		/* One that is still open is left behind: some rank is too far off to be compared. */
		if (round->number > w->nrounds + 1) {
			w->nrounds++;
			return 0;
		}
		*round = (struct round){.number = w->nrounds + 1};
	}
	w->nrounds++;
	round->ncame++;
	if (round->ncame == 1 || begin_ns >= round->last_begin_ns) {
		round->before_ns = round->ncame == 1 ? begin_ns : round->last_begin_ns;
		round->last_begin_ns = begin_ns;
		round->last_process = w->key.a;
		round->last_tid = ev->v[F_call_tid];
	} else if (begin_ns > round->before_ns) {
		round->before_ns = begin_ns;
	}
	if (round->ncame < c->key.a)
		return 0;
	c->begin_ns = c->nrounds ? c->begin_ns : begin_ns;
	c->end_ns = ev->at_ns;
	c->nrounds++;
	w = groups_find(&s->workers, round->last_process, 0);
	return w ? count_lag(s, ctx, w, round) : 0;
}

static int straggler_feed(void *state, const struct context *ctx, const uint64_t *set, const struct event *ev)
{
	struct straggler_state *s = state;
	struct worker *w;
	int r = 0;

	(void)set;
	if (event_is_nested(ev) || !ctx->caller || ev->v[F_call_ret] != 0)
		return 0;
	w = groups_get(&s->workers, ctx->caller->key.b, 0);
	if (!w)
		return s->workers.error;
	if (ev->v[F_collective_nranks])
		r = join_crew(s, w, ev->v[F_collective_rank], ev->v[F_collective_nranks]);
	if (r == 0 && w->crew && ev->v[F_collective_nranks] == 0 && ev->v[F_collective_count])
		r = take_round(s, ctx, w, ev);
	return r;
}

static struct finding *report(struct findings *out, const char *class, enum confidence confidence, uint64_t process,
			      uint64_t lost_ns)
{
	struct finding *f = rule_finding(out, &straggler_rule, class, confidence);

	f->process = process;
	f->weight = lost_ns;
	f->unit = WEIGHT_NS;
	text_add(&f->advice, "Look what this process does that the others do not: its data, its CPU and GPU (throttle, "
			     "runqueue, launch-gap), its place on the PCI bus");
	return f;
}

static void report_last(struct worker *w, const struct context *ctx, struct findings *out)
{
	const struct explained *worst = w->tally.worst[0].why;
	bool known = !worst || split_main(&worst->cause.links[0]) != CAUSE_UNKNOWN;
	struct finding *f =
		report(out, "last-to-collectives", known ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM, w->key.a, w->lag_ns);
	const struct crew *c = w->crew;

	text_add(&f->headline, "Rank %llu of %llu, ", (unsigned long long)w->rank, (unsigned long long)c->key.a);
	process_add(&f->headline, ctx, w->key.a);
	text_add(&f->headline, ", was the last to come to %llu of %llu collectives, and kept the others waiting for ",
		 (unsigned long long)w->nlast, (unsigned long long)c->nrounds);
	text_add_ns(&f->headline, w->lag_ns);
	text_add(&f->headline, "; at worst it spent ");
	text_add_cause(&f->headline, worst);
	finding_number(f, "rank", w->rank);
	finding_number(f, "nranks", c->key.a);
	finding_number(f, "times_last", w->nlast);
	finding_number(f, "rounds", c->nrounds);
	finding_number(f, "lag_ns", w->lag_ns);
	tally_give(&w->tally, f);
}

static void judge_crews(struct straggler_state *s, const struct context *ctx, const uint64_t *set, struct findings *out)
{
	for (size_t i = 0; i < s->workers.table.nitems; i++) {
		struct worker *w = groups_at(&s->workers, i);
		const struct crew *c = w->crew;

		if (!c || c->nrounds < set[SET_ROUNDS] || w->nlast * 100 < c->nrounds * set[SET_LAST] ||
		    w->lag_ns / w->nlast < set[SET_LAG] || w->lag_ns < (c->end_ns - c->begin_ns) / 100 * set[SET_SHARE])
			continue;
		report_last(w, ctx, out);
	}
}

/* Ranks are compared by their collectives. */
static bool is_comparable(const struct straggler_state *s, const struct life *life, const uint64_t *set)
{
	const struct worker *w = groups_find(&s->workers, life->key.a, 0);

	return (!w || !w->crew) && life->nlaunches >= set[SET_LAUNCHES];
}

static uint64_t pace_of(const struct life *life)
{
	return (life->last_launch_ns - life->first_launch_ns) / (life->nlaunches - 1);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Those that are compared. */
struct peers {
	const struct life *lives[PROCESSES_COMPARED_MAX];
	uint64_t paces[PROCESSES_COMPARED_MAX]; /* room to sort them */
	size_t n;
};

/* The middle pace of those that make the same calls; 0: there are too few. */
static uint64_t peers_pace(struct peers *p, const struct life *life, const uint64_t *set, uint64_t *npeers)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		if (p->lives[i]->functions == life->functions)
			p->paces[n++] = pace_of(p->lives[i]);
	*npeers = n;
	if (n < set[SET_PEERS])
		return 0;
	qsort(p->paces, n, sizeof(*p->paces), by_value);
	return p->paces[(n - 1) / 2];
}

static void report_slow(const struct life *life, uint64_t usual_ns, uint64_t npeers, const struct context *ctx,
			struct findings *out)
{
	uint64_t pace_ns = pace_of(life);
	struct finding *f = report(out, "slower-than-its-peers", CONFIDENCE_MEDIUM, life->key.a,
				   (pace_ns - usual_ns) * (life->nlaunches - 1));

	f->count = life->nlaunches;
	f->tid = life->launch_tid;
	text_add(&f->headline, "Of %llu processes that make the same calls, ", (unsigned long long)npeers);
	process_add(&f->headline, ctx, life->key.a);
	text_add(&f->headline, " takes ");
	text_add_ns(&f->headline, pace_ns);
	text_add(&f->headline, " from launch to launch; the middle one takes ");
	text_add_ns(&f->headline, usual_ns);
	text_add(&f->sure, "Medium confidence: it is slower; whether all were to do the same work is unknown");
	finding_number(f, "pace_ns", pace_ns);
	finding_number(f, "usual_pace_ns", usual_ns);
	finding_number(f, "peers", npeers);
}

static void judge_paces(struct straggler_state *s, const struct context *ctx, const uint64_t *set, struct findings *out)
{
	const struct table *lives = &ctx->callers->lives;
	struct peers *p = calloc(1, sizeof(*p));
	uint64_t usual_ns, npeers;

	if (!p) {
		out->failed = true;
		return;
	}
	for (size_t i = 0; i < lives->nitems; i++) {
		const struct life *life = (const struct life *)lives->items[i];

		if (!is_comparable(s, life, set))
			continue;
		if (p->n < PROCESSES_COMPARED_MAX)
			p->lives[p->n++] = life;
		else
			s->workers.nskipped += life->nlaunches;
	}
	for (size_t i = 0; i < p->n; i++) {
		usual_ns = peers_pace(p, p->lives[i], set, &npeers);
		if (usual_ns && pace_of(p->lives[i]) > usual_ns + usual_ns / 100 * set[SET_SLOWER])
			report_slow(p->lives[i], usual_ns, npeers, ctx, out);
	}
	free(p);
}

static void straggler_finish(void *state, const struct context *ctx, const uint64_t *set, struct findings *out)
{
	struct straggler_state *s = state;

	judge_crews(s, ctx, set, out);
	judge_paces(s, ctx, set, out);
	findings_add_limit(out, straggler_rule.name, s->workers.nskipped, "calls");
}

const struct rule straggler_rule = {
	.name = "straggler",
	.severity = SEVERITY_WARNING,
	.summary = "one of several processes that do the same and lags behind the others",
	.meaning =
		"Ranks of a collective wait for the last: one that is mostly the last keeps all of them from working. "
		"Processes that make the same calls without collectives are compared by their pace.",
	.wrong =
		"Collectives are matched by their order in each process, so programs that use several communicators in "
		"different orders are compared wrongly. Processes with other work to do may be slower by right.",
	.remedy = "Check that process's data, CPU, GPU and place in the host.",
	RULE_SETTINGS(settings),
	.kinds = {KIND_collective, 0},
	.state_size = sizeof(struct straggler_state),
	.groups = {{offsetof(struct straggler_state, workers), sizeof(struct worker), PROCESSES_COMPARED_MAX,
		    offsetof(struct worker, tally)},
		   {offsetof(struct straggler_state, crews), sizeof(struct crew), PROCESSES_COMPARED_MAX, 0}},
	.feed = straggler_feed,
	.finish = straggler_finish,
};
