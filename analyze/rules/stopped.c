// SPDX-License-Identifier: Apache-2.0
/*
 * Threads that feed the GPU and were stopped for a good part of their time: by signals that a process sent or that the
 * kernel did for a terminal, of which what the recorder stops, to attach, has none; by a tracer; or frozen with their
 * control group.
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
	uint64_t stops; /* of these threads */
};

/* Threads of a process that were traced, or frozen, or stopped and for most of that no signal is known. */
struct halt {
	struct table_key key; /* a: process instance, b: enum ledger_stop */
	struct lost_part lost;
	uint64_t signalled_ns;    /* they were stopped, and not traced or frozen */
	uint64_t count, known_ns; /* how often; for how long it is known who let them go on, */
	struct roster wakers;     /* those */
};

struct stopped_state {
	struct groups processes, halts;
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

struct joining {
	struct stopped_state *state;
	const uint64_t *set;
};

static uint64_t stopped_ns(const struct ledger_thread *t, enum ledger_stop how)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < t->stops.n; i++)
		ns += t->stops.all[i].part == how ? t->stops.all[i].ns : 0;
	return ns;
}

/* Half of that time or more is known. */
static bool explains(uint64_t known_ns, uint64_t ns)
{
	return known_ns && known_ns >= ns / 2;
}

static void add_waker(struct halt *h, const struct context *ctx, const struct waited_for *w)
{
	struct who who;

	h->count += w->count;
	if (w->whom.tid == TID_NONE || w->whom.tid == TID_IDLE)
		return;
	h->known_ns += w->ns;
	names_who_was(ctx->names, w->whom.tid, w->whom.thread, &who);
	roster_add_times(&h->wakers, &who, w->ns, w->count);
}

static void join_halt(struct stopped_state *s, const struct context *ctx, const struct ledger_thread *t,
		      enum ledger_stop how, uint64_t ns)
{
	struct halt *h = groups_get(&s->halts, t->key.b % LEDGER_AGAIN, how);

	if (!h)
		return;
	lost_part_join_some(&h->lost, ctx, t, LEDGER_STOPPED, ns);
	h->signalled_ns += stopped_ns(t, STOP_SIGNALLED);
	for (size_t i = 0; i < t->stops.n; i++)
		if (t->stops.all[i].part == how)
			add_waker(h, ctx, &t->stops.all[i]);
}

static void join_signalled(struct stopped_process *p, const struct context *ctx, const struct ledger_thread *t,
			   uint64_t ns)
{
	lost_part_join_some(&p->lost, ctx, t, LEDGER_STOPPED, ns);
	for (size_t i = 0; i < t->stops.n; i++)
		p->stops += t->stops.all[i].part == STOP_SIGNALLED ? t->stops.all[i].count : 0;
}

static void join(void *self, const struct context *ctx, const struct ledger_thread *t)
{
	const struct joining *j = self;
	uint64_t instance = t->key.b % LEDGER_AGAIN;
	struct stopped_process *p = groups_find(&j->state->processes, instance, 0);

	for (unsigned how = 0; how < LEDGER_STOPS; how++) {
		uint64_t ns = stopped_ns(t, (enum ledger_stop)how);

		if (!lost_part_lasts(t, ns, j->set))
			continue;
		if (how == STOP_SIGNALLED && p && explains(p->ns, ns))
			join_signalled(p, ctx, t, ns);
		else if (how != STOP_SIGNALLED || !explains(names_held_ns(ctx->names, instance), ns))
			join_halt(j->state, ctx, t, (enum ledger_stop)how, ns);
	}
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

/* The signals account for the time, and for no other; or each of them stopped each thread, which may take a moment. */
static bool is_sure(const struct stopped_process *p)
{
	uint64_t each_ns = p->lost.lost_ns / p->lost.nthreads;

	return p->ns >= each_ns / 10 * 9 && (p->ns <= each_ns / 10 * 11 || p->stops == p->count * p->lost.nthreads);
}

static void report(const struct stopped_process *p, struct findings *out)
{
	bool sent = p->sent_ns > p->ns / 2, sure = is_sure(p);
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

static const struct {
	const char *class, *words, *by, *advice;
	uint8_t waker; /* enum part_played: by who let it go on */
} halts[LEDGER_STOPS] = {
	[STOP_SIGNALLED] = {"unknown", "stopped", "", "Find who stops it, and why: who lets it go on may know",
			    PART_WAKER},
	[STOP_TRACED] =
		{"traced", "stopped", " by a tracer (ptrace)",
		 "Detach the tracer (strace, gdb), or let it stop the program less often: each system call that "
		 "strace follows is two stops",
		 PART_KEEPER},
	[STOP_FROZEN] =
		{"frozen", "frozen with its control group", "",
		 "Find who freezes its control group, and why: a scheduler that suspends jobs, a container that "
		 "is paused, a snapshot",
		 PART_WAKER},
};

static void halt_headline(const struct halt *h, struct finding *f)
{
	const struct who *waker = roster_first(&h->wakers);

	text_add(&f->headline, " %s %s for ", h->lost.nthreads > 1 ? "were" : "was", halts[h->key.b].words);
	text_add_ns(&f->headline, h->lost.lost_ns);
	lost_part_add_share(&h->lost, &f->headline);
	text_add(&f->headline, ", %llu time%s%s", (unsigned long long)h->count, plural(h->count), halts[h->key.b].by);
	if (!waker)
		return;
	text_add(&f->headline, ", let go on by ");
	text_add_who(&f->headline, waker);
	if (h->wakers.n > 1)
		text_add(&f->headline, " and others");
}

/* signals_ns: for how long signals stopped the process. Whether it is sure who halted the threads; else why not. */
static bool halt_is_sure(const struct halt *h, uint64_t signals_ns, struct text *doubt)
{
	if (h->key.b == STOP_SIGNALLED && !signals_ns) {
		text_add(doubt, "Medium confidence: no row reports a signal that stopped it");
	} else if (h->key.b == STOP_SIGNALLED) {
		text_add(doubt, "Medium confidence: signals account for ");
		text_add_ns(doubt, signals_ns);
		text_add(doubt, " of that time");
	} else if (h->known_ns < h->lost.lost_ns / 10 * 9) {
		text_add(doubt, "Medium confidence: who let it go on is not known of all that time");
	} else if (signals_ns > (h->signalled_ns + h->lost.lost_ns / 10) / h->lost.nthreads) {
		text_add(doubt, "Medium confidence: for some of that time a signal had stopped it, too");
	} else {
		return true;
	}
	return false;
}

static void report_halt(const struct halt *h, uint64_t signals_ns, struct findings *out)
{
	struct finding *f =
		lost_part_finding(&h->lost, h->key.a, &stopped_rule, halts[h->key.b].class, CONFIDENCE_HIGH, out);

	if (!halt_is_sure(h, signals_ns, &f->sure))
		f->confidence = CONFIDENCE_MEDIUM;
	f->count = h->count;
	roster_give(&h->wakers, halts[h->key.b].waker, f);
	halt_headline(h, f);
	text_add(&f->advice, "%s", halts[h->key.b].advice);
	finding_number(f, "stops", h->count);
	gpu_price_give(&h->lost.price, f);
}

/* That finding is about such stops, by its longest; or that is not known. */
static bool is_about(const struct finding *f, enum ledger_stop how)
{
	const struct part *p = f->nworst ? split_longest(&f->worst[0].why->cause.links[0], CAUSE_STOPPED) : NULL;

	return !p || p->joined || ledger_stop_of(p->flags, p->task_state) == how;
}

/* Another rule has most of that time: a single stop, in a call or between two; not a stop of who is waited for. */
static bool is_known(uint64_t process, enum ledger_stop how, uint64_t lost_ns, const struct findings *out)
{
	for (size_t i = 0; i < out->n; i++) {
		const struct finding *f = out->all[i];

		if (f->process == process && f->unit == WEIGHT_NS && f->weight >= lost_ns / 2 &&
		    strcmp(f->class, "stopped") == 0 && strcmp(f->rule, starved_rule.name) != 0 &&
		    strcmp(f->rule, stopped_rule.name) != 0 && is_about(f, how))
			return true;
	}
	return false;
}

static void stopped_finish(void *state, const struct context *ctx, const uint64_t *set, struct findings *out)
{
	struct stopped_state *s = state;
	struct joining j = {s, set};

	for (size_t i = 0; i < s->processes.table.nitems; i++)
		go_on(groups_at(&s->processes, i), ctx->ledger->over_ns);
	lost_part_threads(ctx, LEDGER_STOPPED, set, join, &j);
	out->failed |= s->processes.error != 0 || s->halts.error != 0;
	for (size_t i = 0; i < s->processes.table.nitems; i++) {
		const struct stopped_process *p = groups_at(&s->processes, i);

		if (p->lost.nthreads && !is_known(p->key.a, STOP_SIGNALLED, p->lost.lost_ns, out))
			report(p, out);
	}
	for (size_t i = 0; i < s->halts.table.nitems; i++) {
		const struct halt *h = groups_at(&s->halts, i);
		const struct stopped_process *p = groups_find(&s->processes, h->key.a, 0);

		if (!is_known(h->key.a, (enum ledger_stop)h->key.b, h->lost.lost_ns, out))
			report_halt(h, p ? p->ns : 0, out);
	}
	findings_add_limit(out, stopped_rule.name, s->processes.nskipped + s->halts.nskipped, "processes");
}

const struct rule stopped_rule = {
	.name = "stopped",
	.severity = SEVERITY_WARNING,
	.summary = "threads that feed the GPU and were stopped, traced or frozen for much of their time",
	.meaning =
		"A process sent signals that stop the one that feeds the GPU, or a terminal did; a tracer (strace, gdb) "
		"stopped it; or its control group was frozen: meanwhile it launched nothing.",
	.wrong = "They may mean to: a person, a debugger, a scheduler that suspends jobs. Where the GPU had work "
		 "queued all that time, it cost nothing.",
	.remedy = "Ask who sends these signals why; detach the tracer; find who freezes the control group.",
	RULE_SETTINGS(settings),
	.kinds = {KIND_signal, KIND_exit, 0},
	.state_size = sizeof(struct stopped_state),
	.groups = {{offsetof(struct stopped_state, processes), sizeof(struct stopped_process), STOPPED_PROCESSES_MAX,
		    0},
		   {offsetof(struct stopped_state, halts), sizeof(struct halt), STOPPED_PROCESSES_MAX, 0}},
	.feed = stopped_feed,
	.finish = stopped_finish,
};
