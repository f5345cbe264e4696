/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What changed between two runs: calls by process name and function (how often, how long, how many failed), memory
 * held, and where the time in calls went.
 *
 * Whether a difference is more than noise: calls that follow each other resemble each other, so that each call is no
 * evidence of its own. An epoch (a second) is taken as one: its calls give one median and one rate, and those of the
 * two runs are compared by the rank-sum test of Mann and Whitney (Annals of Mathematical Statistics 18, 1947; normal
 * approximation with continuity and tie correction), two-sided, at 0.01 divided by the number of comparisons made.
 * So are their p99s, and which part of the time in calls each cause took. Epochs can resemble their neighbours, too:
 * then they are fewer observations than they seem, and the variance is taken (1 + r) / (1 - r) times as large, where r
 * is the correlation of an epoch with the next one (Bartlett 1946). It says whether these two runs differ; whether two
 * more runs would differ likewise, two runs cannot tell.
 */
#ifndef GPUREC_REPLAY_DIFF_H
#define GPUREC_REPLAY_DIFF_H

#include "replay/walk.h"

#define DIFF_BLOCKS_MIN 8 /* epochs with calls that each run needs before anything is said about noise */
#define DIFF_LEVEL 0.01

/* One run, summed up. Memory: bounded by distinct names, threads and live allocations, and a few numbers an epoch. */
struct diff_side;

/* Walk it. 0, or WALK_STOPPED as walk() (then *out is set too), or an error. *out: diff_free(). */
int diff_collect(struct diff_side **out, const struct replay *replay, struct fault *why);
void diff_free(struct diff_side *side);

/* Lines for people, or one JSON object, to a descriptor. ERR_MEMORY, ERR_IO. */
int diff_write(const struct diff_side *a, const struct diff_side *b, bool json, int fd, struct fault *why);

/*
 * Probability that two samples of one distribution differ in rank as much as these or more; 1 without any rows.
 * inflation: how much greater the variance is than that of independent ones; 1 for these. Sorts both.
 */
double diff_rank_sum(double *a, size_t na, double *b, size_t nb, double inflation);

/* That factor of a series in the order of time, at least 1. */
double diff_inflation(const double *v, size_t n);

#endif
