/* SPDX-License-Identifier: Apache-2.0 */
/* CPU quotas of control groups. */
#include "record/host/cgroup_limits_internal.h"

#include <stdlib.h>
#include <string.h>

#define NS_PER_US 1000u

static bool read_limit_v1(int group_fd, struct quota *out)
{
	char quota[GROUP_FILE_ROOM], period[GROUP_FILE_ROOM];

	if (!group_file(group_fd, "cpu.cfs_quota_us", quota) || !group_file(group_fd, "cpu.cfs_period_us", period))
		return false;
	out->quota_ns = quota[0] == '-' ? 0 : strtoull(quota, NULL, 10) * NS_PER_US;
	out->period_ns = strtoull(period, NULL, 10) * NS_PER_US;
	return true;
}

/* "30000 100000", or "max 100000". */
static bool read_limit_v2(int group_fd, struct quota *out)
{
	char text[GROUP_FILE_ROOM], *end;

	if (!group_file(group_fd, "cpu.max", text))
		return false;
	out->quota_ns = strtoull(text, &end, 10) * NS_PER_US;
	end += end == text ? strcspn(text, " ") : 0;
	out->period_ns = strtoull(end, NULL, 10) * NS_PER_US;
	return true;
}

/* False: the group is gone, or has no such files, as the root has none. */
static bool read_quota(bool is_v2, int group_fd, struct quota *out)
{
	char text[GROUP_FILE_ROOM];

	if (!(is_v2 ? read_limit_v2(group_fd, out) : read_limit_v1(group_fd, out)) ||
	    !group_file(group_fd, "cpu.stat", text))
		return false;
	out->periods = group_number(text, "nr_periods");
	out->throttled_periods = group_number(text, "nr_throttled");
	out->throttled_ns =
		is_v2 ? group_number(text, "throttled_usec") * NS_PER_US : group_number(text, "throttled_time");
	return true;
}

static bool update(struct group_files *files, int group_fd, struct group_state *g, struct row *row, struct row *named)
{
	struct quota now;

	(void)named;
	if (!read_quota(files->is_v2, group_fd, &now))
		return false;
	if (g->has_row ? memcmp(&now, &g->cpu, sizeof(now)) == 0 : now.quota_ns == 0)
		return false;
	g->cpu = now;
	g->has_row = g->is_limited = true;
	row->v[F_quota_quota] = now.quota_ns;
	row->v[F_quota_period] = now.period_ns;
	row->v[F_quota_periods] = now.periods;
	row->v[F_quota_throttled_periods] = now.throttled_periods;
	row->v[F_quota_throttled] = now.throttled_ns;
	return true;
}

const struct limit_kind cpu_limit = {.controller = "cpu", .row = KIND_quota, .path = F_quota_path, .update = update};
