/* SPDX-License-Identifier: Apache-2.0 */
/* What a capture can be turned into. Adding one is one file and one line here. */
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

/*
 * The exporters themselves, each in a file of its own: suffix, write_file, what. text_write() and jsonl_write() also
 * write to whatever else is open for writing; a closed pipe ends them quietly, with 0.
 */
#define EXPORTERS(E)                                                                                                   \
	E(".txt", text_write, "lines of text")                                                                         \
	E(".json", jsonl_write, "lines of JSON")                                                                       \
	E(".jsonl", jsonl_write, "lines of JSON")                                                                      \
	E(".db", sqlview_write_file, "a SQLite database")                                                              \
	E(".csv", csv_write_file, "comma-separated values; with one --kind, its fields as columns")                    \
	E(".perfetto-trace", perfetto_write_file, "a trace for Perfetto")                                              \
	E(".otlp.json", otlp_write_file, "OpenTelemetry spans, metrics and log records, lines of OTLP JSON")           \
	E(".folded", folded_time_write_file, "time in calls, as folded stacks for a flame graph")                      \
	E(".alloc.folded", folded_bytes_write_file, "bytes by allocation site, as folded stacks")                      \
	E(".cap", narrowed_write_file, "a narrower capture, which still verifies")

/* What SQLite reads along with a database, for target_alone(). */
extern const char *const sqlview_beside[];

#define EXPORTER_DECLARE(suffix, write_file, what) int write_file(const struct replay *, int, struct fault *);
EXPORTERS(EXPORTER_DECLARE)

#endif
