/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which system calls a confined process can make: a seccomp filter that lists what is allowed. What is a known power
 * and not allowed fails with EPERM; what this list does not know at all with ENOSYS, as on a kernel that is older than
 * the C library, which then does without.
 */
#ifndef GPUREC_KEYS_TOOL_SECCOMP_FILTER_H
#define GPUREC_KEYS_TOOL_SECCOMP_FILTER_H

#include "format/base/fault.h"

/* What is allowed beyond memory, time, threads, reading files, and what goes by descriptors that are open. */
enum syscalls_allow {
	SYSCALLS_BPF = 1,    /* bpf(2) and perf_event_open(2): attachments to come */
	SYSCALLS_SIGNAL = 2, /* kill(2) and the like, for the recorder's child; itself a process can always signal */
	SYSCALLS_MAPS = 4,   /* of bpf(2) no more than to look up and delete in open maps, and ask about programs */
	SYSCALLS_FILES = 8,  /* opening files for writing; making, renaming and removing them */
	SYSCALLS_NEW = 16,   /* opening for writing of files that the call makes, and no others */
	SYSCALLS_RECORD =
		32, /* epoll, pipes, the end of children; removing files, which is how a capture is taken back */
	SYSCALLS_FOREIGN = 64, /* code of others (NVML): all is allowed but the known powers */
	SYSCALLS_CHILD = 128,  /* a process of the same program, under this filter, as fork(3) makes it */
};

/* The filter comes into force for this thread and all that it makes. 0, ERR_DENIED, ERR_MEMORY. */
int syscalls_confine(unsigned allow, struct fault *why);

#endif
