// SPDX-License-Identifier: Apache-2.0
#include "analyze/facts/control_groups.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static struct control_group *group_at(const struct control_groups *g, size_t i)
{
	return (struct control_group *)g->groups.items[i];
}

int control_groups_number(struct control_groups *g, const char *path, size_t n, uint64_t *number, struct fault *why)
{
	struct control_group *group;

	for (size_t i = 0; i < g->groups.nitems; i++) {
		group = group_at(g, i);
		if (group->path_bytes == n && memcmp(group->path, path, n) == 0) {
			*number = group->key.a;
			return 0;
		}
	}
	*number = 0;
	if (g->groups.nitems >= CONTROL_GROUPS_MAX)
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

/* The group that a row names; NULL: none, or beyond the limit. ERR_MEMORY. */
static int group_of(struct control_groups *g, const struct event *ev, int path, struct control_group **group,
		    struct fault *why)
{
	uint64_t number = 0;
	int r = ev->text[path] ? control_groups_number(g, ev->text[path], (size_t)ev->v[path], &number, why) : 0;

	*group = r == 0 && number ? table_find(&g->groups, number, 0) : NULL;
	return r;
}

int control_groups_feed_quota(struct control_groups *g, const struct event *ev, struct fault *why)
{
	const struct cpu_stat stat = {ev->v[F_quota_periods], ev->v[F_quota_throttled_periods],
				      ev->v[F_quota_throttled]};
	struct control_group *group;
	int r = group_of(g, ev, F_quota_path, &group, why);

	if (!group)
		return r;
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

int control_groups_feed_memory(struct control_groups *g, const struct event *ev, struct fault *why)
{
	struct memory_stat stat = {
		.max = ev->v[F_memory_limit_max],
		.high = ev->v[F_memory_limit_high],
		.used = ev->v[F_memory_limit_used],
		.anon = ev->v[F_memory_limit_anon],
		.file = ev->v[F_memory_limit_file],
		.shmem = ev->v[F_memory_limit_shmem],
		.times_high = ev->v[F_memory_limit_times_high],
		.times_max = ev->v[F_memory_limit_times_max],
	};
	struct control_group *group;
	int r = group_of(g, ev, F_memory_limit_path, &group, why);

	if (!group)
		return r;
	if (!group->has_memory)
		group->memory_first = stat;
	/* What it was, should there be no limit any more. */
	stat.max = stat.max ? stat.max : group->memory_last.max;
	stat.high = stat.high ? stat.high : group->memory_last.high;
	group->memory_last = stat;
	group->has_memory = true;
	if (!ev->v[F_memory_limit_holder])
		return 0;
	group->holder.pid = ev->v[F_memory_limit_holder];
	group->holder.resident = ev->v[F_memory_limit_holder_bytes];
	return 0;
}

void control_groups_clear(struct control_groups *g)
{
	for (size_t i = 0; i < g->groups.nitems; i++)
		free(group_at(g, i)->path);
	table_clear(&g->groups);
}

/* Whether `above` is `path` or one of the groups that it is in. */
static bool holds(const struct control_group *above, const struct control_group *path)
{
	size_t n = above->path_bytes;

	return n <= path->path_bytes && memcmp(above->path, path->path, n) == 0 &&
	       (n == path->path_bytes || path->path[n] == '/');
}

static uint64_t growth_ns(const struct control_group *g)
{
	return g->last.throttled_ns > g->first.throttled_ns ? g->last.throttled_ns - g->first.throttled_ns : 0;
}

/* Of one CPU, in millionths. */
static uint64_t share_ppm(const struct control_group *g)
{
	return g->quota_ns / (g->period_ns / 1000000 + 1);
}

/* Whether `a` bounds more than `b` does. */
static bool bounds_more(const struct control_group *a, const struct control_group *b)
{
	if (growth_ns(a) != growth_ns(b))
		return growth_ns(a) > growth_ns(b);
	return share_ppm(a) < share_ppm(b);
}

const struct control_group *control_groups_throttled(const struct control_groups *g, uint64_t number)
{
	const struct control_group *group = table_find(&g->groups, number, 0), *best = NULL;

	for (size_t i = 0; group && i < g->groups.nitems; i++) {
		const struct control_group *above = group_at(g, i);

		if (above->has_quota && holds(above, group) && (!best || bounds_more(above, best)))
			best = above;
	}
	return best;
}

static uint64_t growth(uint64_t first, uint64_t last)
{
	return last > first ? last - first : 0;
}

uint64_t control_group_times_high(const struct control_group *group)
{
	return growth(group->memory_first.times_high, group->memory_last.times_high);
}

uint64_t control_group_times_max(const struct control_group *group)
{
	return growth(group->memory_first.times_max, group->memory_last.times_max);
}

static bool is_host(const struct control_group *group)
{
	return group->path_bytes == strlen(MEMORY_LIMIT_HOST) && strcmp(group->path, MEMORY_LIMIT_HOST) == 0;
}

static uint64_t times(const struct control_group *group)
{
	return control_group_times_high(group) + control_group_times_max(group);
}

const struct control_group *control_groups_short(const struct control_groups *g, uint64_t number)
{
	const struct control_group *group = table_find(&g->groups, number, 0), *best = NULL;

	for (size_t i = 0; group && i < g->groups.nitems; i++) {
		const struct control_group *above = group_at(g, i);

		if (!is_host(above) && holds(above, group) && times(above) && (!best || times(above) > times(best)))
			best = above;
	}
	return best;
}

const struct control_group *control_groups_host(const struct control_groups *g)
{
	for (size_t i = 0; i < g->groups.nitems; i++) {
		const struct control_group *group = group_at(g, i);

		if (group->has_memory && is_host(group))
			return group;
	}
	return NULL;
}

void text_add_memory_limit(struct text *t, const struct control_group *group)
{
	bool high = control_group_times_high(group) > control_group_times_max(group);

	text_add(t, "control group ");
	text_add_escaped(t, group->path, group->path_bytes);
	text_add(t, high ? " is above its memory.high of " : " is at its memory limit of ");
	text_add_size(t, high ? group->memory_last.high : group->memory_last.max);
}

void text_add_memory_use(struct text *t, const struct control_group *group)
{
	const struct memory_stat *m = &group->memory_last;
	const struct {
		uint64_t bytes;
		const char *what;
	} parts[] = {
		{m->anon, "processes"},
		{growth(m->shmem, m->file), "files that were read or written"},
		{m->shmem, "shared memory and tmpfs"},
	};
	const char *before = ": ";

	text_add_size(t, m->used);
	text_add(t, " are in use there");
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (parts[i].bytes < m->used / 100)
			continue;
		text_add_string(t, before);
		text_add_size(t, parts[i].bytes);
		text_add(t, " by %s", parts[i].what);
		before = ", ";
	}
}

void text_add_quota(struct text *t, const struct control_group *group)
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
