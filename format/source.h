/* SPDX-License-Identifier: Apache-2.0 */
/* Where a reader gets its bytes: a regular file or a buffer. Safe to read from several threads at once. */
#ifndef GPUREC_FORMAT_SOURCE_H
#define GPUREC_FORMAT_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/fault.h"

struct source {
	int fd;             /* -1: a buffer */
	const uint8_t *mem; /* not owned */
	uint64_t size;      /* bytes, fixed when opened: what is appended later is not seen */
};

/* Open a regular file; anything else (a directory, a pipe, a device) is ERR_INPUT with a sentence. */
int source_open_file(struct source *src, const char *path, struct fault *why);
/* The same of a regular file that is open already, by a descriptor of its own: `fd` stays the caller's. */
int source_open_fd(struct source *src, int fd, struct fault *why);
void source_open_memory(struct source *src, const uint8_t *bytes, uint64_t size);
void source_close(struct source *src);

/* Exactly `n` bytes from `offset`; a file that became shorter meanwhile is ERR_IO. */
int source_read(const struct source *src, uint64_t offset, void *buf, size_t n, struct fault *why);

#endif
