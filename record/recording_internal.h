/* SPDX-License-Identifier: Apache-2.0 */
/* What recording.c (setting up) and loop.c (running) share, and nobody else needs. */
#ifndef GPUREC_RECORD_RECORDING_INTERNAL_H
#define GPUREC_RECORD_RECORDING_INTERNAL_H

#include <limits.h>
#include <signal.h>

#include "format/base/bytes.h"
#include "format/base/clock.h"
#include "keys/identity.h"
#include "record/command.h"
#include "record/deferred.h"
#include "record/probe/discover.h"
#include "record/host/gpu_health.h"
#include "record/host/hostfacts.h"
#include "record/host/kmsg.h"
#include "record/host/cgroup_limits.h"
#include "record/output_watch.h"
#include "record/probe/ring_reader.h"
#include "record/recording.h"
#include "record/state_cache.h"
#include "record/status.h"
#include "record/translate.h"

#define EPOCH_NS 1000000000ull /* an epoch's length, */
#define EPOCH_BYTES (8u << 20) /* or this much staged */
#define WAIT_MS 100            /* the rings are inspected at least this often, */
#define QUIET_WAIT_MS 250      /* or this, after nothing came for so long: */
#define QUIET_NS 1000000000ull
#define DEFERRED_WAIT_MS 20     /* while something waits for answers */
#define GRACE_MS 200            /* for a command to end by the signal that ends us */
#define RESCAN_NS 1000000000ull /* for libraries, when no system call reports them */

#define CGROUP_AGAIN_NS 1000000000ull /* a throttled process's control group is read again, at most so often */

#define LEARN_MAPPINGS 32            /* a process with more of code is not looked through at once */
#define STATES_MAX 8192              /* rows of what threads are in, at one moment; less with a small ring */
#define THREAD_STACKS_MAX 1024       /* that are read at one moment */
#define LAST_ANSWERS_NS 500000000ull /* the end waits for names of functions, and for stacks of threads */
#define NOT_ATTACHED_MAX 64          /* that are reported one by one */

#define INSTANCE_FACTS 4
/* A process: numbers are reused. */
struct instance {
	uint32_t pid;
	uint64_t start_ns; /* boot clock */
	bool met;
	uint8_t facts[INSTANCE_FACTS][16]; /* hash of what was reported of each (process_rows.c); 0: nothing */
	uint64_t cgroup_ns;                /* when its control group was read last because it was throttled */
	uint8_t cgroup[16];                /* hash of what it was then */
};

/* Of process_rows.c: what processes are. */
struct instance_list {
	struct instance *list; /* those that rows were written about, and that live */
	size_t n, room;
	uint64_t gone, denied; /* that could not be read, or not all of them */
	struct mapping line;   /* large: not for the stack */
	struct inspect_file file;
};

/* Processes by number, unordered. */
struct pid_set {
	uint32_t *pids;
	size_t n, room;
};

/* Of thread_stacks.c: threads whose stacks are to be read; `next` is the one that is asked for now. */
struct stack_queue {
	struct ring_state *list;
	size_t n, room, next;
	uint64_t unread; /* that were not read */
};

/* Of lifecycle.c: which processes there are, and what they have mapped. */
struct processes {
	struct pid_set tracked;   /* that are known to live: inspected again when no system call reports mappings */
	struct pid_set scanned;   /* all of their mappings were inspected once */
	struct pid_set survivors; /* that still run when recording ends */
	uint64_t nfollowed;       /* threads */
	struct pid_set gone, long_gone; /* since this seal, before it: the kernel's table may forget the latter */
	struct deferred_queue deferred;
	uint64_t not_attached;
	uint64_t states_unread; /* moments at which the kernel did not report what threads are in */
	struct stack_queue stacks;
	uint64_t libraries_unseen; /* CUDA libraries that live processes mapped, but /proc does not show */
	struct {
		size_t refused, unread, stripped;
	} reported; /* of discover_counts() */
};

/* Of loop.c: what is waited for. */
struct wait_set {
	int epoll_fd, signal_fd;
	int *pidfds; /* of -p */
	size_t npidfds, nalive;
	bool all_gone;    /* recording_all_ended() saw none that lives when it looked last */
	bool named_ended; /* COMMAND, or the last process of -p: with wait_all recording goes on */
};

/* Of loop.c: when something is to be done. Boot clock; 0: never. */
struct schedule {
	uint64_t end_ns, seal_ns, scan_ns;
	uint64_t cut_ns; /* an epoch is to end here, once the rings are read to: */
	uint64_t cut_life, cut_bulk;
	uint64_t latest_ns; /* time of the youngest record read so far */
	uint64_t heads;     /* of both rings, when they were last drained; */
	uint64_t moved_ns;  /* when that last changed */
	uint64_t counted;   /* they were here when skipped runs were last asked for, so many seals ago */
	unsigned uncounted;
};

/* What is asked of the host while it is recorded. */
struct host_sources {
	struct cpus *cpus;
	struct limits *quotas, *memory; /* NULL: not asked for */
	struct health health;
	int kmsg_fd; /* -1: not read */
};

/* Of rotate.c: the capture that is written. */
struct capture {
	char path[PATH_MAX];
	char key_id[32];
	uint64_t nepochs;
	bool file_made;   /* and may be removed while nothing is sealed */
	bool end_unknown; /* its end was written and the disk refused it, or part of it */
	struct output_watch output;
};

/* Of rotate.c: one capture after the other. */
struct rotation {
	uint64_t next_ns;  /* when it is due; 0: never */
	uint64_t cut_ns;   /* the next capture begins here: what is of then or later waits in `held`; 0: none begins */
	struct bytes held; /* ring records: length (8 bytes), record, filled up to a multiple of 8 */
	struct standing *standing; /* NULL without rotation */
	struct counter *rows;      /* room for a table */
	struct counter *base;      /* counters at the last joint */
	size_t nbase;
	uint64_t number;        /* of the capture that is written */
	uint64_t ncaptures;     /* before it */
	uint64_t written_bytes; /* of those */
	uint64_t nrows;
	char key_path[PATH_MAX];
	struct public_key key;
};

struct recording {
	struct recording_options o;
	struct attach *attach;
	struct ring life, bulk;
	struct counters counters;
	struct procfs fs;
	bool fs_open;
	bool others_hidden; /* /proc hides other users' processes from us, now or once rights are given up */
	struct inspector *inspector;
	struct symbolizer *symbolizer;
	struct stacks *stacks;
	struct kernels *kernels;
	struct connections connections;
	struct discover *discover;
	struct writer *writer;
	struct translator translator;
	struct command command;
	struct status status;
	struct capture capture;
	struct rotation rotation;
	struct wait_set waits;
	struct schedule due;
	struct processes processes;
	struct instance_list instances;
	struct host_sources host;
	bool ending;
};

/* Every process that uses CUDA, rather than those that were named. */
static inline bool records_all(const struct recording *s)
{
	return !s->o.npids && !s->o.command;
}

void anchor_read(const struct recording *s, struct clock_anchor *a);

bool pid_set_has(const struct pid_set *set, uint32_t pid);
int pid_set_add(struct pid_set *set, uint32_t pid, struct fault *why);
void pid_set_remove(struct pid_set *set, uint32_t pid);

/* The key, loaded for the first time: a person is reported when it was made for that. */
int capture_identity(struct recording *s, struct identity *id, struct fault *why);
/* The first capture, of what is recorded from `start` on; `id` is the caller's to wipe. */
int capture_open(struct recording *s, const struct identity *id, const struct clock_anchor *start, struct fault *why);
/* How long the machine had been suspended when a capture begins: or sleep in its first epoch would not be seen. */
int capture_emit_suspended(struct recording *s, const struct clock_anchor *now, uint64_t at_ns, struct fault *why);

/* Which libraries are mapped, as rows and, in short, as facts. */
int capture_emit_libraries(struct recording *s, struct fault *why);

/*
 * The number of a series' next capture: behind the last one that is there, so that names stay in order of time when old
 * captures are removed. 1 also for a folder that may not be listed: what is in the way is left out later.
 */
uint64_t rotate_first_number(const char *path);
/* Before anything else: the name of the first capture, and whether its key can be had again. */
int rotate_prepare(struct recording *s, struct fault *why);
/* With the rights that are left: whether another capture can be begun later. */
int rotate_check(const struct recording *s, struct fault *why);
void rotate_clear(struct recording *s);
/* A ring_use: translate, or hold what belongs to the next capture. */
int rotate_take(void *self, const void *record, uint32_t n, struct fault *why);
/* No next capture begins now: what was held is used. */
int rotate_cancel(struct recording *s, ring_use *use, void *self, struct fault *why);
/* An epoch was sealed, up to the cut, with these counters: the next capture begins, and what was held is used. */
int rotate_join(struct recording *s, const struct counter *counters, size_t ncounters, struct fault *why);
/* counters_collect() for the capture that is written. */
size_t rotate_counters(struct recording *s, bool at_end, const struct counter **rows);

/*
 * Go on with what waits for answers, as far as they are there. at_end: what is not done by now is given up.
 */
int recording_go_on(struct recording *s, bool at_end, struct fault *why);
/* All that a process has mapped is to be inspected when there is time. */
void recording_defer_whole(struct recording *s, uint32_t pid);

/* translator.notice of a recording. */
int recording_notice(void *self, const struct ring_head *record, struct fault *why);

/*
 * process_rows.c: rows about a process instance, when it is first met (exec: NULL) and after each exec; forgotten
 * when it has ended. INSPECT_LATER: not all is known yet, call it again.
 */
int recording_emit_process(struct recording *s, uint32_t pid, uint64_t start_ns, const struct ring_exec *exec,
			   struct fault *why);
/* The same where it cannot be read any more: what the kernel side saw of exec. Counted as gone. */
int recording_emit_unread(struct recording *s, uint32_t pid, uint64_t start_ns, const struct ring_exec *exec,
			  struct fault *why);
/* A recorded process was throttled: it may be in another control group than was reported. */
int recording_look_at_cgroup(struct recording *s, uint32_t pid, struct fault *why);
void recording_leave_process(struct recording *s, uint32_t pid);

/* What was not inspected while it ran, as facts at the end and for people; none when all was. */
int recording_emit_missing(struct recording *s, struct fault *why);
size_t recording_list_missing(const struct recording *s, struct missing list[MISSING_MAX]);

/* Take in all that the kernel side has reported by now. 1; 0: it does not finish a record, within a second; negative.
 */
int recording_drain(struct recording *s, struct fault *why);

/* Look for libraries that are mapped by now, in every process or in those to be recorded; discover_tell() reports. */
int recording_look_again(struct recording *s, struct fault *why);

/* What recorded threads are in now, as rows. */
void recording_emit_states(struct recording *s, uint32_t moment);

/* thread_stacks.c: this thread's user stack is to be read when there is time. */
void recording_want_stack(struct recording *s, const struct ring_state *state);
/* Go on reading, as far as answers come in time. until_ns (monotonic clock): what is not done by then is given up. 0:
 * it is not. */
int recording_read_stacks(struct recording *s, uint64_t until_ns, struct fault *why);
/* What was wanted is given up: another capture begins. */
void recording_drop_stacks(struct recording *s);

/* Track the processes of -p and, unless they are not wanted, all that descend from them and are not tracked yet. */
int recording_track_named(struct recording *s, struct fault *why);
/* Who still runs at the end: of what was reported as MOMENT_END. */
void recording_list_survivors(const struct recording *s, struct recording_result *result);
/* Whether none of those that are tracked lives any more. */
bool recording_all_ended(struct recording *s);

/* Write down what is new about libraries, and count those of recorded processes that have not all probes. */
int recording_emit_libraries(struct recording *s, struct fault *why);
/* The latter anew: another capture has begun. */
void recording_count_again(struct recording *s);

/* Say what could not be probed since the last call. */
void recording_note_refused(struct recording *s);

__attribute__((format(printf, 3, 4))) void recording_note(const struct recording *s, int level, const char *fmt, ...);

#endif
