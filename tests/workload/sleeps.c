/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sleeps on purpose, in ways that a recorder of host events is to distinguish: in a page fault that another thread
 * resolves after 20 ms (userfaultfd), in a system call that sleeps, and in futex calls with two addresses. Prints
 * `what value` lines: fault ADDRESS, syscall NUMBER, futex OPERATION ADDRESS2, in hex or decimal as gpureplay does.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LATE_US 20000

static long page;

/* Gives the page that somebody waits for, late. */
static void *resolve(void *arg)
{
	int fd = *(int *)arg;
	struct pollfd p = {.fd = fd, .events = POLLIN};
	struct uffd_msg msg;
	struct uffdio_zeropage zero = {0};

	if (poll(&p, 1, 5000) != 1 || read(fd, &msg, sizeof(msg)) != sizeof(msg))
		return NULL;
	usleep(LATE_US);
	zero.range.start = msg.arg.pagefault.address & ~((uint64_t)page - 1);
	zero.range.len = (uint64_t)page;
	return ioctl(fd, UFFDIO_ZEROPAGE, &zero) < 0 ? NULL : arg;
}

static int sleep_in_fault(void)
{
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register reg = {.mode = UFFDIO_REGISTER_MODE_MISSING};
	pthread_t thread;
	void *memory = mmap(NULL, (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (fd < 0 || memory == MAP_FAILED || ioctl(fd, UFFDIO_API, &api) < 0)
		return -1;
	reg.range.start = (uintptr_t)memory;
	reg.range.len = (uint64_t)page;
	if (ioctl(fd, UFFDIO_REGISTER, &reg) < 0 || pthread_create(&thread, NULL, resolve, &fd))
		return -1;
	*(volatile char *)memory = 1;
	pthread_join(thread, NULL);
	printf("fault 0x%llx\n", (unsigned long long)(uintptr_t)memory);
	return 0;
}

static void sleep_in_system_call(void)
{
	struct timespec t = {.tv_nsec = LATE_US * 1000};

	syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &t, NULL);
	printf("syscall %d\n", SYS_clock_nanosleep + 1);
}

static void futex_with_two_addresses(void)
{
	static uint32_t one, two;

	syscall(SYS_futex, &one, FUTEX_CMP_REQUEUE_PRIVATE, 1, (void *)1, &two, 0);
	printf("futex %d 0x%llx\n", FUTEX_CMP_REQUEUE, (unsigned long long)(uintptr_t)&two);
	syscall(SYS_futex, &one, FUTEX_WAKE_OP_PRIVATE, 1, (void *)1, &two, 0);
	printf("futex %d 0x%llx\n", FUTEX_WAKE_OP, (unsigned long long)(uintptr_t)&two);
	syscall(SYS_futex, &one, FUTEX_WAKE_PRIVATE, 1, NULL, &two, 0);
	printf("futex %d 0x0\n", FUTEX_WAKE);
}

int main(void)
{
	page = sysconf(_SC_PAGESIZE);
	if (sleep_in_fault() < 0)
		printf("no userfaultfd\n");
	sleep_in_system_call();
	futex_with_two_addresses();
	return 0;
}
