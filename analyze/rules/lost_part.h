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

/* The settings of a rule about a part, in this order: LOST_SETTINGS(). */
enum { LOST_TOTAL, LOST_SHARE, LOST_CALLS };
#define LOST_SETTINGS(total_ns, percent, what)                                                                         \
	{                                                                                                              \
		[LOST_TOTAL] = {"total", SETTING_NS,    total_ns,                                                      \
				1000,    1000000000000, "so much time of one thread, in which it " what ","},          \
		[LOST_SHARE] = {"share", SETTING_PERCENT, percent, 1, 100, "and this share of its recorded time"},     \
		[LOST_CALLS] = {"calls",                                                                               \
				SETTING_COUNT,                                                                         \
				4,                                                                                     \
				1,                                                                                     \
				1000000000,                                                                            \
				"launches, copies, memsets and collectives by which a thread shows that it feeds the " \
				"GPU"},                                                                                \
	}

/* take() gets each thread that fed the GPU by so many calls, and lost so much of its time to the part. */
void lost_part_threads(const struct context *ctx, enum ledger_part part, const uint64_t *set,
		       void (*take)(void *self, const struct context *ctx, const struct ledger_thread *t), void *self);

/* Whether it is that much, of the thread's time. */
bool lost_part_lasts(const struct ledger_thread *t, uint64_t ns, const uint64_t *set);

/* One more thread; */
void lost_part_join(struct lost_part *l, const struct context *ctx, const struct ledger_thread *t,
		    enum ledger_part part);
/* that lost so much of its time in the part. */
void lost_part_join_some(struct lost_part *l, const struct context *ctx, const struct ledger_thread *t,
			 enum ledger_part part, uint64_t ns);

/* A new finding about them. Its headline begins with who they are: "201 trainer, which feeds the GPU,". Never NULL. */
struct finding *lost_part_finding(const struct lost_part *l, uint64_t process, const struct rule *rule,
				  const char *class, enum confidence confidence, struct findings *out);

/* ", 24.3 % of its time". */
void lost_part_add_share(const struct lost_part *l, struct text *t);

#endif
