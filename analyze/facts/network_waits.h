/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What came through TCP connections and ended sleeps of threads lately, as `network` rows report it; but for what a
 * thread of this host was seen to send.
 */
#ifndef GPUREC_ANALYZE_FACTS_NETWORK_WAITS_H
#define GPUREC_ANALYZE_FACTS_NETWORK_WAITS_H

#include "format/base/table.h"
#include "format/cursor.h"

#define NETWORK_WAITS_MAX 16384      /* kept: the latest */
#define NETWORK_PEERS_MAX 4096       /* others have no name */
#define NETWORK_CONNECTIONS_MAX 1024 /* by number; of others it is not known which they are */
#define NETWORK_PEER_BYTES 64

struct network_peer {
	struct table_key key; /* a: a hash of its name */
	uint8_t nbytes;
	char s[NETWORK_PEER_BYTES]; /* bytes out of a capture */
};

struct network_wait {
	uint64_t at_ns, dur_ns; /* dur_ns 0: not known */
	uint64_t rtt_ns;
	uint64_t retransmitted, disordered; /* since the connection's row before; 0 of the first one */
	uint32_t tid;
	const struct network_peer *peer; /* NULL: not known */
};

/* What a thread slept for. */
struct network_use {
	uint64_t waits; /* 0: nothing is known */
	uint64_t dur_ns, retransmitted, disordered;
	bool more; /* several peers: `longest` is for one of them */
	struct network_wait longest;
};

struct network_connection {
	const struct network_peer *peer;
	uint64_t retransmitted, disordered;
	bool seen; /* these are of a row */
};

/* A zeroed one is empty. */
struct network_waits {
	struct network_wait *all; /* NETWORK_WAITS_MAX, a ring; NULL: there was none yet */
	uint64_t n;               /* ever */
	struct table peers;       /* struct network_peer */
	struct network_connection connections[NETWORK_CONNECTIONS_MAX];
};

/* Rows of network and connection, in the order of time. ERR_MEMORY. */
int network_waits_feed(struct network_waits *w, const struct event *ev, struct fault *why);
void network_waits_clear(struct network_waits *w);

/* The last one; there was one. */
const struct network_wait *network_waits_latest(const struct network_waits *w);

/* Those that ended in [begin_ns, end_ns]. */
void network_waits_sum(const struct network_waits *w, uint32_t tid, uint64_t begin_ns, uint64_t end_ns,
		       struct network_use *use);

void network_use_add(struct network_use *use, const struct network_wait *one);

#endif
