/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads of one process that feed the GPU and lost much of their time to one part of the ledger
 * (replay/model/ledger.h), so that many short times count like a long one.
 */
#ifndef GPUREC_ANALYZE_RULES_LOST_PART_H
#define GPUREC_ANALYZE_RULES_LOST_PART_H

#include "analyze/rule.h"
#include "analyze/stats/top_threads.h"

/* A zeroed one is empty. */
struct lost_part {
	uint64_t tid, nthreads, life_ns, lost_ns;
	struct roster waiters;
	struct gpu_price price;
};

/* Whether it fed the GPU by so many calls, and lost so much time to it, which is so many percent of its own. */
bool lost_part_counts(const struct ledger_thread *t, enum ledger_part part, uint64_t calls, uint64_t total_ns,
		      uint64_t percent);

/* One more thread. */
void lost_part_join(struct lost_part *l, const struct context *ctx, const struct ledger_thread *t,
		    enum ledger_part part);

/* A new finding about them. Its headline begins with who they are: "201 trainer, which feeds the GPU,". Never NULL. */
struct finding *lost_part_finding(const struct lost_part *l, uint64_t process, const struct rule *rule,
				  const char *class, enum confidence confidence, struct findings *out);

/* ", 24.3 % of its time". */
void lost_part_add_share(const struct lost_part *l, struct text *t);

#endif
