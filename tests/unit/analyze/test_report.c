/* SPDX-License-Identifier: Apache-2.0 */
/* What reports are made of: the writer of HTML, pictures' arithmetic, gauges, and the running of user rules. */
#include <sqlite3.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "analyze/report/report_formats.h"
#include "analyze/facts/gpu_gauges.h"
#include "analyze/report/pictures.h"
#include "analyze/report/svg.h"
#include "tests/unit/feed.h"
#include "tests/unit/event.h"

static void html_is_closed_in_order_and_escaped(void **state)
{
	struct text t = {0};
	struct html h = {.out = &t};

	(void)state;
	html_open(&h, "p", "a\"b");
	html_empty(&h, "line", NULL);
	html_attribute(&h, "x", "<%d>", 5);
	html_text(&h, "%s & 'x' \"y\"", "<b>");
	html_open(&h, "b", NULL);
	html_close_to(&h, 0);
	assert_string_equal(
		text_string(&t),
		"<p class=\"a&quot;b\"><line x=\"&lt;5&gt;\"/>&lt;b&gt; &amp; &#39;x&#39; &quot;y&quot;<b></b></p>\n");
	text_clear(&t);
}

/* Every sequence of up to three bytes of a set that has all cases of UTF-8 in it comes out as valid text for XML. */
static void bytes_that_xml_may_not_hold_are_replaced(void **state)
{
	static const char bytes[] = {'a',    '\n',   '\0',   '\x1b', '\x7f', '\x80', '\xbf', '\xc0', '\xc2', '\xe0',
				     '\xa0', '\xed', '\xef', '\xbf', '\xbe', '\xf0', '\x90', '\xf4', '\xf5', '\xff'};
	const size_t n = sizeof(bytes);

	(void)state;
	for (size_t i = 0; i < n * n * n; i++) {
		const char s[3] = {bytes[i / n / n], bytes[i / n % n], bytes[i % n]};
		struct text t = {0}, again = {0};
		struct html h = {.out = &t}, h2 = {.out = &again};

		html_bytes(&h, s, 3);
		for (size_t k = 0; k < t.len; k++)
			assert_true(t.s[k] == '\n' || (unsigned char)t.s[k] >= 0x20);
		/* What is valid is left alone: a second time changes nothing. */
		html_bytes(&h2, text_string(&t), t.len);
		assert_int_equal(again.len, t.len);
		text_clear(&t);
		text_clear(&again);
	}
}

static void characters_of_all_lengths_stay_as_they_are(void **state)
{
	static const char s[] = "aµ€😀\xc2\xa0";
	struct text t = {0};
	struct html h = {.out = &t};

	(void)state;
	html_bytes(&h, s, strlen(s));
	assert_string_equal(text_string(&t), s);
	text_clear(&t);
	html_bytes(&h, "\xed\xa0\x80\xc0\x80\xf4\x90\x80\x80", 9); /* a surrogate, an overlong NUL, beyond Unicode */
	assert_null(strstr(text_string(&t), "\xed"));
	assert_null(strstr(text_string(&t), "\xf4"));
	text_clear(&t);
}

static void text_of_a_capture_is_made_visible_and_harmless(void **state)
{
	struct text t = {0};
	struct html h = {.out = &t};

	(void)state;
	html_captured(&h, "<\x1b[31m\xe2\x80\xae", 9);
	assert_string_equal(text_string(&t), "&lt;\\x1b[31m\\u{202e}");
	text_clear(&t);
}

static void places_on_an_axis_are_within_it(void **state)
{
	(void)state;
	assert_int_equal(svg_place(5, 0, 10), SVG_WIDE / 2);
	assert_int_equal(svg_place(0, 0, 10), 0);
	assert_int_equal(svg_place(10, 0, 10), SVG_WIDE);
	assert_int_equal(svg_place(99, 0, 10), SVG_WIDE);
	assert_int_equal(svg_place(1, 5, 10), 0);
	assert_int_equal(svg_place(7, 5, 5), 0);
	assert_int_equal(svg_place(UINT64_MAX - 1, 0, UINT64_MAX), SVG_WIDE - 1);
}

static void steps_are_round_and_few(void **state)
{
	(void)state;
	assert_int_equal(svg_step(0, 5), 1);
	assert_int_equal(svg_step(4, 5), 1);
	assert_int_equal(svg_step(18100000, 5), 5000000);
	for (uint64_t span = 1; span < UINT64_MAX / 3; span = span * 3 + 1)
		assert_true(span / svg_step(span, 5) < 5);
	assert_true(svg_step(UINT64_MAX, 5) > 0);
}

static void logarithms_are_exact_at_powers_and_monotonous(void **state)
{
	uint64_t last = 0;

	(void)state;
	assert_int_equal(svg_log2(0), 0);
	for (unsigned i = 0; i < 64; i++)
		assert_int_equal(svg_log2(1ULL << i), i * 1024);
	assert_int_equal(svg_log2(1000), 10204); /* 9.96578 * 1024 = 10204.96 */
	for (uint64_t v = 1; v < UINT64_MAX / 2; v += v / 3 + 1) {
		assert_true(svg_log2(v) >= last);
		last = svg_log2(v);
	}
}

static void shapes_end_within_the_picture(void **state)
{
	struct text t = {0};
	struct html h = {.out = &t};

	(void)state;
	svg_rect(&h, "a", SVG_WIDE, 5, 0, 1);
	html_close(&h);
	svg_rect(&h, "a", SVG_WIDE - 10, UINT64_MAX, 0, 1);
	html_close(&h);
	assert_string_equal(text_string(&t),
			    "<rect class=\"a\" x=\"99.9000%\" y=\"0\" width=\"0.1000%\" height=\"1\"></rect>"
			    "<rect class=\"a\" x=\"99.9000%\" y=\"0\" width=\"0.1000%\" height=\"1\"></rect>");
	text_clear(&t);
}

/* Times that no clock reported: nothing is drawn out of bounds, and it comes to an end. */
static void absurd_series_are_drawn_or_left_out(void **state)
{
	static const uint64_t odd[] = {0, 1, 1000, UINT64_MAX / 64, UINT64_MAX / 2, UINT64_MAX - 1, UINT64_MAX};
	struct report_facts facts = {0};

	(void)state;
	for (size_t i = 0; i < 7 * 7 * 7 * 7; i++) {
		struct series s = {.label = "l",
				   .n = SERIES_MAX,
				   .begin_ns = odd[i % 7],
				   .width_ns = odd[i / 7 % 7],
				   .value = {1, odd[i / 49 % 7]},
				   .unit = i % 2 ? SERIES_BYTES : SERIES_COUNT};
		struct finding f = {.series = &s};
		struct text t = {0};
		struct html h = {.out = &t};

		facts.begin_ns = odd[(i + 3) % 7];
		facts.end_ns = odd[i / 343];
		picture_series(&h, &facts, &f);
		assert_int_equal(h.depth, 0);
		assert_true(t.len < 64 * 1024);
		text_clear(&t);
	}
}

static void gauges_keep_lows_and_highs_of_each_gpu(void **state)
{
	struct gauges g = {.begin_ns = 0, .end_ns = GAUGES_SLICES * 10};
	struct event ev = event_made(KIND_health, NULL, 0);
	struct fault why;

	(void)state;
	event_room(&ev)->v[F_health_gpu] = 3;
	event_room(&ev)->v[F_health_known] = 1U << (F_health_temperature_c - F_health_known);
	for (unsigned i = 0; i < 3; i++) {
		ev.at_ns = i;
		event_room(&ev)->v[F_health_temperature_c] = 70 - i * 10;
		event_room(&ev)->v[F_health_power_mw] = 5; /* not known: not reported */
		assert_int_equal(gauges_feed(&g, &ev, &why), 0);
	}
	assert_int_equal(g.ngpus, 1);
	assert_int_equal(g.gpus[0].slices[GAUGE_TEMPERATURE][0].low, 50);
	assert_int_equal(g.gpus[0].slices[GAUGE_TEMPERATURE][0].high, 70);
	assert_false(g.gpus[0].reported[GAUGE_POWER]);
	assert_false(g.gpus[0].throttled[0]);
	ev.at_ns = UINT64_MAX;
	event_room(&ev)->v[F_health_throttle] = 0x40;
	assert_int_equal(gauges_feed(&g, &ev, &why), 0);
	assert_true(g.gpus[0].throttled[GAUGES_SLICES - 1]);
	event_room(&ev)->v[F_health_gpu] = UINT64_MAX;
	assert_int_equal(gauges_feed(&g, &ev, &why), 0);
	assert_int_equal(g.ngpus, 1);
	for (unsigned i = 0; i < 2 * GAUGES_GPUS_MAX; i++) {
		event_room(&ev)->v[F_health_gpu] = i;
		assert_int_equal(gauges_feed(&g, &ev, &why), 0);
	}
	assert_int_equal(g.ngpus, GAUGES_GPUS_MAX);
	gauges_clear(&g);
}

static void endings_report_the_form(void **state)
{
	(void)state;
	assert_int_equal(form_of("a.txt"), FORM_TEXT);
	assert_int_equal(form_of("a.b.json"), FORM_JSON);
	assert_int_equal(form_of("/x/y.sarif"), FORM_SARIF);
	assert_int_equal(form_of("y.html"), FORM_HTML);
	assert_int_equal(form_of(".html"), FORMS);
	assert_int_equal(form_of("y.htm"), FORMS);
	assert_int_equal(form_of(""), FORMS);
}

static int entry_that_fails(struct sqlite3 *db, char **message, const struct sqlite3_api_routines *api)
{
	(void)db;
	(void)message;
	(void)api;
	return SQLITE_ERROR;
}

#define HEAD "-- name: x\n-- severity: error\n-- message: {a}\n"

/* Adds the rule and runs it over a table t(a) of three rows. */
static int run_rule(struct user_rules *u, const char *text, struct findings *out, struct fault *why)
{
	int r = user_rules_add(u, "x.sql", text, strlen(text), why);

	return r ? r : user_rules_run(u, NULL, "CREATE TABLE t(a); INSERT INTO t VALUES (1), (2), (3)", out, why);
}

static void each_row_is_a_finding(void **state)
{
	struct user_rules u = {0};
	struct findings found = {0};
	struct fault why;

	(void)state;
	assert_int_equal(run_rule(&u, HEAD "SELECT a FROM t ORDER BY a DESC", &found, &why), 0);
	assert_int_equal(found.n, 3);
	for (size_t i = 0; i < found.n; i++) {
		char want[2] = {(char)('3' - i), 0};

		assert_string_equal(text_string(&found.all[i]->headline), want);
		assert_int_equal(found.all[i]->severity, SEVERITY_ERROR);
		assert_string_equal(found.all[i]->facts[0].key, "a");
		assert_int_equal(found.all[i]->facts[0].number, 3 - i);
	}
	/* Over a second capture. */
	assert_int_equal(user_rules_run(&u, NULL, "CREATE TABLE t(a)", &found, &why), 0);
	assert_int_equal(found.n, 3);
	findings_clear(&found);
	user_rules_clear(&u);
}

static void a_query_without_end_is_stopped(void **state)
{
	struct user_rules u = {.steps_max = 100000};
	struct findings found = {0};
	struct fault why;

	(void)state;
	assert_int_equal(run_rule(&u,
				  HEAD "WITH RECURSIVE c(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM c)\n"
				       "SELECT count(*) AS a FROM c",
				  &found, &why),
			 ERR_INPUT);
	assert_string_equal(why.text, "x.sql, line 4: the query takes more than 100000 steps; ask for less");
	findings_clear(&found);
	user_rules_clear(&u);
}

/* A text of n bytes made of `unit`, as an expression of SQL. */
#define ZEROS(n) "printf('%%0" #n "d', 0)"

/* Many calls in one row: between two of them SQLite inspects no limit of its own. */
static void the_time_limit_holds_inside_one_row(void **state)
{
	struct user_rules u = {.seconds_max = 1};
	struct findings found = {0};
	struct text sql = {0};
	struct timespec begin, end;
	struct fault why;

	(void)state;
	text_add(&sql, HEAD "WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i) SELECT count(*)");
	for (unsigned i = 0; i < 20; i++)
		text_add(&sql, " + instr(" ZEROS(65000) ", " ZEROS(32000) " || n || '%u')", i + 10);
	text_add(&sql, " AS a FROM i");
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
	assert_int_equal(run_rule(&u, text_string(&sql), &found, &why), ERR_INPUT);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	assert_non_null(strstr(why.text, "x.sql, line 4: the query takes more than 1 seconds"));
	/* Without the limit it never ends. A row takes a second or two of the CPU. */
	assert_true(end.tv_sec - begin.tv_sec < 60);
	text_clear(&sql);
	findings_clear(&found);
	user_rules_clear(&u);
}

static void exit_with_42(const struct fault *why)
{
	_exit(strstr(why->text, "x.sql, line 4: the query takes more than 1 seconds") ? 42 : 43);
}

/* A row that takes minutes: each of 65000 characters is compared with 5000 others, and that 150 times over in one row.
 */
static void a_row_that_does_not_end_is_ended(void **state)
{
	struct user_rules u = {.seconds_max = 1, .stuck = exit_with_42};
	struct findings found = {0};
	struct text sql = {0};
	struct fault why;
	pid_t pid;
	int status;

	(void)state;
	text_add(&sql, HEAD "SELECT 0");
	for (unsigned i = 0; i < 150; i++)
		text_add(&sql, " + length(trim(t.b, t.c))");
	text_add(&sql, " AS a FROM (SELECT replace(" ZEROS(65000) ", '0', 'b') AS b,");
	text_add(&sql, " replace(" ZEROS(5000) ", '0', 'a') || 'b' AS c) AS t");
	pid = fork();
	if (pid == 0)
		_exit(run_rule(&u, text_string(&sql), &found, &why) ? 1 : 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 42);
	text_clear(&sql);
	user_rules_clear(&u);
}

static void a_rule_cannot_write_to_the_view(void **state)
{
	static const char *const bad[] = {"DELETE FROM t", "INSERT INTO t VALUES (4) RETURNING a",
					  "DROP TABLE t",  "PRAGMA user_version = 5",
					  "BEGIN",         "CREATE TEMP TABLE b(a)",
					  "ANALYZE",       "REINDEX"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct user_rules u = {0};
		struct findings found = {0};
		struct fault why;
		char text[256];

		snprintf(text, sizeof(text), HEAD "%s", bad[i]);
		assert_int_equal(run_rule(&u, text, &found, &why), ERR_INPUT);
		assert_non_null(strstr(why.text, "x.sql, line 4: "));
		assert_int_equal(found.n, 0);
		findings_clear(&found);
		user_rules_clear(&u);
	}
}

static void a_view_that_cannot_be_made_is_reported(void **state)
{
	struct user_rules u = {0};
	struct findings found = {0};
	struct fault why;

	(void)state;
	assert_int_equal(user_rules_run(&u, entry_that_fails, NULL, &found, &why), ERR_IO);
	assert_int_equal(user_rules_run(&u, NULL, "nonsense", &found, &why), ERR_IO);
	assert_non_null(strstr(why.text, "cannot make the view for the rules"));
}

static void rules_stand_in_the_order_of_their_names(void **state)
{
	static const char *const names[] = {"m", "a", "z", "b"};
	struct user_rules u = {0};
	struct fault why;
	char text[128];

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		snprintf(text, sizeof(text), "-- name: %s\n-- severity: info\n-- message: m\nSELECT 1 AS a", names[i]);
		assert_int_equal(user_rules_add(&u, names[i], text, strlen(text), &why), 0);
	}
	assert_string_equal(u.all[0].name, "a");
	assert_string_equal(u.all[1].name, "b");
	assert_string_equal(u.all[3].name, "z");
	assert_int_equal(user_rules_add(&u, "again", text, strlen(text), &why), ERR_INPUT);
	assert_int_equal(user_rules_add(&u, "nul", "-- name: q\0", 11, &why), ERR_INPUT);
	assert_int_equal(u.n, 4);
	user_rules_clear(&u);
}

static void file_names_cannot_break_out_of_the_sql(void **state)
{
	static const char *const trust[] = {"a, unverified", "b'c.pub"};
	const struct user_rules_view v = {
		.path = "it's), x.cap", .fd = 7, .trust_files = trust, .ntrust_files = 2, .unverified = true};
	struct text sql = {0};

	(void)state;
	user_rules_prepare(&v, &sql);
	assert_string_equal(text_string(&sql),
			    "CREATE VIRTUAL TABLE capture USING gpucap('it''s), x.cap', fd=7, unverified, "
			    "trust='a, unverified', trust='b''c.pub')");
	text_clear(&sql);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(html_is_closed_in_order_and_escaped),
		cmocka_unit_test(bytes_that_xml_may_not_hold_are_replaced),
		cmocka_unit_test(characters_of_all_lengths_stay_as_they_are),
		cmocka_unit_test(text_of_a_capture_is_made_visible_and_harmless),
		cmocka_unit_test(places_on_an_axis_are_within_it),
		cmocka_unit_test(steps_are_round_and_few),
		cmocka_unit_test(logarithms_are_exact_at_powers_and_monotonous),
		cmocka_unit_test(shapes_end_within_the_picture),
		cmocka_unit_test(absurd_series_are_drawn_or_left_out),
		cmocka_unit_test(gauges_keep_lows_and_highs_of_each_gpu),
		cmocka_unit_test(endings_report_the_form),
		cmocka_unit_test(each_row_is_a_finding),
		cmocka_unit_test(a_query_without_end_is_stopped),
		cmocka_unit_test(the_time_limit_holds_inside_one_row),
		cmocka_unit_test(a_row_that_does_not_end_is_ended),
		cmocka_unit_test(a_rule_cannot_write_to_the_view),
		cmocka_unit_test(a_view_that_cannot_be_made_is_reported),
		cmocka_unit_test(rules_stand_in_the_order_of_their_names),
		cmocka_unit_test(file_names_cannot_break_out_of_the_sql),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
