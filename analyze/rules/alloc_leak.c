// SPDX-License-Identifier: Apache-2.0
/*
 * Device and pinned memory that grows and is not freed, by process and allocation site. A leak goes on: its lowest
 * level rises from one part of the site's life to the next, and what is outstanding in the end was allocated in every
 * quarter of it. A cache that fills and stays level, a working set that is replaced, and a pool that is freed at
 * the end do neither.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/alloc_sites.h"
#include "analyze/callsite.h"
#include "analyze/losses.h"

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

/* What became of a process by the time at which it is judged. */
enum fate { FATE_RUNS, FATE_ENDED, FATE_REPLACED };

struct leak_state {
	struct sites sites;    /* NULL schema: not begun */
	struct findings found; /* of processes that have ended, and moved to the report at the end */
	uint64_t nlost_frees;  /* those left out on purpose, too */
	uint64_t nleft_out;    /* frees that were left out on purpose, in all of the capture */
	uint64_t nunjudged;    /* allocations at sites for which these may be the frees */
	bool withheld;
};

static int no_memory(struct fault *why)
{
	return fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "out of memory in rule alloc-leak");
}

static int leak_open(void **state, struct fault *why)
{
	*state = calloc(1, sizeof(struct leak_state));
	return *state ? 0 : no_memory(why);
}

static void leak_close(void *state)
{
	struct leak_state *s = state;

	if (!s)
		return;
	sites_clear(&s->sites);
	findings_clear(&s->found);
	free(s);
}

static const char *memory_name(uint64_t memory)
{
	static const char *const names[] = {"memory", "device memory", "managed memory", "pinned memory",
					    "array memory"};

	return names[memory < sizeof(names) / sizeof(names[0]) ? memory : 0];
}

static bool is_leak(struct site *s, uint64_t end_ns, const uint64_t *set)
{
	uint64_t low[3];

	if (s->count < set[SET_COUNT] || s->bytes < set[SET_BYTES] || end_ns < s->first_ns ||
	    end_ns - s->first_ns < set[SET_LIFE])
		return false;
	for (unsigned q = 0; q < 4; q++)
		if (s->births[q] < 2 || s->births[q] * 100 / s->count < set[SET_QUARTER])
			return false;
	/* The last tenth is left out: programs give much back before they end, and the leak stays. */
	low[0] = levels_lowest(&s->levels, end_ns, 25, 50);
	low[1] = levels_lowest(&s->levels, end_ns, 50, 75);
	low[2] = levels_lowest(&s->levels, end_ns, 75, 90);
	return low[0] < low[1] && low[1] < low[2];
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

static int report_site(struct leak_state *s, const struct context *ctx, struct site *site, enum fate fate,
		       uint64_t end_ns, struct fault *why)
{
	static const char *const until[] = {
		[FATE_RUNS] = "; the process was still running when the capture ended",
		[FATE_ENDED] = " before the process ended",
		[FATE_REPLACED] = " before the process ran another program",
	};
	struct finding *f = findings_add(&s->found);
	const char *name = call_name(ctx->schema, site->probe);
	uint64_t span_ns = end_ns > site->first_ns ? end_ns - site->first_ns : 0;
	bool doubtful = s->withheld || s->nlost_frees >= site->count;
	struct text where = {0};

	if (!f)
		return no_memory(why);
	place_name(&where, ctx, site->stack, site->probe);
	f->rule = alloc_leak_rule.name;
	f->class = "growing";
	f->severity = doubtful ? SEVERITY_WARNING : alloc_leak_rule.severity;
	f->confidence = doubtful                              ? CONFIDENCE_LOW
			: s->nlost_frees || fate == FATE_RUNS ? CONFIDENCE_MEDIUM
							      : CONFIDENCE_HIGH;
	f->process = site->process;
	f->stack = site->stack;
	f->weight = site->bytes;
	f->unit = WEIGHT_BYTES;
	f->probe = site->probe;
	f->tid = site->tid;
	levels_lowest(&site->levels, end_ns, 0, 100); /* brings it up to the end */
	f->levels = malloc(sizeof(*f->levels));
	if (!f->levels)
		return no_memory(why);
	*f->levels = site->levels;
	f->count = site->count;
	text_add_function(&f->headline, text_string(&where), where.len);
	text_add(&f->headline, " %s %s: %llu %s allocations (", doubtful ? "may leak" : "leaks",
		 memory_name(site->memory), (unsigned long long)site->count, name);
	text_add_size(&f->headline, site->bytes);
	text_add(&f->headline, "), made over ");
	text_add_ns(&f->headline, span_ns);
	text_add(&f->headline, ", were never freed%s", until[fate]);
	if (s->nlost_frees)
		text_add(&f->headline, " (at most: %llu frees were not recorded)", (unsigned long long)s->nlost_frees);
	if (doubtful)
		text_add(&f->sure,
			 "Low confidence: frees that were not recorded may be the ones that are missing here");
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
	finding_number(f, "lost_frees", s->nlost_frees);
	report_facts(f, site);
	if (!finding_text(f, "site", text_string(&where), where.len) ||
	    !finding_text(f, "function", name, strlen(name)) || where.failed || f->headline.failed ||
	    f->advice.failed) {
		text_clear(&where);
		return no_memory(why);
	}
	text_clear(&where);
	return 0;
}

static int judge_process(struct leak_state *s, const struct context *ctx, const uint64_t *set, uint64_t process,
			 enum fate fate, uint64_t end_ns, struct fault *why)
{
	int r = 0;

	sites_count_births(&s->sites, process, end_ns);
	for (struct site *site = sites_of(&s->sites, process); site && r == 0; site = site->next)
		if (!is_leak(site, end_ns, set))
			continue;
		else if (s->nleft_out >= site->count)
			s->nunjudged += site->count;
		else
			r = report_site(s, ctx, site, fate, end_ns, why);
	return r;
}

static void take_mark(struct leak_state *s, const struct context *ctx, const struct epoch *epoch)
{
	if (ctx->reader)
		s->nlost_frees += reader_lost(ctx->reader, epoch->number, KIND_free);
	s->withheld |= epoch_withholds(epoch, CLASS_events);
}

/* What an exit or exec ends is judged before. */
static int take_end(struct leak_state *s, const struct context *ctx, const uint64_t *set, const struct event *ev,
		    struct fault *why)
{
	const struct process *p = names_process(ctx->names, ev->v[F_exit_pid], ev->at_ns);
	enum fate fate = ev->kind == KIND_exec ? FATE_REPLACED : ev->v[F_exit_last] ? FATE_ENDED : FATE_RUNS;
	uint32_t number = p ? p->number : 0;
	int r = 0;

	if (p && fate != FATE_RUNS) {
		r = allocations_settle(&s->sites.allocations, number, why);
		if (r == 0)
			r = judge_process(s, ctx, set, number, fate, ev->at_ns, why);
	}
	if (r == 0)
		r = allocations_feed(&s->sites.allocations, number, ev, 0, why);
	if (p && fate != FATE_RUNS)
		sites_forget(&s->sites, number);
	return r;
}

/* Out of line, as most calls do not matter. */
static __attribute__((noinline)) int feed_rare(struct leak_state *s, const struct context *ctx, const uint64_t *set,
					       const struct event *ev, struct fault *why)
{
	if (!s->sites.allocations.schema) {
		sites_init(&s->sites, ctx->schema);
		s->nleft_out = calls_left_out(ctx->reader, KIND_free);
	}
	if (ev->kind == KIND_exit || ev->kind == KIND_exec)
		return take_end(s, ctx, set, ev, why);
	if (ev->kind == KIND_epoch) {
		take_mark(s, ctx, ev->epoch);
		return 0;
	}
	return ctx->caller ? allocations_feed(&s->sites.allocations, (uint32_t)ctx->caller->key.b, ev, 0, why) : 0;
}

static int leak_feed(void *state, const struct context *ctx, const uint64_t *set, const struct event *ev,
		     struct fault *why)
{
	struct leak_state *s = state;

	return ev->kind != KIND_epoch && !allocations_concern(&s->sites.allocations, ev)
		       ? 0
		       : feed_rare(s, ctx, set, ev, why);
}

static int leak_finish(void *state, const struct context *ctx, const uint64_t *set, struct findings *out,
		       struct fault *why)
{
	struct leak_state *s = state;
	int r = allocations_finish(&s->sites.allocations, &ctx->names->tasks, why);

	for (size_t i = 0; i < s->sites.processes.nitems && r == 0; i++)
		r = judge_process(s, ctx, set, s->sites.processes.items[i]->a, FATE_RUNS, ctx->now_ns, why);
	for (size_t i = 0; i < s->found.n && r == 0; i++)
		r = findings_take(out, &s->found, i) ? 0 : no_memory(why);
	if (r == 0 && !findings_add_left_out(out, alloc_leak_rule.name, s->nunjudged, "outstanding allocations"))
		r = no_memory(why);
	if (r == 0 && !findings_add_limit(out, alloc_leak_rule.name,
					  s->sites.allocations.nunfollowed + s->sites.nbeyond, "allocations"))
		r = no_memory(why);
	return r;
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
	.settings = settings,
	.nsettings = sizeof(settings) / sizeof(settings[0]),
	.kinds = {RULE_CALLS, KIND_exit, KIND_exec, 0},
	.marks = true,
	.open = leak_open,
	.feed = leak_feed,
	.finish = leak_finish,
	.close = leak_close,
};
