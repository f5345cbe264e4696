/* SPDX-License-Identifier: Apache-2.0 */
/* What a capture can be turned into. Adding one is one file and one line in exporter.c. */
#ifndef GPUREC_REPLAY_EXPORTER_H
#define GPUREC_REPLAY_EXPORTER_H

#include "replay/walk.h"

struct exporter {
	const char *suffix; /* of the output's name, with its dot */
	const char *what;   /* for --help */
	/*
	 * Write all of it into the empty file at `path`. 0 or WALK_STOPPED as walk(); after a negative enum err what
	 * it leaves there is thrown away.
	 */
	int (*write_file)(const struct replay *replay, const char *path, struct fault *why);
};

/* By the suffix of `path`: ERR_INPUT, with a sentence that lists the known ones. */
int exporter_for(const struct exporter **out, const char *path, struct fault *why);

/* The table; ends with a zeroed one. */
const struct exporter *exporters(void);

/* The exporters themselves, each in a file of its own. */
int text_write_file(const struct replay *replay, const char *path, struct fault *why);
int jsonl_write_file(const struct replay *replay, const char *path, struct fault *why);
int sqlview_write_file(const struct replay *replay, const char *path, struct fault *why);
int csv_write_file(const struct replay *replay, const char *path, struct fault *why);
int perfetto_write_file(const struct replay *replay, const char *path, struct fault *why);
int chrome_write_file(const struct replay *replay, const char *path, struct fault *why);
int otlp_write_file(const struct replay *replay, const char *path, struct fault *why);
int folded_time_write_file(const struct replay *replay, const char *path, struct fault *why);
int folded_bytes_write_file(const struct replay *replay, const char *path, struct fault *why);
int perf_write_file(const struct replay *replay, const char *path, struct fault *why);
int narrowed_write_file(const struct replay *replay, const char *path, struct fault *why); /* replay/narrowed.h */

/* Text and JSON lines also go to a descriptor, which stays the caller's; a closed pipe ends them quietly, with 0. */
int text_write(const struct replay *replay, int fd, struct fault *why);
int jsonl_write(const struct replay *replay, int fd, struct fault *why);

#endif
