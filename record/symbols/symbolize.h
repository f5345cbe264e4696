/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From an address in a process to module, file offset and function name; and the numbering of modules.
 *
 * Looked up while the process lives. Kept between calls, within the limits below, least recently used goes first:
 * what each process has mapped as code, and the symbols of each file. Modules are numbered from 1 in the order of first
 * use and kept to the end: their numbers are in the capture.
 *
 * Processes and files are not inspected here but asked about (record/inspect/inspector.h), which may take longer than
 * a caller has time for: then less is found than there is, symbolizer_late() says so, and asking again finds more.
 *
 * What cannot be found is no failure: the frame is then reported with less (no symbol, no module) and counted in
 * struct symbolizer_counts. Functions fail only where memory is short.
 *
 * A mapping that is replaced by another at the same addresses is noticed only when the caller says so with
 * symbolizer_forget().
 */
#ifndef GPUREC_RECORD_SYMBOLS_SYMBOLIZE_H
#define GPUREC_RECORD_SYMBOLS_SYMBOLIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/fault.h"
#include "record/symbols/elf.h"
#include "record/inspect/inspector.h"

#define SYMBOLIZE_PROCESSES_MAX 64              /* whose mappings are kept */
#define SYMBOLIZE_MAPPINGS_MAX INSPECT_CODE_MAX /* of code, kept per process */
#define SYMBOLIZE_MODULES_MAX 16384             /* in a recording */
#define SYMBOLIZE_REREAD_NS 200000000ULL        /* a process's mappings are read again at most this often */
#define SYMBOLIZE_TEXT_MAX 1024 /* a symbol's text, with the final NUL; a longer name is cut: "name...+0x1b" */

/* A file mapped as code. */
struct module {
	uint32_t id;     /* from 1 */
	uint64_t device; /* st_dev's encoding of the numbers in maps */
	uint64_t inode;
	const char *path;                          /* as the process sees it */
	bool deleted;                              /* no path led to it any more */
	uint64_t mount_namespace;                  /* that `path` is meant in; 0: not known */
	char build_id[2 * IMAGE_BUILD_ID_MAX + 1]; /* lower-case hex, "": none, or it could not be read */
};

/* Where an address is. */
struct place {
	uint32_t module; /* 0: not in a file (vdso, just-in-time code, unmapped), or the process is gone */
	uint64_t offset; /* in the file; 0 without module */
	char symbol[SYMBOLIZE_TEXT_MAX]; /* "name+0x1b", or "" */
};

struct symbolizer_counts {
	uint64_t placed;        /* frames with a module */
	uint64_t named;         /* of these: with a symbol */
	uint64_t unmapped;      /* frames in no known mapping */
	uint64_t anonymous;     /* frames in memory that is no file's */
	uint64_t no_process;    /* mappings could not be read: the process is gone, or another has its number */
	uint64_t denied;        /* mappings or a file could not be read: no permission, mostly */
	uint64_t files_gone;    /* a file could not be opened: it is no longer there */
	uint64_t files_refused; /* a file is no ELF file that we can read, or has too many symbols */
	uint64_t mappings_over; /* mappings beyond SYMBOLIZE_MAPPINGS_MAX */
	uint64_t modules_over;  /* modules beyond SYMBOLIZE_MODULES_MAX */
};

struct symbolizer;

/* Both are borrowed and must outlive the symbolizer. */
int symbolizer_new(struct symbolizer **s, const struct procfs *fs, struct inspector *inspector, struct fault *why);
void symbolizer_free(struct symbolizer *s);

/*
 * Place an address of the process (pid, start_ns: boot clock, exact or rounded down to a tick).
 * is_return: the address is one that a call returns to, so that the calling instruction stands before it and decides
 * on function and mapping; offset and "+0x" stay those of `address` itself.
 * now_ns: of any one clock, for SYMBOLIZE_REREAD_NS; a little back now and then does no harm.
 * Returns 0, or ERR_MEMORY.
 */
int symbolizer_place(struct symbolizer *s, uint32_t pid, uint64_t start_ns, uint64_t address, bool is_return,
		     uint64_t now_ns, struct place *out, struct fault *why);

/* Whether the last call to one of the two around this found less because an answer is still to come. */
bool symbolizer_late(const struct symbolizer *s);

/*
 * Read a process's mappings now, while it surely lives, and of the first `most` of code, unless it has more, the files'
 * symbols, so that its frames can be placed when it is gone. 0 or ERR_MEMORY.
 */
int symbolizer_learn(struct symbolizer *s, uint32_t pid, uint64_t start_ns, size_t most, uint64_t now_ns,
		     struct fault *why);

/*
 * Its mappings are no longer what they were: it called exec. One that ended need not be forgotten: frames of it may
 * still come, and its place is taken when it is needed.
 */
void symbolizer_forget(struct symbolizer *s, uint32_t pid);

/*
 * The number of a file (a library that the caller attaches to, found as mapping `m` of a process, or as a named file:
 * then `m` holds device, inode and path of it). file: what inspector_open() said of it; NULL: it could not be opened.
 * The same file gets the same number here and in symbolizer_place(). Two files that bear one device and inode one after
 * the other are distinguished by their build-ids (else by their sizes). A file that cannot be opened is taken for the
 * newest of its device and inode; one that was numbered so, without a build-id, gets a second number when it can be
 * opened later.
 * *id is 0 when SYMBOLIZE_MODULES_MAX are taken (counted). Returns 0, or ERR_MEMORY.
 */
int symbolizer_module(struct symbolizer *s, const struct inspect_file *file, const struct mapping *m, uint32_t *id,
		      struct fault *why);

/* The newest module of this device (as stat(2) has it) and inode; NULL: there is none. */
const struct module *symbolizer_find(const struct symbolizer *s, dev_t device, uint64_t inode);

/*
 * Modules 1 to symbolizer_nmodules() exist; the number only grows, so that a caller who remembers how many it has
 * written finds the new ones. NULL for any other id. What is returned stays valid and unchanged until
 * symbolizer_free().
 */
uint32_t symbolizer_nmodules(const struct symbolizer *s);
const struct module *symbolizer_module_at(const struct symbolizer *s, uint32_t id);

const struct symbolizer_counts *symbolizer_counts(const struct symbolizer *s);

#endif
