/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the leak rules share: things that are made and not ended (replay/model/allocations.h), by process and by the
 * place that makes them, judged when their process ends, runs another program, or the capture ends.
 */
#ifndef GPUREC_ANALYZE_RULES_LEAKS_H
#define GPUREC_ANALYZE_RULES_LEAKS_H

#include "analyze/stats/alloc_sites.h"
#include "analyze/rule.h"

/* Constants of a rule. */
struct leak_subject {
	const struct rule *rule;
	bool objects;                     /* no memory */
	enum weight_unit unit;            /* of what leaks */
	const uint16_t *end_kinds;        /* of events of which some end a thing; ends with 0 */
	const char *things, *open_things; /* "allocations", "outstanding allocations" */
	const char *ends, *lost_ends;     /* "frees"; the fact of how many were not recorded: "lost_frees" */
	const char *ended, *refused;      /* "freed"; what happened when there was no more: "its allocations failed" */
	/* By the settings of the rule; leak_goes_on() is a part of it. */
	bool (*is_leak)(struct site *site, uint64_t end_ns, const uint64_t *set);
	/*
	 * Adds its words and facts to a finding: what leaks, to the headline, as "device memory: 40 cudaMalloc
	 * allocations (640 KiB), made"; the cost; and the advice, which says already "Record again ...; if it is still
	 * there" where it is doubtful.
	 */
	void (*describe)(struct finding *f, const struct context *ctx, const struct site *site, uint64_t life_ns,
			 bool doubtful);
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

/* Whether a site has lived for so long, and holds more and more: site_grows(). */
bool leak_goes_on(struct site *site, uint64_t end_ns, uint64_t life_ns, uint64_t percent);

#endif
