/* SPDX-License-Identifier: Apache-2.0 */
#include "record/probe/selftest.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static void *wait_for_byte(void *pipe_end)
{
	char byte;
	ssize_t n = read(*(int *)pipe_end, &byte, 1);

	return n == 1 ? pipe_end : NULL;
}

bool kernel_is_realtime(void)
{
	struct utsname name;

	return uname(&name) == 0 && strstr(name.version, "PREEMPT_RT") != NULL;
}

/* More than once: on a busy CPU others have it too, and the timer may come upon them. */
#define SLEEPS 20

struct sleeper {
	pthread_t thread;
	atomic_bool done;
};

static void *sleep_a_little(void *arg)
{
	struct sched_param least = {.sched_priority = 1};
	struct sleeper *sleeper = arg;

	/* Timers of other threads expire in a thread there, and not in the interrupt. It may be denied to us. */
	if (kernel_is_realtime())
		(void)pthread_setschedparam(pthread_self(), SCHED_FIFO, &least);
	for (int i = 0; i < SLEEPS; i++)
		usleep(1000);
	atomic_store(&sleeper->done, true);
	return NULL;
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
	struct sleeper sleeper = {.done = false};
	cpu_set_t before, one;
	bool ok;

	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	if (sched_getaffinity(0, sizeof(before), &before) < 0 || sched_setaffinity(0, sizeof(one), &one) < 0)
		return false;
	ok = pthread_create(&sleeper.thread, NULL, sleep_a_little, &sleeper) == 0;
	if (ok) {
		while (!atomic_load(&sleeper.done)) /* user code, without a system call */
			;
		pthread_join(sleeper.thread, NULL);
	}
	(void)sched_setaffinity(0, sizeof(before), &before); /* it was ours before */
	return ok;
}

void visit_cpus(void)
{
	long ncpus = sysconf(_SC_NPROCESSORS_CONF);
	cpu_set_t before, one;

	if (sched_getaffinity(0, sizeof(before), &before) < 0)
		return;
	for (long i = 0; i < ncpus && i < CPU_SETSIZE; i++) {
		CPU_ZERO(&one);
		CPU_SET((size_t)i, &one);
		(void)sched_setaffinity(0, sizeof(one), &one); /* some may be off, or not for us */
	}
	(void)sched_setaffinity(0, sizeof(before), &before); /* it was ours before */
}
