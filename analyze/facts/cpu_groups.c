// SPDX-License-Identifier: Apache-2.0
#include "analyze/facts/cpu_groups.h"

#include <stdlib.h>
#include <string.h>

static struct cpu_group *group_at(const struct cpu_groups *g, size_t i)
{
	return (struct cpu_group *)g->groups.items[i];
}

int cpu_groups_number(struct cpu_groups *g, const char *path, size_t n, uint64_t *number, struct fault *why)
{
	struct cpu_group *group;

	for (size_t i = 0; i < g->groups.nitems; i++) {
		group = group_at(g, i);
		if (group->path_bytes == n && memcmp(group->path, path, n) == 0) {
			*number = group->key.a;
			return 0;
		}
	}
	*number = 0;
	if (g->groups.nitems >= CPU_GROUPS_MAX)
		return 0;
	group = table_add(&g->groups, g->groups.nitems + 1, 0, sizeof(*group));
	if (!group)
		return fault_no_memory(why);
	group->path = malloc(n + 1);
	if (!group->path)
		return fault_no_memory(why);
	memcpy(group->path, path, n);
	group->path[n] = 0;
	group->path_bytes = n;
	*number = group->key.a;
	return 0;
}

int cpu_groups_feed(struct cpu_groups *g, const struct event *ev, struct fault *why)
{
	const struct cpu_stat stat = {ev->v[F_quota_periods], ev->v[F_quota_throttled_periods],
				      ev->v[F_quota_throttled]};
	struct cpu_group *group;
	uint64_t number;
	int r;

	if (!ev->text[F_quota_path])
		return 0;
	r = cpu_groups_number(g, ev->text[F_quota_path], (size_t)ev->v[F_quota_path], &number, why);
	if (r < 0 || number == 0)
		return r;
	group = table_find(&g->groups, number, 0);
	if (!group->has_quota)
		group->first = stat;
	group->last = stat;
	/* What it was, should it have none any more. */
	if (ev->v[F_quota_quota] || !group->has_quota) {
		group->quota_ns = ev->v[F_quota_quota];
		group->period_ns = ev->v[F_quota_period];
	}
	group->has_quota = true;
	return 0;
}

void cpu_groups_clear(struct cpu_groups *g)
{
	for (size_t i = 0; i < g->groups.nitems; i++)
		free(group_at(g, i)->path);
	table_clear(&g->groups);
}

/* Whether `above` is `path` or one of the groups that it is in. */
static bool holds(const struct cpu_group *above, const struct cpu_group *path)
{
	size_t n = above->path_bytes;

	return n <= path->path_bytes && memcmp(above->path, path->path, n) == 0 &&
	       (n == path->path_bytes || path->path[n] == '/');
}

static uint64_t growth_ns(const struct cpu_group *g)
{
	return g->last.throttled_ns > g->first.throttled_ns ? g->last.throttled_ns - g->first.throttled_ns : 0;
}

/* Of one CPU, in millionths. */
static uint64_t share_ppm(const struct cpu_group *g)
{
	return g->quota_ns / (g->period_ns / 1000000 + 1);
}

/* Whether `a` bounds more than `b` does. */
static bool bounds_more(const struct cpu_group *a, const struct cpu_group *b)
{
	if (growth_ns(a) != growth_ns(b))
		return growth_ns(a) > growth_ns(b);
	return share_ppm(a) < share_ppm(b);
}

const struct cpu_group *cpu_groups_bound(const struct cpu_groups *g, uint64_t number)
{
	const struct cpu_group *group = table_find(&g->groups, number, 0), *best = NULL;

	for (size_t i = 0; group && i < g->groups.nitems; i++) {
		const struct cpu_group *above = group_at(g, i);

		if (above->has_quota && holds(above, group) && (!best || bounds_more(above, best)))
			best = above;
	}
	return best;
}

void text_add_quota(struct text *t, const struct cpu_group *group)
{
	if (!group)
		return;
	text_add(t, " (");
	text_add_ns(t, group->quota_ns);
	text_add(t, " of ");
	text_add_ns(t, group->period_ns);
	text_add(t, ") of cgroup ");
	text_add_escaped(t, group->path, group->path_bytes);
}
