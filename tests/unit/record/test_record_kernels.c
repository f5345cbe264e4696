/* SPDX-License-Identifier: Apache-2.0 */
/* Names of kernels: reported, looked up, forgotten. The writer and the symbolizer are ours here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "record/symbols/kernel_rows.h"

struct writer {
	unsigned n;
	uint64_t v[FIELDS_MAX];
	char name[NAME_MAX_BYTES + 1];
	uint64_t begin_ns;
	enum err answer;
};

int writer_add(struct writer *w, uint16_t kind, const uint64_t *v, const char *const *text, struct fault *why)
{
	assert_int_equal(kind, KIND_kernel);
	if (w->answer)
		return fault_set(why, w->answer, FAULT_NOWHERE, "asked to");
	w->n++;
	memcpy(w->v, v, NFIELDS_kernel * sizeof(*v));
	(void)snprintf(w->name, sizeof(w->name), "%.*s", (int)v[F_kernel_name], text[F_kernel_name]);
	return 0;
}

uint64_t writer_begin_ns(const struct writer *w)
{
	return w->begin_ns;
}

static bool answer_is_late;

bool symbolizer_late(const struct symbolizer *s)
{
	(void)s;
	return answer_is_late;
}

/* Addresses above 0x400000 are in module 7, and a function begins at each 256th. */
int symbolizer_place(struct symbolizer *s, uint32_t pid, uint64_t start_ns, uint64_t address, bool is_return,
		     uint64_t now_ns, struct place *out, struct fault *why)
{
	(void)s, (void)start_ns, (void)now_ns, (void)why;
	assert_false(is_return);
	memset(out, 0, sizeof(*out));
	if (address < 0x400000 || pid == 99 || answer_is_late) /* 99: gone */
		return 0;
	out->module = 7;
	out->offset = address - 0x400000;
	(void)snprintf(out->symbol, sizeof(out->symbol), "stub_%llx+0x%llx", (unsigned long long)(address >> 8),
		       (unsigned long long)(address & 0xff));
	return 0;
}

int stacks_emit_modules(struct stacks *s, struct writer *w, uint64_t at_ns, struct fault *why)
{
	(void)s, (void)w, (void)at_ns, (void)why;
	return 0;
}

struct made {
	struct writer w;
	struct kernels *k;
	struct fault why;
};

static int setup(void **state)
{
	struct made *m = calloc(1, sizeof(*m));

	assert_non_null(m);
	assert_int_equal(kernels_new(&m->k, NULL, NULL, &m->why), 0);
	*state = m;
	return 0;
}

static int teardown(void **state)
{
	struct made *m = *state;

	kernels_free(m->k);
	free(m);
	return 0;
}

static struct kernel_of of(uint32_t pid, uint64_t function, uint64_t at_ns)
{
	return (struct kernel_of){.pid = pid, .start_ns = pid * 10, .function = function, .at_ns = at_ns};
}

static void named(struct made *m, uint32_t pid, uint64_t function, uint64_t at_ns, const char *name)
{
	const struct kernel_of it = of(pid, function, at_ns);

	assert_int_equal(kernels_name(m->k, &it, name, strlen(name), &m->why), 0);
}

/* The name of the row that this launch writes; NULL: none. */
static const char *launched(struct made *m, uint32_t pid, uint64_t function, uint64_t at_ns)
{
	const struct kernel_of it = of(pid, function, at_ns);
	unsigned before = m->w.n;

	assert_int_equal(kernels_launched(m->k, &m->w, &it, &m->why), 0);
	if (m->w.n == before)
		return NULL;
	assert_int_equal(m->w.n, before + 1);
	assert_int_equal(m->w.v[F_kernel_at], at_ns);
	assert_int_equal(m->w.v[F_kernel_pid], pid);
	assert_int_equal(m->w.v[F_kernel_start], pid * 10);
	assert_int_equal(m->w.v[F_kernel_function], function);
	return m->w.name;
}

static void alias(struct made *m, uint64_t function, uint64_t other)
{
	const struct kernel_of it = of(1, function, 5);

	assert_int_equal(kernels_alias(m->k, &m->w, &it, other, &m->why), 0);
}

static void a_name_is_written_at_the_first_launch_and_only_there(void **state)
{
	struct made *m = *state;

	named(m, 1, 0x100, 5, "a");
	assert_int_equal(m->w.n, 0);
	assert_string_equal(launched(m, 1, 0x100, 6), "a");
	assert_int_equal(m->w.v[F_kernel_module], 0);
	assert_null(launched(m, 1, 0x100, 7));
	named(m, 1, 0x100, 8, "a");
	assert_null(launched(m, 1, 0x100, 9));
}

/* kernels_go_on(): how many rows it writes. */
static unsigned goes_on(struct made *m, uint64_t now_ns, bool at_end)
{
	unsigned before = m->w.n;

	assert_int_equal(kernels_go_on(m->k, &m->w, now_ns, at_end, &m->why), 0);
	return m->w.n - before;
}

static void a_stub_that_is_not_known_yet_is_named_when_it_is(void **state)
{
	struct made *m = *state;

	answer_is_late = true;
	assert_null(launched(m, 1, 0x400100, 5));
	assert_null(launched(m, 1, 0x400100, 6));
	assert_int_equal(goes_on(m, 7, false), 0);
	answer_is_late = false;
	assert_int_equal(goes_on(m, 8, false), 1);
	assert_int_equal(m->w.v[F_kernel_at], 5); /* before its launch */
	assert_string_equal(m->w.name, "stub_4001");
	assert_int_equal(m->w.v[F_kernel_module], 7);
	assert_int_equal(goes_on(m, 9, true), 0);
	assert_null(launched(m, 1, 0x400100, 10));
}

static void a_process_that_ended_meanwhile_has_its_names(void **state)
{
	struct made *m = *state;

	named(m, 1, 0x100, 4, "one");
	answer_is_late = true;
	assert_null(launched(m, 1, 0x100, 5));
	kernels_forget(m->k, 1, 6);
	assert_int_equal(goes_on(m, 7, false), 0);
	m->w.begin_ns = 6;                        /* of another epoch */
	assert_int_equal(goes_on(m, 8, true), 1); /* and recording ends before the answer */
	answer_is_late = false;
	assert_int_equal(m->w.v[F_kernel_at], 6);
	assert_string_equal(m->w.name, "one");
	assert_int_equal(m->w.v[F_kernel_module], 0);
}

static void a_late_name_is_not_given_to_what_came_to_its_address(void **state)
{
	struct made *m = *state;

	named(m, 1, 0x100, 4, "one");
	answer_is_late = true;
	assert_null(launched(m, 1, 0x100, 5));
	answer_is_late = false;
	named(m, 1, 0x100, 6, "two");
	assert_string_equal(launched(m, 1, 0x100, 7), "two");
	assert_int_equal(goes_on(m, 8, true), 0);
}

static void more_than_may_wait_are_written_without_their_place(void **state)
{
	struct made *m = *state;

	answer_is_late = true;
	for (uint64_t i = 0; i < KERNELS_LATE_MAX; i++) {
		named(m, 1, 0x100 + i, 4, "one");
		assert_null(launched(m, 1, 0x100 + i, 5));
	}
	named(m, 1, 0x99, 4, "more");
	assert_string_equal(launched(m, 1, 0x99, 5), "more");
	answer_is_late = false;
	m->w.answer = ERR_IO;
	assert_int_equal(kernels_go_on(m->k, &m->w, 6, false, &m->why), ERR_IO);
	m->w.answer = ERR_NONE;
	assert_int_equal(goes_on(m, 7, false), KERNELS_LATE_MAX);
}

static void a_function_means_something_in_its_own_process_only(void **state)
{
	struct made *m = *state;

	named(m, 1, 0x100, 5, "one");
	named(m, 2, 0x100, 5, "two");
	assert_string_equal(launched(m, 2, 0x100, 6), "two");
	assert_string_equal(launched(m, 1, 0x100, 6), "one");
	assert_null(launched(m, 3, 0x100, 6));
}

static void a_stub_that_nobody_reported_of_bears_the_name_of_its_symbol(void **state)
{
	struct made *m = *state;

	assert_string_equal(launched(m, 1, 0x400100, 6), "stub_4001");
	assert_int_equal(m->w.v[F_kernel_module], 7);
	assert_int_equal(m->w.v[F_kernel_offset], 0x100);
	/* in the middle of a function: the place is known, a name is not */
	assert_string_equal(launched(m, 1, 0x400123, 6), "");
	assert_int_equal(m->w.v[F_kernel_offset], 0x123);
	assert_null(launched(m, 99, 0x400100, 6));
	assert_null(launched(m, 1, 0, 6));
}

static void a_reported_name_goes_before_the_symbol(void **state)
{
	struct made *m = *state;

	named(m, 1, 0x400200, 5, "told");
	assert_string_equal(launched(m, 1, 0x400200, 6), "told");
	assert_int_equal(m->w.v[F_kernel_module], 7);
}

static void another_handle_has_the_name_of_what_it_stands_for(void **state)
{
	struct made *m = *state;

	named(m, 1, 0x400200, 5, "told");
	alias(m, 0x51, 0x400200);
	alias(m, 0x52, 0x400300); /* by symbol */
	alias(m, 0x53, 0x51);     /* of a handle */
	alias(m, 0x54, 0x777);    /* of what nobody knows */
	assert_int_equal(m->w.n, 0);
	assert_string_equal(launched(m, 1, 0x51, 6), "told");
	assert_string_equal(launched(m, 1, 0x52, 6), "stub_4003");
	assert_string_equal(launched(m, 1, 0x53, 6), "told");
	assert_null(launched(m, 1, 0x54, 6));
}

static void a_handle_asked_for_in_vain_names_the_stub_at_once(void **state)
{
	struct made *m = *state;

	named(m, 1, 0x400200, 4, "told");
	alias(m, 0, 0x400200);
	assert_int_equal(m->w.n, 1);
	assert_string_equal(m->w.name, "told");
	assert_int_equal(m->w.v[F_kernel_function], 0x400200);
}

static void an_address_that_comes_to_another_function_is_reported_again(void **state)
{
	struct made *m = *state;

	named(m, 1, 0x100, 5, "first");
	assert_string_equal(launched(m, 1, 0x100, 6), "first");
	named(m, 1, 0x100, 7, "second");
	assert_string_equal(launched(m, 1, 0x100, 8), "second");
}

static void what_a_process_was_reported_before_it_ended_or_called_exec_is_forgotten(void **state)
{
	struct made *m = *state;

	named(m, 1, 0x100, 5, "old");
	named(m, 1, 0x200, 9, "new"); /* of the program after exec: the rings are not read in one order */
	named(m, 2, 0x100, 5, "others");
	kernels_forget(m->k, 1, 8);
	assert_null(launched(m, 1, 0x100, 10));
	assert_string_equal(launched(m, 1, 0x200, 10), "new");
	assert_string_equal(launched(m, 2, 0x100, 10), "others");
}

static void numbers_of_processes_that_come_round_do_not_mislead(void **state)
{
	struct made *m = *state;
	struct kernel_of it = of(1, 0x100, 9);

	named(m, 1, 0x100, 5, "old");
	it.start_ns = 11;
	assert_int_equal(kernels_launched(m->k, &m->w, &it, &m->why), 0);
	assert_int_equal(m->w.n, 0);
}

static void a_hundred_thousand_are_kept_found_and_forgotten(void **state)
{
	struct made *m = *state;
	char name[32];

	for (uint32_t i = 1; i <= 100000; i++) {
		(void)snprintf(name, sizeof(name), "kernel_%u", i % 1000);
		named(m, 1 + i % 3, 0x1000 + i * 16, 5, name);
	}
	kernels_forget(m->k, 2, 8);
	for (uint32_t i = 1; i <= 100000; i++) {
		const char *is = launched(m, 1 + i % 3, 0x1000 + i * 16, 9);

		(void)snprintf(name, sizeof(name), "kernel_%u", i % 1000);
		if (1 + i % 3 == 2)
			assert_null(is);
		else
			assert_string_equal(is, name);
	}
}

static void beyond_the_limit_names_are_refused_and_nothing_breaks(void **state)
{
	struct made *m = *state;
	unsigned refused = 0;

	for (uint32_t i = 1; i <= KERNELS_MAX + 100000; i++) {
		const struct kernel_of it = of(1, i, 5);

		refused += kernels_name(m->k, &it, "same", 4, &m->why) == ERR_MEMORY;
	}
	assert_true(refused > 0);
	assert_string_equal(launched(m, 1, 1, 6), "same");
}

static void what_the_writer_refuses_is_reported(void **state)
{
	struct made *m = *state;
	const struct kernel_of it = of(1, 0x100, 6);

	named(m, 1, 0x100, 5, "a");
	m->w.answer = ERR_IO;
	assert_int_equal(kernels_launched(m->k, &m->w, &it, &m->why), ERR_IO);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(a_name_is_written_at_the_first_launch_and_only_there),
		T(a_stub_that_is_not_known_yet_is_named_when_it_is),
		T(a_process_that_ended_meanwhile_has_its_names),
		T(a_late_name_is_not_given_to_what_came_to_its_address),
		T(more_than_may_wait_are_written_without_their_place),
		T(a_function_means_something_in_its_own_process_only),
		T(a_stub_that_nobody_reported_of_bears_the_name_of_its_symbol),
		T(a_reported_name_goes_before_the_symbol),
		T(another_handle_has_the_name_of_what_it_stands_for),
		T(a_handle_asked_for_in_vain_names_the_stub_at_once),
		T(an_address_that_comes_to_another_function_is_reported_again),
		T(what_a_process_was_reported_before_it_ended_or_called_exec_is_forgotten),
		T(numbers_of_processes_that_come_round_do_not_mislead),
		T(a_hundred_thousand_are_kept_found_and_forgotten),
		T(beyond_the_limit_names_are_refused_and_nothing_breaks),
		T(what_the_writer_refuses_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
