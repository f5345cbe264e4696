/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/workload/worker.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The launch hook is reported nothing about the thread it runs on. */
static __thread struct worker *this_worker;

/* Real-time priority; nice with privilege; nice without, which can only be raised. */
static const int rank_values[RANK_COUNT][PRIORITY_COUNT] = {
	[RANK_TRAINER] = {5, -20, 0}, [RANK_CALLER] = {4, -15, 0}, [RANK_HOG] = {3, -20, 0},
	[RANK_SPIKE] = {2, -10, 0},   [RANK_HOLDER] = {1, 5, 19},
};

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

uint64_t boot_ns(void)
{
	return clock_ns(CLOCK_BOOTTIME);
}

uint64_t monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t thread_cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

void sleep_until_ns(uint64_t monotonic)
{
	struct timespec t = {.tv_sec = (time_t)(monotonic / SECOND), .tv_nsec = (long)(monotonic % SECOND)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

void worker_call_begins(struct worker *w)
{
	w->call_begin_ns = boot_ns();
}

int worker_call_ends(struct worker *w, enum function_id id, int error)
{
	w->call_end_ns = boot_ns();
	w->tally[id].calls++;
	if (error)
		w->tally[id].failed++;
	if (w->call_end_ns - w->call_begin_ns > ACCIDENT_NS && !w->planted) {
		if (w->naccidents < ACCIDENTS_MAX)
			w->accidents[w->naccidents] = (struct accident){id, w->call_begin_ns, w->call_end_ns};
		w->naccidents++;
	}
	w->planted = false;
	return error;
}

static void launch_hook(void *arg)
{
	(void)arg;
	if (this_worker && this_worker->role->in_launch)
		this_worker->role->in_launch(this_worker);
}

void worker_hook_launches(struct run *run)
{
	run->api.set_launch_hook(launch_hook, NULL);
}

static int become(enum priority priority, int value)
{
	struct sched_param param = {.sched_priority = value};

	if (priority == PRIORITY_REALTIME)
		return sched_setscheduler(0, SCHED_FIFO, &param) ? errno : 0;
	/* For Linux a nice value belongs to a thread, and 0 is the one that calls. */
	return value && setpriority(PRIO_PROCESS, 0, value) ? errno : 0;
}

int worker_settle(const struct run *run, enum rank rank, bool victim_cpu)
{
	const cpu_set_t *cpus = victim_cpu ? &run->victim_cpus : &run->other_cpus;

	if (sched_setaffinity(0, sizeof(*cpus), cpus))
		return errno;
	return become(run->priority, rank_values[rank][run->priority]);
}

enum priority priority_find(void)
{
	struct sched_param fifo = {.sched_priority = 1}, other = {0};
	int before = getpriority(PRIO_PROCESS, 0);

	if (sched_setscheduler(0, SCHED_FIFO, &fifo) == 0) {
		sched_setscheduler(0, SCHED_OTHER, &other);
		return PRIORITY_REALTIME;
	}
	if (setpriority(PRIO_PROCESS, 0, -20) == 0) {
		setpriority(PRIO_PROCESS, 0, before);
		return PRIORITY_NICE;
	}
	return PRIORITY_PLAIN;
}

const char *priority_name(enum priority priority)
{
	static const char *const names[PRIORITY_COUNT] = {"realtime", "nice", "plain"};

	return names[priority];
}

/* Sleeps until the next tick of the timetable. Ticks that were missed are left out. */
static void next_tick(struct worker *w)
{
	uint64_t now = monotonic_ns() - w->run->start_ns, period = w->role->period_ns;

	w->tick_ns += period;
	if (w->tick_ns < now)
		w->tick_ns += (now - w->tick_ns + period - 1) / period * period;
	sleep_until_ns(w->run->start_ns + w->tick_ns);
}

static uint64_t cpu_wait_ns(void)
{
	FILE *f = fopen("/proc/thread-self/schedstat", "r");
	uint64_t waited = 0;

	if (f && fscanf(f, "%*u %" SCNu64, &waited) != 1)
		waited = 0;
	if (f)
		fclose(f);
	return waited;
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;

	this_worker = w;
	w->tid = (int)syscall(SYS_gettid);
	w->error = pthread_setname_np(pthread_self(), w->role->name);
	if (!w->error)
		w->error = worker_settle(w->run, w->role->rank, w->role->victim_cpu);
	prctl(PR_SET_TIMERSLACK, 1);
	w->tick_ns = w->role->phase_ns;
	sleep_until_ns(w->run->start_ns + w->tick_ns);
	while (!w->error && !atomic_load(&w->run->stop)) {
		w->role->tick(w);
		next_tick(w);
	}
	w->cpu_wait_ns = cpu_wait_ns();
	atomic_fetch_add(&w->run->nended, 1);
	return NULL;
}

int worker_start(struct worker *w)
{
	return pthread_create(&w->thread, NULL, worker_main, w);
}

uint64_t worker_random(struct worker *w, uint64_t low, uint64_t high)
{
	uint64_t z;

	/* splitmix64: any state will do, and neighbouring seeds give unlike numbers */
	w->random += UINT64_C(0x9e3779b97f4a7c15);
	z = w->random;
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return low + (z ^ z >> 31) % (high - low);
}

bool plants_due(struct plants *plants, const struct worker *w, unsigned parity)
{
	uint64_t into = w->tick_ns - w->role->phase_ns, slot = into / SLOT_NS;

	if (plants->wanted == 0 || atomic_load(&plants->taken) >= plants->wanted || plants->n == PLANTS_MAX)
		return false;
	return into >= WARM_UP_NS && into % SLOT_NS == 0 && slot % 2 == parity && slot >= plants->next_slot;
}

/* Attempts that took are spread over what is left of the run; one that failed is repeated soon. */
void plants_note(struct plants *plants, const struct worker *w, const struct plant *plant)
{
	uint64_t slot = w->tick_ns / SLOT_NS, last = w->run->duration_ns / SLOT_NS;
	unsigned left;

	if (plant->why_not) {
		plants->failed++;
		plants->next_slot = slot + 2;
	}
	/* Failures may not take the room of those that take. */
	if (plants->n < PLANTS_MAX && (!plant->why_not || plants->n - plants->taken < PLANTS_MAX - plants->wanted))
		plants->all[plants->n++] = *plant;
	if (plant->why_not)
		return;
	atomic_fetch_add(&plants->taken, 1);
	left = plants->wanted - plants->taken;
	plants->next_slot = slot + 2;
	if (left > 0 && last > slot)
		plants->next_slot = slot + (last - slot) / (left + 1);
	if (plants->next_slot < slot + 2)
		plants->next_slot = slot + 2;
}
