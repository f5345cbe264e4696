/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clocks as the kernel itself reads them, which is what its events carry. In a time namespace (time_namespaces(7):
 * a container that was restored, or started with an offset) those that a program reads are ahead of them, or behind.
 */
#ifndef GPUREC_RECORD_HOST_KERNEL_CLOCK_H
#define GPUREC_RECORD_HOST_KERNEL_CLOCK_H

#include <stdint.h>

/*
 * Learn by how much ours differ, from /proc: before all else in this file, and again in a process that was forked off.
 * Where /proc does not say, by nothing; attach_open() finds out if that is wrong.
 */
void kernel_clock_open(void);

uint64_t kernel_boot_ns(void); /* CLOCK_BOOTTIME */
uint64_t kernel_mono_ns(void); /* CLOCK_MONOTONIC */

/* By how much our boot clock is ahead of the kernel's. */
int64_t kernel_clock_ahead_ns(void);

#endif
