/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that are left in every way but by returning: by a jump, by the end of the thread or of the process, by running
 * another program. Of cudaStreamSynchronize 39 are made: 25 whole, 9 left by a jump or for another program, 5 by an
 * end; of cudaEventSynchronize, always inside one of these, 8, of which 4 are left by a jump and 4 by the end of a
 * thread.
 */
#include <pthread.h>
#include <setjmp.h>
#include <string.h>
#include <unistd.h>

int cudaStreamSynchronize(void (*)(void));
int cudaEventSynchronize(void (*)(void));

#define THREADS 4

static __thread jmp_buf out;

static void jump(void)
{
	longjmp(out, 1);
}

static void jump_from_deep(void)
{
	cudaEventSynchronize(jump);
}

static void end_thread(void)
{
	pthread_exit(NULL);
}

static void end_thread_from_deep(void)
{
	cudaEventSynchronize(end_thread);
}

static void end_process(void)
{
	_exit(0);
}

/* By a thread that is not the first: it takes over the first one's number. */
static void run_again(void)
{
	char name[] = "leave", again[] = "again";
	char *arguments[] = {name, again, NULL};

	execv("/proc/self/exe", arguments);
}

static void *jumps(void *none)
{
	for (int i = 0; i < 5; i++)
		cudaStreamSynchronize(NULL);
	if (!setjmp(out))
		cudaStreamSynchronize(jump);
	if (!setjmp(out))
		cudaStreamSynchronize(jump_from_deep);
	cudaStreamSynchronize(NULL);
	return none;
}

static void *ends(void *none)
{
	cudaStreamSynchronize(end_thread_from_deep);
	return none;
}

static void *runs(void *none)
{
	cudaStreamSynchronize(run_again);
	return none;
}

static void in_threads(void *(*what)(void *), int n)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, what, NULL))
			_exit(2);
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "again")) {
		cudaStreamSynchronize(NULL);
		cudaStreamSynchronize(end_process);
	}
	in_threads(jumps, THREADS);
	in_threads(ends, THREADS);
	in_threads(runs, 1);
	return 1;
}
