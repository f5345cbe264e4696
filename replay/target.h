/* SPDX-License-Identifier: Apache-2.0 */
/* An output file that appears under its name only when it is whole. */
#ifndef GPUREC_REPLAY_TARGET_H
#define GPUREC_REPLAY_TARGET_H

#include <limits.h>
#include <stdbool.h>

#include "format/fault.h"

struct target {
	char path[PATH_MAX];
	char temporary[PATH_MAX]; /* beside it; "" when there is none */
	bool force;
};

/*
 * Make an empty temporary file in the folder of `path`. ERR_EXISTS: something stands there and `force` is not set
 * (or it is no regular file, which is never replaced).
 */
int target_open(struct target *t, const char *path, bool force, struct fault *why);

/* To disk, then under its name. The temporary file is gone afterwards, also on failure. */
int target_commit(struct target *t, struct fault *why);

/* Throw the temporary file away. Async-signal-safe. */
void target_discard(struct target *t);

#endif
