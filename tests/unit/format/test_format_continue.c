/* SPDX-License-Identifier: Apache-2.0 */
/* Captures that continue one another: what the writer makes of the joint. */
#include "tests/unit/sample.h"

#define SERIES "a series' id..."
#define T(n) (SAMPLE_BOOT + (n)*SAMPLE_SECOND)

static void add_switch(struct writer *w, uint64_t at)
{
	const uint64_t v[NFIELDS_switch] = {at, 1, 2, 3, 4};

	assert_int_equal(writer_add(w, KIND_switch, v, NULL, NULL), 0);
}

static void seal_to(struct writer *w, uint64_t end_ns, const struct counter *c, size_t n)
{
	const struct clock_anchor anchor = {end_ns, SAMPLE_WALL + end_ns - SAMPLE_BOOT, end_ns};
	const struct self_stats self = {0};

	assert_int_equal(writer_seal(w, end_ns, &anchor, &self, c, n, NULL), 0);
}

static void end_at(struct writer *w, uint64_t at, enum reason reason, const struct counter *c, size_t n)
{
	const struct clock_anchor anchor = {at, SAMPLE_WALL + at - SAMPLE_BOOT, at};

	assert_int_equal(writer_end(w, reason, NULL, &anchor, c, n, NULL), 0);
}

static struct writer *begin(struct memory_sink *m)
{
	const struct identity id = sample_identity(1);
	const struct clock_anchor start = {T(0), SAMPLE_WALL, T(0)};
	const struct origin origin = {.series = SERIES, .has_series = true};
	struct writer *w;

	assert_int_equal(
		writer_open_from(&w, memory_sink_of(m), &id, sample_probes, SAMPLE_NPROBES, &start, &origin, NULL), 0);
	return w;
}

static int go_on(struct writer **w, struct memory_sink *m, struct writer *before, uint8_t who, const struct counter *c,
		 size_t n)
{
	const struct clock_anchor anchor = {T(1) + 1, SAMPLE_WALL + SAMPLE_SECOND + 1, T(1) + 1};
	const struct identity id = sample_identity(who);
	struct fault why;
	int r = writer_prepare_end(before, REASON_rotated, NULL, &anchor, c, n, &why);

	return r < 0 ? r
		     : writer_continue(w, memory_sink_of(m), &id, sample_probes,
				       sizeof(sample_probes) / sizeof(sample_probes[0]), before,
				       SAMPLE_WALL + SAMPLE_SECOND, &why);
}

static const struct counter two[] = {{1, COUNTER_fired, 2}, {1, COUNTER_recorded, 2}};
static const struct counter one[] = {{1, COUNTER_fired, 1}, {1, COUNTER_recorded, 1}};

/* Two captures: two switches in the one, one in the other, which the old one had staged. */
static void write_pair(struct memory_sink *first, struct memory_sink *second)
{
	struct writer *old = begin(first), *new;

	add_switch(old, T(0) + 1);
	add_switch(old, T(0) + 2);
	add_switch(old, T(1) + 5);
	seal_to(old, T(1), two, 2);
	assert_int_equal(go_on(&new, second, old, 1, two, 2), 0);
	assert_int_equal(writer_put_end(old, NULL), 0);
	writer_close(old);
	seal_to(new, T(2), one, 2);
	end_at(new, T(2), REASON_duration, one, 2);
	writer_close(new);
}

static void a_capture_goes_on_in_another_with_the_rows_that_were_left(void **state)
{
	struct memory_sink first = {0}, second = {0};
	struct verification v;
	struct source source;
	struct reader a, b;

	(void)state;
	write_pair(&first, &second);
	assert_int_equal(sample_verdict(first.bytes.data, first.bytes.len, &v), VERDICT_OK);
	assert_int_equal(v.nevents, 2);
	assert_int_equal(sample_verdict(second.bytes.data, second.bytes.len, &v), VERDICT_OK);
	assert_int_equal(v.nevents, 1);
	source_open_memory(&source, first.bytes.data, first.bytes.len);
	assert_int_equal(reader_open(&a, &source, NULL), 0);
	assert_int_equal(a.header.incompatible, FEATURE_EXTENSIONS | FEATURE_PREHASHED);
	assert_int_equal(a.header.series_number, 1);
	assert_int_equal(a.end.reason, REASON_rotated);
	source_open_memory(&source, second.bytes.data, second.bytes.len);
	assert_int_equal(reader_open(&b, &source, NULL), 0);
	assert_int_equal(b.header.incompatible, FEATURE_CONTINUES | FEATURE_EXTENSIONS | FEATURE_PREHASHED);
	assert_int_equal(b.header.series_number, 2);
	assert_memory_equal(b.header.series, SERIES, SERIES_ID_BYTES);
	assert_memory_equal(b.header.previous_end, a.end.hash, HASH_BYTES);
	assert_memory_equal(b.header.previous, a.epochs[0].hash, HASH_BYTES);
	assert_int_equal(b.header.start_boot_ns, a.epochs[0].end_ns);
	assert_int_equal(b.header.start_wall_ns, SAMPLE_WALL + SAMPLE_SECOND);
	assert_memory_not_equal(b.header.capture_id, a.header.capture_id, CAPTURE_ID_BYTES);
	reader_close(&a);
	reader_close(&b);
	bytes_free(&first.bytes);
	bytes_free(&second.bytes);
}

static void when_another_cannot_begin_the_old_one_goes_on_with_all_its_rows(void **state)
{
	struct memory_sink first = {0};
	struct verification v;

	(void)state;
	for (unsigned fail = 1; fail <= 2; fail++) {
		struct memory_sink second = {.fail_at = fail};
		struct writer *old = begin(&first), *new;

		add_switch(old, T(0) + 1);
		add_switch(old, T(0) + 2);
		seal_to(old, T(0) + 2, one, 2);
		assert_int_equal(go_on(&new, &second, old, 1, one, 2), ERR_IO);
		assert_true(second.closed);
		seal_to(old, T(1), two, 2);
		end_at(old, T(1), REASON_duration, two, 2);
		writer_close(old);
		assert_int_equal(sample_verdict(first.bytes.data, first.bytes.len, &v), VERDICT_OK);
		assert_int_equal(v.nevents, 2);
		bytes_free(&first.bytes);
		bytes_free(&second.bytes);
		memset(&first, 0, sizeof(first));
	}
}

static void nothing_is_continued_that_has_no_end_to_name(void **state)
{
	const struct identity id = sample_identity(1);
	struct memory_sink first = {0}, second = {0};
	struct writer *old = begin(&first), *new;
	struct fault why;

	(void)state;
	seal_to(old, T(1), NULL, 0);
	assert_int_equal(writer_put_end(old, &why), ERR_INPUT);
	assert_int_equal(writer_continue(&new, memory_sink_of(&second), &id, sample_probes, SAMPLE_NPROBES, old,
					 SAMPLE_WALL, &why),
			 ERR_INPUT);
	assert_true(second.closed);
	assert_int_equal(second.bytes.len, 0);
	/* What was prepared before another epoch is of no use behind it. */
	{
		const struct clock_anchor anchor = {T(1), SAMPLE_WALL, T(1)};

		assert_int_equal(writer_prepare_end(old, REASON_rotated, NULL, &anchor, NULL, 0, &why), 0);
	}
	seal_to(old, T(2), NULL, 0);
	assert_int_equal(writer_put_end(old, &why), ERR_INPUT);
	end_at(old, T(2), REASON_duration, NULL, 0);
	assert_int_equal(sample_verdict(first.bytes.data, first.bytes.len, NULL), VERDICT_OK);
	writer_close(old);
	bytes_free(&first.bytes);
	bytes_free(&second.bytes);
}

static unsigned nseen;

static void see(void *self, uint16_t kind, const uint64_t *v, const char *const *text)
{
	assert_ptr_equal(self, &nseen);
	assert_int_equal(kind, KIND_fact);
	assert_memory_equal(text[F_fact_value], "y", v[F_fact_value]);
	nseen++;
}

static void whoever_watches_sees_names_and_no_events(void **state)
{
	const uint64_t v[NFIELDS_fact] = {T(0), 1, 1};
	const char *const text[NFIELDS_fact] = {NULL, "x", "y"};
	struct memory_sink first = {0}, second = {0};
	struct writer *old = begin(&first), *new;

	(void)state;
	nseen = 0;
	writer_watch(old, see, &nseen);
	add_switch(old, T(0));
	assert_int_equal(writer_add(old, KIND_fact, v, text, NULL), 0);
	assert_int_equal(nseen, 1);
	seal_to(old, T(0) + 1, NULL, 0);
	assert_int_equal(go_on(&new, &second, old, 1, NULL, 0), 0);
	{
		const uint64_t later[NFIELDS_fact] = {T(1), 1, 1};

		assert_int_equal(writer_add(new, KIND_fact, later, text, NULL), 0);
	}
	assert_int_equal(nseen, 2);
	writer_close(old);
	writer_close(new);
	bytes_free(&first.bytes);
	bytes_free(&second.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_capture_goes_on_in_another_with_the_rows_that_were_left),
		cmocka_unit_test(when_another_cannot_begin_the_old_one_goes_on_with_all_its_rows),
		cmocka_unit_test(whoever_watches_sees_names_and_no_events),
		cmocka_unit_test(nothing_is_continued_that_has_no_end_to_name),
	};

	return sodium_init() < 0 ? 1 : cmocka_run_group_tests_name("format_continue", tests, NULL, NULL);
}
