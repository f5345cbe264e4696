/* SPDX-License-Identifier: Apache-2.0 */
/* What one thread was doing at one moment, and why: worked out while a capture goes through the engine. */
#ifndef GPUREC_ANALYZE_AT_H
#define GPUREC_ANALYZE_AT_H

#include "analyze/explain.h"
#include "analyze/rule.h"

#define AT_CALLS_MAX 8          /* calls inside each other that are listed */
#define AT_LOOK_NS 10000000000u /* so far back from the moment on the thread's state may have begun */
#define AT_TRIES_MAX 64         /* rows of the thread after the moment, by which its state then is known */

struct at_call {
	uint64_t begin_ns, end_ns, probe;
};

struct at {
	uint64_t at_ns; /* boot clock */
	uint32_t tid;
	struct at_call calls[AT_CALLS_MAX]; /* whose time the moment is in, by their ends: inner ones first */
	unsigned ncalls;
	struct explained call_why; /* of the last of them, with ncalls */
	bool known;                /* the thread's state then */
	struct span state;         /* with it */
	struct explained why;      /* of that state */
	/* Until the end. */
	unsigned ntries;
	bool due; /* the last call is to be explained when all rows of its time were taken in */
};

void at_begin(struct at *a, uint64_t at_ns, uint32_t tid);
/* After the engine took the event in. */
void at_feed(struct at *a, const struct context *ctx, const struct event *ev);
/* After engine_finish(). */
void at_end(struct at *a, const struct context *ctx);

#endif
