// SPDX-License-Identifier: Apache-2.0
/* For whom threads wait: by figures, whatever kind of wait, and when more happened than anybody keeps. */
#include "tests/unit/ledgers.h"

/* 0: not in the list. */
static uint64_t waited_ns(const struct ledger_thread *t, enum ledger_part part, uint32_t tid, enum cause_class did)
{
	for (size_t i = 0; i < t->waited.n; i++)
		if (t->waited.all[i].part == part && t->waited.all[i].whom.tid == tid)
			return t->waited.all[i].did_ns[did];
	return 0;
}

static void a_wait_is_for_who_did_not_wait_itself(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;

	feed_launch(f, T0 + 0 * MS, T0 + 1 * MS, 101, 0);
	feed_switch(f, T0 + 1 * MS, 1, 0, 0, 102);
	feed_switch(f, T0 + 1 * MS, 2, 0, 0, 103);
	/* For 102, which is at work. */
	sleeps(f, T0 + 2 * MS, T0 + 5 * MS, T0 + 5 * MS, S, false);
	/* For 102, which slept until 103 woke it, and that was at work. */
	feed_switch(f, T0 + 6 * MS, 0, 101, S, 0);
	feed_switch(f, T0 + 6 * MS, 1, 102, S, 0);
	feed_waking(f, T0 + 16 * MS, 2, 102, 103, WAKE_TASK);
	feed_switch(f, T0 + 16 * MS, 1, 0, 0, 102);
	feed_waking(f, T0 + 17 * MS, 1, 101, 102, WAKE_TASK);
	feed_switch(f, T0 + 17 * MS, 0, 0, 0, 101);
	/* So short that it is not followed. */
	feed_switch(f, T0 + 18 * MS, 1, 102, S, 0);
	feed_switch(f, T0 + 18 * MS, 0, 101, S, 0);
	feed_waking(f, T0 + 18 * MS + 800 * US, 2, 102, 103, WAKE_TASK);
	feed_switch(f, T0 + 18 * MS + 800 * US, 1, 0, 0, 102);
	feed_waking(f, T0 + 18 * MS + 900 * US, 1, 101, 102, WAKE_TASK);
	feed_switch(f, T0 + 18 * MS + 900 * US, 0, 0, 0, 101);
	feed_launch(f, T0 + 19 * MS, T0 + 20 * MS, 101, 0);
	t = ledger_of(f, 101, T0 + 20 * MS);
	CHECK(t, 2 * MS, 0, 0, 3 * MS + 100 * US, 0, 0, 14 * MS + 900 * US);
	assert_int_equal(waited_ns(t, LEDGER_TASK, 102, CAUSE_CPU), 3 * MS);
	assert_int_equal(waited_ns(t, LEDGER_TASK, 103, CAUSE_CPU), 11 * MS);
	assert_int_equal(waited_ns(t, LEDGER_TASK, 102, CAUSE_UNKNOWN), 900 * US);
	assert_int_equal(t->waited.n, 2);
	assert_int_equal(t->waited.all[0].whom.thread, tasks_thread(engine_ledger(f->engine)->tasks, 103));
}

static void of_a_short_wait_it_is_known_what_its_waker_did(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;

	feed_launch(f, T0 + 0 * MS, T0 + 1 * MS, 101, 0);
	feed_switch(f, T0 + 1 * MS, 1, 0, 0, 102);
	for (unsigned i = 2; i < 12; i++)
		sleeps(f, T0 + i * MS, T0 + i * MS + 200 * US, T0 + i * MS + 200 * US, S, false);
	feed_switch(f, T0 + 12 * MS, 1, 102, S, 0);
	feed_switch(f, T0 + 12 * MS, 0, 101, S, 0);
	feed_waking(f, T0 + 12 * MS + 101 * US, 2, 102, 103, WAKE_TASK);
	feed_switch(f, T0 + 12 * MS + 101 * US, 1, 0, 0, 102);
	feed_waking(f, T0 + 12 * MS + 200 * US, 1, 101, 102, WAKE_TASK);
	feed_switch(f, T0 + 12 * MS + 200 * US, 0, 0, 0, 101);
	/* Ready, but without a CPU; and without a quota. */
	feed_switch(f, T0 + 13 * MS, 1, 102, 0, 103);
	feed_switch(f, T0 + 13 * MS, 0, 101, S, 0);
	feed_switch(f, T0 + 13 * MS + 201 * US, 1, 103, S, 102);
	feed_waking(f, T0 + 13 * MS + 400 * US, 1, 101, 102, WAKE_TASK);
	feed_switch(f, T0 + 13 * MS + 400 * US, 0, 0, 0, 101);
	FEED(f, KIND_switch, T0 + 14 * MS, 1, 102, 0, 0, 0, SWITCH_THROTTLED);
	feed_switch(f, T0 + 14 * MS, 0, 101, S, 0);
	feed_switch(f, T0 + 14 * MS + 301 * US, 1, 0, S, 102);
	feed_waking(f, T0 + 14 * MS + 600 * US, 1, 101, 102, WAKE_TASK);
	feed_switch(f, T0 + 14 * MS + 600 * US, 0, 0, 0, 101);
	feed_launch(f, T0 + 15 * MS, T0 + 16 * MS, 101, 0);
	t = ledger_of(f, 101, T0 + 16 * MS);
	assert_int_equal(waited_ns(t, LEDGER_TASK, 102, CAUSE_CPU), 2 * MS);
	assert_int_equal(waited_ns(t, LEDGER_TASK, 102, CAUSE_UNKNOWN), 200 * US);
	assert_int_equal(waited_ns(t, LEDGER_TASK, 102, CAUSE_RUNNABLE), 400 * US);
	assert_int_equal(waited_ns(t, LEDGER_TASK, 102, CAUSE_QUOTA), 600 * US);
}

/* Who ends the wait began only in its midst: until then it was for who started that one, or kept that from it. */
static void one_that_had_to_be_started_first_is_waited_for_by_its_parent(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;

	feed_launch(f, T0 + 0 * MS, T0 + 1 * MS, 101, 0);
	feed_switch(f, T0 + 1 * MS, 1, 0, 0, 102);
	/* 102 computes, and starts 105, which only wakes it; */
	feed_switch(f, T0 + 2 * MS, 0, 101, S, 0);
	FEED(f, KIND_fork, T0 + 12 * MS, 100, 102, 100, 105);
	feed_switch(f, T0 + 12 * MS + 50 * US, 2, 0, 0, 105);
	feed_waking(f, T0 + 12 * MS + 100 * US, 2, 101, 105, WAKE_TASK);
	feed_switch(f, T0 + 12 * MS + 100 * US, 0, 0, 0, 101);
	/* 102 slept until 103 woke it, which was at work. */
	feed_switch(f, T0 + 20 * MS, 0, 101, S, 0);
	feed_switch(f, T0 + 20 * MS, 1, 102, S, 0);
	feed_switch(f, T0 + 20 * MS, 3, 0, 0, 103);
	feed_waking(f, T0 + 29 * MS, 3, 102, 103, WAKE_TASK);
	feed_switch(f, T0 + 29 * MS, 1, 0, 0, 102);
	FEED(f, KIND_fork, T0 + 30 * MS, 100, 102, 100, 106);
	feed_switch(f, T0 + 30 * MS + 50 * US, 2, 105, 0, 106);
	feed_waking(f, T0 + 30 * MS + 100 * US, 2, 101, 106, WAKE_TASK);
	feed_switch(f, T0 + 30 * MS + 100 * US, 0, 0, 0, 101);
	/* It began early, and slept for most of it: that is its own doing. */
	feed_switch(f, T0 + 32 * MS, 0, 101, S, 0);
	FEED(f, KIND_fork, T0 + 33 * MS, 100, 102, 100, 107);
	feed_switch(f, T0 + 33 * MS, 2, 106, 0, 107);
	feed_waking(f, T0 + 40 * MS, 2, 101, 107, WAKE_TASK);
	feed_switch(f, T0 + 40 * MS, 0, 0, 0, 101);
	feed_launch(f, T0 + 41 * MS, T0 + 42 * MS, 101, 0);
	t = ledger_of(f, 101, T0 + 42 * MS);
	assert_non_null(t);
	check_sum(engine_ledger(f->engine), t);
	assert_int_equal(waited_ns(t, LEDGER_TASK, 102, CAUSE_CPU), 10 * MS + 100 * US);
	assert_int_equal(waited_ns(t, LEDGER_TASK, 103, CAUSE_CPU), 10 * MS + 100 * US);
	assert_int_equal(waited_ns(t, LEDGER_TASK, 107, CAUSE_CPU), 8 * MS);
}

/* Of a woken thread all switches on the CPU that it waits for have rows: from then on the last of those before had it.
 */
static void who_had_the_cpu_that_a_woken_thread_waits_for(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;

	feed_launch(f, T0 + 0 * MS, T0 + 1 * MS, 101, 0);
	feed_switch(f, T0 + 2 * MS, 0, 101, S, 901);
	feed_waking(f, T0 + 4 * MS, 1, 101, 102, WAKE_TASK);
	feed_switch(f, T0 + 9 * MS, 0, 902, 0, 903);
	FEED(f, KIND_switch, T0 + 11 * MS, 0, 903, S, 101, 0, 0, 0 + 1);
	/* But for a row that is missing: */
	feed_switch(f, T0 + 12 * MS, 0, 101, S, 901);
	feed_waking(f, T0 + 14 * MS, 1, 101, 102, WAKE_TASK);
	feed_switch(f, T0 + 20 * MS, 0, 902, 0, 903);
	FEED(f, KIND_switch, T0 + 23 * MS, 0, 904, S, 101, 0, 0, 0 + 1);
	feed_launch(f, T0 + 24 * MS, T0 + 25 * MS, 101, 0);
	t = ledger_of(f, 101, T0 + 25 * MS);
	CHECK(t, 2 * MS, 0, 0, 3 * MS, 16 * MS, 0, 4 * MS);
	assert_int_equal(waited_ns(t, LEDGER_CPU, 902, CAUSE_CPU), 11 * MS);
	assert_int_equal(waited_ns(t, LEDGER_CPU, 903, CAUSE_CPU), 2 * MS);
	assert_int_equal(waited_ns(t, LEDGER_CPU, TID_NONE, CAUSE_UNKNOWN), 3 * MS);
}

static void each_who_had_its_cpu_has_that_time(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;

	feed_launch(f, T0 + 0 * MS, T0 + 1 * MS, 101, 0);
	feed_switch(f, T0 + 2 * MS, 0, 101, 0, 104);
	feed_switch(f, T0 + 5 * MS, 0, 104, 0, 105);
	feed_switch(f, T0 + 7 * MS, 0, 105, S, 101);
	/* Between the two that have rows somebody had it: who and for how long nobody knows. */
	feed_switch(f, T0 + 8 * MS, 0, 101, 0, 901);
	feed_switch(f, T0 + 12 * MS, 0, 902, 0, 101);
	feed_switch(f, T0 + 13 * MS, 0, 101, 0, 104);
	feed_switch(f, T0 + 13 * MS + 400 * US, 0, 104, 0, 101);
	feed_launch(f, T0 + 14 * MS, T0 + 15 * MS, 101, 0);
	t = ledger_of(f, 101, T0 + 15 * MS);
	CHECK(t, 2 * MS, 0, 0, 3 * MS + 600 * US, 9 * MS + 400 * US);
	assert_int_equal(waited_ns(t, LEDGER_CPU, 104, CAUSE_CPU), 3 * MS + 400 * US);
	assert_int_equal(waited_ns(t, LEDGER_CPU, 105, CAUSE_CPU), 2 * MS);
	assert_int_equal(waited_ns(t, LEDGER_CPU, TID_NONE, CAUSE_UNKNOWN), 4 * MS);
	assert_int_equal(t->waited.n, 3);
}

/* In a futex of two words, 5 ms at a time, `n` times until its time is up, and once more, until 102 wakes it after 3
 * ms; when. */
static uint64_t waits_again(struct feed *f, uint64_t at, unsigned n, uint64_t look, uint64_t last_futex)
{
	for (unsigned i = 0; i < n; i++, at += 5 * MS + look) {
		sleeps(f, at, at + 5 * MS, at + 5 * MS + 1 * US, S, true);
		feed_futex(f, at, at + 5 * MS + 1 * US, 101, 0, WAIT_BITSET, F1 + i % 2 * 4, -110);
	}
	sleeps(f, at, at + 3 * MS, at + 3 * MS, S, false);
	feed_futex(f, at, at + 3 * MS, 101, 0, WAIT_BITSET, last_futex, 0);
	return at + 3 * MS;
}

static void a_wait_that_times_out_and_goes_on_is_one(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;
	uint64_t at;

	feed_switch(f, T0, 1, 0, 0, 102);
	feed_launch(f, T0 + 0 * MS, T0 + 1 * MS, 101, 0);
	at = waits_again(f, T0 + 1 * MS, 4, 11 * US, F1);
	feed_launch(f, at, at + 1 * MS, 101, 0);
	t = ledger_of(f, 101, at + 1 * MS);
	CHECK(t, 2 * MS, 0, 0, 4 * 10 * US, 4 * US, 0, 4 * 5 * MS + 3 * MS);
	assert_int_equal(waited_ns(t, LEDGER_TASK, 102, CAUSE_CPU), 23 * MS);
}

/* It times out while the one that it waits for is about to wake it: that one finds nobody asleep. */
static void who_comes_as_it_times_out_ends_it(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;
	uint64_t at = T0 + 1 * MS;

	feed_switch(f, T0, 1, 0, 0, 102);
	feed_launch(f, T0 + 0 * MS, T0 + 1 * MS, 101, 0);
	for (unsigned i = 0; i < 3; i++, at += 5 * MS + 11 * US) {
		sleeps(f, at, at + 5 * MS, at + 5 * MS + 3 * US, S, true);
		feed_futex(f, at + 5 * MS, at + 5 * MS + 3 * US, 102, 1, WAKE, i == 2 ? F1 : F2, 0);
		feed_futex(f, at, at + 5 * MS + 4 * US, 101, 0, WAIT_BITSET, F1, -110);
	}
	/* Or it wakes another one that waits for the same; */
	feed_launch(f, at, at + 1 * MS, 101, 0);
	at += 2 * MS;
	sleeps(f, at, at + 5 * MS, at + 5 * MS + 3 * US, S, true);
	feed_futex(f, at + 5 * MS, at + 5 * MS + 3 * US, 102, 1, WAKE, F1, 1);
	feed_futex(f, at, at + 5 * MS + 4 * US, 101, 0, WAIT_BITSET, F1, -110);
	at += 6 * MS;
	/* or for it, and the row knows nothing of the timer; */
	feed_launch(f, at, at + 1 * MS, 101, 0);
	at += 2 * MS;
	sleeps(f, at, at + 5 * MS, at + 5 * MS + 3 * US, S, true);
	feed_futex(f, at + 5 * MS, at + 5 * MS + 3 * US, 102, 1, WAKE, F1, 1);
	feed_futex(f, at, at + 5 * MS + 4 * US, 101, 0, WAIT_BITSET, F1, 0);
	at += 6 * MS;
	/* not before it slept. */
	feed_launch(f, at, at + 1 * MS, 101, 0);
	feed_futex(f, at, at + 1 * MS, 102, 1, WAKE, F1, 1);
	at += 2 * MS;
	sleeps(f, at, at + 5 * MS, at + 5 * MS + 3 * US, S, true);
	feed_futex(f, at, at + 5 * MS + 4 * US, 101, 0, WAIT_BITSET, F1, -110);
	at += 6 * MS;
	feed_launch(f, at, at + 1 * MS, 101, 0);
	t = ledger_of(f, 101, at + 1 * MS);
	CHECK(t, 5 * MS, 0, 0, 3 * 8 * US + 2 * MS + 4 * MS - 9 * US, 18 * US, 0, 25 * MS, 0, 0, 0, 0, 0, 5 * MS);
	assert_int_equal(waited_ns(t, LEDGER_TASK, 102, CAUSE_CPU), 25 * MS);
}

/* In a futex, 5 ms until its time was up; when it is back. */
static uint64_t times_out(struct feed *f, uint64_t at)
{
	sleeps(f, at, at + 5 * MS, at + 5 * MS, S, true);
	feed_futex(f, at, at + 5 * MS, 101, 0, WAIT_BITSET, F1, -110);
	return at + 5 * MS;
}

/* It is back, and would sleep again: but the one that it waits for came meanwhile, and found it awake. */
static void who_comes_while_it_looks_ends_it(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;
	uint64_t at = T0 + 1 * MS;

	feed_switch(f, T0, 1, 0, 0, 102);
	feed_launch(f, T0 + 0 * MS, T0 + 1 * MS, 101, 0);
	at = times_out(f, at);
	at = times_out(f, at + 10 * US);
	feed_futex(f, at + 10 * US, at + 11 * US, 102, 1, WAKE, F1 + 4, 0);
	feed_launch(f, at + 20 * US, at + 1 * MS, 101, 0);
	/* Not one that woke somebody else, nor for another futex, nor itself, nor much later, nor when it sleeps again.
	 */
	for (unsigned i = 0; i < 4; i++) {
		at = times_out(f, at + 1 * MS);
		if (i < 3)
			feed_futex(f, at + 10 * US, at + 11 * US, i == 2 ? 101 : 102, i != 2, WAKE, i == 1 ? F2 : F1,
				   i == 0);
		else
			feed_futex(f, at + 3 * MS, at + 3 * MS + 1 * US, 102, 1, WAKE, F1, 0);
		feed_launch(f, at + 4 * MS, at + 5 * MS, 101, 0);
		at += 5 * MS;
	}
	at = times_out(f, at + 1 * MS);
	feed_switch(f, at + 5 * US, 0, 101, S, 0);
	feed_futex(f, at + 10 * US, at + 11 * US, 102, 1, WAKE, F1, 0);
	feed_waking(f, at + 1 * MS, 0, 101, 0, WAKE_IRQ);
	feed_switch(f, at + 1 * MS, 0, 0, 0, 101);
	at += 2 * MS;
	feed_launch(f, at, at + 1 * MS, 101, 0);
	t = ledger_of(f, 101, at + 1 * MS);
	assert_non_null(t);
	check_sum(engine_ledger(f->engine), t);
	assert_int_equal(waited_ns(t, LEDGER_TASK, 102, CAUSE_CPU), 10 * MS);
	assert_int_equal(t->ns[LEDGER_TASK], 10 * MS);
}

/* It looks, as one does behind a lock, and is let on by the one that it waits for, which woke another one there. */
static void who_lets_it_look_ends_it(void **state)
{
	static const struct {
		uint32_t wakes, lets_on;
		uint64_t val;
		bool early;
	} ways[] = {{102, 102, 2, false}, {103, 102, 2, false}, {102, 102, 1, false}, {102, 102, 2, true}};
	struct feed *f = *state;
	const struct ledger_thread *t;
	uint64_t at = T0 + 1 * MS;

	feed_switch(f, T0, 1, 0, 0, 102);
	feed_switch(f, T0, 2, 0, 0, 103);
	feed_launch(f, T0 + 0 * MS, T0 + 1 * MS, 101, 0);
	for (unsigned i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (ways[i].early)
			feed_futex(f, at - 50 * US, at - 49 * US, ways[i].wakes, 1, WAKE, F1, 1);
		sleeps(f, at, at + 5 * MS, at + 5 * MS, S, true);
		feed_futex(f, at, at + 5 * MS, 101, 0, WAIT_BITSET, F1, -110);
		at += 5 * MS;
		feed_switch(f, at + 5 * US, 0, 101, S, 0);
		if (!ways[i].early)
			feed_futex(f, at + 10 * US, at + 11 * US, ways[i].wakes, 1, WAKE, F1, 1);
		feed_waking(f, at + 30 * US, 1, 101, ways[i].lets_on, WAKE_TASK);
		feed_switch(f, at + 30 * US, 0, 0, 0, 101);
		FEED(f, KIND_futex, at + 31 * US, 100, 101, 0, 26 * US, 0, 128, F2, ways[i].val, 0);
		feed_launch(f, at + 40 * US, at + 1 * MS, 101, 0);
		at += 2 * MS;
	}
	t = ledger_of(f, 101, at);
	assert_non_null(t);
	check_sum(engine_ledger(f->engine), t);
	assert_int_equal(waited_ns(t, LEDGER_TASK, 102, CAUSE_CPU), 5 * MS + 4 * 25 * US);
	assert_int_equal(t->ns[LEDGER_CHOICE], 3 * 5 * MS);
}

/* Behind the lock it sleeps for no time. */
static void who_lets_it_look_at_once_ends_it(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;
	uint64_t at = T0 + 1 * MS;

	feed_switch(f, T0, 1, 0, 0, 102);
	feed_launch(f, T0 + 0 * MS, T0 + 1 * MS, 101, 0);
	for (unsigned i = 0; i < 2; i++) {
		at = times_out(f, at);
		feed_futex(f, at + 2 * US, at + 3 * US, i == 0 ? 102 : 103, 1, WAKE, F1, 1);
		feed_waking(f, at + 10 * US, 1, 101, 102, WAKE_TASK);
		feed_switch(f, at + 12 * US, 0, 101, S, 0);
		feed_futex(f, at + 9 * US, at + 14 * US, 102, 1, WAKE, F2, 1);
		feed_switch(f, at + 16 * US, 0, 0, 0, 101);
		feed_futex(f, at + 8 * US, at + 17 * US, 101, 0, 0, F2, 0);
		feed_launch(f, at + 20 * US, at + 5 * MS, 101, 0);
		at += 5 * MS;
	}
	t = ledger_of(f, 101, at);
	assert_non_null(t);
	check_sum(engine_ledger(f->engine), t);
	assert_int_equal(waited_ns(t, LEDGER_TASK, 102, CAUSE_CPU), 5 * MS);
	assert_int_equal(t->ns[LEDGER_CHOICE], 5 * MS);
}

/* It sleeps again, for no time: the row of the waking comes before that of the sleep. */
static void who_wakes_it_at_once_ends_it(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;
	uint64_t at;

	feed_switch(f, T0, 1, 0, 0, 102);
	feed_launch(f, T0 + 0 * MS, T0 + 1 * MS, 101, 0);
	for (unsigned i = 0; i < 3; i++) {
		at = times_out(f, T0 + 1 * MS + i * 10 * MS);
		feed_waking(f, at + 10 * US, 1, 101, 102, WAKE_TASK);
		feed_switch(f, at + 12 * US, 0, 101, S, 0);
		feed_futex(f, at + 9 * US, at + 14 * US, 102, 1, WAKE, i == 1 ? F2 : F1, 1);
		feed_switch(f, at + 16 * US, 0, 0, 0, 101);
		feed_futex(f, at + 8 * US, at + 17 * US, 101, 0, WAIT_BITSET, F1, i == 2 ? -11 : 0);
		feed_launch(f, at + 20 * US, at + 5 * MS, 101, 0);
	}
	t = ledger_of(f, 101, at + 5 * MS);
	assert_non_null(t);
	check_sum(engine_ledger(f->engine), t);
	assert_int_equal(waited_ns(t, LEDGER_TASK, 102, CAUSE_CPU), 5 * MS);
	assert_int_equal(t->ns[LEDGER_CHOICE], 2 * 5 * MS);
}

/* The two words of a condition variable: after each look it sleeps in the other one. */
static void words_that_stand_together_are_one(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;
	uint64_t at = T0 + 1 * MS;

	feed_switch(f, T0, 1, 0, 0, 102);
	feed_launch(f, T0 + 0 * MS, T0 + 1 * MS, 101, 0);
	for (unsigned i = 0; i < 6; i++, at += 5 * MS + 11 * US) {
		sleeps(f, at, at + 5 * MS, at + 5 * MS + 1 * US, S, i < 5);
		feed_futex(f, at, at + 5 * MS + 1 * US, 101, 0, WAIT_BITSET, F1 + i % 2 * 4, i < 5 ? -110 : 0);
	}
	/* And who calls wake in one of them as it times out in the other one; but not in the word behind both. */
	feed_launch(f, at, at + 1 * MS, 101, 0);
	at += 2 * MS;
	for (unsigned i = 0; i < 2; i++, at += 8 * MS) {
		sleeps(f, at, at + 5 * MS, at + 5 * MS + 3 * US, S, true);
		feed_futex(f, at + 5 * MS, at + 5 * MS + 3 * US, 102, 1, WAKE, F1 + 4 + i * 4, 0);
		feed_futex(f, at, at + 5 * MS + 4 * US, 101, 0, WAIT_BITSET, F1, -110);
		feed_launch(f, at + 6 * MS, at + 7 * MS, 101, 0);
	}
	t = ledger_of(f, 101, at);
	assert_non_null(t);
	check_sum(engine_ledger(f->engine), t);
	assert_int_equal(t->ns[LEDGER_TASK], 7 * 5 * MS);
	assert_int_equal(t->ns[LEDGER_CHOICE], 5 * MS);
	assert_int_equal(waited_ns(t, LEDGER_TASK, 102, CAUSE_CPU), 7 * 5 * MS);
}

static void another_futex_or_other_work_in_between_is_not(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;
	uint64_t at;

	feed_switch(f, T0, 1, 0, 0, 102);
	feed_launch(f, T0 + 0 * MS, T0 + 1 * MS, 101, 0);
	at = waits_again(f, T0 + 1 * MS, 4, 11 * US, F2);
	at = waits_again(f, at + 10 * US, 4, 4 * MS, F1);
	feed_launch(f, at, at + 1 * MS, 101, 0);
	t = ledger_of(f, 101, at + 1 * MS);
	CHECK(t, 2 * MS, 0, 0, 4 * 10 * US + 10 * US + 4 * (4 * MS - 1 * US), 8 * US, 0, 3 * MS + 3 * MS, 0, 0, 0, 0, 0,
	      8 * 5 * MS);
}

static void nor_one_that_nobody_ended(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;
	uint64_t at = T0 + 1 * MS;

	feed_launch(f, T0 + 0 * MS, T0 + 1 * MS, 101, 0);
	for (unsigned i = 0; i < 4; i++, at += 5 * MS + 11 * US) {
		sleeps(f, at, at + 5 * MS, at + 5 * MS + 1 * US, S, true);
		feed_futex(f, at, at + 5 * MS + 1 * US, 101, 0, WAIT_BITSET, F1, -110);
	}
	feed_launch(f, at, at + 1 * MS, 101, 0);
	t = ledger_of(f, 101, at + 1 * MS);
	CHECK(t, 2 * MS, 0, 0, 4 * 10 * US, 4 * US, 0, 0, 0, 0, 0, 0, 0, 4 * 5 * MS);
}

/* The timeline forgets most of it before anybody wakes the thread. */
static void a_wait_may_be_longer_than_what_is_kept(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;
	uint64_t at;

	feed_switch(f, T0, 1, 0, 0, 102);
	feed_launch(f, T0 + 0 * MS, T0 + 1 * MS, 101, 0);
	at = waits_again(f, T0 + 1 * MS, 2000, 11 * US, F1);
	feed_launch(f, at, at + 1 * MS, 101, 0);
	t = ledger_of(f, 101, at + 1 * MS);
	CHECK(t, 2 * MS, 0, 0, 2000 * 10 * US, 2000 * US, 0, 2000 * 5 * MS + 3 * MS);
	assert_int_equal(waited_ns(t, LEDGER_TASK, 102, CAUSE_CPU), 2000 * 5 * MS + 3 * MS);
}

/* A row of a sleep is missing: what it did then is unknown, but it was in the futex. */
static void a_row_that_is_missing_does_not_end_it(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;
	uint64_t at = T0 + 1 * MS;

	feed_switch(f, T0, 1, 0, 0, 102);
	feed_launch(f, T0 + 0 * MS, T0 + 1 * MS, 101, 0);
	sleeps(f, at, at + 5 * MS, at + 5 * MS, S, true);
	feed_futex(f, at, at + 5 * MS, 101, 0, WAIT_BITSET, F1, -110);
	feed_switch(f, at + 5 * MS + 10 * US, 0, 101, S, 0);
	feed_futex(f, at + 5 * MS + 10 * US, at + 12 * MS, 101, 0, WAIT_BITSET, F1, -110);
	at = waits_again(f, at + 12 * MS + 10 * US, 0, 0, F1);
	feed_launch(f, at, at + 1 * MS, 101, 0);
	t = ledger_of(f, 101, at + 1 * MS);
	CHECK(t, 2 * MS, 0, 0, 20 * US, 0, 0, 8 * MS, 0, 0, 0, 0, 0, 0, 0, 7 * MS - 10 * US);
}

/* What it did between two rows of the futex nobody knows: it may have done anything. */
static void but_what_is_unknown_in_between_does(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;
	uint64_t at = T0 + 1 * MS;

	feed_switch(f, T0, 1, 0, 0, 102);
	feed_launch(f, T0 + 0 * MS, T0 + 1 * MS, 101, 0);
	sleeps(f, at, at + 5 * MS, at + 5 * MS, S, true);
	feed_futex(f, at, at + 5 * MS, 101, 0, WAIT_BITSET, F1, -110);
	feed_switch(f, at + 5 * MS + 10 * US, 0, 101, S, 0);
	at = waits_again(f, at + 12 * MS, 0, 0, F1);
	feed_launch(f, at, at + 1 * MS, 101, 0);
	t = ledger_of(f, 101, at + 1 * MS);
	CHECK(t, 2 * MS, 0, 0, 10 * US, 0, 0, 3 * MS, 0, 0, 0, 0, 0, 5 * MS, 0, 7 * MS - 10 * US);
}

/* The same of a wait that is longer than what is kept. */
static void what_is_kept_ends_likewise(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;
	uint64_t at;

	feed_switch(f, T0, 1, 0, 0, 102);
	feed_launch(f, T0 + 0 * MS, T0 + 1 * MS, 101, 0);
	at = waits_again(f, T0 + 1 * MS, 600, 11 * US, F2);
	at = waits_again(f, at + 10 * US, 600, 4 * MS, F1);
	feed_launch(f, at, at + 1 * MS, 101, 0);
	t = ledger_of(f, 101, at + 1 * MS);
	CHECK(t, 2 * MS, 0, 0, 600 * 10 * US + 10 * US + 600 * (4 * MS - 1 * US), 1200 * US, 0, 3 * MS + 3 * MS, 0, 0,
	      0, 0, 0, 1200 * 5 * MS);
}

static void who_has_the_memory_map_is_waited_for(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;

	feed_process(f, T0, 200, T0 - MS, true, "other");
	feed_thread(f, T0, 201, 200, T0 - MS, "other");
	feed_launch(f, T0 + 0 * MS, T0 + 1 * MS, 101, 0);
	feed_switch(f, T0 + 1 * MS, 1, 0, 0, 102);
	FEED(f, KIND_switch, T0 + 2 * MS, 0, 101, D, 0, 0, SWITCH_FAULT);
	feed_waking(f, T0 + 5 * MS, 1, 101, 102, WAKE_TASK);
	feed_switch(f, T0 + 5 * MS, 0, 0, 0, 101);
	/* Another process, which had the page: the kernel's own affair. */
	FEED(f, KIND_switch, T0 + 6 * MS, 0, 101, D, 0, 0, SWITCH_FAULT);
	feed_waking(f, T0 + 10 * MS, 2, 101, 201, WAKE_TASK);
	feed_switch(f, T0 + 10 * MS, 0, 0, 0, 101);
	feed_launch(f, T0 + 11 * MS, T0 + 12 * MS, 101, 0);
	t = ledger_of(f, 101, T0 + 12 * MS);
	CHECK(t, 2 * MS, 0, 0, 3 * MS, 0, 0, 3 * MS, 0, 0, 0, 4 * MS);
	assert_int_equal(waited_ns(t, LEDGER_TASK, 102, CAUSE_CPU), 3 * MS);
}

static void who_never_came_is_waited_for(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;

	feed_launch(f, T0 + 0 * MS, T0 + 1 * MS, 101, 0);
	feed_switch(f, T0 + 4 * MS, 0, 101, S, 0);
	FEED(f, KIND_in_flight, T0 + 9 * MS, 100, 101, MOMENT_END, 6 * MS, PROBE_futex, F1, 0);
	t = ledger_of(f, 101, T0 + 9 * MS);
	CHECK(t, 1 * MS, 0, 0, 3 * MS, 0, 0, 5 * MS);
	assert_int_equal(waited_ns(t, LEDGER_TASK, TID_NONE, CAUSE_UNKNOWN), 5 * MS);
}

/* A sleep that began before that futex did is another one. */
static void but_not_in_what_began_later(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;

	feed_launch(f, T0 + 0 * MS, T0 + 1 * MS, 101, 0);
	feed_switch(f, T0 + 4 * MS, 0, 101, S, 0);
	FEED(f, KIND_in_flight, T0 + 9 * MS, 100, 101, MOMENT_END, 3 * MS, PROBE_futex, F1, 0);
	t = ledger_of(f, 101, T0 + 9 * MS);
	CHECK(t, 1 * MS, 0, 0, 3 * MS, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5 * MS);
}

/* More wake it than the list has places for; who does it for long stays, wherever it stands. */
static void the_least_make_room(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;
	uint64_t at = T0 + 1 * MS, all = 0;

	feed_launch(f, T0, at, 101, 0);
	for (unsigned i = 0; i < 300; i++) {
		uint64_t ns = i % 10 == 0 ? 700 * US : 100 * US + i;

		feed_switch(f, at, 0, 101, S, 0);
		feed_waking(f, at + ns, 1, 101, i % 10 == 0 ? 888 : 1000 + i, WAKE_TASK);
		feed_switch(f, at + ns, 0, 0, 0, 101);
		at += ns + 10 * US;
		all += ns;
	}
	feed_launch(f, at, at + 1 * MS, 101, 0);
	t = ledger_of(f, 101, at + 1 * MS);
	CHECK(t, 2 * MS, 0, 0, 300 * 10 * US, 0, 0, all);
	assert_int_equal(waited_ns(t, LEDGER_TASK, 888, CAUSE_UNKNOWN), 30 * 700 * US);
	assert_true(t->waited.n > 2 && t->waited.all[0].whom.tid + t->waited.all[1].whom.tid == 888 + TID_NONE);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_wait_is_for_who_did_not_wait_itself),
		TEST(of_a_short_wait_it_is_known_what_its_waker_did),
		TEST(one_that_had_to_be_started_first_is_waited_for_by_its_parent),
		TEST(who_had_the_cpu_that_a_woken_thread_waits_for),
		TEST(each_who_had_its_cpu_has_that_time),
		TEST(a_wait_that_times_out_and_goes_on_is_one),
		TEST(who_comes_as_it_times_out_ends_it),
		TEST(who_comes_while_it_looks_ends_it),
		TEST(who_lets_it_look_ends_it),
		TEST(who_lets_it_look_at_once_ends_it),
		TEST(who_wakes_it_at_once_ends_it),
		TEST(words_that_stand_together_are_one),
		TEST(another_futex_or_other_work_in_between_is_not),
		TEST(nor_one_that_nobody_ended),
		TEST(a_wait_may_be_longer_than_what_is_kept),
		TEST(a_row_that_is_missing_does_not_end_it),
		TEST(but_what_is_unknown_in_between_does),
		TEST(what_is_kept_ends_likewise),
		TEST(who_has_the_memory_map_is_waited_for),
		TEST(who_never_came_is_waited_for),
		TEST(but_not_in_what_began_later),
		TEST(the_least_make_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
