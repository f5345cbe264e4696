/* SPDX-License-Identifier: Apache-2.0 */
/* The ring buffer's consumer over a ring in plain memory, filled as the kernel does it. */
#include <linux/bpf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "record/probe/ring_reader.h"

#define BYTES 4096u

struct fake {
	uint64_t consumer, producer;
	uint8_t *data; /* twice the ring: what wraps is written twice, as the double mapping shows it */
	struct ring ring;
	/* what was taken */
	uint32_t n;
	uint64_t sum;
	uint32_t last_bytes;
	int answer;
};

static void put_bytes(struct fake *f, uint64_t at, const void *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t slot = (size_t)((at + i) & (BYTES - 1));

		memcpy(&f->data[slot], (const uint8_t *)bytes + i, 1);
		memcpy(&f->data[slot + BYTES], (const uint8_t *)bytes + i, 1);
	}
}

/* Returns where its header stands. */
static uint64_t put(struct fake *f, uint64_t value, uint32_t n, uint32_t flags)
{
	uint32_t head[2] = {n | flags, 0};
	uint64_t at = f->producer;

	put_bytes(f, at, head, sizeof(head));
	put_bytes(f, at + 8, &value, sizeof(value));
	f->producer += (n + 8 + 7) & ~7u;
	return at;
}

static int take(void *self, const void *record, uint32_t n, struct fault *why)
{
	struct fake *f = self;
	uint64_t value;

	memcpy(&value, record, sizeof(value));
	f->n++;
	f->sum += value;
	f->last_bytes = n;
	if (f->answer)
		return fault_set(why, (enum err)f->answer, FAULT_NOWHERE, "asked to");
	return 0;
}

static int setup(void **state)
{
	struct fake *f = calloc(1, sizeof(*f));

	f->data = calloc(2, BYTES);
	f->ring = (struct ring){.consumer = &f->consumer, .producer = &f->producer, .data = f->data, .bytes = BYTES};
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fake *f = *state;

	free(f->data);
	free(f);
	return 0;
}

static int drain(struct fake *f)
{
	return ring_drain(&f->ring, ring_head(&f->ring), take, f, NULL);
}

static void an_empty_ring_is_drained_at_once(void **state)
{
	assert_int_equal(drain(*state), 1);
	assert_int_equal(((struct fake *)*state)->n, 0);
}

static void every_record_is_taken_once_over_many_rounds(void **state)
{
	struct fake *f = *state;
	uint64_t want = 0;

	for (uint64_t i = 1; i <= 5000; i++) {
		put(f, i, 8 + (uint32_t)(i % 50), 0);
		want += i;
		if (i % 13 == 0)
			assert_int_equal(drain(f), 1);
	}
	assert_int_equal(drain(f), 1);
	assert_int_equal(f->n, 5000);
	assert_int_equal(f->sum, want);
	assert_int_equal(f->consumer, f->producer);
	assert_true(f->ring.high_bytes > 0 && f->ring.high_bytes <= BYTES);
}

static void a_record_that_wraps_is_whole(void **state)
{
	struct fake *f = *state;

	f->consumer = f->producer = BYTES - 16; /* only half of the record before the end */
	put(f, 0x1122334455667788, 24, 0);
	assert_int_equal(drain(f), 1);
	assert_int_equal(f->sum, 0x1122334455667788);
	assert_int_equal(f->last_bytes, 24);
}

static void a_busy_record_stops_the_draining_until_it_is_done(void **state)
{
	struct fake *f = *state;
	uint32_t done[2] = {8, 0};
	uint64_t at;

	put(f, 1, 8, 0);
	at = put(f, 2, 8, BPF_RINGBUF_BUSY_BIT);
	put(f, 4, 8, 0);
	assert_int_equal(drain(f), 0);
	assert_int_equal(f->sum, 1);
	assert_int_equal(drain(f), 0);
	assert_int_equal(f->sum, 1);
	put_bytes(f, at, done, sizeof(done));
	assert_int_equal(drain(f), 1);
	assert_int_equal(f->sum, 7);
}

static void at_the_end_busy_records_are_passed_over(void **state)
{
	struct fake *f = *state;

	put(f, 1, 8, 0);
	assert_int_equal(drain(f), 1);
	put(f, 2, 40, BPF_RINGBUF_BUSY_BIT);
	put(f, 4, 8, 0);
	put(f, 8, 8, BPF_RINGBUF_DISCARD_BIT);
	put(f, 16, 8, BPF_RINGBUF_BUSY_BIT);
	put(f, 32, 8, 0);
	assert_int_equal(drain(f), 0);
	assert_int_equal(ring_drain_finished(&f->ring, ring_head(&f->ring), take, f, NULL), 0);
	assert_int_equal(f->sum, 1 + 4 + 32);
	assert_int_equal(f->consumer, 16); /* the writers keep their room */
	f->answer = ERR_MEMORY;
	assert_int_equal(ring_drain_finished(&f->ring, ring_head(&f->ring), take, f, NULL), ERR_MEMORY);
}

static void a_discarded_record_is_passed_over(void **state)
{
	struct fake *f = *state;

	put(f, 1, 8, BPF_RINGBUF_DISCARD_BIT);
	put(f, 2, 8, 0);
	assert_int_equal(drain(f), 1);
	assert_int_equal(f->sum, 2);
}

static void nothing_beyond_the_asked_position_is_taken(void **state)
{
	struct fake *f = *state;
	uint64_t until;

	put(f, 1, 8, 0);
	until = ring_head(&f->ring);
	put(f, 2, 8, 0);
	assert_int_equal(ring_drain(&f->ring, until, take, f, NULL), 1);
	assert_int_equal(f->sum, 1);
	assert_int_equal(f->consumer, until);
}

static void an_error_of_the_taker_ends_it_after_that_record(void **state)
{
	struct fake *f = *state;
	struct fault why = {0};

	put(f, 1, 8, 0);
	put(f, 2, 8, 0);
	f->answer = ERR_IO;
	assert_int_equal(ring_drain(&f->ring, ring_head(&f->ring), take, f, &why), ERR_IO);
	assert_int_equal(why.code, ERR_IO);
	assert_int_equal(f->n, 1);
	f->answer = 0;
	assert_int_equal(drain(f), 1);
	assert_int_equal(f->sum, 3);
}

static void a_record_longer_than_the_ring_is_refused(void **state)
{
	struct fake *f = *state;
	struct fault why = {0};
	uint32_t head[2] = {BYTES + 8, 0};

	put_bytes(f, 0, head, sizeof(head));
	f->producer = 16;
	assert_int_equal(ring_drain(&f->ring, 16, take, f, &why), ERR_FORMAT);
	assert_int_equal(f->n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_empty_ring_is_drained_at_once, setup, teardown),
		cmocka_unit_test_setup_teardown(every_record_is_taken_once_over_many_rounds, setup, teardown),
		cmocka_unit_test_setup_teardown(a_record_that_wraps_is_whole, setup, teardown),
		cmocka_unit_test_setup_teardown(a_busy_record_stops_the_draining_until_it_is_done, setup, teardown),
		cmocka_unit_test_setup_teardown(at_the_end_busy_records_are_passed_over, setup, teardown),
		cmocka_unit_test_setup_teardown(a_discarded_record_is_passed_over, setup, teardown),
		cmocka_unit_test_setup_teardown(nothing_beyond_the_asked_position_is_taken, setup, teardown),
		cmocka_unit_test_setup_teardown(an_error_of_the_taker_ends_it_after_that_record, setup, teardown),
		cmocka_unit_test_setup_teardown(a_record_longer_than_the_ring_is_refused, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
