/* SPDX-License-Identifier: Apache-2.0 */
/* Which events a person asked for. */
#ifndef GPUREC_REPLAY_FILTER_H
#define GPUREC_REPLAY_FILTER_H

#include "format/cursor.h"
#include "replay/model/tasks.h"
#include "replay/where/where.h"

#define FILTER_IDS_MAX 64

/* A zeroed one but for to_ns = NO_TIME lets everything through. */
struct filter {
	bool some_kinds; /* else all */
	bool kinds[UINT16_MAX + 1];
	uint32_t pids[FILTER_IDS_MAX]; /* none: all. An event passes if any thread in it belongs to one of them */
	size_t npids;
	uint32_t tids[FILTER_IDS_MAX]; /* likewise */
	size_t ntids;
	uint64_t from_ns, to_ns;   /* boot clock: from <= at < to */
	const struct where *where; /* bound to the capture; NULL: no condition */
};

/* Add the kinds of a list "launch,alloc" by the names of this schema. ERR_INPUT with a sentence that lists them. */
int filter_add_kinds(struct filter *f, const struct schema *schema, const char *list, struct fault *why);

/* Whether it lets all pass. */
bool filter_is_open(const struct filter *f);

/*
 * Whether `ev` passes. keep_names: rows that report processes, modules, frames, ... always do, so that the events
 * which pass keep their names. the tasks has seen the event.
 */
bool filter_passes(const struct filter *f, const struct event *ev, const struct tasks *tasks, bool keep_names);

/* Whether losses of a probe yielding `kind` in [begin, end) concern those who asked. */
bool filter_concerns(const struct filter *f, uint16_t kind, uint64_t begin_ns, uint64_t end_ns);

/* What is let through, in words: "all", "kind launch,alloc; pid 4399; from 12 to 13 ns". */
void filter_describe(const struct filter *f, const struct schema *schema, char *buf, size_t size);

#endif
