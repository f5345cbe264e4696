/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of our programs that the kernel left out, because the same program already ran on that CPU. */
#ifndef GPUREC_RECORD_SKIPPED_RUNS_H
#define GPUREC_RECORD_SKIPPED_RUNS_H

#include <bpf/libbpf.h>

#include "record/probe/counters.h"
#include "record/probe/refusals.h"

struct skipped_runs {
	uint64_t before[REFUSALS_MAX];  /* by program, as the kernel counts: recording began */
	uint64_t counted[REFUSALS_MAX]; /* since */
	bool unemitted;                 /* the kernel does not say */
};

void skipped_runs_begin(struct skipped_runs *s, const struct bpf_object *object);
/* Those that came since are counted, each by the probe that the program is for. */
void skipped_runs_count(struct skipped_runs *s, const struct bpf_object *object, struct counters *c);
/* All that were counted; in text, by program. UINT64_MAX: the kernel does not say; "not known". */
uint64_t skipped_runs_emit(const struct skipped_runs *s, const struct bpf_object *object, char *text, size_t size);

/* The probe (enum host_probe) for which a program runs; 0: for none, or the program is not known. */
uint16_t skipped_runs_probe(const char *program);

#endif
