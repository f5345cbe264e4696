/* SPDX-License-Identifier: Apache-2.0 */
/* Time in which a thread frees memory by itself: which part it is of, and how it is put into words. */
#include "analyze/remedy.h"
#include "tests/unit/ledgers.h"

static void reclaim(struct feed *f, uint64_t begin, uint64_t end, uint64_t cause)
{
	FEED(f, KIND_reclaim, end, 100, 101, 0, end - begin, cause, 32);
}

/* On a CPU and asleep it is memory, without a CPU it is not. */
static void what_a_thread_does_to_get_memory_is_apart(void **state)
{
	struct feed *f = *state;
	struct cause c;

	feed_launch(f, T0 + 0 * MS, T0 + 1 * MS, 101, 0);
	feed_switch(f, T0 + 4 * MS, 0, 101, D, 0); /* on a CPU: 2 before, 1 of reclaim */
	feed_waking(f, T0 + 9 * MS, 1, 101, 102, WAKE_TASK);
	feed_switch(f, T0 + 11 * MS, 0, 0, 0, 101); /* 5 asleep in it, 2 without a CPU */
	reclaim(f, T0 + 3 * MS, T0 + 14 * MS, RECLAIM_GROUP);
	feed_launch(f, T0 + 1 * MS, T0 + 20 * MS, 101, 0);
	c = cause_of(f, 101, T0 + 1 * MS, T0 + 20 * MS);
	check_ns(&c.links[0], 2 * MS + 6 * MS, 2 * MS, 0, 0, 0);
	assert_int_equal(c.links[0].ns[CAUSE_MEMORY], 9 * MS);
	assert_int_equal(c.end, CHAIN_MEMORY);
	assert_int_equal(c.nlinks, 1); /* whoever woke it, it was about memory */
	assert_int_equal(split_longest(&c.links[0], CAUSE_MEMORY)->ns, 9 * MS);
	assert_int_equal(split_longest(&c.links[0], CAUSE_MEMORY)->count, 3);
}

/* The row comes at the end: what of it is asked for is cut to that. */
static void a_part_of_it_can_be_asked_for(void **state)
{
	struct feed *f = *state;
	struct cause c;

	feed_launch(f, T0 + 0 * MS, T0 + 1 * MS, 101, 0);
	reclaim(f, T0 + 2 * MS, T0 + 4 * MS, RECLAIM_HOST);
	reclaim(f, T0 + 6 * MS, T0 + 9 * MS, RECLAIM_COMPACT);
	feed_launch(f, T0 + 1 * MS, T0 + 10 * MS, 101, 0);
	c = cause_of(f, 101, T0 + 3 * MS, T0 + 7 * MS);
	check_ns(&c.links[0], 2 * MS, 0, 0, 0, 0);
	assert_int_equal(c.links[0].ns[CAUSE_MEMORY], 2 * MS);
	c = cause_of(f, 101, T0 + 4 * MS, T0 + 6 * MS);
	check_ns(&c.links[0], 2 * MS, 0, 0, 0, 0);
	assert_true(!timeline_ran(feed_timeline(f), 101, T0 + 5 * MS));
	assert_true(timeline_ran(feed_timeline(f), 101, T0 + 9 * MS));
}

/* A sleep that the kernel counts as one for memory, without reclaim: memory.high, or reading back what was evicted. */
static void a_sleep_for_memory_is_memory(void **state)
{
	struct feed *f = *state;
	struct cause c;

	feed_launch(f, T0 + 0 * MS, T0 + 1 * MS, 101, 0);
	FEED(f, KIND_switch, T0 + 2 * MS, 0, 101, D, 0, 0, SWITCH_MEMORY | SWITCH_IO);
	feed_waking(f, T0 + 8 * MS, 0, 101, 0, WAKE_IRQ);
	feed_switch(f, T0 + 8 * MS, 0, 0, 0, 101);
	feed_launch(f, T0 + 1 * MS, T0 + 9 * MS, 101, 0);
	c = cause_of(f, 101, T0 + 1 * MS, T0 + 9 * MS);
	check_ns(&c.links[0], 2 * MS, 0, 0, 0, 0);
	assert_int_equal(c.links[0].ns[CAUSE_MEMORY], 6 * MS);
	assert_string_equal(shortage_word(split_longest(&c.links[0], CAUSE_MEMORY)->flags), "unknown");
}

/* Also where the kernel does not count that as such a sleep. */
static void what_was_swapped_out_is_waited_for_as_for_memory(void **state)
{
	struct feed *f = *state;
	struct cause c;

	for (uint64_t i = 0; i < 2; i++) {
		feed_launch(f, T0 + (10 * i) * MS, T0 + (10 * i + 1) * MS, 101, 0);
		FEED(f, KIND_switch, T0 + (10 * i + 2) * MS, 0, 101, D, 0, 0, SWITCH_IO | SWITCH_FAULT);
		FEED(f, KIND_disk, T0 + (10 * i + 8) * MS, 100, 101, 0, 9 * MS, MS, i ? DISK_READ : DISK_SWAP_IN, 4096,
		     0, 1);
		feed_waking(f, T0 + (10 * i + 8) * MS, 0, 101, 0, WAKE_IRQ);
		feed_switch(f, T0 + (10 * i + 8) * MS, 0, 0, 0, 101);
	}
	feed_launch(f, T0 + 18 * MS, T0 + 19 * MS, 101, 0);
	c = cause_of(f, 101, T0 + 1 * MS, T0 + 9 * MS);
	assert_int_equal(c.links[0].ns[CAUSE_MEMORY], 6 * MS);
	assert_string_equal(shortage_word(split_longest(&c.links[0], CAUSE_MEMORY)->flags), "swap");
	c = cause_of(f, 101, T0 + 11 * MS, T0 + 19 * MS);
	assert_int_equal(c.links[0].ns[CAUSE_MEMORY], 0);
	assert_int_equal(c.links[0].ns[CAUSE_FAULT] + c.links[0].ns[CAUSE_IO], 6 * MS);
}

/* Frozen or stopped, it does nothing for memory. */
static void who_is_stopped_meanwhile_is_stopped(void **state)
{
	struct feed *f = *state;
	struct cause c;

	feed_launch(f, T0 + 0 * MS, T0 + 1 * MS, 101, 0);
	feed_switch(f, T0 + 2 * MS, 0, 101, STOPPED, 0);
	feed_waking(f, T0 + 8 * MS, 1, 101, 102, WAKE_TASK);
	feed_switch(f, T0 + 8 * MS, 0, 0, 0, 101);
	reclaim(f, T0 + 1 * MS, T0 + 9 * MS, RECLAIM_HOST);
	feed_launch(f, T0 + 1 * MS, T0 + 10 * MS, 101, 0);
	c = cause_of(f, 101, T0 + 1 * MS, T0 + 9 * MS);
	assert_int_equal(c.links[0].ns[CAUSE_STOPPED], 6 * MS);
	assert_int_equal(c.links[0].ns[CAUSE_MEMORY], 2 * MS);
}

static void the_ledger_has_it_wherever_the_thread_was(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;

	feed_launch(f, T0 + 0 * MS, T0 + 1 * MS, 101, 0);   /* calls 1 */
	reclaim(f, T0 + 2 * MS, T0 + 4 * MS, RECLAIM_HOST); /* own 1, memory 2 */
	feed_launch(f, T0 + 5 * MS, T0 + 6 * MS, 101, 0);   /* own 1, calls 1 */
	reclaim(f, T0 + 7 * MS, T0 + 10 * MS, RECLAIM_GROUP);
	feed_launch(f, T0 + 6 * MS, T0 + 11 * MS, 101, 0); /* calls 1, memory 3, calls 1 */
	reclaim(f, T0 + 12 * MS, T0 + 13 * MS, RECLAIM_COMPACT);
	feed_call(f, KIND_wait, T0 + 11 * MS, T0 + 15 * MS, 101, 0); /* gpu 1, memory 1, gpu 2 */
	feed_launch(f, T0 + 15 * MS, T0 + 16 * MS, 101, 0);          /* calls 1 */
	t = ledger_of(f, 101, T0 + 16 * MS);
	CHECK(t, 5 * MS, 0, 3 * MS, 2 * MS, 0, 0, 0, 0, 0, 6 * MS);
}

/* More than are kept of a thread: none is forgotten before the ledger has it, whether it leaves its CPU or not. */
static void of_many_none_is_forgotten(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;
	const unsigned n = 4 * TIMELINE_RECLAIMS_MAX;

	feed_launch(f, T0, T0 + 10 * US, 101, 0);
	for (unsigned i = 1; i <= n; i++)
		reclaim(f, T0 + 100 * US * i, T0 + 100 * US * i + 40 * US, RECLAIM_HOST);
	feed_launch(f, T0 + 100 * US * (n + 1), T0 + 100 * US * (n + 1) + 10 * US, 101, 0);
	t = ledger_of(f, 101, T0 + 100 * US * (n + 1) + 10 * US);
	assert_non_null(t);
	check_sum(engine_ledger(f->engine), t);
	assert_int_equal(t->ns[LEDGER_MEMORY], 40 * US * n);
	assert_int_equal(t->ns[LEDGER_CALLS], 20 * US);
}

/* Rows that nobody would make: overlapping, of no length, of threads that are none. */
static void nonsense_adds_up(void **state)
{
	struct feed *f = *state;
	struct cause c;

	feed_launch(f, T0 + 0 * MS, T0 + 1 * MS, 101, 0);
	reclaim(f, T0 + 2 * MS, T0 + 5 * MS, 99);
	reclaim(f, T0 + 1 * MS, T0 + 6 * MS, RECLAIM_GROUP);
	reclaim(f, T0 + 6 * MS, T0 + 6 * MS, RECLAIM_GROUP);
	FEED(f, KIND_reclaim, T0 + 7 * MS, 100, 0, 0, 5 * MS, RECLAIM_HOST, 1);
	FEED(f, KIND_reclaim, T0 + 7 * MS, 100, UINT64_MAX, 0, UINT64_MAX, RECLAIM_HOST, 1);
	feed_launch(f, T0 + 1 * MS, T0 + 10 * MS, 101, 0);
	c = cause_of(f, 101, T0 + 1 * MS, T0 + 10 * MS);
	check_ns(&c.links[0], 5 * MS, 0, 0, 0, 0);
	assert_int_equal(c.links[0].ns[CAUSE_MEMORY], 4 * MS);
}

static void check_words(struct feed *f, uint64_t begin, uint64_t end, const char *words, const char *remedy)
{
	struct explained e;
	struct text t = {0};

	feed_settle(f, end + 1);
	explain(&e, feed_timeline(f), engine_context(f->engine)->names, 101, begin, end);
	text_add_cause(&t, &e);
	assert_string_equal(text_string(&t), words);
	text_clear(&t);
	assert_non_null(strstr(cause_remedy(&e, split_main(&e.cause.links[0])), remedy));
}

/* That is the disk's, and not for want of memory. */
static void writes_that_are_held_back_wait_for_a_disk(void **state)
{
	struct feed *f = *state;

	feed_launch(f, T0 + 0 * MS, T0 + 1 * MS, 101, 0);
	FEED(f, KIND_switch, T0 + 2 * MS, 0, 101, D, 0, 2, SWITCH_WRITES | SWITCH_IO);
	feed_waking(f, T0 + 8 * MS, 0, 101, 0, WAKE_IRQ);
	feed_switch(f, T0 + 8 * MS, 0, 0, 0, 101);
	FEED(f, KIND_switch, T0 + 9 * MS, 0, 101, D, 0, 1, SWITCH_IO);
	feed_waking(f, T0 + 10 * MS, 0, 101, 0, WAKE_IRQ);
	feed_switch(f, T0 + 10 * MS, 0, 0, 0, 101);
	feed_launch(f, T0 + 2 * MS, T0 + 12 * MS, 101, 0);
	check_words(f, T0 + 2 * MS, T0 + 8 * MS,
		    "6.00 ms waiting for a disk in system call 1, its writes held back until more was on it",
		    "vm.dirty_bytes");
	check_words(
		f, T0 + 2 * MS, T0 + 10 * MS,
		"7.00 ms waiting for a disk in system call 1, for most of it its writes held back until more was on it",
		"vm.dirty_bytes");
}

static void why_it_had_to_is_said(void **state)
{
	struct feed *f = *state;

	feed_launch(f, T0 + 0 * MS, T0 + 1 * MS, 101, 0);
	reclaim(f, T0 + 1 * MS, T0 + 7 * MS, RECLAIM_GROUP);
	reclaim(f, T0 + 11 * MS, T0 + 17 * MS, RECLAIM_HOST);
	reclaim(f, T0 + 17 * MS, T0 + 18 * MS, RECLAIM_COMPACT);
	reclaim(f, T0 + 21 * MS, T0 + 27 * MS, RECLAIM_COMPACT);
	feed_launch(f, T0 + 1 * MS, T0 + 30 * MS, 101, 0);
	check_words(f, T0 + 1 * MS, T0 + 8 * MS,
		    "6.00 ms short of memory (its control group, or one above, is at a memory limit)", "memory.max");
	check_words(
		f, T0 + 11 * MS, T0 + 18 * MS,
		"7.00 ms short of memory (most of it as the host, or the part of it that it may use, has too little free)",
		"/proc/meminfo");
	check_words(f, T0 + 21 * MS, T0 + 27 * MS, "6.00 ms short of memory (none is free in one piece: compaction)",
		    "huge pages");
}

static void which_group_is_at_its_limit_is_said(void **state)
{
	const uint64_t group[] = {T0, 100, T0 - MS, 0, 0, 0};
	uint64_t limit[NFIELDS_memory_limit] = {T0, 64 << 20};
	struct feed *f = *state;

	feed_named(f, KIND_cgroup, group, 6, F_cgroup_memory_group, "/a/b");
	for (int i = 0; i < 2; i++) {
		limit[F_memory_limit_times_max] += 7;
		feed_named(f, KIND_memory_limit, limit, F_memory_limit_path, F_memory_limit_path, "/a");
	}
	feed_launch(f, T0 + 0 * MS, T0 + 1 * MS, 101, 0);
	reclaim(f, T0 + 1 * MS, T0 + 7 * MS, RECLAIM_GROUP);
	reclaim(f, T0 + 7 * MS, T0 + 9 * MS, RECLAIM_HOST);
	feed_launch(f, T0 + 1 * MS, T0 + 30 * MS, 101, 0);
	check_words(f, T0 + 1 * MS, T0 + 7 * MS,
		    "6.00 ms short of memory (control group /a is at its memory limit of 64.0 MiB)", "memory.max");
	check_words(f, T0 + 7 * MS, T0 + 9 * MS,
		    "2.00 ms short of memory (the host, or the part of it that it may use, has too little free)",
		    "/proc/meminfo");
}

/* Whom it keeps waiting meanwhile, waits for that. */
static void a_chain_ends_at_one_that_gets_memory(void **state)
{
	struct feed *f = *state;
	struct explained e;
	struct text t = {0};

	feed_launch(f, T0 + 0 * MS, T0 + 1 * MS, 101, 0);
	feed_launch(f, T0 + 0 * MS, T0 + 1 * MS, 102, 1);
	feed_switch(f, T0 + 2 * MS, 1, 102, S, 0);
	reclaim(f, T0 + 2 * MS, T0 + 9 * MS, RECLAIM_HOST);
	feed_waking(f, T0 + 10 * MS, 0, 102, 101, WAKE_TASK);
	feed_switch(f, T0 + 10 * MS, 1, 0, 0, 102);
	feed_launch(f, T0 + 1 * MS, T0 + 11 * MS, 102, 1);
	feed_settle(f, T0 + 12 * MS);
	explain(&e, feed_timeline(f), engine_context(f->engine)->names, 102, T0 + 2 * MS, T0 + 10 * MS);
	assert_int_equal(e.cause.end, CHAIN_MEMORY);
	assert_string_equal(chain_end_name(e.cause.end), "memory");
	assert_int_equal(explained_keeper(&e), TID_NONE);
	text_add_cause(&t, &e);
	assert_string_equal(
		text_string(&t),
		"8.00 ms asleep (state S), woken by 101 t1, which was short of memory (the host, or the part "
		"of it that it may use, has too little free) for 7.00 ms");
	text_clear(&t);
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(what_a_thread_does_to_get_memory_is_apart),
		T(a_part_of_it_can_be_asked_for),
		T(a_sleep_for_memory_is_memory),
		T(what_was_swapped_out_is_waited_for_as_for_memory),
		T(who_is_stopped_meanwhile_is_stopped),
		T(the_ledger_has_it_wherever_the_thread_was),
		T(of_many_none_is_forgotten),
		T(nonsense_adds_up),
		T(writes_that_are_held_back_wait_for_a_disk),
		T(why_it_had_to_is_said),
		T(which_group_is_at_its_limit_is_said),
		T(a_chain_ends_at_one_that_gets_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
