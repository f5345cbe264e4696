/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The corpus's generator: a short run of a pretended CUDA program with faults or decoys of a seed and a strength, and
 * what was planted, measured by those to whom it happened. Each fault has threads of its own, so that several can be
 * had at once.
 */
#ifndef WORKLOAD_PLANT_H
#define WORKLOAD_PLANT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "tests/workload/double.h"
#include "tests/workload/functions.h"
#include "tests/workload/json.h"

#define US UINT64_C(1000)
#define MS (1000 * US)
#define SECOND (1000 * MS)

#define ACTORS_MAX 1024
#define MOMENTS_KEPT 8
#define ACCIDENTS_KEPT 65536
#define ACCIDENT_NS (1 * MS)

/* Real-time priorities: who goes before whom. */
enum rank { RANK_NOISE = 3, RANK_BURNER = 5, RANK_HOLDER = 8, RANK_FEEDER = 20, RANK_HOG = 30 };
enum place { PLACE_FEEDERS, PLACE_VICTIMS }; /* which CPU; the same where there is only one */

struct plant;

/* Boot clock. */
struct moment {
	uint64_t begin_ns, end_ns;
};

/* A thread. Its truth is its own until it has ended. */
struct actor {
	struct plant *plant;
	const char *name;
	enum rank rank;
	enum place place;
	void (*act)(struct actor *a); /* until plant_over() */
	const struct fault_kind *fault;
	pthread_t thread;
	int tid, pid; /* pid 0: this process's */
	uint64_t random;
	unsigned number;                   /* among those of the same name */
	uint64_t before_ns, before_ran_ns; /* when it was last paced, by the boot clock and its own; 0: never */
	/* What it planted. */
	uint64_t count, magnitude, begin_ns, end_ns;
	struct moment moments[MOMENTS_KEPT]; /* reported if these are all */
	uint64_t futex;
	struct actor *waker, *keeper;
};

/* What happened to a thread without being planted. */
struct accident {
	char name[16];
	int tid;
	uint64_t begin_ns, end_ns;
};

/* Of all processes of the run. */
struct accidents {
	_Atomic unsigned n; /* may exceed what is kept: then the run reports nothing */
	struct accident at[ACCIDENTS_KEPT];
};

struct plant {
	uint64_t seed, start_ns, length_ns, begin_boot_ns;
	bool weak;
	struct actor actors[ACTORS_MAX];
	unsigned nactors;
	struct accidents *accidents; /* shared with the processes that are forked */
	_Atomic bool stop;
	void *device, *pinned;
};

#define DEVICE_BYTES (UINT64_C(64) << 20)
#define PINNED_BYTES (UINT64_C(8) << 20)

/* A fault or a decoy: `open` adds its actors. `report`: the fields of its truth beyond those that all have. */
struct fault_kind {
	const char *name, *help;
	bool decoy;
	uint64_t least_ns; /* a run must be this long */
	void (*open)(struct plant *p, const struct fault_kind *kind);
};

extern const struct fault_kind fault_kinds[];
extern const unsigned nfault_kinds;

struct actor *plant_actor(struct plant *p, const struct fault_kind *kind, const char *name, enum rank rank,
			  enum place place, void (*act)(struct actor *));
/* The calling thread becomes this actor, and takes its priority and CPU. */
void plant_settle(struct actor *a);
bool plant_over(const struct plant *p);
/* Something unplanned happened to this thread; boot clock. */
void plant_accident(struct actor *a, uint64_t begin_ns, uint64_t end_ns);
/* Sleep until a period after `*next`, which becomes that; how late the thread came. */
uint64_t plant_nap(uint64_t *next, uint64_t period_ns);
/* The same, once. Who comes late, and a decoy that had no CPU for long since the last time, has had an accident. */
void plant_rest(struct actor *a, uint64_t ns);
/* The same in turns. False: the run is over. */
bool plant_pace(struct actor *a, uint64_t *next, uint64_t period_ns);
uint64_t plant_random(struct actor *a, uint64_t low, uint64_t high);
uint64_t plant_strong(const struct plant *p, uint64_t strong, uint64_t weak);

uint64_t now_ns(void); /* monotonic */
uint64_t boot_now_ns(void);
void nap_ns(uint64_t ns);
void burn_cpu_ns(uint64_t ns); /* of this thread's CPU time; if it has no CPU meanwhile, that is an accident */

/* How long this thread has been ready to run without a CPU since it began: the kernel's own account. */
uint64_t plant_waited_ns(void);

/*
 * A step of work, or a call, that takes microseconds is over; `*since` (boot) was its begin, and is the next one's.
 * Returns how long it took.
 */
uint64_t plant_step(struct actor *a, uint64_t *since);

/* A launch of this thread in which `inside` runs (may be NULL); one that takes long unplanned is an accident. */
void plant_launch(struct actor *a, void (*inside)(struct actor *), bool planned);
/* The next call of this thread that is no launch sleeps for so long inside. */
void plant_sleep_in_call(uint64_t ns);
void plant_note(struct actor *a, uint64_t begin_boot_ns, uint64_t end_boot_ns, uint64_t magnitude);

#endif
