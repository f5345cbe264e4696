/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/workload/variants.h"

#define COPY_BYTES (UINT64_C(16) << 10)
#define ROW_BYTES (UINT64_C(1) << 10)
#define ROWS 16

struct variant {
	int (*call)(struct worker *w, struct taken *taken, uint64_t bytes);
	bool pinned; /* it allocates host memory */
};

#define PICK(list, turn) (&(list)[(turn) % (sizeof(list) / sizeof((list)[0]))])
#define VARIANT(name, ...)                                                                                             \
	static int call_##name(struct worker *w, struct taken *taken, uint64_t bytes)                                  \
	{                                                                                                              \
		struct run *run = w->run;                                                                              \
                                                                                                                       \
		(void)taken, (void)bytes, (void)run;                                                                   \
		return CALL(w, name, __VA_ARGS__);                                                                     \
	}

static const char kernel[] = "kernel";
static const struct dim3 grid = {8, 4, 2}, block = {32, 4, 1};

#define LAUNCH_GIVEN kernel, grid, block, NULL, 0, run->stream
#define CONFIG_GIVEN                                                                                                   \
	&(const struct runtime_launch_config){.grid = grid, .block = block, .stream = run->stream}, kernel, NULL

VARIANT(cudaLaunchKernel, LAUNCH_GIVEN)
VARIANT(cudaLaunchKernel_ptsz, LAUNCH_GIVEN)
VARIANT(__cudaLaunchKernel, LAUNCH_GIVEN)
VARIANT(__cudaLaunchKernel_ptsz, LAUNCH_GIVEN)
VARIANT(cudaLaunchCooperativeKernel, LAUNCH_GIVEN)
VARIANT(cudaLaunchCooperativeKernel_ptsz, LAUNCH_GIVEN)
VARIANT(cudaLaunchKernelExC, CONFIG_GIVEN)
VARIANT(cudaLaunchKernelExC_ptsz, CONFIG_GIVEN)

VARIANT(cudaMalloc, &taken->addr, bytes)
VARIANT(cudaMallocManaged, &taken->addr, bytes, 1)
VARIANT(cudaMallocPitch, &taken->addr, &(size_t){0}, ROW_BYTES, bytes / ROW_BYTES)
VARIANT(cudaMallocHost, &taken->addr, bytes)
VARIANT(cudaHostAlloc, &taken->addr, bytes, 0)
VARIANT(cudaMallocAsync, &taken->addr, bytes, run->stream)
VARIANT(cudaMallocAsync_ptsz, &taken->addr, bytes, run->stream)
VARIANT(cudaMallocFromPoolAsync, &taken->addr, bytes, NULL, run->stream)
VARIANT(cudaMallocFromPoolAsync_ptsz, &taken->addr, bytes, NULL, run->stream)

VARIANT(cudaFree, taken->addr)
VARIANT(cudaFreeHost, taken->addr)
VARIANT(cudaFreeAsync, taken->addr, run->stream)
VARIANT(cudaFreeAsync_ptsz, taken->addr, run->stream)

VARIANT(cudaMemcpy, run->device, run->pinned, COPY_BYTES, HOST_TO_DEVICE)
VARIANT(cudaMemcpy_ptds, run->pinned, run->device, COPY_BYTES, DEVICE_TO_HOST)
VARIANT(cudaMemcpyAsync, run->pinned, run->device, COPY_BYTES, DEVICE_TO_HOST, run->stream)
VARIANT(cudaMemcpyAsync_ptsz, run->device, run->pinned, COPY_BYTES, HOST_TO_DEVICE, run->stream)
VARIANT(cudaMemcpy2D, run->device, ROW_BYTES, run->pinned, ROW_BYTES, ROW_BYTES, ROWS, HOST_TO_DEVICE)
VARIANT(cudaMemcpy2D_ptds, run->device, ROW_BYTES, run->pinned, ROW_BYTES, ROW_BYTES, ROWS, BY_ADDRESS)
VARIANT(cudaMemcpy2DAsync, run->pinned, ROW_BYTES, run->device, ROW_BYTES, ROW_BYTES, ROWS, DEVICE_TO_HOST, run->stream)
VARIANT(cudaMemcpy2DAsync_ptsz, run->pinned, ROW_BYTES, run->device, ROW_BYTES, ROW_BYTES, ROWS, BY_ADDRESS,
	run->stream)
VARIANT(cudaMemcpyPeer, run->device, 0, run->device, 0, COPY_BYTES)
VARIANT(cudaMemcpyPeerAsync, run->device, 0, run->device, 0, COPY_BYTES, run->stream)

VARIANT(cudaMemset, run->device, 0, COPY_BYTES)
VARIANT(cudaMemset_ptds, run->device, 255, COPY_BYTES)
VARIANT(cudaMemsetAsync, run->device, 0, COPY_BYTES, run->stream)
VARIANT(cudaMemsetAsync_ptsz, run->device, 1, COPY_BYTES, run->stream)

static int call_cudaDeviceSynchronize(struct worker *w, struct taken *taken, uint64_t bytes)
{
	(void)taken, (void)bytes;
	return CALL(w, cudaDeviceSynchronize);
}

VARIANT(cudaStreamSynchronize, run->stream)
VARIANT(cudaStreamSynchronize_ptsz, run->stream)
VARIANT(cudaEventSynchronize, run->event)
VARIANT(cudaStreamWaitEvent, run->stream, run->event, 0)
VARIANT(cudaStreamWaitEvent_ptsz, run->stream, run->event, 0)

static const struct variant launches[] = {
	{call_cudaLaunchKernel, false},
	{call_cudaLaunchKernel_ptsz, false},
	{call___cudaLaunchKernel, false},
	{call___cudaLaunchKernel_ptsz, false},
	{call_cudaLaunchCooperativeKernel, false},
	{call_cudaLaunchCooperativeKernel_ptsz, false},
	{call_cudaLaunchKernelExC, false},
	{call_cudaLaunchKernelExC_ptsz, false},
};

static const struct variant allocs[] = {
	{call_cudaMalloc, false},
	{call_cudaMallocManaged, false},
	{call_cudaMallocPitch, false},
	{call_cudaMallocHost, true},
	{call_cudaHostAlloc, true},
	{call_cudaMallocAsync, false},
	{call_cudaMallocAsync_ptsz, false},
	{call_cudaMallocFromPoolAsync, false},
	{call_cudaMallocFromPoolAsync_ptsz, false},
};

static const struct variant device_frees[] = {
	{call_cudaFree, false},
	{call_cudaFreeAsync, false},
	{call_cudaFreeAsync_ptsz, false},
};

static const struct variant copies[] = {
	{call_cudaMemcpy, false},           {call_cudaMemcpy_ptds, false},        {call_cudaMemcpyAsync, false},
	{call_cudaMemcpyAsync_ptsz, false}, {call_cudaMemcpy2D, false},           {call_cudaMemcpy2D_ptds, false},
	{call_cudaMemcpy2DAsync, false},    {call_cudaMemcpy2DAsync_ptsz, false}, {call_cudaMemcpyPeer, false},
	{call_cudaMemcpyPeerAsync, false},
};

static const struct variant sets[] = {
	{call_cudaMemset, false},
	{call_cudaMemset_ptds, false},
	{call_cudaMemsetAsync, false},
	{call_cudaMemsetAsync_ptsz, false},
};

static const struct variant waits[] = {
	{call_cudaDeviceSynchronize, false},      {call_cudaStreamSynchronize, false},
	{call_cudaStreamSynchronize_ptsz, false}, {call_cudaEventSynchronize, false},
	{call_cudaStreamWaitEvent, false},        {call_cudaStreamWaitEvent_ptsz, false},
};

int variant_launch(struct worker *w, uint64_t turn)
{
	return PICK(launches, turn)->call(w, NULL, 0);
}

int variant_copy(struct worker *w, uint64_t turn)
{
	return PICK(copies, turn)->call(w, NULL, 0);
}

int variant_set(struct worker *w, uint64_t turn)
{
	return PICK(sets, turn)->call(w, NULL, 0);
}

int variant_wait(struct worker *w, uint64_t turn)
{
	return PICK(waits, turn)->call(w, NULL, 0);
}

int variant_alloc(struct worker *w, uint64_t turn, uint64_t bytes, struct taken *taken)
{
	const struct variant *v = PICK(allocs, turn);

	*taken = (struct taken){.pinned = v->pinned};
	return v->call(w, taken, bytes);
}

int variant_free(struct worker *w, uint64_t turn, const struct taken *taken)
{
	struct taken t = *taken;

	if (t.pinned)
		return call_cudaFreeHost(w, &t, 0);
	/* Managed memory can be freed in one way only; a turn that allocated it is known by its number. */
	if (PICK(allocs, turn)->call == call_cudaMallocManaged)
		return call_cudaFree(w, &t, 0);
	return PICK(device_frees, turn)->call(w, &t, 0);
}
