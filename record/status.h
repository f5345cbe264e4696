/* SPDX-License-Identifier: Apache-2.0 */
/* How a recording goes, in one line for a person who watches, once an epoch. */
#ifndef GPUREC_RECORD_STATUS_H
#define GPUREC_RECORD_STATUS_H

#include "record/limits.h"
#include "record/probe/counters.h"

#define STATUS_BYTES 256

struct status {
	uint64_t begin_ns, last_ns; /* boot clock */
	uint64_t recorded, lost;    /* in this capture, when last looked */
	uint64_t lost_before;       /* in those before */
	uint64_t rate;              /* events a second since then */
	uint64_t nlost, nleft_out;  /* since the beginning; the latter on purpose */
	uint64_t left_out, left_out_before;
};

void status_begin(struct status *s, uint64_t now_ns);

/* An epoch was sealed, with these counters. They begin anew with each capture. */
void status_look(struct status *s, uint64_t now_ns, const struct counter *rows, size_t n);

/*
 * "1234 events/s, 0 lost, 3.2 MiB, 4m 12s left". max_bytes, deadline_ns: 0: none.
 */
void status_line(char buf[STATUS_BYTES], const struct status *s, uint64_t now_ns, uint64_t written_bytes,
		 uint64_t max_bytes, uint64_t deadline_ns);

#endif
