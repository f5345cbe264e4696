// SPDX-License-Identifier: Apache-2.0
#include "analyze/facts/syscall_names.h"

#include <string.h>

/* Numbers from the kernel's arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h. */
static const struct {
	const char *name;
	int16_t x86_64, aarch64; /* -1: there is none */
} calls[] = {
	{"read", 0, 63},
	{"write", 1, 64},
	{"open", 2, -1},
	{"close", 3, 57},
	{"stat", 4, -1},
	{"poll", 7, -1},
	{"mmap", 9, 222},
	{"mprotect", 10, 226},
	{"munmap", 11, 215},
	{"brk", 12, 214},
	{"ioctl", 16, 29},
	{"pread64", 17, 67},
	{"pwrite64", 18, 68},
	{"readv", 19, 65},
	{"writev", 20, 66},
	{"select", 23, -1},
	{"mremap", 25, 216},
	{"msync", 26, 227},
	{"madvise", 28, 233},
	{"pause", 34, -1},
	{"nanosleep", 35, 101},
	{"sendfile", 40, 71},
	{"connect", 42, 203},
	{"accept", 43, 202},
	{"sendto", 44, 206},
	{"recvfrom", 45, 207},
	{"sendmsg", 46, 211},
	{"recvmsg", 47, 212},
	{"wait4", 61, 260},
	{"semop", 65, 193},
	{"fcntl", 72, 25},
	{"flock", 73, 32},
	{"fsync", 74, 82},
	{"fdatasync", 75, 83},
	{"rt_sigtimedwait", 128, 137},
	{"mlock", 149, 228},
	{"futex", 202, 98},
	{"epoll_wait", 232, -1},
	{"waitid", 247, 95},
	{"clock_nanosleep", 230, 115},
	{"openat", 257, 56},
	{"pselect6", 270, 72},
	{"ppoll", 271, 73},
	{"sync_file_range", 277, 84},
	{"epoll_pwait", 281, 22},
	{"accept4", 288, 242},
	{"recvmmsg", 299, 243},
	{"io_uring_enter", 426, 426},
	{"epoll_pwait2", 441, 441},
	{"futex_waitv", 449, 449},
	{"futex_wait", 455, 455},
};

enum machine machine_by_name(const char *s, size_t n)
{
	if (n == 6 && memcmp(s, "x86_64", 6) == 0)
		return MACHINE_X86_64;
	return n == 7 && memcmp(s, "aarch64", 7) == 0 ? MACHINE_AARCH64 : MACHINE_UNKNOWN;
}

const char *syscall_name(enum machine machine, uint64_t number)
{
	for (size_t i = 0; machine != MACHINE_UNKNOWN && number <= INT16_MAX && i < sizeof(calls) / sizeof(calls[0]);
	     i++)
		if ((machine == MACHINE_X86_64 ? calls[i].x86_64 : calls[i].aarch64) == (int16_t)number)
			return calls[i].name;
	return NULL;
}
