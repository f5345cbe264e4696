// SPDX-License-Identifier: Apache-2.0
/*
 * What had not ended when recording did, and had lasted for most of it: GPU calls, with the rank that did not come to a
 * collective; locks of processes in which nobody is left who could release them; and other waits (hang_waits.h).
 */
#include <stdlib.h>

#include "analyze/facts/losses.h"
#include "analyze/rules/hang_waits.h"
#include "analyze/stats/callsite.h"
#include "analyze/stats/top_threads.h"
#include "format/base/units.h"
#include "replay/model/enum_names.h"

enum { SET_SHARE, SET_MIN, SET_WAKES };

static const struct setting settings[] = {
	[SET_SHARE] =
		{"share", SETTING_PERCENT, 50, 1, 100,
		 "of a thread's recorded time, that a call of it, or its wait for a lock, has taken when recording "
		 "ends"},
	[SET_MIN] = {"min", SETTING_NS, 1000000000, 1000, 1000000000000, "and no less than so much time"},
	[SET_WAKES] = {"wakes", SETTING_COUNT, 3, 1, 64,
		       "of a thread's latest sleeps in the system call that it sleeps in, so many must have been ended "
		       "by one other thread: only then is it known for whom it waits"},
};

#define PROCESSES_COMPARED_MAX 4096

struct member {
	struct table_key key; /* a: process instance */
	/* As a rank: */
	uint64_t nranks, rank; /* nranks 0: it is none that is known */
	uint64_t ncame, tid;   /* collectives that it began; who began the latest */
	/* Its threads in calls that last: */
	uint64_t nstuck, since_ns; /* since when they all are */
	uint64_t longest_ns, whole_ns;
	const struct thread_moments *longest;
	struct roster waiters;
	struct tally tally;
	/* All of its threads, when recording ended: */
	uint64_t nthreads, nlocked, locked_ns; /* locked: for so long all of these have waited for a lock of its own */
	const struct thread_moments *locked;   /* one of them */
};

struct hang_state {
	struct moments moments;
	struct groups members;
	struct hang_waits waits;
	struct explained scratch;
};

static void hang_close(void *state)
{
	struct hang_state *s = state;

	moments_clear(&s->moments);
}

static int take_collective(struct hang_state *s, const struct context *ctx, const struct event *ev)
{
	struct member *m;

	if (event_is_nested(ev) || !ctx->caller || ev->v[F_call_ret] != 0)
		return 0;
	m = groups_get(&s->members, ctx->caller->key.b, 0);
	if (!m)
		return s->members.error;
	if (ev->v[F_collective_nranks]) {
		m->nranks = ev->v[F_collective_nranks];
		m->rank = ev->v[F_collective_rank];
	} else if (ev->v[F_collective_count]) {
		m->ncame++;
	}
	m->tid = ev->v[F_call_tid];
	return 0;
}

static int hang_feed(void *state, const struct context *ctx, const uint64_t *set, const struct event *ev)
{
	struct hang_state *s = state;

	(void)set;
	return ev->kind == KIND_collective ? take_collective(s, ctx, ev) : moments_feed(&s->moments, ctx->schema, ev);
}

static bool lasts(uint64_t ns, uint64_t whole_ns, const uint64_t *set)
{
	return ns >= set[SET_MIN] && ns >= whole_ns / 100 * set[SET_SHARE];
}

/* --- calls that had not returned --- */

static void take_open_call(struct hang_state *s, const struct context *ctx, const struct ledger_thread *t,
			   const uint64_t *set, struct findings *out)
{
	const struct thread_moments *at = table_find(&s->moments.threads, t->key.a, 0);
	const struct probe *probe = at && at->calls ? schema_probe(ctx->schema, at->probe) : NULL;
	uint64_t ns = t->open_ns && t->open_ns < t->end_ns ? t->end_ns - t->open_ns : 0;
	struct member *m = probe ? groups_get(&s->members, t->key.b % LEDGER_AGAIN, 0) : NULL;

	if (!m)
		return;
	m->ncame += probe->kind == KIND_collective;
	if (!lasts(ns, t->end_ns - t->begin_ns, set))
		return;
	m->nstuck++;
	if (t->open_ns > m->since_ns)
		m->since_ns = t->open_ns;
	if (ns > m->longest_ns) {
		m->longest_ns = ns;
		m->longest = at;
		m->whole_ns = t->end_ns - t->begin_ns;
	}
	roster_add_thread(&m->waiters, ctx->names, t->key.a, ns);
	if (!tally_add_call(&m->tally, ctx->timeline, ctx->names, as_tid(t->key.a), t->open_ns, t->end_ns, &s->scratch))
		out->failed = true;
}

static void call_add(struct text *t, const struct hang_state *s, const struct context *ctx, const struct member *m)
{
	const struct frame *caller = NULL;

	text_add(t, "%s", call_name(ctx->schema, m->longest->probe));
	if (moments_call(&s->moments, ctx->schema, ctx->names, m->longest->end.stack, &caller) && caller &&
	    caller->symbol) {
		text_add(t, ", called by ");
		text_add_symbol(t, caller->symbol, caller->symbol_len);
		text_add(t, ",");
	}
}

static struct finding *report_call(struct member *m, const char *class, const struct context *ctx, struct findings *out)
{
	struct finding *f = rule_finding(out, &hang_rule, class, CONFIDENCE_MEDIUM);

	f->process = m->key.a;
	f->tid = m->nstuck == 1 ? m->longest->key.a : 0;
	f->probe = m->longest->probe;
	f->stack = m->longest->end.stack;
	f->weight = m->longest_ns;
	f->unit = WEIGHT_NS;
	roster_give(&m->waiters, PART_WAITER, f);
	finding_string(f, "function", call_name(ctx->schema, m->longest->probe));
	finding_number(f, "threads", m->nstuck);
	finding_number(f, "since_ns", m->since_ns);
	return f;
}

/* --- ranks --- */

/* Ranks of one set, as far as is known: as many as there can be of it. */
struct rank_set {
	uint64_t nranks, nknown, nstuck;
	uint64_t most;          /* collectives that one of them came to */
	uint64_t since_ns;      /* since when all that wait do */
	struct member *missing; /* came to the fewest; */
	uint64_t nbehind;       /* those that came to fewer than `most` */
	struct member *waits;   /* the one that waits longest */
	struct roster waiters;
};

static struct rank_set ranks_of(const struct hang_state *s, uint64_t nranks)
{
	struct rank_set c = {.nranks = nranks};

	for (size_t i = 0; i < s->members.table.nitems; i++) {
		struct member *m = groups_at(&s->members, i);

		if (m->nranks != nranks)
			continue;
		c.nknown++;
		c.most = m->ncame > c.most ? m->ncame : c.most;
		if (!c.missing || m->ncame < c.missing->ncame)
			c.missing = m;
		if (!m->nstuck)
			continue;
		c.nstuck++;
		c.since_ns = m->since_ns > c.since_ns ? m->since_ns : c.since_ns;
		roster_join(&c.waiters, &m->waiters);
		if (!c.waits || m->longest_ns > c.waits->longest_ns)
			c.waits = m;
	}
	for (size_t i = 0; i < s->members.table.nitems; i++) {
		const struct member *m = groups_at(&s->members, i);

		c.nbehind += m->nranks == nranks && m->ncame < c.most;
	}
	return c;
}

/* Where the ledger knows more of that than the timeline, which keeps less of a thread's past. */
static bool spent_add(struct text *t, const struct context *ctx, const struct rank_set *c, uint64_t unknown_ns)
{
	uint64_t ns[LEDGER_PARTS], first_ns = ledger_spent(ctx->ledger, c->missing->tid, c->since_ns, ns);
	const char *between = " spent ";

	if (first_ns == NO_TIME || first_ns - c->since_ns + ns[LEDGER_UNKNOWN] >= unknown_ns)
		return false;
	text_add(t, ", and of the last ");
	text_add_ns(t, ctx->now_ns - first_ns);
	for (unsigned p = 0; p < LEDGER_PARTS; p++) {
		if (ns[p] < (ctx->now_ns - first_ns) / 20)
			continue;
		text_add(t, "%s", between);
		text_add_ns(t, ns[p]);
		text_add(t, " %s", ledger_part_words((enum ledger_part)p));
		between = ", ";
	}
	return true;
}

/* What the missing one did while all others waited. */
static void missing_add(struct text *t, struct hang_state *s, const struct context *ctx, const struct rank_set *c)
{
	const struct process *p = names_instance(ctx->names, c->missing->key.a);
	char words[STATUS_WORDS];

	if (p && p->end_ns != NO_TIME) {
		text_add(t, ", and ended (%s)", status_words(words, p->status));
		return;
	}
	explain(&s->scratch, ctx->timeline, ctx->names, as_tid(c->missing->tid), c->since_ns, ctx->now_ns);
	if (!spent_add(t, ctx, c, s->scratch.cause.links[0].ns[CAUSE_UNKNOWN])) {
		text_add(t, ", and since spent ");
		text_add_cause(t, &s->scratch);
	}
}

static void report_missing(struct hang_state *s, struct rank_set *c, const struct context *ctx, struct findings *out)
{
	struct finding *f = report_call(c->waits, "missing-rank", ctx, out);
	struct roster missing = {0};

	f->process = c->missing->key.a;
	f->tid = c->missing->tid;
	f->stack = 0;
	f->nparties = 0;
	roster_give(&c->waiters, PART_WAITER, f);
	roster_add_thread(&missing, ctx->names, c->missing->tid, c->waits->longest_ns);
	roster_give(&missing, PART_WAKER, f);
	text_add(&f->headline, "%llu of %llu ranks had waited in ", (unsigned long long)c->nstuck,
		 (unsigned long long)c->nranks);
	call_add(&f->headline, s, ctx, c->waits);
	text_add(&f->headline, " for up to ");
	text_add_ns(&f->headline, c->waits->longest_ns);
	text_add(&f->headline, " when recording ended: rank %llu, ", (unsigned long long)c->missing->rank);
	process_add(&f->headline, ctx, c->missing->key.a);
	text_add(&f->headline, ", came to %llu collective%s, %s to %llu", (unsigned long long)c->missing->ncame,
		 plural(c->missing->ncame), c->nbehind > 1 ? "those" : "the others", (unsigned long long)c->most);
	if (c->nbehind > 1)
		text_add(&f->headline, " (%llu more came to fewer than that)", (unsigned long long)(c->nbehind - 1));
	missing_add(&f->headline, s, ctx, c);
	text_add(&f->sure, "Medium confidence: ranks are compared by how many collectives they began");
	text_add(&f->advice, "Look why that rank did not go on: what it waits for, an exception, or a branch that only "
			     "it took, so that it calls other collectives than the others");
	finding_number(f, "rank", c->missing->rank);
	finding_number(f, "nranks", c->nranks);
	finding_number(f, "came", c->missing->ncame);
	finding_number(f, "others_came", c->most);
	tally_give(&c->waits->tally, f);
}

/* All of its ranks are known, and what they came to. Several sets of as many cannot be told apart. */
static bool is_whole(const struct rank_set *c, const struct context *ctx)
{
	return c->nranks > 1 && c->nknown == c->nranks && !rows_missing(ctx, KIND_collective);
}

/* Those that wait do so for one that did not come. */
static bool is_missing(const struct rank_set *c, const struct context *ctx)
{
	return is_whole(c, ctx) && c->missing->ncame < c->most && !c->missing->nstuck && c->nstuck;
}

/* It waits in a call, and as far as is known for nobody in particular. */
static void report_alone(const struct hang_state *s, struct member *m, const struct rank_set *c,
			 const struct context *ctx, struct findings *out)
{
	struct finding *f = report_call(m, "call", ctx, out);

	text_add_who(&f->headline, roster_first(&m->waiters));
	text_add(&f->headline, " had been in ");
	call_add(&f->headline, s, ctx, m);
	text_add(&f->headline, " for ");
	text_add_ns(&f->headline, m->longest_ns);
	text_add(&f->headline, " (");
	share_add(&f->headline, m->longest_ns, m->whole_ns);
	text_add(&f->headline, " of its time) when recording ended");
	if (m->nstuck > 1)
		text_add(&f->headline, ", and %llu other thread%s of its process in such a call",
			 (unsigned long long)(m->nstuck - 1), plural(m->nstuck - 1));
	if (is_whole(c, ctx) && m->ncame == c->most)
		text_add(&f->headline, "; it came to as many collectives as any of its %llu ranks",
			 (unsigned long long)c->nranks);
	text_add(&f->sure,
		 "Medium confidence: that the call had not returned is certain; whether the GPU was at work on "
		 "it is not known");
	text_add(&f->advice,
		 "See what the GPU did (nvidia-smi, cuda-gdb): a kernel that does not end, or one that waits "
		 "for another GPU or rank");
	tally_give(&m->tally, f);
}

static void judge_calls(struct hang_state *s, const struct context *ctx, struct findings *out)
{
	for (size_t i = 0; i < s->members.table.nitems; i++) {
		struct member *m = groups_at(&s->members, i);
		struct rank_set c;

		if (!m->nstuck)
			continue;
		c = m->nranks ? ranks_of(s, m->nranks) : (struct rank_set){0};
		if (!is_missing(&c, ctx))
			report_alone(s, m, &c, ctx, out);
		else if (c.waits == m)
			report_missing(s, &c, ctx, out);
	}
}

/* --- locks that nobody can release --- */

static bool waits_for_its_own(const struct thread_moments *t)
{
	return !t->calls && t->end.state == THREAD_SLEEPING && t->futex_ns && t->futex_flags & FLIGHT_PRIVATE &&
	       t->futex_flags & FLIGHT_UNTIMED;
}

static void take_thread(struct hang_state *s, const struct context *ctx, const struct thread_moments *t)
{
	const struct process *p = names_process(ctx->names, t->pid, ctx->now_ns);
	struct member *m =
		p && t->end.known && t->end.state != THREAD_DEAD ? groups_get(&s->members, p->number, 0) : NULL;

	if (!m)
		return;
	m->nthreads++;
	if (!waits_for_its_own(t))
		return;
	if (!m->nlocked++ || t->futex_ns < m->locked_ns)
		m->locked_ns = t->futex_ns;
	if (!m->locked || t->futex_ns > m->locked->futex_ns)
		m->locked = t;
}

/* Which threads there were when recording ended, and what these waited in, is known of all. */
static bool knows_threads(const struct context *ctx)
{
	size_t len;

	return !rows_missing(ctx, KIND_state) && !rows_missing(ctx, KIND_in_flight) &&
	       !about_fact(&ctx->names->about, "states_beyond", &len) &&
	       !about_fact(&ctx->names->about, "states_unread", &len);
}

static void keep_sleep(void *arg, const struct span *piece)
{
	uint64_t *since_ns = arg;

	*since_ns = piece->state == STATE_ASLEEP ? piece->begin_ns : UINT64_MAX;
}

/* For how long the thread had slept when recording ended; 0: it did not. */
static uint64_t asleep_ns(const struct context *ctx, uint64_t tid)
{
	uint64_t since_ns = UINT64_MAX;

	timeline_walk(ctx->timeline, as_tid(tid), ctx->begin_ns, ctx->now_ns, keep_sleep, &since_ns);
	return since_ns < ctx->now_ns ? ctx->now_ns - since_ns : 0;
}

/* Threads that feed the GPU and slept, of the process itself and of those that it descends from. */
static uint64_t sleepers_of(struct roster *sleepers, const struct context *ctx, const struct member *m,
			    const uint64_t *set)
{
	uint64_t longest_ns = 0;

	for (size_t i = 0; i < ctx->ledger->threads.nitems; i++) {
		const struct ledger_thread *t = (const struct ledger_thread *)ctx->ledger->threads.items[i];
		uint64_t ns;

		if (!t->nfed || t->ended ||
		    !tasks_descends(&ctx->names->tasks, (uint32_t)m->key.a, (uint32_t)(t->key.b % LEDGER_AGAIN)))
			continue;
		ns = asleep_ns(ctx, t->key.a);
		if (ns < set[SET_MIN])
			continue;
		roster_add_thread(sleepers, ctx->names, t->key.a, ns);
		longest_ns = ns > longest_ns ? ns : longest_ns;
	}
	return longest_ns;
}

static void lock_add(struct text *t, const struct context *ctx, const struct member *m)
{
	struct who who;

	if (m->nthreads > 1) {
		text_add(t, "All %llu threads of ", (unsigned long long)m->nthreads);
		process_add(t, ctx, m->key.a);
	} else {
		names_who(ctx->names, m->locked->key.a, &who);
		text_add_who(t, &who);
	}
	text_add(t, " had waited for ");
	text_add_ns(t, m->locked_ns);
	text_add(t, " when recording ended, in %s that only a thread of the same process can release",
		 m->nthreads > 1 ? "locks" : "a lock");
	text_add(t, m->nthreads > 1 ? "" : ", and it has no other thread");
}

static void report_lock(const struct member *m, const struct roster *sleepers, uint64_t slept_ns,
			const struct context *ctx, struct findings *out)
{
	struct finding *f = rule_finding(out, &hang_rule, "lock", CONFIDENCE_MEDIUM);
	const struct who *first = roster_first(sleepers);
	struct roster locked = {0};

	f->process = m->key.a;
	f->tid = m->nthreads == 1 ? m->locked->key.a : 0;
	f->stack = m->locked->end.stack;
	f->weight = m->locked_ns;
	f->unit = WEIGHT_NS;
	f->count = m->nthreads;
	f->first[0] =
		(struct occurrence){ctx->now_ns - m->locked_ns, ctx->now_ns, m->locked->key.a, TID_NONE, TID_NONE};
	f->nfirst = 1;
	roster_add_thread(&locked, ctx->names, m->locked->key.a, m->locked_ns);
	roster_give(sleepers, PART_WAITER, f);
	roster_give(&locked, PART_WAKER, f);
	lock_add(&f->headline, ctx, m);
	if (first && names_process(ctx->names, first->pid, ctx->now_ns) != names_instance(ctx->names, m->key.a)) {
		text_add(&f->headline, "; ");
		text_add_who(&f->headline, first);
		text_add(&f->headline, ", which feeds the GPU and is an ancestor of it, slept for ");
		text_add_ns(&f->headline, slept_ns);
	}
	text_add(&f->sure,
		 "Medium confidence: that no thread can end these waits is certain; whether a signal was to do so "
		 "is not known");
	text_add(&f->advice, "%s",
		 m->nthreads == 1
			 ? "A lock that another thread of the parent holds during fork() is locked in the child "
			   "for ever: start workers before threads, or by 'spawn' or 'forkserver'"
			 : "See in which order the threads take their locks: view thread_states of 'gpureplay -o "
			   "x.db' has their stacks");
	finding_number(f, "threads", m->nthreads);
	finding_number(f, "locked_ns", m->locked_ns);
	finding_number(f, "slept_ns", slept_ns);
}

static void judge_locks(struct hang_state *s, const struct context *ctx, const uint64_t *set, struct findings *out)
{
	for (size_t i = 0; i < s->members.table.nitems; i++) {
		const struct member *m = groups_at(&s->members, i);
		const struct process *p = names_instance(ctx->names, m->key.a);
		uint64_t begin_ns = p && p->first_ns > ctx->begin_ns ? p->first_ns : ctx->begin_ns, slept_ns;
		struct roster sleepers = {0};

		if (!m->nthreads || m->nlocked < m->nthreads || !lasts(m->locked_ns, ctx->now_ns - begin_ns, set))
			continue;
		slept_ns = sleepers_of(&sleepers, ctx, m, set);
		if (slept_ns)
			report_lock(m, &sleepers, slept_ns, ctx, out);
	}
}

/* --- other waits --- */

static void judge_waits(struct hang_state *s, const struct context *ctx, const uint64_t *set, struct findings *out)
{
	for (size_t i = 0; i < ctx->ledger->threads.nitems; i++) {
		const struct ledger_thread *t = (const struct ledger_thread *)ctx->ledger->threads.items[i];
		const struct member *m = groups_find(&s->members, t->key.b % LEDGER_AGAIN, 0);
		uint64_t min_ns = (t->end_ns - t->begin_ns) / 100 * set[SET_SHARE];

		if (t->nfed && !t->ended && !t->open_ns && m && m->nlocked < m->nthreads)
			hang_waits_take(&s->waits, ctx, &s->moments, t, min_ns > set[SET_MIN] ? min_ns : set[SET_MIN],
					set[SET_WAKES]);
	}
	hang_waits_report(&s->waits, ctx, &s->moments, out);
}

static void hang_finish(void *state, const struct context *ctx, const uint64_t *set, struct findings *out)
{
	struct hang_state *s = state;

	for (size_t i = 0; i < ctx->ledger->threads.nitems; i++)
		take_open_call(s, ctx, (const struct ledger_thread *)ctx->ledger->threads.items[i], set, out);
	for (size_t i = 0; i < s->moments.threads.nitems; i++)
		take_thread(s, ctx, (const struct thread_moments *)s->moments.threads.items[i]);
	out->failed |= s->members.error != 0;
	judge_calls(s, ctx, out);
	if (knows_threads(ctx)) {
		judge_locks(s, ctx, set, out);
		judge_waits(s, ctx, set, out);
	}
	findings_add_limit(out, hang_rule.name, s->members.nskipped + s->waits.nbeyond, "calls and threads");
}

const struct rule hang_rule = {
	.name = "hang",
	.severity = SEVERITY_ERROR,
	.summary = "a GPU call or a wait that took most of the recording, and had not ended with it",
	.meaning =
		"A thread was in a GPU call for most of its recorded time when recording ended; of ranks, with the one "
		"that did not come to the collective that the others wait in. Or all threads of a process wait for "
		"locks that only they could release, while a thread that feeds the GPU sleeps. Or that one sleeps, and "
		"the thread for which it had waited there before ended, is stopped, or does something else since.",
	.wrong =
		"A kernel that runs that long is no hang, nor is a call that returned soon after recording ended. Ranks "
		"that use several communicators may come to different numbers of collectives by right.",
	.remedy =
		"By what it waits for: the rank that is missing; the order of locks; no fork() of a process with threads.",
	RULE_SETTINGS(settings),
	.kinds = {KIND_collective, KIND_state, KIND_in_flight, KIND_thread_stack, KIND_attach, 0},
	.state_size = sizeof(struct hang_state),
	.groups = {{offsetof(struct hang_state, members), sizeof(struct member), PROCESSES_COMPARED_MAX,
		    offsetof(struct member, tally)}},
	.close = hang_close,
	.feed = hang_feed,
	.finish = hang_finish,
};
