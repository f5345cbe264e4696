/* SPDX-License-Identifier: Apache-2.0 */
/* The COMMAND that is recorded: made first, held until everything is attached, then let go. */
#ifndef GPUREC_RECORD_COMMAND_H
#define GPUREC_RECORD_COMMAND_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "format/base/fault.h"

struct command {
	pid_t pid; /* 0: none */
	int pidfd; /* readable when it has ended */
	int go_fd;
	int error_fd;
	bool ended;
	int status; /* wait(2), once it has ended */
};

/* Whether it can be found and run, as far as one can know beforehand. ERR_INPUT with a sentence. */
/* Whether there is a file of that name, in PATH if it has no slash: shells exit with 127 if not, 126 if it cannot run.
 */
bool command_exists(const char *name);

int command_check(const char *name, struct fault *why);

/* A child that waits to become argv. `signals`: the mask it gets. */
int command_prepare(struct command *c, char *const *argv, const sigset_t *signals, struct fault *why);

/* Let it go. ERR_INPUT, with what exec said, when it cannot be run; then it is gone. */
int command_release(struct command *c, const char *name, struct fault *why);

/* Ask whether it has ended (then ended and status are set). Does not wait. */
void command_poll(struct command *c);

/* One that was not let go ends; one that was goes on. */
void command_close(struct command *c);

#endif
