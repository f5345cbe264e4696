/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a capture may be called complete, and how that is said. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "keys/completeness.h"

static const struct schema schema = {
	.counters =
		{
			{.id = COUNTER_fired, .role = ROLE_FIRED, .name = "fired"},
			{.id = COUNTER_recorded, .role = ROLE_RECORDED, .name = "recorded"},
			{.id = COUNTER_ring_full, .role = ROLE_LOST, .name = "ring_full"},
			{.id = COUNTER_in_flight, .role = ROLE_LOST, .name = "in_flight"},
			{.id = COUNTER_sampled_out, .role = ROLE_LOST, .name = "sampled_out"},
			{.id = 63, .role = ROLE_LOST, .name = "of_a_later_version"},
			{.id = COUNTER_no_stack, .role = ROLE_NOTED, .name = "no_stack"},
		},
	.ncounters = 7};

static void each_counter_has_its_meaning(void **state)
{
	(void)state;
	assert_int_equal(absence_of(&schema, COUNTER_fired), ABSENCE_NONE);
	assert_int_equal(absence_of(&schema, COUNTER_recorded), ABSENCE_NONE);
	assert_int_equal(absence_of(&schema, COUNTER_no_stack), ABSENCE_NONE);
	assert_int_equal(absence_of(&schema, 99), ABSENCE_NONE);
	assert_int_equal(absence_of(&schema, COUNTER_ring_full), ABSENCE_LOST);
	assert_int_equal(absence_of(&schema, COUNTER_in_flight), ABSENCE_IN_FLIGHT);
	assert_int_equal(absence_of_loss(COUNTER_not_attached), ABSENCE_NOT_ATTACHED);
	assert_int_equal(absence_of_loss(COUNTER_no_entry), ABSENCE_IN_FLIGHT);
	assert_int_equal(absence_of_loss(COUNTER_thread_exit), ABSENCE_NO_RETURN);
	assert_int_equal(absence_of_loss(COUNTER_no_return), ABSENCE_NO_RETURN);
	assert_int_equal(absence_of(&schema, COUNTER_sampled_out), ABSENCE_LEFT_OUT);
}

static void a_loss_of_a_later_version_is_a_loss(void **state)
{
	(void)state;
	assert_int_equal(absence_of(&schema, 63), ABSENCE_LOST);
}

static void a_capture_that_cannot_be_read_is_not_complete(void **state)
{
	struct evidence e = {.readable = false};
	struct completeness c;

	(void)state;
	completeness_of(&c, &e);
	assert_false(completeness_is_full(&c));
	assert_int_equal(c.happened, 0);
}

static void only_what_lacks_nothing_is_complete(void **state)
{
	const struct completeness full = {.happened = 10, .ended = true, .open = 3};
	struct completeness c;

	(void)state;
	assert_true(completeness_is_full(&full));
	c = full;
	c.lost = 1;
	assert_false(completeness_is_full(&c));
	c = full;
	c.left_out = 1;
	assert_false(completeness_is_full(&c));
	c = full;
	c.nwithheld = 1;
	assert_false(completeness_is_full(&c));
	c = full;
	c.ended = false;
	assert_false(completeness_is_full(&c));
}

static void assert_words(uint64_t happened, uint64_t lost, uint64_t left_out, const char *want)
{
	const struct completeness c = {.happened = happened, .lost = lost, .left_out = left_out};
	char buf[COMPLETENESS_WORDS];

	assert_string_equal(completeness_words(buf, &c), want);
}

static void what_is_missing_is_said_in_numbers(void **state)
{
	(void)state;
	assert_words(100, 0, 0, "");
	assert_words(2675, 1922, 0, "1922 of 2675 events (71.9 %) were lost");
	assert_words(10, 1, 0, "1 of 10 events (10.0 %) was lost");
	assert_words(10, 0, 1, "1 of 10 events (10.0 %) was left out on purpose");
	assert_words(20, 5, 3, "5 of 20 events (25.0 %) were lost, 3 (15.0 %) were left out on purpose");
	assert_words(10, 10, 0, "10 of 10 events (100.0 %) were lost");
}

static void what_had_no_probes_is_said_beside_it(void **state)
{
	struct completeness c = {.happened = 20, .ended = true, .not_attached = 1};
	const struct loss_limit none = {0}, some = {.most = 5};
	char buf[COMPLETENESS_WORDS];

	(void)state;
	assert_string_equal(completeness_words(buf, &c), "1 library had no probes, or not all, for a while");
	assert_false(completeness_is_full(&c));
	assert_false(completeness_within(&c, &none));
	c.lost = 3;
	c.not_attached = 2;
	assert_string_equal(completeness_words(buf, &c),
			    "3 of 20 events (15.0 %) were lost, 2 libraries had no probes, "
			    "or not all, for a while");
	assert_int_equal(completeness_absent(&c), 5);
	assert_true(completeness_within(&c, &some));
}

static void a_share_is_never_rounded_to_none_or_all(void **state)
{
	(void)state;
	assert_words(1000000, 2, 0, "2 of 1000000 events (less than 0.1 %) were lost");
	assert_words(1000000, 999999, 0, "999999 of 1000000 events (more than 99.9 %) were lost");
}

static void the_longest_sentence_fits(void **state)
{
	const struct completeness c = {.happened = UINT64_MAX,
				       .lost = UINT64_MAX - 1,
				       .left_out = UINT64_MAX - 2,
				       .not_attached = UINT64_MAX - 3};
	char buf[COMPLETENESS_WORDS];

	(void)state;
	assert_non_null(strstr(completeness_words(buf, &c), "%) were left out on purpose, "));
	assert_non_null(strstr(buf, " libraries had no probes, or not all, for a while"));
}

/* Words for a capture of two epochs of 5 rows each, of which 3 are withheld. */
static void assert_unread(enum tail tail, uint64_t nread, uint64_t offset, const char *want)
{
	struct chunk chunks[] = {{.nrows = 2}, {.nrows = 3, .withheld = true}, {.nrows = 5}};
	struct epoch epochs[] = {{.chunks = chunks, .nchunks = 2}, {.chunks = chunks + 2, .nchunks = 1}};
	const struct reader r = {.epochs = epochs, .nepochs = 2, .tail = tail};
	struct fault why;

	fault_set(&why, ERR_FORMAT, offset, "a reason");
	unread_words(&why, &r, nread);
	assert_string_equal(why.text, want);
	assert_int_equal(why.code, ERR_FORMAT);
	assert_int_equal(why.offset, FAULT_NOWHERE);
}

static void what_could_not_be_read_is_said_in_numbers(void **state)
{
	(void)state;
	assert_unread(TAIL_END, 0, 47, "0 of 7 events were read: the capture is damaged at byte 47 (a reason)");
	assert_unread(TAIL_END, 6, FAULT_NOWHERE, "6 of 7 events were read: the capture is damaged (a reason)");
	assert_unread(TAIL_BROKEN, 3, 47, "3 of 7 events were read: the capture is damaged at byte 47 (a reason)");
	assert_unread(TAIL_BROKEN, 7, 47, "7 events were read: the capture is damaged at byte 47 (a reason)");
}

static void assert_limit(const char *text, uint64_t happened, uint64_t missing, bool within)
{
	const struct completeness c = {.happened = happened, .lost = missing - missing / 2, .left_out = missing / 2};
	struct loss_limit l;
	struct fault why;

	assert_int_equal(loss_limit_parse(&l, text, &why), 0);
	assert_int_equal(completeness_within(&c, &l), within);
}

static void a_limit_is_a_number_or_a_share(void **state)
{
	(void)state;
	assert_limit("0", 100, 0, true);
	assert_limit("0", 100, 1, false);
	assert_limit("7", 100, 7, true);
	assert_limit("7", 100, 8, false);
	assert_limit("18446744073709551615", 100, 100, true);
	assert_limit("1%", 1000, 10, true);
	assert_limit("1%", 1000, 11, false);
	assert_limit("0.0001%", 1000000, 1, true);
	assert_limit("0.0001%", 1000000, 2, false);
	assert_limit("100%", 7, 7, true);
	assert_limit("0%", 7, 0, true);
	assert_limit("50%", 0, 0, true);
}

static void what_is_no_limit_is_refused_and_leaves_the_old_one(void **state)
{
	static const char *const texts[] = {"",     "x",    "%",      "-1",       "1x",
					    "1.5",  "101%", "100.1%", "1.00001%", "1 %",
					    ".5%",  "1%%",  "+1",     "1e3",      "18446744073709551616",
					    "1.%x", "0x10"};
	struct fault why;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct loss_limit l = {.most = 42};

		assert_int_equal(loss_limit_parse(&l, texts[i], &why), ERR_INPUT);
		assert_int_equal(l.most, 42);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_counter_has_its_meaning),
		cmocka_unit_test(a_loss_of_a_later_version_is_a_loss),
		cmocka_unit_test(a_capture_that_cannot_be_read_is_not_complete),
		cmocka_unit_test(only_what_lacks_nothing_is_complete),
		cmocka_unit_test(what_is_missing_is_said_in_numbers),
		cmocka_unit_test(what_had_no_probes_is_said_beside_it),
		cmocka_unit_test(a_share_is_never_rounded_to_none_or_all),
		cmocka_unit_test(the_longest_sentence_fits),
		cmocka_unit_test(what_could_not_be_read_is_said_in_numbers),
		cmocka_unit_test(a_limit_is_a_number_or_a_share),
		cmocka_unit_test(what_is_no_limit_is_refused_and_leaves_the_old_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
