// SPDX-License-Identifier: Apache-2.0
/*
 * Futex waits that delayed GPU work, by futex: inside a call, or between two calls of a thread that feeds the GPU (a
 * gap in its launches). Waiting for work to do is no stall: a gap counts only if it is far above the thread's own
 * cadence, and only if the futex is a lock, or if the thread that was waited for had no CPU.
 */
#include <string.h>

#include "analyze/remedy.h"
#include "analyze/stats/lock_convoy.h"
#include "analyze/stats/callsite.h"
#include "analyze/stats/top_threads.h"
#include "analyze/rule.h"

enum {
	SET_MIN,
	SET_MIN_WAIT,
	SET_MIN_BUSY,
	SET_GAP_FACTOR,
	SET_GAP_MIN,
	SET_WARM_UP,
	SET_REPEAT,
	SET_TOTAL,
	SET_ALONE
};

static const struct setting settings[] = {
	[SET_MIN] = {"min", SETTING_NS, 1000000, 1000, 1000000000000,
		     "a wait in a futex inside a call is a stall from so long on; below a millisecond a GPU's queue "
		     "hides it"},
	[SET_MIN_WAIT] =
		{"min-wait", SETTING_NS, 8000000, 1000, 1000000000000,
		 "the same where the thread that was waited for had no CPU; one that shares a CPU with one other waits "
		 "for a slice of 3 to 6 ms now and then, on any host"},
	[SET_MIN_BUSY] =
		{"min-busy", SETTING_NS, 5000000, 1000, 1000000000000,
		 "the same where that thread ran; in a virtual machine, time that the host took away looks like "
		 "running, a few milliseconds at a time"},
	[SET_GAP_FACTOR] =
		{"gap-factor", SETTING_TIMES, 10, 2, 1000000,
		 "a gap between two calls is judged from so many times the thread's usual gap (90th percentile) on"},
	[SET_GAP_MIN] = {"gap-min", SETTING_NS, 8000000, 1000, 1000000000000,
			 "minimum length; shorter gaps are normal scheduling"},
	[SET_WARM_UP] = {"warm-up", SETTING_COUNT, 64, 8, 1000000,
			 "gaps of a thread before it is known what is usual; none of them is judged"},
	[SET_REPEAT] = {"repeat", SETTING_COUNT, 2, 1, 1000000, "stalls at one futex that make a finding,"},
	[SET_TOTAL] = {"total", SETTING_NS, 10000000, 1000, 1000000000000, "if they cost so much time together,"},
	[SET_ALONE] = {"alone", SETTING_NS, 20000000, 1000, 1000000000000,
		       "or so much time at one futex, however few they are"},
};

#define CONVOY_LEAST 3  /* threads asleep in a lock at once that are called a queue */
#define GROUPS_MAX 1024 /* futexes distinguished; stalls at others are not counted */

struct futex_group {
	struct table_key key; /* a: process instance, b: address */
	struct roster waiters, wakers, keepers;
	uint64_t in_calls_ns, in_gaps_ns;
	uint64_t nno_cpu;     /* stalls whose waker had no CPU, */
	uint64_t ninversions; /* and of these priority inversions */
	bool lock;
	uint64_t worst_ns;
	bool worst_in_gap;
	uint64_t worst_probe; /* of the call, or of the one after the gap */
	struct tally tally;
};

struct stall_state {
	struct groups groups, convoys;
	struct split split;
	struct explained scratch;
};

/* A wait in one futex, in s->scratch explained, is a stall. */
static int add_stall(struct stall_state *s, const struct context *ctx, uint64_t process, const struct part *part,
		     bool in_gap, uint64_t probe)
{
	const struct explained *e = &s->scratch;
	const struct split *wait = &e->cause.links[0];
	struct futex_group *g = groups_get(&s->groups, process, part->futex);

	if (!g)
		return s->groups.error;
	roster_add_tid(&g->waiters, e, wait->tid, part->ns);
	roster_add_tid(&g->wakers, e, part->tid, part->ns);
	roster_add_tid(&g->keepers, e, explained_keeper(e), part->ns);
	*(in_gap ? &g->in_gaps_ns : &g->in_calls_ns) += part->ns;
	g->nno_cpu += chain_lacks_cpu(e->cause.end);
	g->ninversions += explained_is_inversion(e);
	g->lock = g->lock || part->flags & SPAN_LOCK;
	if (wait->end_ns - wait->begin_ns > g->worst_ns) {
		g->worst_ns = wait->end_ns - wait->begin_ns;
		g->worst_in_gap = in_gap;
		g->worst_probe = probe;
	}
	return rule_count(&g->tally, ctx, wait->begin_ns, wait->end_ns, e);
}

/* Find out why the longest sleep of this part took so long; how long it was. */
static uint64_t explain_part(struct stall_state *s, const struct context *ctx, uint32_t tid, const struct part *part)
{
	explain(&s->scratch, ctx->timeline, ctx->names, tid, part->longest_begin_ns, part->longest_end_ns);
	return part->longest_end_ns - part->longest_begin_ns;
}

/*
 * Calls that wait for the GPU sleep as a matter of course: waits are left out, and of copies and frees, which wait for
 * work in progress, only what they sleep in a lock counts.
 */
static bool may_stall(uint16_t kind, const struct part *part)
{
	if (part->class != CAUSE_FUTEX || part->joined || kind == KIND_wait)
		return false;
	return part->flags & SPAN_LOCK || (kind != KIND_copy && kind != KIND_free);
}

static int judge_call(struct stall_state *s, const struct context *ctx, const uint64_t *set, uint64_t process,
		      const struct event *ev)
{
	uint32_t tid = as_tid(ev->v[F_call_tid]);
	int r = 0;

	if (ev->v[F_call_dur] < set[SET_MIN])
		return 0;
	split_make(&s->split, ctx->timeline, tid, call_begin_ns(ev), ev->at_ns);
	for (unsigned i = 0; i < s->split.nparts && r == 0; i++) {
		const struct part *part = &s->split.parts[i];
		uint64_t ns;

		if (!may_stall(ev->kind, part) || part->ns < set[SET_MIN])
			continue;
		ns = explain_part(s, ctx, tid, part);
		if (s->scratch.cause.end == CHAIN_TIMED_OUT)
			continue; /* it wanted to wait for so long */
		if (ns >= set[chain_lacks_cpu(s->scratch.cause.end) ? SET_MIN_WAIT
			      : s->scratch.cause.end == CHAIN_RAN   ? SET_MIN_BUSY
								    : SET_MIN])
			r = add_stall(s, ctx, process, part, false, ev->v[F_call_probe]);
	}
	return r;
}

static int judge_gap(struct stall_state *s, const struct context *ctx, const uint64_t *set, const struct event *ev)
{
	const struct caller *caller = ctx->caller;
	uint64_t begin_ns = caller->end_ns, end_ns = call_begin_ns(ev), gap_ns;
	uint32_t tid = as_tid(ev->v[F_call_tid]);
	const struct part *part;

	if (begin_ns == 0 || end_ns <= begin_ns)
		return 0;
	gap_ns = end_ns - begin_ns;
	if (gap_ns < set[SET_GAP_MIN] || caller->nlaunches < set[SET_WARM_UP] / 2)
		return 0;
	if (!caller->gaps) {
		s->groups.nskipped++;
		return 0;
	}
	if (caller->gaps->n < set[SET_WARM_UP] || gap_ns / set[SET_GAP_FACTOR] < baseline_quantile(caller->gaps, 90))
		return 0;
	split_make(&s->split, ctx->timeline, tid, begin_ns, end_ns);
	part = split_longest(&s->split, CAUSE_FUTEX);
	if (!part || part->joined || part->ns < gap_ns / 2)
		return 0;
	if (explain_part(s, ctx, tid, part) < set[SET_GAP_MIN])
		return 0;
	if (s->scratch.cause.end == CHAIN_TIMED_OUT || s->scratch.cause.nlinks < 2)
		return 0;
	if (!(part->flags & SPAN_LOCK) && !chain_lacks_cpu(s->scratch.cause.end))
		return 0;
	return add_stall(s, ctx, caller->key.b, part, true, ev->v[F_call_probe]);
}

/* Waits that are as long as a stall, of whatever thread: a lock's queue. */
static int take_wait(struct stall_state *s, const struct context *ctx, const uint64_t *set, const struct event *ev)
{
	uint64_t dur_ns = ev->v[F_futex_dur];
	const struct process *p;
	struct fault why;

	if (dur_ns < set[SET_MIN] || dur_ns > ev->at_ns)
		return 0;
	p = names_process(ctx->names, ev->v[F_futex_pid], ev->at_ns);
	return p ? convoys_add(&s->convoys.table, p->number, ev->v[F_futex_addr], ev->at_ns - dur_ns, ev->at_ns, &why)
		 : 0;
}

static uint64_t unusual_ns(const uint64_t *set)
{
	return set[SET_MIN] < set[SET_GAP_MIN] ? set[SET_MIN] : set[SET_GAP_MIN];
}

static int stall_feed(void *state, const struct context *ctx, const uint64_t *set, const struct event *ev)
{
	struct stall_state *s = state;
	int r;

	if (ev->kind == KIND_futex)
		return take_wait(s, ctx, set, ev);
	if (event_is_nested(ev) || !ctx->caller)
		return 0;
	r = judge_call(s, ctx, set, ctx->caller->key.b, ev);
	return r < 0 ? r : judge_gap(s, ctx, set, ev);
}

static void report_headline(struct text *t, const struct futex_group *g, const struct context *ctx, unsigned at_once)
{
	const struct explained *worst = g->tally.worst[0].why;
	const struct who *waiter = roster_first(&g->waiters);
	const char *name = call_name(ctx->schema, g->worst_probe);

	if (waiter)
		text_add_who(t, waiter);
	text_add(t, " was held up ");
	times_add(t, g->tally.count);
	text_add(t, ", for ");
	text_add_ns(t, g->in_calls_ns + g->in_gaps_ns);
	text_add(t, " in all, at futex 0x%llx; at worst %s ", (unsigned long long)g->key.b,
		 g->worst_in_gap ? "before" : "inside");
	text_add_escaped(t, name, strlen(name));
	text_add(t, ": ");
	text_add_cause(t, worst);
	if (g->ninversions > g->tally.count / 2)
		text_add(t, "; the one that waited has the highest priority of the three (priority inversion)");
	if (at_once >= CONVOY_LEAST)
		text_add(t, "; up to %u threads queued for it at once (a convoy)", at_once);
}

static void report_roster(struct finding *f, const char *tid_key, const char *name_key, const char *count_key,
			  const struct roster *r)
{
	const struct who *who = roster_first(r);

	finding_number(f, count_key, r->n);
	if (!who)
		return;
	finding_number(f, tid_key, who->tid);
	finding_text(f, name_key, who->name.s, who->name.len);
}

static const char *advice_for(bool no_cpu, const struct futex_group *g)
{
	const struct explained *worst = g->tally.worst[0].why;
	enum chain_end end = worst->cause.end;
	const char *remedy = no_cpu && !g->ninversions ? explained_cpu_remedy(worst) : NULL;

	if (remedy)
		return remedy;
	if (no_cpu && end == CHAIN_QUOTA)
		return "Its holder had used up the CPU quota of its control group: raise that quota, or start fewer "
		       "computing threads in it";
	if (no_cpu)
		return "Its holder had no CPU: give it one, raise its priority, or make the lock one that lends "
		       "priority (PTHREAD_PRIO_INHERIT)";
	if (end == CHAIN_STOPPED)
		return "The thread that held it was stopped meanwhile: find out by whom, and why";
	if (end == CHAIN_RAN)
		return "Hold the lock for less time, or keep it out of the way of the threads that feed the GPU";
	if (end == CHAIN_UNKNOWN)
		return "Record the process of the thread that releases it, too: what that thread did meanwhile is "
		       "unknown";
	return "Look what its holder sleeps for while it holds it, and let it do that before it takes the lock";
}

static void report_group(struct futex_group *g, const struct context *ctx, const uint64_t *set,
			 const struct convoy *convoy, struct findings *out)
{
	const struct cause *worst = &g->tally.worst[0].why->cause;
	enum chain_end end = worst->end;
	bool no_cpu = g->nno_cpu > g->tally.count / 2;
	const char *class = no_cpu                 ? "waker-without-cpu"
			    : end == CHAIN_RAN     ? "waker-busy"
			    : end == CHAIN_UNKNOWN ? "waker-unknown"
						   : "waker-asleep";
	bool proven = end != CHAIN_UNKNOWN && cause_is_proven(worst);
	struct gpu_price price = {0};
	struct finding *f = rule_finding(out, &futex_stall_rule, class, proven ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM);

	f->process = g->key.a;
	f->futex = g->key.b;
	f->weight = g->in_calls_ns + g->in_gaps_ns;
	f->unit = WEIGHT_NS;
	f->tid = g->waiters.n == 1 && !g->waiters.more ? g->waiters.who[0].tid : 0;
	f->threshold_ns = set[no_cpu ? SET_MIN_WAIT : SET_MIN];
	roster_give(&g->waiters, PART_WAITER, f);
	roster_give(&g->wakers, PART_WAKER, f);
	roster_give(&g->keepers, PART_KEEPER, f);
	report_headline(&f->headline, g, ctx, convoy ? convoy->most : 0);
	text_add(&f->advice, "%s", advice_for(no_cpu, g));
	finding_address(f, "futex", g->key.b);
	finding_bool(f, "lock", g->lock);
	finding_number(f, "in_calls_ns", g->in_calls_ns);
	finding_number(f, "between_calls_ns", g->in_gaps_ns);
	report_roster(f, "waiter_tid", "waiter_name", "nwaiters", &g->waiters);
	report_roster(f, "waker_tid", "waker_name", "nwakers", &g->wakers);
	report_roster(f, "keeper_tid", "keeper_name", "nkeepers", &g->keepers);
	finding_number(f, "waker_without_cpu_count", g->nno_cpu);
	if (g->ninversions)
		finding_number(f, "priority_inversion_count", g->ninversions);
	if (convoy)
		finding_number(f, "waiters_at_once", convoy->most);
	for (unsigned i = 0; i < g->waiters.n; i++)
		gpu_price_add(&price, ctx, g->waiters.who[i].tid, g->key.a, LEDGER_TASK, g->waiters.ns[i]);
	gpu_price_give(&price, f);
	tally_give(&g->tally, f);
}

static void stall_finish(void *state, const struct context *ctx, const uint64_t *set, struct findings *out)
{
	struct stall_state *s = state;

	for (size_t i = 0; i < s->groups.table.nitems; i++) {
		struct futex_group *g = groups_at(&s->groups, i);
		uint64_t total_ns = g->in_calls_ns + g->in_gaps_ns;

		if ((g->tally.count >= set[SET_REPEAT] && total_ns >= set[SET_TOTAL]) || total_ns >= set[SET_ALONE])
			report_group(g, ctx, set, convoys_find(&s->convoys.table, g->key.a, g->key.b), out);
	}
	findings_add_limit(out, futex_stall_rule.name, s->groups.nskipped, "calls and waits");
}

const struct rule futex_stall_rule = {
	.name = "futex-stall",
	.severity = SEVERITY_WARNING,
	.meaning =
		"A thread that feeds the GPU slept in a lock, inside a CUDA call or between two of them. The "
		"finding is about the lock: who waited, how many at once (a convoy), who let go of it, and what "
		"kept that one from doing so sooner. Where a thread had its CPU that goes before it, and the one that "
		"waits goes before both, it is called priority inversion.",
	.wrong = "A lock of one's own making whose contended value is not 2 is taken for a condition. A program that "
		 "waits for work in a lock looks stalled.",
	.remedy = "Hold the lock for less time, keep it out of the launching threads' way, or give its holder a CPU.",
	.summary = "futex waits that delayed GPU work, with who woke whom and what kept the waker",
	RULE_SETTINGS(settings),
	.kinds = {RULE_CALLS, KIND_futex, 0},
	.unusual_ns = unusual_ns,
	.state_size = sizeof(struct stall_state),
	.groups = {{offsetof(struct stall_state, groups), sizeof(struct futex_group), GROUPS_MAX,
		    offsetof(struct futex_group, tally)},
		   {offsetof(struct stall_state, convoys), sizeof(struct convoy), CONVOY_FUTEXES_MAX, 0}},
	.feed = stall_feed,
	.finish = stall_finish,
};
