/* SPDX-License-Identifier: Apache-2.0 */
/* The counters over a file in memory that is in for the kernel's map. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/probe/counters.h"
#include "record/probe/skipped_runs.h"

#define CALL 40 /* cudaMalloc */

struct made {
	struct counters counters;
	struct tally *kernel; /* [shard * slots + probe] */
	size_t bytes;
	const struct counter *rows;
	size_t nrows;
};

static int setup(void **state)
{
	struct made *m = calloc(1, sizeof(*m));
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int fd = memfd_create("tallies", 0);

	assert_non_null(m);
	m->bytes = (sizeof(struct tally) * counters_slots() * counters_shards() + page - 1) / page * page;
	assert_int_equal(ftruncate(fd, (off_t)m->bytes), 0);
	m->kernel = mmap(NULL, m->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(m->kernel != MAP_FAILED);
	assert_int_equal(counters_open(&m->counters, fd, NULL), 0);
	close(fd);
	*state = m;
	return 0;
}

static int teardown(void **state)
{
	struct made *m = *state;

	counters_close(&m->counters);
	munmap(m->kernel, m->bytes);
	free(m);
	return 0;
}

static void put(struct made *m, uint32_t shard, uint32_t probe, enum counter_index what, uint64_t n)
{
	m->kernel[shard * counters_slots() + probe].n[what] = n;
}

static uint64_t value(const struct made *m, uint16_t probe, uint8_t id)
{
	for (size_t i = 0; i < m->nrows; i++)
		if (m->rows[i].probe == probe && m->rows[i].id == id)
			return m->rows[i].value;
	return 0;
}

static void collect(struct made *m, bool at_end)
{
	m->nrows = counters_collect(&m->counters, at_end, &m->rows);
}

static void nothing_happened_is_no_row(void **state)
{
	struct made *m = *state;

	collect(m, true);
	assert_int_equal(m->nrows, 0);
}

static void the_shards_of_all_cpus_and_our_own_are_summed(void **state)
{
	struct made *m = *state;

	for (uint32_t shard = 0; shard < counters_shards(); shard++)
		put(m, shard, CALL, COUNT_fired, 10);
	put(m, counters_shards() - 1, CALL, COUNT_ring_full, 3);
	counters_add(&m->counters, CALL, COUNT_recorded);
	counters_add(&m->counters, CALL, COUNT_recorded);
	collect(m, false);
	assert_int_equal(value(m, CALL, COUNTER_fired), 10 * counters_shards());
	assert_int_equal(value(m, CALL, COUNTER_ring_full), 3);
	assert_int_equal(value(m, CALL, COUNTER_recorded), 2);
	assert_int_equal(m->nrows, 3);
}

static void rows_ascend_by_probe_and_counter(void **state)
{
	struct made *m = *state;

	for (size_t i = nprobes; i-- > 0;)
		for (unsigned k = NCOUNTS; k-- > 0;)
			put(m, 0, probe_table[i].id, (enum counter_index)k, 1);
	collect(m, false);
	assert_int_equal(m->nrows, nprobes * NCOUNTS);
	for (size_t i = 1; i < m->nrows; i++)
		assert_true(m->rows[i - 1].probe < m->rows[i].probe ||
			    (m->rows[i - 1].probe == m->rows[i].probe && m->rows[i - 1].id < m->rows[i].id));
}

static void what_is_missing_was_in_flight_but_only_at_the_end(void **state)
{
	struct made *m = *state;

	put(m, 0, CALL, COUNT_fired, 10);
	put(m, 0, CALL, COUNT_thread_exit, 2);
	put(m, 0, CALL, COUNT_unreadable, 5); /* of recorded ones: no loss */
	counters_add(&m->counters, CALL, COUNT_recorded);
	collect(m, false);
	assert_int_equal(value(m, CALL, COUNTER_in_flight), 0);
	collect(m, true);
	assert_int_equal(value(m, CALL, COUNTER_in_flight), 7);
	collect(m, true);
	assert_int_equal(value(m, CALL, COUNTER_in_flight), 7);
}

static void what_is_counted_after_the_end_is_not_reported(void **state)
{
	struct made *m = *state;

	put(m, 0, CALL, COUNT_fired, 10);
	collect(m, true);
	put(m, 0, CALL, COUNT_fired, 11);
	put(m, 0, CALL, COUNT_no_return, 3);
	collect(m, true);
	assert_int_equal(value(m, CALL, COUNTER_fired), 10);
	assert_int_equal(value(m, CALL, COUNTER_in_flight), 10);
	assert_int_equal(m->nrows, 2);
}

static void fired_is_recorded_and_lost_in_the_sums_at_the_end(void **state)
{
	struct made *m = *state;
	struct counter_sums sums;

	put(m, 0, CALL, COUNT_fired, 10);
	put(m, 0, CALL, COUNT_no_stack, 4);
	put(m, 0, PROBE_SWITCH, COUNT_fired, 7);
	put(m, 0, PROBE_SWITCH, COUNT_ring_full, 6);
	counters_add(&m->counters, PROBE_SWITCH, COUNT_recorded);
	collect(m, true);
	counters_sum(m->rows, m->nrows, &sums);
	assert_int_equal(sums.fired, 17);
	assert_int_equal(sums.recorded, 1);
	assert_int_equal(sums.absent[ABSENCE_LOST], 6);
	assert_int_equal(sums.absent[ABSENCE_IN_FLIGHT], 10);
}

static void a_run_that_was_skipped_fired_and_was_lost(void **state)
{
	struct made *m = *state;
	struct counter_sums sums;

	put(m, 0, PROBE_FUTEX, COUNT_fired, 2);
	counters_add(&m->counters, PROBE_FUTEX, COUNT_recorded);
	counters_add_lost(&m->counters, PROBE_FUTEX, COUNT_not_run, 5);
	counters_add_lost(&m->counters, PROBES_LIMIT, COUNT_not_run, 5);
	collect(m, false);
	assert_int_equal(value(m, PROBE_FUTEX, COUNTER_fired), 7);
	assert_int_equal(value(m, PROBE_FUTEX, COUNTER_not_run), 5);
	collect(m, true);
	counters_sum(m->rows, m->nrows, &sums);
	assert_int_equal(sums.fired, 7);
	assert_int_equal(sums.absent[ABSENCE_LOST], 5);
	assert_int_equal(sums.absent[ABSENCE_IN_FLIGHT], 1);
	assert_int_equal(value(m, PROBE_FUTEX, COUNTER_in_flight), 1);
}

static void a_skipped_run_is_of_the_probe_that_its_program_is_for(void **state)
{
	(void)state;
	assert_int_equal(skipped_runs_probe("on_call"), PROBE_LIBRARY_CALL);
	assert_int_equal(skipped_runs_probe("on_sys_enter"), PROBE_FUTEX);
	assert_int_equal(skipped_runs_probe("on_metrics"), PROBE_METRIC);
	assert_int_equal(skipped_runs_probe("on_suspend"), 0);
}

static void a_probe_that_is_none_is_not_counted(void **state)
{
	struct made *m = *state;

	counters_add(&m->counters, PROBES_LIMIT, COUNT_recorded);
	counters_add(&m->counters, UINT32_MAX, COUNT_recorded);
	collect(m, true);
	assert_int_equal(m->nrows, 0);
}

static void notes_are_no_losses_and_every_counter_has_a_name(void **state)
{
	(void)state;
	assert_true(counter_is_loss(COUNTER_ring_full));
	assert_false(counter_is_loss(COUNTER_fired));
	assert_false(counter_is_loss(COUNTER_recorded));
	assert_false(counter_is_loss(COUNTER_unreadable));
	assert_false(counter_is_loss(200));
	assert_string_equal(counter_name(COUNTER_no_return), "no_return");
	assert_string_equal(counter_name(200), "?");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(nothing_happened_is_no_row),
		T(the_shards_of_all_cpus_and_our_own_are_summed),
		T(rows_ascend_by_probe_and_counter),
		T(what_is_missing_was_in_flight_but_only_at_the_end),
		T(what_is_counted_after_the_end_is_not_reported),
		T(fired_is_recorded_and_lost_in_the_sums_at_the_end),
		T(a_probe_that_is_none_is_not_counted),
		T(a_run_that_was_skipped_fired_and_was_lost),
		T(a_skipped_run_is_of_the_probe_that_its_program_is_for),
		T(notes_are_no_losses_and_every_counter_has_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
