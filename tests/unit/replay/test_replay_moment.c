/* SPDX-License-Identifier: Apache-2.0 */
/* Moments as people name them, and where they lie on the boot clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "replay/time_arg.h"

#define S UINT64_C(1000000000)
#define WALL (UINT64_C(1790000000) * S) /* 2026-09-21T14:13:20Z */

static void each_clock_has_its_forms(void **state)
{
	static const struct {
		const char *text;
		enum moment_clock clock;
		uint64_t ns;
	} good[] = {
		{"1000000000", MOMENT_BOOT, S},
		{"18446744073709551615", MOMENT_BOOT, UINT64_MAX},
		{"500.020000001", MOMENT_BOOT, 500 * S + S / 50 + 1},
		{"12s", MOMENT_RELATIVE, 12 * S},
		{"+12s", MOMENT_RELATIVE, 12 * S},
		{"250ms", MOMENT_RELATIVE, S / 4},
		{"1.4s", MOMENT_RELATIVE, S + S / 10 * 4},
		{"+1.4s", MOMENT_RELATIVE, S + S / 10 * 4},
		{"+1.454806 s", MOMENT_RELATIVE, 1454806000},
		{"+1.454806789 s", MOMENT_RELATIVE, 1454806789},
		{"+1.5", MOMENT_RELATIVE, S + S / 2},
		{"+0.000000001", MOMENT_RELATIVE, 1},
		{"00:01.4", MOMENT_RELATIVE, S + S / 10 * 4},
		{"+01:01", MOMENT_RELATIVE, 61 * S},
		{"1:02:03.5", MOMENT_RELATIVE, 3723 * S + S / 2},
		{"90:00", MOMENT_RELATIVE, 5400 * S},
		{"2026-09-21T14:13:20Z", MOMENT_WALL, WALL},
		{"2026-09-21 14:13:20 UTC", MOMENT_WALL, WALL},
		{"2026-09-21 14:13:20Z", MOMENT_WALL, WALL},
		{"2026-09-21 14:13:20.020000000Z", MOMENT_WALL, WALL + S / 50},
		{"2026-09-21T14:13:20.02Z", MOMENT_WALL, WALL + S / 50},
		{"2026-09-21T16:13:20+02:00", MOMENT_WALL, WALL},
		{"2026-09-21T08:43:20.5-05:30", MOMENT_WALL, WALL + S / 2},
		{"1970-01-01T00:00:00.000000001Z", MOMENT_WALL, 1},
		{"2024-02-29T23:59:59Z", MOMENT_WALL, UINT64_C(1709251199) * S},
	};
	struct moment m;
	struct fault why;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		if (moment_parse(&m, good[i].text, &why))
			fail_msg("'%s': %s", good[i].text, why.text);
		assert_true(m.given);
		assert_int_equal(m.clock, good[i].clock);
		assert_int_equal(m.ns, good[i].ns);
	}
}

static void what_is_no_moment_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"x",
		"-1",
		"+",
		"+5",
		"1.",
		".5",
		"1.5x",
		"500.0200000001",
		"18446744073709551616",
		/* Bare numbers: of what? */
		"0",
		"90",
		"1.4",
		"500.02",
		"999999999",
		"12.34567890",
		"18446744073.709551616",
		"1:60",
		"1:2",
		":01",
		"1:02:03:04",
		"1:",
		"1:02x",
		"100000000000000000:00",
		"2026-09-21",
		"2026-09-21T14:13:20",
		"2026-09-21T14:13:20.Z",
		"2026-09-21T14:13:20+2:00",
		"2026-09-21T14:13:20+25:00",
		"2026-09-21T14:13:20 +02:00",
		"2026-9-21T14:13:20Z",
		"2026-02-30T14:13:20Z",
		"2026-09-21T24:13:20Z",
		"2026-09-21_14:13:20Z",
		"1969-12-31T23:59:59Z",
		"1970-01-01T00:00:00+01:00",
		"2600-01-01T00:00:00Z",
		"2026-09-21T14:13:20.02Zx",
	};
	struct moment m;
	struct fault why;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		m = (struct moment){.ns = 7};
		if (moment_parse(&m, bad[i], &why) != ERR_INPUT)
			fail_msg("'%s' is taken for a time", bad[i]);
		assert_int_equal(m.ns, 7);
	}
}

static void a_bare_number_is_refused_with_what_it_could_be(void **state)
{
	struct moment m;
	struct fault why;

	(void)state;
	assert_int_equal(moment_parse(&m, "90", &why), ERR_INPUT);
	assert_string_equal(why.text, "'90' has no unit: write 90s for seconds after the start, or 90ms");
	assert_int_equal(moment_parse(&m, "1.4", &why), ERR_INPUT);
	assert_string_equal(why.text, "'1.4' has no unit: write 1.4s for seconds after the start, or 1.4ms");
}

static uint64_t boot(const struct reader *r, enum moment_clock clock, uint64_t ns)
{
	const struct moment m = {true, clock, ns};

	return moment_boot_ns(&m, r);
}

/* A second of each: recording begins at 500 s; the clock is set forward by 10 s at 502 s, back by 20 s at 504 s. */
static void the_wall_clock_is_followed_through_its_steps(void **state)
{
	struct epoch epochs[] = {{.anchor = {502 * S, WALL + 12 * S, 0}}, {.anchor = {504 * S, WALL - 6 * S, 0}}};
	const struct reader r = {
		.header = {.start_boot_ns = 500 * S, .start_wall_ns = WALL}, .epochs = epochs, .nepochs = 2};

	(void)state;
	assert_int_equal(boot(&r, MOMENT_BOOT, 3), 3);
	assert_int_equal(boot(&r, MOMENT_RELATIVE, 3), 500 * S + 3);
	assert_int_equal(boot(&r, MOMENT_RELATIVE, UINT64_MAX), UINT64_MAX);
	assert_int_equal(boot(&r, MOMENT_WALL, WALL), 500 * S);
	assert_int_equal(boot(&r, MOMENT_WALL, WALL - S), 499 * S);
	assert_int_equal(boot(&r, MOMENT_WALL, 5), 0);
	assert_int_equal(boot(&r, MOMENT_WALL, WALL + S), 501 * S);
	/* Set forward over it: the step. */
	assert_int_equal(boot(&r, MOMENT_WALL, WALL + 5 * S), 502 * S);
	assert_int_equal(boot(&r, MOMENT_WALL, WALL + 13 * S), 503 * S);
	/* Set back: after the last anchor it comes round. */
	assert_int_equal(boot(&r, MOMENT_WALL, WALL + 14 * S), 524 * S);
	assert_int_equal(boot(&r, MOMENT_WALL, UINT64_MAX), UINT64_MAX - (WALL - 6 * S) + 504 * S);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_clock_has_its_forms),
		cmocka_unit_test(what_is_no_moment_is_refused),
		cmocka_unit_test(a_bare_number_is_refused_with_what_it_could_be),
		cmocka_unit_test(the_wall_clock_is_followed_through_its_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
