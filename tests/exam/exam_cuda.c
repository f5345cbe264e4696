// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 of one device with one queue: each launch takes as long as exam_plan() sets, one after the other.
#include <time.h>

#define ROOM_NS 30000000UL // the queue is full that has so much work: who launches then waits

static unsigned long planned, done_at;

static unsigned long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000UL + t.tv_nsec;
}

static int until(unsigned long ns)
{
	struct timespec t = {ns / 1000000000UL, ns % 1000000000UL};
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, 0)) {
	}
	return 0;
}

void exam_plan(unsigned long ns)
{
	planned = ns;
}

int cuInit(unsigned flags)
{
	return flags ? 1 : 0;
}

int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
		   unsigned shared, void *stream, void **arguments, void **extra)
{
	(void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)stream, (void)arguments,
		(void)extra;
	if (done_at > now() + ROOM_NS) {
		until(done_at - ROOM_NS);
	}
	done_at = (done_at > now() ? done_at : now()) + planned;
	return function ? 0 : 1;
}

int cuCtxSynchronize(void)
{
	return until(done_at);
}
