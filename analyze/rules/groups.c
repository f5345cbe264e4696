// SPDX-License-Identifier: Apache-2.0
#include "analyze/rules/groups.h"

#include "analyze/finding.h"

void *groups_add(struct groups *g, uint64_t a, uint64_t b)
{
	void *group;

	if (g->table.nitems >= g->of->max) {
		g->nskipped++;
		return NULL;
	}
	group = table_add(&g->table, a, b, g->of->size);
	if (!group)
		g->error = ERR_MEMORY;
	return group;
}

void groups_forget(struct groups *g, uint64_t a)
{
	for (size_t i = g->table.nitems; i-- > 0;)
		if (g->table.items[i]->a == a)
			table_remove(&g->table, a, g->table.items[i]->b);
}

static struct groups *groups_in(void *state, const struct groups_of *of)
{
	return (struct groups *)(void *)((char *)state + of->at);
}

void groups_prepare(const struct groups_of *all, void *state)
{
	for (unsigned i = 0; i < GROUPS_OF_RULE_MAX && all[i].size; i++)
		groups_in(state, &all[i])->of = &all[i];
}

static void clear_tallies(struct groups *g)
{
	for (size_t i = 0; i < g->table.nitems; i++)
		tally_clear((struct tally *)(void *)((char *)groups_at(g, i) + g->of->tally));
}

void groups_clear(const struct groups_of *all, void *state)
{
	for (unsigned i = 0; i < GROUPS_OF_RULE_MAX && all[i].size; i++) {
		struct groups *g = groups_in(state, &all[i]);

		if (g->of->tally)
			clear_tallies(g);
		table_clear(&g->table);
	}
}
