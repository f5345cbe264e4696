// SPDX-License-Identifier: Apache-2.0
/*
 * Threads that feed the GPU and were stopped for a good part of their time, by signals that a process sent or that the
 * kernel did for a terminal. What the recorder stops, to attach, and what is frozen or traced has no such signal.
 */
#include <stddef.h>
#include <string.h>

#include "analyze/facts/stop_signals.h"
#include "analyze/rules/lost_part.h"
#include "format/base/units.h"
#include "replay/model/enum_names.h"

static const struct setting settings[] = LOST_SETTINGS(100000000, 20, "was stopped");

#define STOPPED_PROCESSES_MAX 1024

struct stopped_process {
	struct table_key key;   /* a: process instance */
	uint64_t since_ns;      /* stopped since then; 0: it is not */
	uint64_t signal;        /* by this one */
	bool sent;              /* of a process; */
	struct who sender;      /* of this thread */
	struct roster senders;  /* for how long, how often */
	uint64_t ns, sent_ns;   /* stopped by signals, until the next that let it go on; by those that were sent */
	uint64_t count, number; /* how many; the last one */
	struct lost_part lost;
};

struct stopped_state {
	struct groups processes;
};

static void go_on(struct stopped_process *p, uint64_t at_ns)
{
	uint64_t ns = p->since_ns && at_ns > p->since_ns ? at_ns - p->since_ns : 0;

	p->since_ns = 0;
	if (!ns)
		return;
	p->ns += ns;
	p->count++;
	p->number = p->signal;
	if (!p->sent)
		return;
	p->sent_ns += ns;
	roster_add(&p->senders, &p->sender, ns);
}

static int take_signal(struct stopped_state *s, const struct context *ctx, const struct event *ev)
{
	uint64_t number = ev->v[F_signal_signal];
	bool sent = signal_is_sent(ev);
	const struct process *process = names_process(ctx->names, ev->v[F_signal_pid], ev->at_ns);
	struct stopped_process *p;

	if (number < SIGNAL_CONT || number > SIGNAL_TTOU || !process || (number == SIGNAL_STOP && !sent))
		return 0;
	p = groups_get(&s->processes, process->number, 0);
	if (!p)
		return s->processes.error;
	if (number == SIGNAL_CONT) {
		go_on(p, ev->at_ns);
	} else if (!p->since_ns ||
		   (number == SIGNAL_STOP && p->signal != SIGNAL_STOP)) { /* the others may be ignored */
		p->since_ns = ev->at_ns;
		p->signal = number;
		p->sent = sent;
		names_who(ctx->names, ev->v[F_signal_sender_tid], &p->sender);
	}
	return 0;
}

static int stopped_feed(void *state, const struct context *ctx, const uint64_t *set, const struct event *ev)
{
	struct stopped_state *s = state;
	const struct process *process;
	struct stopped_process *p;

	(void)set;
	if (ev->kind == KIND_signal)
		return take_signal(s, ctx, ev);
	process = ev->v[F_exit_last] ? names_process(ctx->names, ev->v[F_exit_pid], ev->at_ns) : NULL;
	p = process ? groups_find(&s->processes, process->number, 0) : NULL;
	if (p)
		go_on(p, ev->at_ns);
	return 0;
}

static void join(void *state, const struct context *ctx, const struct ledger_thread *t)
{
	struct stopped_state *s = state;
	struct stopped_process *p = groups_find(&s->processes, t->key.b % LEDGER_AGAIN, 0);

	if (p)
		lost_part_join(&p->lost, ctx, t, LEDGER_STOPPED);
}

static void report_headline(const struct stopped_process *p, struct finding *f)
{
	const struct who *sender = roster_first(&p->senders);
	const char *word = enum_word(KIND_signal, F_signal_signal, p->number);

	text_add(&f->headline, " %s stopped for ", p->lost.nthreads > 1 ? "were" : "was");
	text_add_ns(&f->headline, p->lost.lost_ns);
	lost_part_add_share(&p->lost, &f->headline);
	text_add(&f->headline, ", by %llu signal%s (%s)", (unsigned long long)p->count, plural(p->count),
		 word ? word : "of the kernel's");
	if (!sender)
		return;
	text_add(&f->headline, " from ");
	text_add_who(&f->headline, sender);
	if (p->senders.n > 1)
		text_add(&f->headline, " and others");
}

static void report(const struct stopped_process *p, struct findings *out)
{
	bool sent = p->sent_ns > p->ns / 2;
	uint64_t each_ns = p->lost.lost_ns / p->lost.nthreads;
	bool sure = p->ns >= each_ns / 10 * 9 && p->ns <= each_ns / 10 * 11;
	struct finding *f = lost_part_finding(&p->lost, p->key.a, &stopped_rule, sent ? "stopped" : "terminal",
					      sure ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM, out);

	f->count = p->count;
	roster_give(&p->senders, PART_KEEPER, f);
	report_headline(p, f);
	if (!sure)
		text_add(&f->sure, "Medium confidence: the signals do not account for just that time");
	text_add(&f->advice, "%s",
		 sent ? "Ask who sends these signals why: a scheduler that suspends jobs, a tool, a person"
		      : "Start it so that it needs no terminal: in the background one that reads or writes there is "
			"stopped");
	finding_number(f, "signals", p->count);
	finding_number(f, "signals_ns", p->ns);
	gpu_price_give(&p->lost.price, f);
}

/* Another rule has most of that time: a single stop, in a call or between two; not a stop of who is waited for. */
static bool is_known(const struct stopped_process *p, const struct findings *out)
{
	for (size_t i = 0; i < out->n; i++) {
		const struct finding *f = out->all[i];

		if (f->process == p->key.a && f->unit == WEIGHT_NS && f->weight >= p->lost.lost_ns / 2 &&
		    strcmp(f->class, "stopped") == 0 && strcmp(f->rule, starved_rule.name) != 0)
			return true;
	}
	return false;
}

static void stopped_finish(void *state, const struct context *ctx, const uint64_t *set, struct findings *out)
{
	struct stopped_state *s = state;

	lost_part_threads(ctx, LEDGER_STOPPED, set, join, s);
	out->failed |= s->processes.error != 0;
	for (size_t i = 0; i < s->processes.table.nitems; i++) {
		struct stopped_process *p = groups_at(&s->processes, i);

		go_on(p, ctx->ledger->over_ns);
		if (p->lost.nthreads && p->ns >= set[LOST_TOTAL] && p->ns >= p->lost.lost_ns / p->lost.nthreads / 2 &&
		    !is_known(p, out))
			report(p, out);
	}
	findings_add_limit(out, stopped_rule.name, s->processes.nskipped, "processes");
}

const struct rule stopped_rule = {
	.name = "stopped",
	.severity = SEVERITY_WARNING,
	.summary = "threads that feed the GPU and were stopped by signals for much of their time",
	.meaning =
		"A process sent signals that stop the one that feeds the GPU, or a terminal did: meanwhile it launched "
		"nothing.",
	.wrong = "The sender may mean to: a person, a debugger, a scheduler that suspends jobs. Where the GPU had "
		 "work queued all that time, it cost nothing.",
	.remedy = "Ask who sends these signals why.",
	RULE_SETTINGS(settings),
	.kinds = {KIND_signal, KIND_exit, 0},
	.state_size = sizeof(struct stopped_state),
	.groups = {{offsetof(struct stopped_state, processes), sizeof(struct stopped_process), STOPPED_PROCESSES_MAX,
		    0}},
	.feed = stopped_feed,
	.finish = stopped_finish,
};
