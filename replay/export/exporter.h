/* SPDX-License-Identifier: Apache-2.0 */
/* What a capture can be turned into. Adding one is one file and one line in exporter.c. */
#ifndef GPUREC_REPLAY_EXPORT_EXPORTER_H
#define GPUREC_REPLAY_EXPORT_EXPORTER_H

#include "replay/model/walk.h"

struct exporter {
	const char *suffix; /* of the output's name, with its dot */
	const char *what;   /* for --help */
	/*
	 * Write all of it into the empty regular file `fd`, which is open for reading, too, and stays the caller's. 0
	 * or WALK_STOPPED as walk(); after a negative enum err what it leaves there is thrown away. By the descriptor,
	 * not by a name: another file may have that by then.
	 */
	int (*write_file)(const struct replay *replay, int fd, struct fault *why);
};

/* By the suffix of `path`. ERR_INPUT: it is not known, or no longer; the sentence names what there is. */
int exporter_for(const struct exporter **out, const char *path, struct fault *why);

/* The table; ends with a zeroed one. */
const struct exporter *exporters(void);

/* The exporters themselves, each in a file of its own. */
int sqlview_write_file(const struct replay *replay, int fd, struct fault *why);
int csv_write_file(const struct replay *replay, int fd, struct fault *why);
int perfetto_write_file(const struct replay *replay, int fd, struct fault *why);
int otlp_write_file(const struct replay *replay, int fd, struct fault *why);
int folded_time_write_file(const struct replay *replay, int fd, struct fault *why);
int folded_bytes_write_file(const struct replay *replay, int fd, struct fault *why);
int narrowed_write_file(const struct replay *replay, int fd, struct fault *why); /* replay/narrowed.h */

/* These two also write to whatever else is open for writing; a closed pipe ends them quietly, with 0. */
int text_write(const struct replay *replay, int fd, struct fault *why);
int jsonl_write(const struct replay *replay, int fd, struct fault *why);

#endif
