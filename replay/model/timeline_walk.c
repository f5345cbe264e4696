// SPDX-License-Identifier: Apache-2.0
#include "replay/model/timeline_internal.h"

struct piecewise {
	const struct timeline *tl;
	const struct ring *reclaims; /* of the thread; NULL: nothing is known of it */
	bool plain;                  /* none of them, and nothing blind, is left to be reported */
	uint64_t at_ns;              /* all before is reported */
	uint64_t end_ns;
	void (*visit)(void *arg, const struct span *piece);
	void *arg;
};

static void report(struct piecewise *w, const struct span *model, uint64_t until_ns)
{
	struct span piece;

	if (until_ns > w->end_ns)
		until_ns = w->end_ns;
	if (until_ns <= w->at_ns)
		return;
	piece = *model;
	piece.begin_ns = w->at_ns;
	piece.end_ns = until_ns;
	w->at_ns = until_ns;
	w->visit(w->arg, &piece);
}

static void report_unknown(struct piecewise *w, enum unknown_reason reason, uint64_t until_ns)
{
	const struct span unknown = {.state = STATE_UNKNOWN, .reason = (uint8_t)reason, .other_tid = TID_NONE};

	report(w, &unknown, until_ns);
}

/* Up to `until_ns` it was so; where it got memory, for that. */
static void report_state(struct piecewise *w, const struct span *model, uint64_t until_ns)
{
	bool may = model->state == STATE_RUNNING || model->state == STATE_ASLEEP;
	unsigned n = may && w->reclaims ? ring_n(w->reclaims) : 0;

	for (unsigned i = n ? ring_first_after(w->reclaims, w->at_ns) : 0; i < n; i++) {
		const struct reclaim *one = ring_at(w->reclaims, i);
		struct span marked = *model;

		if (one->begin_ns >= until_ns)
			break;
		report(w, model, one->begin_ns);
		marked.flags |= one->flags;
		report(w, &marked, one->end_ns < until_ns ? one->end_ns : until_ns);
	}
	report(w, model, until_ns);
}

/* Up to `until_ns` it was so, but for what is blind. */
static void report_around(struct piecewise *w, const struct span *model, uint64_t until_ns)
{
	const struct ring *blind = &w->tl->blind;
	unsigned n = blind->items ? ring_n(blind) : 0;

	if (until_ns > w->end_ns)
		until_ns = w->end_ns;
	for (unsigned i = n ? ring_first_after(blind, w->at_ns) : 0; i < n; i++) {
		const struct interval *zone = ring_at(blind, i);

		if (zone->begin_ns >= until_ns)
			break;
		report_state(w, model, zone->begin_ns);
		report_unknown(w, UNKNOWN_LOST, zone->end_ns < until_ns ? zone->end_ns : until_ns);
	}
	report_state(w, model, until_ns);
}

static inline void report_seen(struct piecewise *w, const struct span *model, uint64_t until_ns)
{
	if (!w->plain) {
		report_around(w, model, until_ns);
	} else if (model->begin_ns == w->at_ns && w->at_ns < until_ns && until_ns <= w->end_ns &&
		   model->end_ns == until_ns) { /* whole, as most are */
		w->at_ns = until_ns;
		w->visit(w->arg, model);
	} else {
		report(w, model, until_ns);
	}
}

/* What lies before the first span that is kept. */
static void report_early(struct piecewise *w, const struct track *th)
{
	const struct interval *oldest = ring_n(&th->spans) ? ring_at(&th->spans, 0) : NULL;
	uint64_t kept_ns = oldest ? oldest->begin_ns : open_of(th)->begin_ns;
	const struct span running = {.state = STATE_RUNNING, .cpu = th->first_cpu, .other_tid = TID_NONE};

	if (th->spans.truncated) {
		report_unknown(w, UNKNOWN_HISTORY, kept_ns);
		return;
	}
	if (!th->began_running || th->ran_since_ns >= kept_ns) {
		report_unknown(w, UNKNOWN_NOT_SEEN, kept_ns);
		return;
	}
	report_unknown(w, UNKNOWN_NOT_SEEN, th->ran_since_ns);
	report_seen(w, &running, kept_ns);
}

/* Nothing is blind since then, and the thread got no memory. */
static bool is_plain(const struct timeline *tl, const struct track *th, uint64_t since_ns)
{
	unsigned nblind = ring_n(&tl->blind), nreclaims = ring_n(&th->reclaims);

	return (!nreclaims || ((const struct reclaim *)ring_at(&th->reclaims, nreclaims - 1))->end_ns <= since_ns) &&
	       (!nblind || ((const struct interval *)ring_at(&tl->blind, nblind - 1))->end_ns <= since_ns);
}

bool timeline_ran(const struct timeline *tl, uint32_t tid, uint64_t since_ns)
{
	const struct track *th = table_find(&tl->threads, tid, 0);

	return th && open_of(th)->state == STATE_RUNNING && open_of(th)->begin_ns <= since_ns &&
	       th->tracked_since_ns <= since_ns && th->first_ns <= since_ns && is_plain(tl, th, since_ns);
}

uint32_t timeline_started_by(const struct timeline *tl, uint32_t tid, uint64_t *at_ns)
{
	const struct track *th = table_find(&tl->threads, tid, 0);

	if (!th || th->parent_tid == TID_NONE)
		return TID_NONE;
	*at_ns = th->first_ns;
	return th->parent_tid;
}

void timeline_walk(const struct timeline *tl, uint32_t tid, uint64_t begin_ns, uint64_t end_ns,
		   void (*visit)(void *arg, const struct span *piece), void *arg)
{
	const struct track *th = table_find(&tl->threads, tid, 0);
	struct piecewise w = {.tl = tl,
			      .reclaims = th ? &th->reclaims : NULL,
			      .at_ns = begin_ns,
			      .end_ns = end_ns,
			      .visit = visit,
			      .arg = arg};
	struct span *s, *open;
	uint64_t tracked_ns;

	if (!th || th->first_ns == NEVER) {
		report_unknown(&w, UNKNOWN_NOT_SEEN, end_ns);
		return;
	}
	w.plain = is_plain(tl, th, begin_ns);
	if (begin_ns < th->tracked_since_ns) {
		tracked_ns = tl->tracked_since ? tl->tracked_since(tl->tracked_arg, tid) : NEVER;
		report_unknown(&w, UNKNOWN_NOT_SEEN,
			       tracked_ns < th->tracked_since_ns ? tracked_ns : th->tracked_since_ns);
	}
	report_early(&w, th);
	open = open_of(th);
	for (s = ring_at(&th->spans, ring_first_after(&th->spans, w.at_ns)); s != open && w.at_ns < end_ns;
	     s = ring_after(&th->spans, s))
		report_seen(&w, s, s->end_ns);
	report_seen(&w, open, end_ns);
}

static void visit_cut(const struct occupant *whole, uint64_t begin_ns, uint64_t end_ns,
		      void (*visit)(void *arg, const struct occupant *o), void *arg)
{
	struct occupant o = *whole;

	o.begin_ns = o.begin_ns > begin_ns ? o.begin_ns : begin_ns;
	o.end_ns = o.end_ns < end_ns ? o.end_ns : end_ns;
	if (o.begin_ns < o.end_ns)
		visit(arg, &o);
}

void timeline_occupants(const struct timeline *tl, uint32_t number, uint64_t begin_ns, uint64_t end_ns,
			void (*visit)(void *arg, const struct occupant *o), void *arg)
{
	const struct cpu *cpu = table_find(&tl->cpus, number, 0);
	/* The thread that has it now: so far, no row has said otherwise. */
	struct occupant now = {.end_ns = UINT64_MAX};

	unsigned n = cpu ? ring_n(&cpu->occupants) : 0;

	if (!cpu)
		return;
	for (unsigned i = ring_first_after(&cpu->occupants, begin_ns); i < n; i++) {
		const struct occupant *o = ring_at(&cpu->occupants, i);

		if (o->begin_ns >= end_ns)
			return;
		visit_cut(o, begin_ns, end_ns, visit, arg);
	}
	now.begin_ns = cpu->since_ns;
	now.first_tid = now.last_tid = cpu->tid;
	if (cpu->since_ns != NEVER)
		visit_cut(&now, begin_ns, end_ns, visit, arg);
}

static void add_idle(void *arg, const struct occupant *o)
{
	uint64_t *idle_ns = arg;

	if (o->first_tid == TID_IDLE && o->last_tid == TID_IDLE)
		*idle_ns += o->end_ns - o->begin_ns;
}

static bool was_idle(const struct timeline *tl, uint32_t cpu, const struct span *piece)
{
	uint64_t idle_ns = 0;

	timeline_occupants(tl, cpu, piece->begin_ns, piece->end_ns, add_idle, &idle_ns);
	return idle_ns >= piece->end_ns - piece->begin_ns - idle_ns;
}

uint32_t timeline_idle_beside(const struct timeline *tl, uint32_t tid, const struct span *piece, bool *barred)
{
	uint32_t found = CPU_NONE;

	*barred = false;
	for (size_t i = 0; tl->reports_pins && i < tl->cpus.nitems; i++) {
		uint32_t cpu = (uint32_t)tl->cpus.items[i]->a;
		int may_run = tl->may_run ? tl->may_run(tl->may_run_arg, tid, cpu) : -1;

		if (cpu == piece->cpu || (may_run ? piece->flags & SPAN_PINNED : found != CPU_NONE) ||
		    !was_idle(tl, cpu, piece))
			continue;
		found = cpu;
		*barred = may_run == 0;
		if (!*barred)
			break;
	}
	return found;
}

const char *task_state_letter(uint32_t task_state)
{
	static const struct {
		uint32_t bits;
		const char *letter;
	} letters[] = {
		{0x402, "I"}, {0x2, "D"}, {0x1, "S"}, {0x4, "T"}, {0x8, "t"}, {0x40, "P"}, {0x1000, "D"},
	};

	for (size_t i = 0; i < sizeof(letters) / sizeof(letters[0]); i++)
		if ((task_state & letters[i].bits) == letters[i].bits)
			return letters[i].letter;
	return "?";
}

uint64_t timeline_taken(const struct timeline *tl, uint32_t number, enum taker by, uint64_t begin_ns, uint64_t end_ns)
{
	const struct cpu *cpu = table_find(&tl->cpus, number, 0);
	unsigned n = cpu ? ring_n(&cpu->taken) : 0;
	uint64_t sum_ns = 0;

	if (!cpu)
		return 0;
	for (unsigned i = ring_first_after(&cpu->taken, begin_ns); i < n; i++) {
		const struct taken *t = ring_at(&cpu->taken, i);
		uint64_t from_ns = t->begin_ns > begin_ns ? t->begin_ns : begin_ns;
		uint64_t to_ns = t->end_ns < end_ns ? t->end_ns : end_ns;

		if (t->begin_ns >= end_ns)
			break;
		sum_ns += t->ns[by] < to_ns - from_ns ? t->ns[by] : to_ns - from_ns;
	}
	return sum_ns;
}

bool timeline_absence(const struct timeline *tl, uint32_t tid, uint64_t left_ns, uint64_t *ready_ns)
{
	const struct track *th = table_find(&tl->threads, tid, 0);
	unsigned n = th ? ring_n(&th->spans) : 0;
	bool ready = true; /* all that came after */
	uint64_t at_ns;

	if (!th || open_of(th)->state != STATE_RUNNING)
		return false;
	at_ns = open_of(th)->begin_ns;
	*ready_ns = UINT64_MAX;
	while (n > 0 && at_ns > left_ns) {
		const struct span *s = ring_at(&th->spans, --n);

		if (s->state == STATE_RUNNING)
			return false;
		if (ready && s->state == STATE_ASLEEP && s->flags & SPAN_WOKEN)
			*ready_ns = s->end_ns;
		at_ns = s->begin_ns;
		ready = ready && s->state == STATE_RUNNABLE;
		if (ready)
			*ready_ns = at_ns;
	}
	return at_ns == left_ns;
}

bool timeline_last(const struct timeline *tl, uint32_t tid, struct span *last)
{
	const struct track *th = table_find(&tl->threads, tid, 0);

	unsigned n = th ? ring_n(&th->spans) : 0;

	if (n == 0)
		return false;
	*last = *(const struct span *)ring_at(&th->spans, n - 1);
	return true;
}
