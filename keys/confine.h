/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Giving up what a tool does not need. After confine_offline() a process cannot open or obtain a socket, run another
 * program, trace or enter another process, load code into the kernel, mount, or gain privileges; it *cannot* phone
 * home. Each of these fails with EPERM. The filter lists the powers denied, not the calls allowed: a list of what is
 * allowed breaks with the next C library, and what stays here (files, memory, threads) reaches nobody else.
 */
#ifndef GPUREC_KEYS_CONFINE_H
#define GPUREC_KEYS_CONFINE_H

#include "format/fault.h"

/* What is kept beyond reading and writing files. */
enum confine_keep {
	CONFINE_NOTHING = 0,
	CONFINE_BPF = 1,    /* bpf(2) and perf_event_open(2): the recorder's later attachments */
	CONFINE_SIGNAL = 2, /* kill(2) and the like, for the recorder's child; itself it can always signal */
	CONFINE_MAPS = 4,   /* of bpf(2) no more than to look up and delete in open maps, and ask about programs */
};

/*
 * For the four offline tools, first thing after the options are read: drops every capability (when there is any) but
 * root's right to files of others, sets no_new_privs and the seccomp filter. All threads to be made later inherit it.
 * 0, or ERR_DENIED (ERR_MEMORY): go no further then.
 */
int confine_offline(struct fault *why);

/*
 * For the recorder: keep only the capabilities in `keep_caps` (an array of CAP_* numbers, may be empty), of those that
 * it has, in the effective and permitted sets, none in the inheritable, ambient and bounding ones; then as above,
 * keeping `keep`.
 */
int confine_recorder(const int *keep_caps, int ncaps, unsigned keep, struct fault *why);

#endif
