/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver program's parts: a run is a set of scenarios, a scenario a few named threads (roles) and
 * perhaps a fault that they plant. All threads keep to one timetable (worker.h), in which they do not get in each
 * other's way, so that what goes wrong in a run is what was planted.
 */
#ifndef WORKLOAD_WORKLOAD_H
#define WORKLOAD_WORKLOAD_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "tests/workload/api.h"
#include "tests/workload/tally.h"

#define US UINT64_C(1000)
#define MS (1000 * US)
#define SECOND (1000 * MS)

/* The timetable. Its times are on the monotonic clock, counted from the start of the run. */
#define BEAT_NS (2 * MS)        /* launches come once per beat; every role has a phase of its own in it */
#define SLOT_NS (100 * MS)      /* even slots are for stalls, odd ones for spikes: faults never overlap */
#define WARM_UP_NS (1200 * MS)  /* nothing is planted before: a baseline needs hundreds of calls */
#define ACCIDENT_NS (1500 * US) /* a call that takes longer without being planted is written down */
#define PLANTS_MAX 32
#define ACCIDENTS_MAX 32
#define WORKERS_MAX 64

/* Who goes before whom, highest first, when the machine lets us decide (worker.c has the numbers). */
enum rank { RANK_TRAINER, RANK_CALLER, RANK_HOG, RANK_SPIKE, RANK_HOLDER, RANK_COUNT };

/* How that order is made: real-time priorities, nice values that need privilege, or being nice oneself. */
enum priority { PRIORITY_REALTIME, PRIORITY_NICE, PRIORITY_PLAIN, PRIORITY_COUNT };

struct worker;
struct scenario;

struct role {
	const char *name; /* of the thread */
	enum rank rank;
	bool victim_cpu; /* lives on the CPU set aside for the stall, else on all the others */
	uint64_t period_ns, phase_ns;
	void (*tick)(struct worker *w);      /* once a period until the run ends */
	void (*in_launch)(struct worker *w); /* inside each of this thread's launches, or NULL */
};

struct accident {
	enum function_id function;
	uint64_t begin_ns, end_ns; /* boot clock */
};

/* One attempt at a fault of some duration. why_not: NULL when it took, else what was amiss. */
struct plant {
	const char *why_not;
	enum function_id function;
	uint64_t begin_ns, end_ns; /* of the call, boot clock */
	uint64_t wait_ns;          /* of it, spent before the lock was had */
	uint64_t preempted_ns;     /* the holder's time off its CPU while it held the lock */
	uint64_t cpu_ns;           /* CPU time burnt in the call (spike), or by the hog (stall) */
	uint64_t handover_ns;      /* from the unlock until the waiter ran */
};

struct plants {
	struct plant all[PLANTS_MAX]; /* the first `wanted` that took, and as many failures as there is room for */
	_Atomic unsigned taken;
	unsigned n, failed;
	unsigned wanted;
	uint64_t next_slot; /* not before this one */
};

/* What one call site allocated and gave back. Each site belongs to one thread. */
struct site {
	const char *name;
	uint64_t allocated_bytes, allocated, freed_bytes, freed, peak_bytes;
	uint64_t first_ns, last_ns; /* allocation, boot clock */
};

struct run {
	struct api api;
	uint64_t seed;
	uint64_t duration_ns;
	uint64_t launches; /* of the trainer, after which the run ends; 0: by time */
	enum priority priority;
	cpu_set_t victim_cpus, other_cpus;
	size_t victim_cpu;
	const struct scenario *planting[8]; /* those whose fault is planted */
	unsigned nplanting;
	uint64_t start_ns; /* monotonic: beat 0 */
	uint64_t begin_boot_ns, end_boot_ns;
	_Atomic bool stop;
	_Atomic unsigned nended;
	_Atomic uint64_t trainer_launches;
	struct worker *workers;
	unsigned nworkers;
	struct CUstream_st *stream;
	struct CUevent_st *event;
	void *pinned, *device; /* RUN_BUFFER_BYTES each, for copies */
	struct tally tally[FN_COUNT];
	struct stall *stall;
	struct leak *leak;
	struct spike *spike;
};

#define RUN_BUFFER_BYTES (UINT64_C(1) << 20)

struct worker {
	struct run *run;
	const struct role *role;
	pthread_t thread;
	int tid;
	uint64_t cpu_wait_ns; /* that it could run and had no CPU, as the kernel counts; 0: it does not */
	int error;            /* an errno that kept it from starting */
	uint64_t tick_ns;     /* when the present tick was due, from the start of the run */
	uint64_t random;
	uint64_t call_begin_ns, call_end_ns; /* of the latest call, boot clock */
	bool planted;                        /* the present call is an attempt at a fault: no accident */
	struct tally tally[FN_COUNT];
	struct accident accidents[ACCIDENTS_MAX];
	unsigned naccidents; /* may exceed ACCIDENTS_MAX: the rest was not kept */
};

struct json;

/* Faults are a table: scenarios[] in driver.c. */
struct scenario {
	const char *name; /* for --faults */
	const char *help;
	const struct role *roles;
	unsigned nroles;
	int (*open)(struct run *run);           /* 0, or an errno */
	bool (*planted)(const struct run *run); /* all that was wanted has taken */
	/* One element per planted fault into the array "faults"; what must not be reported into "innocent". */
	void (*faults_json)(const struct run *run, struct json *out);
	void (*innocent_json)(const struct run *run, struct json *out);
	void (*failed_json)(const struct run *run, struct json *out);
	void (*close)(struct run *run);
};

extern const struct scenario stall_scenario, leak_scenario, spike_scenario, traffic_scenario;

/* Bytes that the leak scenario's sites have not freed: all that a run leaves allocated. */
uint64_t leak_held_bytes(const struct run *run);

/* Whether that scenario's fault is to be planted in this run. */
bool run_plants(const struct run *run, const struct scenario *scenario);

/* The worker of the role of that name; the run has it. */
const struct worker *run_worker(const struct run *run, const char *role);

#endif
