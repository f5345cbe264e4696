/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of rule `evidence` share: the capture itself (capture_evidence.c), and the processes that it covers.
 */
#ifndef GPUREC_ANALYZE_RULES_CAPTURE_EVIDENCE_H
#define GPUREC_ANALYZE_RULES_CAPTURE_EVIDENCE_H

#include "analyze/facts/losses.h"
#include "analyze/facts/moments.h"
#include "analyze/rule.h"

/* A finding of the rule; never NULL, as findings_add(). */
struct finding *evidence_report(struct findings *out, enum severity severity, const char *class);

/* A finding of events that are counted by function; NULL: there are none. */
struct finding *evidence_counted(const struct context *ctx, struct findings *out, enum severity severity,
				 const char *class,
				 bool (*counts)(const struct schema *, const struct counter *, const void *),
				 const char *what);

/* capture_processes.c: calls in flight, no call at all, and what still ran. */
void evidence_processes(const struct moments *m, const struct context *ctx, struct findings *out);

#endif
