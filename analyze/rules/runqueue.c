// SPDX-License-Identifier: Apache-2.0
/* Threads that use the GPU and have to wait for a CPU, and who has it meanwhile. */
#include "analyze/remedy.h"
#include "analyze/stats/callsite.h"
#include "analyze/stats/top_threads.h"

enum { SET_WAIT, SET_COUNT, SET_TOTAL, SET_SHARE };

static const struct setting settings[] = {
	[SET_WAIT] = {"wait", SETTING_NS, 1000000, 1000, 1000000000000,
		      "a wait for a CPU counts from so long on; shorter ones are the scheduler at work"},
	[SET_COUNT] = {"count", SETTING_COUNT, 8, 1, 1000000000, "so many of them on one thread,"},
	[SET_TOTAL] = {"total", SETTING_NS, 50000000, 1000, 1000000000000, "taking so much time together,"},
	[SET_SHARE] = {"share", SETTING_PERCENT, 5, 1, 100,
		       "and this share of the time since the thread's first GPU call"},
};

#define THREADS_MAX 8192
#define CALLS_LEAST 32 /* GPU calls by which a thread shows that it uses the GPU */

/* A thread that uses the GPU and had to wait. */
struct user {
	uint64_t process;
	const struct caller *caller; /* NULL: it ended, */
	uint64_t ended_life_ns;      /* and made calls for so long */
	struct who who;              /* at the latest wait that counts */
	uint64_t preempted_ns;
	uint64_t likely_ns; /* in which it is not certain who had the CPU */
	uint64_t beside_ns; /* in which another CPU was idle, as far as is known, */
	uint64_t barred_ns; /* or one was on which it may not run */
	struct roster keepers;
	struct tally tally;
};

struct entry {
	struct table_key key; /* a: tid, b: process instance; of those that ended: a number, 0 */
	struct user user;
};

struct queue_state {
	struct groups users; /* struct entry */
	uint64_t nended;     /* of them */
	struct explained scratch;
};

static struct user *user_at(const struct queue_state *s, size_t i)
{
	struct entry *e = groups_at(&s->users, i);

	return &e->user;
}

static uint64_t life_ns(const struct user *u)
{
	return u->caller ? u->caller->end_ns - u->caller->begin_ns : u->ended_life_ns;
}

static bool is_enough(const struct user *u, const uint64_t *set)
{
	return u->tally.count >= set[SET_COUNT] && u->tally.total_ns >= set[SET_TOTAL] &&
	       u->tally.total_ns >= life_ns(u) / 100 * set[SET_SHARE];
}

/* A thread ended. Its number is free for another; what there is to report about it stays. */
static __attribute__((noinline)) int end(struct queue_state *s, const struct caller *caller, const uint64_t *set)
{
	struct entry *e = caller ? groups_find(&s->users, caller->key.a, caller->key.b) : NULL, *ended;

	if (!e)
		return 0;
	if (is_enough(&e->user, set)) {
		ended = table_add(&s->users.table, s->nended, 0, sizeof(*ended));
		if (!ended)
			return ERR_MEMORY;
		s->nended++;
		ended->user = e->user;
		ended->user.ended_life_ns = life_ns(&e->user);
		ended->user.caller = NULL;
	} else {
		tally_clear(&e->user.tally);
	}
	table_remove(&s->users.table, caller->key.a, caller->key.b);
	return 0;
}

/* NULL: beyond the limit, and counted; or no memory. */
static struct user *user_of(struct queue_state *s, const struct caller *caller)
{
	struct entry *e = groups_get(&s->users, caller->key.a, caller->key.b);

	if (!e)
		return NULL;
	e->user.process = caller->key.b;
	e->user.caller = caller;
	return &e->user;
}

/* A thread that uses the GPU enters a CPU, and had waited: how long, and who had it? Out of line: few waits are long.
 */
static __attribute__((noinline)) int take_switch(struct queue_state *s, const struct context *ctx, const uint64_t *set,
						 const struct event *ev)
{
	const struct caller *caller = callers_latest(ctx->callers, ev->v[F_switch_next_tid]);
	const struct split *split = &s->scratch.cause.links[0];
	uint64_t likely_ns = 0, beside_ns = 0, barred_ns = 0;
	struct span last;
	struct user *u;

	if (!caller || caller->ncalls < CALLS_LEAST || !timeline_last(ctx->timeline, as_tid(caller->key.a), &last))
		return 0;
	explain(&s->scratch, ctx->timeline, ctx->names, as_tid(caller->key.a), last.begin_ns, last.end_ns);
	if (split->ns[CAUSE_RUNNABLE] < set[SET_WAIT])
		return 0;
	u = user_of(s, caller);
	if (!u)
		return s->users.error;
	for (unsigned i = 0; i < split->nparts; i++) {
		const struct part *p = &split->parts[i];

		if (p->class != CAUSE_RUNNABLE)
			continue;
		roster_add_tid(&u->keepers, &s->scratch, p->tid, p->ns);
		beside_ns += part_is_beside(p) ? p->ns : 0;
		barred_ns += p->idle_barred ? p->ns : 0;
		likely_ns += p->likely && p->tid != TID_IDLE ? p->ns : 0;
	}
	names_who(ctx->names, caller->key.a, &u->who);
	u->likely_ns += likely_ns;
	u->beside_ns += beside_ns;
	u->barred_ns += barred_ns;
	u->preempted_ns += last.flags & SPAN_PREEMPTED ? last.end_ns - last.begin_ns : 0;
	return rule_count(&u->tally, ctx, last.begin_ns, last.end_ns, &s->scratch);
}

static uint64_t unusual_ns(const uint64_t *set)
{
	return set[SET_WAIT];
}

static int queue_feed(void *state, const struct context *ctx, const uint64_t *set, const struct event *ev)
{
	if (ev->kind == KIND_switch)
		return ctx->waited_ns < set[SET_WAIT] ? 0 : take_switch(state, ctx, set, ev);
	return end(state, ctx->caller, set);
}

/* Threads of one process that had trouble with the same: one finding. */
struct crowd {
	uint64_t process, nthreads, preempted_ns, likely_ns, beside_ns, barred_ns, life_ns;
	struct roster waiters, keepers;
	struct gpu_price price;
	struct tally tally;
};

static void join(struct crowd *c, struct user *u, const struct context *ctx)
{
	gpu_price_add(&c->price, ctx, u->who.tid, u->process, LEDGER_CPU, u->tally.total_ns);
	c->nthreads++;
	c->preempted_ns += u->preempted_ns;
	c->likely_ns += u->likely_ns;
	c->beside_ns += u->beside_ns;
	c->barred_ns += u->barred_ns;
	c->life_ns += life_ns(u);
	roster_add(&c->waiters, &u->who, u->tally.total_ns);
	roster_join(&c->keepers, &u->keepers);
	tally_join(&c->tally, &u->tally);
}

/* For more than a tenth of the time nobody recorded had the CPU: of those who had it one is known, the last or the
 * first. */
static bool is_likely(const struct crowd *c)
{
	return c->likely_ns > c->tally.total_ns / 10;
}

/* More than a tenth of the time it could have run on another CPU, unless it was not allowed to: why it did not is
 * unknown. */
static bool is_beside(const struct crowd *c)
{
	return c->beside_ns > c->tally.total_ns / 10;
}

static void report_headline(struct text *t, const struct crowd *c)
{
	const struct who *waiter = roster_first(&c->waiters), *keeper = roster_first(&c->keepers);

	text_add_who(t, waiter);
	if (waiter)
		text_add_how(t, " (", &waiter->scheduling, ")");
	if (c->nthreads > 1)
		text_add(t, " and %llu other GPU threads", (unsigned long long)(c->nthreads - 1));
	else
		text_add(t, ", a GPU thread,");
	text_add(t, " waited for a CPU ");
	times_add(t, c->tally.count);
	text_add(t, ", ");
	text_add_ns(t, c->tally.total_ns);
	text_add(t, " in total, ");
	share_add(t, c->tally.total_ns, c->life_ns);
	text_add(t, c->nthreads > 1 ? " of their time" : " of its time");
	if (!keeper)
		return;
	text_add(t, is_likely(c) ? ", most likely behind " : ", mostly behind ");
	text_add_who(t, keeper);
	text_add_how(t, " (", &keeper->scheduling, ")");
	if (c->keepers.n > 1)
		text_add(t, " (%u%s threads in all)", c->keepers.n, c->keepers.more ? " or more" : "");
}

static void report_crowd(struct crowd *c, struct findings *out)
{
	const char *class = c->preempted_ns > c->tally.total_ns / 2 ? "preempted" : "woken-and-not-let-on";
	bool sure = c->keepers.n && !is_likely(c) && !is_beside(c);
	const char *remedy =
		cpu_remedy(roster_first(&c->waiters), roster_first(&c->keepers), c->barred_ns > c->tally.total_ns / 2);
	struct finding *f = rule_finding(out, &runqueue_rule, class, sure ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM);

	if (is_beside(c))
		text_add(&f->sure,
			 "Medium confidence: the thread had no CPU, but another CPU was idle meanwhile, as far as is "
			 "recorded; why the thread did not run there is unknown");
	else if (is_likely(c))
		text_add(&f->sure,
			 "Medium confidence: the thread had no CPU; only one of the threads that did is known");
	f->process = c->process;
	f->tid = c->nthreads == 1 ? c->waiters.who[0].tid : 0;
	f->weight = c->tally.total_ns;
	f->unit = WEIGHT_NS;
	roster_give(&c->waiters, PART_WAITER, f);
	roster_give(&c->keepers, PART_KEEPER, f);
	report_headline(&f->headline, c);
	text_add(
		&f->advice, "%s",
		remedy ? remedy
		       : "Keep CPUs free for the threads that feed the GPU (cpuset, taskset), or start fewer computing "
			 "threads (OMP_NUM_THREADS, DataLoader workers)");
	finding_number(f, "threads", c->nthreads);
	finding_number(f, "preempted_ns", c->preempted_ns);
	if (c->beside_ns)
		finding_number(f, "idle_cpu_ns", c->beside_ns);
	if (c->barred_ns)
		finding_number(f, "barred_cpu_ns", c->barred_ns);
	finding_number(f, "threads_ns", c->life_ns);
	gpu_price_give(&c->price, f);
	tally_give(&c->tally, f);
}

static void queue_finish(void *state, const struct context *ctx, const uint64_t *set, struct findings *out)
{
	struct queue_state *s = state;

	for (size_t i = 0; i < s->users.table.nitems; i++) {
		struct user *first = user_at(s, i);
		struct crowd c = {.process = first->process};

		if (!is_enough(first, set))
			continue;
		for (size_t k = i; k < s->users.table.nitems; k++) {
			struct user *u = user_at(s, k);

			if (u->process == first->process && is_enough(u, set))
				join(&c, u, ctx);
		}
		report_crowd(&c, out);
		tally_clear(&c.tally);
	}
	findings_add_limit(out, runqueue_rule.name, s->users.nskipped + ctx->callers->nbeyond, "calls and waits");
}

const struct rule runqueue_rule = {
	.name = "runqueue",
	.severity = SEVERITY_WARNING,
	.summary = "threads that use the GPU and wait for a CPU, with who has it",
	.meaning = "A thread that feeds the GPU could have run and was not let: other threads had the CPUs. While it "
		   "waits, it launches nothing.",
	.wrong = "A thread that computes much besides may wait without the GPU missing it. In a virtual machine the "
		 "host may take the CPU without this showing here.",
	.remedy = "Keep CPUs free for these threads, or start fewer others.",
	RULE_SETTINGS(settings),
	.kinds = {KIND_switch, KIND_exit, 0},
	.unusual_ns = unusual_ns,
	.state_size = sizeof(struct queue_state),
	.groups = {{offsetof(struct queue_state, users), sizeof(struct entry), THREADS_MAX,
		    offsetof(struct entry, user.tally)}},
	.feed = queue_feed,
	.finish = queue_finish,
};
