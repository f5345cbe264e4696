// SPDX-License-Identifier: Apache-2.0
#include "analyze/rules/leaks.h"

#include <inttypes.h>
#include <stdlib.h>

#include "analyze/stats/callsite.h"
#include "analyze/facts/losses.h"

/* What became of a process by the time at which it is judged. */
enum fate { FATE_RUNS, FATE_ENDED, FATE_REPLACED };

void leaks_open(struct leaks *l, const struct leak_subject *subject, const struct context *ctx)
{
	l->subject = subject;
	sites_init(&l->sites, ctx->schema, subject->objects);
	for (const uint16_t *kind = subject->end_kinds; *kind; kind++)
		l->nleft_out += calls_left_out(ctx->reader, *kind);
}

void leaks_close(void *state)
{
	struct leaks *l = state;

	sites_clear(&l->sites);
	findings_clear(&l->found);
}

bool leak_goes_on(struct site *site, uint64_t end_ns, uint64_t life_ns, uint64_t percent)
{
	return site_life_ns(site, end_ns) >= life_ns && site_grows(site, end_ns, percent);
}

/* What is not recorded may be the ends that are missing at this site. */
static bool is_doubtful(const struct leaks *l, const struct site *site)
{
	return l->withheld || l->nlost_ends >= site->count;
}

/* Its subject, how sure it is, and how much it is over time. */
static struct finding *begin_finding(struct leaks *l, struct site *site, enum fate fate, uint64_t end_ns)
{
	bool doubtful = is_doubtful(l, site);
	struct finding *f = rule_finding(&l->found, l->subject->rule, "growing",
					 doubtful                             ? CONFIDENCE_LOW
					 : l->nlost_ends || fate == FATE_RUNS ? CONFIDENCE_MEDIUM
									      : CONFIDENCE_HIGH);

	if (doubtful)
		f->severity = SEVERITY_WARNING;
	f->process = site->process;
	f->stack = site->stack;
	f->probe = site->probe;
	f->tid = site->tid;
	f->weight = site->bytes;
	f->unit = l->subject->unit;
	f->count = site->count;
	levels_lowest(&site->levels, end_ns, 0, 100); /* brings it up to the end */
	f->levels = malloc(sizeof(*f->levels));
	if (f->levels)
		*f->levels = site->levels;
	f->failed |= !f->levels;
	if (doubtful) {
		text_add(&f->sure, "Low confidence: %s that were not recorded may be the ones that are missing here",
			 l->subject->ends);
		text_add(&f->advice, "Record again%s so that nothing is lost (a bigger --ring); if it is still there",
			 l->nleft_out ? " without --sample and --max-rate, and" : "");
	}
	finding_bool(f, "given_back_by_exit", fate == FATE_ENDED);
	if (fate == FATE_REPLACED)
		finding_bool(f, "given_back_by_exec", true);
	finding_number(f, l->subject->lost_ends, l->nlost_ends);
	return f;
}

static void end_facts(struct finding *f, const struct leaks *l, const struct context *ctx, const struct site *site)
{
	static const char *const births[4] = {"born_1st_quarter", "born_2nd_quarter", "born_3rd_quarter",
					      "born_4th_quarter"};

	finding_number(f, "first_ns", site->first_ns);
	finding_number(f, "last_ns", site->last_ns);
	finding_number(f, "tid", site->tid);
	for (unsigned q = 0; q < 4; q++)
		finding_number(f, births[q], site->births[q]);
	if (l->subject->objects)
		finding_string(f, "object", object_word((unsigned)site->memory));
	place_fact(f, ctx, site->stack, site->probe);
	finding_string(f, "function", call_name(ctx->schema, site->probe));
}

static void report_site(struct leaks *l, const struct context *ctx, struct site *site, enum fate fate, uint64_t end_ns)
{
	static const char *const until[] = {
		[FATE_RUNS] = "; the process was still running when the capture ended",
		[FATE_ENDED] = " before the process ended",
		[FATE_REPLACED] = " before the process ran another program",
	};
	struct finding *f = begin_finding(l, site, fate, end_ns);
	uint64_t life_ns = site_life_ns(site, end_ns);
	bool doubtful = is_doubtful(l, site);

	place_add_name(&f->headline, ctx, site->stack, site->probe);
	text_add(&f->headline, doubtful ? " may leak " : " leaks ");
	l->subject->describe(f, ctx, site, life_ns, doubtful);
	text_add(&f->headline, " over ");
	text_add_ns(&f->headline, life_ns);
	text_add(&f->headline, ", were never %s%s", l->subject->ended, until[fate]);
	if (l->nlost_ends)
		text_add(&f->headline, " (at most: %" PRIu64 " %s were not recorded)", l->nlost_ends, l->subject->ends);
	if (site_is_refused(site))
		text_add(&f->headline, "; then %s", l->subject->refused);
	end_facts(f, l, ctx, site);
}

static void judge_process(struct leaks *l, const struct context *ctx, const uint64_t *set, uint64_t process,
			  enum fate fate, uint64_t end_ns)
{
	sites_count_births(&l->sites, process, end_ns);
	for (struct site *site = sites_of(&l->sites, process); site; site = site->next)
		if (!l->subject->is_leak(site, end_ns, set))
			continue;
		else if (l->nleft_out >= site->count)
			l->nunjudged += site->count;
		else
			report_site(l, ctx, site, fate, end_ns);
}

static void take_mark(struct leaks *l, const struct context *ctx, const struct epoch *epoch)
{
	for (const uint16_t *kind = l->subject->end_kinds; ctx->reader && *kind; kind++)
		l->nlost_ends += reader_lost(ctx->reader, epoch->number, *kind);
	l->withheld |= epoch_withholds(epoch, CLASS_events);
}

/* What an exit or exec ends is judged before. */
static int take_end(struct leaks *l, const struct context *ctx, const uint64_t *set, const struct event *ev)
{
	const struct process *p = names_process(ctx->names, ev->v[F_exit_pid], ev->at_ns);
	enum fate fate = ev->kind == KIND_exec ? FATE_REPLACED : ev->v[F_exit_last] ? FATE_ENDED : FATE_RUNS;
	uint32_t number = p ? p->number : 0;
	struct fault why;
	int r = 0;

	if (p && fate != FATE_RUNS) {
		r = allocations_settle(&l->sites.allocations, number, &why);
		judge_process(l, ctx, set, number, fate, ev->at_ns);
	}
	if (r == 0)
		r = allocations_feed(&l->sites.allocations, number, ev, 0, &why);
	if (p && fate != FATE_RUNS)
		sites_forget(&l->sites, number);
	return r;
}

/* Out of line, as most calls do not matter. */
static __attribute__((noinline)) int feed_rare(struct leaks *l, const struct context *ctx, const uint64_t *set,
					       const struct event *ev)
{
	struct fault why;

	if (ev->kind == KIND_exit || ev->kind == KIND_exec)
		return take_end(l, ctx, set, ev);
	if (ev->kind == KIND_epoch) {
		take_mark(l, ctx, ev->epoch);
		return 0;
	}
	return ctx->caller ? allocations_feed(&l->sites.allocations, (uint32_t)ctx->caller->key.b, ev, 0, &why) : 0;
}

int leaks_feed(void *state, const struct context *ctx, const uint64_t *set, const struct event *ev)
{
	struct leaks *l = state;

	return ev->kind != KIND_epoch && !allocations_concern(&l->sites.allocations, ev) ? 0
											 : feed_rare(l, ctx, set, ev);
}

void leaks_finish(void *state, const struct context *ctx, const uint64_t *set, struct findings *out)
{
	struct leaks *l = state;
	const char *name = l->subject->rule->name;
	struct fault why;

	out->failed |= allocations_finish(&l->sites.allocations, &ctx->names->tasks, &why) < 0;
	for (size_t i = 0; i < l->sites.processes.nitems; i++)
		judge_process(l, ctx, set, l->sites.processes.items[i]->a, FATE_RUNS, ctx->now_ns);
	findings_take(out, &l->found);
	findings_add_left_out(out, name, l->nunjudged, l->subject->open_things);
	findings_add_limit(out, name, l->sites.allocations.nunfollowed + l->sites.nbeyond, l->subject->things);
}
