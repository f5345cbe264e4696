/* SPDX-License-Identifier: Apache-2.0 */
/* The control groups that share out CPU time, and their quotas, as `cgroup` and `quota` rows report them. */
#ifndef GPUREC_ANALYZE_FACTS_CPU_GROUPS_H
#define GPUREC_ANALYZE_FACTS_CPU_GROUPS_H

#include "format/base/table.h"
#include "format/base/text.h"
#include "format/cursor.h"

#define CPU_GROUPS_MAX 4096 /* distinguished */

struct cpu_group {
	struct table_key key; /* a: its number, counted from 1 */
	char *path;           /* bytes out of a capture; owned */
	size_t path_bytes;
	bool has_quota; /* a quota row reported of it, and it has had one */
	uint64_t quota_ns, period_ns;
	/* cpu.stat: at the first quota row, and at the latest. */
	struct cpu_stat {
		uint64_t periods, throttled_periods, throttled_ns;
	} first, last;
};

/* A zeroed one is empty. */
struct cpu_groups {
	struct table groups; /* struct cpu_group */
};

/* The number of the group with this path, made if there is none. *number 0: beyond the limit. ERR_MEMORY. */
int cpu_groups_number(struct cpu_groups *g, const char *path, size_t n, uint64_t *number, struct fault *why);
/* Take in a `quota` row. ERR_MEMORY. */
int cpu_groups_feed(struct cpu_groups *g, const struct event *ev, struct fault *why);
void cpu_groups_clear(struct cpu_groups *g);

/*
 * The group whose quota bounds that of this number: of itself and of those above it the one that was throttled most,
 * and if none was, the one with the least share of a CPU. NULL: none has a quota, as far as is known.
 */
const struct cpu_group *cpu_groups_bound(const struct cpu_groups *g, uint64_t number);

/* " (30.0 ms of 100 ms) of cgroup /x"; nothing for NULL. Escaped. */
void text_add_quota(struct text *t, const struct cpu_group *group);

#endif
