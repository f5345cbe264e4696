/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The worked example of docs/FORMAT.md, made again byte by byte with a fixed source of "random" numbers, and compared.
 * `test_format_example --print` prints it for the page.
 */
#include <stdio.h>

#include "tests/unit/sample.h"

#include "format/layout.h"

#define PAGE "docs/FORMAT.md"
#define BEGIN_MARK "<!-- example: begin -->\n"
#define END_MARK "<!-- example: end -->"

static uint8_t counting;

static const char *counting_name(void)
{
	return "counting";
}

static uint32_t counting_random(void)
{
	return counting++;
}

static void counting_buf(void *const buf, const size_t size)
{
	uint8_t *p = buf;

	for (size_t i = 0; i < size; i++)
		p[i] = counting++;
}

static struct randombytes_implementation counting_source = {
	.implementation_name = counting_name,
	.random = counting_random,
	.buf = counting_buf,
};

static void write_example(struct memory_sink *m)
{
	struct identity id = sample_identity(1);
	struct clock_anchor start = sample_anchor(SAMPLE_BOOT), end = sample_anchor(SAMPLE_BOOT + SAMPLE_SECOND);
	struct self_stats self = {1000000, 8 << 20, 4096, 0};
	const struct counter counters[] = {{1, COUNTER_fired, 3}, {1, COUNTER_recorded, 2}, {1, COUNTER_ring_full, 1}};
	const uint64_t first[FIELDS_MAX] = {SAMPLE_BOOT + 0x1000, 1, 4399, 1, 4410, 203};
	const uint64_t second[FIELDS_MAX] = {SAMPLE_BOOT + 0x1234, 1, 4410, 0, 4399};
	const uint64_t thread[FIELDS_MAX] = {SAMPLE_BOOT + 0x1000, 4399, 4398, 3000000000, 7};
	const char *name[FIELDS_MAX] = {NULL, NULL, NULL, NULL, "trainer"};
	struct writer *w;
	struct fault why;

	assert_int_equal(writer_open(&w, memory_sink_of(m), &id, sample_probes, 1, &start, &why), 0);
	assert_int_equal(writer_add(w, KIND_switch, first, NULL, &why), 0);
	assert_int_equal(writer_add(w, KIND_switch, second, NULL, &why), 0);
	assert_int_equal(writer_add(w, KIND_thread, thread, name, &why), 0);
	assert_int_equal(writer_seal(w, SAMPLE_BOOT + SAMPLE_SECOND, &end, &self, counters, 3, &why), 0);
	assert_int_equal(writer_end(w, REASON_duration, NULL, &end, counters, 3, &why), 0);
	writer_close(w);
}

/* Prints `n` bytes at *at with their meaning, and moves on. n = 0: only the meaning. */
static void show(FILE *out, const uint8_t *bytes, size_t *at, size_t n, const char *meaning)
{
	for (size_t i = 0; i < n; i += 16) {
		fprintf(out, "%06zx ", *at + i);
		for (size_t b = i; b < i + 16; b++)
			if (b < n)
				fprintf(out, " %02x", bytes[*at + b]);
			else
				fprintf(out, "   ");
		fprintf(out, i == 0 ? "  %s\n" : "\n", meaning);
	}
	*at += n;
}

static void show_chunk(FILE *out, const uint8_t *b, size_t *at, const char *what)
{
	uint32_t packed = get_le32(b + *at + FRAME_HEAD_BYTES);

	fprintf(out, "--- %s\n", what);
	show(out, b, at, 4, "magic CHUNK");
	show(out, b, at, 4, "payload: 20 bytes");
	show(out, b, at, 4, "packed bytes: the length of the LZ4 frame that follows");
	show(out, b, at, 16, "salt");
	show(out, b, at, packed, "LZ4 frame");
}

static void show_entry(FILE *out, const uint8_t *b, size_t *at)
{
	show(out, b, at, 1, "chunk: class");
	show(out, b, at, 4, "raw bytes");
	show(out, b, at, 4, "packed bytes");
	show(out, b, at, 4, "rows");
	show(out, b, at, 8, "first");
	show(out, b, at, 8, "last");
	show(out, b, at, 32, "commitment");
}

static void show_counters(FILE *out, const uint8_t *b, size_t *at)
{
	show(out, b, at, COUNTER_BYTES, "counter: probe 1, fired, 3");
	show(out, b, at, COUNTER_BYTES, "counter: probe 1, recorded, 2");
	show(out, b, at, COUNTER_BYTES, "counter: probe 1, ring_full, 1");
}

static void show_header(FILE *out, const uint8_t *b, size_t *at)
{
	size_t payload = get_le32(b + EMPTY_FRAME_BYTES + 4);
	size_t schema = payload - HEADER_AT_SCHEMA - SIGNATURE_BYTES;

	show(out, b, at, EMPTY_FRAME_BYTES, "empty LZ4 frame");
	fprintf(out, "--- HEADER\n");
	show(out, b, at, 4, "magic HEADER");
	show(out, b, at, 4, "payload bytes");
	show(out, b, at, 8, "\"gpurecap\"");
	show(out, b, at, 2, "major version");
	show(out, b, at, 2, "minor version");
	show(out, b, at, 8, "compatible features");
	show(out, b, at, 8, "incompatible features");
	show(out, b, at, 16, "capture id");
	show(out, b, at, 8, "key number of the identity");
	show(out, b, at, 32, "public key of the identity");
	show(out, b, at, 32, "session key of epoch 0");
	show(out, b, at, 8, "start, boot clock");
	show(out, b, at, 8, "start, wall clock");
	show(out, b, at, 16, "schema: 7 classes; 1 \"events\", ...");
	fprintf(out, "        ... %zu more bytes of schema\n", schema - 16);
	*at += schema - 16;
	show(out, b, at, SIGNATURE_BYTES, "signature by the identity");
}

static void show_seal(FILE *out, const uint8_t *b, size_t *at)
{
	fprintf(out, "--- SEAL\n");
	show(out, b, at, 4, "magic SEAL");
	show(out, b, at, 4, "payload bytes");
	show(out, b, at, 16, "capture id");
	show(out, b, at, 8, "epoch number");
	show(out, b, at, 32, "hash before: of the header");
	show(out, b, at, 8, "begin");
	show(out, b, at, 8, "end");
	show(out, b, at, 24, "anchor: boot, wall, monotonic clock");
	show(out, b, at, 32, "recorder: CPU ns, resident bytes, ring high-water bytes, bytes written");
	show(out, b, at, 32, "session key of the next epoch");
	show(out, b, at, 12, "2 chunks, 2 counts, 3 counters");
	show_entry(out, b, at);
	show_entry(out, b, at);
	show(out, b, at, COUNT_BYTES, "count: kind 16 (switch), 2");
	show(out, b, at, COUNT_BYTES, "count: kind 33 (thread), 1");
	show_counters(out, b, at);
	show(out, b, at, SIGNATURE_BYTES, "signature by the session key of epoch 0");
}

static void show_end(FILE *out, const uint8_t *b, size_t *at)
{
	fprintf(out, "--- END\n");
	show(out, b, at, 4, "magic END");
	show(out, b, at, 4, "payload bytes");
	show(out, b, at, 16, "capture id");
	show(out, b, at, 8, "epochs");
	show(out, b, at, 32, "hash of the last seal");
	show(out, b, at, 24, "anchor");
	show(out, b, at, 4, "reason: 3, the asked duration was over");
	show(out, b, at, 8, "no exit status");
	show(out, b, at, 8, "2 totals, 3 counters");
	show(out, b, at, COUNT_BYTES, "total: kind 16, 2");
	show(out, b, at, COUNT_BYTES, "total: kind 33, 1");
	show_counters(out, b, at);
	show(out, b, at, SIGNATURE_BYTES, "signature by the session key of epoch 1");
}

/* The raw bytes of the first chunk, as the columns are laid out. */
static void show_columns(FILE *out, const struct memory_sink *m)
{
	static const uint8_t raw[] = {16, 0,    2,    0,    0,    0, /* group */
				      2,  0,    0x34, 0,    0x02,    /* at: 0, 0x234 */
				      1,  1,    1,                   /* cpu */
				      2,  0x2f, 0x3a, 0x11, 0x11,    /* prev_tid */
				      1,  1,    0,                   /* prev_state */
				      2,  0x3a, 0x2f, 0x11, 0x11,    /* next_tid */
				      1,  203,  0,                   /* prev_syscall */
				      0,                             /* prev_flags */
				      0};                            /* next_queue */
	size_t at = 0;

	fprintf(out, "--- the first chunk, decompressed\n");
	show(out, raw, &at, 6, "group: kind 16 (switch), 2 rows");
	show(out, raw, &at, 5, "at: 2 bytes wide; low bytes, then high bytes of 0, 0x234");
	show(out, raw, &at, 3, "cpu: 1 byte wide: 1, 1");
	show(out, raw, &at, 5, "prev_tid: 2 bytes wide: 0x112f, 0x113a");
	show(out, raw, &at, 3, "prev_state: 1, 0");
	show(out, raw, &at, 5, "next_tid: 0x113a, 0x112f");
	show(out, raw, &at, 3, "prev_syscall: 203, 0");
	show(out, raw, &at, 1, "prev_flags: 0 bytes wide: 0, 0");
	show(out, raw, &at, 1, "next_queue: likewise");
	assert_int_equal(at, sizeof(raw));
	/* So few bytes are stored by LZ4 as they are: they must be in the file. */
	assert_non_null(memmem(m->bytes.data, m->bytes.len, raw, sizeof(raw)));
}

static char *make_example(void)
{
	struct memory_sink m = {0};
	char *text = NULL;
	size_t len = 0, at = 0;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	counting = 0;
	write_example(&m);
	assert_int_equal(sample_verdict(m.bytes.data, m.bytes.len, NULL), VERDICT_OK);
	fprintf(out, "```\n");
	show_header(out, m.bytes.data, &at);
	show_chunk(out, m.bytes.data, &at, "CHUNK 0");
	show_chunk(out, m.bytes.data, &at, "CHUNK 1");
	show_seal(out, m.bytes.data, &at);
	show_end(out, m.bytes.data, &at);
	show_columns(out, &m);
	fprintf(out, "```\n");
	assert_int_equal(at, m.bytes.len);
	bytes_free(&m.bytes);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void the_page_shows_the_bytes_that_are_written(void **state)
{
	FILE *page = fopen(PAGE, "re");
	char *want = make_example(), *have = NULL, *begin, *end;
	size_t room = 0;

	(void)state;
	assert_non_null(page);
	assert_true(getdelim(&have, &room, '\0', page) > 0);
	fclose(page);
	begin = strstr(have, BEGIN_MARK);
	assert_non_null(begin);
	begin += strlen(BEGIN_MARK);
	end = strstr(begin, END_MARK);
	assert_non_null(end);
	*end = '\0';
	assert_string_equal(begin, want);
	free(want);
	free(have);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_page_shows_the_bytes_that_are_written),
	};

	randombytes_set_implementation(&counting_source);
	if (sodium_init() < 0)
		return 1;
	if (argc > 1 && strcmp(argv[1], "--print") == 0) {
		char *text = make_example();

		fputs(text, stdout);
		free(text);
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
