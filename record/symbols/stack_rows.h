/* SPDX-License-Identifier: Apache-2.0 */
/*
 * User stacks, each reported once per process: a number, and a `frame` row for each of its frames, placed in module and
 * function while the process lives. New modules get their row first.
 */
#ifndef GPUREC_RECORD_SYMBOLS_STACK_ROWS_H
#define GPUREC_RECORD_SYMBOLS_STACK_ROWS_H

#include "format/writer.h"
#include "record/symbols/symbolize.h"

#define STACKS_MAX (1u << 20) /* in a recording; beyond it calls are reported without stack */

#define STACKS_LATE_MAX 256 /* whose frames wait for answers; those of more are reported with what is known */

struct stacks;

int stacks_new(struct stacks **s, struct symbolizer *symbolizer, struct fault *why);
void stacks_free(struct stacks *s);
/* Another capture begins: every stack is reported again. (Modules are not: record/state_cache.h.) */
void stacks_forget(struct stacks *s);

/*
 * The number of a stack, depth 0 first; of a thread as it is, depth 0 is where it stands, else where a call returned
 * to. *id is 0 when STACKS_MAX is reached. Rows go to `w` with time at_ns.
 * ERR_MEMORY, or what writer_add() returned.
 */
int stacks_number(struct stacks *s, struct writer *w, uint64_t at_ns, uint32_t pid, uint64_t start_ns,
		  const uint64_t *frames, size_t nframes, bool of_thread, uint32_t *id, struct fault *why);

/*
 * Frames that could not be placed at once (symbolizer_late()) are reported when they can be, or, at_end, as far as they
 * can. Before stacks_forget(), too.
 */
int stacks_go_on(struct stacks *s, struct writer *w, uint64_t at_ns, bool at_end, struct fault *why);

/* Whether there are such. */
bool stacks_late(const struct stacks *s);
/* How many stacks were reported before all that was asked about them was answered. */
uint64_t stacks_unnamed(const struct stacks *s);

/* `module` rows for the modules that have none yet. */
int stacks_emit_modules(struct stacks *s, struct writer *w, uint64_t at_ns, struct fault *why);

#endif
