/* SPDX-License-Identifier: Apache-2.0 */
/* What the elf*.c share, and nobody else needs. */
#ifndef GPUREC_RECORD_SYMBOLS_ELF_INTERNAL_H
#define GPUREC_RECORD_SYMBOLS_ELF_INTERNAL_H

#include <elf.h>
#include <elfutils/libdw.h>

#include "record/symbols/elf.h"

/* Code in the file. All of it is within the file, and no sum of these wraps round. */
struct segment {
	uint64_t offset;
	uint64_t address;
	uint64_t bytes;
};

/* Symbols and their names: both within the file as it was when opened. */
struct table {
	uint64_t symbols_at;
	uint64_t nsymbols;
	uint64_t names_at;
	uint64_t names_bytes;
};

/* The hash table of .dynsym, by which the dynamic linker finds a name. */
struct hash_table {
	uint64_t at;
	uint64_t bytes;      /* 0: the file has no such table */
	unsigned char *copy; /* NULL: it is read by the word */
};

enum { TABLE_SYMTAB, TABLE_DYNSYM, NTABLES };

/* Kept for image_symbol(), sorted by address, one for each. */
struct function {
	uint64_t address;
	uint32_t bytes; /* 0: not reported; UINT32_MAX: that or more */
	uint32_t ref;   /* rank (the lower, the better a name), then the symbol's index: see elf_symbols.c */
};

/* A section of code: how far a function without a size can reach. */
struct section {
	uint64_t address;
	uint64_t bytes;
};

#define SECTIONS_MAX 64 /* of code; what is beyond is not kept: functions without a size in it are not named */

struct image {
	int fd;
	uint64_t file_bytes;
	struct segment code[IMAGE_SEGMENTS_MAX];
	size_t ncode;
	size_t nnotes;
	struct section sections[SECTIONS_MAX];
	size_t nsections;
	struct table tables[NTABLES];
	struct hash_table hash;
	uint64_t left_bytes; /* that may still be read */
	bool has_kernels;
	char build_id[2 * IMAGE_BUILD_ID_MAX + 1];
	bool loaded;
	struct function *functions;
	size_t nfunctions;
	Elf *elf;          /* of elf_unwind.c: NULL until it is needed; */
	Dwarf_CFI *frames; /* lives with it */
};

/* Exactly n bytes at `at`, or an error: the file may have become shorter, or enough of it was read (`left_bytes`). */
int image_pread(struct image *img, void *buf, size_t n, uint64_t at, struct fault *why);

/* File offset of the code at `address`. */
bool image_offset_of(const struct image *img, uint64_t address, uint64_t *offset);

/* Whether it is a function that is defined in this file; *offset is where it stands. */
bool image_defines(const struct image *img, const Elf64_Sym *sym, uint64_t *offset);

/* Before so many names are looked up: a hash table that is not too large for them is read at once. 0 or negative. */
int image_hash_read(struct image *img, size_t nnames, struct fault *why);

/*
 * The symbols of .dynsym that have this name, by the hash table: each is handed to found(), whose negative result ends
 * the search. 1; 0: there is no hash table, or it contradicts itself; negative.
 */
int image_hash_find(struct image *img, const char *name, size_t len,
		    int (*found)(void *self, const Elf64_Sym *sym, struct fault *why), void *self, struct fault *why);

#define SYMBOLS_WINDOW 1024 /* symbols read at a time */

/* Runs through one table. On the heap: it is large. */
struct symbol_reader {
	struct image *img;
	const struct table *table;
	bool imports;   /* undefined functions are asked for, not defined ones */
	uint64_t next;  /* symbol */
	uint64_t first; /* symbol at buf[0] */
	size_t have;
	Elf64_Sym buf[SYMBOLS_WINDOW];
};

/* At the start of a table; ERR_INPUT when it is larger than we read. The caller frees *reader. */
int symbol_reader_new(struct symbol_reader **reader, struct image *img, const struct table *t, struct fault *why);

/*
 * The next defined function whose code is in the file (with `imports`: the next undefined symbol, offset 0): 1, its
 * index in the table and file offset; 0 at the end; negative.
 */
int symbol_reader_next(struct symbol_reader *r, Elf64_Sym *sym, uint64_t *index, uint64_t *offset, struct fault *why);

/* Words are copied out of the file as they are; so are libelf's, which would convert them. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "gpurec records on little-endian hosts only");

#endif
