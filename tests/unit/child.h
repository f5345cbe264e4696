/* SPDX-License-Identifier: Apache-2.0 */
/* A test that gives up rights does so in a process of its own. */
#ifndef GPUREC_TESTS_UNIT_CHILD_H
#define GPUREC_TESTS_UNIT_CHILD_H

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* In a child: a number for each thing that is not as it should be; 0 when all is; 1000 and the signal that ended it. */
static int run_in_child(int (*body)(void))
{
	static const int caught[] = {SIGFPE, SIGILL, SIGSEGV, SIGBUS, SIGSYS}; /* by cmocka, for tests of its own */
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	for (size_t i = 0; pid == 0 && i < sizeof(caught) / sizeof(caught[0]); i++)
		signal(caught[i], SIG_DFL);
	if (pid == 0)
		_exit(body());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

#endif
