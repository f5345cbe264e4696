/* SPDX-License-Identifier: Apache-2.0 */
/* Holds the test double to what it promises; ends with 0 when all of it is so, else names what is not. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/workload/double.h"
#include "tests/workload/functions.h"

#define MEMORY_BYTES (UINT64_C(1) << 20)
#define NTHREADS 4
#define ROUNDS 20000
#define HELD 8

static int nwrong;

static void expect(bool so, const char *sentence)
{
	if (so)
		return;
	fprintf(stderr, "check_double: not so: %s\n", sentence);
	nwrong++;
}

static void check_memory(void)
{
	void *a = NULL, *b = NULL, *pinned = NULL, *managed = NULL, *untouched = &a;

	expect(!cudaMalloc(&a, 4096) && a && !cudaMalloc(&b, 4096) && b && a != b, "addresses are distinct");
	expect(gpu_double_used_bytes() == 8192, "used memory is what was handed out");
	expect(!cudaFree(b) && cudaFree(b) == GPU_INVALID_VALUE, "a second free of an address fails");
	expect(cudaGetLastError() == GPU_INVALID_VALUE && cudaGetLastError() == GPU_OK, "the last error is told once");
	expect(cudaFree((char *)a + 1) == GPU_INVALID_VALUE, "an address inside an allocation cannot be freed");
	expect(cudaFreeHost(a) == GPU_INVALID_VALUE, "device memory is not freed as host memory");
	expect(cudaMalloc(&untouched, MEMORY_BYTES) == GPU_OUT_OF_MEMORY, "memory has a limit");
	expect(untouched == (void *)&a, "a failed allocation leaves the caller's pointer");
	expect(!cudaFree(a) && !cudaMalloc(&a, MEMORY_BYTES) && !cudaFree(a), "memory given back can be had again");
	expect(!cudaMalloc(&a, 0) && !a && !cudaFree(NULL), "nothing can be allocated and freed");
	expect(!cudaHostAlloc(&pinned, 10000, 0) && !cudaMallocManaged(&managed, 10000, 1), "host memory is to be had");
	memset(pinned, 1, 10000);
	memset(managed, 1, 10000);
	expect(cudaFree(pinned) == GPU_INVALID_VALUE, "host memory is not freed as device memory");
	expect(!cudaFreeHost(pinned) && !cudaFree(managed), "host memory can be given back");
	expect(gpu_double_used_bytes() == 0, "in the end nothing is used");
}

static void count_call(void *arg)
{
	++*(int *)arg;
}

static void check_calls(void)
{
	struct dim3 one = {1, 1, 1}, none = {0, 1, 1};
	struct CUstream_st *stream = NULL, *gone;
	uint64_t outer = gpu_double_runtime_calls("cudaLaunchKernel");
	uint64_t inner = gpu_double_driver_calls("cuLaunchKernel");
	int hooked = 0;

	gpu_double_set_launch_hook(count_call, &hooked);
	expect(!cudaLaunchKernel("kernel", one, one, NULL, 0, NULL), "a launch succeeds");
	gpu_double_set_launch_hook(NULL, NULL);
	expect(hooked == 1, "the hook runs once in a launch");
	expect(gpu_double_runtime_calls("cudaLaunchKernel") == outer + 1, "runtime calls are counted");
	expect(gpu_double_driver_calls("cuLaunchKernel") == inner + 1, "the runtime calls the driver");
	expect(gpu_double_runtime_calls("cudaNothing") == UINT64_MAX, "unknown names are known to be unknown");
	expect(cudaLaunchKernel("kernel", none, one, NULL, 0, NULL) == GPU_INVALID_VALUE, "an empty grid is refused");
	expect(!cudaStreamCreate(&stream) && stream, "a stream can be made");
	gone = stream;
	expect(!cudaStreamSynchronize(stream) && !cudaStreamDestroy(stream), "and waited for, and destroyed");
	expect(cudaStreamSynchronize(gone) == GPU_INVALID_HANDLE, "and is then no stream any more");
	expect(cudaMemcpy(&one, &none, 4, 7) == GPU_INVALID_DIRECTION, "a copy needs a direction");
	expect(!strcmp(cudaGetErrorName(GPU_OUT_OF_MEMORY), "cudaErrorMemoryAllocation"), "errors have their names");
}

/* Each thread marks what it holds: an address that two threads hold at once shows the other's mark. */
static void *allocate_and_mark(void *arg)
{
	uint64_t *held[HELD] = {0};
	uint64_t mark = (uint64_t)(uintptr_t)arg;
	bool good = true;

	for (unsigned i = 0; i < ROUNDS; i++) {
		uint64_t **p = &held[i % HELD];
		void *fresh = NULL;

		if (*p)
			good = good && **p == mark && !cudaFreeHost(*p);
		good = good && !cudaMallocHost(&fresh, 64);
		*p = fresh;
		if (*p)
			**p = mark;
	}
	for (unsigned i = 0; i < HELD; i++)
		good = !cudaFreeHost(held[i]) && good;
	return good ? arg : NULL;
}

static void check_threads(void)
{
	pthread_t threads[NTHREADS];
	void *good;

	gpu_double_set_cost_ns(0, 0);
	for (uintptr_t i = 0; i < NTHREADS; i++) {
		if (pthread_create(&threads[i], NULL, allocate_and_mark, (void *)(i + 1)))
			exit(3);
	}
	for (unsigned i = 0; i < NTHREADS; i++) {
		pthread_join(threads[i], &good);
		expect(good != NULL, "threads do not get each other's memory");
	}
}

int main(int argc, char **argv)
{
	char limit[32];

	(void)argc;
	/* The library reads the environment when it is loaded. */
	if (!getenv("GPU_DOUBLE_MEMORY")) {
		snprintf(limit, sizeof(limit), "%llu", (unsigned long long)MEMORY_BYTES);
		return setenv("GPU_DOUBLE_MEMORY", limit, 1) || execv("/proc/self/exe", argv) ? 3 : 0;
	}
	check_memory();
	check_calls();
	check_threads();
	return nwrong ? 1 : 0;
}
