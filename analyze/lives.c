// SPDX-License-Identifier: Apache-2.0
#include "analyze/lives.h"

bool lives_add(struct lives *l, uint64_t process, const struct event *ev)
{
	struct life *life = table_find(&l->table, process, 0);

	if (!life) {
		life = table_add(&l->table, process, 0, sizeof(*life));
		if (!life)
			return false;
		life->begin_ns = call_begin_ns(ev);
	}
	if (call_begin_ns(ev) < life->begin_ns)
		life->begin_ns = call_begin_ns(ev);
	life->end_ns = ev->at_ns;
	return true;
}

uint64_t lives_length(const struct lives *l, uint64_t process)
{
	const struct life *life = table_find(&l->table, process, 0);

	return life && life->end_ns > life->begin_ns ? life->end_ns - life->begin_ns : 0;
}

void lives_clear(struct lives *l)
{
	table_clear(&l->table);
}
