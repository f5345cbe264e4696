/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "replay/diff_inside.h"

#define OFFS_MAX                                                                                                       \
	64 /* stretches off the CPU that are remembered: of a call with more, the first ones count as unknown */

/* A stretch off the CPU. */
struct off {
	uint64_t begin_ns, runnable_ns, end_ns;
	enum diff_cause cause; /* of the part before `runnable_ns` */
};

struct thread_offs {
	struct off offs[OFFS_MAX]; /* since the last outer call; the nth stands in place n % OFFS_MAX */
	size_t n;
	uint64_t left_ns, woken_ns; /* off now, since; 0: it is on a CPU, or not known */
	bool preempted;
	enum diff_cause cause;
};

static int no_memory(struct fault *why)
{
	return fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "no memory to compare captures");
}

void offs_clear(struct offs *o)
{
	for (size_t i = 0; i < o->nthreads; i++)
		free(o->threads[i]);
	free(o->threads);
	*o = (struct offs){0};
}

static struct thread_offs *offs_of(struct offs *g, uint32_t thread)
{
	if (thread >= g->nthreads) {
		size_t room = (size_t)thread * 2 + 64;
		struct thread_offs **more = reallocarray(g->threads, room, sizeof(*more));

		if (!more)
			return NULL;
		memset(more + g->nthreads, 0, (room - g->nthreads) * sizeof(*more));
		g->threads = more;
		g->nthreads = room;
	}
	if (!g->threads[thread])
		g->threads[thread] = calloc(1, sizeof(**g->threads));
	return g->threads[thread];
}

static void came_back(struct thread_offs *t, uint64_t at_ns)
{
	struct off off = {t->left_ns, t->preempted ? t->left_ns : t->woken_ns ? t->woken_ns : at_ns, at_ns, t->cause};

	if (t->left_ns)
		t->offs[t->n++ % OFFS_MAX] = off;
	t->left_ns = 0;
}

static int see_switch(struct offs *o, const struct walk *w, const struct event *ev, struct fault *why)
{
	uint32_t prev = people_thread(&w->people, (uint32_t)ev->v[F_switch_prev_tid]);
	uint32_t next = people_thread(&w->people, (uint32_t)ev->v[F_switch_next_tid]);
	struct thread_offs *t;

	if (next && people_is_recorded(&w->people, next)) {
		t = offs_of(o, next);
		if (!t)
			return no_memory(why);
		came_back(t, ev->at_ns);
	}
	if (!prev || !people_is_recorded(&w->people, prev))
		return 0;
	t = offs_of(o, prev);
	if (!t)
		return no_memory(why);
	t->left_ns = ev->at_ns;
	t->woken_ns = 0;
	t->preempted = ev->v[F_switch_prev_state] == 0;
	t->cause = ev->v[F_switch_prev_flags] & SWITCH_FAULT ? CAUSE_FAULT
		   : ev->v[F_switch_prev_flags] & SWITCH_IO  ? CAUSE_DISK
							     : CAUSE_OTHER;
	return 0;
}

static int see_waking(struct offs *o, const struct walk *w, const struct event *ev, struct fault *why)
{
	uint32_t thread = people_thread(&w->people, (uint32_t)ev->v[F_waking_tid]);
	struct thread_offs *t = thread ? offs_of(o, thread) : NULL;

	if (thread && !t)
		return no_memory(why);
	if (t && t->left_ns && !t->woken_ns)
		t->woken_ns = ev->at_ns;
	return 0;
}

/* The stretches that a futex call covers were its sleep. */
static int see_futex(struct offs *o, const struct walk *w, const struct event *ev, struct fault *why)
{
	uint32_t thread = people_thread(&w->people, (uint32_t)ev->v[F_futex_tid]);
	struct thread_offs *t = thread ? offs_of(o, thread) : NULL;
	uint64_t start_ns = ev->at_ns - ev->v[F_futex_dur];

	if (thread && !t)
		return no_memory(why);
	for (size_t i = 0; t && i < t->n && i < OFFS_MAX; i++)
		if (t->offs[i].begin_ns >= start_ns && t->offs[i].cause == CAUSE_OTHER)
			t->offs[i].cause = CAUSE_FUTEX;
	return 0;
}

int offs_see(struct offs *o, const struct walk *w, const struct event *ev, struct fault *why)
{
	switch (ev->kind) {
	case KIND_switch:
		return see_switch(o, w, ev, why);
	case KIND_waking:
		return see_waking(o, w, ev, why);
	case KIND_futex:
		return see_futex(o, w, ev, why);
	default:
		return 0;
	}
}

void offs_split(struct offs *o, uint32_t thread, uint64_t start_ns, uint64_t end_ns, struct split *out)
{
	struct thread_offs *t = thread && thread < o->nthreads ? o->threads[thread] : NULL;

	for (size_t i = 0; t && i < t->n && i < OFFS_MAX; i++) {
		const struct off *off = &t->offs[i];
		uint64_t begin = off->begin_ns > start_ns ? off->begin_ns : start_ns;
		uint64_t end = off->end_ns < end_ns ? off->end_ns : end_ns;
		uint64_t run = off->runnable_ns > begin ? off->runnable_ns : begin;

		if (end <= begin)
			continue;
		run = run < end ? run : end;
		out->ns[CAUSE_CPU] += end - run;
		out->ns[off->cause] += run - begin;
	}
	if (t)
		t->n = 0;
}
