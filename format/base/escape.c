/* SPDX-License-Identifier: Apache-2.0 */
#include "format/base/escape.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/utf8.h"

/* Characters that change how others are shown, or cannot be seen: they could make a name look like another. */
static bool is_deceptive(uint32_t cp)
{
	static const struct {
		uint32_t from, to;
	} ranges[] = {
		{0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},     {0x061c, 0x061c},
		{0x115f, 0x1160}, {0x180b, 0x180f}, {0x200b, 0x200f}, {0x2028, 0x202e},
		{0x2060, 0x206f}, {0x3164, 0x3164}, {0xfe00, 0xfe0f}, {0xfeff, 0xfeff},
		{0xffa0, 0xffa0}, {0xfff0, 0xfffb}, {0xe000, 0xf8ff}, {0xe0000, 0x10ffff},
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (cp >= ranges[i].from && cp <= ranges[i].to)
			return true;
	return false;
}

struct output {
	char *to;
	size_t size, len;
};

/* Add a whole piece or nothing. */
static bool output_add(struct output *o, const char *piece, size_t n)
{
	if (o->size == 0 || n > o->size - 1 - o->len)
		return false;
	memcpy(o->to + o->len, piece, n);
	o->len += n;
	return true;
}

/* `prefix` + `digits` hex digits of v + `suffix` */
static bool output_add_hex(struct output *o, const char *prefix, uint32_t v, unsigned digits, const char *suffix)
{
	static const char hex[] = "0123456789abcdef";
	char piece[16];
	size_t n = strlen(prefix);

	memcpy(piece, prefix, n);
	for (unsigned i = digits; i > 0; i--)
		piece[n++] = hex[v >> (4 * (i - 1)) & 0xf];
	memcpy(piece + n, suffix, strlen(suffix));
	return output_add(o, piece, n + strlen(suffix));
}

static size_t output_finish(struct output *o)
{
	if (o->size)
		o->to[o->len] = '\0';
	return o->len;
}

/* A visible character beyond U+FFFF needs five digits; everything deceptive below that needs four. */
static unsigned hex_digits(uint32_t cp)
{
	return cp > 0xfffff ? 6 : cp > 0xffff ? 5 : 4;
}

size_t escape_terminal(char *out, size_t out_size, const char *text, size_t n)
{
	struct output o = {out, out_size, 0};
	bool room = true;

	for (size_t i = 0, len; i < n && room; i += len) {
		uint32_t cp = 0;

		len = utf8_decode(text + i, n - i, &cp);
		if (len == 0) {
			len = 1;
			room = output_add_hex(&o, "\\x", (uint8_t)text[i], 2, "");
		} else if (cp == '\\') {
			room = output_add(&o, "\\\\", 2);
		} else if (cp < 0x80 && is_deceptive(cp)) {
			room = output_add_hex(&o, "\\x", cp, 2, "");
		} else if (is_deceptive(cp)) {
			room = output_add_hex(&o, "\\u{", cp, hex_digits(cp), "}");
		} else {
			room = output_add(&o, text + i, len);
		}
	}
	return output_finish(&o);
}

size_t escape_json(char *out, size_t out_size, const char *text, size_t n)
{
	struct output o = {out, out_size, 0};
	bool room = true;

	for (size_t i = 0, len; i < n && room; i += len) {
		uint32_t cp = 0;
		char pair[2] = {'\\', text[i]};

		len = utf8_decode(text + i, n - i, &cp);
		if (len == 0) {
			len = 1;
			room = output_add(&o, UTF8_REPLACEMENT, strlen(UTF8_REPLACEMENT));
		} else if (cp == '"' || cp == '\\') {
			room = output_add(&o, pair, 2);
		} else if (cp < 0x10000 && is_deceptive(cp)) {
			room = output_add_hex(&o, "\\u", cp, 4, "");
		} else {
			room = output_add(&o, text + i, len);
		}
	}
	return output_finish(&o);
}

char *escape_copy(size_t (*escape)(char *out, size_t out_size, const char *text, size_t n), const char *text, size_t n)
{
	size_t room = n * ESCAPE_GROWTH + 1;
	char *copy = malloc(room), *fitting = NULL;

	if (copy)
		fitting = realloc(copy, escape(copy, room, text, n) + 1);
	return fitting ? fitting : copy;
}
