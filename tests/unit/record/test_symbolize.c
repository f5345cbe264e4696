/* SPDX-License-Identifier: Apache-2.0 */
/* From addresses to modules and names: record/symbols/symbolize.h. */
#define MADE_FAILING_MALLOC
#include "tests/unit/made.h"

#include <dirent.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "record/symbols/symbolize.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))
#define SOURCE "int first(int a) { return a * 3 + 1; }\nint second(int a) { return first(a) + 7; }\n"

static struct procfs fs;
static uint64_t self_start;
static struct place place; /* large */

/* Works in this process. */
static struct inspector *inspector;

static int open_all(void **state)
{
	struct process_info info;

	(void)state;
	if (procfs_open(&fs, PROCFS_ROOT, NULL) != 0 || procfs_process(&fs, (uint32_t)getpid(), &info, NULL) != 1)
		return -1;
	self_start = info.start_ns;
	return 0;
}

static int close_all(void **state)
{
	inspector_free(inspector);
	procfs_close(&fs);
	return made_clear(state);
}

static struct symbolizer *new_symbolizer(void)
{
	struct symbolizer *s = NULL;

	inspector_free(inspector);
	assert_int_equal(inspector_new(&inspector, &fs, NULL, NULL), 0);
	assert_int_equal(symbolizer_new(&s, &fs, inspector, NULL), 0);
	return s;
}

static uint32_t module_of(struct symbolizer *s, int fd, const struct mapping *m)
{
	static struct inspect_file file;
	uint32_t id = 99;

	inspector_give_file(inspector, fd);
	assert_int_equal(inspector_open(inspector, 0, m, &file, NULL), INSPECT_DONE);
	inspector_give_file(inspector, -1);
	assert_int_equal(symbolizer_module(s, &file, m, &id, NULL), 0);
	return id;
}

static void place_in(struct symbolizer *s, uint32_t pid, uint64_t start_ns, uint64_t address, uint64_t now_ns)
{
	memset(&place, 0xee, sizeof(place));
	assert_int_equal(symbolizer_place(s, pid, start_ns, address, false, now_ns, &place, NULL), 0);
}

static void place_own(struct symbolizer *s, uint64_t address, uint64_t now_ns)
{
	place_in(s, (uint32_t)getpid(), self_start, address, now_ns);
}

static void *load(const char *path)
{
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!lib)
		fail_msg("%s", dlerror());
	return lib;
}

static uint64_t address_of(void *lib, const char *name)
{
	void *p = dlsym(lib, name);

	assert_non_null(p);
	return (uint64_t)(uintptr_t)p;
}

static void *load_made(const char *name, const char *build_id)
{
	char options[128];

	snprintf(options, sizeof(options), "-Wl,-Bsymbolic -Wl,--build-id=0x%s", build_id);
	return load(made_library(name, SOURCE, options));
}

static void an_address_gets_module_offset_and_name(void **state)
{
	static const char *const names[] = {"second"};
	struct symbolizer *s = new_symbolizer();
	void *lib = load_made("one.so", "aabb01");
	uint64_t second = address_of(lib, "second");
	const struct module *m;
	struct image_match *match;
	struct image *img;
	struct stat st;
	size_t n;
	int fd = open(made_path("one.so"), O_RDONLY);

	(void)state;
	place_own(s, second + 3, 1);
	assert_int_equal(place.module, 1);
	assert_string_equal(place.symbol, "second+0x3");
	assert_int_equal(image_open(&img, fd, NULL), 0);
	assert_int_equal(image_find(img, names, 1, &match, &n, NULL), 0);
	assert_int_equal(place.offset, match[0].offset + 3);

	m = symbolizer_module_at(s, 1);
	assert_int_equal(symbolizer_nmodules(s), 1);
	assert_string_equal(m->build_id, "aabb01");
	assert_string_equal(m->path, made_path("one.so"));
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(m->inode, st.st_ino);
	assert_null(symbolizer_module_at(s, 0));
	assert_null(symbolizer_module_at(s, 2));
	assert_int_equal(symbolizer_counts(s)->placed, 1);
	assert_int_equal(symbolizer_counts(s)->named, 1);

	/* The address behind the last byte, as what a call at the very end returns to, is still of that function. */
	assert_int_equal(
		symbolizer_place(s, (uint32_t)getpid(), self_start, second + match[0].bytes, true, 1, &place, NULL), 0);
	assert_int_equal(place.offset, match[0].offset + match[0].bytes);
	assert_int_equal(strncmp(place.symbol, "second+0x", 9), 0);
	assert_int_equal(strtoull(place.symbol + 9, NULL, 16), match[0].bytes);
	free(match);
	image_close(img);
	close(fd);
	dlclose(lib);
	symbolizer_free(s);
}

static void modules_are_numbered_in_order_of_first_use(void **state)
{
	struct symbolizer *s = new_symbolizer();
	void *one = load_made("n1.so", "01"), *two = load_made("n2.so", "02");

	(void)state;
	place_own(s, address_of(two, "first"), 1);
	assert_int_equal(place.module, 1);
	place_own(s, address_of(one, "first"), 1);
	assert_int_equal(place.module, 2);
	place_own(s, address_of(two, "second"), 1);
	assert_int_equal(place.module, 1);
	assert_int_equal(symbolizer_nmodules(s), 2);
	assert_string_equal(symbolizer_module_at(s, 1)->build_id, "02");
	dlclose(one);
	dlclose(two);
	symbolizer_free(s);
}

static void memory_that_is_no_file_has_neither_module_nor_name(void **state)
{
	struct symbolizer *s = new_symbolizer();
	uint64_t vdso = getauxval(AT_SYSINFO_EHDR);
	void *jit = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t addresses[] = {(uint64_t)(uintptr_t)jit, vdso ? vdso + 64 : (uint64_t)(uintptr_t)jit,
				(uint64_t)(uintptr_t)&s, 0, UINT64_MAX};

	(void)state;
	assert_ptr_not_equal(jit, MAP_FAILED);
	for (size_t i = 0; i < LEN(addresses); i++) {
		place_own(s, addresses[i], 1);
		assert_int_equal(place.module, 0);
		assert_int_equal(place.offset, 0);
		assert_string_equal(place.symbol, "");
	}
	assert_int_equal(symbolizer_counts(s)->anonymous, 2);
	assert_int_equal(symbolizer_counts(s)->unmapped, 3);
	assert_int_equal(symbolizer_nmodules(s), 0);
	munmap(jit, 4096);
	symbolizer_free(s);
}

static void a_library_loaded_later_is_found_when_maps_are_due_again(void **state)
{
	struct symbolizer *s = new_symbolizer();
	uint64_t t = 1000, address;
	void *lib;

	(void)state;
	place_own(s, 1, t);
	lib = load_made("later.so", "03");
	address = address_of(lib, "first");
	place_own(s, address, t + SYMBOLIZE_REREAD_NS - 1);
	assert_int_equal(place.module, 0);
	place_own(s, address, t + SYMBOLIZE_REREAD_NS);
	assert_int_equal(place.module, 1);
	assert_string_equal(place.symbol, "first+0x0");
	dlclose(lib);
	symbolizer_free(s);
}

static void a_process_that_is_forgotten_is_read_again_at_once(void **state)
{
	struct symbolizer *s = new_symbolizer();
	void *lib;

	(void)state;
	place_own(s, 1, 1000);
	lib = load_made("forget.so", "04");
	symbolizer_forget(s, (uint32_t)getpid());
	place_own(s, address_of(lib, "first"), 1001);
	assert_int_equal(place.module, 1);
	dlclose(lib);
	symbolizer_free(s);
}

static pid_t start_child(uint64_t *start_ns)
{
	struct process_info info;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	assert_int_equal(procfs_process(&fs, (uint32_t)pid, &info, NULL), 1);
	*start_ns = info.start_ns;
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void frames_of_a_process_that_was_learnt_are_placed_when_it_is_gone(void **state)
{
	struct symbolizer *s = new_symbolizer();
	void *known = load_made("known.so", "05"), *unknown = load_made("unknown.so", "06");
	uint64_t start_ns;
	pid_t pid = start_child(&start_ns);

	(void)state;
	place_own(s, address_of(known, "first"), 1);
	assert_int_equal(symbolizer_learn(s, (uint32_t)pid, start_ns, 0, 1, NULL), 0);
	end_child(pid);
	place_in(s, (uint32_t)pid, start_ns, address_of(known, "first") + 1, 2);
	assert_int_equal(place.module, 1);
	assert_string_equal(place.symbol, "first+0x1");
	/* No one has asked for this file before: device, inode and offset are all there is. */
	place_in(s, (uint32_t)pid, start_ns, address_of(unknown, "first") + 1, 2 + SYMBOLIZE_REREAD_NS);
	assert_int_equal(place.module, 2);
	assert_true(place.offset > 0);
	assert_string_equal(place.symbol, "");
	assert_string_equal(symbolizer_module_at(s, 2)->build_id, "");
	assert_int_equal(symbolizer_counts(s)->files_gone, 2);
	dlclose(known);
	dlclose(unknown);
	symbolizer_free(s);
}

static void a_process_that_is_gone_or_another_is_reported_without_module(void **state)
{
	struct symbolizer *s = new_symbolizer();
	uint64_t start_ns, here = (uint64_t)(uintptr_t)open_all;
	pid_t pid = start_child(&start_ns);

	(void)state;
	place_own(s, here, 1);
	assert_int_equal(place.module, 1);
	/* The number is right, the start is not: it is not the process that the frame is of. */
	place_in(s, (uint32_t)pid, start_ns - 50 * fs.ns_per_tick, here, 1);
	assert_int_equal(place.module, 0);
	assert_int_equal(symbolizer_counts(s)->no_process, 1);
	place_in(s, (uint32_t)pid, start_ns + fs.ns_per_tick - 1, here, 1);
	assert_int_equal(place.module, 1);
	symbolizer_forget(s, (uint32_t)pid);
	end_child(pid);
	place_in(s, (uint32_t)pid, start_ns, here, 1);
	assert_int_equal(place.module, 0);
	assert_int_equal(symbolizer_counts(s)->no_process, 2);
	symbolizer_free(s);
}

static void a_file_gets_one_number_however_it_is_met(void **state)
{
	struct symbolizer *s = new_symbolizer();
	void *lib = load_made("met.so", "07");
	static struct mapping m;
	struct stat st;
	uint64_t start_ns;
	int fd = open(made_path("met.so"), O_RDONLY);
	pid_t pid = start_child(&start_ns);

	(void)state;
	assert_int_equal(fstat(fd, &st), 0);
	m = (struct mapping){.inode = st.st_ino, .dev_major = major(st.st_dev), .dev_minor = minor(st.st_dev)};
	snprintf(m.path, sizeof(m.path), "%s", made_path("met.so"));
	assert_int_equal(module_of(s, fd, &m), 1);
	place_own(s, address_of(lib, "first"), 1);
	assert_int_equal(place.module, 1);
	place_in(s, (uint32_t)pid, start_ns, address_of(lib, "second"), 1);
	assert_int_equal(place.module, 1);
	/* Touched, but the same. */
	assert_int_equal(fchmod(fd, 0700), 0);
	assert_int_equal(module_of(s, fd, &m), 1);
	assert_int_equal(symbolizer_nmodules(s), 1);
	end_child(pid);
	close(fd);
	dlclose(lib);
	symbolizer_free(s);
}

static void two_files_that_share_an_inode_one_after_the_other_are_reported_apart(void **state)
{
	struct symbolizer *s = new_symbolizer();
	static const uint32_t want[] = {1, 2, 1, 2};
	static struct mapping m;
	struct stat st;

	(void)state;
	made_library("a.so", SOURCE, "-Wl,--build-id=0xaa");
	made_library("b.so", SOURCE, "-Wl,--build-id=0xbb");
	made_run("cp a.so same.so");
	assert_int_equal(stat(made_path("same.so"), &st), 0);
	m = (struct mapping){.inode = st.st_ino, .dev_major = major(st.st_dev), .dev_minor = minor(st.st_dev)};
	for (size_t i = 0; i < LEN(want); i++) {
		int fd;

		usleep(20000); /* speed: the file system's clock is coarse */
		made_run("cat %s.so >same.so", i % 2 ? "b" : "a");
		fd = open(made_path("same.so"), O_RDONLY);
		assert_int_equal(module_of(s, fd, &m), want[i]);
		close(fd);
	}
	assert_string_equal(symbolizer_module_at(s, 1)->build_id, "aa");
	assert_string_equal(symbolizer_module_at(s, 2)->build_id, "bb");
	symbolizer_free(s);
}

static void a_file_that_is_no_elf_file_is_a_module_without_symbols(void **state)
{
	struct symbolizer *s = new_symbolizer();
	static const char text[] = "#!/bin/true\n";
	void *p;
	int fd;

	(void)state;
	made_write(made_path("text"), text, strlen(text));
	fd = open(made_path("text"), O_RDONLY);
	p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(p, MAP_FAILED);
	for (int i = 0; i < 3; i++) {
		place_own(s, (uint64_t)(uintptr_t)p + 2, 1);
		assert_int_equal(place.module, 1);
		assert_int_equal(place.offset, 2);
		assert_string_equal(place.symbol, "");
	}
	assert_int_equal(symbolizer_counts(s)->files_refused, 1);
	munmap(p, 4096);
	close(fd);
	symbolizer_free(s);
}

static void a_very_long_name_is_cut_and_keeps_its_distance(void **state)
{
	struct symbolizer *s = new_symbolizer();
	static char source[4096], name[1501];
	void *lib;

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	snprintf(source, sizeof(source), "int %s(int a) { return a + 5; }\n", name);
	lib = load(made_library("long.so", source, ""));
	place_own(s, address_of(lib, name) + 1, 1);
	assert_int_equal(place.module, 1);
	assert_true(strlen(place.symbol) < SYMBOLIZE_TEXT_MAX && strlen(place.symbol) > SYMBOLIZE_TEXT_MAX - 32);
	assert_string_equal(place.symbol + strlen(place.symbol) - 9, "nn...+0x1");
	dlclose(lib);
	symbolizer_free(s);
}

static size_t count_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void symbols_of_many_files_come_and_go_within_the_limit(void **state)
{
	struct symbolizer *s = new_symbolizer();
	size_t before, nlibs = INSPECT_IMAGES_MAX + 8;
	static void *libs[INSPECT_IMAGES_MAX + 8];

	(void)state;
	made_library("many.so", SOURCE, "-Wl,--build-id=0x08");
	for (size_t i = 0; i < nlibs; i++) {
		char name[32];

		snprintf(name, sizeof(name), "many%zu.so", i);
		made_run("cp many.so %s", name);
		libs[i] = load(made_path(name));
	}
	before = count_descriptors();
	for (size_t i = 0; i < 3 * nlibs; i++) {
		place_own(s, address_of(libs[i % nlibs], "second") + 2, 1);
		assert_int_equal(place.module, i % nlibs + 1);
		assert_string_equal(place.symbol, "second+0x2");
		assert_true(count_descriptors() <= before + INSPECT_IMAGES_MAX);
	}
	assert_int_equal(count_descriptors(), before + INSPECT_IMAGES_MAX);
	symbolizer_free(s);
	inspector_free(inspector);
	inspector = NULL;
	assert_int_equal(count_descriptors(), before);
	for (size_t i = 0; i < nlibs; i++)
		dlclose(libs[i]);
}

static void the_file_used_longest_ago_goes_first(void **state)
{
	struct symbolizer *s = new_symbolizer();
	static void *libs[INSPECT_IMAGES_MAX + 1];
	uint64_t cold, hot;

	(void)state;
	made_library("age.so", SOURCE, "");
	for (size_t i = 0; i < LEN(libs); i++) {
		char name[32];

		snprintf(name, sizeof(name), "age%zu.so", i);
		made_run("cp age.so %s", name);
		libs[i] = load(made_path(name));
	}
	cold = address_of(libs[0], "first");
	hot = address_of(libs[1], "first");
	place_own(s, hot, 1);
	place_own(s, cold, 1);
	/* Unmapped, their symbols cannot be had again once they have gone. */
	dlclose(libs[0]);
	dlclose(libs[1]);
	for (size_t i = 2; i < LEN(libs); i++) {
		place_own(s, address_of(libs[i], "first"), 1);
		assert_string_equal(place.symbol, "first+0x0");
		place_own(s, hot, 1);
		assert_string_equal(place.symbol, "first+0x0");
	}
	place_own(s, cold, 1);
	assert_int_equal(place.module, 2);
	assert_string_equal(place.symbol, "");
	for (size_t i = 2; i < LEN(libs); i++)
		dlclose(libs[i]);
	symbolizer_free(s);
}

static void more_processes_than_are_kept_push_out_the_oldest_only(void **state)
{
	struct symbolizer *s = new_symbolizer();
	uint64_t here = (uint64_t)(uintptr_t)open_all;

	(void)state;
	for (uint32_t i = 0; i < 3 * SYMBOLIZE_PROCESSES_MAX; i++) {
		place_in(s, UINT32_MAX - i, 12345, 4096, 1); /* no such processes */
		assert_int_equal(place.module, 0);
		place_own(s, here, 1);
		assert_int_equal(place.module, 1);
	}
	assert_int_equal(symbolizer_counts(s)->no_process, 3 * SYMBOLIZE_PROCESSES_MAX);
	symbolizer_free(s);
}

static void more_modules_than_are_numbered_get_no_number_and_are_counted(void **state)
{
	struct symbolizer *s = new_symbolizer();
	static struct mapping m = {.path = "/x"};
	uint32_t id;

	(void)state;
	for (uint32_t i = 1; i <= SYMBOLIZE_MODULES_MAX + 2; i++) {
		m.inode = i;
		assert_int_equal(symbolizer_module(s, NULL, &m, &id, NULL), 0);
		assert_int_equal(id, i <= SYMBOLIZE_MODULES_MAX ? i : 0);
	}
	assert_int_equal(symbolizer_counts(s)->modules_over, 2);
	assert_int_equal(symbolizer_nmodules(s), SYMBOLIZE_MODULES_MAX);
	m.inode = 5;
	assert_int_equal(symbolizer_module(s, NULL, &m, &id, NULL), 0);
	assert_int_equal(id, 5);
	symbolizer_free(s);
}

static void when_memory_runs_out_the_next_call_finds_everything(void **state)
{
	(void)state;
#ifndef MADE_CAN_FAIL
	print_message("# the address sanitizer has an allocator of its own\n");
	skip();
#else
	void *lib = load_made("memory.so", "09");
	uint64_t address = address_of(lib, "second");
	bool failed = true;

	for (long left = 0; failed; left++) {
		struct inspector *mine = NULL;
		struct symbolizer *s = NULL;
		int err;

		made_malloc_failed = false;
		made_malloc_left = left;
		err = inspector_new(&mine, &fs, NULL, NULL);
		if (!err)
			err = symbolizer_new(&s, &fs, mine, NULL);
		if (!err)
			err = symbolizer_place(s, (uint32_t)getpid(), self_start, address, false, 1, &place, NULL);
		made_malloc_left = -1;
		failed = made_malloc_failed;
		assert_true(err == 0 || err == ERR_MEMORY);
		if (!failed)
			assert_int_equal(err, 0);
		if (s) {
			place_own(s, address, 1 + SYMBOLIZE_REREAD_NS);
			assert_int_equal(place.module, 1);
			symbolizer_free(s);
		}
		inspector_free(mine);
		assert_true(left < 10000);
	}
	dlclose(lib);
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_gets_module_offset_and_name),
		cmocka_unit_test(modules_are_numbered_in_order_of_first_use),
		cmocka_unit_test(memory_that_is_no_file_has_neither_module_nor_name),
		cmocka_unit_test(a_library_loaded_later_is_found_when_maps_are_due_again),
		cmocka_unit_test(a_process_that_is_forgotten_is_read_again_at_once),
		cmocka_unit_test(frames_of_a_process_that_was_learnt_are_placed_when_it_is_gone),
		cmocka_unit_test(a_process_that_is_gone_or_another_is_reported_without_module),
		cmocka_unit_test(a_file_gets_one_number_however_it_is_met),
		cmocka_unit_test(two_files_that_share_an_inode_one_after_the_other_are_reported_apart),
		cmocka_unit_test(a_file_that_is_no_elf_file_is_a_module_without_symbols),
		cmocka_unit_test(a_very_long_name_is_cut_and_keeps_its_distance),
		cmocka_unit_test(symbols_of_many_files_come_and_go_within_the_limit),
		cmocka_unit_test(the_file_used_longest_ago_goes_first),
		cmocka_unit_test(more_processes_than_are_kept_push_out_the_oldest_only),
		cmocka_unit_test(more_modules_than_are_numbered_get_no_number_and_are_counted),
		cmocka_unit_test(when_memory_runs_out_the_next_call_finds_everything),
	};

	return cmocka_run_group_tests_name("symbolize", tests, open_all, close_all);
}
