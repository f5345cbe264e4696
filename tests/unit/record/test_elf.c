/* SPDX-License-Identifier: Apache-2.0 */
/* Reading ELF files of others: record/symbols/elf.h. */
#define MADE_FAILING_MALLOC
#include "tests/unit/made.h"

#include <ctype.h>
#include <dlfcn.h>
#include <elf.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "record/symbols/elf.h"

/* Every byte that is read is counted, and how often. */
static uint64_t bytes_read, reads;

ssize_t pread(int fd, void *buf, size_t n, off_t at)
{
	ssize_t got = syscall(SYS_pread64, fd, buf, n, at);

	bytes_read += got > 0 ? (uint64_t)got : 0;
	reads++;
	return got;
}

#define LEN(a) (sizeof(a) / sizeof((a)[0]))
#define CUDART "/usr/local/cuda/lib64/libcudart.so"

static const char PLAIN_SOURCE[] = "int twice(int a) { return 2 * a; }\n"
				   "int also_twice(int a) __attribute__((alias(\"twice\")));\n"
				   "int thrice(int a) { return 3 * a; }\n"
				   "static __attribute__((noinline,used)) int hidden(int a) { return a * a + 1; }\n"
				   "int use(int a) { return hidden(a) + 1; }\n"
				   "int data = 7;\n"
				   "extern int missing(int);\n"
				   "int calls(int a) { return missing(a); }\n"
				   "static int impl(int a) { return a + 5; }\n"
				   "static void *choose(void) { return (void *)impl; }\n"
				   "int chosen(int) __attribute__((ifunc(\"choose\")));\n";

/* The library most tests inspect: built once. */
static const char *plain(void)
{
	static char path[2 * MADE_PATH];

	if (!path[0])
		strcpy(path, made_library("plain.so", PLAIN_SOURCE, "-Wl,--build-id=0x00ff17a0deadbeef"));
	return path;
}

static struct image *open_image(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct image *img = NULL;
	struct fault why;

	assert_true(fd >= 0);
	if (image_open(&img, fd, &why) != 0)
		fail_msg("%s: %s", path, why.text);
	close(fd);
	return img;
}

static size_t find(struct image *img, const char *const *names, size_t n, struct image_match **matches)
{
	struct fault why;
	size_t found = 0;

	*matches = NULL;
	if (image_find(img, names, n, matches, &found, &why) != 0)
		fail_msg("%s", why.text);
	return found;
}

/* What the loader put at `address` is in the file at `offset`. */
static void assert_code_is(const char *path, uint64_t offset, const void *address)
{
	size_t n;
	char *bytes = made_read(path, &n);

	assert_true(offset + 8 <= n);
	assert_memory_equal(bytes + offset, address, 8);
	free(bytes);
}

static void build_id_is_what_the_linker_was_given(void **state)
{
	struct image *img = open_image(plain());

	(void)state;
	assert_string_equal(image_build_id(img), "00ff17a0deadbeef");
	image_close(img);
}

static void a_library_without_build_id_has_none(void **state)
{
	struct image *img = open_image(made_library("noid.so", "int f(void) { return 1; }\n", "-Wl,--build-id=none"));

	(void)state;
	assert_string_equal(image_build_id(img), "");
	image_close(img);
}

static void a_build_id_of_64_bytes_is_read_and_one_of_65_is_none(void **state)
{
	char options[256] = "-Wl,--build-id=0x", digits[131] = "";
	struct image *img;

	(void)state;
	for (int i = 0; i < 65; i++)
		strcat(digits, "5a");
	img = open_image(made_library("id65.so", "int f(void) { return 1; }\n", strcat(options, digits)));
	assert_string_equal(image_build_id(img), "");
	image_close(img);

	options[strlen(options) - 2] = '\0';
	digits[128] = '\0';
	img = open_image(made_library("id64.so", "int f(void) { return 1; }\n", options));
	assert_string_equal(image_build_id(img), digits);
	image_close(img);
}

static void functions_are_found_where_their_code_stands(void **state)
{
	static const char *const names[] = {"twice", "thrice", "use"};
	struct image *img = open_image(plain());
	struct image_match *m;
	void *lib;

	(void)state;
	made_run("${CC:-cc} -O1 -fPIC -shared -o whole.so -Dmissing=use plain.so.c");
	image_close(img);
	img = open_image(made_path("whole.so"));
	lib = dlopen(made_path("whole.so"), RTLD_NOW);
	assert_non_null(lib);
	assert_int_equal(find(img, names, LEN(names), &m), 3);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(m[i].name, i);
		assert_true(m[i].bytes > 0);
		assert_false(m[i].ifunc);
		assert_code_is(made_path("whole.so"), m[i].offset, dlsym(lib, names[i]));
	}
	free(m);
	dlclose(lib);
	image_close(img);
}

static void every_version_of_a_function_is_found(void **state)
{
	static const char source[] = "int old_f(int a) { return a + 11; }\n"
				     "int new_f(int a) { return a * 13; }\n"
				     "__asm__(\".symver old_f,f@V1\");\n"
				     "__asm__(\".symver new_f,f@@V2\");\n";
	static const char script[] = "V1 { global: f; local: *; };\nV2 { global: f; } V1;\n";
	static const char *const names[] = {"f"};
	struct image *img;
	struct image_match *m;
	uint64_t first, second;
	void *lib;

	(void)state;
	made_write(made_path("versions"), script, strlen(script));
	made_library("versions.so", source, "-fno-toplevel-reorder -Wl,--version-script=versions");
	img = open_image(made_path("versions.so"));
	assert_int_equal(find(img, names, 1, &m), 2);
	first = m[0].offset;
	second = m[1].offset;
	assert_true(first < second);
	free(m);
	image_close(img);

	lib = dlopen(made_path("versions.so"), RTLD_NOW);
	assert_non_null(lib);
	assert_code_is(made_path("versions.so"), first, dlvsym(lib, "f", "V1"));
	assert_code_is(made_path("versions.so"), second, dlvsym(lib, "f", "V2"));
	dlclose(lib);
}

/* Make sections of one type look like something else. */
static void hide_sections(const char *path, const char *copy, uint32_t type)
{
	size_t n;
	char *bytes = made_read(path, &n);
	Elf64_Ehdr h;

	memcpy(&h, bytes, sizeof(h));
	for (size_t i = 0; i < h.e_shnum; i++) {
		Elf64_Shdr sh;

		memcpy(&sh, bytes + h.e_shoff + i * sizeof(sh), sizeof(sh));
		if (sh.sh_type == type)
			sh.sh_type = SHT_PROGBITS;
		memcpy(bytes + h.e_shoff + i * sizeof(sh), &sh, sizeof(sh));
	}
	made_write(copy, bytes, n);
	free(bytes);
}

static void versions_written_into_names_in_symtab_are_left_aside(void **state)
{
	static const char *const names[] = {"f"};
	struct image_match *m;
	struct image *img;

	hide_sections(made_path("versions.so"), made_path("symtab.so"), SHT_DYNSYM);
	img = open_image(made_path("symtab.so"));
	(void)state;
	assert_int_equal(find(img, names, 1, &m), 2);
	free(m);
	image_close(img);
}

static void aliases_are_two_matches_at_one_offset(void **state)
{
	static const char *const names[] = {"also_twice", "twice"};
	struct image *img = open_image(plain());
	struct image_match *m;

	(void)state;
	assert_int_equal(find(img, names, 2, &m), 2);
	assert_int_equal(m[0].name, 0);
	assert_int_equal(m[1].name, 1);
	assert_int_equal(m[0].offset, m[1].offset);
	free(m);
	image_close(img);
}

static void a_name_asked_for_twice_is_answered_twice(void **state)
{
	static const char *const names[] = {"twice", "nothing", "twice"};
	struct image *img = open_image(plain());
	struct image_match *m;

	(void)state;
	assert_int_equal(find(img, names, 3, &m), 2);
	assert_int_equal(m[0].name, 0);
	assert_int_equal(m[1].name, 2);
	free(m);
	image_close(img);
}

static void undefined_functions_data_and_names_that_begin_alike_are_not_found(void **state)
{
	static const char *const names[] = {"missing", "data", "twic", "twicee", "", "wice"};
	struct image *img = open_image(plain());
	struct image_match *m;

	(void)state;
	assert_int_equal(find(img, names, LEN(names), &m), 0);
	assert_null(m);
	assert_int_equal(find(img, names, 0, &m), 0);
	image_close(img);
}

static void a_stub_for_a_function_of_another_library_is_not_that_function(void **state)
{
	static const char source[] = "#include <stdio.h>\nint (*volatile p)(const char *);\n"
				     "int main(void) { p = puts; return p(\"\") < 0; }\n";
	static const char *const names[] = {"puts", "main"};
	struct image_match *m;
	struct image *img;

	(void)state;
	made_write(made_path("stub.c"), source, strlen(source));
	made_run("${CC:-cc} -O0 -fno-pie -no-pie -o stub stub.c");
	img = open_image(made_path("stub"));
	assert_int_equal(find(img, names, 2, &m), 1);
	assert_int_equal(m[0].name, 1);
	free(m);
	image_close(img);
}

static void an_ifunc_is_marked(void **state)
{
	static const char *const names[] = {"chosen"};
	struct image *img = open_image(plain());
	struct image_match *m;

	(void)state;
	assert_int_equal(find(img, names, 1, &m), 1);
	assert_true(m[0].ifunc);
	free(m);
	image_close(img);
}

static void local_functions_are_found_until_the_library_is_stripped(void **state)
{
	static const char *const names[] = {"hidden", "twice"};
	struct image *img = open_image(plain());
	struct image_match *m;

	(void)state;
	assert_int_equal(find(img, names, 2, &m), 2);
	free(m);
	image_close(img);

	made_run("strip -s -o stripped.so plain.so");
	img = open_image(made_path("stripped.so"));
	assert_int_equal(find(img, names, 2, &m), 1);
	assert_int_equal(m[0].name, 1);
	assert_string_equal(image_build_id(img), "00ff17a0deadbeef");
	free(m);
	image_close(img);
}

static void too_many_matches_are_refused(void **state)
{
	static const char *names[IMAGE_MATCHES_MAX + 1];
	struct image *img = open_image(plain());
	struct image_match *m = NULL;
	struct fault why;
	size_t n = 99;

	(void)state;
	for (size_t i = 0; i < LEN(names); i++)
		names[i] = "twice";
	assert_int_equal(image_find(img, names, LEN(names), &m, &n, &why), ERR_INPUT);
	assert_int_equal(n, 99);
	assert_null(m);
	assert_int_equal(image_find(img, names, LEN(names) - 1, &m, &n, &why), 0);
	assert_int_equal(n, IMAGE_MATCHES_MAX);
	free(m);
	image_close(img);

	/* With one table only, just one too many. */
	m = NULL;
	made_run("strip -s -o stripped.so plain.so");
	img = open_image(made_path("stripped.so"));
	assert_int_equal(image_find(img, names, LEN(names), &m, &n, &why), ERR_INPUT);
	assert_null(m);
	image_close(img);
}

/* The name at `offset`, or "". */
static const char *name_at(struct image *img, uint64_t offset, uint64_t *plus)
{
	static char name[256];
	struct fault why;
	int r;

	*plus = 0;
	r = image_symbol(img, offset, name, sizeof(name), plus, &why);
	assert_true(r >= 0);
	return r ? name : "";
}

static void an_offset_is_named_by_the_function_it_lies_in(void **state)
{
	static const char *const names[] = {"thrice", "hidden"};
	struct image *img = open_image(plain());
	struct image_match *m;
	size_t n = 0, again = 0;
	struct fault why;
	uint64_t plus;

	(void)state;
	assert_int_equal(find(img, names, 2, &m), 2);
	assert_string_equal(name_at(img, m[0].offset, &plus), "");
	assert_int_equal(image_load_symbols(img, 1000, &n, &why), 0);
	assert_true(n >= 5);
	assert_int_equal(image_load_symbols(img, 1000, &again, &why), 0);
	assert_int_equal(n, again);
	for (size_t i = 0; i < 2; i++) {
		assert_string_equal(name_at(img, m[i].offset, &plus), names[i]);
		assert_int_equal(plus, 0);
		assert_string_equal(name_at(img, m[i].offset + m[i].bytes - 1, &plus), names[i]);
		assert_int_equal(plus, m[i].bytes - 1);
		assert_string_not_equal(name_at(img, m[i].offset + m[i].bytes, &plus), names[i]);
	}
	assert_string_equal(name_at(img, 0, &plus), "");
	assert_string_equal(name_at(img, UINT64_MAX, &plus), "");
	free(m);
	image_close(img);
}

static void a_global_name_goes_before_a_local_and_a_weak_one(void **state)
{
	static const char source[] = "static int aaa_local(int a) { return a + 3; }\n"
				     "extern int aab_weak(int) __attribute__((weak, alias(\"aaa_local\")));\n"
				     "extern int zzz_global(int) __attribute__((alias(\"aaa_local\")));\n";
	static const char *const names[] = {"zzz_global"};
	struct image *img = open_image(made_library("global.so", source, ""));
	struct image_match *m;
	struct fault why;
	uint64_t plus;
	size_t n;

	(void)state;
	assert_int_equal(find(img, names, 1, &m), 1);
	assert_int_equal(image_load_symbols(img, 1000, &n, &why), 0);
	assert_string_equal(name_at(img, m[0].offset + 1, &plus), "zzz_global");
	free(m);
	image_close(img);
}

static void between_functions_there_is_none_but_one_without_size_reaches_to_the_next(void **state)
{
	static const char source[] = "__asm__(\".text\\n.globl sized, unsized, last\\n\"\n"
				     "\".type sized,@function\\n.type unsized,@function\\n.type last,@function\\n\"\n"
				     "\"sized: .skip 16, 0x90\\n.size sized, 8\\n\"\n"
				     "\"unsized: .skip 16, 0x90\\n\"\n"
				     "\"last: .skip 16, 0x90\\n.size last, 16\\n\");\n";
	static const char *const names[] = {"sized", "unsized", "last"};
	struct image *img = open_image(made_library("sizes.so", source, ""));
	struct image_match *m;
	struct fault why;
	uint64_t plus;
	size_t n;

	(void)state;
	assert_int_equal(find(img, names, 3, &m), 3);
	assert_int_equal(image_load_symbols(img, 1000, &n, &why), 0);
	assert_string_equal(name_at(img, m[0].offset + 7, &plus), "sized");
	assert_string_equal(name_at(img, m[0].offset + 8, &plus), "");
	assert_string_equal(name_at(img, m[1].offset + 15, &plus), "unsized");
	assert_int_equal(plus, 15);
	assert_string_equal(name_at(img, m[2].offset, &plus), "last");
	free(m);
	image_close(img);
}

static void a_function_without_size_ends_with_its_section(void **state)
{
	static const char source[] = "__asm__(\".section .aaa,\\\"ax\\\"\\n.globl lone\\n.type lone,@function\\n\"\n"
				     "\"lone: .skip 8, 0x90\\n\"\n"
				     "\".section .bbb,\\\"ax\\\"\\n.globl behind\\nbehind: .skip 64, 0x90\\n\");\n";
	static const char *const names[] = {"lone"};
	struct image *img = open_image(made_library("lone.so", source, "-nostdlib"));
	struct image_match *m;
	struct fault why;
	uint64_t plus;
	size_t n;

	(void)state;
	assert_int_equal(find(img, names, 1, &m), 1);
	assert_int_equal(image_load_symbols(img, 1000, &n, &why), 0);
	assert_string_equal(name_at(img, m[0].offset + 7, &plus), "lone");
	assert_string_equal(name_at(img, m[0].offset + 16, &plus), "");
	free(m);
	image_close(img);
}

static void more_functions_than_allowed_are_refused_and_nothing_is_kept(void **state)
{
	struct image *img = open_image(plain());
	struct fault why;
	size_t n = 77;

	(void)state;
	assert_int_equal(image_load_symbols(img, 2, &n, &why), ERR_INPUT);
	assert_int_equal(n, 77);
	assert_int_equal(image_load_symbols(img, 1000, &n, &why), 0);
	assert_true(n > 2);
	image_close(img);
}

static void a_long_name_is_cut_to_the_room_there_is(void **state)
{
	static const char *const names[] = {"thrice"};
	struct image *img = open_image(plain());
	struct image_match *m;
	struct fault why;
	char name[5];
	uint64_t plus;
	size_t n;

	(void)state;
	assert_int_equal(find(img, names, 1, &m), 1);
	assert_int_equal(image_load_symbols(img, 1000, &n, &why), 0);
	assert_int_equal(image_symbol(img, m[0].offset, name, sizeof(name), &plus, &why), 1);
	assert_string_equal(name, "thri");
	free(m);
	image_close(img);
}

static void what_is_no_64_bit_little_endian_program_is_refused_with_a_sentence(void **state)
{
	static const struct {
		size_t at;
		unsigned char value;
	} patches[] = {{0, 'X'}, {EI_CLASS, ELFCLASS32}, {EI_DATA, ELFDATA2MSB}, {16, ET_REL}, {16, ET_CORE}};
	struct image *img = NULL;
	struct fault why;
	size_t n;
	char *bytes = made_read(plain(), &n);
	int fd;

	(void)state;
	for (size_t i = 0; i < LEN(patches); i++) {
		char was = bytes[patches[i].at];

		bytes[patches[i].at] = (char)patches[i].value;
		made_write(made_path("other"), bytes, n);
		bytes[patches[i].at] = was;
		fd = open(made_path("other"), O_RDONLY);
		assert_int_equal(image_open(&img, fd, &why), ERR_INPUT);
		assert_true(strlen(why.text) > 10);
		assert_null(img);
		close(fd);
	}
	free(bytes);
	made_write(made_path("other"), "", 0);
	fd = open(made_path("other"), O_RDONLY);
	assert_int_equal(image_open(&img, fd, &why), ERR_INPUT);
	close(fd);
	fd = open(made_folder(), O_RDONLY);
	assert_int_equal(image_open(&img, fd, &why), ERR_INPUT);
	close(fd);
	assert_int_equal(image_open(&img, -1, &why), ERR_IO);
	assert_null(img);
}

/* A copy in memory that can be changed while it is open. */
static int open_copy(const char *path, char **bytes, size_t *n)
{
	int fd = memfd_create("copy", MFD_CLOEXEC);

	*bytes = made_read(path, n);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, *bytes, *n), *n);
	return fd;
}

static void a_file_that_shrinks_while_it_is_read_is_an_error(void **state)
{
	static const char *const names[] = {"twice"};
	struct image_match *m = NULL;
	struct image *img = NULL;
	struct fault why;
	size_t n, found;
	char *bytes;
	int fd = open_copy(plain(), &bytes, &n);

	(void)state;
	assert_int_equal(image_open(&img, fd, &why), 0);
	assert_int_equal(ftruncate(fd, 64), 0);
	assert_int_equal(image_find(img, names, 1, &m, &found, &why), ERR_FORMAT);
	assert_null(m);
	assert_int_equal(image_load_symbols(img, 1000, &found, &why), ERR_FORMAT);
	image_close(img);
	close(fd);
	free(bytes);
}

static void assert_sentence(const struct fault *why)
{
	assert_true(why->code < 0);
	assert_true(strlen(why->text) > 10);
	for (const char *p = why->text; *p; p++)
		assert_true(isprint((unsigned char)*p));
}

/* Everything that can be asked of a file: it may be refused, but never with an answer outside the file. */
static void ask_everything(int fd, uint64_t size)
{
	static const char *const names[] = {"twice", "thrice", "hidden", "chosen", ""};
	struct image_match *m = NULL;
	struct image *img = NULL;
	struct fault why = {.code = 0};
	char name[32];
	uint64_t plus;
	size_t n = 0;

	if (image_open(&img, fd, &why) != 0) {
		assert_sentence(&why);
		return;
	}
	assert_true(strlen(image_build_id(img)) <= 2 * IMAGE_BUILD_ID_MAX);
	if (image_find(img, names, LEN(names), &m, &n, &why) != 0)
		assert_sentence(&why);
	for (size_t i = 0; i < n; i++) {
		assert_true(m[i].name < LEN(names));
		assert_true(m[i].offset < size);
	}
	free(m);
	if (image_load_symbols(img, 1000, &n, &why) != 0)
		assert_sentence(&why);
	for (uint64_t offset = 0; offset < size; offset += 61)
		if (image_symbol(img, offset, name, sizeof(name), &plus, &why) == 1)
			assert_true(strlen(name) < sizeof(name) && plus < size);
	image_close(img);
}

/* As small as the linker makes it, with both tables. */
static const char *small(void)
{
	made_library("small.so", PLAIN_SOURCE,
		     "-nostdlib -Wl,-z,noseparate-code,-z,norelro,--build-id=0x1234 -Wl,-z,max-page-size=64 "
		     "-fno-asynchronous-unwind-tables");
	return made_path("small.so");
}

static void no_flipped_byte_leads_out_of_the_file(void **state)
{
	static const unsigned char masks[] = {0xff, 0x80, 0x01};
	char *bytes;
	size_t n;
	int fd = open_copy(small(), &bytes, &n);

	(void)state;
	assert_true(n < 16384);
	image_close(open_image(made_path("small.so"))); /* as it is, it is accepted */
	ask_everything(fd, n);
	for (size_t at = 0; at < n; at++)
		for (size_t i = 0; i < LEN(masks); i++) {
			char c = (char)(bytes[at] ^ (char)masks[i]);

			assert_int_equal(pwrite(fd, &c, 1, (off_t)at), 1);
			ask_everything(fd, n);
			assert_int_equal(pwrite(fd, &bytes[at], 1, (off_t)at), 1);
		}
	close(fd);
	free(bytes);
}

static void no_cut_leads_out_of_the_file(void **state)
{
	char *bytes;
	size_t n;
	int fd = open_copy(small(), &bytes, &n);

	(void)state;
	while (n-- > 0) {
		assert_int_equal(ftruncate(fd, (off_t)n), 0);
		ask_everything(fd, n);
	}
	close(fd);
	free(bytes);
}

static void a_table_of_more_symbols_than_are_read_is_refused_at_once(void **state)
{
	static const char *const names[] = {"twice"};
	uint64_t huge = (uint64_t)(IMAGE_SYMBOLS_MAX + 1) * sizeof(Elf64_Sym);
	struct image_match *m = NULL;
	struct image *img = NULL;
	struct fault why;
	Elf64_Ehdr h;
	size_t n, found;
	char *bytes;
	int fd = open_copy(plain(), &bytes, &n);

	(void)state;
	memcpy(&h, bytes, sizeof(h));
	for (size_t i = 0; i < h.e_shnum; i++) {
		off_t at = (off_t)(h.e_shoff + i * sizeof(Elf64_Shdr));
		Elf64_Shdr sh;

		memcpy(&sh, bytes + at, sizeof(sh));
		if (sh.sh_type == SHT_SYMTAB)
			sh.sh_size = huge;
		assert_int_equal(pwrite(fd, &sh, sizeof(sh), at), sizeof(sh));
	}
	assert_int_equal(ftruncate(fd, (off_t)(huge + n)), 0); /* a hole: it costs nothing */
	assert_int_equal(image_open(&img, fd, &why), 0);
	assert_int_equal(image_find(img, names, 1, &m, &found, &why), ERR_INPUT);
	assert_int_equal(image_load_symbols(img, SIZE_MAX, &found, &why), ERR_INPUT);
	image_close(img);
	close(fd);
	free(bytes);
}

static void a_name_outside_its_table_is_no_name(void **state)
{
	static const char *const names[] = {"twice"};
	struct image *img = open_image(plain());
	struct image_match *m;
	struct fault why;
	uint64_t at, plus;
	char name[32];
	Elf64_Ehdr h;
	size_t n;
	char *bytes;
	int fd = open_copy(plain(), &bytes, &n);

	(void)state;
	assert_int_equal(find(img, names, 1, &m), 1);
	at = m[0].offset;
	free(m);
	image_close(img);
	memcpy(&h, bytes, sizeof(h));
	for (size_t i = 0; i < h.e_shnum; i++) {
		Elf64_Shdr sh, str;

		memcpy(&sh, bytes + h.e_shoff + i * sizeof(sh), sizeof(sh));
		if (sh.sh_type != SHT_SYMTAB && sh.sh_type != SHT_DYNSYM)
			continue;
		memcpy(&str, bytes + h.e_shoff + sh.sh_link * sizeof(str), sizeof(str));
		for (uint64_t s = sh.sh_offset; s < sh.sh_offset + sh.sh_size; s += sizeof(Elf64_Sym)) {
			uint32_t outside = (uint32_t)str.sh_size + 1;

			assert_int_equal(pwrite(fd, &outside, sizeof(outside), (off_t)s), sizeof(outside));
		}
	}
	assert_int_equal(image_open(&img, fd, NULL), 0);
	assert_int_equal(find(img, names, 1, &m), 0);
	assert_int_equal(image_load_symbols(img, 1000, &n, &why), 0);
	assert_int_equal(image_symbol(img, at, name, sizeof(name), &plus, &why), 0);
	image_close(img);
	close(fd);
	free(bytes);
}

static void names_in_a_very_large_table_are_found_through_windows(void **state)
{
	static const char *const names[] = {"hidden", "twice"};
	struct image_match *want, *got;
	struct image *img = open_image(plain());
	Elf64_Ehdr h;
	size_t n;
	char *bytes;
	int fd = open_copy(plain(), &bytes, &n);

	(void)state;
	assert_int_equal(find(img, names, 2, &want), 2);
	image_close(img);
	memcpy(&h, bytes, sizeof(h));
	for (size_t i = 0; i < h.e_shnum; i++) {
		off_t at = (off_t)(h.e_shoff + i * sizeof(Elf64_Shdr));
		Elf64_Shdr sh;

		memcpy(&sh, bytes + at, sizeof(sh));
		if (sh.sh_type == SHT_STRTAB)
			sh.sh_size = 64 << 20;
		assert_int_equal(pwrite(fd, &sh, sizeof(sh), at), sizeof(sh));
	}
	assert_int_equal(ftruncate(fd, (64 << 20) + (off_t)n), 0);
	img = NULL;
	assert_int_equal(image_open(&img, fd, NULL), 0);
	assert_int_equal(find(img, names, 2, &got), 2);
	for (size_t i = 0; i < 2; i++)
		assert_true(want[i].name == got[i].name && want[i].offset == got[i].offset);
	free(want);
	free(got);
	image_close(img);
	close(fd);
	free(bytes);
}

/* A library of many functions, with hash table; f0, f1, ... */
static const char *many(void)
{
	static char path[2 * MADE_PATH];

	if (!path[0]) {
		made_run("i=0; while [ $i -lt 20000 ]; do echo \"int f$i(int a) { return a + $i; }\"; i=$((i+1)); done "
			 ">many.c");
		made_run("${CC:-cc} -O0 -fPIC -shared -s -Wl,--hash-style=gnu -o many.so many.c");
		strcpy(path, made_path("many.so"));
	}
	return path;
}

static void a_name_is_looked_up_by_its_hash_and_not_by_reading_all(void **state)
{
	static const char *const names[] = {"f7", "f19999", "f20000", "nothing", "f0"};
	struct image *img = open_image(many());
	struct image_match *m;

	(void)state;
	bytes_read = 0;
	assert_int_equal(find(img, names, LEN(names), &m), 3);
	assert_int_equal(m[0].name, 0);
	assert_int_equal(m[1].name, 1);
	assert_int_equal(m[2].name, 4);
	assert_true(m[0].exported && m[0].bytes > 0);
	assert_true(bytes_read < 4096);
	free(m);
	image_close(img);
}

/* Of the hash table nothing is read twice; a symbol that is found takes two reads. */
static void for_many_names_the_hash_table_is_read_at_once(void **state)
{
	enum { THERE = 100, NAMES = 1000 };
	static char text[NAMES][16];
	const char *names[NAMES];
	struct image *img = open_image(many());
	struct image_match *m;

	(void)state;
	for (int i = 0; i < NAMES; i++) {
		snprintf(text[i], sizeof(text[i]), i < THERE ? "f%d" : "none%d", i);
		names[i] = text[i];
	}
	reads = 0;
	assert_int_equal(find(img, names, NAMES, &m), THERE);
	for (size_t i = 0; i < THERE; i++)
		assert_int_equal(m[i].name, i);
	assert_true(reads < 3 * THERE);
	free(m);
	image_close(img);
}

/* What is found must not depend on the hash table: with it, without it, and with one whose words are nonsense. */
static void a_hash_table_that_contradicts_itself_is_left_aside(void **state)
{
	static const char *const names[] = {"f7", "f19999", "f20000", "nothing", "f0"};
	uint64_t hash_at = 0;
	size_t n;
	char *bytes;
	int fd = open_copy(many(), &bytes, &n);
	Elf64_Ehdr h;

	(void)state;
	memcpy(&h, bytes, sizeof(h));
	for (size_t i = 0; i < h.e_shnum; i++) {
		Elf64_Shdr sh;

		memcpy(&sh, bytes + h.e_shoff + i * sizeof(sh), sizeof(sh));
		if (sh.sh_type == SHT_GNU_HASH)
			hash_at = sh.sh_offset;
	}
	assert_true(hash_at > 0);
	/* number of buckets, first symbol, words of the filter, shift */
	for (size_t word = 0; word < 4; word++) {
		static const uint32_t nonsense[] = {0, UINT32_MAX, UINT32_MAX, 32};
		struct image_match *m;
		struct image *img;

		assert_int_equal(pwrite(fd, bytes, n, 0), n);
		assert_int_equal(pwrite(fd, &nonsense[word], 4, (off_t)(hash_at + 4 * word)), 4);
		assert_int_equal(image_open(&img, fd, NULL), 0);
		assert_int_equal(find(img, names, LEN(names), &m), 3);
		free(m);
		image_close(img);
	}
	close(fd);
	free(bytes);
}

static void a_file_that_makes_us_read_without_end_is_refused(void **state)
{
	static const char *const names[] = {"nothing"};
	enum { NSYMBOLS = 1 << 18 };
	const uint64_t names_bytes = 512 << 20;
	Elf64_Sym *symbols = calloc(NSYMBOLS, sizeof(*symbols));
	struct image_match *m;
	struct image *img;
	struct fault why;
	Elf64_Ehdr h;
	size_t n, found;
	char *bytes;
	int fd = open_copy(plain(), &bytes, &n);

	(void)state;
	assert_non_null(symbols);
	memcpy(&h, bytes, sizeof(h));
	assert_int_equal(image_open(&img, fd, NULL), 0);
	assert_int_equal(find(img, (const char *const[]){"twice"}, 1, &m), 1);
	for (size_t i = 0; i < NSYMBOLS; i++) { /* each name far from the one before */
		symbols[i].st_name = (uint32_t)((i * 2654435761u) % names_bytes);
		symbols[i].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
		symbols[i].st_shndx = 1;
		symbols[i].st_value = m[0].offset;
	}
	free(m);
	image_close(img);
	assert_int_equal(pwrite(fd, symbols, NSYMBOLS * sizeof(*symbols), (off_t)n), NSYMBOLS * sizeof(*symbols));
	for (size_t i = 0; i < h.e_shnum; i++) {
		off_t at = (off_t)(h.e_shoff + i * sizeof(Elf64_Shdr));
		Elf64_Shdr sh;

		memcpy(&sh, bytes + at, sizeof(sh));
		if (sh.sh_type == SHT_STRTAB)
			sh.sh_size = names_bytes;
		if (sh.sh_type == SHT_SYMTAB) {
			sh.sh_offset = n;
			sh.sh_size = NSYMBOLS * sizeof(*symbols);
		}
		assert_int_equal(pwrite(fd, &sh, sizeof(sh), at), sizeof(sh));
	}
	assert_int_equal(ftruncate(fd, (off_t)names_bytes + (off_t)n), 0);
	assert_int_equal(image_open(&img, fd, NULL), 0);
	bytes_read = 0;
	assert_int_equal(image_find(img, names, 1, &m, &found, &why), ERR_INPUT);
	assert_true(bytes_read <= IMAGE_READ_MAX);
	image_close(img);
	close(fd);
	free(bytes);
	free(symbols);
}

/* How many of nm's defined functions of libcudart we find, each at nm's address. */
static void all_of_cudarts_functions_are_found_where_nm_says(void **state)
{
	static char names[4096][96];
	static uint64_t address[4096];
	const char *list[4096];
	struct image_match *m;
	struct image *img;
	size_t n = 0, nfound;
	FILE *nm;

	(void)state;
	if (access(CUDART, R_OK) != 0) {
		print_message("# no CUDA toolkit is installed here (" CUDART ")\n");
		skip();
	}
	nm = popen("nm -D --defined-only " CUDART " | sed -n 's/@.*//; s/^\\([0-9a-f]*\\) [TW] /\\1 /p'", "r");
	assert_non_null(nm);
	while (n < LEN(names) && fscanf(nm, "%" SCNx64 " %95s", &address[n], names[n]) == 2) {
		list[n] = names[n];
		n++;
	}
	pclose(nm);
	assert_true(n > 200);
	img = open_image(CUDART);
	nfound = find(img, list, n, &m);
	assert_true(nfound >= n);
	for (size_t i = 0; i < n; i++) {
		bool found = false;

		for (size_t j = 0; j < nfound; j++)
			found |= m[j].name == i && (m[j].offset & 0xfff) == (address[i] & 0xfff);
		if (!found)
			fail_msg("%s is not where nm says", list[i]);
	}
	assert_int_equal(strlen(image_build_id(img)) % 2, 0);
	free(m);
	image_close(img);
}

static void exported_functions_are_reported_from_local_ones(void **state)
{
	static const char *const names[] = {"twice", "hidden"};
	struct image *img = open_image(plain());
	struct image_match *m;

	(void)state;
	assert_int_equal(find(img, names, LEN(names), &m), 2);
	assert_int_equal(m[0].name, 0);
	assert_true(m[0].exported);
	assert_int_equal(m[1].name, 1);
	assert_false(m[1].exported);
	free(m);
	image_close(img);
}

static void functions_of_other_files_are_reported_from_own_ones(void **state)
{
	struct image *img = open_image(plain());
	struct fault why;

	(void)state;
	assert_int_equal(image_imports(img, "missing", &why), 1);
	assert_int_equal(image_imports(img, "twice", &why), 0);
	assert_int_equal(image_imports(img, "hidden", &why), 0);
	assert_int_equal(image_imports(img, "missin", &why), 0);
	image_close(img);
}

static void code_for_gpus_is_seen_also_in_a_stripped_file(void **state)
{
	static const char source[] =
		"__attribute__((section(\".nv_fatbin\"), used)) static const char kernels[] = \"code\";\n";
	struct image *img = open_image(made_library("kernels.so", source, "-s"));

	(void)state;
	assert_true(image_has_kernels(img));
	image_close(img);
	img = open_image(made_library("like.so",
				      "__attribute__((section(\".nv_fatbin2\"), used)) static const char a[] = "
				      "\"\";\n__attribute__((section(\"x.nv_fatbin\"), used)) static const "
				      "char b[] = \"\";\n",
				      ""));
	assert_false(image_has_kernels(img));
	image_close(img);
	img = open_image(plain());
	assert_false(image_has_kernels(img));
	image_close(img);
}

static void when_memory_runs_out_every_call_says_so_and_loses_nothing(void **state)
{
	(void)state;
#ifndef MADE_CAN_FAIL
	print_message("# the address sanitizer has an allocator of its own\n");
	skip();
#else
	static const char *const names[] = {"twice", "thrice"};
	int fd = open(plain(), O_RDONLY | O_CLOEXEC);
	bool failed = true;

	assert_true(fd >= 0);
	for (long left = 0; failed; left++) {
		struct image_match *m = NULL;
		struct image *img = NULL;
		struct fault why = {.code = 0};
		size_t n = 0;
		int err;

		made_malloc_failed = false;
		made_malloc_left = left;
		err = image_open(&img, fd, &why);
		if (!err)
			err = image_find(img, names, 2, &m, &n, &why);
		if (!err)
			err = image_load_symbols(img, 1000, &n, &why);
		made_malloc_left = -1;
		failed = made_malloc_failed;
		free(m);
		image_close(img);
		if (failed && err) /* qsort() and a last shrinking can do without */
			assert_sentence(&why);
		if (!failed)
			assert_int_equal(err, 0);
		assert_true(left < 1000);
	}
	close(fd);
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(build_id_is_what_the_linker_was_given),
		cmocka_unit_test(a_library_without_build_id_has_none),
		cmocka_unit_test(a_build_id_of_64_bytes_is_read_and_one_of_65_is_none),
		cmocka_unit_test(functions_are_found_where_their_code_stands),
		cmocka_unit_test(every_version_of_a_function_is_found),
		cmocka_unit_test(versions_written_into_names_in_symtab_are_left_aside),
		cmocka_unit_test(aliases_are_two_matches_at_one_offset),
		cmocka_unit_test(a_name_asked_for_twice_is_answered_twice),
		cmocka_unit_test(undefined_functions_data_and_names_that_begin_alike_are_not_found),
		cmocka_unit_test(a_stub_for_a_function_of_another_library_is_not_that_function),
		cmocka_unit_test(an_ifunc_is_marked),
		cmocka_unit_test(local_functions_are_found_until_the_library_is_stripped),
		cmocka_unit_test(too_many_matches_are_refused),
		cmocka_unit_test(an_offset_is_named_by_the_function_it_lies_in),
		cmocka_unit_test(a_global_name_goes_before_a_local_and_a_weak_one),
		cmocka_unit_test(between_functions_there_is_none_but_one_without_size_reaches_to_the_next),
		cmocka_unit_test(a_function_without_size_ends_with_its_section),
		cmocka_unit_test(more_functions_than_allowed_are_refused_and_nothing_is_kept),
		cmocka_unit_test(a_long_name_is_cut_to_the_room_there_is),
		cmocka_unit_test(what_is_no_64_bit_little_endian_program_is_refused_with_a_sentence),
		cmocka_unit_test(a_file_that_shrinks_while_it_is_read_is_an_error),
		cmocka_unit_test(no_flipped_byte_leads_out_of_the_file),
		cmocka_unit_test(no_cut_leads_out_of_the_file),
		cmocka_unit_test(a_table_of_more_symbols_than_are_read_is_refused_at_once),
		cmocka_unit_test(a_name_outside_its_table_is_no_name),
		cmocka_unit_test(names_in_a_very_large_table_are_found_through_windows),
		cmocka_unit_test(a_name_is_looked_up_by_its_hash_and_not_by_reading_all),
		cmocka_unit_test(for_many_names_the_hash_table_is_read_at_once),
		cmocka_unit_test(a_hash_table_that_contradicts_itself_is_left_aside),
		cmocka_unit_test(a_file_that_makes_us_read_without_end_is_refused),
		cmocka_unit_test(all_of_cudarts_functions_are_found_where_nm_says),
		cmocka_unit_test(exported_functions_are_reported_from_local_ones),
		cmocka_unit_test(functions_of_other_files_are_reported_from_own_ones),
		cmocka_unit_test(code_for_gpus_is_seen_also_in_a_stripped_file),
		cmocka_unit_test(when_memory_runs_out_every_call_says_so_and_loses_nothing),
	};

	return cmocka_run_group_tests_name("elf", tests, NULL, made_clear);
}
