// SPDX-License-Identifier: Apache-2.0
#include "analyze/rules/leaks.h"

#include <stdlib.h>

#include "analyze/losses.h"

static int no_memory(const struct leaks *l, struct fault *why)
{
	return rule_no_memory(l->subject->rule, why);
}

int leaks_open(void **state, const struct leak_subject *subject, struct fault *why)
{
	struct leaks *l = calloc(1, sizeof(*l));

	*state = l;
	if (!l)
		return rule_no_memory(subject->rule, why);
	l->subject = subject;
	l->sites.allocations.objects = subject->objects;
	return 0;
}

void leaks_close(void *state)
{
	struct leaks *l = state;

	if (!l)
		return;
	sites_clear(&l->sites);
	findings_clear(&l->found);
	free(l);
}

bool leak_is_doubtful(const struct leaks *l, const struct site *site)
{
	return l->withheld || l->nlost_ends >= site->count;
}

const char *leak_until(enum fate fate)
{
	static const char *const until[] = {
		[FATE_RUNS] = "; the process was still running when the capture ended",
		[FATE_ENDED] = " before the process ended",
		[FATE_REPLACED] = " before the process ran another program",
	};

	return until[fate];
}

struct finding *leak_finding(struct leaks *l, struct site *site, enum fate fate, uint64_t end_ns)
{
	struct finding *f = findings_add(&l->found);
	bool doubtful = leak_is_doubtful(l, site);

	if (!f)
		return NULL;
	f->rule = l->subject->rule->name;
	f->class = "growing";
	f->severity = doubtful ? SEVERITY_WARNING : l->subject->rule->severity;
	f->confidence = doubtful                             ? CONFIDENCE_LOW
			: l->nlost_ends || fate == FATE_RUNS ? CONFIDENCE_MEDIUM
							     : CONFIDENCE_HIGH;
	f->process = site->process;
	f->stack = site->stack;
	f->weight = site->bytes;
	f->probe = site->probe;
	f->tid = site->tid;
	f->count = site->count;
	levels_lowest(&site->levels, end_ns, 0, 100); /* brings it up to the end */
	f->levels = malloc(sizeof(*f->levels));
	if (!f->levels)
		return NULL;
	*f->levels = site->levels;
	if (doubtful)
		text_add(&f->sure, "Low confidence: %s that were not recorded may be the ones that are missing here",
			 l->subject->ends);
	return f;
}

static int judge_process(struct leaks *l, const struct context *ctx, const uint64_t *set, uint64_t process,
			 enum fate fate, uint64_t end_ns, struct fault *why)
{
	int r = 0;

	sites_count_births(&l->sites, process, end_ns);
	for (struct site *site = sites_of(&l->sites, process); site && r == 0; site = site->next)
		if (!l->subject->is_leak(site, end_ns, set))
			continue;
		else if (l->nleft_out >= site->count)
			l->nunjudged += site->count;
		else
			r = l->subject->report(l, ctx, site, fate, end_ns, why);
	return r;
}

static void take_mark(struct leaks *l, const struct context *ctx, const struct epoch *epoch)
{
	for (const uint16_t *kind = l->subject->end_kinds; ctx->reader && *kind; kind++)
		l->nlost_ends += reader_lost(ctx->reader, epoch->number, *kind);
	l->withheld |= epoch_withholds(epoch, CLASS_events);
}

/* What an exit or exec ends is judged before. */
static int take_end(struct leaks *l, const struct context *ctx, const uint64_t *set, const struct event *ev,
		    struct fault *why)
{
	const struct process *p = names_process(ctx->names, ev->v[F_exit_pid], ev->at_ns);
	enum fate fate = ev->kind == KIND_exec ? FATE_REPLACED : ev->v[F_exit_last] ? FATE_ENDED : FATE_RUNS;
	uint32_t number = p ? p->number : 0;
	int r = 0;

	if (p && fate != FATE_RUNS) {
		r = allocations_settle(&l->sites.allocations, number, why);
		if (r == 0)
			r = judge_process(l, ctx, set, number, fate, ev->at_ns, why);
	}
	if (r == 0)
		r = allocations_feed(&l->sites.allocations, number, ev, 0, why);
	if (p && fate != FATE_RUNS)
		sites_forget(&l->sites, number);
	return r;
}

/* Out of line, as most calls do not matter. */
static __attribute__((noinline)) int feed_rare(struct leaks *l, const struct context *ctx, const uint64_t *set,
					       const struct event *ev, struct fault *why)
{
	if (!l->sites.allocations.schema) {
		sites_init(&l->sites, ctx->schema, l->subject->objects);
		for (const uint16_t *kind = l->subject->end_kinds; *kind; kind++)
			l->nleft_out += calls_left_out(ctx->reader, *kind);
	}
	if (ev->kind == KIND_exit || ev->kind == KIND_exec)
		return take_end(l, ctx, set, ev, why);
	if (ev->kind == KIND_epoch) {
		take_mark(l, ctx, ev->epoch);
		return 0;
	}
	return ctx->caller ? allocations_feed(&l->sites.allocations, (uint32_t)ctx->caller->key.b, ev, 0, why) : 0;
}

int leaks_feed(void *state, const struct context *ctx, const uint64_t *set, const struct event *ev, struct fault *why)
{
	struct leaks *l = state;

	return ev->kind != KIND_epoch && !allocations_concern(&l->sites.allocations, ev)
		       ? 0
		       : feed_rare(l, ctx, set, ev, why);
}

int leaks_finish(void *state, const struct context *ctx, const uint64_t *set, struct findings *out, struct fault *why)
{
	struct leaks *l = state;
	const char *name = l->subject->rule->name;
	int r = allocations_finish(&l->sites.allocations, &ctx->names->tasks, why);

	for (size_t i = 0; i < l->sites.processes.nitems && r == 0; i++)
		r = judge_process(l, ctx, set, l->sites.processes.items[i]->a, FATE_RUNS, ctx->now_ns, why);
	for (size_t i = 0; i < l->found.n && r == 0; i++)
		r = findings_take(out, &l->found, i) ? 0 : no_memory(l, why);
	if (r == 0 && !findings_add_left_out(out, name, l->nunjudged, l->subject->open_things))
		r = no_memory(l, why);
	if (r == 0 &&
	    !findings_add_limit(out, name, l->sites.allocations.nunfollowed + l->sites.nbeyond, l->subject->things))
		r = no_memory(l, why);
	return r;
}
