/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this host allows, found out by doing it: programs are loaded, a probe is put on a function of our own, it is
 * called, and its record is read back.
 */
#ifndef GPUREC_RECORD_CHECK_CHECK_H
#define GPUREC_RECORD_CHECK_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "record/recording.h"

enum check_result { CHECK_OK, CHECK_NOTE, CHECK_NO }; /* NOTE: works, with less than could be */

struct check_line {
	const char *what;
	enum check_result result;
	char text[400];
	char remedy[300]; /* never "" where the result is CHECK_NO */
	char detail[200]; /* what the kernel said, for who asks; "": nothing */
};

#define CHECK_LINES_MAX 128

/*
 * For a recording with these options; what they do not ask for is not asked of the host. folder: where its capture
 * would go; NULL: the current one. Fills lines[], returns how many.
 */
size_t check_host(struct check_line lines[CHECK_LINES_MAX], const struct recording_options *o, const char *folder);

#endif
