/* SPDX-License-Identifier: Apache-2.0 */
/* What symbolize.c (processes) and symbolize_modules.c (files) share, and nobody else needs. */
#ifndef GPUREC_RECORD_SYMBOLS_SYMBOLIZE_INTERNAL_H
#define GPUREC_RECORD_SYMBOLS_SYMBOLIZE_INTERNAL_H

#include "format/base/map.h"
#include "record/symbols/symbolize.h"

/* A module, and what is needed to know it again and to name functions in it. */
struct known {
	struct module module; /* what the outside sees; never changes */
	struct known *older;  /* of the same device and inode */
	bool seen;            /* `stamp` is of the file: it could be opened once */
	bool refused;         /* no symbols can be had from it: not tried again */
	struct stamp stamp;   /* distinguishes a file from a later one with its inode number */
};

/* Every module. */
struct registry {
	struct known *known[SYMBOLIZE_MODULES_MAX]; /* module id - 1 */
	uint32_t n;
	struct map newest; /* module id by device and inode */
};

void registry_clear(struct registry *reg);

/*
 * The module of mapping `m`. file: what is known of it, or NULL when it cannot be opened: then the newest of that
 * device and inode is taken for it. NULL in *known when no more modules are numbered. Returns 0 or ERR_MEMORY.
 */
int registry_find(struct registry *reg, const struct inspect_file *file, const struct mapping *m, struct known **known,
		  struct symbolizer_counts *counts, struct fault *why);

/* The newest of this device and inode, or NULL. */
const struct module *registry_newest(const struct registry *reg, dev_t device, uint64_t inode);

#endif
