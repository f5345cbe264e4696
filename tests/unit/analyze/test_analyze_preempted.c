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

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_pinned_thread_was_preempted_whoever_was_idle),
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
