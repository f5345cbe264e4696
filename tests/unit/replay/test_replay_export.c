/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "replay/export/export.h"
#include "replay/export/proto.h"
#include "tests/unit/sample.h"
#include "tests/unit/event.h"

/* The encoder ------------------------------------------------------------------------------------------------------ */

#define ENCODES(call, ...)                                                                                             \
	do {                                                                                                           \
		const uint8_t wanted[] = {__VA_ARGS__};                                                                \
		struct bytes p = {0};                                                                                  \
		call;                                                                                                  \
		assert_false(p.failed);                                                                                \
		assert_int_equal(p.len, sizeof(wanted));                                                               \
		assert_memory_equal(p.data, wanted, sizeof(wanted));                                                   \
		bytes_free(&p);                                                                                        \
	} while (0)

static void numbers_are_varints(void **state)
{
	(void)state;
	ENCODES(proto_u64(&p, 1, 0), 0x08, 0x00);
	ENCODES(proto_u64(&p, 1, 127), 0x08, 0x7f);
	ENCODES(proto_u64(&p, 1, 150), 0x08, 0x96, 0x01); /* the specification's own example */
	ENCODES(proto_u64(&p, 16, 1), 0x80, 0x01, 0x01);
	ENCODES(proto_u64(&p, 1, UINT64_MAX), 0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01);
	ENCODES(proto_s64(&p, 1, -2), 0x08, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01);
	ENCODES(proto_fixed64(&p, 47, 0x0102030405060708), 0xf9, 0x02, 8, 7, 6, 5, 4, 3, 2, 1);
}

static void texts_and_messages_have_their_length_before_them(void **state)
{
	size_t outer, inner;

	(void)state;
	ENCODES(proto_string(&p, 2, "testing"), 0x12, 0x07, 't', 'e', 's', 't', 'i', 'n', 'g');
	ENCODES(proto_bytes(&p, 2, NULL, 0), 0x12, 0x00);
	ENCODES((outer = proto_begin(&p, 3), proto_u64(&p, 1, 150), proto_end(&p, outer)), 0x1a, 0x83, 0x80, 0x80, 0x00,
		0x08, 0x96, 0x01);
	ENCODES((outer = proto_begin(&p, 1), inner = proto_begin(&p, 2), proto_end(&p, inner), proto_end(&p, outer)),
		0x0a, 0x85, 0x80, 0x80, 0x00, 0x12, 0x80, 0x80, 0x80, 0x00);
}

static void a_message_beyond_the_limit_fails_and_stays_failed(void **state)
{
	struct bytes p = {0};

	(void)state;
	proto_bytes(&p, 1, "", PROTO_MESSAGE_MAX + 1);
	assert_true(p.failed);
	proto_u64(&p, 1, 1);
	assert_true(p.failed);
	bytes_free(&p);
	assert_false(p.failed);
}

static void a_long_message_is_whole(void **state)
{
	struct bytes p = {0};
	size_t begun = proto_begin(&p, 1);
	char text[1000];

	(void)state;
	memset(text, 'x', sizeof(text));
	for (unsigned i = 0; i < 5000; i++)
		proto_bytes(&p, 2, text, sizeof(text));
	proto_end(&p, begun);
	assert_false(p.failed);
	assert_int_equal(p.len, 5 + 5000 * 1003);
	assert_int_equal((p.data[1] & 0x7f) | (p.data[2] & 0x7f) << 7 | (p.data[3] & 0x7f) << 14 | p.data[4] << 21,
			 5000 * 1003);
	bytes_free(&p);
}

/* Names and endings ------------------------------------------------------------------------------------------------ */

static void the_longest_ending_names_the_exporter(void **state)
{
	static const struct {
		const char *path;
		int (*wanted)(const struct replay *, int, struct fault *);
	} cases[] = {{"a.json", jsonl_write},
		     {"a.otlp.json", otlp_write_file},
		     {"a.folded", folded_time_write_file},
		     {"a.alloc.folded", folded_bytes_write_file},
		     {"a.txt", text_write},
		     {"trace.json", jsonl_write}};
	const struct exporter *e;
	struct fault why;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(exporter_for(&e, cases[i].path, &why), 0);
		assert_ptr_equal(e->write_file, cases[i].wanted);
	}
	assert_int_equal(exporter_for(&e, ".perfetto-trace", &why), ERR_INPUT);
	for (e = exporters(); e->suffix; e++)
		assert_non_null(strstr(why.text, e->suffix));
}

static void a_dropped_format_is_refused_and_names_another(void **state)
{
	static const struct {
		const char *path, *instead;
	} cases[] = {{"a.trace.json", ".perfetto-trace"},
		     {"b/.trace.json", ".perfetto-trace"},
		     {".trace.json", ".perfetto-trace"},
		     {"a.perf.txt", ".folded"},
		     {".perf.txt", ".folded"}};
	const struct exporter *e = NULL;
	struct fault why;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(exporter_for(&e, cases[i].path, &why), ERR_INPUT);
		assert_null(e);
		assert_non_null(strstr(why.text, "is no longer written"));
		assert_non_null(strstr(why.text, cases[i].instead));
	}
	assert_int_equal(exporter_for(&e, "a.trace.json.txt", &why), 0);
	assert_ptr_equal(e->write_file, text_write);
}

static void a_call_cannot_begin_before_the_clock(void **state)
{
	struct event ev = event_made(KIND_launch, NULL, 100);

	(void)state;
	event_room(&ev)->v[F_call_dur] = 30;
	assert_int_equal(call_begin_ns(&ev), 70);
	event_room(&ev)->v[F_call_dur] = UINT64_MAX;
	assert_int_equal(call_begin_ns(&ev), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_varints),
		cmocka_unit_test(texts_and_messages_have_their_length_before_them),
		cmocka_unit_test(a_message_beyond_the_limit_fails_and_stays_failed),
		cmocka_unit_test(a_long_message_is_whole),
		cmocka_unit_test(the_longest_ending_names_the_exporter),
		cmocka_unit_test(a_dropped_format_is_refused_and_names_another),
		cmocka_unit_test(a_call_cannot_begin_before_the_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
