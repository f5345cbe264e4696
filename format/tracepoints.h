/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel's tracepoints are for: what a capture lacks that was recorded on a kernel without one. The fact
 * `tracepoints_absent` names them.
 */
#ifndef GPUREC_FORMAT_TRACEPOINTS_H
#define GPUREC_FORMAT_TRACEPOINTS_H

#include <stdbool.h>
#include <stddef.h>

struct tracepoint {
	const char *name;
	const char *lacks;  /* what is not recorded without it */
	const char *config; /* the kernel's options that bring it */
	bool small;         /* no finding is wrong without it */
};

/* NULL: none of those that are used. The name need not end after its `n` characters. */
const struct tracepoint *tracepoint_find(const char *name, size_t n);

/* The next name of the fact's text ("sched_switch, sys_enter"), of *n characters, from *at on; NULL after the last. */
const char *tracepoint_next(const char **at, size_t *n);
/* Whether the fact's text names it. */
bool tracepoint_named(const char *text, const char *tracepoint);

extern const struct tracepoint tracepoints[];
extern const size_t ntracepoints;

#endif
