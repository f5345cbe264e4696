/* SPDX-License-Identifier: Apache-2.0 */
#include "format/base/civil.h"

#include <string.h>

#define DAY_S 86400u
#define ERA_DAYS 146097u   /* of 400 years */
#define EPOCH_DAYS 719468u /* from the 1st of March of the year 0 to 1970 */

/* Where the numbers of a text are. */
static const struct {
	uint8_t at, digits;
} parts[] = {{0, 4}, {5, 2}, {8, 2}, {11, 2}, {14, 2}, {17, 2}};
enum { YEAR, MONTH, DAY, HOUR, MINUTE, SECOND, NPARTS };

static uint64_t days_of(const uint32_t v[NPARTS])
{
	uint32_t year = v[YEAR] - (v[MONTH] <= 2);
	uint32_t month = v[MONTH] > 2 ? v[MONTH] - 3 : v[MONTH] + 9;
	uint32_t year_of_era = year % 400, day_of_year = (153 * month + 2) / 5 + v[DAY] - 1;

	return (uint64_t)(year / 400) * ERA_DAYS + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 +
	       day_of_year - EPOCH_DAYS;
}

static void civil_of(uint32_t v[NPARTS], uint64_t unix_s)
{
	uint32_t s = (uint32_t)(unix_s % DAY_S), days = (uint32_t)(unix_s / DAY_S) + EPOCH_DAYS;
	uint32_t day = days % ERA_DAYS, year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
	uint32_t day_of_year = day - (365 * year + year / 4 - year / 100), month = (5 * day_of_year + 2) / 153;

	v[DAY] = day_of_year - (153 * month + 2) / 5 + 1;
	v[MONTH] = month < 10 ? month + 3 : month - 9;
	v[YEAR] = year + days / ERA_DAYS * 400 + (v[MONTH] <= 2);
	v[HOUR] = s / 3600;
	v[MINUTE] = s / 60 % 60;
	v[SECOND] = s % 60;
}

char *civil_text(char buf[CIVIL_CHARS + 1], uint64_t unix_s, char between)
{
	uint32_t v[NPARTS];

	civil_of(v, unix_s < CIVIL_LAST ? unix_s : CIVIL_LAST);
	memcpy(buf, "0000-00-00T00:00:00", CIVIL_CHARS + 1);
	buf[10] = between;
	for (int i = 0; i < NPARTS; i++)
		for (int d = parts[i].digits; d-- > 0; v[i] /= 10)
			buf[parts[i].at + d] = (char)('0' + v[i] % 10);
	return buf;
}

bool civil_parse(uint64_t *unix_s, const char *text, char between)
{
	char again[CIVIL_CHARS + 1];
	uint32_t v[NPARTS] = {0};

	for (int i = 0; i < NPARTS; i++)
		for (int d = 0; d < parts[i].digits; d++) {
			char c = text[parts[i].at + d];

			if (c < '0' || c > '9')
				return false;
			v[i] = v[i] * 10 + (uint32_t)(c - '0');
		}
	if (v[YEAR] < 1970 || v[MONTH] < 1 || v[MONTH] > 12 || v[DAY] < 1)
		return false;
	*unix_s = days_of(v) * DAY_S + v[HOUR] * 3600 + v[MINUTE] * 60 + v[SECOND];
	/* A 30th of February, or a 25th hour, is another second: only what comes back the same is a date. */
	return memcmp(civil_text(again, *unix_s, between), text, CIVIL_CHARS) == 0;
}
