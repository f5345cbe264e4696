/* SPDX-License-Identifier: Apache-2.0 */
/* What kind of machine this is, as `fact` rows. */
#ifndef GPUREC_RECORD_HOST_HOSTFACTS_H
#define GPUREC_RECORD_HOST_HOSTFACTS_H

#include "format/writer.h"

/*
 * One row; and, for a value that others have worded, the same with what may be a path replaced by "(path)": class
 * `host` must not hold what is asked to be withheld with class `path`.
 */
int fact_emit(struct writer *w, uint64_t at_ns, const char *name, const char *value, struct fault *why);
int fact_emit_pathless(struct writer *w, uint64_t at_ns, const char *name, const char *value, struct fault *why);
__attribute__((format(printf, 5, 6))) int fact_emitf(struct writer *w, uint64_t at_ns, struct fault *why,
						     const char *name, const char *fmt, ...);

/* Steal and frequency of each CPU: `cpu` rows when they have changed. stat_path: /proc/stat, or a test's. */
struct cpus;
int cpus_new(struct cpus **c, const char *stat_path, struct fault *why);
void cpus_free(struct cpus *c);
/* 0, also where nothing can be read; or what writer_add() returned. */
int cpus_emit(struct cpus *c, struct writer *w, uint64_t at_ns, struct fault *why);
/* Another capture begins: all of them are reported again. */
void cpus_forget(struct cpus *c);

/*
 * The first line of a file or, unless `key` is NULL, what follows the colon or equals sign of the first line that
 * begins with it; cut to `size`. False: there is none.
 */
bool hostfacts_line(const char *path, const char *key, char *value, size_t size);

/* All that the machine says of itself. What cannot be read is left out. */
int hostfacts_emit(struct writer *w, uint64_t at_ns, struct fault *why);

#endif
