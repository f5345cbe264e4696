/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/exporter.h"

#include <stdio.h>
#include <string.h>

static const struct exporter table[] = {
	{".txt", "lines of text", text_write_file},
	{".json", "lines of JSON", jsonl_write_file},
	{".jsonl", "lines of JSON", jsonl_write_file},
	{".db", "a SQLite database", sqlview_write_file},
	{0},
};

const struct exporter *exporters(void)
{
	return table;
}

int exporter_for(const struct exporter **out, const char *path, struct fault *why)
{
	char known[160] = "";
	size_t len = strlen(path), used = 0;

	for (const struct exporter *e = table; e->suffix; e++) {
		size_t n = strlen(e->suffix);

		if (len > n && !strcmp(path + len - n, e->suffix)) {
			*out = e;
			return 0;
		}
		used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", used ? ", " : "", e->suffix);
	}
	return fault_set(why, ERR_INPUT, FAULT_NOWHERE,
			 "%.100s: the name's ending says what to write, and is none of %s", path, known);
}
