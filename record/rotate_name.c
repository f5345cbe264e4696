/* SPDX-License-Identifier: Apache-2.0 */
/* What the captures of a rotation are called. */
#include "record/recording_internal.h"

#include <dirent.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUFFIX ".cap"

/* Bytes before the suffix, if there is one. */
static size_t stem_bytes(const char *path)
{
	size_t n = strlen(path), suffix = strlen(SUFFIX);

	return n > suffix && !strcmp(path + n - suffix, SUFFIX) && path[n - suffix - 1] != '/' ? n - suffix : n;
}

int rotate_path(char *buf, size_t size, const char *path, uint64_t number, struct fault *why)
{
	size_t stem = stem_bytes(path);
	int put = snprintf(buf, size, "%.*s-%05llu%s", (int)stem, path, (unsigned long long)number, path + stem);

	return put > 0 && (size_t)put < size
		       ? 0
		       : fault_set(why, ERR_INPUT, FAULT_NOWHERE, "the name of the output is too long");
}

/* The number in the name of a capture of the series `base`; 0: it has no such name. */
static uint64_t number_of(const char *name, const char *base)
{
	size_t n = stem_bytes(base), digits;

	if (strncmp(name, base, n) != 0 || name[n] != '-')
		return 0;
	digits = strspn(name + n + 1, "0123456789");
	return digits == 5 && !strcmp(name + n + 1 + digits, base + n) ? strtoull(name + n + 1, NULL, 10) : 0;
}

uint64_t rotate_first_number(const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	uint64_t last = 0, number;
	char copy[PATH_MAX];
	DIR *dir;

	if (strlen(path) >= sizeof(copy))
		return 1; /* too long: reported when the first one is named */
	strcpy(copy, path);
	dir = opendir(dirname(copy));
	for (const struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
		number = number_of(e->d_name, base);
		if (number > last)
			last = number;
	}
	if (dir)
		closedir(dir);
	return last + 1;
}
