/* SPDX-License-Identifier: Apache-2.0 */
/* Dates against the C library's, and without what the C library takes from a file that the environment names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "format/base/civil.h"
#include "format/base/units.h"

#define DAY 86400u

static void by_zone(const char *zone)
{
	assert_int_equal(setenv("TZ", zone, 1), 0);
	tzset();
}

static const char *by_c_library(char buf[64], uint64_t s)
{
	time_t t = (time_t)s;
	struct tm tm;

	assert_non_null(gmtime_r(&t, &tm));
	assert_true(strftime(buf, 64, "%Y-%m-%dT%H:%M:%S", &tm) > 0);
	return buf;
}

static void assert_is_as_the_c_library_has_it(uint64_t s)
{
	char buf[CIVIL_CHARS + 1], theirs[64];
	uint64_t back;

	assert_string_equal(civil_text(buf, s, 'T'), by_c_library(theirs, s));
	assert_true(civil_parse(&back, buf, 'T'));
	assert_int_equal(back, s);
}

static void every_day_and_second_is_as_the_c_library_has_it(void **state)
{
	(void)state;
	by_zone("UTC0");
	for (uint64_t day = 0; day <= CIVIL_LAST / DAY; day++) {
		assert_is_as_the_c_library_has_it(day * DAY);
		assert_is_as_the_c_library_has_it(day * DAY + DAY - 1);
	}
	for (uint64_t s = 951782400 - 10; s < 951782400 + 2 * DAY + 10; s++) /* 2000-02-29 */
		assert_is_as_the_c_library_has_it(s);
}

static void what_is_no_date_is_none(void **state)
{
	static const char *const bad[] = {
		"2027-02-29T00:00:00", "2100-02-29T00:00:00", "2026-04-31T00:00:00", "2026-00-10T00:00:00",
		"2026-13-10T00:00:00", "2026-01-00T00:00:00", "2026-01-32T00:00:00", "2026-01-01T24:00:00",
		"2026-01-01T00:60:00", "2026-01-01T00:00:60", "1969-12-31T23:59:59", "0000-01-01T00:00:00",
		"2026-01-01 00:00:00", "2026-1-001T00:00:00", "2026/01-01T00:00:00", "2026-01-01T00-00:00",
		"+026-01-01T00:00:00", "2026-01-01T 0:00:00",
	};
	uint64_t s = 7;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		/* Only so many bytes as it has, so that reading on is seen. */
		char *copy = strdup(bad[i]);

		assert_non_null(copy);
		assert_false(civil_parse(&s, copy, 'T'));
		free(copy);
	}
	assert_true(civil_parse(&s, "2000-02-29 23:59:59 and more", ' '));
	assert_int_equal(s, 951868799);
}

/* A zone's file with one leap second, of two hours: what anybody can name in $TZ. */
static void write_zone(const char *path)
{
	FILE *f = fopen(path, "w");
	const uint32_t counts[] = {0, 0, 1, 0, 1, 4}; /* of these only a leap second, a kind of time, and its name */

	assert_non_null(f);
	for (int version = 0; version < 2; version++) {
		static const uint8_t head[20] = {'T', 'Z', 'i', 'f', '2'};

		assert_int_equal(fwrite(head, 1, sizeof(head), f), sizeof(head));
		for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
			fprintf(f, "%c%c%c%c", 0, 0, 0, (int)counts[i]);
		for (int i = 0; i < 6; i++)
			fputc(0, f);
		fwrite("UTC", 1, 4, f);
		for (int i = 0; i < 4 * version; i++)
			fputc(0, f);
		fprintf(f, "%c%c%c%c%c%c%c%c", 0x04, 0xb2, 0x58, 0x00, 0, 0, 0x1c, 0x20);
	}
	fputs("\nUTC0\n", f);
	assert_int_equal(fclose(f), 0);
}

static void no_zone_of_the_environment_changes_a_time(void **state)
{
	char path[] = "/tmp/gpurec-zone.XXXXXX", theirs[64], buf[UNITS_CHARS];
	int fd = mkstemp(path);
	uint64_t s;

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	write_zone(path);
	by_zone(path);
	by_c_library(theirs, 1795255106);
	unlink(path);
	assert_string_equal(theirs, "2026-11-21T07:58:26"); /* so that the file is one that changes times */
	assert_string_equal(wall_text(buf, 1795255106123456789ull), "2026-11-21 09:58:26.123456789Z");
	assert_true(civil_parse(&s, "2026-11-21T09:58:26", 'T'));
	assert_int_equal(s, 1795255106);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_day_and_second_is_as_the_c_library_has_it),
		cmocka_unit_test(what_is_no_date_is_none),
		cmocka_unit_test(no_zone_of_the_environment_changes_a_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
