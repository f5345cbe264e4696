// SPDX-License-Identifier: Apache-2.0
/* Threads that use the GPU and that the CPU quota of their control group kept from running. */
#include <inttypes.h>

#include "analyze/stats/callsite.h"
#include "analyze/stats/top_threads.h"

enum { SET_WAIT, SET_COUNT, SET_TOTAL, SET_SHARE };

static const struct setting settings[] = {
	[SET_WAIT] = {"wait", SETTING_NS, 1000000, 1000, 1000000000000,
		      "the shortest time without a CPU for lack of quota that counts"},
	[SET_COUNT] = {"count", SETTING_COUNT, 3, 1, 1000000000, "so many of them on one thread,"},
	[SET_TOTAL] = {"total", SETTING_NS, 20000000, 1000, 1000000000000, "taking so much time together,"},
	[SET_SHARE] = {"share", SETTING_PERCENT, 2, 1, 100,
		       "and this share of the time since the thread's first GPU call"},
};

#define THREADS_MAX 8192
#define CALLS_LEAST 32 /* GPU calls by which a thread shows that it uses the GPU */

/* A thread that uses the GPU and was throttled. */
struct throttled_thread {
	struct table_key key; /* a: tid, b: process instance */
	struct who who;
	const struct control_group *group; /* NULL: not known */
	uint64_t begin_ns, end_ns;         /* it used the GPU; end_ns 0: until the end */
	uint64_t untimed_ns;               /* of tally.total_ns: at most so long, for want of the kernel's account */
	struct tally tally;
};

struct quota_state {
	struct groups threads;
	struct explained scratch;
};

static struct throttled_thread *thread_at(const struct quota_state *s, size_t i)
{
	return groups_at(&s->threads, i);
}

static uint64_t life_ns(const struct throttled_thread *t, const struct context *ctx)
{
	return (t->end_ns ? t->end_ns : ctx->now_ns) - t->begin_ns;
}

static bool is_enough(const struct throttled_thread *t, const struct context *ctx, const uint64_t *set)
{
	return t->tally.count >= set[SET_COUNT] && t->tally.total_ns >= set[SET_TOTAL] &&
	       t->tally.total_ns >= life_ns(t, ctx) / 100 * set[SET_SHARE];
}

/* What the thread did last was to be throttled. */
static int take_throttled(struct quota_state *s, const struct context *ctx, const struct caller *caller,
			  const struct span *last)
{
	struct throttled_thread *t = groups_get(&s->threads, caller->key.a, caller->key.b);

	if (!t)
		return s->threads.error;
	if (t->tally.count == 0)
		t->begin_ns = caller->begin_ns;
	explain(&s->scratch, ctx->timeline, ctx->names, as_tid(caller->key.a), last->begin_ns, last->end_ns);
	names_who(ctx->names, caller->key.a, &t->who);
	t->group = names_quota_of_instance(ctx->names, caller->key.b);
	t->untimed_ns += last->flags & SPAN_TIMED ? 0 : last->end_ns - last->begin_ns;
	t->end_ns = 0;
	return rule_count(&t->tally, ctx, last->begin_ns, last->end_ns, &s->scratch);
}

static int quota_feed(void *state, const struct context *ctx, const uint64_t *set, const struct event *ev)
{
	struct quota_state *s = state;
	uint64_t tid = ev->v[ev->kind == KIND_switch ? F_switch_next_tid : F_throttled_tid];
	struct throttled_thread *t;
	const struct caller *caller;
	struct span last;

	if (ev->kind == KIND_exit) {
		t = ctx->caller ? groups_find(&s->threads, ctx->caller->key.a, ctx->caller->key.b) : NULL;
		if (t)
			t->end_ns = ev->at_ns;
		return 0;
	}
	if (!timeline_last(ctx->timeline, as_tid(tid), &last) || !(last.flags & SPAN_THROTTLED) ||
	    last.end_ns - last.begin_ns < set[SET_WAIT])
		return 0;
	caller = callers_latest(ctx->callers, tid);
	return caller && caller->ncalls >= CALLS_LEAST ? take_throttled(s, ctx, caller, &last) : 0;
}

static uint64_t unusual_ns(const uint64_t *set)
{
	return set[SET_WAIT];
}

/* Threads of one process that were throttled: one finding. */
struct throttled_process {
	uint64_t process, nthreads, life_ns, untimed_ns;
	const struct control_group *group;
	struct roster waiters;
	struct gpu_price price;
	struct tally tally;
};

/* The kernel's account covers four fifths of the time, so that what is only an upper bound adds little. */
static bool is_timed(const struct throttled_process *p)
{
	return p->untimed_ns <= p->tally.total_ns / 5;
}

static void join(struct throttled_process *p, struct throttled_thread *t, const struct context *ctx)
{
	p->nthreads++;
	p->life_ns += life_ns(t, ctx);
	p->untimed_ns += t->untimed_ns;
	p->group = t->group ? t->group : p->group;
	gpu_price_add(&p->price, ctx, t->who.tid, p->process, LEDGER_QUOTA, t->tally.total_ns);
	roster_add(&p->waiters, &t->who, t->tally.total_ns);
	tally_join(&p->tally, &t->tally);
}

static void report_headline(struct text *t, const struct throttled_process *p)
{
	text_add_who(t, roster_first(&p->waiters));
	if (p->nthreads > 1)
		text_add(t, " and %" PRIu64 " other threads, which use the GPU, were", p->nthreads - 1);
	else
		text_add(t, ", which uses the GPU, was");
	text_add(t, " throttled by CPU quota");
	text_add_quota(t, p->group);
	text_add(t, " ");
	times_add(t, p->tally.count);
	text_add(t, p->untimed_ns ? ", for at most " : ", for ");
	text_add_ns(t, p->tally.total_ns);
	text_add(t, " in all, ");
	share_add(t, p->tally.total_ns, p->life_ns);
	text_add(t, p->nthreads > 1 ? " of their time" : " of its time");
}

/* What the kernel says of the group: all of its tasks, on all CPUs. */
static void report_group(struct finding *f, const struct control_group *g)
{
	if (!g)
		return;
	finding_number(f, "quota_ns", g->quota_ns);
	finding_number(f, "period_ns", g->period_ns);
	finding_number(f, "group_periods", g->last.periods - g->first.periods);
	finding_number(f, "group_throttled_periods", g->last.throttled_periods - g->first.throttled_periods);
	finding_number(f, "group_throttled_ns", g->last.throttled_ns - g->first.throttled_ns);
	finding_text(f, "cgroup", g->path, g->path_bytes);
}

static void report_process(struct throttled_process *p, struct findings *out)
{
	struct finding *f =
		rule_finding(out, &cpu_quota_rule, "throttled", is_timed(p) ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM);

	if (!is_timed(p))
		text_add(&f->sure,
			 "Medium confidence: the quota was used up when it left the CPU, but the kernel did not report "
			 "when it was refilled");
	f->process = p->process;
	f->tid = p->nthreads == 1 ? p->waiters.who[0].tid : 0;
	f->weight = p->tally.total_ns;
	f->unit = WEIGHT_NS;
	roster_give(&p->waiters, PART_WAITER, f);
	report_headline(&f->headline, p);
	text_add(&f->advice,
		 "Raise the quota of that control group (cpu.max, cpu.cfs_quota_us; in Kubernetes the limit "
		 "of CPU), or start fewer computing threads in it");
	finding_number(f, "threads", p->nthreads);
	finding_number(f, "threads_ns", p->life_ns);
	report_group(f, p->group);
	gpu_price_give(&p->price, f);
	tally_give(&p->tally, f);
}

static void quota_finish(void *state, const struct context *ctx, const uint64_t *set, struct findings *out)
{
	struct quota_state *s = state;

	for (size_t i = 0; i < s->threads.table.nitems; i++) {
		struct throttled_process p = {.process = thread_at(s, i)->key.b};

		if (!is_enough(thread_at(s, i), ctx, set))
			continue;
		for (size_t k = i; k < s->threads.table.nitems; k++)
			if (thread_at(s, k)->key.b == p.process && is_enough(thread_at(s, k), ctx, set))
				join(&p, thread_at(s, k), ctx);
		report_process(&p, out);
		tally_clear(&p.tally);
	}
	findings_add_limit(out, cpu_quota_rule.name, s->threads.nskipped + ctx->callers->nbeyond, "calls and waits");
}

const struct rule cpu_quota_rule = {
	.name = "cpu-quota",
	.severity = SEVERITY_WARNING,
	.summary = "threads that use the GPU and that the CPU quota of their control group keeps from running",
	.meaning = "A thread that feeds the GPU could have run, but its control group had used up the CPU time that it "
		   "gets in each period. While it waits for the next period, it launches nothing. No other program is "
		   "to blame for that, however busy the machine is.",
	.wrong = "Where the kernel keeps no account (before Linux 6.6, or when the thread was moved to another CPU "
		 "meanwhile) the time is an upper bound: when there was quota again, the thread may have had to wait "
		 "for a CPU.",
	.remedy = "Raise the quota, or start fewer computing threads in that control group.",
	RULE_SETTINGS(settings),
	.kinds = {KIND_throttled, KIND_switch, KIND_exit, 0},
	.unusual_ns = unusual_ns,
	.state_size = sizeof(struct quota_state),
	.groups = {{offsetof(struct quota_state, threads), sizeof(struct throttled_thread), THREADS_MAX,
		    offsetof(struct throttled_thread, tally)}},
	.feed = quota_feed,
	.finish = quota_finish,
};
