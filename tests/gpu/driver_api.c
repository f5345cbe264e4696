/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that uses the driver's interface alone: a kernel from PTX text, memory, copies, waits. Needs no toolkit,
 * only libcuda.so.1. Prints one JSON object, as loop.cu does. Ends with 77 when there is no driver or no GPU.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
			  ".visible .entry touch_all(.param .u64 at)\n{\n"
			  "	.reg .b64 %rd<4>;\n	.reg .b32 %r<3>;\n"
			  "	ld.param.u64 %rd1, [at];\n	mov.u32 %r1, %tid.x;\n	mul.wide.u32 %rd2, %r1, 4;\n"
			  "	add.s64 %rd3, %rd1, %rd2;\n	st.global.u32 [%rd3], %r1;\n	ret;\n}\n";

typedef int (*any)();

static void *library;

static any find(const char *name)
{
	any f = (any)(size_t)dlsym(library, name);

	if (!f) {
		fprintf(stderr, "driver_api: libcuda has no %s\n", name);
		exit(77);
	}
	return f;
}

/* What must not fail before the loop. */
static void must(int error, const char *what)
{
	if (error) {
		fprintf(stderr, "driver_api: %s: error %d\n", what, error);
		exit(77);
	}
}

static unsigned long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long long)t.tv_sec * 1000000000ull + (unsigned long long)t.tv_nsec;
}

int main(int argc, char **argv)
{
	unsigned long long n = argc > 1 ? strtoull(argv[1], NULL, 10) : 20000, begin, waits = 0, failed = 0, at = 0;
	void *context = NULL, *module = NULL, *kernel = NULL, *params[] = {&at};
	int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
		      void **);
	int (*copy)(void *, unsigned long long, size_t);
	int device = 0;
	char host[1024];

	library = dlopen("libcuda.so.1", RTLD_NOW);
	if (!library) {
		fprintf(stderr, "driver_api: %s\n", dlerror());
		return 77;
	}
	launch = (void *)find("cuLaunchKernel");
	copy = (void *)find("cuMemcpyDtoH_v2");
	must(((int (*)(unsigned))find("cuInit"))(0), "cuInit");
	must(((int (*)(int *, int))find("cuDeviceGet"))(&device, 0), "cuDeviceGet");
	must(((int (*)(void **, int))find("cuDevicePrimaryCtxRetain"))(&context, device), "cuDevicePrimaryCtxRetain");
	must(((int (*)(void *))find("cuCtxSetCurrent"))(context), "cuCtxSetCurrent");
	must(((int (*)(void **, const void *))find("cuModuleLoadData"))(&module, ptx), "cuModuleLoadData");
	must(((int (*)(void **, void *, const char *))find("cuModuleGetFunction"))(&kernel, module, "touch_all"),
	     "cuModuleGetFunction");
	must(((int (*)(unsigned long long *, size_t))find("cuMemAlloc_v2"))(&at, sizeof(host)), "cuMemAlloc");
	begin = now_ns();
	for (unsigned long long i = 0; i < n; i++) {
		failed += launch(kernel, 1, 1, 1, 256, 1, 1, 0, NULL, params, NULL) != 0;
		if (i % 8 == 0) {
			failed += copy(host, at, sizeof(host)) != 0;
			waits++;
		}
	}
	begin = now_ns() - begin;
	must(((int (*)(unsigned long long))find("cuMemFree_v2"))(at), "cuMemFree");
	printf("{\"ns\":%llu,\"calls\":%llu,\"failed\":%llu,\"functions\":{\"launch\":%llu,\"cuMemcpyDtoH_v2\":%llu,"
	       "\"cuMemAlloc_v2\":1,\"cuMemFree_v2\":1}}\n",
	       begin, n + waits, failed, n, waits);
	return 0;
}
