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
	CHECK(t, 4 * MS, 0, 4500 * US, 9 * MS, 1500 * US, 0, 2 * MS, 0, 0, 0, 4 * MS, 5 * MS, 2 * MS, 0, 0);
	assert_int_equal(t->nfed, 3);
}

/* From its first row on, `n` times: stopped by a signal, traced, and frozen, for 1, 2 and 3 ms; when. */
static uint64_t stops(struct feed *f, uint64_t at, unsigned n)
{
	static const struct {
		uint64_t state, flags, waker;
	} ways[] = {{STOPPED, 0, 102}, {TASK_TRACED_BIT, 0, 103}, {S, SWITCH_FROZEN, 104}};

	for (unsigned i = 0; i < 3 * n; i++) {
		uint64_t until = at + (i % 3 + 1) * MS;

		FEED(f, KIND_switch, at, 0, 101, ways[i % 3].state, 0, 0, ways[i % 3].flags);
		feed_waking(f, until, 1, 101, ways[i % 3].waker, WAKE_TASK);
		feed_switch(f, until, 0, 0, 0, 101);
		at = until + 1 * MS;
	}
	return at;
}

static void check_stops(const struct ledger_thread *t, unsigned n)
{
	assert_int_equal(t->stops.n, 3);
	for (unsigned i = 0; i < 3; i++) {
		const struct waited_for *w = &t->stops.all[2 - i];

		assert_int_equal(w->part, STOP_SIGNALLED + i);
		assert_int_equal(w->whom.tid, 102 + i);
		assert_int_equal(w->count, n);
		assert_int_equal(w->ns, n * (i + 1) * MS);
	}
}

static void it_is_known_who_let_a_stopped_thread_go_on(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;
	uint64_t at;

	feed_launch(f, T0 + 0 * MS, T0 + 1 * MS, 101, 0);
	at = stops(f, T0 + 2 * MS, 2);
	feed_launch(f, at, at + 1 * MS, 101, 0);
	t = ledger_of(f, 101, at + 1 * MS);
	CHECK(t, 2 * MS, 0, 0, 7 * MS, 0, 0, 0, 0, 0, 0, 0, 12 * MS);
	check_stops(t, 2);
}

/* More of them than the timeline keeps. */
static void also_long_before_the_first_call(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;
	uint64_t at;

	feed_launch(f, T0, T0 + 1, 102, 1); /* so that recording began then */
	feed_switch(f, T0 + 1, 0, 0, 0, 101);
	at = stops(f, T0 + 2 * MS, 500);
	feed_launch(f, at, at + 1 * MS, 101, 0);
	t = ledger_of(f, 101, at + 1 * MS);
	check_stops(t, 500);
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
	CHECK(t, 2 * MS, 0, 2 * MS, 3 * MS, 2 * MS, 8 * MS, 3 * MS, 5 * MS, 0, 0, 7 * MS, 0, 0, 0, 0);
}

/* The kernel calls each wait in io_uring_enter() one for a disk. */
static void a_wait_in_io_uring_is_for_who_ends_it(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;

	feed_launch(f, T0 + 0 * MS, T0 + 1 * MS, 101, 0);                    /* calls 1 */
	FEED(f, KIND_switch, T0 + 2 * MS, 0, 101, S, 0, 426 + 1, SWITCH_IO); /* own 1 */
	feed_waking(f, T0 + 5 * MS, 1, 101, 102, WAKE_TASK);                 /* task 3 */
	feed_switch(f, T0 + 5 * MS, 0, 0, 0, 101);
	FEED(f, KIND_switch, T0 + 6 * MS, 0, 101, S, 0, 426 + 1, SWITCH_IO); /* own 1 */
	feed_waking(f, T0 + 8 * MS, 0, 101, 0, WAKE_IRQ);                    /* choice 2 */
	feed_switch(f, T0 + 8 * MS, 0, 0, 0, 101);
	FEED(f, KIND_switch, T0 + 9 * MS, 0, 101, S, 0, 425 + 1, SWITCH_IO); /* own 1 */
	feed_waking(f, T0 + 13 * MS, 1, 101, 102, WAKE_TASK);                /* device 4 */
	feed_switch(f, T0 + 13 * MS, 0, 0, 0, 101);
	feed_launch(f, T0 + 13 * MS, T0 + 14 * MS, 101, 0); /* calls 1 */
	t = ledger_of(f, 101, T0 + 14 * MS);
	CHECK(t, 2 * MS, 0, 0, 3 * MS, 0, 0, 3 * MS, 4 * MS, 0, 0, 0, 0, 2 * MS, 0, 0);
}

static void a_call_in_flight_at_the_end_is_open(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;

	feed_launch(f, T0 + 0 * MS, T0 + 1 * MS, 101, 0);
	feed_switch(f, T0 + 4 * MS, 0, 101, S, 0);
	FEED(f, KIND_in_flight, T0 + 9 * MS, 100, 101, MOMENT_END, 6 * MS, PROBE_wait, 0, 0);
	t = ledger_of(f, 101, T0 + 9 * MS);
	CHECK(t, 1 * MS, 0, 0, 2 * MS, 0, 0, 0, 0, 0, 0, 0, 0, 0, 6 * MS, 0);
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
	CHECK(t, 1 * MS, 0, 0, 2 * MS, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7 * MS, 3 * MS);
}

static void one_that_ends_with_the_recording_is_not(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;

	feed_launch(f, T0 + 0 * MS, T0 + 1 * MS, 101, 0);
	feed_switch(f, T0 + 2 * MS, 0, 101, S, 0);
	feed_waking(f, T0 + 5 * MS, 0, 101, 0, 1);
	t = ledger_of(f, 101, T0 + 5 * MS);
	CHECK(t, 1 * MS, 0, 0, 1 * MS, 0, 0, 0, 0, 0, 0, 0, 0, 3 * MS, 0, 0);
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
	CHECK(t, 3 * MS, 0, 0, 2 * MS, 0, 0, 7 * MS, 0, 0, 0, 0, 0, 2 * MS, 0, 0);
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
	CHECK(t, 2 * US, 0, 2000 * 7 * US, (600 + 3000 + 1000) * 5 * US + 2 * 9 * US - 1, (600 + 3000 + 3000) * 3 * US,
	      0, 0, 0, 0, 0, 0, 0, (600 + 3000 + 1000) * 2 * US, 0, 1);
}

/* However many end that made no call, nothing of them is kept; of one that called, what there is to report. */
static void what_ends_without_a_call_is_dropped(void **state)
{
	struct feed *f = *state;
	const struct ledger *l;
	uint64_t at = T0;

	feed_launch(f, T0, T0 + 1, 102, 1);
	feed_switch(f, at + 1, 0, 0, 0, 101);
	for (unsigned i = 0; i < 2000; i++, at += 10 * US)
		sleeps(f, at + 5 * US, at + 7 * US, at + 10 * US, S, true);
	l = engine_ledger(f->engine);
	assert_int_equal(l->threads.nitems, 2);
	assert_true(((const struct ledger_thread *)l->threads.items[1])->npieces > 0);
	FEED(f, KIND_exit, at, 100, 101, 0, 0);
	FEED(f, KIND_exit, at, 100, 102, 0, 0);
	feed_settle(f, at + 1);
	assert_int_equal(l->threads.nitems, 1);
	assert_null(((const struct ledger_thread *)l->threads.items[0])->pieces);
	assert_null(((const struct ledger_thread *)l->threads.items[0])->stays);
	assert_null(ledger_of(f, 101, at + 1 * MS));
}

static void feed_kernel(struct feed *f, uint64_t begin, uint64_t end, uint64_t kernel)
{
	FEED(f, KIND_launch, end, 100, 101, 0, end - begin, PROBE_launch, 0, 0, kernel);
}

static void feed_alloc_of(struct feed *f, uint64_t end, uint64_t dur_ns)
{
	FEED(f, KIND_alloc, end, 100, 101, 0, dur_ns, PROBE_alloc, 0, 0, 64, 0x1000 + end, 0, MEM_DEVICE);
}

/* It made calls, though none that feeds the GPU: its first ones may have taken long. */
static void who_called_is_not_dropped(void **state)
{
	struct feed *f = *state;
	const struct ledger *l;

	FEED(f, KIND_exec, T0, 100, 101);
	feed_alloc_of(f, T0 + 20 * MS, 19 * MS);
	feed_alloc_of(f, T0 + 22 * MS, 1 * MS);
	FEED(f, KIND_exit, T0 + 30 * MS, 100, 101, 0, 1);
	feed_settle(f, T0 + 40 * MS);
	l = engine_ledger(f->engine);
	assert_int_equal(l->threads.nitems, 1);
	CHECK(ledger_of(f, 101, T0 + 41 * MS), 2 * MS, 18 * MS, 0, 9 * MS, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 * MS);
}

/* Calls that are settled together, of which pieces that the timeline no longer keeps cover some. */
static void pieces_may_cover_several_calls(void **state)
{
	struct feed *f = *state;
	uint64_t at = T0;

	feed_launch(f, T0, T0 + 1, 102, 1);
	feed_switch(f, at + 1, 0, 0, 0, 101);
	for (unsigned i = 0; i < 640; i++, at += 100)
		sleeps(f, at + 50, at + 70, at + 100, S, true);
	feed_call(f, KIND_wait, T0 + 340 * 100, at, 101,
		  0); /* before it own 50 - 1, choice 20, cpu 30 each; in it gpu */
	for (unsigned i = 0; i < 10; i++, at += 100) {
		feed_launch(f, at + 10, at + 20, 101, 0);       /* own 10, calls 10 */
		sleeps(f, at + 50, at + 70, at + 100, S, true); /* own 30, choice 20, cpu 30 */
	}
	feed_launch(f, at + 10, at + 20, 101, 0);
	CHECK(ledger_of(f, 101, at + 20), 11 * 10, 0, 300 * 70, 340 * 50 + 10 * 40 + 10 - 1, 650 * 30, 0, 0, 0, 0, 0, 0,
	      0, 350 * 20, 0, 1);
}

/* A first call among others that are settled together. */
static void a_first_call_is_settled_alone(void **state)
{
	struct feed *f = *state;
	uint64_t at = T0;

	FEED(f, KIND_exec, T0, 100, 101);
	for (unsigned i = 0; i < 20; i++, at += 100 * US) {
		feed_kernel(f, at, at + 10 * US, 0x1000);                     /* calls 10 */
		sleeps(f, at + 20 * US, at + 25 * US, at + 30 * US, S, true); /* own 10, choice 5, cpu 5 */
		if (i == 15) {
			sleeps(f, at + 35 * US, at + 37 * US, at + 40 * US, S, true); /* gpu 2, cpu 3 */
			feed_alloc_of(f, at + 80 * US, 50 * US);                      /* first 50 - 5 - 10, calls 10 */
		} else if (i > 15)
			feed_alloc_of(f, at + 40 * US, 10 * US);
	}
	CHECK(ledger_of(f, 101, at), 20 * 10 * US + 5 * 10 * US, 35 * US, 2 * US, 20 * 80 * US - 50 * US - 4 * 10 * US,
	      20 * 5 * US + 3 * US, 0, 0, 0, 0, 0, 0, 0, 20 * 5 * US);
}

/* Calls are settled some at a time: each part is what it is when they are settled one by one. */
static void calls_that_are_settled_together_keep_their_parts(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;
	uint64_t at = T0;

	for (unsigned i = 0; i < 1000; i++, at += 100 * US) {
		feed_launch(f, at, at + 10 * US, 101, 0);                      /* calls 10 */
		sleeps(f, at + 20 * US, at + 25 * US, at + 30 * US, S, false); /* own 10, task 5, cpu 5 */
		sleeps(f, at + 40 * US, at + 60 * US, at + 61 * US, S, true);  /* own 5, gpu 5 + 20 + 1 (cpu) */
		feed_call(f, KIND_wait, at + 35 * US, at + 70 * US, 101, 0);   /* gpu 9 */
		feed_switch(f, at + 80 * US, 0, 101, 0, 103);                  /* own 10 */
		feed_switch(f, at + 90 * US, 0, 103, 0, 101);                  /* cpu 10, own 10 */
	}
	t = ledger_of(f, 101, at);
	CHECK(t, 1000 * 10 * US, 0, 1000 * 34 * US, 1000 * 35 * US, 1000 * 16 * US, 0, 1000 * 5 * US);
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
		sleeps(f, at + 5 * US, at + 7 * US, at + 10 * US, i % 2 ? S : STOPPED, true);
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

/* A thread has slices from its own first one on; of two that become one, the first may be alone. */
static void slices_begin_with_the_thread(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;

	feed_launch(f, T0, T0 + 1, 102, 1);
	FEED(f, KIND_fork, T0 + 7000 * MS, 100, 102, 100, 101);
	feed_thread(f, T0 + 7000 * MS, 101, 100, T0 + 7000 * MS, "late");
	feed_switch(f, T0 + 7000 * MS, 0, 0, 0, 101);
	for (uint64_t s = 7; s < 10; s++)
		feed_launch(f, T0 + s * 1000 * MS + 500 * MS, T0 + s * 1000 * MS + 500 * MS + s * MS, 101, 0);
	feed_launch(f, T0 + 700 * 1000 * MS, T0 + 700 * 1000 * MS + MS, 101, 0);
	t = ledger_of(f, 101, T0 + 701 * 1000 * MS);
	assert_non_null(t);
	check_sum(engine_ledger(f->engine), t);
	assert_int_equal(t->slice_ns, 2 * LEDGER_SLICE_NS);
	assert_int_equal(t->first_slice, 3);
	assert_int_equal(t->nslices, 348);
	assert_int_equal(t->slices[0].ns[LEDGER_CALLS], 7 * MS);
	assert_int_equal(t->slices[1].ns[LEDGER_CALLS], (8 + 9) * MS);
	assert_int_equal(t->slices[347].ns[LEDGER_CALLS], 1 * MS);
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

/* The exit of the first one is not known. */
static void what_is_yet_to_be_settled_is_not_lost_with_the_number(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;

	feed_launch(f, T0, T0 + 10 * US, 101, 0);
	sleeps(f, T0 + 20 * US, T0 + 25 * US, T0 + 30 * US, S, true);
	feed_launch(f, T0 + 40 * US, T0 + 50 * US, 101, 0);
	FEED(f, KIND_fork, T0 + 50 * MS, 100, 102, 100, 101);
	feed_thread(f, T0 + 50 * MS, 101, 100, T0 + 50 * MS, "again");
	t = ledger_of(f, 101, T0 + 60 * MS);
	assert_non_null(t);
	check_sum(engine_ledger(f->engine), t);
	assert_int_equal(t->end_ns - t->begin_ns, 50 * US);
}

/* Usual is the middle of the next ones; of a kernel that is launched once, of others by that function. */
static void first_calls_are_longer_than_usual(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;

	FEED(f, KIND_exec, T0, 100, 101);
	feed_kernel(f, T0 + 0 * MS, T0 + 9 * MS, 0x1000);   /* first 8 (1 is usual), calls 1 */
	feed_kernel(f, T0 + 9 * MS, T0 + 11 * MS, 0x1000);  /* calls 2 + 1 + 1 */
	feed_kernel(f, T0 + 11 * MS, T0 + 12 * MS, 0x1000); /* of two the longer one is the middle one: */
	feed_kernel(f, T0 + 12 * MS, T0 + 13 * MS, 0x1000);
	feed_kernel(f, T0 + 13 * MS, T0 + 17 * MS, 0x2000); /* first 3, calls 1 */
	feed_kernel(f, T0 + 17 * MS, T0 + 22 * MS, 0x3000); /* first 2, calls 3 */
	feed_kernel(f, T0 + 22 * MS, T0 + 25 * MS, 0x3000); /* calls 3 + 1 */
	feed_kernel(f, T0 + 25 * MS, T0 + 26 * MS, 0x3000);
	feed_kernel(f, T0 + 26 * MS, T0 + 27 * MS, 0x4000); /* calls 1: as short as usual */
	FEED(f, KIND_copy, T0 + 30 * MS, 100, 101, 0, 3 * MS, PROBE_copy);
	feed_kernel(f, T0 + 30 * MS, T0 + 35 * MS, 0x5000);                /* first 4, calls 1 */
	FEED(f, KIND_copy, T0 + 37 * MS, 100, 101, 0, 2 * MS, PROBE_copy); /* calls 2, as 3 before */
	t = ledger_of(f, 101, T0 + 37 * MS);
	CHECK(t, 20 * MS, 17 * MS);
}

/* What it waited for meanwhile has reasons of its own; the kernel's work for it does not. */
static void of_a_first_call_only_what_it_did_itself_counts(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;

	FEED(f, KIND_exec, T0, 100, 101);
	sleeps_for(f, T0 + 1 * MS, T0 + 3 * MS, S, SWITCH_FAULT);     /* first 1 + 2 */
	sleeps_for(f, T0 + 4 * MS, T0 + 8 * MS, D, SWITCH_IO);        /* first 1, device 4 */
	sleeps(f, T0 + 9 * MS, T0 + 14 * MS, T0 + 16 * MS, S, false); /* first 1, task 5, cpu 2 */
	sleeps_for(f, T0 + 17 * MS, T0 + 20 * MS, S, 0);              /* first 1, gpu 3 */
	feed_kernel(f, T0, T0 + 21 * MS, 0x1000);                     /* calls 1, which is usual */
	feed_kernel(f, T0 + 21 * MS, T0 + 22 * MS, 0x1000);           /* calls 1 */
	t = ledger_of(f, 101, T0 + 22 * MS);
	CHECK(t, 2 * MS, 6 * MS, 3 * MS, 0, 2 * MS, 0, 5 * MS, 4 * MS);
}

/* The second one waits for the first one, and is over before it. */
static void of_two_at_once_the_first_one_is_that_which_began_first(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;

	FEED(f, KIND_exec, T0, 100, 101);
	feed_switch(f, T0, 1, 0, 0, 102);
	feed_switch(f, T0 + 2 * MS, 1, 102, S, 0);
	feed_waking(f, T0 + 8 * MS, 0, 102, 101, WAKE_TASK);
	feed_switch(f, T0 + 8 * MS, 1, 0, 0, 102);
	FEED(f, KIND_launch, T0 + 9 * MS, 100, 102, 1, 8 * MS, PROBE_launch, 0, 0, 0x1000); /* calls 2 */
	FEED(f, KIND_launch, T0 + 10 * MS, 100, 102, 1, 1 * MS, PROBE_launch, 0, 0, 0x1000);
	feed_kernel(f, T0 + 0 * MS, T0 + 11 * MS, 0x1000);
	feed_kernel(f, T0 + 11 * MS, T0 + 12 * MS, 0x1000);
	t = ledger_of(f, 102, T0 + 12 * MS);
	CHECK(t, 3 * MS, 0, 0, 3 * MS, 0, 0, 6 * MS);
	t = (const struct ledger_thread *)table_find(&engine_ledger(f->engine)->threads, 101, t->key.b);
	CHECK(t, 2 * MS, 10 * MS);
}

/* That the process began is known by the fork. */
static void a_child_has_first_calls_of_its_own(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;

	feed_kernel(f, T0, T0 + 1 * MS, 0x1000);
	FEED(f, KIND_fork, T0 + 1 * MS, 100, 101, 300, 300);
	feed_switch(f, T0 + 1 * MS, 1, 0, 0, 300);
	for (uint64_t i = 0; i < 2; i++)
		FEED(f, KIND_launch, T0 + (6 + i) * MS, 300, 300, 1, i ? 1 * MS : 5 * MS, PROBE_launch, 0, 0, 0x1000);
	t = ledger_of(f, 300, T0 + 7 * MS);
	assert_non_null(t);
	check_sum(engine_ledger(f->engine), t);
	assert_int_equal(t->ns[LEDGER_FIRST], 4 * MS);
	assert_int_equal(t->ns[LEDGER_CALLS], 2 * MS);
}

/* The process ran when recording began. */
static void calls_of_a_running_process_are_no_first_ones(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;

	feed_kernel(f, T0, T0 + 9 * MS, 0x1000);
	feed_kernel(f, T0 + 9 * MS, T0 + 10 * MS, 0x1000);
	t = ledger_of(f, 101, T0 + 10 * MS);
	CHECK(t, 10 * MS);
}

/* It is found in the seconds that it was in, also when these have become one by then, and its thread is gone. */
static void a_first_call_may_take_seconds(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;

	FEED(f, KIND_exec, T0, 100, 101);
	feed_kernel(f, T0 + 600 * MS, T0 + 3600 * MS, 0x1000); /* 0.4, 1, 1 and 0.6 s in four seconds */
	feed_kernel(f, T0 + 3600 * MS, T0 + 4200 * MS, 0x1000);
	FEED(f, KIND_exit, T0 + 5000 * MS, 100, 101, 0, 1);
	FEED(f, KIND_exec, T0 + 6000 * MS, 200, 201);
	FEED(f, KIND_launch, T0 + 900000 * MS, 200, 201, 0, MS, PROBE_launch, 0, 0, 0x1000);
	t = ledger_of(f, 101, T0 + 900000 * MS);
	assert_non_null(t);
	check_sum(engine_ledger(f->engine), t);
	assert_int_equal(t->slice_ns, 2 * LEDGER_SLICE_NS);
	assert_int_equal(t->ns[LEDGER_FIRST], 2400 * MS);
	assert_int_equal(t->slices[0].ns[LEDGER_FIRST], 1400 * MS);
	assert_int_equal(t->slices[1].ns[LEDGER_FIRST], 1000 * MS);
	assert_int_equal(t->slices[1].ns[LEDGER_CALLS], 1000 * MS);
}

/* Those of processes that are gone make room, but for those that matter. */
static void first_calls_are_kept_while_their_process_lives(void **state)
{
	struct feed *f = *state;
	const struct first_calls *u;
	uint64_t at = T0 + 10 * MS;

	for (uint64_t pid = 1000; pid < 1100; pid++) {
		FEED(f, KIND_exec, at, pid, pid);
		for (uint64_t kernel = 1; kernel <= 1000; kernel++, at += 10 * US)
			FEED(f, KIND_launch, at + 10 * US, pid, pid, 0, kernel == 1 ? 2 * MS : 5 * US, PROBE_launch, 0,
			     0, kernel);
		FEED(f, KIND_launch, at + 10 * US, pid, pid, 0, 5 * US, PROBE_launch, 0, 0, 1);
		feed_settle(f, at += 20 * US);
		u = &engine_ledger(f->engine)->firsts;
		assert_in_range(u->all.nitems, 1000, 1200);
		FEED(f, KIND_exit, at += 10 * US, pid, pid, 0, 1);
	}
	feed_settle(f, at + MS);
	assert_int_equal(u->all.nitems, 100);
	assert_int_equal(u->nbeyond, 0);
}

static void first_calls_beyond_the_most_are_counted(void **state)
{
	struct feed *f = *state;

	FEED(f, KIND_exec, T0, 100, 101);
	for (uint64_t kernel = 1; kernel <= FIRST_CALLS_MAX + 3; kernel++)
		feed_kernel(f, T0 + kernel * 10 * US, T0 + kernel * 10 * US + 5 * US, kernel);
	(void)ledger_of(f, 101, T0 + 10000 * MS);
	assert_int_equal(engine_ledger(f->engine)->firsts.nbeyond, 3);
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
		FEED(f, KIND_switch, at, cpu, throw(3) ? tid : 0, throw(3) ? throw(9) : 0, throw(3) ? other : 0,
		     throw(3) ? 0 : 1 + throw(500), throw(3) ? 0 : throw(2048), throw(4));
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
			FEED(f, KIND_exit, at, 100, tid, 0, throw(4) == 0);
		else
			FEED(f, KIND_launch, at, 100, tid, cpu, at - begin, PROBE_launch, 0, 0, throw(6));
		break;
	default:
		if (throw(100) == 0)
			timeline_blind(engine_context(f->engine)->timeline, at, at + throw(2 * MS), NULL);
		else if (throw(4) == 0)
			FEED(f, KIND_fault, at, 100, tid, cpu, back, 4096);
		else if (throw(4) == 0)
			FEED(f, KIND_disk, at, 100, tid, cpu, back, throw(back + 1),
			     throw(2) ? DISK_READ : DISK_SWAP_IN, 4096, 0, 1);
		else if (throw(20) == 0)
			FEED(f, KIND_follow, at, 100, tid, cpu, other, back);
		else if (throw(20) == 0)
			FEED(f, KIND_signal, at, 100, tid, cpu, 18 + throw(3), 0, other);
		else if (throw(3) == 0)
			FEED(f, KIND_reclaim, at, 100, tid, cpu, back, throw(5), 1);
		else if (throw(3) == 0)
			FEED(f, KIND_network, at, 100, tid, cpu, back, throw(3), throw(4), throw(2), throw(9));
		else if (throw(50) == 0)
			FEED(f, KIND_fork, at, 100, tid, 100, other);
		else if (throw(50) == 0)
			FEED(f, KIND_in_flight, at, 100, tid, MOMENT_END, back, PROBE_launch, 0, 0);
		break;
	}
}

static void whatever_comes_it_adds_up(void **state)
{
	unsigned with_first = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct feed f = {0};
		uint64_t at = T0, first_ns = 0;
		const struct ledger *l;

		dice = seed * 0x9e3779b97f4a7c15;
		feed_open(&f);
		feed_cast(&f, 4);
		if (seed % 2)
			FEED(&f, KIND_exec, at, 100, 101);
		for (unsigned i = 0; i < 4000; i++) {
			at += throw(3) ? throw(50 * US) : throw(seed % 7 == 0 ? 3000 * MS : 1 * MS);
			feed_anything(&f, at);
		}
		(void)ledger_of(&f, 0, at + 1);
		l = engine_ledger(f.engine);
		assert_true(l->threads.nitems > 0);
		for (size_t i = 0; i < l->threads.nitems; i++) {
			const struct ledger_thread *t = (const struct ledger_thread *)l->threads.items[i];

			check_sum(l, t);
			first_ns += t->ns[LEDGER_FIRST];
		}
		assert_true(seed % 2 || !first_ns);
		with_first += first_ns != 0;
		feed_close(&f);
	}
	assert_true(with_first > 10);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(all_of_its_time_has_a_part),
		TEST(it_is_known_who_let_a_stopped_thread_go_on),
		TEST(also_long_before_the_first_call),
		TEST(quotas_devices_faults_and_locks_have_parts_of_their_own),
		TEST(a_wait_in_io_uring_is_for_who_ends_it),
		TEST(a_call_in_flight_at_the_end_is_open),
		TEST(a_sleep_that_did_not_end_is_open),
		TEST(one_that_ends_with_the_recording_is_not),
		TEST(futexes_are_waits_or_naps),
		TEST(what_the_timeline_forgets_is_kept),
		TEST(a_first_call_of_many_pieces_is_not_guessed),
		TEST(slices_grow_with_the_capture),
		TEST(a_number_that_is_used_again_is_another_thread),
		TEST(slices_begin_with_the_thread),
		TEST(what_ends_without_a_call_is_dropped),
		TEST(who_called_is_not_dropped),
		TEST(pieces_may_cover_several_calls),
		TEST(a_first_call_is_settled_alone),
		TEST(what_is_yet_to_be_settled_is_not_lost_with_the_number),
		TEST(calls_that_are_settled_together_keep_their_parts),
		TEST(first_calls_are_longer_than_usual),
		TEST(of_a_first_call_only_what_it_did_itself_counts),
		TEST(of_two_at_once_the_first_one_is_that_which_began_first),
		TEST(a_child_has_first_calls_of_its_own),
		TEST(calls_of_a_running_process_are_no_first_ones),
		TEST(a_first_call_may_take_seconds),
		TEST(first_calls_are_kept_while_their_process_lives),
		TEST(first_calls_beyond_the_most_are_counted),
		cmocka_unit_test(whatever_comes_it_adds_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
