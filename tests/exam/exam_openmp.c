// SPDX-License-Identifier: Apache-2.0
// An OpenMP program that feeds the GPU and loses time in one way: a subject of tests/tools/exam.py (see
// exam_python.py).
#define _GNU_SOURCE
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 20
#define OWN_NS 5000000UL
#define BUSY_NS 25000000UL

int cuInit(unsigned flags);
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
		   unsigned shared, void *stream, void **arguments, void **extra);

static unsigned long lost_ns;
static long whom;

static unsigned long now(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000UL + t.tv_nsec;
}

static void compute(unsigned long ns)
{
	for (unsigned long end = now(CLOCK_THREAD_CPUTIME_ID) + ns; now(CLOCK_THREAD_CPUTIME_ID) < end;) {
	}
}

static void launch(void)
{
	cuLaunchKernel((void *)0x1000, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0);
}

// Of two threads the second has more to do, and the first one waits for it at the barrier.
static void barrier(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		launch();
#pragma omp parallel num_threads(2)
		{
			unsigned long begin;
			compute(OWN_NS);
			if (omp_get_thread_num() == 1) {
				whom = syscall(SYS_gettid);
				compute(BUSY_NS);
			}
			begin = now(CLOCK_MONOTONIC);
#pragma omp barrier
			if (omp_get_thread_num() == 0) {
				lost_ns += now(CLOCK_MONOTONIC) - begin;
			}
		}
	}
}

// The second has a critical section while the first one wants to enter it.
static void critical(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		volatile int entered = 0;
		launch();
		compute(OWN_NS);
#pragma omp parallel num_threads(2)
		{
			if (omp_get_thread_num() == 1) {
				whom = syscall(SYS_gettid);
#pragma omp critical
				{
					entered = 1;
					compute(BUSY_NS);
				}
			} else {
				unsigned long begin = now(CLOCK_MONOTONIC);
				while (!entered) {
					usleep(100);
				}
				begin = now(CLOCK_MONOTONIC);
#pragma omp critical
				lost_ns += now(CLOCK_MONOTONIC) - begin;
			}
		}
	}
}

// A decoy: both have the same to do.
static void even(void)
{
	for (int i = 0; i < ROUNDS * 3; i++) {
		launch();
#pragma omp parallel num_threads(2)
		compute(OWN_NS * 2);
	}
}

static void print_truth(void)
{
	unsigned long waited = 0;
	FILE *account = fopen("/proc/thread-self/schedstat", "r");
	if (!account || fscanf(account, "%*u %lu", &waited) != 1) {
		waited = 0;
	}
	printf("{\"feeder\": %ld, \"cpu_wait_ns\": %lu", syscall(SYS_gettid), waited);
	if (lost_ns) {
		printf(", \"lost_ns\": %lu, \"to\": [%ld], \"did\": \"on-cpu\"", lost_ns, whom);
	}
	puts("}");
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} ways[] = {{"barrier", barrier}, {"critical", critical}, {"even", even}};
	cuInit(0);
	launch();
	for (int i = 0; i < 3; i++) {
		if (argc == 2 && strcmp(argv[1], "--ways") == 0) {
			puts(ways[i].name);
		} else if (argc == 2 && strcmp(argv[1], ways[i].name) == 0) {
			ways[i].run();
			launch();
			print_truth();
		}
	}
	return 0;
}
