/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control groups, and what they let those in them have of CPU time and memory: `cgroup`, `quota` and `memory_limit`
 * rows.
 */
#ifndef GPUREC_ANALYZE_FACTS_CONTROL_GROUPS_H
#define GPUREC_ANALYZE_FACTS_CONTROL_GROUPS_H

#include "format/base/table.h"
#include "format/base/text.h"
#include "format/cursor.h"

#define CONTROL_GROUPS_MAX 4096 /* distinguished */

struct control_group {
	struct table_key key; /* a: its number, counted from 1 */
	char *path;           /* bytes out of a capture; owned */
	size_t path_bytes;
	bool has_quota; /* a quota row reported of it, and it has had one */
	uint64_t quota_ns, period_ns;
	/* cpu.stat: at the first quota row, and at the latest. */
	struct cpu_stat {
		uint64_t periods, throttled_periods, throttled_ns;
	} first, last;
	bool has_memory; /* a memory_limit row reported of it */
	/* Bytes, as kind memory_limit has them. */
	struct memory_stat {
		uint64_t max, high, used, anon, file, shmem;
		uint64_t times_high, times_max;
	} memory_first, memory_last;
	/* The process with most memory when it last came up against its limit. */
	struct memory_holder {
		uint64_t pid, resident; /* 0: not known */
	} holder;
};
#define MEMORY_LIMIT_HOST "/" /* the path of the host */

/* A zeroed one is empty. */
struct control_groups {
	struct table groups; /* struct control_group */
};

/* The number of the group with this path, which gets one if it has none yet. *number 0: beyond the limit. ERR_MEMORY.
 */
int control_groups_number(struct control_groups *g, const char *path, size_t n, uint64_t *number, struct fault *why);
/* Take in a `quota` row. ERR_MEMORY. */
int control_groups_feed_quota(struct control_groups *g, const struct event *ev, struct fault *why);
/* Take in a `memory_limit` row. ERR_MEMORY. */
int control_groups_feed_memory(struct control_groups *g, const struct event *ev, struct fault *why);
void control_groups_clear(struct control_groups *g);

/*
 * The group whose quota bounds that of this number: of itself and of those above it the one that was throttled most,
 * and if none was, the one with the least share of a CPU. NULL: none has a quota, as far as is known.
 */
const struct control_group *control_groups_throttled(const struct control_groups *g, uint64_t number);

/*
 * Of the group of this number and those above it the one that came up against its limit of memory most often. NULL:
 * none did, as far as is known.
 */
const struct control_group *control_groups_short(const struct control_groups *g, uint64_t number);
/* The host as a group. NULL: not known. */
const struct control_group *control_groups_host(const struct control_groups *g);

/* How often it came up against memory.high, and memory.max. */
uint64_t control_group_times_high(const struct control_group *group);
uint64_t control_group_times_max(const struct control_group *group);

/* "control group /x is at its memory limit of 2.00 GiB". Escaped. */
void text_add_memory_limit(struct text *t, const struct control_group *group);
/* "2.00 GiB are in use there: 1.50 GiB by processes, 400 MiB by files that were read or written". */
void text_add_memory_use(struct text *t, const struct control_group *group);

/* " (30.0 ms of 100 ms) of cgroup /x"; nothing for NULL. Escaped. */
void text_add_quota(struct text *t, const struct control_group *group);

#endif
