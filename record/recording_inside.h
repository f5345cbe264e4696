/* SPDX-License-Identifier: Apache-2.0 */
/* What recording.c (setting up) and loop.c (running) share, and nobody else needs. */
#ifndef GPUREC_RECORD_RECORDING_INSIDE_H
#define GPUREC_RECORD_RECORDING_INSIDE_H

#include <signal.h>

#include "record/command.h"
#include "record/discover.h"
#include "record/ring.h"
#include "record/recording.h"
#include "record/translate.h"

#define EPOCH_NS 1000000000ull  /* an epoch's length, */
#define EPOCH_BYTES (32u << 20) /* or this much staged */
#define WAIT_MS 100             /* the rings are looked at at least this often */
#define GRACE_MS 200            /* for a command to end by the signal that ends us */
#define RESCAN_NS 1000000000ull /* for libraries, when no system call tells of them */

#define LEARN_MAPPINGS 32 /* a process with this many of code, or more, is not looked through at once */

/* Processes by number, unordered. */
struct pid_set {
	uint32_t *pids;
	size_t n, room;
};

struct recording {
	struct recording_options o;
	bool file_made; /* and may be removed while nothing is sealed */
	struct attach *attach;
	struct ring life, bulk;
	struct counters counters;
	struct procfs fs;
	bool fs_open;
	struct symbolizer *symbolizer;
	struct stacks *stacks;
	struct discover *discover;
	struct writer *writer;
	struct translator translator;
	struct command command;
	int epoll_fd, signal_fd;
	int *pidfds; /* of -p */
	size_t npidfds, nalive;
	struct pid_set tracked; /* that are known to live: looked at again when no system call tells of mappings */
	struct pid_set gone, long_gone; /* since this seal, before it: the kernel's table may forget the latter */
	uint64_t deadline_ns, next_seal_ns, next_scan_ns; /* boot clock; 0: none */
	uint64_t cut_ns;                                  /* an epoch is to end here, once the rings are read to: */
	uint64_t cut_life, cut_bulk;
	uint64_t nepochs;
	size_t nrefused, nunread; /* of discover_counts(), that were told */
	bool ending;
	char key_id[32];
	struct procfs_maps maps; /* large: not for the stack */
	struct mapping line;
};

uint64_t clock_ns(int clock);
void anchor_read(struct clock_anchor *a);

int pid_set_add(struct pid_set *set, uint32_t pid, struct fault *why);
void pid_set_remove(struct pid_set *set, uint32_t pid);

/* translator.notice of a recording. */
int recording_notice(void *self, const struct ring_head *record, struct fault *why);

/* Say what could not be probed since the last call. */
void recording_note_refused(struct recording *s);

__attribute__((format(printf, 3, 4))) void recording_note(const struct recording *s, int level, const char *fmt, ...);

#endif
