/* SPDX-License-Identifier: Apache-2.0 */
/* The corpus's generator: options, threads, the truth. The faults are in plant_faults.c. */
#include "tests/workload/plant.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static __thread struct actor *this_actor;
static __thread void (*inside_launch)(struct actor *);
static __thread uint64_t sleep_in_call_ns;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t boot_now_ns(void)
{
	return clock_ns(CLOCK_BOOTTIME);
}

static void sleep_until(uint64_t ns)
{
	struct timespec t = {.tv_sec = (time_t)(ns / SECOND), .tv_nsec = (long)(ns % SECOND)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

void nap_ns(uint64_t ns)
{
	sleep_until(now_ns() + ns);
}

bool plant_over(const struct plant *p)
{
	return atomic_load(&p->stop) || now_ns() > p->start_ns + p->length_ns;
}

void plant_accident(struct actor *a, uint64_t begin_ns, uint64_t end_ns)
{
	unsigned i = atomic_fetch_add(&a->plant->accidents->n, 1);
	struct accident *accident;

	if (i >= ACCIDENTS_KEPT)
		return;
	accident = &a->plant->accidents->at[i];
	*accident = (struct accident){.tid = a->tid, .begin_ns = begin_ns, .end_ns = end_ns};
	snprintf(accident->name, sizeof(accident->name), "%s", a->name);
}

uint64_t plant_step(struct actor *a, uint64_t *since)
{
	uint64_t now = boot_now_ns(), took_ns = now - *since;

	if (took_ns >= ACCIDENT_NS)
		plant_accident(a, *since, now);
	*since = now;
	return took_ns;
}

/* A decoy's work takes microseconds, and none of that is sleep: where it had no CPU for long, that was an accident. */
static void look_back(struct actor *a)
{
	uint64_t now = boot_now_ns(), ran_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - a->before_ran_ns;

	if (a->fault && a->fault->decoy && a->before_ns && now - a->before_ns >= ran_ns + ACCIDENT_NS)
		plant_accident(a, a->before_ns, now);
}

static void look_from_here(struct actor *a)
{
	a->before_ns = boot_now_ns();
	a->before_ran_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

void burn_cpu_ns(uint64_t ns)
{
	uint64_t begin = clock_ns(CLOCK_THREAD_CPUTIME_ID), since = boot_now_ns();

	look_back(this_actor);
	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin < ns) {
		gpu_double_burn_ns(10 * US);
		plant_step(this_actor, &since);
	}
	look_from_here(this_actor); /* others may have had the CPU in between, as planned, but not for long at once */
}

uint64_t plant_nap(uint64_t *next, uint64_t period_ns)
{
	uint64_t now = now_ns();

	*next += period_ns;
	if (*next < now)
		*next = now + period_ns;
	sleep_until(*next);
	return now_ns() - *next;
}

/* Somebody else, or the machine, had the CPU when it wanted to go on. */
static void go_on(struct actor *a, uint64_t late_ns)
{
	uint64_t now = boot_now_ns();

	if (late_ns > ACCIDENT_NS)
		plant_accident(a, now - late_ns, now);
	look_from_here(a);
}

bool plant_pace(struct actor *a, uint64_t *next, uint64_t period_ns)
{
	look_back(a);
	go_on(a, plant_nap(next, period_ns));
	return !plant_over(a->plant);
}

void plant_rest(struct actor *a, uint64_t ns)
{
	uint64_t next = now_ns();

	look_back(a);
	go_on(a, plant_nap(&next, ns));
}

uint64_t plant_waited_ns(void)
{
	static __thread int file = -1;
	unsigned long long ran_ns, waited_ns;
	char text[80];
	ssize_t n;

	if (file < 0)
		file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	n = pread(file, text, sizeof(text) - 1, 0);
	text[n < 0 ? 0 : n] = '\0';
	if (sscanf(text, "%llu %llu", &ran_ns, &waited_ns) != 2) {
		fputs("plant: this kernel keeps no account of waits for a CPU (CONFIG_SCHED_INFO)\n", stderr);
		_exit(3);
	}
	return waited_ns;
}

uint64_t plant_random(struct actor *a, uint64_t low, uint64_t high)
{
	uint64_t z = a->random += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return low + (z ^ z >> 31) % (high - low);
}

uint64_t plant_strong(const struct plant *p, uint64_t strong, uint64_t weak)
{
	return p->weak ? weak : strong;
}

static void launch_hook(void *arg)
{
	void (*inside)(struct actor *) = inside_launch;

	(void)arg;
	inside_launch = NULL;
	if (inside)
		inside(this_actor);
}

static void call_hook(void)
{
	uint64_t ns = sleep_in_call_ns;

	sleep_in_call_ns = 0;
	if (ns)
		nap_ns(ns);
}

void plant_sleep_in_call(uint64_t ns)
{
	sleep_in_call_ns = ns;
}

void plant_launch(struct actor *a, void (*inside)(struct actor *), bool planned)
{
	static const char kernel[] = "step";
	struct dim3 grid = {64, 1, 1}, block = {256, 1, 1};
	uint64_t begin_ns = boot_now_ns(), end_ns;

	inside_launch = inside;
	cudaLaunchKernel(kernel, grid, block, NULL, 0, NULL);
	end_ns = boot_now_ns();
	if (!planned && end_ns - begin_ns >= ACCIDENT_NS)
		plant_accident(a, begin_ns, end_ns);
}

void plant_note(struct actor *a, uint64_t begin_boot_ns, uint64_t end_boot_ns, uint64_t magnitude)
{
	a->begin_ns = a->count ? a->begin_ns : begin_boot_ns;
	a->end_ns = end_boot_ns;
	if (a->count < MOMENTS_KEPT)
		a->moments[a->count] = (struct moment){begin_boot_ns, end_boot_ns};
	a->magnitude += magnitude;
	a->count++;
}

struct actor *plant_actor(struct plant *p, const struct fault_kind *kind, const char *name, enum rank rank,
			  enum place place, void (*act)(struct actor *))
{
	struct actor *a = &p->actors[p->nactors];

	if (p->nactors == ACTORS_MAX)
		abort();
	*a = (struct actor){.plant = p, .name = name, .rank = rank, .place = place, .act = act, .fault = kind};
	a->random = p->seed << 10 | p->nactors;
	for (unsigned i = 0; i < p->nactors; i++)
		a->number += !strcmp(p->actors[i].name, name);
	p->nactors++;
	return a;
}

void plant_settle(struct actor *a)
{
	struct sched_param param = {.sched_priority = (int)a->rank};
	cpu_set_t allowed, mine;
	size_t first = CPU_SETSIZE, last = 0;

	this_actor = a;
	a->tid = (int)syscall(SYS_gettid);
	prctl(PR_SET_TIMERSLACK, 1);
	sched_setscheduler(0, SCHED_FIFO, &param);
	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return;
	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &allowed))
			continue;
		first = first == CPU_SETSIZE ? cpu : first;
		last = cpu;
	}
	CPU_ZERO(&mine);
	CPU_SET(a->place == PLACE_VICTIMS ? last : first, &mine);
	sched_setaffinity(0, sizeof(mine), &mine);
}

static void *actor_main(void *arg)
{
	struct actor *a = arg;

	pthread_setname_np(pthread_self(), a->name);
	plant_settle(a);
	sleep_until(a->plant->start_ns);
	a->act(a);
	return NULL;
}

static void noise(struct actor *a)
{
	/* All of them together keep a CPU busy for a tenth of its time or less, however many they are. */
	uint64_t period = plant_random(a, 4 * MS, 12 * MS) + a->plant->nactors * 300 * US;
	uint64_t next = now_ns() + plant_random(a, 0, period);

	do
		plant_launch(a, NULL, false);
	while (plant_pace(a, &next, period));
}

static int run(struct plant *p)
{
	unsigned started = 0;
	int error = 0;

	gpu_double_set_launch_hook(launch_hook, NULL);
	gpu_double_set_call_hook(call_hook);
	p->start_ns = now_ns() + 20 * MS + p->nactors * 100 * US;
	p->begin_boot_ns = boot_now_ns();
	for (; started < p->nactors && !error; started++) {
		pthread_attr_t attr;

		pthread_attr_init(&attr);
		pthread_attr_setstacksize(&attr, 256 << 10);
		error = pthread_create(&p->actors[started].thread, &attr, actor_main, &p->actors[started]);
		pthread_attr_destroy(&attr);
		started -= error != 0;
	}
	if (error) {
		atomic_store(&p->stop, true);
		fprintf(stderr, "plant: threads: %s\n", strerror(error));
	}
	for (unsigned i = 0; i < started; i++)
		pthread_join(p->actors[i].thread, NULL);
	gpu_double_set_launch_hook(NULL, NULL);
	gpu_double_set_call_hook(NULL);
	return error ? 3 : 0;
}

static void report_moments(struct json *j, const struct actor *a)
{
	json_open(j, "moments", '[');
	for (uint64_t i = 0; i < a->count; i++) {
		json_open(j, NULL, '{');
		json_number(j, "begin_ns", a->moments[i].begin_ns);
		json_number(j, "end_ns", a->moments[i].end_ns);
		json_close(j);
	}
	json_close(j);
}

static void report_actor(struct json *j, const struct plant *p, const struct actor *a)
{
	json_open(j, NULL, '{');
	json_text(j, "fault", a->fault->name);
	json_text(j, "strength", p->weak ? "weak" : "strong");
	json_number(j, "pid", (uint64_t)(a->pid ? a->pid : getpid()));
	json_number(j, "tid", (uint64_t)a->tid);
	json_text(j, "thread", a->name);
	json_number(j, "count", a->count);
	json_number(j, "magnitude", a->magnitude);
	json_number(j, "begin_ns", a->begin_ns);
	json_number(j, "end_ns", a->end_ns);
	if (a->count <= MOMENTS_KEPT && a->moments[0].end_ns)
		report_moments(j, a);
	if (a->futex)
		json_address(j, "futex", a->futex);
	if (a->waker)
		json_number(j, "waker", (uint64_t)a->waker->tid);
	if (a->keeper)
		json_number(j, "keeper", (uint64_t)a->keeper->tid);
	json_close(j);
}

static void report_accident(struct json *j, const struct accident *accident)
{
	assert(accident);
	json_open(j, NULL, '{');
	json_text(j, "thread", accident->name);
	json_number(j, "tid", (uint64_t)accident->tid);
	json_number(j, "begin_ns", accident->begin_ns);
	json_number(j, "end_ns", accident->end_ns);
	json_close(j);
}

static int emit(const struct plant *p, const char *path)
{
	unsigned n = atomic_load(&p->accidents->n);
	struct json j;

	if (n > ACCIDENTS_KEPT) {
		fprintf(stderr, "plant: %u accidents, of which %d are kept: this run tells nothing\n", n,
			ACCIDENTS_KEPT);
		return 3;
	}
	if (json_start(&j, path)) {
		fprintf(stderr, "plant: %s: %s\n", path, strerror(errno));
		return 3;
	}
	json_text(&j, "format", "gpurec-plant-truth");
	json_number(&j, "pid", (uint64_t)getpid());
	json_number(&j, "seed", p->seed);
	json_number(&j, "begin_ns", p->begin_boot_ns);
	json_number(&j, "end_ns", boot_now_ns());
	json_open(&j, "faults", '[');
	for (unsigned i = 0; i < p->nactors; i++)
		if (p->actors[i].fault && !p->actors[i].fault->decoy && p->actors[i].count)
			report_actor(&j, p, &p->actors[i]);
	json_close(&j);
	json_open(&j, "accidents", '[');
	for (unsigned i = 0; i < n; i++)
		report_accident(&j, &p->accidents->at[i]);
	json_close(&j);
	return json_finish(&j) ? 3 : 0;
}

static void help(void)
{
	puts("usage: plant [--seed N] [--plant FAULT,...] [--weak] [--noise THREADS] [--ms N] [--truth FILE]");
	for (unsigned i = 0; i < nfault_kinds; i++)
		printf("  %-10s %s%s\n", fault_kinds[i].name, fault_kinds[i].decoy ? "decoy: " : "",
		       fault_kinds[i].help);
}

static int add_kinds(struct plant *p, char *list)
{
	char *rest = NULL;

	for (char *name = strtok_r(list, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
		unsigned i = 0;

		while (i < nfault_kinds && strcmp(fault_kinds[i].name, name))
			i++;
		if (i == nfault_kinds) {
			fprintf(stderr, "plant: there is no fault '%s'; --help lists them\n", name);
			return 2;
		}
		if (p->length_ns < fault_kinds[i].least_ns)
			p->length_ns = fault_kinds[i].least_ns;
		fault_kinds[i].open(p, &fault_kinds[i]);
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"seed", 1, NULL, 's'}, {"plant", 1, NULL, 'p'}, {"weak", 0, NULL, 'w'}, {"noise", 1, NULL, 'n'},
		{"ms", 1, NULL, 'm'},   {"truth", 1, NULL, 't'}, {"help", 0, NULL, 'h'}, {0}};
	static struct plant p = {.seed = 1, .length_ns = 1000 * MS};
	const char *truth = NULL;
	char none[] = "", *kinds = none;
	unsigned long nnoise = 0;
	int c, status;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 's')
			p.seed = strtoull(optarg, NULL, 10);
		else if (c == 'p')
			kinds = optarg;
		else if (c == 'w')
			p.weak = true;
		else if (c == 'n')
			nnoise = strtoul(optarg, NULL, 10);
		else if (c == 'm')
			p.length_ns = strtoull(optarg, NULL, 10) * MS;
		else if (c == 't')
			truth = optarg;
		else if (c == 'h') {
			help();
			return 0;
		} else {
			return 2;
		}
	}
	p.accidents = mmap(NULL, sizeof(*p.accidents), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p.accidents == MAP_FAILED) {
		perror("plant: no memory for accidents");
		return 3;
	}
	if (cudaMalloc(&p.device, DEVICE_BYTES) || cudaHostAlloc(&p.pinned, PINNED_BYTES, 0)) {
		fputs("plant: the test double refused the first calls\n", stderr);
		return 3;
	}
	status = add_kinds(&p, kinds);
	if (status)
		return status;
	for (unsigned long i = 0; i < nnoise && p.nactors < ACTORS_MAX; i++)
		plant_actor(&p, NULL, "noise", RANK_NOISE, PLACE_FEEDERS, noise);
	status = run(&p);
	while (wait(NULL) > 0)
		;
	cudaFree(p.device);
	cudaFreeHost(p.pinned);
	return status || !truth ? status : emit(&p, truth);
}
