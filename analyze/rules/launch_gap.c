// SPDX-License-Identifier: Apache-2.0
/*
 * Gaps between the calls of a thread that feeds the GPU, far above its own cadence, that it did not choose: it had no
 * CPU, read from disk, faulted pages in, or computed. Locks are rule futex-stall's; sleeping by choice (a timer, a
 * socket, a queue) is no fault; and gaps that come regularly are taken for checkpoints.
 */
#include "analyze/remedy.h"
#include "analyze/facts/losses.h"
#include "analyze/stats/top_threads.h"
#include "analyze/rule.h"

enum { SET_FACTOR, SET_MIN, SET_WARM_UP, SET_REPEAT, SET_ALONE, SET_BUSY, SET_REGULAR };

static const struct setting settings[] = {
	[SET_FACTOR] = {"factor", SETTING_TIMES, 10, 2, 1000000,
			"a gap counts from so many times the thread's usual gap (90th percentile) on"},
	[SET_MIN] = {"min", SETTING_NS, 10000000, 1000, 1000000000000,
		     "minimum length; shorter gaps are normal scheduling"},
	[SET_WARM_UP] = {"warm-up", SETTING_COUNT, 64, 8, 1000000,
			 "gaps of a thread before it is known what is usual; none of them is judged"},
	[SET_REPEAT] = {"repeat", SETTING_COUNT, 2, 1, 1000000, "gaps with one cause that make a finding"},
	[SET_ALONE] = {"alone", SETTING_NS, 100000000, 1000, 1000000000000,
		       "or so much time lost to one cause, however few they are"},
	[SET_BUSY] =
		{"busy", SETTING_COUNT, 4, 1, 1000000,
		 "gaps that the thread spent computing make a finding (info) from so many on, and not before: what a "
		 "program computes between two launches is its own affair"},
	[SET_REGULAR] =
		{"regular", SETTING_PERCENT, 15, 0, 100,
		 "gaps (five or more) that come at intervals which differ by less than this are the program's own "
		 "habit, such as a checkpoint, and no finding"},
};

#define GROUPS_MAX 1024
#define BEGINS_KEPT 64 /* of the gaps of a group: what shows whether they are regular */
#define REGULAR_LEAST 5

struct group {
	struct table_key key; /* a: tid, b: process instance << 8 | class */
	uint64_t process, next_probe, lost_ns, usual_ns;
	enum cause_class class;
	struct who who; /* at the latest gap */
	uint64_t begins[BEGINS_KEPT];
	struct tally tally;
};

struct gap_state {
	struct groups groups;
	uint64_t nleft_out; /* in which calls were left out on purpose: they are several, maybe */
	struct explained scratch;
};

static int add_gap(struct gap_state *s, const struct context *ctx, const struct event *ev, uint64_t usual_ns)
{
	const struct table_key *who = &ctx->caller->key;
	const struct split *split = &s->scratch.cause.links[0];
	enum cause_class class = split_main(split);
	struct group *g = groups_get(&s->groups, who->a, who->b << 8 | class);

	if (!g)
		return s->groups.error;
	g->process = who->b;
	g->class = class;
	names_who(ctx->names, who->a, &g->who);
	if (split->end_ns - split->begin_ns > g->tally.max_ns) {
		g->next_probe = ev->v[F_call_probe];
		g->usual_ns = usual_ns;
	}
	if (g->tally.count < BEGINS_KEPT)
		g->begins[g->tally.count] = split->begin_ns;
	g->lost_ns += split->ns[class];
	return rule_count(&g->tally, ctx, split->begin_ns, split->end_ns, &s->scratch);
}

static int judge(struct gap_state *s, const struct context *ctx, const uint64_t *set, const struct event *ev)
{
	const struct caller *caller = ctx->caller;
	uint64_t begin_ns = caller->end_ns, end_ns = call_begin_ns(ev), gap_ns, usual_ns;
	const struct split *split = &s->scratch.cause.links[0];
	enum cause_class class;

	if (begin_ns == 0 || end_ns <= begin_ns)
		return 0;
	gap_ns = end_ns - begin_ns;
	if (gap_ns < set[SET_MIN] || caller->nlaunches < set[SET_WARM_UP] / 2)
		return 0;
	if (!caller->gaps) { /* its cadence is not known */
		s->groups.nskipped++;
		return 0;
	}
	if (caller->gaps->n < set[SET_WARM_UP])
		return 0;
	usual_ns = baseline_quantile(caller->gaps, 90);
	if (gap_ns / set[SET_FACTOR] < usual_ns)
		return 0;
	if (calls_left_out_within(ctx->reader, begin_ns, end_ns)) {
		s->nleft_out++;
		return 0;
	}
	explain(&s->scratch, ctx->timeline, ctx->names, as_tid(ev->v[F_call_tid]), begin_ns, end_ns);
	class = split_main(split);
	if (class == CAUSE_FUTEX || class == CAUSE_ASLEEP || class == CAUSE_NETWORK || class == CAUSE_UNKNOWN ||
	    split->ns[class] < set[SET_MIN])
		return 0;
	return add_gap(s, ctx, ev, usual_ns);
}

static uint64_t unusual_ns(const uint64_t *set)
{
	return set[SET_MIN];
}

static int gap_feed(void *state, const struct context *ctx, const uint64_t *set, const struct event *ev)
{
	return event_is_nested(ev) || !ctx->caller ? 0 : judge(state, ctx, set, ev);
}

/* The longest and the shortest interval between the gaps differ by no more than `percent` of the longest. */
static bool is_regular(const struct group *g, uint64_t percent)
{
	uint64_t n = g->tally.count < BEGINS_KEPT ? g->tally.count : BEGINS_KEPT;
	uint64_t shortest = UINT64_MAX, longest = 0;

	for (uint64_t i = 1; i < n; i++) {
		uint64_t ns = g->begins[i] - g->begins[i - 1];

		shortest = ns < shortest ? ns : shortest;
		longest = ns > longest ? ns : longest;
	}
	return n >= REGULAR_LEAST && longest - shortest <= longest / 100 * percent;
}

static bool is_enough(const struct group *g, const uint64_t *set)
{
	if (g->class == CAUSE_CPU)
		return g->tally.count >= set[SET_BUSY];
	return g->tally.count >= set[SET_REPEAT] || (g->tally.count && g->lost_ns >= set[SET_ALONE]);
}

static const char *advice_for(enum cause_class class, const struct explained *worst)
{
	const char *remedy = cause_remedy(worst, class);

	if (remedy)
		return remedy;
	switch (class) {
	case CAUSE_RUNNABLE:
		return "Give the thread that feeds the GPU a CPU of its own (cpuset, taskset), or start fewer threads";
	case CAUSE_IO:
		return "Read ahead in another thread (DataLoader workers, prefetching), so that this one never waits "
		       "for a disk";
	default:
		return "Move what it computes there to another thread, or profile it (perf record on that thread)";
	}
}

/* Threads of one process that had gaps with the same cause are one finding; `g` is the first of them. */
static void report_groups(struct group *g, const struct roster *waiters, const struct gpu_price *price,
			  unsigned nthreads, const struct context *ctx, const uint64_t *set, struct findings *out)
{
	const struct explained *worst = g->tally.worst[0].why;
	bool proven = worst->cause.links[0].ns[CAUSE_UNKNOWN] <= g->tally.max_ns / 10 && cause_is_proven(&worst->cause);
	struct finding *f = rule_finding(out, &launch_gap_rule, cause_class_name(g->class),
					 proven ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM);
	const struct who *who = explained_who(worst, worst->cause.links[0].tid);
	const char *name = call_name(ctx->schema, g->next_probe);

	if (g->class == CAUSE_CPU)
		f->severity = SEVERITY_INFO;
	f->process = g->process;
	f->tid = nthreads == 1 ? g->key.a : 0;
	f->weight = g->lost_ns;
	f->unit = WEIGHT_NS;
	f->usual_ns = g->usual_ns;
	f->threshold_ns = g->usual_ns * set[SET_FACTOR] > set[SET_MIN] ? g->usual_ns * set[SET_FACTOR] : set[SET_MIN];
	roster_give(waiters, PART_WAITER, f);
	if (who)
		text_add_who(&f->headline, who);
	if (nthreads > 1)
		text_add(&f->headline, ", one of %u threads,", nthreads);
	text_add(&f->headline, " fed the GPU nothing for ");
	text_add_ns(&f->headline, g->tally.max_ns);
	text_add(&f->headline, " before %s (usually at most ", name);
	text_add_ns(&f->headline, g->usual_ns);
	text_add(&f->headline, "): ");
	text_add_cause(&f->headline, worst);
	text_add(&f->advice, "%s", advice_for(g->class, worst));
	finding_number(f, "lost_ns", g->lost_ns);
	finding_number(f, "threads", nthreads);
	finding_string(f, "next_function", name);
	gpu_price_give(price, f);
	tally_give(&g->tally, f);
}

static void join(struct group *g, struct group *other)
{
	if (other->tally.max_ns > g->tally.max_ns) {
		g->next_probe = other->next_probe;
		g->usual_ns = other->usual_ns;
	}
	g->lost_ns += other->lost_ns;
	tally_join(&g->tally, &other->tally);
}

static void gap_finish(void *state, const struct context *ctx, const uint64_t *set, struct findings *out)
{
	struct gap_state *s = state;

	for (size_t i = 0; i < s->groups.table.nitems; i++) {
		struct group *g = groups_at(&s->groups, i);
		struct gpu_price price = {0};
		struct roster waiters = {0};
		unsigned nthreads = 0;

		if (!is_enough(g, set) || is_regular(g, set[SET_REGULAR]))
			continue;
		for (size_t k = i; k < s->groups.table.nitems; k++) {
			struct group *other = groups_at(&s->groups, k);

			if (other->key.b != g->key.b ||
			    (k > i && (!is_enough(other, set) || is_regular(other, set[SET_REGULAR]))))
				continue;
			roster_add(&waiters, &other->who, other->lost_ns);
			gpu_price_add(&price, ctx, other->key.a, other->process, gpu_price_part(other->class),
				      other->lost_ns);
			nthreads++;
			if (k > i)
				join(g, other);
		}
		report_groups(g, &waiters, &price, nthreads, ctx, set, out);
	}
	findings_add_left_out(out, launch_gap_rule.name, s->nleft_out, "gaps between calls");
	findings_add_limit(out, launch_gap_rule.name, s->groups.nskipped, "gaps");
}

const struct rule launch_gap_rule = {
	.name = "launch-gap",
	.severity = SEVERITY_WARNING,
	.summary = "gaps between the calls of a thread that feeds the GPU, which it did not choose",
	.meaning = "A thread that launches all the time launched nothing for long: it had no CPU, was stopped, waited "
		   "for a disk or for pages, or computed. When the GPU's queue runs dry meanwhile, the GPU idles.",
	.wrong = "A gap after which there is simply nothing to do yet, filled with computing, looks the same. Regular "
		 "gaps are taken for checkpoints, even if somebody would rather not have them.",
	.remedy =
		"By cause: a CPU of its own; reading ahead in other threads; touching memory before; moving work away.",
	RULE_SETTINGS(settings),
	.kinds = {RULE_CALLS, 0},
	.unusual_ns = unusual_ns,
	.state_size = sizeof(struct gap_state),
	.groups = {{offsetof(struct gap_state, groups), sizeof(struct group), GROUPS_MAX,
		    offsetof(struct group, tally)}},
	.feed = gap_feed,
	.finish = gap_finish,
};
