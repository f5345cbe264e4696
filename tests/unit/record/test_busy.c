/* SPDX-License-Identifier: Apache-2.0 */
/* How long a CPU was busy, from switches some of which the kernel leaves out: what is proven, never more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/types.h>

#include <cmocka.h>

#undef __always_inline
#define __always_inline inline __attribute__((always_inline))

#include "bpf/busy.h"

#define IDLE 0
#define THREADS 6 /* of which from HIDDEN on those while which the kernel runs no program */
#define HIDDEN 4

/* A CPU, what it did, and what is believed of it. */
struct cpu {
	struct busy busy;
	bool seen;
	int runs;             /* IDLE, or a thread */
	uint64_t now_ns;      /* all of them since boot */
	uint64_t busy_ns;     /* in truth */
	uint64_t idled;       /* in truth, and the kernel says so */
	uint64_t first_ns;    /* busy_ns when the first switch was reported */
	uint64_t last_sample; /* what was reported last */
};

/* The same numbers in each run. */
static uint64_t seeded;

static unsigned below(unsigned limit)
{
	seeded = seeded * 6364136223846793005U + 1442695040888963407U;
	return (unsigned)(seeded >> 33) % limit;
}

static void pass(struct cpu *c, uint64_t ns)
{
	c->now_ns += ns;
	if (c->runs != IDLE)
		c->busy_ns += ns;
}

/* As bpf/metrics.h does it. */
static void switch_to(struct cpu *c, int next)
{
	bool was_idle = c->runs == IDLE, idles = next == IDLE, emitted = c->runs < HIDDEN;

	if (c->runs == next)
		return;
	c->idled += was_idle;
	c->runs = next;
	if (!emitted)
		return;
	if (!c->seen)
		c->first_ns = c->busy_ns;
	if (was_idle || idles != !!(c->busy.word & BUSY_IDLE) || !c->seen)
		busy_turn(&c->busy, c->now_ns, c->idled, was_idle, idles, !c->seen);
	c->seen = true;
}

/* What a sample reports, which is never more than the truth, and never less than was reported before. */
static uint64_t sample(struct cpu *c)
{
	uint64_t word = c->busy.word, busy_ns = busy_until(word, c->now_ns);

	if (busy_missed(&c->busy, word, c->runs == IDLE, c->idled)) {
		busy_ns = c->busy.proven;
		busy_mend(&c->busy, word, c->now_ns, c->runs == IDLE, c->idled);
	} else if (c->busy.proven < busy_ns) {
		c->busy.proven = busy_ns;
	}
	assert_true(busy_ns <= c->busy_ns - c->first_ns);
	assert_true(busy_ns >= c->last_sample);
	c->last_sample = busy_ns;
	return busy_ns;
}

/* A CPU of which a first switch was reported, to a thread. */
static struct cpu begun(void)
{
	struct cpu c = {.now_ns = 5000, .busy_ns = 700, .idled = 40, .runs = IDLE};

	switch_to(&c, 1);
	return c;
}

static void a_cpu_that_never_idles_is_busy_all_the_time_whatever_is_left_out(void **state)
{
	struct cpu c = begun();

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		/* One switch in each period is left out; the sample comes with one that is reported. */
		switch_to(&c, 1 + (int)(i % 3));
		pass(&c, 3000);
		switch_to(&c, HIDDEN);
		pass(&c, 2000);
		switch_to(&c, 1 + (int)((i + 1) % 3));
		pass(&c, 5000);
		switch_to(&c, 1 + (int)((i + 2) % 3));
		assert_int_equal(sample(&c), (i + 1) * 10000ULL);
	}
}

static void where_all_is_reported_it_is_the_truth(void **state)
{
	struct cpu c = begun();

	(void)state;
	seeded = 3;
	for (int i = 0; i < 20000; i++) {
		switch_to(&c, (int)below(HIDDEN));
		pass(&c, below(100000));
		if (below(3) == 0)
			assert_int_equal(sample(&c), c.busy_ns - c.first_ns);
	}
	assert_true(c.busy_ns < c.now_ns / 10 * 9);
}

static void idle_time_that_was_not_reported_is_not_busy(void **state)
{
	struct cpu c = begun();

	(void)state;
	pass(&c, 1000);
	assert_int_equal(sample(&c), 1000);
	switch_to(&c, HIDDEN);
	pass(&c, 100);
	switch_to(&c, IDLE);
	pass(&c, 50000);
	/* It idles at the sample, */
	assert_int_equal(sample(&c), 1000);
	pass(&c, 50000);
	switch_to(&c, HIDDEN);
	/* or has by the end of idling, or by that of another thread. */
	assert_int_equal(sample(&c), 1000);
	pass(&c, 400);
	assert_int_equal(sample(&c), 1400);
	switch_to(&c, IDLE);
	pass(&c, 50000);
	switch_to(&c, 2);
	assert_int_equal(sample(&c), 1400);
	pass(&c, 10);
	assert_int_equal(sample(&c), 1410);
}

static void idling_that_neither_began_nor_ended_in_the_open_is_seen_by_the_count(void **state)
{
	struct cpu at_sample = begun(), at_turn;

	(void)state;
	pass(&at_sample, 1000);
	assert_int_equal(sample(&at_sample), 1000);
	/* Nothing of this is reported. */
	pass(&at_sample, 1000);
	at_sample.now_ns += 70000;
	at_sample.idled++;
	at_turn = at_sample;
	assert_int_equal(sample(&at_sample), 1000);
	pass(&at_sample, 30);
	assert_int_equal(sample(&at_sample), 1030);
	switch_to(&at_turn, IDLE);
	assert_int_equal(sample(&at_turn), 1000);
}

/* A sample that was slow: the CPU has turned meanwhile, and what it does now is known better. */
static void a_mend_that_comes_late_changes_nothing(void **state)
{
	struct cpu c = begun();
	struct busy before;
	uint64_t word;

	(void)state;
	pass(&c, 1000);
	word = c.busy.word;
	switch_to(&c, IDLE);
	before = c.busy;
	busy_mend(&c.busy, word, c.now_ns - 1, false, c.idled + 7);
	assert_memory_equal(&before, &c.busy, sizeof(before));
}

static void never_more_than_the_truth_whatever_happens(void **state)
{
	(void)state;
	for (unsigned seed = 0; seed < 200; seed++) {
		struct cpu c = {.now_ns = seed * 1000, .runs = (int)seed % THREADS};

		seeded = seed;
		for (int i = 0; i < 2000; i++) {
			switch_to(&c, (int)below(seed % 2 ? THREADS : HIDDEN + 1));
			pass(&c, below(1000));
			if (c.seen && below(4) == 0)
				(void)sample(&c);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cpu_that_never_idles_is_busy_all_the_time_whatever_is_left_out),
		cmocka_unit_test(where_all_is_reported_it_is_the_truth),
		cmocka_unit_test(idle_time_that_was_not_reported_is_not_busy),
		cmocka_unit_test(idling_that_neither_began_nor_ended_in_the_open_is_seen_by_the_count),
		cmocka_unit_test(a_mend_that_comes_late_changes_nothing),
		cmocka_unit_test(never_more_than_the_truth_whatever_happens),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
