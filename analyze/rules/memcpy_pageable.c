// SPDX-License-Identifier: Apache-2.0
/*
 * Large copies between the GPU and host memory that is not page-locked: the driver copies them once more through a
 * buffer of its own, and the Async calls wait for that.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/callsite.h"
#include "analyze/intervals.h"
#include "analyze/top_threads.h"

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
#define NO_STACK (1ULL << 63)

enum direction { TO_DEVICE = 1, FROM_DEVICE = 2 };

struct owner {
	struct table_key key; /* a: process instance */
	struct ranges pinned;
};

struct group {
	struct table_key key; /* a: process instance; b: stack, or probe with NO_STACK */
	uint64_t probe, stack, bytes;
	bool to_device;
	struct roster threads;
	struct tally tally;
};

struct pageable_state {
	struct table owners, groups;
	uint64_t nskipped, nlost_allocs;
	bool withheld;
	struct explained scratch;
};

static int pageable_open(void **state, struct fault *why)
{
	*state = calloc(1, sizeof(struct pageable_state));
	return *state ? 0 : rule_no_memory(&memcpy_pageable_rule, why);
}

static void pageable_close(void *state)
{
	struct pageable_state *s = state;

	if (!s)
		return;
	for (size_t i = 0; i < s->groups.nitems; i++)
		tally_clear(&((struct group *)s->groups.items[i])->tally);
	for (size_t i = 0; i < s->owners.nitems; i++)
		ranges_clear(&((struct owner *)s->owners.items[i])->pinned);
	table_clear(&s->groups);
	table_clear(&s->owners);
	free(s);
}

static struct owner *owner_of(struct pageable_state *s, uint64_t process, bool *failed)
{
	struct owner *o = table_find(&s->owners, process, 0);

	if (!o && s->owners.nitems < PROCESSES_WATCHED_MAX) {
		o = table_add(&s->owners, process, 0, sizeof(*o));
		*failed = !o;
	}
	return o;
}

/* Host memory that the GPU can reach by itself: pinned, registered, managed. */
static bool take_alloc(struct owner *o, const struct event *ev)
{
	uint64_t memory = ev->v[F_alloc_memory];

	if (memory != MEM_PINNED && memory != MEM_REGISTERED && memory != MEM_MANAGED)
		return true;
	return ranges_add(&o->pinned, ev->v[F_alloc_addr], ev->v[F_alloc_bytes]);
}

static int take_copy(struct pageable_state *s, const struct context *ctx, const uint64_t *set, const struct owner *o,
		     const struct event *ev, struct fault *why)
{
	bool to_device = ev->v[F_copy_direction] == TO_DEVICE;
	uint64_t host = ev->v[to_device ? F_copy_src : F_copy_dst];
	uint64_t b = ev->v[F_copy_stack] ? ev->v[F_copy_stack] & ~NO_STACK : ev->v[F_call_probe] | NO_STACK;
	struct group *g;
	struct who who;

	if ((!to_device && ev->v[F_copy_direction] != FROM_DEVICE) || ev->v[F_copy_bytes] < set[SET_BYTES] ||
	    host == 0 || o->pinned.overflowed || ranges_hold(&o->pinned, host))
		return 0;
	g = table_find(&s->groups, o->key.a, b);
	if (!g && s->groups.nitems >= GROUPS_MAX) {
		s->nskipped++;
		return 0;
	}
	if (!g)
		g = table_add(&s->groups, o->key.a, b, sizeof(*g));
	if (!g)
		return rule_no_memory(&memcpy_pageable_rule, why);
	g->probe = ev->v[F_call_probe];
	g->stack = ev->v[F_copy_stack];
	g->bytes += ev->v[F_copy_bytes];
	g->to_device = to_device;
	names_who(ctx->names, ev->v[F_call_tid], &who);
	roster_add(&g->threads, &who, ev->v[F_call_dur]);
	return tally_add_call(&g->tally, ctx->timeline, ctx->names, as_tid(ev->v[F_call_tid]), call_begin_ns(ev),
			      ev->at_ns, &s->scratch)
		       ? 0
		       : rule_no_memory(&memcpy_pageable_rule, why);
}

static void take_mark(struct pageable_state *s, const struct context *ctx, const struct epoch *epoch)
{
	if (ctx->reader)
		s->nlost_allocs += reader_lost(ctx->reader, epoch->number, KIND_alloc);
	s->withheld |= epoch_withholds(epoch, CLASS_events);
}

static int pageable_feed(void *state, const struct context *ctx, const uint64_t *set, const struct event *ev,
			 struct fault *why)
{
	struct pageable_state *s = state;
	bool failed = false;
	struct owner *o;

	if (ev->kind == KIND_epoch) {
		take_mark(s, ctx, ev->epoch);
		return 0;
	}
	if ((int64_t)ev->v[F_call_ret] != 0 || (ev->kind == KIND_copy && event_is_nested(ev)))
		return 0;
	o = ctx->caller ? owner_of(s, ctx->caller->key.b, &failed) : NULL;
	if (!o)
		return failed ? rule_no_memory(&memcpy_pageable_rule, why) : 0;
	if (ev->kind == KIND_alloc)
		return take_alloc(o, ev) ? 0 : rule_no_memory(&memcpy_pageable_rule, why);
	if (ev->kind == KIND_free) {
		ranges_remove(&o->pinned, ev->v[F_free_addr]);
		return 0;
	}
	return take_copy(s, ctx, set, o, ev, why);
}

static int report_group(struct pageable_state *s, struct group *g, const struct context *ctx, struct findings *out,
			struct fault *why)
{
	const struct process *p = names_instance(ctx->names, g->key.a);
	struct finding *f = findings_add(out);
	const char *name = call_name(ctx->schema, g->probe);
	bool from_birth = p && (p->executed || (p->start_ns != NO_TIME && p->start_ns > ctx->begin_ns)),
	     async = is_async(name);

	if (!f)
		return rule_no_memory(&memcpy_pageable_rule, why);
	f->rule = memcpy_pageable_rule.name;
	f->class = async ? "async-in-name-only" : "slow-copies";
	f->severity = from_birth ? memcpy_pageable_rule.severity : SEVERITY_INFO;
	f->confidence = !from_birth || s->withheld ? CONFIDENCE_LOW
			: s->nlost_allocs          ? CONFIDENCE_MEDIUM
						   : CONFIDENCE_HIGH;
	f->process = g->key.a;
	f->tid = g->threads.n == 1 && !g->threads.more ? g->threads.who[0].tid : 0;
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
	if (!finding_text(f, "function", name, strlen(name)))
		return rule_no_memory(&memcpy_pageable_rule, why);
	tally_give(&g->tally, f);
	return 0;
}

static bool is_enough(const struct group *g, const uint64_t *set)
{
	return g->tally.count >= set[SET_COUNT] && g->bytes >= set[SET_TOTAL];
}

/* Only slow copies carry their stack: those too few to be distinguished by their place count with those that have none.
 */
static void gather(struct pageable_state *s, const uint64_t *set)
{
	for (size_t i = 0; i < s->groups.nitems; i++) {
		struct group *g = (struct group *)s->groups.items[i];
		struct group *rest = table_find(&s->groups, g->key.a, g->probe | NO_STACK);

		if (!rest || rest == g || is_enough(g, set))
			continue;
		rest->bytes += g->bytes;
		roster_join(&rest->threads, &g->threads);
		tally_join(&rest->tally, &g->tally);
	}
}

static int pageable_finish(void *state, const struct context *ctx, const uint64_t *set, struct findings *out,
			   struct fault *why)
{
	struct pageable_state *s = state;
	int r = 0;

	gather(s, set);
	for (size_t i = 0; i < s->groups.nitems && r == 0; i++) {
		struct group *g = (struct group *)s->groups.items[i];

		if (is_enough(g, set))
			r = report_group(s, g, ctx, out, why);
	}
	if (r == 0 && !findings_add_limit(out, memcpy_pageable_rule.name, s->nskipped, "copies"))
		r = rule_no_memory(&memcpy_pageable_rule, why);
	return r;
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
	.settings = settings,
	.nsettings = sizeof(settings) / sizeof(settings[0]),
	.kinds = {KIND_copy, KIND_alloc, KIND_free, 0},
	.marks = true,
	.open = pageable_open,
	.feed = pageable_feed,
	.finish = pageable_finish,
	.close = pageable_close,
};
