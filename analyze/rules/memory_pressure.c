// SPDX-License-Identifier: Apache-2.0
/*
 * Threads that feed the GPU and have to free memory by themselves for a good part of their time: of the ledger
 * (replay/model/ledger.h), so that many short times count like a long one.
 */
#include <inttypes.h>

#include "analyze/remedy.h"
#include "analyze/rules/lost_part.h"

static const struct setting settings[] = LOST_SETTINGS(20000000, 2, "had to free memory");

#define THREADS_MAX 8192
#define PRESSED_MAX 1024

/* Why: as the rows of reclaim have it; those of disk; or for another reason. */
enum { OF_OTHERS, OF_HOST, OF_LIMIT, OF_COMPACT, OF_SWAP, REASONS };
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
	[OF_SWAP] = {"swap", "what had been swapped out had to be read back", SPAN_MEMORY | SPAN_SWAP},
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
	struct lost_part lost;
	struct reclaimed rows;
};

static void count_reclaim(struct reclaimed *rows, const struct event *ev)
{
	uint64_t cause = ev->v[F_reclaim_cause];

	rows->ns[cause <= OF_COMPACT ? cause : OF_OTHERS] += ev->v[F_reclaim_dur];
	rows->pages += ev->v[F_reclaim_pages];
}

/* It may have been asked for before the thread slept for it. */
static void count_swap_in(struct reclaimed *rows, const struct context *ctx, const struct event *ev)
{
	uint64_t since_ns = timeline_sleeps_since(ctx->timeline, as_tid(ev->v[F_disk_tid]));

	if (since_ns < ev->at_ns)
		rows->ns[OF_SWAP] += ev->at_ns - since_ns;
}
_Static_assert((int)F_reclaim_tid == (int)F_disk_tid, "pressure_feed() serves both");

static int pressure_feed(void *state, const struct context *ctx, const uint64_t *set, const struct event *ev)
{
	struct pressure_state *s = state;
	const struct caller *caller = callers_latest(ctx->callers, ev->v[F_reclaim_tid]);
	struct reclaiming_thread *t;

	(void)set;
	if (!caller || (ev->kind == KIND_disk && ev->v[F_disk_operation] != DISK_SWAP_IN))
		return 0;
	t = groups_get(&s->threads, caller->key.a, caller->key.b);
	if (!t)
		return s->threads.error;
	t->rows.count++;
	if (ev->kind == KIND_disk)
		count_swap_in(&t->rows, ctx, ev);
	else
		count_reclaim(&t->rows, ev);
	return 0;
}

static void join(void *state, const struct context *ctx, const struct ledger_thread *t)
{
	struct pressure_state *s = state;
	uint64_t process = t->key.b % LEDGER_AGAIN;
	const struct reclaiming_thread *r = groups_find(&s->threads, t->key.a, process);
	struct pressed_process *p = groups_get(&s->processes, process, 0);

	if (!p)
		return;
	lost_part_join(&p->lost, ctx, t, LEDGER_MEMORY);
	for (unsigned i = 0; r && i < REASONS; i++)
		p->rows.ns[i] += r->rows.ns[i];
	p->rows.count += r ? r->rows.count : 0;
	p->rows.pages += r ? r->rows.pages : 0;
}

/* The one that took most. What rows do not report is of others. */
static unsigned reason_of(struct reclaimed *rows, uint64_t lost_ns)
{
	uint64_t known_ns = rows->ns[OF_HOST] + rows->ns[OF_LIMIT] + rows->ns[OF_COMPACT] + rows->ns[OF_SWAP];
	unsigned best = OF_OTHERS;

	rows->ns[OF_OTHERS] = lost_ns > known_ns ? lost_ns - known_ns : 0;
	for (unsigned i = 0; i < REASONS; i++)
		if (rows->ns[i] > rows->ns[best])
			best = i;
	return best;
}

/* Which group is short of memory, or the host; NULL: not known. Without rows of why, it is known of memory.high only.
 */
static const struct control_group *group_of(const struct context *ctx, const struct pressed_process *p, unsigned reason)
{
	const struct control_group *group;

	if (reason == OF_HOST)
		return control_groups_host(&ctx->names->control_groups);
	group = reason == OF_COMPACT ? NULL : names_memory_of_instance(ctx->names, p->key.a);
	return group && (reason == OF_LIMIT || reason == OF_SWAP || control_group_times_high(group)) ? group : NULL;
}

/* What is short is what the group may have: not the host's memory, of which the group is an account, too. */
static bool is_limited(const struct control_group *group, unsigned reason)
{
	return group && reason != OF_HOST && reason != OF_SWAP;
}

static void add_reason(struct text *t, unsigned reason, const struct control_group *group)
{
	if (is_limited(group, reason))
		text_add_memory_limit(t, group);
	else
		text_add_string(t, reasons[reason].words);
}

static void report_holder(struct finding *f, const struct context *ctx, const struct control_group *g)
{
	struct who who;

	if (!g->holder.pid)
		return;
	names_who(ctx->names, g->holder.pid, &who);
	text_add(&f->advice, "; of its processes ");
	text_add_who(&f->advice, &who);
	text_add(&f->advice, " has most, ");
	text_add_size(&f->advice, g->holder.resident);
	finding_number(f, "holder_pid", g->holder.pid);
	finding_number(f, "holder_bytes", g->holder.resident);
}

static void report_group(struct finding *f, const struct context *ctx, const struct control_group *g)
{
	if (!g)
		return;
	text_add(&f->advice, ". ");
	text_add_memory_use(&f->advice, g);
	finding_number(f, "group_max_bytes", g->memory_last.max);
	finding_number(f, "group_high_bytes", g->memory_last.high);
	finding_number(f, "group_used_bytes", g->memory_last.used);
	finding_number(f, "group_anon_bytes", g->memory_last.anon);
	finding_number(f, "group_file_bytes", g->memory_last.file);
	finding_number(f, "group_shared_bytes", g->memory_last.shmem);
	finding_number(f, "group_times_max", control_group_times_max(g));
	finding_number(f, "group_times_high", control_group_times_high(g));
	finding_text(f, "cgroup", g->path, g->path_bytes);
	report_holder(f, ctx, g);
}

static void report(struct pressed_process *p, const struct context *ctx, struct findings *out)
{
	unsigned reason = reason_of(&p->rows, p->lost.lost_ns);
	const struct control_group *group = group_of(ctx, p, reason);
	struct finding *f = lost_part_finding(&p->lost, p->key.a, &memory_pressure_rule, reasons[reason].class,
					      CONFIDENCE_HIGH, out);

	f->count = p->rows.count;
	text_add(&f->headline, p->lost.nthreads > 1 ? " were short of memory for " : " was short of memory for ");
	text_add_ns(&f->headline, p->lost.lost_ns);
	lost_part_add_share(&p->lost, &f->headline);
	if (p->rows.ns[reason] >= p->lost.lost_ns / 10 * 9) {
		text_add(&f->headline, ": ");
		add_reason(&f->headline, reason, group);
	} else {
		text_add(&f->headline, " (");
		text_add_ns(&f->headline, p->rows.ns[reason]);
		text_add(&f->headline, " of that: ");
		add_reason(&f->headline, reason, group);
		text_add(&f->headline, ")");
	}
	text_add(&f->advice, "%s", memory_remedy(is_limited(group, reason) ? SPAN_LIMIT : reasons[reason].flags));
	finding_number(f, "host_ns", p->rows.ns[OF_HOST]);
	finding_number(f, "limit_ns", p->rows.ns[OF_LIMIT]);
	finding_number(f, "compaction_ns", p->rows.ns[OF_COMPACT]);
	finding_number(f, "swap_ns", p->rows.ns[OF_SWAP]);
	finding_number(f, "pages", p->rows.pages);
	report_group(f, ctx, group);
	gpu_price_give(&p->lost.price, f);
}

static void pressure_finish(void *state, const struct context *ctx, const uint64_t *set, struct findings *out)
{
	struct pressure_state *s = state;

	lost_part_threads(ctx, LEDGER_MEMORY, set, join, s);
	out->failed |= s->processes.error != 0;
	for (size_t i = 0; i < s->processes.table.nitems; i++)
		report(groups_at(&s->processes, i), ctx, out);
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
	.kinds = {KIND_reclaim, KIND_disk, 0},
	.state_size = sizeof(struct pressure_state),
	.groups = {{offsetof(struct pressure_state, threads), sizeof(struct reclaiming_thread), THREADS_MAX, 0},
		   {offsetof(struct pressure_state, processes), sizeof(struct pressed_process), PRESSED_MAX, 0}},
	.feed = pressure_feed,
	.finish = pressure_finish,
};
