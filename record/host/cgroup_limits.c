/* SPDX-License-Identifier: Apache-2.0 */
/* Which groups there are, and where their files are. What these hold: cgroup_cpu.c, cgroup_memory.c. */
#include "record/host/cgroup_limits_internal.h"
#include "format/base/array.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/host/procfs_internal.h"

struct group {
	char *path;
	struct group_state state;
};

struct limits {
	const struct limit_kind *kind;
	struct group_files files;
	struct group *groups;
	size_t n, room;
	uint64_t nskipped;
};

int group_open(const struct group_files *files, const char *path)
{
	size_t above = strcmp(files->root, "/") == 0 ? 0 : strlen(files->root);
	char at[GROUP_PATH_ROOM + 2];

	if (strncmp(path, files->root, above) != 0 || strstr(path, "/.."))
		return -1;
	if ((size_t)snprintf(at, sizeof(at), "./%s", path + above) >= sizeof(at))
		return -1;
	return openat(files->root_fd, at, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

bool group_file(int group_fd, const char *name, char text[GROUP_FILE_ROOM])
{
	size_t n;

	return procfs_read_start(group_fd, 0, name, text, GROUP_FILE_ROOM, &n, NULL) > 0;
}

uint64_t group_number(const char *text, const char *word)
{
	size_t n = strlen(word);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, word, n) == 0 && (line[n] == ' ' || line[n] == ':'))
			return strtoull(line + n + 1, NULL, 10);
	}
	return 0;
}

static int update(struct limits *l, struct group *g, bool all, struct writer *w, uint64_t at_ns, struct fault *why)
{
	struct row row = row_of(l->kind->row, at_ns), named = row_of(0, at_ns);
	int fd, r = 0;

	if (!all && !g->state.is_limited)
		return 0;
	fd = g->path[1] ? group_open(&l->files, g->path) : -1;
	if (g->path[1] && fd < 0)
		return 0;
	if (l->kind->update(&l->files, fd, &g->state, &row, &named)) {
		row_text(&row, l->kind->path, g->path);
		r = named.kind ? row_emit(&named, w, why) : 0;
		if (r == 0)
			r = row_emit(&row, w, why);
	}
	if (fd >= 0)
		close(fd);
	return r;
}

static struct group *find(const struct limits *l, const char *path)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->groups[i].path, path) == 0)
			return &l->groups[i];
	return NULL;
}

/* NULL: beyond the limit, and counted; or no memory. */
static struct group *group_add(struct limits *l, const char *path)
{
	struct group *more;
	char *copy;

	if (l->n == LIMIT_GROUPS_MAX) {
		l->nskipped++;
		return NULL;
	}
	more = array_grow(l->groups, &l->room, l->n + 1, sizeof(*more));
	if (!more)
		return NULL;
	l->groups = more;
	copy = strdup(path);
	if (!copy)
		return NULL;
	l->groups[l->n] = (struct group){.path = copy};
	return &l->groups[l->n++];
}

/* The root of all groups has no limit. */
static bool is_asked(const struct limits *l, const char *path)
{
	return path[1] ? l->files.root_fd >= 0 : l->kind->has_host;
}

int limits_meet(struct limits *l, const char *path, struct writer *w, uint64_t at_ns, struct fault *why)
{
	char above[GROUP_PATH_ROOM], *slash;
	struct group *g;
	int r = 0;

	if (!l || (size_t)snprintf(above, sizeof(above), "%s", path[0] == '/' ? path : "/") >= sizeof(above))
		return 0;
	/* A group that is known has those above it known, too. */
	for (unsigned i = 0; i < LIMIT_DEPTH_MAX && is_asked(l, above) && !find(l, above) && r == 0; i++) {
		g = group_add(l, above);
		if (!g)
			return l->n == LIMIT_GROUPS_MAX ? 0 : fault_no_memory(why);
		r = update(l, g, true, w, at_ns, why);
		slash = strrchr(above, '/');
		slash[slash == above] = '\0';
	}
	return r;
}

int limits_emit(struct limits *l, bool all, struct writer *w, uint64_t at_ns, struct fault *why)
{
	int r = 0;

	if (l)
		l->files.weighable = LIMIT_WEIGHED_MAX;
	for (size_t i = 0; l && i < l->n && r == 0; i++)
		r = update(l, &l->groups[i], all, w, at_ns, why);
	return r;
}

void limits_forget(struct limits *l)
{
	for (size_t i = 0; l && i < l->n; i++)
		l->groups[i].state.has_row = false;
}

uint64_t limits_skipped(const struct limits *l)
{
	return l ? l->nskipped : 0;
}

/*
 * "31 23 0:26 / /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu": where version 1's controller
 * is, or version 2 unless it is elsewhere. Paths with blanks in them, which the kernel writes as \040, are not ours.
 */
static void take_mount(struct limits *l, const char *line)
{
	char root[GROUP_PATH_ROOM], at[GROUP_PATH_ROOM], type[32], options[512];
	const char *dash = strstr(line, " - ");
	bool v1;
	int fd;

	if (!dash || sscanf(line, "%*s %*s %*s %4095s %4095s", root, at) != 2 ||
	    sscanf(dash, " - %31s %*s %511s", type, options) != 2)
		return;
	v1 = strcmp(type, "cgroup") == 0 && cgroup_lists(options, strlen(options), l->kind->controller);
	if (!v1 && (strcmp(type, "cgroup2") != 0 || l->files.root_fd >= 0))
		return;
	fd = open(at, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (l->files.root_fd >= 0)
		close(l->files.root_fd);
	l->files.root_fd = fd;
	l->files.is_v2 = !v1;
	strcpy(l->files.root, root);
}

int limits_new(struct limits **out, const struct limit_kind *kind, const struct procfs *fs, const char *mountinfo,
	       struct fault *why)
{
	struct limits *l = calloc(1, sizeof(*l));
	char *line = NULL;
	size_t room = 0;
	FILE *f;

	if (!l)
		return fault_no_memory(why);
	l->kind = kind;
	l->files.fs = fs;
	l->files.root_fd = -1;
	f = fopen(mountinfo, "re");
	while (f && getline(&line, &room, f) > 0)
		if (l->files.root_fd < 0 || l->files.is_v2) /* the first of version 1 is it */
			take_mount(l, line);
	free(line);
	if (f)
		fclose(f);
	*out = l;
	return 0;
}

int limits_root(const struct limits *l)
{
	return l ? l->files.root_fd : -1;
}

void limits_free(struct limits *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->n; i++)
		free(l->groups[i].path);
	free(l->groups);
	if (l->files.root_fd >= 0)
		close(l->files.root_fd);
	free(l);
}
