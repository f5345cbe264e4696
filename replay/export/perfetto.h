/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of Perfetto's trace format that is written here: field numbers and values from
 * github.com/google/perfetto, protos/perfetto/trace. tests/schemas/perfetto.proto has the same for the way back.
 */
#ifndef GPUREC_REPLAY_EXPORT_PERFETTO_H
#define GPUREC_REPLAY_EXPORT_PERFETTO_H

#include "replay/out.h"
#include "replay/export/proto.h"

enum {
	TRACE_PACKET = 1, /* trace.proto */
	/* trace_packet.proto */
	PACKET_FTRACE_EVENTS = 1,
	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE_ID = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED_DATA = 12,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_TRACK_DESCRIPTOR = 60,
	SEQUENCE_CLEARED = 1,
	SEQUENCE_NEEDS_STATE = 2,
	/* interned_data.proto; all three: iid 1, name 2 */
	INTERNED_CATEGORIES = 1,
	INTERNED_EVENT_NAMES = 2,
	INTERNED_ANNOTATION_NAMES = 3,
	/* clock_snapshot.proto */
	SNAPSHOT_CLOCKS = 1,
	SNAPSHOT_PRIMARY = 2,
	CLOCK_ID = 1,
	CLOCK_TIMESTAMP = 2,
	CLOCK_REALTIME = 1,
	CLOCK_MONOTONIC = 3,
	CLOCK_BOOTTIME = 6,
	/* track_descriptor.proto, process_, thread_ and counter_descriptor.proto */
	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_THREAD = 4,
	TRACK_PARENT = 5,
	TRACK_COUNTER = 8,
	PROCESS_PID = 1,
	PROCESS_NAME = 6,
	PROCESS_START = 7,
	THREAD_PID = 1,
	THREAD_TID = 2,
	THREAD_NAME = 5,
	COUNTER_UNIT = 3,
	UNIT_OF_TIME = 1,
	UNIT_OF_COUNT = 2,
	UNIT_OF_BYTES = 3,
	/* track_event.proto */
	EVENT_CATEGORY_IID = 3,
	EVENT_ANNOTATION = 4,
	EVENT_TYPE = 9,
	EVENT_NAME_IID = 10,
	EVENT_TRACK = 11,
	EVENT_CATEGORY = 22,
	EVENT_NAME = 23,
	EVENT_COUNTER_VALUE = 30,
	EVENT_FLOW = 47,
	EVENT_FLOW_ENDS = 48,
	TYPE_BEGIN = 1,
	TYPE_END = 2,
	TYPE_INSTANT = 3,
	TYPE_COUNTER = 4,
	/* debug_annotation.proto */
	ANNOTATION_NAME_IID = 1,
	ANNOTATION_UINT = 3,
	ANNOTATION_INT = 4,
	ANNOTATION_STRING = 6,
	ANNOTATION_POINTER = 7,
	ANNOTATION_NAME = 10,
	/* ftrace_event_bundle.proto, ftrace_event.proto, sched.proto */
	BUNDLE_CPU = 1,
	BUNDLE_EVENT = 2,
	FTRACE_TIMESTAMP = 1,
	FTRACE_PID = 2,
	FTRACE_SCHED_SWITCH = 4,
	FTRACE_SCHED_WAKING = 20,
	SWITCH_PREV_COMM = 1,
	SWITCH_PREV_PID = 2,
	SWITCH_PREV_PRIO = 3,
	SWITCH_PREV_STATE = 4,
	SWITCH_NEXT_COMM = 5,
	SWITCH_NEXT_PID = 6,
	SWITCH_NEXT_PRIO = 7,
	WAKING_COMM = 1,
	WAKING_PID = 2,
	WAKING_TARGET_CPU = 5,
};

/* A trace in the making: one packet at a time is put together in memory, then written. */
struct trace {
	struct out *out;
	struct bytes packet; /* bytes_free() in the end */
	size_t begun;
};

/*
 * What returns an int gives 0; WALK_ENOUGH when writing on has no use; ERR_MEMORY. Times are the boot clock's, texts
 * are fit to be shown. A `track` is the uuid of one that trace_track() or a descriptor reported.
 */

/* A packet up to its content, with these SEQUENCE_ flags; and its end. */
void trace_packet(struct trace *t, uint32_t flags);
int trace_packet_end(struct trace *t, struct fault *why);

/* A track event of a TYPE_ up to what belongs to its kind; and its end, which takes what the beginning returned. */
size_t trace_event(struct trace *t, uint64_t at_ns, unsigned type, uint64_t track);
int trace_event_end(struct trace *t, size_t event, struct fault *why);

/* The same with a category and a name of its own, for what is no event of the capture. */
size_t trace_mark(struct trace *t, uint64_t at_ns, unsigned type, uint64_t track, const char *category,
		  const char *name);

/* Such a mark over a time, whole; an instant where nothing lies between. */
int trace_span(struct trace *t, uint64_t track, uint64_t begin_ns, uint64_t end_ns, const char *category,
	       const char *name, struct fault *why);

int trace_slice_end(struct trace *t, uint64_t at_ns, uint64_t track, struct fault *why);
int trace_counter(struct trace *t, uint64_t at_ns, uint64_t track, uint64_t value, struct fault *why);

/* A track with no more than a name; `unit`: UNIT_OF_... if it is a counter's, else 0; `parent`: 0 for none. */
int trace_track(struct trace *t, uint64_t uuid, uint64_t parent, const char *name, unsigned unit, struct fault *why);

#endif
