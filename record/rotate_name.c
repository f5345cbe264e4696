/* SPDX-License-Identifier: Apache-2.0 */
/* What the captures of a rotation are called. */
#include "record/recording_internal.h"

#include <dirent.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUFFIX ".cap"

int rotate_path(char *buf, size_t size, const char *path, uint64_t number, struct fault *why)
{
	size_t n = strlen(path), suffix = strlen(SUFFIX);
	bool has = n > suffix && !strcmp(path + n - suffix, SUFFIX) && path[n - suffix - 1] != '/';
	int put = snprintf(buf, size, "%.*s-%05llu%s", (int)(has ? n - suffix : n), path, (unsigned long long)number,
			   has ? SUFFIX : "");

	return put > 0 && (size_t)put < size
		       ? 0
		       : fault_set(why, ERR_INPUT, FAULT_NOWHERE, "the name of the output is too long");
}

/* The number in the name of a capture of this series; 0: it is none's. */
static uint64_t number_of(const char *name, const char *stem, const char *suffix)
{
	size_t n = strlen(stem), digits;

	if (strncmp(name, stem, n) != 0 || name[n] != '-')
		return 0;
	digits = strspn(name + n + 1, "0123456789");
	return digits == 5 && !strcmp(name + n + 1 + digits, suffix) ? strtoull(name + n + 1, NULL, 10) : 0;
}

uint64_t rotate_first_number(const char *path)
{
	char copy[PATH_MAX], stem[PATH_MAX];
	size_t n = strlen(path), suffix = strlen(SUFFIX);
	uint64_t last = 0, number;
	const char *base;
	bool has;
	DIR *dir;

	if (n >= sizeof(copy))
		return 1; /* too long: reported when the first one is named */
	memcpy(copy, path, n + 1);
	dir = opendir(dirname(copy));
	base = strrchr(path, '/');
	base = base ? base + 1 : path;
	n = strlen(base);
	has = n > suffix && !strcmp(base + n - suffix, SUFFIX);
	n -= has ? suffix : 0;
	memcpy(stem, base, n);
	stem[n] = '\0';
	for (const struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
		number = number_of(e->d_name, stem, has ? SUFFIX : "");
		if (number > last)
			last = number;
	}
	if (dir)
		closedir(dir);
	return last + 1;
}
