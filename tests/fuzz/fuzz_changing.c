/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ELF file of a stranger who writes to it while it is read: before each pread(2) a byte is put into it, or it is cut
 * off, or what was done before is taken back. Nothing is promised of what is found then, but that it is reported in
 *whole: names end, an error has its sentence and gives nothing out. Sanitizers see the rest.
 *
 *	0 1 how many edits, n   1 6n edits: 4 where, little-endian; 1 byte; 1 what   1 + 6n the file
 */
#undef _FORTIFY_SOURCE /* pread() is replaced below */
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/symbols/elf.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/small_elf.h"

#define EDIT_BYTES 6
#define EDITS_MAX 8
#define CUT 7 /* what % 8: the file ends there; else the byte is put */

static const char *const wanted[] = {"cudaMalloc", "cudaFree", "__cudaLaunchKernel", "strlen", "main", ""};
#define NWANTED (sizeof(wanted) / sizeof(wanted[0]))

static struct {
	int fd; /* -1: pread() is as ever */
	const uint8_t *bytes, *edits;
	size_t n, nedits, nreads;
} changing = {.fd = -1};

/* Every other read sees the file as it was: then one edit, then the next one. */
static void change(void)
{
	size_t turn = changing.nreads++ % (2 * changing.nedits), at;
	const uint8_t *e = changing.edits + turn / 2 * EDIT_BYTES;

	MUST(pwrite(changing.fd, changing.bytes, changing.n, 0) == (ssize_t)changing.n);
	at = (e[0] | (size_t)e[1] << 8 | (size_t)e[2] << 16 | (size_t)e[3] << 24) % changing.n;
	if (turn % 2 == 0)
		return;
	if (e[5] % 8 == CUT)
		MUST(ftruncate(changing.fd, (off_t)at) == 0);
	else
		MUST(pwrite(changing.fd, e + 4, 1, (off_t)at) == 1);
}

ssize_t pread(int fd, void *buf, size_t n, off_t at)
{
	/* By whatever descriptor: the parser has its own. */
	if (changing.fd >= 0)
		change();
	return syscall(SYS_pread64, fd, buf, n, at);
}

static void must_fault(int r, const struct fault *why)
{
	MUST(r >= 0 || (why->code == r && why->text[0] && memchr(why->text, 0, sizeof(why->text))));
}

static void ask(struct image *img, size_t n)
{
	struct image_match *found = NULL;
	struct fault why = {0};
	size_t nfound = 0, nsymbols = 0;
	uint64_t plus;
	char name[32];
	int r = image_find(img, wanted, NWANTED, &found, &nfound, &why);

	must_fault(r, &why);
	MUST(nfound <= IMAGE_MATCHES_MAX && (nfound > 0) == (found != NULL));
	for (size_t i = 0; i < nfound; i++)
		MUST(found[i].name < NWANTED);
	free(found);
	must_fault(image_imports(img, "__cudaRegisterFatBinary", &why), &why);
	must_fault(image_load_symbols(img, 1000, &nsymbols, &why), &why);
	for (size_t at = 0; at < n; at += 1 + n / 64) {
		memset(name, 'x', sizeof(name));
		r = image_symbol(img, at, name, sizeof(name), &plus, &why);
		must_fault(r, &why);
		MUST(r != 1 || memchr(name, 0, sizeof(name)));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	size_t nedits = n ? bytes[0] % (EDITS_MAX + 1) : 0, head = 1 + nedits * EDIT_BYTES;
	int fd = memfd_create("fuzz_changing", MFD_CLOEXEC), r;
	struct image *img = NULL;
	struct fault why = {0};
	const char *id;

	MUST(fd >= 0);
	if (nedits == 0 || n <= head)
		goto out;
	changing.fd = fd;
	changing.bytes = bytes + head;
	changing.n = n - head;
	changing.edits = bytes + 1;
	changing.nedits = nedits;
	changing.nreads = 0;
	MUST(write(fd, changing.bytes, changing.n) == (ssize_t)changing.n);
	r = image_open(&img, fd, &why);
	must_fault(r, &why);
	MUST((r < 0) == !img);
	if (img) {
		id = image_build_id(img);
		MUST(strlen(id) <= (size_t)2 * IMAGE_BUILD_ID_MAX && strspn(id, "0123456789abcdef") == strlen(id));
		(void)image_has_kernels(img);
		ask(img, changing.n);
		MUST(changing.nreads > 0);
		image_close(img);
	}
out:
	changing.fd = -1;
	close(fd);
	return 0;
}

unsigned fuzz_seeds(void (*give)(void *arg, const uint8_t *bytes, size_t n), void *arg)
{
	/* Where sections are and how many, where a segment and the names are, and where the file ends. */
	static const uint8_t edits[][EDIT_BYTES] = {
		{offsetof(Elf64_Ehdr, e_shoff), 0, 0, 0, 0xff, 0},
		{offsetof(Elf64_Ehdr, e_shnum) + 1, 0, 0, 0, 0xff, 0},
		{offsetof(struct small_elf, segment) + offsetof(Elf64_Phdr, p_vaddr), 0, 0, 0, 0xff, 0},
		{(uint8_t)offsetof(struct small_elf, names), offsetof(struct small_elf, names) >> 8, 0, 0, 'x', 0},
		{(uint8_t)offsetof(struct small_elf, hash), offsetof(struct small_elf, hash) >> 8, 0, 0, 0xff, 0},
		{0, 2, 0, 0, 0, CUT},
	};
	static uint8_t seed[1 + sizeof(edits) + sizeof(struct small_elf)];
	struct small_elf m;

	seed[0] = sizeof(edits) / EDIT_BYTES;
	memcpy(seed + 1, edits, sizeof(edits));
	small_elf(&m, false);
	memcpy(seed + 1 + sizeof(edits), &m, sizeof(m));
	give(arg, seed, sizeof(seed));
	return 1;
}
