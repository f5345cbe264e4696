/* SPDX-License-Identifier: Apache-2.0 */
/* Rows while they are made. The writer is ours here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "record/row.h"

struct writer {
	uint16_t kind;
	uint64_t v[FIELDS_MAX];
	const char *text[FIELDS_MAX];
	int answer;
};

int writer_add(struct writer *w, uint16_t kind, const uint64_t *v, const char *const *text, struct fault *why)
{
	(void)why;
	w->kind = kind;
	memcpy(w->v, v, sizeof(w->v));
	memcpy(w->text, text, sizeof(w->text));
	return w->answer;
}

static void a_row_has_its_kind_and_time_and_else_nothing(void **state)
{
	const struct row row = row_of(KIND_module, 42);
	struct writer w = {.answer = ERR_MEMORY};

	(void)state;
	assert_int_equal(row_emit(&row, &w, NULL), ERR_MEMORY);
	assert_int_equal(w.kind, KIND_module);
	assert_int_equal(w.v[F_module_at], 42);
	for (size_t f = 1; f < FIELDS_MAX; f++) {
		assert_int_equal(w.v[f], 0);
		assert_null(w.text[f]);
	}
}

static void a_text_comes_with_its_length(void **state)
{
	struct row row = row_of(KIND_module, 42);
	struct writer w = {0};

	(void)state;
	row_text(&row, F_module_path, "/lib/libcuda.so.1");
	row_bytes(&row, F_module_build_id, "abcdef", 2);
	assert_int_equal(row_emit(&row, &w, NULL), 0);
	assert_string_equal(w.text[F_module_path], "/lib/libcuda.so.1");
	assert_int_equal(w.v[F_module_path], strlen("/lib/libcuda.so.1"));
	assert_string_equal(w.text[F_module_build_id], "abcdef");
	assert_int_equal(w.v[F_module_build_id], 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_row_has_its_kind_and_time_and_else_nothing),
		cmocka_unit_test(a_text_comes_with_its_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
