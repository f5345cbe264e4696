/* SPDX-License-Identifier: Apache-2.0 */
/* The driver program: runs the scenarios against the test double, and writes down what it planted. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/workload/flood.h"
#include "tests/workload/options.h"
#include "tests/workload/truth.h"
#include "tests/workload/worker.h"

#define EXIT_CANNOT 3
#define EXTRA_NS (30 * SECOND) /* how long a run may go on beyond its time until all faults have taken */
#define START_AHEAD_NS (20 * MS)
#define POLL_NS (20 * MS)

static const struct scenario *const scenarios[] = {&stall_scenario, &leak_scenario, &spike_scenario, &traffic_scenario};
#define NSCENARIOS (sizeof(scenarios) / sizeof(scenarios[0]))

static volatile sig_atomic_t caught; /* the signal that ends the run early */

static void on_signal(int number)
{
	caught = number;
}

bool run_plants(const struct run *run, const struct scenario *scenario)
{
	for (unsigned i = 0; i < run->nplanting; i++) {
		if (run->planting[i] == scenario)
			return true;
	}
	return false;
}

const struct worker *run_worker(const struct run *run, const char *role)
{
	for (unsigned i = 0; i < run->nworkers; i++) {
		if (!strcmp(run->workers[i].role->name, role))
			return &run->workers[i];
	}
	return NULL;
}

static int complain(const char *what, int error)
{
	fprintf(stderr, "driver: %s: %s\n", what, strerror(error));
	return EXIT_CANNOT;
}

/* Reads "stall,leak" into run->planting. */
static int choose_faults(struct run *run, const char *list)
{
	while (*list) {
		size_t len = strcspn(list, ","), i = 0;

		while (i < NSCENARIOS && (strlen(scenarios[i]->name) != len || strncmp(scenarios[i]->name, list, len)))
			i++;
		if (i == NSCENARIOS) {
			fprintf(stderr, "driver: there is no fault '%.*s'; --help lists them\n", (int)len, list);
			return EXIT_USAGE;
		}
		if (!run_plants(run, scenarios[i]))
			run->planting[run->nplanting++] = scenarios[i];
		list += len + (list[len] == ',');
	}
	return 0;
}

/* One CPU for the thread that gets preempted while it holds the lock; the others for all else, if there are others. */
static int choose_cpus(struct run *run)
{
	cpu_set_t allowed;

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return complain("cannot learn which CPUs may be used", errno);
	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, &allowed))
			run->victim_cpu = cpu;
	}
	CPU_ZERO(&run->victim_cpus);
	CPU_SET(run->victim_cpu, &run->victim_cpus);
	run->other_cpus = allowed;
	if (CPU_COUNT(&allowed) > 1)
		CPU_CLR(run->victim_cpu, &run->other_cpus);
	return 0;
}

/* What a program does before its work: streams, buffers. These calls are counted like all others. */
static int prepare(struct run *run, struct worker *w)
{
	int error = CALL(w, cudaFree, NULL); /* the customary way to have the context made */

	if (!error)
		error = CALL(w, cudaStreamCreateWithFlags, &run->stream, 1);
	if (!error)
		error = CALL(w, cudaEventCreateWithFlags, &run->event, 2);
	if (!error)
		error = CALL(w, cudaHostAlloc, &run->pinned, RUN_BUFFER_BYTES, 0);
	if (!error)
		error = CALL(w, cudaMalloc, &run->device, RUN_BUFFER_BYTES);
	if (error) {
		fprintf(stderr, "driver: the test double refused the first calls: CUDA error %d\n", error);
		return EXIT_CANNOT;
	}
	return 0;
}

static void clean_up(struct run *run, struct worker *w)
{
	CALL(w, cudaDeviceSynchronize);
	CALL(w, cudaFree, run->device);
	CALL(w, cudaFreeHost, run->pinned);
	CALL(w, cudaEventDestroy, run->event);
	CALL(w, cudaStreamDestroy, run->stream);
}

static int open_scenarios(struct run *run)
{
	unsigned n = 0;

	for (unsigned i = 0; i < NSCENARIOS; i++) {
		int error = scenarios[i]->open ? scenarios[i]->open(run) : 0;

		if (error)
			return complain(scenarios[i]->name, error);
		n += scenarios[i]->nroles;
	}
	run->workers = calloc(n, sizeof(*run->workers));
	if (!run->workers)
		return complain("threads", ENOMEM);
	for (unsigned i = 0; i < NSCENARIOS; i++) {
		for (unsigned k = 0; k < scenarios[i]->nroles; k++) {
			struct worker *w = &run->workers[run->nworkers];

			w->run = run;
			w->role = &scenarios[i]->roles[k];
			w->random = run->seed << 8 | run->nworkers;
			run->nworkers++;
		}
	}
	return 0;
}

static void close_scenarios(struct run *run)
{
	for (unsigned i = 0; i < NSCENARIOS; i++) {
		if (scenarios[i]->close)
			scenarios[i]->close(run);
	}
	free(run->workers);
	run->workers = NULL;
}

static bool all_planted(const struct run *run)
{
	for (unsigned i = 0; i < NSCENARIOS; i++) {
		if (scenarios[i]->planted && !scenarios[i]->planted(run))
			return false;
	}
	return true;
}

static bool is_over(const struct run *run)
{
	uint64_t now = monotonic_ns() - START_AHEAD_NS;
	uint64_t launches = atomic_load(&run->trainer_launches);

	if (caught || atomic_load(&run->nended) > 0)
		return true;
	if (now < run->start_ns)
		return false;
	if (run->launches ? launches < run->launches : now - run->start_ns < run->duration_ns)
		return false;
	return all_planted(run) || now - run->start_ns > run->duration_ns + EXTRA_NS;
}

/* Starts the threads, sleeps until the run is over, ends them. This thread waits in no futex either. */
static int run_threads(struct run *run)
{
	unsigned started = 0;
	int error = 0;

	run->start_ns = monotonic_ns() + START_AHEAD_NS;
	while (started < run->nworkers && !error) {
		error = worker_start(&run->workers[started]);
		started += !error;
	}
	while (!error && !is_over(run))
		sleep_until_ns(monotonic_ns() + POLL_NS);
	atomic_store(&run->stop, true);
	while (atomic_load(&run->nended) < started)
		sleep_until_ns(monotonic_ns() + MS);
	for (unsigned i = 0; i < started; i++) {
		pthread_join(run->workers[i].thread, NULL);
		tally_add(run->tally, run->workers[i].tally);
		if (run->workers[i].error && !error)
			error = run->workers[i].error;
	}
	return error ? complain("threads", error) : 0;
}

static int run_scenarios(struct run *run)
{
	int status = open_scenarios(run);

	if (status)
		return status;
	worker_hook_launches(run);
	status = run_threads(run);
	run->api.set_launch_hook(NULL, NULL);
	if (!status && !caught && !all_planted(run)) {
		fputs("driver: not all faults took: this machine is too busy, or forbids what they need\n", stderr);
		status = EXIT_CANNOT;
	}
	return status;
}

/* The double keeps accounts too: both must come to the same, and no call of ours may have failed. */
static int compare_accounts(const struct run *run)
{
	uint64_t held = run->leak ? leak_held_bytes(run) : 0, used = run->api.used_bytes();
	int status = 0;

	for (unsigned i = 0; i < FN_COUNT; i++) {
		const char *name = function_info(i)->name;
		uint64_t seen = run->api.runtime_calls(name);

		if (seen != run->tally[i].calls || run->tally[i].failed) {
			fprintf(stderr, "driver: %s: %llu calls made, %llu failed, and the library saw %llu\n", name,
				(unsigned long long)run->tally[i].calls, (unsigned long long)run->tally[i].failed,
				(unsigned long long)seen);
			status = EXIT_CANNOT;
		}
	}
	if (held != used) {
		fprintf(stderr, "driver: %llu bytes held, but the library says %llu\n", (unsigned long long)held,
			(unsigned long long)used);
		status = EXIT_CANNOT;
	}
	return status;
}

static int choose_priority(struct run *run, const char *name)
{
	run->priority = priority_find();
	if (!name)
		return 0;
	for (unsigned i = 0; i < PRIORITY_COUNT; i++) {
		if (!strcmp(priority_name(i), name)) {
			run->priority = i;
			return 0;
		}
	}
	fprintf(stderr, "driver: --priority is realtime, nice or plain, not '%s'\n", name);
	return EXIT_USAGE;
}

/* The program that is linked with the library has it from the start: the other one takes over, under the same pid. */
static int become_late(char **argv)
{
	static const char name[] = "driver-dlopen";
	char path[PATH_MAX + sizeof(name)];
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX);
	char *slash;

	if (n < 0)
		return complain("/proc/self/exe", errno);
	path[n] = '\0';
	slash = strrchr(path, '/');
	memcpy(slash + 1, name, sizeof(name));
	execv(path, argv);
	return complain(path, errno);
}

static int load(struct run *run, const struct options *opt)
{
	const char *problem;

	if (api_opens_late)
		sleep_until_ns(monotonic_ns() + opt->load_after_ms * MS);
	problem = api_open(&run->api);
	if (problem) {
		fprintf(stderr, "driver: %s\n", problem);
		return EXIT_CANNOT;
	}
	if (opt->settle_ms > 0)
		sleep_until_ns(monotonic_ns() + opt->settle_ms * MS);
	return 0;
}

static void summary(const struct run *run, const struct options *opt)
{
	uint64_t calls = 0;

	if (opt->quiet)
		return;
	for (unsigned i = 0; i < FN_COUNT; i++)
		calls += run->tally[i].calls;
	fprintf(stderr, "driver: %llu calls in %.1f s (priority: %s)\n", (unsigned long long)calls,
		(double)(run->end_boot_ns - run->begin_boot_ns) / (double)SECOND, priority_name(run->priority));
}

static int work(struct run *run, const struct options *opt)
{
	struct worker self = {.run = run};
	int status = load(run, opt), counted, error;

	if (!status) {
		run->begin_boot_ns = boot_ns();
		status = prepare(run, &self);
	}
	if (status)
		return status;
	if (opt->flood) {
		error = flood(run, opt->flood, opt->rate, (unsigned)opt->threads);
		status = error ? complain("flood", error) : 0;
	} else {
		status = run_scenarios(run);
	}
	clean_up(run, &self);
	run->end_boot_ns = boot_ns();
	tally_add(run->tally, self.tally);
	counted = compare_accounts(run);
	if (opt->truth && truth_write(run, scenarios, opt->flood ? 0 : NSCENARIOS, opt->truth))
		status = complain(opt->truth, errno);
	summary(run, opt);
	return status ? status : counted;
}

static int set_up(struct run *run, const struct options *opt)
{
	int status;

	run->seed = opt->seed;
	run->launches = opt->count;
	run->duration_ns = opt->count ? opt->count * BEAT_NS : opt->seconds * SECOND;
	status = choose_priority(run, opt->priority);
	if (!status && !opt->clean && !opt->flood)
		status = choose_faults(run, opt->faults);
	return status ? status : choose_cpus(run);
}

int main(int argc, char **argv)
{
	struct options opt;
	struct sigaction act = {.sa_handler = on_signal};
	struct run run = {0};
	int status = options_read(argc, argv, &opt);

	if (status < 0) {
		options_help(stdout);
		for (unsigned i = 0; i < NSCENARIOS; i++)
			printf("  %-17s %s\n", scenarios[i]->name, scenarios[i]->help);
		return 0;
	}
	if (!status && (opt.dlopen || opt.late_dlopen) && !api_opens_late)
		return become_late(argv);
	if (!status)
		status = set_up(&run, &opt);
	if (status)
		return status;
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	status = work(&run, &opt);
	close_scenarios(&run);
	if (status)
		return status;
	return caught ? 128 + caught : (int)opt.exit_code;
}
