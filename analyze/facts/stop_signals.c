// SPDX-License-Identifier: Apache-2.0
#include "analyze/facts/stop_signals.h"

bool signal_is_sent(const struct event *ev)
{
	int64_t code = (int64_t)ev->v[F_signal_code];

	return code == SIGNAL_BY_KILL || code == SIGNAL_BY_QUEUE || code == SIGNAL_BY_TKILL;
}

static int hold(struct stop_signals *s, const struct event *ev, struct fault *why)
{
	struct held_process *h = table_find(&s->held, ev->v[F_signal_pid], 0);

	if (!h && s->held.nitems >= HELD_MAX)
		return 0;
	if (!h)
		h = table_add(&s->held, ev->v[F_signal_pid], 0, sizeof(*h));
	if (!h)
		return fault_no_memory(why);
	if (!h->since_ns)
		h->since_ns = ev->at_ns;
	return 0;
}

static void let_go(struct stop_signals *s, const struct event *ev)
{
	struct held_process *h = table_find(&s->held, ev->v[F_signal_pid], 0);

	if (!h || !h->since_ns)
		return;
	h->ns += ev->at_ns - h->since_ns;
	h->since_ns = 0;
}

uint64_t stop_signals_held(const struct stop_signals *s, uint64_t pid)
{
	const struct held_process *h = table_find(&s->held, pid, 0);

	return h ? h->ns : 0;
}

void stop_signals_clear(struct stop_signals *s)
{
	table_clear(&s->held);
}

int stop_signals_feed(struct stop_signals *s, const struct event *ev, uint64_t sender_pid, struct fault *why)
{
	uint64_t number = ev->v[F_signal_signal];

	if (number < SIGNAL_CONT || number > SIGNAL_TTOU)
		return 0;
	s->kept[s->n++ % STOP_SIGNALS_MAX] = (struct stop_signal){
		.at_ns = ev->at_ns,
		.pid = (uint32_t)ev->v[F_signal_pid],
		.tid = (uint32_t)ev->v[F_signal_tid],
		.sender_tid = (uint32_t)ev->v[F_signal_sender_tid],
		.number = (uint8_t)number,
		.by_kernel = !signal_is_sent(ev),
	};
	if (number == SIGNAL_CONT)
		let_go(s, ev);
	if (number == SIGNAL_STOP && !signal_is_sent(ev) && sender_pid == ev->v[F_signal_pid])
		return hold(s, ev, why);
	return 0;
}

const struct stop_signal *stop_signals_find(const struct stop_signals *s, uint64_t pid, uint32_t tid, uint64_t at_ns)
{
	uint64_t oldest = s->n > STOP_SIGNALS_MAX ? s->n - STOP_SIGNALS_MAX : 0;

	for (uint64_t i = s->n; i > oldest; i--) {
		const struct stop_signal *one = &s->kept[(i - 1) % STOP_SIGNALS_MAX];

		if (one->at_ns > at_ns || one->pid != pid || (one->tid && one->tid != tid))
			continue;
		return one->number == SIGNAL_CONT ? NULL : one;
	}
	return NULL;
}
