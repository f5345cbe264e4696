/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A crowd of processes, with the library of leave.c, that start, fork, run another program, put themselves into the
 * background, hang and end at random, and count their calls.
 *
 * crowd N SEED FILE [wait]: N processes, with the first one, which makes a call, starts others until there are so many,
 * and ends when all have ended that are going to; wait: not before a line comes on stdin. FILE is where they count. It
 * prints a line for each: its number; for cudaStreamSynchronize and then for cudaEventSynchronize how often it was
 * entered, returned, returned in a child that was made inside it, and is not left; 1 if the process stays, for five
 * minutes at most; and the status that it ended with.
 *
 * A process ends, or runs another program, only while its other threads are inside a call for good: so what it counted
 * is what it did.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef void inside_function(void);

int cudaStreamSynchronize(inside_function *);
int cudaEventSynchronize(inside_function *);

#define STEPS 6
#define IMAGES 3 /* programs that a process becomes */
#define STAYS_S 300
#define LESS8 " %*s %*s %*s %*s %*s %*s %*s %*s"

struct calls {
	unsigned long entered, returned, inherited, open;
};

struct member {
	pid_t pid;
	unsigned images, parked;
	int stays, status;
	struct calls calls[2];
};

struct crowd {
	unsigned n, limit, seed;
	struct member member[];
};

static struct crowd *crowd;
static struct member *me;
static const char *file;
static uint64_t dice;
static __thread unsigned long inside[2];
static __thread jmp_buf out;

extern char **environ;

static void fail(const char *what)
{
	fprintf(stderr, "crowd: %s: %s\n", what, strerror(errno));
	_exit(3);
}

static void add(unsigned long *to)
{
	__atomic_fetch_add(to, 1, __ATOMIC_SEQ_CST);
}

/* A number below n. (xorshift) */
static unsigned throw(unsigned n)
{
	dice ^= dice << 13;
	dice ^= dice >> 7;
	dice ^= dice << 17;
	return (unsigned)(dice >> 32) % n;
}

static void become(struct member *member)
{
	me = member;
	dice = ((uint64_t)crowd->seed << 32) + (uint64_t)(member - crowd->member) * 8 + member->images + 1;
	for (int i = 0; i < 20; i++)
		(void) throw(1);
	for (int i = 0; i < 2; i++)
		inside[i] = me->calls[i].open = 0;
	__atomic_store_n(&member->pid, getpid(), __ATOMIC_SEQ_CST);
}

static void call(unsigned which, inside_function *f)
{
	struct member *caller = me;

	add(&me->calls[which].entered);
	inside[which]++;
	(which ? cudaEventSynchronize : cudaStreamSynchronize)(f);
	if (me == caller)
		inside[which]--;
	add(me == caller ? &me->calls[which].returned : &me->calls[which].inherited);
}

/* NULL: there are enough. */
static struct member *ticket(void)
{
	unsigned n = __atomic_load_n(&crowd->n, __ATOMIC_SEQ_CST);

	do {
		if (n == crowd->limit)
			return NULL;
	} while (!__atomic_compare_exchange_n(&crowd->n, &n, n + 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
	return &crowd->member[n];
}

/* -1: `child` is NULL. */
static pid_t fork_as(struct member *child)
{
	pid_t pid = child ? fork() : -1;

	if (child && pid < 0)
		fail("fork");
	if (pid == 0)
		become(child);
	return pid;
}

static pid_t fork_one(void)
{
	return fork_as(ticket());
}

/* As a zombie, too; but for one whose first thread alone has ended. */
static int has_ended(const struct member *member)
{
	pid_t pid = __atomic_load_n(&member->pid, __ATOMIC_SEQ_CST);
	char name[64], state = 'X';
	int threads = 0;
	FILE *f;

	if (!pid)
		return 0;
	snprintf(name, sizeof(name), "/proc/%d/stat", pid);
	f = fopen(name, "r");
	if (f && fscanf(f, "%*d (%*[^)]) %c" LESS8 LESS8 " %d", &state, &threads) != 2)
		state = 'X'; /* it ended meanwhile */
	if (f)
		fclose(f);
	return state == 'X' || (state == 'Z' && threads < 2);
}

static void wait_for(const struct member *member)
{
	while (!__atomic_load_n(&member->stays, __ATOMIC_SEQ_CST) && !has_ended(member))
		usleep(1000);
}

/* What a process runs that is to be `member`. */
static char **program(struct member *member)
{
	static char name[] = "crowd", number[16], path[4096];
	static char *arguments[] = {name, path, number, NULL};

	snprintf(path, sizeof(path), "%s", file);
	snprintf(number, sizeof(number), "%zu", (size_t)(member - crowd->member));
	return arguments;
}

/* What they do ---------------------------------------------------------------------------------------------------- */

static void park(void)
{
	for (int i = 0; i < 2; i++)
		me->calls[i].open += inside[i];
	__atomic_fetch_add(&me->parked, 1, __ATOMIC_SEQ_CST);
	for (;;)
		pause();
}

static void park_deeper(void)
{
	call(1, park);
}

static void jump(void)
{
	longjmp(out, 1);
}

static void jump_from_deep(void)
{
	call(1, jump);
}

static void some_calls(void)
{
	for (unsigned n = 1 + throw(40); n > 0; n--)
		call(throw(2), NULL);
}

static void nested(void)
{
	call(0, some_calls);
}

static void leave_by_jump(void)
{
	inside_function *how = throw(2) ? jump : jump_from_deep;
	unsigned long before[2] = {inside[0], inside[1]};

	if (!setjmp(out))
		call(0, how);
	memcpy(inside, before, sizeof(inside));
	call(0, NULL); /* by which it is known that those were left */
}

static void nap(void)
{
	usleep(throw(3000));
}

static void *thread_calls(void *none)
{
	for (int i = 0; i < 20; i++)
		call((unsigned)i & 1, NULL);
	return none;
}

static void *thread_parks(void *deep)
{
	call(0, deep ? park_deeper : park);
	return NULL;
}

static void *thread_runs(void *none)
{
	execv("/proc/self/exe", program(me));
	fail("exec");
	return none;
}

static pthread_t thread(void *(*what)(void *), void *of)
{
	pthread_t made;

	if (pthread_create(&made, NULL, what, of))
		fail("pthread_create");
	return made;
}

static void threads(void)
{
	pthread_t made[3];

	for (int i = 0; i < 3; i++)
		made[i] = thread(thread_calls, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(made[i], NULL);
}

/* Only one of a process parks at a time: what is open is counted without a lock. */
static void thread_that_parks(void)
{
	unsigned parked = me->parked;

	thread(thread_parks, throw(2) ? me : NULL);
	while (__atomic_load_n(&me->parked, __ATOMIC_SEQ_CST) == parked)
		usleep(100);
}

/* It may go on before its child, or after it. */
static void child(void)
{
	struct member *made = ticket();

	if (fork_as(made) > 0 && throw(2))
		wait_for(made);
}

static void child_made_inside(void)
{
	call(throw(2), child);
}

static void child_by_vfork(void)
{
	struct member *child = ticket();
	char **arguments = child ? program(child) : NULL;
	pid_t pid = child ? vfork() : -1;

	if (pid == 0) {
		execv("/proc/self/exe", arguments);
		_exit(3);
	}
	if (child && pid < 0)
		fail("vfork");
}

static void child_by_spawn(void)
{
	struct member *child = ticket();
	pid_t pid;

	if (child && posix_spawn(&pid, "/proc/self/exe", NULL, NULL, program(child), environ))
		fail("posix_spawn");
}

static void run_again(void)
{
	if (me->images++ < IMAGES)
		execv("/proc/self/exe", program(me));
}

static void run_again_inside(void)
{
	call(0, run_again);
}

/* By a thread that is not the first: it takes over the first one's number. */
static void run_again_by_thread(void)
{
	if (me->images++ < IMAGES)
		pthread_join(thread(thread_runs, NULL), NULL);
}

static void end(int status)
{
	me->status = status << 8;
	_exit(status);
}

static void into_background(void)
{
	if (fork_one() > 0)
		end(0);
	setsid();
	if (fork_one() > 0)
		end(0);
}

static inside_function *const acts[] = {
	some_calls,
	nested,
	leave_by_jump,
	nap,
	threads,
	thread_that_parks,
	child,
	child_made_inside,
	child_by_vfork,
	child_by_spawn,
	run_again,
	run_again_inside,
	run_again_by_thread,
	into_background,
};

/* How they end ---------------------------------------------------------------------------------------------------- */

static void end_plainly(void)
{
	end((int) throw(4));
}

static void end_by_signal(void)
{
	me->status = throw(2) ? SIGKILL : SIGTERM;
	kill(getpid(), me->status);
	pause();
}

static void end_inside(void)
{
	call(0, throw(2) ? end_plainly : end_by_signal);
}

static void *end_as_last(void *first)
{
	pthread_join(*(pthread_t *)first, NULL);
	thread_calls(NULL);
	end_plainly();
	return NULL;
}

/* The first thread ends before another one. */
static void end_first(void)
{
	static pthread_t first;

	first = pthread_self();
	thread(end_as_last, &first);
	pthread_exit(NULL);
}

static void stay(void)
{
	alarm(STAYS_S);
	__atomic_store_n(&me->stays, 1, __ATOMIC_SEQ_CST);
	for (;;)
		pause();
}

static void stay_inside(void)
{
	for (int i = 0; i < 2; i++)
		me->calls[i].open += inside[i];
	stay();
}

static void stay_in_call(void)
{
	call(1, stay_inside);
}

static void walk(void)
{
	static inside_function *const ends[] = {
		end_plainly, end_plainly, end_by_signal, end_inside, end_first, end_plainly, stay, stay_in_call,
	};

	for (int i = 0; i < STEPS; i++)
		acts[throw(sizeof(acts) / sizeof(acts[0]))]();
	ends[throw(sizeof(ends) / sizeof(ends[0]))]();
}

/* The first one --------------------------------------------------------------------------------------------------- */

static void open_file(int flags, unsigned n)
{
	int fd = open(file, flags | O_CLOEXEC, 0600);
	off_t bytes = (off_t)(sizeof(*crowd) + n * sizeof(struct member));

	if (fd < 0 || (n && ftruncate(fd, bytes) < 0))
		fail(file);
	bytes = lseek(fd, 0, SEEK_END);
	crowd = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (crowd == MAP_FAILED)
		fail("mmap");
	close(fd);
}

static void print(const struct member *member)
{
	printf("%d", member->pid);
	for (int i = 0; i < 2; i++)
		printf(" %lu %lu %lu %lu", member->calls[i].entered, member->calls[i].returned,
		       member->calls[i].inherited, member->calls[i].open);
	printf(" %d %d\n", member->stays, member->status);
}

int main(int argc, char **argv)
{
	if (argc == 3) {
		file = argv[1];
		open_file(O_RDWR, 0);
		become(&crowd->member[strtoul(argv[2], NULL, 10)]);
		walk();
	}
	if (argc < 4)
		return 2;
	file = argv[3];
	open_file(O_RDWR | O_CREAT | O_TRUNC, (unsigned)strtoul(argv[1], NULL, 10));
	crowd->limit = (unsigned)strtoul(argv[1], NULL, 10);
	crowd->seed = (unsigned)strtoul(argv[2], NULL, 10);
	become(ticket());
	if (argc > 4) {
		puts("waits");
		fflush(stdout);
		(void)getchar();
	}
	call(0, NULL);
	while (__atomic_load_n(&crowd->n, __ATOMIC_SEQ_CST) < crowd->limit) {
		if (fork_one() == 0)
			walk();
		usleep(throw(5000));
	}
	for (unsigned i = 1; i < crowd->limit; i++)
		wait_for(&crowd->member[i]);
	for (unsigned i = 0; i < crowd->limit; i++)
		print(&crowd->member[i]);
	return 0;
}
