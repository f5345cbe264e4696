/* SPDX-License-Identifier: Apache-2.0 */
/* Writer, reader, cursor and verifier together: what goes in comes out, and nothing else verifies. */
#include "tests/unit/sample.h"

#include "format/layout.h"
#include "format/narrow.h"

static void a_capture_verifies_and_gives_back_its_rows_in_time_order(void **state)
{
	struct memory_sink m = {0};
	struct verification v;
	struct source src;
	struct reader r;
	struct cursor *cur;
	struct event ev;
	struct fault why;
	static const struct {
		uint16_t kind;
		uint64_t at;
	} want[] = {{KIND_epoch, 0},    {KIND_fact, 0},     {KIND_thread, 50},        {KIND_launch, 100},
		    {KIND_switch, 100}, {KIND_launch, 300}, {KIND_launch, 999999999}, {KIND_switch, 999999999}};
	const size_t nwant = sizeof(want) / sizeof(want[0]);

	(void)state;
	assert_int_equal(sample_write(&m, 3, true), 0);
	assert_true(m.closed);
	assert_int_equal(sample_verdict(m.bytes.data, m.bytes.len, &v), VERDICT_OK);
	assert_int_equal(v.nepochs, 3);
	assert_int_equal(v.nevents, 3 * (nwant - 1));
	assert_int_equal(v.nlost, 5);
	assert_int_equal(v.end_ns, SAMPLE_BOOT + 3 * SAMPLE_SECOND);

	source_open_memory(&src, m.bytes.data, m.bytes.len);
	assert_int_equal(reader_open(&r, &src, &why), 0);
	assert_int_equal(r.tail, TAIL_END);
	assert_int_equal(r.end.reason, REASON_command);
	assert_int_equal(r.end.exit_status, 7 << 8);
	assert_int_equal(reader_wall_ns(&r, SAMPLE_BOOT + 5), SAMPLE_WALL + 5);
	assert_int_equal(reader_lost(&r, 0, 0), 5);
	assert_int_equal(reader_lost(&r, 0, KIND_switch), 5);
	assert_int_equal(reader_lost(&r, 0, KIND_launch), 0);
	assert_int_equal(reader_lost(&r, 1, 0), 0);
	assert_int_equal(cursor_open(&cur, &r, false, &why), 0);
	for (size_t i = 0; i < 3 * nwant; i++) {
		assert_int_equal(cursor_next(cur, &ev, &why), 1);
		assert_int_equal(ev.kind, want[i % nwant].kind);
		assert_int_equal(ev.at_ns, SAMPLE_BOOT + i / nwant * SAMPLE_SECOND + want[i % nwant].at);
		if (ev.kind == KIND_thread)
			assert_memory_equal(ev.text[F_thread_name], "trainer", 7);
		if (ev.kind == KIND_launch)
			assert_int_equal(ev.v[F_launch_function], 0x5000 + i / nwant);
	}
	assert_int_equal(cursor_next(cur, &ev, &why), 0);
	cursor_seek(cur, SAMPLE_BOOT + SAMPLE_SECOND + 101);
	assert_int_equal(cursor_next(cur, &ev, &why), 1);
	assert_int_equal(ev.kind, KIND_epoch);
	assert_int_equal(cursor_next(cur, &ev, &why), 1);
	assert_int_equal(ev.kind, KIND_launch);
	assert_int_equal(ev.at_ns, SAMPLE_BOOT + SAMPLE_SECOND + 300);
	cursor_close(cur);
	reader_close(&r);
	bytes_free(&m.bytes);
}

static void no_single_flipped_bit_verifies(void **state)
{
	struct memory_sink m = {0};

	(void)state;
	assert_int_equal(sample_write(&m, 2, true), 0);
	for (size_t bit = 0; bit < m.bytes.len * 8; bit++) {
		enum verdict v;

		m.bytes.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
		v = sample_verdict(m.bytes.data, m.bytes.len, NULL);
		m.bytes.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
		if (v < VERDICT_UNCHECKED)
			fail_msg("bit %zu of byte %zu flipped verifies", bit % 8, bit / 8);
	}
	assert_int_equal(sample_verdict(m.bytes.data, m.bytes.len, NULL), VERDICT_OK);
	bytes_free(&m.bytes);
}

static void every_cut_is_unsealed_or_no_capture_at_all(void **state)
{
	struct memory_sink m = {0}, header = {0};
	struct verification v;

	(void)state;
	assert_int_equal(sample_write(&m, 2, true), 0);
	assert_int_equal(sample_write(&header, 0, false), 0);
	for (size_t n = 0; n < m.bytes.len; n++) {
		enum verdict got;
		uint8_t *copy = malloc(n ? n : 1); /* so that a read behind the end is seen */

		assert_non_null(copy);
		memcpy(copy, m.bytes.data, n);
		got = sample_verdict(copy, n, &v);
		if (got == VERDICT_UNSEALED) {
			struct source src;
			struct reader r;
			struct fault why;

			source_open_memory(&src, copy, n);
			assert_int_equal(reader_open(&r, &src, &why), 0);
			assert_int_equal(r.tail, TAIL_CUT);
			reader_close(&r);
		}
		free(copy);
		assert_int_equal(got, n < header.bytes.len ? VERDICT_MALFORMED : VERDICT_UNSEALED);
	}
	bytes_free(&m.bytes);
	bytes_free(&header.bytes);
}

static void whatever_write_or_sync_fails_what_was_sealed_verifies(void **state)
{
	unsigned calls;
	struct memory_sink whole = {0};

	(void)state;
	assert_int_equal(sample_write(&whole, 3, true), 0);
	calls = whole.calls;
	bytes_free(&whole.bytes);
	assert_int_equal(calls, 2 * 5);
	for (unsigned n = 1; n <= calls; n++) {
		struct memory_sink m = {.fail_at = n};
		struct verification v;
		unsigned sealed = (n - 1) / 2; /* frames on disk before: header, epochs, END */

		assert_int_equal(sample_write(&m, 3, true), ERR_IO);
		assert_true(m.closed);
		sample_verdict(m.bytes.data, m.bytes.len, &v);
		if (sealed == 0 && n % 2 == 1) {
			assert_int_equal(v.verdict, VERDICT_MALFORMED);
		} else if (sealed == 4 && n % 2 == 0) {
			assert_int_equal(v.verdict, VERDICT_OK); /* END is there, only its sync failed */
		} else {
			assert_int_equal(v.verdict, VERDICT_UNSEALED);
			assert_int_equal(v.nepochs, n % 2 ? sealed - 1 : sealed);
		}
		bytes_free(&m.bytes);
	}
}

static void a_refused_row_leaves_the_writer_as_it_was(void **state)
{
	struct memory_sink m = {0};
	struct identity id = sample_identity(1);
	struct clock_anchor start = sample_anchor(SAMPLE_BOOT);
	uint64_t v[FIELDS_MAX] = {SAMPLE_BOOT - 1};
	struct writer *w;
	struct fault why;

	(void)state;
	assert_int_equal(writer_open(&w, memory_sink_of(&m), &id, sample_probes, SAMPLE_NPROBES, &start, &why), 0);
	assert_int_equal(writer_add(w, 999, v, NULL, &why), ERR_INPUT);
	assert_int_equal(writer_add(w, KIND_switch, v, NULL, &why), ERR_INPUT);
	assert_int_equal(writer_staged_bytes(w), 0);
	writer_close(w);
	bytes_free(&m.bytes);
}

static void rows_after_the_end_of_an_epoch_wait_for_the_next(void **state)
{
	struct memory_sink m = {0};
	struct identity id = sample_identity(1);
	struct clock_anchor a = sample_anchor(SAMPLE_BOOT);
	struct self_stats self = {0};
	struct source src;
	struct reader r;
	struct writer *w;
	struct fault why;

	(void)state;
	assert_int_equal(writer_open(&w, memory_sink_of(&m), &id, sample_probes, SAMPLE_NPROBES, &a, &why), 0);
	sample_add(w, KIND_thread, SAMPLE_BOOT + 10, 0);
	sample_add(w, KIND_thread, SAMPLE_BOOT + 9, 0);
	assert_int_equal(writer_seal(w, SAMPLE_BOOT + 10, &a, &self, NULL, 0, &why), 0);
	assert_int_equal(writer_end(w, REASON_duration, NULL, &a, NULL, 0, &why), ERR_INPUT); /* one is staged */
	assert_int_equal(writer_seal(w, SAMPLE_BOOT + 11, &a, &self, NULL, 0, &why), 0);
	assert_int_equal(writer_end(w, REASON_duration, NULL, &a, NULL, 0, &why), 0);
	assert_int_equal(writer_end(w, REASON_duration, NULL, &a, NULL, 0, &why), ERR_INPUT);
	writer_close(w);
	assert_int_equal(sample_verdict(m.bytes.data, m.bytes.len, NULL), VERDICT_OK);
	source_open_memory(&src, m.bytes.data, m.bytes.len);
	assert_int_equal(reader_open(&r, &src, &why), 0);
	assert_int_equal(r.epochs[0].counts[0].count, 1);
	assert_int_equal(r.epochs[1].counts[0].count, 1);
	assert_int_equal(r.epochs[1].chunks[0].first_ns, SAMPLE_BOOT + 10);
	reader_close(&r);
	bytes_free(&m.bytes);
}

static void many_rows_split_into_chunks_and_come_back_whole(void **state)
{
	struct memory_sink m = {0};
	struct identity id = sample_identity(1);
	struct clock_anchor a = sample_anchor(SAMPLE_BOOT);
	struct self_stats self = {0};
	struct cursor *cur;
	struct source src;
	struct reader r;
	struct writer *w;
	struct event ev;
	struct fault why;
	struct verification v;
	uint64_t n = 0, x = 88172645463325252ull;

	(void)state;
	assert_int_equal(writer_open(&w, memory_sink_of(&m), &id, sample_probes, SAMPLE_NPROBES, &a, &why), 0);
	for (uint64_t i = 0; i < 100000; i++) {
		uint64_t row[FIELDS_MAX] = {SAMPLE_BOOT + i, i, x, i % 3, x >> 60};

		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		assert_int_equal(writer_add(w, i % 2 ? KIND_waking : KIND_exec, row, NULL, &why), 0);
	}
	assert_int_equal(writer_seal(w, SAMPLE_BOOT + 100000, &a, &self, NULL, 0, &why), 0);
	writer_close(w);
	assert_int_equal(sample_verdict(m.bytes.data, m.bytes.len, &v), VERDICT_UNSEALED);
	assert_int_equal(v.nepochs, 1);
	source_open_memory(&src, m.bytes.data, m.bytes.len);
	assert_int_equal(reader_open(&r, &src, &why), 0);
	assert_true(r.epochs[0].nchunks > 1);
	assert_int_equal(cursor_open(&cur, &r, false, &why), 0);
	x = 88172645463325252ull;
	while (cursor_next(cur, &ev, &why) == 1) {
		if (ev.kind == KIND_epoch)
			continue;
		assert_int_equal(ev.at_ns, SAMPLE_BOOT + n);
		assert_int_equal(ev.v[1], n);
		assert_true(ev.v[2] == x);
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		n++;
	}
	assert_int_equal(n, 100000);
	cursor_close(cur);
	reader_close(&r);
	bytes_free(&m.bytes);
}

static void a_narrowed_capture_verifies_without_what_is_withheld(void **state)
{
	static const struct {
		struct narrowing plan;
		enum verdict verdict;
		uint64_t nwithheld;
	} cases[] = {
		{{0, 0, UINT64_MAX, NULL, 0}, VERDICT_OK, 0},
		{{1u << CLASS_process, 0, UINT64_MAX, NULL, 0}, VERDICT_OK_REDACTED, 3},
		{{1u << CLASS_events, 0, UINT64_MAX, NULL, 0}, VERDICT_OK_REDACTED, 3},
		{{0, SAMPLE_BOOT + SAMPLE_SECOND, SAMPLE_BOOT + 2 * SAMPLE_SECOND, NULL, 0}, VERDICT_OK_SLICE, 2},
	};
	struct memory_sink m = {0};

	(void)state;
	assert_int_equal(sample_write(&m, 3, true), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct memory_sink out = {0}, again = {0};
		struct verification v;
		struct source src;
		struct reader r;
		struct fault why;
		uint64_t n = 99;

		source_open_memory(&src, m.bytes.data, m.bytes.len);
		assert_int_equal(reader_open(&r, &src, &why), 0);
		assert_int_equal(narrow(&r, &cases[i].plan, memory_sink_of(&out), &n, &why), 0);
		reader_close(&r);
		assert_int_equal(n, cases[i].nwithheld);
		assert_int_equal(sample_verdict(out.bytes.data, out.bytes.len, &v), cases[i].verdict);
		assert_int_equal(v.nwithheld, n);
		if (i == 1)
			assert_null(memmem(out.bytes.data, out.bytes.len, "trainer", 7));
		/* Narrowing what is narrowed already changes nothing more. */
		source_open_memory(&src, out.bytes.data, out.bytes.len);
		assert_int_equal(reader_open(&r, &src, &why), 0);
		assert_int_equal(narrow(&r, &cases[i].plan, memory_sink_of(&again), &n, &why), 0);
		reader_close(&r);
		assert_int_equal(n, 0);
		assert_int_equal(again.bytes.len, out.bytes.len);
		assert_memory_equal(again.bytes.data, out.bytes.data, out.bytes.len);
		bytes_free(&out.bytes);
		bytes_free(&again.bytes);
	}
	bytes_free(&m.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_capture_verifies_and_gives_back_its_rows_in_time_order),
		cmocka_unit_test(no_single_flipped_bit_verifies),
		cmocka_unit_test(every_cut_is_unsealed_or_no_capture_at_all),
		cmocka_unit_test(whatever_write_or_sync_fails_what_was_sealed_verifies),
		cmocka_unit_test(a_refused_row_leaves_the_writer_as_it_was),
		cmocka_unit_test(rows_after_the_end_of_an_epoch_wait_for_the_next),
		cmocka_unit_test(many_rows_split_into_chunks_and_come_back_whole),
		cmocka_unit_test(a_narrowed_capture_verifies_without_what_is_withheld),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
