/* SPDX-License-Identifier: Apache-2.0 */
#include "format/base/units.h"

#include <stdio.h>
#include <string.h>

#include "format/base/civil.h"

#define NS_PER_S 1000000000ull
#define FRACTION_DIGITS 18 /* more do not fit into 64 bits */
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* --- in --- */

static const struct {
	const char *name;
	enum amount_kind kind;
	uint64_t size;
} units[] = {
	{"ns", AMOUNT_DURATION, 1},
	{"us", AMOUNT_DURATION, 1000},
	{"\u00b5s", AMOUNT_DURATION, 1000}, /* the sign for micro */
	{"\u03bcs", AMOUNT_DURATION, 1000}, /* the Greek letter, which looks the same */
	{"ms", AMOUNT_DURATION, 1000000},
	{"s", AMOUNT_DURATION, NS_PER_S},
	{"m", AMOUNT_DURATION, 60 * NS_PER_S},
	{"min", AMOUNT_DURATION, 60 * NS_PER_S},
	{"h", AMOUNT_DURATION, 3600 * NS_PER_S},
	{"d", AMOUNT_DURATION, 86400 * NS_PER_S},
	{"B", AMOUNT_SIZE, 1},
	{"K", AMOUNT_SIZE, 1ull << 10},
	{"M", AMOUNT_SIZE, 1ull << 20},
	{"G", AMOUNT_SIZE, 1ull << 30},
	{"T", AMOUNT_SIZE, 1ull << 40},
	{"KiB", AMOUNT_SIZE, 1ull << 10},
	{"MiB", AMOUNT_SIZE, 1ull << 20},
	{"GiB", AMOUNT_SIZE, 1ull << 30},
	{"TiB", AMOUNT_SIZE, 1ull << 40},
	{"PiB", AMOUNT_SIZE, 1ull << 50},
	{"EiB", AMOUNT_SIZE, 1ull << 60},
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Letters, and the bytes of a micro sign. */
static bool in_unit(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80);
}

/* Decimal digits at `text`. Returns how many, 0 if none; *overflow is set by a number beyond 64 bits. */
static size_t read_digits(const char *text, uint64_t *value, bool *overflow)
{
	size_t n;

	*value = 0;
	for (n = 0; is_digit(text[n]); n++)
		if (__builtin_mul_overflow(*value, 10u, value) ||
		    __builtin_add_overflow(*value, (uint64_t)(text[n] - '0'), value))
			*overflow = true;
	return n;
}

/* `value` and the `n` digits of a fraction, of a unit. */
static enum amount_result in_units(struct amount *m, const char *digits, size_t n, uint64_t size)
{
	uint64_t scale = 1, part = 0;
	unsigned __int128 all;
	bool overflow = __builtin_mul_overflow(m->value, size, &m->value);

	for (size_t i = 0; i < n; i++) {
		part = part * 10 + (uint64_t)(digits[i] - '0');
		scale *= 10;
	}
	all = (unsigned __int128)part * size;
	if (all % scale)
		return AMOUNT_NOT_WHOLE;
	overflow |= __builtin_add_overflow(m->value, (uint64_t)(all / scale), &m->value);
	return overflow ? AMOUNT_TOO_LARGE : AMOUNT_FINE;
}

enum amount_result amount_read(const char *text, bool blank, struct amount *m)
{
	bool overflow = false;
	size_t whole, fraction = 0, n = 0;

	*m = (struct amount){0};
	whole = read_digits(text, &m->value, &overflow);
	if (whole == 0)
		return AMOUNT_NO_NUMBER;
	m->length = whole;
	if (text[whole] == '.') {
		while (is_digit(text[whole + 1 + fraction]))
			fraction++;
		if (fraction == 0 || fraction > FRACTION_DIGITS)
			return AMOUNT_FRACTION;
		m->length += 1 + fraction;
	}
	m->unit_at = m->length + (blank && text[m->length] == ' ');
	while (in_unit(text[m->unit_at + n]))
		n++;
	if (n == 0)
		return fraction ? AMOUNT_NO_UNIT : overflow ? AMOUNT_TOO_LARGE : AMOUNT_FINE;
	m->length = m->unit_at + n;
	for (size_t i = 0; i < COUNT(units); i++) {
		enum amount_result r;

		if (strlen(units[i].name) != n || memcmp(units[i].name, text + m->unit_at, n) != 0)
			continue;
		m->kind = units[i].kind;
		r = in_units(m, text + whole + 1, fraction, units[i].size);
		return overflow ? AMOUNT_TOO_LARGE : r;
	}
	return AMOUNT_WRONG_UNIT;
}

/* All of `text`, of this kind, or of none if `bare`. */
static int parse(const char *text, enum amount_kind kind, bool bare, uint64_t *value, struct fault *why)
{
	static const struct {
		const char *what, *like, *least;
	} words[] = {
		[AMOUNT_DURATION] = {"duration", "90s, 1.5s, 5m, 1h or 250ms", "nanoseconds"},
		[AMOUNT_SIZE] = {"size", "4096, 64K, 64M or 1G", "bytes"},
	};
	struct amount m;
	enum amount_result r = amount_read(text, true, &m);
	bool all = r != AMOUNT_NO_NUMBER && text[m.length] == '\0';

	if (all && r == AMOUNT_TOO_LARGE && (bare || m.kind == kind))
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "the %s '%.64s' is too large", words[kind].what, text);
	if (all && r == AMOUNT_NOT_WHOLE && m.kind == kind)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "the %s '%.64s' is not a whole number of %s",
				 words[kind].what, text, words[kind].least);
	if (!all || r != AMOUNT_FINE || (m.kind != kind && !(bare && m.kind == AMOUNT_NUMBER)))
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "'%.64s' is not a %s like %s", text, words[kind].what,
				 words[kind].like);
	*value = m.value;
	return 0;
}

int duration_parse(const char *text, uint64_t *ns, struct fault *why)
{
	return parse(text, AMOUNT_DURATION, false, ns, why);
}

int seconds_parse(const char *text, uint64_t *ns, struct fault *why)
{
	struct amount m;
	enum amount_result r = amount_read(text, true, &m);
	uint64_t all;

	if ((r != AMOUNT_FINE && r != AMOUNT_TOO_LARGE) || m.kind != AMOUNT_NUMBER || text[m.length])
		return duration_parse(text, ns, why);
	if (r == AMOUNT_TOO_LARGE || __builtin_mul_overflow(m.value, NS_PER_S, &all))
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "the duration '%.64s' is too large", text);
	*ns = all;
	return 0;
}

int size_parse(const char *text, uint64_t *bytes, struct fault *why)
{
	return parse(text, AMOUNT_SIZE, true, bytes, why);
}

int number_parse(const char *text, uint64_t min, uint64_t max, uint64_t *value, struct fault *why)
{
	uint64_t v;
	bool overflow = false;
	size_t n = read_digits(text, &v, &overflow);

	if (n == 0 || text[n])
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "'%.64s' is not a decimal number", text);
	if (overflow || v < min || v > max)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "%.64s is not between %llu and %llu", text,
				 (unsigned long long)min, (unsigned long long)max);
	*value = v;
	return 0;
}

/* --- out --- */

/* A unit for people, and from which value on it is used; the smallest first. */
struct scale {
	uint64_t from, size;
	const char *name;
};

/* Decimal digits of `value`, at least `width`; returns where they end. */
static char *put_digits(char *at, uint64_t value, unsigned width)
{
	char text[20], *from = text + sizeof(text);

	for (; value || width; value /= 10, width -= width > 0)
		*--from = (char)('0' + value % 10);
	memcpy(at, from, (size_t)(text + sizeof(text) - from));
	return at + (text + sizeof(text) - from);
}

/* Three significant digits in the largest unit whose turn it is; half is rounded up. Returns `buf`. */
static char *scaled(char *buf, uint64_t value, const struct scale *scales, size_t nscales, const char *gap)
{
	uint64_t whole = value, part = 0;
	unsigned digits = 0;
	size_t i = nscales - 1;
	char *at;

	while (i > 0 && value < scales[i].from)
		i--;
	for (; i > 0; i++) {
		uint64_t size = scales[i].size, ten;

		whole = value / size;
		digits = whole >= 100 ? 0 : whole >= 10 ? 1 : 2;
		ten = digits == 2 ? 100 : digits == 1 ? 10 : 1;
		part = (uint64_t)(((unsigned __int128)(value % size) * ten + size / 2) / size);
		if (part == ten) {
			whole++;
			part = 0;
			digits -= digits > 0 && (whole == 10 || whole == 100); /* 9.996 is 10.0 */
		}
		/* 999.7 us is 1.00 ms */
		if (i + 1 == nscales || whole < scales[i + 1].from / size)
			break;
	}
	at = put_digits(buf, whole, 1);
	if (digits) {
		*at++ = '.';
		at = put_digits(at, part, digits);
	}
	strcpy(at, gap);
	strcpy(at + strlen(gap), scales[i].name);
	return buf;
}

static char *show_duration(char *buf, uint64_t ns, const char *gap)
{
	static const struct scale scales[] = {
		{0, 1, "ns"},
		{1000, 1000, "µs"},
		{1000000, 1000000, "ms"},
		{NS_PER_S, NS_PER_S, "s"},
		{1000 * NS_PER_S, 60 * NS_PER_S, "min"}, /* up to then seconds are easier to compare */
		{3600 * NS_PER_S, 3600 * NS_PER_S, "h"},
		{86400 * NS_PER_S, 86400 * NS_PER_S, "d"},
	};

	return scaled(buf, ns, scales, COUNT(scales), gap);
}

char *duration_text(char buf[UNITS_CHARS], uint64_t ns)
{
	return show_duration(buf, ns, " ");
}

char *duration_word(char buf[UNITS_CHARS], uint64_t ns)
{
	return show_duration(buf, ns, "");
}

char *size_text(char buf[UNITS_CHARS], uint64_t bytes)
{
	static const struct scale scales[] = {
		{0, 1, "B"},
		{1ull << 10, 1ull << 10, "KiB"},
		{1ull << 20, 1ull << 20, "MiB"},
		{1ull << 30, 1ull << 30, "GiB"},
		{1ull << 40, 1ull << 40, "TiB"},
		{1ull << 50, 1ull << 50, "PiB"},
		{1ull << 60, 1ull << 60, "EiB"},
	};

	return scaled(buf, bytes, scales, COUNT(scales), " ");
}

char *wall_text(char buf[UNITS_CHARS], uint64_t wall_ns)
{
	civil_text(buf, wall_ns / NS_PER_S, ' ');
	snprintf(buf + CIVIL_CHARS, UNITS_CHARS - CIVIL_CHARS, ".%09lluZ", (unsigned long long)(wall_ns % NS_PER_S));
	return buf;
}

char *hex_text(char *buf, const uint8_t *bytes, size_t n)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		buf[2 * i] = digits[bytes[i] >> 4];
		buf[2 * i + 1] = digits[bytes[i] & 15];
	}
	buf[2 * n] = '\0';
	return buf;
}
