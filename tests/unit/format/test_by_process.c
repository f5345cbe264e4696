/* SPDX-License-Identifier: Apache-2.0 */
/* Captures whose chunks are separated by process: the same rows in the same order, and one process can be kept alone.
 */
#include "tests/unit/sample.h"

#include "format/chunk.h"
#include "format/layout.h"
#include "format/narrow.h"

#define EPOCHS 3

/* Rows of so many processes, in turns, and between them rows of none; more of those with a lower number. */
static void make(struct memory_sink *m, uint32_t nprocesses, bool by_process)
{
	const struct origin origin = {.by_process = by_process};
	struct identity id = sample_identity(1);
	struct clock_anchor anchor = sample_anchor(SAMPLE_BOOT);
	struct self_stats self = {1, 2, 3, 4};
	uint64_t launches = 0, switches = 0, begin = SAMPLE_BOOT;
	struct writer *w;
	struct fault why;

	assert_int_equal(
		writer_open_from(&w, memory_sink_of(m), &id, sample_probes, SAMPLE_NPROBES, &anchor, &origin, &why), 0);
	for (unsigned e = 0; e < EPOCHS; e++) {
		struct counter c[4];

		for (uint32_t p = 0; p <= nprocesses; p++) {
			for (uint32_t i = 0; i < 3 + (nprocesses - p) % 7; i++) {
				uint64_t at = begin + 10 + (i * 37 + p * 11) % 90;
				const uint64_t launch[FIELDS_MAX] = {at, p, p + 1000, 0, 5, 20, 0, 0, i};
				const uint64_t sw[FIELDS_MAX] = {at, 0, p, 1};

				assert_int_equal(writer_add(w, KIND_launch, launch, NULL, &why), 0);
				assert_int_equal(writer_add(w, KIND_switch, sw, NULL, &why), 0);
				launches++;
				switches++;
			}
			if (e == 0) {
				uint64_t thread[FIELDS_MAX] = {
					begin + 5, [F_thread_tid] = p + 1000, [F_thread_pid] = p, [F_thread_name] = 7};
				const char *text[FIELDS_MAX] = {[F_thread_name] = "trainer"};

				assert_int_equal(writer_add(w, KIND_thread, thread, text, &why), 0);
			}
		}
		begin += SAMPLE_SECOND;
		anchor = sample_anchor(begin);
		c[0] = (struct counter){1, COUNTER_fired, switches};
		c[1] = (struct counter){1, COUNTER_recorded, switches};
		c[2] = (struct counter){20, COUNTER_fired, launches};
		c[3] = (struct counter){20, COUNTER_recorded, launches};
		assert_int_equal(writer_seal(w, begin, &anchor, &self, c, 4, &why), 0);
		if (e + 1 == EPOCHS)
			assert_int_equal(writer_end(w, REASON_command, NULL, &anchor, c, 4, &why), 0);
	}
	writer_close(w);
}

struct opened {
	struct memory_sink m;
	struct source src;
	struct reader r;
};

static void open_made(struct opened *o, uint32_t nprocesses, bool by_process)
{
	struct fault why;

	*o = (struct opened){0};
	make(&o->m, nprocesses, by_process);
	source_open_memory(&o->src, o->m.bytes.data, o->m.bytes.len);
	assert_int_equal(reader_open(&o->r, &o->src, &why), 0);
}

static void close_made(struct opened *o)
{
	reader_close(&o->r);
	bytes_free(&o->m.bytes);
}

/* A hash of each row, with what it is of; and their number. Times never go back. */
static size_t walk(const struct reader *r, uint64_t *rows, uint32_t *pids, size_t room)
{
	struct cursor *cur;
	struct event ev;
	struct fault why;
	uint64_t last = 0;
	size_t n = 0;
	int got;

	assert_int_equal(cursor_open(&cur, r, false, &why), 0);
	while ((got = cursor_next(cur, &ev, &why)) > 0) {
		uint64_t h = ev.kind;

		if (ev.kind == KIND_epoch)
			continue;
		assert_true(ev.at_ns >= last && n < room);
		last = ev.at_ns;
		for (size_t f = 0; f < ev.shape->nfields; f++)
			h = h * UINT64_C(0x100000001b3) + ev.v[f];
		rows[n] = h;
		pids[n++] = kind_pid_field(ev.shape) ? (uint32_t)ev.v[kind_pid_field(ev.shape)] : UINT32_MAX;
	}
	assert_int_equal(got, 0);
	cursor_close(cur);
	return n;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

#define ROOM 20000
static uint64_t plain_rows[ROOM], rows[ROOM];
static uint32_t plain_pids[ROOM], pids[ROOM];

/* Lanes of an epoch; each chunk is checked to have rows of its part only. */
static unsigned count_lanes(const struct reader *r, uint64_t e)
{
	const struct epoch *epoch = &r->epochs[e];
	struct content *content = calloc(1, sizeof(*content));
	unsigned lanes = 0;
	struct fault why;

	assert_non_null(content);
	for (uint32_t i = 0; i < epoch->nchunks; i++) {
		const struct chunk *c = &epoch->chunks[i];

		lanes += i == 0 || c->class != c[-1].class || c->part != c[-1].part;
		assert_int_equal(content_load(content, r, epoch, i, true, &why), 0);
		for (size_t g = 0; g < content->ngroups; g++) {
			const struct rows *group = &content->groups[g];
			uint8_t pid = kind_pid_field(group->kind);

			assert_int_equal(pid == 0, c->part == PART_OF_NONE);
			for (uint32_t row = 0; pid && c->part != PART_OF_SEVERAL && row < group->nrows; row++)
				assert_int_equal(group->v[pid * group->nrows + row], c->part);
		}
	}
	content_free(content);
	free(content);
	return lanes;
}

static void separated_rows_are_the_same_in_the_order_of_time(void **state)
{
	static const uint32_t processes[] = {0, 1, 3, 40, 70, 300};

	(void)state;
	for (size_t i = 0; i < sizeof(processes) / sizeof(processes[0]); i++) {
		struct opened plain, parted;
		struct verification v;
		size_t n, m;

		open_made(&plain, processes[i], false);
		open_made(&parted, processes[i], true);
		assert_int_equal(plain.r.header.incompatible & FEATURE_PARTS, 0);
		assert_int_equal(parted.r.header.incompatible & FEATURE_PARTS, FEATURE_PARTS);
		assert_int_equal(sample_verdict(parted.m.bytes.data, parted.m.bytes.len, &v), VERDICT_OK);
		n = walk(&plain.r, plain_rows, plain_pids, ROOM);
		m = walk(&parted.r, rows, pids, ROOM);
		assert_int_equal(n, m);
		qsort(plain_rows, n, sizeof(rows[0]), by_value);
		qsort(rows, n, sizeof(rows[0]), by_value);
		assert_memory_equal(rows, plain_rows, n * sizeof(rows[0]));
		for (uint64_t e = 0; e < EPOCHS; e++)
			assert_true(count_lanes(&parted.r, e) <= EPOCH_LANES_MAX);
		close_made(&plain);
		close_made(&parted);
	}
}

/* Where there are more processes than parts, most have their own all the same. */
static void no_part_is_left_unused(void **state)
{
	struct opened o;

	(void)state;
	open_made(&o, 300, true);
	assert_in_range(count_lanes(&o.r, 1), EPOCH_LANES_MAX - 16, EPOCH_LANES_MAX);
	close_made(&o);
}

/* Processes 0 and 1 to n; those kept are exactly there, and what is of none. */
static void a_process_can_be_kept_alone(void **state)
{
	static const uint32_t keep[] = {2, 5, 77};

	(void)state;
	for (size_t nkept = 1; nkept <= 3; nkept++) {
		const struct narrowing plan = {0, 0, UINT64_MAX, keep, nkept};
		struct memory_sink out = {0};
		struct verification v;
		struct opened o;
		struct source src;
		struct reader r;
		struct fault why;
		uint64_t nwithheld;
		size_t n, want = 0, m;

		open_made(&o, 9, true);
		n = walk(&o.r, plain_rows, plain_pids, ROOM);
		for (size_t i = 0; i < n; i++) {
			bool kept = plain_pids[i] == UINT32_MAX;

			for (size_t k = 0; k < nkept; k++)
				kept |= plain_pids[i] == keep[k];
			if (kept)
				plain_rows[want++] = plain_rows[i];
		}
		assert_int_equal(narrow(&o.r, &plan, memory_sink_of(&out), &nwithheld, &why), 0);
		assert_true(nwithheld > 0);
		assert_int_equal(sample_verdict(out.bytes.data, out.bytes.len, &v), VERDICT_OK_REDACTED);
		source_open_memory(&src, out.bytes.data, out.bytes.len);
		assert_int_equal(reader_open(&r, &src, &why), 0);
		m = walk(&r, rows, pids, ROOM);
		assert_int_equal(m, want);
		assert_memory_equal(rows, plain_rows, m * sizeof(rows[0]));
		reader_close(&r);
		bytes_free(&out.bytes);
		close_made(&o);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(separated_rows_are_the_same_in_the_order_of_time),
		cmocka_unit_test(no_part_is_left_unused),
		cmocka_unit_test(a_process_can_be_kept_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
