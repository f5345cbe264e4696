/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of procfs.h share, and the other readers of text of the kernel in this folder. */
#ifndef GPUREC_RECORD_HOST_PROCFS_INTERNAL_H
#define GPUREC_RECORD_HOST_PROCFS_INTERNAL_H

#include "record/host/procfs.h"

#define PROCFS_NAME_ROOM 64 /* a file's name below a process's folder */
#define PROCFS_DELETED " (deleted)"

/* A number of one or more digits in `base` 10 or 16 at *p; moves *p past it. False: none, or more than `max`. */
bool procfs_take_number(const char **p, const char *end, unsigned base, uint64_t max, uint64_t *out);
bool procfs_take_char(const char **p, const char *end, char c);

/* Whether a path of *len bytes ends in the kernel's mark; *len is then the length before it. */
bool procfs_take_deleted(const char *path, size_t *len);

/* What errno says of a file of process `pid`: 0 gone, else an error. */
int procfs_gone_or_fault(uint32_t pid, const char *what, struct fault *why);

/* 1 and a handle on a process, 0 gone, negative. It goes on meaning this one, also when its number is reused. */
int procfs_open_process(const struct procfs *fs, uint32_t pid, int *fd, struct fault *why);

/* The first size - 1 bytes of a file of a process's folder, NUL-terminated. 1, 0 gone or empty, or negative. */
int procfs_read_start(int dir_fd, uint32_t pid, const char *name, char *buf, size_t size, size_t *len,
		      struct fault *why);

/* The number in a link as "mnt:[4026531841]"; 0: there is none. */
uint64_t procfs_namespace(int dir_fd, const char *name);

/* read() that a signal does not break off. */
ssize_t procfs_read_some(int fd, char *buf, size_t size);

#endif
