/* SPDX-License-Identifier: Apache-2.0 */
/* What the seals count as lost or lacking, by function, and in words. */
#ifndef GPUREC_ANALYZE_FACTS_LOSSES_H
#define GPUREC_ANALYZE_FACTS_LOSSES_H

#include "format/base/text.h"
#include "format/reader.h"

struct context;

struct loss {
	const char *name; /* of the function or tracepoint: probes with one name are one */
	uint64_t n;
};

/* A zeroed one is empty. */
struct losses {
	struct loss *all; /* owned; most first, then by name */
	size_t n;
	uint64_t total;
};

/* Add up those that `counts` wants. False: no memory. */
bool losses_collect(struct losses *l, const struct schema *schema, const struct counter *counters, uint32_t ncounters,
		    counter_test *counts, const void *arg);
void losses_clear(struct losses *l);

/*
 * For losses_collect(). Calls open when recording began or ended, or left without returning, are lost on any host, and
 * what was left out on purpose was wanted so: neither alarms.
 */
counter_test loss_alarms, loss_of_events, loss_not_attached, loss_on_purpose; /* alarms: the next two */
counter_test loss_hides; /* alarms, or was on purpose: what was asked for may be among it */
/* How many calls of a kind (0: of all) were left out on purpose; reader NULL: 0. */
uint64_t calls_left_out(const struct reader *r, uint16_t kind);
/* Whether some were in [begin_ns, end_ns), as exactly as seals show it; reader NULL: no. */
bool calls_left_out_within(const struct reader *r, uint64_t begin_ns, uint64_t end_ns);
/* Whether rows of a kind (0: of any call) may be missing that were asked for. */
bool rows_missing(const struct context *ctx, uint16_t kind);
/* A GPU call that had not returned when recording ended: a hang looks like that. Sleeps in futexes always do. */
counter_test loss_open_call;
/* A call that was recorded. */
counter_test counts_call;

/* " 90 of sched_switch, 34 of cudaLaunchKernel and 12 of 3 others": at most `max` named. */
void losses_add(const struct losses *l, size_t max, struct text *t);

/* Time of epochs whose events were all withheld: what is left of the recorded time is what was judged. */
uint64_t withheld_ns(const struct reader *r);

/* What to do about time that is unknown, by what the capture lacks. */
const char *unknown_remedy(const struct context *ctx);

/* What to do about this cause of losses. */
const char *loss_remedy(uint8_t counter);

/* Sum of what all probes fired, of which the others are parts. */
uint64_t losses_fired(const struct schema *schema, const struct counter *counters, uint32_t ncounters);

#endif
