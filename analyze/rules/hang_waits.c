// SPDX-License-Identifier: Apache-2.0
#include "analyze/rules/hang_waits.h"

#include "analyze/stats/callsite.h"
#include "analyze/stats/top_threads.h"
#include "replay/model/enum_names.h"

#define SLEEPS_KEPT 64 /* of a thread, the latest */
#define FOLLOWED_MAX 8 /* from one that waits to the next */
#define MOST 90        /* percent of the time since, as far as it is known */
#define JUST_BEFORE_NS 1000000000

/* What a thread slept in that others end. */
struct sleeps {
	uint64_t now_ns;
	struct span open; /* it has not ended; STATE_UNKNOWN: none */
	struct {
		uint32_t waker; /* TID_NONE: no thread */
		uint16_t syscall;
	} last[SLEEPS_KEPT];
	unsigned n;
};

static void keep_sleep(void *arg, const struct span *piece)
{
	struct sleeps *s = arg;

	if (piece->state != STATE_ASLEEP || piece->flags & (SPAN_FAULT | SPAN_IO | SPAN_TIMED_OUT | SPAN_TIMER) ||
	    piece->task_state & TASK_UNINTERRUPTIBLE_BIT || !piece->syscall)
		return;
	if (!(piece->flags & SPAN_WOKEN) && piece->end_ns >= s->now_ns) {
		s->open = *piece;
		return;
	}
	s->last[s->n % SLEEPS_KEPT].waker = woken_by_task(piece) ? piece->other_tid : TID_NONE;
	s->last[s->n % SLEEPS_KEPT].syscall = piece->syscall;
	s->n++;
}

static void sleeps_of(struct sleeps *s, const struct context *ctx, uint32_t tid)
{
	*s = (struct sleeps){.now_ns = ctx->now_ns, .open = {.state = STATE_UNKNOWN}};
	timeline_walk(ctx->timeline, tid, ctx->begin_ns, ctx->now_ns, keep_sleep, s);
}

/* Who ended the latest `wakes` sleeps of it in the system call that it sleeps in; TID_NONE: not one alone. */
static uint32_t usual_waker(const struct sleeps *s, uint64_t wakes)
{
	uint32_t waker = TID_NONE;
	uint64_t n = 0;

	for (unsigned i = s->n; i > 0 && s->n - i < SLEEPS_KEPT && n < wakes; i--) {
		if (s->last[(i - 1) % SLEEPS_KEPT].syscall != s->open.syscall)
			continue;
		if (n++ && s->last[(i - 1) % SLEEPS_KEPT].waker != waker)
			return TID_NONE;
		waker = s->last[(i - 1) % SLEEPS_KEPT].waker;
	}
	return n == wakes && waker != TID_IDLE ? waker : TID_NONE;
}

/* --- what became of the one that should come --- */

struct doing {
	uint64_t ran_ns, ready_ns, kernel_ns, known_ns;
};

static void add_doing(void *arg, const struct span *piece)
{
	struct doing *d = arg;
	uint64_t ns = piece->end_ns - piece->begin_ns;

	d->known_ns += piece->state == STATE_UNKNOWN ? 0 : ns;
	if (piece->state == STATE_RUNNING)
		d->ran_ns += ns;
	else if (piece->state == STATE_RUNNABLE)
		d->ready_ns += ns;
	else if (piece->state == STATE_ASLEEP &&
		 (piece->flags & SPAN_IO || piece->task_state & TASK_UNINTERRUPTIBLE_BIT))
		d->kernel_ns += ns;
}

/* Of a thread with so many changes of state that the timeline keeps few of them the ledger knows more. */
static void ask_ledger(struct doing *d, const struct context *ctx, uint32_t tid, uint64_t since_ns)
{
	uint64_t ns[LEDGER_PARTS], first_ns = ledger_spent(ctx->ledger, tid, since_ns, ns);

	if (first_ns == NO_TIME || ctx->now_ns - first_ns < d->known_ns + ns[LEDGER_UNKNOWN])
		return;
	d->known_ns = ctx->now_ns - first_ns - ns[LEDGER_UNKNOWN];
	d->ran_ns = ns[LEDGER_OWN] + ns[LEDGER_CALLS] + ns[LEDGER_FIRST];
	d->ready_ns = ns[LEDGER_CPU] + ns[LEDGER_QUOTA];
	d->kernel_ns = ns[LEDGER_DEVICE] + ns[LEDGER_KERNEL];
}

/*
 * That one ended is why the other one waits if it did not end well; or it is of the same process, or was started by it,
 * and ended when the other one waited for it, or just before.
 */
static bool ended_badly(const struct context *ctx, const struct thread *whom, uint64_t process, uint64_t since_ns)
{
	const struct tasks *tasks = &ctx->names->tasks;
	const struct process *p = whom->process ? &tasks->processes[whom->process] : NULL;

	if (p && p->end_ns != NO_TIME && p->status)
		return true;
	return whom->process && tasks_descends(tasks, whom->process, (uint32_t)process) &&
	       whom->end_ns + JUST_BEFORE_NS >= since_ns;
}

/* Sets w->fate, and w->known_ns. */
static void find_fate(struct hang_wait *w, const struct context *ctx, const struct moments *moments)
{
	const struct thread *whom = tasks_find_thread(&ctx->names->tasks, w->whom);
	const struct thread_moments *at = table_find(&moments->threads, w->whom, 0);
	struct doing d = {0};

	if (!whom)
		return;
	if (whom->end_ns != NO_TIME) {
		w->fate = ended_badly(ctx, whom, w->process, w->since_ns) ? FATE_ENDED : FATE_NONE;
		return;
	}
	if (!at || !at->end.known) /* it is not recorded */
		return;
	timeline_walk(ctx->timeline, w->whom, w->since_ns, ctx->now_ns, add_doing, &d);
	ask_ledger(&d, ctx, w->whom, w->since_ns);
	w->known_ns = d.known_ns;
	if (at->end.state == THREAD_STOPPED || at->end.state == THREAD_TRACED)
		w->fate = FATE_STOPPED;
	else if (d.known_ns && d.ran_ns + d.ready_ns >= d.known_ns / 100 * MOST)
		w->fate = d.ran_ns >= d.ready_ns ? FATE_BUSY : FATE_NO_CPU;
	else if (at->end.state == THREAD_UNINTERRUPTIBLE && d.kernel_ns >= d.known_ns / 100 * MOST)
		w->fate = FATE_KERNEL;
}

/* From the one that waits to the one that it waits for, which may wait itself. */
static void follow(struct hang_wait *w, const struct context *ctx, const struct moments *moments, struct sleeps *s,
		   uint64_t wakes)
{
	w->since_ns = w->begin_ns;
	for (unsigned n = 0; n < FOLLOWED_MAX && s->open.state == STATE_ASLEEP && w->fate == FATE_NONE; n++) {
		w->whom = usual_waker(s, wakes);
		if (n == 0)
			w->first = w->whom;
		if (w->whom == TID_NONE || w->whom == w->tid)
			return;
		if (s->open.begin_ns > w->since_ns)
			w->since_ns = s->open.begin_ns;
		find_fate(w, ctx, moments);
		sleeps_of(s, ctx, w->whom);
	}
}

void hang_waits_take(struct hang_waits *w, const struct context *ctx, const struct moments *moments,
		     const struct ledger_thread *t, uint64_t min_ns, uint64_t wakes)
{
	const struct thread_moments *at = table_find(&moments->threads, t->key.a, 0);
	struct hang_wait one = {.process = t->key.b % LEDGER_AGAIN, .tid = as_tid(t->key.a), .nthreads = 1};
	struct sleeps s;

	if (!at || !at->end.known || at->end.state != THREAD_SLEEPING)
		return;
	sleeps_of(&s, ctx, one.tid);
	if (s.open.state != STATE_ASLEEP || ctx->now_ns - s.open.begin_ns < min_ns)
		return;
	one.begin_ns = s.open.begin_ns;
	follow(&one, ctx, moments, &s, wakes);
	if (one.fate == FATE_NONE)
		return;
	for (size_t i = 0; i < w->n; i++)
		if (w->all[i].process == one.process && w->all[i].whom == one.whom) {
			w->all[i].nthreads++;
			return;
		}
	if (w->n < HANG_WAITS_MAX)
		w->all[w->n++] = one;
	else
		w->nbeyond++;
}

/* --- reports --- */

static void syscall_add(struct text *t, const struct context *ctx, uint64_t syscall)
{
	const char *name = syscall ? syscall_name(ctx->names->machine, syscall - 1) : NULL;

	if (name)
		text_add(t, " in system call %s", name);
	else if (syscall)
		text_add(t, " in system call %llu", (unsigned long long)(syscall - 1));
}

static void fate_add(struct text *t, const struct context *ctx, const struct moments *moments,
		     const struct hang_wait *w)
{
	const struct thread *whom = tasks_find_thread(&ctx->names->tasks, w->whom);
	const struct thread_moments *at = table_find(&moments->threads, w->whom, 0);
	const struct process *p = names_instance(ctx->names, whom->process);
	char words[STATUS_WORDS];

	switch (w->fate) {
	case FATE_ENDED:
		text_add(t, "ended ");
		text_add_ns(t, ctx->now_ns - whom->end_ns);
		text_add(t, " before that");
		if (p && p->end_ns != NO_TIME)
			text_add(t, " (%s)", status_words(words, p->status));
		break;
	case FATE_STOPPED:
		text_add(t, at->end.state == THREAD_TRACED ? "was held by a debugger" : "was stopped by a signal");
		break;
	case FATE_KERNEL:
		text_add(t, "slept in the kernel, where no signal wakes it,");
		syscall_add(t, ctx, at->end.syscall);
		break;
	default:
		text_add(t, w->fate == FATE_BUSY ? "was at work" : "waited for a CPU");
		if (w->known_ns / MOST >= (ctx->now_ns - w->since_ns) / 100) {
			text_add(t, " all that time");
			break;
		}
		text_add(t, " for the last ");
		text_add_ns(t, w->known_ns);
		text_add(t, ", as far back as is known");
		break;
	}
}

static const char *advice_for(enum fate fate)
{
	switch (fate) {
	case FATE_ENDED:
		return "Find why it ended, and let who waits for it notice that: a time limit, a pipe of which nobody "
		       "else has the other end, a watchdog";
	case FATE_STOPPED:
		return "Find who stopped it, and let it go on (SIGCONT)";
	case FATE_KERNEL:
		return "See what it waits for in the kernel: a disk, a file server (dmesg, /proc/PID/stack)";
	case FATE_NO_CPU:
		return "Give it a CPU (cpuset, taskset, priority), or start fewer threads";
	default:
		return "See what it works on (perf record on that thread, a debugger): one piece that takes long, or a "
		       "loop that does not end";
	}
}

static void report(const struct hang_wait *w, const struct context *ctx, const struct moments *moments,
		   struct findings *out)
{
	struct finding *f = rule_finding(out, &hang_rule, "wait", CONFIDENCE_MEDIUM);
	const struct thread_moments *at = table_find(&moments->threads, w->tid, 0);
	uint64_t ns = ctx->now_ns - w->begin_ns;
	struct roster waiters = {0}, whom = {0};
	struct who first;

	/* Who is at work may be meant to be, and the other one to idle meanwhile. */
	if (w->fate == FATE_BUSY || w->fate == FATE_NO_CPU)
		f->severity = SEVERITY_WARNING;
	f->process = w->process;
	f->tid = w->nthreads == 1 ? w->tid : 0;
	f->stack = at->end.stack;
	f->weight = ns;
	f->unit = WEIGHT_NS;
	f->count = w->nthreads;
	f->first[0] = (struct occurrence){w->begin_ns, ctx->now_ns, w->tid, w->whom, TID_NONE};
	f->nfirst = 1;
	roster_add_thread(&waiters, ctx->names, w->tid, ns);
	roster_add_thread(&whom, ctx->names, w->whom, ns);
	roster_give(&waiters, PART_WAITER, f);
	roster_give(&whom, PART_WAKER, f);
	text_add_who(&f->headline, roster_first(&waiters));
	text_add(&f->headline, ", which feeds the GPU, had slept");
	syscall_add(&f->headline, ctx, at->end.syscall);
	text_add(&f->headline, " for ");
	text_add_ns(&f->headline, ns);
	text_add(&f->headline, " when recording ended");
	if (w->nthreads > 1)
		text_add(&f->headline, ", and so had %llu more of its process", (unsigned long long)(w->nthreads - 1));
	text_add(&f->headline, ": ");
	names_who(ctx->names, w->first, &first);
	text_add_who(&f->headline, &first);
	text_add(&f->headline, ", for which it had waited there before, ");
	if (w->first != w->whom) {
		text_add(&f->headline, "waited itself, in the end for ");
		text_add_who(&f->headline, roster_first(&whom));
		text_add(&f->headline, ", which ");
	}
	fate_add(&f->headline, ctx, moments, w);
	text_add(&f->sure,
		 "Medium confidence: that the one ended its waits before is certain; whether this wait is for the same "
		 "is not known");
	text_add(&f->advice, "%s", advice_for(w->fate));
	finding_number(f, "threads", w->nthreads);
	finding_number(f, "since_ns", w->begin_ns);
}

void hang_waits_report(const struct hang_waits *w, const struct context *ctx, const struct moments *moments,
		       struct findings *out)
{
	for (size_t i = 0; i < w->n; i++)
		report(&w->all[i], ctx, moments, out);
}
