// SPDX-License-Identifier: Apache-2.0
#include "analyze/engine.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/facts/losses.h"
#include "replay/model/timeline_feed.h"

#define KINDS_SEEN 128 /* rows of kinds with greater numbers no rule knows */

struct engine {
	struct context ctx;
	struct settings settings;
	struct names names;
	struct timeline *timeline;
	struct calls calls;
	struct callers callers;
	struct ledger ledger;
	struct caller *caller; /* whose call is taken; NULL: see struct context */
	void *states[NRULES];
	struct route {
		int (*take)(struct engine *e, const struct event *ev, struct fault *why);
		bool texts; /* its rows have any that matter */
		uint8_t nlisteners;
		uint8_t nalways;     /* of them, from the first on: those that want to see usual rows, too */
		uint64_t unusual_ns; /* from when on a row is not: the least of what the others say */
		struct listener {
			int (*feed)(void *state, const struct context *ctx, const uint64_t *set,
				    const struct event *ev);
			void *state;
			const uint64_t *set;
			const struct rule *rule;
		} listeners[NRULES]; /* the rules that want to see them */
	} routes[KINDS_SEEN];        /* by kind; of KIND_epoch: what marks take */
	struct moment moment;
	uint64_t nevents;
	uint64_t end_ns; /* of the epochs seen */
};

static int may_run(void *arg, uint32_t tid, uint32_t cpu)
{
	struct engine *e = arg;
	const struct thread *thread = tasks_find_thread(&e->names.tasks, tid);

	return thread ? scheduling_may_run(&thread->scheduling, cpu) : -1;
}

static __attribute__((cold)) int no_memory(const struct rule *rule, struct fault *why)
{
	return fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "out of memory in rule %s", rule->name);
}

/* To the first so many that want to see such rows. */
static int to_some(struct engine *e, const struct route *route, const struct event *ev, unsigned n, struct fault *why)
{
	const struct listener *l = route->listeners, *end = l + n;

	for (; l < end; l++)
		if (l->feed(l->state, &e->ctx, l->set, ev) < 0)
			return no_memory(l->rule, why);
	return 0;
}

static __attribute__((noinline)) int to_rules(struct engine *e, const struct event *ev, struct fault *why)
{
	const struct route *route = &e->routes[ev->kind];

	return to_some(e, route, ev, route->nlisteners, why);
}

static int take_switch(struct engine *e, const struct event *ev, struct fault *why)
{
	const struct route *route = &e->routes[KIND_switch];
	int r = timeline_switch(e->timeline, ev->v, &e->ctx.waited_ns, why);

	if (r == 0)
		r = disk_waits_switch(&e->names.disks, ev->v, why);
	if (r < 0 || !e->ctx.waited_ns || (!route->nalways && e->ctx.waited_ns < route->unusual_ns))
		return r;
	return to_some(e, route, ev, e->ctx.waited_ns < route->unusual_ns ? route->nalways : route->nlisteners, why);
}

static int take_waking(struct engine *e, const struct event *ev, struct fault *why)
{
	int r = timeline_waking(e->timeline, ev->v, why);

	return r < 0 || !e->routes[KIND_waking].nlisteners ? r : to_rules(e, ev, why);
}

/* What only the timeline takes before rules do. */
static int take_timed(struct engine *e, const struct event *ev, struct fault *why)
{
	int r = timeline_feed(e->timeline, ev, why);

	return r < 0 ? r : to_rules(e, ev, why);
}

/* Names first: they stand before what they name. */
static int take_named(struct engine *e, const struct event *ev, struct fault *why)
{
	uint64_t tid = 0;
	int r = names_feed(&e->names, ev, &tid, why);

	if (r > 0) {
		ledger_forget(&e->ledger, tid);
		timeline_forget(e->timeline, as_tid(tid));
		callers_leave(&e->callers, tid);
	}
	if (r >= 0 && ev->kind == KIND_fact)
		return timeline_feed_fact(e->timeline, ev, why);
	return r < 0 ? r : 0;
}

static int take_name(struct engine *e, const struct event *ev, struct fault *why)
{
	int r = take_named(e, ev, why);

	return r < 0 ? r : to_rules(e, ev, why);
}

/* What has a name, and the timeline takes, too. */
static int take_both(struct engine *e, const struct event *ev, struct fault *why)
{
	int r = take_named(e, ev, why);

	if (r == 0)
		r = timeline_feed(e->timeline, ev, why);
	return r < 0 ? r : to_rules(e, ev, why);
}

static int take_exec(struct engine *e, const struct event *ev, struct fault *why)
{
	ledger_exec(&e->ledger, ev);
	return take_name(e, ev, why);
}

/* A call of a kind that no rule can know. */
static int take_foreign_call(struct engine *e, const struct event *ev, struct fault *why)
{
	int r = timeline_call(e->timeline, call_begin_ns(ev), ev->at_ns, ev->v[F_call_tid], (uint32_t)ev->v[F_call_cpu],
			      why);

	return r < 0 ? r : calls_feed(&e->calls, ev, why);
}

/* It failed, took long, or came long after the thread's last one. */
static inline bool is_unusual(const struct event *ev, const struct caller *caller, uint64_t unusual_ns)
{
	uint64_t begin_ns = call_begin_ns(ev), since_ns = caller && caller->end_ns ? caller->end_ns : begin_ns;

	return ev->v[F_call_ret] != 0 || ev->v[F_call_dur] >= unusual_ns ||
	       (begin_ns > since_ns && begin_ns - since_ns >= unusual_ns);
}

/* The same thread, in the ledger; NULL: too many. */
static __attribute__((noinline)) struct ledger_thread *meet_in_ledger(struct engine *e, uint64_t tid, uint64_t process)
{
	const struct thread *thread = tasks_find_thread(&e->names.tasks, as_tid(tid));

	if (!e->ledger.slice_ns) {
		ledger_open(&e->ledger, e->ctx.begin_ns, e->timeline, true);
		e->ledger.tasks = &e->names.tasks;
		e->ledger.schema = gpu_work_shown(e->ctx.reader) ? e->ctx.schema : NULL;
	}
	return ledger_meet(&e->ledger, tid, process, thread ? ledger_since(&e->names.tasks, thread) : 0);
}

/* The timeline lets go of a thread's past. Of one that is recorded that is kept until it is known what it was in. */
static void keep_past(void *engine, uint32_t tid, uint64_t until_ns)
{
	struct engine *e = engine;
	const struct thread *thread = tasks_find_thread(&e->names.tasks, tid);
	const struct caller *caller = callers_latest(&e->callers, tid);
	struct ledger_thread *t = caller ? caller->ledger : NULL;

	if (!t && thread && thread->process && tasks_is_recorded(&e->names.tasks, thread->number))
		t = meet_in_ledger(e, tid, thread->process);
	if (t)
		ledger_keep(&e->ledger, t, until_ns);
}

static inline void called(struct engine *e, struct caller *caller, const struct event *ev)
{
	if (!caller->ledger)
		caller->ledger = meet_in_ledger(e, caller->key.a, caller->key.b);
	if (caller->ledger)
		ledger_call(&e->ledger, caller->ledger, ev);
	caller_called(caller, ev);
}

/* Recording ends while its thread is in a call. */
static int take_in_flight(struct engine *e, const struct event *ev, struct fault *why)
{
	uint16_t kind = ledger_open_call(e->ctx.schema, ev);
	const struct process *p = kind ? names_process(&e->names, ev->v[F_in_flight_pid], ev->at_ns) : NULL;
	struct ledger_thread *t = p ? meet_in_ledger(e, ev->v[F_in_flight_tid], p->number) : NULL;

	timeline_feed_in_flight(e->timeline, e->ctx.schema, ev);
	if (t)
		ledger_in_flight(t, kind, event_begin_ns(ev, ev->v[F_in_flight_dur]));
	return to_rules(e, ev, why);
}

static int take_call(struct engine *e, const struct event *ev, struct fault *why)
{
	const struct route *route = &e->routes[ev->kind];
	const struct process *p;
	int r = take_foreign_call(e, ev, why);

	if (r < 0)
		return r;
	e->caller = NULL;
	p = names_process(&e->names, ev->v[F_call_pid], ev->at_ns);
	r = p ? callers_meet(&e->callers, ev->v[F_call_tid], p->number, &e->caller, why) : 0;
	e->ctx.caller = e->caller;
	if (r == 0)
		r = to_some(e, route, ev,
			    is_unusual(ev, e->caller, route->unusual_ns) ? route->nlisteners : route->nalways, why);
	if (e->caller && !event_is_nested(ev))
		called(e, e->caller, ev);
	return r;
}

static int take_exit(struct engine *e, const struct event *ev, struct fault *why)
{
	const struct process *p;
	struct caller *caller;
	int r = take_named(e, ev, why);

	if (r == 0)
		r = timeline_feed(e->timeline, ev, why);
	if (r < 0)
		return r;
	p = names_process(&e->names, ev->v[F_exit_pid], ev->at_ns);
	caller = p ? table_find(&e->callers.threads, ev->v[F_exit_tid], p->number) : NULL;
	e->ctx.caller = caller;
	r = to_rules(e, ev, why);
	ledger_leave(&e->ledger, ev);
	if (caller)
		callers_forget(&e->callers, caller);
	callers_leave(&e->callers, ev->v[F_exit_tid]);
	return r;
}

/*
 * Rows with texts, which are gone with the next event, cannot wait for others of the same moment; mostly they name
 * something, and nothing at the same time comes before that.
 */
static bool has_texts(uint16_t kind)
{
	static const bool texts[KINDS_SEEN] = {
		[KIND_process] = true,     [KIND_thread] = true,       [KIND_module] = true,
		[KIND_executable] = true,  [KIND_command_line] = true, [KIND_library] = true,
		[KIND_attach] = true,      [KIND_fact] = true,         [KIND_gpu] = true,
		[KIND_xid] = true,         [KIND_frame] = true,        [KIND_kernel] = true,
		[KIND_cgroup] = true,      [KIND_quota] = true,        [KIND_scheduling] = true,
		[KIND_disk_device] = true, [KIND_connection] = true,   [KIND_memory_limit] = true,
	};

	return texts[kind];
}

static void listen(struct engine *e, uint16_t kind, unsigned rule)
{
	struct route *route = &e->routes[kind];

	route->listeners[route->nlisteners++] =
		(struct listener){rules[rule]->feed, e->states[rule], e->settings.v[rule], rules[rule]};
}

static void listen_to_unusual(struct engine *e, uint16_t kind, unsigned rule)
{
	struct route *route = &e->routes[kind];
	uint64_t ns = rules[rule]->unusual_ns(e->settings.v[rule]);

	listen(e, kind, rule);
	if (ns < route->unusual_ns)
		route->unusual_ns = ns;
}

/* Those first that want to see all rows. */
static void lay_listeners(struct engine *e)
{
	for (unsigned i = 0; i < NRULES; i++) {
		for (const uint16_t *kind = rules[i]->kinds; *kind && !rules[i]->unusual_ns; kind++)
			listen(e, *kind, i);
		if (rules[i]->marks)
			listen(e, KIND_epoch, i);
	}
	for (unsigned kind = 0; kind < KINDS_SEEN; kind++) {
		e->routes[kind].nalways = e->routes[kind].nlisteners;
		e->routes[kind].unusual_ns = UINT64_MAX;
	}
	for (unsigned i = 0; i < NRULES; i++)
		for (const uint16_t *kind = rules[i]->kinds; *kind && rules[i]->unusual_ns; kind++)
			listen_to_unusual(e, *kind, i);
}

/* What becomes of rows of each kind: into all that rules may ask, and to the rules. */
static void lay_routes(struct engine *e)
{
	static int (*const takes[KINDS_SEEN])(struct engine *, const struct event *, struct fault *) = {
		[KIND_switch] = take_switch,       [KIND_waking] = take_waking, [KIND_futex] = take_timed,
		[KIND_reclaim] = take_timed,       [KIND_fault] = take_timed,   [KIND_cpu] = take_timed,
		[KIND_fork] = take_both,           [KIND_exit] = take_exit,     [KIND_throttled] = take_timed,
		[KIND_in_flight] = take_in_flight, [KIND_exec] = take_exec,     [KIND_network] = take_both,
		[KIND_disk] = take_both,
	};

	for (uint16_t kind = 0; kind < KINDS_SEEN; kind++) {
		const struct kind *shape = schema_kind(e->ctx.schema, kind);

		e->routes[kind].texts = has_texts(kind);
		e->routes[kind].take = takes[kind] ? takes[kind] : names_wants(kind) ? take_name : to_rules;
		if (shape && (shape->flags & KIND_CALL) == KIND_CALL)
			e->routes[kind].take = take_call;
	}
	lay_listeners(e);
}

static int open_rules(struct engine *e, struct fault *why)
{
	for (unsigned i = 0; i < NRULES; i++) {
		e->states[i] = calloc(1, rules[i]->state_size);
		if (!e->states[i])
			return no_memory(rules[i], why);
		groups_prepare(rules[i]->groups, e->states[i]);
		if (rules[i]->open)
			rules[i]->open(e->states[i], &e->ctx);
	}
	return 0;
}

static void close_rules(struct engine *e)
{
	for (unsigned i = 0; i < NRULES && e->states[i]; i++) {
		if (rules[i]->close)
			rules[i]->close(e->states[i]);
		groups_clear(rules[i]->groups, e->states[i]);
		free(e->states[i]);
	}
}

int engine_open(struct engine **out, const struct context *ctx, const struct settings *settings, struct fault *why)
{
	struct engine *e = calloc(1, sizeof(*e));
	int r = 0;

	if (!e) {
		r = fault_no_memory(why);
		goto out;
	}
	e->ctx = *ctx;
	e->names.tasks.processes_max = PROCESSES_MAX;
	e->names.kernels.max = KERNEL_NAMES_MAX;
	e->ctx.names = &e->names;
	e->ctx.callers = &e->callers;
	e->ctx.ledger = &e->ledger;
	e->ctx.begin_ns = ctx->reader ? ctx->reader->header.start_boot_ns : UINT64_MAX;
	e->ctx.now_ns = 0;
	e->settings = *settings;
	r = timeline_open(&e->timeline, why);
	if (r < 0)
		goto out;
	e->ctx.timeline = e->timeline;
	timeline_ask_tracked(e->timeline, timeline_tracked_since, &e->names.tasks);
	timeline_ask_cpus(e->timeline, may_run, e);
	timeline_watch(e->timeline, keep_past, e);
	if (schema_kind(ctx->schema, KIND_throttled)) /* recorders that report the one report the other */
		timeline_reports_pins(e->timeline);
	if (ctx->reader)
		r = tasks_look_ahead(&e->names.tasks, ctx->reader, ctx->unverified, why);
	if (r == 0)
		r = timeline_feed_counters(e->timeline, ctx->reader, why);
	if (r == 0)
		r = open_rules(e, why);
	if (r == 0)
		lay_routes(e);
out:
	if (r < 0)
		engine_close(e);
	else
		*out = e;
	return r;
}

void engine_close(struct engine *e)
{
	if (!e)
		return;
	close_rules(e);
	timeline_close(e->timeline);
	names_clear(&e->names);
	calls_clear(&e->calls);
	callers_clear(&e->callers);
	ledger_clear(&e->ledger);
	moment_clear(&e->moment);
	free(e);
}

static int take_one(struct engine *e, const struct event *ev, struct fault *why)
{
	if (ev->kind < KINDS_SEEN)
		return e->routes[ev->kind].take(e, ev, why);
	return event_is_call(ev) ? take_foreign_call(e, ev, why) : 0;
}

static int take_waiting(void *engine, const struct event *ev, struct fault *why)
{
	return take_one(engine, ev, why);
}

static int flush(struct engine *e, struct fault *why)
{
	return moment_end(&e->moment, e->timeline, take_waiting, e, why);
}

static int feed_mark(struct engine *e, const struct event *mark, struct fault *why)
{
	int r;

	if (mark->epoch->end_ns > e->end_ns)
		e->end_ns = mark->epoch->end_ns;
	r = timeline_feed_epoch(e->timeline, e->ctx.reader, mark->epoch, why);
	return r < 0 ? r : to_rules(e, mark, why);
}

static inline void see_time(struct context *ctx, uint64_t at_ns)
{
	if (ctx->begin_ns == UINT64_MAX)
		ctx->begin_ns = at_ns;
	if (at_ns > ctx->now_ns)
		ctx->now_ns = at_ns;
}

/* A mark, a row with texts, or one that others of its moment are beside. Out of line, for it is rare. */
static __attribute__((noinline)) int feed_rare(struct engine *e, const struct event *ev, struct fault *why)
{
	bool mark = ev->kind == KIND_epoch;
	int r = 0;

	if (mark || moment_is_over(&e->moment, ev))
		r = flush(e, why);
	if (r < 0)
		return r;
	see_time(&e->ctx, ev->at_ns);
	if (mark)
		return feed_mark(e, ev, why);
	e->nevents++;
	if (ev->kind < KINDS_SEEN && e->routes[ev->kind].texts)
		return take_name(e, ev, why);
	if (ev->last && e->moment.n == 0)
		return take_one(e, ev, why);
	return moment_add(&e->moment, ev, why);
}

int engine_feed(struct engine *e, const struct event *ev, struct fault *why)
{
	const struct route *route = &e->routes[ev->kind % KINDS_SEEN];

	if (!ev->last || e->moment.n > 0 || ev->kind >= KINDS_SEEN || route->texts)
		return feed_rare(e, ev, why);
	see_time(&e->ctx, ev->at_ns);
	e->nevents++;
	return route->take(e, ev, why);
}

uint64_t engine_judged_ns(const struct engine *e)
{
	uint64_t run_ns = e->ctx.now_ns > e->ctx.begin_ns ? e->ctx.now_ns - e->ctx.begin_ns : 0;
	uint64_t not_ns = e->ctx.reader ? withheld_ns(e->ctx.reader) : 0;

	return run_ns > not_ns ? run_ns - not_ns : run_ns;
}

int engine_finish(struct engine *e, struct findings *out, struct fault *why)
{
	int r = flush(e, why);

	if (e->ctx.now_ns < e->end_ns)
		e->ctx.now_ns = e->end_ns;
	if (r == 0)
		r = ledger_finish(&e->ledger, e->ctx.now_ns, why);
	for (unsigned i = 0; i < NRULES && r == 0; i++) {
		rules[i]->finish(e->states[i], &e->ctx, e->settings.v[i], out);
		if (!findings_whole(out))
			r = no_memory(rules[i], why);
	}
	if (r == 0 && !findings_complete(out, engine_judged_ns(e)))
		r = fault_no_memory(why);
	if (r == 0)
		findings_sort(out);
	return r;
}

const struct calls *engine_calls(const struct engine *e)
{
	return &e->calls;
}

const struct ledger *engine_ledger(const struct engine *e)
{
	return &e->ledger;
}

const struct context *engine_context(const struct engine *e)
{
	return &e->ctx;
}

void engine_stop(struct engine *e, const struct fault *why)
{
	e->ctx.stopped = why;
}

uint64_t engine_nevents(const struct engine *e)
{
	return e->nevents;
}
