/* SPDX-License-Identifier: Apache-2.0 */
/* Which requests to disks a thread slept for in a while, as far as they are kept. */
#include "tests/unit/feed.h"

#include "analyze/facts/disk_waits.h"
#include "analyze/remedy.h"

#define DISK_A (254 << 20)
#define DISK_B (254 << 20 | 16)
#define DISK_C (259 << 20)

static struct disk_waits waits;

static int forget(void **state)
{
	(void)state;
	disk_waits_clear(&waits);
	return 0;
}

static void feed(uint64_t at_ns, uint32_t tid, uint64_t dur_ns, uint64_t service_ns, uint64_t operation,
		 uint64_t device)
{
	struct schema schema = {0};
	struct event ev = event_made(KIND_disk, schema_kind(&schema, KIND_disk), at_ns);
	struct fault why;
	uint64_t *v = event_room(&ev)->v;

	v[F_disk_tid] = tid;
	v[F_disk_dur] = dur_ns;
	v[F_disk_service] = service_ns;
	v[F_disk_operation] = operation;
	v[F_disk_bytes] = 4096;
	v[F_disk_error] = operation == 77;
	v[F_disk_device] = device;
	assert_int_equal(disk_waits_feed(&waits, &ev, &why), 0);
}

static struct disk_use sum(uint32_t tid, uint64_t begin_ns, uint64_t end_ns)
{
	struct disk_use use;

	memset(&use, 0xff, sizeof(use));
	disk_waits_sum(&waits, tid, begin_ns, end_ns, &use);
	return use;
}

static void those_of_a_thread_that_ended_then_are_summed(void **state)
{
	struct disk_use use;

	(void)state;
	assert_int_equal(sum(1, 0, UINT64_MAX).requests, 0);
	feed(100, 1, 10, 4, DISK_READ, DISK_A);
	feed(110, 2, 90, 80, DISK_WRITE, DISK_B);
	feed(120, 1, 30, 0, DISK_READ, DISK_A);
	feed(120, 1, 20, 6, DISK_READ, DISK_A);
	feed(130, 1, 50, 50, DISK_WRITE, DISK_C);
	feed(110, 1, 500, 400, DISK_SWAP_IN, DISK_A); /* want of memory, and none of them */
	use = sum(1, 100, 120);
	assert_int_equal(use.requests, 3);
	assert_int_equal(use.bytes, 3 * 4096);
	assert_int_equal(use.dur_ns, 60);
	assert_int_equal(use.service_ns, 10);
	assert_int_equal(use.timed_ns, 30);
	assert_int_equal(use.longest.dur_ns, 30);
	assert_true(use.reads);
	assert_false(use.more);
	assert_int_equal(sum(1, 101, 119).requests, 0);
	assert_int_equal(sum(1, 131, UINT64_MAX).requests, 0);
	assert_int_equal(sum(2, 0, 110).requests, 1);
	assert_false(sum(2, 0, 110).reads);
	use = sum(1, 0, UINT64_MAX);
	assert_true(use.more);
	assert_false(use.reads);
	assert_int_equal(use.longest.device, DISK_C);
	assert_null(use.name);
}

static void the_latest_are_kept(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < DISK_WAITS_MAX + 10; i++)
		feed(1000 + i, i % 2 ? 1 : 2, 1, 1, DISK_READ, DISK_A);
	assert_int_equal(sum(1, 0, UINT64_MAX).requests, DISK_WAITS_MAX / 2);
	assert_int_equal(sum(2, 0, 1009).requests, 0);
	assert_int_equal(sum(2, 0, 1010).requests, 1);
	assert_int_equal(sum(1, 1000 + DISK_WAITS_MAX + 9, UINT64_MAX).requests, 1);
}

static void name(uint64_t device, const char *text)
{
	struct schema schema = {0};
	struct event ev = event_made(KIND_disk_device, schema_kind(&schema, KIND_disk_device), 1);
	struct fault why;

	event_room(&ev)->v[F_disk_device_number] = device;
	event_set_text(&ev, F_disk_device_name, text);
	assert_int_equal(disk_waits_feed(&waits, &ev, &why), 0);
}

static void shown(const char *wanted)
{
	struct disk_use use = sum(1, 0, UINT64_MAX), total;
	struct text t = {0};

	text_add_disk(&t, &use);
	assert_string_equal(text_string(&t), wanted);
	text_clear(&t);
	disk_waits_total(&waits, 1, &total);
	assert_memory_equal(&total, &use, sizeof(use));
}

static void a_device_is_named_where_it_has_a_name(void **state)
{
	char longer[100];

	(void)state;
	name(DISK_B, "vdb");
	feed(10, 1, 10, 4, DISK_READ, DISK_A);
	shown("device 254:0");
	name(DISK_A, "vda\033");
	name(DISK_A, "another");
	shown("vda\\x1b");
	feed(20, 1, 20, 4, DISK_READ, 0);
	shown("an unknown device");
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = 0;
	name(DISK_C, longer);
	feed(30, 1, 30, 4, DISK_READ, DISK_C);
	shown("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
	for (unsigned i = 0; i < DISK_NAMES_MAX; i++)
		name(1000 + i, "one of many");
	assert_int_equal(waits.nnames, DISK_NAMES_MAX);
}

static void what_does_not_fit_is_not_taken_for_another(void **state)
{
	struct disk_use use;

	(void)state;
	feed(5, 1, UINT64_MAX, 0, 256 + DISK_READ, DISK_A);
	feed(6, 1, 1, 0, 77, DISK_A);
	use = sum(1, 5, 6);
	assert_int_equal(use.failed, 1);
	assert_false(use.reads);
	assert_false(sum(1, 5, 5).reads);
	for (uint32_t tid = 0; tid < DISK_THREADS_MAX + 2; tid++)
		feed(100, 1000 + tid, 1, 1, DISK_READ, DISK_A);
	disk_waits_total(&waits, 1000 + DISK_THREADS_MAX + 1, &use);
	assert_int_equal(use.requests, 0);
	disk_waits_total(&waits, 1000, &use);
	assert_int_equal(use.requests, 1);
}

static void switched(uint64_t at, uint64_t prev, uint64_t flags, uint64_t next)
{
	uint64_t v[NFIELDS_switch] = {0};
	struct fault why;

	v[F_switch_at] = at;
	v[F_switch_prev_tid] = prev;
	v[F_switch_prev_flags] = flags;
	v[F_switch_next_tid] = next;
	assert_int_equal(disk_waits_switch(&waits, v, &why), 0);
}

static uint64_t held(uint32_t tid)
{
	struct disk_use use;

	disk_waits_total(&waits, tid, &use);
	return use.held_ns;
}

static void how_long_writes_were_held_back_is_summed(void **state)
{
	(void)state;
	switched(10, 1, SWITCH_IO, 0);
	switched(20, 0, 0, 1);
	assert_int_equal(held(1), 0);
	switched(100, 1, SWITCH_IO | SWITCH_WRITES, 2);
	switched(110, 2, SWITCH_IO | SWITCH_WRITES, 3);
	switched(150, 3, 0, 1);
	assert_int_equal(held(1), 50);
	switched(160, 1, 0, 2);
	assert_int_equal(held(2), 50);
	assert_int_equal(held(3), 0);
	assert_int_equal(waits.nheld, 0);
	/* A row between was lost: from the latest on. */
	switched(200, 1, SWITCH_IO | SWITCH_WRITES, 0);
	switched(300, 1, SWITCH_IO | SWITCH_WRITES, 0);
	switched(310, 0, 0, 1);
	assert_int_equal(held(1), 60);
	assert_int_equal(waits.nheld, 0);
	/* Of threads beyond the limit nothing is known. */
	for (uint64_t tid = 4; tid < DISK_THREADS_MAX + 10; tid++)
		switched(1000 + tid, tid, SWITCH_IO | SWITCH_WRITES, 0);
	assert_int_equal(waits.nheld, DISK_THREADS_MAX - 2);
	switched(99999, 0, 0, DISK_THREADS_MAX + 9);
	assert_int_equal(held(DISK_THREADS_MAX + 9), 0);
}

static const char *remedy(uint64_t dur_ns, uint64_t timed_ns, uint64_t service_ns, uint64_t failed)
{
	static struct explained e;

	e.disk[0] = (struct disk_use){
		.requests = 1, .dur_ns = dur_ns, .timed_ns = timed_ns, .service_ns = service_ns, .failed = failed};
	return cause_remedy(&e, CAUSE_IO);
}

static void what_helps_depends_on_where_the_time_went(void **state)
{
	(void)state;
	assert_null(cause_remedy(NULL, CAUSE_IO));
	assert_null(remedy(100, 100, 100, 0));
	assert_null(remedy(100, 100, 50, 0));
	assert_non_null(strstr(remedy(100, 100, 49, 0), "in its queue"));
	/* Of most of it that is not known. */
	assert_null(remedy(100, 50, 1, 0));
	assert_non_null(strstr(remedy(100, 51, 1, 0), "in its queue"));
	assert_non_null(strstr(remedy(100, 100, 1, 1), "failed"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(those_of_a_thread_that_ended_then_are_summed, forget),
		cmocka_unit_test_teardown(the_latest_are_kept, forget),
		cmocka_unit_test_teardown(a_device_is_named_where_it_has_a_name, forget),
		cmocka_unit_test_teardown(what_does_not_fit_is_not_taken_for_another, forget),
		cmocka_unit_test_teardown(how_long_writes_were_held_back_is_summed, forget),
		cmocka_unit_test(what_helps_depends_on_where_the_time_went),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
