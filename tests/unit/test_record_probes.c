/* SPDX-License-Identifier: Apache-2.0 */
/* The probe table, and what it makes of a call's argument words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "record/probes.h"

static const struct probe_spec *by_name(const char *name)
{
	for (size_t i = 0; i < nprobes; i++)
		if (!strcmp(probe_table[i].name, name))
			return &probe_table[i];
	fail_msg("there is no probe %s", name);
	return NULL;
}

static void ids_ascend_and_names_are_unique(void **state)
{
	(void)state;
	for (size_t i = 1; i < nprobes; i++) {
		assert_true(probe_table[i].id > probe_table[i - 1].id);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(probe_table[i].name, probe_table[k].name);
	}
	assert_true(probe_table[nprobes - 1].id < PROBES_LIMIT);
}

static void every_probe_is_found_by_its_id_and_no_other(void **state)
{
	size_t found = 0;

	(void)state;
	for (uint32_t id = 0; id < PROBES_LIMIT; id++) {
		const struct probe_spec *spec = probe_find(id);

		found += spec != NULL;
		if (spec)
			assert_int_equal(spec->id, id);
	}
	assert_int_equal(found, nprobes);
}

static void the_table_is_accepted_as_a_schema(void **state)
{
	struct probe probes[PROBES_LIMIT];
	struct schema schema;

	(void)state;
	probe_describe(probes);
	assert_int_equal(schema_build(&schema, probes, nprobes, NULL), 0);
	schema_clear(&schema);
}

/* How many fields of its own each kind of call has. */
static size_t own_fields(uint16_t kind)
{
	static const struct {
		uint16_t kind;
		size_t n;
	} sizes[] = {
		{KIND_launch, NFIELDS_launch - NFIELDS_call}, {KIND_alloc, NFIELDS_alloc - NFIELDS_call},
		{KIND_free, NFIELDS_free - NFIELDS_call},     {KIND_copy, NFIELDS_copy - NFIELDS_call},
		{KIND_set, NFIELDS_set - NFIELDS_call},       {KIND_wait, NFIELDS_wait - NFIELDS_call},
	};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (sizes[i].kind == kind)
			return sizes[i].n;
	fail_msg("kind %u is no call", kind);
	return 0;
}

/* A word is there when it is an argument, or when a peek put it there. */
static bool word_is_there(const struct call_plan *plan, unsigned word)
{
	for (int i = 0; i < PEEKS; i++)
		if (plan->peek[i].n && word >= plan->peek[i].slot &&
		    word < (unsigned)plan->peek[i].slot + plan->peek[i].n)
			return true;
	return word < plan->words;
}

static void every_value_is_of_a_field_and_from_a_word_that_is_there(void **state)
{
	(void)state;
	for (size_t i = 0; i < nprobes; i++) {
		const struct probe_spec *spec = &probe_table[i];

		if (spec->id < PROBE_HOST_END)
			continue;
		for (size_t f = 0; f < VALUES_MAX; f++) {
			if (f >= own_fields(spec->kind))
				assert_int_equal(spec->value[f], 0);
			if (spec->value[f] & 0x80000000u)
				continue;
			for (uint32_t v = spec->value[f]; v; v >>= 8) {
				assert_true((v & 0xf0) == 0x80 || (v & 0xf0) == 0x90 || (v & 0xf0) == 0xa0);
				assert_true((v & 15) < CALL_WORDS);
				if (!word_is_there(&spec->plan, v & 15))
					fail_msg("%s takes word %u, which is not read", spec->name, v & 15);
			}
		}
	}
}

static void no_peek_leaves_the_words_and_every_allocation_takes_its_stack(void **state)
{
	(void)state;
	for (size_t i = 0; i < nprobes; i++) {
		const struct call_plan *plan = &probe_table[i].plan;

		assert_true(plan->words <= CALL_WORDS);
		for (int k = 0; k < PEEKS; k++) {
			assert_true(plan->peek[k].n <= PEEK_WORDS_MAX);
			assert_true(plan->peek[k].slot + plan->peek[k].n <= CALL_WORDS);
			assert_true(plan->peek[k].arg < CALL_WORDS);
		}
		if (probe_table[i].kind == KIND_alloc)
			assert_int_equal(plan->stack, 1);
	}
}

static void a_launch_is_taken_apart(void **state)
{
	/* func, grid {2,3,4}, block {5,6,7}, args, 8 bytes shared, stream */
	const __u64 word[CALL_WORDS] = {0x1000, 2 | 3ull << 32, 4, 5 | 6ull << 32, 7, 0x2000, 8, 0x3000};
	static const uint64_t want[] = {0x1000, 0x3000, 2, 3, 4, 5, 6, 7, 8};
	const struct probe_spec *spec = by_name("__cudaLaunchKernel");

	(void)state;
	assert_int_equal(spec->kind, KIND_launch);
	for (size_t i = 0; i < 9; i++)
		assert_int_equal(probe_value(spec->value[i], word), want[i]);
}

/* The upper half of a register that holds an int or the last part of a dim3 is anybody's. */
static void garbage_above_small_arguments_is_left_out(void **state)
{
	const __u64 launch[CALL_WORDS] = {0, 0, 4 | 0xdeadull << 32, 0, 7 | 0xdeadull << 32};
	const __u64 copy[CALL_WORDS] = {1, 2, 3, 1 | 0xdeadull << 32};

	(void)state;
	assert_int_equal(probe_value(by_name("cudaLaunchKernel")->value[4], launch), 4);
	assert_int_equal(probe_value(by_name("cudaLaunchKernel")->value[7], launch), 7);
	assert_int_equal(probe_value(by_name("cudaMemcpy")->value[3], copy), 1);
}

static void bytes_of_two_dimensions_are_their_product(void **state)
{
	const __u64 word[CALL_WORDS] = {0x10, 512, 0x20, 512, 100, 7, 2, 0x99};
	const struct probe_spec *spec = by_name("cudaMemcpy2DAsync");

	(void)state;
	assert_int_equal(probe_value(spec->value[0], word), 0x10);
	assert_int_equal(probe_value(spec->value[1], word), 0x20);
	assert_int_equal(probe_value(spec->value[2], word), 700);
	assert_int_equal(probe_value(spec->value[3], word), 2);
	assert_int_equal(probe_value(spec->value[4], word), 0x99);
}

static void constants_and_nothing_are_values_too(void **state)
{
	const __u64 word[CALL_WORDS] = {1, 2, 3};

	(void)state;
	assert_int_equal(probe_value(by_name("cudaFree")->value[2], word), MEM_DEVICE);
	assert_int_equal(probe_value(by_name("cudaMallocHost")->value[3], word), MEM_PINNED);
	assert_int_equal(probe_value(by_name("cudaDeviceSynchronize")->value[0], word), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_ascend_and_names_are_unique),
		cmocka_unit_test(every_probe_is_found_by_its_id_and_no_other),
		cmocka_unit_test(the_table_is_accepted_as_a_schema),
		cmocka_unit_test(every_value_is_of_a_field_and_from_a_word_that_is_there),
		cmocka_unit_test(no_peek_leaves_the_words_and_every_allocation_takes_its_stack),
		cmocka_unit_test(a_launch_is_taken_apart),
		cmocka_unit_test(garbage_above_small_arguments_is_left_out),
		cmocka_unit_test(bytes_of_two_dimensions_are_their_product),
		cmocka_unit_test(constants_and_nothing_are_values_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
