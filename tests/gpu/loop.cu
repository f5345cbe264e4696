// SPDX-License-Identifier: Apache-2.0
// A vanilla program: memory, copies, kernels by <<<>>>, waits, a known number of each. Without a GPU every call fails, and
// is made all the same. Prints one JSON object: how long the loop took, and what was called.
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define FLOATS (1 << 16)

__global__ void scale_all(float *x, float by)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < FLOATS)
		x[i] *= by;
}

static unsigned long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long long)t.tv_sec * 1000000000ull + (unsigned long long)t.tv_nsec;
}

int main(int argc, char **argv)
{
	unsigned long long n = argc > 1 ? strtoull(argv[1], NULL, 10) : 20000, begin, failed = 0, mallocs = 0, waits = 0;
	static float host[FLOATS];
	float *x = NULL;
	cudaStream_t stream = 0;

	failed += cudaStreamCreate(&stream) != cudaSuccess;
	failed += cudaMalloc((void **)&x, sizeof(host)) != cudaSuccess;
	for (int i = 0; i < 200; i++) // warm
		scale_all<<<FLOATS / 256, 256, 0, stream>>>(x, 1.0f);
	failed += cudaStreamSynchronize(stream) != cudaSuccess;
	begin = now_ns();
	for (unsigned long long i = 0; i < n; i++) {
		scale_all<<<FLOATS / 256, 256, 0, stream>>>(x, 1.0001f);
		failed += cudaMemcpyAsync(host, x, 4096, cudaMemcpyDeviceToHost, stream) != cudaSuccess;
		if (i % 16 == 0) {
			float *more = NULL;

			failed += cudaMalloc((void **)&more, 1 << 20) != cudaSuccess;
			failed += cudaFree(more) != cudaSuccess;
			mallocs++;
		}
		if (i % 8 == 0) {
			failed += cudaStreamSynchronize(stream) != cudaSuccess;
			waits++;
		}
	}
	begin = now_ns() - begin;
	cudaFree(x);
	printf("{\"ns\":%llu,\"calls\":%llu,\"failed\":%llu,\"functions\":{\"launch\":%llu,\"cudaMemcpyAsync\":%llu,"
	       "\"cudaMalloc\":%llu,\"cudaFree\":%llu,\"cudaStreamSynchronize\":%llu}}\n",
	       begin, 2 * n + 2 * mallocs + waits, failed, n + 200, n, mallocs + 1, mallocs + 1, waits + 1);
	return 0;
}
