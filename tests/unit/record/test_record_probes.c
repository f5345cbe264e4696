/* SPDX-License-Identifier: Apache-2.0 */
/* The probe table, and what it makes of a call's argument words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "record/probe/probes.h"

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
		assert_true(strlen(probe_table[i].name) <= NAME_MAX_BYTES);
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

/* How many fields of its own each kind of call has, `stack` not counted. */
static size_t own_fields(uint16_t kind)
{
	assert_true(kind >= KIND_launch && kind <= KIND_load);
	return probe_stack_field(kind) - NFIELDS_call;
}

static void the_stack_is_the_last_field_of_every_kind_of_calls(void **state)
{
	struct schema schema;

	(void)state;
	assert_int_equal(schema_build(&schema, NULL, 0, NULL), 0);
	for (int id = KIND_launch; id <= KIND_load; id++) {
		uint16_t kind = (uint16_t)id;
		const struct kind *k = schema_kind(&schema, kind);

		assert_non_null(k);
		assert_string_equal(k->fields[probe_stack_field(kind)].name, "stack");
		assert_int_equal(probe_stack_field(kind) + 1, k->nfields);
	}
	assert_int_equal(probe_stack_field(KIND_switch), 0);
	schema_clear(&schema);
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

/* The words from which factor `v` is made, as a mask. */
static uint32_t words_of(uint32_t v)
{
	switch (v & 0xf0) {
	case FACTOR(0):
		return 0;
	case PICK(0):
		return 0xfu << (v & 15);
	case DIRECTION(0):
		return 0x11u << (v & 15);
	default:
		return 1u << (v & 15);
	}
}

static void every_value_is_of_a_field_and_from_a_word_that_is_there(void **state)
{
	(void)state;
	for (size_t i = 0; i < nprobes; i++) {
		const struct probe_spec *spec = &probe_table[i];
		const struct call_plan plan = probe_plan(spec);

		if (spec->id < PROBE_HOST_END)
			continue;
		assert_true(plan.used <= CALL_WORDS);
		for (size_t f = 0; f < VALUES_MAX; f++) {
			if (f >= own_fields(spec->kind))
				assert_int_equal(spec->value[f], 0);
			if (spec->value[f] & 0x80000000u)
				continue;
			for (uint32_t v = spec->value[f]; v; v >>= 8)
				for (unsigned word = 0; word < 20; word++) {
					if (!(words_of(v) >> word & 1))
						continue;
					if (!word_is_there(&plan, word) || word >= plan.used)
						fail_msg("%s takes word %u, which is not read", spec->name, word);
				}
		}
	}
}

static void no_peek_leaves_the_words_and_every_allocation_takes_its_stack(void **state)
{
	(void)state;
	for (size_t i = 0; i < nprobes; i++) {
		const struct call_plan plan = probe_plan(&probe_table[i]);

		assert_true(plan.words <= CALL_WORDS);
		for (int k = 0; k < PEEKS; k++) {
			assert_true(plan.peek[k].n <= PEEK_WORDS_MAX);
			assert_true(plan.peek[k].slot + plan.peek[k].n <= CALL_WORDS);
			assert_true(plan.peek[k].arg < CALL_WORDS);
		}
		if (probe_table[i].kind == KIND_alloc)
			assert_true(plan.stack);
		if (plan.name)
			assert_true(word_is_there(&plan, plan.name_of) && word_is_there(&plan, plan.name_at));
	}
}

static bool takes_stack(const char *name)
{
	for (size_t i = 0; i < nprobes; i++)
		if (!strcmp(probe_table[i].name, name))
			return probe_plan(&probe_table[i]).stack;
	fail_msg("there is no probe %s", name);
	return false;
}

static void who_makes_an_object_is_recorded(void **state)
{
	static const char *const makers[] = {"cudaStreamCreateWithFlags", "cudaEventCreate", "cudaStreamEndCapture",
					     "cudaGraphInstantiate",      "cuCtxCreate_v2",  "cuModuleLoadData"};
	static const char *const others[] = {"cudaStreamDestroy", "cudaEventRecord",     "cudaStreamQuery",
					     "cudaGraphUpload",   "cuModuleGetFunction", "cudaLaunchKernel"};

	(void)state;
	for (size_t i = 0; i < sizeof(makers) / sizeof(makers[0]); i++)
		assert_true(takes_stack(makers[i]));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(takes_stack(others[i]));
}

static void every_function_is_of_the_library_that_its_name_says(void **state)
{
	(void)state;
	for (size_t i = 0; i < nprobes; i++) {
		const char *name = probe_table[i].name;
		uint16_t want = !strncmp(name, "cuda", 4) || !strncmp(name, "__cuda", 6) ? LIBRARY_RUNTIME
				: !strncmp(name, "nccl", 4)                              ? LIBRARY_NCCL
											 : LIBRARY_DRIVER;

		assert_int_equal(probe_table[i].library, probe_table[i].id < PROBE_HOST_END ? 0 : want);
	}
}

/* Words of arguments, and the values of the kind's own fields that are made of them, in the order of format/kinds.h. */
#define ANYBODYS (0xdeadull << 32) /* the upper half of a register that holds an int or the last part of a dim3 */
static const struct {
	const char *name;
	__u64 word[CALL_WORDS];
	uint64_t want[VALUES_MAX];
} values[] = {
	/* func, grid {2,3,4}, block {5,6,7}, args, 8 bytes shared, stream */
	{"__cudaLaunchKernel",
	 {0x1000, 2 | 3ull << 32, 4 | ANYBODYS, 5 | 6ull << 32, 7 | ANYBODYS, 0x2000, 8, 0x3000},
	 {0x1000, 0x3000, 2, 3, 4, 5, 6, 7, 8}},
	/* function, grid, block, shared, stream */
	{"cuLaunchKernel",
	 {0x1000, 2 | ANYBODYS, 3, 4, 5, 6, 7 | ANYBODYS, 8, 0x3000},
	 {0x1000, 0x3000, 2, 3, 4, 5, 6, 7, 8}},
	{"cudaMemcpy", {1, 2, 3, 1 | ANYBODYS}, {1, 2, 3, 1}},
	{"cudaMemcpy2DAsync", {0x10, 512, 0x20, 512, 100, 7, 2, 0x99}, {0x10, 0x20, 700, 2, 0x99}},
	/* Fills: bytes, and a value as wide as they are. */
	{"cuMemsetD8_v2", {0x10, 0xdeadbeefcafef00d, 100}, {0x10, 100, 0x0d}},
	{"cuMemsetD16Async", {0x10, 0xdeadbeefcafef00d, 100, 7}, {0x10, 200, 0xf00d, 7}},
	{"cuMemsetD32_v2_ptds", {0x10, 0xdeadbeefcafef00d, 100}, {0x10, 400, 0xcafef00d}},
	/* send, receive, count, type, operation, root, communicator, stream: peers count from one */
	{"ncclReduce", {0x10, 0x20, 100, 7, 1, 0, 0x60, 0x70}, {0x60, 0x70, 0x10, 0x20, 100, 7, 400, 1, 1}},
	{"ncclReduce", {0x10, 0x20, 100, 9, 1, 0, 0x60, 0x70}, {0x60, 0x70, 0x10, 0x20, 100, 9, 200, 1, 1}},
	/* a type that came later */
	{"ncclReduce", {0x10, 0x20, 100, 1000, 1, 0, 0x60, 0x70}, {0x60, 0x70, 0x10, 0x20, 100, 1000, 0, 1, 1}},
	{"cudaFree", {0x10}, {0x10, 0, MEM_DEVICE}},
	{"cudaMallocHost", {0x10, 100}, {100, 0, 0, MEM_PINNED}},
	{"cudaDeviceSynchronize", {1, 2, 3}, {0}},
	{"cudaSetDevice", {3, 9}, {0, 4}},
};

static void values_are_made_of_arguments(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		for (size_t f = 0; f < VALUES_MAX; f++) {
			uint64_t got = probe_value(by_name(values[i].name)->value[f], values[i].word);

			if (got != values[i].want[f])
				fail_msg("value %zu of %s is %#llx", f, values[i].name, (unsigned long long)got);
		}
}

/* Words 2 to 5 are of the source, 6 to 9 of the target: type, host, device, array. */
static void a_described_copy_reports_the_addresses_of_its_memory_types(void **state)
{
	static const struct {
		unsigned from, to;
		uint64_t src, dst, direction;
	} cases[] = {
		{1, 2, 0x13, 0x24, 1}, /* host to device */
		{2, 1, 0x14, 0x23, 2}, {2, 2, 0x14, 0x24, 3},
		{1, 1, 0x13, 0x23, 0}, {1, 3, 0x13, 0x25, 1}, /* to an array */
		{3, 1, 0x15, 0x23, 2}, {4, 2, 0x14, 0x24, 4}, /* unified */
	};
	const struct probe_spec *two = by_name("cuMemcpy2DAsync_v2_ptsz"), *three = by_name("cuMemcpy3D_v2");

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const __u64 word[CALL_WORDS] = {
			0x1, 0x77, cases[i].from | 5ull << 32, 0x13, 0x14, 0x15, cases[i].to, 0x23, 0x24, 0x25, 10,
			20,  30};

		assert_int_equal(probe_value(two->value[0], word), cases[i].dst);
		assert_int_equal(probe_value(two->value[1], word), cases[i].src);
		assert_int_equal(probe_value(two->value[2], word), 200);
		assert_int_equal(probe_value(two->value[3], word), cases[i].direction);
		assert_int_equal(probe_value(two->value[4], word), 0x77);
		assert_int_equal(probe_value(three->value[2], word), 6000);
		assert_int_equal(probe_value(three->value[4], word), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_ascend_and_names_are_unique),
		cmocka_unit_test(every_probe_is_found_by_its_id_and_no_other),
		cmocka_unit_test(the_table_is_accepted_as_a_schema),
		cmocka_unit_test(every_value_is_of_a_field_and_from_a_word_that_is_there),
		cmocka_unit_test(no_peek_leaves_the_words_and_every_allocation_takes_its_stack),
		cmocka_unit_test(who_makes_an_object_is_recorded),
		cmocka_unit_test(the_stack_is_the_last_field_of_every_kind_of_calls),
		cmocka_unit_test(every_function_is_of_the_library_that_its_name_says),
		cmocka_unit_test(a_described_copy_reports_the_addresses_of_its_memory_types),
		cmocka_unit_test(values_are_made_of_arguments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
