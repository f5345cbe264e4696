/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/export/exporter.h"

#include <stdio.h>
#include <string.h>

#define EXPORTER_ROW(suffix, write_file, what) {suffix, what, write_file},
static const struct exporter table[] = {EXPORTERS(EXPORTER_ROW){0}};

/*
 * Formats that are no longer written, and what to use instead. They come before the table: by its endings alone
 * run.trace.json would be lines of JSON, and run.perf.txt lines of text.
 */
static const struct {
	const char *suffix, *what, *instead;
} dropped[] = {
	{".trace.json", "the Chrome trace format", ".perfetto-trace, which ui.perfetto.dev reads"},
	{".perf.txt", "the format of perf script", ".folded for flame graphs"},
};

const struct exporter *exporters(void)
{
	return table;
}

static bool ends_in(const char *path, const char *suffix)
{
	size_t len = strlen(path), n = strlen(suffix);

	return len >= n && !strcmp(path + len - n, suffix);
}

int exporter_for(const struct exporter **out, const char *path, struct fault *why)
{
	const struct exporter *best = NULL;
	char known[160] = "";
	size_t len = strlen(path), longest = 0, used = 0;

	for (size_t i = 0; i < sizeof(dropped) / sizeof(dropped[0]); i++)
		if (ends_in(path, dropped[i].suffix))
			return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "%.60s: %s is no longer written; use %s", path,
					 dropped[i].what, dropped[i].instead);
	/* The longest ending that fits: run.otlp.json is OpenTelemetry, not lines of JSON. */
	for (const struct exporter *e = table; e->suffix; e++) {
		size_t n = strlen(e->suffix);

		if (len > n && n > longest && ends_in(path, e->suffix)) {
			best = e;
			longest = n;
		}
		used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", used ? ", " : "", e->suffix);
	}
	if (best) {
		*out = best;
		return 0;
	}
	return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "%.60s: unknown suffix: must be one of %s", path, known);
}
