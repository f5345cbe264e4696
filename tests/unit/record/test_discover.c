/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding libraries in what processes have mapped: record/probe/discover.h. The process is this one; in place of the
 * kernel's side and of the writer stand the functions below.
 */
#include "tests/unit/made.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "record/probe/discover_internal.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))
#define PRELUDE                                                                                                        \
	"#define HERE __attribute__((noinline, visibility(VISIBLE)))\n"                                                \
	"HERE int cudaMalloc(void **p, unsigned long n) { *p = (void *)n; return 0; }\n"                               \
	"HERE int cudaFree(void *p) { return p ? 0 : 1; }\n"
#define SHOWN "-DVISIBLE='\"default\"'"
#define HIDDEN "-DVISIBLE='\"hidden\"'"
#define KERNELS "__attribute__((section(\".nv_fatbin\"), used)) static const char kernels[] = \"x\";\n"

/* --- in place of the kernel's side --- */

static struct {
	size_t nfiles, nsites;
	uint64_t refuse_at; /* refuse the site of this number, from 1 */
	struct {
		struct file_key key;
		bool probed;
	} known[64];
	size_t nknown;
} kernel;

size_t attach_library(struct attach *a, int fd, struct attach_site *sites, size_t nsites)
{
	size_t done = 0;

	(void)a;
	assert_true(fd >= 0);
	kernel.nfiles++;
	for (size_t i = 0; i < nsites; i++) {
		sites[i].error = ++kernel.nsites == kernel.refuse_at ? EINVAL : 0;
		done += !sites[i].error;
	}
	return done;
}

const struct attach_facts *attach_facts(const struct attach *a)
{
	static const struct attach_facts facts = {.multi = true};

	(void)a;
	return &facts;
}

size_t attach_leave_to_child(struct attach *a, int *fds, size_t max)
{
	(void)a, (void)fds, (void)max;
	return 0;
}

size_t attach_nlinks(const struct attach *a)
{
	(void)a;
	return 0;
}

size_t attach_take_links(struct attach *a, int *fds, size_t max)
{
	(void)a, (void)fds, (void)max;
	return 0;
}

void attach_drop_links(struct attach *a)
{
	(void)a;
}

int attach_file_known(struct attach *a, const struct file_key *key, bool probed, struct fault *why)
{
	(void)a, (void)why;
	assert_true(kernel.nknown < LEN(kernel.known));
	kernel.known[kernel.nknown].key = *key;
	kernel.known[kernel.nknown++].probed = probed;
	return 0;
}

/* --- a process that goes: from some moment on nothing in its folder can be opened --- */

static struct {
	int opens; /* that still succeed; negative: all do */
} leaves = {-1};

int openat(int dir, const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
	va_end(args);
	if (leaves.opens >= 0 && (pid_t)strtol(path, NULL, 10) == getpid() && leaves.opens-- == 0) {
		leaves.opens = 0;
		errno = ESRCH;
		return -1;
	}
	return (int)syscall(SYS_openat, dir, path, flags, mode);
}

/* --- in place of the writer: the rows of the last discover_tell() --- */

static struct {
	uint64_t v[FIELDS_MAX];
	char text[512];
} modules[256], libraries[64];
static size_t nmodules, nlibraries, nattached;

int writer_add(struct writer *w, uint16_t kind, const uint64_t *v, const char *const *text, struct fault *why)
{
	(void)w, (void)why;
	if (kind == KIND_module) {
		assert_true(nmodules < LEN(modules));
		memcpy(modules[nmodules].v, v, NFIELDS_module * sizeof(*v));
		snprintf(modules[nmodules++].text, sizeof(modules[0].text), "%s", text[F_module_path]);
	} else if (kind == KIND_library) {
		assert_true(nlibraries < LEN(libraries));
		memcpy(libraries[nlibraries].v, v, NFIELDS_library * sizeof(*v));
		snprintf(libraries[nlibraries++].text, sizeof(libraries[0].text), "%s", text[F_library_reason]);
	} else if (kind == KIND_attach) {
		nattached++;
	}
	return 0;
}

/* --- a new discoverer for each test --- */

static struct procfs fs;
static struct inspector *inspector;
static struct symbolizer *symbolizer;
static struct stacks *stacks;
static struct discover *d;

static int begin(void **state)
{
	(void)state;
	memset(&kernel, 0, sizeof(kernel));
	nmodules = nlibraries = nattached = 0;
	return procfs_open(&fs, PROCFS_ROOT, NULL) || inspector_new(&inspector, &fs, NULL, NULL) ||
	       symbolizer_new(&symbolizer, &fs, inspector, NULL) || stacks_new(&stacks, symbolizer, NULL) ||
	       discover_new(&d, &fs, inspector, symbolizer, NULL, NULL);
}

static int end(void **state)
{
	(void)state;
	discover_free(d);
	stacks_free(stacks);
	symbolizer_free(symbolizer);
	inspector_free(inspector);
	procfs_close(&fs);
	return 0;
}

static void *load(const char *path)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		fail_msg("%s", dlerror());
	return handle;
}

/* Inspect ourselves and report; the number of new `library` rows. */
static size_t look(void)
{
	struct fault why;
	int r;

	nlibraries = nattached = 0;
	r = discover_process(d, (uint32_t)getpid(), &why);
	assert_true(r == 0 || r == 1);
	assert_int_equal(discover_emit(d, stacks, NULL, 1, &why), 0);
	assert_true(r == 1 || nlibraries == 0);
	return nlibraries;
}

static const char *module_path(uint64_t id)
{
	for (size_t i = 0; i < nmodules; i++)
		if (modules[i].v[F_module_id] == id)
			return modules[i].text;
	return "no such module";
}

static void assert_library(size_t i, const char *path, uint64_t role, uint64_t functions, uint64_t probed)
{
	assert_string_equal(module_path(libraries[i].v[F_library_module]), path);
	assert_int_equal(libraries[i].v[F_library_pid], getpid());
	assert_int_equal(libraries[i].v[F_library_role], role);
	assert_int_equal(libraries[i].v[F_library_functions], functions);
	assert_int_equal(libraries[i].v[F_library_probed], probed);
}

static char *library(const char *name, const char *more, const char *options)
{
	char source[2048], all[256];

	snprintf(source, sizeof(source), "%s%s", PRELUDE, more);
	snprintf(all, sizeof(all), "%s", options);
	return made_library(name, source, all);
}

/* --- tests --- */

static void names_of_libraries_report_their_role(void **state)
{
	static const struct {
		const char *path;
		uint32_t role;
	} names[] = {
		{"/usr/lib/libcudart.so.12", LIBRARY_RUNTIME},
		{"/x/nvidia.libs/libcudart-a1b2c3.so.12.0", LIBRARY_RUNTIME},
		{"libcudart.so", LIBRARY_RUNTIME},
		{"/usr/lib/libcuda.so.1", LIBRARY_DRIVER},
		{"/usr/lib/libcuda.so.550.54.14", LIBRARY_DRIVER},
		{"/usr/lib/libnccl.so.2", LIBRARY_NCCL},
		{"/usr/lib/libnccl-net.so", LIBRARY_NCCL},
		{"/usr/lib/libcudadebugger.so.1", 0},
		{"/usr/lib/libcudnn.so.9", 0},
		{"/libcudart.so.12/other.so", 0},
		{"", 0},
	};

	(void)state;
	for (size_t i = 0; i < LEN(names); i++)
		assert_int_equal(discover_role_of_name(names[i].path), names[i].role);
	assert_int_equal(discover_role_of_function("__cudaRegisterFunction"), LIBRARY_RUNTIME);
	assert_int_equal(discover_role_of_function("cudaMalloc"), LIBRARY_RUNTIME);
	assert_int_equal(discover_role_of_function("cuMemAlloc_v2"), LIBRARY_DRIVER);
	assert_int_equal(discover_role_of_function("ncclAllReduce"), LIBRARY_NCCL);
}

static void a_process_without_cuda_is_none_of_ours(void **state)
{
	(void)state;
	assert_int_equal(look(), 0);
	assert_int_equal(kernel.nfiles, 0);
}

static void a_runtime_is_probed_once_however_often_it_is_looked_at(void **state)
{
	const char *path = library("libcudart-a1b2c3.so.12.0", "", SHOWN);
	struct process_namespaces ns;
	void *handle = load(path);

	(void)state;
	assert_int_equal(look(), 1);
	assert_library(0, path, LIBRARY_RUNTIME, 2, 2);
	assert_string_equal(libraries[0].text, "");
	assert_int_equal(nattached, 2);
	assert_int_equal(procfs_namespaces(&fs, (uint32_t)getpid(), &ns, NULL), 1);
	assert_int_equal(modules[libraries[0].v[F_library_module] - 1].v[F_module_mount], ns.mount);
	assert_int_equal(modules[libraries[0].v[F_library_module] - 1].v[F_module_deleted], 0);
	assert_int_equal(look(), 0);
	assert_int_equal(kernel.nfiles, 1);
	/* Another process, and this one again after exec: reported, not probed again. */
	discover_forget(d, (uint32_t)getpid());
	assert_int_equal(look(), 1);
	assert_int_equal(kernel.nfiles, 1);
	assert_int_equal(discover_counts(d)->libraries, 1);
	dlclose(handle);
}

static void what_exports_the_functions_is_a_runtime_whatever_it_is_called(void **state)
{
	const char *path = library("renamed.so", "", SHOWN);
	void *handle = load(path);

	(void)state;
	assert_int_equal(look(), 1);
	assert_library(0, path, LIBRARY_RUNTIME, 2, 2);
	dlclose(handle);
}

static void local_functions_are_a_runtime_that_is_linked_in(void **state)
{
	const char *path = library("inside.so", KERNELS, HIDDEN);
	void *handle = load(path);

	(void)state;
	assert_int_equal(look(), 1);
	assert_library(0, path, LIBRARY_STATIC_RUNTIME, 2, 2);
	dlclose(handle);
}

static void stripped_of_them_it_is_reported_what_cannot_be_seen(void **state)
{
	const char *path = library("stripped.so", KERNELS, HIDDEN " -s");
	void *handle = load(path);

	(void)state;
	assert_int_equal(look(), 1);
	assert_library(0, path, LIBRARY_STATIC_RUNTIME, 0, 0);
	assert_non_null(strstr(libraries[0].text, "stripped"));
	assert_int_equal(discover_counts(d)->stripped, 1);
	assert_non_null(strstr(discover_counts(d)->last_stripped, "stripped.so"));
	assert_int_equal(kernel.nfiles, 0);
	dlclose(handle);
}

static void kernels_for_a_runtime_elsewhere_are_no_news(void **state)
{
	const char *path = made_library("kernels.so",
					KERNELS "void *__cudaRegisterFatBinary(void *);\nvoid *r(void) { return "
						"__cudaRegisterFatBinary(0); }\n",
					"-s");
	void *handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);

	(void)state;
	assert_non_null(handle);
	assert_int_equal(look(), 0);
	dlclose(handle);
}

static void a_library_of_that_name_without_the_functions_is_reported_with_the_reason(void **state)
{
	const char *path = made_library("libcuda.so.1", "int unlike(void) { return 1; }\n", "");
	void *handle = load(path);

	(void)state;
	assert_int_equal(look(), 1);
	assert_library(0, path, LIBRARY_DRIVER, 0, 0);
	assert_non_null(strstr(libraries[0].text, "none of the functions"));
	dlclose(handle);
}

static void a_file_of_that_name_that_is_no_library_is_reported_with_the_reason(void **state)
{
	static const char garbage[8192] = "no ELF file";
	const char *path = made_path("libnccl.so.2");
	void *map;
	int fd;

	(void)state;
	made_write(path, garbage, sizeof(garbage));
	fd = open(path, O_RDONLY);
	map = mmap(NULL, sizeof(garbage), PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);
	assert_ptr_not_equal(map, MAP_FAILED);
	assert_int_equal(look(), 1);
	assert_library(0, path, LIBRARY_NCCL, 0, 0);
	assert_non_null(strstr(libraries[0].text, "not an ELF file"));
	assert_int_equal(discover_counts(d)->unread, 1);
	assert_non_null(strstr(discover_counts(d)->last_problem, "libnccl.so.2"));
	munmap(map, sizeof(garbage));
}

static void a_file_of_another_name_that_is_no_library_is_no_news(void **state)
{
	static const char garbage[8192] = "compiled at run time";
	int fd = memfd_create("jit", MFD_CLOEXEC);
	void *map;

	(void)state;
	assert_int_equal(write(fd, garbage, sizeof(garbage)), sizeof(garbage));
	map = mmap(NULL, sizeof(garbage), PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	close(fd);
	assert_ptr_not_equal(map, MAP_FAILED);
	assert_int_equal(look(), 0);
	assert_int_equal(discover_counts(d)->unread, 0);
	munmap(map, sizeof(garbage));
}

static void a_function_that_cannot_be_probed_is_reported_with_the_reason(void **state)
{
	const char *path = library("libcudart.so.11", "", SHOWN);
	void *handle = load(path);

	(void)state;
	kernel.refuse_at = 2;
	assert_int_equal(look(), 1);
	assert_library(0, path, LIBRARY_RUNTIME, 2, 1);
	assert_non_null(strstr(libraries[0].text, "1 function could not be probed, cuda"));
	assert_int_equal(discover_counts(d)->refused, 1);
	assert_int_equal(nattached, 2);
	dlclose(handle);
}

static void two_names_of_one_place_are_one_function(void **state)
{
	const char *path = library(
		"libcudart.so.6",
		"int cudaMallocManaged(void **, unsigned long) __attribute__((alias(\"cudaMalloc\")));\n", SHOWN);
	void *handle = load(path);

	(void)state;
	assert_int_equal(look(), 1);
	assert_library(0, path, LIBRARY_RUNTIME, 2, 2); /* a call would be recorded twice */
	dlclose(handle);
}

static void a_deleted_library_is_found_and_reported_as_deleted(void **state)
{
	char *path = library("libcudart.so.10", "", SHOWN);
	void *handle = load(path);

	(void)state;
	assert_int_equal(unlink(path), 0);
	assert_int_equal(look(), 1);
	assert_int_equal(libraries[0].v[F_library_role], LIBRARY_RUNTIME);
	if (geteuid() == 0) { /* only who may follow map_files gets at it */
		assert_library(0, path, LIBRARY_RUNTIME, 2, 2);
		assert_int_equal(modules[libraries[0].v[F_library_module] - 1].v[F_module_deleted], 1);
	} else {
		assert_int_equal(libraries[0].v[F_library_probed], 0);
		assert_true(libraries[0].text[0]);
	}
	dlclose(handle);
}

static struct file_key key_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return (struct file_key){
		.inode = st.st_ino, .device = major(st.st_dev) << 20 | minor(st.st_dev), .generation = 5};
}

/* Where `path` is mapped here as code; an address with nothing when it is not. */
static uint64_t mapped_at(const char *path)
{
	char line[1024];
	uint64_t start = 0, found = 4096;
	FILE *f = fopen("/proc/self/maps", "r");

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (strstr(line, path) && strstr(line, " r-xp ") && sscanf(line, "%" SCNx64, &start) == 1)
			found = start;
	fclose(f);
	return found;
}

static int mapped(uint32_t pid, const struct file_key *key, const char *path)
{
	const struct discover_mapping mapping = {key, mapped_at(path)};

	return discover_mapped(d, pid, &mapping, NULL);
}

static void the_kernel_learns_which_files_to_report_of_again(void **state)
{
	const char *plain = made_library("plain.so", "int plain(void) { return 1; }\n", "");
	const char *cuda = library("libcudart.so.9", "", SHOWN);
	void *first = load(plain), *second;
	struct file_key keys[2] = {key_of(plain), key_of(cuda)};

	(void)state;
	assert_int_equal(mapped((uint32_t)getpid(), &keys[0], plain), 0);
	/* What is not mapped (any more) was not inspected: it shall be reported again. */
	assert_int_equal(mapped((uint32_t)getpid(), &keys[1], cuda), 0);
	assert_int_equal(kernel.nknown, 1);
	assert_int_equal(discover_counts(d)->gone, 1);
	second = load(cuda);
	assert_int_equal(mapped((uint32_t)getpid(), &keys[1], cuda), 1);
	assert_int_equal(kernel.nknown, 2);
	assert_memory_equal(&kernel.known[0].key, &keys[0], sizeof(keys[0]));
	assert_false(kernel.known[0].probed);
	assert_memory_equal(&kernel.known[1].key, &keys[1], sizeof(keys[1]));
	assert_true(kernel.known[1].probed);
	dlclose(first);
	dlclose(second);
}

static void a_plain_file_whose_number_another_has_now_is_looked_at_again(void **state)
{
	const char *path = made_library("again.so", "int plain(void) { return 1; }\n", "");
	char *copy = made_path("copy.so");
	struct file_key key;
	void *handle = load(path);
	size_t n;
	char *bytes;

	(void)state;
	assert_int_equal(look(), 0);
	dlclose(handle);
	/* The same inode, other content: as when a number comes round. */
	strcpy(copy, library("copy.so", "", SHOWN));
	bytes = made_read(copy, &n);
	made_write(path, bytes, n);
	free(bytes);
	handle = load(path);
	assert_int_equal(look(), 0); /* known, and nobody said that it might be another */
	key = key_of(path);
	assert_int_equal(mapped((uint32_t)getpid(), &key, path), 1);
	assert_int_equal(look(), 1);
	assert_library(0, path, LIBRARY_RUNTIME, 2, 2);
	dlclose(handle);
}

static void a_library_used_by_a_process_that_is_gone_is_reported_all_the_same(void **state)
{
	const char *path = library("libcudart.so.8", "", SHOWN);
	struct file_key key = key_of(path);
	void *handle = load(path);
	pid_t pid;

	(void)state;
	assert_int_equal(look(), 1);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	nlibraries = 0;
	assert_int_equal(mapped((uint32_t)pid, &key, path), 1);
	assert_int_equal(discover_emit(d, stacks, NULL, 2, NULL), 0);
	assert_int_equal(nlibraries, 1);
	assert_int_equal(libraries[0].v[F_library_pid], pid);
	dlclose(handle);
}

/* A process 7 that lives, and has mapped a library that cannot be had. */
static void a_library_that_cannot_be_reached_is_reported_with_the_reason(void **state)
{
	static const char maps[] = "7f0000000000-7f0000001000 r-xp 00000000 08:01 99 /nowhere/libcudart.so.12\n"
				   "7f0000002000-7f0000003000 r-xp 00000000 08:01 98 /nowhere/libother.so\n";
	static const char stat[] = "7 (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 555 0 0\n";
	static const char status[] = "Name:\tx\nTgid:\t7\nUid:\t0\t0\t0\t0\n";
	struct inspector *asked = d->inspector;
	struct procfs forged;
	struct fault why;

	(void)state;
	made_run("mkdir -p proc/7/root");
	made_write(made_path("proc/7/maps"), maps, sizeof(maps) - 1);
	made_write(made_path("proc/7/stat"), stat, sizeof(stat) - 1);
	made_write(made_path("proc/7/statm"), "9 9\n", 4);
	made_write(made_path("proc/7/status"), status, sizeof(status) - 1);
	assert_int_equal(procfs_open(&forged, made_path("proc"), NULL), 0);
	d->fs = &forged;
	assert_int_equal(inspector_new(&d->inspector, &forged, NULL, NULL), 0);
	assert_int_equal(discover_process(d, 7, &why), 1);
	assert_int_equal(discover_process(d, 7, &why), 1);
	assert_int_equal(discover_emit(d, stacks, NULL, 1, &why), 0);
	assert_int_equal(nlibraries, 1);
	assert_int_equal(libraries[0].v[F_library_pid], 7);
	assert_int_equal(libraries[0].v[F_library_role], LIBRARY_RUNTIME);
	assert_string_equal(module_path(libraries[0].v[F_library_module]), "/nowhere/libcudart.so.12");
	assert_non_null(strstr(libraries[0].text, "no path leads to it"));
	assert_int_equal(discover_counts(d)->unread, 1);
	d->fs = &fs;
	procfs_close(&forged);
	inspector_free(d->inspector);
	d->inspector = asked;
}

static void a_process_that_ends_while_it_is_looked_at_is_no_error(void **state)
{
	struct fault why;

	(void)state;
	for (int i = 0; i < 50; i++) {
		pid_t pid = fork();
		int r;

		assert_true(pid >= 0);
		if (pid == 0)
			_exit(0);
		r = discover_process(d, (uint32_t)pid, &why);
		assert_true(r == 0 || r == 1);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		assert_int_equal(discover_process(d, (uint32_t)pid, &why), 0);
	}
}

/* As a program with the runtime linked in, of whose name nobody sees that it is CUDA's, and as a library. */
static void however_soon_a_process_ends_its_file_is_looked_at_in_the_next(void **state)
{
	static const struct {
		const char *name, *visible;
		uint64_t role;
	} files[] = {{"program", HIDDEN, LIBRARY_STATIC_RUNTIME}, {"libcudart.so.4", SHOWN, LIBRARY_RUNTIME}};

	for (size_t i = 0; i < LEN(files); i++) {
		const char *path = library(files[i].name, KERNELS, files[i].visible);
		struct file_key key = key_of(path);
		void *handle = load(path);
		int n = 0, found = 0;

		for (; !found && n < 100; n++) {
			end(state);
			assert_int_equal(begin(state), 0);
			leaves.opens = n;
			found = mapped((uint32_t)getpid(), &key, path);
			leaves.opens = -1;
			assert_int_equal(discover_counts(d)->gone + (size_t)found, 1);
			assert_int_equal(discover_counts(d)->unread, 0);
			assert_int_equal(mapped((uint32_t)getpid(), &key, path), 1);
			assert_int_equal(look(), 1);
			assert_library(0, path, files[i].role, 2, 2);
		}
		assert_true(found && n > 3);
		dlclose(handle);
	}
}

static void a_file_that_a_person_names_is_probed_or_refused_with_a_sentence(void **state)
{
	const char *path = library("named.so", "", SHOWN);
	const char *plain = made_library("unlike.so", "int plain(void) { return 1; }\n", "");
	const char *stripped = library("named_stripped.so", KERNELS, HIDDEN " -s");
	struct fault why = {0};

	(void)state;
	assert_int_equal(discover_add_file(d, path, &why), 0);
	assert_int_equal(discover_add_file(d, path, &why), 0);
	assert_int_equal(kernel.nfiles, 1);
	assert_int_equal(discover_emit(d, stacks, NULL, 1, &why), 0);
	assert_int_equal(nlibraries, 1);
	assert_int_equal(libraries[0].v[F_library_pid], 0);
	assert_int_equal(discover_add_file(d, plain, &why), ERR_INPUT);
	assert_non_null(strstr(why.text, "unlike.so has none"));
	assert_int_equal(discover_add_file(d, stripped, &why), ERR_INPUT);
	assert_non_null(strstr(why.text, "stripped"));
	assert_true(discover_add_file(d, made_folder(), &why) < 0);
	assert_true(discover_add_file(d, made_path("nowhere"), &why) < 0);
}

static int count(void *self, uint32_t pid, int found, struct fault *why)
{
	(void)why;
	*(size_t *)self += found == 1 && pid == (uint32_t)getpid();
	return 0;
}

static void a_scan_of_all_finds_us(void **state)
{
	const char *path = library("libcudart.so.7", "", SHOWN);
	void *handle = load(path);
	size_t n = 0;

	(void)state;
	assert_int_equal(discover_all(d, count, &n, NULL), 0);
	assert_int_equal(n, 1);
	dlclose(handle);
	discover_anew(d);
	assert_int_equal(discover_process(d, (uint32_t)getpid(), NULL), 0);
	assert_int_equal(discover_emit(d, stacks, NULL, 1, NULL), 0);
	assert_int_equal(nlibraries, 0); /* what is not mapped any more is not reported, */
	discover_forget(d, (uint32_t)getpid());
	assert_int_equal(discover_emit(d, stacks, NULL, 1, NULL), 0);
	assert_int_equal(nlibraries, 1); /* unless we ran another program only then */
	nlibraries = 0;
	discover_forget(d, (uint32_t)getpid());
	handle = load(path);
	assert_int_equal(discover_process(d, (uint32_t)getpid(), NULL), 1);
	dlclose(handle);
	discover_anew(d);
	discover_anew_end(d);
	discover_forget(d, (uint32_t)getpid());
	assert_int_equal(discover_emit(d, stacks, NULL, 1, NULL), 0);
	assert_int_equal(nlibraries, 0);
}

static void a_file_beneath_two_overlays_has_one_stamp(void **state)
{
	struct stamp a, b;
	int fd = open(library("stamped.so", "", SHOWN), O_RDONLY), other;

	(void)state;
	assert_int_equal(stamp_read(fd, &a, NULL), 0);
	assert_int_equal(stamp_read(fd, &b, NULL), 0);
	assert_true(stamp_same(&a, &b));
	assert_false(a.overlay);
	other = open(made_library("stamped2.so", PRELUDE, SHOWN), O_RDONLY);
	assert_int_equal(stamp_read(other, &b, NULL), 0);
	assert_false(stamp_same(&a, &b));
	b = a;
	b.changed_ns ^= 1; /* copied up */
	assert_false(stamp_same(&a, &b));
	close(fd);
	close(other);
}

#define T(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(names_of_libraries_report_their_role),
		T(a_process_without_cuda_is_none_of_ours),
		T(a_runtime_is_probed_once_however_often_it_is_looked_at),
		T(what_exports_the_functions_is_a_runtime_whatever_it_is_called),
		T(local_functions_are_a_runtime_that_is_linked_in),
		T(stripped_of_them_it_is_reported_what_cannot_be_seen),
		T(kernels_for_a_runtime_elsewhere_are_no_news),
		T(a_library_of_that_name_without_the_functions_is_reported_with_the_reason),
		T(a_file_of_that_name_that_is_no_library_is_reported_with_the_reason),
		T(a_file_of_another_name_that_is_no_library_is_no_news),
		T(a_function_that_cannot_be_probed_is_reported_with_the_reason),
		T(two_names_of_one_place_are_one_function),
		T(a_deleted_library_is_found_and_reported_as_deleted),
		T(the_kernel_learns_which_files_to_report_of_again),
		T(a_plain_file_whose_number_another_has_now_is_looked_at_again),
		T(a_library_used_by_a_process_that_is_gone_is_reported_all_the_same),
		T(a_library_that_cannot_be_reached_is_reported_with_the_reason),
		T(a_process_that_ends_while_it_is_looked_at_is_no_error),
		T(however_soon_a_process_ends_its_file_is_looked_at_in_the_next),
		T(a_file_that_a_person_names_is_probed_or_refused_with_a_sentence),
		T(a_scan_of_all_finds_us),
		T(a_file_beneath_two_overlays_has_one_stamp),
	};

	return cmocka_run_group_tests_name("discover", tests, NULL, made_clear);
}
