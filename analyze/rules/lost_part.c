// SPDX-License-Identifier: Apache-2.0
#include "analyze/rules/lost_part.h"

#include <inttypes.h>

#include "analyze/stats/callsite.h"
#include "format/base/units.h"

bool lost_part_lasts(const struct ledger_thread *t, uint64_t ns, const uint64_t *set)
{
	return ns >= set[LOST_TOTAL] && ns >= (t->end_ns - t->begin_ns) / 100 * set[LOST_SHARE];
}

void lost_part_threads(const struct context *ctx, enum ledger_part part, const uint64_t *set,
		       void (*take)(void *self, const struct context *ctx, const struct ledger_thread *t), void *self)
{
	const struct table *threads = &ctx->ledger->threads;

	for (size_t i = 0; i < threads->nitems; i++) {
		const struct ledger_thread *t = (const struct ledger_thread *)threads->items[i];

		if (t->nfed >= set[LOST_CALLS] && lost_part_lasts(t, t->ns[part], set))
			take(self, ctx, t);
	}
}

void lost_part_join_some(struct lost_part *l, const struct context *ctx, const struct ledger_thread *t,
			 enum ledger_part part, uint64_t ns)
{
	l->nthreads++;
	l->tid = t->key.a;
	l->life_ns += t->end_ns - t->begin_ns;
	l->lost_ns += ns;
	roster_add_thread(&l->waiters, ctx->names, t->key.a, ns);
	gpu_price_add(&l->price, ctx, t->key.a, t->key.b % LEDGER_AGAIN, part, ns);
}

void lost_part_join(struct lost_part *l, const struct context *ctx, const struct ledger_thread *t,
		    enum ledger_part part)
{
	lost_part_join_some(l, ctx, t, part, t->ns[part]);
}

struct finding *lost_part_finding(const struct lost_part *l, uint64_t process, const struct rule *rule,
				  const char *class, enum confidence confidence, struct findings *out)
{
	struct finding *f = rule_finding(out, rule, class, confidence);

	f->process = process;
	f->tid = l->nthreads == 1 ? l->tid : 0;
	f->weight = l->lost_ns;
	f->unit = WEIGHT_NS;
	roster_give(&l->waiters, PART_WAITER, f);
	text_add_who(&f->headline, roster_first(&l->waiters));
	if (l->nthreads > 1)
		text_add(&f->headline, " and %" PRIu64 " other thread%s, which feed the GPU,", l->nthreads - 1,
			 plural(l->nthreads - 1));
	else
		text_add(&f->headline, ", which feeds the GPU,");
	finding_number(f, "lost_ns", l->lost_ns);
	finding_number(f, "threads", l->nthreads);
	finding_number(f, "threads_ns", l->life_ns);
	return f;
}

void lost_part_add_share(const struct lost_part *l, struct text *t)
{
	text_add(t, ", ");
	share_add(t, l->lost_ns, l->life_ns);
	text_add(t, l->nthreads > 1 ? " of their time" : " of its time");
}
