/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a recording is allowed to cost: bytes on disk, events a second, kinds of which only some are kept. The kernel
 * side leaves out and counts; here it is announced, and the size kept.
 */
#ifndef GPUREC_RECORD_LIMITS_H
#define GPUREC_RECORD_LIMITS_H

#include "format/writer.h"
#include "record/probe/attach.h"

struct budget {
	uint64_t max_bytes; /* of all captures together; 0: no limit */
	uint32_t max_rate;  /* events a second; 0: no limit */
	uint32_t keep[ATTACH_KINDS];
};

#define BUDGET_BYTES_MIN (1u << 20)

/* "launch=100": one in a hundred is kept. ERR_INPUT with a sentence. */
int budget_take_sample(struct budget *b, const char *text, struct fault *why);

/* For the kernel side. */
void budget_to_attach(const struct budget *b, struct attach_options *o);

/* `reduction` rows: what is left out from at_ns on. */
int budget_emit(const struct budget *b, struct writer *w, uint64_t at_ns, struct fault *why);

enum budget_state {
	BUDGET_FINE,
	BUDGET_SEAL, /* what is staged might go beyond it: seal, to see how much it really is */
	BUDGET_SPENT /* the next epoch might not fit: end */
};
enum budget_state budget_state(const struct budget *b, uint64_t written_bytes, uint64_t staged_bytes);

#endif
