/* SPDX-License-Identifier: Apache-2.0 */
/* The libraries of reach.c: REACH_RUNTIME, REACH_DRIVER, REACH_PRELOAD, REACH_COUNTS say which one this is to be. */
#include "tests/workload/reach.h"

#include <dlfcn.h>
#include <stddef.h>

#if defined(REACH_COUNTS)
unsigned long reach_made[REACH_N];
#else
REACH(REACH_DECLARE)
#endif

#if defined(REACH_DRIVER)

int cuStreamSynchronize(void *at, unsigned long n)
{
	(void)at, (void)n;
	MADE(cuStreamSynchronize);
	return 0;
}

int cuLaunchKernel(void *at, unsigned long n)
{
	(void)at, (void)n;
	MADE(cuLaunchKernel);
	return 0;
}

int cuMemAlloc_v2(void *at, unsigned long n)
{
	(void)at, (void)n;
	MADE(cuMemAlloc_v2);
	return 0;
}

#elif defined(REACH_PRELOAD)

int cuLaunchKernel(void *at, unsigned long n)
{
	reach_function *next = (reach_function *)dlsym(RTLD_NEXT, "cuLaunchKernel");

	MADE(cuLaunchKernel);
	return next(at, n);
}

int cuMemAlloc_v2(void *at, unsigned long n)
{
	reach_function *next = (reach_function *)dlsym(RTLD_NEXT, "cuMemAlloc_v2");

	MADE(cuMemAlloc_v2);
	return next(at, n) ? 1 : 0;
}

#elif defined(REACH_RUNTIME)

reach_function malloc_old, malloc_new, cudaMemcpy_ptds;
__asm__(".symver malloc_old,cudaMalloc@REACH_1");
__asm__(".symver malloc_new,cudaMalloc@@REACH_2");

int malloc_old(void *at, unsigned long n)
{
	*(void **)at = (void *)n;
	MADE(cudaMalloc);
	return 0;
}

int malloc_new(void *at, unsigned long n)
{
	*(void **)at = (void *)(n + 1);
	MADE(cudaMalloc);
	return 0;
}

#define PLAIN(name)                                                                                                    \
	__attribute__((noinline)) int name(void *at, unsigned long n)                                                  \
	{                                                                                                              \
		(void)at, (void)n;                                                                                     \
		MADE(name);                                                                                            \
		return 0;                                                                                              \
	}

PLAIN(cudaFree)
PLAIN(cudaFreeHost)
PLAIN(cudaMemcpy)
int cudaMemcpy_ptds(void *at, unsigned long n) __attribute__((alias("cudaMemcpy")));
PLAIN(cudaMallocManaged)
PLAIN(cudaMemset)
PLAIN(cudaMemsetAsync)
PLAIN(cudaMemcpyAsync)
PLAIN(cudaEventRecord)
extern reach_function event_record __attribute__((alias("cudaEventRecord"), visibility("hidden")));

int cudaEventRecordWithFlags(void *at, unsigned long n)
{
	MADE(cudaEventRecordWithFlags);
	return event_record(at, n);
}

int cudaHostAlloc(void *at, unsigned long n)
{
	MADE(cudaHostAlloc);
	return cudaMallocManaged(at, n);
}

int cudaStreamSynchronize(void *at, unsigned long n)
{
	MADE(cudaStreamSynchronize);
	return cuStreamSynchronize(at, n);
}

static reach_function *volatile again = cudaDeviceSynchronize; /* so that none of it becomes a loop */

int cudaDeviceSynchronize(void *at, unsigned long n)
{
	MADE(cudaDeviceSynchronize);
	if (n == 0)
		return 0;
	if (n & 1)
		return again(at, n - 1);
	return again(at, n - 1) ? 1 : 0;
}

int cudaStreamQuery(void *at, unsigned long n)
{
	MADE(cudaStreamQuery);
	return cudaEventQuery(at, n);
}

int cudaEventQuery(void *at, unsigned long n)
{
	void (*inside)(void) = (void (*)(void))at;

	(void)n;
	MADE(cudaEventQuery);
	if (inside)
		inside();
	return 0;
}

static int launch(void *at, unsigned long n)
{
	(void)at, (void)n;
	MADE(cudaGraphLaunch);
	return 0;
}

static reach_function *choose(void)
{
	return launch;
}

int cudaGraphLaunch(void *at, unsigned long n) __attribute__((ifunc("choose")));

#endif
