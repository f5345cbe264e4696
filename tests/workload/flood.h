/* SPDX-License-Identifier: Apache-2.0 */
/* For counting: a known number of calls, as fast as they go, from several threads. */
#ifndef WORKLOAD_FLOOD_H
#define WORKLOAD_FLOOD_H

#include "tests/workload/workload.h"

/*
 * Makes exactly ncalls calls of each kind (launch, alloc, free, copy, set, wait) from nthreads threads named
 * flood-N, all functions of a kind in turn, and adds them to run->tally. Ends early when run->stop is set.
 * With a rate, so many of each kind a second, in bursts; 0: as fast as they go.
 * Returns 0, or an errno.
 */
int flood(struct run *run, uint64_t ncalls, uint64_t rate, unsigned nthreads);

#endif
