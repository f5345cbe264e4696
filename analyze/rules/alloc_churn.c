// SPDX-License-Identifier: Apache-2.0
/* Memory that is allocated and soon freed, again and again, at a cost that shows. */
#include <stdlib.h>
#include <string.h>

#include "analyze/callsite.h"
#include "analyze/top_threads.h"

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
#define NO_STACK (1ULL << 63)

struct group {
	struct table_key key; /* a: process instance; b: stack, or probe with NO_STACK */
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
	struct table groups, born;
	uint64_t nskipped;
	struct explained scratch;
};

static int churn_open(void **state, struct fault *why)
{
	*state = calloc(1, sizeof(struct churn_state));
	return *state ? 0 : rule_no_memory(&alloc_churn_rule, why);
}

static void churn_close(void *state)
{
	struct churn_state *s = state;

	if (!s)
		return;
	for (size_t i = 0; i < s->groups.nitems; i++)
		tally_clear(&((struct group *)s->groups.items[i])->tally);
	table_clear(&s->groups);
	table_clear(&s->born);
	free(s);
}

static int take_alloc(struct churn_state *s, uint64_t process, const struct event *ev, struct fault *why)
{
	uint64_t b = ev->v[F_alloc_stack] ? ev->v[F_alloc_stack] & ~NO_STACK : ev->v[F_call_probe] | NO_STACK;
	struct group *g = table_find(&s->groups, process, b);
	struct born *born;

	table_remove(&s->born, process, ev->v[F_alloc_addr]);
	if ((!g && s->groups.nitems >= GROUPS_MAX) || s->born.nitems >= BORN_MAX) {
		s->nskipped++;
		return 0;
	}
	if (!g)
		g = table_add(&s->groups, process, b, sizeof(*g));
	born = g ? table_add(&s->born, process, ev->v[F_alloc_addr], sizeof(*born)) : NULL;
	if (!born)
		return rule_no_memory(&alloc_churn_rule, why);
	g->probe = ev->v[F_call_probe];
	g->stack = ev->v[F_alloc_stack];
	*born = (struct born){born->key, g, ev->at_ns, ev->v[F_alloc_bytes], ev->v[F_call_dur]};
	return 0;
}

/* The second half of a short life: only now it is known to be one. */
static int take_free(struct churn_state *s, const struct context *ctx, const uint64_t *set, const struct event *ev,
		     struct fault *why)
{
	uint64_t process = ctx->caller->key.b;
	struct born *born = table_find(&s->born, process, ev->v[F_free_addr]);
	struct group *g = born ? born->group : NULL;
	bool kept = true;
	struct who who;

	if (g && call_begin_ns(ev) - born->at_ns < set[SET_LIFE]) {
		g->nlives++;
		g->bytes += born->bytes;
		g->alloc_ns += born->cost_ns;
		g->free_ns += ev->v[F_call_dur];
		g->free_probe = ev->v[F_call_probe];
		names_who(ctx->names, ev->v[F_call_tid], &who);
		roster_add(&g->threads, &who, ev->v[F_call_dur] + born->cost_ns);
		kept = tally_add_call(&g->tally, ctx->timeline, ctx->names, as_tid(ev->v[F_call_tid]),
				      call_begin_ns(ev), ev->at_ns, &s->scratch);
	}
	if (born)
		table_remove(&s->born, process, ev->v[F_free_addr]);
	return kept ? 0 : rule_no_memory(&alloc_churn_rule, why);
}

/* A program ended: what it has not freed, it never will. */
static void forget(struct churn_state *s, const struct context *ctx, const struct event *ev)
{
	bool ended = ev->kind == KIND_exec || ev->v[F_exit_last];
	const struct process *p = ended ? names_process(ctx->names, ev->v[F_exit_pid], ev->at_ns) : NULL;

	for (size_t i = s->born.nitems; p && i-- > 0;)
		if (s->born.items[i]->a == p->number)
			table_remove(&s->born, s->born.items[i]->a, s->born.items[i]->b);
}

static int churn_feed(void *state, const struct context *ctx, const uint64_t *set, const struct event *ev,
		      struct fault *why)
{
	struct churn_state *s = state;

	if (ev->kind == KIND_exit || ev->kind == KIND_exec) {
		forget(s, ctx, ev);
		return 0;
	}
	if (event_is_nested(ev) || !ctx->caller || (int64_t)ev->v[F_call_ret] != 0)
		return 0;
	if (ev->kind == KIND_alloc)
		return ev->v[F_alloc_addr] ? take_alloc(s, ctx->caller->key.b, ev, why) : 0;
	return take_free(s, ctx, set, ev, why);
}

static int report_group(struct group *g, const struct context *ctx, uint64_t life_ns, struct findings *out,
			struct fault *why)
{
	struct finding *f = findings_add(out);
	const char *name = call_name(ctx->schema, g->probe);
	struct text where = {0};

	if (!f)
		return rule_no_memory(&alloc_churn_rule, why);
	f->rule = alloc_churn_rule.name;
	f->class = "short-lives";
	f->severity = alloc_churn_rule.severity;
	f->confidence = CONFIDENCE_HIGH;
	f->process = g->key.a;
	f->tid = g->threads.n == 1 && !g->threads.more ? g->threads.who[0].tid : 0;
	f->probe = g->probe;
	f->stack = g->stack;
	f->weight = g->alloc_ns + g->free_ns;
	f->unit = WEIGHT_NS;
	roster_give(&g->threads, PART_WAITER, f);
	place_name(&where, ctx, g->stack, g->probe);
	text_add_function(&f->headline, text_string(&where), where.len);
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
	if (!finding_text(f, "site", text_string(&where), where.len) ||
	    !finding_text(f, "function", name, strlen(name)) || where.failed) {
		text_clear(&where);
		return rule_no_memory(&alloc_churn_rule, why);
	}
	text_clear(&where);
	tally_give(&g->tally, f);
	f->count = g->nlives;
	return 0;
}

static int churn_finish(void *state, const struct context *ctx, const uint64_t *set, struct findings *out,
			struct fault *why)
{
	struct churn_state *s = state;
	int r = 0;

	for (size_t i = 0; i < s->groups.nitems && r == 0; i++) {
		struct group *g = (struct group *)s->groups.items[i];
		uint64_t life_ns = callers_life_ns(ctx->callers, g->key.a), cost_ns = g->alloc_ns + g->free_ns;

		if (g->nlives >= set[SET_COUNT] && cost_ns >= set[SET_TOTAL] &&
		    cost_ns >= life_ns / 100 * set[SET_SHARE])
			r = report_group(g, ctx, life_ns, out, why);
	}
	if (r == 0 && !findings_add_limit(out, alloc_churn_rule.name, s->nskipped, "allocations"))
		r = rule_no_memory(&alloc_churn_rule, why);
	return r;
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
	.settings = settings,
	.nsettings = sizeof(settings) / sizeof(settings[0]),
	.kinds = {KIND_alloc, KIND_free, KIND_exit, KIND_exec, 0},
	.open = churn_open,
	.feed = churn_feed,
	.finish = churn_finish,
	.close = churn_close,
};
