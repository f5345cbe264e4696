/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions (--where): what they let through, and how they are refused. */
#include <stdio.h>

#include "replay/where/where.h"
#include "tests/unit/sample.h"
#include "tests/unit/event.h"

static struct schema schema;
static struct tasks tasks;

static void see(uint16_t kind, const uint64_t *v, size_t n, uint8_t text_field, const char *text)
{
	struct event ev = event_made(kind, schema_kind(&schema, kind), v[0]);

	memcpy(event_room(&ev)->v, v, n * sizeof(*v));
	if (text) {
		event_room(&ev)->text[text_field] = text;
		event_room(&ev)->v[text_field] = strlen(text);
	}
	assert_int_equal(tasks_feed(&tasks, &ev, NULL), 0);
}

static int set_up(void **state)
{
	(void)state;
	assert_int_equal(schema_build(&schema, sample_probes, SAMPLE_NPROBES, NULL), 0);
	see(KIND_process, (uint64_t[]){1, 100, 0}, 3, F_process_name, "train\x1b er");
	see(KIND_thread, (uint64_t[]){1, 101, 100}, 3, F_thread_name, "worker");
	see(KIND_thread, (uint64_t[]){1, 102, 100}, 3, F_thread_name, "other");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	tasks_clear(&tasks);
	schema_clear(&schema);
	return 0;
}

static struct event event_of(uint16_t kind)
{
	return event_made(kind, schema_kind(&schema, kind), 0);
}

static struct event alloc(void)
{
	struct event ev = event_of(KIND_alloc);

	ev.at_ns = event_room(&ev)->v[F_alloc_at] = 5000;
	event_room(&ev)->v[F_alloc_pid] = 100;
	event_room(&ev)->v[F_alloc_tid] = 101;
	event_room(&ev)->v[F_alloc_dur] = 1500000;
	event_room(&ev)->v[F_alloc_probe] = 21;
	event_room(&ev)->v[F_alloc_ret] = (uint64_t)-2;
	event_room(&ev)->v[F_alloc_bytes] = 64 << 20;
	event_room(&ev)->v[F_alloc_addr] = UINT64_MAX;
	event_room(&ev)->v[F_alloc_memory] = MEM_PINNED;
	return ev;
}

static bool holds(const char *text, const struct event *ev)
{
	struct where *w = NULL;
	struct fault why;
	bool yes;

	if (where_parse(&w, text, &why) || where_bind(w, &schema, 1000, &why))
		fail_msg("%s: %s at %u", text, why.text, (unsigned)why.offset);
	yes = where_holds(w, ev, &tasks);
	where_free(w);
	return yes;
}

static void numbers_compare_to_the_last_digit(void **state)
{
	static const char *const yes[] = {
		"dur=1.5ms",
		"dur=1500µs",
		"dur=1500us",
		"dur=1500000ns",
		"dur>=1.5ms",
		"dur<=1.5ms",
		"dur<1.500001ms",
		"dur>1.499999ms",
		"dur!=1ms",
		"bytes=64M",
		"bytes=65536K",
		"bytes=0.0625G",
		"bytes=64MiB",
		"bytes=0x4000000",
		"ret=-2",
		"ret<0",
		"ret>-3",
		"ret!=2",
		"addr=18446744073709551615",
		"addr>18446744073709551614",
		"addr=0xffffffffffffffff",
		"at=4us",
		"at=4000ns",
		"at>-1us",
		"alloc.bytes=64M",
		"dur<1h",
		"dur<1d",
	};
	static const char *const no[] = {
		"dur=1.499999ms", "dur>1.5ms", "dur<1.5ms",
		"dur!=1500us",    "bytes>64M", "ret>0",
		"ret=2",          "ret>=0",    "addr<18446744073709551615",
		"addr=0",         "at=5us",    "at<4us",
	};
	struct event ev = alloc();

	(void)state;
	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		if (!holds(yes[i], &ev))
			fail_msg("does not hold: %s", yes[i]);
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		if (holds(no[i], &ev))
			fail_msg("holds: %s", no[i]);
	assert_true(holds("dur=0.000025m and dur<0.001m", &ev));
	event_room(&ev)->v[F_alloc_bytes] = UINT64_C(2) << 40;
	assert_true(holds("bytes=2T and bytes=2TiB and bytes=2048G", &ev));
	event_room(&ev)->v[F_alloc_ret] = (uint64_t)INT64_MIN;
	assert_true(holds("ret=-9223372036854775808", &ev));
	assert_true(holds("ret<18446744073709551615", &ev));
	assert_true(holds("ret>-18446744073709551615", &ev));
}

static void names_and_words_stand_for_what_they_are_shown_as(void **state)
{
	static const char *const yes[] = {
		"kind=alloc",
		"kind!=free",
		"kind~llo",
		"call=cudaMalloc",
		"call~\"Mal\"",
		"call!=cudaFree",
		"probe=cudaMalloc",
		"probe=21",
		"memory=pinned",
		"memory=3",
		"memory!=device",
		"thread=worker",
		"thread~ork",
		"thread!=other",
		"process=\"train\\x1b er\"",
		"process=\"train\\u{1b} er\"",
		"process~\"\\x1b\"",
		"process~train",
		"process!=train",
	};
	static const char *const no[] = {
		"kind=free",           "kind~x",       "call=cudaFree",   "call~cudamalloc",
		"memory=device",       "thread=other", "process=trainer", "thread=\"\"",
		"prev_state=sleeping", "name~x",       "name!=x",
	};
	struct event ev = alloc();

	(void)state;
	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		if (!holds(yes[i], &ev))
			fail_msg("does not hold: %s", yes[i]);
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		if (holds(no[i], &ev))
			fail_msg("holds: %s", no[i]);
}

static void who_is_not_known_has_no_name(void **state)
{
	struct event ev = alloc(), waking = event_of(KIND_waking);
	struct tasks nobody = {0}, saved = tasks;

	(void)state;
	event_room(&ev)->v[F_alloc_pid] = event_room(&ev)->v[F_alloc_tid] = event_room(&waking)->v[F_waking_waker_tid] =
		999;
	for (int i = 0; i < 2; i++) {
		assert_false(holds("process~\"\" or process!=x or thread~\"\" or thread!=x", &ev));
		assert_false(holds("process~\"\" or process!=x or thread~\"\" or thread!=x", &waking));
		tasks = nobody;
	}
	tasks = saved;
}

static void texts_compare_byte_by_byte(void **state)
{
	struct event ev = event_of(KIND_fact);

	(void)state;
	event_room(&ev)->text[F_fact_name] = "a\0b\xff";
	event_room(&ev)->v[F_fact_name] = 4;
	event_room(&ev)->text[F_fact_value] = "";
	assert_true(holds("name=\"a\\x00b\\xff\"", &ev));
	assert_false(holds("name=\"a\\x00b\"", &ev));
	assert_false(holds("name=a", &ev));
	assert_true(holds("name!=a", &ev));
	assert_true(holds("name~\"\\x00b\"", &ev));
	assert_false(holds("name~\"b\\x00\"", &ev));
	assert_true(holds("value=\"\"", &ev));
	assert_true(holds("value~\"\" and fact.name~\"\"", &ev));
}

static void switches_and_wakings_are_their_threads_own(void **state)
{
	struct event ev = event_of(KIND_switch), waking = event_of(KIND_waking);

	(void)state;
	event_room(&ev)->v[F_switch_prev_tid] = 101;
	event_room(&ev)->v[F_switch_next_tid] = 102;
	event_room(&ev)->v[F_switch_prev_state] = 1;
	assert_true(holds("thread=worker and process~train and prev_state=sleeping", &ev));
	assert_false(holds("thread=other", &ev));
	assert_true(holds("prev_state!=preempted and prev_state~sleep and prev_state=1", &ev));
	event_room(&waking)->v[F_waking_tid] = 101;
	event_room(&waking)->v[F_waking_waker_tid] = 102;
	event_room(&waking)->v[F_waking_context] = WAKE_IRQ;
	assert_true(holds("thread=other and tid=101 and context=irq", &waking));
}

static void and_binds_before_or_and_not_before_both(void **state)
{
	struct event ev = alloc();

	(void)state;
	assert_true(holds("kind=alloc or kind=free and dur=0", &ev));
	assert_false(holds("(kind=alloc or kind=free) and dur=0", &ev));
	assert_true(holds("not kind=free and kind=alloc", &ev));
	assert_false(holds("not (kind=alloc and dur>0)", &ev));
	assert_true(holds("not not kind=alloc", &ev));
	assert_true(holds(" \t( kind = alloc )\nand not( dur<1ns )", &ev));
	/* A field that is not there fits nothing, whatever is asked. */
	assert_false(holds("grid_x=0 or grid_x!=0 or grid_x>=0", &ev));
	assert_true(holds("not grid_x=0", &ev));
}

static const struct {
	const char *text;
	unsigned at;
	const char *says;
} wrong[] = {
	{"", 0, "comparison is expected"},
	{"   ", 3, "comparison is expected"},
	{"dur", 3, "one of ="},
	{"dur 5", 4, "one of ="},
	{"dur>", 4, "a value is expected"},
	{"dur>and dur<5", 4, "a value is expected"},
	{"dur>5 dur<7", 6, "and, or, or the end"},
	{"dur>5 and", 9, "comparison is expected"},
	{"and dur>5", 0, "name of a field"},
	{"5<dur", 0, "name of a field"},
	{"dur==5", 3, "write ="},
	{"dur<>5", 3, "write !="},
	{"dur=>5", 3, "write >="},
	{"dur>5 && ret=0", 6, "write and"},
	{"dur>5 | ret=0", 6, "write or"},
	{"name!~x", 4, "write not"},
	{"!dur>5", 0, "write not"},
	{"(dur>5", 0, "not closed"},
	{"dur>5)", 5, "no parenthesis was opened"},
	{"()", 1, "name of a field"},
	{"name=\"x", 5, "no closing quote"},
	{"name=\"\\q\"", 6, "backslash"},
	{"name=\"\\x1\"", 6, "hexadecimal"},
	{"name=\"\\u{d800}\"", 6, "number"},
	{"name=\"\\u{110000}\"", 6, "number"},
	{"name=\"a\"b", 8, "does not belong"},
	{"dur>5parsecs", 5, "not a unit"},
	{"dur>1.5", 4, "needs a unit"},
	{"dur>1.", 4, "1 to 18 digits"},
	{"dur>1.0000000000000000000s", 4, "1 to 18 digits"},
	{"dur>1.5ns", 4, "not a whole number"},
	{"dur>5ms3", 7, "does not belong"},
	{"dur>18446744073709551616", 4, "too large"},
	{"dur>18446744073709551615us", 4, "too large"},
	{"addr=0x", 5, "hexadecimal"},
	{"addr=0x10000000000000000", 5, "too large"},
	{"dur>-", 4, "after '-'"},
	{"launch.>5", 7, "after 'launch.'"},
	{"launch.grid.x>5", 11, "one of ="},
	{"dru>5", 0, "did you mean dur?"},
	{"zzzzzzzzzzzz>5", 0, "no kind of event here has a field"},
	{"launch.bytes>5", 0, "launch has no field 'bytes'"},
	{"lunch.bytes>5", 0, "no kind of event 'lunch'"},
	{"kind=lunch", 5, "no kind of event 'lunch'"},
	{"kind=1", 5, "in quotes"},
	{"kind<launch", 4, "only ask"},
	{"thread<\"x\"", 6, "only ask"},
	{"name<\"x\"", 4, "only ask"},
	{"name=5", 5, "is a text"},
	{"dur=x", 4, "is a number"},
	{"dur~5", 3, "part of a text"},
	{"dur>5M", 4, "not counted in such units"},
	{"dur>1", 4, "write a unit"},
	{"at>90", 3, "write a unit"},
	{"at<999999999", 3, "write a unit"},
	{"pid=5ms", 4, "not counted in such units"},
	{"dur>-5", 4, "never negative"},
	{"memory=pined", 7, "never 'pined'"},
};

static void what_is_wrong_is_reported_with_its_place(void **state)
{
	struct where *w;
	struct fault why;
	int r;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		w = NULL;
		r = where_parse(&w, wrong[i].text, &why);
		if (!r)
			r = where_bind(w, &schema, 0, &why);
		if (r != ERR_INPUT || why.offset != wrong[i].at || !strstr(why.text, wrong[i].says))
			fail_msg("'%s': %d at %d: %s", wrong[i].text, r, r ? (int)why.offset : 0, r ? why.text : "");
		where_free(w);
	}
}

static void a_condition_has_limits(void **state)
{
	char text[WHERE_TEXT_MAX + 2];
	struct where *w = NULL;
	struct fault why;
	size_t n = 0;

	(void)state;
	memset(text, ' ', sizeof(text));
	memcpy(text, "dur>5", 5);
	text[WHERE_TEXT_MAX] = '\0';
	assert_int_equal(where_parse(&w, text, &why), 0);
	where_free(w);
	text[WHERE_TEXT_MAX] = ' ';
	text[WHERE_TEXT_MAX + 1] = '\0';
	assert_int_equal(where_parse(&w, text, &why), ERR_INPUT);
	for (int i = 0; i < WHERE_TERMS_MAX; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%spid=%d", i ? " or " : "", i);
	assert_int_equal(where_parse(&w, text, &why), 0);
	where_free(w);
	snprintf(text + n, sizeof(text) - n, " or pid=5");
	assert_int_equal(where_parse(&w, text, &why), ERR_INPUT);
	memset(text, '(', WHERE_DEPTH_MAX);
	strcpy(text + WHERE_DEPTH_MAX, "dur>5");
	assert_int_equal(where_parse(&w, text, &why), ERR_INPUT);
	assert_int_equal(why.offset, WHERE_DEPTH_MAX);
}

static void a_condition_can_be_bound_to_one_capture_after_another(void **state)
{
	static const struct probe other[] = {{"cudaMalloc", 5, KIND_alloc}};
	struct event ev = alloc();
	struct schema second;
	struct where *w = NULL;
	struct fault why;

	(void)state;
	assert_int_equal(schema_build(&second, other, 1, &why), 0);
	assert_int_equal(where_parse(&w, "call=cudaMalloc and at>1us", &why), 0);
	assert_int_equal(where_bind(w, &schema, 0, &why), 0);
	assert_true(where_holds(w, &ev, &tasks));
	assert_int_equal(where_bind(w, &second, 5000, &why), 0);
	ev.shape = schema_kind(&second, KIND_alloc);
	assert_false(where_holds(w, &ev, &tasks));
	event_room(&ev)->v[F_alloc_probe] = 5;
	event_room(&ev)->v[0] = 6001;
	assert_true(where_holds(w, &ev, &tasks));
	where_free(w);
	schema_clear(&second);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_compare_to_the_last_digit),
		cmocka_unit_test(names_and_words_stand_for_what_they_are_shown_as),
		cmocka_unit_test(who_is_not_known_has_no_name),
		cmocka_unit_test(texts_compare_byte_by_byte),
		cmocka_unit_test(switches_and_wakings_are_their_threads_own),
		cmocka_unit_test(and_binds_before_or_and_not_before_both),
		cmocka_unit_test(what_is_wrong_is_reported_with_its_place),
		cmocka_unit_test(a_condition_has_limits),
		cmocka_unit_test(a_condition_can_be_bound_to_one_capture_after_another),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
