/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/moment.h"

#include <string.h>
#include <time.h>

#include "keys/tool.h"

#define NS_PER_S 1000000000ull

/* ".02" behind a number of seconds, up to nine digits, then `end`; adds to *ns. False: that is not what stands there.
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

/* "12.345": seconds with a fraction. */
static bool read_seconds(const char *text, uint64_t *ns)
{
	uint64_t s = 0;
	const char *c = text;

	for (; *c >= '0' && *c <= '9'; c++)
		if (__builtin_mul_overflow(s, 10u, &s) || __builtin_add_overflow(s, (uint64_t)(*c - '0'), &s))
			return false;
	return c > text && *c == '.' && !__builtin_mul_overflow(s, NS_PER_S, ns) && read_fraction(c, "", ns);
}

/* "2026-09-21T14:13:20.02Z" */
static bool read_wall(const char *text, uint64_t *ns)
{
	struct tm tm = {0}, asked;
	const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	time_t s;

	/* Exactly so many digits: strptime() takes fewer. */
	if (!rest || rest - text != 19)
		return false;
	asked = tm;
	s = timegm(&tm);
	/* A 30th of February has become a day in March. */
	if (s < 0 || asked.tm_mday != tm.tm_mday || asked.tm_sec != tm.tm_sec)
		return false;
	return !__builtin_mul_overflow((uint64_t)s, NS_PER_S, ns) && read_fraction(rest, "Z", ns);
}

int moment_parse(struct moment *m, const char *text, struct fault *why)
{
	struct moment got = {.given = true, .clock = MOMENT_BOOT};
	bool good = tool_parse_number(text, 0, UINT64_MAX, &got.ns, why) == 0 || read_seconds(text, &got.ns);

	if (!good) {
		got.clock = MOMENT_RELATIVE;
		good = tool_parse_duration(text, &got.ns, why) == 0 ||
		       (*text == '+' && read_seconds(text + 1, &got.ns));
	}
	if (!good) {
		got.clock = MOMENT_WALL;
		good = read_wall(text, &got.ns);
	}
	if (!good)
		return fault_set(
			why, ERR_INPUT, FAULT_NOWHERE,
			"'%.64s' is no time: 12s or +12.5 (after the start), nanoseconds on the boot clock, or "
			"2026-09-21T14:13:20Z",
			text);
	*m = got;
	return 0;
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
