// SPDX-License-Identifier: Apache-2.0
/*
 * Device and pinned memory that grows and is not freed, by process and allocation site. A leak goes on: its lowest
 * level rises from one part of the site's life to the next, and what is outstanding in the end was allocated in every
 * quarter of it. A cache that fills and stays level, a working set that is replaced, and a pool that is freed at
 * the end do neither.
 */
#include "analyze/callsite.h"
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
	uint64_t until_ns = site_end_ns(s, end_ns);

	return s->count >= set[SET_COUNT] && s->bytes >= set[SET_BYTES] && until_ns >= s->first_ns &&
	       until_ns - s->first_ns >= set[SET_LIFE] && site_grows(s, end_ns, set[SET_QUARTER]);
}

static void report_facts(struct finding *f, const struct site *s)
{
	static const char *const keys[4] = {"born_1st_quarter", "born_2nd_quarter", "born_3rd_quarter",
					    "born_4th_quarter"};

	finding_number(f, "bytes", s->bytes);
	finding_number(f, "allocations", s->count);
	finding_number(f, "allocated_bytes", s->allocated_bytes);
	finding_number(f, "allocated_count", s->allocated_count);
	finding_number(f, "freed_bytes", s->freed_bytes);
	finding_number(f, "freed_count", s->freed_count);
	finding_number(f, "unseen_free_bytes", s->unseen_bytes);
	finding_number(f, "unseen_free_count", s->unseen_count);
	finding_number(f, "peak_bytes", s->peak_bytes);
	finding_number(f, "first_ns", s->first_ns);
	finding_number(f, "last_ns", s->last_ns);
	finding_number(f, "tid", s->tid);
	for (unsigned q = 0; q < 4; q++)
		finding_number(f, keys[q], s->births[q]);
}

/* How fast it grows, and where that leads. */
static void report_pace(struct text *t, uint64_t bytes, uint64_t span_ns)
{
	uint64_t a_second = span_ns ? (uint64_t)((unsigned __int128)bytes * 1000000000 / span_ns) : 0;

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

static void report_site(struct leaks *l, const struct context *ctx, struct site *site, enum fate fate, uint64_t end_ns)
{
	struct finding *f = leak_finding(l, site, fate, end_ns);
	const char *name = call_name(ctx->schema, site->probe);
	uint64_t until_ns = site_end_ns(site, end_ns),
		 span_ns = until_ns > site->first_ns ? until_ns - site->first_ns : 0;
	bool doubtful = leak_is_doubtful(l, site);

	f->unit = WEIGHT_BYTES;
	place_add_name(&f->headline, ctx, site->stack, site->probe);
	text_add(&f->headline, " %s %s: %llu %s allocations (", doubtful ? "may leak" : "leaks",
		 memory_name(site->memory), (unsigned long long)site->count, name);
	text_add_size(&f->headline, site->bytes);
	text_add(&f->headline, "), made over ");
	text_add_ns(&f->headline, span_ns);
	text_add(&f->headline, ", were never freed%s", leak_until(fate));
	if (l->nlost_ends)
		text_add(&f->headline, " (at most: %llu frees were not recorded)", (unsigned long long)l->nlost_ends);
	if (site_is_refused(site))
		text_add(&f->headline, "; then its allocations failed");
	report_pace(&f->cost, site->bytes, span_ns);
	text_add(
		&f->advice, "%s",
		doubtful
			? "Record again so that nothing is lost (a bigger --ring); if it is still there, free what this "
			  "site allocates"
			: "Free these allocations; the stack shows where they are made");
	finding_bool(f, "given_back_by_exit", fate == FATE_ENDED);
	if (fate == FATE_REPLACED)
		finding_bool(f, "given_back_by_exec", true);
	finding_number(f, "lost_frees", l->nlost_ends);
	report_facts(f, site);
	place_fact(f, ctx, site->stack, site->probe);
	finding_string(f, "function", name);
}

static const uint16_t end_kinds[] = {KIND_free, 0};
static const struct leak_subject memory = {
	.rule = &alloc_leak_rule,
	.end_kinds = end_kinds,
	.things = "allocations",
	.open_things = "outstanding allocations",
	.ends = "frees",
	.is_leak = is_leak,
	.report = report_site,
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
