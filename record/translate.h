/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From ring records to rows of the capture: the one place that knows both. What a record means beyond its row
 * (a process began, ended, mapped a library) goes to the `notice` of the caller that drains.
 */
#ifndef GPUREC_RECORD_TRANSLATE_H
#define GPUREC_RECORD_TRANSLATE_H

#include "format/base/cpu_list.h"
#include "format/writer.h"
#include "record/connections.h"
#include "record/probe/counters.h"
#include "record/symbols/kernel_rows.h"
#include "record/symbols/stack_rows.h"

#define DISKS_MAX 64 /* named; others have a number only */

struct translator {
	struct writer *writer;
	struct counters *counters;
	struct stacks *stacks;
	struct kernels *kernels;         /* NULL: kernels are not named */
	struct connections *connections; /* NULL: they are not named */
	uint64_t begin_ns;               /* of the open epoch: the kernel's fast clock may be a hair behind ours */
	/* Called after the row is staged, for RING_FORK, _EXEC, _EXIT, _PROCESS, _THROTTLED and _MAPPED. 0 or an error.
	 */
	int (*notice)(void *self, const struct ring_head *record, struct fault *why);
	void *self;
	uint32_t disks[DISKS_MAX];                /* devices that have a row, */
	unsigned ndisks;                          /* how many */
	char cpus[CPU_LIST_BYTES(CPU_WORDS_MAX)]; /* the list of a row, until it is staged */
};

/* A ring_use (record/probe/ring_reader.h), `self` a struct translator. ERR_FORMAT for a record that is none of ours. */
int translate(void *self, const void *record, uint32_t n, struct fault *why);

#endif
