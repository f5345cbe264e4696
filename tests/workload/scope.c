/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that a recording may or may not cover, with the library of leave.c.
 *
 * scope ranks N CALLS GO: N children wait for the file GO, make CALLS calls each and end; their parent waits for them.
 *
 * scope background N CALLS GO: the same, but the parent ends at once.
 *
 * scope stay N CALLS GO: the children do not end; each prints its number again when it has made its calls, which
 * allocate.
 *
 * scope hang call|poll|nested|lock|trap: three calls, then it hangs: in a call, in a call that does not sleep, in a
 * call inside another, or in a lock; trap: a thread in a call, whose stack nobody can read without waiting for ever.
 *
 * scope one: a child of two hangs in a call, the other goes on with others.
 *
 * Each child prints its number, as it knows it.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int cudaStreamSynchronize(void (*)(void));
int cudaEventSynchronize(void (*)(void));
int cudaMalloc(void **, size_t);

static void sleep_for_ever(void)
{
	for (;;)
		pause();
}

/* `ready`: to be closed once it has its name and has said its number. */
__attribute__((noinline)) static void work(long calls, const char *go, int ready, int stays)
{
	void *memory;

	prctl(PR_SET_NAME, "worker");
	printf("%d\n", getpid());
	fflush(stdout);
	close(ready);
	while (access(go, F_OK) < 0)
		usleep(1000);
	for (long i = 0; i < calls; i++)
		if (stays)
			cudaMalloc(&memory, 1);
		else
			cudaStreamSynchronize(NULL);
	if (stays) {
		printf("%d\n", getpid());
		fflush(stdout);
		sleep_for_ever();
	}
	_exit(0);
}

static void run_for_ever(void)
{
	struct timespec t;

	for (;;)
		clock_gettime(CLOCK_MONOTONIC, &t);
}

static void hang_deeper(void)
{
	cudaEventSynchronize(sleep_for_ever);
}

__attribute__((noinline)) static void lock_twice(void)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&lock);
	pthread_mutex_lock(&lock);
}

static void *hang_thread(void *tid)
{
	__atomic_store_n((pid_t *)tid, gettid(), __ATOMIC_RELEASE);
	cudaStreamSynchronize(sleep_for_ever);
	return NULL;
}

static int sleeps(pid_t tid)
{
	char name[64], state = 0;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/self/task/%d/stat", tid);
	f = fopen(name, "r");
	if (f && fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	if (f)
		fclose(f);
	return state == 'S';
}

/* A thread hangs in a call; then its stack is taken away, and whoever reads it waits for us to put it back. */
__attribute__((noinline)) static void trap(void)
{
	size_t bytes = 1 << 18;
	void *stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_register all = {.range = {(unsigned long)stack, bytes}, .mode = UFFDIO_REGISTER_MODE_MISSING};
	struct uffdio_api api = {.api = UFFD_API};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	pthread_attr_t attr;
	pthread_t thread;
	pid_t tid = 0;

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) < 0)
		exit(77);
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, stack, bytes);
	if (pthread_create(&thread, &attr, hang_thread, &tid))
		exit(3);
	while (!__atomic_load_n(&tid, __ATOMIC_ACQUIRE) || !sleeps(tid))
		usleep(1000);
	if (ioctl(fd, UFFDIO_REGISTER, &all) < 0 || madvise(stack, bytes, MADV_DONTNEED) < 0)
		exit(77);
	puts("trapped");
	fflush(stdout);
	cudaStreamSynchronize(sleep_for_ever);
}

__attribute__((noinline)) static void one_of_two(void)
{
	puts("hangs");
	fflush(stdout);
	if (!fork()) {
		prctl(PR_SET_NAME, "stuck");
		cudaStreamSynchronize(sleep_for_ever);
	}
	for (;;) {
		cudaStreamSynchronize(NULL);
		usleep(1000);
	}
}

__attribute__((noinline)) static void hang(const char *how)
{
	for (int i = 0; i < 3; i++)
		cudaStreamSynchronize(NULL);
	puts("hangs");
	fflush(stdout);
	if (!strcmp(how, "call"))
		cudaStreamSynchronize(sleep_for_ever);
	else if (!strcmp(how, "poll"))
		cudaStreamSynchronize(run_for_ever);
	else if (!strcmp(how, "trap"))
		trap();
	else if (!strcmp(how, "nested"))
		cudaStreamSynchronize(hang_deeper);
	else
		lock_twice();
}

int main(int argc, char **argv)
{
	int ready[2];

	if (argc == 3 && !strcmp(argv[1], "hang"))
		hang(argv[2]);
	if (argc == 2 && !strcmp(argv[1], "one"))
		one_of_two();
	if (argc != 5)
		return 2;
	if (pipe(ready) < 0)
		return 3;
	for (long n = strtol(argv[2], NULL, 10); n > 0; n--)
		if (!fork())
			work(strtol(argv[3], NULL, 10), argv[4], ready[1], !strcmp(argv[1], "stay"));
	close(ready[1]);
	if (read(ready[0], argv[0], 1)) /* nothing comes: the last one has closed it */
		return 3;
	if (strcmp(argv[1], "background"))
		while (wait(NULL) > 0)
			;
	return 0;
}
