/* SPDX-License-Identifier: Apache-2.0 */
/* When paced events are due. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "replay/playback.h"

#define MS UINT64_C(1000000)

static void a_speed_is_a_number_and_an_x(void **state)
{
	static const struct {
		const char *text;
		uint64_t thousandths;
	} good[] = {{"1x", 1000},  {"10x", 10000},  {"0.5x", 500},
		    {"0.001x", 1}, {"2.25x", 2250}, {"1000000x", 1000000000}};
	static const char *const bad[] = {"",    "x",       "1",           "-1x",
					  "0x",  "0.0001x", "1.x",         ".5x",
					  "1xx", "1.2345x", "1000001x",    "99999999999999999999999x",
					  " 1x", "fast",    "1000000.001x"};
	uint64_t thousandths = 7;
	struct fault why;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(pace_parse_speed(&thousandths, good[i].text, &why), 0);
		assert_int_equal(thousandths, good[i].thousandths);
	}
	thousandths = 7;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (pace_parse_speed(&thousandths, bad[i], &why) != ERR_INPUT)
			fail_msg("'%s' is taken for a speed", bad[i]);
		assert_int_equal(thousandths, 7);
	}
}

static void events_are_as_far_apart_as_they_were(void **state)
{
	struct pace p = {.settings = {.thousandths = 1000}};

	(void)state;
	assert_int_equal(pace_due(&p, 500 * MS, 9000 * MS), 9000 * MS);
	assert_int_equal(pace_due(&p, 510 * MS, 9001 * MS), 9010 * MS);
	assert_int_equal(pace_due(&p, 510 * MS, 9001 * MS), 9010 * MS);
	/* Late is late: what follows does not move. */
	assert_int_equal(pace_due(&p, 520 * MS, 12000 * MS), 9020 * MS);
	/* Never back. */
	assert_int_equal(pace_due(&p, 100 * MS, 12000 * MS), 9020 * MS);
}

static void twice_as_fast_is_half_as_far(void **state)
{
	struct pace fast = {.settings = {.thousandths = 2000}}, slow = {.settings = {.thousandths = 300}};
	uint64_t due = 0;

	(void)state;
	pace_due(&fast, 0, 0);
	assert_int_equal(pace_due(&fast, 10 * MS, 0), 5 * MS);
	/* What does not come out even does not add up: a million steps of 1 ns at 0.3x. */
	for (uint64_t i = 0; i <= 1000000; i++)
		due = pace_due(&slow, i, 0);
	assert_int_equal(due, UINT64_C(1000000) * 1000 / 300);
}

static void a_gap_is_cut_and_the_rest_follows_it(void **state)
{
	struct pace p = {.settings = {.thousandths = 1000, .gap_ns = 50 * MS}};

	(void)state;
	assert_int_equal(pace_due(&p, 0, 0), 0);
	assert_int_equal(pace_due(&p, 50 * MS, 0), 50 * MS);
	assert_int_equal(pace_due(&p, 3600000 * MS, 0), 100 * MS);
	assert_int_equal(pace_due(&p, 3600010 * MS, 0), 110 * MS);
	assert_int_equal(pace_due(&p, UINT64_MAX, 0), 160 * MS);
}

static void nothing_overflows(void **state)
{
	struct pace p = {.settings = {.thousandths = 1}};

	(void)state;
	assert_int_equal(pace_due(&p, 0, UINT64_MAX - 5), UINT64_MAX - 5);
	assert_int_equal(pace_due(&p, UINT64_MAX, UINT64_MAX), UINT64_MAX);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t); /* speed: least times only, which a busy machine keeps */
	return (uint64_t)t.tv_sec * 1000 * MS + (uint64_t)t.tv_nsec;
}

static void waiting_shows_first_what_there_is_and_ends_when_nobody_reads(void **state)
{
	struct pace p = {.settings = {.thousandths = 1000}};
	uint64_t began = now_ns();
	struct out o;
	char got[8];
	int pair[2];

	(void)state;
	assert_int_equal(pipe(pair), 0);
	assert_int_equal(out_open(&o, pair[1], NULL), 0);
	pace_wait(&p, &o, 0);
	out_string(&o, "shown");
	pace_wait(&p, &o, 20 * MS);
	assert_true(now_ns() - began >= 20 * MS);
	assert_int_equal(read(pair[0], got, sizeof(got)), 5);
	assert_int_equal(pace_announce(&p, 30 * MS), 0);
	assert_true(pace_announce(&p, 10000000 * MS) > 9000000 * MS);
	close(pair[0]);
	pace_wait(&p, &o, 10000000 * MS);
	assert_int_equal(o.error, EPIPE);
	out_close(&o);
	close(pair[1]);
}

static void without_a_speed_nobody_waits(void **state)
{
	struct pace p = {0};
	struct out o = {0};

	(void)state;
	assert_int_equal(pace_announce(&p, 10000000 * MS), 0);
	pace_wait(&p, &o, 10000000 * MS);
	assert_false(p.begun);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_speed_is_a_number_and_an_x),
		cmocka_unit_test(events_are_as_far_apart_as_they_were),
		cmocka_unit_test(twice_as_fast_is_half_as_far),
		cmocka_unit_test(a_gap_is_cut_and_the_rest_follows_it),
		cmocka_unit_test(nothing_overflows),
		cmocka_unit_test(waiting_shows_first_what_there_is_and_ends_when_nobody_reads),
		cmocka_unit_test(without_a_speed_nobody_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
