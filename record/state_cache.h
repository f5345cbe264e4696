/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is true for longer than a moment: names of processes, threads, programs and kernels, modules, facts of the host.
 * Each was reported once, as a row; kept here, the rows are reported again in a capture that continues another one, so
 * that it can be read alone. What belongs to a process or thread is forgotten when that is gone.
 */
#ifndef GPUREC_RECORD_STATE_CACHE_H
#define GPUREC_RECORD_STATE_CACHE_H

#include "format/writer.h"

struct standing;

int standing_new(struct standing **s, struct fault *why);
void standing_free(struct standing *s);

/* For writer_watch(), `self` a struct standing: keep the row, in place of an older one about the same thing. */
void standing_saw(void *self, uint16_t kind, const uint64_t *v, const char *const *text);

/* A thread, and with `last` its process, has ended. Rows about it are kept for a little longer: STANDING_GRACE_NS. */
#define STANDING_GRACE_NS 2000000000ull
void standing_ended(struct standing *s, uint32_t pid, uint32_t tid, bool last, uint64_t at_ns);

/*
 * Report all that was first reported before at_ns again, as of then; and if something could not be kept, that. 0 or
 * what writer_add() returned.
 */
int standing_emit(struct standing *s, struct writer *w, uint64_t at_ns, struct fault *why);

size_t standing_rows(const struct standing *s);

#endif
