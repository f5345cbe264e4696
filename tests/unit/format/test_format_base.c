/* SPDX-License-Identifier: Apache-2.0 */
/* What all tools show and read: units, text, JSON, UTF-8. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/base/array.h"
#include "format/base/cpu_list.h"
#include "format/base/json.h"
#include "format/base/units.h"
#include "format/base/utf8.h"

#define S 1000000000ull

struct parsed {
	const char *text;
	uint64_t value;
};

static void durations_are_read_with_their_unit(void **state)
{
	static const struct parsed good[] = {
		{"0s", 0},
		{"90s", 90 * S},
		{"5m", 300 * S},
		{"1h", 3600 * S},
		{"250ms", 250000000},
		{"1d", 86400 * S},
		{"7us", 7000},
		{"9ns", 9},
		{"007s", 7 * S},
		{"18446744073s", 18446744073 * S},
		{"213503d", 213503 * 86400ull * S},
		{"1.5s", S + S / 2},
		{"1 s", S},
		{"13.1 ms", 13100000},
		{"17.2 µs", 17200},
		{"17.2 us", 17200},
		{"2.0 min", 120 * S},
		{"1.000000001s", S + 1},
		{"0.25h", 900 * S},
		{"1.500000000000000000s", S + S / 2},
	};
	struct fault why;
	uint64_t ns;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(duration_parse(good[i].text, &ns, &why), 0);
		assert_true(ns == good[i].value);
	}
}

static void what_is_no_duration_is_refused_and_changes_nothing(void **state)
{
	static const char *const bad[] = {"5x",
					  "",
					  "5",
					  "-1s",
					  "+1s",
					  " 1s",
					  "1  s",
					  "1. s",
					  "1.s",
					  ".5s",
					  "1.5.5s",
					  "0.5ns",
					  "1.0000000001s",
					  "1.0000000000000000000s",
					  "18446744073.9s",
					  "1s ",
					  "s",
					  "0x5s",
					  "1S",
					  "1h30m",
					  "٣s",
					  "1e3s",
					  "18446744074s",
					  "213504d",
					  "99999999999999999999s",
					  "18446744073709551616ns"};
	struct fault why;
	uint64_t ns = 42;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		memset(&why, 0, sizeof(why));
		assert_int_equal(duration_parse(bad[i], &ns, &why), ERR_INPUT);
		assert_true(ns == 42);
		assert_int_equal(why.code, ERR_INPUT);
		assert_non_null(strstr(why.text, bad[i]));
	}
}

static void where_it_is_asked_for_a_bare_number_is_seconds(void **state)
{
	struct fault why;
	uint64_t ns = 42;

	(void)state;
	assert_int_equal(seconds_parse("5", &ns, &why), 0);
	assert_true(ns == 5 * S);
	assert_int_equal(seconds_parse("5ms", &ns, &why), 0);
	assert_true(ns == 5000000);
	assert_int_equal(seconds_parse("", &ns, &why), ERR_INPUT);
	assert_int_equal(seconds_parse("1.5", &ns, &why), ERR_INPUT);
	assert_int_equal(seconds_parse("-5", &ns, &why), ERR_INPUT);
	assert_int_equal(seconds_parse("18446744074", &ns, &why), ERR_INPUT);
	assert_true(ns == 5000000);
}

/* What duration_text() shows is read back, to within its rounding. */
static void durations_are_read_as_they_are_shown(void **state)
{
	struct fault why;
	uint64_t ns, again;
	char text[64];

	(void)state;
	for (ns = 1; ns < UINT64_MAX / 7; ns = ns * 7 + 3) {
		assert_int_equal(duration_parse(duration_text(text, ns), &again, &why), 0);
		assert_true((again > ns ? again - ns : ns - again) <= ns / 190);
	}
}

static void sizes_are_powers_of_1024(void **state)
{
	static const struct parsed good[] = {
		{"4096", 4096},
		{"0", 0},
		{"64K", 65536},
		{"64M", 64ull << 20},
		{"1G", 1ull << 30},
		{"2T", 2ull << 40},
		{"3MiB", 3ull << 20},
		{"1.5M", 3ull << 19},
		{"64.0 MiB", 64ull << 20},
		{"512 B", 512},
		{"18446744073709551615", UINT64_MAX},
	};
	static const char *const bad[] = {"",    "M",    "5x", "-1",   "1.M",       "64MB",
					  "64m", "1  M", "5s", "0.5B", "16777216T", "18446744073709551616"};
	struct fault why;
	uint64_t bytes;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(size_parse(good[i].text, &bytes, &why), 0);
		assert_true(bytes == good[i].value);
	}
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(size_parse(bad[i], &bytes, &why), ERR_INPUT);
}

static void sets_of_cpus_are_listed_as_the_kernel_does(void **state)
{
	static const struct {
		uint64_t words[2];
		const char *list;
		uint64_t count;
	} sets[] = {
		{{0, 0}, "", 0},
		{{1, 0}, "0", 1},
		{{0xf, 0}, "0-3", 4},
		{{0x10d, 0}, "0,2-3,8", 4},
		{{1ULL << 63, 1}, "63-64", 2},
		{{UINT64_MAX, UINT64_MAX}, "0-127", 128},
		{{0, 1ULL << 63}, "127", 1},
	};
	char list[CPU_LIST_BYTES(2)];

	(void)state;
	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		size_t n = cpu_list_write(sets[i].words, 2, list, sizeof(list));

		assert_int_equal(n, strlen(sets[i].list));
		assert_memory_equal(list, sets[i].list, n);
		assert_true(cpu_list_count(list, n) == sets[i].count);
		for (uint64_t cpu = 0; cpu < 140; cpu++)
			assert_int_equal(cpu_list_has(list, n, cpu),
					 cpu < 128 && sets[i].words[cpu / 64] >> cpu % 64 & 1);
	}
}

static void the_longest_list_of_cpus_has_room(void **state)
{
	uint64_t words[16];
	char list[CPU_LIST_BYTES(16)];
	size_t n;

	(void)state;
	memset(words, 0xaa, sizeof(words));
	n = cpu_list_write(words, 16, list, sizeof(list));
	assert_true(n < sizeof(list));
	assert_memory_equal(list + n - 5, ",1023", 5);
	assert_true(cpu_list_count(list, n) == 512);
	/* Where there is less, it ends with a whole number. */
	n = cpu_list_write(words, 16, list, 6);
	assert_int_equal(n, 5);
	assert_memory_equal(list, "1,3,5", 5);
}

static void of_what_is_no_list_of_cpus_the_beginning_counts(void **state)
{
	static const struct {
		const char *list;
		uint64_t count;
	} lists[] = {{"x", 0},
		     {"1,x", 1},
		     {"1-", 0},
		     {"3-1,5", 0},
		     {"1;2", 1},
		     {" 1", 0},
		     {",", 0},
		     {"1,,2", 1},
		     {"0-3 ", 4},
		     {"-1", 0},
		     {"99999999999999999999", 0}};

	(void)state;
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		assert_int_equal(cpu_list_count(lists[i].list, strlen(lists[i].list)), lists[i].count);
	assert_false(cpu_list_has("3-1,5", 5, 5));
	assert_true(cpu_list_has("0-4294967295", 12, 4294967295u));
}

static void numbers_keep_to_their_range(void **state)
{
	struct fault why;
	uint64_t n = 0;

	(void)state;
	assert_int_equal(number_parse("1", 1, 10, &n, &why), 0);
	assert_int_equal(n, 1);
	assert_int_equal(number_parse("10", 1, 10, &n, &why), 0);
	assert_int_equal(n, 10);
	assert_int_equal(number_parse("0", 1, 10, &n, &why), ERR_INPUT);
	assert_int_equal(number_parse("11", 1, 10, &n, &why), ERR_INPUT);
	assert_non_null(strstr(why.text, "between 1 and 10"));
	assert_int_equal(number_parse("18446744073709551616", 0, UINT64_MAX, &n, &why), ERR_INPUT);
	assert_int_equal(number_parse("", 0, 10, &n, &why), ERR_INPUT);
	assert_int_equal(number_parse("3x", 0, 10, &n, &why), ERR_INPUT);
	assert_int_equal(number_parse("0x3", 0, 10, &n, &why), ERR_INPUT);
	assert_int_equal(n, 10);
}

static void times_and_sizes_are_shown_in_the_unit_that_fits(void **state)
{
	static const struct {
		uint64_t value;
		const char *ns, *bytes;
	} shown[] = {
		{0, "0 ns", "0 B"},
		{999, "999 ns", "999 B"},
		{1000, "1.00 µs", "1000 B"},
		{1024, "1.02 µs", "1.00 KiB"},
		{9994, "9.99 µs", "9.76 KiB"},
		{9995, "10.0 µs", "9.76 KiB"},
		{99949, "99.9 µs", "97.6 KiB"},
		{99950, "100 µs", "97.6 KiB"},
		{999499, "999 µs", "976 KiB"},
		{999500, "1.00 ms", "976 KiB"},
		{1048575, "1.05 ms", "1.00 MiB"},
		{13100000, "13.1 ms", "12.5 MiB"},
		{32358400, "32.4 ms", "30.9 MiB"},
		{67108864, "67.1 ms", "64.0 MiB"},
		{999499999, "999 ms", "953 MiB"},
		{999500000, "1.00 s", "953 MiB"},
		{59999999999, "60.0 s", "55.9 GiB"},
		{999 * S, "999 s", "930 GiB"},
		{999 * S + S / 2, "16.7 min", "931 GiB"},
		{3600 * S - 1, "1.00 h", "3.27 TiB"},
		{90 * 60 * S, "1.50 h", "4.91 TiB"},
		{86400 * S, "1.00 d", "78.6 TiB"},
		{UINT64_MAX, "213504 d", "16.0 EiB"},
	};
	char buf[64];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
		assert_string_equal(duration_text(buf, shown[i].value), shown[i].ns);
		assert_string_equal(size_text(buf, shown[i].value), shown[i].bytes);
	}
	assert_string_equal(duration_word(buf, 17234), "17.2µs");
}

static void wall_time_is_shown_in_utc_to_the_nanosecond(void **state)
{
	char buf[64];

	(void)state;
	assert_string_equal(wall_text(buf, 0), "1970-01-01 00:00:00.000000000Z");
	assert_string_equal(wall_text(buf, 1795255106123456789ull), "2026-11-21 09:58:26.123456789Z");
	assert_string_equal(wall_text(buf, UINT64_MAX), "2554-07-21 23:34:33.709551615Z");
}

static void hex_is_lower_case(void **state)
{
	const uint8_t bytes[] = {0x00, 0x0f, 0xa9, 0xff};
	char buf[9];

	(void)state;
	assert_string_equal(hex_text(buf, bytes, sizeof(bytes)), "000fa9ff");
	assert_string_equal(hex_text(buf, bytes, 0), "");
}

static void percentages_are_rounded_to_the_nearest(void **state)
{
	struct text t = {0};

	(void)state;
	text_add_percent(&t, 1, 3);
	text_add(&t, " ");
	text_add_percent(&t, 1, 0);
	text_add(&t, " ");
	text_add_percent(&t, UINT64_MAX, UINT64_MAX);
	assert_string_equal(text_string(&t), "33.3 0.0 100.0");
	text_clear(&t);
}

static void what_follows_a_number_stays_unread(void **state)
{
	static const struct {
		const char *text;
		bool blank;
		enum amount_result result;
		enum amount_kind kind;
		uint64_t value;
		size_t length;
	} cases[] = {
		{"5)", false, AMOUNT_FINE, AMOUNT_NUMBER, 5, 1},
		{"5 ms)", false, AMOUNT_FINE, AMOUNT_NUMBER, 5, 1},
		{"5 ms)", true, AMOUNT_FINE, AMOUNT_DURATION, 5000000, 4},
		{"1.5µs and", false, AMOUNT_FINE, AMOUNT_DURATION, 1500, 6},
		{"1.5μs", false, AMOUNT_FINE, AMOUNT_DURATION, 1500, 6},
		{"64K,", false, AMOUNT_FINE, AMOUNT_SIZE, 65536, 3},
		{"x", false, AMOUNT_NO_NUMBER, AMOUNT_NUMBER, 0, 0},
		{"1.", false, AMOUNT_FRACTION, AMOUNT_NUMBER, 1, 1},
		{"1.5", false, AMOUNT_NO_UNIT, AMOUNT_NUMBER, 1, 3},
		{"7parsec", false, AMOUNT_WRONG_UNIT, AMOUNT_NUMBER, 7, 7},
		{"1.5ns", false, AMOUNT_NOT_WHOLE, AMOUNT_DURATION, 1, 5},
		{"18446744073709551616", false, AMOUNT_TOO_LARGE, AMOUNT_NUMBER, 0, 20},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct amount a;

		assert_int_equal(amount_read(cases[i].text, cases[i].blank, &a), cases[i].result);
		assert_int_equal(a.kind, cases[i].kind);
		assert_int_equal(a.length, cases[i].length);
		if (cases[i].result != AMOUNT_TOO_LARGE)
			assert_int_equal(a.value, cases[i].value);
	}
}

static void json_is_written_in_order_with_hostile_text_made_harmless(void **state)
{
	struct text t = {0};
	struct json j = {.out = &t};

	(void)state;
	json_open(&j, NULL, '{');
	json_u64(&j, "n", UINT64_MAX);
	json_s64(&j, "s", -1);
	json_text(&j, "t", "a\"\\\n\xff</script>", 14);
	json_open(&j, "empty", '[');
	json_close(&j, ']');
	json_open(&j, "list", '[');
	json_hex(&j, NULL, 0x7f00);
	json_bool(&j, NULL, true);
	json_null(&j, NULL);
	json_close(&j, ']');
	json_close(&j, '}');
	assert_non_null(strstr(text_string(&t), "\"n\": 18446744073709551615,\n \"s\": -1,\n"));
	assert_non_null(strstr(text_string(&t), "\"empty\": [],\n"));
	assert_non_null(strstr(text_string(&t), "\"list\": [\n  \"0x7f00\",\n  true,\n  null\n ]\n}\n"));
	assert_non_null(strstr(text_string(&t), "a\\\"\\\\"));
	assert_null(memchr(text_string(&t), 0xff, t.len));
	text_clear(&t);
}

static void json_on_one_line_has_no_blanks(void **state)
{
	struct text t = {0};
	struct json j = {.out = &t, .line = true};

	(void)state;
	json_open(&j, NULL, '{');
	json_u64(&j, "n", 1);
	json_open(&j, "list", '[');
	json_string(&j, NULL, "a b");
	json_string(&j, NULL, "c");
	json_close(&j, ']');
	json_close(&j, '}');
	assert_string_equal(text_string(&t), "{\"n\":1,\"list\":[\"a b\",\"c\"]}\n");
	text_clear(&t);
}

static void utf8_is_reported_from_what_only_looks_like_it(void **state)
{
	static const struct {
		const char *text;
		bool valid;
	} cases[] = {
		{"", true},
		{"plain", true},
		{"\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", true},
		{"\x80", false},
		{"\xc1\x81", false},         /* overlong */
		{"\xe0\x9f\xbf", false},     /* overlong */
		{"\xed\xa0\x80", false},     /* a surrogate */
		{"\xf0\x8f\xbf\xbf", false}, /* overlong */
		{"\xf4\x90\x80\x80", false}, /* beyond U+10FFFF */
		{"\xf5\x80\x80\x80", false},
		{"\xe2\x82", false}, /* cut */
		{"\xe2\x28\xa1", false},
		{"\xff", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (utf8_valid(cases[i].text, strlen(cases[i].text)) != cases[i].valid)
			fail_msg("case %zu", i);
}

static void utf8_is_written_as_it_is_read(void **state)
{
	char out[UTF8_BYTES];
	uint32_t again;

	(void)state;
	for (uint32_t cp = 0; cp < 0x110010; cp++) {
		size_t n = utf8_encode(out, cp);

		assert_int_equal(n == 0, (cp >= 0xd800 && cp < 0xe000) || cp > 0x10ffff);
		if (n == 0)
			continue;
		assert_int_equal(utf8_decode(out, n, &again), n);
		assert_int_equal(again, cp);
		if (n > 1)
			assert_int_equal(utf8_decode(out, n - 1, &again), 0);
	}
}

static void arrays_grow_by_doubling_and_what_is_new_is_zero(void **state)
{
	uint32_t *array = NULL;
	size_t room = 0, moves = 0;

	(void)state;
	for (uint32_t i = 0; i < 100000; i++) {
		size_t before = room;
		uint32_t *more = array_grow(array, &room, i + 1, sizeof(*more));

		assert_non_null(more);
		array = more;
		moves += room != before;
		assert_true(room > i && (room == before || room >= 2 * before));
		for (size_t k = before; k < room; k++)
			assert_int_equal(array[k], 0);
		array[i] = i + 1;
	}
	assert_in_range(moves, 1, 17);
	for (uint32_t i = 0; i < 100000; i++)
		assert_int_equal(array[i], i + 1);
	array = array_grow(array, &room, 3000000, sizeof(*array));
	assert_non_null(array);
	assert_true(room >= 3000000 && array[2999999] == 0);
	free(array);
}

static void an_array_grows_for_the_element_that_is_asked_for(void **state)
{
	struct pair {
		uint64_t a, b;
	} *pairs = NULL, *pair;
	size_t room = 0;

	(void)state;
	for (uint64_t i = 0; i < 1000; i++) {
		pair = array_at(&pairs, &room, i, sizeof(*pair));
		assert_ptr_equal(pair, &pairs[i]);
		assert_true(room > i && pair->a == 0 && pair->b == 0);
		*pair = (struct pair){i, ~i};
	}
	for (uint64_t i = 0; i < 1000; i++)
		assert_true(pairs[i].a == i && pairs[i].b == ~i);
#ifndef __SANITIZE_ADDRESS__ /* which ends the program then */
	pair = pairs;
	assert_null(array_at(&pairs, &room, SIZE_MAX / sizeof(*pair), sizeof(*pair)));
	assert_ptr_equal(pairs, pair);
#endif
	assert_int_equal(pairs[999].a, 999);
	free(pairs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(durations_are_read_with_their_unit),
		cmocka_unit_test(what_is_no_duration_is_refused_and_changes_nothing),
		cmocka_unit_test(where_it_is_asked_for_a_bare_number_is_seconds),
		cmocka_unit_test(durations_are_read_as_they_are_shown),
		cmocka_unit_test(sizes_are_powers_of_1024),
		cmocka_unit_test(numbers_keep_to_their_range),
		cmocka_unit_test(sets_of_cpus_are_listed_as_the_kernel_does),
		cmocka_unit_test(the_longest_list_of_cpus_has_room),
		cmocka_unit_test(of_what_is_no_list_of_cpus_the_beginning_counts),
		cmocka_unit_test(times_and_sizes_are_shown_in_the_unit_that_fits),
		cmocka_unit_test(wall_time_is_shown_in_utc_to_the_nanosecond),
		cmocka_unit_test(hex_is_lower_case),
		cmocka_unit_test(percentages_are_rounded_to_the_nearest),
		cmocka_unit_test(what_follows_a_number_stays_unread),
		cmocka_unit_test(json_is_written_in_order_with_hostile_text_made_harmless),
		cmocka_unit_test(json_on_one_line_has_no_blanks),
		cmocka_unit_test(utf8_is_reported_from_what_only_looks_like_it),
		cmocka_unit_test(utf8_is_written_as_it_is_read),
		cmocka_unit_test(arrays_grow_by_doubling_and_what_is_new_is_zero),
		cmocka_unit_test(an_array_grows_for_the_element_that_is_asked_for),
	};

	return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
