/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/export/proto.h"

#include <stdlib.h>
#include <string.h>

enum wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_LENGTH = 2 };

#define LENGTH_BYTES 4

void proto_clear(struct proto *p)
{
	free(p->bytes);
	*p = (struct proto){0};
}

/* Room for n more bytes, or NULL. */
static uint8_t *more(struct proto *p, size_t n)
{
	uint8_t *at;

	if (p->failed || n > PROTO_MESSAGE_MAX - p->len) {
		p->failed = true;
		return NULL;
	}
	if (p->room - p->len < n) {
		size_t room = (p->len + n) * 2 + 256;
		uint8_t *grown = realloc(p->bytes, room);

		if (!grown) {
			p->failed = true;
			return NULL;
		}
		p->bytes = grown;
		p->room = room;
	}
	at = p->bytes + p->len;
	p->len += n;
	return at;
}

void proto_varint(struct proto *p, uint64_t value)
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

static void tag(struct proto *p, uint32_t field, enum wire wire)
{
	proto_varint(p, (uint64_t)field << 3 | (uint64_t)wire);
}

void proto_u64(struct proto *p, uint32_t field, uint64_t value)
{
	tag(p, field, WIRE_VARINT);
	proto_varint(p, value);
}

void proto_s64(struct proto *p, uint32_t field, int64_t value)
{
	proto_u64(p, field, (uint64_t)value);
}

void proto_fixed64(struct proto *p, uint32_t field, uint64_t value)
{
	uint8_t *at;

	tag(p, field, WIRE_FIXED64);
	at = more(p, 8);
	for (unsigned i = 0; at && i < 8; i++)
		at[i] = (uint8_t)(value >> (8 * i));
}

void proto_bytes(struct proto *p, uint32_t field, const void *bytes, size_t n)
{
	uint8_t *at;

	tag(p, field, WIRE_LENGTH);
	proto_varint(p, n);
	at = more(p, n);
	if (at && n > 0)
		memcpy(at, bytes, n);
}

void proto_string(struct proto *p, uint32_t field, const char *text)
{
	proto_bytes(p, field, text, strlen(text));
}

size_t proto_begin(struct proto *p, uint32_t field)
{
	tag(p, field, WIRE_LENGTH);
	more(p, LENGTH_BYTES);
	return p->len;
}

void proto_end(struct proto *p, size_t begun)
{
	size_t n = p->len - begun;

	if (p->failed)
		return;
	for (unsigned i = 0; i < LENGTH_BYTES; i++)
		p->bytes[begun - LENGTH_BYTES + i] =
			(uint8_t)((n >> (7 * i) & 0x7f) | (i + 1 < LENGTH_BYTES ? 0x80 : 0));
}
