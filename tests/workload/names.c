/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registers, looks up and launches kernels in all the ways in which a launch comes to its name, and prints for each
 * launch `function name`, in order. What nvcc's code passes is passed here; the libraries do nothing, so that handles
 * are what was in the variable before.
 *
 * names wait: first waits for a line on standard input after everything was registered (for a recorder that comes
 * late), then launches.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct dim3 {
	unsigned x, y, z;
};

void __cudaRegisterFunction(void **fatbin, const char *stub, char *device_function, const char *name, int limit,
			    void *tid, void *bid, void *block, void *grid, int *warp);
int __cudaGetKernel(void **out, const void *stub);
int __cudaLaunchKernel(void *kernel, struct dim3 grid, struct dim3 block, void **args, size_t shared, void *stream);
int cudaLaunchKernel(const void *f, struct dim3 grid, struct dim3 block, void **args, size_t shared, void *stream);
int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
		   unsigned shared, void *stream, void **params, void **extra);
int cuModuleGetFunction(void **out, void *module, const char *name);
int cuLibraryGetKernel(void **out, void *library, const char *name);
int cuKernelGetFunction(void **out, void *kernel);
int cuFuncGetName(const char **out, void *f);

#define HANDLE(x) ((void *)(uintptr_t)(x))
static const struct dim3 one = {1, 1, 1};

/* Host stubs: what is in them is of no consequence, but they must not be made one. */
#define STUB(name)                                                                                                     \
	void name(void);                                                                                               \
	__attribute__((noinline)) void name(void)                                                                      \
	{                                                                                                              \
		__asm__ volatile("# " #name);                                                                          \
	}
STUB(_Z6legacyPf)
STUB(other_name_than_the_kernel)
STUB(_Z12unregisteredPf)

static void register_function(void (*stub)(void), const char *name)
{
	char *copy = strdup(name); /* in memory that was touched, as after a real registration */

	if (!copy)
		exit(3);
	__cudaRegisterFunction(NULL, (const char *)(uintptr_t)stub, copy, copy, -1, NULL, NULL, NULL, NULL, NULL);
}

static void launched(const void *function, const char *name)
{
	printf("0x%llx %s\n", (unsigned long long)(uintptr_t)function, name);
}

static void launch_stub(void (*stub)(void), const char *name)
{
	cudaLaunchKernel((const void *)(uintptr_t)stub, one, one, NULL, 0, NULL);
	launched((const void *)(uintptr_t)stub, name);
}

static void launch_driver(void *function, const char *name)
{
	cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
	launched(function, name);
}

static void look_up(unsigned long handle, const char *name)
{
	char *copy = strdup(name);
	void *out = HANDLE(handle);

	if (!copy)
		exit(3);
	cuModuleGetFunction(&out, HANDLE(0x30d), copy);
	launch_driver(out, name);
	free(copy);
}

static void look_up_others(void)
{
	char name[5000], in_library[] = "in_a_library", asked[] = "asked_for_its_name";
	const char *emitted = asked;
	void *kernel = HANDLE(0x2001), *function = HANDLE(0x2002);

	look_up(0x1001, "driver_kernel");
	memset(name, 'm', sizeof(name));
	name[300] = 0;
	look_up(0x1002, name);
	name[300] = 'm', name[3000] = 0;
	look_up(0x1003, name);
	look_up(0x1001, "the_handle_came_to_another");
	cuLibraryGetKernel(&kernel, HANDLE(0x11b), in_library);
	cuKernelGetFunction(&function, kernel);
	launch_driver(kernel, in_library);
	launch_driver(function, in_library);
	cuFuncGetName(&emitted, HANDLE(0x3001));
	launch_driver(HANDLE(0x3001), asked);
}

int main(int argc, char **argv)
{
	void *handle = HANDLE(0xbeef), *none = NULL;
	bool late = argc > 1 && !strcmp(argv[1], "wait");

	register_function(_Z6legacyPf, "_Z6legacyPf");
	register_function(other_name_than_the_kernel, "_Z3newPf");
	if (late) {
		puts("registered");
		fflush(stdout);
		if (getchar() == EOF)
			return 3;
	}
	launch_stub(_Z6legacyPf, "_Z6legacyPf");
	launch_stub(_Z12unregisteredPf, "_Z12unregisteredPf");
	if (late) {
		fflush(stdout);
		usleep(500000); /* symbols are looked up while the process lives */
		return 0;
	}
	__cudaGetKernel(&handle, (const void *)(uintptr_t)other_name_than_the_kernel);
	__cudaLaunchKernel(handle, one, one, NULL, 0, NULL);
	launched(handle, "_Z3newPf");
	__cudaGetKernel(&none, (const void *)(uintptr_t)_Z6legacyPf);
	look_up_others();
	return 0;
}
