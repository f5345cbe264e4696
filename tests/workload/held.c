/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call that stands still at its probe, because that inspects memory that this very process gives out (userfaultfd),
 * and that takes until its stdin ends. It is the stack that it is called on, of which the kernel wants the return
 * address; with an argument it is its result. Says "waiting" once it is asked for. Exit status 3: there is no such
 * memory here.
 */
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096

int cudaFree(void *at);
int cudaMalloc(void **result, size_t bytes);

static int faults;
static char *area;

static void give_up(const char *what)
{
	perror(what);
	exit(3);
}

/* Where the call on the stack of ours returns to. */
static void after(void)
{
	_exit(0);
}

static void *serve(void *arg)
{
	static uintptr_t page[PAGE / sizeof(uintptr_t)] __attribute__((aligned(PAGE)));
	struct uffd_msg msg;
	char c;

	(void)arg;
	for (size_t i = 0; i < PAGE / sizeof(uintptr_t); i++)
		page[i] = (uintptr_t)after;
	while (read(faults, &msg, sizeof(msg)) == sizeof(msg)) {
		struct uffdio_copy copy = {
			.dst = msg.arg.pagefault.address & ~(PAGE - 1ull), .src = (uintptr_t)page, .len = PAGE};

		puts("waiting");
		fflush(stdout);
		while (read(STDIN_FILENO, &c, 1) > 0)
			;
		if (ioctl(faults, UFFDIO_COPY, &copy))
			give_up("UFFDIO_COPY");
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register range = {.mode = UFFDIO_REGISTER_MODE_MISSING};
	int (*volatile call)(void *) = cudaFree; /* known before it is called on a stack that nothing else can use */
	pthread_t thread;

	signal(SIGTERM, SIG_IGN); /* which the recorder passes on when it is asked to end */
	faults = (int)syscall(SYS_userfaultfd, 0);
	area = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (faults < 0 || area == MAP_FAILED)
		give_up("userfaultfd");
	range.range.start = (uintptr_t)area;
	range.range.len = PAGE;
	if (ioctl(faults, UFFDIO_API, &api) || ioctl(faults, UFFDIO_REGISTER, &range) ||
	    pthread_create(&thread, NULL, serve, NULL))
		give_up("userfaultfd");
	(void)argv;
	if (argc > 1)
		return cudaMalloc((void **)area, 64);
	__asm__ volatile("mov %0, %%rsp\n\tjmp *%1" ::"r"(area + PAGE / 2 + 8), "r"(call) : "memory");
	return 3;
}
