/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/export/proto.h"

#include <string.h>

enum wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_LENGTH = 2 };

#define LENGTH_BYTES 4

/* Room for n more bytes, or NULL. */
static uint8_t *more(struct bytes *p, size_t n)
{
	if (n > PROTO_MESSAGE_MAX - p->len)
		p->failed = 1;
	return bytes_grow(p, n);
}

void proto_varint(struct bytes *p, uint64_t value)
{
	uint8_t text[10], *at;
	size_t n = 0;

	do {
		text[n++] = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
		value >>= 7;
	} while (value);
	at = more(p, n);
	if (at)
		memcpy(at, text, n);
}

static void tag(struct bytes *p, uint32_t field, enum wire wire)
{
	proto_varint(p, (uint64_t)field << 3 | (uint64_t)wire);
}

void proto_u64(struct bytes *p, uint32_t field, uint64_t value)
{
	tag(p, field, WIRE_VARINT);
	proto_varint(p, value);
}

void proto_s64(struct bytes *p, uint32_t field, int64_t value)
{
	proto_u64(p, field, (uint64_t)value);
}

void proto_fixed64(struct bytes *p, uint32_t field, uint64_t value)
{
	uint8_t *at;

	tag(p, field, WIRE_FIXED64);
	at = more(p, 8);
	if (at)
		put_le64(at, value);
}

void proto_bytes(struct bytes *p, uint32_t field, const void *bytes, size_t n)
{
	uint8_t *at;

	tag(p, field, WIRE_LENGTH);
	proto_varint(p, n);
	at = more(p, n);
	if (at && n > 0)
		memcpy(at, bytes, n);
}

void proto_string(struct bytes *p, uint32_t field, const char *text)
{
	proto_bytes(p, field, text, strlen(text));
}

size_t proto_begin(struct bytes *p, uint32_t field)
{
	tag(p, field, WIRE_LENGTH);
	more(p, LENGTH_BYTES);
	return p->len;
}

void proto_end(struct bytes *p, size_t begun)
{
	size_t n = p->len - begun;

	if (p->failed)
		return;
	for (unsigned i = 0; i < LENGTH_BYTES; i++)
		p->data[begun - LENGTH_BYTES + i] =
			(uint8_t)((n >> (7 * i) & 0x7f) | (i + 1 < LENGTH_BYTES ? 0x80 : 0));
}
