/* SPDX-License-Identifier: Apache-2.0 */
/* What helps against a cause, and what follows from how the threads in it are scheduled. */
#ifndef GPUREC_ANALYZE_REMEDY_H
#define GPUREC_ANALYZE_REMEDY_H

#include "analyze/explain.h"

/*
 * What helps against time lost to this class, whatever it was lost for, or for what is known of a cause (NULL:
 * nothing); NULL: that depends.
 */
const char *cause_remedy(const struct explained *e, enum cause_class class);

/*
 * What helps a thread that had no CPU, by how it and the one that had it are scheduled; NULL: nothing of that explains
 * it, or it is not known. Either may be NULL. barred: a CPU was idle on which it may not run.
 */
const char *cpu_remedy(const struct who *without, const struct who *keeper, bool barred);
/* The same for the last link, the one that had no CPU. */
const char *explained_cpu_remedy(const struct explained *e);

/* What helps a thread that slept for these requests; NULL: nothing of them explains it. `use` may be NULL. */
const char *disk_remedy(const struct disk_use *use);
/* Where nothing more is known, and where writes are held back. */
#define READS_REMEDY "Read ahead, from a faster disk, or in more threads"
#define WRITES_REMEDY                                                                                                   \
	"Write at a steady pace (fsync or sync_file_range now and then), past the page cache (O_DIRECT), from another " \
	"thread, or to a faster disk; or let more wait for it (vm.dirty_bytes)"

/* What helps a thread that waited for the network, for what is known of that; `use` may be NULL. */
const char *network_remedy(const struct network_use *use);

/* What helps a thread that has to free memory; flags: SPAN_LIMIT and others. */
const char *memory_remedy(uint32_t flags);

/*
 * Priority inversion: the last link had no CPU because of a thread that goes before it, and kept one waiting that goes
 * before both. Only where it is known of all three.
 */
bool explained_is_inversion(const struct explained *e);

#endif
