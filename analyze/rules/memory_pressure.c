// SPDX-License-Identifier: Apache-2.0
/*
 * Threads that feed the GPU and have to free memory by themselves for a good part of their time: of the ledger
 * (replay/model/ledger.h), so that many short times count like a long one.
 */
#include <inttypes.h>

#include "analyze/remedy.h"
#include "analyze/rule.h"
#include "analyze/stats/callsite.h"
#include "analyze/stats/top_threads.h"
#include "format/base/units.h"

enum { SET_TOTAL, SET_SHARE, SET_CALLS };

static const struct setting settings[] = {
	[SET_TOTAL] = {"total", SETTING_NS, 20000000, 1000, 1000000000000,
		       "so much time of one thread, in which it had to free memory,"},
	[SET_SHARE] = {"share", SETTING_PERCENT, 2, 1, 100, "and this share of its recorded time"},
	[SET_CALLS] = {"calls", SETTING_COUNT, 4, 1, 1000000000,
		       "launches, copies, memsets and collectives by which a thread shows that it feeds the GPU"},
};

#define THREADS_MAX 8192
#define PRESSED_MAX 1024

/* Why: as the rows have it; beyond, what is none of them. */
enum { OF_OTHERS, OF_HOST, OF_LIMIT, OF_COMPACT, REASONS };
_Static_assert((int)OF_HOST == RECLAIM_HOST && (int)OF_LIMIT == RECLAIM_GROUP && (int)OF_COMPACT == RECLAIM_COMPACT,
	       "reason_of()");

static const struct {
	const char *class, *words;
	uint32_t flags;
} reasons[REASONS] = {
	[OF_OTHERS] = {"asleep", "the kernel counts its sleeps as such ones, and does not report why", SPAN_MEMORY},
	[OF_HOST] = {"host", "the host, or the part of it that it may use, has too little free",
		     SPAN_MEMORY | SPAN_HOST},
	[OF_LIMIT] = {"limit", "its control group, or one above, is at a memory limit", SPAN_MEMORY | SPAN_LIMIT},
	[OF_COMPACT] = {"compaction", "none is free in one piece, and it had to move others",
			SPAN_MEMORY | SPAN_COMPACT},
};

/* What rows report of a thread, or of the threads of a process. */
struct reclaimed {
	uint64_t ns[REASONS], count, pages;
};

struct reclaiming_thread {
	struct table_key key; /* a: tid, b: process instance */
	struct reclaimed rows;
};

struct pressure_state {
	struct groups threads, processes;
};

/* Threads of one process: one finding. */
struct pressed_process {
	struct table_key key; /* a: process instance */
	uint64_t tid, nthreads, life_ns, lost_ns;
	struct reclaimed rows;
	struct roster waiters;
	struct gpu_price price;
};

static int pressure_feed(void *state, const struct context *ctx, const uint64_t *set, const struct event *ev)
{
	struct pressure_state *s = state;
	const struct caller *caller = callers_latest(ctx->callers, ev->v[F_reclaim_tid]);
	uint64_t cause = ev->v[F_reclaim_cause];
	struct reclaiming_thread *t;

	(void)set;
	if (!caller)
		return 0;
	t = groups_get(&s->threads, caller->key.a, caller->key.b);
	if (!t)
		return s->threads.error;
	t->rows.ns[cause < REASONS ? cause : OF_OTHERS] += ev->v[F_reclaim_dur];
	t->rows.count++;
	t->rows.pages += ev->v[F_reclaim_pages];
	return 0;
}

static bool is_enough(const struct ledger_thread *t, const uint64_t *set)
{
	return t->nfed >= set[SET_CALLS] && t->ns[LEDGER_MEMORY] >= set[SET_TOTAL] &&
	       t->ns[LEDGER_MEMORY] >= (t->end_ns - t->begin_ns) / 100 * set[SET_SHARE];
}

static void join(struct pressure_state *s, const struct context *ctx, const struct ledger_thread *t)
{
	uint64_t process = t->key.b % LEDGER_AGAIN;
	const struct reclaiming_thread *r = groups_find(&s->threads, t->key.a, process);
	struct pressed_process *p = groups_get(&s->processes, process, 0);

	if (!p)
		return;
	p->nthreads++;
	p->tid = t->key.a;
	p->life_ns += t->end_ns - t->begin_ns;
	p->lost_ns += t->ns[LEDGER_MEMORY];
	roster_add_thread(&p->waiters, ctx->names, t->key.a, t->ns[LEDGER_MEMORY]);
	gpu_price_add(&p->price, ctx, t->key.a, process, LEDGER_MEMORY, t->ns[LEDGER_MEMORY]);
	for (unsigned i = 0; r && i < REASONS; i++)
		p->rows.ns[i] += r->rows.ns[i];
	p->rows.count += r ? r->rows.count : 0;
	p->rows.pages += r ? r->rows.pages : 0;
}

/* The one that took most. What rows do not report is of others. */
static unsigned reason_of(struct reclaimed *rows, uint64_t lost_ns)
{
	uint64_t known_ns = rows->ns[OF_HOST] + rows->ns[OF_LIMIT] + rows->ns[OF_COMPACT];
	unsigned best = OF_OTHERS;

	rows->ns[OF_OTHERS] = lost_ns > known_ns ? lost_ns - known_ns : 0;
	for (unsigned i = 0; i < REASONS; i++)
		if (rows->ns[i] > rows->ns[best])
			best = i;
	return best;
}

static void report(struct pressed_process *p, struct findings *out)
{
	unsigned reason = reason_of(&p->rows, p->lost_ns);
	struct finding *f = rule_finding(out, &memory_pressure_rule, reasons[reason].class, CONFIDENCE_HIGH);

	f->process = p->key.a;
	f->tid = p->nthreads == 1 ? p->tid : 0;
	f->weight = p->lost_ns;
	f->unit = WEIGHT_NS;
	f->count = p->rows.count;
	roster_give(&p->waiters, PART_WAITER, f);
	text_add_who(&f->headline, roster_first(&p->waiters));
	if (p->nthreads > 1)
		text_add(&f->headline, " and %" PRIu64 " other thread%s, which feed the GPU,", p->nthreads - 1,
			 plural(p->nthreads - 1));
	else
		text_add(&f->headline, ", which feeds the GPU,");
	text_add(&f->headline, p->nthreads > 1 ? " were short of memory for " : " was short of memory for ");
	text_add_ns(&f->headline, p->lost_ns);
	text_add(&f->headline, ", ");
	share_add(&f->headline, p->lost_ns, p->life_ns);
	text_add(&f->headline, p->nthreads > 1 ? " of their time" : " of its time");
	if (p->rows.ns[reason] >= p->lost_ns / 10 * 9) {
		text_add(&f->headline, ": %s", reasons[reason].words);
	} else {
		text_add(&f->headline, " (");
		text_add_ns(&f->headline, p->rows.ns[reason]);
		text_add(&f->headline, " of that: %s)", reasons[reason].words);
	}
	text_add(&f->advice, "%s", memory_remedy(reasons[reason].flags));
	finding_number(f, "lost_ns", p->lost_ns);
	finding_number(f, "threads", p->nthreads);
	finding_number(f, "threads_ns", p->life_ns);
	finding_number(f, "host_ns", p->rows.ns[OF_HOST]);
	finding_number(f, "limit_ns", p->rows.ns[OF_LIMIT]);
	finding_number(f, "compaction_ns", p->rows.ns[OF_COMPACT]);
	finding_number(f, "pages", p->rows.pages);
	gpu_price_give(&p->price, f);
}

static void pressure_finish(void *state, const struct context *ctx, const uint64_t *set, struct findings *out)
{
	const struct table *threads = &ctx->ledger->threads;
	struct pressure_state *s = state;

	for (size_t i = 0; i < threads->nitems; i++) {
		const struct ledger_thread *t = (const struct ledger_thread *)threads->items[i];

		if (is_enough(t, set))
			join(s, ctx, t);
	}
	out->failed |= s->processes.error != 0;
	for (size_t i = 0; i < s->processes.table.nitems; i++)
		report(groups_at(&s->processes, i), out);
	findings_add_limit(out, memory_pressure_rule.name, s->threads.nskipped + s->processes.nskipped, "times");
}

const struct rule memory_pressure_rule = {
	.name = "memory-pressure",
	.severity = SEVERITY_WARNING,
	.summary = "threads that feed the GPU and have to free memory by themselves",
	.meaning =
		"Whenever the thread needed memory (to read or write a file, too) there was none for it, and it had to "
		"free some itself, in the kernel, before it could go on. Meanwhile it launched nothing.",
	.wrong =
		"A program that reads more than fits into the memory that it may have looks the same all the time, and "
		"may be quick enough for all that.",
	.remedy = "Give it more memory, or find what has it.",
	RULE_SETTINGS(settings),
	.kinds = {KIND_reclaim, 0},
	.state_size = sizeof(struct pressure_state),
	.groups = {{offsetof(struct pressure_state, threads), sizeof(struct reclaiming_thread), THREADS_MAX, 0},
		   {offsetof(struct pressure_state, processes), sizeof(struct pressed_process), PRESSED_MAX, 0}},
	.feed = pressure_feed,
	.finish = pressure_finish,
};
