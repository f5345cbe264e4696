/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overhead LIBRARY FUNCTION empty|bare|beside: what a call of a probed function costs, in ns of the thread's CPU time.
 * The library is one in which nothing is done (workload/every), so that what is left is the probes. Calls come in
 * bursts, with time for a recorder to drain its ring in between; each burst's cost per call is printed, one a line.
 *
 * bare: nobody watches, or whoever watches from outside. empty: the floor, a uprobe and a uretprobe with a BPF program
 * that does nothing, attached the way gpurec attaches (uprobe_multi, Linux 6.6). beside: short bursts of FUNCTION,
 * which a recorder probes, of a function of our own with the empty pair, and of one with nothing, in turns, so that
 * whatever else goes on touches all three alike; their three costs are printed, a line for each turn.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TURNS 150
#define TURN_CALLS 2000
#define TURN_PAUSE_US 3000
#define BURSTS 15
#define CALLS 20000
#define PAUSE_US 30000

/* From <linux/bpf.h> of 6.6; older headers know neither. */
#define ATTACH_UPROBE_MULTI 48
#define MULTI_RETURN 1u

struct link_uprobe_multi {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t count, multi_flags, pid, pad;
};

struct load {
	uint32_t prog_type, ninsns;
	uint64_t insns, license;
	uint32_t log_level, log_size;
	uint64_t log;
	uint32_t kern_version, prog_flags;
	char name[16];
	uint32_t ifindex, expected_attach_type;
};

typedef int function(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

/* As the functions of the library (workload/every) begin and end: with instructions that the kernel need not step over.
 */
#if defined(__x86_64__)
#define NOTHING(name) __asm__(".text\n" #name ":\n\tpush %rbp\n\tmov %rsp, %rbp\n\tmov $0, %eax\n\tpop %rbp\n\tret\n")
#else
#define NOTHING(name) __asm__(".text\n" #name ":\n\tmov x0, #0\n\tret\n")
#endif
NOTHING(with_pair);
NOTHING(with_nothing);
function with_pair, with_nothing;

static int load_empty(void)
{
	static const uint64_t insns[] = {0x00000000000000b7, 0x0000000000000095}; /* r0 = 0; exit */
	struct load attr;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_KPROBE;
	attr.ninsns = 2;
	attr.insns = (uintptr_t)insns;
	attr.license = (uintptr_t) "GPL";
	attr.expected_attach_type = ATTACH_UPROBE_MULTI;
	return (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

static int attach(int program, const char *path, uint64_t offset, uint32_t flags)
{
	struct link_uprobe_multi attr;

	memset(&attr, 0, sizeof(attr));
	attr.prog_fd = (uint32_t)program;
	attr.attach_type = ATTACH_UPROBE_MULTI;
	attr.path = (uintptr_t)path;
	attr.offsets = (uintptr_t)&offset;
	attr.count = 1;
	attr.multi_flags = flags;
	return (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
}

struct place {
	uintptr_t address;
	uint64_t offset; /* in the file */
};

static int find_offset(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct place *p = arg;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type == PT_LOAD && p->address >= begin && p->address - begin < ph->p_memsz) {
			p->offset = p->address - begin + ph->p_offset;
			return 1;
		}
	}
	return 0;
}

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void measure(function *f)
{
	static uint64_t words[64];
	uint64_t at = (uint64_t)(uintptr_t)words;

	usleep(300000); /* for a recorder to have attached */
	for (int burst = 0; burst < BURSTS; burst++) {
		double begin_ns = cpu_ns();

		for (int i = 0; i < CALLS; i++)
			f(at, at, at, at, at, at, at, at, at);
		printf("%.1f\n", (cpu_ns() - begin_ns) / CALLS);
		usleep(PAUSE_US);
	}
}

static double burst(function *f, uint64_t at)
{
	double begin_ns = cpu_ns();

	for (int i = 0; i < TURN_CALLS; i++)
		f(at, at, at, at, at, at, at, at, at);
	return (cpu_ns() - begin_ns) / TURN_CALLS;
}

static void measure_beside(function *f)
{
	static uint64_t words[64];
	uint64_t at = (uint64_t)(uintptr_t)words;

	usleep(300000); /* for a recorder to have attached */
	for (int turn = 0; turn < TURNS; turn++) {
		double nothing = burst(with_nothing, at), pair = burst(with_pair, at), probed = burst(f, at);

		printf("%.1f %.1f %.1f\n", nothing, pair, probed);
		usleep(TURN_PAUSE_US);
	}
}

static bool attach_pair(struct place place, const char *path)
{
	int program = load_empty();

	return program >= 0 && dl_iterate_phdr(find_offset, &place) &&
	       attach(program, path, place.offset, MULTI_RETURN) >= 0 && attach(program, path, place.offset, 0) >= 0;
}

int main(int argc, char **argv)
{
	struct place place = {0};
	function *f = NULL;
	bool beside, empty;
	void *library;

	if (argc != 4) {
		fputs("usage: overhead LIBRARY FUNCTION empty|bare|beside\n", stderr);
		return 2;
	}
	beside = !strcmp(argv[3], "beside");
	empty = !strcmp(argv[3], "empty");
	library = dlopen(argv[1], RTLD_NOW);
	if (library)
		*(void **)&f = dlsym(library, argv[2]);
	if (!f) {
		fprintf(stderr, "overhead: %s\n", dlerror());
		return 3;
	}
	place.address = beside ? (uintptr_t)with_pair : (uintptr_t)f;
	if ((beside || empty) && !attach_pair(place, beside ? "/proc/self/exe" : argv[1])) {
		fprintf(stderr, "overhead: cannot attach the empty pair: %s\n", strerror(errno));
		return 3;
	}
	if (beside)
		measure_beside(f);
	else
		measure(f);
	return 0;
}
