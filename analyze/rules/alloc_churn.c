// SPDX-License-Identifier: Apache-2.0
/* Memory that is allocated and soon freed, again and again, at a cost that shows. */
#include "analyze/stats/callsite.h"
#include "analyze/stats/top_threads.h"

enum { SET_LIFE, SET_COUNT, SET_TOTAL, SET_SHARE };

static const struct setting settings[] = {
	[SET_LIFE] = {"life", SETTING_NS, 500000000, 1000, 1000000000000,
		      "memory that is freed within this time is short-lived: an iteration, not a working set"},
	[SET_COUNT] = {"count", SETTING_COUNT, 64, 2, 1000000000, "so many short lives of one place,"},
	[SET_TOTAL] = {"total", SETTING_NS, 20000000, 1000, 1000000000000,
		       "whose allocating and freeing took so much time together,"},
	[SET_SHARE] = {"share", SETTING_PERCENT, 5, 1, 100,
		       "and this share of the time in which the process makes GPU calls"},
};

#define GROUPS_MAX 4096
#define BORN_MAX 262144 /* allocations whose end is waited for */

struct group {
	struct table_key key; /* a: process instance; b: place_key() */
	uint64_t probe, stack, free_probe;
	uint64_t nlives, bytes;
	uint64_t alloc_ns, free_ns;
	struct roster threads;
	struct tally tally; /* of the allocating and freeing calls */
};

struct born {
	struct table_key key; /* a: process instance, b: address */
	struct group *group;
	uint64_t at_ns, bytes, cost_ns;
};

struct churn_state {
	struct groups groups, born;
	struct explained scratch;
};

static int take_alloc(struct churn_state *s, uint64_t process, const struct event *ev)
{
	struct group *g;
	struct born *born;

	table_remove(&s->born.table, process, ev->v[F_alloc_addr]);
	born = groups_get(&s->born, process, ev->v[F_alloc_addr]);
	if (!born)
		return s->born.error;
	g = groups_get(&s->groups, process, place_key(ev->v[F_alloc_stack], ev->v[F_call_probe]));
	if (!g) {
		table_remove(&s->born.table, process, ev->v[F_alloc_addr]);
		return s->groups.error;
	}
	g->probe = ev->v[F_call_probe];
	g->stack = ev->v[F_alloc_stack];
	*born = (struct born){born->key, g, ev->at_ns, ev->v[F_alloc_bytes], ev->v[F_call_dur]};
	return 0;
}

/* The second half of a short life: only now it is known to be one. */
static int take_free(struct churn_state *s, const struct context *ctx, const uint64_t *set, const struct event *ev)
{
	uint64_t process = ctx->caller->key.b;
	struct born *born = groups_find(&s->born, process, ev->v[F_free_addr]);
	struct group *g = born ? born->group : NULL;
	int r = 0;

	if (g && call_begin_ns(ev) - born->at_ns < set[SET_LIFE]) {
		g->nlives++;
		g->bytes += born->bytes;
		g->alloc_ns += born->cost_ns;
		g->free_ns += ev->v[F_call_dur];
		g->free_probe = ev->v[F_call_probe];
		roster_add_thread(&g->threads, ctx->names, ev->v[F_call_tid], ev->v[F_call_dur] + born->cost_ns);
		r = rule_count_call(&g->tally, ctx, ev, &s->scratch);
	}
	if (born)
		table_remove(&s->born.table, process, ev->v[F_free_addr]);
	return r;
}

/* A program ended: what it has not freed, it never will. */
static void forget(struct churn_state *s, const struct context *ctx, const struct event *ev)
{
	bool ended = ev->kind == KIND_exec || ev->v[F_exit_last];
	const struct process *p = ended ? names_process(ctx->names, ev->v[F_exit_pid], ev->at_ns) : NULL;

	if (p)
		groups_forget(&s->born, p->number);
}

static int churn_feed(void *state, const struct context *ctx, const uint64_t *set, const struct event *ev)
{
	struct churn_state *s = state;

	if (ev->kind == KIND_exit || ev->kind == KIND_exec) {
		forget(s, ctx, ev);
		return 0;
	}
	if (event_is_nested(ev) || !ctx->caller || (int64_t)ev->v[F_call_ret] != 0)
		return 0;
	if (ev->kind == KIND_alloc)
		return ev->v[F_alloc_addr] ? take_alloc(s, ctx->caller->key.b, ev) : 0;
	return take_free(s, ctx, set, ev);
}

static void report_group(struct group *g, const struct context *ctx, uint64_t life_ns, struct findings *out)
{
	struct finding *f = rule_finding(out, &alloc_churn_rule, "short-lives", CONFIDENCE_HIGH);
	const char *name = call_name(ctx->schema, g->probe);

	f->process = g->key.a;
	f->tid = roster_only(&g->threads);
	f->probe = g->probe;
	f->stack = g->stack;
	f->weight = g->alloc_ns + g->free_ns;
	f->unit = WEIGHT_NS;
	roster_give(&g->threads, PART_WAITER, f);
	place_add_name(&f->headline, ctx, g->stack, g->probe);
	text_add(&f->headline, " allocates and soon frees %llu times: %s took ", (unsigned long long)g->nlives, name);
	text_add_ns(&f->headline, g->alloc_ns);
	text_add(&f->headline, " and %s ", call_name(ctx->schema, g->free_probe));
	text_add_ns(&f->headline, g->free_ns);
	text_add(&f->headline, ", together ");
	share_add(&f->headline, f->weight, life_ns);
	text_add(&f->headline, " of the time in which the process used the GPU");
	text_add(&f->advice, "Allocate once and use it again, or take memory from a pool (cudaMallocAsync, the "
			     "framework's allocator): cudaMalloc and cudaFree wait for the GPU");
	finding_number(f, "lives", g->nlives);
	finding_number(f, "bytes", g->bytes);
	finding_number(f, "alloc_ns", g->alloc_ns);
	finding_number(f, "free_ns", g->free_ns);
	place_fact(f, ctx, g->stack, g->probe);
	finding_string(f, "function", name);
	tally_give(&g->tally, f);
	f->count = g->nlives;
}

static void churn_finish(void *state, const struct context *ctx, const uint64_t *set, struct findings *out)
{
	struct churn_state *s = state;

	for (size_t i = 0; i < s->groups.table.nitems; i++) {
		struct group *g = groups_at(&s->groups, i);
		uint64_t life_ns = callers_life_ns(ctx->callers, g->key.a), cost_ns = g->alloc_ns + g->free_ns;

		if (g->nlives >= set[SET_COUNT] && cost_ns >= set[SET_TOTAL] &&
		    cost_ns >= life_ns / 100 * set[SET_SHARE])
			report_group(g, ctx, life_ns, out);
	}
	findings_add_limit(out, alloc_churn_rule.name, s->groups.nskipped + s->born.nskipped, "allocations");
}

const struct rule alloc_churn_rule = {
	.name = "alloc-churn",
	.severity = SEVERITY_WARNING,
	.summary = "memory that is allocated and soon freed, again and again, at a cost that shows, by place",
	.meaning = "A place in the program takes GPU memory and gives it back at once, many times over, and the calls "
		   "for it take a share of the run. cudaFree also waits until the GPU is idle.",
	.wrong = "A free that waits for kernels looks dear, but the kernels are. Memory that is passed on to another "
		 "process or freed by another thread much later is not counted.",
	.remedy = "Keep the buffer, or use a pool or the framework's caching allocator.",
	RULE_SETTINGS(settings),
	.kinds = {KIND_alloc, KIND_free, KIND_exit, KIND_exec, 0},
	.state_size = sizeof(struct churn_state),
	.groups = {{offsetof(struct churn_state, groups), sizeof(struct group), GROUPS_MAX,
		    offsetof(struct group, tally)},
		   {offsetof(struct churn_state, born), sizeof(struct born), BORN_MAX, 0}},
	.feed = churn_feed,
	.finish = churn_finish,
};
