/* SPDX-License-Identifier: Apache-2.0 */
/* How threads are scheduled: what rows report, who goes before whom, and what is concluded from it. */
#include "tests/unit/feed.h"

#include "analyze/remedy.h"

static struct cpu_sets sets;

static struct scheduling fed(uint64_t policy, int64_t nice, uint64_t priority, const char *cpus)
{
	struct schema schema = {0};
	struct event ev = event_made(KIND_scheduling, schema_kind(&schema, KIND_scheduling), T0);
	struct scheduling s;
	struct fault why;

	event_room(&ev)->v[F_scheduling_policy] = policy;
	event_room(&ev)->v[F_scheduling_nice] = (uint64_t)nice;
	event_room(&ev)->v[F_scheduling_priority] = priority;
	event_set_text(&ev, F_scheduling_cpus, cpus);
	memset(&s, 0xff, sizeof(s));
	assert_int_equal(scheduling_feed(&s, &sets, &ev, &why), 0);
	return s;
}

static int forget(void **state)
{
	(void)state;
	cpu_sets_clear(&sets);
	return 0;
}

static void what_a_row_reports_is_known(void **state)
{
	struct scheduling s = fed(POLICY_ROUND_ROBIN, -20, 99, "1,4-5");

	(void)state;
	assert_true(s.known);
	assert_int_equal(s.policy, POLICY_ROUND_ROBIN);
	assert_int_equal(s.nice, -20);
	assert_int_equal(s.priority, 99);
	assert_int_equal(scheduling_may_run(&s, 1), 1);
	assert_int_equal(scheduling_may_run(&s, 5), 1);
	assert_int_equal(scheduling_may_run(&s, 2), 0);
	s = fed(POLICY_NORMAL, 19, 0, "");
	assert_true(s.known);
	assert_int_equal(s.nice, 19);
	assert_int_equal(scheduling_may_run(&s, 1), -1);
}

static void what_no_kernel_reports_is_not_known(void **state)
{
	(void)state;
	assert_false(fed(256, 0, 0, "1").known);
	assert_false(fed(0, 20, 0, "1").known);
	assert_false(fed(0, -21, 0, "1").known);
	assert_false(fed(0, INT64_MIN, 0, "1").known);
	assert_false(fed(1, 0, 100, "1").known);
	assert_true(fed(255, 0, 0, "1").known);
	assert_false(scheduling_is_real_time(&(struct scheduling){.policy = POLICY_FIFO}));
}

static void a_set_of_cpus_is_kept_once_and_not_without_end(void **state)
{
	struct scheduling first = fed(0, 0, 0, "7"), last;
	char list[16];

	(void)state;
	assert_ptr_equal(fed(0, 0, 0, "7").cpus, first.cpus);
	assert_ptr_not_equal(fed(0, 0, 0, "70").cpus, first.cpus);
	for (unsigned i = 100; i < 100 + CPU_SETS_MAX; i++) {
		snprintf(list, sizeof(list), "%u", i);
		last = fed(0, 0, 0, list);
	}
	assert_int_equal(sets.n, CPU_SETS_MAX);
	assert_null(last.cpus);
	assert_int_equal(scheduling_may_run(&last, 1), -1);
	assert_ptr_equal(fed(0, 0, 0, "7").cpus, first.cpus);
}

/* A thread of process 1, or of another. */
static struct who thread(uint64_t tid, uint64_t pid, uint64_t policy, int64_t nice, uint64_t priority)
{
	return (struct who){.tid = tid, .pid = pid, .scheduling = fed(policy, nice, priority, "0-3")};
}

static bool is_about(const char *remedy, const char *what)
{
	return remedy && strstr(remedy, what);
}

static void real_time_goes_before_all_others_wherever_they_are(void **state)
{
	struct who normal = thread(10, 1, POLICY_NORMAL, -20, 0), fifo = thread(11, 2, POLICY_FIFO, 0, 1),
		   urgent = thread(12, 3, POLICY_ROUND_ROBIN, 0, 99), deadline = thread(13, 4, POLICY_DEADLINE, 0, 0);

	(void)state;
	assert_true(is_about(cpu_remedy(&normal, &fifo, false), "real-time"));
	assert_true(is_about(cpu_remedy(&fifo, &urgent, false), "real-time"));
	assert_true(is_about(cpu_remedy(&urgent, &deadline, false), "real-time"));
	assert_null(cpu_remedy(&fifo, &normal, false));
	assert_null(cpu_remedy(&urgent, &fifo, false));
	assert_null(cpu_remedy(&deadline, &urgent, false));
	assert_null(cpu_remedy(&urgent, &urgent, false));
}

static void nice_values_count_within_a_process(void **state)
{
	struct who meek = thread(10, 1, POLICY_NORMAL, 5, 0), plain = thread(11, 1, POLICY_NORMAL, 4, 0),
		   stranger = thread(12, 2, POLICY_NORMAL, -20, 0), idle = thread(13, 1, POLICY_IDLE, -20, 0),
		   nameless = thread(14, 0, POLICY_NORMAL, 19, 0), other = thread(15, 0, POLICY_NORMAL, 0, 0),
		   unknown = {.tid = 16, .pid = 1};

	(void)state;
	assert_true(is_about(cpu_remedy(&meek, &plain, false), "lower priority"));
	assert_true(is_about(cpu_remedy(&idle, &meek, false), "lower priority"));
	assert_null(cpu_remedy(&plain, &meek, false));
	assert_null(cpu_remedy(&meek, &stranger, false));
	assert_null(cpu_remedy(&nameless, &other, false));
	assert_null(cpu_remedy(&unknown, &plain, false));
	assert_null(cpu_remedy(&idle, &unknown, false));
	assert_null(cpu_remedy(NULL, &plain, false));
	assert_null(cpu_remedy(&meek, NULL, false));
	assert_true(is_about(cpu_remedy(&plain, &meek, true), "more of them"));
	assert_true(is_about(cpu_remedy(&meek, &plain, true), "lower priority"));
}

/* 10 waits for 11, whose CPU 12 has. */
static bool inverted(struct who waiter, struct who holder, struct who keeper, enum chain_end end)
{
	static struct explained e;

	e = (struct explained){.nwhos = 3, .whos = {waiter, holder, keeper}};
	e.cause.nlinks = 2;
	e.cause.end = end;
	e.cause.links[0].tid = (uint32_t)waiter.tid;
	e.cause.links[1].tid = (uint32_t)holder.tid;
	e.cause.links[1].nparts = 1;
	e.cause.links[1].parts[0] = (struct part){.class = CAUSE_RUNNABLE, .ns = 5, .tid = (uint32_t)keeper.tid};
	return explained_is_inversion(&e);
}

static void priority_inversion_takes_three(void **state)
{
	struct who high = thread(10, 1, POLICY_NORMAL, -1, 0), low = thread(11, 1, POLICY_NORMAL, 1, 0),
		   middle = thread(12, 1, POLICY_NORMAL, 0, 0), same = thread(12, 1, POLICY_NORMAL, -1, 0),
		   lower = thread(12, 1, POLICY_NORMAL, 1, 0), stranger = thread(12, 2, POLICY_NORMAL, 0, 0),
		   unknown = {.tid = 12, .pid = 1}, fifo = thread(12, 2, POLICY_FIFO, 0, 1),
		   urgent = thread(10, 1, POLICY_FIFO, 0, 2);

	(void)state;
	assert_true(inverted(high, low, middle, CHAIN_NO_CPU));
	assert_true(inverted(urgent, low, fifo, CHAIN_NO_CPU));
	assert_false(inverted(high, low, middle, CHAIN_RAN));
	assert_false(inverted(high, low, same, CHAIN_NO_CPU));
	assert_false(inverted(high, low, lower, CHAIN_NO_CPU));
	assert_false(inverted(high, low, stranger, CHAIN_NO_CPU));
	assert_false(inverted(high, low, unknown, CHAIN_NO_CPU));
	assert_false(inverted(high, low, fifo, CHAIN_NO_CPU));
}

static void shown(const struct scheduling *s, const char *wanted)
{
	struct text t = {0};

	text_add(&t, "[");
	text_add_how(&t, "(", s, ")");
	text_add(&t, "]");
	assert_string_equal(t.s, wanted);
	text_clear(&t);
}

static void what_is_out_of_the_ordinary_is_shown(void **state)
{
	const struct {
		struct scheduling s;
		const char *text;
	} cases[] = {
		{fed(POLICY_NORMAL, 0, 0, ""), "[]"},
		{(struct scheduling){.policy = POLICY_FIFO}, "[]"},
		{fed(POLICY_NORMAL, 10, 0, ""), "[(nice 10)]"},
		{fed(POLICY_NORMAL, -5, 0, ""), "[(nice -5)]"},
		{fed(POLICY_FIFO, 0, 50, ""), "[(SCHED_FIFO 50)]"},
		{fed(POLICY_ROUND_ROBIN, 7, 1, ""), "[(SCHED_RR 1)]"},
		{fed(POLICY_BATCH, 0, 0, ""), "[(SCHED_BATCH)]"},
		{fed(POLICY_BATCH, 3, 0, ""), "[(SCHED_BATCH, nice 3)]"},
		{fed(POLICY_IDLE, 0, 0, ""), "[(SCHED_IDLE)]"},
		{fed(POLICY_DEADLINE, 0, 0, ""), "[(SCHED_DEADLINE)]"},
		{fed(4, 0, 0, ""), "[(policy 4)]"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		shown(&cases[i].s, cases[i].text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(what_a_row_reports_is_known, forget),
		cmocka_unit_test_teardown(what_no_kernel_reports_is_not_known, forget),
		cmocka_unit_test_teardown(a_set_of_cpus_is_kept_once_and_not_without_end, forget),
		cmocka_unit_test_teardown(real_time_goes_before_all_others_wherever_they_are, forget),
		cmocka_unit_test_teardown(nice_values_count_within_a_process, forget),
		cmocka_unit_test_teardown(priority_inversion_takes_three, forget),
		cmocka_unit_test_teardown(what_is_out_of_the_ordinary_is_shown, forget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
