/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Giving up what a tool does not need. After confine_offline() a process cannot obtain a socket or use one that it was
 * started with, run another program, trace or enter another process, load code into the kernel, mount, or gain
 * privileges; it *cannot* phone home. Where the kernel has Landlock, it also opens only the files that it was given
 * rules for, and no other process's memory in /proc.
 */
#ifndef GPUREC_KEYS_TOOL_CONFINE_H
#define GPUREC_KEYS_TOOL_CONFINE_H

#include <stddef.h>

#include "keys/tool/landlock.h"
#include "keys/tool/seccomp_filter.h"

/* Close all descriptors but the standard ones and these, which are put in order; -1 is none. 0, or ERR_DENIED. */
int confine_close_but(int *kept, size_t n, struct fault *why);

/*
 * The same for who has started another program with all of them before. Standard input and output that are a socket of
 * a network are /dev/null from here on; where standard error is one, ERR_DENIED.
 */
int confine_inherited(int *kept, size_t n, struct fault *why);

/*
 * Close all descriptors but the standard ones and `keep` (-1: none). ERR_DENIED: a standard one is a socket of a
 * network, by which a confined process could send all the same. (A local one, as a service manager gives, stays.)
 */
int confine_descriptors(int keep, struct fault *why);

/*
 * For the four offline tools, first thing after the options are read: the rules in `files` (keys/tool/reach.h) come
 * into force, all descriptors are closed but the standard ones and `keep_fd` (-1: none), every capability is dropped
 * (when there is any) but root's right to files of others, no_new_privs and the filter of system calls are set. All
 * threads to be made later inherit it. 0, or ERR_DENIED (ERR_MEMORY): go no further then. Uses `files` up.
 */
int confine_offline(struct landlock *files, int keep_fd, struct fault *why);

/*
 * For the recorder: keep only the capabilities in `keep_caps` (an array of CAP_* numbers, may be empty), of those that
 * it has, in the effective and permitted sets, none in the inheritable, ambient and bounding ones; rules for files
 * unless `files` is NULL; and of the system calls what `allow` (SYSCALLS_*) says. Descriptors stay.
 */
int confine_recorder(const int *keep_caps, int ncaps, struct landlock *files, unsigned allow, struct fault *why);

#endif
