/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that a CPU quota kept from running: whose time that is, and which control group's quota; and which group is
 * at its limit of memory.
 */
#include "tests/unit/splits.h"

#define S 1 /* asleep, interruptible */

static void feed_throttled(struct feed *f, uint64_t at, uint64_t tid, uint64_t cpu, uint64_t wait)
{
	FEED(f, KIND_throttled, at, 100, tid, cpu, wait);
}

static void feed_out_of_quota(struct feed *f, uint64_t at, uint64_t cpu, uint64_t prev, uint64_t next)
{
	FEED(f, KIND_switch, at, cpu, prev, 0, next, 0, SWITCH_THROTTLED);
}

static void a_throttled_thread_waits_for_its_quota_and_then_for_a_cpu(void **state)
{
	struct feed *f = *state;
	const struct part *p;
	struct cause c;

	feed_launch(f, T0 + 1 * MS, T0 + 2 * MS, 101, 1);
	feed_out_of_quota(f, T0 + 4 * MS, 1, 101, 103);
	feed_throttled(f, T0 + 74 * MS, 101, 1, 60 * MS);
	feed_switch(f, T0 + 74 * MS, 1, 103, 0, 101);
	feed_launch(f, T0 + 3 * MS, T0 + 75 * MS, 101, 1);
	c = cause_of(f, 101, T0 + 3 * MS, T0 + 75 * MS);
	check_ns(&c.links[0], 2 * MS, 10 * MS, 0, 0, 0);
	assert_int_equal(c.links[0].ns[CAUSE_QUOTA], 60 * MS);
	assert_int_equal(c.end, CHAIN_QUOTA);
	/* Nobody is to blame for the first, and nobody preempted it. */
	p = split_longest(&c.links[0], CAUSE_QUOTA);
	assert_int_equal(p->tid, TID_NONE);
	assert_true(p->flags & SPAN_TIMED);
	p = split_longest(&c.links[0], CAUSE_RUNNABLE);
	assert_int_equal(p->tid, 103);
	assert_false(p->flags & SPAN_PREEMPTED);
}

static void without_an_account_all_of_it_may_be_the_quotas(void **state)
{
	struct feed *f = *state;
	const struct part *p;
	struct cause c;

	feed_launch(f, T0 + 1 * MS, T0 + 2 * MS, 101, 1);
	feed_out_of_quota(f, T0 + 4 * MS, 1, 101, 103);
	feed_switch(f, T0 + 74 * MS, 1, 103, 0, 101);
	feed_launch(f, T0 + 3 * MS, T0 + 75 * MS, 101, 1);
	c = cause_of(f, 101, T0 + 3 * MS, T0 + 75 * MS);
	check_ns(&c.links[0], 2 * MS, 0, 0, 0, 0);
	p = split_longest(&c.links[0], CAUSE_QUOTA);
	assert_int_equal(p->ns, 70 * MS);
	assert_int_equal(p->tid, TID_NONE);
	assert_false(p->flags & SPAN_TIMED);
}

/* Before Linux 6.18 a thread may be woken in a queue that is throttled. */
static void a_thread_that_was_woken_is_throttled_from_then_on(void **state)
{
	struct feed *f = *state;
	struct cause c;

	feed_launch(f, T0 + 1 * MS, T0 + 2 * MS, 101, 1);
	feed_switch(f, T0 + 4 * MS, 1, 101, S, 0);
	feed_waking(f, T0 + 10 * MS, 0, 101, 102, WAKE_TASK);
	feed_throttled(f, T0 + 41 * MS, 101, 1, 30 * MS);
	feed_switch(f, T0 + 42 * MS, 1, 0, 0, 101);
	feed_launch(f, T0 + 3 * MS, T0 + 43 * MS, 101, 1);
	c = cause_of(f, 101, T0 + 3 * MS, T0 + 43 * MS);
	check_ns(&c.links[0], 2 * MS, 2 * MS, 0, 6 * MS, 0);
	assert_int_equal(c.links[0].ns[CAUSE_QUOTA], 30 * MS);
}

/* Whatever a row claims, there is no more of it than the thread was ready to run, and none while it ran or slept. */
static void a_throttled_row_is_bounded_by_the_time_that_the_thread_was_ready(void **state)
{
	struct feed *f = *state;
	struct cause c;

	feed_launch(f, T0 + 1 * MS, T0 + 2 * MS, 101, 1);
	feed_throttled(f, T0 + 3 * MS, 101, 1, 1 * MS);
	feed_out_of_quota(f, T0 + 4 * MS, 1, 101, 0);
	feed_throttled(f, T0 + 9 * MS, 101, 1, UINT64_MAX);
	feed_switch(f, T0 + 10 * MS, 1, 0, 0, 101);
	feed_switch(f, T0 + 12 * MS, 1, 101, S, 0);
	feed_throttled(f, T0 + 13 * MS, 101, 1, 7 * MS);
	feed_waking(f, T0 + 14 * MS, 0, 101, 102, WAKE_TASK);
	feed_switch(f, T0 + 14 * MS, 1, 0, 0, 101);
	feed_launch(f, T0 + 3 * MS, T0 + 15 * MS, 101, 1);
	c = cause_of(f, 101, T0 + 3 * MS, T0 + 15 * MS);
	check_ns(&c.links[0], 4 * MS, 1 * MS, 0, 2 * MS, 0);
	assert_int_equal(c.links[0].ns[CAUSE_QUOTA], 5 * MS);
}

static void a_waker_out_of_quota_ends_the_chain(void **state)
{
	struct feed *f = *state;
	struct cause c;

	feed_launch(f, T0 + 1 * MS, T0 + 2 * MS, 101, 0);
	feed_launch(f, T0 + 1 * MS, T0 + 2 * MS, 102, 1);
	feed_out_of_quota(f, T0 + 4 * MS, 1, 102, 0);
	feed_switch(f, T0 + 5 * MS, 0, 101, S, 0);
	feed_throttled(f, T0 + 60 * MS, 102, 1, 56 * MS);
	feed_switch(f, T0 + 60 * MS, 1, 0, 0, 102);
	feed_waking(f, T0 + 61 * MS, 1, 101, 102, WAKE_TASK);
	feed_switch(f, T0 + 61 * MS, 0, 0, 0, 101);
	feed_launch(f, T0 + 3 * MS, T0 + 62 * MS, 101, 0);
	c = cause_of(f, 101, T0 + 3 * MS, T0 + 62 * MS);
	assert_int_equal(c.nlinks, 2);
	assert_int_equal(c.end, CHAIN_QUOTA);
	assert_int_equal(c.links[1].ns[CAUSE_QUOTA], 55 * MS);
}

static void feed_group(struct feed *f, uint64_t pid, const char *cpu)
{
	const uint64_t v[] = {T0, pid, T0 - MS, 0, 0};

	feed_named(f, KIND_cgroup, v, 5, F_cgroup_cpu, cpu);
}

static void feed_quota(struct feed *f, const char *path, uint64_t quota, uint64_t throttled)
{
	const uint64_t v[] = {T0, quota, 100 * MS, 7, 3, throttled};

	feed_named(f, KIND_quota, v, 6, F_quota_path, path);
}

static const char *bound_of(const struct feed *f)
{
	const struct control_group *g = names_quota_of(engine_context(f->engine)->names, 101);

	return g ? g->path : "none";
}

static void the_group_that_was_throttled_most_is_named(void **state)
{
	struct feed *f = *state;

	assert_string_equal(bound_of(f), "none");
	feed_group(f, 100, "/a/b/c");
	assert_string_equal(bound_of(f), "none");
	feed_quota(f, "/a", 80 * MS, 5 * MS);
	feed_quota(f, "/a/b", 40 * MS, 900 * MS);
	feed_quota(f, "/a/bc", 1 * MS, 0);
	feed_quota(f, "/a/b/c/d", 1 * MS, 0);
	assert_string_equal(bound_of(f), "/a/b"); /* the tightest, as long as none was throttled here */
	feed_quota(f, "/a", 80 * MS, 6 * MS);
	assert_string_equal(bound_of(f), "/a");
	feed_quota(f, "/a/b", 40 * MS, 902 * MS);
	assert_string_equal(bound_of(f), "/a/b");
}

static void a_process_that_is_moved_has_the_quota_of_its_new_group(void **state)
{
	struct feed *f = *state;

	feed_quota(f, "/a", 80 * MS, 0);
	feed_quota(f, "/b", 90 * MS, 0);
	feed_group(f, 100, "/a");
	assert_string_equal(bound_of(f), "/a");
	feed_group(f, 100, "/b");
	assert_string_equal(bound_of(f), "/b");
	feed_group(f, 100, "/c");
	assert_string_equal(bound_of(f), "none");
}

static void a_quota_that_was_taken_away_is_still_reported_as_it_was(void **state)
{
	struct text t = {0};
	struct feed *f = *state;

	feed_group(f, 100, "/a\n");
	feed_quota(f, "/a\n", 30 * MS, 0);
	feed_quota(f, "/a\n", 0, 5 * MS);
	text_add_quota(&t, names_quota_of(engine_context(f->engine)->names, 101));
	assert_string_equal(text_string(&t), " (30.0 ms of 100 ms) of cgroup /a\\x0a");
	text_clear(&t);
}

static void feed_memory_group(struct feed *f, const char *memory)
{
	const uint64_t v[] = {T0, 100, T0 - MS, 0, 0, 0};

	feed_named(f, KIND_cgroup, v, 6, F_cgroup_memory_group, memory);
}

static void feed_memory(struct feed *f, const char *path, uint64_t high, uint64_t max)
{
	uint64_t v[NFIELDS_memory_limit] = {T0, 64 << 20, 48 << 20};

	v[F_memory_limit_times_high] = high;
	v[F_memory_limit_times_max] = max;
	feed_named(f, KIND_memory_limit, v, F_memory_limit_path, F_memory_limit_path, path);
}

static const char *short_of(const struct feed *f)
{
	const struct control_group *g = names_memory_of(engine_context(f->engine)->names, 101);

	return g ? g->path : "none";
}

static void the_group_that_is_at_its_limit_of_memory_most_often_is_named(void **state)
{
	struct feed *f = *state;
	struct text t = {0};

	assert_string_equal(short_of(f), "none");
	feed_memory_group(f, "/a/b");
	feed_memory(f, "/", 0, 5);
	feed_memory(f, "/a", 0, 5);
	feed_memory(f, "/a/b", 70, 0);
	feed_memory(f, "/a/bc", 0, 0);
	assert_string_equal(short_of(f), "none"); /* all of that was before */
	feed_memory(f, "/", 0, 500);
	feed_memory(f, "/a/bc", 0, 900);
	assert_string_equal(short_of(f), "none");
	feed_memory(f, "/a/b", 73, 1);
	assert_string_equal(short_of(f), "/a/b");
	text_add_memory_limit(&t, names_memory_of(engine_context(f->engine)->names, 101));
	assert_string_equal(text_string(&t), "control group /a/b is above its memory.high of 48.0 MiB");
	text_clear(&t);
	feed_memory(f, "/a", 0, 10);
	assert_string_equal(short_of(f), "/a");
	text_add_memory_limit(&t, names_memory_of(engine_context(f->engine)->names, 101));
	assert_string_equal(text_string(&t), "control group /a is at its memory limit of 64.0 MiB");
	text_clear(&t);
	assert_string_equal(control_groups_host(&engine_context(f->engine)->names->control_groups)->path, "/");
}

static void a_limit_of_memory_that_was_taken_away_is_still_reported_as_it_was(void **state)
{
	uint64_t v[NFIELDS_memory_limit] = {T0};
	struct feed *f = *state;
	struct text t = {0};

	feed_memory_group(f, "/a");
	feed_memory(f, "/a", 0, 5);
	feed_memory(f, "/a", 0, 9);
	v[F_memory_limit_times_max] = 9;
	feed_named(f, KIND_memory_limit, v, F_memory_limit_path, F_memory_limit_path, "/a");
	text_add_memory_limit(&t, names_memory_of(engine_context(f->engine)->names, 101));
	assert_string_equal(text_string(&t), "control group /a is at its memory limit of 64.0 MiB");
	text_clear(&t);
}

/* Its own limits are the host's. */
static void a_process_in_the_root_group_has_the_host_alone(void **state)
{
	struct feed *f = *state;

	feed_memory_group(f, "/");
	feed_memory(f, "/", 0, 5);
	feed_memory(f, "/", 0, 9);
	assert_string_equal(short_of(f), "none");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_throttled_thread_waits_for_its_quota_and_then_for_a_cpu),
		TEST(without_an_account_all_of_it_may_be_the_quotas),
		TEST(a_thread_that_was_woken_is_throttled_from_then_on),
		TEST(a_throttled_row_is_bounded_by_the_time_that_the_thread_was_ready),
		TEST(a_waker_out_of_quota_ends_the_chain),
		TEST(the_group_that_was_throttled_most_is_named),
		TEST(a_process_that_is_moved_has_the_quota_of_its_new_group),
		TEST(a_quota_that_was_taken_away_is_still_reported_as_it_was),
		TEST(the_group_that_is_at_its_limit_of_memory_most_often_is_named),
		TEST(a_limit_of_memory_that_was_taken_away_is_still_reported_as_it_was),
		TEST(a_process_in_the_root_group_has_the_host_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
