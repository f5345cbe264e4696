/* SPDX-License-Identifier: Apache-2.0 */
/* Where a capture ends in a file that holds more: zeros, old blocks, a torn frame, a copy in whole blocks. */
#include "tests/unit/sample.h"

#include "format/layout.h"
#include "format/narrow.h"

#define SECTOR 512

struct tail_test {
	struct memory_sink m; /* what was recorded */
	struct source src;
	struct reader r;   /* of it */
	struct bytes file; /* what is in the file */
};

static void tail_begin(struct tail_test *t, unsigned nepochs, bool ended)
{
	struct fault why;

	*t = (struct tail_test){0};
	assert_int_equal(sample_write(&t->m, nepochs, ended), 0);
	source_open_memory(&t->src, t->m.bytes.data, t->m.bytes.len);
	assert_int_equal(reader_open(&t->r, &t->src, &why), 0);
	assert_int_equal(reader_outside(&t->r), 0);
}

static void tail_end(struct tail_test *t)
{
	reader_close(&t->r);
	bytes_free(&t->file);
	bytes_free(&t->m.bytes);
}

/* The first `n` bytes of what was recorded. */
static void keep(struct tail_test *t, size_t n)
{
	bytes_reset(&t->file);
	bytes_add(&t->file, t->m.bytes.data, n);
}

static void add_zeros(struct tail_test *t, size_t n)
{
	while (n-- > 0)
		bytes_add_u8(&t->file, 0);
}

/* Not a byte of it is 0, so that none passes for a zero that a file system left. */
static void add_rubbish(struct tail_test *t, size_t n)
{
	for (size_t i = 0; i < n; i++)
		bytes_add_u8(&t->file, (uint8_t)(1 + (i * 37 + n) % 255));
}

/* Where epoch `i` ends. */
static size_t seal_end(const struct tail_test *t, uint64_t i)
{
	uint64_t at = t->r.epochs[i].seal_offset;

	return (size_t)at + FRAME_HEAD_BYTES + get_le32(t->m.bytes.data + at + 4);
}

static void assert_file_is(const struct tail_test *t, enum verdict verdict, uint64_t nepochs, uint64_t outside)
{
	struct verification v;
	struct source src;
	struct reader r;
	struct fault why;

	assert_int_equal(sample_verdict(t->file.data, t->file.len, &v), verdict);
	assert_int_equal(v.nepochs, nepochs);
	source_open_memory(&src, t->file.data, t->file.len);
	assert_int_equal(reader_open(&r, &src, &why), 0);
	assert_int_equal(r.tail, verdict == VERDICT_UNSEALED ? TAIL_CUT
				 : verdict == VERDICT_OK     ? TAIL_END
							     : TAIL_BROKEN);
	assert_int_equal(reader_outside(&r), outside);
	reader_close(&r);
}

static void zeros_or_rubbish_behind_any_seal_are_no_part_of_the_capture(void **state)
{
	static const size_t lengths[] = {1, 7, 8, 9, 511, 4096, 70000, (1u << 20) + 20};
	struct tail_test t;

	(void)state;
	tail_begin(&t, 3, false);
	for (uint64_t n = 0; n <= 3; n++)
		for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
			size_t end = n ? seal_end(&t, n - 1) : (size_t)t.r.epochs[0].chunks[0].offset;

			keep(&t, end);
			add_zeros(&t, lengths[i]);
			assert_file_is(&t, VERDICT_UNSEALED, n, lengths[i]);
			keep(&t, end);
			add_rubbish(&t, lengths[i]);
			assert_file_is(&t, VERDICT_UNSEALED, n, lengths[i]);
			add_zeros(&t, lengths[i]);
			assert_file_is(&t, VERDICT_UNSEALED, n, 2 * lengths[i]);
		}
	tail_end(&t);
}

/* Whatever the sector: seals, chunks and END are torn in their heads, their tables and their signatures. */
static void a_file_whose_last_sectors_were_not_written_is_cut_where_they_begin(void **state)
{
	unsigned in_signature = 0, ended = 0;

	(void)state;
	for (unsigned nepochs = 1; nepochs < 40; nepochs++) {
		struct tail_test t;
		size_t size, header;

		tail_begin(&t, nepochs, true);
		size = t.m.bytes.len;
		header = (size_t)t.r.epochs[0].chunks[0].offset;
		for (size_t at = (header + SECTOR - 1) / SECTOR * SECTOR; at < size; at += SECTOR)
			for (size_t behind = 0; behind <= SECTOR; behind += SECTOR) {
				uint64_t whole = 0;

				keep(&t, at);
				add_zeros(&t, size - at + behind);
				while (whole < nepochs && memcmp(t.file.data, t.m.bytes.data, seal_end(&t, whole)) == 0)
					whole++;
				if (memcmp(t.file.data, t.m.bytes.data, size) == 0) {
					assert_file_is(&t, VERDICT_OK, nepochs, behind);
					continue;
				}
				assert_file_is(&t, VERDICT_UNSEALED, whole,
					       t.file.len - (whole ? seal_end(&t, whole - 1) : header));
				ended += at > t.r.end.offset;
				if (whole < nepochs)
					in_signature +=
						at < seal_end(&t, whole) && at > seal_end(&t, whole) - SIGNATURE_BYTES;
			}
		tail_end(&t);
	}
	assert_true(ended > 0 && in_signature > 0);
}

/* Nothing can be checked then, whatever is left of it: that is no forgery, and no later version. */
static void a_header_whose_last_sectors_were_not_written_is_no_capture(void **state)
{
	struct tail_test t;
	size_t header, tried = 0;

	(void)state;
	tail_begin(&t, 1, true);
	header = (size_t)t.r.epochs[0].chunks[0].offset;
	for (size_t at = 0; at < header; at += SECTOR)
		for (size_t size = header; size <= t.m.bytes.len + SECTOR; size += 200) {
			struct verification v;

			keep(&t, at);
			add_zeros(&t, size - at);
			assert_int_equal(sample_verdict(t.file.data, size, &v), VERDICT_MALFORMED);
			assert_int_equal(v.nepochs, 0);
			tried++;
		}
	assert_true(tried > 8);
	tail_end(&t);
}

/* A seal that is not signed, and is whole: that is no cut, whatever its last bytes are. */
static void zeros_that_fill_no_sector_cut_nothing(void **state)
{
	unsigned tried = 0;

	(void)state;
	for (unsigned nepochs = 2; nepochs < 12; nepochs++) {
		struct tail_test t;
		size_t end, zeros;

		tail_begin(&t, nepochs, false);
		end = seal_end(&t, nepochs - 1);
		keep(&t, end);
		memset(t.file.data + end - SIGNATURE_BYTES, 0, SIGNATURE_BYTES);
		for (zeros = end - SIGNATURE_BYTES; t.file.data[zeros - 1] == 0;)
			zeros--;
		if ((zeros + SECTOR - 1) / SECTOR * SECTOR >= end) {
			assert_int_equal(sample_verdict(t.file.data, t.file.len, NULL), VERDICT_FORGED);
			tried++;
		}
		tail_end(&t);
	}
	assert_true(tried > 0);
}

static void only_zeros_may_follow_the_end(void **state)
{
	static const size_t lengths[] = {1, 8, 511, 4096, 70000};
	struct tail_test t;

	(void)state;
	for (unsigned nepochs = 0; nepochs < 20; nepochs++) {
		tail_begin(&t, nepochs, true);
		for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
			keep(&t, t.m.bytes.len);
			add_zeros(&t, lengths[i]);
			assert_file_is(&t, VERDICT_OK, nepochs, lengths[i]);
			bytes_add_u8(&t.file, 1);
			assert_file_is(&t, VERDICT_MALFORMED, nepochs, 0);
			keep(&t, t.m.bytes.len);
			bytes_add(&t.file, t.m.bytes.data, t.m.bytes.len);
			assert_file_is(&t, VERDICT_MALFORMED, nepochs, 0);
		}
		tail_end(&t);
	}
}

/* Nothing inside is skipped: what would be a cut is none where the capture goes on behind it. */
static void a_gap_before_more_of_the_capture_is_malformed(void **state)
{
	static const size_t gaps[] = {0, 1, 4095, (1u << 20) - 60, (1u << 20) - 16, (1u << 20)};
	struct tail_test t;
	size_t end;

	(void)state;
	tail_begin(&t, 4, true);
	end = seal_end(&t, 2);
	for (size_t i = 0; i < sizeof(gaps) / sizeof(gaps[0]); i++) {
		for (unsigned rubbish = 0; rubbish < 2; rubbish++) {
			/* The last epochs behind a gap; and instead of them an older seal, as an old block has it. */
			for (unsigned older = 0; older < 2; older++) {
				size_t from = older ? (size_t)t.r.epochs[0].seal_offset : end,
				       to = seal_end(&t, older ? 0 : 3);

				if (gaps[i] == 0 && !older)
					continue;
				keep(&t, end);
				if (rubbish)
					add_rubbish(&t, gaps[i]);
				else
					add_zeros(&t, gaps[i]);
				if (gaps[i] == 0)
					bytes_add_u8(&t.file, 9);
				bytes_add(&t.file, t.m.bytes.data + from, to - from);
				assert_file_is(&t, VERDICT_MALFORMED, 3, 0);
			}
		}
	}
	/* A chunk that claims to go on behind the end of the file; and one that swallows the seal behind it. */
	keep(&t, t.m.bytes.len);
	put_le32(t.file.data + t.r.epochs[1].chunks[0].offset + FRAME_HEAD_BYTES, CHUNK_PACKED_MAX);
	assert_file_is(&t, VERDICT_MALFORMED, 1, 0);
	put_le32(t.file.data + t.r.epochs[1].chunks[0].offset + FRAME_HEAD_BYTES,
		 (uint32_t)(t.m.bytes.len - t.r.epochs[1].chunks[0].offset - FRAME_HEAD_BYTES - CHUNK_BYTES - 3));
	assert_file_is(&t, VERDICT_MALFORMED, 1, 0);
	tail_end(&t);
}

static void another_capture_behind_a_cut_is_no_part_of_it(void **state)
{
	struct memory_sink other = {0};
	struct tail_test t;

	(void)state;
	tail_begin(&t, 2, false);
	assert_int_equal(sample_write(&other, 3, true), 0);
	keep(&t, t.m.bytes.len);
	bytes_add(&t.file, other.bytes.data, other.bytes.len);
	assert_file_is(&t, VERDICT_UNSEALED, 2, other.bytes.len);
	bytes_free(&other.bytes);
	tail_end(&t);
}

/* A narrowed copy ends where the capture does. */
static void what_is_outside_is_not_copied(void **state)
{
	static const struct narrowing all = {.to_ns = UINT64_MAX};

	(void)state;
	for (unsigned ended = 0; ended < 2; ended++) {
		struct memory_sink copy = {0};
		struct tail_test t;
		struct source src;
		struct reader r;
		struct fault why;
		uint64_t nwithheld;

		tail_begin(&t, 2, ended);
		keep(&t, t.m.bytes.len);
		add_zeros(&t, 5000);
		source_open_memory(&src, t.file.data, t.file.len);
		assert_int_equal(reader_open(&r, &src, &why), 0);
		assert_int_equal(narrow(&r, &all, memory_sink_of(&copy), &nwithheld, &why), 0);
		assert_int_equal(copy.bytes.len, t.m.bytes.len);
		assert_memory_equal(copy.bytes.data, t.m.bytes.data, copy.bytes.len);
		reader_close(&r);
		bytes_free(&copy.bytes);
		tail_end(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zeros_or_rubbish_behind_any_seal_are_no_part_of_the_capture),
		cmocka_unit_test(a_file_whose_last_sectors_were_not_written_is_cut_where_they_begin),
		cmocka_unit_test(a_header_whose_last_sectors_were_not_written_is_no_capture),
		cmocka_unit_test(zeros_that_fill_no_sector_cut_nothing),
		cmocka_unit_test(only_zeros_may_follow_the_end),
		cmocka_unit_test(a_gap_before_more_of_the_capture_is_malformed),
		cmocka_unit_test(another_capture_behind_a_cut_is_no_part_of_it),
		cmocka_unit_test(what_is_outside_is_not_copied),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
