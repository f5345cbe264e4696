/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tools that work on files open after they are confined (keys/tool/landlock.h), named here once: a file that
 * is to be read beside a capture, or anew in the store, needs its line in reach.c.
 */
#ifndef GPUREC_KEYS_TOOL_REACH_H
#define GPUREC_KEYS_TOOL_REACH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "keys/tool/landlock.h"

/*
 * Begin: what each of them reads of the system, and the trust store with the host's key. `make`: keys are made or
 * trusted, so the folders of the store are made now and may be written to. 0, ERR_DENIED, or as store_path().
 */
int reach_begin(struct landlock *l, bool make, struct fault *why);

/* Files that are read if they are there. */
int reach_files(struct landlock *l, const char *const *paths, size_t n, struct fault *why);

/* The same of what --trust names. */
int reach_trusted(struct landlock *l, const char *const *args, size_t n, struct fault *why);

/* A capture, or another file with what may lie beside it. */
int reach_capture(struct landlock *l, const char *path, struct fault *why);

/* The folder of `path`, in which files are made, replaced and removed. */
int reach_output(struct landlock *l, const char *path, struct fault *why);

/* A fresh folder in $TMPDIR, or /var/tmp, its name into scratch[PATH_MAX]: SQLite has its temporary files there. */
int reach_scratch(struct landlock *l, char scratch[PATH_MAX], struct fault *why);
/* Remove it; "" is none. */
void reach_scratch_end(const char *scratch);

#endif
