/* SPDX-License-Identifier: Apache-2.0 */
#include "format/base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/escape.h"
#include "format/base/units.h"

static bool make_room(struct text *t, size_t n)
{
	size_t room = t->room ? t->room : 128;
	char *s;

	if (t->failed)
		return false;
	if (n < t->room - t->len)
		return true;
	while (room - t->len <= n) {
		if (room > SIZE_MAX / 2)
			goto fail;
		room *= 2;
	}
	s = realloc(t->s, room);
	if (!s)
		goto fail;
	t->s = s;
	t->room = room;
	return true;
fail:
	t->failed = true;
	return false;
}

void text_add_bytes(struct text *t, const char *s, size_t n)
{
	if (!make_room(t, n))
		return;
	memcpy(t->s + t->len, s, n);
	t->len += n;
	t->s[t->len] = 0;
}

void text_add_string(struct text *t, const char *s)
{
	text_add_bytes(t, s, strlen(s));
}

void text_take(struct text *t, struct text *from)
{
	text_add_bytes(t, text_string(from), from->len);
	t->failed |= from->failed;
	text_clear(from);
}

void text_take_right(struct text *t, struct text *from, unsigned width)
{
	unsigned columns = 0;

	for (size_t i = 0; i < from->len; i++)
		columns += (from->s[i] & 0xc0) != 0x80;
	text_add(t, "%*s", columns < width ? (int)(width - columns) : 0, "");
	text_take(t, from);
}

void text_add_args(struct text *t, const char *fmt, va_list args)
{
	va_list again;
	int n;

	va_copy(again, args);
	n = vsnprintf(NULL, 0, fmt, args);
	if (n < 0)
		t->failed = true;
	else if (make_room(t, (size_t)n))
		t->len += (size_t)vsnprintf(t->s + t->len, (size_t)n + 1, fmt, again);
	va_end(again);
}

void text_add(struct text *t, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	text_add_args(t, fmt, args);
	va_end(args);
}

void text_add_ns(struct text *t, uint64_t ns)
{
	char buf[UNITS_CHARS];

	text_add_string(t, duration_text(buf, ns));
}

void text_add_size(struct text *t, uint64_t bytes)
{
	char buf[UNITS_CHARS];

	text_add_string(t, size_text(buf, bytes));
}

void text_add_percent(struct text *t, uint64_t part, uint64_t whole)
{
	unsigned __int128 tenths = whole ? ((unsigned __int128)part * 1000 + whole / 2) / whole : 0;

	text_add(t, "%" PRIu64 ".%u", (uint64_t)(tenths / 10), (unsigned)(tenths % 10));
}

static void add_escaped(struct text *t, const char *s, size_t n,
			size_t (*escape)(char *out, size_t out_size, const char *text, size_t n))
{
	if (n > (SIZE_MAX - 1) / ESCAPE_GROWTH)
		t->failed = true;
	else if (make_room(t, n * ESCAPE_GROWTH + 1))
		t->len += escape(t->s + t->len, n * ESCAPE_GROWTH + 1, s, n);
}

void text_add_escaped(struct text *t, const char *s, size_t n)
{
	add_escaped(t, s, n, escape_terminal);
}

void text_add_json(struct text *t, const char *s, size_t n)
{
	add_escaped(t, s, n, escape_json);
}

bool text_next_line(const char **at, const char **line, size_t *n)
{
	*line = *at;
	*n = strcspn(*at, "\n");
	*at += *n + ((*at)[*n] == '\n');
	return *at > *line;
}

const char *text_string(const struct text *t)
{
	return t->s ? t->s : "";
}

void text_clear(struct text *t)
{
	free(t->s);
	memset(t, 0, sizeof(*t));
}
