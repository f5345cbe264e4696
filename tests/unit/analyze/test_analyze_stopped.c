/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that are stopped, traced or frozen, with who did it; and what a page fault's row does not prove. */
#include "analyze/explain.h"
#include "tests/unit/splits.h"

#define S 1           /* asleep, interruptible */
#define STOPPED 0x104 /* by a signal */
#define TRACED 0x108
#define SIGCONT_NR 18
#define SIGSTOP_NR 19

static void feed_signal(struct feed *f, uint64_t at, uint64_t tid, uint64_t number, int64_t code, uint64_t sender)
{
	FEED(f, KIND_signal, at, 100, tid, 0, number, (uint64_t)code, sender);
}

/* What is said of [begin, end] of the thread. */
static void check_reported(struct feed *f, uint32_t tid, uint64_t begin, uint64_t end, const char *sentence)
{
	struct explained *e = calloc(1, sizeof(*e));
	struct text t = {0};

	assert_non_null(e);
	feed_settle(f, end + 1);
	explain(e, feed_timeline(f), engine_context(f->engine)->names, tid, begin, end);
	text_add_cause(&t, e);
	assert_string_equal(t.s, sentence);
	text_clear(&t);
	free(e);
}

/* Thread 101 is stopped at 10 ms, and continued at 40 ms by 105. */
static void feed_stop(struct feed *f, uint64_t state, uint64_t flags)
{
	FEED(f, KIND_switch, T0 + 10 * MS, 1, 101, state, 0, 0, flags);
	feed_waking(f, T0 + 40 * MS, 0, 101, 105, WAKE_TASK);
	feed_switch(f, T0 + 40 * MS, 1, 0, 0, 101);
	feed_launch(f, T0 + 3 * MS, T0 + 45 * MS, 101, 1);
}

static void a_stopped_thread_is_reported_with_the_sender(void **state)
{
	struct feed *f = *state;
	struct cause c;

	feed_launch(f, T0 + 1 * MS, T0 + 2 * MS, 101, 1);
	feed_signal(f, T0 + 10 * MS - 1, 0, SIGSTOP_NR, SIGNAL_BY_KILL, 104);
	feed_stop(f, STOPPED, 0);
	c = cause_of(f, 101, T0 + 3 * MS, T0 + 45 * MS);
	check_ns(&c.links[0], 12 * MS, 0, 0, 0, 0);
	assert_int_equal(c.links[0].ns[CAUSE_STOPPED], 30 * MS);
	assert_int_equal(c.end, CHAIN_STOPPED);
	assert_int_equal(c.nlinks, 1);
	check_reported(f, 101, T0 + 3 * MS, T0 + 45 * MS,
		       "30.0 ms stopped by SIGSTOP from 104 t4, let go on by 105 t5; and 12.0 ms on CPU");
}

static void the_sender_is_the_last_one_before_it(void **state)
{
	struct feed *f = *state;

	feed_launch(f, T0 + 1 * MS, T0 + 2 * MS, 101, 1);
	feed_signal(f, T0 + 4 * MS, 0, SIGSTOP_NR, SIGNAL_BY_KILL, 106);
	feed_signal(f, T0 + 5 * MS, 0, SIGCONT_NR, SIGNAL_BY_KILL, 106);
	feed_signal(f, T0 + 9 * MS, 102, SIGSTOP_NR, SIGNAL_BY_TKILL, 107); /* another thread's */
	feed_stop(f, STOPPED, 0);
	/* Who stopped it this time is not known: the one before was over. */
	check_reported(f, 101, T0 + 3 * MS, T0 + 45 * MS, "30.0 ms stopped, let go on by 105 t5; and 12.0 ms on CPU");
}

static void the_kernel_is_not_who_ran(void **state)
{
	struct feed *f = *state;

	feed_launch(f, T0 + 1 * MS, T0 + 2 * MS, 101, 1);
	feed_signal(f, T0 + 10 * MS - 1, 0, SIGSTOP_NR, SIGNAL_BY_KERNEL, 104);
	feed_stop(f, STOPPED, 0);
	check_reported(f, 101, T0 + 3 * MS, T0 + 45 * MS,
		       "30.0 ms stopped by SIGSTOP from the kernel, let go on by 105 t5; and 12.0 ms on CPU");
}

static void a_traced_thread_was_stopped_by_no_signal(void **state)
{
	struct feed *f = *state;

	feed_launch(f, T0 + 1 * MS, T0 + 2 * MS, 101, 1);
	feed_signal(f, T0 + 10 * MS - 1, 0, SIGSTOP_NR, SIGNAL_BY_KILL, 104);
	feed_stop(f, TRACED, 0);
	check_reported(f, 101, T0 + 3 * MS, T0 + 45 * MS,
		       "30.0 ms stopped by a debugger (ptrace), let go on by 105 t5; and 12.0 ms on CPU");
}

static void a_frozen_thread_looks_asleep_and_is_not(void **state)
{
	struct feed *f = *state;

	feed_launch(f, T0 + 1 * MS, T0 + 2 * MS, 101, 1);
	feed_stop(f, S, SWITCH_FROZEN);
	check_reported(f, 101, T0 + 3 * MS, T0 + 45 * MS,
		       "30.0 ms frozen with its control group, let go on by 105 t5; and 12.0 ms on CPU");
}

/* The chain ends at a holder that was stopped: the one that let it go on did not keep anybody waiting. */
static void a_chain_ends_at_a_stopped_holder(void **state)
{
	struct feed *f = *state;
	struct cause c;

	feed_launch(f, T0 + 1 * MS, T0 + 2 * MS, 101, 1);
	feed_launch(f, T0 + 1 * MS, T0 + 2 * MS, 102, 0);
	feed_switch(f, T0 + 9 * MS, 0, 102, S, 0);
	feed_signal(f, T0 + 10 * MS - 1, 0, SIGSTOP_NR, SIGNAL_BY_KILL, 104);
	feed_stop(f, STOPPED, 0);
	feed_waking(f, T0 + 46 * MS, 1, 102, 101, WAKE_TASK);
	feed_switch(f, T0 + 46 * MS, 0, 0, 0, 102);
	feed_launch(f, T0 + 8 * MS, T0 + 47 * MS, 102, 0);
	c = cause_of(f, 102, T0 + 8 * MS, T0 + 47 * MS);
	assert_int_equal(c.nlinks, 2);
	assert_int_equal(c.links[1].tid, 101);
	assert_int_equal(c.end, CHAIN_STOPPED);
}

/* On a busy host dozens of threads have had the CPU before. */
static void a_stop_is_reported_beside_any_number_of_waits_for_a_cpu(void **state)
{
	struct feed *f = *state;

	feed_launch(f, T0 + 1 * MS, T0 + 2 * MS, 101, 1);
	for (uint64_t i = 0; i < 40; i++) {
		feed_switch(f, T0 + 3 * MS + i * MS / 10, 1, 101, 0, 1000 + i);
		feed_switch(f, T0 + 3 * MS + i * MS / 10 + MS / 20, 1, 1000 + i, 0, 101);
	}
	feed_signal(f, T0 + 10 * MS - 1, 0, SIGSTOP_NR, SIGNAL_BY_KILL, 104);
	feed_stop(f, STOPPED, 0);
	check_reported(f, 101, T0 + 3 * MS, T0 + 45 * MS,
		       "30.0 ms stopped by SIGSTOP from 104 t4, let go on by 105 t5; and 10.0 ms on CPU");
}

/* The row of a fault comes when the thread is about to run, just before the row of the switch. */
static void a_wait_for_a_cpu_after_a_page_fault_is_known(void **state)
{
	struct feed *f = *state;
	struct cause c;

	feed_launch(f, T0 + 1 * MS, T0 + 2 * MS, 101, 1);
	FEED(f, KIND_switch, T0 + 10 * MS, 1, 101, 2, 103, 0, SWITCH_FAULT);
	feed_waking(f, T0 + 20 * MS, 0, 101, 105, WAKE_IRQ);
	FEED(f, KIND_fault, T0 + 35 * MS - 1000, 100, 101, 1, 25 * MS, 0x7000);
	feed_switch(f, T0 + 35 * MS, 1, 103, 0, 101);
	feed_launch(f, T0 + 3 * MS, T0 + 45 * MS, 101, 1);
	c = cause_of(f, 101, T0 + 3 * MS, T0 + 45 * MS);
	check_ns(&c.links[0], 17 * MS, 15 * MS, 0, 0, 0);
	assert_int_equal(c.links[0].ns[CAUSE_FAULT], 10 * MS);
	assert_int_equal(split_longest(&c.links[0], CAUSE_RUNNABLE)->tid, 103);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_stopped_thread_is_reported_with_the_sender, setup, teardown),
		cmocka_unit_test_setup_teardown(the_sender_is_the_last_one_before_it, setup, teardown),
		cmocka_unit_test_setup_teardown(the_kernel_is_not_who_ran, setup, teardown),
		cmocka_unit_test_setup_teardown(a_traced_thread_was_stopped_by_no_signal, setup, teardown),
		cmocka_unit_test_setup_teardown(a_frozen_thread_looks_asleep_and_is_not, setup, teardown),
		cmocka_unit_test_setup_teardown(a_chain_ends_at_a_stopped_holder, setup, teardown),
		cmocka_unit_test_setup_teardown(a_stop_is_reported_beside_any_number_of_waits_for_a_cpu, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_wait_for_a_cpu_after_a_page_fault_is_known, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
