/* SPDX-License-Identifier: Apache-2.0 */
/* What the rules have found, in a form that every report can show. */
#ifndef GPUREC_ANALYZE_FINDING_H
#define GPUREC_ANALYZE_FINDING_H

#include "analyze/explain.h"
#include "analyze/hist.h"

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
	struct explained *why; /* owned */
};

enum fact_kind { FACT_NUMBER, FACT_ADDRESS, FACT_TEXT, FACT_BOOL };

/* Something that only this rule has to say. Shown in the order in which it was added. */
struct fact {
	const char *key; /* a literal */
	enum fact_kind kind;
	uint64_t number;
	char *text; /* FACT_TEXT: bytes out of a capture, maybe; owned */
};

struct finding {
	const char *rule;  /* a literal */
	const char *class; /* a literal: what kind of cause */
	enum severity severity;
	enum confidence confidence;
	uint64_t process; /* number of the instance; 0: none */
	uint64_t stack;   /* number of a stack to show; 0: none */
	uint64_t futex;   /* that it is about; 0: none. Two findings about one are the same trouble from two sides */
	uint64_t weight;  /* what was lost by it, ns or bytes: the order within a severity */
	uint64_t count;
	bool timed; /* the following four say something */
	uint64_t total_ns, min_ns, median_ns, max_ns;
	struct text headline; /* one sentence without the full stop */
	struct text advice;   /* what to do about it */
	struct occurrence first[OCCURRENCES_KEPT];
	unsigned nfirst;
	struct worst worst[WORST_KEPT]; /* longest first */
	unsigned nworst;
	struct fact facts[FACTS_MAX];
	unsigned nfacts;
};

/* A zeroed one is empty. */
struct findings {
	struct finding **all;
	size_t n, room;
};

/* A new zeroed finding, owned by `f`; NULL: no memory. */
struct finding *findings_add(struct findings *f);
/* A rule did not judge `n` of `what` because of its limits: an info finding of class "limit", unless n is 0. False: no
 * memory. */
bool findings_add_limit(struct findings *f, const char *rule, uint64_t n, const char *what);
/* Move number `i` of `from` over, leaving NULL behind. False: no memory, and it stays. */
bool findings_take(struct findings *f, struct findings *from, size_t i);
/* Severity, then weight, then in the order of the rules. */
void findings_sort(struct findings *f);
void findings_clear(struct findings *f);

void finding_number(struct finding *f, const char *key, uint64_t value);
void finding_address(struct finding *f, const char *key, uint64_t value);
void finding_bool(struct finding *f, const char *key, bool value);
/* False: no memory. */
bool finding_text(struct finding *f, const char *key, const char *s, size_t n);

/* What many like occurrences have in common. A zeroed one is empty. */
struct tally {
	uint64_t count, total_ns, min_ns, max_ns;
	struct hist *hist; /* owned */
	struct occurrence first[OCCURRENCES_KEPT];
	struct worst worst[WORST_KEPT];
};

/* Count one in, which took [begin_ns, end_ns] of the thread; a copy of its cause is kept if it is among the worst.
 * False: no memory. */
bool tally_add(struct tally *t, uint64_t begin_ns, uint64_t end_ns, const struct explained *why);
/* Hand everything over to a finding; the tally is empty then. */
void tally_give(struct tally *t, struct finding *f);
void tally_clear(struct tally *t);

#endif
