// SPDX-License-Identifier: Apache-2.0
#include "replay/model/timeline_feed.h"

#include <stdlib.h>
#include <string.h>

#include "format/tracepoints.h"

bool timeline_wants(const struct event *ev)
{
	switch (ev->kind) {
	case KIND_switch:
	case KIND_waking:
	case KIND_throttled:
	case KIND_futex:
	case KIND_fault:
	case KIND_reclaim:
	case KIND_network:
	case KIND_disk:
	case KIND_cpu:
	case KIND_fork:
	case KIND_exit:
		return true;
	default:
		return event_is_call(ev);
	}
}

static int feed_futex(struct timeline *tl, const struct event *ev, struct fault *why)
{
	const struct futex_row row = {.begin_ns = event_begin_ns(ev, ev->v[F_futex_dur]),
				      .at_ns = ev->at_ns,
				      .addr = ev->v[F_futex_addr],
				      .pid = (uint32_t)ev->v[F_futex_pid],
				      .tid = as_tid(ev->v[F_futex_tid]),
				      .cpu = (uint32_t)ev->v[F_futex_cpu],
				      .op = (uint32_t)ev->v[F_futex_op],
				      .val = ev->v[F_futex_val],
				      .ret = (int64_t)ev->v[F_futex_ret]};

	return timeline_futex(tl, &row, why);
}

static int feed_reclaim(struct timeline *tl, const struct event *ev, struct fault *why)
{
	static const uint32_t flags[] = {
		[RECLAIM_HOST] = SPAN_HOST, [RECLAIM_GROUP] = SPAN_LIMIT, [RECLAIM_COMPACT] = SPAN_COMPACT};
	uint64_t cause = ev->v[F_reclaim_cause];

	return timeline_reclaim(tl, event_begin_ns(ev, ev->v[F_reclaim_dur]), ev->at_ns, as_tid(ev->v[F_reclaim_tid]),
				(uint32_t)ev->v[F_reclaim_cpu],
				SPAN_MEMORY | (cause < sizeof(flags) / sizeof(flags[0]) ? flags[cause] : 0), why);
}

static int feed_cpu(struct timeline *tl, const struct event *ev, struct fault *why)
{
	const uint64_t ns[TAKERS] = {
		[TAKER_HYPERVISOR] = ev->v[F_cpu_steal], [TAKER_INTERRUPTS] = ev->v[F_cpu_irq] + ev->v[F_cpu_softirq]};

	return timeline_take(tl, ev->at_ns, (uint32_t)ev->v[F_cpu_cpu], ns, why);
}

int timeline_feed(struct timeline *tl, const struct event *ev, struct fault *why)
{
	uint64_t waited_ns;

	switch (ev->kind) {
	case KIND_switch:
		return timeline_switch(tl, ev->v, &waited_ns, why);
	case KIND_waking:
		return timeline_waking(tl, ev->v, why);
	case KIND_throttled:
		return timeline_throttled(tl, ev->v, why);
	case KIND_futex:
		return feed_futex(tl, ev, why);
	case KIND_fault:
		timeline_fault(tl, event_begin_ns(ev, ev->v[F_fault_dur]), ev->at_ns, as_tid(ev->v[F_fault_tid]));
		return 0;
	case KIND_reclaim:
		return feed_reclaim(tl, ev, why);
	case KIND_network:
		if (ev->v[F_network_role] == CONNECTION_MADE)
			timeline_network(tl, as_tid(ev->v[F_network_tid]));
		return 0;
	case KIND_disk:
		if (ev->v[F_disk_operation] == DISK_SWAP_IN)
			timeline_swap_in(tl, as_tid(ev->v[F_disk_tid]));
		return 0;
	case KIND_cpu:
		return feed_cpu(tl, ev, why);
	case KIND_fork:
		return timeline_fork(tl, ev->at_ns, as_tid(ev->v[F_fork_tid]), as_tid(ev->v[F_fork_child_tid]), why);
	case KIND_exit:
		return timeline_exit(tl, ev->at_ns, as_tid(ev->v[F_exit_tid]), why);
	default:
		return event_is_call(ev) ? timeline_call(tl, call_begin_ns(ev), ev->at_ns, ev->v[F_call_tid],
							 (uint32_t)ev->v[F_call_cpu], why)
					 : 0;
	}
}

void timeline_feed_in_flight(struct timeline *tl, const struct schema *schema, const struct event *ev)
{
	const struct probe *probe = schema_probe(schema, ev->v[F_in_flight_probe]);

	if (probe && probe->kind == KIND_futex && ev->v[F_in_flight_moment] == MOMENT_END)
		timeline_in_futex(tl, event_begin_ns(ev, ev->v[F_in_flight_dur]), as_tid(ev->v[F_in_flight_tid]),
				  ev->v[F_in_flight_argument]);
}

/* Rows of switch, waking or fork are missing: at which times. */
int timeline_feed_epoch(struct timeline *tl, const struct reader *reader, const struct epoch *epoch, struct fault *why)
{
	static const uint16_t kinds[] = {KIND_switch, KIND_waking, KIND_fork, KIND_throttled};
	uint64_t lost = 0;
	int r = 0;

	for (unsigned i = 0; reader && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		lost += reader_lost(reader, epoch->number, kinds[i]);
	if (lost) {
		/* The counters are read when the epoch is sealed, a little after its end. */
		uint64_t until_ns = epoch->anchor.boot_ns > epoch->end_ns ? epoch->anchor.boot_ns : epoch->end_ns;

		return timeline_blind(tl, epoch->begin_ns, until_ns, why);
	}
	for (uint32_t i = 0; i < epoch->nchunks && r == 0; i++) {
		const struct chunk *c = &epoch->chunks[i];

		if (c->withheld && c->class == CLASS_events)
			r = timeline_blind(tl, c->first_ns, c->last_ns + 1, why);
	}
	return r;
}

int timeline_feed_fact(struct timeline *tl, const struct event *ev, struct fault *why)
{
	char absent[512];
	size_t n = ev->v[F_fact_value] < sizeof(absent) ? ev->v[F_fact_value] : sizeof(absent) - 1;

	if (!event_text_is(ev, F_fact_name, "tracepoints_absent") || !ev->text[F_fact_value])
		return 0;
	memcpy(absent, ev->text[F_fact_value], n);
	absent[n] = '\0';
	return tracepoint_named(absent, "sched_switch") ? timeline_blind(tl, 0, UINT64_MAX, why) : 0;
}

int timeline_feed_counters(struct timeline *tl, const struct reader *reader, struct fault *why)
{
	uint32_t n = 0;
	const struct counter *counters = reader ? reader_counters(reader, reader->nepochs, &n) : NULL;

	for (uint32_t i = 0; i < n; i++) {
		const struct probe *p = schema_probe(&reader->header.schema, counters[i].probe);

		if (p && p->kind == KIND_switch && counters[i].value)
			return 0;
	}
	return reader && reader->nepochs && reader_withholds(reader, CLASS_host)
		       ? timeline_blind(tl, 0, UINT64_MAX, why)
		       : 0;
}

uint64_t timeline_tracked_since(void *tasks, uint32_t tid)
{
	return tasks_tid_tracked_since(tasks, tid);
}

/* --- events of one moment --- */

struct moment_event {
	struct event event;
	uint64_t v[FIELDS_MAX];
};

static const char *const no_texts[FIELDS_MAX];

/* The order in which things must have happened that carry the same time. */
enum rank {
	RANK_EXIT,
	RANK_FORK,
	RANK_ANSWER, /* that ends a sleep */
	RANK_WAKE_SLEEPER,
	RANK_THROTTLED,
	RANK_SWITCH,
	RANK_WAKE,
	RANK_FUTEX,
	RANK_INNER,
	RANK_CALL,
	RANKS
};

static enum rank rank_of(const struct timeline *tl, const struct event *ev)
{
	switch (ev->kind) {
	case KIND_exit:
		return RANK_EXIT;
	case KIND_fork:
		return RANK_FORK;
	case KIND_waking:
		return timeline_sleeps_since(tl, as_tid(ev->v[F_waking_tid])) != NO_SLEEP ? RANK_WAKE_SLEEPER
											  : RANK_WAKE;
	case KIND_network:
	case KIND_disk:
		return RANK_ANSWER;
	case KIND_throttled:
		return RANK_THROTTLED;
	case KIND_switch:
		return RANK_SWITCH;
	case KIND_futex:
	case KIND_fault:
	case KIND_reclaim:
		return RANK_FUTEX;
	default:
		return event_is_call(ev) && !event_is_nested(ev) ? RANK_CALL : RANK_INNER;
	}
}

void moment_clear(struct moment *m)
{
	free(m->events);
	*m = (struct moment){0};
}

int moment_add(struct moment *m, const struct event *ev, struct fault *why)
{
	struct moment_event *kept;

	if (!m->events)
		m->events = calloc(MOMENT_MAX, sizeof(*m->events));
	if (!m->events)
		return fault_no_memory(why);
	kept = &m->events[m->n++];
	kept->event = *ev;
	kept->event.v = memcpy(kept->v, ev->v, kind_nvalues(ev->shape) * sizeof(*ev->v));
	kept->event.text = no_texts;
	m->at_ns = ev->at_ns;
	return 0;
}

int moment_end(struct moment *m, const struct timeline *tl, moment_take *take, void *self, struct fault *why)
{
	uint8_t ranks[MOMENT_MAX];
	unsigned n = m->n;
	int r = 0;

	m->n = 0;
	if (n == 1)
		return take(self, &m->events[0].event, why);
	for (unsigned i = 0; i < n; i++)
		ranks[i] = (uint8_t)rank_of(tl, &m->events[i].event);
	for (unsigned rank = 0; rank < RANKS; rank++)
		for (unsigned i = 0; i < n && r == 0; i++)
			if (ranks[i] == rank)
				r = take(self, &m->events[i].event, why);
	return r;
}

int moment_pass(struct moment *m, const struct timeline *tl, const struct event *ev, moment_take *take, void *self,
		struct fault *why)
{
	int r = moment_is_over(m, ev) ? moment_end(m, tl, take, self, why) : 0;

	if (r)
		return r;
	return ev->last && m->n == 0 ? take(self, ev, why) : moment_add(m, ev, why);
}
