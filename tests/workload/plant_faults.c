/* SPDX-License-Identifier: Apache-2.0 */
/* The faults and decoys of the corpus: a table at the end. What is planted, its own threads measure. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/workload/plant.h"

#define BEAT_NS (1 * MS)
#define WARM_UP_NS (250 * MS) /* nothing goes wrong before: a baseline needs its calls */

static bool warm(const struct actor *a)
{
	return now_ns() - a->plant->start_ns > WARM_UP_NS;
}

/* Whether it is time again, about every `period`, `most` times; irregularly. */
static bool due(struct actor *a, uint64_t *at_ns, uint64_t period_ns, uint64_t most)
{
	if (!warm(a) || a->count >= most || (*at_ns && now_ns() < *at_ns))
		return false;
	*at_ns = now_ns() + plant_random(a, period_ns / 2, period_ns * 3 / 2);
	return true;
}

/* A call that was to take so long is over, and took much longer only by accident. Returns how long it took. */
static uint64_t timed(struct actor *a, uint64_t begin_ns, uint64_t planned_ns)
{
	uint64_t end_ns = boot_now_ns(), took_ns = end_ns - begin_ns;

	if (took_ns >= planned_ns + ACCIDENT_NS)
		plant_accident(a, begin_ns, end_ns);
	return took_ns;
}

/* --- stall-busy, stall-asleep, stall-preempted: a launch waits for a lock ------------------------------------------
 */
enum holding { HOLDS_BUSY, HOLDS_ASLEEP, HOLDS_PREEMPTED };

struct stall {
	pthread_mutex_t lock;
	enum holding how;
	_Atomic uint64_t hold_ns; /* wanted now; 0: nothing */
	_Atomic bool held, burning;
	uint64_t waited_ns;
	struct actor *victim, *holder, *hog;
};

static struct stall *stalls[3];

static struct stall *stall_of(const struct actor *a)
{
	for (unsigned i = 0; i < 3; i++)
		if (stalls[i] && (stalls[i]->victim == a || stalls[i]->holder == a || stalls[i]->hog == a))
			return stalls[i];
	abort();
}

static void take_lock(struct actor *a)
{
	struct stall *s = stall_of(a);
	uint64_t begin_ns = now_ns();

	pthread_mutex_lock(&s->lock);
	s->waited_ns = now_ns() - begin_ns;
	pthread_mutex_unlock(&s->lock);
}

/*
 * It came too late for the stall that was planned, or waited for longer: that is an accident. The former is no such
 * stall. A hog begins at its next beat.
 */
static void note_stall(struct actor *a, const struct stall *s, uint64_t begin_ns, uint64_t hold_ns)
{
	uint64_t end_ns = boot_now_ns(), most_ns = hold_ns + (s->how == HOLDS_PREEMPTED ? BEAT_NS : 0);
	bool shorter = s->waited_ns + ACCIDENT_NS < hold_ns;

	if (shorter || s->waited_ns > most_ns + ACCIDENT_NS)
		plant_accident(a, begin_ns, end_ns);
	if (!shorter)
		plant_note(a, begin_ns, end_ns, s->waited_ns);
}

static void stall_victim(struct actor *a)
{
	uint64_t next = now_ns(), at_ns = 0, begin_ns, hold_ns = 0;
	struct stall *s = stall_of(a);

	do {
		bool now = due(a, &at_ns, 120 * MS, 4);

		if (now) {
			hold_ns = plant_strong(a->plant, plant_random(a, 15 * MS, 30 * MS),
					       plant_random(a, 9 * MS, 11 * MS));
			atomic_store(&s->hold_ns, hold_ns);
			while (!atomic_load(&s->held) && !plant_over(a->plant))
				nap_ns(50 * US);
		}
		begin_ns = boot_now_ns();
		plant_launch(a, take_lock, now);
		if (now)
			note_stall(a, s, begin_ns, hold_ns);
		while (now && atomic_load(&s->held))
			nap_ns(100 * US);
	} while (plant_pace(a, &next, BEAT_NS));
}

static void stall_holder(struct actor *a)
{
	uint64_t next = now_ns(), hold_ns, until_ns;
	struct stall *s = stall_of(a);

	do {
		hold_ns = atomic_load(&s->hold_ns);
		if (!hold_ns)
			continue;
		pthread_mutex_lock(&s->lock);
		atomic_store(&s->held, true);
		until_ns = now_ns() + hold_ns;
		if (s->how == HOLDS_ASLEEP)
			nap_ns(hold_ns);
		if (s->how == HOLDS_PREEMPTED)
			while (!atomic_load(&s->burning) && now_ns() < until_ns)
				; /* the hog takes the CPU here */
		while (s->how == HOLDS_BUSY && now_ns() < until_ns)
			gpu_double_burn_ns(20 * US);
		atomic_store(&s->hold_ns, 0);
		pthread_mutex_unlock(&s->lock);
		atomic_store(&s->burning, false);
		atomic_store(&s->held, false);
	} while (plant_pace(a, &next, BEAT_NS));
}

static void stall_hog(struct actor *a)
{
	uint64_t next = now_ns();
	struct stall *s = stall_of(a);

	do {
		uint64_t until_ns = now_ns() + atomic_load(&s->hold_ns);

		if (!atomic_load(&s->held) || atomic_load(&s->burning))
			continue;
		atomic_store(&s->burning, true);
		while (now_ns() < until_ns)
			gpu_double_burn_ns(20 * US);
	} while (plant_pace(a, &next, BEAT_NS));
}

static void stall_open(struct plant *p, const struct fault_kind *kind)
{
	enum holding how = !strcmp(kind->name, "stall-busy")     ? HOLDS_BUSY
			   : !strcmp(kind->name, "stall-asleep") ? HOLDS_ASLEEP
								 : HOLDS_PREEMPTED;
	struct stall *s = calloc(1, sizeof(*s));

	if (!s)
		abort();
	stalls[how] = s;
	s->how = how;
	pthread_mutex_init(&s->lock, NULL);
	s->victim = plant_actor(p, kind, "trainer", RANK_FEEDER, PLACE_FEEDERS, stall_victim);
	s->holder = plant_actor(p, NULL, "tokenizer", RANK_HOLDER, PLACE_VICTIMS, stall_holder);
	if (how == HOLDS_PREEMPTED)
		s->hog = plant_actor(p, NULL, "hog", RANK_HOG, PLACE_VICTIMS, stall_hog);
	s->victim->futex = (uint64_t)(uintptr_t)&s->lock;
	s->victim->waker = s->holder;
	s->victim->keeper = how == HOLDS_BUSY ? s->holder : how == HOLDS_PREEMPTED ? s->hog : NULL;
}

/* --- spike: a launch burns CPU time ----------------------------------------------------------------------------------
 */
static void burn_inside(struct actor *a)
{
	burn_cpu_ns(plant_strong(a->plant, plant_random(a, 12 * MS, 20 * MS), plant_random(a, 6 * MS, 8 * MS)));
}

static void spike(struct actor *a)
{
	uint64_t next = now_ns(), at_ns = 0, begin_ns;

	do {
		bool now = due(a, &at_ns, 150 * MS, 3);

		begin_ns = boot_now_ns();
		plant_launch(a, now ? burn_inside : NULL, now);
		if (now)
			plant_note(a, begin_ns, boot_now_ns(), boot_now_ns() - begin_ns);
	} while (plant_pace(a, &next, BEAT_NS));
}

static void spike_open(struct plant *p, const struct fault_kind *kind)
{
	plant_actor(p, kind, "encoder", RANK_BURNER, PLACE_FEEDERS, spike);
}

/* --- leak, and what only looks like one
 * -------------------------------------------------------------------------------- */
#define SITE __attribute__((noipa))
SITE void *leak_site(uint64_t bytes);
SITE void *plateau_site(uint64_t bytes);
SITE void *cache_site(uint64_t bytes);
SITE void *churn_site(uint64_t bytes);

static void *allocate(uint64_t bytes)
{
	void *addr = NULL;

	cudaMalloc(&addr, bytes);
	return addr;
}

void *leak_site(uint64_t bytes)
{
	void *addr = NULL;

	cudaMalloc(&addr, bytes);
	return addr;
}

void *plateau_site(uint64_t bytes)
{
	void *addr = NULL;

	cudaMalloc(&addr, bytes);
	return addr;
}

void *cache_site(uint64_t bytes)
{
	void *addr = NULL;

	cudaMalloc(&addr, bytes);
	return addr;
}

void *churn_site(uint64_t bytes)
{
	void *addr = NULL;

	cudaMalloc(&addr, bytes);
	return addr;
}

static void leak(struct actor *a)
{
	uint64_t next = now_ns(), begin_ns;

	do {
		uint64_t bytes = plant_strong(a->plant, plant_random(a, 1, 9) * 64 << 10, plant_random(a, 1, 3) * 4096);

		begin_ns = boot_now_ns();
		if (leak_site(bytes))
			plant_note(a, begin_ns, begin_ns + timed(a, begin_ns, 0), bytes);
	} while (plant_pace(a, &next, plant_strong(a->plant, 10 * MS, 40 * MS)));
}

static void leak_open(struct plant *p, const struct fault_kind *kind)
{
	plant_actor(p, kind, "loader", RANK_FEEDER, PLACE_FEEDERS, leak);
}

/*
 * Memory that is soon freed is cheap if allocating and freeing take little of the time. How long they take, the
 * machine and being recorded decide; so whoever is to be cheap waits until what they took is 2.5 % of the time, and no
 * less than `least_ns`. False: the run is over.
 */
static bool stay_cheap(struct actor *a, uint64_t *next, uint64_t took_ns, uint64_t least_ns)
{
	uint64_t period_ns = took_ns * 40 > least_ns ? took_ns * 40 : least_ns;
	uint64_t end_ns = a->plant->start_ns + a->plant->length_ns + 1;

	/* A call that took very long is not waited for beyond the run. */
	if (*next < end_ns && period_ns > end_ns - *next)
		period_ns = end_ns - *next;
	return plant_pace(a, next, period_ns);
}

static void caches(struct actor *a)
{
	uint64_t next = now_ns(), since, pair_ns;
	void *set[12] = {0};
	unsigned n = 0;

	do {
		since = boot_now_ns();
		if (n < 60)
			cache_site(UINT64_C(2) << 20);
		plant_step(a, &since);
		cudaFree(set[n % 12]);
		pair_ns = plant_step(a, &since);
		set[n % 12] = plateau_site((n % 4 + 1) << 18);
		pair_ns += plant_step(a, &since);
		n++;
	} while (stay_cheap(a, &next, pair_ns, 8 * MS));
}

static void caches_open(struct plant *p, const struct fault_kind *kind)
{
	plant_actor(p, kind, "batcher", RANK_FEEDER, PLACE_FEEDERS, caches);
}

/* --- calls that fail
 * ----------------------------------------------------------------------------------------------------- */
static void failing(struct actor *a)
{
	uint64_t next = now_ns(), at_ns = 0;

	do {
		plant_launch(a, NULL, false);
		if (due(a, &at_ns, 60 * MS, plant_strong(a->plant, 8, 1))) {
			uint64_t begin_ns = boot_now_ns();

			if (cudaFree((void *)(uintptr_t)(0x7700000000 + a->count * 4096)))
				plant_note(a, begin_ns, begin_ns + timed(a, begin_ns, 0), 1);
		}
	} while (plant_pace(a, &next, 2 * BEAT_NS));
}

static void failing_open(struct plant *p, const struct fault_kind *kind)
{
	plant_actor(p, kind, "careless", RANK_FEEDER, PLACE_FEEDERS, failing);
}

/* --- waits and copies that keep their thread
 * ----------------------------------------------------------------------------- */
static void syncing(struct actor *a)
{
	uint64_t next = now_ns(), wait_ns = plant_strong(a->plant, 1500 * US, 700 * US), begin_ns, took_ns;

	do {
		plant_launch(a, NULL, false);
		plant_sleep_in_call(wait_ns);
		begin_ns = boot_now_ns();
		cudaStreamSynchronize(NULL);
		took_ns = timed(a, begin_ns, wait_ns);
		plant_note(a, begin_ns, begin_ns + took_ns, took_ns);
	} while (plant_pace(a, &next, plant_strong(a->plant, 2 * MS, 2500 * US)));
}

static void syncing_open(struct plant *p, const struct fault_kind *kind)
{
	plant_actor(p, kind, "stepper", RANK_FEEDER, PLACE_FEEDERS, syncing);
}

static void copying(struct actor *a)
{
	uint64_t next = now_ns(), copy_ns = plant_strong(a->plant, 2 * MS, 1300 * US), begin_ns, took_ns;

	do {
		plant_launch(a, NULL, false);
		plant_sleep_in_call(copy_ns);
		begin_ns = boot_now_ns();
		cudaMemcpy(a->plant->device, a->plant->pinned, 4096, HOST_TO_DEVICE);
		took_ns = timed(a, begin_ns, copy_ns);
		plant_note(a, begin_ns, begin_ns + took_ns, took_ns);
	} while (plant_pace(a, &next, plant_strong(a->plant, 5 * MS, 8 * MS)));
}

static void copying_open(struct plant *p, const struct fault_kind *kind)
{
	plant_actor(p, kind, "copier", RANK_FEEDER, PLACE_FEEDERS, copying);
}

static void pageable(struct actor *a)
{
	uint64_t next = now_ns(), bytes = UINT64_C(2) << 20, begin_ns;
	void *host = malloc(bytes);

	do {
		if (a->count >= plant_strong(a->plant, 200, 20))
			continue;
		begin_ns = boot_now_ns();
		if (!cudaMemcpyAsync(a->plant->device, host, bytes, HOST_TO_DEVICE, NULL))
			plant_note(a, begin_ns, begin_ns + timed(a, begin_ns, 0), bytes);
	} while (plant_pace(a, &next, 8 * MS));
	free(host);
}

static void pageable_open(struct plant *p, const struct fault_kind *kind)
{
	plant_actor(p, kind, "reader", RANK_FEEDER, PLACE_FEEDERS, pageable);
}

static void churning(struct actor *a)
{
	uint64_t next = now_ns(), begin_ns, free_ns, cost_ns;
	uint64_t alloc_cost_ns = plant_strong(a->plant, 400 * US, 250 * US);
	uint64_t free_cost_ns = plant_strong(a->plant, 400 * US, 350 * US);
	void *addr;

	do {
		plant_launch(a, NULL, false);
		plant_sleep_in_call(alloc_cost_ns);
		begin_ns = boot_now_ns();
		addr = churn_site(1 << 20);
		cost_ns = timed(a, begin_ns, alloc_cost_ns);
		nap_ns(300 * US);
		plant_sleep_in_call(free_cost_ns);
		free_ns = boot_now_ns();
		cudaFree(addr);
		cost_ns += timed(a, free_ns, free_cost_ns);
		plant_note(a, begin_ns, boot_now_ns(), cost_ns);
	} while (plant_pace(a, &next, plant_strong(a->plant, 3 * MS, 8 * MS)));
}

static void churning_open(struct plant *p, const struct fault_kind *kind)
{
	plant_actor(p, kind, "stacker", RANK_FEEDER, PLACE_FEEDERS, churning);
}

/* --- gap, runqueue: a hog takes the CPU between the calls
 * -------------------------------------------------------------- */
struct robbery {
	struct actor *victim;
	bool between_calls;   /* the hog comes only there, and only its comings count; else every wait that is long */
	_Atomic bool calling; /* the victim is in a call */
	_Atomic unsigned ncame;
};

static struct robbery gap_robbery = {.between_calls = true}, queue_robbery;

/* A call of the victim, or the time between two: what the kernel had on account when it began. */
struct stretch {
	uint64_t begin_ns, waited_ns;
	unsigned ncame;
};

static struct stretch stretch_begin(struct robbery *r)
{
	struct stretch s;

	/* Both from one side of the hog's coming. */
	do {
		s.ncame = atomic_load(&r->ncame);
		s.begin_ns = boot_now_ns();
		s.waited_ns = plant_waited_ns();
	} while (s.ncame != atomic_load(&r->ncame));
	return s;
}

/*
 * A stretch is over that was so late, and the next begins. What was lost in it was planted if the hog came; if not, or
 * if it was late by more than that, it is an accident.
 */
static void stretch_end(struct actor *victim, struct robbery *r, struct stretch *s, bool call, uint64_t late_ns)
{
	struct stretch now = stretch_begin(r);
	uint64_t lost_ns = now.waited_ns - s->waited_ns;
	bool planted = now.ncame != s->ncame;

	if (r->between_calls ? planted && !call : lost_ns >= ACCIDENT_NS)
		plant_note(victim, s->begin_ns, now.begin_ns, lost_ns);
	late_ns = late_ns > lost_ns ? late_ns : lost_ns;
	if (late_ns >= ACCIDENT_NS + (planted ? lost_ns : 0))
		plant_accident(victim, now.begin_ns - late_ns, now.begin_ns);
	*s = now;
}

/* The time before a call, to which the victim came so late, and the call. */
static void robbed_call(struct actor *a, struct robbery *r, struct stretch *s, uint64_t late_ns)
{
	uint64_t begin_ns;

	atomic_store(&r->calling, true);
	stretch_end(a, r, s, false, late_ns);
	begin_ns = now_ns();
	plant_launch(a, NULL, true);
	stretch_end(a, r, s, true, now_ns() - begin_ns);
	atomic_store(&r->calling, false);
}

static void robbed(struct actor *a)
{
	struct robbery *r = a == gap_robbery.victim ? &gap_robbery : &queue_robbery;
	uint64_t next = now_ns(), late_ns = 0;
	struct stretch s = stretch_begin(r);

	do {
		robbed_call(a, r, &s, late_ns);
		late_ns = plant_nap(&next, BEAT_NS);
	} while (!plant_over(a->plant));
	robbed_call(a, r, &s, late_ns); /* what ends the last gap */
}

/* Take the victim's CPU, which is this thread's, for so much CPU time. */
static void rob(struct robbery *r, uint64_t ns)
{
	while (r->between_calls && atomic_load(&r->calling))
		nap_ns(20 * US);
	atomic_fetch_add(&r->ncame, 1);
	burn_cpu_ns(ns);
}

static void gap_hog(struct actor *a)
{
	uint64_t next = now_ns(), at_ns = 0, boot_ns;

	do {
		if (!due(a, &at_ns, 130 * MS, 4))
			continue;
		boot_ns = boot_now_ns();
		rob(&gap_robbery,
		    plant_strong(a->plant, plant_random(a, 40 * MS, 60 * MS), plant_random(a, 14 * MS, 18 * MS)));
		plant_note(a, boot_ns, boot_now_ns(), 0);
	} while (plant_pace(a, &next, BEAT_NS));
}

static void gap_open(struct plant *p, const struct fault_kind *kind)
{
	gap_robbery.victim = plant_actor(p, kind, "feeder", RANK_FEEDER, PLACE_VICTIMS, robbed);
	gap_robbery.victim->keeper = plant_actor(p, NULL, "hog", RANK_HOG, PLACE_VICTIMS, gap_hog);
}

static void queue_hog(struct actor *a)
{
	uint64_t next = now_ns();

	do
		if (warm(a))
			rob(&queue_robbery, plant_strong(a->plant, 5 * MS, 4 * MS));
	while (plant_pace(a, &next, plant_strong(a->plant, 12 * MS, 30 * MS)));
}

static void queue_open(struct plant *p, const struct fault_kind *kind)
{
	queue_robbery.victim = plant_actor(p, kind, "feeder", RANK_FEEDER, PLACE_VICTIMS, robbed);
	queue_robbery.victim->keeper = plant_actor(p, NULL, "hog", RANK_HOG, PLACE_VICTIMS, queue_hog);
}

/* --- straggler: processes that do the same
 * ------------------------------------------------------------------------------ */
#define PEERS 4

/* A process of its own; it waits for the start like a thread, and ends with the run. */
static int peer(struct plant *p, const struct fault_kind *kind, uint64_t period_ns)
{
	struct actor self = {.plant = p, .name = "peer", .fault = kind, .rank = RANK_FEEDER, .place = PLACE_FEEDERS};
	uint64_t next = p->start_ns;
	int pid = fork();

	if (pid)
		return pid;
	plant_settle(&self);
	next = now_ns() + 60 * MS;
	p->start_ns = now_ns();
	do
		plant_launch(&self, NULL, false);
	while (plant_pace(&self, &next, period_ns));
	_exit(0);
}

/* A thread that only lends its name: the fault is the last process's. */
static void stand_by(struct actor *a)
{
	(void)a;
}

static void straggler_open(struct plant *p, const struct fault_kind *kind)
{
	struct actor *a = plant_actor(p, kind, "peers", RANK_FEEDER, PLACE_FEEDERS, stand_by);
	uint64_t usual_ns = 2 * MS;

	for (unsigned i = 0; i < PEERS; i++)
		a->pid =
			peer(p, kind,
			     i + 1 < PEERS || kind->decoy ? usual_ns : plant_strong(p, 2 * usual_ns, usual_ns * 3 / 2));
	a->count = 1;
}

/* --- decoys
 * -------------------------------------------------------------------------------------------------------------- */
static void wait_a_little(struct actor *a)
{
	nap_ns(plant_random(a, 20 * US, 300 * US));
}

/* The first launches of a program are slow; later ones vary; one alone is an accident of any host. */
static void warm_up(struct actor *a)
{
	uint64_t next = now_ns(), n = 0;

	do {
		plant_launch(a, n < 3 ? burn_inside : n % 7 == 0 ? wait_a_little : NULL, n < 3);
		n++;
	} while (plant_pace(a, &next, BEAT_NS));
}

static void warm_up_open(struct plant *p, const struct fault_kind *kind)
{
	plant_actor(p, kind, "starter", RANK_BURNER, PLACE_FEEDERS, warm_up);
}

static pthread_mutex_t friendly_lock = PTHREAD_MUTEX_INITIALIZER;

static void friendly_section(struct actor *a)
{
	pthread_mutex_lock(&friendly_lock);
	gpu_double_burn_ns(plant_random(a, 5 * US, 60 * US));
	pthread_mutex_unlock(&friendly_lock);
}

static void contending(struct actor *a)
{
	uint64_t next = now_ns();

	do
		plant_launch(a, friendly_section, false);
	while (plant_pace(a, &next, BEAT_NS));
}

static void contending_open(struct plant *p, const struct fault_kind *kind)
{
	for (unsigned i = 0; i < 4; i++)
		plant_actor(p, kind, "worker", RANK_FEEDER, i % 2 ? PLACE_FEEDERS : PLACE_VICTIMS, contending);
}

static void checkpointing(struct actor *a)
{
	uint64_t next = now_ns(), n = 0;

	do {
		plant_launch(a, NULL, false);
		if (++n % 150 == 0) {
			plant_rest(a, 30 * MS);
			burn_cpu_ns(8 * MS);
		}
	} while (plant_pace(a, &next, BEAT_NS));
}

static void checkpointing_open(struct plant *p, const struct fault_kind *kind)
{
	plant_actor(p, kind, "saver", RANK_BURNER, PLACE_FEEDERS, checkpointing);
}

/* Fresh memory is touched once, a page at a time, between two launches. */
static void touching(struct actor *a)
{
	uint64_t next = now_ns(), n = 0, bytes = UINT64_C(8) << 20;

	do {
		plant_launch(a, NULL, false);
		if (++n == 300) {
			char *fresh = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			uint64_t since = boot_now_ns();

			for (uint64_t at = 0; fresh != MAP_FAILED && at < bytes; at += 4096) {
				fresh[at] = 1;
				plant_step(a, &since);
			}
		}
	} while (plant_pace(a, &next, BEAT_NS));
}

static void touching_open(struct plant *p, const struct fault_kind *kind)
{
	plant_actor(p, kind, "toucher", RANK_BURNER, PLACE_FEEDERS, touching);
}

/* A worker that sleeps until there is work, for irregular times, and then launches in a burst. */
static pthread_mutex_t work_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work_there = PTHREAD_COND_INITIALIZER;
static unsigned work;

static void bring_work(struct actor *a)
{
	uint64_t next = now_ns();

	do {
		pthread_mutex_lock(&work_lock);
		work += 8;
		pthread_cond_signal(&work_there);
		pthread_mutex_unlock(&work_lock);
	} while (plant_pace(a, &next, plant_random(a, 2 * MS, 60 * MS)));
	pthread_mutex_lock(&work_lock);
	work += 8;
	pthread_cond_signal(&work_there);
	pthread_mutex_unlock(&work_lock);
}

static void await_work(struct actor *a)
{
	while (!plant_over(a->plant)) {
		pthread_mutex_lock(&work_lock);
		while (work == 0) {
			uint64_t begin_ns = boot_now_ns(), waited_ns = plant_waited_ns();

			pthread_cond_wait(&work_there, &work_lock);
			if (plant_waited_ns() - waited_ns >= ACCIDENT_NS)
				plant_accident(a, begin_ns, boot_now_ns());
		}
		work--;
		pthread_mutex_unlock(&work_lock);
		plant_launch(a, NULL, false);
	}
}

static void idle_open(struct plant *p, const struct fault_kind *kind)
{
	plant_actor(p, kind, "idler", RANK_FEEDER, PLACE_FEEDERS, await_work);
	plant_actor(p, kind, "bringer", RANK_FEEDER, PLACE_FEEDERS, bring_work);
}

/* Pinned copies, quick waits, short-lived memory from calls that cost little: a share of the time, as above. */
static void tidy(struct actor *a)
{
	uint64_t next = now_ns(), since, pair_ns;
	void *addr;

	do {
		plant_launch(a, NULL, false);
		since = boot_now_ns();
		cudaMemcpyAsync(a->plant->device, a->plant->pinned, 1 << 20, HOST_TO_DEVICE, NULL);
		plant_step(a, &since);
		cudaStreamSynchronize(NULL);
		plant_step(a, &since);
		addr = allocate(1 << 16);
		pair_ns = plant_step(a, &since);
		cudaMemcpy(a->plant->pinned, a->plant->device, 256, DEVICE_TO_HOST);
		plant_step(a, &since);
		cudaFree(addr);
		pair_ns += plant_step(a, &since);
	} while (stay_cheap(a, &next, pair_ns, 0));
}

static void tidy_open(struct plant *p, const struct fault_kind *kind)
{
	plant_actor(p, kind, "tidy", RANK_FEEDER, PLACE_FEEDERS, tidy);
}

const struct fault_kind fault_kinds[] = {
	{"stall-busy", "a launch waits for a lock whose holder computes", false, 900 * MS, stall_open},
	{"stall-asleep", "a launch waits for a lock whose holder sleeps", false, 900 * MS, stall_open},
	{"stall-preempted", "a launch waits for a lock whose holder lost its CPU to a hog", false, 900 * MS,
	 stall_open},
	{"spike", "launches burn CPU time", false, 900 * MS, spike_open},
	{"leak", "leak_site never frees", false, 2600 * MS, leak_open},
	{"fail", "calls that fail", false, 900 * MS, failing_open},
	{"sync", "a wait after each launch", false, 900 * MS, syncing_open},
	{"copy", "blocking copies", false, 900 * MS, copying_open},
	{"pageable", "Async copies from memory that is not pinned", false, 900 * MS, pageable_open},
	{"churn", "churn_site allocates and soon frees", false, 1100 * MS, churning_open},
	{"gap", "a hog takes the feeder's CPU for long, a few times", false, 900 * MS, gap_open},
	{"runqueue", "a hog takes the feeder's CPU shortly, all the time", false, 1100 * MS, queue_open},
	{"straggler", "one of four processes is slower", false, 1400 * MS, straggler_open},
	{"caches", "a cache that fills and a working set that is replaced", true, 2600 * MS, caches_open},
	{"warm-up", "slow first launches, jitter later", true, 900 * MS, warm_up_open},
	{"contention", "a lock that four threads share for microseconds", true, 900 * MS, contending_open},
	{"checkpoints", "long pauses at regular times", true, 1100 * MS, checkpointing_open},
	{"first-touch", "fresh memory is touched once", true, 900 * MS, touching_open},
	{"idle", "a worker waits for work", true, 900 * MS, idle_open},
	{"tidy", "pinned copies, quick waits, cheap short-lived memory", true, 900 * MS, tidy_open},
	{"peers", "four processes of one pace", true, 1400 * MS, straggler_open},
};
const unsigned nfault_kinds = sizeof(fault_kinds) / sizeof(fault_kinds[0]);
