/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the time of a thread is split rightly, and the right one named: every careful case, by events in memory. */
#include "tests/unit/splits.h"

#define F1 0x7f00000010c0
#define F2 0x7f00000020c0
#define S 1 /* asleep, interruptible */
#define D 2
#define WAIT 0
#define WAIT_BITSET 9
#define WAKE 1

static void a_call_without_scheduling_rows_ran_all_through(void **state)
{
	struct feed *f = *state;
	struct cause c;

	feed_launch(f, T0 + 1 * MS, T0 + 3 * MS, 101, 0);
	c = cause_of(f, 101, T0 + 1 * MS, T0 + 3 * MS);
	check_ns(&c.links[0], 2 * MS, 0, 0, 0, 0);
	assert_int_equal(c.end, CHAIN_RAN);
	assert_int_equal(c.nlinks, 1);
}

static void before_its_first_row_nothing_is_known_of_a_thread(void **state)
{
	struct feed *f = *state;
	struct cause c;

	feed_launch(f, T0 + 2 * MS, T0 + 3 * MS, 101, 0);
	c = cause_of(f, 101, T0 + 1 * MS, T0 + 3 * MS);
	check_ns(&c.links[0], 1 * MS, 0, 0, 0, 1 * MS);
	assert_int_equal(
		c.links[0].parts[0].reason == UNKNOWN_NOT_SEEN || c.links[0].parts[1].reason == UNKNOWN_NOT_SEEN, 1);
}

static void a_thread_first_seen_leaving_had_run_since_its_call_began(void **state)
{
	struct feed *f = *state;
	struct cause c;

	feed_switch(f, T0 + 3 * MS, 0, 101, D, 0);
	feed_waking(f, T0 + 5 * MS, 1, 101, 102, WAKE_TASK);
	feed_switch(f, T0 + 6 * MS, 0, 0, 0, 101);
	feed_launch(f, T0 + 2 * MS, T0 + 7 * MS, 101, 0);
	c = cause_of(f, 101, T0 + 2 * MS, T0 + 7 * MS);
	check_ns(&c.links[0], 2 * MS, 1 * MS, 0, 2 * MS, 0);
	/* But not since before it, although the same row says it ran then. */
	split_make(&c.links[0], feed_timeline(f), 101, T0 + 1 * MS, T0 + 7 * MS);
	check_ns(&c.links[0], 2 * MS, 1 * MS, 0, 2 * MS, 1 * MS);
}

static void a_thread_first_seen_entering_is_unknown_before(void **state)
{
	struct feed *f = *state;
	struct cause c;

	feed_switch(f, T0 + 3 * MS, 0, 0, 0, 101);
	feed_launch(f, T0 + 2 * MS, T0 + 7 * MS, 101, 0);
	c = cause_of(f, 101, T0 + 2 * MS, T0 + 7 * MS);
	check_ns(&c.links[0], 4 * MS, 0, 0, 0, 1 * MS);
}

static void a_preempted_thread_waits_for_those_who_had_its_cpu(void **state)
{
	struct feed *f = *state;
	struct cause c;
	const struct part *p;

	feed_launch(f, T0 + 1 * MS, T0 + 2 * MS, 101, 1);
	feed_switch(f, T0 + 4 * MS, 1, 101, 0, 103);
	feed_switch(f, T0 + 5 * MS, 1, 103, 0, 104);
	feed_switch(f, T0 + 9 * MS, 1, 104, 0, 103);
	feed_switch(f, T0 + 11 * MS, 1, 103, S, 101);
	feed_launch(f, T0 + 3 * MS, T0 + 12 * MS, 101, 1);
	c = cause_of(f, 101, T0 + 3 * MS, T0 + 12 * MS);
	check_ns(&c.links[0], 2 * MS, 7 * MS, 0, 0, 0);
	assert_int_equal(c.end, CHAIN_NO_CPU);
	p = &c.links[0].parts[0];
	assert_int_equal(p->tid, 104);
	assert_int_equal(p->ns, 4 * MS);
	assert_int_equal(p->cpu, 1);
	assert_false(p->likely);
	assert_true(p->flags & SPAN_PREEMPTED);
	p = &c.links[0].parts[1];
	assert_int_equal(p->tid, 103);
	assert_int_equal(p->ns, 3 * MS);
}

static void who_had_the_cpu_unseen_is_only_likely(void **state)
{
	struct feed *f = *state;
	struct cause c;
	const struct part *p;

	feed_launch(f, T0 + 1 * MS, T0 + 2 * MS, 101, 1);
	feed_switch(f, T0 + 3 * MS, 1, 101, S, 0);
	feed_waking(f, T0 + 4 * MS, 0, 101, 102, WAKE_TASK);
	/* Between untracked threads no switch is recorded: 900 took the idle CPU at some time. */
	feed_switch(f, T0 + 8 * MS, 1, 900, 0, 101);
	feed_launch(f, T0 + 2 * MS, T0 + 9 * MS, 101, 1);
	c = cause_of(f, 101, T0 + 2 * MS, T0 + 9 * MS);
	check_ns(&c.links[0], 2 * MS, 4 * MS, 0, 1 * MS, 0);
	p = split_longest(&c.links[0], CAUSE_RUNNABLE);
	assert_int_equal(p->tid, 900);
	assert_true(p->likely);
	assert_false(p->flags & SPAN_PREEMPTED);
}

/* Both wait for 900, which is not recorded; the second of them waits for the first only after that. */
static void who_waits_as_well_has_not_had_the_cpu(void **state)
{
	struct feed *f = *state;
	struct cause c;

	feed_launch(f, T0 + 1 * MS, T0 + 2 * MS, 101, 1);
	feed_launch(f, T0 + 1 * MS, T0 + 2 * MS, 102, 0);
	feed_switch(f, T0 + 3 * MS, 1, 101, S, 0);
	feed_switch(f, T0 + 3 * MS, 0, 102, S, 0);
	feed_waking(f, T0 + 4 * MS, 0, 101, 103, WAKE_TASK);
	feed_waking(f, T0 + 4 * MS, 0, 102, 103, WAKE_TASK);
	feed_switch(f, T0 + 8 * MS, 1, 900, 0, 101);
	feed_switch(f, T0 + 9 * MS, 1, 101, S, 102);
	feed_launch(f, T0 + 2 * MS, T0 + 10 * MS, 102, 1);
	c = cause_of(f, 102, T0 + 2 * MS, T0 + 10 * MS);
	check_ns(&c.links[0], 2 * MS, 5 * MS, 0, 1 * MS, 0);
	assert_int_equal(c.links[0].parts[0].tid, 900);
	assert_int_equal(c.links[0].parts[0].ns, 4 * MS);
	assert_true(c.links[0].parts[0].likely);
	assert_int_equal(c.links[0].parts[3].tid, 101);
	assert_int_equal(c.links[0].parts[3].ns, 1 * MS);
	assert_false(c.links[0].parts[3].likely);
}

/* 905 had the CPU when 101 was still asleep; when 101 gets it, `last` has it, which is not seen to come. */
static struct cause of_a_wait_after(struct feed *f, uint32_t last)
{
	struct cause c;

	feed_launch(f, T0 + 1 * MS, T0 + 2 * MS, 101, 1);
	feed_switch(f, T0 + 3 * MS, 1, 101, S, 905);
	feed_waking(f, T0 + 9 * MS, 0, 101, 102, WAKE_TASK);
	feed_switch(f, T0 + 14 * MS, 1, last, 0, 101);
	feed_launch(f, T0 + 2 * MS, T0 + 15 * MS, 101, 1);
	c = cause_of(f, 101, T0 + 2 * MS, T0 + 15 * MS);
	check_ns(&c.links[0], 2 * MS, 5 * MS, 0, 6 * MS, 0);
	return c;
}

static void a_woken_thread_waits_for_who_had_the_cpu_last(void **state)
{
	struct cause c = of_a_wait_after(*state, 900);

	assert_int_equal(split_longest(&c.links[0], CAUSE_RUNNABLE)->tid, 900);
	assert_true(split_longest(&c.links[0], CAUSE_RUNNABLE)->likely);
}

static void a_woken_thread_does_not_wait_for_who_was_gone(void **state)
{
	struct cause c = of_a_wait_after(*state, TID_IDLE);

	assert_int_equal(split_longest(&c.links[0], CAUSE_RUNNABLE)->tid, TID_IDLE);
}

static void a_preempted_thread_names_who_came_where_no_more_is_seen(void **state)
{
	struct feed *f = *state;
	struct cause c;

	feed_launch(f, T0 + 1 * MS, T0 + 2 * MS, 101, 1);
	feed_switch(f, T0 + 3 * MS, 1, 101, 0, 103);
	feed_switch(f, T0 + 8 * MS, 1, 900, 0, 101); /* how 900 came by the CPU is not recorded */
	feed_launch(f, T0 + 2 * MS, T0 + 9 * MS, 101, 1);
	c = cause_of(f, 101, T0 + 2 * MS, T0 + 9 * MS);
	check_ns(&c.links[0], 2 * MS, 5 * MS, 0, 0, 0);
	assert_int_equal(c.links[0].parts[0].tid, 103);
	assert_true(c.links[0].parts[0].likely);
}

/* 101 sleeps in F1 from +3 to +16 ms; 102 holds it on CPU 1 and is preempted by 103 from +2.5 to +15.5 ms. */
static void feed_preempted_holder(struct feed *f)
{
	feed_launch(f, T0 + 1 * MS, T0 + 1 * MS + 17 * US, 101, 0);
	feed_switch(f, T0 + 2 * MS, 1, 0, 0, 102);
	FEED(f, KIND_switch, T0 + 2500 * US, 1, 102, 0, 103, 0, SWITCH_PINNED);
	feed_switch(f, T0 + 3 * MS, 0, 101, S, 0);
	feed_switch(f, T0 + 15500 * US, 1, 103, S, 102);
	feed_waking(f, T0 + 16 * MS, 1, 101, 102, WAKE_TASK);
	feed_futex(f, T0 + 15990 * US, T0 + 16005 * US, 102, 1, WAKE, F1, 1);
	feed_switch(f, T0 + 16010 * US, 0, 0, 0, 101);
	feed_futex(f, T0 + 2990 * US, T0 + 16020 * US, 101, 0, WAIT, F1, 0);
	feed_launch(f, T0 + 2980 * US, T0 + 16040 * US, 101, 0);
}

static void a_sleep_in_a_futex_is_its_holders_who_was_preempted(void **state)
{
	struct feed *f = *state;
	struct cause c;
	const struct part *p;

	feed_preempted_holder(f);
	c = cause_of(f, 101, T0 + 2980 * US, T0 + 16040 * US);
	check_ns(&c.links[0], 50 * US, 10 * US, 13 * MS, 0, 0);
	p = split_longest(&c.links[0], CAUSE_FUTEX);
	assert_int_equal(p->futex, F1);
	assert_int_equal(p->tid, 102);
	assert_true(p->flags & SPAN_LOCK);
	assert_int_equal(c.nlinks, 2);
	assert_int_equal(c.end, CHAIN_NO_CPU);
	assert_int_equal(c.links[1].tid, 102);
	check_ns(&c.links[1], 500 * US, 12500 * US, 0, 0, 0);
	p = split_longest(&c.links[1], CAUSE_RUNNABLE);
	assert_int_equal(p->tid, 103);
	assert_int_equal(p->cpu, 1);
}

static void the_sentence_names_futex_waker_and_what_kept_the_waker(void **state)
{
	struct feed *f = *state;
	const struct context *ctx = engine_context(f->engine);
	struct explained *e = malloc(sizeof(*e));
	struct text t = {0};

	assert_non_null(e);
	feed_preempted_holder(f);
	feed_settle(f, T0 + 17 * MS);
	explain(e, ctx->timeline, ctx->names, 101, T0 + 2980 * US, T0 + 16040 * US);
	text_add_cause(&t, e);
	assert_string_equal(text_string(&t), "13.0 ms asleep in futex 0x7f00000010c0, woken by 102 t2, which had been "
					     "preempted on CPU 1 by 103 t3 for 12.5 ms");
	assert_int_equal(explained_keeper(e), 103);
	text_clear(&t);
	free(e);
}

static void a_wait_that_times_out_blames_nobody(void **state)
{
	struct feed *f = *state;
	struct cause c;

	feed_launch(f, T0 + 1 * MS, T0 + 2 * MS, 101, 0);
	feed_switch(f, T0 + 3 * MS, 0, 101, S, 102);
	feed_waking(f, T0 + 8 * MS, 0, 101, 102, WAKE_IRQ);
	feed_switch(f, T0 + 9 * MS, 0, 102, 0, 101);
	feed_futex(f, T0 + 3 * MS, T0 + 9 * MS, 101, 0, WAIT_BITSET, F1, -110);
	feed_launch(f, T0 + 3 * MS, T0 + 9 * MS, 101, 0);
	c = cause_of(f, 101, T0 + 3 * MS, T0 + 9 * MS);
	check_ns(&c.links[0], 0, 1 * MS, 5 * MS, 0, 0);
	assert_int_equal(c.end, CHAIN_TIMED_OUT);
	assert_int_equal(c.nlinks, 1);
	assert_int_equal(split_longest(&c.links[0], CAUSE_FUTEX)->tid, TID_NONE);
}

static void a_signal_ends_the_chain_and_its_sender_is_named(void **state)
{
	struct feed *f = *state;
	struct cause c;

	feed_launch(f, T0 + 1 * MS, T0 + 2 * MS, 101, 0);
	feed_switch(f, T0 + 3 * MS, 0, 101, S, 0);
	feed_waking(f, T0 + 8 * MS, 1, 101, 102, WAKE_TASK);
	feed_switch(f, T0 + 8 * MS + 1, 0, 0, 0, 101);
	feed_futex(f, T0 + 3 * MS, T0 + 9 * MS, 101, 0, WAIT, F1, -512);
	c = cause_of(f, 101, T0 + 3 * MS, T0 + 9 * MS);
	assert_int_equal(c.end, CHAIN_SIGNAL);
	assert_int_equal(c.nlinks, 1);
	assert_int_equal(split_longest(&c.links[0], CAUSE_FUTEX)->tid, 102);
}

static void a_device_that_wakes_is_no_thread(void **state)
{
	struct feed *f = *state;
	struct cause c;

	feed_launch(f, T0 + 1 * MS, T0 + 2 * MS, 101, 0);
	feed_switch(f, T0 + 3 * MS, 0, 101, D, 0);
	feed_waking(f, T0 + 8 * MS, 1, 101, 102, WAKE_IRQ);
	feed_switch(f, T0 + 8 * MS + 1, 0, 0, 0, 101);
	c = cause_of(f, 101, T0 + 3 * MS, T0 + 9 * MS);
	check_ns(&c.links[0], 1 * MS - 1, 1, 0, 5 * MS, 0);
	assert_int_equal(c.end, CHAIN_INTERRUPT);
	assert_int_equal(split_longest(&c.links[0], CAUSE_ASLEEP)->tid, TID_NONE);
	assert_string_equal(task_state_letter(split_longest(&c.links[0], CAUSE_ASLEEP)->task_state), "D");
}

static void a_spurious_wake_makes_two_sleeps_each_with_its_waker(void **state)
{
	struct feed *f = *state;
	struct cause c;
	const struct split *s = &c.links[0];

	feed_launch(f, T0 + 1 * MS, T0 + 2 * MS, 101, 0);
	feed_switch(f, T0 + 3 * MS, 0, 101, S, 0);
	feed_waking(f, T0 + 5 * MS, 1, 101, 102, WAKE_TASK);
	feed_switch(f, T0 + 6 * MS, 0, 0, 0, 101);
	feed_switch(f, T0 + 7 * MS, 0, 101, S, 0);
	feed_waking(f, T0 + 11 * MS, 1, 101, 103, WAKE_TASK);
	feed_switch(f, T0 + 11 * MS + 1, 0, 0, 0, 101);
	feed_futex(f, T0 + 3 * MS, T0 + 12 * MS, 101, 0, WAIT, F1, 0);
	feed_launch(f, T0 + 2 * MS, T0 + 13 * MS, 101, 0);
	c = cause_of(f, 101, T0 + 2 * MS, T0 + 13 * MS);
	check_ns(s, 4 * MS - 1, 1 * MS + 1, 6 * MS, 0, 0);
	assert_int_equal(s->parts[0].tid, 103);
	assert_int_equal(s->parts[0].ns, 4 * MS);
	for (unsigned i = 1; i < s->nparts; i++)
		if (s->parts[i].class == CAUSE_FUTEX)
			assert_true(s->parts[i].tid == 102 && s->parts[i].ns == 2 * MS);
	assert_int_equal(c.links[1].tid, 103);
}

static void only_the_last_sleep_of_a_wait_timed_out(void **state)
{
	struct feed *f = *state;
	struct cause c;

	feed_launch(f, T0 + 1 * MS, T0 + 2 * MS, 101, 0);
	feed_switch(f, T0 + 3 * MS, 0, 101, S, 0);
	feed_waking(f, T0 + 8 * MS, 1, 101, 102, WAKE_TASK);
	feed_switch(f, T0 + 8 * MS + 1, 0, 0, 0, 101);
	feed_switch(f, T0 + 9 * MS, 0, 101, S, 0);
	feed_waking(f, T0 + 11 * MS, 0, 101, 0, WAKE_IRQ);
	feed_switch(f, T0 + 11 * MS + 1, 0, 0, 0, 101);
	feed_futex(f, T0 + 3 * MS, T0 + 12 * MS, 101, 0, WAIT, F1, -110);
	c = cause_of(f, 101, T0 + 3 * MS, T0 + 12 * MS);
	assert_int_equal(c.links[0].parts[0].ns, 5 * MS);
	assert_int_equal(c.links[0].parts[0].tid, 102);
	assert_false(c.links[0].parts[0].flags & SPAN_TIMED_OUT);
	assert_int_equal(c.links[0].parts[1].ns, 2 * MS);
	assert_true(c.links[0].parts[1].flags & SPAN_TIMED_OUT);
	assert_int_equal(c.links[1].tid, 102);
}

static void two_waits_in_one_call_are_reported_apart_by_futex(void **state)
{
	struct feed *f = *state;
	struct cause c;
	const struct split *s = &c.links[0];

	feed_launch(f, T0 + 1 * MS, T0 + 2 * MS, 101, 0);
	feed_switch(f, T0 + 3 * MS, 0, 101, S, 0);
	feed_waking(f, T0 + 5 * MS, 1, 101, 102, WAKE_TASK);
	feed_switch(f, T0 + 5 * MS + 1, 0, 0, 0, 101);
	feed_futex(f, T0 + 3 * MS, T0 + 6 * MS, 101, 0, WAIT, F1, 0);
	feed_switch(f, T0 + 7 * MS, 0, 101, S, 0);
	feed_waking(f, T0 + 10 * MS, 1, 101, 102, WAKE_TASK);
	feed_switch(f, T0 + 10 * MS + 1, 0, 0, 0, 101);
	feed_futex(f, T0 + 7 * MS, T0 + 11 * MS, 101, 0, WAIT_BITSET, F2, 0);
	feed_switch(f, T0 + 12 * MS, 0, 101, S, 0);
	feed_waking(f, T0 + 13 * MS, 1, 101, 102, WAKE_TASK);
	feed_switch(f, T0 + 13 * MS + 1, 0, 0, 0, 101);
	feed_launch(f, T0 + 2 * MS, T0 + 14 * MS, 101, 0);
	c = cause_of(f, 101, T0 + 2 * MS, T0 + 14 * MS);
	assert_int_equal(c.end, CHAIN_RAN);
	assert_int_equal(s->ns[CAUSE_FUTEX], 5 * MS);
	assert_int_equal(s->ns[CAUSE_ASLEEP], 1 * MS);
	assert_int_equal(s->parts[0].class, CAUSE_CPU);
	assert_int_equal(s->parts[1].futex, F2);
	assert_false(s->parts[1].flags & SPAN_LOCK);
	assert_int_equal(s->parts[2].futex, F1);
	assert_true(s->parts[2].flags & SPAN_LOCK);
}

static void a_requeued_waiter_sleeps_in_the_futex_it_waited_for(void **state)
{
	struct feed *f = *state;
	struct cause c;

	feed_launch(f, T0 + 1 * MS, T0 + 2 * MS, 101, 0);
	feed_launch(f, T0 + 1 * MS, T0 + 2 * MS, 102, 1);
	feed_switch(f, T0 + 3 * MS, 0, 101, S, 0);
	/* 102 moves it from F1 to F2 and wakes nobody; 103 wakes it there. */
	feed_futex(f, T0 + 5 * MS, T0 + 5 * MS + 10, 102, 1, 4, F1, 1);
	feed_waking(f, T0 + 8 * MS, 2, 101, 103, WAKE_TASK);
	feed_switch(f, T0 + 8 * MS + 1, 0, 0, 0, 101);
	feed_futex(f, T0 + 3 * MS, T0 + 9 * MS, 101, 0, WAIT, F1, 0);
	c = cause_of(f, 101, T0 + 3 * MS, T0 + 9 * MS);
	assert_int_equal(c.links[0].parts[0].futex, F1);
	assert_int_equal(c.links[0].parts[0].tid, 103);
	assert_int_equal(c.links[0].parts[0].ns, 5 * MS);
}

static void a_futex_call_that_only_wakes_is_no_sleep_in_a_futex(void **state)
{
	struct feed *f = *state;
	struct cause c;

	feed_launch(f, T0 + 1 * MS, T0 + 2 * MS, 101, 0);
	feed_switch(f, T0 + 3 * MS, 0, 101, S, 0);
	feed_waking(f, T0 + 5 * MS, 1, 101, 102, WAKE_TASK);
	feed_switch(f, T0 + 5 * MS + 1, 0, 0, 0, 101);
	feed_futex(f, T0 + 3 * MS, T0 + 6 * MS, 101, 0, WAKE, F1, 1);
	c = cause_of(f, 101, T0 + 3 * MS, T0 + 6 * MS);
	check_ns(&c.links[0], 1 * MS - 1, 1, 0, 2 * MS, 0);
}

static void a_waking_row_before_the_switch_row_of_its_sleep_counts(void **state)
{
	struct feed *f = *state;
	struct cause c;

	feed_launch(f, T0 + 1 * MS, T0 + 2 * MS, 101, 0);
	feed_waking(f, T0 + 3 * MS - 100, 1, 101, 102, WAKE_TASK);
	feed_switch(f, T0 + 3 * MS, 0, 101, S, 103);
	feed_switch(f, T0 + 5 * MS, 0, 103, S, 101);
	feed_launch(f, T0 + 2 * MS, T0 + 6 * MS, 101, 0);
	c = cause_of(f, 101, T0 + 2 * MS, T0 + 6 * MS);
	check_ns(&c.links[0], 2 * MS, 2 * MS, 0, 0, 0);
	assert_int_equal(split_longest(&c.links[0], CAUSE_RUNNABLE)->tid, 103);
}

static void a_sleep_whose_end_was_not_seen_is_unknown(void **state)
{
	struct feed *f = *state;
	struct cause c;

	feed_launch(f, T0 + 1 * MS, T0 + 2 * MS, 101, 0);
	feed_switch(f, T0 + 3 * MS, 0, 101, S, 0);
	feed_switch(f, T0 + 5 * MS, 0, 0, 0, 101);
	c = cause_of(f, 101, T0 + 2 * MS, T0 + 6 * MS);
	check_ns(&c.links[0], 2 * MS, 0, 0, 0, 2 * MS);
	assert_int_equal(split_longest(&c.links[0], CAUSE_UNKNOWN)->reason, UNKNOWN_CONTRADICTED);
}

static void a_thread_asleep_that_returns_from_a_call_has_rows_missing(void **state)
{
	struct feed *f = *state;
	struct cause c;

	feed_launch(f, T0 + 1 * MS, T0 + 2 * MS, 101, 0);
	feed_switch(f, T0 + 3 * MS, 0, 101, S, 0);
	feed_launch(f, T0 + 2 * MS, T0 + 6 * MS, 101, 0);
	c = cause_of(f, 101, T0 + 2 * MS, T0 + 6 * MS);
	check_ns(&c.links[0], 1 * MS, 0, 0, 0, 3 * MS);
}

static void at_the_same_time_a_sleeper_is_woken_before_it_runs(void **state)
{
	struct feed *f = *state;
	struct cause c;

	/* In a capture the switch row (kind 16) stands before the waking row (kind 17) of the same time. */
	feed_launch(f, T0 + 1 * MS, T0 + 2 * MS, 101, 0);
	feed_switch(f, T0 + 3 * MS, 0, 101, S, 0);
	feed_switch(f, T0 + 5 * MS, 0, 0, 0, 101);
	feed_waking(f, T0 + 5 * MS, 1, 101, 102, WAKE_TASK);
	c = cause_of(f, 101, T0 + 2 * MS, T0 + 6 * MS);
	check_ns(&c.links[0], 2 * MS, 0, 0, 2 * MS, 0);
	assert_int_equal(split_longest(&c.links[0], CAUSE_ASLEEP)->tid, 102);
}

static void at_the_same_time_a_thread_falls_asleep_before_it_is_woken(void **state)
{
	struct feed *f = *state;
	struct cause c;

	feed_launch(f, T0 + 1 * MS, T0 + 2 * MS, 101, 0);
	feed_switch(f, T0 + 3 * MS, 0, 101, S, 0);
	feed_waking(f, T0 + 3 * MS, 1, 101, 102, WAKE_TASK);
	feed_switch(f, T0 + 5 * MS, 0, 0, 0, 101);
	c = cause_of(f, 101, T0 + 2 * MS, T0 + 6 * MS);
	check_ns(&c.links[0], 2 * MS, 2 * MS, 0, 0, 0);
}

static void at_the_same_time_a_futex_row_belongs_inside_the_call(void **state)
{
	struct feed *f = *state;
	struct findings found = {0};

	/* A call's kind number is smaller than a futex row's: the cursor gives the call first. */
	for (unsigned i = 0; i < 40; i++)
		feed_launch(f, T0 + (i + 1) * MS, T0 + (i + 1) * MS + 17 * US, 101, 0);
	for (unsigned i = 0; i < 2; i++) {
		uint64_t t = T0 + (100 + 100 * i) * MS;

		feed_switch(f, t, 0, 101, S, 0);
		feed_waking(f, t + 20 * MS, 1, 101, 102, WAKE_TASK);
		feed_switch(f, t + 21 * MS, 0, 0, 0, 101);
		feed_launch(f, t, t + 22 * MS, 101, 0);
		feed_futex(f, t, t + 22 * MS, 101, 0, WAIT, F1, 0);
	}
	assert_int_equal(engine_finish(f->engine, &found, NULL), 0);
	assert_int_equal(found.n, 2);
	assert_int_equal(found.all[0]->futex, F1);
	assert_int_equal(found.all[1]->futex, F1);
	findings_clear(&found);
}

static void losses_make_that_time_unknown_and_no_more(void **state)
{
	struct feed *f = *state;
	struct timeline *tl = engine_context(f->engine)->timeline;
	struct cause c;

	feed_launch(f, T0 + 1 * MS, T0 + 2 * MS, 101, 0);
	assert_int_equal(timeline_blind(tl, T0 + 4 * MS, T0 + 6 * MS, NULL), 0);
	assert_int_equal(timeline_blind(tl, T0 + 5 * MS, T0 + 7 * MS, NULL), 0);
	assert_int_equal(timeline_blind(tl, T0 + 9 * MS, T0 + 10 * MS, NULL), 0);
	feed_launch(f, T0 + 2 * MS, T0 + 12 * MS, 101, 0);
	c = cause_of(f, 101, T0 + 2 * MS, T0 + 12 * MS);
	check_ns(&c.links[0], 6 * MS, 0, 0, 0, 4 * MS);
	assert_int_equal(split_longest(&c.links[0], CAUSE_UNKNOWN)->reason, UNKNOWN_LOST);
	assert_int_equal(split_longest(&c.links[0], CAUSE_UNKNOWN)->count, 2);
}

static void blind_intervals_beyond_what_is_kept_grow_together(void **state)
{
	struct feed *f = *state;
	struct timeline *tl = engine_context(f->engine)->timeline;
	struct split s;

	feed_launch(f, T0 + 1, T0 + 2, 101, 0);
	for (unsigned i = 0; i <= TIMELINE_BLIND_MAX; i++)
		assert_int_equal(timeline_blind(tl, T0 + 10 + 10 * i, T0 + 15 + 10 * i, NULL), 0);
	feed_settle(f, T0 + 20000);
	split_make(&s, tl, 101, T0 + 10, T0 + 30);
	assert_int_equal(s.ns[CAUSE_UNKNOWN], 15); /* with the five between the first two */
	split_make(&s, tl, 101, T0 + 30, T0 + 50);
	assert_int_equal(s.ns[CAUSE_UNKNOWN], 10);
}

/* Neither is it the thread whose number is left of it in 32 bits. */
static void a_number_too_large_for_a_thread_is_none(void **state)
{
	const uint64_t large = (1ULL << 32) + 101;
	struct feed *f = *state;
	struct cause c;

	feed_launch(f, T0 + 1 * MS, T0 + 2 * MS, 101, 0);
	feed_switch(f, T0 + 3 * MS, 1, 0, 0, large);
	feed_waking(f, T0 + 4 * MS, 1, large, large, 0);
	feed_switch(f, T0 + 5 * MS, 1, large, 1, 0);
	c = cause_of(f, 101, T0 + 1 * MS, T0 + 2 * MS);
	check_ns(&c.links[0], 1 * MS, 0, 0, 0, 0);
}

static void what_is_older_than_the_history_is_unknown(void **state)
{
	struct feed *f = *state;
	uint64_t t = T0 + 1 * MS;
	struct cause c;

	feed_launch(f, t - 10, t, 101, 0);
	for (unsigned i = 0; i < TIMELINE_SPANS_MAX; i++, t += 20) {
		feed_switch(f, t + 10, 0, 101, 0, 103);
		feed_switch(f, t + 20, 0, 103, 0, 101);
	}
	c = cause_of(f, 101, T0 + 1 * MS, t);
	check_ns(&c.links[0], 10 * TIMELINE_SPANS_MAX / 2, 10 * TIMELINE_SPANS_MAX / 2, 0, 0,
		 20 * TIMELINE_SPANS_MAX / 2);
	assert_int_equal(c.links[0].parts[0].reason, UNKNOWN_HISTORY);
}

static void a_reused_tid_does_not_inherit(void **state)
{
	struct feed *f = *state;
	struct cause c;

	feed_launch(f, T0 + 1 * MS, T0 + 2 * MS, 101, 0);
	FEED(f, KIND_exit, T0 + 3 * MS, 100, 101, 0, 0);
	feed_switch(f, T0 + 3 * MS + 10, 0, 101, 0x80, 0);
	FEED(f, KIND_fork, T0 + 5 * MS, 100, 102, 100, 101);
	feed_switch(f, T0 + 6 * MS, 0, 0, 0, 101);
	c = cause_of(f, 101, T0 + 1 * MS, T0 + 8 * MS);
	check_ns(&c.links[0], 2 * MS, 1 * MS, 0, 0, 4 * MS);
	/* The row that names the new thread changes nothing; one of another start does. */
	feed_thread(f, T0 + 9 * MS, 101, 100, T0 + 5 * MS, "new");
	c = cause_of(f, 101, T0 + 6 * MS, T0 + 10 * MS);
	check_ns(&c.links[0], 4 * MS, 0, 0, 0, 0);
	feed_thread(f, T0 + 60 * MS, 101, 700, T0 + 60 * MS, "other");
	c = cause_of(f, 101, T0 + 6 * MS, T0 + 61 * MS);
	check_ns(&c.links[0], 0, 0, 0, 0, 55 * MS);
}

static void a_new_thread_waits_for_its_first_cpu(void **state)
{
	struct feed *f = *state;
	struct cause c;

	FEED(f, KIND_fork, T0 + 5 * MS, 100, 102, 100, 150);
	feed_switch(f, T0 + 8 * MS, 0, 103, S, 150);
	c = cause_of(f, 150, T0 + 5 * MS, T0 + 9 * MS);
	check_ns(&c.links[0], 1 * MS, 3 * MS, 0, 0, 0);
}

static void what_untracked_threads_do_is_unknown(void **state)
{
	struct feed *f = *state;
	struct cause c;

	feed_process(f, T0, 900, T0 - MS, false, "kworker");
	feed_thread(f, T0, 900, 900, T0 - MS, "kworker");
	feed_launch(f, T0 + 1 * MS, T0 + 2 * MS, 101, 0);
	feed_switch(f, T0 + 3 * MS, 0, 101, S, 900);
	feed_waking(f, T0 + 8 * MS, 0, 101, 900, WAKE_TASK);
	feed_switch(f, T0 + 8 * MS + 10, 0, 900, S, 101);
	c = cause_of(f, 101, T0 + 3 * MS, T0 + 9 * MS);
	assert_int_equal(c.nlinks, 2);
	assert_int_equal(c.end, CHAIN_UNKNOWN);
	check_ns(&c.links[1], 0, 0, 0, 0, 5 * MS);
	assert_int_equal(c.links[1].parts[0].reason, UNKNOWN_NOT_SEEN);
}

static void a_thread_is_unknown_until_its_process_is_tracked(void **state)
{
	struct feed *f = *state;
	struct cause c;

	feed_process(f, T0 + 5 * MS, 900, T0 - MS, true, "late");
	feed_thread(f, T0 + 5 * MS, 900, 900, T0 - MS, "late");
	feed_switch(f, T0 + 3 * MS, 0, 103, 0, 900); /* recorded because of 103 */
	c = cause_of(f, 900, T0 + 3 * MS, T0 + 9 * MS);
	check_ns(&c.links[0], 4 * MS, 0, 0, 0, 2 * MS);
}

/* 101 is woken by 102, which slept until 103 woke it, and so on. All begin asleep at +3 ms. */
static void feed_chain(struct feed *f, unsigned n)
{
	for (unsigned i = 1; i <= n; i++)
		feed_launch(f, T0 + 1 * MS, T0 + 2 * MS, 100 + i, i);
	for (unsigned i = 1; i < n; i++)
		feed_switch(f, T0 + 3 * MS + i, i, 100 + i, S, 0);
	for (unsigned i = n - 1; i >= 1; i--) {
		uint64_t t = T0 + 20 * MS + (n - i) * US;

		feed_waking(f, t, i + 1, 100 + i, 101 + i, WAKE_TASK);
		feed_switch(f, t + 100, i, 0, 0, 100 + i);
		feed_futex(f, T0 + 3 * MS, t + 200, 100 + i, i, WAIT, 0x1000 + i, 0);
	}
}

static void the_chain_goes_back_from_waker_to_waker(void **state)
{
	struct feed *f = *state;
	struct cause c;

	feed_chain(f, 4);
	c = cause_of(f, 101, T0 + 3 * MS, T0 + 21 * MS);
	assert_int_equal(c.nlinks, 4);
	assert_int_equal(c.end, CHAIN_RAN);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(c.links[i].tid, 101 + i);
	assert_int_equal(c.links[2].parts[0].futex, 0x1003);
	/* Each link inspects the sleep of the one before, no further. */
	assert_true(c.links[1].end_ns <= c.links[0].end_ns && c.links[2].end_ns <= c.links[1].end_ns);
}

static void the_chain_ends_after_eight_wakers(void **state)
{
	struct feed *f = *state;
	struct cause c;

	feed_chain(f, 12);
	c = cause_of(f, 101, T0 + 3 * MS, T0 + 21 * MS);
	assert_int_equal(c.nlinks, 1 + CAUSE_LINKS_MAX);
	assert_int_equal(c.end, CHAIN_TOO_LONG);
}

static void a_thread_still_asleep_at_the_end_is_reported_so_far(void **state)
{
	struct feed *f = *state;
	struct cause c;

	feed_launch(f, T0 + 1 * MS, T0 + 2 * MS, 101, 0);
	feed_switch(f, T0 + 3 * MS, 0, 101, S, 0);
	c = cause_of(f, 101, T0 + 2 * MS, T0 + 9 * MS);
	check_ns(&c.links[0], 1 * MS, 0, 0, 6 * MS, 0);
	assert_int_equal(c.end, CHAIN_UNKNOWN);
}

static void many_causes_in_one_call_still_add_up(void **state)
{
	struct feed *f = *state;
	uint64_t t = T0 + 2 * MS;
	struct cause c;

	feed_launch(f, T0 + 1 * MS, t, 101, 0);
	for (unsigned i = 0; i < 100; i++, t += 30) {
		feed_switch(f, t + 10, 0, 101, S, 0);
		feed_waking(f, t + 20, 1, 101, 200 + i, WAKE_TASK);
		feed_switch(f, t + 30, 0, 0, 0, 101);
		feed_futex(f, t + 5, t + 30, 101, 0, WAIT, 0x1000 + i, 0);
	}
	c = cause_of(f, 101, T0 + 2 * MS, t);
	check_ns(&c.links[0], 1000, 1000, 1000, 0, 0);
	assert_true(c.links[0].nparts <= SPLIT_PARTS_MAX + CAUSE_CLASSES);
	assert_true(c.links[0].parts[0].ns >= c.links[0].parts[c.links[0].nparts - 1].ns);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_call_without_scheduling_rows_ran_all_through),
		TEST(before_its_first_row_nothing_is_known_of_a_thread),
		TEST(a_thread_first_seen_leaving_had_run_since_its_call_began),
		TEST(a_thread_first_seen_entering_is_unknown_before),
		TEST(a_preempted_thread_waits_for_those_who_had_its_cpu),
		TEST(who_had_the_cpu_unseen_is_only_likely),
		TEST(who_waits_as_well_has_not_had_the_cpu),
		TEST(a_woken_thread_waits_for_who_had_the_cpu_last),
		TEST(a_woken_thread_does_not_wait_for_who_was_gone),
		TEST(a_preempted_thread_names_who_came_where_no_more_is_seen),
		TEST(a_sleep_in_a_futex_is_its_holders_who_was_preempted),
		TEST(the_sentence_names_futex_waker_and_what_kept_the_waker),
		TEST(a_wait_that_times_out_blames_nobody),
		TEST(a_signal_ends_the_chain_and_its_sender_is_named),
		TEST(a_device_that_wakes_is_no_thread),
		TEST(a_spurious_wake_makes_two_sleeps_each_with_its_waker),
		TEST(only_the_last_sleep_of_a_wait_timed_out),
		TEST(two_waits_in_one_call_are_reported_apart_by_futex),
		TEST(a_requeued_waiter_sleeps_in_the_futex_it_waited_for),
		TEST(a_futex_call_that_only_wakes_is_no_sleep_in_a_futex),
		TEST(a_waking_row_before_the_switch_row_of_its_sleep_counts),
		TEST(a_sleep_whose_end_was_not_seen_is_unknown),
		TEST(a_thread_asleep_that_returns_from_a_call_has_rows_missing),
		TEST(at_the_same_time_a_sleeper_is_woken_before_it_runs),
		TEST(at_the_same_time_a_thread_falls_asleep_before_it_is_woken),
		TEST(at_the_same_time_a_futex_row_belongs_inside_the_call),
		TEST(losses_make_that_time_unknown_and_no_more),
		TEST(blind_intervals_beyond_what_is_kept_grow_together),
		TEST(a_number_too_large_for_a_thread_is_none),
		TEST(what_is_older_than_the_history_is_unknown),
		TEST(a_reused_tid_does_not_inherit),
		TEST(a_new_thread_waits_for_its_first_cpu),
		TEST(what_untracked_threads_do_is_unknown),
		TEST(a_thread_is_unknown_until_its_process_is_tracked),
		TEST(the_chain_goes_back_from_waker_to_waker),
		TEST(the_chain_ends_after_eight_wakers),
		TEST(a_thread_still_asleep_at_the_end_is_reported_so_far),
		TEST(many_causes_in_one_call_still_add_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
