/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocations whose user stack is known: from functions with frame pointers; from one 30 deep in itself, which is more
 * than a recorder keeps; and with something else in the register for frame pointers: nothing, a number, memory that is
 * not there, and memory that looks like frames but is not the stack.
 */
#include <stdint.h>
#include <stdlib.h>

int cudaMalloc(void **at, size_t bytes);

static volatile int result;

static __attribute__((noinline)) void innermost(void)
{
	void *p;

	result = cudaMalloc(&p, 1);
}

static __attribute__((noinline)) void middle(void)
{
	innermost();
	result++;
}

static __attribute__((noinline)) void outermost(void)
{
	middle();
	result++;
}

static __attribute__((noinline)) void deep(int n)
{
	if (n > 0)
		deep(n - 1);
	else
		innermost();
	result++;
}

#if defined(__x86_64__)
static __attribute__((noinline)) void with_fp(uintptr_t fp)
{
	void *p;
	void **at = &p;

	/* Beyond the red zone, and aligned as calls need it. */
	__asm__ volatile(
		"mov %%rsp, %%rbx\n\tsub $256, %%rsp\n\tand $-16, %%rsp\n\tpush %%rbp\n\tpush %%rbp\n\t"
		"mov %1, %%rbp\n\tmov $1, %%esi\n\tcall cudaMalloc@PLT\n\tpop %%rbp\n\tpop %%rbp\n\tmov %%rbx, %%rsp"
		: "+D"(at)
		: "r"(fp)
		: "rax", "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc");
}
#else
#error "how a frame pointer is set is not known here"
#endif

int main(void)
{
	static uintptr_t like_frames[16];

	for (size_t i = 0; i + 2 < 16; i += 2) {
		like_frames[i] = (uintptr_t)&like_frames[i + 2];
		like_frames[i + 1] = (uintptr_t)main;
	}
	outermost();
	deep(30);
	with_fp(0);
	with_fp(12345);
	with_fp(0x10000);
	with_fp((uintptr_t)like_frames);
	return 0;
}
