/* SPDX-License-Identifier: Apache-2.0 */
/* Thread numbers are reused, exit rows get lost, calls are slow or span the run: who did what stays right. */
#include "tests/unit/feed.h"

static struct findings found;

static void judge(struct feed *f)
{
	struct fault why;

	assert_int_equal(engine_finish(f->engine, &found, &why), 0);
}

static void done(struct feed *f)
{
	findings_clear(&found);
	feed_close(f);
}

/* The nth finding of a rule; NULL: there are not so many. */
static const struct finding *finding_of(const char *rule, unsigned nth)
{
	for (size_t i = 0; i < found.n; i++)
		if (strcmp(found.all[i]->rule, rule) == 0 && nth-- == 0)
			return found.all[i];
	return NULL;
}

static uint64_t fact(const struct finding *f, const char *key)
{
	for (unsigned i = 0; i < f->nfacts; i++)
		if (strcmp(f->facts[i].key, key) == 0)
			return f->facts[i].number;
	fail_msg("no fact %s", key);
	return 0;
}

static void a_threads_time_is_counted_on_when_another_has_its_number(void **state)
{
	struct feed f = {0};
	uint64_t t = T0 + 10 * MS;

	(void)state;
	feed_open(&f);
	feed_cast(&f, 1);
	for (int i = 0; i < 200; i++, t += 5 * MS) {
		feed_launch(&f, t, t + 10 * US, 101, 0);
		feed_call(&f, KIND_wait, t + 20 * US, t + 2 * MS, 101, 0);
	}
	FEED(&f, KIND_exit, t, 100, 101, 0, 0);
	t += MS;
	feed_thread(&f, t, 101, 100, t, "other");
	FEED(&f, KIND_fork, t, 100, 102, 100, 101);
	t += MS;
	feed_launch(&f, t, t + 10 * US, 101, 0);
	feed_call(&f, KIND_wait, t + 20 * US, t + 30 * US, 101, 0);
	feed_settle(&f, t + 10 * MS);
	judge(&f);
	assert_non_null(finding_of("sync-stall", 0));
	assert_int_equal(fact(finding_of("sync-stall", 0), "threads_ns"), 199 * 5 * MS + 2 * MS + 30 * US);
	done(&f);
}

/* 101 of process 100 launches and is kept from its CPU; then a shell of process 200 has its number. */
static uint64_t starve(struct feed *f, bool exits)
{
	uint64_t t = T0 + 10 * MS;

	feed_cast(f, 1);
	feed_thread(f, T0, 300, 300, T0 - MS, "hog");
	feed_switch(f, t - MS, 0, 0, 0, 101);
	for (int i = 0; i < 40; i++, t += 20 * MS) {
		feed_launch(f, t, t + 10 * US, 101, 0);
		feed_switch(f, t + MS, 0, 101, 0, 300);
		feed_switch(f, t + 11 * MS, 0, 300, 0, 101);
	}
	if (exits) {
		FEED(f, KIND_exit, t, 100, 101, 0, 1);
		feed_switch(f, t + US, 0, 101, 0x80, 0);
	}
	t += MS;
	feed_process(f, t, 200, t, true, "make");
	feed_thread(f, t, 101, 200, t, "bash");
	return T0 + 2000 * MS;
}

static void a_finding_names_the_thread_that_it_is_about(void **state)
{
	struct feed f = {0};
	const struct finding *finding;

	(void)state;
	feed_open(&f);
	feed_settle(&f, starve(&f, true));
	judge(&f);
	finding = finding_of("runqueue", 0);
	assert_non_null(finding);
	assert_non_null(strstr(text_string(&finding->headline), "t1"));
	assert_null(strstr(text_string(&finding->headline), "bash"));
	done(&f);
}

static void processes_are_reported_apart_though_an_exit_row_was_lost(void **state)
{
	struct feed f = {0};
	uint64_t t;

	(void)state;
	feed_open(&f);
	t = starve(&f, false);
	feed_switch(&f, t, 0, 0, 0, 101);
	for (int i = 0; i < 40; i++, t += 20 * MS) {
		FEED(&f, KIND_launch, t + 10 * US, 200, 101, 0, 10 * US, PROBE_launch, 0, 0, 0x1000);
		feed_switch(&f, t + MS, 0, 101, 0, 300);
		feed_switch(&f, t + 11 * MS, 0, 300, 0, 101);
	}
	feed_settle(&f, t + 10 * MS);
	judge(&f);
	assert_non_null(finding_of("runqueue", 1));
	assert_null(finding_of("runqueue", 2));
	assert_int_not_equal(finding_of("runqueue", 0)->process, finding_of("runqueue", 1)->process);
	done(&f);
}

static void one_launch_that_spans_the_run_makes_no_straggler(void **state)
{
	struct feed f = {0};

	(void)state;
	feed_open(&f);
	for (unsigned p = 1; p <= 4; p++)
		feed_process(&f, T0, p * 1000, T0 - MS, true, "rank");
	for (unsigned i = 0; i < 300; i++)
		for (unsigned p = 1; p <= 4; p++)
			FEED(&f, KIND_launch, T0 + 20 * MS + i * MS + p * US, p * 1000, p * 1000 + 1, 0, 5 * US,
			     PROBE_launch, 0, 0, 0x1000);
	FEED(&f, KIND_launch, T0 + 400 * MS, 4000, 4002, 1, 390 * MS, PROBE_launch, 0, 0, 0x1000);
	feed_settle(&f, T0 + 410 * MS);
	judge(&f);
	assert_null(finding_of("straggler", 0));
	done(&f);
}

/* Only slow calls carry a stack. */
static void a_copy_that_was_slow_counts_with_the_others(void **state)
{
	struct feed f = {0};
	uint64_t t = T0 + 10 * MS;

	(void)state;
	feed_open(&f);
	feed_cast(&f, 1);
	for (uint64_t i = 0; i < 100; i++, t += 5 * MS)
		FEED(&f, KIND_copy, t, 100, 101, 0, 100 * US, PROBE_copy, 0, 0, 0x1000, 0x7000, 1 << 20, 1, 0, 0, 0, 1,
		     i == 50 ? 7 : 0);
	feed_settle(&f, t);
	judge(&f);
	assert_non_null(finding_of("memcpy-pageable", 0));
	assert_null(finding_of("memcpy-pageable", 1));
	assert_int_equal(fact(finding_of("memcpy-pageable", 0), "bytes"), 100 << 20);
	done(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_threads_time_is_counted_on_when_another_has_its_number),
		cmocka_unit_test(a_finding_names_the_thread_that_it_is_about),
		cmocka_unit_test(processes_are_reported_apart_though_an_exit_row_was_lost),
		cmocka_unit_test(a_copy_that_was_slow_counts_with_the_others),
		cmocka_unit_test(one_launch_that_spans_the_run_makes_no_straggler),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
