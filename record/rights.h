/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the recorder may still do once all is attached: drain, seal, write. Files and memory of others are read by the
 * process that inspects them (record/inspect/), so that the one with the session key has no rights of its own.
 */
#ifndef GPUREC_RECORD_RIGHTS_H
#define GPUREC_RECORD_RIGHTS_H

#include <stdbool.h>

#include "format/base/fault.h"

struct rights {
	const char *output; /* the capture; in its folder it may be removed again */
	const char *key;    /* the key that the next capture is signed with, in the same folder; NULL: there is none */
	bool late;          /* libraries are attached later */
	bool single;        /* functions are attached one by one, which the recorder itself must do */
	bool hidden;        /* /proc hides processes from who may not trace them */
	bool signals;       /* a command is asked to go on */
	int group_fds[2];   /* cgroup file systems; -1: none */
};

/*
 * Whether the recorder itself reads about other processes: it then keeps the rights that this takes, and cannot have
 * Landlock, which forbids it.
 */
bool rights_read_others(const struct rights *r);

/* For good. 0, ERR_DENIED, ERR_MEMORY: go no further then. */
int rights_give_up(const struct rights *r, struct fault *why);

#endif
