/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What we need to know of an ELF file that somebody else wrote: its build-id, where its functions are, and which
 * function an offset lies in. Nothing in the file is trusted: it may be cut, forged, or change while we read.
 * Only 64-bit little-endian executables and shared objects; anything else is ERR_INPUT with a sentence,
 * contradictions in the file are ERR_FORMAT (fault.offset: where in the file).
 *
 * Memory stays small for files of any size: symbols and names are read through windows.
 * Symbols come from section headers; a file without any has none.
 */
#ifndef GPUREC_RECORD_SYMBOLS_ELF_H
#define GPUREC_RECORD_SYMBOLS_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/fault.h"

#define IMAGE_BUILD_ID_MAX 64         /* bytes; a longer one counts as none */
#define IMAGE_SEGMENTS_MAX 64         /* of code; and notes that are searched */
#define IMAGE_SYMBOLS_MAX (1 << 21)   /* in one symbol table; the largest libraries have about half of it */
#define IMAGE_READ_MAX (256ull << 20) /* bytes that one of the functions below reads of a file at most */
#define IMAGE_MATCHES_MAX 4096        /* what image_find() returns at most */
#define IMAGE_NAME_MAX 4096           /* a symbol's name, with the final NUL */

struct image;

/*
 * Takes a descriptor of its own (dup): the caller keeps and closes `fd`, whose position is neither used nor moved.
 * Returns 0 and *img, to be given to image_close(); or ERR_INPUT, ERR_FORMAT, ERR_IO, ERR_MEMORY.
 */
int image_open(struct image **img, int fd, struct fault *why);
void image_close(struct image *img);

/* Lower-case hex, "" when the file has none. Lives as long as the image. */
const char *image_build_id(const struct image *img);

/* A function that was found: a probe can be put at `offset`. */
struct image_match {
	size_t name;     /* index in the caller's list */
	uint64_t offset; /* in the file */
	uint64_t bytes;  /* size of the function, 0: the file does not report */
	bool ifunc;      /* `offset` is the resolver's, which only chooses the function */
	bool exported;   /* in .dynsym: other files can call it by name */
};

/*
 * Look up many function names at once, in .dynsym and .symtab. Each defined function (STT_FUNC, STT_GNU_IFUNC) in an
 * executable part of the file is one match; a name has several where the library carries several versions of it
 * (name@V1, name@@V2) at different places. Sorted by name, then offset; no (name, offset) twice. Two names at one
 * offset (aliases) are two matches. None at all is 0 with *n = 0 and *matches = NULL. The caller frees *matches.
 * .dynsym is asked through its hash table (DT_GNU_HASH) where it has one, which takes a few reads for each name.
 * ERR_INPUT: more than IMAGE_MATCHES_MAX matches, a table of more than IMAGE_SYMBOLS_MAX symbols that must be read
 * through, or more than IMAGE_READ_MAX bytes to be read.
 */
int image_find(struct image *img, const char *const *names, size_t nnames, struct image_match **matches, size_t *n,
	       struct fault *why);

/* Whether it holds code for GPUs as nvcc embeds it: a section .nv_fatbin, which stripping leaves there. */
bool image_has_kernels(const struct image *img);

/* Whether it calls a function `name` of another file: 1, 0, or negative. */
int image_imports(struct image *img, const char *name, struct fault *why);

/*
 * Read the function symbols for image_symbol(): 16 bytes each are kept, *nsymbols of them (0: stripped).
 * Loading again changes nothing. More than `max` (or IMAGE_SYMBOLS_MAX): ERR_INPUT, and nothing is kept.
 */
int image_load_symbols(struct image *img, size_t max, size_t *nsymbols, struct fault *why);

/*
 * The function that the byte at file offset `offset` belongs to. At one address, global goes before weak and local,
 * a known size before none, .symtab before .dynsym. A function without a size reaches to the next one or its section's
 * end. Returns 1 with its name (cut to `size` - 1 bytes if longer, NUL-terminated) and *plus, the distance from its
 * first byte; 0 when it is in none; negative when the name cannot be read. Needs image_load_symbols(), else 0.
 */
int image_symbol(struct image *img, uint64_t offset, char *name, size_t size, uint64_t *plus, struct fault *why);

#endif
