// SPDX-License-Identifier: Apache-2.0
/*
 * Device and pinned memory that grows and is not freed, by process and allocation site. A leak goes on: its lowest
 * level rises from one part of the site's life to the next, and what is outstanding in the end was allocated in every
 * quarter of it. A cache that fills and stays level, a working set that is replaced, and a pool that is freed at
 * the end do neither.
 */
#include "analyze/rules/leaks.h"

enum { SET_COUNT, SET_BYTES, SET_LIFE, SET_QUARTER };

static const struct setting settings[] = {
	[SET_COUNT] = {"count", SETTING_COUNT, 16, 4, 1000000000,
		       "allocations outstanding at a site; with fewer no trend can be known"},
	[SET_BYTES] = {"bytes", SETTING_BYTES, 65536, 1, UINT64_MAX, "and bytes; less than that no GPU misses"},
	[SET_LIFE] = {"life", SETTING_NS, 2000000000, 1000000, 1000000000000000,
		      "time from a site's first allocation to the end; shorter, starting up looks like leaking"},
	[SET_QUARTER] =
		{"quarter", SETTING_PERCENT, 10, 1, 24,
		 "share of the outstanding allocations that must have been made in each quarter of that time (a steady "
		 "leak: 25); what fills up levels off and leaves its last quarter empty"},
};

static const char *memory_name(uint64_t memory)
{
	static const char *const names[] = {"memory", "device memory", "managed memory", "pinned memory",
					    "array memory"};

	return names[memory < sizeof(names) / sizeof(names[0]) ? memory : 0];
}

static bool is_leak(struct site *s, uint64_t end_ns, const uint64_t *set)
{
	return s->count >= set[SET_COUNT] && s->bytes >= set[SET_BYTES] &&
	       leak_goes_on(s, end_ns, set[SET_LIFE], set[SET_QUARTER]);
}

/* How fast it grows, and where that leads. */
static void add_pace(struct text *t, uint64_t bytes, uint64_t life_ns)
{
	uint64_t a_second = life_ns ? (uint64_t)((unsigned __int128)bytes * 1000000000 / life_ns) : 0;

	text_add(t, "It holds ");
	text_add_size(t, bytes);
	if (a_second == 0 || a_second > UINT64_MAX / 3600)
		return;
	text_add(t, ", ");
	text_add_size(t, a_second);
	text_add(t, " more each second: ");
	text_add_size(t, a_second * 3600);
	text_add(t, " in an hour");
}

static void describe(struct finding *f, const struct context *ctx, const struct site *s, uint64_t life_ns,
		     bool doubtful)
{
	text_add(&f->headline, "%s: %llu %s allocations (", memory_name(s->memory), (unsigned long long)s->count,
		 call_name(ctx->schema, s->probe));
	text_add_size(&f->headline, s->bytes);
	text_add(&f->headline, "), made");
	add_pace(&f->cost, s->bytes, life_ns);
	text_add(&f->advice, doubtful ? ", free what this site allocates"
				      : "Free these allocations; the stack shows where they are made");
	finding_number(f, "bytes", s->bytes);
	finding_number(f, "allocations", s->count);
	finding_number(f, "allocated_bytes", s->allocated_bytes);
	finding_number(f, "allocated_count", s->allocated_count);
	finding_number(f, "freed_bytes", s->freed_bytes);
	finding_number(f, "freed_count", s->freed_count);
	finding_number(f, "unseen_free_bytes", s->unseen_bytes);
	finding_number(f, "unseen_free_count", s->unseen_count);
	finding_number(f, "peak_bytes", s->peak_bytes);
}

static const uint16_t end_kinds[] = {KIND_free, 0};
static const struct leak_subject memory = {
	.rule = &alloc_leak_rule,
	.unit = WEIGHT_BYTES,
	.end_kinds = end_kinds,
	.things = "allocations",
	.open_things = "outstanding allocations",
	.ends = "frees",
	.lost_ends = "lost_frees",
	.ended = "freed",
	.refused = "its allocations failed",
	.is_leak = is_leak,
	.describe = describe,
};

static void leak_open(void *state, const struct context *ctx)
{
	leaks_open(state, &memory, ctx);
}

const struct rule alloc_leak_rule = {
	.name = "alloc-leak",
	.severity = SEVERITY_ERROR,
	.meaning = "One place in the program allocates GPU or pinned memory all through the run and does not give it "
		   "back: "
		   "its lowest level rises from quarter to quarter. What the process's end freed is marked as such.",
	.wrong = "A program that builds something up evenly and would give it back later looks the same; record for "
		 "longer. A cache that fills and stays level is no leak.",
	.remedy = "The frames name who allocates: free it there when its user is done, or bound the cache.",
	.summary = "device and pinned memory that grows and is not freed, by allocation site",
	RULE_SETTINGS(settings),
	.kinds = {RULE_CALLS, KIND_exit, KIND_exec, 0},
	.marks = true,
	.state_size = sizeof(struct leaks),
	.open = leak_open,
	.feed = leaks_feed,
	.finish = leaks_finish,
	.close = leaks_close,
};
