// SPDX-License-Identifier: Apache-2.0
#include "analyze/report/report_buffer.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/escape.h"

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

void text_add(struct text *t, const char *fmt, ...)
{
	va_list args, again;
	int n;

	va_start(args, fmt);
	va_copy(again, args);
	n = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	if (n < 0)
		t->failed = true;
	else if (make_room(t, (size_t)n))
		t->len += (size_t)vsnprintf(t->s + t->len, (size_t)n + 1, fmt, again);
	va_end(again);
}

struct scale {
	uint64_t size;
	const char *name;
};

/* `value` in the largest unit that leaves a whole part, with three significant digits; half is rounded up. */
static void add_scaled(struct text *t, uint64_t value, const struct scale *scales, size_t nscales)
{
	size_t i = nscales - 1;

	while (i > 0 && value < scales[i].size)
		i--;
	for (; i > 0; i++) {
		uint64_t unit = scales[i].size;
		unsigned digits = value >= 100 * unit ? 0 : value >= 10 * unit ? 1 : 2;
		uint64_t ten = digits == 2 ? 100 : digits == 1 ? 10 : 1;
		uint64_t whole = value / unit;
		uint64_t part = (value % unit * ten + unit / 2) / unit;

		if (part == ten) {
			whole++;
			part = 0;
		}
		if (i + 1 < nscales && whole * unit >= scales[i + 1].size)
			continue; /* 999.7 µs rounds to 1.00 ms */
		if (digits == 2 && whole == 10)
			text_add(t, "10.0 %s", scales[i].name);
		else if (digits == 0 || (digits == 1 && whole == 100))
			text_add(t, "%" PRIu64 " %s", whole, scales[i].name);
		else
			text_add(t, "%" PRIu64 ".%0*" PRIu64 " %s", whole, (int)digits, part, scales[i].name);
		return;
	}
	text_add(t, "%" PRIu64 " %s", value, scales[0].name);
}

void text_add_ns(struct text *t, uint64_t ns)
{
	static const struct scale scales[] = {{1, "ns"}, {1000, "µs"}, {1000000, "ms"}, {1000000000, "s"}};

	add_scaled(t, ns, scales, sizeof(scales) / sizeof(scales[0]));
}

void text_add_size(struct text *t, uint64_t bytes)
{
	static const struct scale scales[] = {
		{1, "B"}, {1ULL << 10, "KiB"}, {1ULL << 20, "MiB"}, {1ULL << 30, "GiB"}, {1ULL << 40, "TiB"}};

	add_scaled(t, bytes, scales, sizeof(scales) / sizeof(scales[0]));
}

void text_add_percent(struct text *t, uint64_t part, uint64_t whole)
{
	unsigned __int128 tenths = whole ? ((unsigned __int128)part * 1000 + whole / 2) / whole : 0;

	text_add(t, "%" PRIu64 ".%u", (uint64_t)(tenths / 10), (unsigned)(tenths % 10));
}

void text_add_escaped(struct text *t, const char *s, size_t n)
{
	size_t room;

	if (n > (SIZE_MAX - 1) / ESCAPE_GROWTH) {
		t->failed = true;
		return;
	}
	room = n * ESCAPE_GROWTH + 1;
	if (!make_room(t, room))
		return;
	t->len += escape_terminal(t->s + t->len, room, s, n);
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

static uint64_t since(uint64_t begin_ns, uint64_t at_ns)
{
	return at_ns > begin_ns ? at_ns - begin_ns : 0;
}

void text_add_since(struct text *t, uint64_t begin_ns, uint64_t at_ns)
{
	uint64_t us = since(begin_ns, at_ns) / 1000;

	text_add(t, "+%" PRIu64 ".%06" PRIu64 " s", us / 1000000, us % 1000000);
}

void text_add_replay(struct text *t, uint64_t begin_ns, uint64_t from_ns, uint64_t to_ns, uint32_t tid)
{
	uint64_t from_us = since(begin_ns, from_ns) / 1000, to_us = since(begin_ns, to_ns) / 1000 + 1;

	text_add(t, "gpureplay CAPTURE --from +%" PRIu64 ".%06" PRIu64 "s --to +%" PRIu64 ".%06" PRIu64 "s --tid %u",
		 from_us / 1000000, from_us % 1000000, to_us / 1000000, to_us % 1000000, tid);
}
