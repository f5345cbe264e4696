/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of the ledger have in common: a thread's part of it, whose sums are checked. */
#ifndef TESTS_UNIT_LEDGERS_H
#define TESTS_UNIT_LEDGERS_H

#include "tests/unit/splits.h"
#include "replay/model/ledger.h"

#define F1 0x7f00000010c0
#define F2 0x7f00000010e0
#define S 1
#define D 2
#define STOPPED 4
#define WAIT_BITSET 9
#define WAKE 1
#define LOCK_PI 6

/* What the thread has, after all ended at `end`. */
static inline const struct ledger_thread *ledger_of(struct feed *f, uint32_t tid, uint64_t end)
{
	struct findings found = {0};
	const struct ledger *l;
	struct fault why;

	feed_settle(f, end);
	assert_int_equal(engine_finish(f->engine, &found, &why), 0);
	findings_clear(&found);
	l = engine_ledger(f->engine);
	for (size_t i = 0; i < l->threads.nitems; i++)
		if (l->threads.items[i]->a == tid)
			return (const struct ledger_thread *)l->threads.items[i];
	return NULL;
}

static inline void check_sum(const struct ledger *l, const struct ledger_thread *t)
{
	uint64_t sum = 0, stopped = 0, slices[LEDGER_PARTS] = {0}, waited[LEDGER_PARTS] = {0};

	for (size_t i = 0; i < t->waited.n; i++) {
		const struct waited_for *w = &t->waited.all[i];
		uint64_t did = 0;

		for (unsigned c = 0; c < CAUSE_CLASSES; c++)
			did += w->did_ns[c];
		assert_int_equal(did, w->ns);
		assert_int_not_equal(w->whom.tid, t->key.a); /* nobody waits for itself */
		assert_true(i == 0 || w->ns <= t->waited.all[i - 1].ns);
		waited[w->part] += w->ns;
	}
	assert_true(t->waited.n <= WAITED_FOR_MAX + 2);
	for (size_t i = 0; i < t->stops.n; i++)
		stopped += t->stops.all[i].ns;
	assert_int_equal(stopped, t->ns[LEDGER_STOPPED]);

	for (size_t i = 0; i < t->nslices; i++)
		for (unsigned p = 0; p < LEDGER_PARTS; p++)
			slices[p] += t->slices[i].ns[p];
	for (unsigned p = 0; p < LEDGER_PARTS; p++) {
		sum += t->ns[p];
		assert_int_equal(waited[p], ledger_names((enum ledger_part)p) ? t->ns[p] : 0);
		if (t->sliced)
			assert_int_equal(slices[p], t->ns[p]);
	}
	assert_int_equal(sum, t->end_ns - t->begin_ns);
	assert_int_equal(t->slice_ns, l->slice_ns);
	assert_true(t->nslices <= LEDGER_SLICES);
	assert_int_equal(t->npieces, 0);
	assert_int_equal(t->nstays, 0);
}

static inline void check_parts(const struct ledger *l, const struct ledger_thread *t,
			       const uint64_t expected[LEDGER_PARTS])
{
	assert_non_null(t);
	check_sum(l, t);
	for (unsigned p = 0; p < LEDGER_PARTS; p++)
		if (t->ns[p] != expected[p])
			fail_msg("%s: %llu ns, not %llu", ledger_part_key((enum ledger_part)p),
				 (unsigned long long)t->ns[p], (unsigned long long)expected[p]);
}

#define CHECK(t, ...) check_parts(engine_ledger(f->engine), t, (const uint64_t[LEDGER_PARTS]){__VA_ARGS__})

/* Asleep from `begin` on, woken at `woken`, and on the CPU again at `end`. */
static inline void sleeps(struct feed *f, uint64_t begin, uint64_t woken, uint64_t end, uint64_t state, uint64_t by_irq)
{
	feed_switch(f, begin, 0, 101, state, 0);
	feed_waking(f, woken, by_irq ? 0 : 1, 101, by_irq ? 0 : 102, by_irq ? 1 : WAKE_TASK);
	feed_switch(f, end, 0, 0, 0, 101);
}

#endif
