// SPDX-License-Identifier: Apache-2.0
#include "analyze/table.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS_MIN 64

/* The finishing steps of splitmix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014). */
static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
	return x ^ (x >> 31);
}

static size_t home_slot(const struct table *t, uint64_t a, uint64_t b)
{
	return (size_t)mix((a + 1) * 0x9e3779b97f4a7c15U ^ b) & (t->nslots - 1);
}

/* The slot that holds the key, or the free one where it would go. */
static size_t slot_of(const struct table *t, uint64_t a, uint64_t b)
{
	size_t at = home_slot(t, a, b);

	while (t->slots[at]) {
		const struct table_key *key = t->items[t->slots[at] - 1];

		if (key->a == a && key->b == b)
			break;
		at = (at + 1) & (t->nslots - 1);
	}
	return at;
}

/* The page of numbers of which none is there. Nobody writes to it: make_page() comes before. */
static struct table_key *const nothing[TABLE_PAGE];

static bool is_nothing(struct table_key *const *page)
{
	return page == nothing;
}

/* Where the item of a small number stands, which has a page; NULL: elsewhere. */
static struct table_key **direct(const struct table *t, uint64_t a, uint64_t b)
{
	return b == 0 && a < t->ndirect ? &t->pages[a / TABLE_PAGE][a % TABLE_PAGE] : NULL;
}

static bool make_pages(struct table *t)
{
	t->pages = malloc(TABLE_DIRECT / TABLE_PAGE * sizeof(struct table_key **));
	if (!t->pages)
		return false;
	for (size_t i = 0; i < TABLE_DIRECT / TABLE_PAGE; i++)
		t->pages[i] = (struct table_key **)(uintptr_t)nothing;
	t->ndirect = TABLE_DIRECT;
	return true;
}

static bool make_page(struct table *t, uint64_t a, uint64_t b)
{
	struct table_key **page;

	if (b != 0 || a >= TABLE_DIRECT)
		return true;
	if (!t->pages && !make_pages(t))
		return false;
	if (!is_nothing(t->pages[a / TABLE_PAGE]))
		return true;
	page = calloc(TABLE_PAGE, sizeof(struct table_key *));
	if (page)
		t->pages[a / TABLE_PAGE] = page;
	return page;
}

void *table_search(const struct table *t, uint64_t a, uint64_t b)
{
	struct table_key *found;
	size_t at;

	if (t->nitems == 0)
		return NULL;
	at = slot_of(t, a, b);
	if (t->slots[at] == 0)
		return NULL;
	found = t->items[t->slots[at] - 1];
	*table_recent(t, a, b) = found;
	return found;
}

static bool grow_slots(struct table *t)
{
	size_t n = t->nslots ? t->nslots * 2 : SLOTS_MIN;
	uint32_t *slots = calloc(n, sizeof(*slots));

	if (!slots)
		return false;
	free(t->slots);
	t->slots = slots;
	t->nslots = n;
	for (size_t i = 0; i < t->nitems; i++)
		slots[slot_of(t, t->items[i]->a, t->items[i]->b)] = (uint32_t)(i + 1);
	return true;
}

static bool make_room(struct table *t)
{
	if (t->nitems == t->items_room) {
		size_t room = t->items_room ? t->items_room * 2 : SLOTS_MIN / 2;
		struct table_key **items;

		if (room >= UINT32_MAX)
			return false;
		items = realloc(t->items, room * sizeof(struct table_key *));
		if (!items)
			return false;
		t->items = items;
		t->items_room = room;
	}
	return (t->nitems + 1) * 4 <= t->nslots * 3 || grow_slots(t);
}

void *table_add(struct table *t, uint64_t a, uint64_t b, size_t size)
{
	struct table_key *key;

	if (!t->recent)
		t->recent = calloc(TABLE_RECENT, sizeof(struct table_key *));
	if (!t->recent || !make_page(t, a, b) || !make_room(t))
		return NULL;
	key = calloc(1, size);
	if (!key)
		return NULL;
	key->a = a;
	key->b = b;
	t->items[t->nitems++] = key;
	t->slots[slot_of(t, a, b)] = (uint32_t)t->nitems;
	if (direct(t, a, b))
		*direct(t, a, b) = key;
	return key;
}

/* Linear probing without tombstones: what stands behind the gap and could have stood in it moves there. */
static void close_gap(struct table *t, size_t gap)
{
	size_t mask = t->nslots - 1;

	for (size_t at = (gap + 1) & mask; t->slots[at]; at = (at + 1) & mask) {
		const struct table_key *key = t->items[t->slots[at] - 1];
		size_t home = home_slot(t, key->a, key->b);

		if (((at - home) & mask) < ((at - gap) & mask))
			continue;
		t->slots[gap] = t->slots[at];
		t->slots[at] = 0;
		gap = at;
	}
}

void table_remove(struct table *t, uint64_t a, uint64_t b)
{
	size_t at;
	uint32_t index;

	if (t->nitems == 0)
		return;
	at = slot_of(t, a, b);
	index = t->slots[at];
	if (index == 0)
		return;
	t->slots[at] = 0;
	*table_recent(t, a, b) = NULL;
	if (direct(t, a, b))
		*direct(t, a, b) = NULL;
	free(t->items[index - 1]);
	t->items[index - 1] = NULL;
	/* The gap is closed before the last item moves: probing looks at items, and this one is gone already. */
	close_gap(t, at);
	t->nitems--;
	if (index - 1 < t->nitems) {
		struct table_key *last = t->items[t->nitems];

		t->slots[slot_of(t, last->a, last->b)] = index;
		t->items[index - 1] = last;
	}
}

void table_clear(struct table *t)
{
	for (size_t i = 0; i < t->nitems; i++)
		free(t->items[i]);
	free(t->items);
	for (size_t i = 0; t->pages && i < TABLE_DIRECT / TABLE_PAGE; i++)
		if (!is_nothing(t->pages[i]))
			free(t->pages[i]);
	free(t->pages);
	free(t->slots);
	free(t->recent);
	memset(t, 0, sizeof(*t));
}
