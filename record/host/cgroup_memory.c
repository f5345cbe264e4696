/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits of memory of control groups, and of the host: how often they were come up against, and who has the memory
 * then.
 */
#include "record/host/cgroup_limits_internal.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/host/procfs_internal.h"

#define KIB 1024u
#define NO_LIMIT_V1 (UINT64_C(1) << 62) /* from there on: version 1 has 2^63, less a page, where it has no limit */

/* What a group has. Bytes. */
struct memory_use {
	uint64_t used, anon, file, shmem, swap;
};

static uint64_t file_number(int group_fd, const char *name)
{
	char text[GROUP_FILE_ROOM];

	return group_file(group_fd, name, text) ? strtoull(text, NULL, 10) : 0; /* "max": 0 */
}

static bool read_events(bool is_v2, int group_fd, struct memory_events *e)
{
	char text[GROUP_FILE_ROOM];

	/* Of the group itself: what groups below it came up against is theirs. */
	if (!group_file(group_fd, is_v2 ? "memory.events.local" : "memory.oom_control", text))
		return false;
	e->kills = group_number(text, "oom_kill");
	e->times_high = is_v2 ? group_number(text, "high") : 0;
	e->times_max = is_v2 ? group_number(text, "max") : file_number(group_fd, "memory.failcnt");
	e->limit = file_number(group_fd, is_v2 ? "memory.max" : "memory.limit_in_bytes");
	e->high = is_v2 ? file_number(group_fd, "memory.high") : 0;
	if (!is_v2 && e->limit >= NO_LIMIT_V1)
		e->limit = 0;
	return true;
}

static void read_use(bool is_v2, int group_fd, struct memory_use *u)
{
	char text[GROUP_FILE_ROOM];

	u->used = file_number(group_fd, is_v2 ? "memory.current" : "memory.usage_in_bytes");
	if (!group_file(group_fd, "memory.stat", text))
		return;
	u->anon = group_number(text, is_v2 ? "anon" : "total_rss");
	u->file = group_number(text, is_v2 ? "file" : "total_cache");
	u->shmem = group_number(text, is_v2 ? "shmem" : "total_shmem");
	u->swap = is_v2 ? file_number(group_fd, "memory.swap.current") : group_number(text, "total_swap");
}

/* --- the host --- */

#define HOST_FILE_ROOM 16384

/* The sum of the numbers of lines that begin with a word: "allocstall_dma 0\nallocstall_normal 7\n". */
static uint64_t sum_of(const char *text, const char *word)
{
	uint64_t sum = 0;

	for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
		if (strchr(at, ' '))
			sum += strtoull(strchr(at, ' '), NULL, 10);
	return sum;
}

static bool read_host(const struct procfs *fs, struct memory_events *e, struct memory_use *u)
{
	char text[HOST_FILE_ROOM];
	size_t n;

	if (procfs_read_start(fs->root_fd, 0, "vmstat", text, sizeof(text), &n, NULL) <= 0)
		return false;
	e->times_max = sum_of(text, "allocstall_");
	e->kills = group_number(text, "oom_kill");
	if (procfs_read_start(fs->root_fd, 0, "meminfo", text, sizeof(text), &n, NULL) <= 0)
		return false;
	e->limit = group_number(text, "MemTotal") * KIB;
	u->used = e->limit - group_number(text, "MemFree") * KIB;
	u->anon = group_number(text, "AnonPages") * KIB;
	u->file = (group_number(text, "Cached") + group_number(text, "Buffers")) * KIB;
	u->shmem = group_number(text, "Shmem") * KIB;
	u->swap = (group_number(text, "SwapTotal") - group_number(text, "SwapFree")) * KIB;
	return true;
}

/* --- who has most --- */

#define DEPTH_MAX 8     /* of groups below one */
#define PIDS_ROOM 16384 /* of a list of processes so much is read */

struct heaviest {
	struct group_files *files;
	uint32_t pid; /* 0: none */
	uint64_t bytes;
};

/* Processes of others, and their groups, are as many as they like. */
static bool may_look(struct heaviest *h)
{
	return h->files->weighable && h->files->weighable--;
}

static void weigh(struct heaviest *h, uint32_t pid)
{
	char name[PROCFS_NAME_ROOM], text[128], *resident;
	uint64_t bytes;
	size_t n;

	if (!may_look(h))
		return;
	snprintf(name, sizeof(name), "%" PRIu32 "/statm", pid);
	if (procfs_read_start(h->files->fs->root_fd, pid, name, text, sizeof(text), &n, NULL) <= 0)
		return;
	resident = strchr(text, ' ');
	bytes = resident ? strtoull(resident, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
	if (bytes > h->bytes) {
		h->bytes = bytes;
		h->pid = pid;
	}
}

static void weigh_host(struct heaviest *h)
{
	struct procfs_list list;
	uint32_t pid;

	if (procfs_pids_open(&list, h->files->fs, NULL) < 0)
		return;
	while (procfs_list_next(&list, &pid, NULL) > 0)
		weigh(h, pid);
	procfs_list_close(&list);
}

/* Those of the group itself. */
static void weigh_members(struct heaviest *h, int group_fd)
{
	char text[PIDS_ROOM];
	size_t n;

	if (procfs_read_start(group_fd, 0, "cgroup.procs", text, sizeof(text), &n, NULL) <= 0)
		return;
	for (char *at = text, *end; *at; at = end + 1) {
		uint64_t pid = strtoull(at, &end, 10);

		if (*end != '\n')
			return; /* the last number may be cut */
		weigh(h, (uint32_t)pid);
	}
}

static void weigh_group(struct heaviest *h, int group_fd, unsigned depth)
{
	int fd = openat(group_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), below;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	weigh_members(h, group_fd);
	while (dir && depth < DEPTH_MAX && (e = readdir(dir))) {
		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		if (!may_look(h))
			break;
		below = openat(group_fd, e->d_name, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (below < 0)
			continue;
		weigh_group(h, below, depth + 1);
		close(below);
	}
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
}

/* *named: the process's name, which lasts as long as *g. */
static void add_heaviest(struct group_files *files, int group_fd, struct group_state *g, struct row *row,
			 struct row *named)
{
	struct heaviest h = {.files = files};
	struct process_info info;

	if (group_fd < 0)
		weigh_host(&h);
	else
		weigh_group(&h, group_fd, 0);
	if (!h.pid || procfs_process(files->fs, h.pid, &info, NULL) <= 0)
		return;
	row->v[F_memory_limit_holder] = h.pid;
	row->v[F_memory_limit_holder_bytes] = h.bytes;
	strcpy(g->name, info.comm);
	*named = row_of(KIND_thread, row->v[0]);
	named->v[F_thread_tid] = named->v[F_thread_pid] = info.pid;
	named->v[F_thread_start] = info.start_ns;
	row_text(named, F_thread_name, g->name);
}

/* --- both --- */

static bool update(struct group_files *files, int group_fd, struct group_state *g, struct row *row, struct row *named)
{
	struct memory_events now = {0}, was = g->memory;
	struct memory_use use = {0};
	bool is_host = group_fd < 0;

	if (!(is_host ? read_host(files->fs, &now, &use) : read_events(files->is_v2, group_fd, &now)))
		return false;
	if (g->has_row ? memcmp(&now, &was, sizeof(now)) == 0 : !now.limit && !now.high)
		return false;
	if (!is_host)
		read_use(files->is_v2, group_fd, &use);
	if (g->has_row && (now.times_high > was.times_high || now.times_max > was.times_max))
		add_heaviest(files, group_fd, g, row, named);
	g->memory = now;
	g->has_row = g->is_limited = true;
	row->v[F_memory_limit_max] = now.limit;
	row->v[F_memory_limit_high] = now.high;
	row->v[F_memory_limit_used] = use.used;
	row->v[F_memory_limit_anon] = use.anon;
	row->v[F_memory_limit_file] = use.file;
	row->v[F_memory_limit_shmem] = use.shmem;
	row->v[F_memory_limit_swap] = use.swap;
	row->v[F_memory_limit_times_high] = now.times_high;
	row->v[F_memory_limit_times_max] = now.times_max;
	row->v[F_memory_limit_kills] = now.kills;
	return true;
}

const struct limit_kind memory_limit = {.controller = "memory",
					.row = KIND_memory_limit,
					.path = F_memory_limit_path,
					.has_host = true,
					.update = update};
