/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel side as seen from user space: loaded, attached, switched on and off, its maps. The one file that includes
 * the BPF skeleton.
 *
 * Loaded it is silent: nothing fires before attach_start().
 */
#ifndef GPUREC_RECORD_PROBE_ATTACH_H
#define GPUREC_RECORD_PROBE_ATTACH_H

#include "record/host/kernel_clock.h"
#include "record/probe/probes.h"
#include "record/probe/refusals.h"

#define ATTACH_KINDS 32 /* kinds of events: below it */
#define SLOW_NS_DEFAULT 1000000u

struct attach_options {
	struct kernel_clock clock;
	uint64_t ring_bytes; /* of the bulk ring; see attach_ring_valid() */
	bool futex;          /* probe system calls, where the kernel offers that */
	bool quota;          /* report when a CPU quota keeps a thread from running */
	bool notice_maps;    /* the same: report CUDA libraries that are mapped later (RING_MAPPED) */
	bool track_all;      /* track every process that uses a CUDA library */
	bool no_children;    /* do not track what tracked processes fork off */
	bool single;         /* as kernels before 6.6 need: functions one by one, system calls by their tracepoints */
	bool plain;          /* without what makes calls cheaper: see struct attach_facts */
	bool disks;          /* report for which request to a disk a thread slept */
	bool network;        /* report through which connection came what a thread slept for */
	bool reclaim;        /* report when a thread has to free memory by itself */
	bool signals;        /* report of signals that stop, continue or end a recorded process, and of their senders */
	bool no_faults;      /* do not probe page faults */
	bool follow;         /* threads that are not tracked, once they end long sleeps of tracked ones (RING_FOLLOW) */
	uint64_t
		slow_ns; /* calls that took as long or longer carry their stack; 0: SLOW_NS_DEFAULT; UINT64_MAX: none */
	/*
	 * Left out on purpose, decided in the kernel and counted there by probe. keep, by kind (its number in
	 * format/kinds.h): about one in so many is recorded, drawn at random; a call that is kept or left out takes the
	 * calls of the same kind inside it with it. 0, 1: all. rate: at most so many events a second, counted as
	 * over_rate; 0: no limit. Lives (fork, exec, exit), oom, and names
	 * and the calls that report them are never left out.
	 */
	uint32_t keep[ATTACH_KINDS];
	uint32_t rate;
	uint64_t metrics_ns; /* sample the CPUs once in so long (KIND_metric); 0: never */
	/* All that the kernel's verifier has to say of a program that it refuses; NULL: nobody wants to know. */
	void (*verifier)(const char *program, const char *log);
};

#define RING_BYTES_MAX (1u << 30)
#define RING_BYTES_DEFAULT (16u << 20)
#define LIFE_RING_BYTES (1u << 20)
uint64_t attach_ring_min(void);         /* one page of this kernel: 4 to 64 KiB */
bool attach_ring_valid(uint64_t bytes); /* a power of two from there to RING_BYTES_MAX */

struct attach;

/*
 * Load and attach all but library functions. A tracepoint that the kernel does not have, or a program that it refuses,
 * is no error but for the programs of calls: attach_facts.absent, attach_refusals(). ERR_DENIED with the missing
 * permission, ERR_IO with what the kernel said. libbpf's own words go where the program lets them (libbpf_set_print()).
 */
int attach_open(struct attach **a, const struct attach_options *o, struct fault *why);
/*
 * Where functions are attached one by one, they come off so, too. That is waited for for half a second; then the kernel
 * goes on with it once this process has ended. Returns about how long that takes, in ns; 0: all are off.
 */
uint64_t attach_close(struct attach *a);
/* The process that it goes on in is called this. Who attaches functions one by one meanwhile does so as slowly. */
#define ATTACH_DETACHES "gpurec-detaches"

/* One function of a library to be probed. */
struct attach_site {
	uint64_t offset; /* in the file */
	uint16_t probe;
	int error; /* out: 0, or the errno why not */
};

/* Probe functions of the file that is open as fd. Returns how many carry probes now; sites[].error reports each. */
size_t attach_library(struct attach *a, int fd, struct attach_site *sites, size_t nsites);

/*
 * A child process may attach in our place where functions are attached all at once (attach_facts.multi), and the
 * process that has the descriptors that it makes keeps the probes on. In the child: attach_leave_to_child() first,
 * which returns the descriptors that it must keep; then attach_library(), and what it made is taken, or closed.
 */
size_t attach_leave_to_child(struct attach *a, int *fds, size_t max);
size_t attach_nlinks(const struct attach *a);
size_t attach_take_links(struct attach *a, int *fds, size_t max);
void attach_drop_links(struct attach *a);

void attach_start(struct attach *a);

/*
 * Switch the probes off, and wait until no program runs any more but those of a call: these may be kept waiting by the
 * process, or have lost their CPU. A record of theirs is still being written then, or comes when nobody reads any more,
 * and what they count may come late, too. All else is in the rings afterwards.
 */
void attach_stop(struct attach *a);

/* Processes. start_ns is of no consequence when 0. flags: TRACK_* */
int attach_track(struct attach *a, uint32_t pid, uint64_t start_ns, uint32_t flags, struct fault *why);
void attach_untrack(struct attach *a, uint32_t pid);

/* Prepare and name the threads that tracked processes have now. Without it they are as they are first seen. */
int attach_scan_threads(struct attach *a, struct fault *why);

/*
 * The same, and records of what each of these threads is in now (kinds state, in_flight), `most` of them at most; the
 * probes need not be on. Where the right to go through the threads is given up before, attach_prepare_states() keeps
 * it for one time. A kernel that refuses the program reports none.
 */
void attach_prepare_states(struct attach *a);
int attach_emit_states(struct attach *a, uint32_t moment, uint64_t most, struct fault *why);
/* How many were not reported, for there were more. */
uint64_t attach_states_beyond(const struct attach *a);
/* How often a thread was not followed for there were FOLLOWED_MAX. */
uint64_t attach_unfollowed(const struct attach *a);

/* The file was inspected: when it is mapped, a notice is needed only if it carries probes. */
int attach_file_known(struct attach *a, const struct file_key *key, bool probed, struct fault *why);

/* From now on a full ring wakes us again. Before draining. */
void attach_rearm(struct attach *a);

/* What is possible on this kernel, and was asked for. */
struct attach_facts {
	int life_fd, bulk_fd, tallies_fd; /* of the maps that the recorder reads */
	bool multi;     /* library functions are attached all at once (uprobe_multi, Linux 6.6), not one by one */
	bool shortcuts; /* and by what is faster: cookie and clock are read without asking */
	bool follow;    /* long sleeps' wakers are followed, as attach_options.follow wants */
	bool interrupts_known; /* a waking from an interrupt can be distinguished from one by the waker */
	bool metrics;          /* CPUs are sampled; */
	bool timed;            /* also those on which nothing happens: the kernel lends programs a timer */
	bool futex;            /* futexes are recorded */
	bool notice_maps;      /* the kernel side reports mappings */
	bool quota;            /* it is recorded that a CPU quota keeps a thread from running; */
	bool quota_times;      /* and for how long, by the kernel's own account (Linux 6.6) */
	/*
	 * The tracepoints that were asked for and whose events are missing, because this kernel does not have them or
	 * refuses the program for them: "mark_victim, sys_enter"; "": all are there. What each is for: tracepoints.h.
	 */
	char absent[512];
};
const struct attach_facts *attach_facts(const struct attach *a);

/* Whether attach_options.keep may be set for this kind: it is one of calls, or switch, waking, futex, fault. */
bool attach_may_sample(uint32_t kind);
/* Whether it is in attach_facts.absent. */
bool attach_lacks(const struct attach *a, const char *tracepoint);
/* The programs that this kernel refuses; what is missing without them: refusal_effect(). Returns how many. */
size_t attach_refusals(const struct attach *a, const struct refusal **list);
/* Whether it is for such a program that a tracepoint is lacking. */
bool attach_refuses(const struct attach *a, const char *tracepoint);
/*
 * How often the kernel left out one of our programs because it already ran on that CPU. Which threads these runs would
 * have been about is not known: each counts as fired and lost (not_run) of the program's probe. Counted are those since
 * attach_start(), or since it was called last.
 */
struct counters;
void attach_count_skipped(struct attach *a, struct counters *c);
/* The runs that were counted; in text, by program. UINT64_MAX: without rights this kernel does not report it; "not
 * known".
 */
uint64_t attach_skipped(const struct attach *a, char *text, size_t size);

#endif
