/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/time_arg.h"

#include <string.h>

#include "format/base/civil.h"
#include "format/base/units.h"
#include "keys/tool/tool.h"

#define NS_PER_S 1000000000ull
#define DECIMALS 9              /* of seconds on the boot clock */
#define BOOT_DIGITS_MIN 10      /* of its nanoseconds: a second after boot or later */
#define CLOCK_MAX 100000000000u /* of hours, minutes or seconds: far from where 64 bits of nanoseconds end */
#define ZONE_CHARS 6            /* +02:00 */
#define WALL_CHARS_MAX 29       /* 2026-09-21T14:13:20.020000000 */

/* ".02" behind a number of seconds, up to nine digits, then `end`; adds to *ns. False: that is not what is there.
 */
static bool read_fraction(const char *text, const char *end, uint64_t *ns)
{
	uint64_t unit = NS_PER_S / 10, part = 0;

	if (*text == '.') {
		if (text[1] < '0' || text[1] > '9')
			return false;
		for (text++; *text >= '0' && *text <= '9' && unit; text++, unit /= 10)
			part += (uint64_t)(*text - '0') * unit;
	}
	return !strcmp(text, end) && !__builtin_add_overflow(*ns, part, ns);
}

static size_t count_digits(const char *text)
{
	return strspn(text, "0123456789");
}

/* "12.345": seconds with a fraction. */
static bool read_seconds(const char *text, uint64_t *ns)
{
	size_t n = count_digits(text);
	uint64_t s = 0;

	for (size_t i = 0; i < n; i++)
		if (__builtin_mul_overflow(s, 10u, &s) || __builtin_add_overflow(s, (uint64_t)(text[i] - '0'), &s))
			return false;
	return n > 0 && text[n] == '.' && !__builtin_mul_overflow(s, NS_PER_S, ns) && read_fraction(text + n, "", ns);
}

/* Bare numbers as text (--time=boot), SQL and JSON show the boot clock, and no others. */
static bool read_boot(const char *text, uint64_t *ns)
{
	size_t n = count_digits(text);
	struct fault why;

	if (text[n] == '.')
		return count_digits(text + n + 1) == DECIMALS && read_seconds(text, ns);
	return n >= BOOT_DIGITS_MIN && number_parse(text, 0, UINT64_MAX, ns, &why) == 0;
}

/* "00:01.4", "1:02:03": minutes and hours before the seconds. */
static bool read_clock(const char *text, uint64_t *ns)
{
	uint64_t minutes = 0, s = 0, part;
	unsigned colons = 0;

	if (count_digits(text) == 0)
		return false;
	for (; *text != '.' && *text; text++) {
		if (*text == ':') {
			if (++colons > 2 || count_digits(text + 1) != 2 || text[1] > '5')
				return false;
			minutes = (minutes + s) * 60;
			s = 0;
		} else if (*text < '0' || *text > '9' || s > CLOCK_MAX) {
			return false;
		} else {
			s = s * 10 + (uint64_t)(*text - '0');
		}
	}
	part = 0;
	return colons > 0 && read_fraction(text, "", &part) && !__builtin_mul_overflow(minutes + s, NS_PER_S, ns) &&
	       !__builtin_add_overflow(*ns, part, ns);
}

static bool read_relative(const char *text, uint64_t *ns)
{
	const char *number = text + (*text == '+');
	struct fault why;

	return duration_parse(number, ns, &why) == 0 || (number > text && read_seconds(number, ns)) ||
	       read_clock(number, ns);
}

/* "Z", " UTC", "+02:00" at the end: seconds east of UTC. Returns its length; 0: none of these. */
static size_t zone_of(const char *text, size_t n, int64_t *east_s)
{
	const char *z = text + n - ZONE_CHARS;

	*east_s = 0;
	if (n > 1 && text[n - 1] == 'Z')
		return 1;
	if (n > 4 && !strcmp(text + n - 4, " UTC"))
		return 4;
	if (n <= ZONE_CHARS || (*z != '+' && *z != '-') || count_digits(z + 1) != 2 || z[3] != ':' ||
	    count_digits(z + 4) != 2 || z[1] > '1' || z[4] > '5')
		return 0;
	*east_s = ((z[1] - '0') * 10 + z[2] - '0') * 3600 + ((z[4] - '0') * 10 + z[5] - '0') * 60;
	*east_s *= *z == '-' ? -1 : 1;
	return ZONE_CHARS;
}

/* "2026-09-21T14:13:20.02Z", "2026-09-21 14:13:20 UTC" */
static bool read_wall(const char *text, uint64_t *ns)
{
	size_t n = strlen(text), zone;
	char date[WALL_CHARS_MAX + 1];
	int64_t east_s;
	uint64_t s;

	zone = zone_of(text, n, &east_s);
	if (zone == 0 || n - zone > WALL_CHARS_MAX || n - zone < CIVIL_CHARS || (text[10] != 'T' && text[10] != ' '))
		return false;
	memcpy(date, text, n - zone);
	date[n - zone] = '\0';
	if (!civil_parse(&s, date, date[10]) || (int64_t)s < east_s)
		return false;
	return !__builtin_mul_overflow(s - (uint64_t)east_s, NS_PER_S, ns) && read_fraction(date + CIVIL_CHARS, "", ns);
}

/* A bare number: say what it could be. */
static int refuse_bare(const char *text, struct fault *why)
{
	return fault_set(why, ERR_INPUT, FAULT_NOWHERE,
			 "'%.64s' has no unit: write %.64ss for seconds after the start, or %.64sms", text, text, text);
}

int moment_parse(struct moment *m, const char *text, struct fault *why)
{
	static const struct {
		enum moment_clock clock;
		bool (*read)(const char *text, uint64_t *ns);
	} forms[] = {{MOMENT_BOOT, read_boot}, {MOMENT_RELATIVE, read_relative}, {MOMENT_WALL, read_wall}};
	size_t digits = count_digits(text);
	uint64_t ns;

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (!forms[i].read(text, &ns))
			continue;
		*m = (struct moment){true, forms[i].clock, ns};
		return 0;
	}
	if (digits &&
	    (text[digits] == '\0' || (text[digits] == '.' && !text[digits + 1 + count_digits(text + digits + 1)])))
		return refuse_bare(text, why);
	return fault_set(
		why, ERR_INPUT, FAULT_NOWHERE,
		"'%.64s' is not a time like 1.4s or +12.5 (after the start), 2026-09-21T14:13:20Z, or nanoseconds on "
		"the boot clock",
		text);
}

/* The wall clock from an anchor on, up to the boot time `until_ns`: whether it shows `wall_ns` or more there. */
static bool shows(uint64_t boot_ns, uint64_t from_wall_ns, uint64_t until_ns, uint64_t wall_ns, uint64_t *out)
{
	uint64_t later_ns = wall_ns > from_wall_ns ? wall_ns - from_wall_ns : 0;

	return !__builtin_add_overflow(boot_ns, later_ns, out) && *out < until_ns;
}

uint64_t moment_boot_ns(const struct moment *m, const struct reader *r)
{
	uint64_t ns, boot_ns = r->header.start_boot_ns, wall_ns = r->header.start_wall_ns;

	if (m->clock == MOMENT_BOOT)
		return m->ns;
	if (m->clock == MOMENT_RELATIVE)
		return __builtin_add_overflow(boot_ns, m->ns, &ns) ? UINT64_MAX : ns;
	/* What was before recording began was by the first clock, too. */
	if (m->ns < wall_ns)
		return wall_ns - m->ns < boot_ns ? boot_ns - (wall_ns - m->ns) : 0;
	for (uint64_t i = 0; i < r->nepochs; i++) {
		const struct clock_anchor *a = &r->epochs[i].anchor;

		if (shows(boot_ns, wall_ns, a->boot_ns, m->ns, &ns))
			return ns;
		boot_ns = a->boot_ns;
		wall_ns = a->wall_ns;
	}
	return shows(boot_ns, wall_ns, UINT64_MAX, m->ns, &ns) ? ns : UINT64_MAX;
}
