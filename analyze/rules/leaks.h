/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the leak rules share: things that are made and not ended (replay/model/allocations.h), by process and by the
 * place that makes them, judged when their process ends, runs another program, or the capture ends.
 */
#ifndef GPUREC_ANALYZE_RULES_LEAKS_H
#define GPUREC_ANALYZE_RULES_LEAKS_H

#include "analyze/alloc_sites.h"
#include "analyze/rule.h"

/* What became of a process by the time at which it is judged. */
enum fate { FATE_RUNS, FATE_ENDED, FATE_REPLACED };

struct leaks;

/* Constants of a rule. */
struct leak_subject {
	const struct rule *rule;
	bool objects;                     /* no memory */
	const uint16_t *end_kinds;        /* of events of which some end a thing; ends with 0 */
	const char *things, *open_things; /* "allocations", "outstanding allocations" */
	const char *ends;                 /* "frees" */
	bool (*is_leak)(struct site *site, uint64_t end_ns, const uint64_t *set);
	/* Adds to l->found. */
	void (*report)(struct leaks *l, const struct context *ctx, struct site *site, enum fate fate, uint64_t end_ns);
};

/* The state of a rule. */
struct leaks {
	const struct leak_subject *subject;
	struct sites sites;
	struct findings found; /* of processes that have ended, and moved to the report at the end */
	uint64_t nlost_ends;   /* events that may have ended something, and were not recorded */
	uint64_t nleft_out;    /* of those in all of the capture: left out on purpose */
	uint64_t nunjudged;    /* things at sites for which these may be the ends */
	bool withheld;
};

/* As a rule's functions of these names; the state is a zeroed struct leaks. */
void leaks_open(struct leaks *l, const struct leak_subject *subject, const struct context *ctx);
void leaks_close(void *state);
int leaks_feed(void *state, const struct context *ctx, const uint64_t *set, const struct event *ev);
void leaks_finish(void *state, const struct context *ctx, const uint64_t *set, struct findings *out);

/* Whether what is not recorded may be the ends that are missing at this site. */
bool leak_is_doubtful(const struct leaks *l, const struct site *site);

/*
 * Begins a finding of class "growing" in l->found: its subject, severity, confidence, count, levels, and what is known
 * of the site as facts.
 */
struct finding *leak_finding(struct leaks *l, struct site *site, enum fate fate, uint64_t end_ns);

/* "; the process was still running when the capture ended", " before the process ended", ... */
const char *leak_until(enum fate fate);

#endif
