// SPDX-License-Identifier: Apache-2.0
/* Copies that keep their thread waiting until they are done, where a copy that does not is to be had. */
#include "analyze/stats/callsite.h"
#include "analyze/stats/top_threads.h"

enum { SET_COUNT, SET_TOTAL, SET_SHARE };

static const struct setting settings[] = {
	[SET_COUNT] = {"count", SETTING_COUNT, 32, 2, 1000000000,
		       "copies at one place; a handful at start-up or for a result is how programs are written"},
	[SET_TOTAL] = {"total", SETTING_NS, 20000000, 1000, 1000000000000, "and so much time in them together"},
	[SET_SHARE] = {"share", SETTING_PERCENT, 10, 1, 100,
		       "and this share of the time in which the process makes GPU calls, for each thread that copies "
		       "there; below, there is nothing to win"},
};

#define GROUPS_MAX 4096

struct group {
	struct table_key key; /* a: process instance; b: place_key() */
	uint64_t probe, stack, bytes;
	struct roster threads;
	struct tally tally;
};

struct copy_state {
	struct groups groups;
	struct explained scratch;
};

static bool is_meant(const struct context *ctx, const struct event *ev)
{
	return (int64_t)ev->v[F_call_ret] == 0 && ev->v[F_copy_direction] != 0 &&
	       !is_async(call_name(ctx->schema, ev->v[F_call_probe]));
}

static int copy_feed(void *state, const struct context *ctx, const uint64_t *set, const struct event *ev)
{
	struct copy_state *s = state;
	struct group *g;

	(void)set;
	if (event_is_nested(ev) || !ctx->caller || !is_meant(ctx, ev))
		return 0;
	g = groups_get(&s->groups, ctx->caller->key.b, place_key(ev->v[F_copy_stack], ev->v[F_call_probe]));
	if (!g)
		return s->groups.error;
	g->probe = ev->v[F_call_probe];
	g->stack = ev->v[F_copy_stack];
	g->bytes += ev->v[F_copy_bytes];
	roster_add_thread(&g->threads, ctx->names, ev->v[F_call_tid], ev->v[F_call_dur]);
	return rule_count_call(&g->tally, ctx, ev, &s->scratch);
}

static void report_group(struct group *g, const struct context *ctx, uint64_t life_ns, struct findings *out)
{
	struct finding *f = rule_finding(out, &memcpy_sync_rule, "blocking-copies", CONFIDENCE_HIGH);
	const char *name = call_name(ctx->schema, g->probe);

	f->process = g->key.a;
	f->tid = roster_only(&g->threads);
	f->probe = g->probe;
	f->stack = g->stack;
	f->weight = g->tally.total_ns;
	f->unit = WEIGHT_NS;
	roster_give(&g->threads, PART_WAITER, f);
	text_add_who(&f->headline, roster_first(&g->threads));
	text_add(&f->headline, " stood still in %s %llu times, for ", name, (unsigned long long)g->tally.count);
	text_add_ns(&f->headline, g->tally.total_ns);
	text_add(&f->headline, " in all (");
	share_add(&f->headline, g->tally.total_ns, life_ns);
	text_add(&f->headline, " of the time in which its process used the GPU)");
	place_add(&f->headline, ctx, g->stack);
	text_add(&f->advice, "Copy with the Async call on a stream of its own, from pinned memory, and wait only where "
			     "the data is needed");
	finding_number(f, "bytes", g->bytes);
	finding_number(f, "process_ns", life_ns);
	finding_string(f, "function", name);
	tally_give(&g->tally, f);
}

static void copy_finish(void *state, const struct context *ctx, const uint64_t *set, struct findings *out)
{
	struct copy_state *s = state;

	for (size_t i = 0; i < s->groups.table.nitems; i++) {
		struct group *g = groups_at(&s->groups, i);
		uint64_t life_ns = callers_life_ns(ctx->callers, g->key.a);

		if (g->tally.count < set[SET_COUNT] || g->tally.total_ns < set[SET_TOTAL] ||
		    g->tally.total_ns / (g->threads.n ? g->threads.n : 1) < life_ns / 100 * set[SET_SHARE])
			continue;
		report_group(g, ctx, life_ns, out);
	}
	findings_add_limit(out, memcpy_sync_rule.name, s->groups.nskipped, "copies");
}

const struct rule memcpy_sync_rule = {
	.name = "memcpy-sync",
	.severity = SEVERITY_WARNING,
	.summary = "copies that keep the thread that feeds the GPU standing still, by place",
	.meaning =
		"A thread spends much of its time inside copies that come back only when they are done: meanwhile it "
		"launches nothing, and the GPU cannot compute while it copies.",
	.wrong =
		"A program that has nothing else to do meanwhile (it copies a result that it waits for) loses nothing. "
		"A copy that waits for kernels before it on its stream looks long, but the kernels are.",
	.remedy =
		"Use the Async call on a stream of its own with pinned memory, and synchronise where the data is used.",
	RULE_SETTINGS(settings),
	.kinds = {KIND_copy, 0},
	.state_size = sizeof(struct copy_state),
	.groups = {{offsetof(struct copy_state, groups), sizeof(struct group), GROUPS_MAX,
		    offsetof(struct group, tally)}},
	.feed = copy_feed,
	.finish = copy_finish,
};
