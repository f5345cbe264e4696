/* SPDX-License-Identifier: Apache-2.0 */
/* What a hypervisor and interrupts take of the CPUs, and at which frequency they run, where the host reports. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/base/array.h"
#include "record/host/hostfacts.h"
#include "record/row.h"

#define STAT_BYTES_FIRST 65536u
#define STAT_BYTES_MAX (4u << 20)
#define FREQUENCY_NS 10000000000ull  /* reading one interrupts an idle CPU on some machines: not often */
#define INTERRUPTS_STEP_NS 20000000u /* reported when they have taken so much more */
#define FREQUENCY_STEP 16            /* reported when it has changed by a sixteenth */

struct cpu_now {
	uint64_t steal_ns, irq_ns, softirq_ns, khz;
	uint64_t emitted_ns; /* of interrupts, in the latest row */
	bool seen, emitted;
};

struct cpus {
	int stat_fd;
	char *text;
	size_t room;
	struct cpu_now *cpu;
	uint32_t n;
	uint64_t tick_ns, next_frequency_ns;
	bool no_frequency; /* none reports it */
};

int cpus_new(struct cpus **out, const char *stat_path, struct fault *why)
{
	long configured = sysconf(_SC_NPROCESSORS_CONF), ticks = sysconf(_SC_CLK_TCK);
	struct cpus *c = calloc(1, sizeof(*c));

	if (c) {
		c->n = configured > 0 ? (uint32_t)configured : 1;
		c->cpu = calloc(c->n, sizeof(*c->cpu));
		c->room = STAT_BYTES_FIRST;
		c->text = malloc(c->room);
		c->tick_ns = 1000000000u / (uint64_t)(ticks > 0 ? ticks : 100);
		c->stat_fd = open(stat_path, O_RDONLY | O_CLOEXEC);
	}
	if (!c || !c->cpu || !c->text) {
		cpus_free(c);
		return fault_no_memory(why);
	}
	*out = c;
	return 0;
}

void cpus_free(struct cpus *c)
{
	if (!c)
		return;
	if (c->stat_fd >= 0)
		close(c->stat_fd);
	free(c->text);
	free(c->cpu);
	free(c);
}

/* The lines of /proc/stat, up to those that are about interrupts, which can be long. False: not to be had. */
static bool read_stat(struct cpus *c)
{
	ssize_t n;
	size_t have = 0;

	while (c->stat_fd >= 0 && have + 1 < c->room) {
		n = pread(c->stat_fd, c->text + have, c->room - have - 1, (off_t)have);
		if (n < 0)
			return false;
		have += (size_t)n;
		c->text[have] = 0;
		if (n == 0 || strstr(c->text, "\nintr"))
			return have > 0;
		if (have + 1 == c->room && c->room < STAT_BYTES_MAX) {
			char *more = array_grow(c->text, &c->room, c->room + 1, 1);

			if (!more)
				return false;
			c->text = more;
		}
	}
	return false;
}

/* cpu3 user nice system idle iowait irq softirq steal ... */
static bool take_line(struct cpus *c, const char *line)
{
	unsigned long long irq, softirq, steal;
	struct cpu_now *cpu;
	unsigned n;

	if (sscanf(line, "cpu%u %*u %*u %*u %*u %*u %llu %llu %llu", &n, &irq, &softirq, &steal) != 4 || n >= c->n)
		return false;
	cpu = &c->cpu[n];
	cpu->emitted = cpu->seen && cpu->steal_ns == steal * c->tick_ns &&
		       (irq + softirq) * c->tick_ns < cpu->emitted_ns + INTERRUPTS_STEP_NS;
	cpu->irq_ns = irq * c->tick_ns;
	cpu->softirq_ns = softirq * c->tick_ns;
	cpu->steal_ns = steal * c->tick_ns;
	cpu->seen = true;
	return true;
}

static void take_frequencies(struct cpus *c)
{
	char path[96], text[32];
	bool any = false;

	for (uint32_t i = 0; i < c->n; i++) {
		struct cpu_now *cpu = &c->cpu[i];
		unsigned long long khz = 0;
		ssize_t n = 0;
		int fd;

		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/cpufreq/scaling_cur_freq", i);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0) {
			n = read(fd, text, sizeof(text) - 1);
			close(fd);
		}
		if (n <= 0)
			continue;
		text[n] = 0;
		khz = strtoull(text, NULL, 10);
		any = true;
		if ((khz > cpu->khz ? khz - cpu->khz : cpu->khz - khz) * FREQUENCY_STEP < khz || khz == cpu->khz)
			continue;
		cpu->khz = khz;
		cpu->emitted = false;
	}
	c->no_frequency = !any;
}

int cpus_emit(struct cpus *c, struct writer *w, uint64_t at_ns, struct fault *why)
{
	struct row row = row_of(KIND_cpu, at_ns);
	int r = 0;

	if (!read_stat(c))
		return 0;
	for (const char *line = c->text; line; line = strchr(line, '\n'), line += line != NULL)
		if (!strncmp(line, "cpu", 3))
			(void)take_line(c, line);
	if (!c->no_frequency && at_ns >= c->next_frequency_ns) {
		take_frequencies(c);
		c->next_frequency_ns = at_ns + FREQUENCY_NS;
	}
	for (uint32_t i = 0; i < c->n && r == 0; i++) {
		if (!c->cpu[i].seen || c->cpu[i].emitted)
			continue;
		row.v[F_cpu_cpu] = i;
		row.v[F_cpu_steal] = c->cpu[i].steal_ns;
		row.v[F_cpu_khz] = c->cpu[i].khz;
		row.v[F_cpu_irq] = c->cpu[i].irq_ns;
		row.v[F_cpu_softirq] = c->cpu[i].softirq_ns;
		c->cpu[i].emitted_ns = c->cpu[i].irq_ns + c->cpu[i].softirq_ns;
		r = row_emit(&row, w, why);
		c->cpu[i].emitted = true;
	}
	return r;
}

void cpus_forget(struct cpus *c)
{
	for (uint32_t i = 0; i < c->n; i++)
		c->cpu[i].seen = false;
	c->next_frequency_ns = 0;
	for (uint32_t i = 0; i < c->n; i++)
		c->cpu[i].khz = 0;
}
