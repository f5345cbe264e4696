/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What changed between two runs: calls by process name and function (how often, how long, how many slow or failed, what
 * they waited for), and memory held, growing and not freed. diff_stats.h says what is more than noise.
 */
#ifndef GPUREC_REPLAY_DIFF_DIFF_H
#define GPUREC_REPLAY_DIFF_DIFF_H

#include "format/base/json.h"
#include "replay/model/walk.h"

/* One run, summed up. Memory: bounded by distinct names, threads and live allocations, and a few numbers an epoch. */
struct diff_side;

/* Walk it. 0, or WALK_STOPPED as walk() (then *out is set too), or an error. *out: diff_free(). */
int diff_collect(struct diff_side **out, const struct replay *replay, struct fault *why);
void diff_free(struct diff_side *side);

/* For people: the largest changes; all that changed, with its numbers; all that was compared. */
enum diff_detail { DIFF_LARGEST, DIFF_CHANGES, DIFF_ALL };

struct diff_result {
	size_t nreported; /* comparisons that could show */
	size_t nchanges;  /* of them more than noise */
};

/* Lines for people, or a JSON object; *result is set. ERR_MEMORY; the text may have failed, too. */
int diff_text(const struct diff_side *a, const struct diff_side *b, enum diff_detail detail, struct text *t,
	      struct diff_result *result, struct fault *why);
int diff_json(const struct diff_side *a, const struct diff_side *b, const char *key, struct json *j,
	      struct diff_result *result, struct fault *why);

#endif
