/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A narrower capture: which chunks go, in numbers and words, before it is written (narrowed_write_file(), which stands
 * with the other exporters). No secret key is needed, and no event is decoded: what stays is copied byte by byte.
 */
#ifndef GPUREC_REPLAY_NARROWED_H
#define GPUREC_REPLAY_NARROWED_H

#include "format/narrow.h"
#include "replay/model/walk.h"
#include "replay/verify/summary.h"

struct narrowed_class {
	const char *name; /* points into the reader */
	uint8_t id;
	bool asked;               /* to be withheld as a whole */
	uint64_t kept_rows;       /* of a class that is not asked for: what stays */
	uint64_t shared_rows;     /* of what is kept: of no single process */
	struct withheld_run gone; /* what goes now; what was withheld before does not count */
};

struct narrowed {
	const struct reader *reader;
	struct narrowing what;
	struct narrowed_class classes[CLASSES_MAX];
	size_t nclasses;
	uint64_t nwithheld;                   /* chunks, the sum */
	uint64_t kept_chunks;                 /* of class events */
	uint64_t kept_first_ns, kept_last_ns; /* their earliest and latest row, boot clock */
	uint64_t nmixed;                      /* rows that go, in chunks of several processes */
	uint32_t reused_pid;    /* of those that are kept, the one that most processes had in turn; 0: each was of one */
	uint32_t reused_number; /* of that one's processes */
	bool host_leaks; /* class host goes, too: its rows have paths or names that were asked to go */
};

/*
 * Add the classes of a list "process,path" by the names of this schema to *classes. `path` takes `arguments` with it,
 * which have paths; in captures whose arguments are of class `path` either name is that class. ERR_INPUT with a
 * sentence that lists them.
 */
int narrowed_add_classes(uint32_t *classes, const struct schema *schema, const char *list, struct fault *why);

/*
 * What replay->withhold and the filter's times take from the capture. ERR_FORGED, ERR_FORMAT, ERR_IO: it is not
 * authentic, and evidence is never made of that, whatever was allowed to be read. ERR_INPUT: no event is in that time.
 */
int narrowed_plan(struct narrowed *n, const struct replay *replay, struct fault *why);

/* What happens to class `i`, in a sentence; false: nothing, and `buf` is "". */
bool narrowed_describe(const struct narrowed *n, size_t i, char *buf, size_t size);

/*
 * For a part by time: which classes still report the whole recording, and what removes them, in a sentence; false:
 * none does.
 */
bool narrowed_describe_beyond(const struct narrowed *n, char *buf, size_t size);

/* Why class host goes though nobody asked, in a sentence; false: it does not. */
bool narrowed_describe_host(const struct narrowed *n, char *buf, size_t size);

/* For a part by process: what stays that is of none, and what goes that may be theirs, in a sentence; false: it is
 * none.
 */
bool narrowed_describe_parts(const struct narrowed *n, char *buf, size_t size);

/* That more than one process had a number that is kept, in a sentence; false: none had. */
bool narrowed_describe_reused(const struct narrowed *n, char *buf, size_t size);

/* From when to when events are kept, in a sentence; false: all are, or none. */
bool narrowed_describe_kept(const struct narrowed *n, char *buf, size_t size);

#endif
