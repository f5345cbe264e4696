/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel side and the recorder exchange: ring records, settings, map values. Host byte order, all
 * padding explicit and zeroed; may change in any commit. Only bpf/ and record/ see this file; what is in a capture
 * is format/kinds.h, and record/translate.c knows both.
 *
 * Includes nothing: who includes it has __u16, __u32, __u64, __s32, __s64.
 *
 * A record's time is taken after its room in the ring was reserved. So once the recorder has taken a time T and then
 * read how far the ring is filled, every record beyond that point is from T or later.
 */
#ifndef GPUREC_BPF_RING_H
#define GPUREC_BPF_RING_H

#include "format/kinds.h"

#define CALL_WORDS 13   /* of arguments, and of what they point to, kept per call */
#define CALL_DEPTH 8    /* open calls that are followed per thread */
#define STACK_FRAMES 24 /* of a user stack */
#define COMM_BYTES 16
#define EXEC_ARGS 1024   /* bytes of a command line that are reported at exec */
#define PROBES_LIMIT 512 /* ids are below */
#define SHARDS_MAX 64    /* of the counters, by CPU */

/*
 * Which words a probed call yields. A peek copies `n` 64-bit words that stand `from` words behind the pointer in word
 * `arg` to word `slot`.
 */
struct peek {
	__u8 arg;
	__u8 from;
	__u8 n; /* 0: none; at most PEEK_WORDS_MAX */
	__u8 slot;
};
#define PEEKS 3
#define PEEK_WORDS_MAX 7

struct call_plan {
	struct peek peek[PEEKS];
	__u8 early;     /* peek at entry; else at return, when the call returned 0 */
	__u8 stack;     /* take the user stack at return, also of calls that are neither slow nor failed */
	__u8 words;     /* how many argument words are there, at most CALL_WORDS */
	__u8 used;      /* how many words (arguments and peeked ones) anybody wants */
	__u8 asks;      /* CALL_NOT_READY is no failure */
	__u8 no_result; /* the function returns nothing */
	__u8 name;      /* PLAN_*: it names a function: word name_of */
	__u8 name_of;
	__u8 name_at; /* the word that points to its name, or that is the function which it is another handle for */
	__u8 kind;
	__u16 pad;
	__u32 keep; /* about one in so many is recorded; 0, 1: all */
};
#define CALL_NOT_READY 600
#define PLAN_NAME 1
#define PLAN_ALIAS 2

/* Ids of the probes that are not in a library (record/probe/probes.c has their names). */
enum host_probe {
	PROBE_SWITCH = 1,
	PROBE_WAKING = 2,
	PROBE_FUTEX = 3,
	PROBE_FORK = 4,
	PROBE_EXEC = 5,
	PROBE_EXIT = 6,
	PROBE_THREAD_NAME = 7,
	PROBE_PROCESS_NAME = 8,
	PROBE_MAPPED = 9,
	PROBE_FAULT = 10,
	PROBE_OOM = 11,
	PROBE_METRIC = 12,
	PROBE_THROTTLED = 13,
	PROBE_LIBRARY_CALL = 14, /* whichever function's: only what the kernel skipped is counted here */
	PROBE_SIGNAL = 15,
	PROBE_STATE = 16,
	PROBE_IN_FLIGHT = 17,
	PROBE_FOLLOW = 18,
	PROBE_SCHEDULING = 19,
	PROBE_DISK = 20,
	PROBE_RECLAIM = 21,
	PROBE_NETWORK = 22,
	PROBE_HOST_END = 32, /* the first id of a library function */
};

/* The counters of format/kinds.h, without gaps. */
enum counter_index {
#define C(id, name, role, words) COUNT_##name,
	COUNTERS(C)
#undef C
		NCOUNTS
};

/* Value of map `tallies`, index shard * nslots + probe. */
struct tally {
	__u64 n[NCOUNTS];
};

/* Value of map `tracked`, by process id. */
struct track {
	__u64 start_ns; /* of the process, boot clock */
	__u64 flags;    /* so wide that bits can be exchanged on any kernel */
	__s64 refused;  /* calls that it is in, and that were counted as no_state when it entered them */
};
#define TRACK_OURS 1  /* COMMAND or a descendant: may be held while a library is attached */
#define TRACK_ENDED 2 /* its last thread is gone */

/* Key of map `attached`: files that were inspected for functions to probe; the value is one of the two below. */
struct file_key {
	__u64 inode;
	__u32 device;     /* the kernel's: major << 20 | minor */
	__u32 generation; /* distinguishes a file from a later one with its inode number */
};
#define FILE_PLAIN 1  /* nothing in it to probe: no notice */
#define FILE_PROBED 2 /* carries probes: who maps it is reported, and not held */

enum ring_type {
	RING_CALL_FEW = 1,
	RING_CALL_MANY,
	RING_CALL_ALL,
	RING_CALL_CALLER,
	RING_CALL_STACK,
	RING_CALL_NAME,
	RING_SWITCH,
	RING_WAKING,
	RING_FUTEX,
	RING_FORK,
	RING_EXEC,
	RING_EXIT,
	RING_THREAD,
	RING_PROCESS,
	RING_MAPPED,
	RING_FAULT,
	RING_OOM,
	RING_METRIC,
	RING_THROTTLED,
	RING_SIGNAL,
	RING_STATE,
	RING_IN_FLIGHT,
	RING_FOLLOW,
	RING_SCHEDULING,
	RING_DISK,
	RING_RECLAIM,
	RING_NETWORK,
	RING_TYPES
};

struct ring_head {
	__u32 type;
	__u32 cpu;
	__u64 at_ns; /* boot clock */
};

/*
 * A call that returned. Behind it stand as many words as its type says; a call needs the type that holds `used` of
 * struct call_plan. RING_CALL_STACK and RING_CALL_NAME hold all, RING_CALL_CALLER few.
 */
struct ring_call {
	struct ring_head head;
	__u32 pid, tid;
	__u64 dur_ns;
	__u64 start_ns; /* of the process */
	__s32 ret;
	__u16 probe;
	__u16 flags; /* CALL_NESTED */
};
#define CALL_WORDS_FEW 4
#define CALL_WORDS_MANY 9

struct ring_call_few {
	struct ring_call call;
	__u64 word[CALL_WORDS_FEW];
};

struct ring_call_many {
	struct ring_call call;
	__u64 word[CALL_WORDS_MANY];
};

struct ring_call_all {
	struct ring_call call;
	__u64 word[CALL_WORDS];
};

/* With a stack of one frame (0: none): most programs are built so that no more is to be had at once. */
struct ring_call_caller {
	struct ring_call call;
	__u64 word[CALL_WORDS_FEW];
	__u64 frame;
};

struct ring_call_stack {
	struct ring_call_all all;
	__u64 nframes;
	__u64 frame[STACK_FRAMES];
};

/* nbytes of the name of a function, without a NUL; there is room for 128 or 512 of them, or NAME_BYTES. */
#define NAME_BYTES 4096
#define NAME_BYTES_FEW 128
#define NAME_BYTES_MANY 512
struct ring_call_name {
	struct ring_call_all all;
	__u64 nbytes;
	char text[];
};

struct ring_switch {
	struct ring_head head;
	__u32 prev_tid, next_tid;
	__u32 prev_state;
	__u16 prev_syscall; /* + 1; 0: none */
	__u16 prev_flags;   /* SWITCH_* */
	__u32 next_queue;   /* CPU + 1 that it has waited for; 0: for none, or not known */
	__u32 pad;
};

struct ring_waking {
	struct ring_head head;
	__u32 tid, waker_tid;
	__u32 context;
	__u32 pad;
};

/* arg: as the system call `nr` got them; for futex_waitv and futex_requeue the first waiter's address comes in addr.
 * addr2: the second address of those that have one. */
struct ring_futex {
	struct ring_head head;
	__u32 pid, tid;
	__u64 dur_ns;
	__s64 ret;
	__u64 nr;
	__u64 addr, addr2;
	__u64 arg[4];
};

/* A page fault in which a thread slept, when it runs again. */
struct ring_fault {
	struct ring_head head;
	__u32 pid, tid;
	__u64 dur_ns;
	__u64 addr;
};

/* A thread that was throttled for so long, when it is about to run again. */
struct ring_throttled {
	struct ring_head head;
	__u32 pid, tid;
	__u64 dur_ns;
};

/* tid: 0 where it went to the whole process. code: si_code. */
struct ring_signal {
	struct ring_head head;
	__u32 pid, tid;
	__u32 number;
	__s32 code;
	__u32 sender_tid;
	__u32 pad;
};

/* As the fields of kind state, but for `state`, which has the kernel's bits. */
#define STATE_GONE 0xb0 /* it ends, or has ended: TASK_DEAD, EXIT_DEAD, EXIT_ZOMBIE */
struct ring_state {
	struct ring_head head;
	__u32 pid, tid;
	__u32 moment, state;
	__u64 syscall;
	__u64 argument;
	__u64 start_ns;       /* of the process */
	__u64 switches;       /* away from the thread, ever; 0: not known */
	__u64 ip, sp, fp, lr; /* in user mode; of one that runs: when it was last seen to leave that */
};

/* As the fields of kind in_flight. */
struct ring_in_flight {
	struct ring_head head;
	__u32 pid, tid;
	__u32 moment;
	__u16 probe, flags;
	__u64 dur_ns;
	__u64 argument;
};

/* As the fields of kind follow. */
struct ring_follow {
	struct ring_head head;
	__u32 pid, tid;
	__u32 waiter_tid;
	__u32 pad;
	__u64 slept_ns;
};
#define FOLLOWED_MAX 256
#define FOLLOW_SLEPT_NS 1000000

/* As the fields of kind scheduling. */
#define CPU_WORDS_MAX 16 /* of the set of CPUs on which a thread may run */
struct ring_scheduling {
	struct ring_head head;
	__u32 pid, tid;
	__u32 policy;
	__s32 nice;
	__u32 priority;
	__u32 nwords; /* 0: the set is not known */
	__u64 cpus[CPU_WORDS_MAX];
};

/* Which argument of balance_dirty_pages is the pause: of so many arguments in all, the context among them. */
#define PAUSE_AT 10
#define PAUSE_OF 13
#define PAUSE_AT_LATER 6 /* 6.18 and 7.2 have it so, 6.1 as above */
#define PAUSE_OF_LATER 9

/* As the fields of kind disk. */
#define DISK_BYTES 32
struct ring_disk {
	struct ring_head head;
	__u32 pid, tid;
	__u64 dur_ns, service_ns;
	__u32 operation, bytes;
	__u32 error;
	__u32 device;
	char name[DISK_BYTES]; /* of the device */
};

/* Addresses as IPv6 has them. */
struct network_ends {
	__u8 local[16], peer[16];
	__u16 local_port, peer_port;
};

/* As the fields of kinds network and connection. */
struct ring_network {
	struct ring_head head;
	__u32 pid, tid;
	__u64 dur_ns;
	__u32 unread;
	__u32 retransmitted, disordered;
	__u32 rtt_us;
	__u32 net;  /* namespace */
	__u32 role; /* as far as its begin was seen */
	__u32 sender_tid;
	struct network_ends ends;
};

/* As the fields of kind reclaim. */
struct ring_reclaim {
	struct ring_head head;
	__u32 pid, tid;
	__u64 dur_ns;
	__u64 pages;
	__u32 cause;
	__u32 pad;
};

struct ring_oom {
	struct ring_head head;
	__u32 pid;
	__u32 pad;
	__u64 pages; /* resident; 0: not reported */
};

/* head.cpu: whose figures they are. */
struct ring_metric {
	struct ring_head head;
	__u64 busy_ns;
	__u64 switches;
	__u32 waiting;
	__u32 forced; /* by the timer */
};

struct ring_fork {
	struct ring_head head;
	__u32 pid, tid;
	__u32 child_pid, child_tid;
};

/* What is reported here of file and arguments is for processes that end before they can be inspected. */
struct ring_exec {
	struct ring_head head;
	__u64 start_ns; /* of the process */
	__u32 pid, tid;
	__u32 uid, pad;
	struct file_key file; /* that is run: for a script its interpreter */
	__u32 known;          /* FILE_*, 0: not inspected yet */
	__u32 nargs;          /* bytes in args; 0: they could not be read */
	__u64 args_bytes;     /* of all arguments */
	char args[EXEC_ARGS]; /* with a NUL behind each */
};

struct ring_exit {
	struct ring_head head;
	__u32 pid, tid;
	__u32 code;
	__u32 last;
};

struct ring_thread {
	struct ring_head head;
	__u64 start_ns;
	__u32 tid, pid;
	char comm[COMM_BYTES];
};

struct ring_process {
	struct ring_head head;
	__u64 start_ns;
	__u32 pid, ppid;
	__u32 uid;
	__u32 tracked;
	char comm[COMM_BYTES];
};

/* A process mapped a file as code (or runs it, by exec) that carries probes or was not inspected yet. */
struct ring_mapped {
	struct ring_head head;
	struct file_key file;
	__u32 pid, tid;
	__u32 uid;
	__u32 known;   /* FILE_*, 0: not inspected yet */
	__u32 held;    /* 1: it was stopped and waits for SIGCONT */
	__u32 named;   /* 1: it has the name of a CUDA library */
	__u64 address; /* where; 0: it is the program that the process runs from now on */
};

#endif
