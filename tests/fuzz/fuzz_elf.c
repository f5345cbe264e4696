/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ELF files of strangers. Whatever the bytes: what is found lies inside the file, names end, an error has its sentence
 * and gives nothing out; asked twice, the answer is the same.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record/symbols/elf_unwind.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/small_elf.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

static const char *const wanted[] = {"cudaMalloc", "cudaFree", "__cudaLaunchKernel", "twice", "hidden", "t", ""};

static void must_fault(int r, const struct fault *why)
{
	MUST(r == ERR_INPUT || r == ERR_FORMAT || r == ERR_MEMORY || r == ERR_VERSION);
	MUST(why->code == r && why->text[0] && memchr(why->text, 0, sizeof(why->text)));
}

static void ask_for_functions(struct image *img, size_t n)
{
	struct image_match *found = NULL, *again = NULL;
	struct fault why = {0};
	size_t nfound = 0, nagain = 0;
	int r = image_find(img, wanted, LEN(wanted), &found, &nfound, &why);

	if (r < 0) {
		must_fault(r, &why);
		MUST(!found && !nfound);
		return;
	}
	MUST(r == 0 && nfound <= IMAGE_MATCHES_MAX && (nfound > 0) == (found != NULL));
	for (size_t i = 0; i < nfound; i++) {
		MUST(found[i].name < LEN(wanted) && found[i].offset < n);
		MUST(!i || found[i - 1].name < found[i].name ||
		     (found[i - 1].name == found[i].name && found[i - 1].offset < found[i].offset));
	}
	MUST(image_find(img, wanted, LEN(wanted), &again, &nagain, &why) == 0 && nagain == nfound);
	for (size_t i = 0; i < nfound; i++)
		MUST(again[i].name == found[i].name && again[i].offset == found[i].offset &&
		     again[i].bytes == found[i].bytes && again[i].exported == found[i].exported);
	free(found);
	free(again);
	r = image_imports(img, "__cudaRegisterFatBinary", &why);
	if (r < 0)
		must_fault(r, &why);
	MUST(r <= 1);
}

static void ask_for_names(struct image *img, size_t n)
{
	struct fault why = {0};
	size_t nsymbols = SIZE_MAX;
	int r = image_load_symbols(img, 1000, &nsymbols, &why);

	if (r < 0) {
		must_fault(r, &why);
		MUST(nsymbols == SIZE_MAX);
		return;
	}
	MUST(nsymbols <= 1000);
	for (size_t at = 0; at < n + 64; at += 1 + n / 512) {
		char *name = malloc(32);
		uint64_t plus = UINT64_MAX;

		MUST(name);
		memset(name, 'x', 32);
		r = image_symbol(img, at, name, 32, &plus, &why);
		MUST(r <= 1);
		if (r == 1)
			MUST(name[0] && memchr(name, 0, 32) && plus <= at && at < n);
		else if (r < 0)
			must_fault(r, &why);
		free(name);
	}
}

static bool any_word(void *self, uint64_t address, uint64_t *word)
{
	(void)self;
	*word = address * 3;
	return address % 7;
}

static void ask_for_callers(struct image *img, size_t n)
{
	const struct memory memory = {any_word, NULL};

	for (size_t at = 0; at < n + 64; at += 1 + n / 64) {
		struct registers r = {at, 8 * at, 16 * at, 0};
		struct fault why = {0};
		bool exact;
		int got = image_unwind(img, at, &r, &memory, &exact, &why);

		MUST(got <= 1);
		if (got < 0)
			must_fault(got, &why);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	int fd = memfd_create("fuzz_elf", MFD_CLOEXEC), r;
	struct image *img = NULL;
	struct fault why = {0};
	const char *id;

	MUST(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
	r = image_open(&img, fd, &why);
	if (r < 0) {
		must_fault(r, &why);
		MUST(!img);
	} else {
		id = image_build_id(img);
		MUST(strlen(id) <= (size_t)2 * IMAGE_BUILD_ID_MAX && strspn(id, "0123456789abcdef") == strlen(id));
		(void)image_has_kernels(img);
		ask_for_functions(img, n);
		ask_for_names(img, n);
		ask_for_callers(img, n);
		image_close(img);
	}
	close(fd);
	return 0;
}

unsigned fuzz_seeds(void (*give)(void *arg, const uint8_t *bytes, size_t n), void *arg)
{
	static struct small_elf m;

	small_elf(&m, false);
	give(arg, (const uint8_t *)&m, sizeof(m));
	small_elf(&m, true);
	m.head.e_shnum = 3; /* without .symtab */
	give(arg, (const uint8_t *)&m, sizeof(m));
	small_elf(&m, false);
	m.head.e_shnum = 0; /* stripped of section headers */
	m.head.e_shoff = 0;
	give(arg, (const uint8_t *)&m, sizeof(m));
	return 3;
}
