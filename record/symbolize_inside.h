/* SPDX-License-Identifier: Apache-2.0 */
/* What symbolize.c (processes) and symbolize_modules.c (files) share, and nobody else needs. */
#ifndef GPUREC_RECORD_SYMBOLIZE_INSIDE_H
#define GPUREC_RECORD_SYMBOLIZE_INSIDE_H

#include <sys/stat.h>

#include "record/symbolize.h"

/* A module, and what is needed to know it again and to name functions in it. */
struct known {
	struct module module; /* what the outside sees; never changes */
	struct known *older;  /* in the same bucket */
	bool seen;            /* `stamp` is of the file: it could be opened once */
	bool refused;         /* no symbols can be had from it: not tried again */
	struct stat stamp;    /* tells a file from a later one with its inode number */
	struct image *image;  /* with symbols loaded, or NULL */
	size_t nsymbols;      /* of `image` */
	uint64_t used;        /* larger: more recently */
};

#define BUCKETS 4096

/* Every module, and the images of some. */
struct registry {
	struct known *known[SYMBOLIZE_MODULES_MAX]; /* module id - 1 */
	uint32_t n;
	struct known *bucket[BUCKETS];                 /* by device and inode, newest first */
	struct known *loaded[SYMBOLIZE_FILES_MAX + 1]; /* those with an image, and a new one */
	size_t nloaded;
	size_t nsymbols; /* of these together */
	uint64_t clock;  /* for `used` */
};

void registry_clear(struct registry *reg);

/*
 * The module of mapping `m`. fd: its file, or -1 when it cannot be opened: then the newest of that device and inode
 * is taken for it. NULL in *known when no more modules are numbered. Returns 0 or ERR_MEMORY.
 */
int registry_find(struct registry *reg, int fd, const struct mapping *m, struct known **known,
		  struct symbolizer_counts *counts, struct fault *why);

/* The newest of this device and inode, or NULL. */
const struct module *registry_newest(const struct registry *reg, dev_t device, uint64_t inode);

/* Have its symbols at hand, if they can be had from `fd`; other images may have to go. Returns 0 or ERR_MEMORY. */
int registry_load(struct registry *reg, struct known *known, int fd, struct symbolizer_counts *counts,
		  struct fault *why);

#endif
