/* SPDX-License-Identifier: GPL-2.0 */
/* Settings, maps, and the small parts that all programs use: counting, times, submitting. Part of gpurec.bpf.c. */
#ifndef GPUREC_BPF_STATE_H
#define GPUREC_BPF_STATE_H

#include "bpf/kernel.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "bpf/ring.h"

/* Settings, fixed at load. */
const volatile struct call_plan plans[PROBES_LIMIT];
const volatile __u32 nslots = PROBES_LIMIT;
const volatile __u32 shard_mask;
const volatile __u32 life_half_bytes = 1, bulk_half_bytes = 1; /* fill level that wakes the recorder */
const volatile bool follow_children;  /* a tracked process's are tracked, too */
const volatile bool track_all;        /* every process that uses CUDA, not only those in `tracked` */
const volatile bool switch_has_state; /* sched_switch passes prev_state (since 5.18) */
const volatile bool follow_wakers;    /* that are not tracked: see bpf/follow.h */
const volatile __u32 own_pid;         /* the recorder's: it is not followed */
const volatile __u32 cpu_words;       /* of a set of this machine's CPUs; 0: they are too many */
const volatile bool futex_on;
const volatile bool disks_on;         /* note for which request to a disk a thread slept */
const volatile bool network_on;       /* note through which connection came what a thread slept for */
const volatile bool quota_on;         /* note when a CPU quota keeps a thread from running */
const volatile bool notice_maps;      /* report when a CUDA library is mapped */
const volatile bool reducing;         /* events are left out on purpose: `keep` of a plan, or */
const volatile __u32 rate;            /* at most so many a second; 0: no limit */
const volatile __u64 slow_ns = ~0ULL; /* calls that take as long carry their stack */
const volatile bool exit_emits_last;  /* sched_process_exit passes whether no thread is left (since 6.16) */
const volatile bool victim_is_task;   /* mark_victim passes the task (since 6.8), not its number */
const volatile __u32 pause_at;        /* which argument of balance_dirty_pages is the pause; PAUSE_AT* */
const volatile __u32 seat_mask;       /* entries of `seats`, a power of two, less 1 */
const volatile __u32 ask_mask;        /* see submit_call(); a power of two, less 1 */

/* Threads in `followed`; and those for which there was no room. */
volatile __u32 nfollowed, nunfollowed;

/* Set by the recorder once it is ready, cleared when it ends: otherwise nothing is recorded nor counted. */
volatile __u32 running;
/* Set when the recorder is woken, so that it is woken once; it clears them before it drains. */
volatile __u32 life_woken, bulk_woken;

/* The recorder wakes a thread of its own to see whether in_interrupt() can be relied on here. */
volatile __u32 selftest_pid;
volatile __u64 selftest_task, selftest_interrupt;
volatile __u32 interrupts_known; /* a waking by a task passed for one: in_interrupt() is asked */

/*
 * The boot clock and the monotonic one are the same until the machine sleeps for the first time, and the latter is read
 * faster. The recorder has the probe compare them, and believes it unless the machine goes to sleep.
 */
volatile __u32 selftest_clocks_same, selftest_clocks_apart;
volatile __u64 selftest_boot_ns; /* the boot clock then */
volatile __u32 clocks_agree, has_slept;

/* The second in progress, in the upper half, and the events recorded in it: one word, so that the limit holds exactly.
 */
volatile __u64 rate_used;

struct frame {
	__u64 start_ns;
	__u64 sp;
	__u32 probe;
	__u16 nested;
	__u16 left_out;                  /* on purpose: the counter; 0: it is recorded */
	__u64 word[16 + PEEK_WORDS_MAX]; /* CALL_WORDS, and room that lets the verifier see that a peek stays inside */
};

struct open_futex {
	__u64 start_ns; /* 0: none */
	__u64 nr;
	__u64 addr, addr2;
	__u64 arg[4];
	__u64 left_out;
};

/* The page fault that a thread was in last. */
struct last_fault {
	__u64 start_ns;
	__u64 addr;
	__u64 ip;    /* of the instruction: while the thread is not in a system call and is there, it is in the fault */
	__u64 slept; /* and has not run again since */
};

/* A thread that was throttled and has not run again since. */
struct throttle {
	__u64 queue;      /* address of its kernel's run queue; 0: it was not */
	__u64 account_ns; /* that queue's, at the beginning */
};

/* What a thread does to get memory. */
struct reclaiming {
	__u64 start_ns; /* 0: nothing */
	__u64 cause;    /* RECLAIM_* */
};

/* A thread whose writes are held back sleeps so soon for that: what comes later is another sleep. */
#define HELD_BACK_NS 1000000

/* Of a thread: the calls that it is in. */
struct open_calls {
	__u64 tid;      /* whose they are; 0: nobody's. In `seats` only */
	__u64 since_ns; /* this thread's start: numbers are reused */
	__u64 start_ns; /* of its process */
	__u32 depth;
	__u32 over;    /* calls inside the deepest followed one that were counted as too_deep */
	__u32 emitted; /* it and its process were reported as tracked */
	__u32 unasked;
	struct frame frame[CALL_DEPTH];
};

/* Small: of small pieces the kernel keeps many at hand, and of large ones too few for a burst of new threads. */
struct thread_state {
	__u32 seat;     /* + 1; 0: none */
	__u32 waits_on; /* CPU + 1 that it was preempted on, or woken to, and waits to run on; 0: it does not */
	__u32 emitted;  /* it and its process were reported as tracked */
	__u32 spare;    /* it has, or had, open calls in `spares` */
	struct open_futex futex;
	struct last_fault fault;
	struct throttle throttle;
	struct reclaiming reclaim;
	__u64 held_back_ns; /* its writes are, to be seen at its next sleep; 0: no */
	__u64 left_ns; /* it left its CPU, to sleep, and has not run again since; 0: it has, or that is not known */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread_state);
} threads SEC(".maps");

/* The calls of threads without a seat. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct open_calls);
} spares SEC(".maps");

/*
 * Where threads keep the calls that they are in, by thread number modulo the size: an array is read without asking the
 * kernel, which is worth a twentieth of what a call costs. Whose seat is taken keeps them in `spares`.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set by the recorder */
	__type(key, __u32);
	__type(value, struct open_calls);
} seats SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, struct track);
} tracked SEC(".maps");

/* Threads of processes that are not tracked, by thread id: when they started. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FOLLOWED_MAX);
	__type(key, __u32);
	__type(value, __u64);
} followed SEC(".maps");

/* What falls out of it is inspected once more. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct file_key);
	__type(value, __u32);
} attached SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tally);
} tallies SEC(".maps");

/* Who was named last, by thread and by process id modulo the size: a name is reported again rather than never. */
struct named {
	__u64 mark;       /* name_mark() */
	__u64 scheduling; /* scheduling_mark(), of a thread */
};
#define NAMED_THREADS 16384
#define NAMED_PROCESSES 4096

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, NAMED_THREADS);
	__type(key, __u32);
	__type(value, struct named);
} named_threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, NAMED_PROCESSES);
	__type(key, __u32);
	__type(value, __u64);
} named_processes SEC(".maps");

/* The request to a disk that was done last on a CPU, until that does anything else: see bpf/disk.h. Monotonic clock. */
struct disk_request {
	__u64 done_ns; /* 0: there is none */
	__u64 start_ns, issue_ns;
	__u64 disk; /* address of its kernel's struct gendisk */
	__u32 operation, bytes;
	__u32 error;
	__u32 by; /* request_by() */
};

/* What came in last on a CPU, until that turns to another thread: see bpf/network.h. */
struct segment {
	__u64 sk; /* address of its kernel's struct sock; 0: nothing came */
	__u64 tick; /* of the kernel's: jiffies */
	__u32 changed; /* the connection got to another state */
	struct network_ends ends;
};

struct cpu_state {
	__u64 waiting;      /* tracked threads that wait for it */
	__u64 own_stack_at; /* see in_interrupt() */
	__u64 timer_task;   /* struct task_struct whose timer was up here last, if it slept with one */
	__u64 timer_ns;     /* and when: now_ns() */
	struct disk_request request;
	struct segment segment;
};

/* Of TCP connections that began while we looked who began them, by address of their kernel's struct sock. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, __u32);
} roles SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set to the number of CPUs */
	__type(key, __u32);
	__type(value, struct cpu_state);
} cpus SEC(".maps");

static __always_inline struct cpu_state *cpu_state(__u32 cpu)
{
	return bpf_map_lookup_elem(&cpus, &cpu);
}

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} life SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 16 << 20);
} bulk SEC(".maps");

static __always_inline void count(__u32 probe, enum counter_index what)
{
	__u32 key = (bpf_get_smp_processor_id() & shard_mask) * nslots + probe;
	struct tally *t = bpf_map_lookup_elem(&tallies, &key);

	if (t)
		__sync_fetch_and_add(&t->n[what], 1);
}

/* The same, out of line, for what seldom happens to a call. */
static __noinline void count_rare(__u32 probe, enum counter_index what)
{
	count(probe, what);
}

/* Room for one more event in this second. */
static __always_inline bool within_rate(void)
{
	__u64 now = bpf_ktime_get_boot_ns() / 1000000000 << 32;
	__u64 used = __sync_fetch_and_add(&rate_used, 1);

	/* The first of a second begins it anew; who comes between is counted in the second that it finds. */
	if (used >> 32 < now >> 32) {
		used = used + 1;
		if (__sync_val_compare_and_swap(&rate_used, used, now + 1) == used)
			return true;
		used = __sync_fetch_and_add(&rate_used, 1);
		if (used >> 32 < now >> 32)
			return false;
	}
	return (__u32)used < rate;
}

static __always_inline enum counter_index over_rate(void)
{
	return rate && !within_rate() ? COUNT_over_rate : 0;
}

/* Why an event of this probe is to be left out; 0: it is not. */
static __always_inline enum counter_index left_out(__u32 probe)
{
	__u32 keep = plans[probe].keep;

	if (keep > 1 && bpf_get_prandom_u32() % keep)
		return COUNT_sampled_out;
	return over_rate();
}

static __always_inline void count_left_out(__u32 probe, enum counter_index why)
{
	if (why == COUNT_sampled_out)
		count(probe, COUNT_sampled_out);
	else if (why)
		count(probe, COUNT_over_rate);
}

/* An event that is not a call. */
static __always_inline bool drop(__u32 probe)
{
	enum counter_index why = reducing ? left_out(probe) : 0;

	count_left_out(probe, why);
	return why;
}

static __always_inline struct track *track_of(__u32 pid)
{
	return bpf_map_lookup_elem(&tracked, &pid);
}

/* The current thread enters a call that cannot be followed, for there is no memory to keep it in. */
static __noinline void count_refused(__u32 probe)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct track *track = track_of(t->tgid);

	count(probe, COUNT_no_state);
	if (track)
		__sync_fetch_and_add(&track->refused, 1);
}

/* The current thread, if tracked, returns from a call that it was not seen to enter, or that was refused. */
static __noinline void count_unentered(__u32 probe)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct track *track = track_of(t->tgid);

	if (!track || __sync_fetch_and_add(&track->refused, -1) > 0)
		return; /* counted when it was entered */
	__sync_fetch_and_add(&track->refused, 1);
	count(probe, COUNT_fired);
	count(probe, COUNT_no_entry);
}

static __always_inline __u64 process_start(struct task_struct *t)
{
	return BPF_CORE_READ(t, group_leader, start_boottime);
}

/* The boot clock. */
static __always_inline __u64 now_ns(void)
{
	return clocks_agree ? bpf_ktime_get_ns() : bpf_ktime_get_boot_ns();
}

static __always_inline void head_fill(struct ring_head *h, enum ring_type type)
{
	h->type = type;
	h->cpu = bpf_get_smp_processor_id();
	h->at_ns = now_ns();
}

/* Waking the recorder costs some fifty times as much as a record: only once the ring is half full. */
static __noinline __u64 bulk_wakes(void)
{
	if (bulk_woken || bpf_ringbuf_query(&bulk, BPF_RB_AVAIL_DATA) < bulk_half_bytes)
		return BPF_RB_NO_WAKEUP;
	bulk_woken = 1;
	return BPF_RB_FORCE_WAKEUP;
}

static __always_inline void submit_bulk(void *record)
{
	bpf_ringbuf_submit(record, bulk_wakes());
}

/*
 * The same for a call. How full the ring is, is asked for some of a thread's calls only: the answer costs as much as
 * half a record, and a few records more or less do not matter to it.
 */
static __always_inline void submit_call(void *record, struct open_calls *c)
{
	bpf_ringbuf_submit(record, c->unasked++ & ask_mask ? BPF_RB_NO_WAKEUP : bulk_wakes());
}

static __always_inline void submit_life(void *record, bool urgent)
{
	__u64 flags = BPF_RB_NO_WAKEUP;

	if (urgent || (!life_woken && bpf_ringbuf_query(&life, BPF_RB_AVAIL_DATA) >= life_half_bytes)) {
		life_woken = 1;
		flags = BPF_RB_FORCE_WAKEUP;
	}
	bpf_ringbuf_submit(record, flags);
}

/* The file behind descriptor `fd` of the current task, or NULL. */
static __always_inline struct file *file_of(struct task_struct *t, __u32 fd)
{
	struct fdtable *fdt = BPF_CORE_READ(t, files, fdt);
	struct file **files = BPF_CORE_READ(fdt, fd);
	struct file *file = 0;

	if (fd >= BPF_CORE_READ(fdt, max_fds) || bpf_probe_read_kernel(&file, sizeof(file), files + fd))
		return 0;
	return file;
}

#endif
