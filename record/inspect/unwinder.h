/* SPDX-License-Identifier: Apache-2.0 */
/*
 * User stacks of threads that stand still, or nearly: from their registers and their memory, by what each file says of
 * its code (record/symbols/elf_unwind.h). Both belong to strangers, and reading them may hang: this runs in a helper.
 */
#ifndef GPUREC_RECORD_INSPECT_UNWINDER_H
#define GPUREC_RECORD_INSPECT_UNWINDER_H

#include "record/host/procfs.h"
#include "record/symbols/elf_unwind.h"

#define UNWIND_FRAMES_MAX 1024 /* so far a stack is followed */

/* A thread, and where it was when it was looked at. No padding. */
struct thread_at {
	uint64_t tid;
	uint64_t switches; /* away from it, ever; 0: it ran */
	struct registers registers;
};

struct unwinder;

/* `fs` is borrowed. */
int unwinder_new(struct unwinder **u, const struct procfs *fs, struct fault *why);
void unwinder_free(struct unwinder *u);

/*
 * The stack of a thread of the process (pid, start_ns): where it is, then where each call returns to, `max` of them at
 * most. *n: how many these are. *flags: STACK_*. 1; 0: the process is gone; negative.
 */
int unwinder_stack(struct unwinder *u, uint32_t pid, uint64_t start_ns, const struct thread_at *thread,
		   uint64_t *frames, size_t max, size_t *n, uint32_t *flags, struct fault *why);

#endif
