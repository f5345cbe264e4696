/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files a process may open, by Landlock (Linux 5.13 and later; man 7 landlock), without a library. What is open
 * already stays usable. A process under such rules may moreover neither trace others nor open their memory in /proc,
 * and from 6.7 and 6.12 on neither use TCP, nor abstract sockets of others, nor signal them, where that is denied.
 */
#ifndef GPUREC_KEYS_TOOL_LANDLOCK_H
#define GPUREC_KEYS_TOOL_LANDLOCK_H

#include <stdint.h>

#include "format/base/fault.h"

struct landlock {
	int fd;           /* of the rules in the making; -1: this kernel has no Landlock */
	uint64_t handled; /* rights that are denied where no rule gives them */
};

/* What a rule gives: to a file, or to all that is in a folder, now or later. */
enum landlock_right {
	LANDLOCK_READ = 1,    /* files and folders are read */
	LANDLOCK_WRITE = 2,   /* files that are there are written */
	LANDLOCK_MAKE = 4,    /* files are made, read, written, renamed, removed */
	LANDLOCK_RMDIR = 8,   /* empty folders are removed */
	LANDLOCK_REMOVE = 16, /* files are removed */
};

/* What is denied beyond changing files and folders, running programs, and TCP. */
enum landlock_deny {
	LANDLOCK_DENY_READING = 1, /* of files and folders, where no rule gives it */
	LANDLOCK_DENY_SIGNALS = 2, /* to processes outside */
};

/* The version of the kernel's Landlock; 0: it has none, or it is switched off. */
int landlock_version(void);

/* Begin a set of rules; `deny`: LANDLOCK_DENY_*. 0, also where there is no Landlock; or ERR_DENIED. */
int landlock_open(struct landlock *l, unsigned deny, struct fault *why);

/* Give `rights` (LANDLOCK_*) to what is at `path`; nothing there: no rule, and 0. */
int landlock_allow(struct landlock *l, const char *path, unsigned rights, struct fault *why);

/* From here on the rules hold, for this thread and all that it makes. Needs no_new_privs. */
int landlock_enter(struct landlock *l, struct fault *why);

/* Give the rules up unused. */
void landlock_close(struct landlock *l);

#endif
