/* SPDX-License-Identifier: Apache-2.0 */
/* User stacks of other processes' threads, against what the compiler's own unwinder found in the thread itself. */
#include "tests/unit/made.h"

#include <alloca.h>
#include <elf.h>
#include <execinfo.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "format/kinds.h"
#include "record/inspect/unwinder.h"

#define OWN_MAX 128

/* Shared with the child: what it found, and that it is about to sleep. */
static struct {
	int n;
	void *frame[OWN_MAX];
	int ready;
} * own;

static struct procfs fs;
static struct unwinder *unwinder;
static volatile int never;

static int begin(void **state)
{
	(void)state;
	own = mmap(NULL, sizeof(*own), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return own == MAP_FAILED || procfs_open(&fs, PROCFS_ROOT, NULL) || unwinder_new(&unwinder, &fs, NULL);
}

static int end(void **state)
{
	(void)state;
	unwinder_free(unwinder);
	procfs_close(&fs);
	return munmap(own, sizeof(*own));
}

__attribute__((noinline)) static void sleep_here(void)
{
	own->n = backtrace(own->frame, OWN_MAX);
	__atomic_store_n(&own->ready, 1, __ATOMIC_RELEASE);
	for (;;)
		pause();
}

/* A frame whose size the compiler does not know. */
__attribute__((noinline)) static int of_any_size(unsigned bytes, void (*then)(void))
{
	volatile char *room = alloca(bytes);

	room[0] = 1;
	then();
	return room[0] + never;
}

__attribute__((noinline)) static int deeper(unsigned depth, void (*then)(void))
{
	return never + (depth ? deeper(depth - 1, then) : of_any_size(100, then));
}

static void on_signal(int number)
{
	(void)number;
	deeper(3, sleep_here);
}

static void interrupted(void)
{
	raise(SIGUSR1);
}

static void take_signals(int flags)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = flags};
	stack_t other = {.ss_size = 1 << 18};

	other.ss_sp = mmap(NULL, other.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (sigaltstack(&other, NULL) < 0 || sigaction(SIGUSR1, &action, NULL) < 0)
		_exit(1);
	deeper(5, interrupted);
}

static void plain(void)
{
	deeper(20, sleep_here);
}

static void in_a_handler(void)
{
	take_signals(0);
}

static void in_a_handler_on_another_stack(void)
{
	take_signals(SA_ONSTACK);
}

static void registers_of(pid_t pid, struct registers *r)
{
	struct user_regs_struct u;
	struct iovec v = {&u, sizeof(u)};

	assert_int_equal(ptrace(PTRACE_GETREGSET, pid, (void *)(uintptr_t)NT_PRSTATUS, &v), 0);
#if defined(__x86_64__)
	*r = (struct registers){u.rip, u.rsp, u.rbp, 0};
#else
	*r = (struct registers){u.pc, u.sp, u.regs[29], u.regs[30]};
#endif
}

/* A child that sleeps where `where` leads it, and that we have stopped; t: its only thread. */
static pid_t child_in(void (*where)(void), struct thread_at *t)
{
	pid_t pid;
	char state;

	own->ready = 0;
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		where();
		_exit(1);
	}
	while (!__atomic_load_n(&own->ready, __ATOMIC_ACQUIRE))
		usleep(1000); /* speed: once more, until it is so */
	do
		assert_int_equal(procfs_switches(&fs, (uint32_t)pid, (uint32_t)pid, &t->switches, &state, NULL), 1);
	while (state != 'S');
	t->tid = (uint64_t)pid;
	assert_int_equal(ptrace(PTRACE_SEIZE, pid, NULL, NULL), 0);
	assert_int_equal(ptrace(PTRACE_INTERRUPT, pid, NULL, NULL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	registers_of(pid, &t->registers);
	assert_int_equal(procfs_switches(&fs, (uint32_t)pid, (uint32_t)pid, &t->switches, &state, NULL), 1);
	return pid;
}

static void end_child(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static uint64_t start_of(pid_t pid)
{
	struct process_info info;

	assert_int_equal(procfs_process(&fs, (uint32_t)pid, &info, NULL), 1);
	return info.start_ns;
}

/* From the outermost inwards, up to the function that both are in. */
static void assert_as_own(void (*where)(void))
{
	struct thread_at t;
	pid_t pid = child_in(where, &t);
	uint64_t frame[2 * OWN_MAX];
	uint32_t flags = 0;
	size_t n = 0;

	assert_int_equal(
		unwinder_stack(unwinder, (uint32_t)pid, start_of(pid), &t, frame, 2 * OWN_MAX, &n, &flags, NULL), 1);
	end_child(pid);
	assert_int_equal(flags, STACK_WHOLE | STACK_STILL);
	assert_true(own->n > 5 && own->n < OWN_MAX && n >= (size_t)own->n);
	assert_int_equal(frame[0], t.registers.ip);
	for (int i = 1; i < own->n - 1; i++)
		assert_int_equal(frame[n - (size_t)i], (uintptr_t)own->frame[own->n - i]);
}

static void a_stack_is_what_the_thread_itself_finds(void **state)
{
	(void)state;
	assert_as_own(plain);
}

static void so_it_is_inside_a_signal_handler(void **state)
{
	(void)state;
	assert_as_own(in_a_handler);
}

static void so_it_is_across_two_stacks(void **state)
{
	(void)state;
	assert_as_own(in_a_handler_on_another_stack);
}

static void only_who_has_not_run_is_still(void **state)
{
	struct thread_at t;
	pid_t pid = child_in(plain, &t);
	uint64_t frame[4], start_ns = start_of(pid);
	uint32_t flags;
	size_t n;

	(void)state;
	t.switches++;
	assert_int_equal(unwinder_stack(unwinder, (uint32_t)pid, start_ns, &t, frame, 4, &n, &flags, NULL), 1);
	assert_int_equal(n, 4);
	assert_int_equal(flags, STACK_WHOLE);
	t.switches = 0;
	assert_int_equal(unwinder_stack(unwinder, (uint32_t)pid, start_ns, &t, frame, 4, &n, &flags, NULL), 1);
	assert_int_equal(flags, STACK_WHOLE);
	assert_int_equal(unwinder_stack(unwinder, (uint32_t)pid, start_ns + 1000000000, &t, frame, 4, &n, &flags, NULL),
			 0);
	end_child(pid);
	assert_int_equal(unwinder_stack(unwinder, (uint32_t)pid, start_ns, &t, frame, 4, &n, &flags, NULL), 0);
}

static void any_registers_give_a_stack_within_bounds(void **state)
{
	struct thread_at t, wrong;
	pid_t pid = child_in(plain, &t);
	uint64_t frame[8], start_ns = start_of(pid), seed = 1;
	uint32_t flags;
	size_t n;

	(void)state;
	for (int i = 0; i < 2000; i++) {
		uint64_t *any = &wrong.registers.ip;

		wrong = t;
		for (size_t k = 0; k < sizeof(wrong.registers) / sizeof(*any); k++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			if (seed >> 60 & 1)
				any[k] = seed >> 61 & 1 ? seed : any[k] + (seed >> 40 & 0xfff);
		}
		assert_int_equal(unwinder_stack(unwinder, (uint32_t)pid, start_ns, &wrong, frame, 8, &n, &flags, NULL),
				 1);
		assert_true(n >= 1 && n <= 8 && frame[0] == wrong.registers.ip);
	}
	end_child(pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stack_is_what_the_thread_itself_finds),
		cmocka_unit_test(so_it_is_inside_a_signal_handler),
		cmocka_unit_test(so_it_is_across_two_stacks),
		cmocka_unit_test(only_who_has_not_run_is_still),
		cmocka_unit_test(any_registers_give_a_stack_within_bounds),
	};

	return cmocka_run_group_tests_name("unwinder", tests, begin, end);
}
