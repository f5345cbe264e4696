/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "replay/sql/sqlview.h"
#include "format/base/array.h"
#include "replay/model/enum_names.h"

/* What rows said of a thread off the CPU. What follows from them is asked of the timeline. */
struct off {
	uint64_t left_id; /* the switch it left with; 0: it is not known to be off the CPU */
	uint64_t start_ns, state, cpu, syscall, flags;
	uint64_t wakeup; /* event that made it runnable, 0: none seen; and what it said */
	uint64_t waker_tid, context;
	uint32_t waker;
};

/* --- allocations --- */

static const char *const end_words[] = {[ALLOC_FREED] = "free",
					[ALLOC_CONTEXT] = "context",
					[ALLOC_EXITED] = "exit",
					[ALLOC_UNSEEN] = "unseen",
					[ALLOC_REPLACED] = "exec"};

static int insert_end(void *self, const struct allocation *a, enum alloc_end how, uint64_t end_ns, uint64_t by,
		      struct fault *why)
{
	struct derive *d = self;

	const struct sql_value v[] = {
		{.number = a->id}, {.number = end_ns}, {.text = end_words[how]}, {.number = by, .absent = !by}};

	return sql_insert_values(d->db, d->allocation_end, v, 4, why);
}

static int insert_inner(void *self, uint64_t id, struct fault *why)
{
	struct derive *d = self;

	return sql_insert_values(d->db, d->inner_call, &(struct sql_value){.number = id}, 1, why);
}

static const struct alloc_watch watch = {.end = insert_end, .inner = insert_inner};

static int insert_object(struct derive *d, const struct allocation *a, const char *how, uint64_t end_ns, uint64_t by,
			 struct fault *why)
{
	const struct sql_value v[] = {{.number = a->id},
				      {.text = object_word(a->memory)},
				      {.number = end_ns, .absent = !end_ns},
				      {.text = how, .absent = !how},
				      {.number = by, .absent = !by}};

	return sql_insert_values(d->db, d->object_life, v, 5, why);
}

static int end_object(void *self, const struct allocation *a, enum alloc_end how, uint64_t end_ns, uint64_t by,
		      struct fault *why)
{
	return insert_object(self, a, how == ALLOC_FREED ? "destroyed" : end_words[how], end_ns, by, why);
}

/* Those that were there to the end. */
static int insert_objects_left(struct derive *d, struct fault *why)
{
	int r = 0;

	for (uint32_t p = 0; p < d->objects.nholders && r == 0; p++) {
		const struct allocation *a = NULL;

		while (r == 0 && (a = allocations_next(&d->objects, p, a)))
			r = insert_object(d, a, NULL, 0, 0, why);
	}
	return r;
}

static const struct alloc_watch watch_objects = {.end = end_object};

/* Since its process is recorded, or it began; NULL: too many threads, or none has that number. */
static struct ledger_thread *meet(struct derive *d, uint64_t tid)
{
	const struct thread *thread = tasks_find_thread(d->tasks, as_tid(tid));

	return thread ? ledger_meet(&d->ledger, tid, thread->number, ledger_since(d->tasks, thread)) : NULL;
}

/* As the analysis does it. */
static void keep_past(void *derive, uint32_t tid, uint64_t until_ns)
{
	struct derive *d = derive;
	uint32_t number = tasks_thread(d->tasks, tid);
	struct ledger_thread *t = number && tasks_is_recorded(d->tasks, number) ? meet(d, tid) : NULL;

	if (t)
		ledger_keep(&d->ledger, t, until_ns);
}

static uint64_t tracked_since(void *derive, uint32_t tid)
{
	return tasks_tid_tracked_since(((struct derive *)derive)->tasks, tid);
}

int derive_open(struct derive *d, sqlite3 *db, const struct reader *reader, struct fault *why)
{
	const struct schema *schema = &reader->header.schema;
	static const char ends[] = "INSERT INTO allocation_ends(allocation, end_ns, how, free) VALUES(?,?,?,?)";
	static const char offs[] = "INSERT INTO offcpu(id, left_id, thread, tid, cpu, start_ns, end_ns, dur_ns, state,"
				   " wakeup, runnable_ns, lossy, syscall, flags, waker_tid, waker, context)"
				   " VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)";
	static const char states[] = "INSERT INTO enums(kind, field, value, name) VALUES(?,'prev_state',?,?)";
	int r;

	*d = (struct derive){
		.db = db,
		.allocations = {.schema = schema, .watch = &watch, .self = d},
		.objects = {.schema = schema, .objects = true, .watch = &watch_objects, .self = d},
	};
	r = sql_prepare(db, ends, &d->allocation_end, why);
	if (!r)
		r = sql_prepare(db, "INSERT INTO inner_calls(call) VALUES(?)", &d->inner_call, why);
	if (!r)
		r = sql_prepare(db, "INSERT INTO object_lives VALUES(?,?,?,?,?)", &d->object_life, why);
	if (!r)
		r = sql_prepare(db, offs, &d->offcpu, why);
	if (!r)
		r = sql_prepare(db, states, &d->state, why);
	if (!r)
		r = sql_prepare(db, "INSERT INTO ledger VALUES(?,?,?,?,?,?,?,?,?)", &d->ledger_part, why);
	if (!r)
		r = sql_prepare(db, "INSERT INTO ledger_seconds VALUES(?,?,?,?,?)", &d->ledger_slice, why);
	if (!r)
		r = sql_prepare(db, "INSERT INTO ledger_waited VALUES(?,?,?,?,?,?,?,?,?)", &d->ledger_waited, why);
	if (!r)
		r = sql_prepare(db, "INSERT INTO ledger_did VALUES(?,?,?,?,?,?,?)", &d->ledger_did, why);
	if (!r)
		r = timeline_open(&d->timeline, why);
	if (r)
		return r;
	ledger_open(&d->ledger, reader->header.start_boot_ns, d->timeline, false);
	d->ledger.schema = gpu_work_shown(reader) ? schema : NULL;
	timeline_ask_tracked(d->timeline, tracked_since, d);
	timeline_watch(d->timeline, keep_past, d);
	return timeline_feed_counters(d->timeline, reader, why);
}

void derive_close(struct derive *d)
{
	sqlite3_finalize(d->allocation_end);
	sqlite3_finalize(d->inner_call);
	sqlite3_finalize(d->object_life);
	sqlite3_finalize(d->offcpu);
	sqlite3_finalize(d->state);
	sqlite3_finalize(d->ledger_part);
	sqlite3_finalize(d->ledger_slice);
	sqlite3_finalize(d->ledger_waited);
	sqlite3_finalize(d->ledger_did);
	ledger_clear(&d->ledger);
	allocations_clear(&d->allocations);
	allocations_clear(&d->objects);
	map_clear(&d->states);
	timeline_close(d->timeline);
	moment_clear(&d->moment);
	free(d->off);
	*d = (struct derive){0};
}

/* --- off the CPU --- */

void derive_lost(struct derive *d, const struct growth *g)
{
	if (g->counter->role == ROLE_LOST && (g->probe->kind == KIND_switch || g->probe->kind == KIND_waking))
		d->lossy_ns = g->end_ns;
}

static struct off *off_of(struct derive *d, uint32_t thread)
{
	return array_at(&d->off, &d->noff, thread, sizeof(*d->off));
}

static int came_back(struct derive *d, uint32_t thread, const struct event *ev, struct fault *why)
{
	uint32_t tid = as_tid(ev->v[F_switch_next_tid]);
	struct off was, *off = off_of(d, thread);
	uint64_t ready_ns = UINT64_MAX;

	if (!off)
		return fault_no_memory(why);
	was = *off;
	*off = (struct off){0};
	if (!was.left_id || !timeline_absence(d->timeline, tid, was.start_ns, &ready_ns))
		return 0;
	const struct sql_value v[] = {{.number = ev->number},
				      {.number = was.left_id},
				      {.number = thread},
				      {.number = tid},
				      {.number = was.cpu},
				      {.number = was.start_ns},
				      {.number = ev->at_ns},
				      {.number = ev->at_ns - was.start_ns},
				      {.number = was.state},
				      {.number = was.wakeup, .absent = !was.wakeup},
				      {.number = ready_ns, .absent = ready_ns == UINT64_MAX},
				      {.number = d->lossy_ns > was.start_ns},
				      {.number = was.syscall},
				      {.number = was.flags},
				      {.number = was.waker_tid, .absent = !was.wakeup},
				      {.number = was.waker, .absent = !was.waker},
				      {.number = was.context, .absent = !was.wakeup}};

	return sql_insert_values(d->db, d->offcpu, v, sizeof(v) / sizeof(v[0]), why);
}

/* The meaning of each state that was met, for the view. */
static int name_state(struct derive *d, uint64_t state, struct fault *why)
{
	if (map_get(&d->states, state, 0))
		return 0;
	if (map_put(&d->states, state, 0, 1))
		return fault_no_memory(why);
	return sql_insert_values(
		d->db, d->state,
		(struct sql_value[]){{.number = KIND_switch}, {.number = state}, {.text = state_word(state)}}, 3, why);
}

static int see_switch(struct derive *d, const struct event *ev, struct fault *why)
{
	uint32_t prev = tasks_thread(d->tasks, (uint32_t)ev->v[F_switch_prev_tid]);
	uint32_t next = tasks_thread(d->tasks, (uint32_t)ev->v[F_switch_next_tid]);
	int r = name_state(d, ev->v[F_switch_prev_state], why);

	if (!r && next)
		r = came_back(d, next, ev, why);
	/* Of others' threads only some switches are recorded: no interval can be reported. */
	if (!r && prev && tasks_is_recorded(d->tasks, prev)) {
		struct off *off = off_of(d, prev);

		if (!off)
			return fault_no_memory(why);
		*off = (struct off){.left_id = ev->number,
				    .start_ns = ev->at_ns,
				    .state = ev->v[F_switch_prev_state],
				    .syscall = ev->v[F_switch_prev_syscall],
				    .flags = ev->v[F_switch_prev_flags],
				    .cpu = ev->v[F_switch_cpu]};
	}
	return r;
}

static int see_waking(struct derive *d, const struct event *ev, struct fault *why)
{
	uint32_t thread = tasks_thread(d->tasks, (uint32_t)ev->v[F_waking_tid]);
	struct off *off = thread ? off_of(d, thread) : NULL;

	if (thread && !off)
		return fault_no_memory(why);
	/* The first one makes it runnable; a preempted thread is that already. */
	if (off && off->left_id && off->state != 0 && !off->wakeup) {
		off->wakeup = ev->number;
		off->waker_tid = ev->v[F_waking_waker_tid];
		off->waker = tasks_thread(d->tasks, (uint32_t)ev->v[F_waking_waker_tid]);
		off->context = ev->v[F_waking_context];
	}
	return 0;
}

/* --- where the time went --- */

static void see_call(struct derive *d, const struct event *ev)
{
	struct ledger_thread *t = event_is_nested(ev) ? NULL : meet(d, ev->v[F_call_tid]);

	if (t)
		ledger_call(&d->ledger, t, ev);
}

static void see_in_flight(struct derive *d, const struct walk *w, const struct event *ev)
{
	uint16_t kind = ledger_open_call(&w->reader->header.schema, ev);
	struct ledger_thread *t = kind ? meet(d, ev->v[F_in_flight_tid]) : NULL;

	timeline_feed_in_flight(d->timeline, &w->reader->header.schema, ev);
	if (t)
		ledger_in_flight(t, kind, event_begin_ns(ev, ev->v[F_in_flight_dur]));
}

static int insert_slices(struct derive *d, const struct ledger_thread *t, struct fault *why)
{
	uint64_t begin_ns = d->ledger.begin_ns + t->first_slice * d->ledger.slice_ns;
	int r = 0;

	for (size_t i = 0; i < t->nslices; i++)
		for (unsigned p = 0; p < LEDGER_PARTS && r == 0; p++) {
			const struct sql_value v[] = {{.number = t->key.b % LEDGER_AGAIN},
						      {.number = begin_ns + i * d->ledger.slice_ns},
						      {.number = begin_ns + (i + 1) * d->ledger.slice_ns},
						      {.text = ledger_part_key((enum ledger_part)p)},
						      {.number = t->slices[i].ns[p]}};

			if (t->slices[i].ns[p])
				r = sql_insert_values(d->db, d->ledger_slice, v, sizeof(v) / sizeof(v[0]), why);
		}
	return r;
}

static int insert_did(struct derive *d, const struct ledger_thread *t, const struct waited_for *w, struct fault *why)
{
	int r = 0;

	for (unsigned c = 0; c < CAUSE_CLASSES && r == 0; c++) {
		const struct sql_value v[] = {{.number = t->key.b % LEDGER_AGAIN},
					      {.number = t->begin_ns},
					      {.text = ledger_part_key((enum ledger_part)w->part)},
					      {.number = w->whom.tid, .absent = w->whom.tid == TID_NONE},
					      {.number = w->whom.thread, .absent = !w->whom.thread},
					      {.text = cause_class_name((enum cause_class)c)},
					      {.number = w->did_ns[c]}};

		if (w->did_ns[c])
			r = sql_insert_values(d->db, d->ledger_did, v, sizeof(v) / sizeof(v[0]), why);
	}
	return r;
}

static int insert_waited(struct derive *d, const struct ledger_thread *t, struct fault *why)
{
	int r = 0;

	for (size_t i = 0; i < t->waited.n && r == 0; i++) {
		const struct waited_for *w = &t->waited.all[i];
		const struct sql_value v[] = {{.number = t->key.b % LEDGER_AGAIN},
					      {.number = t->begin_ns},
					      {.text = ledger_part_key((enum ledger_part)w->part)},
					      {.number = w->whom.tid, .absent = w->whom.tid == TID_NONE},
					      {.number = w->whom.thread, .absent = !w->whom.thread},
					      {.number = w->ns},
					      {.number = w->count},
					      {.text = cause_class_name(waited_did(w))},
					      {.number = w->idle_ns, .absent = !ledger_idle(t)}};

		r = sql_insert_values(d->db, d->ledger_waited, v, sizeof(v) / sizeof(v[0]), why);
		if (r == 0)
			r = insert_did(d, t, w, why);
	}
	return r;
}

static int insert_parts(struct derive *d, const struct ledger_thread *t, struct fault *why)
{
	uint32_t process = d->tasks->threads[t->key.b % LEDGER_AGAIN].process;
	const uint64_t *idle_ns = ledger_idle(t);
	int r = 0;

	for (unsigned p = 0; p < LEDGER_PARTS && r == 0; p++) {
		const struct sql_value v[] = {{.number = t->key.b % LEDGER_AGAIN},
					      {.number = process, .absent = !process},
					      {.number = t->key.a},
					      {.number = t->nfed},
					      {.number = t->begin_ns},
					      {.number = t->end_ns},
					      {.text = ledger_part_key((enum ledger_part)p)},
					      {.number = t->ns[p]},
					      {.number = idle_ns ? idle_ns[p] : 0, .absent = !idle_ns}};

		if (t->ns[p])
			r = sql_insert_values(d->db, d->ledger_part, v, sizeof(v) / sizeof(v[0]), why);
	}
	return r;
}

static int insert_ledger(struct derive *d, uint64_t now_ns, struct fault *why)
{
	int r;

	/* Those whose number another one has by now. */
	for (size_t i = 0; i < d->ledger.threads.nitems; i++) {
		struct ledger_thread *t = (struct ledger_thread *)d->ledger.threads.items[i];

		if (tasks_thread(d->tasks, as_tid(t->key.a)) != t->key.b % LEDGER_AGAIN)
			t->ended = true;
	}
	r = ledger_finish(&d->ledger, now_ns, why);
	for (size_t i = 0; i < d->ledger.threads.nitems && r == 0; i++) {
		const struct ledger_thread *t = (const struct ledger_thread *)d->ledger.threads.items[i];

		r = insert_parts(d, t, why);
		if (r == 0)
			r = insert_waited(d, t, why);
		if (r == 0)
			r = insert_slices(d, t, why);
	}
	return r;
}

static int take(void *self, const struct event *ev, struct fault *why)
{
	struct derive *d = self;
	int r = timeline_feed(d->timeline, ev, why);

	if (r < 0)
		return r;
	if (event_is_call(ev))
		see_call(d, ev);
	else if (ev->kind == KIND_exit)
		ledger_leave(&d->ledger, ev);
	if (ev->kind == KIND_switch)
		return see_switch(d, ev, why);
	return ev->kind == KIND_waking ? see_waking(d, ev, why) : 0;
}

int derive_see(struct derive *d, const struct walk *w, const struct event *ev, struct fault *why)
{
	int r = 0;

	d->tasks = d->ledger.tasks = &w->tasks;
	d->now_ns = ev->at_ns > d->now_ns ? ev->at_ns : d->now_ns;
	if (timeline_wants(ev))
		r = moment_pass(&d->moment, d->timeline, ev, take, d, why);
	else if (ev->kind == KIND_fact)
		r = timeline_feed_fact(d->timeline, ev, why);
	else if (ev->kind == KIND_in_flight)
		see_in_flight(d, w, ev);
	else if (ev->kind == KIND_exec)
		ledger_exec(&d->ledger, ev);
	if (!r)
		r = allocations_feed_event(&d->allocations, &w->tasks, ev, ev->number, why);
	return r ? r : allocations_feed_event(&d->objects, &w->tasks, ev, ev->number, why);
}

static int flush(struct derive *d, struct fault *why)
{
	return moment_end(&d->moment, d->timeline, take, d, why);
}

int derive_epoch(struct derive *d, const struct walk *w, const struct epoch *e, struct fault *why)
{
	int r = flush(d, why);

	d->now_ns = e->end_ns > d->now_ns ? e->end_ns : d->now_ns;
	return r ? r : timeline_feed_epoch(d->timeline, w->reader, e, why);
}

int derive_finish(struct derive *d, const struct walk *w, struct fault *why)
{
	int r = flush(d, why);

	if (!r)
		r = allocations_finish(&d->allocations, &w->tasks, why);
	if (!r)
		r = allocations_finish(&d->objects, &w->tasks, why);
	if (!r)
		r = insert_objects_left(d, why);
	/* What was filtered out would be missing without a trace. */
	if (!r && filter_is_open(w->replay->filter))
		r = insert_ledger(d, d->now_ns, why);
	return r;
}
