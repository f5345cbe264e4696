/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test double's libcudart.so.12. As in the real one, a runtime call does its work by calling the
 * driver on the same thread, so that a recorder sees nested calls. A library has no main() to keep its
 * state in: the counters and the per-thread last error below are all that it has.
 */
#include <stdatomic.h>
#include <string.h>

#include "tests/workload/double.h"
#include "tests/workload/functions.h"

#define RUNTIME_VERSION 12080

#define RUNTIME_ID(kind, name, params) RUNTIME_##name,
enum runtime_id { RUNTIME_CALLS(RUNTIME_ID) RUNTIME_COUNT };

static _Atomic uint64_t ncalls[RUNTIME_COUNT];
static __thread int last_error __attribute__((tls_model("initial-exec")));

#define ENTER(name) atomic_fetch_add_explicit(&ncalls[RUNTIME_##name], 1, memory_order_relaxed)

static int result(int error)
{
	if (error != GPU_OK)
		last_error = error;
	return error;
}

static DPTR address(const void *p)
{
	return (DPTR)(uintptr_t)p;
}

#define LAUNCH(name, driver)                                                                                           \
	int name LAUNCH_ARGS                                                                                           \
	{                                                                                                              \
		ENTER(name);                                                                                           \
		return result(driver((void *)(uintptr_t)func, grid.x, grid.y, grid.z, block.x, block.y, block.z,       \
				     (unsigned)shared, stream, args, NULL));                                           \
	}
LAUNCH(cudaLaunchKernel, cuLaunchKernel)
LAUNCH(cudaLaunchKernel_ptsz, cuLaunchKernel_ptsz)
LAUNCH(__cudaLaunchKernel, cuLaunchKernel)
LAUNCH(__cudaLaunchKernel_ptsz, cuLaunchKernel_ptsz)

#define LAUNCH_COOPERATIVE(name, driver)                                                                               \
	int name LAUNCH_ARGS                                                                                           \
	{                                                                                                              \
		ENTER(name);                                                                                           \
		return result(driver((void *)(uintptr_t)func, grid.x, grid.y, grid.z, block.x, block.y, block.z,       \
				     (unsigned)shared, stream, args));                                                 \
	}
LAUNCH_COOPERATIVE(cudaLaunchCooperativeKernel, cuLaunchCooperativeKernel)
LAUNCH_COOPERATIVE(cudaLaunchCooperativeKernel_ptsz, cuLaunchCooperativeKernel_ptsz)

#define LAUNCH_EX(name, driver)                                                                                        \
	int name LAUNCH_EX_ARGS                                                                                        \
	{                                                                                                              \
		struct driver_launch_config c = {.grid_x = config->grid.x,                                             \
						 .grid_y = config->grid.y,                                             \
						 .grid_z = config->grid.z,                                             \
						 .block_x = config->block.x,                                           \
						 .block_y = config->block.y,                                           \
						 .block_z = config->block.z,                                           \
						 .shared = (unsigned)config->shared,                                   \
						 .stream = config->stream};                                            \
                                                                                                                       \
		ENTER(name);                                                                                           \
		return result(driver(&c, (void *)(uintptr_t)func, args, NULL));                                        \
	}
LAUNCH_EX(cudaLaunchKernelExC, cuLaunchKernelEx)
LAUNCH_EX(cudaLaunchKernelExC_ptsz, cuLaunchKernelEx_ptsz)

/* What a caller's pointer is set to after a driver allocation: as the real library does, nothing on failure. */
static int placed(int error, const DPTR *at, void **addr)
{
	if (error == GPU_OK)
		*addr = (void *)(uintptr_t)*at;
	return result(error);
}

int cudaMalloc(void **addr, size_t bytes)
{
	DPTR at = 0;

	ENTER(cudaMalloc);
	if (!addr)
		return result(GPU_INVALID_VALUE);
	return placed(cuMemAlloc_v2(&at, bytes), &at, addr);
}

int cudaMallocManaged(void **addr, size_t bytes, unsigned flags)
{
	DPTR at = 0;

	ENTER(cudaMallocManaged);
	if (!addr)
		return result(GPU_INVALID_VALUE);
	return placed(cuMemAllocManaged(&at, bytes, flags), &at, addr);
}

int cudaMallocPitch(void **addr, size_t *pitch, size_t width, size_t height)
{
	DPTR at = 0;

	ENTER(cudaMallocPitch);
	if (!addr || !pitch)
		return result(GPU_INVALID_VALUE);
	return placed(cuMemAllocPitch_v2(&at, pitch, width, height, 4), &at, addr);
}

int cudaMallocHost(void **addr, size_t bytes)
{
	ENTER(cudaMallocHost);
	return result(addr ? cuMemAllocHost_v2(addr, bytes) : GPU_INVALID_VALUE);
}

int cudaHostAlloc(void **addr, size_t bytes, unsigned flags)
{
	ENTER(cudaHostAlloc);
	return result(addr ? cuMemHostAlloc(addr, bytes, flags) : GPU_INVALID_VALUE);
}

#define MALLOC_ASYNC(name, driver)                                                                                     \
	int name(void **addr, size_t bytes, STREAM)                                                                    \
	{                                                                                                              \
		DPTR at = 0;                                                                                           \
                                                                                                                       \
		ENTER(name);                                                                                           \
		if (!addr)                                                                                             \
			return result(GPU_INVALID_VALUE);                                                              \
		return placed(driver(&at, bytes, stream), &at, addr);                                                  \
	}
MALLOC_ASYNC(cudaMallocAsync, cuMemAllocAsync)
MALLOC_ASYNC(cudaMallocAsync_ptsz, cuMemAllocAsync_ptsz)

#define MALLOC_FROM_POOL(name, driver)                                                                                 \
	int name(void **addr, size_t bytes, struct CUmemPoolHandle_st *pool, STREAM)                                   \
	{                                                                                                              \
		DPTR at = 0;                                                                                           \
                                                                                                                       \
		ENTER(name);                                                                                           \
		if (!addr)                                                                                             \
			return result(GPU_INVALID_VALUE);                                                              \
		return placed(driver(&at, bytes, pool, stream), &at, addr);                                            \
	}
MALLOC_FROM_POOL(cudaMallocFromPoolAsync, cuMemAllocFromPoolAsync)
MALLOC_FROM_POOL(cudaMallocFromPoolAsync_ptsz, cuMemAllocFromPoolAsync_ptsz)

int cudaFree(void *addr)
{
	ENTER(cudaFree);
	return result(cuMemFree_v2(address(addr)));
}

int cudaFreeHost(void *addr)
{
	ENTER(cudaFreeHost);
	return result(cuMemFreeHost(addr));
}

#define FREE_ASYNC(name, driver)                                                                                       \
	int name(void *addr, STREAM)                                                                                   \
	{                                                                                                              \
		ENTER(name);                                                                                           \
		return result(driver(address(addr), stream));                                                          \
	}
FREE_ASYNC(cudaFreeAsync, cuMemFreeAsync)
FREE_ASYNC(cudaFreeAsync_ptsz, cuMemFreeAsync_ptsz)

static int direction_check(int direction)
{
	return direction < HOST_TO_HOST || direction > BY_ADDRESS ? GPU_INVALID_DIRECTION : GPU_OK;
}

static int copy_directed(void *dst, const void *src, size_t bytes, int direction)
{
	switch (direction) {
	case HOST_TO_DEVICE:
		return cuMemcpyHtoD_v2(address(dst), src, bytes);
	case DEVICE_TO_HOST:
		return cuMemcpyDtoH_v2(dst, address(src), bytes);
	case DEVICE_TO_DEVICE:
		return cuMemcpyDtoD_v2(address(dst), address(src), bytes);
	default:
		return cuMemcpy(address(dst), address(src), bytes);
	}
}

int cudaMemcpy COPY_ARGS
{
	int error = direction_check(direction);

	ENTER(cudaMemcpy);
	return result(error ? error : copy_directed(dst, src, bytes, direction));
}

int cudaMemcpy_ptds COPY_ARGS
{
	int error = direction_check(direction);

	ENTER(cudaMemcpy_ptds);
	return result(error ? error : cuMemcpy_ptds(address(dst), address(src), bytes));
}

#define MEMCPY_ASYNC(name, driver)                                                                                     \
	int name COPY_ASYNC_ARGS                                                                                       \
	{                                                                                                              \
		int error = direction_check(direction);                                                                \
                                                                                                                       \
		ENTER(name);                                                                                           \
		return result(error ? error : driver(address(dst), address(src), bytes, stream));                      \
	}
MEMCPY_ASYNC(cudaMemcpyAsync, cuMemcpyAsync)
MEMCPY_ASYNC(cudaMemcpyAsync_ptsz, cuMemcpyAsync_ptsz)

#define MEMORY_TYPE_UNIFIED 4u

static struct driver_copy_2d plane(void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width,
				   size_t height)
{
	return (struct driver_copy_2d){
		.src = {.memory_type = MEMORY_TYPE_UNIFIED, .device = address(src), .pitch = src_pitch},
		.dst = {.memory_type = MEMORY_TYPE_UNIFIED, .device = address(dst), .pitch = dst_pitch},
		.width_bytes = width,
		.height = height};
}

#define MEMCPY_2D(name, driver)                                                                                        \
	int name COPY_2D_ARGS                                                                                          \
	{                                                                                                              \
		struct driver_copy_2d c = plane(dst, dst_pitch, src, src_pitch, width, height);                        \
		int error = direction_check(direction);                                                                \
                                                                                                                       \
		ENTER(name);                                                                                           \
		return result(error ? error : driver(&c));                                                             \
	}
MEMCPY_2D(cudaMemcpy2D, cuMemcpy2D_v2)
MEMCPY_2D(cudaMemcpy2D_ptds, cuMemcpy2D_v2_ptds)

#define MEMCPY_2D_ASYNC(name, driver)                                                                                  \
	int name COPY_2D_ASYNC_ARGS                                                                                    \
	{                                                                                                              \
		struct driver_copy_2d c = plane(dst, dst_pitch, src, src_pitch, width, height);                        \
		int error = direction_check(direction);                                                                \
                                                                                                                       \
		ENTER(name);                                                                                           \
		return result(error ? error : driver(&c, stream));                                                     \
	}
MEMCPY_2D_ASYNC(cudaMemcpy2DAsync, cuMemcpy2DAsync_v2)
MEMCPY_2D_ASYNC(cudaMemcpy2DAsync_ptsz, cuMemcpy2DAsync_v2_ptsz)

int cudaMemcpyPeer(void *dst, int dst_device, const void *src, int src_device, size_t bytes)
{
	ENTER(cudaMemcpyPeer);
	if (dst_device != 0 || src_device != 0)
		return result(GPU_INVALID_VALUE);
	return result(cuMemcpyPeer(address(dst), NULL, address(src), NULL, bytes));
}

int cudaMemcpyPeerAsync(void *dst, int dst_device, const void *src, int src_device, size_t bytes, STREAM)
{
	ENTER(cudaMemcpyPeerAsync);
	if (dst_device != 0 || src_device != 0)
		return result(GPU_INVALID_VALUE);
	return result(cuMemcpyPeerAsync(address(dst), NULL, address(src), NULL, bytes, stream));
}

#define MEMSET(name, driver)                                                                                           \
	int name(void *addr, int value, size_t bytes)                                                                  \
	{                                                                                                              \
		ENTER(name);                                                                                           \
		return result(driver(address(addr), (unsigned char)value, bytes));                                     \
	}
MEMSET(cudaMemset, cuMemsetD8_v2)
MEMSET(cudaMemset_ptds, cuMemsetD8_v2_ptds)

#define MEMSET_ASYNC(name, driver)                                                                                     \
	int name(void *addr, int value, size_t bytes, STREAM)                                                          \
	{                                                                                                              \
		ENTER(name);                                                                                           \
		return result(driver(address(addr), (unsigned char)value, bytes, stream));                             \
	}
MEMSET_ASYNC(cudaMemsetAsync, cuMemsetD8Async)
MEMSET_ASYNC(cudaMemsetAsync_ptsz, cuMemsetD8Async_ptsz)

int cudaDeviceSynchronize(void)
{
	ENTER(cudaDeviceSynchronize);
	return result(cuCtxSynchronize());
}

#define STREAM_SYNCHRONIZE(name, driver)                                                                               \
	int name(STREAM)                                                                                               \
	{                                                                                                              \
		ENTER(name);                                                                                           \
		return result(driver(stream));                                                                         \
	}
STREAM_SYNCHRONIZE(cudaStreamSynchronize, cuStreamSynchronize)
STREAM_SYNCHRONIZE(cudaStreamSynchronize_ptsz, cuStreamSynchronize_ptsz)

int cudaEventSynchronize(EVENT)
{
	ENTER(cudaEventSynchronize);
	return result(cuEventSynchronize(event));
}

#define STREAM_WAIT(name, driver)                                                                                      \
	int name(STREAM, EVENT, unsigned flags)                                                                        \
	{                                                                                                              \
		ENTER(name);                                                                                           \
		return result(driver(stream, event, flags));                                                           \
	}
STREAM_WAIT(cudaStreamWaitEvent, cuStreamWaitEvent)
STREAM_WAIT(cudaStreamWaitEvent_ptsz, cuStreamWaitEvent_ptsz)

int cudaStreamCreate(struct CUstream_st **stream)
{
	ENTER(cudaStreamCreate);
	return result(cuStreamCreate(stream, 0));
}

int cudaStreamCreateWithFlags(struct CUstream_st **stream, unsigned flags)
{
	ENTER(cudaStreamCreateWithFlags);
	return result(cuStreamCreate(stream, flags));
}

int cudaStreamDestroy(STREAM)
{
	ENTER(cudaStreamDestroy);
	return result(cuStreamDestroy_v2(stream));
}

int cudaEventCreate(struct CUevent_st **event)
{
	ENTER(cudaEventCreate);
	return result(cuEventCreate(event, 0));
}

int cudaEventCreateWithFlags(struct CUevent_st **event, unsigned flags)
{
	ENTER(cudaEventCreateWithFlags);
	return result(cuEventCreate(event, flags));
}

int cudaEventDestroy(EVENT)
{
	ENTER(cudaEventDestroy);
	return result(cuEventDestroy_v2(event));
}

int cudaGetDeviceCount(int *count)
{
	ENTER(cudaGetDeviceCount);
	return result(cuDeviceGetCount(count));
}

int cudaRuntimeGetVersion(int *version)
{
	ENTER(cudaRuntimeGetVersion);
	*version = RUNTIME_VERSION;
	return GPU_OK;
}

int cudaGetLastError(void)
{
	int error = last_error;

	ENTER(cudaGetLastError);
	last_error = GPU_OK;
	return error;
}

int cudaPeekAtLastError(void)
{
	ENTER(cudaPeekAtLastError);
	return last_error;
}

struct error_text {
	int error;
	const char *name;
	const char *sentence;
};

static const struct error_text *error_text(int error)
{
	static const struct error_text texts[] = {
		{GPU_OK, "cudaSuccess", "no error"},
		{GPU_INVALID_VALUE, "cudaErrorInvalidValue", "an argument is not one that the call can take"},
		{GPU_OUT_OF_MEMORY, "cudaErrorMemoryAllocation", "the device has not that much memory left"},
		{GPU_INVALID_DIRECTION, "cudaErrorInvalidMemcpyDirection", "there is no such copy direction"},
		{GPU_INVALID_HANDLE, "cudaErrorInvalidResourceHandle", "that handle does not exist"},
		{0, "cudaErrorUnknown", "an error that the test double does not know"},
	};
	const unsigned n = sizeof(texts) / sizeof(texts[0]);

	for (unsigned i = 0; i < n - 1; i++) {
		if (texts[i].error == error)
			return &texts[i];
	}
	return &texts[n - 1];
}

const char *cudaGetErrorString(int error)
{
	return error_text(error)->sentence;
}

const char *cudaGetErrorName(int error)
{
	return error_text(error)->name;
}

#define NAME_OF(kind, name, params) #name,

uint64_t gpu_double_runtime_calls(const char *name)
{
	static const char *const names[] = {RUNTIME_CALLS(NAME_OF)};

	for (unsigned i = 0; i < RUNTIME_COUNT; i++) {
		if (!strcmp(names[i], name))
			return atomic_load(&ncalls[i]);
	}
	return UINT64_MAX;
}
