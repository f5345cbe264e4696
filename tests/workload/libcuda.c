/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test double's libcuda.so.1. A library has no main() to keep its state in: the device below is
 * the one object that all of its functions share.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/workload/device.h"
#include "tests/workload/double.h"

#define PITCH 512

static struct device device;

__attribute__((constructor)) static void library_load(void)
{
	if (!device_open(&device)) {
		fputs("libcuda test double: no address space for the pretended device; raise the limit (ulimit -v)\n",
		      stderr);
		abort();
	}
}

static int stream_check(const void *stream)
{
	return device_handle_good(&device, HANDLE_STREAM, stream) ? GPU_OK : GPU_INVALID_HANDLE;
}

static int event_check(const void *event)
{
	return device_handle_good(&device, HANDLE_EVENT, event) ? GPU_OK : GPU_INVALID_HANDLE;
}

int cuInit(unsigned flags)
{
	device_call(&device, DRIVER_cuInit);
	return flags ? GPU_INVALID_VALUE : GPU_OK;
}

int cuDeviceGetCount(int *count)
{
	device_call(&device, DRIVER_cuDeviceGetCount);
	*count = 1;
	return GPU_OK;
}

static int launch(enum driver_id id, const void *func, const unsigned size[6], const void *stream)
{
	device_launch(&device, id);
	if (!func)
		return GPU_INVALID_HANDLE;
	for (int i = 0; i < 6; i++) {
		if (size[i] == 0)
			return GPU_INVALID_VALUE;
	}
	return stream_check(stream);
}

#define SIZE_GIVEN                                                                                                     \
	(const unsigned[6])                                                                                            \
	{                                                                                                              \
		grid_x, grid_y, grid_z, block_x, block_y, block_z                                                      \
	}

#define LAUNCH(name)                                                                                                   \
	int name DRIVER_LAUNCH_ARGS                                                                                    \
	{                                                                                                              \
		(void)shared, (void)params, (void)extra;                                                               \
		return launch(DRIVER_##name, func, SIZE_GIVEN, stream);                                                \
	}
LAUNCH(cuLaunchKernel)
LAUNCH(cuLaunchKernel_ptsz)

#define LAUNCH_COOPERATIVE(name)                                                                                       \
	int name DRIVER_COOPERATIVE_ARGS                                                                               \
	{                                                                                                              \
		(void)shared, (void)params;                                                                            \
		return launch(DRIVER_##name, func, SIZE_GIVEN, stream);                                                \
	}
LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel)
LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel_ptsz)

#define LAUNCH_EX(name)                                                                                                \
	int name DRIVER_LAUNCH_EX_ARGS                                                                                 \
	{                                                                                                              \
		const unsigned size[6] = {config->grid_x,  config->grid_y,  config->grid_z,                            \
					  config->block_x, config->block_y, config->block_z};                          \
                                                                                                                       \
		(void)params, (void)extra;                                                                             \
		return launch(DRIVER_##name, func, size, config->stream);                                              \
	}
LAUNCH_EX(cuLaunchKernelEx)
LAUNCH_EX(cuLaunchKernelEx_ptsz)

static int take(enum driver_id id, unsigned what, uint64_t bytes, const void *stream, DPTR *addr)
{
	int error = stream_check(stream);
	uint64_t at = 0;

	device_call(&device, id);
	if (error == GPU_OK)
		error = memory_take(device.memory, what, bytes, &at);
	if (error == GPU_OK)
		*addr = at;
	return error;
}

static int take_pinned(enum driver_id id, uint64_t bytes, void **addr)
{
	DPTR at;
	int error = take(id, MEMORY_PINNED, bytes, NULL, &at);

	if (error == GPU_OK)
		*addr = (void *)(uintptr_t)at;
	return error;
}

int cuMemAlloc_v2(DPTR *addr, size_t bytes)
{
	return take(DRIVER_cuMemAlloc_v2, MEMORY_DEVICE, bytes, NULL, addr);
}

int cuMemAllocManaged(DPTR *addr, size_t bytes, unsigned flags)
{
	(void)flags;
	return take(DRIVER_cuMemAllocManaged, MEMORY_MANAGED, bytes, NULL, addr);
}

int cuMemAllocPitch_v2(DPTR *addr, size_t *pitch, size_t width, size_t height, unsigned element)
{
	size_t row = (width + PITCH - 1) / PITCH * PITCH;
	int error;

	if (element == 0 || (height && row > SIZE_MAX / height))
		return GPU_INVALID_VALUE;
	error = take(DRIVER_cuMemAllocPitch_v2, MEMORY_DEVICE, row * height, NULL, addr);
	if (error == GPU_OK)
		*pitch = row;
	return error;
}

int cuMemAllocHost_v2(void **addr, size_t bytes)
{
	return take_pinned(DRIVER_cuMemAllocHost_v2, bytes, addr);
}

int cuMemHostAlloc(void **addr, size_t bytes, unsigned flags)
{
	(void)flags;
	return take_pinned(DRIVER_cuMemHostAlloc, bytes, addr);
}

#define TAKE_ASYNC(name)                                                                                               \
	int name(DPTR *addr, size_t bytes, STREAM)                                                                     \
	{                                                                                                              \
		return take(DRIVER_##name, MEMORY_DEVICE, bytes, stream, addr);                                        \
	}
TAKE_ASYNC(cuMemAllocAsync)
TAKE_ASYNC(cuMemAllocAsync_ptsz)

#define TAKE_FROM_POOL(name)                                                                                           \
	int name(DPTR *addr, size_t bytes, struct CUmemPoolHandle_st *pool, STREAM)                                    \
	{                                                                                                              \
		(void)pool;                                                                                            \
		return take(DRIVER_##name, MEMORY_DEVICE, bytes, stream, addr);                                        \
	}
TAKE_FROM_POOL(cuMemAllocFromPoolAsync)
TAKE_FROM_POOL(cuMemAllocFromPoolAsync_ptsz)

int cuMemFree_v2(DPTR addr)
{
	device_call(&device, DRIVER_cuMemFree_v2);
	return memory_give(device.memory, MEMORY_DEVICE | MEMORY_MANAGED, addr);
}

int cuMemFreeHost(void *addr)
{
	device_call(&device, DRIVER_cuMemFreeHost);
	return memory_give(device.memory, MEMORY_PINNED, (uint64_t)(uintptr_t)addr);
}

#define GIVE_ASYNC(name)                                                                                               \
	int name(DPTR addr, STREAM)                                                                                    \
	{                                                                                                              \
		int error = stream_check(stream);                                                                      \
                                                                                                                       \
		device_call(&device, DRIVER_##name);                                                                   \
		return error ? error : memory_give(device.memory, MEMORY_DEVICE, addr);                                \
	}
GIVE_ASYNC(cuMemFreeAsync)
GIVE_ASYNC(cuMemFreeAsync_ptsz)

/* No bytes are moved: device memory has none. Copies cost time and check what a copy checks. */
static int copy(enum driver_id id, uint64_t dst, uint64_t src, uint64_t bytes)
{
	device_transfer(&device, id, bytes);
	return bytes && (!dst || !src) ? GPU_INVALID_VALUE : GPU_OK;
}

#define COPY(name, DST, SRC)                                                                                           \
	int name(DST dst, SRC src, size_t bytes)                                                                       \
	{                                                                                                              \
		return copy(DRIVER_##name, (uint64_t)dst, (uint64_t)src, bytes);                                       \
	}
COPY(cuMemcpy, DPTR, DPTR)
COPY(cuMemcpy_ptds, DPTR, DPTR)
COPY(cuMemcpyHtoD_v2, DPTR, const void *)
COPY(cuMemcpyDtoH_v2, void *, DPTR)
COPY(cuMemcpyDtoD_v2, DPTR, DPTR)

#define COPY_ASYNC(name)                                                                                               \
	int name(DPTR dst, DPTR src, size_t bytes, STREAM)                                                             \
	{                                                                                                              \
		int error = copy(DRIVER_##name, dst, src, bytes);                                                      \
                                                                                                                       \
		return error ? error : stream_check(stream);                                                           \
	}
COPY_ASYNC(cuMemcpyAsync)
COPY_ASYNC(cuMemcpyAsync_ptsz)

static int copy_2d(enum driver_id id, const struct driver_copy_2d *c)
{
	const struct driver_copy_side *sides[] = {&c->dst, &c->src};

	device_transfer(&device, id, c->width_bytes * c->height);
	for (int i = 0; i < 2; i++) {
		if ((!sides[i]->host && !sides[i]->device) || sides[i]->pitch < c->width_bytes)
			return GPU_INVALID_VALUE;
	}
	return GPU_OK;
}

#define COPY_2D(name)                                                                                                  \
	int name(const struct driver_copy_2d *c)                                                                       \
	{                                                                                                              \
		return copy_2d(DRIVER_##name, c);                                                                      \
	}
COPY_2D(cuMemcpy2D_v2)
COPY_2D(cuMemcpy2D_v2_ptds)

#define COPY_2D_ASYNC(name)                                                                                            \
	int name(const struct driver_copy_2d *c, STREAM)                                                               \
	{                                                                                                              \
		int error = copy_2d(DRIVER_##name, c);                                                                 \
                                                                                                                       \
		return error ? error : stream_check(stream);                                                           \
	}
COPY_2D_ASYNC(cuMemcpy2DAsync_v2)
COPY_2D_ASYNC(cuMemcpy2DAsync_v2_ptsz)

int cuMemcpyPeer(DPTR dst, void *dst_context, DPTR src, void *src_context, size_t bytes)
{
	(void)dst_context, (void)src_context;
	return copy(DRIVER_cuMemcpyPeer, dst, src, bytes);
}

int cuMemcpyPeerAsync(DPTR dst, void *dst_context, DPTR src, void *src_context, size_t bytes, STREAM)
{
	int error = copy(DRIVER_cuMemcpyPeerAsync, dst, src, bytes);

	(void)dst_context, (void)src_context;
	return error ? error : stream_check(stream);
}

static int fill(enum driver_id id, DPTR addr, size_t bytes)
{
	device_transfer(&device, id, bytes);
	return bytes && !addr ? GPU_INVALID_VALUE : GPU_OK;
}

#define FILL(name)                                                                                                     \
	int name(DPTR addr, unsigned char value, size_t bytes)                                                         \
	{                                                                                                              \
		(void)value;                                                                                           \
		return fill(DRIVER_##name, addr, bytes);                                                               \
	}
FILL(cuMemsetD8_v2)
FILL(cuMemsetD8_v2_ptds)

#define FILL_ASYNC(name)                                                                                               \
	int name(DPTR addr, unsigned char value, size_t bytes, STREAM)                                                 \
	{                                                                                                              \
		int error = fill(DRIVER_##name, addr, bytes);                                                          \
                                                                                                                       \
		(void)value;                                                                                           \
		return error ? error : stream_check(stream);                                                           \
	}
FILL_ASYNC(cuMemsetD8Async)
FILL_ASYNC(cuMemsetD8Async_ptsz)

int cuCtxSynchronize(void)
{
	device_call(&device, DRIVER_cuCtxSynchronize);
	return GPU_OK;
}

#define STREAM_SYNCHRONIZE(name)                                                                                       \
	int name(STREAM)                                                                                               \
	{                                                                                                              \
		device_call(&device, DRIVER_##name);                                                                   \
		return stream_check(stream);                                                                           \
	}
STREAM_SYNCHRONIZE(cuStreamSynchronize)
STREAM_SYNCHRONIZE(cuStreamSynchronize_ptsz)

int cuEventSynchronize(EVENT)
{
	device_call(&device, DRIVER_cuEventSynchronize);
	return event_check(event);
}

#define STREAM_WAIT(name)                                                                                              \
	int name(STREAM, EVENT, unsigned flags)                                                                        \
	{                                                                                                              \
		int error = stream_check(stream);                                                                      \
                                                                                                                       \
		(void)flags;                                                                                           \
		device_call(&device, DRIVER_##name);                                                                   \
		return error ? error : event_check(event);                                                             \
	}
STREAM_WAIT(cuStreamWaitEvent)
STREAM_WAIT(cuStreamWaitEvent_ptsz)

int cuStreamCreate(struct CUstream_st **stream, unsigned flags)
{
	void *handle = device_handle_new(&device, HANDLE_STREAM);

	(void)flags;
	device_call(&device, DRIVER_cuStreamCreate);
	if (!handle)
		return GPU_OUT_OF_MEMORY;
	*stream = handle;
	return GPU_OK;
}

int cuStreamDestroy_v2(STREAM)
{
	device_call(&device, DRIVER_cuStreamDestroy_v2);
	return device_handle_end(&device, HANDLE_STREAM, stream) ? GPU_OK : GPU_INVALID_HANDLE;
}

int cuEventCreate(struct CUevent_st **event, unsigned flags)
{
	void *handle = device_handle_new(&device, HANDLE_EVENT);

	(void)flags;
	device_call(&device, DRIVER_cuEventCreate);
	if (!handle)
		return GPU_OUT_OF_MEMORY;
	*event = handle;
	return GPU_OK;
}

int cuEventDestroy_v2(EVENT)
{
	device_call(&device, DRIVER_cuEventDestroy_v2);
	return device_handle_end(&device, HANDLE_EVENT, event) ? GPU_OK : GPU_INVALID_HANDLE;
}

void gpu_double_set_launch_hook(void (*hook)(void *), void *arg)
{
	atomic_store(&device.hook, NULL);
	atomic_store(&device.hook_arg, arg);
	atomic_store(&device.hook, hook);
}

void gpu_double_set_call_hook(void (*hook)(void))
{
	atomic_store(&device.call_hook, hook);
}

void gpu_double_set_cost_ns(uint64_t launch_ns, uint64_t call_ns)
{
	atomic_store(&device.launch_ns, launch_ns);
	atomic_store(&device.call_ns, call_ns);
}

void gpu_double_burn_ns(uint64_t ns)
{
	device_burn(&device, ns);
}

uint64_t gpu_double_used_bytes(void)
{
	return memory_used_bytes(device.memory);
}

#define NAME_OF(name, params) #name,

uint64_t gpu_double_driver_calls(const char *name)
{
	static const char *const names[] = {DRIVER_CALLS(NAME_OF)};

	for (unsigned i = 0; i < DRIVER_COUNT; i++) {
		if (!strcmp(names[i], name))
			return atomic_load(&device.calls[i]);
	}
	return UINT64_MAX;
}
