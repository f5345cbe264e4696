// SPDX-License-Identifier: Apache-2.0
#include "replay/model/ledger.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "replay/model/ledger_idle.h"
#include "replay/model/ledger_slices.h"

static const struct whom nobody = {.tid = TID_NONE, .did = CAUSE_UNKNOWN};

const char *ledger_part_key(enum ledger_part part)
{
#define PART_KEY(name, key, letter, words) #key,
	static const char *const keys[LEDGER_PARTS] = {LEDGER(PART_KEY)};

	return keys[part];
}

const char *ledger_part_words(enum ledger_part part)
{
#define PART_WORDS(name, key, letter, words) words,
	static const char *const all[LEDGER_PARTS] = {LEDGER(PART_WORDS)};

	return all[part];
}

char ledger_part_letter(enum ledger_part part)
{
#define PART_LETTER(name, key, letter, words) letter,
	static const char letters[LEDGER_PARTS] = {LEDGER(PART_LETTER)};

	return letters[part];
}

enum ledger_part ledger_most(const uint64_t ns[LEDGER_PARTS])
{
	unsigned most = 0;

	for (unsigned p = 1; p < LEDGER_PARTS; p++)
		if (ns[p] > ns[most])
			most = p;
	return (enum ledger_part)most;
}

void ledger_open(struct ledger *l, uint64_t begin_ns, const struct timeline *tl, bool calling)
{
	*l = (struct ledger){.timeline = tl, .begin_ns = begin_ns, .slice_ns = LEDGER_SLICE_NS, .calling = calling};
}

static void thread_clear(struct ledger_thread *t)
{
	free(t->slices);
	free(t->pieces);
	free(t->stays);
	free(t->idle_ns);
	free(t->left_ns);
	waited_clear(&t->waited);
	waited_clear(&t->stops);
	waited_clear(&t->idling);
	waited_clear(&t->earlier);
}

void ledger_clear(struct ledger *l)
{
	for (size_t i = 0; i < l->threads.nitems; i++)
		thread_clear((struct ledger_thread *)l->threads.items[i]);
	table_clear(&l->threads);
	table_clear(&l->latest);
	first_calls_clear(&l->firsts);
	idle_clear(&l->work);
}

const struct ledger_thread *ledger_find(const struct ledger *l, uint64_t tid)
{
	const struct ledger_by_tid *latest = table_find(&l->latest, tid, 0);

	return latest ? latest->thread : NULL;
}

bool ledger_fed(const struct ledger *l, uint64_t tid)
{
	const struct ledger_thread *t = ledger_find(l, tid);

	return t && t->nfed;
}

uint64_t ledger_since(const struct tasks *tasks, const struct thread *thread)
{
	uint64_t since_ns = tasks_tracked_since(tasks, thread);

	if (since_ns == NO_TIME)
		since_ns = 0;
	return thread->start_ns != NO_TIME && thread->start_ns > since_ns ? thread->start_ns : since_ns;
}

uint16_t ledger_open_call(const struct schema *schema, const struct event *ev)
{
	const struct probe *probe = schema_probe(schema, ev->v[F_in_flight_probe]);
	const struct kind *kind = probe ? schema_kind(schema, probe->kind) : NULL;

	return kind && kind->flags == KIND_CALL && ev->v[F_in_flight_moment] == MOMENT_END ? probe->kind : 0;
}

static struct ledger_thread *add_thread(struct ledger *l, uint64_t tid, uint64_t instance, uint64_t since_ns)
{
	struct ledger_thread *t = table_add(&l->threads, tid, instance, sizeof(*t));

	if (!t) {
		l->failed = true;
		return NULL;
	}
	t->begin_ns = t->end_ns = since_ns > l->begin_ns ? since_ns : l->begin_ns;
	t->slice_ns = l->slice_ns;
	t->sliced = l->nsliced < LEDGER_SLICED_MAX;
	l->nsliced += t->sliced;
	return t;
}

struct ledger_thread *ledger_meet(struct ledger *l, uint64_t tid, uint64_t instance, uint64_t since_ns)
{
	struct ledger_by_tid *latest = table_find(&l->latest, tid, 0);
	struct ledger_thread *t = latest ? latest->thread : NULL;

	if (t && !t->ended && t->key.b % LEDGER_AGAIN == instance)
		return t;
	if (t && t->end_ns > since_ns)
		since_ns = t->end_ns;
	ledger_forget(l, tid);
	if (l->threads.nitems >= LEDGER_THREADS_MAX) {
		l->nbeyond++;
		return NULL;
	}
	/* Another one of its process that got the number of one that had ended. */
	while (table_find(&l->threads, tid, instance))
		instance += LEDGER_AGAIN;
	if (!latest)
		latest = table_add(&l->latest, tid, 0, sizeof(*latest));
	if (!latest) {
		l->failed = true;
		return NULL;
	}
	t = add_thread(l, tid, instance, since_ns);
	if (t)
		latest->thread = t;
	return t;
}

/* It is over: only what there is to report of it stays. */
static void close_thread(struct ledger *l, struct ledger_by_tid *latest)
{
	struct ledger_thread *t = latest->thread;

	t->ended = true;
	free(t->pieces);
	free(t->stays);
	t->pieces = NULL;
	t->stays = NULL;
	t->npieces = t->pieces_room = t->nstays = 0;
	waited_fit(&t->waited);
	waited_fit(&t->stops);
	waited_clear(&t->idling);
	waited_clear(&t->earlier);
	if (!l->calling || t->called || t->nfed)
		return;
	l->nsliced -= t->sliced;
	latest->thread = NULL;
	thread_clear(t);
	table_remove(&l->threads, t->key.a, t->key.b);
}

/* --- slices --- */

/* Of a first call: it may belong to that part, once what is usual is known. */
static void note_first(struct ledger *l, enum ledger_part part, uint64_t slice_ns, uint64_t ns)
{
	if (l->first && (part == LEDGER_CALLS || part == LEDGER_KERNEL))
		first_call_spend(&l->firsts, l->first, slice_ns, part == LEDGER_CALLS ? ns : 0,
				 part == LEDGER_KERNEL ? ns : 0);
}

static __attribute__((noinline)) void give_slices(struct ledger *l, struct ledger_thread *t, enum ledger_part part,
						  uint64_t begin_ns, uint64_t end_ns)
{
	if (!t->sliced)
		note_first(l, part, 0, end_ns - begin_ns);
	while (t->sliced && begin_ns < end_ns) {
		struct ledger_slice *slice = ledger_slice_at(l, t, begin_ns);
		uint64_t slice_ns = begin_ns - (begin_ns - l->begin_ns) % l->slice_ns;
		uint64_t until_ns = slice_ns + l->slice_ns;

		if (!slice) {
			l->failed = true;
			return;
		}
		if (until_ns > end_ns || until_ns < begin_ns)
			until_ns = end_ns;
		note_first(l, part, slice_ns, until_ns - begin_ns);
		slice->ns[part] += until_ns - begin_ns;
		begin_ns = until_ns;
	}
}

static inline void give(struct ledger *l, struct ledger_thread *t, enum ledger_part part, uint64_t begin_ns,
			uint64_t end_ns)
{
	t->ns[part] += end_ns - begin_ns;
	if (idle_counts(t, part, end_ns) && !ledger_names(part))
		l->failed |= !idle_spend(t, part, &nobody, begin_ns, end_ns);
	if (!l->first && begin_ns >= t->latest_ns && end_ns <= t->latest_end_ns)
		t->slices[t->nslices - 1].ns[part] += end_ns - begin_ns;
	else
		give_slices(l, t, part, begin_ns, end_ns);
}

/* For whom it waited then, or who let it go on. */
static void blame(struct ledger *l, struct ledger_thread *t, enum ledger_part part, enum ledger_stop stop,
		  const struct whom *whom, uint64_t begin_ns, uint64_t end_ns)
{
	if (part == LEDGER_STOPPED)
		l->failed |= !waited_add(&t->stops, stop, whom, end_ns - begin_ns);
	if (!ledger_names(part))
		return;
	l->failed |= !waited_add(&t->waited, part, whom, end_ns - begin_ns);
	if (idle_counts(t, part, end_ns))
		l->failed |= !idle_spend(t, part, whom, begin_ns, end_ns);
}

/* --- parts --- */

/* A thread of its own process ended the sleep: one that had the memory map, or the page. */
static bool woken_by_sibling(const struct ledger *l, const struct ledger_thread *t, const struct span *s)
{
	uint32_t pid = l->tasks ? tasks_tid_pid(l->tasks, as_tid(t->key.a)) : 0;

	return pid && woken_by_task(s) && s->other_tid != t->key.a && tasks_tid_pid(l->tasks, s->other_tid) == pid;
}

/*
 * In a call that waits for the GPU the driver may sleep in whatever it likes, until an interrupt or a thread of its own
 * wakes it; in other calls it may wait so for room in a queue of the GPU's. But a lock is somebody's.
 */
static enum ledger_part part_of_sleep(const struct ledger *l, const struct ledger_thread *t, const struct span *s,
				      enum ledger_where where)
{
	enum cause_class class = class_of_sleep(s);

	if (class == CAUSE_STOPPED)
		return LEDGER_STOPPED;
	if (s->flags & SPAN_IO)
		return LEDGER_DEVICE;
	if (class == CAUSE_NETWORK)
		return LEDGER_NETWORK;
	if (class == CAUSE_FAULT)
		return woken_by_sibling(l, t, s) ? LEDGER_TASK : LEDGER_KERNEL;
	if (where == LEDGER_IN_WAIT)
		return s->flags & SPAN_LOCK ? LEDGER_TASK : LEDGER_GPU;
	if (class == CAUSE_FUTEX && where == LEDGER_OUTSIDE && s->flags & (SPAN_TIMED_OUT | SPAN_SIGNALLED))
		return LEDGER_CHOICE;
	if (class == CAUSE_FUTEX || woken_by_task(s))
		return LEDGER_TASK;
	if (s->task_state & TASK_UNINTERRUPTIBLE_BIT)
		return LEDGER_KERNEL;
	if (where != LEDGER_OUTSIDE)
		return LEDGER_GPU;
	return l->over_ns && s->end_ns >= l->over_ns && !(s->flags & SPAN_WOKEN) ? LEDGER_OPEN : LEDGER_CHOICE;
}

/* (Of most pieces it is looked up: which state comes next no processor foresees.) */
static inline enum ledger_part part_of(const struct ledger *l, const struct ledger_thread *t, const struct span *s,
				       enum ledger_where where)
{
	static const uint8_t parts[][LEDGER_WHERES] = {
		[STATE_UNKNOWN] = {LEDGER_UNKNOWN, LEDGER_UNKNOWN, LEDGER_UNKNOWN},
		[STATE_RUNNING] = {LEDGER_OWN, LEDGER_CALLS, LEDGER_GPU},
		[STATE_RUNNABLE] = {LEDGER_CPU, LEDGER_CPU, LEDGER_CPU},
	};

	if (gets_memory(s))
		return LEDGER_MEMORY;
	if (s->state == STATE_ASLEEP)
		return part_of_sleep(l, t, s, where);
	return s->flags & SPAN_THROTTLED ? LEDGER_QUOTA : (enum ledger_part)parts[s->state][where];
}

/* --- pieces that are kept --- */

/* Up to until_ns, of what is kept in pieces. */
static void settle_pieces(struct ledger *l, struct ledger_thread *t, enum ledger_where where, uint64_t until_ns)
{
	size_t done = 0;

	while (done < t->npieces && t->end_ns < until_ns) {
		const struct ledger_piece *p = &t->pieces[done];
		uint64_t to_ns = p->end_ns < until_ns ? p->end_ns : until_ns;

		give(l, t, (enum ledger_part)p->part[where], t->end_ns, to_ns);
		blame(l, t, (enum ledger_part)p->part[where], (enum ledger_stop)p->stop, &p->whom, t->end_ns, to_ns);
		t->end_ns = to_ns;
		done += p->end_ns == to_ns;
	}
	if (!done)
		return;
	t->npieces -= done;
	memmove(t->pieces, t->pieces + done, t->npieces * sizeof(*t->pieces));
}

/* Too much is kept of it: half of that is settled. Of one that made no call yet it was outside; else nobody knows. */
static void settle_half(struct ledger *l, struct ledger_thread *t)
{
	uint64_t until_ns = t->pieces[t->npieces / 2].end_ns;

	if (t->called)
		for (size_t i = 0; i <= t->npieces / 2; i++)
			memset(t->pieces[i].part, LEDGER_UNKNOWN, sizeof(t->pieces[i].part));
	settle_pieces(l, t, LEDGER_OUTSIDE, until_ns);
}

/* What has been gone back over of a wait. */
struct wait {
	size_t at; /* pieces before that have not */
	uint64_t slept_ns, looked_ns;
};

/* The latest of them that may go on, if the thread only looked since. NULL: none may. */
static struct ledger_piece *open_wait(struct ledger_thread *t, struct wait *w)
{
	while (w->at > 0) {
		struct ledger_piece *p = &t->pieces[--w->at];
		uint64_t ns = p->end_ns - (w->at ? t->pieces[w->at - 1].end_ns : t->end_ns);

		if (p->object) {
			w->slept_ns += ns;
			return wait_goes_on(w->slept_ns, w->looked_ns) ? p : NULL;
		}
		if (p->part[LEDGER_OUTSIDE] == LEDGER_OWN)
			w->looked_ns += ns;
		else if (p->part[LEDGER_OUTSIDE] != LEDGER_CPU)
			return NULL;
	}
	return NULL;
}

/* This sleep, which somebody ended, may be the last one of a wait whose begin is kept. */
static void end_wait(struct ledger_thread *t, const struct span *sleep, const struct whom *whom)
{
	struct wait w = {.at = t->npieces, .slept_ns = sleep->end_ns - sleep->begin_ns};
	struct ledger_piece *p;

	if (!woken_by_task(sleep) || is_stop(sleep))
		return;
	while ((p = open_wait(t, &w)) && p->object == wait_object(sleep)) {
		for (unsigned i = 0; i < LEDGER_WHERES; i++)
			if (p->part[i] == LEDGER_CHOICE)
				p->part[i] = LEDGER_TASK;
		p->whom = *whom;
		p->object = 0;
	}
}

struct settling {
	struct ledger *ledger;
	struct ledger_thread *thread;
	const struct ledger_stay *stay; /* that it is in */
	enum ledger_part part;          /* that the piece is in */
};

static void keep_stretch(void *arg, const struct span *stretch, const struct whom *whom)
{
	struct settling *s = arg;
	struct ledger_thread *t = s->thread;
	struct ledger_piece one = {.end_ns = stretch->end_ns,
				   .whom = *whom,
				   .stop = (uint8_t)ledger_stop_of(stretch->flags, stretch->task_state)};
	struct ledger_piece *last, *more;

	for (unsigned w = 0; w < LEDGER_WHERES; w++)
		one.part[w] = (uint8_t)part_of(s->ledger, t, stretch, (enum ledger_where)w);
	if (stretch->flags & (SPAN_TIMED_OUT | SPAN_TIMER))
		one.object = wait_object(stretch);
	if (stretch->state == STATE_ASLEEP)
		end_wait(t, stretch, whom);
	last = t->npieces ? &t->pieces[t->npieces - 1] : NULL;
	if (last && !memcmp(last->part, one.part, sizeof(one.part)) && last->whom.tid == one.whom.tid &&
	    last->whom.thread == one.whom.thread && last->whom.did == one.whom.did && last->object == one.object &&
	    last->stop == one.stop) {
		last->end_ns = one.end_ns;
		return;
	}
	if (t->npieces >= (t->called ? LEDGER_PIECES_MAX : LEDGER_EARLY_MAX))
		settle_half(s->ledger, t);
	more = array_at(&t->pieces, &t->pieces_room, t->npieces, sizeof(*more));
	if (!more) {
		s->ledger->failed = true;
		return;
	}
	*more = one;
	t->npieces++;
}

static bool waits(const struct span *piece)
{
	return piece->state == STATE_RUNNABLE || piece->state == STATE_ASLEEP;
}

static void keep_piece(void *arg, const struct span *piece)
{
	const struct settling *s = arg;
	struct ledger *l = s->ledger;

	if (waits(piece))
		/* (To follow the waits of all threads of all processes would take long. Few of them call.) */
		waited_visit(s->thread->called ? &l->scratch : NULL, l->timeline, l->tasks, as_tid(s->thread->key.a),
			     piece, keep_stretch, arg);
	else
		keep_stretch(arg, piece, &nobody);
}

static void keep(struct ledger *l, struct ledger_thread *t, uint64_t until_ns)
{
	struct settling s = {.ledger = l, .thread = t};
	uint64_t kept_ns = t->npieces ? t->pieces[t->npieces - 1].end_ns : t->end_ns;

	if (kept_ns < until_ns)
		timeline_walk(l->timeline, as_tid(t->key.a), kept_ns, until_ns, keep_piece, &s);
}

/* --- settling --- */

static void settle_stretch(void *arg, const struct span *stretch, const struct whom *whom)
{
	struct settling *s = arg;

	blame(s->ledger, s->thread, s->part, ledger_stop_of(stretch->flags, stretch->task_state), whom,
	      stretch->begin_ns, stretch->end_ns);
}

/* Of that much of a piece: for whom it waited. */
static void settle_wait(struct settling *s, const struct span *whole, uint64_t begin_ns, uint64_t end_ns)
{
	struct ledger *l = s->ledger;
	struct span cut;

	if (whole->begin_ns != begin_ns || whole->end_ns != end_ns) {
		cut = *whole;
		cut.begin_ns = begin_ns;
		cut.end_ns = end_ns;
		whole = &cut;
	}
	waited_visit(&l->scratch, l->timeline, l->tasks, as_tid(s->thread->key.a), whole, settle_stretch, s);
}

/* Cut where it enters or leaves a call. */
static void settle_piece(void *arg, const struct span *whole)
{
	struct settling *s = arg;
	struct ledger *l = s->ledger;
	uint64_t at_ns = whole->begin_ns, until_ns;

	for (; at_ns < whole->end_ns; at_ns = until_ns) {
		while (s->stay->end_ns <= at_ns)
			s->stay++;
		until_ns = whole->end_ns < s->stay->end_ns ? whole->end_ns : s->stay->end_ns;
		s->part = part_of(l, s->thread, whole, s->stay->where);
		give(l, s->thread, s->part, at_ns, until_ns);
		if (ledger_names(s->part) || s->part == LEDGER_STOPPED)
			settle_wait(s, whole, at_ns, until_ns);
	}
}

/* All that it was in until the end of the last stay. */
static void settle_stays(struct ledger *l, struct ledger_thread *t, const struct ledger_stay *stays, size_t n)
{
	struct settling s = {.ledger = l, .thread = t, .stay = stays};
	uint64_t until_ns = stays[n - 1].end_ns;

	if (t->npieces && open_wait(t, &(struct wait){.at = t->npieces})) /* how it goes on says what it was */
		keep(l, t, until_ns);
	for (size_t i = 0; i < n && t->npieces; i++)
		settle_pieces(l, t, stays[i].where, stays[i].end_ns);
	if (until_ns > t->end_ns) {
		timeline_walk(l->timeline, as_tid(t->key.a), t->end_ns, until_ns, settle_piece, &s);
		t->end_ns = until_ns;
	}
}

/* All that it is known to have been in. */
static void settle(struct ledger *l, struct ledger_thread *t)
{
	size_t n = t->nstays;

	t->nstays = 0;
	if (n)
		settle_stays(l, t, t->stays, n);
}

/* It was there until then. */
static void stay(struct ledger *l, struct ledger_thread *t, enum ledger_where where, uint64_t until_ns)
{
	static const struct span running = {.state = STATE_RUNNING};
	const struct ledger_stay one = {until_ns, where};

	if (until_ns <= (t->nstays ? t->stays[t->nstays - 1].end_ns : t->end_ns))
		return;
	if (!t->nstays && !t->npieces && timeline_ran(l->timeline, as_tid(t->key.a), t->end_ns)) {
		give(l, t, part_of(l, t, &running, where), t->end_ns, until_ns);
		t->end_ns = until_ns;
		return;
	}
	if (!t->stays)
		t->stays = calloc(LEDGER_STAYS, sizeof(*t->stays));
	if (!t->stays) {
		l->failed = true;
		settle_stays(l, t, &one, 1);
		return;
	}
	t->stays[t->nstays++] = one;
	if (t->nstays == LEDGER_STAYS || until_ns - t->end_ns > LEDGER_STAYS_NS)
		settle(l, t);
}

void ledger_keep(struct ledger *l, struct ledger_thread *t, uint64_t until_ns)
{
	if (t->ended)
		return;
	settle(l, t);
	keep(l, t, until_ns);
}

void ledger_forget(struct ledger *l, uint64_t tid)
{
	struct ledger_by_tid *latest = table_find(&l->latest, tid, 0);

	if (!latest || !latest->thread)
		return;
	settle(l, latest->thread);
	close_thread(l, latest); /* when it ended is not known */
}

/* It was taken to be outside, and its first call had begun before that. */
static void unsettle(struct ledger_thread *t)
{
	for (unsigned p = 0; p < LEDGER_UNKNOWN; p++) {
		t->ns[LEDGER_UNKNOWN] += t->ns[p];
		t->ns[p] = 0;
	}
	for (size_t i = 0; i < t->nslices; i++)
		for (unsigned p = 0; p < LEDGER_UNKNOWN; p++) {
			t->slices[i].ns[LEDGER_UNKNOWN] += t->slices[i].ns[p];
			t->slices[i].ns[p] = 0;
		}
	waited_clear(&t->waited);
	waited_clear(&t->stops);
}

/*
 * The process of the caller, if its begin was recorded: only then is it known that a first call is one, and that there
 * was no work before.
 */
static void meet_process(struct ledger *l, struct ledger_thread *t, const struct event *ev)
{
	const struct process *p = l->tasks ? tasks_find_process(l->tasks, (uint32_t)ev->v[F_call_pid]) : NULL;

	if (!p || !process_saw_begin(p, l->begin_ns))
		return;
	t->born = p->number;
	if (l->schema)
		t->gpu = gpu_work_meet(&l->work, p->number, p->first_ns);
}

struct waiting {
	const struct ledger *ledger;
	const struct ledger_thread *thread;
	enum ledger_where where;
	uint64_t ns;
};

static void look_for_wait(void *arg, const struct span *piece)
{
	struct waiting *w = arg;

	if (piece->end_ns - piece->begin_ns >= LEDGER_STAYS_NS &&
	    part_of(w->ledger, w->thread, piece, w->where) == LEDGER_GPU)
		w->ns += piece->end_ns - piece->begin_ns;
}

/* For how long it slept or polled in this call, where that is longer than one takes that finds nothing to wait for. */
static uint64_t waits_for_gpu(struct ledger *l, const struct ledger_thread *t, const struct event *ev)
{
	struct waiting w = {l, t, ev->kind == KIND_wait ? LEDGER_IN_WAIT : LEDGER_IN_CALL, 0};

	if (ev->v[F_call_dur] >= LEDGER_STAYS_NS && !first_calls_want(&l->firsts, t->born, ev))
		timeline_walk(l->timeline, as_tid(t->key.a), call_begin_ns(ev), ev->at_ns, look_for_wait, &w);
	return w.ns;
}

/*
 * The call shows whether there was work left, since the process had been given some at fed_ns. Of its time before the
 * call all but less than LEDGER_STAYS_NS is settled.
 */
static void follow_left(struct ledger *l, struct ledger_thread *t, uint64_t fed_ns, const struct event *ev)
{
	struct gpu_process *p = t->gpu;
	uint64_t begin_ns = call_begin_ns(ev), since_ns = fed_ns > p->left_ns ? fed_ns : p->left_ns, room_ns;

	if (p->shown == GPU_LEFT_FULL) {
		room_ns = waits_for_gpu(l, t, ev);
		l->failed |= room_ns && !idle_left_full(t, room_ns);
	} else if (begin_ns >= since_ns + LEDGER_STAYS_NS && (p->shown == GPU_LEFT || waits_for_gpu(l, t, ev))) {
		l->failed |= !idle_left(t, fed_ns);
		p->left_ns = begin_ns;
	}
}

/* Before its stay in the call is settled: what the call proves holds from its end on. */
static void follow_work(struct ledger *l, struct ledger_thread *t, const struct event *ev)
{
	uint64_t fed_ns = t->gpu->fed_ns;

	if (gpu_work_feeds(ev->kind)) {
		if (t->gpu->idle_ns != NO_TIME)
			settle(l, t);
		l->failed |= !idle_end(t, call_begin_ns(ev));
		t->gpu->feeder = t;
	}
	gpu_work_call(&l->work, t->gpu, &t->device, l->schema, ev);
	if (t->gpu->shown != GPU_NOTHING)
		follow_left(l, t, fed_ns, ev);
}

static __attribute__((noinline)) void meet_first(struct ledger *l, struct ledger_thread *t, const struct event *ev)
{
	settle(l, t);
	l->first = first_calls_meet(&l->firsts, t->born, ev);
	if (!l->first)
		return;
	l->first->thread = t;
	l->first->nfed = t->nfed;
	l->first->idle = t->gpu && t->gpu->idle_ns <= l->first->begin_ns && !gpu_work_feeds(ev->kind);
}

void ledger_call(struct ledger *l, struct ledger_thread *t, const struct event *ev)
{
	uint64_t begin_ns = call_begin_ns(ev);

	if (!t->called && begin_ns < t->end_ns)
		unsettle(t);
	if (!t->called)
		meet_process(l, t, ev);
	t->called = true;
	stay(l, t, LEDGER_OUTSIDE, begin_ns);
	if (t->gpu)
		follow_work(l, t, ev);
	if (t->born && first_calls_want(&l->firsts, t->born, ev))
		meet_first(l, t, ev);
	stay(l, t, ev->kind == KIND_wait ? LEDGER_IN_WAIT : LEDGER_IN_CALL, ev->at_ns);
	if (l->first) {
		settle(l, t);
		l->first = NULL;
	}
	t->nfed += gpu_work_feeds(ev->kind);
}

/* Time that was taken for that part. */
static void give_to_first(struct ledger *l, const struct first_call *u, enum ledger_part part, uint64_t slice_ns,
			  uint64_t ns)
{
	struct ledger_thread *t = u->thread;
	struct ledger_slice *slice = t->sliced && ns ? ledger_slice_at(l, t, slice_ns) : NULL;

	t->first_idle_ns[part == LEDGER_KERNEL] += u->idle ? ns : 0;

	t->ns[part] -= ns;
	t->ns[LEDGER_FIRST] += ns;
	if (!slice)
		return;
	slice->ns[part] -= ns;
	slice->ns[LEDGER_FIRST] += ns;
}

static void settle_first(struct ledger *l, struct first_call *u)
{
	uint64_t left_ns;

	if (!first_call_judge(&l->firsts, u))
		return;
	left_ns = u->lost_ns;
	for (size_t i = 0; i < u->nspent && left_ns; i++) {
		const struct first_spent *s = &u->spent[i];
		uint64_t kernel_ns = s->kernel_ns < left_ns ? s->kernel_ns : left_ns;
		uint64_t calls_ns = s->calls_ns < left_ns - kernel_ns ? s->calls_ns : left_ns - kernel_ns;

		left_ns -= kernel_ns + calls_ns;
		give_to_first(l, u, LEDGER_KERNEL, s->slice_ns, kernel_ns);
		give_to_first(l, u, LEDGER_CALLS, s->slice_ns, calls_ns);
	}
}

void ledger_in_flight(struct ledger_thread *t, uint16_t kind, uint64_t begin_ns)
{
	t->nfed += gpu_work_feeds(kind);
	t->open_feeds |= gpu_work_feeds(kind);
	if (!t->open_ns || begin_ns < t->open_ns)
		t->open_ns = begin_ns;
}

void ledger_exec(struct ledger *l, const struct event *ev)
{
	const struct process *p = l->tasks ? tasks_find_process(l->tasks, (uint32_t)ev->v[F_exec_pid]) : NULL;
	struct gpu_process *work = p ? table_find(&l->work.processes, p->number, 0) : NULL;

	if (!work)
		return;
	work->unknown = true;
	work->idle_ns = NO_TIME;
}

static void leave_process(struct ledger *l, uint64_t pid)
{
	const struct process *p = l->tasks ? tasks_find_process(l->tasks, (uint32_t)pid) : NULL;

	if (!p)
		return;
	for (struct first_call *u = first_calls_latest(&l->firsts, p->number); u; u = u->before)
		settle_first(l, u);
	first_calls_forget(&l->firsts, p->number);
}

void ledger_leave(struct ledger *l, const struct event *ev)
{
	struct ledger_by_tid *latest = table_find(&l->latest, ev->v[F_exit_tid], 0);
	struct ledger_thread *t = latest ? latest->thread : NULL;

	if (t && !t->ended) {
		stay(l, t, LEDGER_OUTSIDE, ev->at_ns);
		settle(l, t);
		l->failed |= !idle_leave(t, ev->at_ns);
		close_thread(l, latest);
	}
	if (ev->v[F_exit_last])
		leave_process(l, ev->v[F_exit_pid]);
}

static void end_thread(struct ledger *l, struct ledger_thread *t, uint64_t now_ns)
{
	bool open = t->open_ns && t->open_ns < now_ns;

	settle(l, t);
	if (t->ended)
		return;
	stay(l, t, LEDGER_OUTSIDE, open ? t->open_ns : now_ns);
	settle(l, t);
	if (open && t->open_feeds && t->gpu)
		l->failed |= !idle_end(t, t->open_ns);
	if (t->end_ns < now_ns) {
		give(l, t, LEDGER_OPEN, t->end_ns, now_ns);
		t->end_ns = now_ns;
		t->npieces = 0;
	}
	l->failed |= !idle_leave(t, now_ns);
}

int ledger_finish(struct ledger *l, uint64_t now_ns, struct fault *why)
{
	l->over_ns = now_ns;
	for (size_t i = 0; i < l->threads.nitems; i++)
		end_thread(l, (struct ledger_thread *)l->threads.items[i], now_ns);
	for (size_t i = 0; i < l->firsts.all.nitems; i++)
		settle_first(l, (struct first_call *)l->firsts.all.items[i]);
	l->failed |= !idle_count(&l->work);
	for (size_t i = 0; i < l->threads.nitems; i++) {
		struct ledger_thread *t = (struct ledger_thread *)l->threads.items[i];

		ledger_slices_join(t, l->slice_ns);
		idle_finish(t);
		waited_sort(&t->waited);
		waited_sort(&t->stops);
	}
	return l->failed || l->firsts.failed || l->work.failed ? fault_no_memory(why) : 0;
}
