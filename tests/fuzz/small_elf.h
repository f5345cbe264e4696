/* SPDX-License-Identifier: Apache-2.0 */
/* A small ELF file with all that is looked for in one, to start fuzzing from. */
#ifndef GPUREC_TESTS_FUZZ_SMALL_ELF_H
#define GPUREC_TESTS_FUZZ_SMALL_ELF_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define CODE_BYTES 0x100u
#define BASE 0x1000u

struct small_elf {
	Elf64_Ehdr head;
	Elf64_Phdr segment[2];
	Elf64_Shdr section[8];
	struct {
		Elf64_Nhdr head;
		char name[4];
		uint8_t id[8];
	} note;
	char names[96], section_names[64];
	Elf64_Sym dynsym[5], symtab[5];
	struct {
		uint32_t nbuckets, first, filter_words, filter_shift;
		uint64_t filter;
		uint32_t bucket, chain[4];
	} hash;
	char pad[64];
	uint8_t code[CODE_BYTES];
};

static inline Elf64_Sym symbol(uint32_t name, unsigned bind, unsigned type, uint16_t section, uint64_t at,
			       uint64_t bytes)
{
	return (Elf64_Sym){name, (unsigned char)ELF64_ST_INFO(bind, type), 0, section, at, bytes};
}

static inline uint32_t hash_of(const char *name)
{
	uint32_t h = 5381;

	while (*name)
		h = h * 33 + (uint8_t)*name++;
	return h;
}

static inline void small_elf(struct small_elf *m, bool executable)
{
	static const char names[] = "\0cudaMalloc\0cudaFree@V1\0twice\0hidden\0__cudaRegisterFatBinary\0t";
	static const char section_names[] = "\0.text\0.dynsym\0.symtab\0.strtab\0.nv_fatbin";
	const uint64_t code = offsetof(struct small_elf, code);

	memset(m, 0, sizeof(*m));
	memcpy(m->head.e_ident,
	       "\x7f"
	       "ELF\2\1\1",
	       7);
	m->head.e_type = executable ? ET_EXEC : ET_DYN;
	m->head.e_machine = EM_X86_64;
	m->head.e_version = 1;
	m->head.e_phoff = offsetof(struct small_elf, segment);
	m->head.e_phnum = 2;
	m->head.e_phentsize = sizeof(Elf64_Phdr);
	m->head.e_ehsize = sizeof(Elf64_Ehdr);
	m->head.e_shoff = offsetof(struct small_elf, section);
	m->head.e_shnum = 8;
	m->head.e_shentsize = sizeof(Elf64_Shdr);
	m->head.e_shstrndx = 5;
	m->segment[0] = (Elf64_Phdr){PT_LOAD, PF_R | PF_X, code, BASE, BASE, CODE_BYTES, CODE_BYTES, 16};
	m->segment[1] = (Elf64_Phdr){PT_NOTE,         PF_R, offsetof(struct small_elf, note), 0, 0, sizeof(m->note),
				     sizeof(m->note), 4};
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
				     .sh_offset = offsetof(struct small_elf, dynsym),
				     .sh_size = sizeof(m->dynsym),
				     .sh_link = 4,
				     .sh_entsize = sizeof(Elf64_Sym)};
	m->section[3] = (Elf64_Shdr){.sh_name = 15,
				     .sh_type = SHT_SYMTAB,
				     .sh_offset = offsetof(struct small_elf, symtab),
				     .sh_size = sizeof(m->symtab),
				     .sh_link = 4,
				     .sh_entsize = sizeof(Elf64_Sym)};
	m->section[4] = (Elf64_Shdr){.sh_name = 23,
				     .sh_type = SHT_STRTAB,
				     .sh_offset = offsetof(struct small_elf, names),
				     .sh_size = sizeof(m->names)};
	m->section[5] = (Elf64_Shdr){.sh_name = 23,
				     .sh_type = SHT_STRTAB,
				     .sh_offset = offsetof(struct small_elf, section_names),
				     .sh_size = sizeof(m->section_names)};
	/* All in one bucket; the filter lets everything pass. */
	m->hash.nbuckets = m->hash.first = m->hash.filter_words = m->hash.bucket = 1;
	m->hash.filter = UINT64_MAX;
	for (size_t i = 0; i < 4; i++)
		m->hash.chain[i] = (hash_of(names + m->dynsym[i + 1].st_name) & ~1u) | (i == 3);
	m->section[7] = (Elf64_Shdr){.sh_type = SHT_GNU_HASH,
				     .sh_offset = offsetof(struct small_elf, hash),
				     .sh_size = sizeof(m->hash),
				     .sh_link = 2};
	m->section[6] = (Elf64_Shdr){.sh_name = 31, .sh_type = SHT_PROGBITS, .sh_offset = code, .sh_size = 16};
}

#endif
