/* SPDX-License-Identifier: Apache-2.0 */
#include "format/base/bytes.h"

#include <stdlib.h>
#include <string.h>

uint8_t *bytes_grow(struct bytes *b, size_t n)
{
	uint8_t *p;
	size_t room = b->room ? b->room : 256;

	if (b->failed)
		return NULL;
	if (n > SIZE_MAX / 2 - b->len) {
		b->failed = 1;
		return NULL;
	}
	while (room < b->len + n)
		room *= 2;
	if (room != b->room) {
		p = realloc(b->data, room);
		if (!p) {
			b->failed = 1;
			return NULL;
		}
		b->data = p;
		b->room = room;
	}
	p = b->data + b->len;
	b->len += n;
	return p;
}

void bytes_add(struct bytes *b, const void *data, size_t n)
{
	uint8_t *p = bytes_grow(b, n);

	if (p && n)
		memcpy(p, data, n);
}

void bytes_add_u8(struct bytes *b, uint8_t v)
{
	bytes_add(b, &v, 1);
}

void bytes_add_le16(struct bytes *b, uint16_t v)
{
	uint8_t *p = bytes_grow(b, 2);

	if (p)
		put_le16(p, v);
}

void bytes_add_le32(struct bytes *b, uint32_t v)
{
	uint8_t *p = bytes_grow(b, 4);

	if (p)
		put_le32(p, v);
}

void bytes_add_le64(struct bytes *b, uint64_t v)
{
	uint8_t *p = bytes_grow(b, 8);

	if (p)
		put_le64(p, v);
}

void bytes_reset(struct bytes *b)
{
	b->len = 0;
	b->failed = 0;
}

void bytes_free(struct bytes *b)
{
	free(b->data);
	*b = (struct bytes){0};
}
