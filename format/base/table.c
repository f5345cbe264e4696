// SPDX-License-Identifier: Apache-2.0
#include "format/base/table.h"
#include "format/base/array.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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
	uint32_t n = map_get(&t->index, a, b);

	if (n == 0)
		return NULL;
	*table_recent(t, a, b) = t->items[n - 1];
	return t->items[n - 1];
}

static bool make_room(struct table *t)
{
	struct table_key **items;

	if (t->nitems >= UINT32_MAX - 1)
		return false;
	items = array_grow(t->items, &t->items_room, t->nitems + 1, sizeof(struct table_key *));
	if (!items)
		return false;
	t->items = items;
	return true;
}

void *table_add(struct table *t, uint64_t a, uint64_t b, size_t size)
{
	struct table_key *key;

	if (!t->recent)
		t->recent = calloc(TABLE_RECENT, sizeof(struct table_key *));
	if (!t->recent || !make_page(t, a, b) || !make_room(t))
		return NULL;
	key = calloc(1, size);
	if (!key || map_put(&t->index, a, b, (uint32_t)t->nitems + 1)) {
		free(key);
		return NULL;
	}
	key->a = a;
	key->b = b;
	t->items[t->nitems++] = key;
	if (direct(t, a, b))
		*direct(t, a, b) = key;
	return key;
}

void table_remove(struct table *t, uint64_t a, uint64_t b)
{
	uint32_t n = map_get(&t->index, a, b);
	struct table_key *last;

	if (n == 0)
		return;
	map_remove(&t->index, a, b);
	*table_recent(t, a, b) = NULL;
	if (direct(t, a, b))
		*direct(t, a, b) = NULL;
	free(t->items[n - 1]);
	last = t->items[--t->nitems];
	if (n - 1 == t->nitems)
		return;
	t->items[n - 1] = last;
	map_put(&t->index, last->a, last->b, n); /* is there already: needs no memory */
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
	map_clear(&t->index);
	free(t->recent);
	memset(t, 0, sizeof(*t));
}
