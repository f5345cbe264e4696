/* SPDX-License-Identifier: Apache-2.0 */
#include "keys/plain_text.h"

#include <stdio.h>
#include <string.h>

#include "format/base/civil.h"
#include "format/base/escape.h"

#define PLAIN_MAX 256
#define DAY_CHARS 10
#define NS_PER_S 1000000000ull

bool plain_text_valid(const char *text, size_t n, size_t max)
{
	char shown[PLAIN_MAX * ESCAPE_GROWTH + 1];

	if (n == 0 || n > max || n > PLAIN_MAX || text[0] == ' ' || text[n - 1] == ' ' || memchr(text, '"', n))
		return false;
	return escape_terminal(shown, sizeof(shown), text, n) == n && memcmp(shown, text, n) == 0;
}

int date_parse(uint64_t *wall_ns, const char *text, struct fault *why)
{
	static const char midnight[] = "T00:00:00Z";
	char moment[DATE_CHARS + 1];
	size_t n = strlen(text);
	uint64_t s;

	if (n == DATE_CHARS || n == DAY_CHARS) {
		memcpy(moment, text, n);
		if (n == DAY_CHARS)
			memcpy(moment + n, midnight, sizeof(midnight));
		if (moment[CIVIL_CHARS] == 'Z' && civil_parse(&s, moment, 'T') &&
		    !__builtin_mul_overflow(s, NS_PER_S, wall_ns))
			return 0;
	}
	return fault_set(why, ERR_INPUT, FAULT_NOWHERE,
			 "'%.40s' is not a date from 1970 to 2554 like 2026-11-21 or 2026-11-21T10:00:00Z", text);
}

char *date_format(char buf[DATE_CHARS + 1], uint64_t wall_ns)
{
	civil_text(buf, wall_ns / NS_PER_S, 'T');
	memcpy(buf + CIVIL_CHARS, "Z", sizeof("Z"));
	return buf;
}
