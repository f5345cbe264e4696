/* SPDX-License-Identifier: Apache-2.0 */
/* What waits for answers: record/deferred.h. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdlib.h>
#include <cmocka.h>

#include "record/deferred.h"

static bool add(struct deferred_queue *q, uint32_t uid, uint32_t pid)
{
	const struct deferred d = {.what = DEFERRED_MAPPED, .pid = pid, .uid = uid};

	return deferred_add(q, &d, NULL);
}

static uint32_t done(struct deferred_queue *q)
{
	const struct deferred *d = deferred_next(q);
	uint32_t pid = d ? d->pid : 0;

	if (d)
		deferred_remove(q);
	return pid;
}

static void users_take_turns_and_each_users_own_come_in_order(void **state)
{
	struct deferred_queue q = {0};

	(void)state;
	for (uint32_t i = 1; i <= 100; i++)
		assert_true(add(&q, 1000, i));
	assert_int_equal(done(&q), 1);
	assert_true(add(&q, 2000, 501)); /* it waits for nobody but who is worked at */
	assert_true(add(&q, 2000, 502));
	assert_int_equal(done(&q), 501);
	assert_int_equal(done(&q), 2);
	assert_int_equal(done(&q), 502);
	assert_int_equal(done(&q), 3);
	deferred_clear(&q);
}

static void who_is_worked_at_stays_until_done_whoever_comes(void **state)
{
	struct deferred_queue q = {0};

	(void)state;
	assert_null(deferred_next(&q));
	assert_true(add(&q, 1000, 1));
	assert_int_equal(deferred_next(&q)->pid, 1);
	assert_true(add(&q, 2000, 2));
	assert_int_equal(deferred_next(&q)->pid, 1);
	deferred_remove(&q);
	assert_int_equal(deferred_next(&q)->pid, 2);
	deferred_remove(&q);
	assert_null(deferred_next(&q));
	deferred_clear(&q);
}

static void one_process_cannot_take_all_the_room(void **state)
{
	struct deferred_queue q = {0};
	struct ring_exec exec = {.pid = 2};
	const struct deferred d = {.what = DEFERRED_FACTS, .pid = 2};

	(void)state;
	for (uint32_t i = 0; i < DEFERRED_PROCESS_MAX; i++)
		assert_true(add(&q, 1000, 1));
	assert_false(add(&q, 1000, 1));
	assert_true(deferred_add(&q, &d, &exec));
	exec.pid = 3; /* it was copied */
	assert_int_equal(q.list[q.n - 1].exec->pid, 2);
	deferred_clear(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(users_take_turns_and_each_users_own_come_in_order),
		cmocka_unit_test(who_is_worked_at_stays_until_done_whoever_comes),
		cmocka_unit_test(one_process_cannot_take_all_the_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
