/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Class `wait` of rule hang: a thread that feeds the GPU sleeps when recording ends, in a system call in which one
 * other thread had ended its sleeps before; and that one cannot, or does not: it ended, is stopped, waits for a disk,
 * or is at work since.
 */
#ifndef GPUREC_ANALYZE_RULES_HANG_WAITS_H
#define GPUREC_ANALYZE_RULES_HANG_WAITS_H

#include "analyze/facts/moments.h"
#include "analyze/rule.h"

#define HANG_WAITS_MAX 64 /* found */

struct hang_wait {
	uint64_t process; /* instance that waits */
	uint32_t tid, first,
		whom; /* it waits for the first, which is `whom` or waits itself, in the end for that one */
	uint64_t begin_ns;
	uint64_t since_ns; /* all of those before `whom` wait since then; */
	uint64_t known_ns; /* and of how much of that time it is known what `whom` did */
	uint64_t nthreads; /* of that process that wait for the same one */
	enum fate { FATE_NONE, FATE_ENDED, FATE_STOPPED, FATE_KERNEL, FATE_BUSY, FATE_NO_CPU } fate;
};

/* A zeroed one is empty. */
struct hang_waits {
	struct hang_wait all[HANG_WAITS_MAX];
	size_t n;
	uint64_t nbeyond;
};

/* A thread that has slept for at least min_ns, `wakes` of whose last sleeps in that system call one other one ended. */
void hang_waits_take(struct hang_waits *w, const struct context *ctx, const struct moments *moments,
		     const struct ledger_thread *t, uint64_t min_ns, uint64_t wakes);

void hang_waits_report(const struct hang_waits *w, const struct context *ctx, const struct moments *moments,
		       struct findings *out);

#endif
