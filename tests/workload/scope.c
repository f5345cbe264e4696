/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that a recording may or may not cover, with the library of leave.c.
 *
 * scope ranks N CALLS GO: N children wait for the file GO, make CALLS calls each and end; their parent waits for them.
 *
 * scope background N CALLS GO: the same, but the parent ends at once.
 *
 * scope hang call|nested|lock: three calls, then it hangs: in a call, in a call inside another, or in a lock.
 *
 * Each child prints its number, as it knows it.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

int cudaStreamSynchronize(void (*)(void));
int cudaEventSynchronize(void (*)(void));

/* `ready`: to be closed once it has its name and has said its number. */
static void work(long calls, const char *go, int ready)
{
	prctl(PR_SET_NAME, "worker");
	printf("%d\n", getpid());
	fflush(stdout);
	close(ready);
	while (access(go, F_OK) < 0)
		usleep(1000);
	for (long i = 0; i < calls; i++)
		cudaStreamSynchronize(NULL);
	_exit(0);
}

static void sleep_for_ever(void)
{
	for (;;)
		pause();
}

static void hang_deeper(void)
{
	cudaEventSynchronize(sleep_for_ever);
}

static void lock_twice(void)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&lock);
	pthread_mutex_lock(&lock);
}

static void hang(const char *how)
{
	for (int i = 0; i < 3; i++)
		cudaStreamSynchronize(NULL);
	puts("hangs");
	fflush(stdout);
	if (!strcmp(how, "call"))
		cudaStreamSynchronize(sleep_for_ever);
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
	if (argc != 5)
		return 2;
	if (pipe(ready) < 0)
		return 3;
	for (long n = strtol(argv[2], NULL, 10); n > 0; n--)
		if (!fork())
			work(strtol(argv[3], NULL, 10), argv[4], ready[1]);
	close(ready[1]);
	if (read(ready[0], argv[0], 1)) /* nothing comes: the last one has closed it */
		return 3;
	if (!strcmp(argv[1], "ranks"))
		while (wait(NULL) > 0)
			;
	return 0;
}
