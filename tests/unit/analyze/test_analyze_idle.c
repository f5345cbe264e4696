/* SPDX-License-Identifier: Apache-2.0 */
/* When a process is known to have no work on a GPU, and what its threads did then: by events in memory, and by random
 * programs on a GPU of which it is known when it worked. */
#include "replay/model/ledger_idle.h"
#include "tests/unit/ledgers.h"

#define STREAM 0x5000
#define OTHER 0x6000
#define EVENT 0x7000

/* A process whose begin is recorded; its threads are 201, 202, ... */
static int begin(void **state)
{
	int r = setup(state);
	struct feed *f = *state;

	feed_process(f, T0 + 1, 200, T0 + 1, true, "train");
	for (unsigned i = 201; i <= 208; i++)
		feed_thread(f, T0 + 1, i, 200, T0 + 1, "feeder");
	return r;
}

/* A call of thread 200 + n: `a` and `b` are what is behind the fields that all calls have. */
static void call(struct feed *f, unsigned n, uint16_t kind, uint64_t probe, uint64_t from, uint64_t to, uint64_t a,
		 uint64_t b)
{
	uint64_t v[F_copy_stack + 1] = {to, 200, 200 + n, n - 1, to - from, probe};

	if (kind == KIND_launch)
		v[F_launch_stream] = a;
	else if (kind == KIND_copy)
		v[F_copy_stream] = a, v[F_copy_direction] = b;
	else if (kind == KIND_wait)
		v[F_wait_object] = a;
	else if (kind == KIND_context)
		v[F_context_device] = a;
	else
		v[F_stream_stream] = a, v[F_stream_object] = b;
	feed_row(f, kind, kind == KIND_copy ? F_copy_stack : F_stream_stack + 1, v);
}

#define AT(ms) (T0 + (uint64_t)((ms)*MS))
#define LAUNCH(n, from, to, stream) call(f, n, KIND_launch, PROBE_launch, AT(from), AT(to), stream, 0)
#define SYNC(n, from, to, stream) call(f, n, KIND_wait, PROBE_wait, AT(from), AT(to), stream, 0)
#define SYNC_DEVICE(n, from, to) call(f, n, KIND_wait, PROBE_wait_device, AT(from), AT(to), 0, 0)
#define MAKE_STREAM(n, at, stream) call(f, n, KIND_stream, PROBE_make_stream, AT(at), AT(at), stream, 0)
#define RECORD(n, at, stream, event) call(f, n, KIND_stream, PROBE_record, AT(at), AT(at), stream, event)
#define SET_DEVICE(n, at, device) call(f, n, KIND_context, PROBE_set_device, AT(at), AT(at), (device) + 1, 0)

static const struct ledger_thread *thread_of(const struct ledger *l, uint64_t tid)
{
	for (size_t i = 0; i < l->threads.nitems; i++)
		if (l->threads.items[i]->a == tid)
			return (const struct ledger_thread *)l->threads.items[i];
	return NULL;
}

/* How long the threads of the process are known to have had no work for the GPU; UINT64_MAX: that is not known. */
static uint64_t idle_of(struct feed *f, uint64_t end, unsigned nthreads)
{
	const struct ledger *l = engine_ledger(f->engine);
	uint64_t sum = 0;

	ledger_of(f, 201, end);
	for (unsigned i = 0; i < nthreads; i++) {
		const struct ledger_thread *t = thread_of(l, 201 + i);
		const uint64_t *idle_ns = ledger_idle(t), *left_ns = ledger_left(t);
		uint64_t waited[LEDGER_PARTS] = {0}, left[LEDGER_PARTS] = {0};

		assert_true(!idle_ns == !left_ns);
		if (!idle_ns)
			return UINT64_MAX;
		check_sum(l, t);
		for (size_t k = 0; k < t->waited.n; k++) {
			const struct waited_for *w = &t->waited.all[k];

			assert_true(w->idle_ns + w->left_ns <= w->ns);
			waited[w->part] += w->idle_ns;
			left[w->part] += w->left_ns;
		}
		for (unsigned p = 0; p < LEDGER_PARTS; p++) {
			assert_true(idle_ns[p] + left_ns[p] <= t->ns[p]);
			assert_int_equal(waited[p], ledger_names((enum ledger_part)p) ? idle_ns[p] : 0);
			assert_int_equal(left[p], ledger_names((enum ledger_part)p) ? left_ns[p] : 0);
			sum += idle_ns[p];
		}
	}
	return sum;
}

/* How long it was held up while the GPU is known to have had work left. */
static uint64_t left_of(const struct feed *f, uint64_t tid)
{
	const uint64_t *left_ns = ledger_left(thread_of(engine_ledger(f->engine), tid));
	uint64_t sum = 0;

	for (unsigned p = 0; left_ns && p < LEDGER_PARTS; p++)
		sum += left_ns[p];
	return sum;
}

static uint64_t idle_sum(const struct feed *f, uint64_t tid)
{
	const uint64_t *idle_ns = ledger_idle(thread_of(engine_ledger(f->engine), tid));
	uint64_t sum = 0;

	for (unsigned p = 0; p < LEDGER_PARTS; p++)
		sum += idle_ns[p];
	return sum;
}

#define IDLE(end, expected) assert_int_equal(idle_of(f, AT(end), 1), (expected)*MS)

/* The thread's time counts from its first row on, in which it ran: nothing shows what it did before. */
static void work_is_done_when_who_waits_for_it_returns(void **state)
{
	struct feed *f = *state;

	MAKE_STREAM(1, 10, STREAM);
	LAUNCH(1, 20, 21, STREAM); /* without work until 20, of which 10 are unknown */
	SYNC(1, 22, 30, STREAM);
	LAUNCH(1, 37, 38, STREAM); /* 7 */
	LAUNCH(1, 40, 41, STREAM);
	SYNC(1, 41, 50, STREAM);
	LAUNCH(1, 62, 63, STREAM); /* 12 */
	assert_int_equal(idle_of(f, AT(70), 1), 39 * MS - 1);
}

static void a_wait_for_another_stream_shows_nothing(void **state)
{
	struct feed *f = *state;

	LAUNCH(1, 0, 1, STREAM);
	LAUNCH(1, 1, 2, OTHER);
	SYNC(1, 2, 10, STREAM);
	LAUNCH(1, 20, 21, STREAM);
	SYNC(1, 22, 30, STREAM);
	SYNC(1, 30, 31, OTHER);
	LAUNCH(1, 36, 37, STREAM); /* 5 */
	IDLE(40, 5);
}

static void default_streams_are_one_of_a_device_or_one_of_each_thread(void **state)
{
	struct feed *f = *state;

	LAUNCH(1, 0, 1, 0);
	SYNC(1, 1, 2, 1);                                          /* the same one by another name */
	LAUNCH(1, 5, 6, 0);                                        /* 3 */
	call(f, 1, KIND_wait, PROBE_wait_own, AT(6), AT(7), 0, 0); /* another one */
	LAUNCH(1, 10, 11, 2);
	SYNC(1, 11, 12, 0);
	call(f, 1, KIND_launch, PROBE_launch_own, AT(13), AT(14), 0, 0);
	call(f, 1, KIND_wait, PROBE_wait_own, AT(14), AT(15), 0, 0);
	LAUNCH(1, 19, 20, 2);                                        /* 4 */
	call(f, 2, KIND_wait, PROBE_wait_own, AT(21), AT(22), 0, 0); /* of another thread */
	LAUNCH(1, 29, 30, 0);
	IDLE(40, 7);
}

static void a_device_is_waited_for_with_all_its_streams(void **state)
{
	struct feed *f = *state;

	MAKE_STREAM(1, 0, STREAM);
	LAUNCH(1, 0, 1, STREAM);
	LAUNCH(1, 1, 2, 0);
	SYNC_DEVICE(1, 2, 3);
	LAUNCH(1, 5, 6, STREAM); /* 2 */
	LAUNCH(1, 6, 7, OTHER);  /* nobody knows of which device that is */
	SYNC_DEVICE(1, 7, 8);
	LAUNCH(1, 10, 11, STREAM);
	SYNC(1, 11, 12, OTHER);
	SYNC_DEVICE(1, 12, 13);
	SET_DEVICE(1, 14, 1);
	LAUNCH(1, 16, 17, 0); /* 3 */
	SET_DEVICE(1, 18, 0);
	SYNC_DEVICE(1, 18, 19);
	SYNC(1, 18, 20, 0);
	LAUNCH(1, 25, 26, STREAM);
	SYNC_DEVICE(1, 26, 27);
	SET_DEVICE(1, 28, 1);
	SYNC(1, 29, 30, 0);
	LAUNCH(1, 34, 35, STREAM); /* 4 */
	IDLE(40, 9);
}

static void an_event_shows_what_was_before_it(void **state)
{
	struct feed *f = *state;

	LAUNCH(1, 0, 1, STREAM);
	RECORD(1, 2, STREAM, EVENT);
	call(f, 1, KIND_wait, PROBE_wait_event, AT(3), AT(4), EVENT, 0);
	LAUNCH(1, 6, 7, STREAM); /* 2 */
	RECORD(1, 8, STREAM, EVENT);
	LAUNCH(1, 9, 10, STREAM);
	call(f, 1, KIND_wait, PROBE_wait_event, AT(10), AT(11), EVENT, 0);
	LAUNCH(1, 14, 15, STREAM);
	RECORD(1, 16, STREAM, EVENT);
	call(f, 1, KIND_stream, PROBE_query, AT(17), AT(18), 0, EVENT);
	LAUNCH(1, 21, 22, STREAM); /* 3 */
	RECORD(1, 23, STREAM, EVENT);
	call(f, 1, KIND_stream, PROBE_end_event, AT(24), AT(25), 0, EVENT);
	call(f, 1, KIND_stream, PROBE_query, AT(26), AT(27), 0, EVENT);
	LAUNCH(1, 30, 31, STREAM);
	IDLE(40, 5);
}

/* What another thread gives while the event is recorded may come behind it. */
static void an_event_shows_what_was_there_when_it_was_recorded(void **state)
{
	struct feed *f = *state;

	LAUNCH(1, 0, 1, STREAM);
	LAUNCH(2, 4, 5, STREAM);
	call(f, 1, KIND_stream, PROBE_record, AT(3), AT(6), STREAM, EVENT);
	call(f, 1, KIND_wait, PROBE_wait_event, AT(7), AT(8), EVENT, 0);
	LAUNCH(1, 12, 13, STREAM);
	RECORD(1, 14, STREAM, EVENT);
	call(f, 2, KIND_stream, PROBE_record, AT(15), AT(17), OTHER, EVENT); /* which one is asked for? */
	call(f, 1, KIND_wait, PROBE_wait_event, AT(16), AT(18), EVENT, 0);
	LAUNCH(1, 22, 23, STREAM);
	IDLE(30, 0);
}

static void a_copy_to_the_host_has_been_made_when_it_returns(void **state)
{
	struct feed *f = *state;

	LAUNCH(1, 0, 1, 0);
	call(f, 1, KIND_copy, PROBE_copy, AT(1), AT(5), 0, 2);
	LAUNCH(1, 7, 8, 0);                                    /* 2 */
	call(f, 1, KIND_copy, PROBE_copy, AT(8), AT(9), 0, 1); /* to the GPU: it may go on */
	LAUNCH(1, 12, 13, 0);
	call(f, 1, KIND_copy, PROBE_copy_async, AT(13), AT(14), 0, 2);
	LAUNCH(1, 17, 18, 0);
	FEED(f, KIND_copy, AT(20), 200, 201, 0, MS, PROBE_copy, 719, 0, 0, 0, 0, 2, 0); /* it failed */
	LAUNCH(1, 23, 24, 0);
	IDLE(40, 2);
}

static void a_destroyed_stream_has_its_work_still(void **state)
{
	struct feed *f = *state;

	MAKE_STREAM(1, 0, STREAM);
	LAUNCH(1, 0, 1, STREAM);
	call(f, 1, KIND_stream, PROBE_end_stream, AT(2), AT(2), STREAM, 0);
	MAKE_STREAM(1, 3, STREAM);
	SYNC(1, 4, 5, STREAM); /* the new one */
	RECORD(1, 5, STREAM, EVENT);
	call(f, 1, KIND_wait, PROBE_wait_event, AT(6), AT(7), EVENT, 0);
	LAUNCH(1, 8, 9, 0);
	SYNC_DEVICE(1, 10, 11);
	LAUNCH(1, 14, 15, STREAM); /* 3 */
	call(f, 1, KIND_stream, PROBE_end_stream, AT(16), AT(16), STREAM, 0);
	SET_DEVICE(1, 17, 1);
	MAKE_STREAM(1, 18, STREAM);
	SYNC_DEVICE(1, 18, 19);
	SET_DEVICE(1, 20, 0);
	SYNC_DEVICE(1, 20, 21); /* on which of them it was is no longer known */
	LAUNCH(1, 25, 26, 0);
	IDLE(40, 3);
}

static void a_wait_that_fails_shows_nothing(void **state)
{
	struct feed *f = *state;

	LAUNCH(1, 0, 1, STREAM);
	FEED(f, KIND_wait, AT(3), 200, 201, 0, MS, PROBE_wait, 719, 0, STREAM);
	LAUNCH(1, 8, 9, STREAM);
	IDLE(40, 0);
}

/* What began before the wait was over may have given work; that is known when it returns. */
static void what_another_thread_gives_meanwhile_counts(void **state)
{
	struct feed *f = *state;

	LAUNCH(1, 0, 1, STREAM);
	SYNC(1, 2, 5, STREAM);
	LAUNCH(1, 9, 10, STREAM); /* 4 */
	SYNC(1, 11, 12, STREAM);
	LAUNCH(1, 20, 21, STREAM); /* 8, but that: */
	LAUNCH(2, 15, 22, OTHER);
	SYNC(1, 23, 24, STREAM);
	SYNC(1, 24, 25, OTHER);
	LAUNCH(2, 27, 28, OTHER); /* 2, of the other thread */
	assert_int_equal(idle_of(f, AT(40), 2), 6 * MS);
}

/* And when that is known too late, nothing is. */
static void a_call_that_takes_longer_than_all_that_is_kept_makes_it_unknown(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;

	LAUNCH(1, 0, 1, STREAM);
	for (unsigned i = 0; i < IDLE_SPANS_MAX + 2; i++) {
		SYNC(1, 3 * i + 2, 3 * i + 3, STREAM);
		FEED(f, KIND_switch, AT(3 * i + 3) + 100 * US, 0, 201, S, 0);
		feed_waking(f, AT(3 * i + 3) + 500 * US, 1, 201, 102, WAKE_TASK);
		FEED(f, KIND_switch, AT(3 * i + 3) + 500 * US, 0, 0, 0, 201);
		LAUNCH(1, 3 * i + 4, 3 * i + 4, STREAM);
	}
	LAUNCH(2, 1, 300, OTHER);
	assert_int_equal(idle_of(f, AT(400), 1), UINT64_MAX);
	t = thread_of(engine_ledger(f->engine), 201);
	assert_int_equal(t->waited.all[0].ns, (IDLE_SPANS_MAX + 2) * 400 * US);
	assert_int_equal(t->waited.all[0].idle_ns, 0);
}

/* What the other one did until then is not counted twice. */
static void it_counts_for_the_thread_that_ends_it(void **state)
{
	struct feed *f = *state;

	LAUNCH(1, 0, 1, STREAM);
	LAUNCH(2, 1, 2, OTHER);
	SYNC(2, 2, 3, OTHER);
	SYNC(1, 3, 5, STREAM);
	SYNC(2, 6, 8, OTHER);
	LAUNCH(1, 9, 10, STREAM); /* 4, of the one */
	SYNC(1, 11, 12, STREAM);
	LAUNCH(2, 20, 21, OTHER); /* 8, of the other one */
	SYNC(2, 22, 23, OTHER);
	FEED(f, KIND_exit, AT(30), 200, 201, 0, 0); /* who leaves is not the one that fed it */
	assert_int_equal(idle_of(f, AT(40), 2), 29 * MS);
	assert_int_equal(idle_sum(f, 201), 4 * MS);
	assert_int_equal(idle_sum(f, 202), 25 * MS);
}

/* Once it is known that it took longer than later ones do, it has another part. */
static void a_first_call_may_have_been_without_work(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;

	FEED(f, KIND_alloc, AT(50), 200, 201, 0, 40 * MS, PROBE_alloc, 0, 0, 4096, 0x1000, 0, MEM_DEVICE, 0);
	for (unsigned i = 0; i < 20; i++)
		FEED(f, KIND_alloc, AT(51 + i), 200, 201, 0, 10 * US, PROBE_alloc, 0, 0, 4096, 0x2000 + i, 0,
		     MEM_DEVICE, 0);
	LAUNCH(1, 80, 81, STREAM);
	assert_int_equal(idle_of(f, AT(90), 1), 80 * MS - 1);
	t = thread_of(engine_ledger(f->engine), 201);
	assert_int_equal(t->ns[LEDGER_FIRST], 40 * MS - 10 * US);
	assert_int_equal(ledger_idle(t)[LEDGER_FIRST], 40 * MS - 10 * US);
}

/* The end of the one that feeds the GPU, and of the recording, end it as well. */
static void until_the_end_it_is_the_one_that_fed_it(void **state)
{
	struct feed *f = *state;

	LAUNCH(1, 0, 1, STREAM);
	SYNC(1, 2, 5, STREAM);
	FEED(f, KIND_exit, AT(12), 200, 201, 0, 0); /* 7 */
	LAUNCH(2, 14, 15, STREAM);                  /* 2 */
	SYNC(2, 16, 20, STREAM);
	assert_int_equal(idle_of(f, AT(31), 2), 20 * MS); /* 11 */
	assert_int_equal(idle_sum(f, 201), 7 * MS);
}

static void work_given_by_a_call_in_flight_counts(void **state)
{
	struct feed *f = *state;

	LAUNCH(1, 0, 1, STREAM);
	SYNC(1, 2, 5, STREAM);
	FEED(f, KIND_in_flight, AT(30), 200, 201, MOMENT_END, 21 * MS, PROBE_launch, 0, 0);
	IDLE(30, 4);
}

static void it_is_not_known_of_contexts_and_of_processes_that_ran_before(void **state)
{
	struct feed *f = *state;

	call(f, 1, KIND_context, PROBE_make_context, AT(1), AT(2), 1, 0);
	LAUNCH(1, 3, 4, STREAM);
	SYNC(1, 5, 6, STREAM);
	LAUNCH(1, 9, 10, STREAM);
	feed_launch(f, AT(11), AT(12), 101, 1);
	assert_int_equal(idle_of(f, AT(20), 1), UINT64_MAX);
	assert_null(ledger_idle(thread_of(engine_ledger(f->engine), 101)));
}

/* Nor of another program in its place. */
static void it_is_not_known_after_an_exec(void **state)
{
	struct feed *f = *state;

	FEED(f, KIND_exec, AT(0), 200, 201); /* it began so */
	LAUNCH(1, 1, 2, STREAM);
	SYNC(1, 3, 4, STREAM);
	FEED(f, KIND_exec, AT(5), 200, 201);
	LAUNCH(1, 9, 10, STREAM);
	assert_int_equal(idle_of(f, AT(20), 1), UINT64_MAX);
}

/* Whom it waited for meanwhile. */
static void waits_have_their_share_of_it(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;

	LAUNCH(1, 1, 2, STREAM);
	FEED(f, KIND_switch, AT(2), 0, 201, S, 0); /* with work */
	feed_waking(f, AT(8), 1, 201, 102, WAKE_TASK);
	FEED(f, KIND_switch, AT(8), 0, 0, 0, 201);
	SYNC(1, 9, 10, STREAM);
	FEED(f, KIND_switch, AT(11), 0, 201, S, 0); /* without */
	feed_waking(f, AT(15), 1, 201, 102, WAKE_TASK);
	FEED(f, KIND_switch, AT(15), 0, 0, 0, 201);
	LAUNCH(1, 17, 18, STREAM);
	assert_int_equal(idle_of(f, AT(20), 1), 8 * MS - 1); /* 1 of them before the first call */
	t = thread_of(engine_ledger(f->engine), 201);
	assert_int_equal(t->ns[LEDGER_TASK], 10 * MS);
	assert_int_equal(ledger_idle(t)[LEDGER_TASK], 4 * MS);
	assert_int_equal(t->waited.all[0].idle_ns, 4 * MS);
}

/* --- work that was left --- */

/* Until another one is done. */
static void waits_for_task(struct feed *f, double from, double to)
{
	FEED(f, KIND_switch, T0 + (uint64_t)(from * MS), 0, 201, S, 0);
	feed_waking(f, T0 + (uint64_t)(to * MS), 7, 201, 102, WAKE_TASK);
	FEED(f, KIND_switch, T0 + (uint64_t)(to * MS), 0, 0, 0, 201);
}

/* Until an interrupt comes. */
static void waits_for_irq(struct feed *f, double from, double to)
{
	FEED(f, KIND_switch, T0 + (uint64_t)(from * MS), 0, 201, S, 0);
	feed_waking(f, T0 + (uint64_t)(to * MS), 7, 201, 0, WAKE_IRQ);
	FEED(f, KIND_switch, T0 + (uint64_t)(to * MS), 0, 0, 0, 201);
}

#define LEFT(end, expected)                                                                                            \
	do {                                                                                                           \
		(void)idle_of(f, AT(end), 1);                                                                          \
		assert_int_equal(left_of(f, 201), (expected)*MS);                                                      \
	} while (0)

static void work_was_left_if_a_wait_for_it_waits(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;

	LAUNCH(1, 0, 1, STREAM);
	waits_for_task(f, 2, 10); /* 8 */
	SYNC(1, 11, 15, STREAM);  /* it polls */
	LAUNCH(1, 16, 17, STREAM);
	waits_for_task(f, 18, 24);
	call(f, 1, KIND_wait, PROBE_wait, AT(25), AT(25) + 900 * US, STREAM, 0); /* it was done */
	LAUNCH(1, 26, 27, STREAM);
	waits_for_task(f, 28, 32); /* 4 */
	waits_for_irq(f, 33.5, 36);
	SYNC(1, 33, 37, STREAM);
	waits_for_task(f, 38, 45); /* without */
	LAUNCH(1, 46, 47, STREAM);
	LAUNCH(1, 48, 49, OTHER);
	waits_for_task(f, 50, 55);
	LAUNCH(1, 56, 57, OTHER);  /* since then */
	waits_for_task(f, 58, 61); /* 3 */
	SYNC(1, 62, 65, STREAM);
	LAUNCH(1, 65, 66, STREAM);
	waits_for_task(f, 67, 70);
	FEED(f, KIND_switch, AT(72), 0, 201, 0, 900);
	FEED(f, KIND_switch, AT(74), 0, 900, 0, 201);
	SYNC(1, 71.5, 74.5, STREAM); /* it had no CPU */
	LEFT(80, 15);
	t = thread_of(engine_ledger(f->engine), 201);
	assert_int_equal(ledger_left(t)[LEDGER_TASK], 15 * MS);
	assert_int_equal(t->waited.all[0].left_ns, 15 * MS);
}

/* Also before an event that was recorded behind it; but not where there is nothing to wait for. */
static void a_wait_for_an_event_shows_it_too(void **state)
{
	struct feed *f = *state;

	LAUNCH(1, 0, 1, STREAM);
	RECORD(1, 2, STREAM, EVENT);
	LAUNCH(1, 2, 3, STREAM);
	waits_for_task(f, 4, 10); /* 6 */
	call(f, 1, KIND_wait, PROBE_wait_event, AT(11), AT(14), EVENT, 0);
	waits_for_task(f, 15, 17); /* 2 */
	SYNC(1, 18, 20, STREAM);
	LAUNCH(1, 21, 22, STREAM);
	waits_for_task(f, 23, 30);
	SYNC(1, 31, 35, OTHER);
	call(f, 1, KIND_wait, PROBE_wait, AT(36), AT(36) + 100 * US, STREAM, 0); /* it was done */
	LEFT(40, 8);
}

static void a_query_shows_that_it_is_left(void **state)
{
	struct feed *f = *state;

	LAUNCH(1, 0, 1, STREAM);
	RECORD(1, 1, STREAM, EVENT);
	waits_for_task(f, 2, 10); /* 8 */
	FEED(f, KIND_stream, AT(11), 200, 201, 0, 10 * US, PROBE_query, 600, 0, 0, EVENT);
	waits_for_task(f, 12, 14);
	FEED(f, KIND_stream, AT(15), 200, 201, 0, 10 * US, PROBE_query, 0, 0, 0, EVENT);
	LAUNCH(1, 16, 17, STREAM);
	RECORD(1, 17, STREAM, EVENT);
	waits_for_task(f, 18, 20);
	FEED(f, KIND_stream, AT(21), 200, 201, 0, 10 * US, PROBE_query, 719, 0, 0, EVENT);
	waits_for_irq(f, 22, 25);
	FEED(f, KIND_stream, AT(26), 200, 201, 0, 5 * MS, PROBE_query, 0, 0, 0, EVENT); /* it waited for something */
	LEFT(40, 8);
}

static void launch_many(struct feed *f, unsigned n, double from)
{
	for (unsigned i = 0; i < n; i++)
		call(f, 1, KIND_launch, PROBE_launch, T0 + (uint64_t)(from * MS) + i * 20 * US,
		     T0 + (uint64_t)(from * MS) + i * 20 * US + 10 * US, STREAM, 0);
}

static void launch_of(struct feed *f, uint64_t function, uint64_t from, uint64_t to)
{
	uint64_t v[F_launch_stack + 1] = {AT(to), 200, 201, 0, (to - from) * MS, PROBE_launch};

	v[F_launch_function] = function;
	v[F_launch_stream] = STREAM;
	feed_row(f, KIND_launch, F_launch_stack + 1, v);
}

static void a_launch_that_waits_for_room_shows_it(void **state)
{
	struct feed *f = *state;

	launch_many(f, GPU_QUEUE_LEAST, 1);
	waits_for_task(f, 3, 10); /* 7 */
	waits_for_irq(f, 11, 14); /* 3, in which it was full */
	LAUNCH(1, 11, 15, STREAM);
	waits_for_task(f, 16, 18);
	LAUNCH(1, 19, 25, STREAM); /* it took long, and did not sleep */
	SYNC(1, 26, 27, STREAM);
	launch_many(f, GPU_QUEUE_LEAST, 27);
	waits_for_task(f, 28, 28.5);
	waits_for_irq(f, 29, 31);
	launch_of(f, 0x2000, 29, 32); /* the first one of that: it may be loaded */
	SYNC(1, 32, 32.5, STREAM);
	launch_many(f, GPU_QUEUE_LEAST - 1, 33);
	waits_for_task(f, 34, 39);
	waits_for_irq(f, 40, 43);
	LAUNCH(1, 40, 44, STREAM); /* there is room */
	waits_for_task(f, 45, 47);
	waits_for_irq(f, 48, 53);
	call(f, 1, KIND_copy, PROBE_copy, AT(48), AT(54), STREAM, 1); /* of itself, maybe */
	SYNC(1, 54, 54.5, STREAM);
	launch_many(f, GPU_QUEUE_LEAST, 55);
	waits_for_task(f, 57, 59); /* 2 */
	waits_for_irq(f, 60, 62);  /* 2 */
	call(f, 1, KIND_copy, PROBE_copy, AT(60), AT(63), STREAM, 3); /* within the GPU */
	LEFT(70, 14);
}

/* For what is left in it there was room only after a while; it is not known how much that is, but not less than that.
 */
static void a_full_queue_has_some_left(void **state)
{
	struct feed *f = *state;

	launch_many(f, GPU_QUEUE_LEAST, 1);
	waits_for_task(f, 3, 10); /* 7 */
	launch_many(f, 1, 11);
	waits_for_task(f, 12, 14); /* 2 */
	launch_many(f, GPU_ROOM_LEAST - 2, 15);
	waits_for_irq(f, 16, 18);
	LAUNCH(1, 16, 19, STREAM);
	waits_for_task(f, 20, 25);
	launch_many(f, 1, 26);
	waits_for_task(f, 27, 28); /* 1 */
	launch_many(f, GPU_ROOM_LEAST - 1, 29);
	waits_for_irq(f, 30, 33);
	LAUNCH(1, 30, 34, STREAM);
	waits_for_task(f, 35, 40);
	SYNC(1, 41, 41.5, STREAM);
	launch_many(f, GPU_QUEUE_LEAST + 2, 42);
	waits_for_irq(f, 43, 45);
	LAUNCH(1, 43, 46, STREAM); /* since then it had none */
	LEFT(60, 17);
}

#define BLOCKED(at)                                                                                                    \
	do {                                                                                                           \
		waits_for_irq(f, at, (at) + 2);                                                                        \
		LAUNCH(1, at, (at) + 2.5, STREAM);                                                                     \
	} while (0)

static void what_was_given_too_long_ago_may_be_done(void **state)
{
	struct feed *f = *state;

	launch_many(f, GPU_QUEUE_LEAST, 1);
	waits_for_task(f, 3, 10);
	launch_many(f, GPU_ROOM_LEAST, 11);
	BLOCKED(12);
	waits_for_task(f, 15, 16); /* with the next one, for both were before too many: */
	launch_many(f, GPU_ROOM_LEAST / 2, 17);
	waits_for_task(f, 18, 20);
	launch_many(f, GPU_ROOM_LEAST / 2, 21);
	waits_for_task(f, 22, 26); /* 4 */
	BLOCKED(27);
	waits_for_task(f, 30, 33);
	launch_many(f, 1, 33);
	waits_for_task(f, 34, 35);
	launch_many(f, GPU_ROOM_LEAST + 1, 36);
	waits_for_task(f, 37, 40); /* 3 */
	launch_many(f, 1, 40);
	waits_for_task(f, 41, 43); /* 2 */
	BLOCKED(44);
	LEFT(60, 15);
}

/* One of them may have had nothing to do. */
static void it_is_not_known_of_several_gpus(void **state)
{
	struct feed *f = *state;

	LAUNCH(1, 0, 1, 0);
	waits_for_task(f, 2, 10); /* 8 */
	SYNC(1, 11, 15, 0);
	SET_DEVICE(1, 16, 1);
	LAUNCH(1, 17, 18, 0);
	SET_DEVICE(1, 18, 0);
	LAUNCH(1, 19, 20, 0);
	waits_for_task(f, 21, 30);
	SYNC(1, 31, 35, 0);
	LAUNCH(1, 36, 37, 0);
	RECORD(1, 37, 0, EVENT);
	waits_for_task(f, 38, 40);
	FEED(f, KIND_stream, AT(41), 200, 201, 0, 10 * US, PROBE_query, 600, 0, 0, EVENT);
	launch_many(f, GPU_QUEUE_LEAST, 42);
	waits_for_task(f, 43, 45);
	waits_for_irq(f, 46, 48);
	LAUNCH(1, 46, 49, 0);
	LEFT(60, 8);
}

static void it_is_not_known_either_where_the_other_is_not(void **state)
{
	struct feed *f = *state;
	const struct ledger_thread *t;

	LAUNCH(1, 0, 1, STREAM);
	waits_for_task(f, 2, 10);
	SYNC(1, 11, 15, STREAM);
	call(f, 1, KIND_context, PROBE_make_context, AT(16), AT(17), 0, 0);
	assert_int_equal(idle_of(f, AT(20), 1), UINT64_MAX);
	t = thread_of(engine_ledger(f->engine), 201);
	assert_null(ledger_left(t));
	assert_int_equal(t->waited.all[0].ns, 8 * MS);
	assert_int_equal(t->waited.all[0].left_ns, 0);
}

/* By another thread, too. */
static void it_is_left_since_the_process_gave_the_latest(void **state)
{
	struct feed *f = *state;

	LAUNCH(1, 0, 1, STREAM);
	FEED(f, KIND_switch, AT(2), 0, 201, S, 0);
	LAUNCH(2, 5, 6, STREAM);
	feed_waking(f, AT(10), 7, 201, 102, WAKE_TASK); /* 4 */
	FEED(f, KIND_switch, AT(10), 0, 0, 0, 201);
	waits_for_task(f, 11, 14); /* 3 */
	SYNC(1, 15, 18, STREAM);
	LEFT(40, 7);
}

/* --- random programs --- */

static uint64_t seed;

static uint64_t draw(uint64_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % n;
}

#define SIM_THREADS 3
#define SIM_STREAMS 8 /* 0: default of device 0, 1: of device 1, 2...: made */
#define SIM_CALLS 400

struct doing {
	enum {
		DOES_NOTHING,
		DOES_LAUNCH,
		DOES_COPY,
		DOES_SYNC,
		DOES_SYNC_DEVICE,
		DOES_RECORD,
		DOES_EVENT,
		DOES_SET
	} what;
	enum { SLEEPS, WAKES, BEGINS, ACTS, ENDS } phase;
	uint64_t at, from;
	unsigned stream, event;
	unsigned device; /* current */
	unsigned work;
};

/* A GPU, or two, and all that a process gives them. */
struct simulated {
	unsigned nthreads, ndevices;
	uint64_t busy_until[SIM_STREAMS];
	uint64_t marked_until[2]; /* events */
	struct doing doing[SIM_THREADS];
	struct {
		uint64_t begin, end;
		bool told;               /* its call has returned */
	} work[SIM_CALLS + SIM_THREADS]; /* the GPU had some */
	unsigned nwork;
	uint64_t left_ns; /* that the GPU had work while a thread slept */
};

static unsigned device_of(unsigned stream)
{
	return stream & 1;
}

static uint64_t handle_of(unsigned stream)
{
	return stream < 2 ? 0 : STREAM + 0x10 * stream;
}

static void work(struct simulated *m, struct doing *d)
{
	uint64_t *busy_until = &m->busy_until[d->stream], begin = *busy_until > d->at ? *busy_until : d->at;

	*busy_until = begin + 1 + draw(draw(4) ? 20 : draw(4) ? 400 : 8000) * US;
	d->work = m->nwork;
	m->work[m->nwork].begin = d->at; /* it is the GPU's from then on */
	m->work[m->nwork++].end = *busy_until;
}

/* What it does next, and when that begins. */
static void choose(struct simulated *m, struct doing *d)
{
	d->what = 1 + draw(draw(3) ? 4 : 7);
	if (d->what == DOES_SET && m->ndevices == 1)
		d->what = DOES_SYNC;
	d->at += 1 + draw(draw(5) ? 10 : 300) * US;
	d->phase = draw(4) ? BEGINS : SLEEPS;
	d->event = (unsigned)draw(2);
	d->stream = (unsigned)draw(SIM_STREAMS / 2) * 2 + d->device; /* one of the current device */
	if (d->what == DOES_COPY)
		d->stream = d->device;
}

/* At the moment at which it takes effect: when it returns. */
static uint64_t act(struct simulated *m, struct doing *d)
{
	uint64_t until = d->at;

	switch (d->what) {
	case DOES_LAUNCH:
		work(m, d);
		break;
	case DOES_COPY:
		work(m, d);
		until = m->busy_until[d->stream];
		break;
	case DOES_SYNC:
		until = m->busy_until[d->stream];
		break;
	case DOES_SYNC_DEVICE:
		for (unsigned s = d->device; s < SIM_STREAMS; s += 2)
			until = m->busy_until[s] > until ? m->busy_until[s] : until;
		break;
	case DOES_RECORD:
		m->marked_until[d->event] = m->busy_until[d->stream];
		break;
	case DOES_EVENT:
		until = m->marked_until[d->event];
		break;
	default:
		break;
	}
	return (until > d->at ? until : d->at) + 1 + draw(draw(6) ? 5 : 400) * US;
}

static void report(struct feed *f, struct doing *d, unsigned n)
{
	switch (d->what) {
	case DOES_LAUNCH:
		call(f, n, KIND_launch, PROBE_launch, d->from, d->at, handle_of(d->stream), 0);
		break;
	case DOES_COPY:
		call(f, n, KIND_copy, PROBE_copy, d->from, d->at, 0, 2);
		break;
	case DOES_SYNC:
		call(f, n, KIND_wait, PROBE_wait, d->from, d->at, handle_of(d->stream), 0);
		break;
	case DOES_SYNC_DEVICE:
		call(f, n, KIND_wait, PROBE_wait_device, d->from, d->at, 0, 0);
		break;
	case DOES_RECORD:
		call(f, n, KIND_stream, PROBE_record, d->from, d->at, handle_of(d->stream), EVENT + 0x10 * d->event);
		break;
	case DOES_EVENT:
		call(f, n, KIND_wait, PROBE_wait_event, d->from, d->at, EVENT + 0x10 * d->event, 0);
		break;
	default:
		d->device = !d->device;
		call(f, n, KIND_context, PROBE_set_device, d->from, d->at, d->device + 1, 0);
	}
}

static uint64_t true_idle(const struct simulated *m, uint64_t begin, uint64_t end)
{
	uint64_t idle = 0;

	while (begin < end) {
		uint64_t next = end, busy = begin;

		for (unsigned i = 0; i < m->nwork; i++) {
			if (m->work[i].begin <= begin && m->work[i].end > busy)
				busy = m->work[i].end;
			if (m->work[i].begin > begin && m->work[i].begin < next)
				next = m->work[i].begin;
		}
		if (busy == begin) {
			idle += next - begin;
			busy = next;
		}
		begin = busy;
	}
	return idle;
}

/* It waits for another thread. */
static void sleep_or_wake(struct feed *f, struct simulated *m, struct doing *d)
{
	unsigned n = (unsigned)(d - m->doing);

	if (d->phase == SLEEPS) {
		FEED(f, KIND_switch, d->at, n, 201 + n, S, 0);
		d->from = d->at;
		d->at += 1 + draw(draw(3) ? 50 : 4000) * US;
		d->phase = WAKES;
		return;
	}
	feed_waking(f, d->at, 7, 201 + n, 102, WAKE_TASK);
	FEED(f, KIND_switch, d->at, n, 0, 0, 201 + n);
	m->left_ns += d->at - d->from - true_idle(m, d->from, d->at);
	d->at += 1 + draw(10) * US;
	d->phase = BEGINS;
}

/* No span that is kept has work in it. */
static void check_spans(const struct simulated *m, const struct ledger *l)
{
	for (size_t i = 0; i < l->work.processes.nitems; i++) {
		const struct gpu_process *p = (const struct gpu_process *)l->work.processes.items[i];

		for (unsigned k = 0; k < p->nspans; k++)
			for (unsigned w = 0; w < m->nwork; w++)
				if (m->work[w].told && m->work[w].begin < idle_span_at(p, k)->end_ns &&
				    m->work[w].end > idle_span_at(p, k)->begin_ns)
					fail_msg("span %u has work %u in it", k, w);
	}
}

/*
 * *idle_ns: how long the GPU had no work; *left_ns: how long it had some while threads slept. Returns what the ledger
 * has of the first; UINT64_MAX: it is not known.
 */
static uint64_t run_random(struct feed *f, uint64_t number, uint64_t *idle_ns, uint64_t *left_ns)
{
	struct simulated m = {.nthreads = (unsigned)(1 + number % SIM_THREADS),
			      .ndevices = (unsigned)(1 + number / 3 % 2)};
	uint64_t end = T0;
	unsigned ncalls = 0;

	seed = number;
	for (unsigned s = 2; s < SIM_STREAMS; s++) {
		if (device_of(s) != (s > 2 && device_of(s - 1)))
			call(f, 1, KIND_context, PROBE_set_device, T0 + s, T0 + s, device_of(s) + 1, 0);
		call(f, 1, KIND_stream, PROBE_make_stream, T0 + s, T0 + s, handle_of(s), 0);
	}
	call(f, 1, KIND_context, PROBE_set_device, T0 + 20, T0 + 20, 1, 0);
	for (unsigned i = 0; i < m.nthreads; i++) {
		m.doing[i].at = T0 + 100;
		choose(&m, &m.doing[i]);
	}
	while (ncalls < SIM_CALLS) {
		struct doing *d = &m.doing[0];

		for (unsigned i = 1; i < m.nthreads; i++)
			if (m.doing[i].at < d->at)
				d = &m.doing[i];
		if (d->phase < BEGINS) {
			sleep_or_wake(f, &m, d);
		} else if (d->phase == BEGINS) {
			d->from = d->at;
			d->at += draw(draw(9) ? 3 : 500) * US; /* it may take long to come to that */
			d->phase = ACTS;
		} else if (d->phase == ACTS) {
			d->at = act(&m, d);
			d->phase = ENDS;
		} else {
			end = d->at;
			report(f, d, (unsigned)(d - m.doing) + 1);
			m.work[d->work].told |= d->what == DOES_LAUNCH || d->what == DOES_COPY;
			choose(&m, d);
			ncalls++;
		}
	}
	for (unsigned i = 0; i < m.nthreads; i++) /* calls that are in flight then */
		if (m.doing[i].phase > BEGINS && m.doing[i].what == DOES_LAUNCH)
			FEED(f, KIND_in_flight, end, 200, 201 + i, MOMENT_END, end - m.doing[i].from, PROBE_launch, 0,
			     0);
	feed_settle(f, ++end);
	check_spans(&m, engine_ledger(f->engine));
	*idle_ns = true_idle(&m, T0 + 1, end + 1);
	*left_ns = m.left_ns;
	return idle_of(f, end, m.nthreads);
}

static void no_time_is_told_in_which_there_was_work(void **state)
{
	uint64_t told = 0, true_ns = 0, told_left = 0, true_left = 0, nknown = 0;

	(void)state;
	for (uint64_t number = 0; number < 1500; number++) {
		void *own = NULL;
		uint64_t idle, left, some, some_left = 0;

		begin(&own);
		some = run_random(own, number, &idle, &left);
		for (unsigned i = 0; i < SIM_THREADS && some != UINT64_MAX; i++)
			if (thread_of(engine_ledger(((struct feed *)own)->engine), 201 + i))
				some_left += left_of(own, 201 + i);
		if (some_left > left)
			fail_msg("program %llu: %llu ns told with work left, %llu ns true", (unsigned long long)number,
				 (unsigned long long)some_left, (unsigned long long)left);
		if (some != UINT64_MAX) {
			told_left += some_left;
			true_left += left;
			if (some > idle)
				fail_msg("program %llu: %llu ns told, %llu ns true", (unsigned long long)number,
					 (unsigned long long)some, (unsigned long long)idle);
			told += some;
			true_ns += idle;
			nknown++;
		}
		teardown(&own);
	}
	print_message("%llu programs: told %llu of %llu ms without work, %llu of %llu ms held up with some\n",
		      (unsigned long long)nknown, (unsigned long long)(told / MS), (unsigned long long)(true_ns / MS),
		      (unsigned long long)(told_left / MS), (unsigned long long)(true_left / MS));
	assert_true(nknown > 1000);
	assert_true(told > true_ns / 4);
	assert_true(told_left > true_left / 50);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(work_is_done_when_who_waits_for_it_returns),
		TEST(a_wait_for_another_stream_shows_nothing),
		TEST(default_streams_are_one_of_a_device_or_one_of_each_thread),
		TEST(a_device_is_waited_for_with_all_its_streams),
		TEST(an_event_shows_what_was_before_it),
		TEST(an_event_shows_what_was_there_when_it_was_recorded),
		TEST(a_copy_to_the_host_has_been_made_when_it_returns),
		TEST(a_destroyed_stream_has_its_work_still),
		TEST(a_wait_that_fails_shows_nothing),
		TEST(what_another_thread_gives_meanwhile_counts),
		TEST(a_call_that_takes_longer_than_all_that_is_kept_makes_it_unknown),
		TEST(it_counts_for_the_thread_that_ends_it),
		TEST(a_first_call_may_have_been_without_work),
		TEST(until_the_end_it_is_the_one_that_fed_it),
		TEST(work_given_by_a_call_in_flight_counts),
		TEST(it_is_not_known_of_contexts_and_of_processes_that_ran_before),
		TEST(it_is_not_known_after_an_exec),
		TEST(waits_have_their_share_of_it),
		TEST(work_was_left_if_a_wait_for_it_waits),
		TEST(a_wait_for_an_event_shows_it_too),
		TEST(a_query_shows_that_it_is_left),
		TEST(a_launch_that_waits_for_room_shows_it),
		TEST(a_full_queue_has_some_left),
		TEST(what_was_given_too_long_ago_may_be_done),
		TEST(it_is_not_known_of_several_gpus),
		TEST(it_is_not_known_either_where_the_other_is_not),
		TEST(it_is_left_since_the_process_gave_the_latest),
		cmocka_unit_test(no_time_is_told_in_which_there_was_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
