/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clocks as the kernel itself reads them, which is what its events carry. In a time namespace (time_namespaces(7):
 * a container that was restored, or started with an offset) those that a program reads are ahead of them, or behind.
 */
#ifndef GPUREC_RECORD_HOST_KERNEL_CLOCK_H
#define GPUREC_RECORD_HOST_KERNEL_CLOCK_H

#include <stdint.h>

#include "format/base/clock.h"

/* By how much ours are ahead. */
struct kernel_clock {
	int64_t boot_ns, mono_ns;
};

/*
 * Learn it from a proc filesystem: of this process, so again in one that was forked off. Where it is not there,
 * nothing; attach_open() finds out if that is wrong.
 */
void kernel_clock_open(struct kernel_clock *c, int proc_fd);

/* CLOCK_BOOTTIME */
static inline uint64_t kernel_boot_ns(const struct kernel_clock *c)
{
	return clock_ns(CLOCK_BOOTTIME) - (uint64_t)c->boot_ns;
}

/* CLOCK_MONOTONIC */
static inline uint64_t kernel_mono_ns(const struct kernel_clock *c)
{
	return clock_ns(CLOCK_MONOTONIC) - (uint64_t)c->mono_ns;
}

#endif
