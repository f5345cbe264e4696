// SPDX-License-Identifier: Apache-2.0
/* Processes that a signal ended, and who waited for them then. */
#include "analyze/stats/callsite.h"
#include "analyze/stats/top_threads.h"
#include "replay/model/enum_names.h"

#define DEATHS_MAX 64
#define SENT_MAX 4096 /* processes of which the latest signal is kept */

enum { SET_SOON };

static const struct setting settings[] = {
	[SET_SOON] = {"soon", SETTING_NS, 10000000000, 1000, 1000000000000,
		      "a process that waited for it and ends within this time may have ended for it: that is reported, "
		      "too"},
};

enum sort {
	SORT_CRASH, /* the process did what it may not */
	SORT_ABORT, /* it ended itself so */
	SORT_KILL   /* another signal ended it */
};

struct sent {
	struct table_key key; /* a: pid */
	uint64_t signal;
	bool by_process; /* else by the kernel, or that is not known */
	struct who sender;
	uint32_t sender_process; /* its instance; 0: not known */
};

struct death {
	uint64_t at_ns, status;
	struct who who;
	uint32_t process; /* its instance */
	bool fed;         /* a thread of it fed the GPU; */
	bool served;      /* or one of a process that it descends from */
	struct sent sent; /* the signal that did it; zeroed: not known */
	/* Who feeds the GPU and waited for it: */
	struct roster waiters;
	uint64_t waited_ns, waiter; /* the longest; the instance of that one's process */
};

struct died_state {
	struct death all[DEATHS_MAX];
	uint64_t n;
	struct groups sent;
	struct groups oom; /* a: pid */
};

static enum sort sort_of(uint64_t status)
{
	switch (status & 127) {
	case 4:  /* SIGILL */
	case 5:  /* SIGTRAP */
	case 7:  /* SIGBUS */
	case 8:  /* SIGFPE */
	case 11: /* SIGSEGV */
	case 31: /* SIGSYS */
		return SORT_CRASH;
	case 6: /* SIGABRT */
		return SORT_ABORT;
	default:
		return SORT_KILL;
	}
}

static int take_signal(struct died_state *s, const struct context *ctx, const struct event *ev)
{
	struct sent *sent = groups_get(&s->sent, ev->v[F_signal_pid], 0);
	const struct thread *sender = tasks_find_thread(&ctx->names->tasks, as_tid(ev->v[F_signal_sender_tid]));

	if (!sent)
		return s->sent.error;
	sent->signal = ev->v[F_signal_signal];
	sent->by_process = signal_is_sent(ev);
	names_who(ctx->names, ev->v[F_signal_sender_tid], &sent->sender);
	sent->sender_process = sender ? sender->process : 0;
	return 0;
}

/* A process sent it that is neither the one that it ends nor one that this descends from: those mean to. */
static bool is_strange(const struct sent *sent, uint32_t process, const struct context *ctx)
{
	return sent->by_process && sent->sender_process &&
	       !tasks_descends(&ctx->names->tasks, process, sent->sender_process);
}

static int take_exit(struct died_state *s, const struct context *ctx, const struct event *ev)
{
	const struct process *p = names_process(ctx->names, ev->v[F_exit_pid], ev->at_ns);
	uint64_t pid = ev->v[F_exit_pid], status = ev->v[F_exit_code];
	const struct sent *known = groups_find(&s->sent, pid, 0);
	struct sent sent = {0};
	struct death *d;

	if (!ev->v[F_exit_last] || !(status & 127) || !p || groups_find(&s->oom, pid, 0)) /* see rule oom */
		return 0;
	if (known && known->signal == (status & 127))
		sent = *known;
	if (sort_of(status) == SORT_KILL && !is_strange(&sent, p->number, ctx))
		return 0;
	if (s->n++ >= DEATHS_MAX)
		return 0;
	d = &s->all[s->n - 1];
	*d = (struct death){.at_ns = ev->at_ns, .status = status, .process = p->number, .sent = sent};
	names_who(ctx->names, pid, &d->who);
	return 0;
}

static int died_feed(void *state, const struct context *ctx, const uint64_t *set, const struct event *ev)
{
	struct died_state *s = state;

	(void)set;
	if (ev->kind == KIND_signal)
		return take_signal(s, ctx, ev);
	if (ev->kind == KIND_oom)
		return groups_get(&s->oom, ev->v[F_oom_pid], 0) ? 0 : s->oom.error;
	return take_exit(s, ctx, ev);
}

/* How long a thread waited for the one that died, by the ledger. */
static uint64_t waited_ns(const struct ledger_thread *t, const struct death *d, const struct context *ctx)
{
	uint64_t ns = 0;

	for (size_t k = 0; k < t->waited.n; k++) {
		const struct waited_for *w = &t->waited.all[k];

		if (w->part == LEDGER_TASK && w->whom.thread &&
		    ctx->names->tasks.threads[w->whom.thread].process == d->process)
			ns += w->ns;
	}
	return ns;
}

/* Whether it fed the GPU; and who did that waited for it, or that it descends from. */
static void find_feeders(struct death *d, const struct context *ctx)
{
	for (size_t i = 0; i < ctx->ledger->threads.nitems; i++) {
		const struct ledger_thread *t = (const struct ledger_thread *)ctx->ledger->threads.items[i];
		uint32_t process = (uint32_t)(t->key.b % LEDGER_AGAIN);
		uint64_t ns = t->nfed && process != d->process ? waited_ns(t, d, ctx) : 0;

		d->fed |= t->nfed && process == d->process;
		d->served |= t->nfed && tasks_descends(&ctx->names->tasks, d->process, process);
		if (!ns)
			continue;
		roster_add_thread(&d->waiters, ctx->names, t->key.a, ns);
		if (ns > d->waited_ns) {
			d->waited_ns = ns;
			d->waiter = process;
		}
	}
}

static bool matters(const struct death *d)
{
	return sort_of(d->status) != SORT_KILL || d->fed || d->waited_ns;
}

static const char *advice_for(enum sort sort)
{
	switch (sort) {
	case SORT_CRASH:
		return "Find where it crashed: its core dump, or run it under a debugger. SIGBUS often means that shared "
		       "memory (/dev/shm) or a disk was full";
	case SORT_ABORT:
		return "See what it wrote last: a failed assertion, an exception that nobody caught, or damaged memory";
	default:
		return "Ask who sends it why";
	}
}

/* What became of one that waited for it, soon after. */
static void add_after(struct text *t, const struct death *d, const struct context *ctx, const uint64_t *set)
{
	const struct process *p = names_instance(ctx->names, d->waiter);
	char words[STATUS_WORDS];

	if (!p || p->end_ns == NO_TIME || p->end_ns < d->at_ns || p->end_ns - d->at_ns > set[SET_SOON] || !p->status)
		return;
	text_add(t, ", and ended ");
	text_add_ns(t, p->end_ns - d->at_ns);
	text_add(t, " later, %s", status_words(words, p->status));
}

static void report(const struct death *d, const struct context *ctx, const uint64_t *set, struct findings *out)
{
	static const char *const classes[] = {
		[SORT_CRASH] = "crashed", [SORT_ABORT] = "aborted", [SORT_KILL] = "killed"};
	enum sort sort = sort_of(d->status);
	struct finding *f = rule_finding(out, &died_rule, classes[sort], CONFIDENCE_HIGH);
	char words[STATUS_WORDS];
	struct roster dead = {0};

	if (!d->fed && !d->served && !d->waited_ns)
		f->severity = SEVERITY_WARNING;
	f->process = d->process;
	f->count = 1;
	f->first[0] = (struct occurrence){d->at_ns, d->at_ns, d->who.tid, TID_NONE, TID_NONE};
	f->nfirst = 1;
	roster_add(&dead, &d->who, 0);
	roster_give(&d->waiters, PART_WAITER, f);
	roster_give(&dead, PART_WAKER, f);
	text_add_who(&f->headline, &d->who);
	text_add(&f->headline, " was %s, ", status_words(words, d->status));
	text_add_ns(&f->headline, d->at_ns > ctx->begin_ns ? d->at_ns - ctx->begin_ns : 0);
	text_add(&f->headline, " after recording began");
	if (d->sent.by_process && d->sent.sender_process != d->process) {
		text_add(&f->headline, "; ");
		text_add_who(&f->headline, &d->sent.sender);
		text_add(&f->headline, " sent it");
	}
	if (d->waited_ns) {
		text_add(&f->headline, "; ");
		text_add_who(&f->headline, roster_first(&d->waiters));
		text_add(&f->headline, ", which feeds the GPU, waited for it ");
		text_add_ns(&f->headline, d->waited_ns);
		text_add(&f->headline, " in all");
		add_after(&f->headline, d, ctx, set);
	}
	text_add(&f->sure, "High confidence: the kernel reported how it ended");
	text_add(&f->cost, "%s",
		 d->fed         ? "It fed the GPU"
		 : d->waited_ns ? "Who waited for its work feeds the GPU"
		 : d->served    ? "A process that it descends from feeds the GPU, and may have needed it"
				: "Nobody who feeds the GPU is known to have needed it");
	text_add(&f->advice, "%s", advice_for(sort));
	finding_number(f, "pid", d->who.tid);
	finding_number(f, "signal", d->status & 127);
	finding_number(f, "at_ns", d->at_ns);
	finding_number(f, "sender_tid", d->sent.by_process ? d->sent.sender.tid : 0);
}

static void died_finish(void *state, const struct context *ctx, const uint64_t *set, struct findings *out)
{
	struct died_state *s = state;

	for (uint64_t i = 0; i < s->n && i < DEATHS_MAX; i++) {
		find_feeders(&s->all[i], ctx);
		if (matters(&s->all[i]))
			report(&s->all[i], ctx, set, out);
	}
	findings_add_limit(out, died_rule.name, s->n > DEATHS_MAX ? s->n - DEATHS_MAX : 0, "ends of processes");
}

const struct rule died_rule = {
	.name = "died",
	.severity = SEVERITY_ERROR,
	.summary = "a process that a signal ended: it crashed, aborted, or was killed by a stranger",
	.meaning =
		"A recorded process crashed or aborted; or one that feeds the GPU, or that one waited for which does, was "
		"killed by a process that did not start it. A thread that waits for its work waits in vain.",
	.wrong = "A program may crash helpers on purpose, to find out what the host can do. Processes that their own "
		 "starters kill are not reported, nor those that the kernel killed because memory ran out: see oom.",
	.remedy = "By the signal: the crash's cause, what it wrote last, or who sent it.",
	RULE_SETTINGS(settings),
	.kinds = {KIND_exit, KIND_signal, KIND_oom, 0},
	.state_size = sizeof(struct died_state),
	.groups = {{offsetof(struct died_state, sent), sizeof(struct sent), SENT_MAX, 0},
		   {offsetof(struct died_state, oom), sizeof(struct table_key), SENT_MAX, 0}},
	.feed = died_feed,
	.finish = died_finish,
};
