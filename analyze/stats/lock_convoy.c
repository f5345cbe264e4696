// SPDX-License-Identifier: Apache-2.0
#include "analyze/stats/lock_convoy.h"

/* How many of the waits that are kept were in progress at this moment. */
static unsigned depth_at(const struct convoy *c, uint64_t at_ns)
{
	unsigned n = 0;

	for (unsigned i = 0; i < c->nwaits; i++)
		n += c->waits[i].begin_ns <= at_ns && at_ns < c->waits[i].end_ns;
	return n;
}

static void look_at(struct convoy *c, uint64_t at_ns)
{
	unsigned n = depth_at(c, at_ns);

	if (n > c->most)
		c->most = n;
}

int convoys_add(struct table *convoys, uint64_t process, uint64_t futex, uint64_t begin_ns, uint64_t end_ns,
		struct fault *why)
{
	struct convoy *c = table_find(convoys, process, futex);

	if (!c && convoys->nitems >= CONVOY_FUTEXES_MAX)
		return 0;
	if (!c)
		c = table_add(convoys, process, futex, sizeof(*c));
	if (!c)
		return fault_no_memory(why);
	c->waits[c->next].begin_ns = begin_ns;
	c->waits[c->next].end_ns = end_ns;
	c->next = (c->next + 1) % CONVOY_WAITS;
	if (c->nwaits < CONVOY_WAITS)
		c->nwaits++;
	/* A queue is longest at the moment when one of its waits begins. */
	look_at(c, begin_ns);
	for (unsigned i = 0; i < c->nwaits; i++)
		if (c->waits[i].begin_ns > begin_ns && c->waits[i].begin_ns < end_ns)
			look_at(c, c->waits[i].begin_ns);
	return 0;
}

const struct convoy *convoys_find(const struct table *convoys, uint64_t process, uint64_t futex)
{
	return table_find(convoys, process, futex);
}
