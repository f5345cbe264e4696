/* SPDX-License-Identifier: Apache-2.0 */
/* Sleeps that ended because something came through a connection: which part they are of, and how that is put. */
#include "analyze/remedy.h"
#include "tests/unit/ledgers.h"

#define PEER "10.0.0.1:80"

static void connection(struct feed *f, uint64_t at, uint64_t number, const char *peer)
{
	struct event ev = event_made(KIND_connection, schema_kind(&f->schema, KIND_connection), at);
	struct fault why;

	event_room(&ev)->v[F_connection_at] = at;
	event_room(&ev)->v[F_connection_number] = number;
	event_set_text(&ev, F_connection_local, "10.0.0.2:40000");
	event_set_text(&ev, F_connection_peer, peer);
	assert_int_equal(engine_feed(f->engine, &ev, &why), 0);
}

static void row(struct feed *f, uint64_t at, uint64_t tid, uint64_t dur, uint64_t number, uint64_t role,
		uint64_t retransmitted)
{
	FEED(f, KIND_network, at, 100, tid, 0, dur, number, role, 5, retransmitted, 0, 1000);
}

/* 101 sleeps from `begin` to `end`, when something comes through connection 1. */
static void comes(struct feed *f, uint64_t begin, uint64_t end, uint64_t role, uint64_t by_tid, uint64_t context)
{
	feed_switch(f, begin, 0, 101, S, 0);
	row(f, end, 101, end - begin, 1, role, 0);
	feed_waking(f, end, 1, 101, by_tid, context);
	feed_switch(f, end, 0, 0, 0, 101);
}

static void explained_is(struct feed *f, struct explained *e, uint32_t tid, uint64_t begin, uint64_t end,
			 const char *expected)
{
	struct text t = {0};

	feed_settle(f, end + 1);
	explain(e, feed_timeline(f), engine_context(f->engine)->names, tid, begin, end);
	check_sums(&e->cause.links[0]);
	text_add_cause(&t, e);
	assert_string_equal(text_string(&t), expected);
	text_clear(&t);
}

static void what_came_from_outside_is_the_network(void **state)
{
	struct feed *f = *state;
	static struct explained e;

	feed_launch(f, T0 + 0 * MS, T0 + 1 * MS, 101, 0);
	connection(f, T0 + 1 * MS, 1, PEER);
	comes(f, T0 + 2 * MS, T0 + 12 * MS, CONNECTION_MADE, 0, WAKE_IRQ);
	feed_launch(f, T0 + 1 * MS, T0 + 13 * MS, 101, 0);
	explained_is(f, &e, 101, T0 + 1 * MS, T0 + 13 * MS,
		     "10.0 ms waiting for the network (" PEER ": once, 10.0 ms in all)");
	assert_int_equal(e.cause.links[0].ns[CAUSE_NETWORK], 10 * MS);
	assert_int_equal(e.cause.end, CHAIN_NETWORK);
	assert_string_equal(chain_end_name(e.cause.end), "network");
	assert_int_equal(explained_keeper(&e), TID_NONE);
	assert_non_null(strstr(cause_remedy(&e, CAUSE_NETWORK), "what the other end did"));
}

/* Who waits for others to ask is no victim of the network. */
static void who_is_asked_sleeps_of_its_own_accord(void **state)
{
	struct feed *f = *state;
	static struct explained e;

	feed_launch(f, T0 + 0 * MS, T0 + 1 * MS, 101, 0);
	connection(f, T0 + 1 * MS, 1, PEER);
	comes(f, T0 + 2 * MS, T0 + 12 * MS, CONNECTION_ACCEPTED, 0, WAKE_IRQ);
	comes(f, T0 + 13 * MS, T0 + 15 * MS, CONNECTION_UNKNOWN, 0, WAKE_IRQ);
	feed_launch(f, T0 + 1 * MS, T0 + 16 * MS, 101, 0);
	explained_is(f, &e, 101, T0 + 1 * MS, T0 + 16 * MS,
		     "12.0 ms asleep (state S) until something came from " PEER "; and 3.00 ms on CPU");
	assert_int_equal(e.cause.links[0].ns[CAUSE_NETWORK], 0);
	assert_int_equal(e.cause.end, CHAIN_INTERRUPT);
}

/* What a thread of this host sends is that one's doing. */
static void what_a_thread_here_sent_is_its_doing(void **state)
{
	struct feed *f = *state;
	static struct explained e;

	feed_launch(f, T0 + 0 * MS, T0 + 1 * MS, 101, 0);
	feed_launch(f, T0 + 0 * MS, T0 + 1 * MS, 102, 1);
	connection(f, T0 + 1 * MS, 1, PEER);
	comes(f, T0 + 2 * MS, T0 + 12 * MS, CONNECTION_MADE, 102, WAKE_TASK);
	feed_launch(f, T0 + 1 * MS, T0 + 13 * MS, 101, 0);
	explained_is(f, &e, 101, T0 + 1 * MS, T0 + 13 * MS,
		     "10.0 ms asleep (state S), woken by 102 t2, which was running on CPU 1 for 10.0 ms of that");
	assert_int_equal(e.cause.end, CHAIN_RAN);
}

static void a_chain_ends_at_one_that_waits_for_the_network(void **state)
{
	struct feed *f = *state;
	static struct explained e;

	feed_launch(f, T0 + 0 * MS, T0 + 1 * MS, 101, 0);
	feed_launch(f, T0 + 0 * MS, T0 + 1 * MS, 102, 1);
	connection(f, T0 + 1 * MS, 1, PEER);
	feed_switch(f, T0 + 2 * MS, 1, 102, S, 0);
	comes(f, T0 + 2 * MS, T0 + 9 * MS, CONNECTION_MADE, 0, WAKE_IRQ);
	feed_waking(f, T0 + 10 * MS, 0, 102, 101, WAKE_TASK);
	feed_switch(f, T0 + 10 * MS, 1, 0, 0, 102);
	feed_launch(f, T0 + 1 * MS, T0 + 11 * MS, 102, 1);
	explained_is(f, &e, 102, T0 + 2 * MS, T0 + 10 * MS,
		     "8.00 ms asleep (state S), woken by 101 t1, which waited for the network (" PEER
		     ": once, 7.00 ms in all) for 7.00 ms");
	assert_int_equal(e.cause.end, CHAIN_NETWORK);
}

/* Numbers of connections are used again; what was lost on the way is that of a wait since the one before. */
static void waits_for_several_peers_are_summed(void **state)
{
	struct feed *f = *state;
	struct network_use use;
	const struct network_waits *w;

	connection(f, T0, 1, PEER);
	row(f, T0 + 1 * MS, 101, 1 * MS, 1, CONNECTION_MADE, 7);
	row(f, T0 + 2 * MS, 101, 1 * MS, 1, CONNECTION_MADE, 9);
	row(f, T0 + 3 * MS, 102, 1 * MS, 1, CONNECTION_MADE, 12);
	connection(f, T0 + 4 * MS, 1, "10.0.0.3:80");
	row(f, T0 + 5 * MS, 101, 4 * MS, 1, CONNECTION_MADE, 100);
	row(f, T0 + 6 * MS, 101, 1 * MS, 0, CONNECTION_MADE, 100);
	row(f, T0 + 7 * MS, 101, 1 * MS, UINT64_MAX, UINT64_MAX, 100);
	feed_settle(f, T0 + 8 * MS);
	w = &engine_context(f->engine)->names->network;
	network_waits_sum(w, 101, T0, T0 + 2 * MS, &use);
	assert_int_equal(use.waits, 2);
	assert_int_equal(use.dur_ns, 2 * MS);
	assert_int_equal(use.retransmitted, 2);
	assert_false(use.more);
	assert_memory_equal(use.longest.peer->s, PEER, strlen(PEER));
	assert_non_null(strstr(network_remedy(&use), "lost on the way"));
	network_waits_sum(w, 102, T0, T0 + 8 * MS, &use);
	assert_int_equal(use.retransmitted, 3);
	network_waits_sum(w, 101, T0 + 4 * MS, T0 + 8 * MS, &use);
	assert_int_equal(use.waits, 3);
	assert_int_equal(use.retransmitted, 0);
	assert_true(use.more);
	assert_memory_equal(use.longest.peer->s, "10.0.0.3:80", strlen("10.0.0.3:80"));
	network_waits_sum(w, 101, T0 + 8 * MS, T0 + 9 * MS, &use);
	assert_int_equal(use.waits, 0);
}

static void the_latest_are_kept(void **state)
{
	struct feed *f = *state;
	struct network_use use;

	connection(f, T0, 1, PEER);
	for (unsigned i = 0; i < NETWORK_WAITS_MAX + 100; i++)
		row(f, T0 + i, 101, 1, 1, CONNECTION_MADE, 0);
	feed_settle(f, T0 + 1 * MS);
	network_waits_sum(&engine_context(f->engine)->names->network, 101, T0, T0 + 1 * MS, &use);
	assert_int_equal(use.waits, NETWORK_WAITS_MAX);
}

/* A hostile capture names more than are kept: the others have no name. */
static void of_more_peers_than_are_kept_the_others_have_no_name(void **state)
{
	struct feed *f = *state;
	struct network_use use;
	char peer[16];

	for (unsigned i = 0; i < NETWORK_PEERS_MAX + 2; i++) {
		snprintf(peer, sizeof(peer), "p%u", i);
		connection(f, T0 + i, 1, peer);
	}
	row(f, T0 + 1 * MS, 101, 1, 1, CONNECTION_MADE, 0);
	connection(f, T0 + 2 * MS, 1, "p7");
	row(f, T0 + 2 * MS, 101, 1, 1, CONNECTION_MADE, 0);
	feed_settle(f, T0 + 3 * MS);
	network_waits_sum(&engine_context(f->engine)->names->network, 101, T0, T0 + 1 * MS, &use);
	assert_null(use.longest.peer);
	network_waits_sum(&engine_context(f->engine)->names->network, 101, T0 + 2 * MS, T0 + 2 * MS, &use);
	assert_memory_equal(use.longest.peer->s, "p7", 2);
}

static void the_ledger_has_it_wherever_the_thread_was(void **state)
{
	struct feed *f = *state;

	feed_launch(f, T0 + 0 * MS, T0 + 1 * MS, 101, 0);
	comes(f, T0 + 2 * MS, T0 + 5 * MS, CONNECTION_MADE, 0, WAKE_IRQ);      /* network 3 */
	comes(f, T0 + 6 * MS, T0 + 10 * MS, CONNECTION_ACCEPTED, 0, WAKE_IRQ); /* choice 4 */
	feed_launch(f, T0 + 11 * MS, T0 + 12 * MS, 101, 0);
	comes(f, T0 + 13 * MS, T0 + 15 * MS, CONNECTION_MADE, 0, WAKE_IRQ); /* network 2 */
	feed_call(f, KIND_wait, T0 + 12 * MS, T0 + 16 * MS, 101, 0);        /* gpu 2 */
	CHECK(ledger_of(f, 101, T0 + 16 * MS), 2 * MS, 0, 2 * MS, 3 * MS, 0, 0, 0, 0, 5 * MS, 0, 0, 0, 4 * MS);
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(what_came_from_outside_is_the_network),
		T(who_is_asked_sleeps_of_its_own_accord),
		T(what_a_thread_here_sent_is_its_doing),
		T(a_chain_ends_at_one_that_waits_for_the_network),
		T(waits_for_several_peers_are_summed),
		T(the_latest_are_kept),
		T(of_more_peers_than_are_kept_the_others_have_no_name),
		T(the_ledger_has_it_wherever_the_thread_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
