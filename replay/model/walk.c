/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/model/walk.h"

#include <string.h>

#include "keys/completeness.h"

int counters_grown(const struct schema *s, const struct counter *before, uint32_t nbefore, const struct counter *after,
		   uint32_t nafter,
		   int (*each)(void *arg, const struct probe *p, const struct counter_type *c, uint64_t delta,
			       uint64_t total),
		   void *arg)
{
	uint32_t b = 0;

	for (uint32_t a = 0; a < nafter; a++) {
		const struct probe *probe = schema_probe(s, after[a].probe);
		const struct counter_type *counter = schema_counter(s, after[a].id);
		uint64_t old = 0;
		int r;

		while (b < nbefore && (before[b].probe < after[a].probe ||
				       (before[b].probe == after[a].probe && before[b].id < after[a].id)))
			b++;
		if (b < nbefore && before[b].probe == after[a].probe && before[b].id == after[a].id)
			old = before[b].value;
		/* A counter that shrank is refused by verify(); in an unverified capture it counts as no growth. */
		if (!probe || !counter || after[a].value <= old)
			continue;
		r = each(arg, probe, counter, after[a].value - old, after[a].value);
		if (r)
			return r;
	}
	return 0;
}

uint64_t replay_nepochs(const struct replay *replay)
{
	const struct evidence *e = replay->evidence;

	if (replay->unverified || e->verification.nepochs > e->reader.nepochs)
		return e->reader.nepochs;
	return e->verification.nepochs;
}

uint64_t replay_count(const struct reader *r, uint64_t nepochs, uint16_t kind)
{
	uint64_t sum = 0;

	for (uint64_t e = 0; e < nepochs; e++)
		for (uint32_t i = 0; i < r->epochs[e].ncounts; i++)
			if (r->epochs[e].counts[i].kind == kind)
				sum += r->epochs[e].counts[i].count;
	return sum;
}

struct visit {
	struct walk *walk;
	const struct visitor *visitor;
	void *self;
	struct growth growth; /* filled but for probe, counter, delta, total */
	struct fault *why;
};

static int visit_growth(void *arg, const struct probe *p, const struct counter_type *c, uint64_t delta, uint64_t total)
{
	struct visit *v = arg;

	v->growth.probe = p;
	v->growth.counter = c;
	v->growth.delta = delta;
	v->growth.total = total;
	return v->visitor->growth(v->self, v->walk, &v->growth, v->why);
}

static int visit_epoch(struct visit *v, const struct epoch *e)
{
	const struct visitor *visitor = v->visitor;
	const struct epoch *before = e->number > 0 ? e - 1 : NULL;
	int r;

	if (v->walk->replay->progress)
		v->walk->replay->progress(e->number, v->walk->nepochs);
	if (visitor->epoch) {
		r = visitor->epoch(v->self, v->walk, e, v->why);
		if (r)
			return r;
	}
	if (visitor->growth) {
		v->growth = (struct growth){.begin_ns = e->begin_ns, .end_ns = e->end_ns, .epoch = e->number};
		r = counters_grown(&v->walk->reader->header.schema, before ? before->counters : NULL,
				   before ? before->ncounters : 0, e->counters, e->ncounters, visit_growth, v);
		if (r)
			return r;
	}
	for (uint32_t i = 0; visitor->withheld && i < e->nchunks; i++) {
		if (!e->chunks[i].withheld)
			continue;
		r = visitor->withheld(v->self, v->walk, e, &e->chunks[i], v->why);
		if (r)
			return r;
	}
	return 0;
}

static int visit_end(struct visit *v, const struct fault *stopped)
{
	const struct reader *r = v->walk->reader;
	const struct epoch *last = r->nepochs > 0 ? &r->epochs[r->nepochs - 1] : NULL;
	int status;

	if (!stopped && r->tail == TAIL_END && v->walk->nepochs == r->nepochs && v->visitor->growth) {
		uint64_t end_ns = last ? last->end_ns : r->header.start_boot_ns;

		/* What the recorder learnt as it detached happened somewhere before: it is dated at the last instant.
		 */
		v->growth = (struct growth){.begin_ns = end_ns, .end_ns = end_ns, .epoch = r->nepochs};
		status = counters_grown(&r->header.schema, last ? last->counters : NULL, last ? last->ncounters : 0,
					r->end.counters, r->end.ncounters, visit_growth, v);
		if (status)
			return status;
	}
	return v->visitor->end ? v->visitor->end(v->self, v->walk, stopped, v->why) : 0;
}

static int visit_event(struct visit *v, const struct event *ev)
{
	struct walk *w = v->walk;
	int r;

	if (ev->kind == KIND_epoch)
		return visit_epoch(v, ev->epoch);
	w->nevents = ev->number;
	r = tasks_feed(&w->tasks, ev, v->why);
	if (!r)
		r = kernels_see(&w->kernels, &w->tasks, ev, v->why);
	if (r)
		return r;
	if (!v->visitor->event || !filter_passes(w->replay->filter, ev, &w->tasks, v->visitor->keep_names))
		return 0;
	return v->visitor->event(v->self, w, ev, v->why);
}

int walk(const struct replay *replay, const struct visitor *visitor, void *self, struct fault *why)
{
	struct walk w = {.replay = replay, .reader = &replay->evidence->reader, .nepochs = replay_nepochs(replay)};
	struct visit v = {.walk = &w, .visitor = visitor, .self = self, .why = why};
	struct cursor *cur = NULL;
	struct event ev;
	int r = 0;

	if (visitor->ahead)
		r = tasks_look_ahead(&w.tasks, w.reader, replay->unverified, why);
	if (r == 0)
		r = cursor_open(&cur, w.reader, replay->unverified, why);
	if (r)
		goto done;
	if (visitor->wish)
		cursor_ask(cur, visitor->wish);
	while ((r = cursor_next(cur, &ev, why)) > 0) {
		if (ev.epoch->number >= w.nepochs) {
			r = 0;
			break;
		}
		r = visit_event(&v, &ev);
		if (r)
			goto out;
	}
	/* All epochs were read, but behind them stands what is no capture. */
	if (r == 0 && replay->unverified && w.reader->tail == TAIL_BROKEN) {
		*why = w.reader->broken;
		r = why->code;
	}
	if (replay->unverified && (r == ERR_FORMAT || r == ERR_FORGED))
		unread_words(why, w.reader, cursor_npassed(cur));
	if (r == 0) {
		r = visit_end(&v, NULL);
	} else if (replay->unverified && (r == ERR_FORMAT || r == ERR_FORGED)) {
		struct fault stopped = *why;

		r = visit_end(&v, &stopped);
		if (r == 0) {
			*why = stopped;
			r = WALK_STOPPED;
		}
		goto done;
	}
out:
	r = r == WALK_ENOUGH ? 0 : r;
done:
	cursor_close(cur);
	tasks_clear(&w.tasks);
	kernels_clear(&w.kernels);
	return r;
}
