/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls functions that are defined, or reached, each in another way (reach.h), TURNS times, and writes down how often
 * each was entered, as they counted it: a line "name count" each. Of cudaStreamQuery and cudaEventQuery every other
 * call is left by a jump. The libraries lie beside the program; one is to be preloaded.
 *
 * reach [FILE [wait|stay]]: wait: not before a line comes on stdin; stay: it ends only then.
 */
#include "tests/workload/reach.h"

#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TURNS 60

REACH(REACH_DECLARE)
reach_function old_malloc, cudaMemcpy_ptds;
__asm__(".symver old_malloc,cudaMalloc@REACH_1");
extern __attribute__((noplt)) reach_function cudaFreeHost;

static jmp_buf out;

static void jump(void)
{
	longjmp(out, 1);
}

static int own(void *at, unsigned long n) __asm__("cudaHostRegister");

static int own(void *at, unsigned long n)
{
	(void)at, (void)n;
	MADE(cudaHostRegister);
	return 0;
}

static reach_function *volatile own_function = own; /* so that it stays a function, and keeps its name */

static void *open_library(long space, const char *name)
{
	static char path[PATH_MAX], folder[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", folder, sizeof(folder) - 1);
	void *library;

	if (n < 0)
		exit(2);
	folder[n] = '\0';
	snprintf(path, sizeof(path), "%s/%s", dirname(folder), name);
	library = dlmopen(space, path, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(2);
	}
	return library;
}

static reach_function *find(void *library, const char *name)
{
	reach_function *f = (reach_function *)dlsym(library, name);

	if (!f)
		exit(2);
	return f;
}

static void ask(int turn)
{
	if (turn & 1)
		cudaStreamQuery(0, 0);
	else if (!setjmp(out))
		cudaStreamQuery((void *)jump, 0);
}

int main(int argc, char **argv)
{
	static const char *const names[] = {REACH(REACH_NAME)};
	void *same = open_library(LM_ID_NEWLM, "libcudart.so.12");
	void *copy = open_library(LM_ID_BASE, "copy/libcudart.so.12");
	reach_function *set = find(RTLD_DEFAULT, "cudaMemset"), *other_set = find(same, "cudaMemsetAsync");
	reach_function *copied = find(copy, "cudaMemcpyAsync");
	const unsigned long *other = (const unsigned long *)(void *)find(same, "reach_made");
	FILE *f = argc > 1 ? fopen(argv[1], "w") : stdout;
	void *at;

	if (argc > 2 && !strcmp(argv[2], "wait"))
		(void)getchar();
	for (int i = 0; i < TURNS; i++) {
		old_malloc(&at, 16);
		cudaFree(at, 0);
		cudaMalloc(&at, 32);
		cudaFree(at, 0);
		cudaFreeHost(at, 0);
		cudaMemcpy(at, 1);
		cudaMemcpy_ptds(at, 1);
		cudaHostAlloc(&at, 64);
		cudaStreamSynchronize(0, 0);
		cuLaunchKernel(at, 1);
		cuMemAlloc_v2(&at, 128);
		set(at, 1);
		cudaEventRecordWithFlags(at, 1);
		cudaDeviceSynchronize(0, 5);
		own_function(at, 1);
		other_set(at, 1);
		copied(at, 1);
		ask(i);
		cudaGraphLaunch(at, 1);
	}
	if (argc > 2 && !strcmp(argv[2], "stay"))
		(void)getchar();
	for (int i = 0; f && i < REACH_N; i++)
		fprintf(f, "%s %lu\n", names[i], reach_made[i] + other[i]);
	return f && fclose(f) == 0 ? 0 : 1;
}
