/* SPDX-License-Identifier: Apache-2.0 */
#include "record/hostfacts.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define VALUE_MAX 512

int fact_tell(struct writer *w, uint64_t at_ns, const char *name, const char *value, struct fault *why)
{
	const char *text[NFIELDS_fact] = {0};
	uint64_t v[NFIELDS_fact] = {0};

	v[F_fact_at] = at_ns;
	v[F_fact_name] = strlen(name);
	text[F_fact_name] = name;
	v[F_fact_value] = strlen(value);
	text[F_fact_value] = value;
	return writer_add(w, KIND_fact, v, text, why);
}

int fact_tellf(struct writer *w, uint64_t at_ns, struct fault *why, const char *name, const char *fmt, ...)
{
	char value[VALUE_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(value, sizeof(value), fmt, args);
	va_end(args);
	return fact_tell(w, at_ns, name, value, why);
}

/* The first line of a file, or of the line that begins with `key` what follows the colon. False: there is none. */
static bool line_of(const char *path, const char *key, char *value, size_t size)
{
	FILE *f = fopen(path, "re");
	char line[VALUE_MAX];
	bool found = false;

	if (!f)
		return false;
	while (!found && fgets(line, sizeof(line), f)) {
		const char *from = line;

		if (key) {
			if (strncmp(line, key, strlen(key)) || !strchr(line, ':'))
				continue;
			from = strchr(line, ':') + 1;
			from += strspn(from, " \t");
		}
		snprintf(value, size, "%.*s", (int)strcspn(from, "\n"), from);
		found = true;
	}
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
	{"memory", "/proc/meminfo", "MemTotal"},
	{"clocksource", "/sys/devices/system/clocksource/clocksource0/current_clocksource", NULL},
};

int hostfacts_tell(struct writer *w, uint64_t at_ns, struct fault *why)
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
			r = fact_tell(w, at_ns, facts[i].name, facts[i].value, why);
	}
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && r == 0; i++)
		if (line_of(files[i].path, files[i].key, value, sizeof(value)))
			r = fact_tell(w, at_ns, files[i].name, value, why);
	return r;
}
