/* SPDX-License-Identifier: Apache-2.0 */
/* What check.c (trying out) and check_host.c (looking) share, and nobody else needs. */
#ifndef GPUREC_RECORD_CHECK_CHECK_INTERNAL_H
#define GPUREC_RECORD_CHECK_CHECK_INTERNAL_H

#include <linux/types.h>

#include "bpf/ring.h"
#include "record/check/check.h"
#include "record/host/procfs.h"

struct attach;

struct check {
	const struct recording_options *o;
	struct check_line *lines;
	size_t n;
	struct procfs fs;
	struct attach *attach;
	bool foreign_pids, foreign_user; /* the namespace is not the host's */
	unsigned seen[RING_TYPES];
	bool read_disk; /* it could read past the page cache, from a file system that is on a disk */
};

/* One line more. */
__attribute__((format(printf, 4, 5))) void check_report(struct check *c, const char *what, enum check_result result,
							const char *fmt, ...);
/* What the kernel said, of the line that was said last. */
void check_detail(struct check *c, const char *text);
/* What to do about the line that was said last. */
__attribute__((format(printf, 2, 3))) void check_remedy(struct check *c, const char *fmt, ...);

struct utsname;
/* Whether the kernel is of a version before this. */
bool check_older_than(const struct utsname *name, unsigned major, unsigned minor);
/* Kernel, its configuration and policies, memory lock, clock. */
void check_kernel(struct check *c);
/* Whose process numbers and rights ours are; what rights are held, and which recording takes. */
void check_namespaces(struct check *c);
void check_capabilities(struct check *c);
/* Which CUDA libraries are in use now, by whom, and what recording makes of them. */
void check_libraries(struct check *c);
/* Driver and GPUs, as NVML and /proc report. library: struct recording_options.nvml */
void check_gpus(struct check *c, const char *library);
/* The folder that a capture would go to: may it be written, how fast, how much room. */
void check_output(struct check *c, const char *folder);

#endif
