/* SPDX-License-Identifier: Apache-2.0 */
#include "record/probes.h"

#include <string.h>

/* cudaMemcpyKind */
#define COPY_DEVICE_TO_DEVICE 3

#define LATE 0
#define EARLY 1
#define NO_STACK 0
#define STACK 1

/* See struct peek: argument, words to skip behind it, how many, where to. */
#define PEEK(arg, from, n, slot)                                                                                       \
	{                                                                                                              \
		arg, from, n, slot                                                                                     \
	}
#define PLAN(when, stack, words, ...)                                                                                  \
	{                                                                                                              \
		{__VA_ARGS__}, when, stack, words, 0                                                                   \
	}

/* struct cudaExtent, 24 bytes by value: x86-64 puts it on the stack, arm64 passes its address. */
#if defined(__x86_64__)
#define EXTENT_PEEKS PEEK(0, 0, 2, 1)
#define EXTENT_BYTES PRODUCT3(WORD(2), WORD(7), WORD(8))
#else
#define EXTENT_PEEKS PEEK(1, 1, 2, 7), PEEK(0, 0, 2, 1)
#define EXTENT_BYTES PRODUCT3(WORD(2), WORD(7), WORD(8))
#endif

/*
 * Argument words after the System V (x86-64) and AAPCS64 conventions: six or eight registers, then the stack. A dim3
 * takes two words: x and y, then z. Layouts of cudaLaunchConfig_t, cudaMemcpy3DParms and cudaMemcpy3DPeerParms are
 * those of cuda_runtime_api.h since CUDA 11.8, 4 and 4. The size of an array is not told: its layout is the driver's.
 *
 * Values: launch: function, stream, grid x y z, block x y z, shared; alloc: bytes, addr, stream, memory;
 * free: addr, stream, memory; copy: dst, src, bytes, direction, stream; set: addr, bytes, value, stream; wait: object.
 *
 * Append only; ids are never used again for something else. (Captures carry the table, so that this is courtesy.)
 */
/* clang-format off */
const struct probe_spec probe_table[] = {
	{"sched_switch", PROBE_SWITCH, KIND_switch, PLAN(LATE, NO_STACK, 0, PEEK(0, 0, 0, 0)), {0}},
	{"sched_waking", PROBE_WAKING, KIND_waking, PLAN(LATE, NO_STACK, 0, PEEK(0, 0, 0, 0)), {0}},
	{"futex", PROBE_FUTEX, KIND_futex, PLAN(LATE, NO_STACK, 0, PEEK(0, 0, 0, 0)), {0}},
	{"process_fork", PROBE_FORK, KIND_fork, PLAN(LATE, NO_STACK, 0, PEEK(0, 0, 0, 0)), {0}},
	{"process_exec", PROBE_EXEC, KIND_exec, PLAN(LATE, NO_STACK, 0, PEEK(0, 0, 0, 0)), {0}},
	{"process_exit", PROBE_EXIT, KIND_exit, PLAN(LATE, NO_STACK, 0, PEEK(0, 0, 0, 0)), {0}},
	{"thread_name", PROBE_THREAD_NAME, KIND_thread, PLAN(LATE, NO_STACK, 0, PEEK(0, 0, 0, 0)), {0}},
	{"process_name", PROBE_PROCESS_NAME, KIND_process, PLAN(LATE, NO_STACK, 0, PEEK(0, 0, 0, 0)), {0}},
	{"library_mapped", PROBE_MAPPED, 0, PLAN(LATE, NO_STACK, 0, PEEK(0, 0, 0, 0)), {0}},
	{"cudaLaunchKernel", 32, KIND_launch, PLAN(LATE, NO_STACK, 9, PEEK(0, 0, 0, 0)), {WORD(0), WORD(7), LOW(1), HIGH(1), LOW(2), LOW(3), HIGH(3), LOW(4), WORD(6)}},
	{"cudaLaunchKernel_ptsz", 33, KIND_launch, PLAN(LATE, NO_STACK, 9, PEEK(0, 0, 0, 0)), {WORD(0), WORD(7), LOW(1), HIGH(1), LOW(2), LOW(3), HIGH(3), LOW(4), WORD(6)}},
	{"__cudaLaunchKernel", 34, KIND_launch, PLAN(LATE, NO_STACK, 9, PEEK(0, 0, 0, 0)), {WORD(0), WORD(7), LOW(1), HIGH(1), LOW(2), LOW(3), HIGH(3), LOW(4), WORD(6)}},
	{"__cudaLaunchKernel_ptsz", 35, KIND_launch, PLAN(LATE, NO_STACK, 9, PEEK(0, 0, 0, 0)), {WORD(0), WORD(7), LOW(1), HIGH(1), LOW(2), LOW(3), HIGH(3), LOW(4), WORD(6)}},
	{"cudaLaunchCooperativeKernel", 36, KIND_launch, PLAN(LATE, NO_STACK, 9, PEEK(0, 0, 0, 0)), {WORD(0), WORD(7), LOW(1), HIGH(1), LOW(2), LOW(3), HIGH(3), LOW(4), WORD(6)}},
	{"cudaLaunchCooperativeKernel_ptsz", 37, KIND_launch, PLAN(LATE, NO_STACK, 9, PEEK(0, 0, 0, 0)), {WORD(0), WORD(7), LOW(1), HIGH(1), LOW(2), LOW(3), HIGH(3), LOW(4), WORD(6)}},
	{"cudaLaunchKernelExC", 38, KIND_launch, PLAN(EARLY, NO_STACK, 6, PEEK(0, 0, 5, 3)), {WORD(1), WORD(7), LOW(3), HIGH(3), LOW(4), HIGH(4), LOW(5), HIGH(5), WORD(6)}},
	{"cudaLaunchKernelExC_ptsz", 39, KIND_launch, PLAN(EARLY, NO_STACK, 6, PEEK(0, 0, 5, 3)), {WORD(1), WORD(7), LOW(3), HIGH(3), LOW(4), HIGH(4), LOW(5), HIGH(5), WORD(6)}},
	{"cudaMalloc", 40, KIND_alloc, PLAN(LATE, STACK, 6, PEEK(0, 0, 1, 2)), {WORD(1), WORD(2), 0, CONSTANT(MEM_DEVICE)}},
	{"cudaMallocManaged", 41, KIND_alloc, PLAN(LATE, STACK, 6, PEEK(0, 0, 1, 3)), {WORD(1), WORD(3), 0, CONSTANT(MEM_MANAGED)}},
	{"cudaMallocPitch", 42, KIND_alloc, PLAN(LATE, STACK, 6, PEEK(0, 0, 1, 4), PEEK(1, 0, 1, 5)), {PRODUCT(WORD(5), WORD(3)), WORD(4), 0, CONSTANT(MEM_DEVICE)}},
	{"cudaMalloc3D", 43, KIND_alloc, PLAN(LATE, STACK, 9, EXTENT_PEEKS), {EXTENT_BYTES, WORD(1), 0, CONSTANT(MEM_DEVICE)}},
	{"cudaMallocHost", 44, KIND_alloc, PLAN(LATE, STACK, 6, PEEK(0, 0, 1, 2)), {WORD(1), WORD(2), 0, CONSTANT(MEM_PINNED)}},
	{"cudaHostAlloc", 45, KIND_alloc, PLAN(LATE, STACK, 6, PEEK(0, 0, 1, 3)), {WORD(1), WORD(3), 0, CONSTANT(MEM_PINNED)}},
	{"cudaMallocAsync", 46, KIND_alloc, PLAN(LATE, STACK, 6, PEEK(0, 0, 1, 3)), {WORD(1), WORD(3), WORD(2), CONSTANT(MEM_DEVICE)}},
	{"cudaMallocAsync_ptsz", 47, KIND_alloc, PLAN(LATE, STACK, 6, PEEK(0, 0, 1, 3)), {WORD(1), WORD(3), WORD(2), CONSTANT(MEM_DEVICE)}},
	{"cudaMallocFromPoolAsync", 48, KIND_alloc, PLAN(LATE, STACK, 6, PEEK(0, 0, 1, 4)), {WORD(1), WORD(4), WORD(3), CONSTANT(MEM_DEVICE)}},
	{"cudaMallocFromPoolAsync_ptsz", 49, KIND_alloc, PLAN(LATE, STACK, 6, PEEK(0, 0, 1, 4)), {WORD(1), WORD(4), WORD(3), CONSTANT(MEM_DEVICE)}},
	{"cudaMallocArray", 50, KIND_alloc, PLAN(LATE, STACK, 6, PEEK(0, 0, 1, 5)), {0, WORD(5), 0, CONSTANT(MEM_ARRAY)}},
	{"cudaMalloc3DArray", 51, KIND_alloc, PLAN(LATE, STACK, 6, PEEK(0, 0, 1, 5)), {0, WORD(5), 0, CONSTANT(MEM_ARRAY)}},
	{"cudaMallocMipmappedArray", 52, KIND_alloc, PLAN(LATE, STACK, 6, PEEK(0, 0, 1, 5)), {0, WORD(5), 0, CONSTANT(MEM_ARRAY)}},
	{"cudaFree", 53, KIND_free, PLAN(LATE, NO_STACK, 6, PEEK(0, 0, 0, 0)), {WORD(0), 0, CONSTANT(MEM_DEVICE)}},
	{"cudaFreeHost", 54, KIND_free, PLAN(LATE, NO_STACK, 6, PEEK(0, 0, 0, 0)), {WORD(0), 0, CONSTANT(MEM_PINNED)}},
	{"cudaFreeAsync", 55, KIND_free, PLAN(LATE, NO_STACK, 6, PEEK(0, 0, 0, 0)), {WORD(0), WORD(1), CONSTANT(MEM_DEVICE)}},
	{"cudaFreeAsync_ptsz", 56, KIND_free, PLAN(LATE, NO_STACK, 6, PEEK(0, 0, 0, 0)), {WORD(0), WORD(1), CONSTANT(MEM_DEVICE)}},
	{"cudaFreeArray", 57, KIND_free, PLAN(LATE, NO_STACK, 6, PEEK(0, 0, 0, 0)), {WORD(0), 0, CONSTANT(MEM_ARRAY)}},
	{"cudaFreeMipmappedArray", 58, KIND_free, PLAN(LATE, NO_STACK, 6, PEEK(0, 0, 0, 0)), {WORD(0), 0, CONSTANT(MEM_ARRAY)}},
	{"cudaMemcpy", 59, KIND_copy, PLAN(LATE, NO_STACK, 6, PEEK(0, 0, 0, 0)), {WORD(0), WORD(1), WORD(2), LOW(3), 0}},
	{"cudaMemcpy_ptds", 60, KIND_copy, PLAN(LATE, NO_STACK, 6, PEEK(0, 0, 0, 0)), {WORD(0), WORD(1), WORD(2), LOW(3), 0}},
	{"cudaMemcpyAsync", 61, KIND_copy, PLAN(LATE, NO_STACK, 6, PEEK(0, 0, 0, 0)), {WORD(0), WORD(1), WORD(2), LOW(3), WORD(4)}},
	{"cudaMemcpyAsync_ptsz", 62, KIND_copy, PLAN(LATE, NO_STACK, 6, PEEK(0, 0, 0, 0)), {WORD(0), WORD(1), WORD(2), LOW(3), WORD(4)}},
	{"cudaMemcpy2D", 63, KIND_copy, PLAN(LATE, NO_STACK, 9, PEEK(0, 0, 0, 0)), {WORD(0), WORD(2), PRODUCT(WORD(4), WORD(5)), LOW(6), 0}},
	{"cudaMemcpy2D_ptds", 64, KIND_copy, PLAN(LATE, NO_STACK, 9, PEEK(0, 0, 0, 0)), {WORD(0), WORD(2), PRODUCT(WORD(4), WORD(5)), LOW(6), 0}},
	{"cudaMemcpy2DAsync", 65, KIND_copy, PLAN(LATE, NO_STACK, 9, PEEK(0, 0, 0, 0)), {WORD(0), WORD(2), PRODUCT(WORD(4), WORD(5)), LOW(6), WORD(7)}},
	{"cudaMemcpy2DAsync_ptsz", 66, KIND_copy, PLAN(LATE, NO_STACK, 9, PEEK(0, 0, 0, 0)), {WORD(0), WORD(2), PRODUCT(WORD(4), WORD(5)), LOW(6), WORD(7)}},
	{"cudaMemcpyToSymbol", 67, KIND_copy, PLAN(LATE, NO_STACK, 6, PEEK(0, 0, 0, 0)), {WORD(0), WORD(1), WORD(2), LOW(4), 0}},
	{"cudaMemcpyToSymbol_ptds", 68, KIND_copy, PLAN(LATE, NO_STACK, 6, PEEK(0, 0, 0, 0)), {WORD(0), WORD(1), WORD(2), LOW(4), 0}},
	{"cudaMemcpyToSymbolAsync", 69, KIND_copy, PLAN(LATE, NO_STACK, 6, PEEK(0, 0, 0, 0)), {WORD(0), WORD(1), WORD(2), LOW(4), WORD(5)}},
	{"cudaMemcpyToSymbolAsync_ptsz", 70, KIND_copy, PLAN(LATE, NO_STACK, 6, PEEK(0, 0, 0, 0)), {WORD(0), WORD(1), WORD(2), LOW(4), WORD(5)}},
	{"cudaMemcpyFromSymbol", 71, KIND_copy, PLAN(LATE, NO_STACK, 6, PEEK(0, 0, 0, 0)), {WORD(0), WORD(1), WORD(2), LOW(4), 0}},
	{"cudaMemcpyFromSymbol_ptds", 72, KIND_copy, PLAN(LATE, NO_STACK, 6, PEEK(0, 0, 0, 0)), {WORD(0), WORD(1), WORD(2), LOW(4), 0}},
	{"cudaMemcpyFromSymbolAsync", 73, KIND_copy, PLAN(LATE, NO_STACK, 6, PEEK(0, 0, 0, 0)), {WORD(0), WORD(1), WORD(2), LOW(4), WORD(5)}},
	{"cudaMemcpyFromSymbolAsync_ptsz", 74, KIND_copy, PLAN(LATE, NO_STACK, 6, PEEK(0, 0, 0, 0)), {WORD(0), WORD(1), WORD(2), LOW(4), WORD(5)}},
	{"cudaMemcpyToArray", 75, KIND_copy, PLAN(LATE, NO_STACK, 6, PEEK(0, 0, 0, 0)), {WORD(0), WORD(3), WORD(4), LOW(5), 0}},
	{"cudaMemcpyToArray_ptds", 76, KIND_copy, PLAN(LATE, NO_STACK, 6, PEEK(0, 0, 0, 0)), {WORD(0), WORD(3), WORD(4), LOW(5), 0}},
	{"cudaMemcpyToArrayAsync", 77, KIND_copy, PLAN(LATE, NO_STACK, 9, PEEK(0, 0, 0, 0)), {WORD(0), WORD(3), WORD(4), LOW(5), WORD(6)}},
	{"cudaMemcpyToArrayAsync_ptsz", 78, KIND_copy, PLAN(LATE, NO_STACK, 9, PEEK(0, 0, 0, 0)), {WORD(0), WORD(3), WORD(4), LOW(5), WORD(6)}},
	{"cudaMemcpyFromArray", 79, KIND_copy, PLAN(LATE, NO_STACK, 6, PEEK(0, 0, 0, 0)), {WORD(0), WORD(1), WORD(4), LOW(5), 0}},
	{"cudaMemcpyFromArray_ptds", 80, KIND_copy, PLAN(LATE, NO_STACK, 6, PEEK(0, 0, 0, 0)), {WORD(0), WORD(1), WORD(4), LOW(5), 0}},
	{"cudaMemcpyFromArrayAsync", 81, KIND_copy, PLAN(LATE, NO_STACK, 9, PEEK(0, 0, 0, 0)), {WORD(0), WORD(1), WORD(4), LOW(5), WORD(6)}},
	{"cudaMemcpyFromArrayAsync_ptsz", 82, KIND_copy, PLAN(LATE, NO_STACK, 9, PEEK(0, 0, 0, 0)), {WORD(0), WORD(1), WORD(4), LOW(5), WORD(6)}},
	{"cudaMemcpyArrayToArray", 83, KIND_copy, PLAN(LATE, NO_STACK, 9, PEEK(0, 0, 0, 0)), {WORD(0), WORD(3), WORD(6), LOW(7), 0}},
	{"cudaMemcpyArrayToArray_ptds", 84, KIND_copy, PLAN(LATE, NO_STACK, 9, PEEK(0, 0, 0, 0)), {WORD(0), WORD(3), WORD(6), LOW(7), 0}},
	{"cudaMemcpy2DToArray", 85, KIND_copy, PLAN(LATE, NO_STACK, 9, PEEK(0, 0, 0, 0)), {WORD(0), WORD(3), PRODUCT(WORD(5), WORD(6)), LOW(7), 0}},
	{"cudaMemcpy2DToArray_ptds", 86, KIND_copy, PLAN(LATE, NO_STACK, 9, PEEK(0, 0, 0, 0)), {WORD(0), WORD(3), PRODUCT(WORD(5), WORD(6)), LOW(7), 0}},
	{"cudaMemcpy2DToArrayAsync", 87, KIND_copy, PLAN(LATE, NO_STACK, 9, PEEK(0, 0, 0, 0)), {WORD(0), WORD(3), PRODUCT(WORD(5), WORD(6)), LOW(7), WORD(8)}},
	{"cudaMemcpy2DToArrayAsync_ptsz", 88, KIND_copy, PLAN(LATE, NO_STACK, 9, PEEK(0, 0, 0, 0)), {WORD(0), WORD(3), PRODUCT(WORD(5), WORD(6)), LOW(7), WORD(8)}},
	{"cudaMemcpy2DFromArray", 89, KIND_copy, PLAN(LATE, NO_STACK, 9, PEEK(0, 0, 0, 0)), {WORD(0), WORD(2), PRODUCT(WORD(5), WORD(6)), LOW(7), 0}},
	{"cudaMemcpy2DFromArray_ptds", 90, KIND_copy, PLAN(LATE, NO_STACK, 9, PEEK(0, 0, 0, 0)), {WORD(0), WORD(2), PRODUCT(WORD(5), WORD(6)), LOW(7), 0}},
	{"cudaMemcpy2DFromArrayAsync", 91, KIND_copy, PLAN(LATE, NO_STACK, 9, PEEK(0, 0, 0, 0)), {WORD(0), WORD(2), PRODUCT(WORD(5), WORD(6)), LOW(7), WORD(8)}},
	{"cudaMemcpy2DFromArrayAsync_ptsz", 92, KIND_copy, PLAN(LATE, NO_STACK, 9, PEEK(0, 0, 0, 0)), {WORD(0), WORD(2), PRODUCT(WORD(5), WORD(6)), LOW(7), WORD(8)}},
	{"cudaMemcpy2DArrayToArray", 93, KIND_copy, PLAN(LATE, NO_STACK, 9, PEEK(0, 0, 0, 0)), {WORD(0), WORD(3), PRODUCT(WORD(6), WORD(7)), LOW(8), 0}},
	{"cudaMemcpy2DArrayToArray_ptds", 94, KIND_copy, PLAN(LATE, NO_STACK, 9, PEEK(0, 0, 0, 0)), {WORD(0), WORD(3), PRODUCT(WORD(6), WORD(7)), LOW(8), 0}},
	{"cudaMemcpy3D", 95, KIND_copy, PLAN(EARLY, NO_STACK, 6, PEEK(0, 4, 1, 2), PEEK(0, 12, 1, 3), PEEK(0, 16, 4, 4)), {WORD(3), WORD(2), PRODUCT3(WORD(4), WORD(5), WORD(6)), LOW(7), 0}},
	{"cudaMemcpy3D_ptds", 96, KIND_copy, PLAN(EARLY, NO_STACK, 6, PEEK(0, 4, 1, 2), PEEK(0, 12, 1, 3), PEEK(0, 16, 4, 4)), {WORD(3), WORD(2), PRODUCT3(WORD(4), WORD(5), WORD(6)), LOW(7), 0}},
	{"cudaMemcpy3DAsync", 97, KIND_copy, PLAN(EARLY, NO_STACK, 6, PEEK(0, 4, 1, 2), PEEK(0, 12, 1, 3), PEEK(0, 16, 4, 4)), {WORD(3), WORD(2), PRODUCT3(WORD(4), WORD(5), WORD(6)), LOW(7), WORD(1)}},
	{"cudaMemcpy3DAsync_ptsz", 98, KIND_copy, PLAN(EARLY, NO_STACK, 6, PEEK(0, 4, 1, 2), PEEK(0, 12, 1, 3), PEEK(0, 16, 4, 4)), {WORD(3), WORD(2), PRODUCT3(WORD(4), WORD(5), WORD(6)), LOW(7), WORD(1)}},
	{"cudaMemcpy3DPeer", 99, KIND_copy, PLAN(EARLY, NO_STACK, 6, PEEK(0, 4, 1, 2), PEEK(0, 13, 1, 3), PEEK(0, 18, 3, 4)), {WORD(3), WORD(2), PRODUCT3(WORD(4), WORD(5), WORD(6)), CONSTANT(COPY_DEVICE_TO_DEVICE), 0}},
	{"cudaMemcpy3DPeer_ptds", 100, KIND_copy, PLAN(EARLY, NO_STACK, 6, PEEK(0, 4, 1, 2), PEEK(0, 13, 1, 3), PEEK(0, 18, 3, 4)), {WORD(3), WORD(2), PRODUCT3(WORD(4), WORD(5), WORD(6)), CONSTANT(COPY_DEVICE_TO_DEVICE), 0}},
	{"cudaMemcpy3DPeerAsync", 101, KIND_copy, PLAN(EARLY, NO_STACK, 6, PEEK(0, 4, 1, 2), PEEK(0, 13, 1, 3), PEEK(0, 18, 3, 4)), {WORD(3), WORD(2), PRODUCT3(WORD(4), WORD(5), WORD(6)), CONSTANT(COPY_DEVICE_TO_DEVICE), WORD(1)}},
	{"cudaMemcpy3DPeerAsync_ptsz", 102, KIND_copy, PLAN(EARLY, NO_STACK, 6, PEEK(0, 4, 1, 2), PEEK(0, 13, 1, 3), PEEK(0, 18, 3, 4)), {WORD(3), WORD(2), PRODUCT3(WORD(4), WORD(5), WORD(6)), CONSTANT(COPY_DEVICE_TO_DEVICE), WORD(1)}},
	{"cudaMemcpyPeer", 103, KIND_copy, PLAN(LATE, NO_STACK, 6, PEEK(0, 0, 0, 0)), {WORD(0), WORD(2), WORD(4), CONSTANT(COPY_DEVICE_TO_DEVICE), 0}},
	{"cudaMemcpyPeerAsync", 104, KIND_copy, PLAN(LATE, NO_STACK, 6, PEEK(0, 0, 0, 0)), {WORD(0), WORD(2), WORD(4), CONSTANT(COPY_DEVICE_TO_DEVICE), WORD(5)}},
	{"cudaMemset", 105, KIND_set, PLAN(LATE, NO_STACK, 6, PEEK(0, 0, 0, 0)), {WORD(0), WORD(2), LOW(1), 0}},
	{"cudaMemset_ptds", 106, KIND_set, PLAN(LATE, NO_STACK, 6, PEEK(0, 0, 0, 0)), {WORD(0), WORD(2), LOW(1), 0}},
	{"cudaMemsetAsync", 107, KIND_set, PLAN(LATE, NO_STACK, 6, PEEK(0, 0, 0, 0)), {WORD(0), WORD(2), LOW(1), WORD(3)}},
	{"cudaMemsetAsync_ptsz", 108, KIND_set, PLAN(LATE, NO_STACK, 6, PEEK(0, 0, 0, 0)), {WORD(0), WORD(2), LOW(1), WORD(3)}},
	{"cudaMemset2D", 109, KIND_set, PLAN(LATE, NO_STACK, 6, PEEK(0, 0, 0, 0)), {WORD(0), PRODUCT(WORD(3), WORD(4)), LOW(2), 0}},
	{"cudaMemset2D_ptds", 110, KIND_set, PLAN(LATE, NO_STACK, 6, PEEK(0, 0, 0, 0)), {WORD(0), PRODUCT(WORD(3), WORD(4)), LOW(2), 0}},
	{"cudaMemset2DAsync", 111, KIND_set, PLAN(LATE, NO_STACK, 6, PEEK(0, 0, 0, 0)), {WORD(0), PRODUCT(WORD(3), WORD(4)), LOW(2), WORD(5)}},
	{"cudaMemset2DAsync_ptsz", 112, KIND_set, PLAN(LATE, NO_STACK, 6, PEEK(0, 0, 0, 0)), {WORD(0), PRODUCT(WORD(3), WORD(4)), LOW(2), WORD(5)}},
	{"cudaDeviceSynchronize", 113, KIND_wait, PLAN(LATE, NO_STACK, 6, PEEK(0, 0, 0, 0)), {0}},
	{"cudaStreamSynchronize", 114, KIND_wait, PLAN(LATE, NO_STACK, 6, PEEK(0, 0, 0, 0)), {WORD(0)}},
	{"cudaStreamSynchronize_ptsz", 115, KIND_wait, PLAN(LATE, NO_STACK, 6, PEEK(0, 0, 0, 0)), {WORD(0)}},
	{"cudaEventSynchronize", 116, KIND_wait, PLAN(LATE, NO_STACK, 6, PEEK(0, 0, 0, 0)), {WORD(0)}},
	{"cudaStreamWaitEvent", 117, KIND_wait, PLAN(LATE, NO_STACK, 6, PEEK(0, 0, 0, 0)), {WORD(1)}},
	{"cudaStreamWaitEvent_ptsz", 118, KIND_wait, PLAN(LATE, NO_STACK, 6, PEEK(0, 0, 0, 0)), {WORD(1)}},
};
/* clang-format on */
const size_t nprobes = sizeof(probe_table) / sizeof(probe_table[0]);

const struct probe_spec *probe_find(uint32_t id)
{
	size_t low = 0, high = nprobes;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (probe_table[mid].id == id)
			return &probe_table[mid];
		if (probe_table[mid].id < id)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

static uint64_t factor_value(uint32_t factor, const __u64 word[CALL_WORDS])
{
	uint64_t whole = word[(factor & 15) % CALL_WORDS];

	switch (factor & 0xf0) {
	case 0x90:
		return whole & UINT32_MAX;
	case 0xa0:
		return whole >> 32;
	default:
		return whole;
	}
}

uint64_t probe_value(uint32_t value, const __u64 word[CALL_WORDS])
{
	uint64_t product = 1;

	if (value & 0x80000000u)
		return value & 0x7fffffffu;
	if (!value)
		return 0;
	for (; value; value >>= 8)
		product *= factor_value(value & 0xff, word);
	return product;
}

void probe_describe(struct probe *out)
{
	for (size_t i = 0; i < nprobes; i++) {
		memset(&out[i], 0, sizeof(out[i]));
		strncpy(out[i].name, probe_table[i].name, NAME_MAX_BYTES);
		out[i].id = probe_table[i].id;
		out[i].kind = probe_table[i].kind;
	}
}
