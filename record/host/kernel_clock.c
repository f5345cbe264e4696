/* SPDX-License-Identifier: Apache-2.0 */
#include "record/host/kernel_clock.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NS 1000000000

void kernel_clock_open(struct kernel_clock *c, int proc_fd)
{
	int fd = openat(proc_fd, "self/timens_offsets", O_RDONLY | O_CLOEXEC); /* since Linux 5.6 */
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	char name[16];
	int64_t s, ns;

	*c = (struct kernel_clock){0};
	while (f && fscanf(f, "%15s %" SCNd64 " %" SCNd64, name, &s, &ns) == 3) {
		if (!strcmp(name, "boottime"))
			c->boot_ns = s * NS + ns;
		else if (!strcmp(name, "monotonic"))
			c->mono_ns = s * NS + ns;
	}
	if (f)
		fclose(f);
	else if (fd >= 0)
		close(fd);
}
