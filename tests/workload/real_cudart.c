/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls NVIDIA's own libcudart, where a machine has one, a known number of times, and writes the same kind
 * of truth as the driver program. Without a GPU the calls return errors, and that is as good for counting.
 * The library is opened by path at run time: building this needs nothing.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/workload/json.h"
#include "tests/workload/tally.h"

#define EXIT_USAGE 2
#define EXIT_CANNOT 3
#define EXIT_NO_LIBRARY 77 /* as test runners have it: skipped */
#define CALLS_DEFAULT 100
#define BYTES 4096

static const char *const usual_places[] = {
	"libcudart.so.13",
	"libcudart.so.12",
	"/usr/local/cuda/lib64/libcudart.so",
	"/usr/local/cuda/lib/libcudart.so",
	"/usr/lib/x86_64-linux-gnu/libcudart.so",
};

#define POINTER(kind, name, params) int(*name) params;

struct real {
	RUNTIME_CALLS(POINTER)
};

struct symbol {
	const char *name;
	size_t at;
};

#define SYMBOL(kind, name, params) {#name, offsetof(struct real, name)},

static const struct symbol symbols[] = {RUNTIME_CALLS(SYMBOL)};

/* A version of the library need not have them all: those it has not stay NULL. */
static void *library_open(const char *path)
{
	void *library = path ? dlopen(path, RTLD_NOW) : NULL;

	for (size_t i = 0; !path && !library && i < sizeof(usual_places) / sizeof(usual_places[0]); i++)
		library = dlopen(usual_places[i], RTLD_NOW);
	return library;
}

static void symbols_find(void *library, struct real *real)
{
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		void *found = dlsym(library, symbols[i].name);

		memcpy((char *)real + symbols[i].at, &found, sizeof(found));
	}
}

#define CALL(name, ...)                                                                                                \
	do {                                                                                                           \
		if (!real->name)                                                                                       \
			break;                                                                                         \
		tally[FN_##name].calls++;                                                                              \
		if (real->name(__VA_ARGS__))                                                                           \
			tally[FN_##name].failed++;                                                                     \
	} while (0)

/* Kernels are refused by name, on a machine with a GPU too: there is none of this name. */
static void round_of_calls(const struct real *real, struct tally tally[FN_COUNT])
{
	static const char kernel[] = "no such kernel";
	static char host[2][BYTES];
	const struct dim3 one = {1, 1, 1};
	const struct runtime_launch_config config = {.grid = one, .block = one};
	void *addr = NULL, *pinned = NULL;

	CALL(cudaMalloc, &addr, BYTES);
	CALL(cudaMallocHost, &pinned, BYTES);
	CALL(cudaLaunchKernel, kernel, one, one, NULL, 0, NULL);
	CALL(cudaLaunchKernelExC, &config, kernel, NULL);
	CALL(cudaMemcpy, host[0], host[1], BYTES, HOST_TO_HOST);
	CALL(cudaMemcpyAsync, host[0], host[1], BYTES, HOST_TO_HOST, NULL);
	CALL(cudaMemset, addr, 0, addr ? BYTES : 0);
	CALL(cudaMemsetAsync, addr, 0, addr ? BYTES : 0, NULL);
	CALL(cudaStreamSynchronize, NULL);
	CALL(cudaDeviceSynchronize);
	CALL(cudaFree, addr);
	CALL(cudaFreeHost, pinned);
}

static uint64_t boot_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int truth_write(const struct tally tally[FN_COUNT], uint64_t begin_ns, const char *path)
{
	struct json out;

	if (json_start(&out, path))
		return -1;
	json_text(&out, "format", "gpurec-workload-truth");
	json_number(&out, "version", 1);
	json_number(&out, "pid", (uint64_t)getpid());
	json_number(&out, "begin_ns", begin_ns);
	json_number(&out, "end_ns", boot_ns());
	tally_json(tally, &out);
	json_open(&out, "faults", '[');
	json_close(&out);
	return json_finish(&out);
}

int main(int argc, char **argv)
{
	struct tally tally[FN_COUNT] = {0};
	struct real real = {0};
	const char *path = NULL, *truth = NULL;
	unsigned long ncalls = CALLS_DEFAULT;
	uint64_t begin_ns = boot_ns();
	void *library;
	int c;

	while ((c = getopt(argc, argv, "l:n:t:")) != -1) {
		if (c == 'l')
			path = optarg;
		else if (c == 'n')
			ncalls = strtoul(optarg, NULL, 10);
		else if (c == 't')
			truth = optarg;
		else
			return fputs("usage: real_cudart [-l LIBRARY] [-n CALLS] [-t TRUTH]\n", stderr), EXIT_USAGE;
	}
	library = library_open(path);
	if (!library) {
		fprintf(stderr, "real_cudart: %s\n",
			path ? dlerror() : "this machine has no libcudart; name one with -l");
		return EXIT_NO_LIBRARY;
	}
	symbols_find(library, &real);
	for (unsigned long i = 0; i < ncalls; i++)
		round_of_calls(&real, tally);
	if (truth && truth_write(tally, begin_ns, truth)) {
		fprintf(stderr, "real_cudart: %s: %s\n", truth, strerror(errno));
		return EXIT_CANNOT;
	}
	return 0;
}
