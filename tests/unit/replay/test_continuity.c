/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of several captures together: whether each continues the one that it names, and which are missing. */
#include <stdio.h>

#include "tests/unit/sample.h"

#include "replay/verify/continuity.h"

#define T(n) (SAMPLE_BOOT + (n)*SAMPLE_SECOND)

/* A capture that was judged, of one epoch, as far as joints inspect it. */
struct judged {
	struct evidence e;
	struct epoch epoch;
};

static void judge(struct judged *j, uint8_t id, uint8_t hash, uint8_t previous, uint64_t begin_ns, uint64_t end_ns)
{
	memset(j, 0, sizeof(*j));
	j->e.readable = true;
	j->e.verification.nepochs = 1;
	j->e.verification.end_ns = end_ns;
	j->e.reader.epochs = &j->epoch;
	j->e.reader.header.start_boot_ns = begin_ns;
	memset(j->e.reader.header.capture_id, id, CAPTURE_ID_BYTES);
	memset(j->epoch.hash, hash, HASH_BYTES);
	memset(j->e.reader.header.previous, previous, HASH_BYTES);
	j->e.reader.header.incompatible = previous ? FEATURE_CONTINUES : 0;
}

static char said[8192];

/* The same as a capture of a series, with END. */
static void judge_numbered(struct judged *j, uint8_t number, uint8_t count)
{
	judge(j, number, (uint8_t)(10 * number), number > 1 ? (uint8_t)(10 * (number - 1)) : 0, T(number),
	      T(number + 1));
	memset(j->e.reader.header.series, 7, SERIES_ID_BYTES);
	j->e.reader.header.series_number = number;
	memset(j->e.reader.header.previous_end, number > 1 ? 100 + number - 1 : 0, HASH_BYTES);
	memset(j->e.reader.end.hash, 100 + number, HASH_BYTES);
	j->e.reader.tail = TAIL_END;
	j->e.reader.end.reason = number < count ? REASON_rotated : REASON_duration;
}

static struct joints_options how; /* beside what is passed on */
static size_t nmissing;

/* What is said of n captures, in said[] and nmissing; returns how many joints do not fit. */
static size_t joined(const struct judged *all, size_t n, bool json, bool brief)
{
	struct joints_result result;
	struct joints j = {0};
	struct text t = {0};
	char path[16];

	for (size_t i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%c.cap", (char)('a' + i));
		assert_int_equal(joints_add(&j, path, &all[i].e, NULL), 0);
	}
	how.json = json;
	how.brief = brief;
	result = joints_text(&t, &j, &how);
	assert_false(t.failed);
	snprintf(said, sizeof(said), "%s", text_string(&t));
	text_clear(&t);
	joints_clear(&j);
	nmissing = result.nmissing;
	return result.nwrong;
}

static void captures_that_follow_each_other_fit(void **state)
{
	struct judged all[2];

	(void)state;
	judge(&all[0], 1, 10, 0, T(0), T(1));
	judge(&all[1], 2, 20, 10, T(1), T(2));
	assert_int_equal(joined(all, 2, false, false), 0);
	assert_string_equal(said, "JOINT  b.cap continues a.cap: hash and time fit\n");
	assert_int_equal(joined(all, 2, true, false), 0);
	assert_string_equal(said, "{\"joint\":\"fits\",\"from\":\"a.cap\",\"to\":\"b.cap\"}\n");
	assert_int_equal(joined(all, 2, false, true), 0);
	assert_string_equal(said, "");
}

static void a_gap_in_time_does_not_fit(void **state)
{
	struct judged all[2];

	(void)state;
	judge(&all[0], 1, 10, 0, T(0), T(1));
	judge(&all[1], 2, 20, 10, T(1) + 1, T(2));
	assert_int_equal(joined(all, 2, false, true), 1);
	assert_non_null(strstr(said, "b.cap does not continue a.cap: it names the seal, but does not begin"));
	assert_int_equal(joined(all, 2, true, false), 1);
	assert_non_null(strstr(said, "\"joint\":\"does not fit\""));
}

static void another_identity_does_not_fit(void **state)
{
	struct judged all[2];

	(void)state;
	judge(&all[0], 1, 10, 0, T(0), T(1));
	judge(&all[1], 2, 20, 10, T(1), T(2));
	all[1].e.reader.header.identity[5] = 1;
	assert_int_equal(joined(all, 2, false, false), 1);
	assert_non_null(strstr(said, "another identity"));
}

static void two_that_continue_the_same_one_do_not_fit(void **state)
{
	struct judged all[3];

	(void)state;
	judge(&all[0], 1, 10, 0, T(0), T(1));
	judge(&all[1], 2, 20, 10, T(1), T(2));
	judge(&all[2], 3, 30, 10, T(1), T(2));
	assert_int_equal(joined(all, 3, false, false), 2);
	all[2].e.reader.header.capture_id[0] = 2;
	memset(all[2].e.reader.header.capture_id, 2, CAPTURE_ID_BYTES);
	assert_int_equal(joined(all, 3, false, false), 0); /* the same one, named twice */
}

static void what_hangs_in_the_air_is_reported(void **state)
{
	struct judged all[2];

	(void)state;
	judge(&all[0], 1, 10, 0, T(0), T(1));
	all[0].e.reader.tail = TAIL_END;
	all[0].e.reader.end.reason = REASON_rotated;
	judge(&all[1], 3, 30, 20, T(2), T(3));
	assert_int_equal(joined(all, 2, false, false), 0);
	assert_string_equal(said, "JOINT  a.cap is continued by a capture that is not among these\n"
				  "JOINT  b.cap continues a capture that is not among these\n");
	all[1].e.verification.verdict = VERDICT_FORGED;
	assert_int_equal(joined(all, 2, false, false), 0);
	assert_string_equal(said, "JOINT  a.cap is continued by a capture that is not among these\n");
}

#define SERIES_WORDS "of series 07070707070707070707070707070707"

static void of_a_series_it_is_named_which_captures_are_missing(void **state)
{
	struct judged all[6], some[4];

	(void)state;
	for (uint8_t i = 0; i < 6; i++)
		judge_numbered(&all[i], i + 1, 6);
	assert_int_equal(joined(all, 6, false, true) + nmissing, 0);
	how.open = true;
	assert_int_equal(joined(all, 6, false, true) + nmissing, 0);
	assert_string_equal(said, "");
	/* In any order: a is 4, b is 2, c is 1. */
	some[0] = all[3], some[1] = all[1], some[2] = all[0];
	assert_int_equal(joined(some, 3, false, true), 0);
	assert_int_equal(nmissing, 2);
	assert_string_equal(said, "JOINT  capture 3 " SERIES_WORDS " is missing between b.cap (2) and a.cap (4)\n"
				  "JOINT  capture 5 and any later one " SERIES_WORDS " is missing after a.cap (4)\n");
	/* The first, several, and the last is there. */
	some[0] = all[1], some[1] = all[5];
	assert_int_equal(joined(some, 2, false, true), 0);
	assert_int_equal(nmissing, 2);
	assert_string_equal(said,
			    "JOINT  capture 1 " SERIES_WORDS " is missing before a.cap (2)\n"
			    "JOINT  captures 3 to 5 " SERIES_WORDS " are missing between a.cap (2) and b.cap (6)\n");
	assert_int_equal(joined(some, 2, true, true), 0);
	assert_non_null(strstr(said, "\"first\":3,\"last\":5,\"from\":\"a.cap\",\"to\":\"b.cap\"}"));
	/* A joint is missing all the same where nobody is to be reported. */
	how.open = false;
	assert_int_equal(joined(some, 2, false, true), 0);
	assert_int_equal(nmissing, 2);
	assert_string_equal(said, "");
}

static void what_is_rightly_not_here_is_not_missing(void **state)
{
	uint8_t hash[HASH_BYTES];
	struct judged all[2];

	(void)state;
	judge_numbered(&all[0], 3, 4);
	judge_numbered(&all[1], 4, 4);
	how = (struct joints_options){.open = true, .after = hash};
	memset(hash, 20, sizeof(hash)); /* the last seal of 2 */
	assert_int_equal(joined(all, 2, false, true) + nmissing, 0);
	memset(hash, 102, sizeof(hash)); /* its END */
	assert_int_equal(joined(all, 2, false, true) + nmissing, 0);
	hash[31] ^= 1;
	assert_int_equal(joined(all, 2, false, true), 0);
	assert_int_equal(nmissing, 1);
	/* Not between two. */
	judge_numbered(&all[0], 1, 4);
	memset(hash, 30, sizeof(hash));
	assert_int_equal(joined(all, 2, false, true), 0);
	assert_int_equal(nmissing, 1);
	assert_non_null(strstr(said, "captures 2 to 3 "));
	how = (struct joints_options){.after = NULL};
}

static void what_a_capture_of_a_series_continues_fits_by_all_that_it_names(void **state)
{
	struct judged all[3], changed[3];

	(void)state;
	for (uint8_t i = 0; i < 3; i++)
		judge_numbered(&all[i], i + 1, 3);
	memcpy(changed, all, sizeof(all));
	changed[0].e.reader.end.hash[0] ^= 1; /* another END, by a thief of its key */
	assert_int_equal(joined(changed, 3, false, true), 1);
	assert_non_null(strstr(said, "b.cap does not continue a.cap: it names another end record"));
	changed[0].e.reader.tail = TAIL_CUT; /* without END there is none to compare: the verdict is UNSEALED */
	assert_int_equal(joined(changed, 3, false, true) + nmissing, 0);
	memcpy(changed, all, sizeof(all));
	memset(changed[1].epoch.hash, 77, HASH_BYTES); /* cut before its last seal */
	changed[1].e.reader.epochs = &changed[1].epoch;
	assert_int_equal(joined(changed, 3, false, true), 1);
	assert_non_null(strstr(said, "c.cap does not continue b.cap: the seal that it names is not that one's last"));
	memcpy(changed, all, sizeof(all));
	changed[2].e.reader.header.series_number = 9;
	assert_int_equal(joined(changed, 3, false, true), 1);
	assert_non_null(strstr(said, "c.cap does not continue b.cap: it is not the next capture"));
	memcpy(changed, all, sizeof(all));
	changed[2].e.reader.header.series[3] ^= 1;
	assert_int_equal(joined(changed, 3, false, true), 1);
	memcpy(changed, all, sizeof(all));
	changed[2].e.reader.header.series_number = 2; /* two of one number */
	memset(changed[2].e.reader.header.previous, 10, HASH_BYTES);
	assert_int_equal(joined(changed, 3, false, true), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(captures_that_follow_each_other_fit),
		cmocka_unit_test(a_gap_in_time_does_not_fit),
		cmocka_unit_test(another_identity_does_not_fit),
		cmocka_unit_test(two_that_continue_the_same_one_do_not_fit),
		cmocka_unit_test(what_hangs_in_the_air_is_reported),
		cmocka_unit_test(of_a_series_it_is_named_which_captures_are_missing),
		cmocka_unit_test(what_is_rightly_not_here_is_not_missing),
		cmocka_unit_test(what_a_capture_of_a_series_continues_fits_by_all_that_it_names),
	};

	return sodium_init() < 0 ? 1 : cmocka_run_group_tests_name("continuity", tests, NULL, NULL);
}
