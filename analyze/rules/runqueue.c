// SPDX-License-Identifier: Apache-2.0
/* Threads that use the GPU and have to wait for a CPU, and who has it meanwhile. */
#include <stdlib.h>
#include <string.h>

#include "analyze/place.h"
#include "analyze/roster.h"

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

struct user {
	struct table_key key; /* a: tid */
	uint64_t process, ncalls, begin_ns, last_ns, preempted_ns;
	struct roster keepers;
	struct tally tally;
};

struct queue_state {
	struct table users;
	uint64_t nskipped;
	struct explained scratch;
};

static int queue_open(void **state, struct fault *why)
{
	*state = calloc(1, sizeof(struct queue_state));
	return *state ? 0 : rule_no_memory(&runqueue_rule, why);
}

static void queue_close(void *state)
{
	struct queue_state *s = state;

	if (!s)
		return;
	for (size_t i = 0; i < s->users.nitems; i++)
		tally_clear(&((struct user *)s->users.items[i])->tally);
	table_clear(&s->users);
	free(s);
}

static int take_call(struct queue_state *s, const struct context *ctx, const struct event *ev, struct fault *why)
{
	struct user *u = table_find(&s->users, ev->v[F_call_tid], 0);
	struct process *p;

	if (u) {
		u->ncalls++;
		u->last_ns = ev->at_ns;
		return 0;
	}
	p = names_process(ctx->names, ev->v[F_call_pid]);
	if (!p || s->users.nitems >= THREADS_MAX) {
		s->nskipped++;
		return 0;
	}
	u = table_add(&s->users, ev->v[F_call_tid], 0, sizeof(*u));
	if (!u)
		return rule_no_memory(&runqueue_rule, why);
	u->process = p->key.a;
	u->ncalls = 1;
	u->begin_ns = call_begin_ns(ev);
	u->last_ns = ev->at_ns;
	return 0;
}

/* A thread that uses the GPU enters a CPU: how long did it wait, and who had it? */
static int take_switch(struct queue_state *s, const struct context *ctx, const uint64_t *set, const struct event *ev,
		       struct fault *why)
{
	struct user *u = table_find(&s->users, ev->v[F_switch_next_tid], 0);
	const struct split *split = &s->scratch.cause.links[0];
	struct span last;

	if (!u || u->ncalls < CALLS_LEAST || !timeline_last(ctx->timeline, (uint32_t)u->key.a, &last))
		return 0;
	if (last.state != STATE_RUNNABLE || last.end_ns != ev->at_ns || last.end_ns - last.begin_ns < set[SET_WAIT])
		return 0;
	explain(&s->scratch, ctx->timeline, ctx->names, (uint32_t)u->key.a, last.begin_ns, last.end_ns);
	for (unsigned i = 0; i < split->nparts; i++)
		if (split->parts[i].class == CAUSE_RUNNABLE)
			roster_add_tid(&u->keepers, &s->scratch, split->parts[i].tid, split->parts[i].ns);
	if (split->ns[CAUSE_RUNNABLE] < set[SET_WAIT])
		return 0;
	u->preempted_ns += last.flags & SPAN_PREEMPTED ? last.end_ns - last.begin_ns : 0;
	return tally_add(&u->tally, ctx->timeline, last.begin_ns, last.end_ns, &s->scratch)
		       ? 0
		       : rule_no_memory(&runqueue_rule, why);
}

static int queue_feed(void *state, const struct context *ctx, const uint64_t *set, const struct event *ev,
		      struct fault *why)
{
	return ev->kind == KIND_switch ? take_switch(state, ctx, set, ev, why) : take_call(state, ctx, ev, why);
}

static int tell_user(struct user *u, const struct context *ctx, struct findings *out, struct fault *why)
{
	struct finding *f = findings_add(out);
	const struct who *keeper = roster_first(&u->keepers);
	uint64_t life_ns = u->last_ns - u->begin_ns;
	struct who who;

	if (!f)
		return rule_no_memory(&runqueue_rule, why);
	names_who(ctx->names, u->key.a, &who);
	f->rule = runqueue_rule.name;
	f->class = u->preempted_ns > u->tally.total_ns / 2 ? "preempted" : "woken-and-not-let-on";
	f->severity = runqueue_rule.severity;
	f->confidence = keeper ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM;
	f->process = u->process;
	f->tid = u->key.a;
	f->weight = u->tally.total_ns;
	f->unit = WEIGHT_NS;
	roster_give(&u->keepers, PART_KEEPER, f);
	text_add_who(&f->headline, &who);
	text_add(&f->headline, ", which uses the GPU, was ready to run and had no CPU ");
	times_add(&f->headline, u->tally.count);
	text_add(&f->headline, ", for ");
	text_add_ns(&f->headline, u->tally.total_ns);
	text_add(&f->headline, " in all, ");
	share_add(&f->headline, u->tally.total_ns, life_ns);
	text_add(&f->headline, " of its time");
	if (keeper) {
		text_add(&f->headline, "; mostly ");
		text_add_who(&f->headline, keeper);
		text_add(&f->headline, u->keepers.n > 1 ? " had it, of %u%s threads" : " had it", u->keepers.n,
			 u->keepers.more ? " or more" : "");
	}
	text_add(&f->advice, "Keep CPUs free for the threads that feed the GPU (cpuset, taskset), or start fewer "
			     "computing threads (OMP_NUM_THREADS, DataLoader workers)");
	finding_number(f, "preempted_ns", u->preempted_ns);
	finding_number(f, "thread_ns", life_ns);
	tally_give(&u->tally, f);
	return 0;
}

static int queue_finish(void *state, const struct context *ctx, const uint64_t *set, struct findings *out,
			struct fault *why)
{
	struct queue_state *s = state;
	int r = 0;

	for (size_t i = 0; i < s->users.nitems && r == 0; i++) {
		struct user *u = (struct user *)s->users.items[i];

		if (u->tally.count >= set[SET_COUNT] && u->tally.total_ns >= set[SET_TOTAL] &&
		    u->tally.total_ns >= (u->last_ns - u->begin_ns) / 100 * set[SET_SHARE])
			r = tell_user(u, ctx, out, why);
	}
	if (r == 0 && !findings_add_limit(out, runqueue_rule.name, s->nskipped, "calls"))
		r = rule_no_memory(&runqueue_rule, why);
	return r;
}

const struct rule runqueue_rule = {
	.name = "runqueue",
	.severity = SEVERITY_WARNING,
	.summary = "threads that use the GPU and wait for a CPU, with who has it",
	.meaning = "A thread that feeds the GPU could have run and was not let: other threads had the CPUs. While it waits, "
		   "it launches nothing.",
	.wrong = "A thread that computes much besides may wait without the GPU missing it. In a virtual machine the host "
		 "may take the CPU without this showing here.",
	.todo = "Keep CPUs free for these threads, or start fewer others.",
	.settings = settings,
	.nsettings = sizeof(settings) / sizeof(settings[0]),
	.kinds = {RULE_CALLS, KIND_switch, 0},
	.open = queue_open,
	.feed = queue_feed,
	.finish = queue_finish,
	.close = queue_close,
};
