/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/map.h"

#include <stdlib.h>

#define MAP_FIRST_SLOTS 256

/* Finalizer of splitmix64 (Steele, Lea, Flood 2014): numbers that differ in few bits land far apart. */
static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static size_t home(const struct map *m, uint64_t a, uint64_t b)
{
	return (size_t)mix(a ^ mix(b)) & (m->nslots - 1);
}

/* Its slot, or the free one where it belongs. There is always a free one. */
static struct map_slot *find(const struct map *m, uint64_t a, uint64_t b)
{
	size_t i = home(m, a, b);

	while (m->slots[i].value && (m->slots[i].a != a || m->slots[i].b != b))
		i = (i + 1) & (m->nslots - 1);
	return &m->slots[i];
}

void map_clear(struct map *m)
{
	free(m->slots);
	*m = (struct map){0};
}

uint32_t map_get(const struct map *m, uint64_t a, uint64_t b)
{
	return m->nslots ? find(m, a, b)->value : 0;
}

static int grow(struct map *m)
{
	struct map bigger = {.nslots = m->nslots ? m->nslots * 2 : MAP_FIRST_SLOTS, .nused = m->nused};

	bigger.slots = calloc(bigger.nslots, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -1;
	for (size_t i = 0; i < m->nslots; i++)
		if (m->slots[i].value)
			*find(&bigger, m->slots[i].a, m->slots[i].b) = m->slots[i];
	free(m->slots);
	*m = bigger;
	return 0;
}

int map_put(struct map *m, uint64_t a, uint64_t b, uint32_t value)
{
	struct map_slot *s;

	if (m->nused >= m->nslots / 4 * 3 && grow(m))
		return -1;
	s = find(m, a, b);
	m->nused += !s->value;
	*s = (struct map_slot){a, b, value};
	return 0;
}

void map_remove(struct map *m, uint64_t a, uint64_t b)
{
	struct map_slot *s;
	size_t hole, i;

	if (!m->nslots)
		return;
	s = find(m, a, b);
	if (!s->value)
		return;
	m->nused--;
	/* Close the gap: whoever stands after it and would be looked for before or at it moves up. */
	hole = i = (size_t)(s - m->slots);
	for (;;) {
		size_t from;

		i = (i + 1) & (m->nslots - 1);
		if (!m->slots[i].value)
			break;
		from = home(m, m->slots[i].a, m->slots[i].b);
		if (((i - from) & (m->nslots - 1)) >= ((i - hole) & (m->nslots - 1))) {
			m->slots[hole] = m->slots[i];
			hole = i;
		}
	}
	m->slots[hole].value = 0;
}
