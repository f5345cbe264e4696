/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Splits under random events. Of nonsense: they add up, nothing is negative, nobody is there twice in a chain, and the
 * same events give the same answer. Of a simulated scheduler, whose every moment is known: they are exactly right.
 */
#include "tests/unit/feed.h"

#define NTHREADS 6 /* 101, 102, ... */
#define NCPUS 3

struct rng {
	uint64_t state;
};

/* splitmix64 */
static uint64_t draw(struct rng *r, uint64_t below)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15U;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
	return (z ^ (z >> 31)) % below;
}

static void check_split(const struct split *s, uint64_t begin, uint64_t end)
{
	uint64_t sum = 0, parts = 0;

	assert_true(s->begin_ns == begin && s->end_ns == end);
	for (unsigned c = 0; c < CAUSE_CLASSES; c++) {
		assert_true(s->ns[c] <= end - begin);
		sum += s->ns[c];
	}
	for (unsigned i = 0; i < s->nparts; i++) {
		assert_true(s->parts[i].ns > 0 && s->parts[i].ns <= end - begin);
		parts += s->parts[i].ns;
	}
	assert_int_equal(sum, end - begin);
	assert_int_equal(parts, end - begin);
}

/* Everything an answer says, folded into a number. */
static uint64_t fold(uint64_t h, const void *bytes, size_t n)
{
	const unsigned char *p = bytes;

	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * 0x100000001b3U;
	return h;
}

static uint64_t check_cause(const struct cause *c, uint64_t begin, uint64_t end, uint64_t h)
{
	check_split(&c->links[0], begin, end);
	assert_in_range(c->nlinks, 1, 1 + CAUSE_LINKS_MAX);
	for (unsigned i = 0; i < c->nlinks; i++) {
		check_split(&c->links[i], c->links[i].begin_ns, c->links[i].end_ns);
		h = fold(h, c->links[i].ns, sizeof(c->links[i].ns));
		for (unsigned k = 0; k < i; k++) {
			assert_int_not_equal(c->links[i].tid, c->links[k].tid);
			assert_true(c->links[i].end_ns <= c->links[k].end_ns);
			assert_true(c->links[i].begin_ns >= c->links[k].begin_ns);
		}
	}
	return fold(h, &c->end, sizeof(c->end));
}

static void feed_nonsense(struct feed *f, struct rng *r, uint64_t *at)
{
	uint64_t tid = 101 + draw(r, NTHREADS), other = draw(r, 4) ? 101 + draw(r, NTHREADS) : draw(r, 2) * 900;
	uint64_t cpu = draw(r, NCPUS), back = draw(r, 400);
	static const uint64_t states[] = {0, 0, 1, 1, 1, 2, 4, 0x80, 0x402, 0xffffffff};

	*at += draw(r, 3) ? draw(r, 50) : 0;
	switch (draw(r, 10)) {
	case 0:
	case 1:
	case 2:
	case 3:
		feed_switch(f, *at, cpu, tid, states[draw(r, 10)], other);
		break;
	case 4:
	case 5:
	case 6:
		feed_waking(f, *at, cpu, tid, other, draw(r, 5) == 0);
		break;
	case 7:
		feed_futex(f, *at - back, *at, tid, cpu, draw(r, 14), 0x1000 + 8 * draw(r, 3),
			   -(int64_t)(draw(r, 3) * 55));
		break;
	case 8:
		feed_launch(f, *at - back, *at, tid, cpu);
		break;
	default:
		if (draw(r, 3) == 0)
			FEED(f, KIND_reclaim, *at, 100, tid, cpu, back, draw(r, 5), 1);
		else if (draw(r, 3) == 0)
			FEED(f, KIND_network, *at, 100, tid, cpu, back, draw(r, 3), draw(r, 4), draw(r, 2), draw(r, 9));
		else if (draw(r, 20) == 0)
			FEED(f, KIND_fork, *at, 100, other, 100, tid);
		else if (draw(r, 20) == 0)
			FEED(f, KIND_exit, *at, 100, tid, 0, 0);
		else if (draw(r, 10) == 0)
			timeline_blind(engine_context(f->engine)->timeline, *at, *at + draw(r, 100), NULL);
		break;
	}
}

static uint64_t nonsense_run(uint64_t seed)
{
	struct feed f = {0};
	struct rng r = {seed};
	uint64_t at = T0, h = 0xcbf29ce484222325U;
	struct cause *c = malloc(sizeof(*c));

	assert_non_null(c);
	feed_open(&f);
	feed_cast(&f, NTHREADS);
	for (unsigned i = 0; i < 3000; i++) {
		uint64_t begin, end;

		feed_nonsense(&f, &r, &at);
		if (draw(&r, 4))
			continue;
		feed_settle(&f, ++at);
		end = at - draw(&r, 500);
		begin = end - draw(&r, 3000);
		cause_find(c, feed_timeline(&f), (uint32_t)(101 + draw(&r, NTHREADS)), begin, end);
		h = check_cause(c, begin, end, h);
	}
	feed_close(&f);
	free(c);
	return h;
}

static void splits_of_nonsense_add_up_and_are_the_same_again(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++)
		assert_int_equal(nonsense_run(seed), nonsense_run(seed));
	assert_int_not_equal(nonsense_run(1), nonsense_run(2));
}

/* What the simulated thread does, and when it began to. */
enum doing { ON_CPU, READY, IN_FUTEX, IN_DISK };

struct sim_thread {
	enum doing doing;
	uint64_t cpu; /* ON_CPU */
	uint64_t wait_began, futex;
};

struct sim_note {
	uint64_t at;
	enum doing doing[NTHREADS];
};

struct sim {
	struct feed feed;
	struct rng rng;
	struct sim_thread threads[NTHREADS];
	int running[NCPUS]; /* -1: idle */
	struct sim_note notes[4000];
	unsigned nnotes;
	uint64_t at;
};

static void sim_note(struct sim *s)
{
	struct sim_note *n = &s->notes[s->nnotes++];

	n->at = s->at;
	for (unsigned i = 0; i < NTHREADS; i++)
		n->doing[i] = s->threads[i].doing;
}

static uint64_t tid_of(int i)
{
	return i < 0 ? 0 : 101 + (uint64_t)i;
}

static int pick_ready(struct sim *s)
{
	unsigned from = (unsigned)draw(&s->rng, NTHREADS);

	for (unsigned k = 0; k < NTHREADS; k++)
		if (s->threads[(from + k) % NTHREADS].doing == READY)
			return (int)((from + k) % NTHREADS);
	return -1;
}

/* The thread on `cpu` leaves it for what it does from now on, and a ready one, if any, comes. */
static void sim_switch(struct sim *s, unsigned cpu, enum doing leaves_for)
{
	static const uint64_t states[] = {[READY] = 0, [IN_FUTEX] = 1, [IN_DISK] = 2};
	int prev = s->running[cpu], next = pick_ready(s);

	if (prev < 0 && next < 0)
		return;
	if (prev >= 0) {
		s->threads[prev].doing = leaves_for;
		s->threads[prev].futex = 0x1000 + 8 * draw(&s->rng, 3);
		s->threads[prev].wait_began = s->at;
	}
	feed_switch(&s->feed, s->at, cpu, tid_of(prev), prev < 0 ? 0 : states[leaves_for], tid_of(next));
	if (next >= 0) {
		uint64_t began = s->threads[next].wait_began;

		s->threads[next].doing = ON_CPU;
		s->threads[next].cpu = cpu;
		if (s->threads[next].futex && began) {
			sim_note(s);
			s->at += 1 + draw(&s->rng, 3);
			feed_futex(&s->feed, began, s->at, tid_of(next), cpu, 0, s->threads[next].futex, 0);
		}
		s->threads[next].wait_began = 0;
	}
	s->running[cpu] = next;
}

static void sim_wake(struct sim *s, unsigned cpu)
{
	unsigned i = (unsigned)draw(&s->rng, NTHREADS);

	if (s->running[cpu] < 0 || (s->threads[i].doing != IN_FUTEX && s->threads[i].doing != IN_DISK))
		return;
	if (s->threads[i].doing == IN_DISK)
		s->threads[i].wait_began = 0;
	s->threads[i].doing = READY;
	feed_waking(&s->feed, s->at, cpu, tid_of((int)i), tid_of(s->running[cpu]), WAKE_TASK);
}

static void sim_step(struct sim *s)
{
	unsigned cpu = (unsigned)draw(&s->rng, NCPUS);
	int who = s->running[cpu];

	s->at += 1 + draw(&s->rng, 100);
	switch (draw(&s->rng, 6)) {
	case 0:
		if (who >= 0) /* preempted; it had no wait, so none ends when it comes back */
			s->threads[who].wait_began = 0;
		sim_switch(s, cpu, READY);
		if (who >= 0 && s->threads[who].doing == READY)
			s->threads[who].wait_began = 0;
		break;
	case 1:
		sim_switch(s, cpu, IN_FUTEX);
		break;
	case 2:
		sim_switch(s, cpu, IN_DISK);
		break;
	default:
		sim_wake(s, cpu);
		break;
	}
	sim_note(s);
}

/* A wait in a futex is reported at its end: what is not over is, so far, asleep otherwise. */
static void sim_check(struct sim *s, unsigned thread, uint64_t begin, uint64_t end)
{
	uint64_t want[4] = {0};
	struct split split;

	for (unsigned i = 0; i < s->nnotes; i++) {
		uint64_t from = s->notes[i].at, to = i + 1 < s->nnotes ? s->notes[i + 1].at : s->at;

		from = from < begin ? begin : from;
		to = to > end ? end : to;
		if (from < to)
			want[s->notes[i].doing[thread]] += to - from;
	}
	split_make(&split, feed_timeline(&s->feed), 101 + thread, begin, end);
	check_split(&split, begin, end);
	assert_int_equal(split.ns[CAUSE_UNKNOWN], 0);
	assert_int_equal(split.ns[CAUSE_CPU], want[ON_CPU]);
	assert_int_equal(split.ns[CAUSE_RUNNABLE], want[READY]);
	assert_int_equal(split.ns[CAUSE_FUTEX] + split.ns[CAUSE_ASLEEP], want[IN_FUTEX] + want[IN_DISK]);
	if (s->threads[thread].doing == ON_CPU && s->threads[thread].wait_began == 0) {
		assert_int_equal(split.ns[CAUSE_FUTEX], want[IN_FUTEX]);
		assert_int_equal(split.ns[CAUSE_ASLEEP], want[IN_DISK]);
	}
}

static void sim_run(uint64_t seed)
{
	struct sim *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->rng.state = seed;
	s->at = T0;
	feed_open(&s->feed);
	feed_cast(&s->feed, NTHREADS);
	for (int i = 0; i < NTHREADS; i++) {
		s->at += 10;
		FEED(&s->feed, KIND_fork, s->at, 100, 100, 100, tid_of(i));
		s->threads[i].doing = READY;
	}
	for (int c = 0; c < NCPUS; c++)
		s->running[c] = -1;
	sim_note(s);
	for (unsigned i = 0; i < 1200; i++) {
		sim_step(s);
		if (i % 40 == 39) {
			uint64_t first = s->notes[0].at, begin = first + draw(&s->rng, s->at - first);
			unsigned thread = (unsigned)draw(&s->rng, NTHREADS);

			feed_settle(&s->feed, ++s->at);
			if (s->at - begin < 10000) /* what is older than the history is another test's matter */
				sim_check(s, thread, begin, begin + draw(&s->rng, s->at - begin));
		}
	}
	feed_close(&s->feed);
	free(s);
}

static void splits_of_a_simulated_scheduler_are_exactly_right(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++)
		sim_run(seed);
}

/*
 * The same rows about small numbers and about ones that are found by searching alone: the timeline takes the two by
 * different ways. Spans and occupants come out the same, numbers apart.
 */
#define FAR TABLE_DIRECT

struct emitted {
	uint64_t shift, h;
};

static uint64_t near(uint64_t tid, uint64_t shift)
{
	return tid == TID_IDLE || tid == TID_NONE ? tid : tid - shift;
}

static void fold_span(void *arg, const struct span *span)
{
	struct emitted *t = arg;
	const uint64_t said[] = {
		span->begin_ns, span->end_ns, span->futex, near(span->other_tid, t->shift), span->task_state,
		span->flags, span->syscall, span->state,
		/* of a sleep nothing says where; of what is not known, neither */
		span->state == STATE_RUNNING || span->state == STATE_RUNNABLE ? near(span->cpu, t->shift) : 0};

	t->h = fold(t->h, said, sizeof(said));
}

static void fold_occupant(void *arg, const struct occupant *o)
{
	struct emitted *t = arg;
	const uint64_t said[] = {o->begin_ns, o->end_ns, near(o->first_tid, t->shift), near(o->last_tid, t->shift)};

	t->h = fold(t->h, said, sizeof(said));
}

static uint64_t report_row(struct timeline *tl, struct rng *r, uint64_t at, uint64_t shift)
{
	uint64_t tid = 1 + draw(r, NTHREADS), other = draw(r, 3) ? 1 + draw(r, NTHREADS) : 0, cpu = 1 + draw(r, NCPUS);
	uint64_t waited_ns = 0, turn = draw(r, 2), state = draw(r, 4);
	const uint64_t from = turn ? tid : other, to = turn ? other : tid, queue = draw(r, 4);
	const uint64_t row[] = {[F_switch_at] = at,
				[F_switch_cpu] = cpu + shift,
				[F_switch_prev_tid] = from ? from + shift : 0,
				[F_switch_prev_state] = state == 3 ? 0x80 : state,
				[F_switch_next_tid] = to ? to + shift : 0,
				[F_switch_prev_syscall] = draw(r, 5) ? draw(r, 400) : UINT16_MAX + 1 + draw(r, 2),
				[F_switch_prev_flags] = draw(r, 8),
				[F_switch_next_queue] = queue ? queue + shift : 0},
		       waking[] = {[F_waking_at] = at,
				   [F_waking_cpu] = cpu + shift,
				   [F_waking_tid] = tid + shift,
				   [F_waking_waker_tid] = other ? other + shift : 0,
				   [F_waking_context] = draw(r, 2)};
	struct fault why;

	switch (draw(r, 8)) {
	case 0:
	case 1:
		assert_int_equal(timeline_waking(tl, waking, &why), 0);
		break;
	case 2:
		assert_int_equal(timeline_call(tl, at - draw(r, 30), at, tid + shift, (uint32_t)(cpu + shift), &why),
				 0);
		break;
	default:
		assert_int_equal(timeline_switch(tl, row, &waited_ns, &why), 0);
		break;
	}
	return waited_ns;
}

static uint64_t always(void *arg, uint32_t tid)
{
	(void)arg;
	(void)tid;
	return 0;
}

static uint64_t report_rows(uint64_t seed, uint64_t shift)
{
	struct emitted t = {shift, 0xcbf29ce484222325U};
	struct timeline *tl = NULL;
	struct rng r = {seed};
	struct fault why;
	uint64_t at = 1000;

	assert_int_equal(timeline_open(&tl, &why), 0);
	if (seed % 2)
		timeline_ask_tracked(tl, always, NULL);
	for (unsigned i = 0; i < 6000; i++) {
		uint64_t waited_ns;

		at += draw(&r, 4);
		waited_ns = report_row(tl, &r, at, shift);
		t.h = fold(t.h, &waited_ns, sizeof(waited_ns));
		if (i < 40 || i % 50 == 0)
			for (uint32_t n = 1; n <= NTHREADS; n++) {
				timeline_walk(tl, (uint32_t)(n + shift), 0, at, fold_span, &t);
				timeline_occupants(tl, (uint32_t)(n + shift), 0, at, fold_occupant, &t);
			}
	}
	timeline_close(tl);
	return t.h;
}

static void large_numbers_are_followed_as_small_ones_are(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++)
		assert_int_equal(report_rows(seed, 0), report_rows(seed, FAR));
	assert_int_not_equal(report_rows(1, 0), report_rows(2, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(splits_of_nonsense_add_up_and_are_the_same_again),
		cmocka_unit_test(splits_of_a_simulated_scheduler_are_exactly_right),
		cmocka_unit_test(large_numbers_are_followed_as_small_ones_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
