/* SPDX-License-Identifier: Apache-2.0 */
/* Names for people: replay/demangle/demangle.h. What is wanted is what c++filt of binutils says, but for blanks between
 * two '>'.
 */
#include "tests/unit/made.h"

#include <pthread.h>
#include <time.h>

#include "replay/demangle/demangle.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

static const char *shown(const char *name)
{
	static char out[DEMANGLED_MAX];

	demangle(name, strlen(name), out, sizeof(out));
	return out;
}

static void assert_stays(const char *name)
{
	char out[2 * DEMANGLED_MAX];

	assert_false(demangle(name, strlen(name), out, sizeof(out)));
	assert_string_equal(out, name);
}

struct pair {
	const char *name, *text;
};

static void assert_pairs(const struct pair *pairs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert_string_equal(shown(pairs[i].name), pairs[i].text);
}

static void kernels_and_functions_are_reported_as_they_were_written(void **state)
{
	static const struct pair pairs[] = {
		{"_Z4axpyPff", "axpy(float*, float)"},
		{"_Z6kernelIfEvPT_i", "void kernel<float>(float*, int)"},
		{"_Z24__device_stub__Z4axpyPffPff", "__device_stub__Z4axpyPff(float*, float)"},
		{"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEENS_"
		 "6detail5ArrayIPcLi1EEEEEviT0_T1_",
		 "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, "
		 "at::detail::Array<char*, 1>>(int, at::native::FillFunctor<float>, at::detail::Array<char*, 1>)"},
		{"_ZN41_GLOBAL__N__9a3c2c3a_4_file_cu_12345678_16kernelEv", "(anonymous namespace)::kernel()"},
		{"_ZNK3Foo3barEv", "Foo::bar() const"},
		{"_ZN3FooC1ERKS_", "Foo::Foo(Foo const&)"},
		{"_ZN3FooD0Ev", "Foo::~Foo()"},
		{"_ZN12_GLOBAL__N_11fEv", "(anonymous namespace)::f()"},
		{"_ZlsRSoRK3Foo", "operator<<(std::ostream&, Foo const&)"},
		{"_ZN3FoocviEv", "Foo::operator int()"},
		{"_ZN1AcvT_I1BEEv", "A::operator B<B>()"},
		{"_ZTV3Foo", "vtable for Foo"},
		{"_ZGVZ1fvE1x", "guard variable for f()::x"},
		{"_ZThn16_N1A1fEv", "non-virtual thunk to A::f()"},
		{"_ZN3FooD1Ev.cold", "Foo::~Foo() [clone .cold]"},
		{"_ZL1fv.isra.0.part.3", "f() [clone .isra.0] [clone .part.3]"},
		{"_ZNSsD1Ev", "std::string::~basic_string()"},
		{"_Z3fooB5cxx11v", "foo[abi:cxx11]()"},
		{"_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()() const"},
	};

	(void)state;
	assert_pairs(pairs, LEN(pairs));
}

static void types_stand_around_the_names_they_belong_to(void **state)
{
	static const struct pair pairs[] = {
		{"_Z1fPFvPFviEE", "f(void (*)(void (*)(int)))"},
		{"_Z1fRA10_i", "f(int (&) [10])"},
		{"_Z1fPA3_A4_Kc", "f(char const (*) [3][4])"},
		{"_Z1fM1AFvvE", "f(void (A::*)())"},
		{"_Z1fM1Ai", "f(int A::*)"},
		{"_Z1fIiEPFvT_Ev", "void (*f<int>())(int)"},
		{"_Z1fIRiEvOT_", "void f<int&>(int&)"},
		{"_Z1fDv4_f", "f(float __vector(4))"},
		{"_Z1fDnDF16_", "f(std::nullptr_t, _Float16)"},
		{"_Z1fPKPVKi", "f(int const volatile* const*)"},
	};

	(void)state;
	assert_pairs(pairs, LEN(pairs));
}

static void packs_and_literals_of_templates_are_reported(void **state)
{
	static const struct pair pairs[] = {
		{"_Z1fIJiPcEEvDpT_", "void f<int, char*>(int, char*)"},
		{"_Z1fIJEEvDpT_", "void f<>()"},
		{"_Z1fIJiPcEEvDpRKT_", "void f<int, char*>(int const&, char* const&)"},
		{"_Z1fILb1ELj5ELln7ELc65EEvv", "void f<true, 5u, -7l, (char)65>()"},
		{"_Z1fILN1a1eE3EEvv", "void f<(a::e)3>()"},
		{"_Z1fIXadL_Z1gvEEEvv", "void f<&(g())>()"},
	};

	(void)state;
	assert_pairs(pairs, LEN(pairs));
}

static void the_distance_in_a_frame_stays_behind_the_name(void **state)
{
	(void)state;
	assert_string_equal(shown("_ZN1a1bEv+0x1b"), "a::b()+0x1b");
	assert_string_equal(shown("_ZL1fv.cold+0x0"), "f() [clone .cold]+0x0");
	assert_stays("main+0x12");
	assert_stays("_ZN1a1b...+0x1b");
}

static void what_is_no_mangled_name_stays_as_it_is(void **state)
{
	static const char *const names[] = {
		"",           "_",    "_Z",     "main",      "_Zfoo",  "_Z1",    "_Z99999999999f",
		"_Z4axpyPfX", "_ZN",  "_ZNE",   "_ZN1aE1bE", "_Z1fS_", "_Z1fT_", "_Z1fSZZZZ_",
		"_ZSv",       "__Zx", "_Z1f\n", "_RNvC1a1b", "_Z0v",
	};

	(void)state;
	for (size_t i = 0; i < LEN(names); i++)
		assert_stays(names[i]);
}

static void a_name_need_not_end_in_nul_and_may_hold_one(void **state)
{
	char out[64];

	(void)state;
	assert_true(demangle("_Z1fvXXXX", 5, out, sizeof(out)));
	assert_string_equal(out, "f()");
	assert_false(demangle("_Z1f\0v", 6, out, sizeof(out)));
	assert_memory_equal(out, "_Z1f\0v", 7);
}

static void what_does_not_fit_is_reported_as_it_came_and_cut(void **state)
{
	static const char name[] = "_Z6kernelIfEvPT_i";
	const char whole[] = "void kernel<float>(float*, int)";

	(void)state;
	for (size_t size = 1; size <= sizeof(whole) + 1; size++) {
		char *out = malloc(size); /* so that sanitizers see a byte too many */

		assert_non_null(out);
		if (demangle(name, strlen(name), out, size)) {
			assert_true(size >= sizeof(whole));
			assert_string_equal(out, whole);
		} else {
			assert_true(size < sizeof(whole));
			assert_int_equal(strlen(out), size - 1 < strlen(name) ? size - 1 : strlen(name));
			assert_memory_equal(out, name, strlen(out));
		}
		free(out);
	}
}

/* "prefix", then `unit` as often as it fits into n bytes, then `end`. */
static char *repeated(const char *prefix, const char *unit, const char *end, size_t n)
{
	char *s = malloc(n + strlen(end) + 1);
	size_t used = strlen(prefix);

	assert_non_null(s);
	strcpy(s, prefix);
	for (; used + strlen(unit) <= n; used += strlen(unit))
		strcpy(s + used, unit);
	strcpy(s + used, end);
	return s;
}

static void hostile_names_end_soon_and_in_bounds(void **state)
{
	static const struct {
		const char *prefix, *unit, *end;
	} names[] = {
		{"_Z1f", "P", "i"},                    /* deep types */
		{"_Z1f", "PF", "v"},                   /* deeper */
		{"_Z", "N1a", "E"},                    /* nested names */
		{"_Z", "Z1fvE", "1x"},                 /* local names */
		{"_Z1fI", "I", "E"},                   /* arguments of arguments */
		{"_Z1fI", "J", "E"},                   /* packs */
		{"_Z1fIX", "ng", "Li1EEEvv"},          /* expressions */
		{"_Z1f1aIiiE", "S_IS0_S0_E", ""},      /* each twice what was before */
		{"_Z1fI1aIiiE", "S1_IS2_S2_E", "Evv"}, /* the same */
		{"_Z1fIJJEJEEEv", "DpT_", ""},         /* expansions of nothing */
		{"_Z1fIiEv", "T_", ""},
		{"_Z1f", "M1ai", ""},
		{"_Z1f", "A_", "i"},
		{"_ZN1Acv", "T_", "I1BEEv"},
		{"_Z", "cv", "T_"},
		{"_Z1f", "U1a", "i"},
		{"_Z1f", "Dp", "i"},
		{"_Z", "TV", "1a"},
		{"_Z", "GTt", "1fv"},
		{"_Z1f", "9", "i"},
	};
	struct timespec begin, end;

	(void)state;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
	for (size_t i = 0; i < LEN(names); i++)
		for (size_t n = 16; n <= 8192; n *= 2) {
			char *name = repeated(names[i].prefix, names[i].unit, names[i].end, n);
			char *out = malloc(65536);

			assert_non_null(out);
			(void)demangle(name, strlen(name), out, 65536);
			assert_true(strlen(out) < 65536);
			free(out);
			free(name);
		}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	assert_true(end.tv_sec - begin.tv_sec < 20);
}

/* The sizes double: 2^k names out of some 10 bytes each. */
static void a_name_that_means_gigabytes_stays_as_it_is(void **state)
{
	char name[1024] = "_Z1f1aIiiE";
	size_t used = strlen(name);

	(void)state;
	/* S0_ is a<int, int>; each further one a<the last, the last>. */
	for (unsigned i = 0; i < 34; i++) {
		char last[16];

		if (i < 10)
			snprintf(last, sizeof(last), "S%u_", i);
		else
			snprintf(last, sizeof(last), "S%c_", (char)('A' + i - 10));
		used += (size_t)snprintf(name + used, sizeof(name) - used, "S_I%s%sE", last, last);
	}
	assert_stays(name);
	/* It is the size that is refused: a few of them are reported. */
	assert_string_equal(shown("_Z1f1aIiiES_IS0_S0_E"), "f(a<int, int>, a<a<int, int>, a<int, int>>)");
}

/* One that is looked through 2^60 times before a letter of it is printed. */
static void a_name_that_takes_aeons_to_print_nothing_stays_as_it_is(void **state)
{
	char name[1024] = "_Z1fDp1aI";
	size_t used = strlen(name);

	(void)state;
	for (int i = 0; i < 30; i++)
		used += (size_t)snprintf(name + used, sizeof(name) - used, "S_I");
	used += (size_t)snprintf(name + used, sizeof(name) - used, "iiE");
	for (unsigned i = 0; i < 29; i++)
		used += (size_t)snprintf(name + used, sizeof(name) - used, "S%c_E",
					 (char)(i < 10 ? '0' + i : 'A' + i - 10));
	(void)snprintf(name + used, sizeof(name) - used, "E");
	assert_stays(name);
}

static void *demangle_deep(void *arg)
{
	char out[DEMANGLED_MAX];
	char *name = repeated("_Z1f", "P", "i", 4000), *local = repeated("_Z", "Z1fvE", "1x", 4000);

	(void)arg;
	(void)demangle(name, strlen(name), out, sizeof(out));
	(void)demangle(local, strlen(local), out, sizeof(out));
	free(name);
	free(local);
	return NULL;
}

static void little_stack_is_enough(void **state)
{
#ifdef __SANITIZE_ADDRESS__
	const size_t bytes = 4u << 20;
#else
	const size_t bytes = 448u << 10;
#endif
	pthread_attr_t attr;
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_attr_init(&attr), 0);
	assert_int_equal(pthread_attr_setstacksize(&attr, bytes), 0);
	assert_int_equal(pthread_create(&thread, &attr, demangle_deep, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	pthread_attr_destroy(&attr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels_and_functions_are_reported_as_they_were_written),
		cmocka_unit_test(types_stand_around_the_names_they_belong_to),
		cmocka_unit_test(packs_and_literals_of_templates_are_reported),
		cmocka_unit_test(the_distance_in_a_frame_stays_behind_the_name),
		cmocka_unit_test(what_is_no_mangled_name_stays_as_it_is),
		cmocka_unit_test(a_name_need_not_end_in_nul_and_may_hold_one),
		cmocka_unit_test(what_does_not_fit_is_reported_as_it_came_and_cut),
		cmocka_unit_test(hostile_names_end_soon_and_in_bounds),
		cmocka_unit_test(a_name_that_means_gigabytes_stays_as_it_is),
		cmocka_unit_test(a_name_that_takes_aeons_to_print_nothing_stays_as_it_is),
		cmocka_unit_test(little_stack_is_enough),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
