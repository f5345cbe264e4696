/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library that exports every function of the probe table by its real name, and in which none does anything: what a
 * caller passes is all that matters. Built three times, with EVERY_RUNTIME, EVERY_DRIVER or EVERY_NCCL.
 */
#define FUNCTION(name)                                                                                                 \
	int name(void);                                                                                                \
	int name(void)                                                                                                 \
	{                                                                                                              \
		__asm__ volatile("");                                                                                  \
		return 0;                                                                                              \
	}
#define ONE(id, name, ...) FUNCTION(name)
#define TWO(id, name, suffix, ...) FUNCTION(name) FUNCTION(name##suffix)
#include "tests/workload/every.h"
