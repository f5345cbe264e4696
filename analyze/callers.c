// SPDX-License-Identifier: Apache-2.0
#include "analyze/callers.h"

#include <stdlib.h>

#include "analyze/rule.h"

static int no_memory(struct fault *why)
{
	return fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "out of memory for the threads that make calls");
}

int callers_add(struct callers *c, uint64_t tid, uint64_t process, struct caller **out, struct fault *why)
{
	struct life *life = table_find(&c->lives, process, 0);
	struct caller *caller;

	if (c->threads.nitems >= CALLERS_MAX)
		return 0;
	if (!life)
		life = table_add(&c->lives, process, 0, sizeof(*life));
	caller = life ? table_add(&c->threads, tid, process, sizeof(*caller)) : NULL;
	if (!caller)
		return no_memory(why);
	caller->life = life;
	if (c->ngaps < CALLERS_GAPS_MAX) {
		caller->gaps = calloc(1, sizeof(*caller->gaps));
		if (!caller->gaps)
			return no_memory(why);
		c->ngaps++;
	}
	*out = caller;
	return 0;
}

void caller_called(struct caller *caller, const struct event *ev)
{
	uint64_t begin_ns = call_begin_ns(ev);
	struct life *life = caller->life;

	if (!caller->end_ns)
		caller->begin_ns = begin_ns;
	else if (caller->gaps && begin_ns >= caller->end_ns)
		baseline_add(caller->gaps, begin_ns - caller->end_ns);
	caller->end_ns = ev->at_ns;
	caller->nlaunches += ev->kind == KIND_launch;
	if (!life->end_ns || begin_ns < life->begin_ns)
		life->begin_ns = begin_ns;
	life->end_ns = ev->at_ns;
}

void callers_forget(struct callers *c, struct caller *caller)
{
	c->ngaps -= caller->gaps != NULL;
	free(caller->gaps);
	table_remove(&c->threads, caller->key.a, caller->key.b);
}

uint64_t callers_life_ns(const struct callers *c, uint64_t process)
{
	const struct life *life = table_find(&c->lives, process, 0);

	return life && life->end_ns > life->begin_ns ? life->end_ns - life->begin_ns : 0;
}

void callers_clear(struct callers *c)
{
	for (size_t i = 0; i < c->threads.nitems; i++)
		free(((struct caller *)c->threads.items[i])->gaps);
	table_clear(&c->threads);
	table_clear(&c->lives);
	c->ngaps = 0;
}
