/* SPDX-License-Identifier: Apache-2.0 */
/* The joint between two captures, without a kernel: which record goes where, and whether all sums are exact. */
#include "tests/unit/sample.h"

#include "record/recording_internal.h"
#include "tests/unit/made.h"

#define T(n) (SAMPLE_BOOT + (n)*SAMPLE_SECOND)
#define CUT T(1)

static int begin(void **state)
{
	struct recording *s = calloc(1, sizeof(*s));
	struct probe *probes = calloc(nprobes, sizeof(*probes));
	const struct clock_anchor start = {T(0), SAMPLE_WALL, T(0)};
	char *key = made_path("key"), *public = made_path("pub");
	struct identity id;
	struct sink sink;
	struct fault why;

	assert_true(s && probes);
	assert_int_equal(identity_generate(&id, &why), 0);
	assert_int_equal(identity_write(&id, key, public, true, NULL, &why), 0);
	s->o.path = strdup(made_path("run.cap"));
	s->o.key_path = strdup(key);
	s->o.passphrase_fd = -1;
	s->o.rotate_ns = SAMPLE_SECOND;
	s->waits.epoll_fd = s->waits.signal_fd = s->host.kmsg_fd = s->host.health.fd = -1;
	assert_int_equal(rotate_prepare(s, &why), 0);
	assert_int_equal(capture_identity(s, &id, &why), 0);
	assert_int_equal(stacks_new(&s->stacks, NULL, &why), 0);
	assert_int_equal(cpus_new(&s->host.cpus, "/none", &why), 0);
	s->counters.rows = calloc(nprobes * NCOUNTS, sizeof(*s->counters.rows));
	assert_non_null(s->counters.rows);
	probe_describe(probes);
	assert_int_equal(sink_open_file(&sink, s->capture.path, true, &why), 0);
	assert_int_equal(writer_open(&s->writer, sink, &id, probes, nprobes, &start, &why), 0);
	writer_watch(s->writer, standing_saw, s->rotation.standing);
	s->translator = (struct translator){
		.writer = s->writer, .counters = &s->counters, .stacks = s->stacks, .begin_ns = T(0), .self = s};
	free(probes);
	*state = s;
	return 0;
}

static int finish(void **state)
{
	struct recording *s = *state;

	writer_close(s->writer);
	rotate_clear(s);
	stacks_free(s->stacks);
	cpus_free(s->host.cpus);
	free(s->counters.rows);
	free((void *)(uintptr_t)s->o.path);
	free((void *)(uintptr_t)s->o.key_path);
	free(s);
	unlink(made_path("run-00001.cap"));
	unlink(made_path("run-00002.cap"));
	unlink(made_path("run-00003.cap"));
	return 0;
}

/* A switch fires; unless it is still to come, its record is read. */
static void fire(struct recording *s, uint64_t at, bool comes)
{
	struct ring_switch r;

	counters_add(&s->counters, PROBE_SWITCH, COUNT_fired);
	memset(&r, 0, sizeof(r));
	r.head.type = RING_SWITCH;
	r.head.at_ns = at;
	r.prev_tid = 1;
	r.next_tid = 2;
	if (comes)
		assert_int_equal(rotate_take(s, &r, sizeof(r), NULL), 0);
}

static void name(struct recording *s, uint64_t at, uint32_t tid, const char *comm)
{
	struct ring_thread r;

	memset(&r, 0, sizeof(r));
	r.head.type = RING_THREAD;
	r.head.at_ns = at;
	r.tid = tid;
	r.pid = (uint32_t)getpid(); /* which is there, so that it is not forgotten */
	snprintf(r.comm, sizeof(r.comm), "%s", comm);
	counters_add(&s->counters, PROBE_THREAD_NAME, COUNT_fired);
	assert_int_equal(rotate_take(s, &r, sizeof(r), NULL), 0);
}

static void seal(struct recording *s, uint64_t end_ns, bool at_end, const struct counter **rows, size_t *n)
{
	const struct clock_anchor anchor = {end_ns, SAMPLE_WALL, end_ns};
	const struct self_stats self = {0};

	*n = rotate_counters(s, at_end, rows);
	assert_int_equal(writer_seal(s->writer, end_ns, &anchor, &self, *rows, *n, NULL), 0);
	s->translator.begin_ns = end_ns;
}

static void end(struct recording *s)
{
	const uint64_t now_ns = T(1000);
	const struct clock_anchor anchor = {now_ns, SAMPLE_WALL, now_ns};
	const struct counter *rows;
	size_t n;

	seal(s, now_ns, true, &rows, &n);
	assert_int_equal(writer_end(s->writer, REASON_duration, NULL, &anchor, rows, n, NULL), 0);
}

/* The verdict on a file, and how many rows of one kind it has. */
static enum verdict verdict(const char *leaf, uint16_t kind, uint64_t *rows, uint64_t *fired)
{
	struct bytes all = {0};
	FILE *f = fopen(made_path(leaf), "rb");
	struct verification v;
	struct source source;
	struct reader r;
	uint8_t buf[4096];
	size_t n;

	assert_non_null(f);
	while ((n = fread(buf, 1, sizeof(buf), f)) > 0)
		bytes_add(&all, buf, n);
	fclose(f);
	source_open_memory(&source, all.data, all.len);
	assert_int_equal(reader_open(&r, &source, NULL), 0);
	verify(&r, 1, &v);
	*rows = *fired = 0;
	for (uint32_t i = 0; r.tail == TAIL_END && i < r.end.ntotals; i++)
		if (r.end.totals[i].kind == kind)
			*rows = r.end.totals[i].count;
	if (r.tail == TAIL_END)
		*fired = counter_value(r.end.counters, r.end.ncounters, PROBE_SWITCH, COUNTER_fired);
	reader_close(&r);
	bytes_free(&all);
	return v.verdict;
}

static void records_of_either_side_of_the_joint_are_reported_and_counted_on_their_side(void **state)
{
	struct recording *s = *state;
	const struct counter *rows;
	uint64_t n, fired;
	size_t nrows;

	fire(s, T(0) + 1, true);
	fire(s, T(0) + 2, true);
	s->rotation.cut_ns = CUT;
	fire(s, CUT + 5, true); /* reserved before another that is older was */
	fire(s, CUT - 1, true);
	fire(s, CUT, true);
	fire(s, CUT + 9, false); /* fired, and its record comes later */
	seal(s, CUT, false, &rows, &nrows);
	assert_int_equal(rotate_join(s, rows, nrows, NULL), 0);
	assert_string_equal(s->capture.path, made_path("run-00002.cap"));
	fire(s, CUT + 20, true);
	end(s);
	assert_int_equal(verdict("run-00001.cap", KIND_switch, &n, &fired), VERDICT_OK);
	assert_int_equal(n, 3);
	assert_int_equal(fired, 3);
	assert_int_equal(verdict("run-00002.cap", KIND_switch, &n, &fired), VERDICT_OK);
	assert_int_equal(n, 3);
	assert_int_equal(fired, 4); /* one was in flight at the very end */
}

static void what_fires_goes_down_in_no_seal(void **state)
{
	struct recording *s = *state;
	const struct counter *rows;
	uint64_t n, fired;
	size_t nrows;

	/* In flight over many seals, and over the joint. */
	fire(s, 0, false);
	fire(s, T(0) + 1, true);
	seal(s, T(0) + 10, false, &rows, &nrows);
	seal(s, T(0) + 20, false, &rows, &nrows);
	s->rotation.cut_ns = CUT;
	seal(s, CUT, false, &rows, &nrows);
	assert_int_equal(rotate_join(s, rows, nrows, NULL), 0);
	s->rotation.cut_ns = T(2);
	seal(s, T(2), false, &rows, &nrows);
	assert_int_equal(rotate_join(s, rows, nrows, NULL), 0);
	end(s);
	assert_int_equal(verdict("run-00001.cap", KIND_switch, &n, &fired), VERDICT_OK);
	assert_int_equal(fired, 1);
	assert_int_equal(verdict("run-00002.cap", KIND_switch, &n, &fired), VERDICT_OK);
	assert_int_equal(fired, 0);
	assert_int_equal(verdict("run-00003.cap", KIND_switch, &n, &fired), VERDICT_OK);
	assert_int_equal(fired, 1);
}

static void names_reported_before_are_reported_again_and_later_ones_once(void **state)
{
	struct recording *s = *state;
	const struct counter *rows;
	uint64_t n, fired;
	size_t nrows;

	name(s, T(0) + 1, (uint32_t)getpid(), "early");
	s->rotation.cut_ns = CUT;
	name(s, CUT + 1, 4194301, "late");
	seal(s, CUT, false, &rows, &nrows);
	assert_int_equal(rotate_join(s, rows, nrows, NULL), 0);
	end(s);
	assert_int_equal(verdict("run-00001.cap", KIND_thread, &n, &fired), VERDICT_OK);
	assert_int_equal(n, 1);
	assert_int_equal(verdict("run-00002.cap", KIND_thread, &n, &fired), VERDICT_OK);
	assert_int_equal(n, 2);
}

static void a_joint_that_is_called_off_loses_nothing(void **state)
{
	struct recording *s = *state;
	uint64_t n, fired;

	fire(s, T(0) + 1, true);
	s->rotation.cut_ns = CUT;
	fire(s, CUT + 5, true);
	assert_int_equal(rotate_cancel(s, translate, &s->translator, NULL), 0);
	fire(s, CUT + 6, true);
	end(s);
	assert_int_equal(verdict("run-00001.cap", KIND_switch, &n, &fired), VERDICT_OK);
	assert_int_equal(n, 3);
	assert_int_equal(fired, 3);
}

static void a_key_that_has_changed_begins_no_capture(void **state)
{
	struct recording *s = *state;
	const struct counter *rows;
	struct identity other;
	uint64_t n, fired;
	size_t nrows;

	assert_int_equal(identity_generate(&other, NULL), 0);
	assert_int_equal(identity_write(&other, s->o.key_path, made_path("pub"), true, NULL, NULL), 0);
	s->rotation.cut_ns = CUT;
	fire(s, CUT + 5, true);
	seal(s, CUT, false, &rows, &nrows);
	assert_int_equal(rotate_join(s, rows, nrows, NULL), 0);
	assert_string_equal(s->capture.path, made_path("run-00001.cap"));
	assert_int_equal(access(made_path("run-00002.cap"), F_OK), -1);
	end(s);
	assert_int_equal(verdict("run-00001.cap", KIND_switch, &n, &fired), VERDICT_OK);
	assert_int_equal(n, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, finish)
	const struct CMUnitTest tests[] = {
		TEST(records_of_either_side_of_the_joint_are_reported_and_counted_on_their_side),
		TEST(what_fires_goes_down_in_no_seal),
		TEST(names_reported_before_are_reported_again_and_later_ones_once),
		TEST(a_joint_that_is_called_off_loses_nothing),
		TEST(a_key_that_has_changed_begins_no_capture),
	};

	return sodium_init() < 0 ? 1 : cmocka_run_group_tests_name("record_rotate", tests, NULL, made_clear);
}
