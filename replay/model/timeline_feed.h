/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From rows of a capture to the timeline: which of its functions takes what, rows of one moment in the order in which
 * they must have happened, and when rows are missing. The user of a timeline fills it by these.
 */
#ifndef GPUREC_REPLAY_MODEL_TIMELINE_FEED_H
#define GPUREC_REPLAY_MODEL_TIMELINE_FEED_H

#include "format/cursor.h"
#include "replay/model/tasks.h"
#include "replay/model/timeline.h"

/* Whether it says anything to the timeline. */
bool timeline_wants(const struct event *ev);

/* Any row; what says nothing to the timeline passes. ERR_MEMORY. */
int timeline_feed(struct timeline *tl, const struct event *ev, struct fault *why);

/* A row of kind in_flight. */
void timeline_feed_in_flight(struct timeline *tl, const struct schema *schema, const struct event *ev);

/* The mark of an epoch: rows that were lost or withheld in it. ERR_MEMORY. `reader` may be NULL. */
int timeline_feed_epoch(struct timeline *tl, const struct reader *reader, const struct epoch *epoch, struct fault *why);

/*
 * A kernel that does not report switches: of threads that call it would look as if they ran all the time, so nothing is
 * known of any. A fact says so; where facts were withheld, the counters do. ERR_MEMORY. `reader` may be NULL.
 */
int timeline_feed_fact(struct timeline *tl, const struct event *ev, struct fault *why);
int timeline_feed_counters(struct timeline *tl, const struct reader *reader, struct fault *why);

/* For timeline_ask_tracked() with a struct tasks. */
uint64_t timeline_tracked_since(void *tasks, uint32_t tid);

#define MOMENT_MAX 1024 /* events of one moment that are brought into causal order; more of them: in such lots */

/* Events that wait for others of their moment, without their texts. A zeroed one is empty. */
struct moment {
	struct moment_event *events; /* room for MOMENT_MAX, from the first one on */
	unsigned n;
	uint64_t at_ns;
};

void moment_clear(struct moment *m);

typedef int moment_take(void *self, const struct event *ev, struct fault *why);

/* Whether those that wait must go before `next` is inspected. */
static inline bool moment_is_over(const struct moment *m, const struct event *next)
{
	return m->n > 0 && (next->at_ns != m->at_ns || m->n == MOMENT_MAX);
}

/* One more that waits; there is room. ERR_MEMORY. */
int moment_add(struct moment *m, const struct event *ev, struct fault *why);

/* Give those that wait to `take`, in their order. */
int moment_end(struct moment *m, const struct timeline *tl, moment_take *take, void *self, struct fault *why);

/* Give each event in its turn to `take`: at once, or when its moment is over. After the last one: moment_end(). */
int moment_pass(struct moment *m, const struct timeline *tl, const struct event *ev, moment_take *take, void *self,
		struct fault *why);

#endif
