/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the CUDA runtime and driver interface that the test double offers, as two lists,
 * and the few types these calls need. Declared here from the published calling conventions;
 * nothing is included from a CUDA toolkit, and none is needed to build.
 *
 *	RUNTIME_CALLS(F)   F(kind, name, (parameters))   all return a cudaError_t, an int
 *	DRIVER_CALLS(F)    F(name, (parameters))         all return a CUresult, an int
 *
 * kind is one of the recorder's call kinds (launch, alloc, free, copy, set, wait), or `other`.
 */
#ifndef WORKLOAD_FUNCTIONS_H
#define WORKLOAD_FUNCTIONS_H

#include <stddef.h>
#include <stdint.h>

#define GPU_OK 0
#define GPU_INVALID_VALUE 1
#define GPU_OUT_OF_MEMORY 2
#define GPU_INVALID_DIRECTION 21
#define GPU_INVALID_HANDLE 400
#define GPU_NOT_READY 600

enum copy_direction { HOST_TO_HOST, HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, BY_ADDRESS };

struct dim3 {
	unsigned x, y, z;
};

struct CUstream_st;
struct CUevent_st;
struct CUmemPoolHandle_st;

struct runtime_launch_config {
	struct dim3 grid;
	struct dim3 block;
	size_t shared;
	struct CUstream_st *stream;
	void *attributes;
	unsigned nattributes;
};

struct driver_launch_config {
	unsigned grid_x, grid_y, grid_z;
	unsigned block_x, block_y, block_z;
	unsigned shared;
	struct CUstream_st *stream;
	void *attributes;
	unsigned nattributes;
};

struct driver_copy_side {
	size_t x_bytes, y;
	unsigned memory_type;
	void *host;
	unsigned long long device;
	void *array;
	size_t pitch;
};

struct driver_copy_2d {
	struct driver_copy_side src, dst;
	size_t width_bytes, height;
};

#define STREAM struct CUstream_st *stream
#define EVENT struct CUevent_st *event
#define LAUNCH_ARGS (const void *func, struct dim3 grid, struct dim3 block, void **args, size_t shared, STREAM)
#define LAUNCH_EX_ARGS (const struct runtime_launch_config *config, const void *func, void **args)
#define COPY_ARGS (void *dst, const void *src, size_t bytes, int direction)
#define COPY_ASYNC_ARGS (void *dst, const void *src, size_t bytes, int direction, STREAM)
#define COPY_2D_ARGS                                                                                                   \
	(void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width, size_t height, int direction)
#define COPY_2D_ASYNC_ARGS                                                                                             \
	(void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width, size_t height, int direction,   \
	 STREAM)

#define RUNTIME_CALLS(F)                                                                                               \
	F(launch, cudaLaunchKernel, LAUNCH_ARGS)                                                                       \
	F(launch, cudaLaunchKernel_ptsz, LAUNCH_ARGS)                                                                  \
	F(launch, __cudaLaunchKernel, LAUNCH_ARGS)                                                                     \
	F(launch, __cudaLaunchKernel_ptsz, LAUNCH_ARGS)                                                                \
	F(launch, cudaLaunchKernelExC, LAUNCH_EX_ARGS)                                                                 \
	F(launch, cudaLaunchKernelExC_ptsz, LAUNCH_EX_ARGS)                                                            \
	F(launch, cudaLaunchCooperativeKernel, LAUNCH_ARGS)                                                            \
	F(launch, cudaLaunchCooperativeKernel_ptsz, LAUNCH_ARGS)                                                       \
	F(alloc, cudaMalloc, (void **addr, size_t bytes))                                                              \
	F(alloc, cudaMallocManaged, (void **addr, size_t bytes, unsigned flags))                                       \
	F(alloc, cudaMallocPitch, (void **addr, size_t *pitch, size_t width, size_t height))                           \
	F(alloc, cudaMallocHost, (void **addr, size_t bytes))                                                          \
	F(alloc, cudaHostAlloc, (void **addr, size_t bytes, unsigned flags))                                           \
	F(alloc, cudaMallocAsync, (void **addr, size_t bytes, STREAM))                                                 \
	F(alloc, cudaMallocAsync_ptsz, (void **addr, size_t bytes, STREAM))                                            \
	F(alloc, cudaMallocFromPoolAsync, (void **addr, size_t bytes, struct CUmemPoolHandle_st *pool, STREAM))        \
	F(alloc, cudaMallocFromPoolAsync_ptsz, (void **addr, size_t bytes, struct CUmemPoolHandle_st *pool, STREAM))   \
	F(free, cudaFree, (void *addr))                                                                                \
	F(free, cudaFreeHost, (void *addr))                                                                            \
	F(free, cudaFreeAsync, (void *addr, STREAM))                                                                   \
	F(free, cudaFreeAsync_ptsz, (void *addr, STREAM))                                                              \
	F(copy, cudaMemcpy, COPY_ARGS)                                                                                 \
	F(copy, cudaMemcpy_ptds, COPY_ARGS)                                                                            \
	F(copy, cudaMemcpyAsync, COPY_ASYNC_ARGS)                                                                      \
	F(copy, cudaMemcpyAsync_ptsz, COPY_ASYNC_ARGS)                                                                 \
	F(copy, cudaMemcpy2D, COPY_2D_ARGS)                                                                            \
	F(copy, cudaMemcpy2D_ptds, COPY_2D_ARGS)                                                                       \
	F(copy, cudaMemcpy2DAsync, COPY_2D_ASYNC_ARGS)                                                                 \
	F(copy, cudaMemcpy2DAsync_ptsz, COPY_2D_ASYNC_ARGS)                                                            \
	F(copy, cudaMemcpyPeer, (void *dst, int dst_device, const void *src, int src_device, size_t bytes))            \
	F(copy, cudaMemcpyPeerAsync,                                                                                   \
	  (void *dst, int dst_device, const void *src, int src_device, size_t bytes, STREAM))                          \
	F(set, cudaMemset, (void *addr, int value, size_t bytes))                                                      \
	F(set, cudaMemset_ptds, (void *addr, int value, size_t bytes))                                                 \
	F(set, cudaMemsetAsync, (void *addr, int value, size_t bytes, STREAM))                                         \
	F(set, cudaMemsetAsync_ptsz, (void *addr, int value, size_t bytes, STREAM))                                    \
	F(wait, cudaDeviceSynchronize, (void))                                                                         \
	F(wait, cudaStreamSynchronize, (STREAM))                                                                       \
	F(wait, cudaStreamSynchronize_ptsz, (STREAM))                                                                  \
	F(wait, cudaEventSynchronize, (EVENT))                                                                         \
	F(wait, cudaStreamWaitEvent, (STREAM, EVENT, unsigned flags))                                                  \
	F(wait, cudaStreamWaitEvent_ptsz, (STREAM, EVENT, unsigned flags))                                             \
	F(other, cudaStreamCreate, (struct CUstream_st * *stream))                                                     \
	F(other, cudaStreamCreateWithFlags, (struct CUstream_st * *stream, unsigned flags))                            \
	F(other, cudaStreamDestroy, (STREAM))                                                                          \
	F(other, cudaEventCreate, (struct CUevent_st * *event))                                                        \
	F(other, cudaEventCreateWithFlags, (struct CUevent_st * *event, unsigned flags))                               \
	F(other, cudaEventDestroy, (EVENT))                                                                            \
	F(other, cudaGetDeviceCount, (int *count))                                                                     \
	F(other, cudaRuntimeGetVersion, (int *version))                                                                \
	F(other, cudaGetLastError, (void))                                                                             \
	F(other, cudaPeekAtLastError, (void))

#define DPTR unsigned long long
#define DRIVER_LAUNCH_ARGS                                                                                             \
	(void *func, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,            \
	 unsigned block_z, unsigned shared, STREAM, void **params, void **extra)
#define DRIVER_COOPERATIVE_ARGS                                                                                        \
	(void *func, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,            \
	 unsigned block_z, unsigned shared, STREAM, void **params)
#define DRIVER_LAUNCH_EX_ARGS (const struct driver_launch_config *config, void *func, void **params, void **extra)

#define DRIVER_CALLS(F)                                                                                                \
	F(cuInit, (unsigned flags))                                                                                    \
	F(cuDeviceGetCount, (int *count))                                                                              \
	F(cuLaunchKernel, DRIVER_LAUNCH_ARGS)                                                                          \
	F(cuLaunchKernel_ptsz, DRIVER_LAUNCH_ARGS)                                                                     \
	F(cuLaunchKernelEx, DRIVER_LAUNCH_EX_ARGS)                                                                     \
	F(cuLaunchKernelEx_ptsz, DRIVER_LAUNCH_EX_ARGS)                                                                \
	F(cuLaunchCooperativeKernel, DRIVER_COOPERATIVE_ARGS)                                                          \
	F(cuLaunchCooperativeKernel_ptsz, DRIVER_COOPERATIVE_ARGS)                                                     \
	F(cuMemAlloc_v2, (DPTR * addr, size_t bytes))                                                                  \
	F(cuMemAllocManaged, (DPTR * addr, size_t bytes, unsigned flags))                                              \
	F(cuMemAllocPitch_v2, (DPTR * addr, size_t * pitch, size_t width, size_t height, unsigned element))            \
	F(cuMemAllocHost_v2, (void **addr, size_t bytes))                                                              \
	F(cuMemHostAlloc, (void **addr, size_t bytes, unsigned flags))                                                 \
	F(cuMemAllocAsync, (DPTR * addr, size_t bytes, STREAM))                                                        \
	F(cuMemAllocAsync_ptsz, (DPTR * addr, size_t bytes, STREAM))                                                   \
	F(cuMemAllocFromPoolAsync, (DPTR * addr, size_t bytes, struct CUmemPoolHandle_st * pool, STREAM))              \
	F(cuMemAllocFromPoolAsync_ptsz, (DPTR * addr, size_t bytes, struct CUmemPoolHandle_st * pool, STREAM))         \
	F(cuMemFree_v2, (DPTR addr))                                                                                   \
	F(cuMemFreeHost, (void *addr))                                                                                 \
	F(cuMemFreeAsync, (DPTR addr, STREAM))                                                                         \
	F(cuMemFreeAsync_ptsz, (DPTR addr, STREAM))                                                                    \
	F(cuMemcpy, (DPTR dst, DPTR src, size_t bytes))                                                                \
	F(cuMemcpy_ptds, (DPTR dst, DPTR src, size_t bytes))                                                           \
	F(cuMemcpyHtoD_v2, (DPTR dst, const void *src, size_t bytes))                                                  \
	F(cuMemcpyDtoH_v2, (void *dst, DPTR src, size_t bytes))                                                        \
	F(cuMemcpyDtoD_v2, (DPTR dst, DPTR src, size_t bytes))                                                         \
	F(cuMemcpyAsync, (DPTR dst, DPTR src, size_t bytes, STREAM))                                                   \
	F(cuMemcpyAsync_ptsz, (DPTR dst, DPTR src, size_t bytes, STREAM))                                              \
	F(cuMemcpy2D_v2, (const struct driver_copy_2d *copy))                                                          \
	F(cuMemcpy2D_v2_ptds, (const struct driver_copy_2d *copy))                                                     \
	F(cuMemcpy2DAsync_v2, (const struct driver_copy_2d *copy, STREAM))                                             \
	F(cuMemcpy2DAsync_v2_ptsz, (const struct driver_copy_2d *copy, STREAM))                                        \
	F(cuMemcpyPeer, (DPTR dst, void *dst_context, DPTR src, void *src_context, size_t bytes))                      \
	F(cuMemcpyPeerAsync, (DPTR dst, void *dst_context, DPTR src, void *src_context, size_t bytes, STREAM))         \
	F(cuMemsetD8_v2, (DPTR addr, unsigned char value, size_t bytes))                                               \
	F(cuMemsetD8_v2_ptds, (DPTR addr, unsigned char value, size_t bytes))                                          \
	F(cuMemsetD8Async, (DPTR addr, unsigned char value, size_t bytes, STREAM))                                     \
	F(cuMemsetD8Async_ptsz, (DPTR addr, unsigned char value, size_t bytes, STREAM))                                \
	F(cuCtxSynchronize, (void))                                                                                    \
	F(cuStreamSynchronize, (STREAM))                                                                               \
	F(cuStreamSynchronize_ptsz, (STREAM))                                                                          \
	F(cuEventSynchronize, (EVENT))                                                                                 \
	F(cuStreamWaitEvent, (STREAM, EVENT, unsigned flags))                                                          \
	F(cuStreamWaitEvent_ptsz, (STREAM, EVENT, unsigned flags))                                                     \
	F(cuStreamCreate, (struct CUstream_st * *stream, unsigned flags))                                              \
	F(cuStreamDestroy_v2, (STREAM))                                                                                \
	F(cuEventCreate, (struct CUevent_st * *event, unsigned flags))                                                 \
	F(cuEventDestroy_v2, (EVENT))

#define FUNCTION_PROTOTYPE_RUNTIME(kind, name, params) int name params;
#define FUNCTION_PROTOTYPE_DRIVER(name, params) int name params;

RUNTIME_CALLS(FUNCTION_PROTOTYPE_RUNTIME)
DRIVER_CALLS(FUNCTION_PROTOTYPE_DRIVER)
const char *cudaGetErrorString(int error);
const char *cudaGetErrorName(int error);

#endif
