// SPDX-License-Identifier: Apache-2.0
/* Waits in poll() and the like that are given up and begun again: one wait, of who ends the last of them. */
#include "tests/unit/ledgers.h"

#define POLL (7 + 1)
#define EPOLL (232 + 1)

static uint64_t given_to(const struct ledger_thread *t, uint32_t tid, enum cause_class did)
{
	for (size_t i = 0; i < t->waited.n; i++)
		if (t->waited.all[i].part == LEDGER_TASK && t->waited.all[i].whom.tid == tid)
			return t->waited.all[i].did_ns[did];
	return 0;
}

static void polls_until(struct feed *f, uint64_t at, uint64_t syscall, uint64_t ms, uint64_t waker, uint64_t context)
{
	FEED(f, KIND_switch, at, 0, 101, S, 0, syscall);
	feed_waking(f, at + ms * MS, waker ? 1 : 0, 101, waker, context);
	feed_switch(f, at + ms * MS, 0, 0, 0, 101);
}

/* 5 ms at a time, `n` times until its time is up, and looks for so long; when. */
static uint64_t polls(struct feed *f, uint64_t at, unsigned n, uint64_t syscall, uint64_t look)
{
	for (unsigned i = 0; i < n; i++, at += 5 * MS + look)
		polls_until(f, at, syscall, 5, 0, WAKE_TIMER);
	return at;
}

/* And then until 102, which is at work all the time, wakes it after 3 ms. */
static uint64_t is_woken(struct feed *f, uint64_t at, uint64_t syscall)
{
	polls_until(f, at, syscall, 3, 102, WAKE_TASK);
	return at + 3 * MS;
}

static const struct ledger_thread *ends(struct feed *f, uint64_t at)
{
	feed_launch(f, at, at + 1 * MS, 101, 0);
	return ledger_of(f, 101, at + 1 * MS);
}

static void begins(struct feed *f)
{
	feed_switch(f, T0, 1, 0, 0, 102);
	feed_launch(f, T0 + 0 * MS, T0 + 1 * MS, 101, 0);
}

static void who_ends_the_last_ends_them_all(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;

	begins(f);
	t = ends(f, is_woken(f, polls(f, T0 + 1 * MS, 4, POLL, 10 * US), POLL));
	CHECK(t, 2 * MS, 0, 0, 40 * US, 0, 0, 23 * MS);
	assert_int_equal(given_to(t, 102, CAUSE_CPU), 23 * MS);
}

/* The timeline forgets most of it meanwhile. */
static void however_many(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;

	begins(f);
	t = ends(f, is_woken(f, polls(f, T0 + 1 * MS, 2000, POLL, 10 * US), POLL));
	CHECK(t, 2 * MS, 0, 0, 20 * MS, 0, 0, 10003 * MS);
	assert_int_equal(given_to(t, 102, CAUSE_CPU), 10003 * MS);
}

static void another_call_is_another_wait(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;
	uint64_t at;

	begins(f);
	at = polls(f, polls(f, T0 + 1 * MS, 400, POLL, 10 * US), 400, EPOLL, 10 * US);
	t = ends(f, is_woken(f, at, POLL));
	CHECK(t, 2 * MS, 0, 0, 8 * MS, 0, 0, 3 * MS, 0, 0, 0, 0, 0, 4000 * MS);
}

static void what_came_in_between_ended_one(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;
	uint64_t at;

	begins(f);
	at = polls(f, T0 + 1 * MS, 2, POLL, 10 * US);
	polls_until(f, at, POLL, 5, 0, WAKE_IRQ); /* from outside: that was all until then */
	at = polls(f, at + 5 * MS + 10 * US, 3, POLL, 10 * US);
	t = ends(f, is_woken(f, at, POLL));
	CHECK(t, 2 * MS, 0, 0, 60 * US, 0, 0, 18 * MS, 0, 0, 0, 0, 0, 15 * MS);
}

static void and_so_did_other_work(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;
	uint64_t at;

	begins(f);
	at = polls(f, T0 + 1 * MS, 2, POLL, 4 * MS);
	t = ends(f, is_woken(f, at, POLL));
	CHECK(t, 2 * MS, 0, 0, 8 * MS, 0, 0, 3 * MS, 0, 0, 0, 0, 0, 10 * MS);
}

/* It feeds the GPU at each of its own times: they are such. */
static void and_so_did_a_launch(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;
	uint64_t at = T0 + 1 * MS;

	begins(f);
	for (unsigned i = 0; i < 3; i++) {
		at = polls(f, at, 1, POLL, 20 * US);
		feed_launch(f, at - 15 * US, at - 5 * US, 101, 0);
	}
	t = ends(f, is_woken(f, at, POLL));
	CHECK(t, 2 * MS + 30 * US, 0, 0, 30 * US, 0, 0, 3 * MS, 0, 0, 0, 0, 0, 15 * MS);
}

/* Of these calls the rows of their own say what for, and there are none. */
static void a_futex_is_not_known_by_its_call(void **state)
{
	static const uint64_t calls[] = {202 + 1, 98 + 1, 449 + 1, 455 + 1, 0};
	struct feed *f = *state;
	const struct ledger_thread *t;
	uint64_t at = T0 + 1 * MS;

	begins(f);
	for (unsigned i = 0; i < 5; i++)
		at = is_woken(f, polls(f, at, 1, calls[i], 10 * US), calls[i]) + 10 * US;
	t = ends(f, at);
	CHECK(t, 2 * MS, 0, 0, 100 * US, 0, 0, 15 * MS, 0, 0, 0, 0, 0, 25 * MS);
}

/* Nobody came; or nothing that a thread sent. */
static void they_are_its_own_choice_that_nobody_ends(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;
	uint64_t at;

	begins(f);
	at = polls(f, T0 + 1 * MS, 2, POLL, 10 * US);
	polls_until(f, at, POLL, 3, 102, WAKE_IRQ);
	t = ends(f, at + 3 * MS);
	CHECK(t, 2 * MS, 0, 0, 20 * US, 0, 0, 0, 0, 0, 0, 0, 0, 13 * MS);
}

/* A tracer stops it as the call ends, and lets it go on: nobody ended the sleeps. However many: as they are kept, too.
 */
static void nor_are_they_for_a_tracer(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;
	uint64_t at = T0 + 1 * MS;

	begins(f);
	for (unsigned i = 0; i < 1000; i++) {
		at = polls(f, at, 1, POLL, 10 * US);
		FEED(f, KIND_switch, at, 0, 101, TASK_TRACED_BIT, 0, POLL);
		feed_waking(f, at + 20 * US, 1, 101, 102, WAKE_TASK);
		feed_switch(f, at + 20 * US, 0, 0, 0, 101);
		at += 30 * US;
	}
	t = ends(f, at);
	CHECK(t, 2 * MS, 0, 0, 1000 * 20 * US, 0, 0, 0, 0, 0, 0, 0, 1000 * 20 * US, 1000 * 5 * MS);
	assert_int_equal(t->stops.n, 1);
	assert_int_equal(t->stops.all[0].whom.tid, 102);
	assert_int_equal(t->stops.all[0].part, STOP_TRACED);
	assert_int_equal(t->stops.all[0].count, 1000);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(who_ends_the_last_ends_them_all),
		TEST(however_many),
		TEST(another_call_is_another_wait),
		TEST(what_came_in_between_ended_one),
		TEST(and_so_did_other_work),
		TEST(and_so_did_a_launch),
		TEST(a_futex_is_not_known_by_its_call),
		TEST(they_are_its_own_choice_that_nobody_ends),
		TEST(nor_are_they_for_a_tracer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
