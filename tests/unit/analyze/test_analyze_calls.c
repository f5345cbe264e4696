/* SPDX-License-Identifier: Apache-2.0 */
/* What each call goes through: who made it, what is usual for it, and which rules are shown it. */
#include "analyze/stats/callers.h"
#include "tests/unit/feed.h"

#define LOCK 0x7f0000001000
#define PROBE_other_launch 77

static struct findings found;

static bool finds(struct feed *f, const char *rule, uint64_t until)
{
	struct fault why;
	bool any = false;

	feed_settle(f, until);
	assert_int_equal(engine_finish(f->engine, &found, &why), 0);
	for (size_t i = 0; i < found.n; i++)
		any = any || strcmp(found.all[i]->rule, rule) == 0;
	findings_clear(&found);
	feed_close(f);
	return any;
}

static struct event call_made(const struct schema *schema, uint64_t begin, uint64_t end, uint64_t tid, uint64_t probe)
{
	struct event ev = event_made(KIND_launch, schema_kind(schema, KIND_launch), end);

	event_set(&ev, F_call_dur, end - begin);
	event_set(&ev, F_call_tid, tid);
	event_set(&ev, F_call_probe, probe);
	return ev;
}

static void calls_count_for_their_thread_and_for_their_process(void **state)
{
	static const uint64_t begins[] = {50, 10, 90, 30}; /* in the order of their ends */
	struct callers callers = {0};
	struct caller *one, *two, *again;
	struct schema schema;
	const struct life *life;
	struct fault why;

	(void)state;
	assert_int_equal(schema_build(&schema, NULL, 0, &why), 0);
	assert_int_equal(callers_meet(&callers, 7, 1, &one, &why), 0);
	assert_int_equal(callers_meet(&callers, 8, 1, &two, &why), 0);
	for (unsigned i = 0; i < 4; i++) {
		struct event ev = call_made(&schema, begins[i], 100 + i, i % 2 ? 8 : 7, PROBE_launch);

		caller_called(i % 2 ? two : one, &ev);
	}
	life = callers_life(&callers, 1);
	assert_non_null(life);
	assert_int_equal(life->nlaunches, 4);
	assert_int_equal(life->first_launch_ns, 10);
	assert_int_equal(life->last_launch_ns, 90);
	assert_int_equal(life->launch_tid, 8);
	assert_int_equal(life->begin_ns, 10);
	assert_int_equal(life->end_ns, 103);
	assert_int_equal(one->ncalls, 2);
	assert_int_equal(two->nlaunches, 2);
	/* Another process has the number for a while. */
	assert_int_equal(callers_meet(&callers, 7, 2, &again, &why), 0);
	assert_ptr_not_equal(again, one);
	assert_ptr_equal(callers_latest(&callers, 7), again);
	assert_int_equal(again->ncalls, 0);
	assert_int_equal(callers_meet(&callers, 7, 1, &again, &why), 0);
	assert_ptr_equal(again, one);
	callers_forget(&callers, one);
	assert_null(callers_latest(&callers, 7));
	callers_clear(&callers);
	schema_clear(&schema);
}

static void gaps_are_between_the_end_of_a_call_and_the_begin_of_the_next(void **state)
{
	static const struct {
		uint64_t begin, end, ngaps; /* so many were seen up to here */
	} calls[] = {{10, 20, 0}, {15, 30, 0}, {30, 40, 1}, {100, 110, 2}};
	struct callers callers = {0};
	struct caller *caller;
	struct schema schema;
	struct fault why;

	(void)state;
	assert_int_equal(schema_build(&schema, NULL, 0, &why), 0);
	assert_int_equal(callers_meet(&callers, 7, 1, &caller, &why), 0);
	for (unsigned i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		struct event ev = call_made(&schema, calls[i].begin, calls[i].end, 7, PROBE_launch);

		caller_called(caller, &ev);
		assert_int_equal(caller->gaps->n, calls[i].ngaps);
	}
	assert_int_equal(baseline_quantile(caller->gaps, 100), 60);
	callers_clear(&callers);
	schema_clear(&schema);
}

static void what_is_nested_is_in_its_own_row_and_not_in_the_sum(void **state)
{
	struct feed f = {0};

	(void)state;
	feed_open(&f);
	feed_cast(&f, 1);
	for (unsigned i = 0; i < 3; i++) {
		uint64_t t = T0 + MS + i * MS;

		FEED(&f, KIND_launch, t, 100, 101, 0, 4 * US, PROBE_other_launch, 0, CALL_NESTED, 0x1000);
		feed_launch(&f, t - 5 * US, t + 5 * US, 101, 0);
	}
	feed_settle(&f, T0 + 10 * MS);
	assert_int_equal(engine_calls(f.engine)->total_ns, 30 * US);
	assert_int_equal(engine_calls(f.engine)->table.nitems, 2);
	feed_close(&f);
}

/* After 100 launches of 10 us, `n` by this thread that take `dur` each and sleep meanwhile, until an interrupt. */
static bool slow_launches(uint64_t tid, unsigned n, uint64_t dur)
{
	struct feed f = {0};
	uint64_t t = T0 + 10 * MS;

	feed_open(&f);
	feed_cast(&f, 2);
	feed_switch(&f, T0 + MS, 0, 0, 0, 101);
	feed_switch(&f, T0 + MS, 1, 0, 0, 102);
	for (unsigned i = 0; i < 100; i++, t += 100 * US)
		feed_launch(&f, t, t + 10 * US, 101, 0);
	for (unsigned i = 0; i < n; i++, t += 10 * MS) {
		feed_switch(&f, t + 1, tid - 101, tid, 1, 0);
		feed_waking(&f, t + dur - 3, tid - 101, tid, 0, WAKE_IRQ);
		feed_switch(&f, t + dur - 2, tid - 101, 0, 0, tid);
		feed_launch(&f, t, t + dur, tid, tid - 101);
	}
	return finds(&f, "launch-latency", t);
}

static void launches_are_slow_from_the_threshold_on(void **state)
{
	(void)state;
	assert_true(slow_launches(101, 3, MS));
	assert_false(slow_launches(101, 3, MS - 1));
}

static void the_first_launches_of_a_thread_are_not_judged(void **state)
{
	(void)state;
	assert_false(slow_launches(102, 5, 3 * MS));
	assert_true(slow_launches(102, 6, 3 * MS));
}

/* No gap before it shows that something is wrong. */
static void a_slow_call_is_shown_also_right_after_another(void **state)
{
	struct feed f = {0};
	uint64_t t = T0 + 10 * MS;

	(void)state;
	feed_open(&f);
	feed_cast(&f, 2);
	feed_switch(&f, T0 + MS, 0, 0, 0, 101);
	feed_switch(&f, T0 + MS, 1, 0, 0, 102);
	for (int i = 0; i < 200; i++, t += 11 * US) {
		if (i % 50 == 49) {
			feed_switch(&f, t + US, 0, 101, 1, 0);
			feed_waking(&f, t + 30 * MS, 1, 101, 102, 0);
			feed_switch(&f, t + 30 * MS + US, 0, 0, 0, 101);
			feed_futex(&f, t, t + 30 * MS + 2 * US, 101, 0, 0, LOCK, 0);
			feed_launch(&f, t - US, t + 30 * MS + 3 * US, 101, 0);
			t += 30 * MS;
		} else {
			feed_launch(&f, t, t + 10 * US, 101, 0);
		}
	}
	assert_true(finds(&f, "futex-stall", t + MS));
}

/* 101 launches `n` times, each `period`, and each time is kept from its CPU for `wait`. Until when that takes. */
static uint64_t launch_and_wait(struct feed *f, uint64_t t, unsigned n, uint64_t wait, uint64_t period)
{
	for (unsigned i = 0; i < n; i++, t += period) {
		feed_launch(f, t, t + 10 * US, 101, 0);
		feed_switch(f, t + MS, 0, 101, 0, 300);
		feed_switch(f, t + MS + wait, 0, 300, 0, 101);
	}
	return t;
}

static bool kept_waiting(unsigned n, uint64_t wait, uint64_t period)
{
	struct feed f = {0};
	uint64_t t = T0 + 10 * MS;

	feed_open(&f);
	feed_cast(&f, 1);
	feed_thread(&f, T0, 300, 300, T0 - MS, "hog");
	feed_switch(&f, t - MS, 0, 0, 0, 101);
	return finds(&f, "runqueue", launch_and_wait(&f, t, n, wait, period));
}

static void waits_count_from_the_threshold_on(void **state)
{
	(void)state;
	assert_true(kept_waiting(150, MS, 10 * MS));
	assert_false(kept_waiting(150, MS - 1, 10 * MS));
}

static void few_calls_make_no_thread_that_uses_the_gpu(void **state)
{
	(void)state;
	assert_false(kept_waiting(31, 10 * MS, 20 * MS));
	assert_true(kept_waiting(45, 10 * MS, 20 * MS));
}

/* Two threads, one after the other, with one number: the second one works long and hardly waits. */
static void what_an_ended_thread_had_to_wait_is_reported_though_another_has_its_number(void **state)
{
	struct feed f = {0};
	uint64_t t = T0 + 10 * MS;

	(void)state;
	feed_open(&f);
	feed_cast(&f, 1);
	feed_thread(&f, T0, 300, 300, T0 - MS, "hog");
	feed_switch(&f, t - MS, 0, 0, 0, 101);
	t = launch_and_wait(&f, t, 40, 10 * MS, 20 * MS);
	FEED(&f, KIND_exit, t, 100, 101, 0, 0);
	feed_switch(&f, t + US, 0, 101, 0x80, 0);
	feed_thread(&f, t + MS, 101, 100, t + MS, "other");
	FEED(&f, KIND_fork, t + MS, 100, 102, 100, 101);
	feed_switch(&f, t + 2 * MS, 0, 0, 0, 101);
	for (unsigned i = 0; i < 1000; i++, t += 100 * MS)
		feed_launch(&f, t + 3 * MS, t + 3 * MS + 10 * US, 101, 0);
	feed_switch(&f, t, 0, 101, 0, 300);
	feed_switch(&f, t + 2 * MS, 0, 300, 0, 101);
	FEED(&f, KIND_exit, t + 3 * MS, 100, 101, 0, 0);
	assert_true(finds(&f, "runqueue", t + 10 * MS));
}

/* 101 made calls, and nothing shows that it ended. Who has its number then, of whatever process, made none. */
static bool number_is_inherited(bool by_exit)
{
	struct feed f = {0};
	uint64_t t = T0 + 10 * MS;

	feed_open(&f);
	feed_cast(&f, 1);
	feed_thread(&f, T0, 300, 300, T0 - MS, "hog");
	for (unsigned i = 0; i < 40; i++, t += MS)
		feed_launch(&f, t, t + 10 * US, 101, 0);
	feed_process(&f, t, 200, t, true, "make");
	if (by_exit)
		FEED(&f, KIND_exit, t, 200, 101, 0, 1);
	else
		feed_thread(&f, t, 101, 200, t, "cc1");
	feed_switch(&f, t + MS, 0, 0, 0, 101);
	for (unsigned i = 0; i < 40; i++, t += 20 * MS) {
		feed_switch(&f, t + 2 * MS, 0, 101, 0, 300);
		feed_switch(&f, t + 11 * MS, 0, 300, 0, 101);
	}
	return finds(&f, "runqueue", t + 10 * MS);
}

static void who_inherits_the_number_of_a_thread_has_not_made_its_calls(void **state)
{
	(void)state;
	assert_false(number_is_inherited(true));
	assert_false(number_is_inherited(false));
}

/* Four processes, of which the last takes half as long again from launch to launch. */
static bool one_is_slower(bool ranks)
{
	struct feed f = {0};

	feed_open(&f);
	for (unsigned p = 1; p <= 4; p++) {
		struct event ev = event_made(KIND_collective, schema_kind(&f.schema, KIND_collective), T0 + MS);
		struct fault why;

		feed_process(&f, T0, p * 1000, T0 - MS, true, "rank");
		event_set(&ev, F_call_pid, p * 1000);
		event_set(&ev, F_call_tid, p * 1000);
		event_set(&ev, F_collective_rank, p - 1);
		event_set(&ev, F_collective_nranks, ranks ? 4 : 0);
		assert_int_equal(engine_feed(f.engine, &ev, &why), 0);
	}
	for (unsigned i = 0; i < 300; i++)
		for (unsigned p = 1; p <= 4; p++)
			FEED(&f, KIND_launch, T0 + 20 * MS + i * (p == 4 ? 1500 : 1000) * US + p * US, p * 1000,
			     p * 1000, 0, 5 * US, PROBE_launch, 0, 0, 0x1000);
	return finds(&f, "straggler", T0 + 1000 * MS);
}

static void ranks_are_not_compared_by_their_pace(void **state)
{
	(void)state;
	assert_true(one_is_slower(false));
	assert_false(one_is_slower(true));
}

/* What takes 12 ms by one way and 10 us by the other is usual for either. */
static bool launches_by(uint64_t probe)
{
	struct feed f = {0};
	uint64_t t = T0 + 10 * MS;

	feed_open(&f);
	feed_cast(&f, 1);
	feed_switch(&f, T0 + MS, 0, 0, 0, 101);
	for (int i = 0; i < 100; i++, t += 20 * MS)
		feed_launch(&f, t, t + 10 * US, 101, 0);
	for (int i = 0; i < 30; i++, t += 20 * MS)
		FEED(&f, KIND_launch, t + 12 * MS, 100, 101, 0, 12 * MS, probe, 0, 0, 0x1000);
	return finds(&f, "launch-latency", t);
}

static void what_is_usual_is_known_of_each_way_to_launch(void **state)
{
	(void)state;
	assert_true(launches_by(PROBE_launch));
	assert_false(launches_by(PROBE_other_launch));
}

/* Something allocates on the inside; what it got is freed by another thread as soon as it has returned. */
static void an_allocation_inside_another_call_is_there_when_that_returns(void **state)
{
	struct feed f = {0};
	uint64_t t = T0 + 10 * MS;

	(void)state;
	feed_open(&f);
	feed_cast(&f, 2);
	for (uint64_t i = 0; i < 100; i++, t += 50 * MS) {
		struct event ev = event_made(KIND_alloc, schema_kind(&f.schema, KIND_alloc), t);
		struct fault why;

		event_set(&ev, F_call_pid, 100);
		event_set(&ev, F_call_tid, 101);
		event_set(&ev, F_call_dur, 5 * US);
		event_set(&ev, F_call_probe, PROBE_alloc);
		event_set(&ev, F_call_flags, CALL_NESTED);
		event_set(&ev, F_alloc_addr, 0x1000 * (i + 1));
		event_set(&ev, F_alloc_bytes, 1 << 20);
		assert_int_equal(engine_feed(f.engine, &ev, &why), 0);
		feed_call(&f, KIND_wait, t - 10 * US, t + 10 * US, 101, 0);
		FEED(&f, KIND_free, t + MS, 100, 102, 1, 5 * US, PROBE_free, 0, 0, 0x1000 * (i + 1));
	}
	assert_false(finds(&f, "alloc-leak", t));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_count_for_their_thread_and_for_their_process),
		cmocka_unit_test(gaps_are_between_the_end_of_a_call_and_the_begin_of_the_next),
		cmocka_unit_test(what_is_nested_is_in_its_own_row_and_not_in_the_sum),
		cmocka_unit_test(launches_are_slow_from_the_threshold_on),
		cmocka_unit_test(the_first_launches_of_a_thread_are_not_judged),
		cmocka_unit_test(waits_count_from_the_threshold_on),
		cmocka_unit_test(a_slow_call_is_shown_also_right_after_another),
		cmocka_unit_test(few_calls_make_no_thread_that_uses_the_gpu),
		cmocka_unit_test(what_an_ended_thread_had_to_wait_is_reported_though_another_has_its_number),
		cmocka_unit_test(who_inherits_the_number_of_a_thread_has_not_made_its_calls),
		cmocka_unit_test(ranks_are_not_compared_by_their_pace),
		cmocka_unit_test(what_is_usual_is_known_of_each_way_to_launch),
		cmocka_unit_test(an_allocation_inside_another_call_is_there_when_that_returns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
