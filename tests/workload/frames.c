/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocations whose user stack is known: from functions with frame pointers; from one 30 deep in itself, which is more
 * than a recorder keeps; and with something else in the register for frame pointers: nothing, a number, memory that is
 * not there, and memory that looks like frames but is not the stack, or is farther from it than a frame is long. Then
 * one of which the memory where its result stands cannot be read; and a launch that is called at the very end of a
 * stack, so that its arguments there cannot be read. (The library does nothing.)
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define PAGE 4096
#define FRAME_WORDS 16
#define FAR (9ul << 20) /* 8 MiB is the limit */

int cudaMalloc(void **at, size_t bytes);
int cudaLaunchKernel(void);

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
/* On a stack of our own, below whose upper end `stack` there is room. */
static __attribute__((noinline)) void with_fp_on(uintptr_t fp, uintptr_t stack)
{
	void *p;
	void **at = &p;

	__asm__ volatile(
		"mov %%rsp, %%rbx\n\tmov %2, %%rsp\n\tpush %%rbp\n\tpush %%rbp\n\tmov %1, %%rbp\n\tmov $1, %%esi\n\t"
		"call cudaMalloc@PLT\n\tpop %%rbp\n\tpop %%rbp\n\tmov %%rbx, %%rsp"
		: "+D"(at)
		: "r"(fp), "r"(stack)
		: "rax", "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc");
}

/* Beyond the red zone, and aligned as calls need it. */
static __attribute__((noinline)) void with_fp(uintptr_t fp)
{
	with_fp_on(fp, ((uintptr_t)__builtin_frame_address(0) - 1024) & ~(uintptr_t)15);
}

static __attribute__((noinline)) void launch_at_end_of(uintptr_t stack_end)
{
	__asm__ volatile(
		"mov %%rsp, %%rbx\n\tmov %0, %%rsp\n\tcall cudaLaunchKernel@PLT\n\tmov %%rbx, %%rsp" ::"r"(stack_end)
		: "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
}
#else
#error "how these registers are set is not known here"
#endif

static void make_frames(uintptr_t *at)
{
	for (size_t i = 0; i + 2 < FRAME_WORDS; i += 2) {
		at[i] = (uintptr_t)&at[i + 2];
		at[i + 1] = (uintptr_t)make_frames;
	}
}

static char *memory(size_t bytes, int prot)
{
	void *at = mmap(NULL, bytes, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		exit(1);
	return at;
}

/* With a page behind it that is closed. */
static uintptr_t stack_end(void)
{
	size_t size = 64 * PAGE;
	char *stack = memory(size + PAGE, PROT_READ | PROT_WRITE);

	if (mprotect(stack + size, PAGE, PROT_NONE))
		exit(1);
	return (uintptr_t)stack + size;
}

int main(void)
{
	static uintptr_t like_frames[FRAME_WORDS];
	uintptr_t *far_frames = (uintptr_t *)(memory(2 * FAR, PROT_READ | PROT_WRITE) + FAR + PAGE);

	make_frames(like_frames);
	make_frames(far_frames);
	outermost();
	deep(30);
	with_fp(0);
	with_fp(12345);
	with_fp(0x10000);
	with_fp((uintptr_t)like_frames);
	with_fp_on((uintptr_t)far_frames, (uintptr_t)far_frames - FAR);
	result = cudaMalloc((void **)memory(PAGE, PROT_NONE), 1);
	launch_at_end_of(stack_end());
	return 0;
}
