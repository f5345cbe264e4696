/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An output file that appears under its name only when it is whole. Others may be able to change the folder while it is
 * made: all that is written goes by the descriptor, and only files of the folder that was opened first get names.
 */
#ifndef GPUREC_FORMAT_BASE_OUTPUT_FILE_H
#define GPUREC_FORMAT_BASE_OUTPUT_FILE_H

#include <sys/types.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "format/base/fault.h"

struct target {
	char path[PATH_MAX];
	const char *leaf;             /* of path */
	char temporary[NAME_MAX + 1]; /* beside it; "" when there is none */
	bool force;
	const char *const *beside; /* target_alone() */
	int fd;                    /* the file, open for reading and writing */
	int folder;                /* of path */
};

/*
 * Make an empty temporary file in the folder of `path`. ERR_EXISTS: something is there and `force` is not set
 * (or it is no regular file, which is never replaced). It gets `mode`, as far as the umask allows.
 */
int target_open(struct target *t, const char *path, bool force, mode_t mode, struct fault *why);

/*
 * Others must not stand beside it: files whose names are its own and one of these endings (up to NULL; they must last),
 * which whoever reads it would read along. ERR_EXISTS, unless `force` is set: then target_commit() removes them. That
 * also reports one that comes to be there until it returns.
 */
int target_alone(struct target *t, const char *const *endings, struct fault *why);

/* Whether target_open() would find the name taken, before anything long is begun. ERR_EXISTS. */
int target_check(const char *path, bool force, struct fault *why);

/* To disk, then under its name. The temporary file is gone and closed afterwards, also on failure. */
int target_commit(struct target *t, struct fault *why);

/* All of it at once: made, filled with `n` bytes, to disk, under its name. */
int output_write(const char *path, const void *bytes, size_t n, bool force, mode_t mode, struct fault *why);

/* 0, or -1 with errno. */
int write_all(int fd, const void *bytes, size_t n);

/*
 * The folder of `path` to disk, so that the name just given to a file survives a power cut too. Passed over, as nothing
 * more can be done: file systems that cannot (EINVAL, EROFS), and a folder that may be written but not read (EACCES).
 * 0, or -1 with errno.
 */
int sync_folder_of(const char *path);

/* Throw the temporary file away, if there is one. Async-signal-safe. */
void target_discard(struct target *t);

/* Whether this errno means that there is no such file: also, that a file cannot have such a name. */
bool is_absent(int error);

#endif
