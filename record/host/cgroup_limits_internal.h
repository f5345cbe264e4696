/* SPDX-License-Identifier: Apache-2.0 */
/* One sort of limit, and how the files of control groups are read. Shared by the parts of cgroup_limits.h. */
#ifndef GPUREC_RECORD_HOST_CGROUP_LIMITS_INTERNAL_H
#define GPUREC_RECORD_HOST_CGROUP_LIMITS_INTERNAL_H

#include "record/host/cgroup_limits.h"
#include "record/row.h"

#define GROUP_FILE_ROOM 4096 /* of a file so much is read, with the final NUL */
#define GROUP_PATH_ROOM 4096

/* A hierarchy of control groups. */
struct group_files {
	const struct procfs *fs;
	int root_fd; /* of the file system that has the controller; -1: none is mounted */
	bool is_v2;
	char root[GROUP_PATH_ROOM]; /* the group that is mounted there: "/", but in a container */
	unsigned weighable;         /* processes and groups that may still be looked at this time, for who has memory */
};

/* What was reported of one group last. A zeroed one has no limit, and no row. */
struct group_state {
	bool has_row;
	bool is_limited;            /* it has, or had, a limit */
	char name[PROCFS_COMM_MAX]; /* of a process that its row names */
	union {
		struct quota {
			uint64_t quota_ns, period_ns;
			uint64_t periods, throttled_periods, throttled_ns;
		} cpu;
		struct memory_events {
			uint64_t limit, high; /* bytes; 0: none */
			uint64_t times_high, times_max, kills;
		} memory;
	};
};

struct limit_kind {
	const char *controller;
	uint16_t row, path; /* kind of its rows, and their field that names the group */
	bool has_host;      /* the host itself is looked at, as group "/" */
	/*
	 * Whether there is something new to be reported: then *row is filled but for the path, and *named perhaps, a
	 * row that goes before it. group_fd: -1 of the host.
	 */
	bool (*update)(struct group_files *files, int group_fd, struct group_state *g, struct row *row,
		       struct row *named);
};

/* The folder of the group, or -1: it is gone, or outside of what is mounted here. */
int group_open(const struct group_files *files, const char *path);

/* The start of a small file of the group. False: it is gone, or has no such file. */
bool group_file(int group_fd, const char *name, char text[GROUP_FILE_ROOM]);

/* "nr_periods 12\nnr_throttled 3\n...": the number behind a word that begins a line; 0: it is not there. */
uint64_t group_number(const char *text, const char *word);

#endif
