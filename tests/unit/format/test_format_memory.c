/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nth allocation fails, for every n: writing, reading, verifying and walking a capture end in ERR_MEMORY, never in
 * a crash or a wrong answer. The allocator is replaced for the whole program, so not in a build with AddressSanitizer.
 */
#include "tests/unit/sample.h"

#ifndef __SANITIZE_ADDRESS__

#include <errno.h>

#include "format/narrow.h"
#include "format/pack.h"

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

static __thread unsigned long armed, calls; /* armed: the call that fails, 0: none */

static bool refuse(void)
{
	if (!armed || ++calls != armed)
		return false;
	errno = ENOMEM;
	return true;
}

/* Visible, so that shared libraries such as LZ4 find these, too. */
#pragma GCC visibility push(default)
void *malloc(size_t n)
{
	return refuse() ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	return refuse() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
	return refuse() ? NULL : __libc_realloc(p, n);
}
#pragma GCC visibility pop

#define GENEROUS 1000000ul /* a call that is never reached */

static void writing_survives_each_failing_allocation(void **state)
{
	unsigned long n = 0, total;
	struct memory_sink m = {0};

	(void)state;
	m.bytes.data = malloc(1 << 20); /* the sink itself does not allocate */
	m.bytes.room = 1 << 20;
	calls = 0;
	armed = GENEROUS;
	assert_int_equal(sample_write(&m, 2, true), 0);
	armed = 0;
	total = calls;
	assert_true(total > 20);
	for (n = 1; n <= total; n++) {
		struct verification v;
		int r;

		bytes_reset(&m.bytes);
		calls = 0;
		armed = n;
		r = sample_write(&m, 2, true);
		armed = 0;
		assert_true(r == ERR_MEMORY || r == ERR_IO);
		sample_verdict(m.bytes.data, m.bytes.len, &v);
		assert_true(v.verdict == VERDICT_UNSEALED || (v.verdict == VERDICT_MALFORMED && m.bytes.len == 0));
	}
	bytes_free(&m.bytes);
}

/* Open, verify, walk: the first error, or 0. */
static int read_all(const struct memory_sink *m, unsigned *nevents)
{
	struct verification v;
	struct cursor *cur = NULL;
	struct source src;
	struct reader r;
	struct event ev;
	struct fault why;
	int ret;

	*nevents = 0;
	source_open_memory(&src, m->bytes.data, m->bytes.len);
	ret = reader_open(&r, &src, &why);
	if (ret < 0)
		return ret;
	verify(&r, 1, &v);
	if (v.verdict != VERDICT_OK)
		ret = v.verdict == VERDICT_UNCHECKED ? ERR_MEMORY : ERR_FORGED;
	else if (v.nepochs != r.nepochs) /* good as far as it was inspected is not good */
		ret = ERR_FORGED;
	if (ret == 0)
		ret = cursor_open(&cur, &r, false, &why);
	while (ret == 0) {
		ret = cursor_next(cur, &ev, &why);
		if (ret == 0)
			break;
		if (ret > 0) {
			ret = 0;
			++*nevents;
		}
	}
	cursor_close(cur);
	reader_close(&r);
	return ret;
}

static void a_row_that_found_no_memory_leaves_no_trace(void **state)
{
	static char text_bytes[3000];
	struct memory_sink m = {0};
	struct identity id = sample_identity(1);
	struct clock_anchor a = sample_anchor(SAMPLE_BOOT);
	struct self_stats self = {0};
	const char *text[FIELDS_MAX] = {NULL, text_bytes, text_bytes};
	uint64_t v[FIELDS_MAX] = {SAMPLE_BOOT, 100, sizeof(text_bytes)}, nrows = 0;
	struct writer *w;
	struct verification got;
	struct fault why;
	unsigned failed = 0;

	(void)state;
	assert_int_equal(writer_open(&w, memory_sink_of(&m), &id, sample_probes, SAMPLE_NPROBES, &a, &why), 0);
	for (unsigned i = 0; i < 2000; i++) {
		size_t before = writer_staged_bytes(w);
		int r;

		calls = 0;
		armed = 1;
		r = writer_add(w, KIND_fact, v, text, &why);
		armed = 0;
		nrows += r == 0;
		if (r == 0)
			continue;
		assert_int_equal(r, ERR_MEMORY);
		assert_int_equal(writer_staged_bytes(w), before);
		assert_int_equal(writer_add(w, KIND_fact, v, text, &why), 0);
		nrows++;
		failed++;
	}
	assert_true(failed > 10);
	assert_int_equal(writer_seal(w, SAMPLE_BOOT + 1, &a, &self, NULL, 0, &why), 0);
	writer_close(w);
	assert_int_equal(sample_verdict(m.bytes.data, m.bytes.len, &got), VERDICT_UNSEALED);
	assert_int_equal(got.nevents, nrows);
	bytes_free(&m.bytes);
}

static void reading_survives_each_failing_allocation(void **state)
{
	struct memory_sink m = {0};
	unsigned long total;
	unsigned want, got;

	(void)state;
	assert_int_equal(sample_write(&m, 2, true), 0);
	calls = 0;
	armed = GENEROUS;
	assert_int_equal(read_all(&m, &want), 0);
	armed = 0;
	total = calls;
	assert_true(total > 20);
	for (unsigned long n = 1; n <= total; n++) {
		int r;

		calls = 0;
		armed = n;
		r = read_all(&m, &got);
		armed = 0;
		/* verify() starts threads only for several epochs and does without them. */
		assert_true(r == ERR_MEMORY || (r == 0 && got == want));
	}
	bytes_free(&m.bytes);
}

/* What was not read for want of memory is not what the capture lacks. */
static void a_capture_that_finds_no_memory_is_not_opened_in_part(void **state)
{
	struct memory_sink m = {0};
	unsigned long n;
	struct source src;
	struct reader r;
	struct fault why;

	(void)state;
	assert_int_equal(sample_write(&m, 2, true), 0);
	source_open_memory(&src, m.bytes.data, m.bytes.len);
	for (n = 1;; n++) {
		int ret;

		calls = 0;
		armed = n;
		ret = reader_open(&r, &src, &why);
		armed = 0;
		if (calls < n)
			break;
		assert_int_equal(ret, ERR_MEMORY);
	}
	assert_true(n > 4);
	assert_int_equal(r.tail, TAIL_END);
	reader_close(&r);
	bytes_free(&m.bytes);
}

static void a_copy_without_memory_says_so(void **state)
{
	static const struct narrowing plan = {1u << CLASS_process, 0, UINT64_MAX, NULL, 0};
	struct memory_sink m = {0}, out = {0};
	struct source src;
	struct reader r;
	struct fault why;
	uint64_t n = 77;
	int ret;

	(void)state;
	assert_int_equal(sample_write(&m, 2, true), 0);
	source_open_memory(&src, m.bytes.data, m.bytes.len);
	assert_int_equal(reader_open(&r, &src, &why), 0);
	calls = 0;
	armed = 1;
	ret = narrow(&r, &plan, memory_sink_of(&out), &n, &why);
	armed = 0;
	assert_int_equal(ret, ERR_MEMORY);
	assert_int_equal(n, 77);
	assert_true(out.closed);
	assert_int_equal(out.bytes.len, 0);
	reader_close(&r);
	bytes_free(&m.bytes);
}

/* A buffer that is full: the one allocation of packing is that of its room. */
static void a_chunk_that_finds_no_room_leaves_the_buffer_as_it_was(void **state)
{
	uint8_t raw[1000] = {0};
	struct bytes b = {0};
	struct fault why;
	int ret;

	(void)state;
	bytes_add(&b, "abc", 3);
	calls = 0;
	armed = 1;
	ret = pack_frame(&b, raw, sizeof(raw), &why);
	armed = 0;
	assert_int_equal(ret, ERR_MEMORY);
	assert_string_equal(why.text, "out of memory");
	assert_int_equal(b.len, 3);
	bytes_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_copy_without_memory_says_so),
		cmocka_unit_test(a_chunk_that_finds_no_room_leaves_the_buffer_as_it_was),
		cmocka_unit_test(writing_survives_each_failing_allocation),
		cmocka_unit_test(a_row_that_found_no_memory_leaves_no_trace),
		cmocka_unit_test(reading_survives_each_failing_allocation),
		cmocka_unit_test(a_capture_that_finds_no_memory_is_not_opened_in_part),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void no_allocation_can_be_made_to_fail_under_address_sanitizer(void **state)
{
	(void)state;
	print_message("# the address sanitizer has an allocator of its own\n");
	skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_allocation_can_be_made_to_fail_under_address_sanitizer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
