// SPDX-License-Identifier: Apache-2.0
#include "replay/model/cause.h"

#include <string.h>

/* The kernel's bits in prev_state, from include/linux/sched.h. */

#define IDLE_BESIDE_NS 500000 /* no CPU for so long is more than the scheduler takes to use one that is idle */

const char *cause_class_name(enum cause_class class)
{
	static const char *const names[CAUSE_CLASSES] = {"on-cpu",  "waiting-for-cpu", "throttled", "stopped",
							 "futex",   "page-fault",      "memory",    "io",
							 "network", "asleep",          "unknown"};

	return names[class];
}

const char *cause_class_key(enum cause_class class)
{
	static const char *const keys[CAUSE_CLASSES] = {
		"on_cpu_ns",  "waiting_for_cpu_ns", "throttled_ns", "stopped_ns",
		"futex_ns",   "page_fault_ns",      "memory_ns",    "io_ns",
		"network_ns", "asleep_ns",          "unknown_ns"};

	return keys[class];
}

const char *cause_class_label(enum cause_class class)
{
	static const char *const labels[CAUSE_CLASSES] = {"on CPU",
							  "waiting for a CPU",
							  "throttled by CPU quota",
							  "stopped",
							  "asleep in a futex",
							  "in a page fault",
							  "short of memory",
							  "waiting for disk",
							  "waiting for the network",
							  "asleep otherwise",
							  "unknown"};

	return labels[class];
}

const char *cause_class_doing(enum cause_class class)
{
	static const char *const doing[CAUSE_CLASSES] = {
		"at work",         "without a CPU",    "out of CPU quota",
		"stopped",         "in a futex",       "in a page fault",
		"short of memory", "waiting for disk", "waiting for the network",
		"asleep"};

	return doing[class];
}

const char *chain_end_name(enum chain_end end)
{
	static const char *const names[] = {"ran",   "no-cpu",   "interrupt", "timed-out", "signal", "unknown",
					    "cycle", "too-long", "quota",     "stopped",   "memory", "network"};

	return names[end];
}

static bool same_cause(const struct part *a, const struct part *b)
{
	return a->class == b->class && a->futex == b->futex && a->tid == b->tid && a->cpu == b->cpu &&
	       a->task_state == b->task_state && a->syscall == b->syscall && a->flags == b->flags &&
	       a->reason == b->reason && a->likely == b->likely && a->joined == b->joined &&
	       a->idle_cpu == b->idle_cpu && a->idle_barred == b->idle_barred;
}

static void part_join(struct part *into, const struct part *p)
{
	into->ns += p->ns;
	into->count += p->count;
	if (p->longest_end_ns - p->longest_begin_ns > into->longest_end_ns - into->longest_begin_ns) {
		into->longest_begin_ns = p->longest_begin_ns;
		into->longest_end_ns = p->longest_end_ns;
	}
}

static struct part *part_like(struct split *s, const struct part *p)
{
	for (unsigned i = 0; i < s->nparts; i++)
		if (same_cause(&s->parts[i], p))
			return &s->parts[i];
	return NULL;
}

static bool has_place(const struct split *s, const struct part *p)
{
	if (p->class == CAUSE_RUNNABLE)
		return s->nkeepers < SPLIT_PARTS_MAX;
	return s->nparts - s->nkeepers < SPLIT_PARTS_MAX;
}

/* Count `p` in; beyond SPLIT_PARTS_MAX causes, in its class's rest. */
static void add_part(struct split *s, const struct part *p)
{
	struct part rest = {.class = p->class, .tid = TID_NONE, .joined = true};
	struct part *into = part_like(s, p);

	s->ns[p->class] += p->ns;
	if (!into && !has_place(s, p)) {
		into = part_like(s, &rest);
		if (!into) {
			into = &s->parts[s->nparts++];
			*into = rest;
		}
	}
	if (into) {
		part_join(into, p);
		return;
	}
	s->nkeepers += p->class == CAUSE_RUNNABLE;
	s->parts[s->nparts++] = *p;
}

struct splitting {
	struct split *split;
	const struct timeline *tl;
	struct part waiting; /* the runnable piece whose occupants are visited */
	uint32_t flags;      /* the piece's, enum span_flags */
	uint64_t left_ns;    /* of it, not reported yet */
};

/*
 * Of threads that are not recorded and had the CPU one after the other, who kept it from the one that waits: who took
 * it, if it was preempted then; otherwise who gave it up at last, for what was before may have been before the wait.
 * That may be nobody, unless somebody came during the wait.
 */
static uint32_t keeper_of(const struct splitting *w, const struct occupant *o)
{
	if (occupant_is_last(o, w->flags, w->waiting.longest_begin_ns))
		return o->last_tid;
	if (w->waiting.flags & SPAN_PREEMPTED && o->begin_ns == w->waiting.longest_begin_ns)
		return o->first_tid == TID_IDLE ? o->last_tid : o->first_tid;
	return o->last_tid == TID_IDLE && o->begin_ns > w->waiting.longest_begin_ns ? o->first_tid : o->last_tid;
}

static void visit_occupant(void *arg, const struct occupant *o)
{
	struct splitting *w = arg;
	struct part p = w->waiting;

	p.ns = o->end_ns - o->begin_ns;
	p.tid = keeper_of(w, o);
	p.likely = w->flags & SPAN_MOVED || !occupant_is_last(o, w->flags, w->waiting.longest_begin_ns);
	/* A thread that waits for a CPU has none: such a row contradicts itself. */
	if (p.tid == w->split->tid || p.ns > w->left_ns)
		return;
	w->left_ns -= p.ns;
	add_part(w->split, &p);
}

static void split_runnable(struct splitting *w, const struct span *piece, const struct part *model)
{
	struct part rest;

	w->waiting = *model;
	w->flags = w->waiting.flags;
	w->waiting.flags &= SPAN_PREEMPTED | SPAN_FORKED | SPAN_YIELDED;
	if (model->ns >= IDLE_BESIDE_NS)
		w->waiting.idle_cpu = timeline_idle_beside(w->tl, w->split->tid, piece, &w->waiting.idle_barred) + 1;
	w->left_ns = model->ns;
	timeline_occupants(w->tl, piece->cpu, piece->begin_ns, piece->end_ns, visit_occupant, w);
	if (w->left_ns == 0)
		return;
	rest = w->waiting;
	rest.ns = w->left_ns;
	rest.tid = piece->other_tid;
	rest.likely = true;
	add_part(w->split, &rest);
}

bool cause_class_sleeps(enum cause_class class)
{
	return class == CAUSE_FUTEX || class == CAUSE_FAULT || class == CAUSE_IO || class == CAUSE_ASLEEP;
}

static void visit_piece(void *arg, const struct span *piece)
{
	struct splitting *w = arg;
	struct part p = {
		.ns = piece->end_ns - piece->begin_ns,
		.count = 1,
		.longest_begin_ns = piece->begin_ns,
		.longest_end_ns = piece->end_ns,
		.tid = TID_NONE,
	};

	if (gets_memory(piece)) {
		p.class = CAUSE_MEMORY;
		p.flags = piece->flags & SPAN_MEMORY_BITS;
		add_part(w->split, &p);
		return;
	}
	switch ((enum state)piece->state) {
	case STATE_RUNNING:
		p.class = CAUSE_CPU;
		p.cpu = piece->cpu;
		break;
	case STATE_RUNNABLE:
		p.flags = piece->flags;
		if (piece->flags & SPAN_THROTTLED) {
			p.class = CAUSE_QUOTA;
			break;
		}
		p.class = CAUSE_RUNNABLE;
		p.cpu = piece->cpu;
		split_runnable(w, piece, &p);
		return;
	case STATE_ASLEEP:
		p.class = (uint8_t)class_of_sleep(piece);
		p.syscall =
			p.class == CAUSE_ASLEEP || p.class == CAUSE_IO || p.class == CAUSE_NETWORK ? piece->syscall : 0;
		p.futex = p.class == CAUSE_STOPPED ? 0 : piece->futex;
		p.flags = piece->flags;
		p.task_state = piece->task_state;
		if (woken_by_task(piece))
			p.tid = piece->other_tid;
		break;
	case STATE_UNKNOWN:
		p.class = CAUSE_UNKNOWN;
		p.reason = piece->reason;
		break;
	}
	add_part(w->split, &p);
}

/* Longest first; what is equal stays in order of time. */
static void sort_parts(struct split *s)
{
	for (unsigned i = 1; i < s->nparts; i++) {
		struct part p = s->parts[i];
		unsigned k = i;

		for (; k > 0 && s->parts[k - 1].ns < p.ns; k--)
			s->parts[k] = s->parts[k - 1];
		s->parts[k] = p;
	}
}

void split_make(struct split *s, const struct timeline *tl, uint32_t tid, uint64_t begin_ns, uint64_t end_ns)
{
	struct splitting w = {.split = s, .tl = tl};

	memset(s, 0, sizeof(*s));
	s->tid = tid;
	s->begin_ns = begin_ns;
	s->end_ns = end_ns;
	timeline_walk(tl, tid, begin_ns, end_ns, visit_piece, &w);
	sort_parts(s);
}

enum cause_class split_main(const struct split *s)
{
	static const enum cause_class reporting[] = {CAUSE_FUTEX,  CAUSE_STOPPED, CAUSE_QUOTA,  CAUSE_RUNNABLE,
						     CAUSE_MEMORY, CAUSE_FAULT,   CAUSE_IO,     CAUSE_NETWORK,
						     CAUSE_ASLEEP, CAUSE_CPU,     CAUSE_UNKNOWN};
	enum cause_class best = reporting[0];

	for (unsigned i = 1; i < CAUSE_CLASSES; i++)
		if (s->ns[reporting[i]] > s->ns[best])
			best = reporting[i];
	return best;
}

bool split_is_proven(const struct split *s, enum cause_class class)
{
	uint64_t doubtful_ns = 0;

	for (unsigned i = 0; i < s->nparts; i++) {
		const struct part *p = &s->parts[i];

		if (p->class == class && ((class == CAUSE_RUNNABLE && (p->likely || part_is_beside(p) || p->joined)) ||
					  (class == CAUSE_QUOTA && !(p->flags & SPAN_TIMED))))
			doubtful_ns += p->ns;
	}
	return doubtful_ns <= s->ns[class] / 10;
}

bool cause_is_proven(const struct cause *c)
{
	for (unsigned i = 0; i < c->nlinks; i++)
		if (!split_is_proven(&c->links[i], split_main(&c->links[i])))
			return false;
	return true;
}

const struct part *split_longest(const struct split *s, enum cause_class class)
{
	for (unsigned i = 0; i < s->nparts; i++)
		if (s->parts[i].class == class)
			return &s->parts[i];
	return NULL;
}

/* Where the chain goes on from the last link: the part with the waker, or NULL with c->end said. */
static const struct part *next_link(struct cause *c)
{
	const struct split *last = &c->links[c->nlinks - 1];
	enum cause_class class = split_main(last);
	const struct part *p = split_longest(last, class);

	c->end = CHAIN_UNKNOWN;
	if (class == CAUSE_CPU)
		c->end = CHAIN_RAN;
	else if (class == CAUSE_RUNNABLE)
		c->end = CHAIN_NO_CPU;
	else if (class == CAUSE_QUOTA)
		c->end = CHAIN_QUOTA;
	else if (class == CAUSE_STOPPED)
		c->end = CHAIN_STOPPED;
	else if (class == CAUSE_MEMORY)
		c->end = CHAIN_MEMORY;
	else if (class == CAUSE_NETWORK)
		c->end = CHAIN_NETWORK;
	if (!p || !cause_class_sleeps(class))
		return NULL;
	if (p->flags & SPAN_TIMED_OUT)
		c->end = CHAIN_TIMED_OUT;
	else if (p->flags & SPAN_IRQ)
		c->end = CHAIN_INTERRUPT;
	else if (p->flags & SPAN_SIGNALLED)
		c->end = CHAIN_SIGNAL;
	else if (p->tid != TID_NONE)
		return p;
	return NULL;
}

/*
 * In rows that fit together nobody is there twice: each waker acts before the sleep ends that the link before looks at,
 * and a thread that sleeps through that wakes nobody. A capture may say anything, though.
 */
static bool in_chain(const struct cause *c, uint32_t tid)
{
	for (unsigned i = 0; i < c->nlinks; i++)
		if (c->links[i].tid == tid)
			return true;
	return false;
}

void cause_find(struct cause *c, const struct timeline *tl, uint32_t tid, uint64_t begin_ns, uint64_t end_ns)
{
	const struct part *p;

	c->cycle_tid = TID_NONE;
	c->nlinks = 1;
	split_make(&c->links[0], tl, tid, begin_ns, end_ns);
	while ((p = next_link(c))) {
		if (in_chain(c, p->tid)) {
			c->end = CHAIN_CYCLE;
			c->cycle_tid = p->tid;
			return;
		}
		if (c->nlinks > CAUSE_LINKS_MAX) {
			c->end = CHAIN_TOO_LONG;
			return;
		}
		split_make(&c->links[c->nlinks++], tl, p->tid, p->longest_begin_ns, p->longest_end_ns);
	}
}
