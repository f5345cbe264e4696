// SPDX-License-Identifier: Apache-2.0
#include "analyze/stats/callers.h"

#include <stdlib.h>

#include "analyze/rule.h"

/* NULL: no memory. */
static struct caller *caller_add(struct callers *c, uint64_t tid, uint64_t process)
{
	struct life *life = table_find(&c->lives, process, 0);
	struct caller *caller;

	if (!life)
		life = table_add(&c->lives, process, 0, sizeof(*life));
	caller = life ? table_add(&c->threads, tid, process, sizeof(*caller)) : NULL;
	if (!caller)
		return NULL;
	caller->life = life;
	if (c->ngaps < CALLERS_GAPS_MAX) {
		caller->gaps = calloc(1, sizeof(*caller->gaps));
		if (!caller->gaps)
			return NULL;
		c->ngaps++;
	}
	return caller;
}

int callers_look_up(struct callers *c, uint64_t tid, uint64_t process, struct caller **out, struct fault *why)
{
	struct caller_by_tid *latest = table_find(&c->latest, tid, 0);
	struct caller *caller = table_find(&c->threads, tid, process);

	*out = NULL;
	if (!caller && c->threads.nitems >= CALLERS_MAX) {
		c->nbeyond++;
		return 0;
	}
	if (!latest)
		latest = table_add(&c->latest, tid, 0, sizeof(*latest));
	if (latest && !caller)
		caller = caller_add(c, tid, process);
	if (!latest || !caller)
		return fault_no_memory(why);
	latest->caller = caller;
	*out = caller;
	return 0;
}

/* Calls come in the order of their ends: what began first may come last. */
static void launched(struct life *life, uint64_t tid, uint64_t begin_ns)
{
	if (!life->nlaunches || begin_ns < life->first_launch_ns)
		life->first_launch_ns = begin_ns;
	if (begin_ns > life->last_launch_ns)
		life->last_launch_ns = begin_ns;
	life->launch_tid = tid;
	life->nlaunches++;
}

void caller_called(struct caller *caller, const struct event *ev)
{
	uint64_t begin_ns = call_begin_ns(ev), since_ns = caller->end_ns;
	struct life *life = caller->life;

	if (!since_ns)
		caller->begin_ns = begin_ns;
	caller->end_ns = ev->at_ns;
	caller->ncalls++;
	if (!life->end_ns || begin_ns < life->begin_ns)
		life->begin_ns = begin_ns;
	life->end_ns = ev->at_ns;
	life->functions |= 1ULL << (ev->v[F_call_probe] * 11400714819323198485U >> 58);
	if (ev->kind == KIND_launch) {
		caller->nlaunches++;
		launched(life, ev->v[F_call_tid], begin_ns);
	}
	if (since_ns && caller->gaps && begin_ns >= since_ns)
		baseline_add(caller->gaps, begin_ns - since_ns);
}

void callers_leave(struct callers *c, uint64_t tid)
{
	table_remove(&c->latest, tid, 0);
}

void callers_forget(struct callers *c, struct caller *caller)
{
	if (callers_latest(c, caller->key.a) == caller)
		callers_leave(c, caller->key.a);
	c->ngaps -= caller->gaps != NULL;
	free(caller->gaps);
	table_remove(&c->threads, caller->key.a, caller->key.b);
}

const struct life *callers_life(const struct callers *c, uint64_t process)
{
	return table_find(&c->lives, process, 0);
}

uint64_t callers_life_ns(const struct callers *c, uint64_t process)
{
	const struct life *life = callers_life(c, process);

	return life && life->end_ns > life->begin_ns ? life->end_ns - life->begin_ns : 0;
}

void callers_clear(struct callers *c)
{
	for (size_t i = 0; i < c->threads.nitems; i++)
		free(((struct caller *)c->threads.items[i])->gaps);
	table_clear(&c->threads);
	table_clear(&c->lives);
	table_clear(&c->latest);
	c->ngaps = 0;
}
