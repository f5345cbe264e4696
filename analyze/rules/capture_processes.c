// SPDX-License-Identifier: Apache-2.0
/* The capture itself: what its processes and their threads were in when it began, and when it ended. */
#include <string.h>

#include "analyze/rules/capture_evidence.h"
#include "analyze/stats/callsite.h"
#include "format/base/units.h"

#define NAMED_PROCESSES 4

/* "process 200 driver", by its number in the capture. */
static void add_process(struct text *t, const struct context *ctx, uint64_t pid)
{
	const struct process *p = names_process(ctx->names, pid, ctx->now_ns);

	process_add(t, ctx, p ? p->number : 0);
}

static void add_longest(struct text *t, const struct context *ctx, const struct open_call *call)
{
	if (!call->dur_ns)
		return;
	text_add(t, "; the longest, %s of ", call_name(ctx->schema, call->probe));
	add_process(t, ctx, call->pid);
	if (call->tid != call->pid)
		text_add(t, ", thread %llu", (unsigned long long)call->tid);
	text_add(t, ", for ");
	text_add_ns(t, call->dur_ns);
}

static void report_open(const struct moments *m, const struct context *ctx, struct findings *out)
{
	struct finding *f = evidence_counted(ctx, out, SEVERITY_INFO, "in-flight", loss_open_call,
					     "GPU calls had not returned when recording ended");

	if (!f)
		return;
	add_longest(&f->headline, ctx, &m->longest);
	text_clear(&f->cost);
	text_add(&f->cost, "Whether they returned later is unknown");
	text_add(&f->advice, "If the program hung, these are the calls it hung in");
	finding_number(f, "events", f->count);
}

static uint16_t probe_of(const struct moments *m, const struct context *ctx, const struct moment *at,
			 const struct frame **caller)
{
	return moments_call(m, ctx->schema, ctx->names, at->stack, caller);
}

/* The call into a library that a thread was in; "": none is known. */
static const char *call_of(const struct moments *m, const struct context *ctx, const struct moment *at)
{
	uint16_t probe = probe_of(m, ctx, at, NULL);

	return probe ? call_name(ctx->schema, probe) : "";
}

/* Whether a thread has called nothing since the capture began, and was in the same function then and at the end. */
static bool stayed_inside(const struct moments *m, const struct context *ctx, const struct thread_moments *t)
{
	const struct process *p = names_process(ctx->names, t->pid, ctx->now_ns);
	uint16_t probe = probe_of(m, ctx, &t->begin, NULL);

	return probe && probe == probe_of(m, ctx, &t->end, NULL) && !t->calls &&
	       !(p && table_find(&ctx->callers->threads, t->key.a, p->number));
}

static void add_inside(struct text *t, const struct moments *m, const struct context *ctx,
		       const struct thread_moments *thread)
{
	const struct frame *caller = NULL;

	add_process(t, ctx, thread->pid);
	if (thread->key.a != thread->pid)
		text_add(t, ", thread %llu,", (unsigned long long)thread->key.a);
	text_add(t, " in %s", call_name(ctx->schema, probe_of(m, ctx, &thread->end, &caller)));
	if (caller && caller->symbol) {
		text_add(t, ", called by ");
		text_add_symbol(t, caller->symbol, caller->symbol_len);
	}
}

/* How many events that is true of the capture counts. */
static uint64_t total_of(const struct context *ctx, struct findings *out,
			 bool (*counts)(const struct schema *, const struct counter *, const void *))
{
	uint32_t n;
	const struct counter *counters = reader_counters(ctx->reader, ctx->reader->nepochs, &n);
	struct losses l = {0};
	uint64_t total;

	out->failed |= !losses_collect(&l, ctx->schema, counters, n, counts, NULL);
	total = l.total;
	losses_clear(&l);
	return total;
}

/* Calls that are not in the capture, for they began before it and did not return. */
static void report_before(const struct moments *m, const struct context *ctx, struct findings *out)
{
	const struct thread_moments *last = NULL;
	struct finding *f = NULL;
	uint64_t n = 0;

	for (size_t i = 0; i < m->threads.nitems; i++) {
		const struct thread_moments *t = (const struct thread_moments *)m->threads.items[i];

		if (!stayed_inside(m, ctx, t))
			continue;
		if (!f)
			f = evidence_report(out, SEVERITY_WARNING, "in-flight-before");
		if (n < NAMED_PROCESSES) {
			text_add(&f->cost, "%s", n ? "; " : "");
			add_inside(&f->cost, m, ctx, t);
		}
		last = t;
		n++;
	}
	if (!f)
		return;
	if (n == 1) {
		const struct process *p = names_process(ctx->names, last->pid, ctx->now_ns);

		f->process = p ? p->number : 0;
		f->tid = last->key.a;
		f->probe = probe_of(m, ctx, &last->end, NULL);
		f->stack = last->end.stack;
	}
	text_add(&f->headline, "%llu GPU call%s began before the capture, and had not returned when recording ended, ",
		 (unsigned long long)n, plural(n));
	text_add_ns(&f->headline, ctx->now_ns - ctx->begin_ns);
	text_add(&f->headline, " later: %s", text_string(&f->cost));
	if (n > NAMED_PROCESSES)
		text_add(&f->headline, "; and %llu other%s", (unsigned long long)(n - NAMED_PROCESSES),
			 plural(n - NAMED_PROCESSES));
	text_clear(&f->cost);
	f->confidence = total_of(ctx, out, loss_hides) ? CONFIDENCE_MEDIUM : CONFIDENCE_HIGH;
	text_add(&f->sure,
		 "%s confidence: the threads' stacks were in the same function at both times, and in between "
		 "no other call of theirs was seen%s",
		 f->confidence == CONFIDENCE_HIGH ? "High" : "Medium",
		 f->confidence == CONFIDENCE_HIGH ? "" : "; but events were lost or left out");
	text_add(&f->cost, "Nothing else in the capture counts these calls");
	text_add(&f->advice, "If the program hangs, these are the calls that it hangs in; view thread_states of "
			     "'gpureplay -o x.db' has the whole stacks");
	f->count = f->weight = n;
	f->unit = WEIGHT_EVENTS;
	finding_number(f, "events", n);
}

/* What the main threads of those were in that ran before recording began; true: one of them waited all the time. */
static bool add_waiting(struct text *t, const struct moments *m, const struct context *ctx)
{
	uint64_t pids[NAMED_PROCESSES];
	size_t n = moments_processes(m, MOMENT_BEGIN, pids, NAMED_PROCESSES);
	bool waits = false;

	for (size_t i = 0; i < n && i < NAMED_PROCESSES; i++) {
		const struct thread_moments *thread = moments_main(m, pids[i]);

		if (!thread)
			continue;
		text_add(t, "; ");
		add_process(t, ctx, pids[i]);
		text_add(t, " ");
		moments_add(t, thread, call_of(m, ctx, &thread->begin), call_of(m, ctx, &thread->end),
			    ctx->names->machine);
		waits |= moments_waits(thread) || stayed_inside(m, ctx, thread);
	}
	if (n > NAMED_PROCESSES)
		text_add(t, "; and %zu other%s", n - NAMED_PROCESSES, plural(n - NAMED_PROCESSES));
	return waits;
}

/* A capture without one call: nothing can be concluded from nothing being found. */
static void report_empty(const struct moments *m, const struct context *ctx, struct findings *out)
{
	struct finding *f;

	if (total_of(ctx, out, counts_call) || ctx->stopped)
		return;
	f = evidence_report(out, about_is_chosen(&ctx->names->about) ? SEVERITY_WARNING : SEVERITY_INFO, "no-calls");
	text_add(&f->headline, "No CUDA calls were recorded, so there is nothing to analyse");
	text_add(&f->sure, "Whether any call was made is unknown");
	text_add(&f->cost, "An empty recording shows nothing about the programs");
	text_add(&f->advice, "%s",
		 add_waiting(&f->headline, m, ctx)
			 ? "If it should have worked, it hangs: view thread_states of 'gpureplay -o x.db' has what all "
			   "its threads were in, with their stacks"
			 : "Check that the program used CUDA during the recording, and what the capture could not see");
}

/* Recording ended with those that were named, and others that it covered went on. */
static void report_survivors(const struct moments *m, const struct context *ctx, struct findings *out)
{
	uint32_t reason = ctx->reader->tail == TAIL_END ? ctx->reader->end.reason : 0;
	uint64_t pids[NAMED_PROCESSES];
	size_t n = moments_processes(m, MOMENT_END, pids, NAMED_PROCESSES);
	struct finding *f;

	if (!n || (reason != REASON_command && reason != REASON_processes))
		return;
	f = evidence_report(out, SEVERITY_WARNING, "still-running");
	text_add(&f->headline, "%s ended, and with %s the recording; %zu recorded process%s still ran:",
		 reason == REASON_command ? "The command" : "The processes that were named",
		 reason == REASON_command ? "it" : "them", n, n == 1 ? "" : "es");
	for (size_t i = 0; i < n && i < NAMED_PROCESSES; i++) {
		text_add(&f->headline, "%s ", i ? "," : "");
		add_process(&f->headline, ctx, pids[i]);
	}
	if (n > NAMED_PROCESSES)
		text_add(&f->headline, " and %zu other%s", n - NAMED_PROCESSES, plural(n - NAMED_PROCESSES));
	text_add(&f->sure, "High confidence: the kernel listed them when recording ended");
	text_add(&f->cost, "What they did afterwards is not in the capture");
	text_add(&f->advice, "Record with --wait=all, or with -p the process that does the work%s",
		 n > NAMED_PROCESSES ? "; view thread_states of 'gpureplay -o x.db' has all that still ran" : "");
	f->count = f->weight = n;
	f->unit = WEIGHT_EVENTS;
	finding_number(f, "processes", n);
}

void evidence_processes(const struct moments *m, const struct context *ctx, struct findings *out)
{
	report_open(m, ctx, out);
	report_before(m, ctx, out);
	report_empty(m, ctx, out);
	report_survivors(m, ctx, out);
}
