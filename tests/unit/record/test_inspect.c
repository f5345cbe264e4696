/* SPDX-License-Identifier: Apache-2.0 */
/* Asking a process of its own about files and processes: record/inspect/inspector.h. */
#include "tests/unit/made.h"

#include <dirent.h>
#include <dlfcn.h>
#include <signal.h>

#include "record/inspect/inspector_internal.h"

static struct procfs fs;
static struct inspector *here, *there; /* one works in this process, one has a helper */

static int begin(void **state)
{
	(void)state;
	return procfs_open(&fs, PROCFS_ROOT, NULL) || inspector_new(&here, &fs, NULL, NULL) ||
	       inspector_new(&there, &fs, NULL, NULL) || inspector_start(there, NULL);
}

static int end(void **state)
{
	(void)state;
	inspector_free(here);
	inspector_free(there);
	procfs_close(&fs);
	return made_clear(state);
}

/* A worker: the child of the keeper. */
static pid_t worker(void)
{
	char path[64], text[64] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", there->helper.keeper, there->helper.keeper);
	for (int i = 0; i < 1000 && !text[0]; i++) {
		f = fopen(path, "r");
		assert_non_null(f);
		if (!fgets(text, sizeof(text), f))
			usleep(1000); /* speed: once more, until it is so */
		fclose(f);
	}
	return atoi(text);
}

static void mapping_of(void *address, struct mapping *m)
{
	inspector_wait_until(there, INSPECT_ALWAYS);
	assert_int_equal(inspector_mapping(there, (uint32_t)getpid(), (uint64_t)(uintptr_t)address, m, NULL),
			 INSPECT_DONE);
}

static void the_helper_answers_what_this_process_would(void **state)
{
	static struct mapping a, b;
	static struct inspect_file f, g;
	struct inspect_list list, other;
	void *lib =
		dlopen(made_library("asked.so", "int asked(void) { return 1; }\n", "-Wl,--build-id=0x1234"), RTLD_NOW);
	void *at = dlsym(lib, "asked");
	char name[2][64];
	uint64_t plus[2];

	(void)state;
	assert_non_null(at);
	mapping_of(at, &b);
	assert_int_equal(inspector_mapping(here, (uint32_t)getpid(), (uint64_t)(uintptr_t)at, &a, NULL), INSPECT_DONE);
	assert_memory_equal(&a, &b, sizeof(a));
	assert_int_equal(inspector_open(here, (uint32_t)getpid(), &a, &f, NULL), INSPECT_DONE);
	assert_int_equal(inspector_open(there, (uint32_t)getpid(), &a, &g, NULL), INSPECT_DONE);
	assert_memory_equal(&f, &g, sizeof(f));
	assert_string_equal(f.build_id, "1234");
	for (int i = 0; i < 2; i++)
		assert_int_equal(inspector_symbol(i ? there : here, (uint32_t)getpid(), &a, &f.stamp, 1,
						  (uint64_t)(uintptr_t)at - a.start + a.offset + 1, name[i],
						  sizeof(name[i]), &plus[i], NULL),
				 INSPECT_DONE);
	assert_string_equal(name[0], "asked");
	assert_string_equal(name[1], "asked");
	assert_true(plus[0] == 1 && plus[1] == 1);
	assert_int_equal(inspector_code(here, (uint32_t)getpid(), &list, NULL), INSPECT_DONE);
	assert_int_equal(inspector_code(there, (uint32_t)getpid(), &other, NULL), INSPECT_DONE);
	assert_int_equal(list.left, other.left);
	while (inspect_list_next(&list, &a)) {
		assert_true(inspect_list_next(&other, &b));
		assert_memory_equal(&a, &b, sizeof(a));
	}
	inspect_list_free(&list);
	inspect_list_free(&other);
	dlclose(lib);
}

static void what_is_gone_is_gone(void **state)
{
	static struct mapping m;

	(void)state;
	assert_int_equal(inspector_mapping(there, (uint32_t)getpid(), 4096, &m, NULL), INSPECT_GONE);
	assert_int_equal(inspector_mapping(there, UINT32_MAX, 4096, &m, NULL), INSPECT_GONE);
}

/* As one that hangs. The question is refused afterwards, every other one is answered by another worker. */
static void a_helper_that_does_not_answer_is_replaced(void **state)
{
	static struct mapping m;
	static struct inspect_file f;
	struct fault why;
	pid_t first = worker();

	(void)state;
	mapping_of((void *)(uintptr_t)begin, &m);
	assert_int_equal(kill(first, SIGSTOP), 0);
	inspector_wait_until(there, 0);
	assert_int_equal(inspector_open(there, (uint32_t)getpid(), &m, &f, &why), INSPECT_LATER);
	inspector_wait_until(there, INSPECT_ALWAYS);
	assert_int_equal(inspector_open(there, (uint32_t)getpid(), &m, &f, &why), ERR_IO);
	assert_non_null(strstr(why.text, "did not answer"));
	assert_int_equal(inspector_given_up(there), 1);
	assert_int_equal(inspector_open(there, (uint32_t)getpid(), &m, &f, &why), ERR_IO);
	mapping_of((void *)(uintptr_t)begin, &m);
	/* It is killed, which takes the kernel a moment. */
	for (int i = 0; i < 60000 && worker() == first; i++)
		usleep(1000); /* speed: once more, until it is so */
	assert_true(worker() != first);
}

static void an_answer_that_is_cut_anywhere_is_refused(void **state)
{
	static struct mapping m;
	struct inspect_list list, cut;
	size_t whole;

	(void)state;
	assert_int_equal(inspector_code(here, (uint32_t)getpid(), &list, NULL), INSPECT_DONE);
	whole = list.answer.len;
	for (size_t n = list.at; n < whole; n++) {
		uint32_t emitted = 0;

		cut = list;
		cut.answer.len = n;
		while (inspect_list_next(&cut, &m))
			emitted++;
		assert_true(emitted < list.left);
	}
	inspect_list_free(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_helper_answers_what_this_process_would),
		cmocka_unit_test(what_is_gone_is_gone),
		cmocka_unit_test(an_answer_that_is_cut_anywhere_is_refused),
		cmocka_unit_test(a_helper_that_does_not_answer_is_replaced),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
