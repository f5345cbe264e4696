/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of keys: a fresh folder, current and named by GPUREC_HOME, around each test. */
#ifndef GPUREC_TESTS_HOME_H
#define GPUREC_TESTS_HOME_H

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

static inline int remove_home(void **state)
{
	char command[PATH_MAX];

	if (chdir("/") < 0)
		return -1;
	snprintf(command, sizeof(command), "rm -rf '%s'", (char *)*state);
	free(*state);
	return system(command);
}

#endif
