/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/export/perfetto.h"

#include "replay/model/walk.h"

void trace_packet(struct trace *t, uint32_t flags)
{
	t->packet.len = 0;
	t->begun = proto_begin(&t->packet, TRACE_PACKET);
	proto_u64(&t->packet, PACKET_SEQUENCE_ID, 1);
	proto_u64(&t->packet, PACKET_SEQUENCE_FLAGS, flags);
}

int trace_packet_end(struct trace *t, struct fault *why)
{
	proto_end(&t->packet, t->begun);
	if (t->packet.failed)
		return fault_no_memory(why);
	for (size_t done = 0, n; done < t->packet.len; done += n) {
		n = t->packet.len - done < OUT_ROOM ? t->packet.len - done : OUT_ROOM;
		out_bytes(t->out, (const char *)t->packet.data + done, n);
	}
	return out_stopped(t->out) ? WALK_ENOUGH : 0;
}

size_t trace_event(struct trace *t, uint64_t at_ns, unsigned type, uint64_t track)
{
	size_t event;

	trace_packet(t, SEQUENCE_NEEDS_STATE);
	proto_u64(&t->packet, PACKET_TIMESTAMP, at_ns);
	event = proto_begin(&t->packet, PACKET_TRACK_EVENT);
	proto_u64(&t->packet, EVENT_TYPE, type);
	proto_u64(&t->packet, EVENT_TRACK, track);
	return event;
}

int trace_event_end(struct trace *t, size_t event, struct fault *why)
{
	proto_end(&t->packet, event);
	return trace_packet_end(t, why);
}

int trace_slice_end(struct trace *t, uint64_t at_ns, uint64_t track, struct fault *why)
{
	return trace_event_end(t, trace_event(t, at_ns, TYPE_END, track), why);
}

size_t trace_mark(struct trace *t, uint64_t at_ns, unsigned type, uint64_t track, const char *category,
		  const char *name)
{
	size_t event = trace_event(t, at_ns, type, track);

	proto_string(&t->packet, EVENT_CATEGORY, category);
	proto_string(&t->packet, EVENT_NAME, name);
	return event;
}

int trace_counter(struct trace *t, uint64_t at_ns, uint64_t track, uint64_t value, struct fault *why)
{
	size_t event = trace_event(t, at_ns, TYPE_COUNTER, track);

	proto_s64(&t->packet, EVENT_COUNTER_VALUE, value > INT64_MAX ? INT64_MAX : (int64_t)value);
	return trace_event_end(t, event, why);
}

int trace_track(struct trace *t, uint64_t uuid, uint64_t parent, const char *name, unsigned unit, struct fault *why)
{
	size_t track, counter;

	trace_packet(t, 0);
	track = proto_begin(&t->packet, PACKET_TRACK_DESCRIPTOR);
	proto_u64(&t->packet, TRACK_UUID, uuid);
	proto_string(&t->packet, TRACK_NAME, name);
	if (parent)
		proto_u64(&t->packet, TRACK_PARENT, parent);
	if (unit) {
		counter = proto_begin(&t->packet, TRACK_COUNTER);
		proto_u64(&t->packet, COUNTER_UNIT, unit);
		proto_end(&t->packet, counter);
	}
	proto_end(&t->packet, track);
	return trace_packet_end(t, why);
}

int trace_span(struct trace *t, uint64_t track, uint64_t begin_ns, uint64_t end_ns, const char *category,
	       const char *name, struct fault *why)
{
	bool instant = begin_ns == end_ns;
	int r = trace_event_end(t, trace_mark(t, begin_ns, instant ? TYPE_INSTANT : TYPE_BEGIN, track, category, name),
				why);

	return r || instant ? r : trace_slice_end(t, end_ns, track, why);
}
