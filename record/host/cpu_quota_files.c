/* SPDX-License-Identifier: Apache-2.0 */
#include "record/host/cpu_quota_files.h"
#include "format/base/array.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/host/procfs_internal.h"
#include "record/row.h"

#define FILE_ROOM 512
#define PATH_ROOM 4096
#define NS_PER_US 1000u

/* What a group's files say. A zeroed one has no quota. */
struct quota {
	uint64_t quota_ns, period_ns;
	uint64_t periods, throttled_periods, throttled_ns;
};

struct group {
	char *path;
	struct quota emitted; /* the latest row */
	bool has_row;
};

struct quotas {
	int root_fd; /* of the file system with the CPU controller; -1: none is mounted */
	bool is_v2;
	char root[PATH_ROOM]; /* the group that is mounted there: "/", but in a container */
	struct group *groups;
	size_t n, room;
	uint64_t nskipped;
};

/* The text of a small file of the group, with a NUL. */
static bool read_file(const struct quotas *q, const char *group, const char *name, char text[FILE_ROOM])
{
	char path[PATH_ROOM + 64];
	size_t n;

	if ((size_t)snprintf(path, sizeof(path), "./%s/%s", group, name) >= sizeof(path))
		return false;
	return procfs_read_start(q->root_fd, 0, path, text, FILE_ROOM, &n, NULL) > 0;
}

/* "nr_periods 12\nnr_throttled 3\n...": the number behind a word that begins a line; 0: it is not there. */
static uint64_t number_of(const char *text, const char *word)
{
	size_t n = strlen(word);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, word, n) == 0 && line[n] == ' ')
			return strtoull(line + n + 1, NULL, 10);
	}
	return 0;
}

static bool read_limit_v1(const struct quotas *q, const char *group, struct quota *out)
{
	char quota[FILE_ROOM], period[FILE_ROOM];

	if (!read_file(q, group, "cpu.cfs_quota_us", quota) || !read_file(q, group, "cpu.cfs_period_us", period))
		return false;
	out->quota_ns = quota[0] == '-' ? 0 : strtoull(quota, NULL, 10) * NS_PER_US;
	out->period_ns = strtoull(period, NULL, 10) * NS_PER_US;
	return true;
}

/* "30000 100000", or "max 100000". */
static bool read_limit_v2(const struct quotas *q, const char *group, struct quota *out)
{
	char text[FILE_ROOM], *end;

	if (!read_file(q, group, "cpu.max", text))
		return false;
	out->quota_ns = strtoull(text, &end, 10) * NS_PER_US;
	end += end == text ? strcspn(text, " ") : 0;
	out->period_ns = strtoull(end, NULL, 10) * NS_PER_US;
	return true;
}

/* False: the group is gone, or has no such files, as the root has none. */
static bool read_quota(const struct quotas *q, const char *path, struct quota *out)
{
	size_t above = strcmp(q->root, "/") == 0 ? 0 : strlen(q->root);
	char text[FILE_ROOM];
	struct quota got = {0};

	/* Of a group outside of what is mounted here nothing can be read. */
	if (strncmp(path, q->root, above) != 0 || strstr(path, "/.."))
		return false;
	path += above;
	if (!(q->is_v2 ? read_limit_v2(q, path, &got) : read_limit_v1(q, path, &got)) ||
	    !read_file(q, path, "cpu.stat", text))
		return false;
	got.periods = number_of(text, "nr_periods");
	got.throttled_periods = number_of(text, "nr_throttled");
	got.throttled_ns = q->is_v2 ? number_of(text, "throttled_usec") * NS_PER_US : number_of(text, "throttled_time");
	*out = got;
	return true;
}

static int emit(const struct group *g, struct writer *w, uint64_t at_ns, struct fault *why)
{
	struct row row = row_of(KIND_quota, at_ns);

	row.v[F_quota_quota] = g->emitted.quota_ns;
	row.v[F_quota_period] = g->emitted.period_ns;
	row.v[F_quota_periods] = g->emitted.periods;
	row.v[F_quota_throttled_periods] = g->emitted.throttled_periods;
	row.v[F_quota_throttled] = g->emitted.throttled_ns;
	row_text(&row, F_quota_path, g->path);
	return row_emit(&row, w, why);
}

/* A row if there is something new to be reported of it. */
static int update(const struct quotas *q, struct group *g, struct writer *w, uint64_t at_ns, struct fault *why)
{
	struct quota now;

	if (!read_quota(q, g->path, &now))
		return 0;
	if (g->has_row ? memcmp(&now, &g->emitted, sizeof(now)) == 0 : now.quota_ns == 0)
		return 0;
	g->emitted = now;
	g->has_row = true;
	return emit(g, w, at_ns, why);
}

static struct group *find(const struct quotas *q, const char *path)
{
	for (size_t i = 0; i < q->n; i++)
		if (strcmp(q->groups[i].path, path) == 0)
			return &q->groups[i];
	return NULL;
}

/* NULL: beyond the limit, and counted; or no memory. */
static struct group *group_add(struct quotas *q, const char *path)
{
	struct group *more;
	char *copy;

	if (q->n == QUOTA_GROUPS_MAX) {
		q->nskipped++;
		return NULL;
	}
	more = array_grow(q->groups, &q->room, q->n + 1, sizeof(*more));
	if (!more)
		return NULL;
	q->groups = more;
	copy = strdup(path);
	if (!copy)
		return NULL;
	q->groups[q->n] = (struct group){.path = copy};
	return &q->groups[q->n++];
}

int quotas_meet(struct quotas *q, const char *path, struct writer *w, uint64_t at_ns, struct fault *why)
{
	char above[PATH_ROOM], *slash;
	struct group *g;
	int r = 0;

	if (!q || q->root_fd < 0 || path[0] != '/' ||
	    (size_t)snprintf(above, sizeof(above), "%s", path) >= sizeof(above))
		return 0;
	/* Up to the root, which has none; a group that is known has those above it known, too. */
	for (unsigned i = 0; i < QUOTA_DEPTH_MAX && above[1] && !find(q, above) && r == 0; i++) {
		g = group_add(q, above);
		if (!g)
			return q->n == QUOTA_GROUPS_MAX ? 0 : fault_no_memory(why);
		r = update(q, g, w, at_ns, why);
		slash = strrchr(above, '/');
		slash[slash == above] = '\0';
	}
	return r;
}

int quotas_emit(struct quotas *q, bool all, struct writer *w, uint64_t at_ns, struct fault *why)
{
	int r = 0;

	for (size_t i = 0; q && i < q->n && r == 0; i++)
		if (all || q->groups[i].emitted.period_ns)
			r = update(q, &q->groups[i], w, at_ns, why);
	return r;
}

void quotas_forget(struct quotas *q)
{
	for (size_t i = 0; q && i < q->n; i++)
		q->groups[i].has_row = false;
}

uint64_t quotas_skipped(const struct quotas *q)
{
	return q ? q->nskipped : 0;
}

/*
 * "31 23 0:26 / /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu": version 1's CPU controller, or
 * version 2 unless that is elsewhere. Paths with blanks in them, which the kernel writes as \040, are not ours.
 */
static void take_mount(struct quotas *q, const char *line)
{
	char root[PATH_ROOM], at[PATH_ROOM], type[32], options[512];
	const char *dash = strstr(line, " - ");
	bool v1;
	int fd;

	if (!dash || sscanf(line, "%*s %*s %*s %4095s %4095s", root, at) != 2 ||
	    sscanf(dash, " - %31s %*s %511s", type, options) != 2)
		return;
	v1 = strcmp(type, "cgroup") == 0 && cgroup_lists(options, strlen(options), "cpu");
	if (!v1 && (strcmp(type, "cgroup2") != 0 || q->root_fd >= 0))
		return;
	fd = open(at, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (q->root_fd >= 0)
		close(q->root_fd);
	q->root_fd = fd;
	q->is_v2 = !v1;
	strcpy(q->root, root);
}

int quotas_new(struct quotas **out, const char *mountinfo, struct fault *why)
{
	struct quotas *q = calloc(1, sizeof(*q));
	char *line = NULL;
	size_t room = 0;
	FILE *f;

	if (!q)
		return fault_no_memory(why);
	q->root_fd = -1;
	f = fopen(mountinfo, "re");
	while (f && getline(&line, &room, f) > 0)
		if (q->root_fd < 0 || q->is_v2) /* the first of version 1 is it */
			take_mount(q, line);
	free(line);
	if (f)
		fclose(f);
	*out = q;
	return 0;
}

int quotas_root(const struct quotas *q)
{
	return q ? q->root_fd : -1;
}

void quotas_free(struct quotas *q)
{
	if (!q)
		return;
	for (size_t i = 0; i < q->n; i++)
		free(q->groups[i].path);
	free(q->groups);
	if (q->root_fd >= 0)
		close(q->root_fd);
	free(q);
}
