/* SPDX-License-Identifier: Apache-2.0 */
/* Captures that continue one another: what the writer makes of the joint, and what is said of several together. */
#include "tests/unit/sample.h"

#include "replay/joints.h"

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
	struct writer *w;

	assert_int_equal(writer_open(&w, memory_sink_of(m), &id, sample_probes,
				     sizeof(sample_probes) / sizeof(sample_probes[0]), &start, NULL),
			 0);
	return w;
}

static int go_on(struct writer **w, struct memory_sink *m, struct writer *before, uint8_t who)
{
	const struct identity id = sample_identity(who);
	struct fault why;

	return writer_continue(w, memory_sink_of(m), &id, sample_probes,
			       sizeof(sample_probes) / sizeof(sample_probes[0]), before, SAMPLE_WALL + SAMPLE_SECOND,
			       &why);
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
	assert_int_equal(go_on(&new, second, old, 1), 0);
	end_at(old, T(1) + 1, REASON_rotated, two, 2);
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
	assert_int_equal(a.header.incompatible, 0);
	assert_int_equal(a.end.reason, REASON_rotated);
	source_open_memory(&source, second.bytes.data, second.bytes.len);
	assert_int_equal(reader_open(&b, &source, NULL), 0);
	assert_int_equal(b.header.incompatible, FEATURE_CONTINUES);
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
		assert_int_equal(go_on(&new, &second, old, 1), ERR_IO);
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
	assert_int_equal(go_on(&new, &second, old, 1), 0);
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

/* --- several together --- */

/* A capture that was judged, of one epoch, as far as joints look at it. */
struct judged {
	struct evidence e;
	struct epoch epoch;
};

static void judge(struct judged *j, uint8_t id, uint8_t hash, uint8_t previous, uint64_t begin_ns, uint64_t end_ns)
{
	memset(j, 0, sizeof(*j));
	j->e.readable = true;
	j->e.verification.nepochs = 1;
	j->e.verification.end_ns = end_ns;
	j->e.reader.epochs = &j->epoch;
	j->e.reader.header.start_boot_ns = begin_ns;
	memset(j->e.reader.header.capture_id, id, CAPTURE_ID_BYTES);
	memset(j->epoch.hash, hash, HASH_BYTES);
	memset(j->e.reader.header.previous, previous, HASH_BYTES);
	j->e.reader.header.incompatible = previous ? FEATURE_CONTINUES : 0;
}

static char said[8192];

/* What is said of n captures, in said[]; returns how many joints do not fit. */
static size_t joined(const struct judged *all, size_t n, bool json, bool brief)
{
	struct joints j = {0};
	FILE *f = fmemopen(said, sizeof(said), "w");
	size_t wrong;
	char path[16];

	assert_non_null(f);
	said[0] = 0;
	for (size_t i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%c.cap", (char)('a' + i));
		assert_int_equal(joints_add(&j, path, &all[i].e, NULL), 0);
	}
	wrong = joints_print(f, &j, json, brief);
	fclose(f);
	joints_clear(&j);
	return wrong;
}

static void captures_that_follow_each_other_fit(void **state)
{
	struct judged all[2];

	(void)state;
	judge(&all[0], 1, 10, 0, T(0), T(1));
	judge(&all[1], 2, 20, 10, T(1), T(2));
	assert_int_equal(joined(all, 2, false, false), 0);
	assert_string_equal(said, "JOINT  b.cap continues a.cap: hash and time fit\n");
	assert_int_equal(joined(all, 2, true, false), 0);
	assert_string_equal(said, "{\"joint\":\"fits\",\"from\":\"a.cap\",\"to\":\"b.cap\"}\n");
	assert_int_equal(joined(all, 2, false, true), 0);
	assert_string_equal(said, "");
}

static void a_gap_in_time_does_not_fit(void **state)
{
	struct judged all[2];

	(void)state;
	judge(&all[0], 1, 10, 0, T(0), T(1));
	judge(&all[1], 2, 20, 10, T(1) + 1, T(2));
	assert_int_equal(joined(all, 2, false, true), 1);
	assert_non_null(strstr(said, "b.cap does not continue a.cap: it names the seal, but does not begin"));
	assert_int_equal(joined(all, 2, true, false), 1);
	assert_non_null(strstr(said, "\"joint\":\"does not fit\""));
}

static void another_identity_does_not_fit(void **state)
{
	struct judged all[2];

	(void)state;
	judge(&all[0], 1, 10, 0, T(0), T(1));
	judge(&all[1], 2, 20, 10, T(1), T(2));
	all[1].e.reader.header.identity[5] = 1;
	assert_int_equal(joined(all, 2, false, false), 1);
	assert_non_null(strstr(said, "another identity"));
}

static void two_that_continue_the_same_one_do_not_fit(void **state)
{
	struct judged all[3];

	(void)state;
	judge(&all[0], 1, 10, 0, T(0), T(1));
	judge(&all[1], 2, 20, 10, T(1), T(2));
	judge(&all[2], 3, 30, 10, T(1), T(2));
	assert_int_equal(joined(all, 3, false, false), 2);
	all[2].e.reader.header.capture_id[0] = 2;
	memset(all[2].e.reader.header.capture_id, 2, CAPTURE_ID_BYTES);
	assert_int_equal(joined(all, 3, false, false), 0); /* the same one, named twice */
}

static void what_hangs_in_the_air_is_told(void **state)
{
	struct judged all[2];

	(void)state;
	judge(&all[0], 1, 10, 0, T(0), T(1));
	all[0].e.reader.tail = TAIL_END;
	all[0].e.reader.end.reason = REASON_rotated;
	judge(&all[1], 3, 30, 20, T(2), T(3));
	assert_int_equal(joined(all, 2, false, false), 0);
	assert_string_equal(said, "JOINT  a.cap is continued by a capture that is not among these\n"
				  "JOINT  b.cap continues a capture that is not among these\n");
	all[1].e.verification.verdict = VERDICT_FORGED;
	assert_int_equal(joined(all, 2, false, false), 0);
	assert_string_equal(said, "JOINT  a.cap is continued by a capture that is not among these\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_capture_goes_on_in_another_with_the_rows_that_were_left),
		cmocka_unit_test(when_another_cannot_begin_the_old_one_goes_on_with_all_its_rows),
		cmocka_unit_test(whoever_watches_sees_names_and_no_events),
		cmocka_unit_test(captures_that_follow_each_other_fit),
		cmocka_unit_test(a_gap_in_time_does_not_fit),
		cmocka_unit_test(another_identity_does_not_fit),
		cmocka_unit_test(two_that_continue_the_same_one_do_not_fit),
		cmocka_unit_test(what_hangs_in_the_air_is_told),
	};

	return sodium_init() < 0 ? 1 : cmocka_run_group_tests_name("format_continue", tests, NULL, NULL);
}
