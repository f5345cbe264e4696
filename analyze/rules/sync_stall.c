// SPDX-License-Identifier: Apache-2.0
/*
 * Waits for the GPU that cost more than they need: after every one or two launches, so that neither side ever works
 * ahead; and single waits that the GPU is not behind: the waiting thread had no CPU, sat in a lock or on a disk.
 */
#include <string.h>

#include "analyze/remedy.h"
#include "analyze/stats/callsite.h"
#include "analyze/stats/top_threads.h"

enum { SET_LAUNCHES, SET_COUNT, SET_TOTAL, SET_SHARE, SET_LONG };

static const struct setting settings[] = {
	[SET_LAUNCHES] = {"launches", SETTING_COUNT, 2, 1, 1000,
			  "a wait after at most so many launches leaves the GPU without work behind it"},
	[SET_COUNT] = {"count", SETTING_COUNT, 64, 2, 1000000000,
		       "so many such waits of one thread; a few belong to any program's start and end,"},
	[SET_TOTAL] = {"total", SETTING_NS, 50000000, 1000, 1000000000000, "which took so much time together,"},
	[SET_SHARE] = {"share", SETTING_PERCENT, 20, 1, 100,
		       "and this share of the time in which the thread makes GPU calls; below, there is little to win"},
	[SET_LONG] = {"long", SETTING_NS, 20000000, 1000, 1000000000000,
		      "one wait, more than half of it lost to the host and not the GPU, counts from so long on"},
};

#define THREADS_MAX 8192
#define GROUPS_MAX 1024

struct waiter {
	struct table_key key;        /* a: tid, b: process instance */
	const struct caller *caller; /* NULL: it ended */
	uint64_t ended_life_ns;      /* in which those made calls that had this number before and ended */
	struct who who;              /* at the latest wait that counts */
	uint64_t nlaunches;          /* of the caller, at the last wait */
	uint64_t probe, stack;
	struct tally tally; /* of waits after few launches */
};

struct held {
	struct table_key key; /* a: process instance, class; b: futex */
	uint64_t process, probe, futex, lost_ns;
	enum cause_class class;
	struct tally tally;
};

struct sync_state {
	struct groups waiters, held;
	struct split split;
	struct explained scratch;
};

/*
 * Whose doing a long wait is, if not the GPU's: no CPU, stopped, a page fault, a disk, a lock whose holder had no CPU.
 * A thread that runs (it polls) or sleeps until an interrupt or another thread of the driver's wakes it waits for the
 * GPU.
 */
static bool is_hosts_doing(const struct sync_state *s, enum cause_class class)
{
	const struct part *p = split_longest(&s->split, class);

	if (class == CAUSE_RUNNABLE || class == CAUSE_QUOTA || class == CAUSE_STOPPED || class == CAUSE_FAULT ||
	    class == CAUSE_MEMORY || class == CAUSE_IO || class == CAUSE_NETWORK)
		return true;
	return class == CAUSE_FUTEX && p && !p->joined && p->flags & SPAN_LOCK;
}

static int judge_long(struct sync_state *s, const struct context *ctx, const uint64_t *set, uint64_t process,
		      const struct event *ev)
{
	uint32_t tid = as_tid(ev->v[F_call_tid]);
	uint64_t begin_ns = call_begin_ns(ev), futex = 0;
	enum cause_class class;
	struct held *h;

	if (ev->v[F_call_dur] < set[SET_LONG])
		return 0;
	split_make(&s->split, ctx->timeline, tid, begin_ns, ev->at_ns);
	class = split_main(&s->split);
	if (!is_hosts_doing(s, class) || s->split.ns[class] < ev->v[F_call_dur] / 2)
		return 0;
	explain(&s->scratch, ctx->timeline, ctx->names, tid, begin_ns, ev->at_ns);
	if (class == CAUSE_FUTEX && !chain_lacks_cpu(s->scratch.cause.end))
		return 0;
	if (class == CAUSE_FUTEX)
		futex = split_longest(&s->split, class)->futex;
	h = groups_get(&s->held, process << 8 | class, futex);
	if (!h)
		return s->held.error;
	h->process = process;
	h->class = class;
	h->futex = futex;
	h->probe = ev->v[F_call_probe];
	h->lost_ns += s->split.ns[class];
	return rule_count(&h->tally, ctx, begin_ns, ev->at_ns, &s->scratch);
}

static int take_wait(struct sync_state *s, const struct context *ctx, const uint64_t *set, struct waiter *w,
		     const struct event *ev)
{
	uint64_t nlaunches = ctx->caller->nlaunches - w->nlaunches;

	w->nlaunches = ctx->caller->nlaunches;
	if (nlaunches == 0 || nlaunches > set[SET_LAUNCHES])
		return 0;
	names_who(ctx->names, w->key.a, &w->who);
	if (ev->v[F_call_dur] >= w->tally.max_ns) {
		w->probe = ev->v[F_call_probe];
		w->stack = ev->v[F_wait_stack];
	}
	return rule_count_call(&w->tally, ctx, ev, &s->scratch);
}

static uint64_t life_ns(const struct waiter *w)
{
	return w->ended_life_ns + (w->caller ? w->caller->end_ns - w->caller->begin_ns : 0);
}

static bool is_enough(const struct waiter *w, const uint64_t *set)
{
	return w->tally.count >= set[SET_COUNT] && w->tally.total_ns >= set[SET_TOTAL] &&
	       w->tally.total_ns >= life_ns(w) / 100 * set[SET_SHARE];
}

/* A thread ended; there may be nothing to report about it. */
static void end(struct sync_state *s, const struct caller *caller, const uint64_t *set)
{
	struct waiter *w = caller ? groups_find(&s->waiters, caller->key.a, caller->key.b) : NULL;

	if (!w)
		return;
	w->ended_life_ns = life_ns(w);
	w->caller = NULL;
	w->nlaunches = 0;
	if (is_enough(w, set))
		return;
	tally_clear(&w->tally);
	table_remove(&s->waiters.table, caller->key.a, caller->key.b);
}

static int sync_feed(void *state, const struct context *ctx, const uint64_t *set, const struct event *ev)
{
	const struct caller *caller = ctx->caller;
	struct sync_state *s = state;
	struct waiter *w;
	int r;

	if (ev->kind == KIND_exit) {
		end(s, caller, set);
		return 0;
	}
	if (event_is_nested(ev) || !caller)
		return 0;
	w = groups_get(&s->waiters, caller->key.a, caller->key.b);
	if (!w)
		return s->waiters.error;
	w->caller = caller;
	r = judge_long(s, ctx, set, caller->key.b, ev);
	return r < 0 ? r : take_wait(s, ctx, set, w, ev);
}

/* Threads of one process that do it at one place are one finding; `w` is the first of them, and holds their tally. */
static void report_waiters(struct waiter *w, const struct roster *waiters, unsigned nthreads, uint64_t lives_ns,
			   const struct context *ctx, struct findings *out)
{
	struct finding *f = rule_finding(out, &sync_stall_rule, "after-every-launch", CONFIDENCE_HIGH);
	const char *name = call_name(ctx->schema, w->probe);

	f->process = w->key.b;
	f->tid = nthreads == 1 ? w->key.a : 0;
	f->probe = w->probe;
	f->stack = w->stack;
	f->weight = w->tally.total_ns;
	f->unit = WEIGHT_NS;
	roster_give(waiters, PART_WAITER, f);
	text_add_who(&f->headline, roster_first(waiters));
	if (nthreads > 1)
		text_add(&f->headline, " and %u other threads wait", nthreads - 1);
	else
		text_add(&f->headline, " waits");
	text_add(&f->headline, " for the GPU after every launch or two: %llu waits, mostly %s, for ",
		 (unsigned long long)w->tally.count, name);
	text_add_ns(&f->headline, w->tally.total_ns);
	text_add(&f->headline, " in all, ");
	share_add(&f->headline, w->tally.total_ns, lives_ns);
	text_add(&f->headline, nthreads > 1 ? " of the threads' time" : " of the thread's time");
	place_add(&f->headline, ctx, w->stack);
	text_add(&f->advice, "Wait once where the results are needed, not after each launch; look for .item(), .cpu(), "
			     "print and CUDA_LAUNCH_BLOCKING=1");
	finding_number(f, "threads", nthreads);
	finding_number(f, "threads_ns", lives_ns);
	finding_string(f, "function", name);
	tally_give(&w->tally, f);
}

static void judge_waiters(struct sync_state *s, const struct context *ctx, const uint64_t *set, struct findings *out)
{
	for (size_t i = 0; i < s->waiters.table.nitems; i++) {
		struct waiter *w = groups_at(&s->waiters, i);
		struct roster waiters = {0};
		uint64_t lives_ns = 0;
		unsigned nthreads = 0;

		if (!is_enough(w, set))
			continue;
		for (size_t k = i; k < s->waiters.table.nitems; k++) {
			struct waiter *o = groups_at(&s->waiters, k);

			if (k > i && (o->key.b != w->key.b || o->probe != w->probe || o->stack != w->stack ||
				      !is_enough(o, set)))
				continue;
			roster_add(&waiters, &o->who, o->tally.total_ns);
			lives_ns += life_ns(o);
			nthreads++;
			if (k > i)
				tally_join(&w->tally, &o->tally);
		}
		report_waiters(w, &waiters, nthreads, lives_ns, ctx, out);
	}
}

static const char *advice_for(enum cause_class class, const struct explained *worst)
{
	const char *remedy = cause_remedy(worst, class);

	if (remedy)
		return remedy;
	switch (class) {
	case CAUSE_RUNNABLE:
		return "Give the waiting thread a CPU of its own (cpuset, taskset), or start fewer threads";
	case CAUSE_FUTEX:
		return "Give the holder of that lock a CPU, or keep the lock out of the waiting thread's way";
	case CAUSE_IO:
		return "Keep disks out of the waiting thread's way: read and write in another thread";
	default:
		return "Give the waiting thread a CPU of its own, and keep locks and disks out of its way";
	}
}

static void report_held(struct held *h, const struct context *ctx, struct findings *out)
{
	const struct explained *worst = h->tally.worst[0].why;
	bool proven = worst->cause.end != CHAIN_UNKNOWN && cause_is_proven(&worst->cause);
	struct finding *f =
		rule_finding(out, &sync_stall_rule, "held-up-by-host", proven ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM);
	const char *name = call_name(ctx->schema, h->probe);

	f->process = h->process;
	f->probe = h->probe;
	f->futex = h->futex;
	f->weight = h->lost_ns;
	f->unit = WEIGHT_NS;
	text_add(&f->headline, "%s took ", name);
	text_add_ns(&f->headline, h->tally.max_ns);
	text_add(&f->headline, ", and the GPU is not why: ");
	text_add_cause(&f->headline, worst);
	text_add(&f->advice, "%s", advice_for(h->class, worst));
	finding_string(f, "cause", cause_class_name(h->class));
	finding_string(f, "function", name);
	tally_give(&h->tally, f);
}

static void sync_finish(void *state, const struct context *ctx, const uint64_t *set, struct findings *out)
{
	struct sync_state *s = state;

	judge_waiters(s, ctx, set, out);
	for (size_t i = 0; i < s->held.table.nitems; i++)
		report_held(groups_at(&s->held, i), ctx, out);
	findings_add_limit(out, sync_stall_rule.name, s->waiters.nskipped + s->held.nskipped, "calls and waits");
}

const struct rule sync_stall_rule = {
	.name = "sync-stall",
	.severity = SEVERITY_WARNING,
	.summary = "threads that wait for the GPU after every launch or two, and long waits that the GPU is not behind",
	.meaning = "A thread that waits after each launch never works ahead: the GPU idles while the host prepares, "
		   "and the host while the GPU computes. And a wait may be long although the GPU is done, because the "
		   "waiting thread has no CPU, or waits for a lock or a disk.",
	.wrong =
		"A program with one long kernel per result has to wait for it. Waits that are long because the GPU has "
		"much to do are not reported.",
	.remedy = "Wait where results are needed; look for .item(), .cpu(), print, and CUDA_LAUNCH_BLOCKING=1.",
	RULE_SETTINGS(settings),
	.kinds = {KIND_wait, KIND_exit, 0},
	.state_size = sizeof(struct sync_state),
	.groups = {{offsetof(struct sync_state, waiters), sizeof(struct waiter), THREADS_MAX,
		    offsetof(struct waiter, tally)},
		   {offsetof(struct sync_state, held), sizeof(struct held), GROUPS_MAX, offsetof(struct held, tally)}},
	.feed = sync_feed,
	.finish = sync_finish,
};
