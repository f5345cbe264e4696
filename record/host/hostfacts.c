/* SPDX-License-Identifier: Apache-2.0 */
#include "record/host/hostfacts.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "record/row.h"

#define VALUE_MAX 512

int fact_emit(struct writer *w, uint64_t at_ns, const char *name, const char *value, struct fault *why)
{
	struct row row = row_of(KIND_fact, at_ns);

	row_text(&row, F_fact_name, name);
	row_text(&row, F_fact_value, value);
	return row_emit(&row, w, why);
}

/* All up to the end of the last component of a path: until ": ", or the end. */
int fact_emit_pathless(struct writer *w, uint64_t at_ns, const char *name, const char *value, struct fault *why)
{
	const char *slash = strrchr(value, '/'), *rest;

	if (!slash)
		return fact_emit(w, at_ns, name, value, why);
	rest = strstr(slash, ": ");
	return fact_emitf(w, at_ns, why, name, "(path)%s", rest ? rest : "");
}

int fact_emitf(struct writer *w, uint64_t at_ns, struct fault *why, const char *name, const char *fmt, ...)
{
	char value[VALUE_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(value, sizeof(value), fmt, args);
	va_end(args);
	return fact_emit(w, at_ns, name, value, why);
}

bool hostfacts_line(const char *path, const char *key, char *value, size_t size)
{
	FILE *f = fopen(path, "re");
	char line[VALUE_MAX];
	bool found = false;

	if (!f)
		return false;
	while (!found && fgets(line, sizeof(line), f)) {
		const char *from = line;

		if (key) {
			from = line + strcspn(line, ":=");
			if (strncmp(line, key, strlen(key)) || !*from)
				continue;
			from += 1 + strspn(from + 1, " \t");
		}
		snprintf(value, size, "%.*s", (int)strcspn(from, "\n"), from);
		found = true;
	}
	fclose(f);
	return found;
}

/* The line of flags is longer than any value. */
static bool cpu_has_flag(const char *flag)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char *line = NULL;
	size_t room = 0;
	bool found = false, is_flags = false;

	while (f && !is_flags && getline(&line, &room, f) > 0) {
		is_flags = !strncmp(line, "flags", 5);
		found = is_flags && strstr(line, flag);
	}
	free(line);
	if (f)
		fclose(f);
	return found;
}

static const struct {
	const char *name, *path, *key;
} files[] = {
	{"boot_id", "/proc/sys/kernel/random/boot_id", NULL},
	{"machine_id", "/etc/machine-id", NULL},
	{"cpu_model", "/proc/cpuinfo", "model name"},
	{"cpus_online", "/sys/devices/system/cpu/online", NULL},
	{"cpus_possible", "/sys/devices/system/cpu/possible", NULL},
	{"numa_nodes", "/sys/devices/system/node/online", NULL},
	{"memory", "/proc/meminfo", "MemTotal"},
	{"clocksource", "/sys/devices/system/clocksource/clocksource0/current_clocksource", NULL},
	{"clocksources", "/sys/devices/system/clocksource/clocksource0/available_clocksource", NULL},
	{"cpu_governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", NULL},
	{"kernel_command_line", "/proc/cmdline", NULL},
	{"lockdown", "/sys/kernel/security/lockdown", NULL},
	{"nvidia_driver", "/proc/driver/nvidia/version", "NVRM version"},
	{"system_vendor", "/sys/class/dmi/id/sys_vendor", NULL},
	{"system_product", "/sys/class/dmi/id/product_name", NULL},
	{"distribution", "/etc/os-release", "PRETTY_NAME"},
};

/*
 * What kind of hypervisor this runs on, by what it says itself; "none" where nothing speaks for one. A container is
 * reported by the pid namespace, in which gpurec does not record.
 */
static const char *virtualisation(char *buf, size_t size)
{
	char text[VALUE_MAX];

	if (hostfacts_line("/sys/hypervisor/type", NULL, buf, size) && buf[0])
		return buf;
	if (hostfacts_line("/sys/class/dmi/id/sys_vendor", NULL, text, sizeof(text))) {
		static const struct {
			const char *vendor, *name;
		} known[] = {
			{"QEMU", "kvm"},           {"KVM", "kvm"},
			{"Amazon EC2", "amazon"},  {"Google", "google"},
			{"VMware", "vmware"},      {"Xen", "xen"},
			{"innotek", "virtualbox"}, {"Parallels", "parallels"},
			{"Firecracker", "kvm"},    {"OpenStack", "kvm"},
			{"DigitalOcean", "kvm"},
		};

		for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
			if (strstr(text, known[i].vendor))
				return known[i].name;
	}
	if (cpu_has_flag("hypervisor"))
		return "some hypervisor";
	return "none";
}

int hostfacts_emit(struct writer *w, uint64_t at_ns, struct fault *why)
{
	struct utsname name;
	char value[VALUE_MAX];
	int r = 0;

	if (uname(&name) == 0) {
		const struct {
			const char *name, *value;
		} facts[] = {
			{"hostname", name.nodename},
			{"kernel", name.release},
			{"kernel_version", name.version},
			{"machine", name.machine},
		};

		for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]) && r == 0; i++)
			r = fact_emit(w, at_ns, facts[i].name, facts[i].value, why);
	}
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && r == 0; i++)
		if (hostfacts_line(files[i].path, files[i].key, value, sizeof(value)))
			r = fact_emit(w, at_ns, files[i].name, value, why);
	if (r == 0)
		r = fact_emit(w, at_ns, "virtualisation", virtualisation(value, sizeof(value)), why);
	return r;
}
