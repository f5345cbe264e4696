// SPDX-License-Identifier: Apache-2.0
/*
 * Threads that feed the GPU and wait for the network for a good part of their time: until something comes through a
 * TCP connection that was begun here, from another host, or from one of this host that is not seen to send it.
 */
#include "analyze/remedy.h"
#include "analyze/rules/lost_part.h"

static const struct setting settings[] = LOST_SETTINGS(100000000, 10, "waited for the network");

#define WAITS_MAX 8192
#define NETWORK_PROCESSES_MAX 1024

/* What a thread waited for. */
struct waiting_thread {
	struct table_key key; /* a: tid, b: process instance */
	struct network_use use;
};

struct network_process {
	struct table_key key; /* a: process instance */
	struct lost_part lost;
	struct network_use use; /* of the thread that waited longest; */
	uint64_t most_ns;       /* for so long */
};

struct network_state {
	struct groups threads, processes;
};

static int network_feed(void *state, const struct context *ctx, const uint64_t *set, const struct event *ev)
{
	struct network_state *s = state;
	const struct caller *caller = callers_latest(ctx->callers, ev->v[F_network_tid]);
	struct waiting_thread *t;

	(void)set;
	if (!caller || ev->v[F_network_role] != CONNECTION_MADE || ev->v[F_network_sender_tid])
		return 0;
	t = groups_get(&s->threads, caller->key.a, caller->key.b);
	if (!t)
		return s->threads.error;
	network_use_add(&t->use, network_waits_latest(&ctx->names->network));
	return 0;
}

static void report(const struct network_process *p, struct findings *out)
{
	struct finding *f =
		lost_part_finding(&p->lost, p->key.a, &network_wait_rule, "network", CONFIDENCE_MEDIUM, out);

	f->count = p->use.waits;
	text_add(&f->headline, " waited for the network for ");
	text_add_ns(&f->headline, p->lost.lost_ns);
	lost_part_add_share(&p->lost, &f->headline);
	if (p->use.waits) {
		text_add(&f->headline, ": ");
		text_add_network_use(&f->headline, &p->use);
	}
	text_add(&f->sure,
		 "Medium confidence: what came is proven; what the other end did until then is not known here");
	text_add(&f->advice, "%s", network_remedy(&p->use));
	finding_number(f, "waits", p->use.waits);
	finding_number(f, "retransmitted", p->use.retransmitted);
	finding_number(f, "disordered", p->use.disordered);
	finding_number(f, "longest_rtt_ns", p->use.longest.rtt_ns);
	gpu_price_give(&p->lost.price, f);
}

static void join(void *state, const struct context *ctx, const struct ledger_thread *t)
{
	struct network_state *s = state;
	uint64_t process = t->key.b % LEDGER_AGAIN;
	const struct waiting_thread *w = groups_find(&s->threads, t->key.a, process);
	struct network_process *p = groups_get(&s->processes, process, 0);

	if (!p)
		return;
	lost_part_join(&p->lost, ctx, t, LEDGER_NETWORK);
	if (w && t->ns[LEDGER_NETWORK] > p->most_ns) {
		p->most_ns = t->ns[LEDGER_NETWORK];
		p->use = w->use;
	}
}

static void network_finish(void *state, const struct context *ctx, const uint64_t *set, struct findings *out)
{
	struct network_state *s = state;

	lost_part_threads(ctx, LEDGER_NETWORK, set, join, s);
	out->failed |= s->processes.error != 0;
	for (size_t i = 0; i < s->processes.table.nitems; i++)
		report(groups_at(&s->processes, i), out);
	findings_add_limit(out, network_wait_rule.name, s->threads.nskipped + s->processes.nskipped, "waits");
}

const struct rule network_wait_rule = {
	.name = "network-wait",
	.severity = SEVERITY_WARNING,
	.summary = "threads that feed the GPU and wait for the network for much of their time",
	.meaning =
		"The thread slept until something came through a TCP connection that was begun here: data that it had "
		"asked for, or room for more to send. Meanwhile it launched nothing.",
	.wrong =
		"A thread that is idle while it waits for work from the other end looks the same, if it is the one that "
		"began the connection. Where the GPU had work queued all that time, the wait cost it nothing.",
	.remedy = "Ask earlier or for more at once, or see what the other end and the network did.",
	RULE_SETTINGS(settings),
	.kinds = {KIND_network, 0},
	.state_size = sizeof(struct network_state),
	.groups = {{offsetof(struct network_state, threads), sizeof(struct waiting_thread), WAITS_MAX, 0},
		   {offsetof(struct network_state, processes), sizeof(struct network_process), NETWORK_PROCESSES_MAX,
		    0}},
	.feed = network_feed,
	.finish = network_finish,
};
