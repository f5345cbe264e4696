/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding CUDA libraries in what processes have mapped, and putting probes on each of them once, however many processes
 * share it. What was attached is remembered until discover_tell() writes it down.
 */
#ifndef GPUREC_RECORD_DISCOVER_H
#define GPUREC_RECORD_DISCOVER_H

#include "record/attach.h"
#include "record/stacks.h"

struct discover;

/* All borrowed; they must outlive it. */
int discover_new(struct discover **d, const struct procfs *fs, struct symbolizer *symbolizer, struct attach *attach,
		 struct fault *why);
void discover_free(struct discover *d);

/* A library (or program with the runtime linked in) that a person named. ERR_INPUT: not there, or nothing in it to
 * probe. */
int discover_add_file(struct discover *d, const char *path, struct fault *why);

/* Look at one process. 1: it has a CUDA library mapped; 0: it has not, or is gone, or may not be looked at. */
int discover_process(struct discover *d, uint32_t pid, struct fault *why);

/*
 * Look at all processes, or only at those above `after` in order of start (ns; 0: all). use() is told of each that has
 * a CUDA library mapped; a negative result ends the scan.
 */
int discover_all(struct discover *d, uint64_t after_ns, int (*use)(void *self, uint32_t pid, struct fault *why),
		 void *self, struct fault *why);

/* Write `module` and `attach` rows of what was attached since the last call. */
int discover_tell(struct discover *d, struct stacks *stacks, struct writer *w, uint64_t at_ns, struct fault *why);

struct discover_counts {
	size_t libraries;       /* that carry at least one probe */
	size_t sites;           /* functions probed */
	size_t refused;         /* functions that could not be */
	size_t unread;          /* libraries that could not be opened or read */
	char last_problem[256]; /* of the last one of these */
};
const struct discover_counts *discover_counts(const struct discover *d);

#endif
