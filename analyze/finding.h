/* SPDX-License-Identifier: Apache-2.0 */
/* What the rules have found, in a form that every report can show. */
#ifndef GPUREC_ANALYZE_FINDING_H
#define GPUREC_ANALYZE_FINDING_H

#include "analyze/explain.h"
#include "analyze/stats/gpu_price.h"
#include "analyze/stats/hist.h"
#include "analyze/stats/min_levels.h"
#include "analyze/report/picture_timeline.h"

enum severity { SEVERITY_INFO = 0, SEVERITY_WARNING, SEVERITY_ERROR, SEVERITIES };
enum confidence { CONFIDENCE_LOW = 0, CONFIDENCE_MEDIUM, CONFIDENCE_HIGH };

const char *severity_name(enum severity s);     /* "info", "warning", "error" */
const char *confidence_name(enum confidence c); /* "low", "medium", "high" */

#define OCCURRENCES_KEPT 32 /* of a finding: the first ones */
#define WORST_KEPT 3        /* of a finding: the longest ones, with their cause */
#define FACTS_MAX 32

/* When and on whom it happened. */
struct occurrence {
	uint64_t begin_ns, end_ns; /* boot clock */
	uint64_t tid;
	uint32_t waker_tid;  /* who ended the sleep behind it; TID_NONE */
	uint32_t keeper_tid; /* explained_keeper() */
};

/* An occurrence with its cause. */
struct worst {
	struct occurrence at;
	struct explained *why; /* owned; never NULL */
	struct scene *scene;   /* owned; the threads in it and what they did then; never NULL */
};

/* What `weight` counts. */
enum weight_unit { WEIGHT_NONE = 0, WEIGHT_NS, WEIGHT_BYTES, WEIGHT_EVENTS };

#define SERIES_MAX 64

/* Something over time, in `n` slices of equal width. */
struct series {
	const char *label; /* a literal: "outstanding bytes (lowest in each slice)" */
	enum series_unit { SERIES_BYTES, SERIES_CELSIUS, SERIES_MHZ, SERIES_COUNT } unit;
	uint64_t begin_ns, width_ns;
	unsigned n;
	uint64_t value[SERIES_MAX];
};

/* A thread that plays a part, most time first within each part. */
enum part_played { PART_WAITER, PART_WAKER, PART_KEEPER, PARTS_PLAYED };
struct party {
	enum part_played part;
	struct who who;
	uint64_t count, ns;
};
#define PARTIES_MAX 24

const char *part_name(enum part_played p); /* "waiter", "waker", "keeper" */

enum fact_kind { FACT_NUMBER, FACT_SIGNED, FACT_ADDRESS, FACT_TEXT, FACT_BOOL };

/* Something that only this rule has to say. Shown in the order in which it was added. */
struct fact {
	const char *key; /* a literal */
	enum fact_kind kind;
	uint64_t number;
	char *text; /* FACT_TEXT: bytes out of a capture, maybe; owned */
};

struct finding {
	bool failed;       /* no memory for a part of it */
	const char *rule;  /* a literal */
	const char *class; /* a literal: what kind of cause */
	enum severity severity;
	enum confidence confidence;
	/* The subject: as much of it as the rule knows. */
	uint64_t process; /* number of the instance; 0: none */
	uint64_t tid;     /* the one thread that it is about; 0: none, or several */
	uint64_t probe;   /* the one function; 0: none, or several */
	uint64_t stack;   /* number of a stack to show; 0: none */
	uint64_t futex;   /* that it is about; 0: none. Two findings about one are the same trouble from two sides */
	uint64_t gpu;     /* index + 1; 0: none */
	/* How much. */
	uint64_t weight; /* what was lost by it: the order within a severity */
	enum weight_unit unit;
	uint64_t share_ppm; /* WEIGHT_NS: millionths of the recorded time; more than a million where threads lost it
			       side by side */
	uint64_t count;
	bool lasted;            /* WEIGHT_NS: so long it was so; that much was not lost by it */
	struct gpu_price price; /* WEIGHT_NS: what that cost the GPU */
	size_t same_as; /* the number (from 1) of the finding that reports the same occurrences from another side; 0:
			 * none
			 */
	bool timed;     /* the following say something */
	uint64_t total_ns, min_ns, median_ns, p90_ns, p99_ns, max_ns;
	uint64_t last_ns;      /* end of the last occurrence, with `timed` */
	struct hist *hist;     /* owned; of the durations, with `timed`; else NULL */
	uint64_t usual_ns;     /* the median that it is measured against; 0: none */
	uint64_t threshold_ns; /* what is longer counted; 0: none */
	struct levels *levels; /* owned; outstanding bytes over time, where memory is concerned; else NULL */
	struct series *series; /* owned; something else over time; else NULL */
	struct party parties[PARTIES_MAX];
	unsigned nparties;
	/* For people: each one sentence without the full stop. What happened; how sure that is; what it cost; what to
	 * do.
	 */
	struct text headline, sure, cost, advice;
	/* As evidence. */
	struct occurrence first[OCCURRENCES_KEPT];
	unsigned nfirst;
	struct worst worst[WORST_KEPT]; /* longest first */
	unsigned nworst;
	struct fact facts[FACTS_MAX];
	unsigned nfacts;
};

/*
 * A zeroed one is empty. Adding to it and to its findings needs no check for lack of memory at each step: in the end
 * findings_whole() reports it for all of them.
 */
struct findings {
	struct finding **all;
	size_t n, room;
	bool failed;          /* no memory for one more, */
	struct finding spare; /* which is written here, and in no report */
};

/* A new zeroed finding, owned by `f`; never NULL. */
struct finding *findings_add(struct findings *f);
/* A rule did not judge `n` of `what` because of its limits: an info finding of class "limit", unless n is 0. */
void findings_add_limit(struct findings *f, const char *rule, uint64_t n, const char *what);
/* The same because of calls that were left out on purpose: class "left-out". */
void findings_add_left_out(struct findings *f, const char *rule, uint64_t n, const char *what);
/* Move all of `from` over, which is empty then. */
void findings_take(struct findings *f, struct findings *from);
/* Whether there was memory for all findings, and for all that is in them: texts, facts, levels. */
bool findings_whole(const struct findings *f);
/* Work out the shares of a run of `run_ns`, and write `sure` and `cost` where the rule has not. False: not whole. */
bool findings_complete(struct findings *f, uint64_t run_ns);
/*
 * Errors that cost something else than time, what cost time, other warnings, infos; each by weight (ns that were lost,
 * ns that something lasted, bytes, events: each among its like), then in the order of the rules.
 */
void findings_sort(struct findings *f);
/*
 * Sorted ones: where one reports the same waits in a futex as one before it (a slow launch, and the lock that held it
 * up), it says so instead of what it cost. False: no memory.
 */
bool findings_relate(struct findings *f);
void findings_clear(struct findings *f);

void finding_number(struct finding *f, const char *key, uint64_t value);
void finding_signed(struct finding *f, const char *key, int64_t value);
void finding_address(struct finding *f, const char *key, uint64_t value);
void finding_bool(struct finding *f, const char *key, bool value);
void finding_text(struct finding *f, const char *key, const char *s, size_t n);
void finding_string(struct finding *f, const char *key, const char *s);

/* What many like occurrences have in common. A zeroed one is empty. */
struct tally {
	uint64_t count, total_ns, min_ns, max_ns;
	uint64_t last_ns;  /* end of the last one */
	struct hist *hist; /* owned */
	struct occurrence first[OCCURRENCES_KEPT];
	struct worst worst[WORST_KEPT];
};

/*
 * Count one in, which took [begin_ns, end_ns] of the thread; a copy of its cause is kept if it is among the worst. It
 * must be the latest thing that happened: the timeline is asked what all the threads in it did. False: no memory.
 */
bool tally_add(struct tally *t, const struct timeline *tl, uint64_t begin_ns, uint64_t end_ns,
	       const struct explained *why);
/* The same without a cause at hand: it is looked for (in *scratch) only if this is among the worst. */
bool tally_add_call(struct tally *t, const struct timeline *tl, const struct names *names, uint32_t tid,
		    uint64_t begin_ns, uint64_t end_ns, struct explained *scratch);
/* Count all of `from` in, which is empty then. */
void tally_join(struct tally *t, struct tally *from);
/* Hand everything over to a finding; the tally is empty then. */
void tally_give(struct tally *t, struct finding *f);
void tally_clear(struct tally *t);

#endif
