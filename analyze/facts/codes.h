/* SPDX-License-Identifier: Apache-2.0 */
/* What numbers of NVIDIA's say: error codes of CUDA and NCCL, Xids, throttle reasons. From NVIDIA's public headers and
 * manuals; in words of our own. */
#ifndef GPUREC_ANALYZE_FACTS_CODES_H
#define GPUREC_ANALYZE_FACTS_CODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/finding.h"

#define CUDA_OUT_OF_MEMORY 2

/* NULL: not in the list. */
const char *cuda_error_text(int64_t code);
const char *nccl_error_text(int64_t code);

/* What to do about it; NULL: nothing more than can be said of any. */
const char *cuda_error_remedy(int64_t code);

/* Not an error, though not 0: "not ready yet". */
bool cuda_error_is_none(int64_t code);
bool nccl_error_is_none(int64_t code);
/* The context is broken by it: every later call returns it. */
bool cuda_error_sticks(int64_t code);
/* What was asked for is so already. */
bool cuda_error_is_harmless(int64_t code);

struct xid_code {
	uint16_t code;
	uint8_t severity; /* enum severity */
	const char *text; /* what happened */
	const char *remedy;
};

/* Never NULL: one that says "unknown" where the code is not in the list. */
const struct xid_code *xid_find(uint64_t code);

struct throttle_reason {
	uint64_t bit;
	const char *name; /* "sw-power-cap" */
	const char *text; /* "its power limit" */
	uint8_t severity; /* enum severity */
	const char *remedy;
};

extern const struct throttle_reason throttle_reasons[];
extern const size_t throttle_nreasons;

#endif
