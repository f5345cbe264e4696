/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of keys: a fresh folder, current and named by GPUREC_HOME, around each test. */
#ifndef GPUREC_TESTS_HOME_H
#define GPUREC_TESTS_HOME_H

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static inline int make_home(void **state)
{
	const char *tmp = getenv("TMPDIR");
	char *home = malloc(PATH_MAX);

	if (!home)
		return -1;
	snprintf(home, PATH_MAX, "%s/gpurec-home-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(home) || chdir(home) < 0)
		return -1;
	setenv("GPUREC_HOME", home, 1);
	*state = home;
	return 0;
}

static inline int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

/* As rm -rf, without a process: tests of faults do this thousands of times. 0, or -1 with errno. */
static inline int remove_tree(const char *path)
{
	int r = nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);

	return r < 0 && errno == ENOENT ? 0 : r;
}

static inline int remove_home(void **state)
{
	int r;

	if (chdir("/") < 0)
		return -1;
	r = remove_tree(*state);
	free(*state);
	return r;
}

#endif
