/* SPDX-License-Identifier: Apache-2.0 */
#include "record/wakes.h"

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

static void *wait_for_byte(void *pipe_end)
{
	char byte;
	ssize_t n = read(*(int *)pipe_end, &byte, 1);

	return n == 1 ? pipe_end : NULL;
}

static void *sleep_a_little(void *unused)
{
	usleep(2000);
	return unused;
}

bool wake_by_task(void)
{
	pthread_t thread;
	int ends[2];
	bool ok;

	if (pipe(ends) < 0)
		return false;
	ok = pthread_create(&thread, NULL, wait_for_byte, &ends[0]) == 0;
	if (ok)
		usleep(2000); /* until it sleeps */
	close(ends[1]);       /* end of file wakes it */
	if (ok)
		pthread_join(thread, NULL);
	close(ends[0]);
	return ok;
}

bool wake_by_timer(void)
{
	cpu_set_t before, one;
	uint64_t until_ns;
	struct timespec now;
	pthread_t thread;
	bool ok;

	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	if (sched_getaffinity(0, sizeof(before), &before) < 0 || sched_setaffinity(0, sizeof(one), &one) < 0)
		return false;
	ok = pthread_create(&thread, NULL, sleep_a_little, NULL) == 0;
	if (ok) {
		sched_yield(); /* until it sleeps */
		clock_gettime(CLOCK_MONOTONIC, &now);
		until_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec + 6000000u;
		do /* reads the clock without a system call */
			clock_gettime(CLOCK_MONOTONIC, &now);
		while ((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec < until_ns);
		pthread_join(thread, NULL);
	}
	(void)sched_setaffinity(0, sizeof(before), &before); /* it was ours before */
	return ok;
}
