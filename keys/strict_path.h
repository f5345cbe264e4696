/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening what must not come from anybody else: as sshd's StrictModes, on the way down and not beforehand, so that
 * nothing can change between the look and the opening.
 */
#ifndef GPUREC_KEYS_STRICT_PATH_H
#define GPUREC_KEYS_STRICT_PATH_H

#include <sys/types.h>

#include "format/base/fault.h"

/*
 * open(2) `path` with `flags` (no O_CREAT), provided that nobody but root and this process's effective user can put
 * another file there: it, each folder down to it, and each link on the way belongs to one of the two, and neither group
 * nor others may write to it. Folders above it that are sticky, as /tmp is, may be writable. Links are followed, the
 * last one unless O_NOFOLLOW. `forbidden`: S_IWGRP | S_IWOTH; or 0, and the caller inspects the mode of the file
 * itself. Returns the descriptor; ERR_KEY with a sentence that names the place and the remedy, `stake` ("what is
 * trusted here") being what others could change; else what open(2) had to say, with errno.
 */
int strict_open(const char *path, int flags, mode_t forbidden, const char *stake, struct fault *why);

/* The same with S_IWGRP | S_IWOTH, and closed again: 0 or negative. */
int strict_check(const char *path, int flags, const char *stake, struct fault *why);

#endif
