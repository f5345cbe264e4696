// SPDX-License-Identifier: Apache-2.0
/*
 * Calls that returned an error, by process and error, whatever the functions: reported by the call that had it first,
 * for later ones mostly follow from it. Out of memory is rule oom's.
 */
#include <string.h>

#include "analyze/facts/codes.h"
#include "analyze/stats/callsite.h"

enum { SET_COUNT };

static const struct setting settings[] = {
	[SET_COUNT] = {"count", SETTING_COUNT, 1, 1, 1000000000,
		       "failed calls of one process with one error that make a finding; one is worth knowing"},
};

#define GROUPS_MAX 4096
#define FUNCTIONS_KEPT 8 /* of a group, with their counts */
#define THREADS_MAX 8192 /* threads whose inner failure is remembered */

/* The driver's call that failed inside a runtime call of this thread. */
struct inner {
	struct table_key key; /* a: tid */
	uint64_t at_ns, probe;
	int64_t ret;
};

struct group {
	struct table_key key;           /* a: process instance; b: error, 1 << 32 for NCCL's */
	uint64_t process, probe, stack; /* of the first */
	uint64_t kernel;                /* that it was to launch; 0: it is no launch */
	struct {
		uint64_t probe, n;
	} functions[FUNCTIONS_KEPT]; /* in order of appearance */
	unsigned nfunctions;         /* more than are kept: some are not */
	uint64_t nwork;              /* launches, copies, fills, collectives among them: work that was not done */
	uint64_t begin_ns;           /* of the first */
	uint32_t tid;                /* of the first */
	int64_t ret;
	bool nccl;
	struct who who;
	uint64_t inner_probe; /* 0: none was seen */
	int64_t inner_ret;
	struct tally tally;
};

struct failed_state {
	struct groups inners, groups;
	struct explained scratch;
};

/* A driver's call inside the runtime's: only remembered, as the outer one returns an error too, or has dealt with it.
 */
static int note_inner(struct failed_state *s, const struct event *ev)
{
	struct inner *in = groups_get(&s->inners, ev->v[F_call_tid], 0);

	if (!in)
		return s->inners.error;
	in->at_ns = ev->at_ns;
	in->probe = ev->v[F_call_probe];
	in->ret = (int64_t)ev->v[F_call_ret];
	return 0;
}

/* The first of its kind. */
static void begin_group(struct group *g, const struct failed_state *s, const struct context *ctx,
			const struct event *ev)
{
	const struct inner *in = groups_find(&s->inners, ev->v[F_call_tid], 0);

	g->process = g->key.a;
	g->probe = ev->v[F_call_probe];
	g->stack = call_stack(ev);
	g->kernel = ev->kind == KIND_launch ? ev->v[F_launch_function] : 0;
	g->begin_ns = call_begin_ns(ev);
	g->tid = as_tid(ev->v[F_call_tid]);
	names_who(ctx->names, ev->v[F_call_tid], &g->who);
	g->ret = (int64_t)ev->v[F_call_ret];
	g->nccl = ev->kind == KIND_collective;
	if (in && in->at_ns >= g->begin_ns) {
		g->inner_probe = in->probe;
		g->inner_ret = in->ret;
	}
}

static void count_function(struct group *g, uint64_t probe)
{
	unsigned i = 0;

	while (i < g->nfunctions && i < FUNCTIONS_KEPT && g->functions[i].probe != probe)
		i++;
	if (i == FUNCTIONS_KEPT) {
		g->nfunctions = FUNCTIONS_KEPT + 1;
		return;
	}
	if (i == g->nfunctions) {
		g->functions[i].probe = probe;
		g->nfunctions++;
	}
	g->functions[i].n++;
}

static bool is_work(uint16_t kind)
{
	return kind == KIND_launch || kind == KIND_copy || kind == KIND_set || kind == KIND_collective;
}

/* What did not return 0 is unusual however long it took, and nothing else is wanted. */
static uint64_t unusual_ns(const uint64_t *set)
{
	(void)set;
	return UINT64_MAX;
}

static int failed_feed(void *state, const struct context *ctx, const uint64_t *set, const struct event *ev)
{
	struct failed_state *s = state;
	int64_t ret = (int64_t)ev->v[F_call_ret];
	bool nccl = ev->kind == KIND_collective;
	struct group *g;

	(void)set;
	if (ret == 0 || (nccl ? nccl_error_is_none(ret) : cuda_error_is_none(ret)))
		return 0;
	if (event_is_nested(ev))
		return note_inner(s, ev);
	if (ev->kind == KIND_alloc && ret == CUDA_OUT_OF_MEMORY)
		return 0;
	if (!ctx->caller)
		return 0;
	g = groups_get(&s->groups, ctx->caller->key.b, (uint64_t)(uint32_t)ret | (nccl ? 1ULL << 32 : 0));
	if (!g)
		return s->groups.error;
	if (g->tally.count == 0)
		begin_group(g, s, ctx, ev);
	count_function(g, ev->v[F_call_probe]);
	g->nwork += is_work(ev->kind);
	return rule_count_call(&g->tally, ctx, ev, &s->scratch);
}

static void add_error(struct text *t, bool nccl, int64_t ret)
{
	const char *name = nccl ? nccl_error_text(ret) : cuda_error_text(ret);

	text_add(t, "%lld", (long long)ret);
	if (name)
		text_add(t, " (%s)", name);
}

/* The function that failed most often; of equals the earlier. */
static unsigned most_often(const struct group *g)
{
	unsigned best = 0;

	for (unsigned i = 1; i < g->nfunctions && i < FUNCTIONS_KEPT; i++)
		if (g->functions[i].n > g->functions[best].n)
			best = i;
	return best;
}

/* Which calls followed the first with the same error. */
static void report_others(struct text *t, const struct group *g, const struct context *ctx, bool sticks)
{
	unsigned best = most_often(g);

	if (g->tally.count == 1)
		return;
	text_add(t, "; %s", sticks ? "it sticks, and " : "");
	text_add(t, "%llu later call%s of that process returned it too", (unsigned long long)(g->tally.count - 1),
		 g->tally.count == 2 ? "" : "s");
	if (g->nfunctions > 1)
		text_add(t, ", %s%u functions in all, most often %s (%llu times)",
			 g->nfunctions > FUNCTIONS_KEPT ? "more than " : "",
			 g->nfunctions > FUNCTIONS_KEPT ? FUNCTIONS_KEPT : g->nfunctions,
			 call_name(ctx->schema, g->functions[best].probe), (unsigned long long)g->functions[best].n);
}

static void report_headline(struct text *t, const struct group *g, const struct context *ctx, bool sticks)
{
	text_add(t, "%s", call_name(ctx->schema, g->probe));
	kernel_add(t, ctx, g->process, g->kernel);
	text_add(t, " returned error ");
	add_error(t, g->nccl, g->ret);
	place_add(t, ctx, g->stack);
	text_add(t, " in thread ");
	text_add_who(t, &g->who);
	text_add(t, " after ");
	text_add_ns(t, g->begin_ns > ctx->begin_ns ? g->begin_ns - ctx->begin_ns : 0);
	if (g->inner_probe) {
		text_add(t, "; inside it %s had returned ", call_name(ctx->schema, g->inner_probe));
		add_error(t, false, g->inner_ret);
	}
	report_others(t, g, ctx, sticks);
}

static void report_cost(struct text *t, const struct group *g, bool sticks, bool harmless)
{
	if (sticks)
		text_add(t, "Nothing that this process asks of the GPU works after it");
	else if (harmless)
		text_add(t, "Nothing was lost: what was asked for was so already");
	else if (g->tally.count == 1)
		text_add(t, "What this call was to do was not done");
	else
		text_add(t, "What these %llu calls were to do was not done", (unsigned long long)g->tally.count);
	if (!sticks && !harmless && g->nwork && g->tally.count > 1)
		text_add(t, "; %llu of them were launches, copies or collectives", (unsigned long long)g->nwork);
}

static const char *advice_of(const struct group *g, bool sticks, bool harmless)
{
	const char *remedy =
		g->nccl ? "Run it again with NCCL_DEBUG=INFO: each rank then reports why" : cuda_error_remedy(g->ret);

	if (sticks)
		return "Run it again under compute-sanitizer: a kernel before this call did it; look for an Xid "
		       "of the same time";
	if (harmless)
		return "Nothing, if the program expects it; else ask before doing it twice";
	return remedy ? remedy : "Check that caller's arguments, and let the program check what calls return";
}

/* Work or data lost for good is an error; a call that only did not get what it asked for is a warning. */
static enum severity severity_of(const struct group *g, bool sticks, bool harmless)
{
	if (harmless)
		return SEVERITY_INFO;
	return sticks || g->nwork ? SEVERITY_ERROR : SEVERITY_WARNING;
}

static void report_group(struct group *g, const struct context *ctx, struct findings *out)
{
	bool sticks = !g->nccl && cuda_error_sticks(g->ret), harmless = !g->nccl && cuda_error_is_harmless(g->ret);
	const char *class = sticks ? "context-broken" : harmless ? "already-done" : "error";
	struct finding *f = rule_finding(out, &failed_call_rule, class, CONFIDENCE_HIGH);

	f->severity = severity_of(g, sticks, harmless);
	f->process = g->process;
	f->tid = g->tid;
	f->probe = g->probe;
	f->stack = g->stack;
	f->weight = g->tally.count;
	f->unit = WEIGHT_EVENTS;
	report_headline(&f->headline, g, ctx, sticks);
	report_cost(&f->cost, g, sticks, harmless);
	text_add(&f->advice, "%s", advice_of(g, sticks, harmless));
	finding_number(f, "error", (uint64_t)g->ret);
	finding_bool(f, "sticks", sticks);
	finding_string(f, "function", call_name(ctx->schema, g->probe));
	kernel_fact(f, ctx, g->process, g->kernel);
	finding_number(f, "functions", g->nfunctions);
	finding_number(f, "not_done", g->nwork);
	tally_give(&g->tally, f);
}

static void failed_finish(void *state, const struct context *ctx, const uint64_t *set, struct findings *out)
{
	struct failed_state *s = state;

	for (size_t i = 0; i < s->groups.table.nitems; i++) {
		struct group *g = groups_at(&s->groups, i);

		if (g->tally.count >= set[SET_COUNT])
			report_group(g, ctx, out);
	}
	findings_add_limit(out, failed_call_rule.name, s->groups.nskipped, "failed calls");
}

const struct rule failed_call_rule = {
	.name = "failed-call",
	.severity = SEVERITY_WARNING,
	.summary = "calls that returned an error, by process and error, with the call that failed first",
	.meaning =
		"A CUDA or NCCL call returned an error: what it was to do was not done. An error that sticks (an "
		"illegal address, a failed launch) breaks the context. All calls of a process with one error are one "
		"finding, named by the first, for later ones mostly follow from it.",
	.wrong = "Programs try things out: an error that the caller expects and handles is no fault. A sticky error is "
		 "returned by the first call after the kernel that did it, which need not be the culprit.",
	.remedy = "By error: the driver, the build, or the caller's arguments; for a sticky one run under "
		  "compute-sanitizer and look for an Xid.",
	RULE_SETTINGS(settings),
	.kinds = {RULE_CALLS, 0},
	.unusual_ns = unusual_ns,
	.state_size = sizeof(struct failed_state),
	.groups = {{offsetof(struct failed_state, inners), sizeof(struct inner), THREADS_MAX, 0},
		   {offsetof(struct failed_state, groups), sizeof(struct group), GROUPS_MAX,
		    offsetof(struct group, tally)}},
	.feed = failed_feed,
	.finish = failed_finish,
};
