/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/export/perfetto_tracks.h"
#include "format/base/array.h"

#include <stdio.h>
#include <stdlib.h>

void tracks_clear(struct tracks *t)
{
	free(t->reported);
	map_clear(&t->gauges);
	*t = (struct tracks){0};
}

struct reported *tracks_reported(struct tracks *t, uint32_t number, struct fault *why)
{
	struct reported *reported = array_at(&t->reported, &t->nreported, number, sizeof(*reported));

	if (!reported)
		fault_no_memory(why);
	return reported;
}

int tracks_process(struct tracks *t, struct trace *trace, const struct walk *w, uint32_t number, bool again,
		   struct fault *why)
{
	const struct process *process = &w->tasks.processes[number];
	struct reported *reported = tracks_reported(t, number, why);
	size_t track, inside;

	if (!reported || (reported->process && !again))
		return reported ? 0 : why->code;
	reported->process = true;
	trace_packet(trace, 0);
	track = proto_begin(&trace->packet, PACKET_TRACK_DESCRIPTOR);
	proto_u64(&trace->packet, TRACK_UUID, UUID(TRACK_PROCESSES, number));
	inside = proto_begin(&trace->packet, TRACK_PROCESS);
	proto_s64(&trace->packet, PROCESS_PID, (int32_t)process->pid);
	if (process->shown)
		proto_string(&trace->packet, PROCESS_NAME, process->shown);
	if (process->start_ns != NO_TIME && process->start_ns <= INT64_MAX)
		proto_u64(&trace->packet, PROCESS_START, process->start_ns);
	proto_end(&trace->packet, inside);
	proto_end(&trace->packet, track);
	return trace_packet_end(trace, why);
}

int tracks_thread(struct tracks *t, struct trace *trace, const struct walk *w, uint32_t number, bool again,
		  struct fault *why)
{
	const struct thread *thread = &w->tasks.threads[number];
	struct reported *reported = tracks_reported(t, number, why);
	size_t track, inside;
	int r = 0;

	if (!reported || (reported->thread && !again))
		return reported ? 0 : why->code;
	/* A thread of no known process gets a name only: a pid of 0 would make it one of the idle threads. */
	if (!reported->thread)
		reported->as_thread = thread->process != 0;
	reported->thread = true;
	if (reported->as_thread)
		r = tracks_process(t, trace, w, thread->process, false, why);
	if (r)
		return r;
	trace_packet(trace, 0);
	track = proto_begin(&trace->packet, PACKET_TRACK_DESCRIPTOR);
	proto_u64(&trace->packet, TRACK_UUID, UUID(TRACK_THREADS, number));
	if (t->reported[number].as_thread) {
		inside = proto_begin(&trace->packet, TRACK_THREAD);
		proto_s64(&trace->packet, THREAD_PID, (int32_t)w->tasks.processes[thread->process].pid);
		proto_s64(&trace->packet, THREAD_TID, (int32_t)thread->tid);
		if (thread->shown)
			proto_string(&trace->packet, THREAD_NAME, thread->shown);
		proto_end(&trace->packet, inside);
	} else {
		proto_string(&trace->packet, TRACK_NAME,
			     thread->shown ? thread->shown : "thread of an unknown process");
	}
	proto_end(&trace->packet, track);
	return trace_packet_end(trace, why);
}

uint64_t tracks_of_thread(struct tracks *t, struct trace *trace, const struct walk *w, uint32_t tid, int *r,
			  struct fault *why)
{
	uint32_t number = tasks_thread(&w->tasks, tid);

	*r = number ? tracks_thread(t, trace, w, number, false, why) : 0;
	return number ? UUID(TRACK_THREADS, number) : UUID(TRACK_CAPTURE, 0);
}

uint64_t tracks_of_gauge(struct tracks *t, struct trace *trace, size_t gauge, uint64_t id, int *r, struct fault *why)
{
	uint64_t uuid = UUID(TRACK_GAUGES, id * GAUGES_MAX + gauge);
	size_t n;
	const struct gauge *g = &gauges(&n)[gauge];
	char name[96];

	*r = 0;
	if (map_get(&t->gauges, gauge, id))
		return uuid;
	if (map_put(&t->gauges, gauge, id, 1)) {
		*r = fault_no_memory(why);
		return uuid;
	}
	snprintf(name, sizeof(name), "%s %u: %s", g->device, (unsigned)id, g->name);
	*r = trace_track(trace, uuid, 0, name,
			 g->unit == GAUGE_BYTES ? UNIT_OF_BYTES
			 : g->unit == GAUGE_NS  ? UNIT_OF_TIME
						: UNIT_OF_COUNT,
			 why);
	return uuid;
}
