/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays that grow. The caller owns the array, frees it with free(), and takes what array_grow() returns in its place:
 *
 *	struct item *items = array_grow(l->items, &l->room, l->n + 1, sizeof(*items));
 *
 *	if (!items)
 *		return fault_no_memory(why);
 *	l->items = items;
 *	l->items[l->n++] = item;
 */
#ifndef GPUREC_FORMAT_BASE_ARRAY_H
#define GPUREC_FORMAT_BASE_ARRAY_H

#include <stddef.h>

/*
 * The array with room for `need` elements of `size` bytes; *room is how many it has room for. Room at least doubles, so
 * that adding n elements one by one costs O(n); new elements are zero. NULL: no memory; the array is as it was.
 */
void *array_grown(void *array, size_t *room, size_t need, size_t size);

/* The same, at no cost where there is room. An array without room is NULL: `need` must not be 0 then. */
static inline void *array_grow(void *array, size_t *room, size_t need, size_t size)
{
	return need <= *room ? array : array_grown(array, room, need, size);
}

#endif
