/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether two runs differ by more than noise, and how much they would have to.
 *
 * Calls that follow each other resemble each other, so that each call is no evidence of its own: an epoch (a second) is
 * one observation. Means of epochs are compared by the test of Yuen (Biometrika 61, 1974): without the fifth of the
 * epochs that is lowest and the fifth that is highest, so that a start or an end does not count, and with the variance
 * of what is left; untrimmed where what is rare matters. Epochs can resemble their neighbours, too: then they are fewer
 * observations than they seem, and the variance is taken (1 + r) / (1 - r) times as large, where r is the correlation
 * of an epoch with the next one (Bartlett 1946). Slow calls are rare: their number is compared by the exact test of two
 * Poisson rates (Przyborowski and Wilenski, Biometrika 31, 1940). All of it says whether these two runs differ; whether
 * two more runs would, two runs cannot show. Therefore there is a floor: a change that is smaller is noise, whatever
 * the test says.
 */
#ifndef GPUREC_REPLAY_DIFF_DIFF_STATS_H
#define GPUREC_REPLAY_DIFF_DIFF_STATS_H

#include <stdbool.h>
#include <stddef.h>

#define DIFF_BLOCKS_MIN 8 /* epochs that each run needs before anything is said */

enum certainty {
	CERTAINTY_NONE,  /* not compared: neither run has it */
	CERTAINTY_SHORT, /* too little data, or too noisy, for any change to be reported */
	CERTAINTY_NOISE,
	CERTAINTY_UNSURE, /* may be chance, once in 20 to 500 such pairs */
	CERTAINTY_MORE,
	CERTAINTIES
};

/* A comparison's outcome. */
struct diff_change {
	double a, b;
	double bound; /* of |b - a|: what is larger is more than noise. 0 with CERTAINTY_SHORT */
	enum certainty certainty;
};

/* What does not matter, whatever the test says: a share of the larger value, and a difference. */
struct diff_floor {
	double share, least;
};

extern const struct diff_floor diff_share_floor;  /* of the time in calls, or of the run */
extern const struct diff_floor diff_growth_floor; /* bytes a second */

/* How sure one must be. Of a process that has changed the single functions are asked the milder question. */
enum strictness { STRICT, MILD };

/*
 * Compare two series in the order of time, which it changes. `scratch` has room for the longer one. UNSURE is only
 * given of untrimmed series.
 */
struct diff_change diff_compare(double *a, size_t na, double *b, size_t nb, double *scratch, bool trimmed,
				enum strictness strictness, struct diff_floor floor);

/* Compare numbers of rare things in `ta` and `tb` seconds. a, b, bound: of them in a second. */
struct diff_change diff_compare_rare(size_t ka, double ta, size_t kb, double tb, enum strictness strictness);

/* What some rare things cost in all: `n` that do not depend on each other. */
struct diff_cost {
	size_t n;
	double total, squares; /* of the costs, and of their squares */
	double seconds;        /* recorded */
};

/*
 * Compare what they cost in a second, as sums of independent ones that come by chance (a compound Poisson process: the
 * variance of such a sum is the sum of squares). SHORT unless each run has DIFF_BLOCKS_MIN of them.
 */
struct diff_change diff_compare_costs(const struct diff_cost *a, const struct diff_cost *b, struct diff_floor floor);

/* Compare two numbers of which each run has only one: the floor is all that is known of their noise. */
struct diff_change diff_compare_once(double a, double b, struct diff_floor floor);

/* How much greater the variance of a mean is than that of independent values: at least 1. */
double diff_inflation(const double *v, size_t n);

#endif
