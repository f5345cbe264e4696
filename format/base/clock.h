/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUREC_FORMAT_BASE_CLOCK_H
#define GPUREC_FORMAT_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* What a clock of the system shows: CLOCK_BOOTTIME, ... */
static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec t = {0};

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#endif
