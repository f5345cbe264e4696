/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls functions whose arguments are hard to find (on the stack, by value, behind pointers) through the types that the
 * published headers give them, and prints what each call passed: `name field=value ...`, as gpureplay --json names the
 * fields. Linked with libraries in which nothing is done: only what is passed matters.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define STREAM ((void *)0x51ea)

struct dim3 {
	unsigned x, y, z;
};

struct extent {
	size_t width, height, depth;
};

struct pitched {
	void *ptr;
	size_t pitch, xsize, ysize;
};

struct pos {
	size_t x, y, z;
};

struct copy_3d {
	void *src_array;
	struct pos src_pos;
	struct pitched src;
	void *dst_array;
	struct pos dst_pos;
	struct pitched dst;
	struct extent extent;
	int kind;
};

struct side_2d {
	size_t x, y;
	int type;
	void *host;
	unsigned long long device;
	void *array;
	size_t pitch;
};

struct driver_copy_2d {
	struct side_2d src, dst;
	size_t width, height;
};

struct side_3d {
	size_t x, y, z, lod;
	int type;
	void *host;
	unsigned long long device;
	void *array, *context;
	size_t pitch, height;
};

struct driver_copy_3d {
	struct side_3d src, dst;
	size_t width, height, depth;
};

struct runtime_config {
	struct dim3 grid, block;
	size_t shared;
	void *stream, *attributes;
	unsigned n;
};

struct driver_config {
	unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared;
	void *stream, *attributes;
	unsigned n;
};

struct unique_id {
	char bytes[128];
};

typedef unsigned long long device_pointer;
int cudaLaunchKernel(const void *f, struct dim3 grid, struct dim3 block, void **args, size_t shared, void *stream);
int cudaLaunchKernelExC(const struct runtime_config *config, const void *f, void **args);
int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
		   unsigned shared, void *stream, void **params, void **extra);
int cuLaunchKernelEx(const struct driver_config *config, void *f, void **params, void **extra);
int cudaMalloc3D(struct pitched *out, struct extent extent);
int cudaMallocPitch(void **out, size_t *pitch, size_t width, size_t height);
int cuMemAlloc_v2(device_pointer *out, size_t bytes);
int cuMemCreate(unsigned long long *handle, size_t bytes, const void *prop, unsigned long long flags);
int cuMemMap(device_pointer at, size_t bytes, size_t offset, unsigned long long handle, unsigned long long flags);
int cuMemAddressReserve(device_pointer *out, size_t bytes, size_t align, device_pointer at, unsigned long long flags);
int cudaMemset3D(struct pitched at, int value, struct extent extent);
int cudaMemset3DAsync(struct pitched at, int value, struct extent extent, void *stream);
int cuMemsetD2D16_v2(device_pointer at, size_t pitch, unsigned short value, size_t width, size_t height);
int cudaMemcpy2DToArrayAsync(void *dst, size_t x, size_t y, const void *src, size_t pitch, size_t width, size_t height,
			     int kind, void *stream);
int cudaMemcpy3DAsync(const struct copy_3d *copy, void *stream);
int cudaMemcpyPeer(void *dst, int to, const void *src, int from, size_t bytes);
int cuMemcpy2DAsync_v2(const struct driver_copy_2d *copy, void *stream);
int cuMemcpy3D_v2(const struct driver_copy_3d *copy);
int cuMemcpyBatchAsync(device_pointer *dst, device_pointer *src, size_t *sizes, size_t n, void *attributes,
		       size_t *which, size_t nattributes, size_t *fail, void *stream);
int cuCtxCreate_v3(void **out, void *affinity, int naffinity, unsigned flags, int device);
int cuGraphInstantiate(void **out, void *graph, unsigned long long flags);
int ncclCommInitRank(void **out, int nranks, struct unique_id id, int rank);
int ncclAllReduce(const void *send, void *receive, size_t n, int type, int op, void *comm, void *stream);
int ncclReduce(const void *send, void *receive, size_t n, int type, int op, int root, void *comm, void *stream);
int ncclSend(const void *send, size_t n, int type, int peer, void *comm, void *stream);
int cuModuleGetFunction(void **out, void *module, const char *name);

#define AT(x) ((void *)(uintptr_t)(x))

static void launches(void)
{
	struct runtime_config runtime = {{2, 3, 4}, {5, 6, 7}, 8, STREAM, NULL, 0};
	struct driver_config driver = {2, 3, 4, 5, 6, 7, 8, STREAM, NULL, 0};
	const char *same =
		"function=0xf00 stream=0x51ea grid_x=2 grid_y=3 grid_z=4 block_x=5 block_y=6 block_z=7 shared=8";

	cudaLaunchKernel(AT(0xf00), runtime.grid, runtime.block, NULL, 8, STREAM);
	printf("cudaLaunchKernel %s\n", same);
	cudaLaunchKernelExC(&runtime, AT(0xf00), NULL);
	printf("cudaLaunchKernelExC %s\n", same);
	cuLaunchKernel(AT(0xf00), 2, 3, 4, 5, 6, 7, 8, STREAM, NULL, NULL);
	printf("cuLaunchKernel %s\n", same);
	cuLaunchKernelEx(&driver, AT(0xf00), NULL, NULL);
	printf("cuLaunchKernelEx %s\n", same);
}

static void memory(void)
{
	struct pitched pitched = {AT(0xadd0), 512, 100, 7};
	struct extent extent = {100, 7, 3};
	device_pointer at = 0xadd1;
	unsigned long long handle = 0xadd2;
	void *pointer = AT(0xadd3);
	size_t pitch = 256;

	cudaMalloc3D(&pitched, extent);
	printf("cudaMalloc3D bytes=%d addr=0xadd0 stream=0x0 memory=1\n", 512 * 7 * 3);
	cudaMallocPitch(&pointer, &pitch, 100, 5);
	printf("cudaMallocPitch bytes=%d addr=0xadd3 memory=1\n", 256 * 5);
	cuMemAlloc_v2(&at, 1 << 20);
	printf("cuMemAlloc_v2 bytes=1048576 addr=0xadd1 memory=1\n");
	cuMemCreate(&handle, 2 << 20, NULL, 0);
	printf("cuMemCreate bytes=2097152 addr=0xadd2 memory=5\n");
	cuMemAddressReserve(&at, 4 << 20, 0, 0, 0);
	printf("cuMemAddressReserve addr=0xadd1 bytes=4194304\n");
	cuMemMap(0xadd4, 4096, 8192, 0xadd5, 0);
	printf("cuMemMap addr=0xadd4 bytes=4096 handle=0xadd5 offset=8192\n");
	cudaMemset3D(pitched, 0x12345678, extent);
	printf("cudaMemset3D addr=0xadd0 bytes=2100 value=305419896 stream=0x0\n");
	cudaMemset3DAsync(pitched, 9, extent, STREAM);
	printf("cudaMemset3DAsync addr=0xadd0 bytes=2100 value=9 stream=0x51ea\n");
	cuMemsetD2D16_v2(0xadd6, 512, 0xbeef, 10, 4);
	printf("cuMemsetD2D16_v2 addr=0xadd6 bytes=80 value=48879\n");
}

static void copies(void)
{
	struct copy_3d copy = {.src = {AT(0x5cc), 1, 2, 3}, .dst_array = AT(0xd57), .extent = {10, 20, 30}, .kind = 1};
	struct driver_copy_2d two = {.src = {.type = 1, .host = AT(0x5cc), .device = 1, .array = AT(2)},
				     .dst = {.type = 2, .host = AT(3), .device = 0xd57, .array = AT(4)},
				     .width = 100,
				     .height = 7};
	struct driver_copy_3d three = {.src = {.type = 3, .host = AT(1), .device = 2, .array = AT(0x5cc)},
				       .dst = {.type = 1, .host = AT(0xd57), .device = 3, .array = AT(4)},
				       .width = 10,
				       .height = 20,
				       .depth = 30};

	cudaMemcpy2DToArrayAsync(AT(0xd57), 1, 2, AT(0x5cc), 3, 100, 7, 1, STREAM);
	printf("cudaMemcpy2DToArrayAsync dst=0xd57 src=0x5cc bytes=700 direction=1 stream=0x51ea\n");
	cudaMemcpy3DAsync(&copy, STREAM);
	printf("cudaMemcpy3DAsync dst=0x0 src=0x5cc bytes=6000 direction=1 stream=0x51ea\n");
	cudaMemcpyPeer(AT(0xd57), 3, AT(0x5cc), 0, 4096);
	printf("cudaMemcpyPeer dst=0xd57 src=0x5cc bytes=4096 direction=3 dst_device=4 src_device=1\n");
	cuMemcpy2DAsync_v2(&two, STREAM);
	printf("cuMemcpy2DAsync_v2 dst=0xd57 src=0x5cc bytes=700 direction=1 stream=0x51ea\n");
	cuMemcpy3D_v2(&three);
	printf("cuMemcpy3D_v2 dst=0xd57 src=0x5cc bytes=6000 direction=2 stream=0x0\n");
	cuMemcpyBatchAsync(NULL, NULL, NULL, 17, NULL, NULL, 0, NULL, STREAM);
	printf("cuMemcpyBatchAsync count=17 stream=0x51ea\n");
}

static void others(void)
{
	struct unique_id id = {"id"};
	void *out = AT(0xc0);

	cuCtxCreate_v3(&out, NULL, 0, 0, 5);
	printf("cuCtxCreate_v3 context=0xc0 device=6\n");
	cuGraphInstantiate(&out, AT(0x94a), 0);
	printf("cuGraphInstantiate graph=0x94a exec=0xc0\n");
	ncclCommInitRank(&out, 8, id, 3);
	printf("ncclCommInitRank comm=0xc0 rank=3 nranks=8\n");
	ncclAllReduce(AT(0x10), AT(0x20), 1000, 7, 2, AT(0xc0), STREAM);
	printf("ncclAllReduce comm=0xc0 stream=0x51ea send=0x10 receive=0x20 count=1000 datatype=7 bytes=4000 op=2 "
	       "peer=0\n");
	ncclReduce(AT(0x10), AT(0x20), 1000, 9, 0, 0, AT(0xc0), STREAM);
	printf("ncclReduce comm=0xc0 stream=0x51ea count=1000 datatype=9 bytes=2000 op=0 peer=1\n");
	ncclSend(AT(0x10), 5, 1, 6, AT(0xc0), STREAM);
	printf("ncclSend comm=0xc0 send=0x10 receive=0x0 count=5 bytes=5 peer=7\n");
	cuModuleGetFunction(&out, AT(0x30d), "some_kernel");
	printf("cuModuleGetFunction module=0x30d function=0xc0\n");
}

int main(void)
{
	launches();
	memory();
	copies();
	others();
	return 0;
}
