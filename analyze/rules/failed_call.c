// SPDX-License-Identifier: Apache-2.0
/*
 * Calls that returned an error, by process, function and error. Errors that stick (the context is broken, and every
 * later call returns them) are one finding, told by the call that had it first. Out of memory is rule oom's.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/codes.h"
#include "analyze/place.h"

enum { SET_COUNT };

static const struct setting settings[] = {
	[SET_COUNT] = {"count", SETTING_COUNT, 1, 1, 1000000000,
		       "failed calls of one function with one error that make a finding; one is worth knowing"},
};

#define GROUPS_MAX 4096
#define THREADS_MAX 8192 /* threads whose inner failure is remembered */

/* The driver's call that failed inside a runtime call of this thread. */
struct inner {
	struct table_key key; /* a: tid */
	uint64_t at_ns, probe;
	int64_t ret;
};

struct group {
	struct table_key key; /* a: process instance, probe (0: sticks); b: error, 1 << 32 for NCCL's */
	uint64_t process, probe, stack;
	uint64_t begin_ns; /* of the first */
	uint32_t tid;      /* of the first */
	int64_t ret;
	bool nccl;
	struct who who;
	uint64_t inner_probe; /* 0: none was seen */
	int64_t inner_ret;
	struct tally tally;
};

struct failed_state {
	struct table inners, groups;
	uint64_t nskipped;
	struct explained scratch;
};

static int failed_open(void **state, struct fault *why)
{
	*state = calloc(1, sizeof(struct failed_state));
	return *state ? 0 : rule_no_memory(&failed_call_rule, why);
}

static void failed_close(void *state)
{
	struct failed_state *s = state;

	if (!s)
		return;
	for (size_t i = 0; i < s->groups.nitems; i++)
		tally_clear(&((struct group *)s->groups.items[i])->tally);
	table_clear(&s->groups);
	table_clear(&s->inners);
	free(s);
}

/* A driver's call inside the runtime's: only remembered, as the outer one returns an error too, or has dealt with it.
 */
static int note_inner(struct failed_state *s, const struct event *ev, struct fault *why)
{
	struct inner *in = table_find(&s->inners, ev->v[F_call_tid], 0);

	if (!in && s->inners.nitems >= THREADS_MAX)
		return 0;
	if (!in)
		in = table_add(&s->inners, ev->v[F_call_tid], 0, sizeof(*in));
	if (!in)
		return rule_no_memory(&failed_call_rule, why);
	in->at_ns = ev->at_ns;
	in->probe = ev->v[F_call_probe];
	in->ret = (int64_t)ev->v[F_call_ret];
	return 0;
}

static int find_group(struct failed_state *s, const struct context *ctx, uint64_t process, const struct event *ev,
		      struct group **out, struct fault *why)
{
	bool nccl = ev->kind == KIND_collective;
	int64_t ret = (int64_t)ev->v[F_call_ret];
	uint64_t a = process << 32 | (!nccl && cuda_error_sticks(ret) ? 0 : ev->v[F_call_probe]);
	uint64_t b = (uint64_t)(uint32_t)ret | (nccl ? 1ULL << 32 : 0);
	const struct inner *in = table_find(&s->inners, ev->v[F_call_tid], 0);
	struct group *g = table_find(&s->groups, a, b);

	*out = g;
	if (g)
		return 0;
	if (s->groups.nitems >= GROUPS_MAX) {
		s->nskipped++;
		return 0;
	}
	g = table_add(&s->groups, a, b, sizeof(*g));
	if (!g)
		return rule_no_memory(&failed_call_rule, why);
	g->process = process;
	g->probe = ev->v[F_call_probe];
	g->stack = call_stack(ev);
	g->begin_ns = call_begin_ns(ev);
	g->tid = as_tid(ev->v[F_call_tid]);
	names_who(ctx->names, ev->v[F_call_tid], &g->who);
	g->ret = ret;
	g->nccl = nccl;
	if (in && in->at_ns >= g->begin_ns) {
		g->inner_probe = in->probe;
		g->inner_ret = in->ret;
	}
	*out = g;
	return 0;
}

static int failed_feed(void *state, const struct context *ctx, const uint64_t *set, const struct event *ev,
		       struct fault *why)
{
	struct failed_state *s = state;
	int64_t ret = (int64_t)ev->v[F_call_ret];
	bool nccl = ev->kind == KIND_collective;
	struct process *p;
	struct group *g;
	int r;

	(void)set;
	if (ret == 0 || (nccl ? nccl_error_is_none(ret) : cuda_error_is_none(ret)))
		return 0;
	if (event_is_nested(ev))
		return note_inner(s, ev, why);
	if (ev->kind == KIND_alloc && ret == CUDA_OUT_OF_MEMORY)
		return 0;
	p = names_process(ctx->names, ev->v[F_call_pid]);
	if (!p)
		return 0;
	r = find_group(s, ctx, p->key.a, ev, &g, why);
	if (r < 0 || !g)
		return r;
	return tally_add_call(&g->tally, ctx->timeline, ctx->names, as_tid(ev->v[F_call_tid]), call_begin_ns(ev),
			      ev->at_ns, &s->scratch)
		       ? 0
		       : rule_no_memory(&failed_call_rule, why);
}

static void add_error(struct text *t, bool nccl, int64_t ret)
{
	const char *name = nccl ? nccl_error_text(ret) : cuda_error_text(ret);

	text_add(t, "%lld", (long long)ret);
	if (name)
		text_add(t, " (%s)", name);
}

static void tell_headline(struct text *t, const struct group *g, const struct context *ctx, bool sticks)
{
	text_add(t, "%s returned error ", call_name(ctx->schema, g->probe));
	add_error(t, g->nccl, g->ret);
	if (g->tally.count > 1 && !sticks)
		text_add(t, " %llu times", (unsigned long long)g->tally.count);
	place_add(t, ctx, g->stack);
	text_add(t, g->tally.count > 1 ? ", first in thread " : " in thread ");
	text_add_who(t, &g->who);
	text_add(t, " after ");
	text_add_ns(t, g->begin_ns > ctx->begin_ns ? g->begin_ns - ctx->begin_ns : 0);
	if (g->inner_probe) {
		text_add(t, "; inside it %s had returned ", call_name(ctx->schema, g->inner_probe));
		add_error(t, false, g->inner_ret);
	}
	if (sticks && g->tally.count > 1)
		text_add(t, "; it sticks, and %llu later calls of that process returned it too",
			 (unsigned long long)(g->tally.count - 1));
}

static int tell_group(struct group *g, const struct context *ctx, struct findings *out, struct fault *why)
{
	struct finding *f = findings_add(out);
	const char *name = call_name(ctx->schema, g->probe);
	bool sticks = !g->nccl && cuda_error_sticks(g->ret), harmless = !g->nccl && cuda_error_is_harmless(g->ret);

	if (!f)
		return rule_no_memory(&failed_call_rule, why);
	f->rule = failed_call_rule.name;
	f->class = sticks ? "context-broken" : harmless ? "already-done" : "error";
	f->severity = sticks ? SEVERITY_ERROR : harmless ? SEVERITY_INFO : SEVERITY_WARNING;
	f->confidence = CONFIDENCE_HIGH;
	f->process = g->process;
	f->tid = g->tid;
	f->probe = g->probe;
	f->stack = g->stack;
	f->weight = g->tally.count;
	f->unit = WEIGHT_EVENTS;
	tell_headline(&f->headline, g, ctx, sticks);
	text_add(&f->cost,
		 sticks ? "Nothing that this process asks of the GPU works after it"
			: "What these %llu calls were to do was not done",
		 (unsigned long long)g->tally.count);
	text_add(&f->advice, "%s",
		 sticks     ? "Run it again under compute-sanitizer: a kernel before this call did it; look for an Xid "
			      "of the same time"
		 : harmless ? "Nothing, if the program expects it; else ask before doing it twice"
			    : "Look at that caller's arguments, and let the program check what calls return");
	finding_number(f, "error", (uint64_t)g->ret);
	finding_bool(f, "sticks", sticks);
	if (!finding_text(f, "function", name, strlen(name)))
		return rule_no_memory(&failed_call_rule, why);
	tally_give(&g->tally, f);
	return 0;
}

static int failed_finish(void *state, const struct context *ctx, const uint64_t *set, struct findings *out,
			 struct fault *why)
{
	struct failed_state *s = state;
	int r = 0;

	for (size_t i = 0; i < s->groups.nitems && r == 0; i++) {
		struct group *g = (struct group *)s->groups.items[i];

		if (g->tally.count >= set[SET_COUNT])
			r = tell_group(g, ctx, out, why);
	}
	if (r == 0 && !findings_add_limit(out, failed_call_rule.name, s->nskipped, "failed calls"))
		r = rule_no_memory(&failed_call_rule, why);
	return r;
}

const struct rule failed_call_rule = {
	.name = "failed-call",
	.severity = SEVERITY_WARNING,
	.summary = "calls that returned an error, with who called and which call failed first",
	.meaning = "A CUDA or NCCL call returned an error: what it was to do was not done. An error that sticks (an "
		   "illegal address, a failed launch) breaks the context; the first call that returned it is named.",
	.wrong = "Programs try things out: an error that the caller expects and deals with is none. A sticky error is "
		 "returned by the first call after the kernel that did it, which need not be the culprit.",
	.remedy = "Look at the caller's arguments; for a sticky error run under compute-sanitizer and look for an Xid.",
	.settings = settings,
	.nsettings = sizeof(settings) / sizeof(settings[0]),
	.kinds = {RULE_CALLS, 0},
	.open = failed_open,
	.feed = failed_feed,
	.finish = failed_finish,
	.close = failed_close,
};
