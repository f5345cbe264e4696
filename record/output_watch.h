/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the capture that is written is still the file that its name leads to. */
#ifndef GPUREC_RECORD_OUTPUT_WATCH_H
#define GPUREC_RECORD_OUTPUT_WATCH_H

#include <stdbool.h>
#include <sys/types.h>

/* All zero: nothing is held. */
struct output_watch {
	bool held;
	int fd; /* O_PATH */
	dev_t device;
	ino_t inode;
	char problem[80]; /* once it was noticed: what happened to the file; "": nothing */
};

/* From here on the file that `path` leads to now is held: it was made just before. In the place of one held before. */
void output_watch_hold(struct output_watch *o, const char *path);
void output_watch_release(struct output_watch *o);

/*
 * Why `path` does not lead to that file any more, in words that follow a name: "was removed". NULL: it does, or that
 * cannot be known, as in a folder that may not be searched any more. What was noticed once stays noticed.
 */
const char *output_watch_problem(struct output_watch *o, const char *path);

#endif
