/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that feeds a GPU and is never idle: each thread launches a kernel, computes for a while, and begins again.
 * Whatever keeps it from a CPU is the machine's doing: tests put it under a CPU quota, stop it, and so on.
 *
 *	steady [-t THREADS] [-j FILE] [-y | -s] MILLISECONDS
 *
 * -y: each thread gives its CPU up (sched_yield) after each step. -s: it sleeps for a millisecond. -j: once each thread
 * has made a hundred launches, the process writes its number to FILE, a control group's. Only then the time begins. In
 * the end each thread prints its whole life: "thread TID wall NS cpu NS".
 */
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/workload/double.h"
#include "tests/workload/functions.h"

#define THREADS_MAX 16
#define WORK_NS 400000
#define WARM_UP 100

static uint64_t run_ns;
static bool yields, naps;
static pthread_barrier_t warm, ready;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void step(void)
{
	static const char kernel[] = "steady_step";
	struct dim3 grid = {64, 1, 1}, block = {256, 1, 1};
	uint64_t until_ns;

	cudaLaunchKernel(kernel, grid, block, NULL, 0, NULL);
	until_ns = clock_ns(CLOCK_MONOTONIC) + WORK_NS;
	while (clock_ns(CLOCK_MONOTONIC) < until_ns)
		;
	if (yields)
		sched_yield();
	if (naps)
		usleep(1000);
}

static void *feed(void *arg)
{
	uint64_t begin_ns, ready_ns;
	char name[16];

	begin_ns = clock_ns(CLOCK_MONOTONIC);
	snprintf(name, sizeof(name), "feeder-%d", *(int *)arg);
	pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < WARM_UP; i++)
		step();
	pthread_barrier_wait(&warm);
	pthread_barrier_wait(&ready);
	ready_ns = clock_ns(CLOCK_MONOTONIC);
	do
		step();
	while (clock_ns(CLOCK_MONOTONIC) - ready_ns < run_ns);
	printf("thread %d wall %llu cpu %llu\n", (int)gettid(),
	       (unsigned long long)(clock_ns(CLOCK_MONOTONIC) - begin_ns),
	       (unsigned long long)clock_ns(CLOCK_THREAD_CPUTIME_ID));
	return NULL;
}

static int join_group(const char *path)
{
	FILE *f = path ? fopen(path, "w") : NULL;

	if (!path)
		return 0;
	if (!f)
		return -1;
	fprintf(f, "%d\n", (int)getpid());
	return fclose(f);
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS_MAX];
	int numbers[THREADS_MAX], n = 1, option, i, bad;
	const char *group = NULL;

	while ((option = getopt(argc, argv, "t:j:ys")) != -1) {
		if (option == 't')
			n = atoi(optarg);
		else if (option == 'j')
			group = optarg;
		else if (option == 'y')
			yields = true;
		else if (option == 's')
			naps = true;
		else
			return 2;
	}
	if (optind + 1 != argc || n < 1 || n > THREADS_MAX)
		return 2;
	run_ns = strtoull(argv[optind], NULL, 10) * 1000000u;
	pthread_barrier_init(&warm, NULL, (unsigned)n + 1);
	pthread_barrier_init(&ready, NULL, (unsigned)n + 1);
	for (i = 0; i < n; i++) {
		numbers[i] = i;
		if (pthread_create(&threads[i], NULL, feed, &numbers[i]))
			return 3;
	}
	pthread_barrier_wait(&warm);
	bad = join_group(group);
	pthread_barrier_wait(&ready);
	for (i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	return bad ? 3 : 0;
}
