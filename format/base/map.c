/* SPDX-License-Identifier: Apache-2.0 */
#include "format/base/map.h"

#include <stdlib.h>

#define MAP_FIRST_SLOTS 64

void map_clear(struct map *m)
{
	free(m->slots);
	*m = (struct map){0};
}

static int grow(struct map *m)
{
	struct map bigger = {.nslots = m->nslots ? m->nslots * 2 : MAP_FIRST_SLOTS, .nused = m->nused};

	bigger.slots = calloc(bigger.nslots, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -1;
	for (size_t i = 0; i < m->nslots; i++)
		if (m->slots[i].value)
			*map_slot_of(&bigger, m->slots[i].a, m->slots[i].b) = m->slots[i];
	free(m->slots);
	*m = bigger;
	return 0;
}

int map_put(struct map *m, uint64_t a, uint64_t b, uint32_t value)
{
	struct map_slot *s = m->nslots ? map_slot_of(m, a, b) : NULL;

	if (!s || !s->value) {
		if ((m->nused + 1) * 4 > m->nslots * 3) {
			if (grow(m))
				return -1;
			s = map_slot_of(m, a, b);
		}
		m->nused++;
	}
	*s = (struct map_slot){a, b, value};
	return 0;
}

void map_remove(struct map *m, uint64_t a, uint64_t b)
{
	struct map_slot *s;
	size_t hole, i;

	if (!m->nslots)
		return;
	s = map_slot_of(m, a, b);
	if (!s->value)
		return;
	m->nused--;
	/* Close the gap: an entry behind it that would be searched for at it or before it moves into it. */
	hole = i = (size_t)(s - m->slots);
	for (;;) {
		size_t from;

		i = (i + 1) & (m->nslots - 1);
		if (!m->slots[i].value)
			break;
		from = map_home(m, m->slots[i].a, m->slots[i].b);
		if (((i - from) & (m->nslots - 1)) >= ((i - hole) & (m->nslots - 1))) {
			m->slots[hole] = m->slots[i];
			hole = i;
		}
	}
	m->slots[hole].value = 0;
}
