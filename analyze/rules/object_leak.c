// SPDX-License-Identifier: Apache-2.0
/*
 * Streams, events, graphs, executable graphs, contexts and modules that are made all through the run and not destroyed,
 * by process and the place that makes them; by the measure of alloc_leak.c, in numbers instead of bytes.
 */
#include <inttypes.h>

#include "analyze/rules/leaks.h"

enum { SET_COUNT, SET_LIFE, SET_QUARTER };

static const struct setting settings[] = {
	[SET_COUNT] = {"count", SETTING_COUNT, 16, 4, 1000000000,
		       "objects of a site that were not destroyed; with fewer no trend can be known"},
	[SET_LIFE] = {"life", SETTING_NS, 2000000000, 1000000, 1000000000000000,
		      "time from a site's first object to the end; shorter, starting up looks like leaking"},
	[SET_QUARTER] = {"quarter", SETTING_PERCENT, 10, 1, 24,
			 "share of these objects that must have been made in each quarter of that time (a steady leak: "
			 "25); what fills up levels off and leaves its last quarter empty"},
};

/* How many objects are named, and what ends them. */
static const struct {
	const char *plural, *ender;
} words[OBJECTS] = {
	[OBJECT_STREAM] = {"streams", "cudaStreamDestroy"},
	[OBJECT_EVENT] = {"events", "cudaEventDestroy"},
	[OBJECT_GRAPH] = {"graphs", "cudaGraphDestroy"},
	[OBJECT_EXEC] = {"executable graphs", "cudaGraphExecDestroy"},
	[OBJECT_CONTEXT] = {"contexts", "cuCtxDestroy"},
	[OBJECT_MODULE] = {"modules", "cuModuleUnload"},
};

static bool is_leak(struct site *s, uint64_t end_ns, const uint64_t *set)
{
	return s->count >= set[SET_COUNT] && leak_goes_on(s, end_ns, set[SET_LIFE], set[SET_QUARTER]);
}

static void describe(struct finding *f, const struct context *ctx, const struct site *s, uint64_t life_ns,
		     bool doubtful)
{
	uint64_t tenths = life_ns ? (uint64_t)(((unsigned __int128)s->count * 10000000000 + life_ns / 2) / life_ns) : 0;

	text_add(&f->headline, "%s: %" PRIu64 " of them, made by %s", words[s->memory].plural, s->count,
		 call_name(ctx->schema, s->probe));
	text_add(&f->cost,
		 "%" PRIu64 ".%" PRIu64 " more each second; each takes memory of the driver or the GPU that no "
		 "allocation shows",
		 tenths / 10, tenths % 10);
	text_add(&f->advice,
		 "%sDestroy them by %s when they are no longer used, or use a bounded number of them again; "
		 "the stack shows where they are made",
		 doubtful ? ": " : "", words[s->memory].ender);
	finding_number(f, "objects", s->count);
	finding_number(f, "made", s->allocated_count);
	finding_number(f, "destroyed", s->freed_count);
	finding_number(f, "unseen_destroyed", s->unseen_count);
	finding_number(f, "peak", s->peak_bytes);
}

static const uint16_t end_kinds[] = {KIND_stream, KIND_graph, KIND_context, KIND_load, 0};
static const struct leak_subject objects = {
	.rule = &object_leak_rule,
	.objects = true,
	.unit = WEIGHT_EVENTS,
	.end_kinds = end_kinds,
	.things = "objects",
	.open_things = "objects that were not destroyed",
	.ends = "calls",
	.lost_ends = "lost_calls",
	.ended = "destroyed",
	.refused = "the calls failed",
	.is_leak = is_leak,
	.describe = describe,
};

static void leak_open(void *state, const struct context *ctx)
{
	leaks_open(state, &objects, ctx);
}

const struct rule object_leak_rule = {
	.name = "object-leak",
	.severity = SEVERITY_ERROR,
	.summary =
		"streams, events, graphs, contexts and modules that are made and not destroyed, by the place that makes them",
	.meaning =
		"One place in the program makes such objects all through the run and does not destroy them: their number "
		"rises from quarter to quarter. Each takes memory that no allocation shows.",
	.wrong =
		"A program that keeps each new object for later use, and would go on to need it, looks the same; record for "
		"longer. A cache that fills and stays level is no leak.",
	.remedy = "The frames name who makes them: destroy them there when their user is done, or bound the cache.",
	RULE_SETTINGS(settings),
	.kinds = {RULE_CALLS, KIND_exit, KIND_exec, 0},
	.marks = true,
	.state_size = sizeof(struct leaks),
	.open = leak_open,
	.feed = leaks_feed,
	.finish = leaks_finish,
	.close = leaks_close,
};
