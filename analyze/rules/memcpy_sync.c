// SPDX-License-Identifier: Apache-2.0
/* Copies that keep their thread waiting until they are done, where a copy that does not is to be had. */
#include <stdlib.h>
#include <string.h>

#include "analyze/callsite.h"
#include "analyze/top_threads.h"

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
	struct table_key key; /* a: process instance; b: stack, or probe with NO_STACK */
	uint64_t probe, stack, bytes;
	struct roster threads;
	struct tally tally;
};

#define NO_STACK (1ULL << 63)

struct copy_state {
	struct table groups;
	uint64_t nskipped;
	struct explained scratch;
};

static int copy_open(void **state, struct fault *why)
{
	*state = calloc(1, sizeof(struct copy_state));
	return *state ? 0 : rule_no_memory(&memcpy_sync_rule, why);
}

static void copy_close(void *state)
{
	struct copy_state *s = state;

	if (!s)
		return;
	for (size_t i = 0; i < s->groups.nitems; i++)
		tally_clear(&((struct group *)s->groups.items[i])->tally);
	table_clear(&s->groups);
	free(s);
}

static bool is_meant(const struct context *ctx, const struct event *ev)
{
	return (int64_t)ev->v[F_call_ret] == 0 && ev->v[F_copy_direction] != 0 &&
	       !is_async(call_name(ctx->schema, ev->v[F_call_probe]));
}

static int copy_feed(void *state, const struct context *ctx, const uint64_t *set, const struct event *ev,
		     struct fault *why)
{
	struct copy_state *s = state;
	struct group *g;
	struct who who;
	uint64_t process, b;

	(void)set;
	if (event_is_nested(ev) || !ctx->caller || !is_meant(ctx, ev))
		return 0;
	process = ctx->caller->key.b;
	b = ev->v[F_copy_stack] ? ev->v[F_copy_stack] & ~NO_STACK : ev->v[F_call_probe] | NO_STACK;
	g = table_find(&s->groups, process, b);
	if (!g && s->groups.nitems >= GROUPS_MAX) {
		s->nskipped++;
		return 0;
	}
	if (!g)
		g = table_add(&s->groups, process, b, sizeof(*g));
	if (!g)
		return rule_no_memory(&memcpy_sync_rule, why);
	g->probe = ev->v[F_call_probe];
	g->stack = ev->v[F_copy_stack];
	g->bytes += ev->v[F_copy_bytes];
	names_who(ctx->names, ev->v[F_call_tid], &who);
	roster_add(&g->threads, &who, ev->v[F_call_dur]);
	return tally_add_call(&g->tally, ctx->timeline, ctx->names, as_tid(ev->v[F_call_tid]), call_begin_ns(ev),
			      ev->at_ns, &s->scratch)
		       ? 0
		       : rule_no_memory(&memcpy_sync_rule, why);
}

static int report_group(struct group *g, const struct context *ctx, uint64_t life_ns, struct findings *out,
			struct fault *why)
{
	struct finding *f = findings_add(out);
	const char *name = call_name(ctx->schema, g->probe);

	if (!f)
		return rule_no_memory(&memcpy_sync_rule, why);
	f->rule = memcpy_sync_rule.name;
	f->class = "blocking-copies";
	f->severity = memcpy_sync_rule.severity;
	f->confidence = CONFIDENCE_HIGH;
	f->process = g->key.a;
	f->tid = g->threads.n == 1 && !g->threads.more ? g->threads.who[0].tid : 0;
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
	if (!finding_text(f, "function", name, strlen(name)))
		return rule_no_memory(&memcpy_sync_rule, why);
	tally_give(&g->tally, f);
	return 0;
}

static int copy_finish(void *state, const struct context *ctx, const uint64_t *set, struct findings *out,
		       struct fault *why)
{
	struct copy_state *s = state;
	int r = 0;

	for (size_t i = 0; i < s->groups.nitems && r == 0; i++) {
		struct group *g = (struct group *)s->groups.items[i];
		uint64_t life_ns = callers_life_ns(ctx->callers, g->key.a);

		if (g->tally.count < set[SET_COUNT] || g->tally.total_ns < set[SET_TOTAL] ||
		    g->tally.total_ns / (g->threads.n ? g->threads.n : 1) < life_ns / 100 * set[SET_SHARE])
			continue;
		r = report_group(g, ctx, life_ns, out, why);
	}
	if (r == 0 && !findings_add_limit(out, memcpy_sync_rule.name, s->nskipped, "copies"))
		r = rule_no_memory(&memcpy_sync_rule, why);
	return r;
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
	.settings = settings,
	.nsettings = sizeof(settings) / sizeof(settings[0]),
	.kinds = {KIND_copy, 0},
	.open = copy_open,
	.feed = copy_feed,
	.finish = copy_finish,
	.close = copy_close,
};
