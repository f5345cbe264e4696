/* SPDX-License-Identifier: Apache-2.0 */
/* Opening: headers through libelf, after a look of our own at what would make it work without bounds; then the
 * build-id. */
#include "record/symbols/elf_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libelf.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KERNELS_SECTION ".nv_fatbin"
#define NOTES_MAX 65536 /* bytes of one PT_NOTE that are searched */

int image_pread(struct image *img, void *buf, size_t n, uint64_t at, struct fault *why)
{
	size_t have = 0;

	if (n > img->left_bytes)
		return fault_set(why, ERR_INPUT, at, "more than %llu bytes of the ELF file would have to be read",
				 IMAGE_READ_MAX);
	img->left_bytes -= n;
	while (have < n) {
		ssize_t got = pread(img->fd, (char *)buf + have, n - have, (off_t)(at + have));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return fault_errno(why, "cannot read an ELF file");
		if (got == 0)
			return fault_set(why, ERR_FORMAT, at + have, "the ELF file became shorter while it was read");
		have += (size_t)got;
	}
	return 0;
}

static bool in_file(const struct image *img, uint64_t at, uint64_t n)
{
	return at <= img->file_bytes && n <= img->file_bytes - at;
}

/* What libelf must not meet: other classes, and tables whose size a few bytes of the file would decide. */
static int check_header(struct image *img, struct fault *why)
{
	unsigned char raw[sizeof(Elf64_Ehdr)];
	Elf64_Ehdr h;
	int err;

	if (img->file_bytes < sizeof(raw))
		return fault_set(why, ERR_INPUT, 0, "not an ELF file: it is too short");
	err = image_pread(img, raw, sizeof(raw), 0, why);
	if (err)
		return err;
	if (memcmp(raw, ELFMAG, SELFMAG) != 0)
		return fault_set(why, ERR_INPUT, 0, "not an ELF file");
	if (raw[EI_CLASS] != ELFCLASS64 || raw[EI_DATA] != ELFDATA2LSB)
		return fault_set(why, ERR_INPUT, EI_CLASS, "not a 64-bit little-endian ELF file");
	memcpy(&h, raw, sizeof(h)); /* this host is little-endian: see the check at the end of elf_inside.h */
	if (h.e_type != ET_EXEC && h.e_type != ET_DYN)
		return fault_set(why, ERR_INPUT, offsetof(Elf64_Ehdr, e_type),
				 "the ELF file is neither an executable nor a shared object");
	if (h.e_phnum == PN_XNUM || (h.e_shnum == 0 && h.e_shoff != 0))
		return fault_set(why, ERR_INPUT, offsetof(Elf64_Ehdr, e_phnum),
				 "the ELF file has more segments or sections than are read");
	if (h.e_phnum &&
	    (h.e_phentsize != sizeof(Elf64_Phdr) || !in_file(img, h.e_phoff, (uint64_t)h.e_phnum * sizeof(Elf64_Phdr))))
		return fault_set(why, ERR_FORMAT, offsetof(Elf64_Ehdr, e_phoff),
				 "the ELF file's program headers are not in it");
	if (h.e_shnum &&
	    (h.e_shentsize != sizeof(Elf64_Shdr) || !in_file(img, h.e_shoff, (uint64_t)h.e_shnum * sizeof(Elf64_Shdr))))
		return fault_set(why, ERR_FORMAT, offsetof(Elf64_Ehdr, e_shoff),
				 "the ELF file's section headers are not in it");
	return 0;
}

static const char *libelf_error(void)
{
	const char *text = elf_errmsg(-1);

	return text ? text : "no reason given";
}

/* One PT_NOTE: "GNU" notes are 4-byte words, aligned as the segment says. One that does not add up ends the search. */
static int search_notes(struct image *img, const GElf_Phdr *ph, struct fault *why)
{
	static const char hex[] = "0123456789abcdef";
	size_t len = ph->p_filesz < NOTES_MAX ? (size_t)ph->p_filesz : NOTES_MAX;
	size_t align = ph->p_align == 8 ? 8 : 4, at = 0;
	unsigned char *buf = malloc(len ? len : 1);
	int err;

	if (!buf)
		return fault_no_memory(why);
	err = image_pread(img, buf, len, ph->p_offset, why);
	while (!err && len - at >= 12) {
		Elf64_Nhdr note;
		size_t name_at = at + sizeof(note), desc_at;

		memcpy(&note, buf + at, sizeof(note));
		desc_at = name_at + ((note.n_namesz + align - 1) & ~(align - 1));
		if (desc_at > len || note.n_descsz > len - desc_at)
			break;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(buf + name_at, "GNU", 4) == 0) {
			for (size_t i = 0; note.n_descsz <= IMAGE_BUILD_ID_MAX && i < note.n_descsz; i++) {
				img->build_id[2 * i] = hex[buf[desc_at + i] >> 4];
				img->build_id[2 * i + 1] = hex[buf[desc_at + i] & 15];
			}
			break;
		}
		at = desc_at + ((note.n_descsz + align - 1) & ~(align - 1));
		if (at > len)
			break;
	}
	free(buf);
	return err;
}

static int read_segments(struct image *img, Elf *elf, struct fault *why)
{
	size_t n;

	if (elf_getphdrnum(elf, &n) != 0)
		return fault_set(why, ERR_FORMAT, 0, "the ELF file's program headers: %s", libelf_error());
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr ph;
		int err = 0;

		if (!gelf_getphdr(elf, (int)i, &ph))
			return fault_set(why, ERR_FORMAT, 0, "the ELF file's program headers: %s", libelf_error());
		if (ph.p_type != PT_LOAD && ph.p_type != PT_NOTE)
			continue;
		if (!in_file(img, ph.p_offset, ph.p_filesz) || ph.p_vaddr > UINT64_MAX - ph.p_filesz)
			return fault_set(why, ERR_FORMAT, ph.p_offset, "a segment of the ELF file is not in it");
		if (ph.p_type == PT_NOTE && !img->build_id[0] && img->nnotes++ < IMAGE_SEGMENTS_MAX)
			err = search_notes(img, &ph, why);
		if (err)
			return err;
		if (ph.p_type != PT_LOAD || !(ph.p_flags & PF_X) || !ph.p_filesz)
			continue;
		if (img->ncode == IMAGE_SEGMENTS_MAX)
			return fault_set(why, ERR_INPUT, ph.p_offset, "the ELF file has more than %d code segments",
					 IMAGE_SEGMENTS_MAX);
		img->code[img->ncode++] = (struct segment){ph.p_offset, ph.p_vaddr, ph.p_filesz};
	}
	return 0;
}

/* A symbol table and the names it refers to. */
static int read_table(struct image *img, Elf *elf, const GElf_Shdr *sh, struct table *t, struct fault *why)
{
	Elf_Scn *names = elf_getscn(elf, sh->sh_link);
	GElf_Shdr str;

	if (!names || !gelf_getshdr(names, &str) || str.sh_type != SHT_STRTAB)
		return fault_set(why, ERR_FORMAT, sh->sh_offset, "a symbol table of the ELF file has no names");
	if ((sh->sh_flags | str.sh_flags) & SHF_COMPRESSED)
		return fault_set(why, ERR_INPUT, sh->sh_offset, "a symbol table of the ELF file is compressed");
	if (sh->sh_entsize != sizeof(Elf64_Sym) || !in_file(img, sh->sh_offset, sh->sh_size) ||
	    !in_file(img, str.sh_offset, str.sh_size))
		return fault_set(why, ERR_FORMAT, sh->sh_offset, "a symbol table of the ELF file is not in it");
	*t = (struct table){sh->sh_offset, sh->sh_size / sizeof(Elf64_Sym), str.sh_offset, str.sh_size};
	return 0;
}

/* The names of sections are of no consequence but one: a file whose names cannot be read has none. */
static void read_section_names(const struct image *img, Elf *elf, struct table *names)
{
	Elf_Scn *scn;
	GElf_Shdr sh;
	size_t i;

	*names = (struct table){0};
	if (elf_getshdrstrndx(elf, &i) != 0)
		return;
	scn = elf_getscn(elf, i);
	if (scn && gelf_getshdr(scn, &sh) && sh.sh_type == SHT_STRTAB && !(sh.sh_flags & SHF_COMPRESSED) &&
	    in_file(img, sh.sh_offset, sh.sh_size))
		*names = (struct table){.names_at = sh.sh_offset, .names_bytes = sh.sh_size};
}

static bool is_called(struct image *img, const struct table *names, const GElf_Shdr *sh, const char *name)
{
	char text[sizeof(KERNELS_SECTION)];

	return strlen(name) < sizeof(text) && sh->sh_name < names->names_bytes &&
	       names->names_bytes - sh->sh_name > strlen(name) &&
	       image_pread(img, text, strlen(name) + 1, names->names_at + sh->sh_name, NULL) == 0 &&
	       memcmp(text, name, strlen(name) + 1) == 0;
}

static int read_sections(struct image *img, Elf *elf, struct fault *why)
{
	Elf_Scn *scn = NULL;
	struct table names;

	read_section_names(img, elf, &names);
	while ((scn = elf_nextscn(elf, scn))) {
		struct table *t;
		GElf_Shdr sh;
		int err;

		if (!gelf_getshdr(scn, &sh))
			return fault_set(why, ERR_FORMAT, 0, "the ELF file's section headers: %s", libelf_error());
		if (sh.sh_type == SHT_PROGBITS && !img->has_kernels)
			img->has_kernels = is_called(img, &names, &sh, KERNELS_SECTION);
		if ((sh.sh_flags & SHF_EXECINSTR) && img->nsections < SECTIONS_MAX)
			img->sections[img->nsections++] = (struct section){sh.sh_addr, sh.sh_size};
		if (sh.sh_type == SHT_GNU_HASH && in_file(img, sh.sh_offset, sh.sh_size) &&
		    !(sh.sh_flags & SHF_COMPRESSED))
			img->hash = (struct hash_table){.at = sh.sh_offset, .bytes = sh.sh_size};
		if (sh.sh_type != SHT_SYMTAB && sh.sh_type != SHT_DYNSYM)
			continue;
		t = &img->tables[sh.sh_type == SHT_SYMTAB ? TABLE_SYMTAB : TABLE_DYNSYM];
		if (t->nsymbols)
			continue;
		err = read_table(img, elf, &sh, t, why);
		if (err)
			return err;
	}
	return 0;
}

static int read_headers(struct image *img, struct fault *why)
{
	struct stat st;
	Elf *elf = NULL;
	int err;

	if (fstat(img->fd, &st) != 0)
		return fault_errno(why, "cannot inspect an ELF file");
	if (!S_ISREG(st.st_mode) || st.st_size < 0)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "not an ELF file: it is not a regular file");
	img->file_bytes = (uint64_t)st.st_size;
	err = check_header(img, why);
	if (err)
		return err;
	if (elf_version(EV_CURRENT) == EV_NONE)
		return fault_set(why, ERR_VERSION, FAULT_NOWHERE, "libelf: %s", libelf_error());
	elf = elf_begin(img->fd, ELF_C_READ, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF)
		err = fault_set(why, ERR_FORMAT, 0, "the ELF file cannot be read: %s", libelf_error());
	if (!err)
		err = read_segments(img, elf, why);
	if (!err)
		err = read_sections(img, elf, why);
	elf_end(elf);
	return err;
}

int image_open(struct image **out, int fd, struct fault *why)
{
	struct image *img = calloc(1, sizeof(*img));
	int err;

	if (!img)
		return fault_no_memory(why);
	img->left_bytes = IMAGE_READ_MAX;
	img->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	err = img->fd < 0 ? fault_errno(why, "cannot take an ELF file's descriptor") : read_headers(img, why);
	if (err) {
		image_close(img);
		return err;
	}
	*out = img;
	return 0;
}

void image_close(struct image *img)
{
	if (!img)
		return;
	if (img->frames)
		dwarf_cfi_end(img->frames);
	elf_end(img->elf);
	if (img->fd >= 0)
		close(img->fd);
	free(img->hash.copy);
	free(img->functions);
	free(img);
}

const char *image_build_id(const struct image *img)
{
	return img->build_id;
}

bool image_has_kernels(const struct image *img)
{
	return img->has_kernels;
}
