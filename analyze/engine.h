/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over a capture: every event goes into the names, the timeline, the table of calls, and to the rules. Memory
 * grows with the number of processes, threads, functions, sites and outstanding allocations, not of events.
 */
#ifndef GPUREC_ANALYZE_ENGINE_H
#define GPUREC_ANALYZE_ENGINE_H

#include "analyze/stats/call_stats.h"
#include "analyze/rule.h"
#include "replay/model/ledger.h"

struct engine;

/* Copies settings. ctx: schema, reader, unverified and unsealed are the caller's; the rest is filled here. */
int engine_open(struct engine **e, const struct context *ctx, const struct settings *settings, struct fault *why);
void engine_close(struct engine *e);

/* The next event or mark, in the cursor's order. */
int engine_feed(struct engine *e, const struct event *ev, struct fault *why);

/* Before engine_finish(): the events could be read only so far, and why. `why` must outlive the engine. */
void engine_stop(struct engine *e, const struct fault *why);

/* After the last event: what the rules found, sorted. To be called once. */
int engine_finish(struct engine *e, struct findings *out, struct fault *why);

/* After that: the recorded time, less what was withheld as a whole; what shares are of. */
uint64_t engine_judged_ns(const struct engine *e);

/* After that as well: where the time of threads went that made calls. */
const struct ledger *engine_ledger(const struct engine *e);

const struct calls *engine_calls(const struct engine *e);
const struct context *engine_context(const struct engine *e);
uint64_t engine_nevents(const struct engine *e);

#endif
