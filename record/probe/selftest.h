/* SPDX-License-Identifier: Apache-2.0 */
/* Wakings of known origin, to see what the probe makes of them. False: the host did not let us. */
#ifndef GPUREC_RECORD_PROBE_SELFTEST_H
#define GPUREC_RECORD_PROBE_SELFTEST_H

#include <stdbool.h>

/* Wake a thread of ours by a write: a task's doing. */
bool wake_by_task(void);

/* Whether the kernel is built so that even interrupts are handled by threads (PREEMPT_RT). */
bool kernel_is_realtime(void);

/*
 * Have a thread of ours woken by a timer, whose interrupt comes upon user code of ours: both are held to one CPU, and
 * this one spins.
 */
bool wake_by_timer(void);

/* Run on each CPU that we may run on, for a moment: who watches switches has then seen one there. */
void visit_cpus(void);

#endif
