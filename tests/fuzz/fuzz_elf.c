/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ELF files of strangers. Whatever the bytes: what is found lies inside the file, names end, an error has its sentence
 * and gives nothing out; asked twice, the answer is the same.
 */
#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record/elf.h"
#include "tests/fuzz/fuzz.h"

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
		image_close(img);
	}
	close(fd);
	return 0;
}

/* --- a small file to start from --- */

#define CODE_BYTES 0x100u
#define BASE 0x1000u

struct made {
	Elf64_Ehdr head;
	Elf64_Phdr segment[2];
	Elf64_Shdr section[7];
	struct {
		Elf64_Nhdr head;
		char name[4];
		uint8_t id[8];
	} note;
	char names[96], section_names[64];
	Elf64_Sym dynsym[5], symtab[5];
	char pad[64];
	uint8_t code[CODE_BYTES];
};

static Elf64_Sym symbol(uint32_t name, unsigned bind, unsigned type, uint16_t section, uint64_t at, uint64_t bytes)
{
	return (Elf64_Sym){name, (unsigned char)ELF64_ST_INFO(bind, type), 0, section, at, bytes};
}

static void make(struct made *m, bool executable)
{
	static const char names[] = "\0cudaMalloc\0cudaFree@V1\0twice\0hidden\0__cudaRegisterFatBinary\0t";
	static const char section_names[] = "\0.text\0.dynsym\0.symtab\0.strtab\0.nv_fatbin";
	const uint64_t code = offsetof(struct made, code);

	memset(m, 0, sizeof(*m));
	memcpy(m->head.e_ident,
	       "\x7f"
	       "ELF\2\1\1",
	       7);
	m->head.e_type = executable ? ET_EXEC : ET_DYN;
	m->head.e_machine = EM_X86_64;
	m->head.e_version = 1;
	m->head.e_phoff = offsetof(struct made, segment);
	m->head.e_phnum = 2;
	m->head.e_phentsize = sizeof(Elf64_Phdr);
	m->head.e_ehsize = sizeof(Elf64_Ehdr);
	m->head.e_shoff = offsetof(struct made, section);
	m->head.e_shnum = 7;
	m->head.e_shentsize = sizeof(Elf64_Shdr);
	m->head.e_shstrndx = 5;
	m->segment[0] = (Elf64_Phdr){PT_LOAD, PF_R | PF_X, code, BASE, BASE, CODE_BYTES, CODE_BYTES, 16};
	m->segment[1] =
		(Elf64_Phdr){PT_NOTE, PF_R, offsetof(struct made, note), 0, 0, sizeof(m->note), sizeof(m->note), 4};
	m->note.head = (Elf64_Nhdr){4, 8, NT_GNU_BUILD_ID};
	memcpy(m->note.name, "GNU", 4);
	memcpy(m->note.id, "\1\2\3\4\5\6\7\xff", 8);
	memcpy(m->names, names, sizeof(names));
	memcpy(m->section_names, section_names, sizeof(section_names));
	m->dynsym[1] = symbol(1, STB_GLOBAL, STT_FUNC, 1, BASE, 32);
	m->dynsym[2] = symbol(12, STB_GLOBAL, STT_GNU_IFUNC, 1, BASE + 32, 16);
	m->dynsym[3] = symbol(37, STB_GLOBAL, STT_FUNC, SHN_UNDEF, 0, 0);
	m->dynsym[4] = symbol(24, STB_WEAK, STT_FUNC, 1, BASE + 48, 0);
	m->symtab[1] = m->dynsym[1];
	m->symtab[2] = symbol(30, STB_LOCAL, STT_FUNC, 1, BASE + 64, 8);
	m->symtab[3] = symbol(61, STB_LOCAL, STT_FUNC, 1, BASE + 128, 0);
	m->symtab[4] = symbol(24, STB_GLOBAL, STT_OBJECT, 1, BASE + 200, 8);
	m->section[1] = (Elf64_Shdr){.sh_name = 1,
				     .sh_type = SHT_PROGBITS,
				     .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
				     .sh_addr = BASE,
				     .sh_offset = code,
				     .sh_size = CODE_BYTES};
	m->section[2] = (Elf64_Shdr){.sh_name = 7,
				     .sh_type = SHT_DYNSYM,
				     .sh_offset = offsetof(struct made, dynsym),
				     .sh_size = sizeof(m->dynsym),
				     .sh_link = 4,
				     .sh_entsize = sizeof(Elf64_Sym)};
	m->section[3] = (Elf64_Shdr){.sh_name = 15,
				     .sh_type = SHT_SYMTAB,
				     .sh_offset = offsetof(struct made, symtab),
				     .sh_size = sizeof(m->symtab),
				     .sh_link = 4,
				     .sh_entsize = sizeof(Elf64_Sym)};
	m->section[4] = (Elf64_Shdr){.sh_name = 23,
				     .sh_type = SHT_STRTAB,
				     .sh_offset = offsetof(struct made, names),
				     .sh_size = sizeof(m->names)};
	m->section[5] = (Elf64_Shdr){.sh_name = 23,
				     .sh_type = SHT_STRTAB,
				     .sh_offset = offsetof(struct made, section_names),
				     .sh_size = sizeof(m->section_names)};
	m->section[6] = (Elf64_Shdr){.sh_name = 31, .sh_type = SHT_PROGBITS, .sh_offset = code, .sh_size = 16};
}

unsigned fuzz_seeds(void (*give)(void *arg, const uint8_t *bytes, size_t n), void *arg)
{
	static struct made m;

	make(&m, false);
	give(arg, (const uint8_t *)&m, sizeof(m));
	make(&m, true);
	m.head.e_shnum = 3; /* without .symtab */
	give(arg, (const uint8_t *)&m, sizeof(m));
	make(&m, false);
	m.head.e_shnum = 0; /* stripped of section headers */
	m.head.e_shoff = 0;
	give(arg, (const uint8_t *)&m, sizeof(m));
	return 3;
}
