/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/export/otlp.h"
#include "format/base/array.h"

#include <stdlib.h>

static const char bounds[] = "[0.000001,0.00001,0.0001,0.001,0.01,0.1,1]"; /* seconds */

struct batch *otlp_batch_of(struct otlp *t, uint32_t number, struct fault *why)
{
	struct batch *batch = array_at(&t->batches, &t->nbatches, number, sizeof(*batch));

	if (!batch)
		fault_no_memory(why);
	return batch;
}

void otlp_write_memory(struct otlp *t, const struct walk *w, uint64_t at_ns)
{
	for (uint32_t n = 0; n < t->nbatches && n <= w->tasks.nprocesses; n++) {
		for (unsigned kind = 0; kind < MEMORY_KINDS; kind++) {
			uint64_t held = allocations_held(&t->allocations, n, kind);

			if (held == t->batches[n].reported[kind])
				continue;
			t->batches[n].reported[kind] = held;
			otlp_begin_metric(t, w, n, "gpurec.memory.held", "By", "sum");
			otlp_begin_point(t, w, at_ns, "gpurec.memory", memory_word(kind));
			otlp_end_point(t, held);
			otlp_end_metric(t, OTLP_UP_AND_DOWN);
		}
	}
}

int otlp_count_call(struct otlp *t, const struct event *ev, uint32_t process, struct fault *why)
{
	uint64_t dur_ns = ev->v[F_call_dur], bound_ns = 1000;
	uint32_t n = map_get(&t->by_call, process, ev->v[F_call_probe]);
	unsigned bucket = 0;

	if (!n) {
		struct calls *new = array_at(&t->calls, &t->calls_room, (size_t)t->ncalls + 1, sizeof(*new));

		n = t->ncalls + 1;
		if (!new || map_put(&t->by_call, process, ev->v[F_call_probe], n))
			return fault_no_memory(why);
		t->ncalls = n;
		*new = (struct calls){.process = process, .probe = ev->v[F_call_probe]};
	}
	while (bucket < NBOUNDS && dur_ns > bound_ns) {
		bucket++;
		bound_ns *= 10;
	}
	t->calls[n].n++;
	t->calls[n].nfailed += ev->v[F_call_ret] != 0;
	t->calls[n].sum_ns += dur_ns;
	t->calls[n].buckets[bucket]++;
	return 0;
}

int otlp_count_switch(struct otlp *t, const struct walk *w, const struct event *ev, struct fault *why)
{
	const struct thread *thread = tasks_find_thread(&w->tasks, (uint32_t)ev->v[F_switch_prev_tid]);
	struct batch *b = thread && thread->process ? otlp_batch_of(t, thread->process, why) : NULL;

	if (thread && thread->process && !b)
		return why->code;
	if (b && ev->v[F_switch_prev_state] == 0)
		b->involuntary++;
	else if (b)
		b->voluntary++;
	return 0;
}

void otlp_write_calls(struct otlp *t, const struct walk *w, const struct calls *c, uint64_t end_ns)
{
	const struct probe *probe = schema_probe(t->schema, c->probe);
	struct out *o = t->out;

	otlp_begin_metric(t, w, c->process, "gpurec.call.duration", "s", "histogram");
	otlp_begin_point(t, w, end_ns, "code.function.name", probe ? probe->name : "?");
	out_string(o, ",\"count\":\"");
	out_u64(o, c->n);
	out_string(o, "\",\"sum\":");
	out_seconds(o, c->sum_ns);
	out_string(o, ",\"bucketCounts\":[");
	for (unsigned i = 0; i <= NBOUNDS; i++) {
		out_string(o, i ? ",\"" : "\"");
		out_u64(o, c->buckets[i]);
		out_char(o, '"');
	}
	out_string(o, "],\"explicitBounds\":");
	out_string(o, bounds);
	out_char(o, '}');
	otlp_end_metric(t, ",\"aggregationTemporality\":2");
	if (!c->nfailed)
		return;
	otlp_begin_metric(t, w, c->process, "gpurec.call.errors", "{call}", "sum");
	otlp_begin_point(t, w, end_ns, "code.function.name", probe ? probe->name : "?");
	otlp_end_point(t, c->nfailed);
	otlp_end_metric(t, OTLP_CUMULATIVE);
}
