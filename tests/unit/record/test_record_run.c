/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a recording that need no kernel: what stands and is reported again, budgets, the status line, CPUs, names of
 * files. */
#include "tests/unit/sample.h"

#include "record/host/hostfacts.h"
#include "record/recording.h"
#include "record/state_cache.h"
#include "record/status.h"
#include "tests/unit/made.h"

#define SECOND SAMPLE_SECOND
#define T(n) (SAMPLE_BOOT + (n)*SECOND)

struct set {
	struct memory_sink m;
	struct writer *w;
	struct standing *s;
};

static void open_writer(struct set *t)
{
	const struct identity id = sample_identity(1);
	const struct clock_anchor start = {T(0), SAMPLE_WALL, T(0)};

	memset(&t->m, 0, sizeof(t->m));
	assert_int_equal(writer_open(&t->w, memory_sink_of(&t->m), &id, sample_probes, SAMPLE_NPROBES, &start, NULL),
			 0);
}

static int begin(void **state)
{
	struct set *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	open_writer(t);
	assert_int_equal(standing_new(&t->s, NULL), 0);
	writer_watch(t->w, standing_saw, t->s);
	*state = t;
	return 0;
}

static int finish(void **state)
{
	struct set *t = *state;

	writer_close(t->w);
	standing_free(t->s);
	bytes_free(&t->m.bytes);
	free(t);
	return 0;
}

static void emit_process(struct set *t, uint64_t at, uint32_t pid, uint64_t start, bool tracked, const char *name)
{
	const char *text[NFIELDS_process] = {0};
	uint64_t v[NFIELDS_process] = {0};

	v[F_process_at] = at;
	v[F_process_pid] = pid;
	v[F_process_start] = start;
	v[F_process_tracked] = tracked;
	v[F_process_name] = strlen(name);
	text[F_process_name] = name;
	assert_int_equal(writer_add(t->w, KIND_process, v, text, NULL), 0);
}

static void emit_executable(struct set *t, uint64_t at, uint32_t pid, uint64_t start, const char *path)
{
	const char *text[NFIELDS_executable] = {0};
	uint64_t v[NFIELDS_executable] = {0};

	v[F_executable_at] = at;
	v[F_executable_pid] = pid;
	v[F_executable_start] = start;
	v[F_executable_path] = strlen(path);
	text[F_executable_path] = path;
	assert_int_equal(writer_add(t->w, KIND_executable, v, text, NULL), 0);
}

/* How many rows are reported again in a new capture as of then. */
static uint64_t reported_again(struct set *t, uint64_t at)
{
	const struct clock_anchor anchor = {at + 1, SAMPLE_WALL, at + 1};
	const struct self_stats self = {0};
	struct set other = {0};
	uint64_t n;

	open_writer(&other);
	assert_int_equal(standing_emit(t->s, other.w, at, NULL), 0);
	assert_int_equal(writer_seal(other.w, at + 1, &anchor, &self, NULL, 0, NULL), 0);
	n = writer_nrows(other.w);
	writer_close(other.w);
	bytes_free(&other.m.bytes);
	return n;
}

static void what_was_reported_last_is_reported_again_once(void **state)
{
	struct set *t = *state;

	emit_process(t, T(0), 100, 7, true, "a");
	emit_process(t, T(1), 100, 7, true, "renamed");
	emit_executable(t, T(1), 100, 7, "/bin/a");
	assert_int_equal(fact_emit(t->w, T(0), "kernel", "6.1", NULL), 0);
	assert_int_equal(fact_emit(t->w, T(0), "kernel", "6.2", NULL), 0);
	assert_int_equal(fact_emit(t->w, T(0), "tool", "x", NULL), 0);
	assert_int_equal(standing_rows(t->s), 4);
	assert_int_equal(reported_again(t, T(2)), 4);
	assert_int_equal(reported_again(t, T(3)), 4);
}

static void what_comes_later_anyway_is_not_reported_twice(void **state)
{
	struct set *t = *state;

	assert_int_equal(fact_emit(t->w, T(0), "kernel", "6.1", NULL), 0);
	assert_int_equal(fact_emit(t->w, T(5), "late", "x", NULL), 0);
	assert_int_equal(reported_again(t, T(5)), 1);
	assert_int_equal(reported_again(t, T(6)), 2);
}

static void who_has_ended_is_forgotten_after_a_while(void **state)
{
	struct set *t = *state;

	emit_process(t, T(0), 100, 7, true, "a");
	emit_executable(t, T(0), 100, 7, "/bin/a");
	emit_process(t, T(0), 200, 8, true, "b");
	standing_ended(t->s, 100, 100, true, T(1));
	assert_int_equal(reported_again(t, T(2)), 3);
	assert_int_equal(reported_again(t, T(4)), 1);
	assert_int_equal(standing_rows(t->s), 1);
}

static void a_number_that_comes_round_is_another_process(void **state)
{
	struct set *t = *state;

	emit_process(t, T(0), 100, 7, true, "a");
	emit_executable(t, T(0), 100, 7, "/bin/a");
	standing_ended(t->s, 100, 100, true, T(0));
	emit_process(t, T(1), 100, 9, true, "c");
	assert_int_equal(reported_again(t, T(9)), 1); /* not the executable of the first */
}

static void many_short_processes_do_not_pile_up(void **state)
{
	struct set *t = *state;
	size_t most = 0;

	for (uint32_t i = 0; i < 60000; i++) {
		uint64_t at = T(0) + i * (SECOND / 200);

		emit_process(t, at, 1000 + i, at, true, "short");
		emit_executable(t, at, 1000 + i, at, "/bin/short");
		standing_ended(t->s, 1000 + i, 1000 + i, true, at + 1);
		most = standing_rows(t->s) > most ? standing_rows(t->s) : most;
	}
	assert_true(most <= 8192);
}

static void who_is_not_recorded_is_forgotten_when_gone(void **state)
{
	struct set *t = *state;

	emit_process(t, T(0), (uint32_t)getpid(), 7, false, "here");
	emit_process(t, T(0), 4194303, 7, false, "gone"); /* no process has this number */
	assert_int_equal(reported_again(t, T(1)), 1);
}

/* --- budgets --- */

static void samples_are_read(void **state)
{
	struct budget b = {0};
	struct fault why;

	(void)state;
	assert_int_equal(budget_take_sample(&b, "launch=100", &why), 0);
	assert_int_equal(b.keep[KIND_launch], 100);
	assert_int_equal(budget_take_sample(&b, "switch=2", &why), 0);
	assert_int_equal(b.keep[KIND_switch], 2);
	assert_int_equal(budget_take_sample(&b, "launch", &why), ERR_INPUT);
	assert_int_equal(budget_take_sample(&b, "launch=", &why), ERR_INPUT);
	assert_int_equal(budget_take_sample(&b, "launch=-1", &why), ERR_INPUT);
	assert_int_equal(budget_take_sample(&b, "launch=1x", &why), ERR_INPUT);
	assert_int_equal(budget_take_sample(&b, "laun=1", &why), ERR_INPUT);
	assert_int_equal(budget_take_sample(&b, "fact=2", &why), ERR_INPUT);
	assert_non_null(strstr(why.text, "launch"));
}

static void a_size_is_kept(void **state)
{
	struct budget b = {.max_bytes = 10 << 20};

	(void)state;
	assert_int_equal(budget_state(&b, 0, 1 << 20), BUDGET_FINE);
	assert_int_equal(budget_state(&b, 5 << 20, 5 << 20), BUDGET_SEAL);
	assert_int_equal(budget_state(&b, 10 << 20, 0), BUDGET_SPENT);
	b.max_bytes = 0;
	assert_int_equal(budget_state(&b, UINT64_MAX / 2, UINT64_MAX / 4), BUDGET_FINE);
}

/* --- status --- */

static void the_status_reports_rates_and_losses_over_captures(void **state)
{
	const struct counter first[] = {{1, COUNTER_fired, 110},
					{1, COUNTER_recorded, 100},
					{1, COUNTER_ring_full, 3},
					{1, COUNTER_sampled_out, 7}};
	const struct counter next[] = {{1, COUNTER_fired, 41}, {1, COUNTER_recorded, 40}, {1, COUNTER_ring_full, 1}};
	char line[STATUS_BYTES];
	struct status s;

	(void)state;
	status_begin(&s, T(0));
	status_look(&s, T(1), first, 4);
	status_line(line, &s, T(1), 2048, 0, T(61));
	assert_string_equal(line, "100 events/s, 3 lost, 7 left out, 2.00 KiB, 1m 00s left");
	status_look(&s, T(3), next, 3);
	status_line(line, &s, T(3), 2048, 4096, 0);
	assert_string_equal(line, "20 events/s, 4 lost, 7 left out, 2.00 KiB of 4.00 KiB, 3s");
}

/* --- CPUs --- */

static void write_stat(const char *path, unsigned interrupts, unsigned steal)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fprintf(f, "cpu  1 2 3 4 5 6 7 %u 0 0\ncpu0 1 2 3 4 5 6 %u %u 0 0\nintr 1 2 3\n", steal, interrupts, steal);
	fclose(f);
}

static void what_is_taken_from_a_cpu_is_reported_when_it_has_changed(void **state)
{
	char *path = made_path("stat");
	struct set *t = *state;
	struct cpus *c;
	size_t before;

	write_stat(path, 7, 5);
	assert_int_equal(cpus_new(&c, path, NULL), 0);
	before = writer_staged_bytes(t->w);
	assert_int_equal(cpus_emit(c, t->w, T(1), NULL), 0);
	assert_true(writer_staged_bytes(t->w) > before);
	before = writer_staged_bytes(t->w);
	assert_int_equal(cpus_emit(c, t->w, T(2), NULL), 0);
	assert_int_equal(writer_staged_bytes(t->w), before);
	write_stat(path, 7, 6);
	assert_int_equal(cpus_emit(c, t->w, T(3), NULL), 0);
	assert_true(writer_staged_bytes(t->w) > before);
	/* Interrupts: not each tick of 10 ms, but two, since the latest row. */
	before = writer_staged_bytes(t->w);
	write_stat(path, 8, 6);
	assert_int_equal(cpus_emit(c, t->w, T(4), NULL), 0);
	assert_int_equal(writer_staged_bytes(t->w), before);
	write_stat(path, 9, 6);
	assert_int_equal(cpus_emit(c, t->w, T(5), NULL), 0);
	assert_true(writer_staged_bytes(t->w) > before);
	before = writer_staged_bytes(t->w);
	assert_int_equal(cpus_emit(c, t->w, T(6), NULL), 0);
	assert_int_equal(writer_staged_bytes(t->w), before);
	cpus_forget(c);
	assert_int_equal(cpus_emit(c, t->w, T(7), NULL), 0);
	assert_true(writer_staged_bytes(t->w) > before);
	cpus_free(c);
	assert_int_equal(cpus_new(&c, made_path("none"), NULL), 0);
	assert_int_equal(cpus_emit(c, t->w, T(8), NULL), 0);
	cpus_free(c);
}

/* --- names of files --- */

static void captures_are_numbered(void **state)
{
	char buf[64];
	struct fault why;

	(void)state;
	assert_int_equal(rotate_path(buf, sizeof(buf), "run.cap", 1, &why), 0);
	assert_string_equal(buf, "run-00001.cap");
	assert_int_equal(rotate_path(buf, sizeof(buf), "/a/b.c/run", 99999, &why), 0);
	assert_string_equal(buf, "/a/b.c/run-99999");
	assert_int_equal(rotate_path(buf, sizeof(buf), "/a/.cap", 2, &why), 0);
	assert_string_equal(buf, "/a/.cap-00002");
	assert_int_equal(rotate_path(buf, 12, "run.cap", 1, &why), ERR_INPUT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_was_reported_last_is_reported_again_once, begin, finish),
		cmocka_unit_test_setup_teardown(what_comes_later_anyway_is_not_reported_twice, begin, finish),
		cmocka_unit_test_setup_teardown(who_has_ended_is_forgotten_after_a_while, begin, finish),
		cmocka_unit_test_setup_teardown(a_number_that_comes_round_is_another_process, begin, finish),
		cmocka_unit_test_setup_teardown(many_short_processes_do_not_pile_up, begin, finish),
		cmocka_unit_test_setup_teardown(who_is_not_recorded_is_forgotten_when_gone, begin, finish),
		cmocka_unit_test(samples_are_read),
		cmocka_unit_test(a_size_is_kept),
		cmocka_unit_test(the_status_reports_rates_and_losses_over_captures),
		cmocka_unit_test_setup_teardown(what_is_taken_from_a_cpu_is_reported_when_it_has_changed, begin, finish),
		cmocka_unit_test(captures_are_numbered),
	};

	return sodium_init() < 0 ? 1 : cmocka_run_group_tests_name("record_run", tests, NULL, made_clear);
}
