/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sleeps on purpose, in ways that a recorder of host events is to distinguish: in a page fault that another thread
 * resolves after 20 ms (userfaultfd), in a system call that sleeps, and in futex calls with two addresses. Prints
 * `what value` lines: fault ADDRESS, syscall NUMBER, futex OPERATION ADDRESS2, in hex or decimal as gpureplay does.
 *
 *	sleeps [TIMES]
 *
 * So many page faults, each a little late, and three times as many futex calls; prints how often it slept in the
 * faults, by the kernel's account: slept NUMBER.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LATE_US 20000
#define LATE_US_OF_MANY 1000

static size_t page, times = 1;
static bool many;

/* Gives the pages that somebody waits for, late. */
static void *resolve(void *arg)
{
	int fd = *(int *)arg;
	struct pollfd p = {.fd = fd, .events = POLLIN};
	struct uffd_msg msg;
	struct uffdio_zeropage zero = {.range.len = page};

	for (size_t i = 0; i < times; i++) {
		if (poll(&p, 1, 5000) != 1 || read(fd, &msg, sizeof(msg)) != sizeof(msg))
			return NULL;
		usleep(many ? LATE_US_OF_MANY : LATE_US);
		zero.range.start = msg.arg.pagefault.address & ~((uint64_t)page - 1);
		if (ioctl(fd, UFFDIO_ZEROPAGE, &zero) < 0)
			return NULL;
	}
	return arg;
}

static long sleeps(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nvcsw : 0;
}

static int sleep_in_fault(void)
{
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register reg = {.mode = UFFDIO_REGISTER_MODE_MISSING};
	pthread_t thread;
	long before;
	char *memory = mmap(NULL, times * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (fd < 0 || memory == MAP_FAILED || ioctl(fd, UFFDIO_API, &api) < 0)
		return -1;
	reg.range.start = (uintptr_t)memory;
	reg.range.len = times * page;
	if (ioctl(fd, UFFDIO_REGISTER, &reg) < 0 || pthread_create(&thread, NULL, resolve, &fd))
		return -1;
	before = sleeps();
	for (size_t i = 0; i < times; i++)
		*(volatile char *)(memory + i * page) = 1;
	if (many)
		printf("slept %ld\n", sleeps() - before);
	else
		printf("fault 0x%llx\n", (unsigned long long)(uintptr_t)memory);
	pthread_join(thread, NULL);
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

int main(int argc, char **argv)
{
	page = (size_t)sysconf(_SC_PAGESIZE);
	many = argc == 2;
	if (many)
		times = strtoul(argv[1], NULL, 10);
	if (sleep_in_fault() < 0)
		printf("no userfaultfd\n");
	if (!many)
		sleep_in_system_call();
	for (size_t i = 0; i < times; i++)
		futex_with_two_addresses();
	return 0;
}
