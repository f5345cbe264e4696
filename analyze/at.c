/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/at.h"

#include <string.h>

void at_begin(struct at *a, uint64_t at_ns, uint32_t tid)
{
	memset(a, 0, sizeof(*a));
	a->at_ns = at_ns;
	a->tid = tid;
}

struct search {
	uint64_t at_ns;
	bool found;
	struct span span;
};

static void visit(void *arg, const struct span *piece)
{
	struct search *s = arg;

	if (piece->begin_ns > s->at_ns || piece->end_ns <= s->at_ns)
		return;
	s->found = true;
	s->span = *piece;
}

/* The state that the thread was in, as far as is known by now. */
static void look(struct at *a, const struct context *ctx, uint64_t now_ns)
{
	struct search s = {.at_ns = a->at_ns};
	uint64_t from_ns = a->at_ns > AT_LOOK_NS ? a->at_ns - AT_LOOK_NS : 0;

	if (now_ns <= a->at_ns)
		return;
	timeline_walk(ctx->timeline, a->tid, from_ns, now_ns, visit, &s);
	if (!s.found || s.span.state == STATE_UNKNOWN)
		return;
	a->known = true;
	a->state = s.span;
	explain(&a->why, ctx->timeline, ctx->names, a->tid, s.span.begin_ns, s.span.end_ns);
}

static void explain_call(struct at *a, const struct context *ctx)
{
	const struct at_call *c = &a->calls[a->ncalls - 1];

	a->due = false;
	explain(&a->call_why, ctx->timeline, ctx->names, a->tid, c->begin_ns, c->end_ns);
}

static void add_call(struct at *a, const struct event *ev)
{
	if (a->ncalls == AT_CALLS_MAX)
		memmove(a->calls, a->calls + 1, --a->ncalls * sizeof(a->calls[0]));
	a->calls[a->ncalls++] =
		(struct at_call){.begin_ns = call_begin_ns(ev), .end_ns = ev->at_ns, .probe = ev->v[F_call_probe]};
	a->due = true;
}

static bool is_of_thread(const struct at *a, const struct event *ev)
{
	switch (ev->kind) {
	case KIND_switch:
		return as_tid(ev->v[F_switch_prev_tid]) == a->tid || as_tid(ev->v[F_switch_next_tid]) == a->tid;
	case KIND_futex:
		return as_tid(ev->v[F_futex_tid]) == a->tid;
	case KIND_fault:
		return as_tid(ev->v[F_fault_tid]) == a->tid;
	case KIND_reclaim:
		return as_tid(ev->v[F_reclaim_tid]) == a->tid;
	case KIND_network:
		return as_tid(ev->v[F_network_tid]) == a->tid;
	default:
		return event_is_call(ev) && as_tid(ev->v[F_call_tid]) == a->tid;
	}
}

void at_feed(struct at *a, const struct context *ctx, const struct event *ev)
{
	/* What is of one moment is taken in together, when the first event of a later one comes. */
	if (a->due && ev->at_ns > a->calls[a->ncalls - 1].end_ns)
		explain_call(a, ctx);
	if (ev->at_ns < a->at_ns || ev->kind == KIND_epoch || !is_of_thread(a, ev))
		return;
	if (event_is_call(ev) && call_begin_ns(ev) <= a->at_ns)
		add_call(a, ev);
	/* Rows that show what a sleep was for come after it. */
	if (a->ntries < AT_TRIES_MAX && (!a->known || ev->at_ns <= a->state.end_ns + 1000000 || a->ntries < 2)) {
		a->ntries++;
		look(a, ctx, ev->at_ns);
	}
}

void at_end(struct at *a, const struct context *ctx)
{
	if (a->due)
		explain_call(a, ctx);
	if (a->ntries < 2)
		look(a, ctx, ctx->now_ns);
}
