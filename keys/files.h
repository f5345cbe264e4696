/* SPDX-License-Identifier: Apache-2.0 */
/* Small files read whole and written whole or not at all. */
#ifndef GPUREC_KEYS_FILES_H
#define GPUREC_KEYS_FILES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "format/base/fault.h"

enum file_secrecy {
	FILE_PUBLIC, /* anybody may read it; links are followed */
	FILE_SECRET, /* no link; nobody but its owner may read it, and nobody but he and root replace it */
};

/*
 * The text of a small file as its lines (docs/KEYS.md "Text files"): without a byte order mark at its beginning, and
 * each line ended by LF, also where the file has CR LF. The last line's end may be missing. In place; returns the new
 * length, and wipes what is left behind it.
 */
size_t file_lines(char *text, size_t len);

/*
 * A regular file of at most `size` bytes into buf, as its lines, their length into *len. ERR_KEY: too large, no regular file, a link
 * readable by others, or in hands of others (keys/strict_path.h) although FILE_SECRET; ERR_IO, ERR_DENIED. On failure
 * what was read is still in buf.
 */
int file_read(const char *path, enum file_secrecy secrecy, char *buf, size_t size, size_t *len, struct fault *why);

/*
 * Make a file with these bytes and this mode, on disk when it returns, and complete at every moment that others see it.
 * ERR_EXISTS: there is one already, unless `replace`. Nothing is left behind on failure.
 */
int file_make(const char *path, mode_t mode, bool replace, const void *bytes, size_t len, struct fault *why);

/* Of an open file, from where it stands: up to `size` bytes into buf, their number into *len. ERR_IO. */
int file_fill(int fd, const char *path, void *buf, size_t size, size_t *len, struct fault *why);

/* What is called like `path` with `suffix` behind it. ERR_INPUT: too long. */
int file_beside(char beside[PATH_MAX], const char *path, const char *suffix, struct fault *why);
/* The name in `path` without its folders; and how many bytes of a name are left without that suffix, if it has it. */
const char *file_leaf(const char *path);
size_t file_stem(const char *name, const char *suffix);
/* The folder that holds `path`: "." if it names none. */
void file_folder(char folder[PATH_MAX], const char *path);

/* The folder of `path` and all above it, mode 0755 each, unless they are there. */
int file_make_folders(const char *path, struct fault *why);

#endif
