/* SPDX-License-Identifier: Apache-2.0 */
/* What discover.c (processes, rows) and discover_file.c (one file) share, and nobody else needs. */
#ifndef GPUREC_RECORD_PROBE_DISCOVER_INTERNAL_H
#define GPUREC_RECORD_PROBE_DISCOVER_INTERNAL_H

#include "format/base/map.h"
#include "record/probe/discover.h"

/* A file that was inspected: not again. */
struct looked {
	uint64_t inode;  /* as maps has it */
	uint32_t device; /* as struct file_key */
	struct stamp stamp;
	uint32_t module; /* 0: nothing for us in it */
	uint32_t role;   /* LIBRARY_* */
	size_t functions, probed;
	bool unread;  /* it has the name of a CUDA library, and could not be read */
	char *reason; /* why not all functions carry a probe; NULL: they do */
};

/* An `attach` row to be written. */
struct outcome {
	uint32_t module;
	uint16_t probe;
	int error;
	uint64_t offset;
};

/* That a process has a file mapped; 0 for one that a person named. */
struct use {
	uint32_t pid;
	uint32_t looked;
	bool emitted;
	bool counted; /* that probes lack; see discover_uncovered() */
	bool old;     /* seen before all was inspected anew, and not again */
};

struct discover {
	const struct procfs *fs;
	struct inspector *inspector;
	struct symbolizer *symbolizer;
	struct attach *attach;
	struct looked *looked;
	size_t nlooked, looked_room;
	struct map by_file; /* index in `looked`, + 1, by device and inode */
	struct outcome *outcomes;
	size_t noutcomes, outcomes_room;
	struct use *uses;
	size_t nuses, uses_room;
	const struct file_key *fresh;       /* see discover_mapped() */
	const struct probe_spec *functions; /* that are looked for */
	size_t nfunctions;
	struct discover_counts counts;
	struct mapping mapping; /* large: not for the stack */
	struct inspect_file file;
};

/* The role that a library's file name reports; 0: it is no CUDA library's. */
uint32_t discover_role_of_name(const char *path);

/* The role of a library that has this function of the probe table. */
uint32_t discover_role_of_function(const char *name);

/*
 * Look into mapping m of a process, whose file is d->file; probe what is in it, and fill *l but for its first two
 * members. INSPECT_DONE, also when it cannot be read (l->reason then says why, if it should matter); INSPECT_GONE: it
 * went meanwhile, or no answer came, and what it is is not known; INSPECT_LATER; ERR_MEMORY and the like.
 */
int discover_look(struct discover *d, uint32_t pid, const struct mapping *m, struct looked *l, struct fault *why);

/* *l as that of a library whose file cannot be had. */
int discover_unread(struct discover *d, const struct mapping *m, const char *reason, struct looked *l,
		    struct fault *why);

#endif
