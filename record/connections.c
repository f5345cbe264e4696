/* SPDX-License-Identifier: Apache-2.0 */
#include "record/connections.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "format/base/table.h"

#define WAYS 8           /* places where one may be */
#define PORT_GIVEN 32768 /* from there on Linux gives ports out by itself (ip_local_port_range) */
#define END_BYTES (INET6_ADDRSTRLEN + sizeof("[]:65535"))

static uint64_t hash_of(const struct ring_network *n)
{
	uint64_t h = table_hash(TABLE_HASH ^ n->net, &n->ends, sizeof(n->ends));

	return h ^ h >> 32;
}

/* Where it is; or else the place of the one of its set that was not named for longest. */
static struct connection *place_of(struct connections *c, const struct ring_network *n, bool *known)
{
	struct connection *set = &c->all[hash_of(n) % (CONNECTIONS_MAX / WAYS) * WAYS], *oldest = set;

	*known = true;
	for (struct connection *one = set; one < set + WAYS; one++) {
		if (one->used && one->net == n->net && memcmp(&one->ends, &n->ends, sizeof(n->ends)) == 0)
			return one;
		if (one->used < oldest->used)
			oldest = one;
	}
	*known = false;
	return oldest;
}

/* "10.0.0.1:80", "[fe80::1]:80". */
static void end_write(char text[END_BYTES], const uint8_t address[16], uint16_t port)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	bool four = memcmp(address, mapped, sizeof(mapped)) == 0;
	char name[INET6_ADDRSTRLEN] = "?";

	(void)inet_ntop(four ? AF_INET : AF_INET6, four ? address + 12 : address, name, sizeof(name));
	snprintf(text, END_BYTES, four ? "%s:%u" : "[%s]:%u", name, port);
}

/*
 * Of one that began before we looked: who accepts connections listens at that port, or has ceased to; who begins one is
 * given a port for it, and asks for one that is known.
 */
static uint8_t role_of(struct connections *c, const struct ring_network *n)
{
	uint64_t second = n->head.at_ns / 1000000000u;
	int listens;

	if (n->role)
		return (uint8_t)n->role;
	if (second != c->second)
		c->looks = 0;
	c->second = second;
	if (c->looks++ >= CONNECTIONS_LOOKS)
		return CONNECTION_UNKNOWN;
	listens = procfs_listens(c->fs, n->pid, n->ends.local_port);
	if (listens > 0)
		return CONNECTION_ACCEPTED;
	return listens == 0 && n->ends.local_port >= PORT_GIVEN && n->ends.peer_port < PORT_GIVEN ? CONNECTION_MADE
												  : CONNECTION_UNKNOWN;
}

int connections_name(struct connections *c, struct writer *w, struct row *row, const struct ring_network *n,
		     struct fault *why)
{
	struct row name = row_of(KIND_connection, row->v[0]);
	char local[END_BYTES], peer[END_BYTES];
	struct connection *one;
	bool known;
	int r = 0;

	one = place_of(c, n, &known);
	if (!known) {
		end_write(local, n->ends.local, n->ends.local_port);
		end_write(peer, n->ends.peer, n->ends.peer_port);
		name.v[F_connection_number] = (uint64_t)(one - c->all) + 1;
		name.v[F_connection_net] = n->net;
		row_text(&name, F_connection_local, local);
		row_text(&name, F_connection_peer, peer);
		r = row_emit(&name, w, why);
		one->used = 0;
	}
	if (r < 0)
		return r == ERR_MEMORY ? 0 : r;
	if (!known)
		*one = (struct connection){.ends = n->ends, .net = n->net, .role = role_of(c, n)};
	one->used = ++c->clock;
	row->v[F_network_connection] = (uint64_t)(one - c->all) + 1;
	row->v[F_network_role] = one->role;
	return 0;
}
