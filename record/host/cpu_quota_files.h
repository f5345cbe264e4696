/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU quotas of the control groups that recorded processes are in, and of those above them, as `quota` rows. Versions 1
 * and 2 of control groups.
 *
 * Reads small files of the cgroup file systems, which need no privilege. Where they are mounted is found out once.
 */
#ifndef GPUREC_RECORD_HOST_CPU_QUOTA_FILES_H
#define GPUREC_RECORD_HOST_CPU_QUOTA_FILES_H

#include "format/writer.h"

#define QUOTA_GROUPS_MAX 1024 /* control groups that are inspected; processes in others have no quota rows */
#define QUOTA_DEPTH_MAX 32    /* groups above one that are inspected */

struct quotas;

/* mountinfo: "/proc/self/mountinfo", or a test's. Where no cgroup file system is mounted, no group has a quota. */
int quotas_new(struct quotas **q, const char *mountinfo, struct fault *why);
void quotas_free(struct quotas *q);

/*
 * A recorded process is in this group (as /proc/PID/cgroup names it, of the hierarchy that has the CPU controller).
 * Rows for it and those above it that have a quota and were not reported yet. 0, or what writer_add() returned.
 */
int quotas_meet(struct quotas *q, const char *path, struct writer *w, uint64_t at_ns, struct fault *why);

/* Rows of those that have changed since they were reported. `all`: inspect those too that had no quota. */
int quotas_emit(struct quotas *q, bool all, struct writer *w, uint64_t at_ns, struct fault *why);

/* Another capture begins: all are reported again, once. */
void quotas_forget(struct quotas *q);

/* The cgroup file system that they are read from: a descriptor, or -1. q may be NULL. */
int quotas_root(const struct quotas *q);

/* Groups beyond QUOTA_GROUPS_MAX. */
uint64_t quotas_skipped(const struct quotas *q);

#endif
