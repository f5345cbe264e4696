/* SPDX-License-Identifier: Apache-2.0 */
/* Where the time of threads goes: each part by events in memory, and that all parts add up, whatever comes. */
#include "tests/unit/ledgers.h"

static void all_of_its_time_has_a_part(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;

	feed_launch(f, T0 + 0 * MS, T0 + 1 * MS, 101, 0);          /* calls 1 */
	sleeps(f, T0 + 3 * MS, T0 + 5 * MS, T0 + 6 * MS, S, true); /* own 2, choice 2, cpu 1 */
	feed_launch(f, T0 + 7 * MS, T0 + 9 * MS, 101, 0);          /* own 1, calls 2 */
	sleeps(f, T0 + 11 * MS, T0 + 14 * MS, T0 + 14 * MS + 500 * US, S, true);
	feed_call(f, KIND_wait, T0 + 10 * MS, T0 + 15 * MS, 101, 0);         /* own 1, gpu 1 + 3 + 0.5, cpu 0.5 */
	sleeps(f, T0 + 16 * MS, T0 + 18 * MS, T0 + 18 * MS, S, false);       /* own 1, task 2 */
	sleeps(f, T0 + 19 * MS, T0 + 23 * MS, T0 + 23 * MS, D, true);        /* own 1, kernel 4 */
	sleeps(f, T0 + 24 * MS, T0 + 29 * MS, T0 + 29 * MS, STOPPED, false); /* own 1, stopped 5 */
	feed_launch(f, T0 + 29 * MS, T0 + 30 * MS, 101, 0);                  /* calls 1 */
	t = ledger_of(f, 101, T0 + 32 * MS);                                 /* own 2 */
	CHECK(t, 4 * MS, 0, 4500 * US, 9 * MS, 1500 * US, 0, 2 * MS, 0, 4 * MS, 5 * MS, 2 * MS, 0, 0);
	assert_int_equal(t->nfed, 3);
}

/* Asleep from `begin` on, for what the flags of the switch say, and on the CPU again at `end`. */
static void sleeps_for(struct feed *f, uint64_t begin, uint64_t end, uint64_t state, uint64_t flags)
{
	FEED(f, KIND_switch, begin, 0, 101, state, 0, 0, flags);
	feed_waking(f, end, 0, 101, 0, 1);
	feed_switch(f, end, 0, 0, 0, 101);
}

static void quotas_devices_faults_and_locks_have_parts_of_their_own(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;

	feed_launch(f, T0 + 0 * MS, T0 + 1 * MS, 101, 0);                       /* calls 1 */
	FEED(f, KIND_switch, T0 + 2 * MS, 0, 101, 0, 103, 0, SWITCH_THROTTLED); /* own 1, quota 8, cpu 2 */
	FEED(f, KIND_throttled, T0 + 12 * MS, 100, 101, 0, 8 * MS);
	feed_switch(f, T0 + 12 * MS, 0, 103, 0, 101);
	sleeps_for(f, T0 + 13 * MS, T0 + 18 * MS, D, SWITCH_IO);       /* own 1, device 5 */
	sleeps_for(f, T0 + 19 * MS, T0 + 26 * MS, S, SWITCH_FAULT);    /* own 1, kernel 7 */
	feed_launch(f, T0 + 26 * MS, T0 + 27 * MS, 101, 0);            /* calls 1 */
	sleeps(f, T0 + 28 * MS, T0 + 31 * MS, T0 + 31 * MS, S, false); /* gpu 1, task 3, gpu 1 */
	feed_futex(f, T0 + 28 * MS, T0 + 31 * MS, 101, 0, LOCK_PI, F1, 0);
	feed_call(f, KIND_wait, T0 + 27 * MS, T0 + 32 * MS, 101, 0);
	t = ledger_of(f, 101, T0 + 32 * MS);
	CHECK(t, 2 * MS, 0, 2 * MS, 3 * MS, 2 * MS, 8 * MS, 3 * MS, 5 * MS, 7 * MS, 0, 0, 0, 0);
}

static void a_call_in_flight_at_the_end_is_open(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;

	feed_launch(f, T0 + 0 * MS, T0 + 1 * MS, 101, 0);
	feed_switch(f, T0 + 4 * MS, 0, 101, S, 0);
	FEED(f, KIND_in_flight, T0 + 9 * MS, 100, 101, MOMENT_END, 6 * MS, PROBE_wait, 0, 0);
	t = ledger_of(f, 101, T0 + 9 * MS);
	CHECK(t, 1 * MS, 0, 0, 2 * MS, 0, 0, 0, 0, 0, 0, 0, 6 * MS, 0);
}

/* What it slept for is known once something ends that; not of the first sleep, of which the row that ended it is lost.
 */
static void a_sleep_that_did_not_end_is_open(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;

	feed_launch(f, T0 + 0 * MS, T0 + 1 * MS, 101, 0);
	feed_switch(f, T0 + 2 * MS, 0, 101, S, 0);
	feed_switch(f, T0 + 5 * MS, 0, 0, 0, 101);
	feed_switch(f, T0 + 6 * MS, 0, 101, S, 0);
	t = ledger_of(f, 101, T0 + 13 * MS);
	CHECK(t, 1 * MS, 0, 0, 2 * MS, 0, 0, 0, 0, 0, 0, 0, 7 * MS, 3 * MS);
}

static void one_that_ends_with_the_recording_is_not(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;

	feed_launch(f, T0 + 0 * MS, T0 + 1 * MS, 101, 0);
	feed_switch(f, T0 + 2 * MS, 0, 101, S, 0);
	feed_waking(f, T0 + 5 * MS, 0, 101, 0, 1);
	t = ledger_of(f, 101, T0 + 5 * MS);
	CHECK(t, 1 * MS, 0, 0, 1 * MS, 0, 0, 0, 0, 0, 0, 3 * MS, 0, 0);
}

/* A futex whose time was up is a nap, but not inside a call; one that somebody woke is a wait for that one. */
static void futexes_are_waits_or_naps(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;

	feed_launch(f, T0 + 0 * MS, T0 + 1 * MS, 101, 0);
	sleeps(f, T0 + 2 * MS, T0 + 4 * MS, T0 + 4 * MS, S, true);
	feed_futex(f, T0 + 2 * MS, T0 + 4 * MS, 101, 0, WAIT_BITSET, F2, -110);
	sleeps(f, T0 + 5 * MS, T0 + 8 * MS, T0 + 8 * MS, S, false);
	feed_futex(f, T0 + 5 * MS, T0 + 8 * MS, 101, 0, WAIT_BITSET, F1, 0);
	sleeps(f, T0 + 9 * MS, T0 + 13 * MS, T0 + 13 * MS, S, true);
	feed_futex(f, T0 + 9 * MS, T0 + 13 * MS, 101, 0, WAIT_BITSET, F1, -110);
	feed_launch(f, T0 + 8 * MS, T0 + 14 * MS, 101, 0);
	t = ledger_of(f, 101, T0 + 14 * MS);
	CHECK(t, 3 * MS, 0, 0, 2 * MS, 0, 0, 7 * MS, 0, 0, 0, 2 * MS, 0, 0);
}

/* More pieces than the timeline keeps, before the first call, between two calls, and in one that began long ago. */
static void what_the_timeline_forgets_is_kept(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;
	uint64_t at = T0;

	feed_launch(f, T0, T0 + 1, 102, 1); /* so that recording began then */
	feed_switch(f, at + 1, 0, 0, 0, 101);
	for (unsigned i = 0; i < 600; i++, at += 10 * US)
		sleeps(f, at + 5 * US, at + 7 * US, at + 10 * US, S, true);
	feed_launch(f, at + 1 * US, at + 2 * US, 101, 0);
	at += 10 * US;
	for (unsigned i = 0; i < 3000; i++, at += 10 * US)
		sleeps(f, at + 5 * US, at + 7 * US, at + 10 * US, S, true);
	feed_launch(f, at + 1 * US, at + 2 * US, 101, 0);
	at += 10 * US;
	for (unsigned i = 0; i < 3000; i++, at += 10 * US)
		sleeps(f, at + 5 * US, at + 7 * US, at + 10 * US, S, true);
	feed_call(f, KIND_wait, at - 2000 * 10 * US, at, 101, 0);
	t = ledger_of(f, 101, at);
	/* Of the first piece it is not known that it ran. */
	CHECK(t, 2 * US, 0, 2000 * 7 * US, (600 + 3000 + 1000) * 5 * US + 2 * 9 * US - 1, (600 + 3000 + 3000) * 3 * US, 0,
	      0, 0, 0, 0, (600 + 3000 + 1000) * 2 * US, 0, 1);
}

/* A first call that begins before what was taken to be outside: of that nothing is known. */
static void a_first_call_of_many_pieces_is_not_guessed(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;
	uint64_t at = T0;

	feed_launch(f, T0, T0 + 1, 102, 1);
	feed_switch(f, at + 1, 0, 0, 0, 101);
	for (unsigned i = 0; i < 2000; i++, at += 10 * US)
		sleeps(f, at + 5 * US, at + 7 * US, at + 10 * US, S, true);
	feed_launch(f, T0 + 100 * US, at, 101, 0);
	t = ledger_of(f, 101, at);
	assert_non_null(t);
	check_sum(engine_ledger(f->engine), t);
	assert_int_equal(t->ns[LEDGER_OWN] + t->ns[LEDGER_CHOICE], 0);
	assert_true(t->ns[LEDGER_UNKNOWN] > 2000 * 10 * US / 3);
	assert_true(t->ns[LEDGER_CALLS] > 0);
}

static void slices_grow_with_the_capture(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;

	for (uint64_t s = 0; s < 2000; s++)
		feed_launch(f, T0 + s * 1000 * MS, T0 + s * 1000 * MS + MS, 101, 0);
	t = ledger_of(f, 101, T0 + 2000 * 1000 * MS);
	CHECK(t, 2000 * MS, 0, 0, 2000 * 999 * MS);
	assert_int_equal(t->slice_ns, 4 * LEDGER_SLICE_NS);
	assert_int_equal(t->nslices, 500);
	for (size_t i = 0; i < t->nslices; i++) {
		assert_int_equal(t->slices[i].ns[LEDGER_CALLS], 4 * MS);
		assert_int_equal(t->slices[i].ns[LEDGER_OWN], 4 * 999 * MS);
	}
}

static void a_number_that_is_used_again_is_another_thread(void **state)
{
	struct feed *f = *state;
	const struct ledger *l;
	uint64_t whole = 0;

	feed_launch(f, T0 + 0 * MS, T0 + 1 * MS, 101, 0);
	FEED(f, KIND_exit, T0 + 2 * MS, 100, 101, 0, 0);
	FEED(f, KIND_fork, T0 + 50 * MS, 100, 102, 100, 101);
	feed_thread(f, T0 + 50 * MS, 101, 100, T0 + 50 * MS, "again");
	feed_switch(f, T0 + 51 * MS, 0, 0, 0, 101);
	feed_launch(f, T0 + 52 * MS, T0 + 53 * MS, 101, 0);
	(void)ledger_of(f, 101, T0 + 60 * MS);
	l = engine_ledger(f->engine);
	assert_int_equal(l->threads.nitems, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct ledger_thread *t = (const struct ledger_thread *)l->threads.items[i];

		check_sum(l, t);
		assert_int_equal(t->key.a, 101);
		whole += t->end_ns - t->begin_ns;
	}
	assert_int_equal(whole, 12 * MS);
}

static uint64_t dice;

static uint64_t throw(uint64_t n)
{
	dice ^= dice << 13;
	dice ^= dice >> 7;
	dice ^= dice << 17;
	return (dice >> 16) % n;
}

/* Rows that may contradict each other; of threads that come and go. */
static void feed_anything(struct feed *f, uint64_t at)
{
	uint64_t tid = 101 + throw(4), other = 101 + throw(4), cpu = throw(3), back = throw(200) * US;
	uint64_t begin = at > T0 + back ? at - back : T0;

	switch (throw(9)) {
	case 0:
	case 1:
	case 2:
		feed_switch(f, at, cpu, throw(3) ? tid : 0, throw(3) ? throw(9) : 0, throw(3) ? other : 0);
		break;
	case 3:
		feed_waking(f, at, cpu, tid, throw(2) ? other : 0, throw(3));
		break;
	case 4:
		feed_futex(f, begin, at, tid, cpu, throw(14), F1, throw(2) ? -110 : 0);
		break;
	case 5:
		feed_call(f, throw(2) ? KIND_launch : KIND_wait, begin, at, tid, cpu);
		break;
	case 6:
		FEED(f, KIND_throttled, at, 100, tid, cpu, back);
		break;
	case 7:
		if (throw(50) == 0)
			FEED(f, KIND_exit, at, 100, tid, 0, 0);
		else
			feed_launch(f, begin, at, tid, cpu);
		break;
	default:
		if (throw(50) == 0)
			FEED(f, KIND_fork, at, 100, tid, 100, other);
		else if (throw(50) == 0)
			FEED(f, KIND_in_flight, at, 100, tid, MOMENT_END, back, PROBE_launch, 0, 0);
		break;
	}
}

static void whatever_comes_it_adds_up(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct feed f = {0};
		uint64_t at = T0;
		const struct ledger *l;

		dice = seed * 0x9e3779b97f4a7c15;
		feed_open(&f);
		feed_cast(&f, 4);
		for (unsigned i = 0; i < 4000; i++) {
			at += throw(3) ? throw(50 * US) : throw(seed % 7 == 0 ? 3000 * MS : 1 * MS);
			feed_anything(&f, at);
		}
		(void)ledger_of(&f, 0, at + 1);
		l = engine_ledger(f.engine);
		assert_true(l->threads.nitems > 0);
		for (size_t i = 0; i < l->threads.nitems; i++)
			check_sum(l, (const struct ledger_thread *)l->threads.items[i]);
		feed_close(&f);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(all_of_its_time_has_a_part),
		TEST(quotas_devices_faults_and_locks_have_parts_of_their_own),
		TEST(a_call_in_flight_at_the_end_is_open),
		TEST(a_sleep_that_did_not_end_is_open),
		TEST(one_that_ends_with_the_recording_is_not),
		TEST(futexes_are_waits_or_naps),
		TEST(what_the_timeline_forgets_is_kept),
		TEST(a_first_call_of_many_pieces_is_not_guessed),
		TEST(slices_grow_with_the_capture),
		TEST(a_number_that_is_used_again_is_another_thread),
		cmocka_unit_test(whatever_comes_it_adds_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
