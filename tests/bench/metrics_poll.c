/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a user would write to sample the CPUs: a process that reads /proc/stat once in a period; and, to have something
 * to inspect, threads that hand a byte to each other.
 *
 *	metrics_poll poll PERIOD_US MILLISECONDS FILE    prints: samples, CPU time in ns, wall time in ns
 *	metrics_poll churn PER_SECOND MILLISECONDS       prints: hand-overs; two switches each, at least
 *
 * The reader is as frugal as it can be in its place: one descriptor, one system call for a read, one for the wait until
 * a time that does not drift, a parser that inspects each byte once and only at the lines it wants, and binary records
 * that go to the file 64 KiB at a time.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NS 1000000000ull
#define CPUS_MAX 1024
#define TIMES 10 /* user nice system idle iowait irq softirq steal guest guest_nice */

struct record {
	uint64_t at_ns;
	uint32_t cpu, waiting;
	uint64_t busy, switches; /* in ticks; of the whole host */
};

static uint64_t clock_of(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * NS + (uint64_t)t.tv_nsec;
}

static void wait_until(uint64_t ns)
{
	struct timespec t = {.tv_sec = (time_t)(ns / NS), .tv_nsec = (long)(ns % NS)};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static uint64_t take_number(const char **at)
{
	uint64_t n = 0;

	while (**at == ' ')
		++*at;
	while (**at >= '0' && **at <= '9')
		n = n * 10 + (uint64_t)(*(*at)++ - '0');
	return n;
}

/* The records of one reading, without what is at its end. How many. */
static size_t parse(const char *text, uint64_t now_ns, struct record *out)
{
	const char *at = strchr(text, '\n'); /* the first line is the sum */
	uint64_t switches, running;
	size_t n = 0;

	while (at && !strncmp(at, "\ncpu", 4) && n < CPUS_MAX) {
		uint64_t time[TIMES];

		at += 4;
		out[n].cpu = (uint32_t)take_number(&at);
		for (int i = 0; i < TIMES; i++)
			time[i] = take_number(&at);
		out[n].at_ns = now_ns;
		out[n++].busy = time[0] + time[1] + time[2] + time[5] + time[6] + time[7];
		at = strchr(at, '\n');
	}
	at = at ? strstr(at, "\nctxt ") : NULL; /* behind the line of the interrupts, which is long */
	at = at ? at + 6 : "";
	switches = take_number(&at);
	at = strstr(at, "procs_running ");
	at = at ? at + 14 : "";
	running = take_number(&at);
	for (size_t i = 0; i < n; i++) {
		out[i].switches = switches;
		out[i].waiting = (uint32_t)running;
	}
	return n;
}

static int poll_stat(uint64_t period_ns, uint64_t length_ns, const char *path)
{
	static char text[1 << 16], kept[1 << 16];
	static struct record records[CPUS_MAX];
	int fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
	int out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	uint64_t begin_ns = clock_of(CLOCK_MONOTONIC), due_ns = begin_ns, samples = 0, cpu_ns, now_ns;
	size_t used = 0;

	if (fd < 0 || out < 0)
		return perror("metrics_poll"), 3;
	cpu_ns = clock_of(CLOCK_PROCESS_CPUTIME_ID);
	while ((now_ns = clock_of(CLOCK_MONOTONIC)) < begin_ns + length_ns) {
		ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
		size_t bytes;

		if (n <= 0)
			return perror("metrics_poll: /proc/stat"), 3;
		text[n] = 0;
		bytes = parse(text, now_ns, records) * sizeof(*records);
		if (used + bytes > sizeof(kept)) {
			if (write(out, kept, used) != (ssize_t)used)
				return perror("metrics_poll"), 3;
			used = 0;
		}
		memcpy(kept + used, records, bytes);
		used += bytes;
		samples++;
		due_ns += (1 + (clock_of(CLOCK_MONOTONIC) - due_ns) / period_ns) * period_ns; /* missed ones are */
		wait_until(due_ns);
	}
	if (used && write(out, kept, used) != (ssize_t)used)
		return perror("metrics_poll"), 3;
	printf("%llu %llu %llu\n", (unsigned long long)samples,
	       (unsigned long long)(clock_of(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns),
	       (unsigned long long)(clock_of(CLOCK_MONOTONIC) - begin_ns));
	return 0;
}

/* The other side: gives back what it gets. */
static void echo(int from, int to)
{
	char byte;

	while (read(from, &byte, 1) == 1 && write(to, &byte, 1) == 1)
		;
	_exit(0);
}

static int churn(uint64_t per_second, uint64_t length_ns)
{
	uint64_t begin_ns = clock_of(CLOCK_MONOTONIC), end_ns = begin_ns + length_ns, handed = 0;
	int there[2], back[2];
	char byte = 0;
	pid_t pid;

	if (pipe(there) < 0 || pipe(back) < 0 || (pid = fork()) < 0)
		return perror("metrics_poll"), 3;
	if (pid == 0) {
		close(there[1]);
		close(back[0]);
		echo(there[0], back[1]);
	}
	while (clock_of(CLOCK_MONOTONIC) < end_ns) {
		/* What a millisecond is to have, at once. */
		uint64_t due = (clock_of(CLOCK_MONOTONIC) - begin_ns + NS / 1000) * per_second / NS;

		for (; handed < due; handed++)
			if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
				return perror("metrics_poll"), 3;
		wait_until(clock_of(CLOCK_MONOTONIC) + NS / 1000);
	}
	close(there[1]);
	(void)waitpid(pid, NULL, 0);
	printf("%llu\n", (unsigned long long)handed);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 5 && !strcmp(argv[1], "poll") && atol(argv[2]) > 0)
		return poll_stat((uint64_t)atol(argv[2]) * 1000, (uint64_t)atol(argv[3]) * 1000000, argv[4]);
	if (argc == 4 && !strcmp(argv[1], "churn") && atol(argv[2]) > 0)
		return churn((uint64_t)atol(argv[2]), (uint64_t)atol(argv[3]) * 1000000);
	fputs("usage: metrics_poll poll PERIOD_US MILLISECONDS FILE | churn PER_SECOND MILLISECONDS\n", stderr);
	return 2;
}
