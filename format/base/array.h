/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays that grow. The caller owns the array and frees it with free():
 *
 *	struct item *item = array_at(&l->items, &l->room, l->n, sizeof(*item));
 *
 *	if (!item)
 *		return fault_no_memory(why);
 *	*item = (struct item){...};
 *	l->n++;
 */
#ifndef GPUREC_FORMAT_BASE_ARRAY_H
#define GPUREC_FORMAT_BASE_ARRAY_H

#include <stddef.h>
#include <string.h>

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

/*
 * Element `i` of an array that grows for it, so that other pointers into it are void then. `array` is the address of
 * the caller's pointer, which is set. NULL: no memory; nothing has changed.
 */
static inline void *array_at(void *array, size_t *room, size_t i, size_t size)
{
	void *items;

	memcpy(&items, array, sizeof(items));
	items = array_grow(items, room, i + 1, size);
	if (!items)
		return NULL;
	memcpy(array, &items, sizeof(items));
	return (char *)items + i * size;
}

#endif
