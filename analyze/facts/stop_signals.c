// SPDX-License-Identifier: Apache-2.0
#include "analyze/facts/stop_signals.h"

bool signal_is_sent(const struct event *ev)
{
	int64_t code = (int64_t)ev->v[F_signal_code];

	return code == SIGNAL_BY_KILL || code == SIGNAL_BY_QUEUE || code == SIGNAL_BY_TKILL;
}

void stop_signals_feed(struct stop_signals *s, const struct event *ev)
{
	uint64_t number = ev->v[F_signal_signal];

	if (number < SIGNAL_CONT || number > SIGNAL_TTOU)
		return;
	s->kept[s->n++ % STOP_SIGNALS_MAX] = (struct stop_signal){
		.at_ns = ev->at_ns,
		.pid = (uint32_t)ev->v[F_signal_pid],
		.tid = (uint32_t)ev->v[F_signal_tid],
		.sender_tid = (uint32_t)ev->v[F_signal_sender_tid],
		.number = (uint8_t)number,
		.by_kernel = !signal_is_sent(ev),
	};
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
