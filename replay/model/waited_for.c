// SPDX-License-Identifier: Apache-2.0
#include "replay/model/waited_for.h"

#include <stdlib.h>

#include "format/base/array.h"

void waited_clear(struct waited_list *list)
{
	free(list->all);
	*list = (struct waited_list){0};
}

void waited_fit(struct waited_list *list)
{
	struct waited_for *fitting = list->n ? realloc(list->all, list->n * sizeof(*fitting)) : NULL;

	if (!fitting)
		return;
	list->all = fitting;
	list->room = list->n;
}

/* One of them may not have been named when it was met first. */
static bool same_whom(const struct whom *a, const struct whom *b)
{
	return a->tid == b->tid && (a->thread == b->thread || !a->thread || !b->thread);
}

static void count_in(struct waited_for *into, const struct waited_for *w)
{
	into->ns += w->ns;
	into->count += w->count;
	into->idle_ns += w->idle_ns;
	into->left_ns += w->left_ns;
	for (unsigned c = 0; c < CAUSE_CLASSES; c++)
		into->did_ns[c] += w->did_ns[c];
	if (into->whom.tid == w->whom.tid && !into->whom.thread)
		into->whom.thread = w->whom.thread;
}

static struct waited_for *find(struct waited_list *list, unsigned part, const struct whom *whom)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->all[i].part == part && same_whom(&list->all[i].whom, whom))
			return &list->all[i];
	return NULL;
}

static struct waited_for *append(struct waited_list *list, unsigned part, const struct whom *whom)
{
	struct waited_for *one = array_at(&list->all, &list->room, list->n, sizeof(*one));

	if (!one)
		return NULL;
	*one = (struct waited_for){.whom = *whom, .part = (uint8_t)part};
	list->n++;
	return one;
}

/* The one with the least time is counted as not known; its place. NULL: no memory. */
static struct waited_for *make_room(struct waited_list *list)
{
	static const struct whom unknown = {.tid = TID_NONE};
	struct waited_for *least = NULL, *rest;
	size_t at;

	for (size_t i = 0; i < list->n; i++)
		if (list->all[i].whom.tid != TID_NONE && (!least || list->all[i].ns < least->ns))
			least = &list->all[i];
	if (!least)
		return NULL;
	at = (size_t)(least - list->all);
	rest = find(list, least->part, &unknown);
	if (!rest)
		rest = append(list, least->part, &unknown);
	if (!rest)
		return NULL;
	least = &list->all[at];
	least->did_ns[CAUSE_UNKNOWN] = least->ns;
	for (unsigned c = 0; c < CAUSE_UNKNOWN; c++)
		least->did_ns[c] = 0;
	count_in(rest, least);
	return least;
}

bool waited_add(struct waited_list *list, unsigned part, const struct whom *whom, uint64_t ns)
{
	struct waited_for *into = find(list, part, whom);

	if (!into && (list->n < WAITED_FOR_MAX || whom->tid == TID_NONE)) {
		into = append(list, part, whom);
	} else if (!into) {
		into = make_room(list);
		if (into)
			*into = (struct waited_for){.whom = *whom, .part = (uint8_t)part};
	}
	if (!into)
		return false;
	into->ns += ns;
	into->count += !whom->more;
	into->did_ns[whom->did] += ns;
	if (!into->whom.thread)
		into->whom.thread = whom->thread;
	return true;
}

/* (Of one that had made room and came back, some of the time is in the entry for those who are not known.) */
void waited_work(struct waited_list *list, unsigned part, const struct whom *whom, uint64_t ns, bool left)
{
	static const struct whom unknown = {.tid = TID_NONE};
	struct waited_for *const places[] = {find(list, part, whom), find(list, part, &unknown)};

	for (unsigned i = 0; i < 2 && ns; i++) {
		struct waited_for *w = places[i];
		uint64_t room_ns = w ? w->ns - w->idle_ns - w->left_ns : 0, some_ns = ns < room_ns ? ns : room_ns;

		if (some_ns)
			*(left ? &w->left_ns : &w->idle_ns) += some_ns;
		ns -= some_ns;
	}
}

static int by_whom(const void *x, const void *y)
{
	const struct waited_for *a = x, *b = y;

	if (a->part != b->part)
		return a->part < b->part ? -1 : 1;
	if (a->whom.tid != b->whom.tid)
		return a->whom.tid < b->whom.tid ? -1 : 1;
	return a->whom.thread < b->whom.thread ? -1 : a->whom.thread > b->whom.thread;
}

static int most_first(const void *x, const void *y)
{
	const struct waited_for *a = x, *b = y;

	return a->ns != b->ns ? (a->ns < b->ns ? 1 : -1) : by_whom(x, y);
}

void waited_sort(struct waited_list *list)
{
	if (list->n)
		qsort(list->all, list->n, sizeof(*list->all), most_first);
}

bool waited_gather(struct waited_list *list, const struct waited_list *from)
{
	for (size_t i = 0; i < from->n; i++) {
		struct waited_for *one = array_at(&list->all, &list->room, list->n, sizeof(*one));

		if (!one)
			return false;
		*one = from->all[i];
		list->n++;
	}
	return true;
}

void waited_merge(struct waited_list *list)
{
	size_t n = 0;

	if (list->n)
		qsort(list->all, list->n, sizeof(*list->all), by_whom);
	for (size_t i = 0; i < list->n; i++) {
		struct waited_for *last = n ? &list->all[n - 1] : NULL, one = list->all[i];

		if (last && last->part == one.part && same_whom(&last->whom, &one.whom))
			count_in(last, &one);
		else
			list->all[n++] = one;
	}
	list->n = n;
	waited_sort(list);
}

enum cause_class waited_did(const struct waited_for *w)
{
	for (unsigned c = 0; c < CAUSE_UNKNOWN; c++)
		if (w->did_ns[c] > w->ns / 2)
			return (enum cause_class)c;
	return CAUSE_UNKNOWN;
}

/* --- who kept a thread waiting --- */

#define LEAST_SHARE 10 /* of its time: what it did for less counts as what it did for most */

struct visiting {
	const struct tasks *tasks;
	const struct span *piece;
	uint32_t tid;
	uint64_t at_ns; /* all of the piece before has been visited */
	bool more;      /* the same wait goes on */
	void (*visit)(void *arg, const struct span *stretch, const struct whom *whom);
	void *arg;
};

static void visit_until(struct visiting *v, uint64_t until_ns, uint32_t tid, enum cause_class did)
{
	const struct span *piece = v->piece;
	struct span stretch;
	struct whom whom = {.tid = tid, .did = (uint8_t)did, .more = v->more};

	if (until_ns <= v->at_ns)
		return;
	/* (Who waits is not who keeps it waiting: such rows contradict each other.) */
	if (tid == v->tid)
		whom.tid = TID_NONE;
	if (whom.tid == TID_NONE || whom.tid == TID_IDLE)
		whom.did = CAUSE_UNKNOWN;
	else if (v->tasks)
		whom.thread = tasks_thread(v->tasks, whom.tid);
	if (piece->begin_ns != v->at_ns || piece->end_ns != until_ns) {
		stretch = *piece;
		stretch.begin_ns = v->at_ns;
		stretch.end_ns = until_ns;
		piece = &stretch;
	}
	v->at_ns = until_ns;
	v->visit(v->arg, piece, &whom);
}

/* Who had the CPU: of several between whom no row was written, one does not know which for how long. */
static void visit_occupant(void *arg, const struct occupant *o)
{
	struct visiting *v = arg;
	bool known = occupant_is_last(o, v->piece->flags, v->piece->begin_ns);

	visit_until(v, o->begin_ns, TID_NONE, CAUSE_UNKNOWN);
	visit_until(v, o->end_ns, known ? o->last_tid : TID_NONE, known ? CAUSE_CPU : CAUSE_UNKNOWN);
}

/* ns[]: by class. */
static void count_awake(void *arg, const struct span *piece)
{
	uint64_t *ns = arg;

	if (piece->state == STATE_RUNNING)
		ns[CAUSE_CPU] += piece->end_ns - piece->begin_ns;
	else if (piece->state == STATE_RUNNABLE)
		ns[piece->flags & SPAN_THROTTLED ? CAUSE_QUOTA : CAUSE_RUNNABLE] += piece->end_ns - piece->begin_ns;
}

/* Of a short sleep: what the one that ended it did itself, or was ready to. */
static enum cause_class did_meanwhile(const struct timeline *tl, const struct span *piece)
{
	static const enum cause_class awake[] = {CAUSE_CPU, CAUSE_RUNNABLE, CAUSE_QUOTA};
	uint64_t ns[CAUSE_CLASSES] = {0};

	timeline_walk(tl, piece->other_tid, piece->begin_ns, piece->end_ns, count_awake, ns);
	for (unsigned i = 0; i < sizeof(awake) / sizeof(awake[0]); i++)
		if (ns[awake[i]] > (piece->end_ns - piece->begin_ns) / 2)
			return awake[i];
	return CAUSE_UNKNOWN;
}

#define STARTED_BY_MAX 8 /* threads, each started by the next */

/* The end of the chain. Of one that began only meanwhile, and had to be started first: that of who did. */
static const struct split *follow(const struct visiting *v, struct cause *c, const struct timeline *tl)
{
	const struct split *last;
	uint64_t born_ns;

	cause_find(c, tl, v->tid, v->piece->begin_ns, v->piece->end_ns);
	for (unsigned i = 0;; i++) {
		uint32_t parent;

		last = &c->links[c->nlinks - 1];
		if (i == STARTED_BY_MAX || c->end != CHAIN_UNKNOWN || split_main(last) != CAUSE_UNKNOWN)
			return last;
		parent = timeline_started_by(tl, last->tid, &born_ns);
		if (parent == TID_NONE || parent == v->tid || born_ns <= last->begin_ns || born_ns > last->end_ns)
			return last;
		cause_find(c, tl, parent, last->begin_ns, born_ns);
	}
}

/* Nobody else is to be followed then. */
static bool ends_chain(enum cause_class class)
{
	return class != CAUSE_FUTEX && class != CAUSE_ASLEEP && class != CAUSE_UNKNOWN;
}

/* So much of the piece as is ns of whole_ns. */
static uint64_t share_of(const struct span *piece, uint64_t ns, uint64_t whole_ns)
{
	return (uint64_t)((double)(piece->end_ns - piece->begin_ns) * ((double)ns / (double)whole_ns));
}

/* All of the piece is that one's: in the proportion of what it did for a tenth of its time or more; the rest is most.
 */
static void visit_split(struct visiting *v, const struct split *last)
{
	enum cause_class most = split_main(last);
	uint64_t whole_ns = last->end_ns - last->begin_ns, apart_ns[CAUSE_CLASSES] = {0}, others_ns = 0;

	for (unsigned c = 0; c < CAUSE_CLASSES && ends_chain(most); c++)
		if (c != most && ends_chain((enum cause_class)c) && last->ns[c] >= whole_ns / LEAST_SHARE)
			others_ns += apart_ns[c] = share_of(v->piece, last->ns[c], whole_ns);
	visit_until(v, v->piece->end_ns - others_ns, last->tid, most);
	v->more = true;
	for (unsigned c = 0; c < CAUSE_CLASSES; c++)
		visit_until(v, v->at_ns + apart_ns[c], last->tid, (enum cause_class)c);
	v->more = false;
}

static void visit_sleep(struct visiting *v, struct cause *scratch, const struct timeline *tl)
{
	const struct span *piece = v->piece;
	const struct split *last;

	if (!woken_by_task(piece)) {
		visit_until(v, piece->end_ns, TID_NONE, CAUSE_UNKNOWN);
		return;
	}
	if (!scratch || piece->end_ns - piece->begin_ns < WAITED_FOLLOWED_NS) {
		visit_until(v, piece->end_ns, piece->other_tid, scratch ? did_meanwhile(tl, piece) : CAUSE_UNKNOWN);
		return;
	}
	last = follow(v, scratch, tl);
	if (last->tid == v->tid) /* it was stopped, or the like */
		visit_until(v, piece->end_ns, piece->other_tid, CAUSE_UNKNOWN);
	else
		visit_split(v, last);
}

void waited_visit(struct cause *scratch, const struct timeline *tl, const struct tasks *tasks, uint32_t tid,
		  const struct span *piece,
		  void (*visit)(void *arg, const struct span *stretch, const struct whom *whom), void *arg)
{
	struct visiting v = {tasks, piece, tid, piece->begin_ns, false, visit, arg};

	if (piece->state == STATE_ASLEEP) {
		visit_sleep(&v, scratch, tl);
		return;
	}
	if (piece->flags & (SPAN_MOVED | SPAN_THROTTLED)) { /* it may have waited for another one, or for none */
		visit_until(&v, piece->end_ns, TID_NONE, CAUSE_UNKNOWN);
		return;
	}
	if (piece->end_ns - piece->begin_ns >= WAITED_FOLLOWED_NS)
		timeline_occupants(tl, piece->cpu, piece->begin_ns, piece->end_ns, visit_occupant, &v);
	else
		visit_until(&v, piece->end_ns, piece->other_tid, CAUSE_CPU);
	visit_until(&v, piece->end_ns, TID_NONE, CAUSE_UNKNOWN);
}
