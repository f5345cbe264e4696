// SPDX-License-Identifier: Apache-2.0
/*
 * Large copies between the GPU and host memory that is not page-locked: the driver copies them once more through a
 * buffer of its own, and the Async calls wait for that.
 */
#include "analyze/stats/callsite.h"
#include "analyze/stats/intervals.h"
#include "analyze/stats/top_threads.h"

enum { SET_BYTES, SET_COUNT, SET_TOTAL };

static const struct setting settings[] = {
	[SET_BYTES] =
		{"bytes", SETTING_BYTES, 65536, 1, UINT64_MAX,
		 "a copy counts from so many bytes on; the driver takes smaller ones along with the command itself"},
	[SET_COUNT] = {"count", SETTING_COUNT, 16, 1, 1000000000, "so many copies at one place,"},
	[SET_TOTAL] =
		{"total", SETTING_BYTES, 16777216, 1, UINT64_MAX,
		 "of so many bytes together; loading something once at the start is less trouble than pinning it"},
};

#define GROUPS_MAX 4096
#define PROCESSES_WATCHED_MAX 4096

enum direction { TO_DEVICE = 1, FROM_DEVICE = 2 };

struct owner {
	struct table_key key; /* a: process instance */
	struct ranges pinned;
};

struct group {
	struct table_key key; /* a: process instance; b: place_key() */
	uint64_t probe, stack, bytes;
	bool to_device;
	struct roster threads;
	struct tally tally;
};

struct pageable_state {
	struct groups owners, groups;
	uint64_t nlost_allocs;
	bool withheld;
	struct explained scratch;
};

static void pageable_close(void *state)
{
	struct pageable_state *s = state;

	for (size_t i = 0; i < s->owners.table.nitems; i++) {
		struct owner *o = groups_at(&s->owners, i);

		ranges_clear(&o->pinned);
	}
}

/* Host memory that the GPU can reach by itself: pinned, registered, managed. */
static int take_alloc(struct owner *o, const struct event *ev)
{
	uint64_t memory = ev->v[F_alloc_memory];

	if (memory != MEM_PINNED && memory != MEM_REGISTERED && memory != MEM_MANAGED)
		return 0;
	return ranges_add(&o->pinned, ev->v[F_alloc_addr], ev->v[F_alloc_bytes]) ? 0 : ERR_MEMORY;
}

static int take_copy(struct pageable_state *s, const struct context *ctx, const uint64_t *set, const struct owner *o,
		     const struct event *ev)
{
	bool to_device = ev->v[F_copy_direction] == TO_DEVICE;
	uint64_t host = ev->v[to_device ? F_copy_src : F_copy_dst];
	struct group *g;

	if ((!to_device && ev->v[F_copy_direction] != FROM_DEVICE) || ev->v[F_copy_bytes] < set[SET_BYTES] ||
	    host == 0 || o->pinned.overflowed || ranges_hold(&o->pinned, host))
		return 0;
	g = groups_get(&s->groups, o->key.a, place_key(ev->v[F_copy_stack], ev->v[F_call_probe]));
	if (!g)
		return s->groups.error;
	g->probe = ev->v[F_call_probe];
	g->stack = ev->v[F_copy_stack];
	g->bytes += ev->v[F_copy_bytes];
	g->to_device = to_device;
	roster_add_thread(&g->threads, ctx->names, ev->v[F_call_tid], ev->v[F_call_dur]);
	return rule_count_call(&g->tally, ctx, ev, &s->scratch);
}

static void take_mark(struct pageable_state *s, const struct context *ctx, const struct epoch *epoch)
{
	if (ctx->reader)
		s->nlost_allocs += reader_lost(ctx->reader, epoch->number, KIND_alloc);
	s->withheld |= epoch_withholds(epoch, CLASS_events);
}

static int pageable_feed(void *state, const struct context *ctx, const uint64_t *set, const struct event *ev)
{
	struct pageable_state *s = state;
	struct owner *o;

	if (ev->kind == KIND_epoch) {
		take_mark(s, ctx, ev->epoch);
		return 0;
	}
	if ((int64_t)ev->v[F_call_ret] != 0 || (ev->kind == KIND_copy && event_is_nested(ev)))
		return 0;
	o = ctx->caller ? groups_get(&s->owners, ctx->caller->key.b, 0) : NULL;
	if (!o)
		return s->owners.error;
	if (ev->kind == KIND_alloc)
		return take_alloc(o, ev);
	if (ev->kind == KIND_free) {
		ranges_remove(&o->pinned, ev->v[F_free_addr]);
		return 0;
	}
	return take_copy(s, ctx, set, o, ev);
}

static void report_group(struct pageable_state *s, struct group *g, const struct context *ctx, struct findings *out)
{
	const struct process *p = names_instance(ctx->names, g->key.a);
	const char *name = call_name(ctx->schema, g->probe);
	bool from_birth = p && process_saw_begin(p, ctx->begin_ns),
	     async = is_async(name);
	enum confidence confidence = !from_birth || s->withheld ? CONFIDENCE_LOW
				     : s->nlost_allocs          ? CONFIDENCE_MEDIUM
								: CONFIDENCE_HIGH;
	struct finding *f =
		rule_finding(out, &memcpy_pageable_rule, async ? "async-in-name-only" : "slow-copies", confidence);

	if (!from_birth)
		f->severity = SEVERITY_INFO;
	f->process = g->key.a;
	f->tid = roster_only(&g->threads);
	f->probe = g->probe;
	f->stack = g->stack;
	f->weight = g->bytes;
	f->unit = WEIGHT_BYTES;
	roster_give(&g->threads, PART_WAITER, f);
	text_add_who(&f->headline, roster_first(&g->threads));
	text_add(&f->headline, " copied ");
	text_add_size(&f->headline, g->bytes);
	text_add(&f->headline, " in %llu copies %s the GPU with %s %s host memory that is not pinned",
		 (unsigned long long)g->tally.count, g->to_device ? "to" : "from", name,
		 g->to_device ? "from" : "into");
	place_add(&f->headline, ctx, g->stack);
	if (!from_birth)
		text_add(&f->sure, "Not sure: the process ran before recording began, and may have pinned that memory "
				   "then");
	text_add(&f->cost, "These copies took ");
	text_add_ns(&f->cost, g->tally.total_ns);
	text_add(&f->cost, " for ");
	text_add_size(&f->cost, g->bytes);
	text_add(&f->cost, ", ");
	share_add(&f->cost, g->tally.total_ns, ctx->now_ns > ctx->begin_ns ? ctx->now_ns - ctx->begin_ns : 0);
	text_add(&f->cost, " of the recorded time");
	text_add(&f->advice, async ? "Pin the buffer (pin_memory=True, cudaHostAlloc, cudaHostRegister): from ordinary "
				     "memory an Async copy is not asynchronous"
				   : "Pin the buffer (pin_memory=True, cudaHostAlloc, cudaHostRegister): the copy goes "
				     "twice as fast or better");
	finding_number(f, "bytes", g->bytes);
	finding_bool(f, "to_device", g->to_device);
	finding_string(f, "function", name);
	tally_give(&g->tally, f);
}

static bool is_enough(const struct group *g, const uint64_t *set)
{
	return g->tally.count >= set[SET_COUNT] && g->bytes >= set[SET_TOTAL];
}

/* Only slow copies carry their stack: those too few to be distinguished by their place count with those that have none.
 */
static void gather(struct pageable_state *s, const uint64_t *set)
{
	for (size_t i = 0; i < s->groups.table.nitems; i++) {
		struct group *g = groups_at(&s->groups, i);
		struct group *rest = groups_find(&s->groups, g->key.a, place_key(0, g->probe));

		if (!rest || rest == g || is_enough(g, set))
			continue;
		rest->bytes += g->bytes;
		roster_join(&rest->threads, &g->threads);
		tally_join(&rest->tally, &g->tally);
	}
}

static void pageable_finish(void *state, const struct context *ctx, const uint64_t *set, struct findings *out)
{
	struct pageable_state *s = state;

	gather(s, set);
	for (size_t i = 0; i < s->groups.table.nitems; i++) {
		struct group *g = groups_at(&s->groups, i);

		if (is_enough(g, set))
			report_group(s, g, ctx, out);
	}
	findings_add_limit(out, memcpy_pageable_rule.name, s->groups.nskipped, "copies");
}

const struct rule memcpy_pageable_rule = {
	.name = "memcpy-pageable",
	.severity = SEVERITY_WARNING,
	.summary = "large copies between the GPU and host memory that is not pinned, by place",
	.meaning = "The GPU can reach pinned host memory by itself. Ordinary memory the driver copies piece by piece "
		   "through a pinned buffer of its own: slower, and an Async call waits for it like any other.",
	.wrong = "Memory that was pinned before recording began is not known to be: such findings are info, of low "
		 "confidence. Memory that the system makes reachable without pinning (HMM, ATS) is not distinguished.",
	.remedy = "Pin buffers that are used again and again.",
	RULE_SETTINGS(settings),
	.kinds = {KIND_copy, KIND_alloc, KIND_free, 0},
	.marks = true,
	.state_size = sizeof(struct pageable_state),
	.groups = {{offsetof(struct pageable_state, owners), sizeof(struct owner), PROCESSES_WATCHED_MAX, 0},
		   {offsetof(struct pageable_state, groups), sizeof(struct group), GROUPS_MAX,
		    offsetof(struct group, tally)}},
	.feed = pageable_feed,
	.finish = pageable_finish,
	.close = pageable_close,
};
