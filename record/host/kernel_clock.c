/* SPDX-License-Identifier: Apache-2.0 */
#include "record/host/kernel_clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "format/base/clock.h"

#define NS 1000000000

/* Of this process: that is what a namespace is of, too. */
static int64_t boot_ahead_ns, mono_ahead_ns;

void kernel_clock_open(void)
{
	FILE *f = fopen("/proc/self/timens_offsets", "re"); /* not there before Linux 5.6: then there are none */
	char name[16];
	int64_t s, ns;

	boot_ahead_ns = mono_ahead_ns = 0;
	while (f && fscanf(f, "%15s %" SCNd64 " %" SCNd64, name, &s, &ns) == 3) {
		if (!strcmp(name, "boottime"))
			boot_ahead_ns = s * NS + ns;
		else if (!strcmp(name, "monotonic"))
			mono_ahead_ns = s * NS + ns;
	}
	if (f)
		fclose(f);
}

uint64_t kernel_boot_ns(void)
{
	return clock_ns(CLOCK_BOOTTIME) - (uint64_t)boot_ahead_ns;
}

uint64_t kernel_mono_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC) - (uint64_t)mono_ahead_ns;
}

int64_t kernel_clock_ahead_ns(void)
{
	return boot_ahead_ns;
}
