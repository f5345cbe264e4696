// SPDX-License-Identifier: Apache-2.0
/*
 * Threads that feed the GPU and wait for one thread or process for a good part of their time, whatever they wait in: of
 * the ledger (replay/model/ledger.h), so that many waits count like a long one.
 */
#include "analyze/stats/callsite.h"
#include "analyze/stats/top_threads.h"

enum { SET_SHARE, SET_MIN, SET_CALLS };

static const struct setting settings[] = {
	[SET_SHARE] = {"share", SETTING_PERCENT, 10, 1, 100,
		       "of a thread's recorded time, from which on that it waited for one other makes a finding"},
	[SET_MIN] = {"min", SETTING_NS, 100000000, 1000, 1000000000000, "and no less than so much time"},
	[SET_CALLS] = {"calls", SETTING_COUNT, 4, 1, 1000000000,
		       "launches, copies, memsets and collectives by which a thread shows that it feeds the GPU"},
};

#define CULPRITS_MAX 1024 /* distinguished */

/* For whom threads of one process waited. */
struct culprit {
	struct table_key key; /* a: process instance that waited, b: tid << 32 | number of its instance */
	struct whom whom;
	uint64_t did_ns[CAUSE_CLASSES]; /* what it did meanwhile */
	uint64_t lost_ns, whole_ns;     /* of the threads that waited for it; of all their time */
	uint64_t count, nthreads, tid;
	struct roster waiters;
};

struct starved_state {
	struct groups culprits;
};

/* It did something meanwhile, or was kept from it. Who slept of its own accord waited for work as well. */
static bool is_doing(enum cause_class class)
{
	return class == CAUSE_CPU || class == CAUSE_RUNNABLE || class == CAUSE_QUOTA || class == CAUSE_STOPPED ||
	       class == CAUSE_FAULT || class == CAUSE_IO;
}

static uint64_t lost_ns(const struct waited_for *w)
{
	uint64_t ns = 0;

	for (unsigned c = 0; c < CAUSE_CLASSES; c++)
		if (is_doing((enum cause_class)c))
			ns += w->did_ns[c];
	return ns;
}

/* The thread waited for this one for so long that it counts. Who feeds the GPU itself lets it starve of nothing. */
static bool is_starved(const struct ledger *l, const struct ledger_thread *t, const struct waited_for *w,
		       const uint64_t *set)
{
	return w->part == LEDGER_TASK && lost_ns(w) >= set[SET_MIN] &&
	       lost_ns(w) >= (t->end_ns - t->begin_ns) / 100 * set[SET_SHARE] && !ledger_fed(l, w->whom.tid);
}

static void count_in(struct starved_state *s, const struct names *names, const struct ledger_thread *t,
		     const struct waited_for *w)
{
	struct culprit *c =
		groups_get(&s->culprits, t->key.b % LEDGER_AGAIN, (uint64_t)w->whom.tid << 32 | w->whom.thread);

	if (!c)
		return;
	c->whom = w->whom;
	for (unsigned k = 0; k < CAUSE_CLASSES; k++)
		c->did_ns[k] += w->did_ns[k];
	c->lost_ns += lost_ns(w);
	c->whole_ns += t->end_ns - t->begin_ns;
	c->count += w->count;
	c->nthreads++;
	c->tid = t->key.a;
	roster_add_thread(&c->waiters, names, t->key.a, lost_ns(w));
}

/* Another rule names the same one, and most of that time. */
static bool is_known(const struct findings *out, const struct culprit *c)
{
	for (size_t i = 0; i < out->n; i++) {
		const struct finding *f = out->all[i];

		if (f->process != c->key.a || f->unit != WEIGHT_NS || f->weight < c->lost_ns / 2)
			continue;
		for (unsigned p = 0; p < f->nparties; p++)
			if (f->parties[p].part != PART_WAITER && f->parties[p].who.tid == c->whom.tid)
				return true;
	}
	return false;
}

static enum cause_class mostly(const struct culprit *c)
{
	enum cause_class best = CAUSE_CPU;

	for (unsigned k = 0; k < CAUSE_CLASSES; k++)
		if (is_doing((enum cause_class)k) && c->did_ns[k] > c->did_ns[best])
			best = (enum cause_class)k;
	return best;
}

static const char *advice_for(enum cause_class class)
{
	const char *remedy = cause_remedy(class);

	if (remedy)
		return remedy;
	switch (class) {
	case CAUSE_RUNNABLE:
		return "Give that thread a CPU (cpuset, taskset, priority), or start fewer threads";
	case CAUSE_IO:
		return "Read ahead, from a faster disk, or in more threads";
	default:
		return "Let more threads or processes do what it does, or let it work ahead, so that nobody waits for "
		       "it; or profile it (perf record on that thread)";
	}
}

static void report(const struct culprit *c, const struct context *ctx, struct findings *out)
{
	enum cause_class class = mostly(c);
	struct finding *f = rule_finding(out, &starved_rule, cause_class_name(class), CONFIDENCE_MEDIUM);
	struct roster wakers = {0};
	struct who who;

	names_who_was(ctx->names, c->whom.tid, c->whom.thread, &who);
	roster_add(&wakers, &who, c->lost_ns);
	wakers.count[0] = c->count;
	f->process = c->key.a;
	f->tid = c->nthreads == 1 ? c->tid : 0;
	f->weight = c->lost_ns;
	f->unit = WEIGHT_NS;
	f->count = c->count;
	roster_give(&c->waiters, PART_WAITER, f);
	roster_give(&wakers, PART_WAKER, f);
	if (c->nthreads == 1)
		text_add_who(&f->headline, roster_first(&c->waiters));
	else
		text_add(&f->headline, "%llu threads of ", (unsigned long long)c->nthreads);
	if (c->nthreads > 1)
		process_add(&f->headline, ctx, c->key.a);
	text_add(&f->headline, ", which feed%s the GPU, waited ", c->nthreads == 1 ? "s" : "");
	text_add_ns(&f->headline, c->lost_ns);
	text_add(&f->headline, " (");
	share_add(&f->headline, c->lost_ns, c->whole_ns);
	text_add(&f->headline, " of %s time) for ", c->nthreads == 1 ? "its" : "their");
	text_add_who(&f->headline, &who);
	text_add(&f->headline, ", which was %s meanwhile", cause_class_doing(class));
	text_add(&f->sure, "Medium confidence: the wakings show for whom it waited, and what that one did; whether the "
			   "GPU had work left is not known");
	text_add(&f->advice, "%s", advice_for(class));
	finding_number(f, "lost_ns", c->lost_ns);
	finding_number(f, "threads", c->nthreads);
	finding_number(f, "threads_ns", c->whole_ns);
}

static void starved_finish(void *state, const struct context *ctx, const uint64_t *set, struct findings *out)
{
	const struct ledger *l = ctx->ledger;
	struct starved_state *s = state;

	for (size_t i = 0; i < l->threads.nitems; i++) {
		const struct ledger_thread *t = (const struct ledger_thread *)l->threads.items[i];

		for (size_t k = 0; t->nfed >= set[SET_CALLS] && k < t->waited.n; k++)
			if (is_starved(l, t, &t->waited.all[k], set))
				count_in(s, ctx->names, t, &t->waited.all[k]);
	}
	out->failed |= s->culprits.error != 0;
	for (size_t i = 0; i < s->culprits.table.nitems; i++) {
		const struct culprit *c = groups_at(&s->culprits, i);

		if (!is_known(out, c))
			report(c, ctx, out);
	}
	findings_add_limit(out, starved_rule.name, s->culprits.nskipped, "waits");
}

const struct rule starved_rule = {
	.name = "starved",
	.severity = SEVERITY_WARNING,
	.summary = "a thread that feeds the GPU waits for one other thread or process for much of its time",
	.meaning = "A thread that launches GPU work spent a good part of its time asleep until one other thread or "
		   "process was done, in whatever it waited: a queue, a pipe, a lock, the interpreter lock, wait4().",
	.wrong = "Where the GPU had work queued all that time, the wait cost it nothing. A worker that is given little "
		 "to do waits likewise for who gives it, if that one is at work.",
	.remedy = "By what that one did: more workers or working ahead; a CPU of its own; a faster disk.",
	RULE_SETTINGS(settings),
	.kinds = {0},
	.state_size = sizeof(struct starved_state),
	.groups = {{offsetof(struct starved_state, culprits), sizeof(struct culprit), CULPRITS_MAX, 0}},
	.finish = starved_finish,
};
