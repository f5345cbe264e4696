/* SPDX-License-Identifier: Apache-2.0 */
#include "keys/tool/tool.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define NS_PER_S 1000000000ull
#define FRACTION_DIGITS 18 /* more do not fit into 64 bits */

struct unit_name {
	const char *name;
	uint64_t size;
};

static const struct unit_name durations[] = {
	{"ns", 1},
	{"us", 1000},
	{"µs", 1000},
	{"ms", 1000000},
	{"s", NS_PER_S},
	{"m", 60 * NS_PER_S},
	{"min", 60 * NS_PER_S},
	{"h", 3600 * NS_PER_S},
	{"d", 86400 * NS_PER_S},
	{NULL, 0},
};

/* What a bare number is to sleep(1). */
static const struct unit_name seconds_only[] = {{"", NS_PER_S}, {NULL, 0}};

static const struct unit_name sizes[] = {
	{"", 1},
	{"K", 1ull << 10},
	{"M", 1ull << 20},
	{"G", 1ull << 30},
	{"T", 1ull << 40},
	{"KiB", 1ull << 10},
	{"MiB", 1ull << 20},
	{"GiB", 1ull << 30},
	{"TiB", 1ull << 40},
	{NULL, 0},
};

/* Units as people read them; each is used until the next one is reached. */
static const struct unit_name shown_durations[] = {
	{"ns", 1},
	{"us", 1000},
	{"ms", 1000000},
	{"s", NS_PER_S},
	{"min", 60 * NS_PER_S},
	{"h", 3600 * NS_PER_S},
	{"d", 86400 * NS_PER_S},
	{NULL, 0},
};

static const struct unit_name shown_sizes[] = {
	{"B", 1},
	{"KiB", 1ull << 10},
	{"MiB", 1ull << 20},
	{"GiB", 1ull << 30},
	{"TiB", 1ull << 40},
	{"PiB", 1ull << 50},
	{"EiB", 1ull << 60},
	{NULL, 0},
};

/* Decimal digits at `text`. Returns how many, 0 if none; *overflow tells a number beyond 64 bits. */
static size_t read_digits(const char *text, uint64_t *value, bool *overflow)
{
	uint64_t v = 0;
	size_t n;

	*overflow = false;
	for (n = 0; text[n] >= '0' && text[n] <= '9'; n++)
		if (__builtin_mul_overflow(v, 10u, &v) || __builtin_add_overflow(v, (uint64_t)(text[n] - '0'), &v))
			*overflow = true;
	*value = v;
	return n;
}

/* "NUMBER UNIT" without a space. `what` and `like` go into the sentence. */
static int parse_with_unit(const char *text, const struct unit_name *units, const char *what, const char *like,
			   uint64_t *value, struct fault *why)
{
	const struct unit_name *u;
	uint64_t v;
	bool overflow;
	size_t n = read_digits(text, &v, &overflow);

	for (u = units; u->name && strcmp(u->name, text + n) != 0; u++)
		;
	if (n == 0 || !u->name)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "'%.64s' is not a %s like %s", text, what, like);
	if (overflow || __builtin_mul_overflow(v, u->size, &v))
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "the %s '%.64s' is too large", what, text);
	*value = v;
	return 0;
}

/* Add the `n` digits behind a point, of a unit of `size`. False: that is no whole number, or it does not fit. */
static bool add_fraction(const char *digits, size_t n, uint64_t size, uint64_t *value)
{
	uint64_t scale = 1, part = 0;
	unsigned __int128 all;

	if (n == 0 || n > FRACTION_DIGITS)
		return false;
	for (size_t i = 0; i < n; i++) {
		part = part * 10 + (uint64_t)(digits[i] - '0');
		scale *= 10;
	}
	all = (unsigned __int128)part * size;
	return all % scale == 0 && !__builtin_add_overflow(*value, (uint64_t)(all / scale), value);
}

int tool_parse_duration(const char *text, uint64_t *ns, struct fault *why)
{
	const struct unit_name *u = durations;
	uint64_t v;
	bool overflow;
	size_t whole = read_digits(text, &v, &overflow), end = whole, part = 0;

	if (text[end] == '.') {
		part = strspn(text + end + 1, "0123456789");
		end += 1 + part;
	}
	end += text[end] == ' ';
	while (u->name && strcmp(u->name, text + end) != 0)
		u++;
	if (whole == 0 || !u->name)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE,
				 "'%.64s' is not a duration like 90s, 1.5s, 5m, 1h or 250ms", text);
	if (overflow || __builtin_mul_overflow(v, u->size, &v))
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "the duration '%.64s' is too large", text);
	if (text[whole] == '.' && !add_fraction(text + whole + 1, part, u->size, &v))
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE,
				 "the duration '%.64s' is not a whole number of nanoseconds", text);
	*ns = v;
	return 0;
}

int tool_parse_seconds(const char *text, uint64_t *ns, struct fault *why)
{
	if (*text && text[strspn(text, "0123456789")] == '\0')
		return parse_with_unit(text, seconds_only, "duration", "90s, 5m, 1h or 250ms", ns, why);
	return tool_parse_duration(text, ns, why);
}

int tool_parse_size(const char *text, uint64_t *bytes, struct fault *why)
{
	return parse_with_unit(text, sizes, "size", "4096, 64K, 64M or 1G", bytes, why);
}

int tool_parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *value, struct fault *why)
{
	uint64_t v;
	bool overflow;
	size_t n = read_digits(text, &v, &overflow);

	if (n == 0 || text[n])
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "'%.64s' is not a decimal number", text);
	if (overflow || v < min || v > max)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "%.64s is not between %llu and %llu", text,
				 (unsigned long long)min, (unsigned long long)max);
	*value = v;
	return 0;
}

/* One decimal, rounded; the smallest unit has none. 999.96 us is shown as 1.0 ms. */
static char *format_in_units(char *buf, size_t size, const struct unit_name *units, uint64_t value)
{
	const struct unit_name *u = units;
	uint64_t whole, tenths;

	while (u[1].name && value >= u[1].size)
		u++;
	for (;; u++) {
		whole = value / u->size;
		tenths = whole * 10 + ((value % u->size) * 10 + u->size / 2) / u->size;
		if (u == units || !u[1].name || tenths < u[1].size / u->size * 10)
			break;
	}
	if (u == units)
		snprintf(buf, size, "%llu %s", (unsigned long long)value, u->name);
	else
		snprintf(buf, size, "%llu.%llu %s", (unsigned long long)(tenths / 10),
			 (unsigned long long)(tenths % 10), u->name);
	return buf;
}

char *tool_format_ns(char *buf, size_t size, uint64_t ns)
{
	return format_in_units(buf, size, shown_durations, ns);
}

char *tool_format_bytes(char *buf, size_t size, uint64_t bytes)
{
	return format_in_units(buf, size, shown_sizes, bytes);
}

char *tool_format_wall(char *buf, size_t size, uint64_t wall_ns)
{
	time_t seconds = (time_t)(wall_ns / NS_PER_S);
	struct tm tm;
	char text[32];

	gmtime_r(&seconds, &tm); /* cannot fail: 64 bits of nanoseconds end in the year 2554 */
	strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
	snprintf(buf, size, "%s.%09lluZ", text, (unsigned long long)(wall_ns % NS_PER_S));
	return buf;
}

char *tool_format_hex(char *buf, const uint8_t *bytes, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	size_t i;

	for (i = 0; i < n; i++) {
		buf[2 * i] = digits[bytes[i] >> 4];
		buf[2 * i + 1] = digits[bytes[i] & 15];
	}
	buf[2 * n] = '\0';
	return buf;
}
