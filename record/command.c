/* SPDX-License-Identifier: Apache-2.0 */
#include "record/command.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static bool can_run(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static bool is_there(const char *path)
{
	return access(path, F_OK) == 0;
}

/* Whether `matches` holds for the file that execvp(3) would try first, or for one of those behind it. */
static bool any_in_path(const char *name, bool (*matches)(const char *path))
{
	const char *path = getenv("PATH"), *end;
	char full[PATH_MAX];

	if (strchr(name, '/'))
		return matches(name);
	for (path = path ? path : "/bin:/usr/bin"; *name && path; path = *end ? end + 1 : NULL) {
		end = strchrnul(path, ':');
		if ((size_t)snprintf(full, sizeof(full), "%.*s/%s", (int)(end - path), end == path ? "." : path, name) <
			    sizeof(full) &&
		    matches(full))
			return true;
	}
	return false;
}

bool command_exists(const char *name)
{
	return any_in_path(name, is_there);
}

int command_check(const char *name, struct fault *why)
{
	if (any_in_path(name, can_run))
		return 0;
	if (!strchr(name, '/'))
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "cannot run %s: there is no such command in PATH",
				 name);
	return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "cannot run %s: %s", name,
			 access(name, F_OK) < 0 ? strerror(errno) : "not an executable file");
}

static _Noreturn void be_command(pid_t parent, int go_fd, int error_fd, char *const *argv, const sigset_t *signals)
{
	char byte;
	int error;

	if (read(go_fd, &byte, 1) != 1)
		_exit(0); /* not wanted after all */
	/*
	 * Should the recorder be killed while it holds us to attach to a library, we go on all the same. To who is not
	 * stopped the signal says nothing. (Not kept by set-user-id programs, nor by children.)
	 */
	prctl(PR_SET_PDEATHSIG, SIGCONT);
	if (getppid() != parent)
		_exit(0);
	/* What was given for recording is not the command's. */
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	sigprocmask(SIG_SETMASK, signals, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	execvp(argv[0], argv);
	error = errno;
	if (write(error_fd, &error, sizeof(error)) != sizeof(error))
		_exit(126);
	_exit(127);
}

int command_prepare(struct command *c, char *const *argv, const sigset_t *signals, struct fault *why)
{
	int go[2] = {-1, -1}, error[2] = {-1, -1};
	pid_t pid, parent = getpid();

	if (pipe2(go, O_CLOEXEC) < 0 || pipe2(error, O_CLOEXEC) < 0) {
		int r = fault_errno(why, "cannot make a pipe");

		if (go[0] >= 0)
			close(go[0]), close(go[1]);
		return r;
	}
	pid = fork();
	if (pid == 0) {
		close(go[1]);
		close(error[0]);
		be_command(parent, go[0], error[1], argv, signals);
	}
	close(go[0]);
	close(error[1]);
	*c = (struct command){.pid = pid, .pidfd = -1, .go_fd = go[1], .error_fd = error[0]};
	if (pid > 0)
		c->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (c->pidfd < 0) {
		int r = fault_errno(why, "cannot start a process for the command");

		c->pid = pid > 0 ? pid : 0;
		command_close(c);
		return r;
	}
	return 0;
}

int command_release(struct command *c, const char *name, struct fault *why)
{
	int error = 0;
	ssize_t n;

	if (write(c->go_fd, "", 1) != 1)
		return fault_errno(why, "cannot start %s", name);
	close(c->go_fd);
	c->go_fd = -1;
	do {
		n = read(c->error_fd, &error, sizeof(error));
	} while (n < 0 && errno == EINTR);
	close(c->error_fd);
	c->error_fd = -1;
	if (n == sizeof(error))
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "cannot run %s: %s", name, strerror(error));
	return 0;
}

void command_poll(struct command *c)
{
	if (c->pid && !c->ended && waitpid(c->pid, &c->status, WNOHANG) == c->pid)
		c->ended = true;
}

void command_close(struct command *c)
{
	if (c->go_fd > 0)
		close(c->go_fd);
	if (c->error_fd > 0)
		close(c->error_fd);
	if (c->pid && !c->ended && c->go_fd > 0)
		waitpid(c->pid, &c->status, 0); /* it was never let go, and ends now */
	if (c->pidfd > 0)
		close(c->pidfd);
	*c = (struct command){0};
}
