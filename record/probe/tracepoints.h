/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel's tracepoints are for, so that a kernel without one can be reported about in words. */
#ifndef GPUREC_RECORD_PROBE_TRACEPOINTS_H
#define GPUREC_RECORD_PROBE_TRACEPOINTS_H

#include <stddef.h>

#include "record/probe/refusals.h"

struct tracepoint_use {
	const char *name;
	const char *without; /* what is missing in captures of a kernel that does not have it */
	const char *config;  /* the kernel's options that bring it */
};

extern const struct tracepoint_use tracepoint_uses[];
extern const size_t ntracepoint_uses;

/* What is missing in captures of a kernel that refuses this program. */
const char *refusal_without(const struct refusal *r);

#endif
