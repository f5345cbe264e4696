/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "replay/export/exporter.h"
#include "replay/filter.h"
#include "format/base/map.h"
#include "replay/out.h"
#include "replay/model/tasks.h"
#include "replay/model/enum_names.h"
#include "tests/unit/event.h"

/* What an out function writes, as a string. */
static char shown[1024];

static void begin(struct out *o)
{
	assert_int_equal(out_open(o, -1, NULL), 0);
}

static const char *end(struct out *o)
{
	assert_true(o->len < sizeof(shown));
	memcpy(shown, o->buf, o->len);
	shown[o->len] = '\0';
	out_close(o);
	return shown;
}

#define SHOWS(call, wanted)                                                                                            \
	do {                                                                                                           \
		struct out o;                                                                                          \
		begin(&o);                                                                                             \
		call;                                                                                                  \
		assert_string_equal(end(&o), wanted);                                                                  \
	} while (0)

static void numbers_are_shown_to_the_digit(void **state)
{
	(void)state;
	SHOWS(out_u64(&o, 0), "0");
	SHOWS(out_u64(&o, 9), "9");
	SHOWS(out_u64(&o, 10), "10");
	SHOWS(out_u64(&o, 12345), "12345");
	SHOWS(out_u64(&o, UINT64_MAX), "18446744073709551615");
	SHOWS(out_s64(&o, INT64_MIN), "-9223372036854775808");
	SHOWS(out_s64(&o, -1), "-1");
	SHOWS(out_s64(&o, INT64_MAX), "9223372036854775807");
	SHOWS(out_hex(&o, 0), "0x0");
	SHOWS(out_hex(&o, UINT64_MAX), "0xffffffffffffffff");
	SHOWS(out_digits(&o, 42, 9), "000000042");
	SHOWS(out_seconds(&o, 1000000001), "1.000000001");
}

static void text_is_escaped_and_a_quote_cannot_end_a_quoted_one(void **state)
{
	(void)state;
	SHOWS(out_terminal(&o, "a\x1b[1m\\", 6), "a\\x1b[1m\\\\");
	SHOWS(out_terminal_quoted(&o, "a\"b\\", 4), "\"a\\\"b\\\\\"");
	SHOWS(out_terminal_quoted(&o, "", 0), "\"\"");
	SHOWS(out_json(&o, "a\"\n\\", 4), "\"a\\\"\\u000a\\\\\"");
}

static void padding_fills_up_and_never_cuts(void **state)
{
	(void)state;
	SHOWS((out_string(&o, "ab"), out_pad(&o, 0, 4), out_char(&o, '|')), "ab  |");
	SHOWS((out_string(&o, "abcd"), out_pad(&o, 0, 4), out_char(&o, '|')), "abcd|");
	SHOWS((out_string(&o, "abcdef"), out_pad(&o, 0, 4), out_char(&o, '|')), "abcdef|");
}

static void what_does_not_fit_the_buffer_is_written_in_order(void **state)
{
	FILE *f = tmpfile();
	struct out o;
	uint64_t read_back;

	(void)state;
	assert_non_null(f);
	assert_int_equal(out_open(&o, fileno(f), NULL), 0);
	for (uint64_t i = 0; i < 200000; i++) {
		out_u64(&o, i);
		out_char(&o, '\n');
	}
	assert_int_equal(out_finish(&o, NULL), 0);
	out_close(&o);
	rewind(f);
	for (uint64_t i = 0; i < 200000; i++) {
		assert_int_equal(fscanf(f, "%" SCNu64, &read_back), 1);
		assert_int_equal(read_back, i);
	}
	fclose(f);
}

static void a_write_that_fails_is_an_error_and_a_closed_pipe_is_none(void **state)
{
	FILE *full = fopen("/dev/full", "w");
	struct fault why;
	struct out o;
	int pair[2];

	(void)state;
	if (full) {
		assert_int_equal(out_open(&o, fileno(full), NULL), 0);
		out_char(&o, 'x');
		assert_int_equal(out_finish(&o, &why), ERR_IO);
		assert_true(out_stopped(&o));
		out_close(&o);
		fclose(full);
	}
	assert_int_equal(pipe(pair), 0);
	close(pair[0]);
	assert_int_equal(out_open(&o, pair[1], NULL), 0);
	out_char(&o, 'x');
	assert_int_equal(out_finish(&o, &why), 0);
	assert_int_equal(o.error, EPIPE);
	out_close(&o);
	close(pair[1]);
}

/* Against an array, with many collisions and removals. */
static void a_map_holds_what_was_put_and_not_removed(void **state)
{
	enum { KEYS = 3000, STEPS = 200000 };
	static uint32_t want[KEYS];
	struct map m = {0};
	uint32_t random = 1;

	(void)state;
	memset(want, 0, sizeof(want));
	for (uint32_t step = 1; step <= STEPS; step++) {
		uint32_t key;

		random = random * 1664525 + 1013904223;
		key = (random >> 8) % KEYS;
		if (random >> 30) {
			assert_int_equal(map_put(&m, key, key % 7, step), 0);
			want[key] = step;
		} else {
			map_remove(&m, key, key % 7);
			want[key] = 0;
		}
	}
	for (uint32_t key = 0; key < KEYS; key++) {
		assert_int_equal(map_get(&m, key, key % 7), want[key]);
		assert_int_equal(map_get(&m, key, 7), 0);
	}
	map_clear(&m);
	assert_int_equal(map_get(&m, 1, 1), 0);
	map_remove(&m, 1, 1);
}

/* Events for tasks_feed(), by hand. */
static struct schema schema;

static int make_schema(void **state)
{
	(void)state;
	return schema_build(&schema, NULL, 0, NULL);
}

static int drop_schema(void **state)
{
	(void)state;
	schema_clear(&schema);
	return 0;
}

static struct event event(uint16_t kind, uint64_t at_ns)
{
	return event_made(kind, schema_kind(&schema, kind), at_ns);
}

static void emit_process(struct tasks *p, uint64_t at_ns, uint64_t pid, uint64_t start_ns, const char *name)
{
	struct event ev = event(KIND_process, at_ns);

	event_room(&ev)->v[F_process_pid] = pid;
	event_room(&ev)->v[F_process_start] = start_ns;
	event_room(&ev)->v[F_process_tracked] = 1;
	event_room(&ev)->v[F_process_name] = strlen(name);
	event_room(&ev)->text[F_process_name] = name;
	assert_int_equal(tasks_feed(p, &ev, NULL), 0);
}

static void emit_thread(struct tasks *p, uint64_t at_ns, uint64_t tid, uint64_t pid, uint64_t start_ns,
			const char *name)
{
	struct event ev = event(KIND_thread, at_ns);

	event_room(&ev)->v[F_thread_tid] = tid;
	event_room(&ev)->v[F_thread_pid] = pid;
	event_room(&ev)->v[F_thread_start] = start_ns;
	event_room(&ev)->v[F_thread_name] = strlen(name);
	event_room(&ev)->text[F_thread_name] = name;
	assert_int_equal(tasks_feed(p, &ev, NULL), 0);
}

static struct event launch(uint64_t at_ns, uint64_t pid, uint64_t tid)
{
	struct event ev = event(KIND_launch, at_ns);

	event_room(&ev)->v[F_launch_pid] = pid;
	event_room(&ev)->v[F_launch_tid] = tid;
	return ev;
}

static void report_exit(struct tasks *p, uint64_t at_ns, uint64_t pid, uint64_t tid)
{
	struct event ev = event(KIND_exit, at_ns);

	event_room(&ev)->v[F_exit_pid] = pid;
	event_room(&ev)->v[F_exit_tid] = tid;
	event_room(&ev)->v[F_exit_last] = 1;
	assert_int_equal(tasks_feed(p, &ev, NULL), 0);
}

static void a_pid_that_comes_round_is_another_process(void **state)
{
	struct tasks p = {0};
	uint32_t first, second;

	(void)state;
	emit_process(&p, 10, 5, 10, "old");
	emit_thread(&p, 10, 5, 5, 10, "old");
	first = tasks_process(&p, 5);
	report_exit(&p, 20, 5, 5);
	assert_int_equal(tasks_process(&p, 5), first); /* its last switch is still to come */
	emit_process(&p, 30, 5, 30, "new");
	emit_thread(&p, 30, 5, 5, 30, "new");
	second = tasks_process(&p, 5);
	assert_int_not_equal(first, second);
	assert_string_equal(p.processes[first].shown, "old");
	assert_int_equal(p.processes[first].end_ns, 20);
	assert_string_equal(p.processes[second].shown, "new");
	assert_int_equal(p.processes[second].end_ns, NO_TIME);
	assert_int_equal(tasks_find_thread(&p, 5)->process, second);
	tasks_clear(&p);
}

/* A start of 0 is unknown; an end of 0: it has not ended. */
static void rows_are_of_one_process_if_their_starts_are_and_it_has_not_ended(void **state)
{
	static const uint64_t ms = 1000000;
	const struct {
		uint64_t first_ns, end_ns, second_ns;
		bool same;
	} cases[] = {
		{500 * ms, 0, 500 * ms, true},
		{500 * ms, 0, 504 * ms, true},
		{504 * ms, 0, 500 * ms, true},
		{500 * ms, 0, 510 * ms - 1, true},
		{500 * ms, 0, 510 * ms, false},
		{510 * ms, 0, 500 * ms, false},
		{500 * ms, 503 * ms, 504 * ms, false},
		{500 * ms, 506 * ms, 504 * ms, true},
		{0, 0, 504 * ms, true},
		{0, 503 * ms, 504 * ms, false},
		{0, 506 * ms, 504 * ms, true},
		{500 * ms, 0, 0, true},
		{500 * ms, 506 * ms, 0, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tasks p = {0};
		uint64_t end_ns = cases[i].end_ns,
			 known_ns = cases[i].first_ns ? cases[i].first_ns : cases[i].second_ns;
		uint32_t first;

		emit_process(&p, 501 * ms, 5, cases[i].first_ns, "first");
		emit_thread(&p, 501 * ms, 5, 5, cases[i].first_ns, "first");
		first = tasks_process(&p, 5);
		if (end_ns)
			report_exit(&p, end_ns, 5, 5);
		emit_process(&p, 600 * ms, 5, cases[i].second_ns, "second");
		emit_thread(&p, 600 * ms, 5, 5, cases[i].second_ns, "second");
		assert_int_equal(tasks_process(&p, 5) == first, cases[i].same);
		assert_int_equal(p.nthreads, cases[i].same ? 1 : 2);
		if (cases[i].same)
			assert_int_equal(p.processes[first].start_ns, known_ns);
		tasks_clear(&p);
	}
}

static void a_later_row_renames(void **state)
{
	struct tasks p = {0};
	uint32_t number;

	(void)state;
	emit_process(&p, 10, 5, 10, "sh");
	number = tasks_process(&p, 5);
	emit_process(&p, 15, 5, 10, "python3");
	assert_int_equal(tasks_process(&p, 5), number);
	assert_string_equal(p.processes[number].shown, "python3");
	tasks_clear(&p);
}

static void a_row_that_comes_late_completes_what_events_implied(void **state)
{
	struct tasks p = {0};
	struct event ev = launch(10, 5, 6);
	uint32_t number;

	(void)state;
	assert_int_equal(tasks_feed(&p, &ev, NULL), 0);
	number = tasks_thread(&p, 6);
	assert_int_not_equal(number, 0);
	assert_false(p.threads[number].reported);
	assert_int_equal(p.processes[p.threads[number].process].pid, 5);
	emit_thread(&p, 11, 6, 5, 1, "late");
	assert_int_equal(tasks_thread(&p, 6), number);
	assert_string_equal(p.threads[number].shown, "late");
	tasks_clear(&p);
}

static void whether_a_thread_was_recorded_is_known_whichever_row_comes_first(void **state)
{
	struct tasks p = {0};
	struct event ev = launch(30, 8, 8);

	(void)state;
	emit_thread(&p, 10, 5, 5, 1, "thread first");
	assert_false(tasks_is_recorded(&p, tasks_thread(&p, 5)));
	emit_process(&p, 11, 5, 1, "then its process");
	assert_true(tasks_is_recorded(&p, tasks_thread(&p, 5)));
	emit_process(&p, 12, 7, 1, "process first");
	emit_thread(&p, 13, 7, 7, 1, "then its thread");
	assert_true(tasks_is_recorded(&p, tasks_thread(&p, 7)));
	assert_int_equal(tasks_feed(&p, &ev, NULL), 0);
	assert_true(tasks_is_recorded(&p, tasks_thread(&p, 8)));
	tasks_clear(&p);
}

static void a_fork_ends_the_hold_of_a_dead_thread_on_its_id(void **state)
{
	struct tasks p = {0};
	struct event fork_event = event(KIND_fork, 30);
	uint32_t dead;

	(void)state;
	emit_process(&p, 10, 5, 10, "old");
	emit_thread(&p, 10, 5, 5, 10, "old");
	dead = tasks_thread(&p, 5);
	report_exit(&p, 20, 5, 5);
	event_room(&fork_event)->v[F_fork_pid] = event_room(&fork_event)->v[F_fork_tid] = 1;
	event_room(&fork_event)->v[F_fork_child_pid] = event_room(&fork_event)->v[F_fork_child_tid] = 5;
	assert_int_equal(tasks_feed(&p, &fork_event, NULL), 0);
	assert_int_not_equal(tasks_thread(&p, 5), dead);
	assert_null(tasks_find_thread(&p, 5)->shown);
	tasks_clear(&p);
}

static void the_idle_threads_are_nobody(void **state)
{
	struct tasks p = {0};
	struct event ev = event(KIND_switch, 10);

	(void)state;
	event_room(&ev)->v[F_switch_next_tid] = 7;
	assert_int_equal(tasks_feed(&p, &ev, NULL), 0);
	assert_int_equal(tasks_thread(&p, 0), 0);
	assert_int_not_equal(tasks_thread(&p, 7), 0);
	tasks_clear(&p);
}

static void a_hostile_name_is_kept_escaped(void **state)
{
	struct tasks p = {0};

	(void)state;
	emit_thread(&p, 10, 5, 5, 10, "\x1b]0;\xff\"");
	assert_string_equal(tasks_find_thread(&p, 5)->shown, "\\x1b]0;\\xff\"");
	assert_string_equal(tasks_find_thread(&p, 5)->json, "\\u001b]0;\xef\xbf\xbd\\\"");
	tasks_clear(&p);
}

static void a_filter_cuts_by_time_kind_thread_and_process(void **state)
{
	static struct filter f;
	struct tasks p = {0};
	struct event ev = launch(10, 5, 6);
	char text[200];

	(void)state;
	f = (struct filter){.to_ns = NO_TIME};
	assert_int_equal(tasks_feed(&p, &ev, NULL), 0);
	assert_true(filter_passes(&f, &ev, &p, false));
	f.from_ns = 10;
	assert_true(filter_passes(&f, &ev, &p, false));
	f.to_ns = 10;
	assert_false(filter_passes(&f, &ev, &p, false));
	f.to_ns = 11;
	f.tids[f.ntids++] = 5;
	assert_false(filter_passes(&f, &ev, &p, false));
	f.tids[f.ntids++] = 6;
	assert_true(filter_passes(&f, &ev, &p, false));
	f.pids[f.npids++] = 6;
	assert_false(filter_passes(&f, &ev, &p, false));
	f.pids[0] = 5;
	assert_true(filter_passes(&f, &ev, &p, false));
	assert_int_equal(filter_add_kinds(&f, &schema, "alloc,free", NULL), 0);
	assert_false(filter_passes(&f, &ev, &p, false));
	assert_int_equal(filter_add_kinds(&f, &schema, "launch", NULL), 0);
	assert_true(filter_passes(&f, &ev, &p, false));
	assert_int_equal(filter_add_kinds(&f, &schema, "lau", NULL), ERR_INPUT);
	filter_describe(&f, &schema, text, sizeof(text));
	assert_string_equal(text, "kind launch,alloc,free; pid 5; tid 5; tid 6; from 10 ns; to 11 ns");
	tasks_clear(&p);
}

static void a_filter_knows_the_process_of_a_thread_in_a_switch(void **state)
{
	static struct filter f;
	struct tasks p = {0};
	struct event ev = event(KIND_switch, 10);

	(void)state;
	f = (struct filter){.to_ns = NO_TIME, .pids = {5}, .npids = 1};
	emit_process(&p, 1, 5, 1, "x");
	emit_thread(&p, 1, 6, 5, 1, "x");
	event_room(&ev)->v[F_switch_prev_tid] = 99;
	event_room(&ev)->v[F_switch_next_tid] = 6;
	assert_int_equal(tasks_feed(&p, &ev, NULL), 0);
	assert_true(filter_passes(&f, &ev, &p, false));
	event_room(&ev)->v[F_switch_next_tid] = 98;
	assert_int_equal(tasks_feed(&p, &ev, NULL), 0);
	assert_false(filter_passes(&f, &ev, &p, false));
	tasks_clear(&p);
}

static void the_ending_of_a_name_says_what_to_write(void **state)
{
	const struct exporter *e = NULL;
	struct fault why;

	(void)state;
	assert_int_equal(exporter_for(&e, "a/b.db", &why), 0);
	assert_string_equal(e->suffix, ".db");
	assert_int_equal(exporter_for(&e, "run.jsonl", &why), 0);
	assert_string_equal(e->suffix, ".jsonl");
	assert_int_equal(exporter_for(&e, "run.xyz", &why), ERR_INPUT);
	assert_int_equal(exporter_for(&e, ".db", &why), ERR_INPUT);
	assert_int_equal(exporter_for(&e, "", &why), ERR_INPUT);
}

static void statuses_have_words(void **state)
{
	char words[STATUS_WORDS];

	(void)state;
	assert_string_equal(status_words(words, 0), "exit status 0");
	assert_string_equal(status_words(words, 1 << 8), "exit status 1");
	assert_string_equal(status_words(words, 0xff00), "exit status 255");
	assert_string_equal(status_words(words, 9), "killed by SIGKILL");
	assert_string_equal(status_words(words, 11 | 0x80), "killed by SIGSEGV, core dumped");
	assert_string_equal(status_words(words, 34), "killed by signal 34");
	assert_string_equal(status_words(words, 34 | 0x80), "killed by signal 34, core dumped");
}

static void states_have_words(void **state)
{
	(void)state;
	assert_string_equal(state_word(0), "preempted");
	assert_string_equal(state_word(1), "sleeping");
	assert_string_equal(state_word(2), "uninterruptible");
	assert_string_equal(state_word(0x402), "idle");
	assert_string_equal(state_word(0x2001), "sleeping");
	assert_string_equal(state_word(0x10), "dead");
	assert_string_equal(state_word(0x100000), "other");
	assert_string_equal(enum_word(KIND_alloc, F_alloc_memory, MEM_PINNED), "pinned");
	assert_null(enum_word(KIND_alloc, F_alloc_memory, 99));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_shown_to_the_digit),
		cmocka_unit_test(text_is_escaped_and_a_quote_cannot_end_a_quoted_one),
		cmocka_unit_test(padding_fills_up_and_never_cuts),
		cmocka_unit_test(what_does_not_fit_the_buffer_is_written_in_order),
		cmocka_unit_test(a_write_that_fails_is_an_error_and_a_closed_pipe_is_none),
		cmocka_unit_test(a_map_holds_what_was_put_and_not_removed),
		cmocka_unit_test(a_pid_that_comes_round_is_another_process),
		cmocka_unit_test(rows_are_of_one_process_if_their_starts_are_and_it_has_not_ended),
		cmocka_unit_test(a_later_row_renames),
		cmocka_unit_test(a_row_that_comes_late_completes_what_events_implied),
		cmocka_unit_test(whether_a_thread_was_recorded_is_known_whichever_row_comes_first),
		cmocka_unit_test(a_fork_ends_the_hold_of_a_dead_thread_on_its_id),
		cmocka_unit_test(the_idle_threads_are_nobody),
		cmocka_unit_test(a_hostile_name_is_kept_escaped),
		cmocka_unit_test(a_filter_cuts_by_time_kind_thread_and_process),
		cmocka_unit_test(a_filter_knows_the_process_of_a_thread_in_a_switch),
		cmocka_unit_test(the_ending_of_a_name_says_what_to_write),
		cmocka_unit_test(statuses_have_words),
		cmocka_unit_test(states_have_words),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, make_schema, drop_schema);
}
