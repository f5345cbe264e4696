/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls with probes inside calls with probes, as the runtime (AROUND_RUNTIME) makes them of the driver: with frame
 * pointers; without, so that the outer one is on the stack and not seen there; and as the very last thing that it does,
 * by a jump (a tail call). The driver's functions do nothing but call what they are given.
 */
typedef int inside(void *at, unsigned long bytes);

int cuMemAlloc_v2(void **at, unsigned long bytes);
int cuMemHostAlloc(void **at, unsigned long bytes, unsigned flags);
int cuMemAllocManaged(void **at, unsigned long bytes, unsigned flags);

#if defined(AROUND_RUNTIME)
int cudaMalloc(void **at, unsigned long bytes);
int cudaHostAlloc(void **at, unsigned long bytes, unsigned flags);
int cudaMallocManaged(void **at, unsigned long bytes, unsigned flags);

static volatile int after;

int cudaMalloc(void **at, unsigned long bytes)
{
	int r = cuMemAlloc_v2(at, bytes);

	after++;
	return r;
}

__attribute__((optimize("omit-frame-pointer"))) int cudaHostAlloc(void **at, unsigned long bytes, unsigned flags)
{
	int r = cuMemHostAlloc(at, bytes, flags);

	after++;
	return r;
}

__attribute__((optimize("optimize-sibling-calls"))) int cudaMallocManaged(void **at, unsigned long bytes,
									  unsigned flags)
{
	return cuMemAllocManaged(at, bytes, flags);
}
#else
static inline __attribute__((always_inline)) int call(void **at, unsigned long bytes)
{
	inside *f = (inside *)*at;

	return f ? f(at, bytes) : 0;
}

int cuMemAlloc_v2(void **at, unsigned long bytes)
{
	return call(at, bytes);
}

int cuMemHostAlloc(void **at, unsigned long bytes, unsigned flags)
{
	(void)flags;
	return call(at, bytes);
}

int cuMemAllocManaged(void **at, unsigned long bytes, unsigned flags)
{
	(void)flags;
	return call(at, bytes);
}
#endif
