/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding CUDA libraries in what processes have mapped, and putting probes on each of them once, however many processes
 * share it and by however many names. A file is known by device and inode, and through overlays (two containers made of
 * one image) by the file beneath. Inspected are all files mapped as code:
 *
 * - by name: libcudart, libcuda, libnccl with any version or hash behind it, as wheels have;
 * - by functions: exported (.dynsym), whatever the file is called, or local (.symtab): a runtime linked in statically;
 * - by kernels: a file that holds code for GPUs, imports no runtime and has none that we can see: linked in and
 *   stripped.
 *
 * What was found, what was attached and why not more is remembered until discover_tell() writes it down.
 */
#ifndef GPUREC_RECORD_PROBE_DISCOVER_H
#define GPUREC_RECORD_PROBE_DISCOVER_H

#include "record/inspect/inspector.h"
#include "record/probe/attach.h"
#include "record/symbols/stack_rows.h"

#define DISCOVER_FILES_MAX 65536 /* inspected in a recording; beyond it only those with the name of a CUDA library */

struct discover;

/* All borrowed; they must outlive it. */
int discover_new(struct discover **d, const struct procfs *fs, struct inspector *inspector,
		 struct symbolizer *symbolizer, struct attach *attach, struct fault *why);
void discover_free(struct discover *d);

/* A library (or program with the runtime linked in) that a person named. ERR_INPUT: not there, or nothing in it to
 * probe. */
int discover_add_file(struct discover *d, const char *path, struct fault *why);

/*
 * Inspect one process. 1: it has a CUDA library mapped; 0: it has not, or is gone, or may not be inspected;
 * INSPECT_LATER (record/inspect/inspector.h): not all is known yet, ask again.
 */
int discover_process(struct discover *d, uint32_t pid, struct fault *why);

/*
 * The same because the kernel shows that it mapped the file `key` at `address` (0: it is the program that it runs).
 * That file is inspected again if it is not the one that had its number before. whole: what else the process has mapped
 * is inspected, too. Afterwards the kernel knows whether to report this file again. 1: that file is one of CUDA's.
 */
struct discover_mapping {
	const struct file_key *key;
	uint64_t address;
};
int discover_mapped(struct discover *d, uint32_t pid, const struct discover_mapping *mapped, struct fault *why);

/* What is known of the file by now. */
enum discover_known { DISCOVER_UNKNOWN, DISCOVER_PLAIN, DISCOVER_UNREAD, DISCOVER_PROBED };
enum discover_known discover_known(struct discover *d, const struct file_key *key);

/* The same once recording has ended: nothing is inspected any more, so a file that is not known counts as gone. */
int discover_too_late(struct discover *d, uint32_t pid, const struct file_key *key, struct fault *why);

/* The process ended, or runs another program now: what it mapped is reported again. */
void discover_forget(struct discover *d, uint32_t pid);

/*
 * Inspect all processes. each() is called for every one, and what discover_process() said of it; a negative result ends
 * the scan. Within it other functions of this file may be called.
 */
int discover_all(struct discover *d, int (*each)(void *self, uint32_t pid, int found, struct fault *why), void *self,
		 struct fault *why);

/*
 * From here to the end all is inspected anew: what was seen to be mapped before, and not reported, is reported only of
 * those that are seen to have it again, or of which the kernel side reports meanwhile that they end, or run another
 * program. Who could not be read is counted anew.
 */
void discover_anew(struct discover *d);
void discover_anew_end(struct discover *d);

/*
 * Write what is new since the last call: a `library` row for each CUDA library and each process that was seen to map it
 * (pid 0: a person named it), `attach` rows for each function, `module` rows before them.
 */
int discover_emit(struct discover *d, struct stacks *stacks, struct writer *w, uint64_t at_ns, struct fault *why);

/*
 * How many processes and libraries that they have mapped there are, recorded() of the process, of which not all
 * functions carry probes, and that were not counted so far. discover_counted(): that of this process's library is
 * counted otherwise. discover_count_again(): all of those that are there, for the next capture.
 */
uint64_t discover_uncovered(struct discover *d, bool (*recorded)(void *self, uint32_t pid), void *self);
void discover_counted(struct discover *d, uint32_t pid, const struct file_key *key);
void discover_count_again(struct discover *d);

/* That a process has a file of CUDA's mapped, as its `library` row reports. Borrowed until the next call into discover.
 */
struct discover_use {
	uint32_t pid; /* 0: a person named it */
	size_t file;  /* the same for all who share it */
	uint32_t role;
	size_t functions, probed;
	const char *path, *reason; /* reason: why not all carry a probe; "": they do */
};
void discover_each(const struct discover *d, void (*use)(void *self, const struct discover_use *u), void *self);

struct discover_counts {
	size_t libraries;       /* that carry at least one probe */
	size_t sites;           /* functions probed */
	size_t refused;         /* functions that could not be */
	size_t unread;          /* libraries that could not be opened or read */
	size_t stripped;        /* files with the runtime linked in whose functions cannot be found */
	size_t denied;          /* times that a process's mappings or a file in them could not be read: no permission */
	size_t gone;            /* files that the kernel side reported, too late to be inspected */
	size_t over;            /* files that were not inspected: there are too many */
	uint32_t last_denied;   /* its process */
	char last_problem[256]; /* of the last one that is unread: path and reason */
	char last_reason[128];
	char last_stripped[256]; /* its path */
};
const struct discover_counts *discover_counts(const struct discover *d);

#endif
