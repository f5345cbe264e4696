// SPDX-License-Identifier: Apache-2.0
#include "analyze/facts/network_waits.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/facts/latest.h"

/* NULL: no memory, *failed; or there are too many, or it has no name. */
static const struct network_peer *peer_of(struct network_waits *w, const char *s, uint64_t n, bool *failed)
{
	uint8_t nbytes = (uint8_t)(n < NETWORK_PEER_BYTES ? n : NETWORK_PEER_BYTES);
	struct network_peer *peer;
	uint64_t hash;

	if (!s || !n)
		return NULL;
	hash = table_hash(TABLE_HASH, s, nbytes);
	peer = table_find(&w->peers, hash, 0);
	if (peer)
		return peer->nbytes == nbytes && memcmp(peer->s, s, nbytes) == 0 ? peer : NULL;
	if (w->peers.nitems == NETWORK_PEERS_MAX)
		return NULL;
	peer = table_add(&w->peers, hash, 0, sizeof(*peer));
	if (!peer) {
		*failed = true;
		return NULL;
	}
	peer->nbytes = nbytes;
	memcpy(peer->s, s, nbytes);
	return peer;
}

static struct network_connection *connection_of(struct network_waits *w, uint64_t number)
{
	return number && number < NETWORK_CONNECTIONS_MAX ? &w->connections[number] : NULL;
}

static int feed_connection(struct network_waits *w, const struct event *ev, struct fault *why)
{
	struct network_connection *c = connection_of(w, ev->v[F_connection_number]);
	bool failed = false;

	if (c)
		*c = (struct network_connection){
			.peer = peer_of(w, ev->text[F_connection_peer], ev->v[F_connection_peer], &failed)};
	return failed ? fault_no_memory(why) : 0;
}

int network_waits_feed(struct network_waits *w, const struct event *ev, struct fault *why)
{
	struct network_connection *c;
	struct network_wait *one;

	if (ev->kind == KIND_connection)
		return feed_connection(w, ev, why);
	if (ev->v[F_network_sender_tid])
		return 0;
	if (!w->all)
		w->all = calloc(NETWORK_WAITS_MAX, sizeof(*w->all));
	if (!w->all)
		return fault_no_memory(why);
	one = &w->all[w->n++ % NETWORK_WAITS_MAX];
	*one = (struct network_wait){
		.at_ns = ev->at_ns,
		.dur_ns = ev->v[F_network_dur],
		.rtt_ns = ev->v[F_network_rtt],
		.tid = (uint32_t)ev->v[F_network_tid],
	};
	c = connection_of(w, ev->v[F_network_connection]);
	if (!c)
		return 0;
	one->peer = c->peer;
	if (c->seen && ev->v[F_network_retransmitted] > c->retransmitted)
		one->retransmitted = ev->v[F_network_retransmitted] - c->retransmitted;
	if (c->seen && ev->v[F_network_disordered] > c->disordered)
		one->disordered = ev->v[F_network_disordered] - c->disordered;
	c->retransmitted = ev->v[F_network_retransmitted];
	c->disordered = ev->v[F_network_disordered];
	c->seen = true;
	return 0;
}

void network_waits_clear(struct network_waits *w)
{
	free(w->all);
	table_clear(&w->peers);
	*w = (struct network_waits){0};
}

const struct network_wait *network_waits_latest(const struct network_waits *w)
{
	return &w->all[(w->n - 1) % NETWORK_WAITS_MAX];
}

void network_use_add(struct network_use *use, const struct network_wait *one)
{
	if (use->waits && use->longest.peer != one->peer)
		use->more = true;
	if (use->waits == 0 || one->dur_ns > use->longest.dur_ns)
		use->longest = *one;
	use->waits++;
	use->dur_ns += one->dur_ns;
	use->retransmitted += one->retransmitted;
	use->disordered += one->disordered;
}

void network_waits_sum(const struct network_waits *w, uint32_t tid, uint64_t begin_ns, uint64_t end_ns,
		       struct network_use *use)
{
	uint64_t i = latest_since(w->all, sizeof(*w->all), NETWORK_WAITS_MAX, w->n, begin_ns);

	memset(use, 0, sizeof(*use));
	for (; i < w->n && w->all[i % NETWORK_WAITS_MAX].at_ns <= end_ns; i++)
		if (w->all[i % NETWORK_WAITS_MAX].tid == tid)
			network_use_add(use, &w->all[i % NETWORK_WAITS_MAX]);
}
