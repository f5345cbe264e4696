/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the control groups that recorded processes are in, and those above them, let them have: of CPU time, as `quota`
 * rows, and of memory, as `memory_limit` rows. Versions 1 and 2 of control groups.
 *
 * Reads small files of the cgroup file systems and of /proc, which need no privilege. Where the former are mounted is
 * found out once.
 */
#ifndef GPUREC_RECORD_HOST_CGROUP_LIMITS_H
#define GPUREC_RECORD_HOST_CGROUP_LIMITS_H

#include "format/writer.h"
#include "record/host/procfs.h"

#define LIMIT_GROUPS_MAX 1024 /* control groups that are inspected; processes in others have no such rows */
#define LIMIT_DEPTH_MAX 32    /* groups above one that are inspected */

#define LIMIT_WEIGHED_MAX 4096 /* processes and groups that are looked at each time, for who has most memory */

struct limits;

/* What is limited. */
extern const struct limit_kind cpu_limit;
extern const struct limit_kind memory_limit; /* the group "/" is the host itself, which has so much */

/*
 * mountinfo: "/proc/self/mountinfo", or a test's. Where no cgroup file system is mounted, no group has a limit. fs is
 * borrowed.
 */
int limits_new(struct limits **l, const struct limit_kind *kind, const struct procfs *fs, const char *mountinfo,
	       struct fault *why);
void limits_free(struct limits *l);

/*
 * A recorded process is in this group (as /proc/PID/cgroup names it, of the hierarchy that has the kind's controller).
 * Rows for it and those above it that have a limit and were not reported yet. 0, or what writer_add() returned. l may
 * be NULL: nothing is asked for.
 */
int limits_meet(struct limits *l, const char *path, struct writer *w, uint64_t at_ns, struct fault *why);

/* Rows of those that have changed since they were reported. `all`: inspect those too that had no limit. */
int limits_emit(struct limits *l, bool all, struct writer *w, uint64_t at_ns, struct fault *why);

/* Another capture begins: all are reported again, once. */
void limits_forget(struct limits *l);

/* The cgroup file system that they are read from: a descriptor, or -1. */
int limits_root(const struct limits *l);

/* Groups beyond LIMIT_GROUPS_MAX. */
uint64_t limits_skipped(const struct limits *l);

#endif
