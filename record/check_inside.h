/* SPDX-License-Identifier: Apache-2.0 */
/* What check.c (trying out) and check_host.c (looking) share, and nobody else needs. */
#ifndef GPUREC_RECORD_CHECK_INSIDE_H
#define GPUREC_RECORD_CHECK_INSIDE_H

#include "bpf/ring.h"
#include "record/check.h"
#include "record/procfs.h"

struct attach;

struct check {
	struct check_line *lines;
	size_t n;
	struct procfs fs;
	struct attach *attach;
	unsigned seen[RING_TYPES];
};

/* One line more. */
__attribute__((format(printf, 4, 5))) void check_say(struct check *c, const char *what, enum check_result result,
						     const char *fmt, ...);
/* What to do about the line that was said last. */
__attribute__((format(printf, 2, 3))) void check_remedy(struct check *c, const char *fmt, ...);

/* Kernel, its configuration and policies, memory lock, clock. */
void check_kernel(struct check *c);
/* Driver and GPUs, as NVML and /proc tell. library: struct recording_options.nvml */
void check_gpus(struct check *c, const char *library);
/* The folder that a capture would go to: may it be written, how fast, how much room. */
void check_output(struct check *c, const char *folder);

#endif
