/* SPDX-License-Identifier: Apache-2.0 */
#include "keys/plain_text.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "format/base/escape.h"

#define PLAIN_MAX 256
#define DAY_CHARS 10
#define YEAR_MIN 1970
#define YEAR_MAX 2553 /* 64 bits of nanoseconds end in the year after */
#define NS_PER_S 1000000000ull

bool plain_text_valid(const char *text, size_t n, size_t max)
{
	char shown[PLAIN_MAX * ESCAPE_GROWTH + 1];

	if (n == 0 || n > max || n > PLAIN_MAX || text[0] == ' ' || text[n - 1] == ' ' || memchr(text, '"', n))
		return false;
	return escape_terminal(shown, sizeof(shown), text, n) == n && memcmp(shown, text, n) == 0;
}

/* Whether `text` has the form of `like`, in which each 0 stands for a digit. */
static bool has_form(const char *text, const char *like)
{
	for (; *like; text++, like++)
		if (*like == '0' ? *text < '0' || *text > '9' : *text != *like)
			return false;
	return *text == '\0';
}

static int number_at(const char *text, size_t digits)
{
	int v = 0;

	while (digits-- > 0)
		v = v * 10 + (*text++ - '0');
	return v;
}

int date_parse(uint64_t *wall_ns, const char *text, struct fault *why)
{
	bool day = has_form(text, "0000-00-00"), moment = has_form(text, "0000-00-00T00:00:00Z");
	char again[DATE_CHARS + 1];
	struct tm tm = {0};
	uint64_t ns;
	int year;

	if (!day && !moment)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE,
				 "'%.40s' is not a date like 2026-11-21 or 2026-11-21T10:00:00Z", text);
	year = number_at(text, 4);
	tm.tm_year = year - 1900;
	tm.tm_mon = number_at(text + 5, 2) - 1;
	tm.tm_mday = number_at(text + 8, 2);
	if (moment) {
		tm.tm_hour = number_at(text + 11, 2);
		tm.tm_min = number_at(text + 14, 2);
		tm.tm_sec = number_at(text + 17, 2);
	}
	if (year >= YEAR_MIN && year <= YEAR_MAX) {
		ns = (uint64_t)timegm(&tm) * NS_PER_S;
		/* timegm() takes 31 February for a day in March: only what comes back the same is a date. */
		if (strncmp(date_format(again, ns), text, day ? DAY_CHARS : DATE_CHARS) == 0) {
			*wall_ns = ns;
			return 0;
		}
	}
	return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "'%.40s' is not a date of the calendar from %d to %d", text,
			 YEAR_MIN, YEAR_MAX);
}

char *date_format(char buf[DATE_CHARS + 1], uint64_t wall_ns)
{
	time_t seconds = (time_t)(wall_ns / NS_PER_S);
	struct tm tm;

	gmtime_r(&seconds, &tm); /* cannot fail within 64 bits of nanoseconds */
	strftime(buf, DATE_CHARS + 1, "%Y-%m-%dT%H:%M:%SZ", &tm);
	return buf;
}
