/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probe table and the list of what is left out, held against the libraries of a CUDA toolkit, where one is
 * installed (CUDA_HOME, /usr/local/cuda) and nm is: what they export is probed or left out for a reason.
 */
#include <fnmatch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/probe/probes.h"

static const struct {
	const char *pattern, *reason;
} left_out[] = {
#define LEFT_OUT(pattern, reason) {pattern, reason},
#include "record/probe/probes_left_out.h"
#undef LEFT_OUT
};
#define NLEFT_OUT (sizeof(left_out) / sizeof(left_out[0]))

static unsigned used[NLEFT_OUT];

static const struct probe_spec *probed(const char *name)
{
	for (size_t i = 0; i < nprobes; i++)
		if (probe_table[i].id >= PROBE_HOST_END && !strcmp(probe_table[i].name, name))
			return &probe_table[i];
	return NULL;
}

static bool is_left_out(const char *name)
{
	bool found = false;

	for (size_t i = 0; i < NLEFT_OUT; i++)
		if (!fnmatch(left_out[i].pattern, name, 0)) {
			used[i]++;
			found = true;
		}
	return found;
}

/* The functions that the file exports, as nm lists them: how many; the unaccounted ones are printed. */
static unsigned look_through(const char *path, const char *prefix, uint16_t library, unsigned *nprobed, unsigned *bad)
{
	char command[1200], line[1024], type, name[512];
	unsigned n = 0;
	FILE *nm;

	(void)snprintf(command, sizeof(command), "nm -D --defined-only '%s' 2>/dev/null", path);
	nm = popen(command, "r");
	assert_non_null(nm);
	while (fgets(line, sizeof(line), nm)) {
		const struct probe_spec *spec;

		if (sscanf(line, "%*x %c %511[^@ \n]", &type, name) != 2 || !strchr("TWi", type))
			continue;
		if (fnmatch(prefix, name, 0))
			continue;
		n++;
		spec = probed(name);
		*nprobed += spec != NULL;
		if (spec && spec->library == library)
			continue;
		if (!spec && is_left_out(name))
			continue;
		print_message("%s: %s is neither probed nor left out for a reason\n", path, name);
		(*bad)++;
	}
	pclose(nm);
	return n;
}

static const char *toolkit(void)
{
	const char *home = getenv("CUDA_HOME");

	return home ? home : "/usr/local/cuda";
}

static void check_library(const char *file, const char *prefix, uint16_t library, unsigned least_probed)
{
	unsigned n, nprobed = 0, bad = 0;
	char path[1024];

	(void)snprintf(path, sizeof(path), "%s/%s", toolkit(), file);
	if (access(path, R_OK) < 0 || system("command -v nm >/dev/null") != 0)
		skip();
	n = look_through(path, prefix, library, &nprobed, &bad);
	print_message("%s: %u functions, %u of them probed\n", path, n, nprobed);
	assert_int_equal(bad, 0);
	assert_true(n > nprobed && nprobed >= least_probed);
}

static void all_that_the_runtime_exports_is_probed_or_left_out_for_a_reason(void **state)
{
	(void)state;
	check_library("lib64/libcudart.so", "*cuda*", LIBRARY_RUNTIME, 130);
}

static void all_that_the_driver_exports_is_probed_or_left_out_for_a_reason(void **state)
{
	(void)state;
	check_library("lib64/stubs/libcuda.so", "cu*", LIBRARY_DRIVER, 240);
}

static void all_that_nccl_exports_is_probed_or_left_out_for_a_reason(void **state)
{
	(void)state;
	check_library("lib64/libnccl.so", "*nccl*", LIBRARY_NCCL, 20);
}

/* A new variant of a probed function would slip through a pattern that is too wide. */
static void no_variant_of_a_probed_function_is_left_out_by_a_pattern(void **state)
{
	static const char *const endings[] = {"", "_v2", "_v3", "_v4", "_ptsz", "_ptds", "_v2_ptsz", "_v2_ptds"};
	unsigned bad = 0;

	(void)state;
	for (size_t i = 0; i < nprobes; i++) {
		if (strstr(probe_table[i].name, "Get")) /* probed by way of exception: they report names */
			continue;
		for (size_t e = 0; e < sizeof(endings) / sizeof(endings[0]); e++) {
			char name[128];

			(void)snprintf(name, sizeof(name), "%s%s", probe_table[i].name, endings[e]);
			if (probe_table[i].id >= PROBE_HOST_END && is_left_out(name)) {
				print_message("%s would be left out\n", name);
				bad++;
			}
		}
	}
	assert_int_equal(bad, 0);
}

static void every_reason_is_a_sentence(void **state)
{
	(void)state;
	for (size_t i = 0; i < NLEFT_OUT; i++)
		assert_true(strlen(left_out[i].reason) > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_that_the_runtime_exports_is_probed_or_left_out_for_a_reason),
		cmocka_unit_test(all_that_the_driver_exports_is_probed_or_left_out_for_a_reason),
		cmocka_unit_test(all_that_nccl_exports_is_probed_or_left_out_for_a_reason),
		cmocka_unit_test(no_variant_of_a_probed_function_is_left_out_by_a_pattern),
		cmocka_unit_test(every_reason_is_a_sentence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
