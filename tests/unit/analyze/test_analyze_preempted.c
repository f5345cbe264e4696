/* SPDX-License-Identifier: Apache-2.0 */
/* Who took whose CPU: claimed only where it was so, and how sure that is. */
#include "tests/unit/splits.h"

#define S 1 /* asleep, interruptible */

static void feed_left(struct feed *f, uint64_t at, uint64_t cpu, uint64_t prev, uint64_t next, uint64_t flags)
{
	FEED(f, KIND_switch, at, cpu, prev, 0, next, 0, flags);
}

/* 101 left CPU 1 at 4 ms to `next`, ran again at 14 ms on `cpu`, which `prev` had; CPU 0 was idle unless it ran there.
 */
static struct cause cause_of_wait(struct feed *f, uint64_t next, uint64_t flags, uint64_t cpu, uint64_t prev)
{
	feed_launch(f, T0 + 1 * MS, T0 + 2 * MS, 101, 1);
	if (cpu)
		feed_switch(f, T0 + 2 * MS, 0, 105, S, 0);
	feed_left(f, T0 + 4 * MS, 1, 101, next, flags);
	feed_switch(f, T0 + 14 * MS, cpu, prev, S, 101);
	feed_launch(f, T0 + 3 * MS, T0 + 15 * MS, 101, cpu);
	return cause_of(f, 101, T0 + 3 * MS, T0 + 15 * MS);
}

static void a_pinned_thread_was_preempted_whoever_was_idle(void **state)
{
	struct cause c = cause_of_wait(*state, 103, SWITCH_PINNED, 1, 103);
	const struct part *p = split_longest(&c.links[0], CAUSE_RUNNABLE);

	assert_true(p->flags & SPAN_PREEMPTED);
	assert_int_equal(p->tid, 103);
	assert_int_equal(p->ns, 10 * MS);
	assert_int_equal(p->idle_cpu, 0);
	assert_true(cause_is_proven(&c));
}

/* 101 may run on these from 1 ms on, and CPU 0 is idle beside the CPU 1 on which it waits. */
static struct cause cause_of_bound(struct feed *f, const char *cpus, uint64_t flags)
{
	const uint64_t v[] = {T0 + 1 * MS, 100, 101};

	feed_named(f, KIND_scheduling, v, 3, F_scheduling_cpus, cpus);
	return cause_of_wait(f, 103, flags, 1, 103);
}

static void an_idle_cpu_on_which_it_may_not_run_is_no_matter(void **state)
{
	struct cause c = cause_of_bound(*state, "1-3", 0);
	const struct part *p = split_longest(&c.links[0], CAUSE_RUNNABLE);

	assert_int_equal(p->idle_cpu, 0 + 1);
	assert_true(p->idle_barred);
	assert_true(cause_is_proven(&c));
}

static void an_idle_cpu_on_which_it_may_run_is_one(void **state)
{
	struct cause c = cause_of_bound(*state, "0-3", 0);
	const struct part *p = split_longest(&c.links[0], CAUSE_RUNNABLE);

	assert_int_equal(p->idle_cpu, 0 + 1);
	assert_false(p->idle_barred);
	assert_false(cause_is_proven(&c));
}

static void one_on_which_it_may_run_comes_first(void **state)
{
	struct feed *f = *state;
	struct cause c;

	feed_switch(f, T0 + 1 * MS, 0, 105, S, 0);
	feed_switch(f, T0 + 1 * MS, 2, 106, S, 0);
	c = cause_of_bound(f, "1-2", 0);
	assert_int_equal(split_longest(&c.links[0], CAUSE_RUNNABLE)->idle_cpu, 2 + 1);
	assert_false(split_longest(&c.links[0], CAUSE_RUNNABLE)->idle_barred);
	assert_false(cause_is_proven(&c));
}

/* The row may be of an earlier time, or the kernel kept it there for a moment. */
static void a_pinned_thread_is_so_whatever_else_is_known(void **state)
{
	struct cause c = cause_of_bound(*state, "0-3", SWITCH_PINNED);

	assert_int_equal(split_longest(&c.links[0], CAUSE_RUNNABLE)->idle_cpu, 0);
	assert_true(cause_is_proven(&c));
}

static void of_a_pinned_thread_an_idle_cpu_is_named_where_it_may_not_run(void **state)
{
	struct cause c = cause_of_bound(*state, "1", SWITCH_PINNED);

	assert_int_equal(split_longest(&c.links[0], CAUSE_RUNNABLE)->idle_cpu, 0 + 1);
	assert_true(split_longest(&c.links[0], CAUSE_RUNNABLE)->idle_barred);
	assert_true(cause_is_proven(&c));
}

static void beside_an_idle_cpu_nothing_is_proven(void **state)
{
	struct cause c = cause_of_wait(*state, 103, 0, 1, 103);
	const struct part *p = split_longest(&c.links[0], CAUSE_RUNNABLE);

	assert_true(p->flags & SPAN_PREEMPTED);
	assert_int_equal(p->idle_cpu, 0 + 1);
	assert_false(cause_is_proven(&c));
}

static void a_cpu_that_was_idle_for_less_than_half_of_it_is_no_matter(void **state)
{
	struct feed *f = *state;
	struct cause c;

	feed_launch(f, T0 + 1 * MS, T0 + 2 * MS, 101, 1);
	feed_switch(f, T0 + 2 * MS, 0, 105, S, 106);
	feed_left(f, T0 + 4 * MS, 1, 101, 103, 0);
	feed_switch(f, T0 + 10 * MS, 0, 106, S, 0);
	feed_switch(f, T0 + 14 * MS, 1, 103, S, 101);
	feed_launch(f, T0 + 3 * MS, T0 + 15 * MS, 101, 1);
	c = cause_of(f, 101, T0 + 3 * MS, T0 + 15 * MS);
	assert_true(cause_is_proven(&c));
}

static void a_thread_that_is_moved_waits_for_who_has_its_next_cpu(void **state)
{
	struct feed *f = *state;
	const struct part *p;
	struct cause c;

	feed_switch(f, T0 + 2 * MS, 0, 0, S, 107);
	c = cause_of_wait(f, 106, SWITCH_MOVED, 0, 107); /* 106 is migration/1 */
	p = split_longest(&c.links[0], CAUSE_RUNNABLE);
	assert_false(p->flags & SPAN_PREEMPTED);
	assert_int_equal(p->cpu, 0);
	assert_int_equal(p->tid, 107);
}

static void a_thread_that_gives_its_cpu_up_was_not_preempted(void **state)
{
	struct cause c = cause_of_wait(*state, 103, SWITCH_YIELDED | SWITCH_PINNED, 1, 103);
	const struct part *p = split_longest(&c.links[0], CAUSE_RUNNABLE);

	assert_false(p->flags & SPAN_PREEMPTED);
	assert_true(p->flags & SPAN_YIELDED);
	assert_int_equal(p->ns, 10 * MS);
}

static void nobody_preempts_for_the_idle_task(void **state)
{
	struct cause c = cause_of_wait(*state, 0, SWITCH_PINNED, 1, 0);

	assert_false(split_longest(&c.links[0], CAUSE_RUNNABLE)->flags & SPAN_PREEMPTED);
}

static void who_runs_next_on_a_busy_cpu_may_have_waited_there(void **state)
{
	struct feed *f = *state;
	const struct part *p;
	struct cause c;

	feed_switch(f, T0 + 2 * MS, 0, 0, S, 107);
	c = cause_of_wait(f, 103, 0, 0, 107);
	p = split_longest(&c.links[0], CAUSE_RUNNABLE);
	assert_true(p->likely);
	assert_false(cause_is_proven(&c));
}

static void an_idle_cpu_that_pulls_it_proves_that_it_waited_for_the_other_till_then(void **state)
{
	struct feed *f = *state;
	struct cause c;

	feed_switch(f, T0 + 2 * MS, 0, 0, S, 107);
	feed_switch(f, T0 + 13 * MS, 0, 107, S, 0);
	c = cause_of_wait(f, 103, 0, 0, 0);
	assert_int_equal(split_longest(&c.links[0], CAUSE_RUNNABLE)->tid, 103);
	assert_true(cause_is_proven(&c));
}

static void a_quota_without_an_account_proves_nothing(void **state)
{
	struct cause c = cause_of_wait(*state, 103, SWITCH_THROTTLED, 1, 103);

	assert_int_equal(c.links[0].ns[CAUSE_QUOTA], 10 * MS);
	assert_false(cause_is_proven(&c));
}

/*
 * 101 went to sleep on CPU 1 at 3 ms, which 103 got and 104 after it, without a row; it was woken at 6 ms, and 105 got
 * the CPU at 14 ms. At 16 ms it ran, on CPU 1, that `prev` had, having waited for CPU `queue` - 1.
 */
static struct cause cause_of_wakeup(struct feed *f, uint64_t prev, uint64_t queue)
{
	feed_switch(f, T0, 2, 110, S, 106);
	feed_launch(f, T0 + 1 * MS, T0 + 2 * MS, 101, 1);
	feed_switch(f, T0 + 3 * MS, 1, 101, S, 103);
	feed_waking(f, T0 + 6 * MS, 0, 101, 102, WAKE_TASK);
	feed_switch(f, T0 + 14 * MS, 1, 104, S, prev);
	FEED(f, KIND_switch, T0 + 16 * MS, 1, prev, S, 101, 0, 0, queue);
	feed_launch(f, T0 + 3 * MS, T0 + 17 * MS, 101, 1);
	return cause_of(f, 101, T0 + 3 * MS, T0 + 17 * MS);
}

/* What it waited for who had the CPU it waited for. */
static const struct part *behind(const struct cause *c, uint32_t tid)
{
	for (unsigned i = 0; i < c->links[0].nparts; i++)
		if (c->links[0].parts[i].class == CAUSE_RUNNABLE && c->links[0].parts[i].tid == tid)
			return &c->links[0].parts[i];
	return NULL;
}

static void who_had_the_cpu_of_a_woken_thread_is_known(void **state)
{
	struct cause c = cause_of_wakeup(*state, 105, 1 + 1);

	assert_null(behind(&c, 103));
	assert_non_null(behind(&c, 104));
	assert_int_equal(behind(&c, 104)->ns, 8 * MS);
	assert_false(behind(&c, 104)->likely);
	assert_non_null(behind(&c, 105));
	assert_int_equal(behind(&c, 105)->ns, 2 * MS);
	assert_false(behind(&c, 105)->likely);
}

static void a_missing_row_leaves_it_likely(void **state)
{
	struct feed *f = *state;
	struct cause c;

	feed_launch(f, T0 + 1 * MS, T0 + 2 * MS, 101, 1);
	feed_switch(f, T0 + 3 * MS, 1, 101, S, 103);
	feed_waking(f, T0 + 6 * MS, 0, 101, 102, WAKE_TASK);
	feed_switch(f, T0 + 10 * MS, 1, 104, S, 105);
	FEED(f, KIND_switch, T0 + 16 * MS, 1, 107, S, 101, 0, 0, 1 + 1);
	feed_launch(f, T0 + 3 * MS, T0 + 17 * MS, 101, 1);
	c = cause_of(f, 101, T0 + 3 * MS, T0 + 17 * MS);
	assert_non_null(behind(&c, 104));
	assert_false(behind(&c, 104)->likely);
	assert_non_null(behind(&c, 107));
	assert_true(behind(&c, 107)->likely);
}

/* A recorder that does not follow that. */
static void without_the_queue_it_is_likely_only(void **state)
{
	struct cause c = cause_of_wakeup(*state, 105, 0);

	assert_non_null(behind(&c, 104));
	assert_true(behind(&c, 104)->likely);
}

/* Until CPU 1 was idle, and took it, it waited for CPU 2. */
static void one_that_is_pulled_waited_for_the_other_cpu(void **state)
{
	struct cause c = cause_of_wakeup(*state, 0, 2 + 1);

	assert_null(behind(&c, 104));
	assert_non_null(behind(&c, 106));
	assert_int_equal(behind(&c, 106)->ns, 10 * MS);
	assert_false(behind(&c, 106)->likely);
}

/* It may have waited for either. */
static void one_that_is_moved_may_have_waited_for_either(void **state)
{
	struct cause c = cause_of_wakeup(*state, 105, 2 + 1);

	assert_non_null(behind(&c, 106));
	assert_true(behind(&c, 106)->likely);
	assert_false(cause_is_proven(&c));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(who_had_the_cpu_of_a_woken_thread_is_known),
		TEST(a_missing_row_leaves_it_likely),
		TEST(without_the_queue_it_is_likely_only),
		TEST(one_that_is_pulled_waited_for_the_other_cpu),
		TEST(one_that_is_moved_may_have_waited_for_either),
		TEST(a_pinned_thread_was_preempted_whoever_was_idle),
		TEST(an_idle_cpu_on_which_it_may_not_run_is_no_matter),
		TEST(an_idle_cpu_on_which_it_may_run_is_one),
		TEST(one_on_which_it_may_run_comes_first),
		TEST(a_pinned_thread_is_so_whatever_else_is_known),
		TEST(of_a_pinned_thread_an_idle_cpu_is_named_where_it_may_not_run),
		TEST(beside_an_idle_cpu_nothing_is_proven),
		TEST(a_cpu_that_was_idle_for_less_than_half_of_it_is_no_matter),
		TEST(a_thread_that_is_moved_waits_for_who_has_its_next_cpu),
		TEST(a_thread_that_gives_its_cpu_up_was_not_preempted),
		TEST(nobody_preempts_for_the_idle_task),
		TEST(who_runs_next_on_a_busy_cpu_may_have_waited_there),
		TEST(an_idle_cpu_that_pulls_it_proves_that_it_waited_for_the_other_till_then),
		TEST(a_quota_without_an_account_proves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
