/* SPDX-License-Identifier: Apache-2.0 */
#include "format/base/array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_MIN 16

void *array_grown(void *array, size_t *room, size_t need, size_t size)
{
	size_t more = *room <= SIZE_MAX / 2 ? *room * 2 : need;
	unsigned char *grown;

	if (more < ROOM_MIN)
		more = ROOM_MIN;
	if (more < need)
		more = need;
	grown = reallocarray(array, more, size);
	if (!grown)
		return NULL;
	memset(grown + *room * size, 0, (more - *room) * size);
	*room = more;
	return grown;
}
