/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of the GPU that NVIDIA's driver writes to the kernel's log: "NVRM: Xid (PCI:0000:3b:00): 79, ...". */
#ifndef GPUREC_RECORD_HOST_KMSG_H
#define GPUREC_RECORD_HOST_KMSG_H

#include <stdbool.h>

#include "format/writer.h"

#define KMSG_PATH "/dev/kmsg"

struct xid {
	uint32_t code;
	uint32_t pid; /* 0: not reported */
	char pci[40];
	const char *text; /* the line, in the record; not ended by a zero */
	size_t text_bytes;
};

/*
 * From one record as /dev/kmsg gives it. False: it is about something else, or was not written by the kernel (what a
 * program writes to the log bears another facility).
 */
bool kmsg_parse_xid(const char *record, size_t n, struct xid *x);

/* The line without the process's name, ended by a zero and cut to `size` with it. Returns its length. */
size_t kmsg_without_name(char *out, size_t size, const struct xid *x);

/* For reading what comes from now on. -1: it cannot be read here, errno shows why. */
int kmsg_open(const char *path);

/* Read all that has come: `xid` rows, as of at_ns. 0 or what writer_add() returned. */
int kmsg_take(int fd, struct writer *w, uint64_t at_ns, struct fault *why);

#endif
