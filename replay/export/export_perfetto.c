/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace for Perfetto: a track for each process and thread, calls as slices, the scheduler's states as ftrace events,
 * flows from who wakes to who is woken, counters of memory held and of the recorder's health, losses and withheld
 * content as marks. Every event of the capture is one ftrace event, or one track event with its kind as category.
 */
#include <stdio.h>
#include <stdlib.h>

#include "format/base/escape.h"
#include "replay/export/export.h"
#include "replay/model/allocations.h"
#include "replay/export/perfetto.h"
#include "replay/export/perfetto_tracks.h"

enum { HEALTH_CPU, HEALTH_RSS, HEALTH_RING, HEALTH_WRITTEN, NHEALTH };

struct perfetto {
	struct trace trace;
	const struct schema *schema;
	struct allocations allocations;
	const struct walk *walk; /* whose event is written */
	struct tracks tracks;
	uint64_t nflows;
	uint64_t anchored_ns; /* boot clock of the last snapshot */
};

/* What a kernel would say of a thread; 0 is the idle thread of a CPU. */
static const char *comm(const struct walk *w, uint32_t tid)
{
	return tid ? export_thread_name(w, tid) : "swapper";
}

/* --- events --- */

/* What is on a mark in the timeline in place of the kind: as export_note(), or "frame: a::b()+0x1b". */
static bool title_of(const struct walk *w, const struct event *ev, char *buf, size_t size)
{
	uint8_t field = ev->kind == KIND_frame ? F_frame_symbol : F_kernel_name;
	char name[NAME_SHOWN_MAX], shown[SENTENCE_MAX];

	if (!name_is_mangled(ev->kind, field) || ev->v[field] == 0)
		return export_note(w, ev, buf, size);
	escape_terminal(shown, sizeof(shown) - 16, name, name_shown(name, ev, field));
	return snprintf(buf, size, "%s: %s", ev->shape->name, shown) > 0;
}

static void annotate(struct perfetto *p, const struct event *ev, uint8_t f)
{
	const struct field *field = &ev->shape->fields[f];
	size_t a = proto_begin(&p->trace.packet, EVENT_ANNOTATION);

	proto_u64(&p->trace.packet, ANNOTATION_NAME_IID, (uint64_t)(ev->shape - p->schema->kinds) * FIELDS_MAX + f + 1);
	if (field->encoding == ENC_TEXT) {
		struct out *o =
			p->trace.out; /* its buffer serves to escape the text, and holds nothing of it afterwards */
		char *text = out_reserve(o, OUT_ROOM / 2);
		size_t n = escape_terminal(text, OUT_ROOM / 2, ev->text[f], (size_t)ev->v[f]);

		proto_bytes(&p->trace.packet, ANNOTATION_STRING, text, n);
	} else if (field_is_signed(field)) {
		proto_s64(&p->trace.packet, ANNOTATION_INT, (int64_t)ev->v[f]);
	} else {
		proto_u64(&p->trace.packet, field->unit == UNIT_ADDRESS ? ANNOTATION_POINTER : ANNOTATION_UINT,
			  ev->v[f]);
	}
	proto_end(&p->trace.packet, a);
}

/* One event of the capture, whole: its kind as category, its fields as annotations. */
static size_t begin_own(struct perfetto *p, const struct walk *w, const struct event *ev, uint64_t at_ns, unsigned type,
			uint64_t track)
{
	const struct kernel_name *kernel = kernels_of(&w->kernels, &w->tasks, ev);
	char note[SENTENCE_MAX];
	size_t event = trace_event(&p->trace, at_ns, type, track), kind = (size_t)(ev->shape - p->schema->kinds);
	const struct probe *probe =
		ev->shape->flags == KIND_CALL ? schema_probe(p->schema, ev->v[F_call_probe]) : NULL;

	proto_u64(&p->trace.packet, EVENT_CATEGORY_IID, kind + 1);
	if (title_of(w, ev, note, sizeof(note)))
		proto_string(&p->trace.packet, EVENT_NAME, note);
	else
		proto_u64(&p->trace.packet, EVENT_NAME_IID,
			  probe ? p->schema->nkinds + (size_t)(probe - p->schema->probes) + 1 : kind + 1);
	for (uint8_t f = 1; f < ev->shape->nfields; f++)
		annotate(p, ev, f);
	if (kernel) {
		size_t a = proto_begin(&p->trace.packet, EVENT_ANNOTATION);

		proto_string(&p->trace.packet, ANNOTATION_NAME, "kernel");
		proto_string(&p->trace.packet, ANNOTATION_STRING, kernel->terminal);
		proto_end(&p->trace.packet, a);
	}
	return event;
}

/* An ftrace event up to its own message, which end_ftrace() finishes. */
static void begin_ftrace(struct perfetto *p, const struct event *ev, uint64_t cpu, uint64_t pid, size_t at[2])
{
	trace_packet(&p->trace, 0);
	at[0] = proto_begin(&p->trace.packet, PACKET_FTRACE_EVENTS);
	proto_u64(&p->trace.packet, BUNDLE_CPU, cpu);
	at[1] = proto_begin(&p->trace.packet, BUNDLE_EVENT);
	proto_u64(&p->trace.packet, FTRACE_TIMESTAMP, ev->at_ns);
	proto_u64(&p->trace.packet, FTRACE_PID, pid);
}

static int end_ftrace(struct perfetto *p, const size_t at[2], struct fault *why)
{
	proto_end(&p->trace.packet, at[1]);
	proto_end(&p->trace.packet, at[0]);
	return trace_packet_end(&p->trace, why);
}

/*
 * The kernel's state bits as Perfetto reads them in a trace that names no kernel version: those of Linux 4.4
 * (src/trace_processor/types/task_state.cc). The fact that reports the version may be withheld.
 */
static uint64_t ftrace_state(uint64_t state)
{
	if (state == 0)
		return 0x800; /* R+: preempted */
	if (state & 0xb0)
		return 0x10; /* X */
	return (state & 0xf) | (state & 0x40 ? 0x200 : 0) | (state & 0x400);
}

static int write_switch(struct perfetto *p, const struct walk *w, const struct event *ev, struct fault *why)
{
	uint32_t prev = (uint32_t)ev->v[F_switch_prev_tid], next = (uint32_t)ev->v[F_switch_next_tid];
	uint32_t number = tasks_thread(&w->tasks, next);
	struct reported *reported = number < p->tracks.nreported ? &p->tracks.reported[number] : NULL;
	size_t at[2], inside, event;
	uint64_t flow;
	int r;

	begin_ftrace(p, ev, ev->v[F_switch_cpu], prev, at);
	inside = proto_begin(&p->trace.packet, FTRACE_SCHED_SWITCH);
	proto_string(&p->trace.packet, SWITCH_PREV_COMM, comm(w, prev));
	proto_s64(&p->trace.packet, SWITCH_PREV_PID, (int32_t)prev);
	proto_u64(&p->trace.packet, SWITCH_PREV_PRIO, 120);
	proto_u64(&p->trace.packet, SWITCH_PREV_STATE, ftrace_state(ev->v[F_switch_prev_state]));
	proto_string(&p->trace.packet, SWITCH_NEXT_COMM, comm(w, next));
	proto_s64(&p->trace.packet, SWITCH_NEXT_PID, (int32_t)next);
	proto_u64(&p->trace.packet, SWITCH_NEXT_PRIO, 120);
	proto_end(&p->trace.packet, inside);
	r = end_ftrace(p, at, why);
	if (r || !number || !reported || !reported->flow)
		return r;
	flow = reported->flow;
	reported->flow = 0;
	event = trace_mark(&p->trace, ev->at_ns, TYPE_INSTANT, UUID(TRACK_THREADS, number), "flow", "runs again");
	proto_fixed64(&p->trace.packet, EVENT_FLOW_ENDS, flow);
	return trace_event_end(&p->trace, event, why);
}

static int write_waking(struct perfetto *p, const struct walk *w, const struct event *ev, struct fault *why)
{
	uint32_t tid = (uint32_t)ev->v[F_waking_tid], waker = (uint32_t)ev->v[F_waking_waker_tid];
	uint32_t number = tasks_thread(&w->tasks, tid);
	size_t at[2], inside, event;
	uint64_t track;
	struct reported *reported;
	int r;

	begin_ftrace(p, ev, ev->v[F_waking_cpu], waker, at);
	inside = proto_begin(&p->trace.packet, FTRACE_SCHED_WAKING);
	proto_string(&p->trace.packet, WAKING_COMM, comm(w, tid));
	proto_s64(&p->trace.packet, WAKING_PID, (int32_t)tid);
	proto_end(&p->trace.packet, inside);
	r = end_ftrace(p, at, why);
	/* An interrupt wakes in nobody's name. */
	if (r || !number || ev->v[F_waking_context] != WAKE_TASK || !waker)
		return r;
	tracks_of_thread(&p->tracks, &p->trace, w, tid, &r, why);
	if (r)
		return r;
	track = tracks_of_thread(&p->tracks, &p->trace, w, waker, &r, why);
	if (r)
		return r;
	reported = tracks_reported(&p->tracks, number, why);
	if (!reported)
		return why->code;
	reported->flow = ++p->nflows;
	event = trace_mark(&p->trace, ev->at_ns, TYPE_INSTANT, track, "flow", "wakes");
	proto_fixed64(&p->trace.packet, EVENT_FLOW, reported->flow);
	return trace_event_end(&p->trace, event, why);
}

/* What a process holds, as counters. */
static int write_memory(void *self, uint32_t process, uint64_t at_ns, struct fault *why)
{
	struct perfetto *p = self;
	int r = 0;

	for (unsigned kind = 0; !r && process && kind < MEMORY_KINDS; kind++) {
		uint64_t uuid = UUID(TRACK_MEMORY, (uint64_t)process * MEMORY_KINDS + kind);
		uint64_t held = allocations_held(&p->allocations, process, kind);
		struct reported *reported = tracks_reported(&p->tracks, process, why);
		char name[64];

		if (!reported)
			return why->code;
		if (!held && !reported->memory[kind])
			continue;
		if (!reported->memory[kind]) {
			reported->memory[kind] = true;
			snprintf(name, sizeof(name), "%s memory held", memory_word(kind));
			r = tracks_process(&p->tracks, &p->trace, p->walk, process, false, why);
			if (!r)
				r = trace_track(&p->trace, uuid, UUID(TRACK_PROCESSES, process), name, UNIT_OF_BYTES,
						why);
		}
		if (!r)
			r = trace_counter(&p->trace, at_ns, uuid, held, why);
	}
	return r;
}

/* Figures of GPUs and CPUs as counters. */
static int write_gauges(struct perfetto *p, const struct event *ev, struct fault *why)
{
	size_t n;
	const struct gauge *all = gauges(&n);
	uint64_t track;
	int r = 0;

	for (size_t i = 0; !r && i < n; i++) {
		if (!gauge_reported(&all[i], ev))
			continue;
		track = tracks_of_gauge(&p->tracks, &p->trace, i, ev->v[all[i].id], &r, why);
		if (!r)
			r = trace_counter(&p->trace, ev->at_ns, track, ev->v[all[i].field], why);
	}
	return r;
}

static int on_event(void *self, struct walk *w, const struct event *ev, struct fault *why)
{
	struct perfetto *p = self;
	uint8_t tid_field = export_tid_field(ev->shape);
	uint64_t track = UUID(TRACK_CAPTURE, 0);
	int r = 0;

	p->walk = w;
	if (ev->kind == KIND_switch)
		return write_switch(p, w, ev, why);
	if (ev->kind == KIND_waking)
		return write_waking(p, w, ev, why);
	if (tid_field)
		track = tracks_of_thread(&p->tracks, &p->trace, w, (uint32_t)ev->v[tid_field], &r, why);
	if (r)
		return r;
	if (export_has_duration(ev)) {
		r = trace_event_end(&p->trace, begin_own(p, w, ev, call_begin_ns(ev), TYPE_BEGIN, track), why);
		if (!r)
			r = trace_slice_end(&p->trace, ev->at_ns, track, why);
	} else {
		r = trace_event_end(&p->trace, begin_own(p, w, ev, ev->at_ns, TYPE_INSTANT, track), why);
	}
	if (!r)
		r = write_gauges(p, ev, why);
	return r ? r : allocations_feed_event(&p->allocations, &w->tasks, ev, w->nevents, why);
}

/* --- what is no event --- */

static int on_epoch(void *self, struct walk *w, const struct epoch *e, struct fault *why)
{
	const uint64_t clocks[][2] = {{CLOCK_BOOTTIME, e->anchor.boot_ns},
				      {CLOCK_REALTIME, e->anchor.wall_ns},
				      {CLOCK_MONOTONIC, e->anchor.mono_ns}};
	const uint64_t health[NHEALTH] = {[HEALTH_CPU] = e->self.cpu_ns,
					  [HEALTH_RSS] = e->self.rss_bytes,
					  [HEALTH_RING] = e->self.ring_high_bytes,
					  [HEALTH_WRITTEN] = e->self.written_bytes};
	struct perfetto *p = self;
	size_t snapshot, clock;
	int r = 0;

	if (e->end_ns < w->replay->filter->from_ns || e->begin_ns >= w->replay->filter->to_ns)
		return 0;
	if (e->anchor.boot_ns > p->anchored_ns) {
		trace_packet(&p->trace, 0);
		proto_u64(&p->trace.packet, PACKET_TIMESTAMP, e->anchor.boot_ns);
		snapshot = proto_begin(&p->trace.packet, PACKET_CLOCK_SNAPSHOT);
		for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++) {
			clock = proto_begin(&p->trace.packet, SNAPSHOT_CLOCKS);
			proto_u64(&p->trace.packet, CLOCK_ID, clocks[i][0]);
			proto_u64(&p->trace.packet, CLOCK_TIMESTAMP, clocks[i][1]);
			proto_end(&p->trace.packet, clock);
		}
		proto_u64(&p->trace.packet, SNAPSHOT_PRIMARY, CLOCK_BOOTTIME);
		proto_end(&p->trace.packet, snapshot);
		r = trace_packet_end(&p->trace, why);
		p->anchored_ns = e->anchor.boot_ns;
	}
	for (unsigned i = 0; !r && i < NHEALTH; i++)
		r = trace_counter(&p->trace, e->end_ns, UUID(TRACK_HEALTH, i), health[i], why);
	return r;
}

static int on_growth(void *self, struct walk *w, const struct growth *g, struct fault *why)
{
	char name[SENTENCE_MAX];

	if (!export_loss(w, g, name, sizeof(name)))
		return 0;
	return trace_span(&((struct perfetto *)self)->trace, UUID(TRACK_LOSSES, 0), g->begin_ns, g->end_ns,
			  export_absence(w, g)->head, name, why);
}

static int on_withheld(void *self, struct walk *w, const struct epoch *e, const struct chunk *c, struct fault *why)
{
	char name[SENTENCE_MAX];
	int r;

	(void)e;
	if (!export_withheld(w, c, name, sizeof(name)))
		return 0;
	r = trace_track(&((struct perfetto *)self)->trace, UUID(TRACK_WITHHELD, c->class), UUID(TRACK_CAPTURE, 0),
			"withheld", 0, why);
	return r ? r
		 : trace_span(&((struct perfetto *)self)->trace, UUID(TRACK_WITHHELD, c->class), c->first_ns,
			      c->last_ns, "withheld", name, why);
}

/* Names that came after a track was described are reported now. */
static int on_end(void *self, struct walk *w, const struct fault *stopped, struct fault *why)
{
	const char *cut = export_cut(w, stopped);
	struct perfetto *p = self;
	uint64_t end_ns = export_end_ns(w);
	int r;

	p->walk = w;
	r = allocations_finish(&p->allocations, &w->tasks, why);
	if (!r && cut)
		r = trace_span(&p->trace, UUID(TRACK_CAPTURE, 0), end_ns, end_ns, "capture", cut, why);
	for (uint32_t n = 1; !r && n <= w->tasks.nprocesses && n < p->tracks.nreported; n++)
		if (p->tracks.reported[n].process)
			r = tracks_process(&p->tracks, &p->trace, w, n, true, why);
	for (uint32_t n = 1; !r && n <= w->tasks.nthreads && n < p->tracks.nreported; n++)
		if (p->tracks.reported[n].thread)
			r = tracks_thread(&p->tracks, &p->trace, w, n, true, why);
	return r == WALK_ENOUGH ? 0 : r;
}

static void intern(struct perfetto *p, uint32_t list, uint64_t iid, const char *name)
{
	size_t at = proto_begin(&p->trace.packet, list);

	proto_u64(&p->trace.packet, 1, iid);
	proto_string(&p->trace.packet, 2, name);
	proto_end(&p->trace.packet, at);
}

/* The names of kinds, functions and fields, once; what the capture is, where nobody can miss it. */
static int write_head(struct perfetto *p, const struct replay *replay, struct fault *why)
{
	static const struct {
		const char *name;
		unsigned unit;
	} health[NHEALTH] = {[HEALTH_CPU] = {"recorder: CPU time", UNIT_OF_TIME},
			     [HEALTH_RSS] = {"recorder: resident memory", UNIT_OF_BYTES},
			     [HEALTH_RING] = {"recorder: fullest its rings have been", UNIT_OF_BYTES},
			     [HEALTH_WRITTEN] = {"recorder: written", UNIT_OF_BYTES}};
	const struct schema *s = p->schema;
	char sentence[SENTENCE_MAX], name[SENTENCE_MAX + 16];
	size_t interned;
	int r;

	trace_packet(&p->trace, SEQUENCE_CLEARED);
	interned = proto_begin(&p->trace.packet, PACKET_INTERNED_DATA);
	for (size_t k = 0; k < s->nkinds; k++) {
		intern(p, INTERNED_CATEGORIES, k + 1, s->kinds[k].name);
		intern(p, INTERNED_EVENT_NAMES, k + 1, s->kinds[k].name);
		for (uint8_t f = 1; f < s->kinds[k].nfields; f++)
			intern(p, INTERNED_ANNOTATION_NAMES, (uint64_t)k * FIELDS_MAX + f + 1,
			       s->kinds[k].fields[f].name);
	}
	for (size_t i = 0; i < s->nprobes; i++)
		intern(p, INTERNED_EVENT_NAMES, s->nkinds + i + 1, s->probes[i].name);
	proto_end(&p->trace.packet, interned);
	r = trace_packet_end(&p->trace, why);
	if (!r)
		r = trace_track(&p->trace, UUID(TRACK_CAPTURE, 0), 0, "capture", 0, why);
	if (!r)
		r = trace_track(&p->trace, UUID(TRACK_LOSSES, 0), UUID(TRACK_CAPTURE, 0), "losses", 0, why);
	for (unsigned i = 0; !r && i < NHEALTH; i++)
		r = trace_track(&p->trace, UUID(TRACK_HEALTH, i), UUID(TRACK_CAPTURE, 0), health[i].name,
				health[i].unit, why);
	export_sentence(replay, sentence, sizeof(sentence));
	snprintf(name, sizeof(name), "capture: %s", sentence);
	return r ? r
		 : trace_event_end(&p->trace,
				   trace_mark(&p->trace, replay->evidence->reader.header.start_boot_ns, TYPE_INSTANT,
					      UUID(TRACK_CAPTURE, 0), "capture", name),
				   why);
}

static int write_perfetto(const struct replay *replay, struct out *o, struct fault *why)
{
	static const struct visitor visitor = {
		.epoch = on_epoch, .growth = on_growth, .withheld = on_withheld, .event = on_event, .end = on_end};
	static const struct alloc_watch watch = {.changed = write_memory};
	const struct schema *schema = &replay->evidence->reader.header.schema;
	struct perfetto p = {.trace = {.out = o}, .schema = schema, .allocations = {.schema = schema, .watch = &watch}};
	int r = write_head(&p, replay, why);

	p.allocations.self = &p;
	r = r == WALK_ENOUGH ? 0 : r;
	if (!r)
		r = walk(replay, &visitor, &p, why);
	bytes_free(&p.trace.packet);
	allocations_clear(&p.allocations);
	tracks_clear(&p.tracks);
	return r;
}

int perfetto_write_file(const struct replay *replay, int fd, struct fault *why)
{
	return export_file(replay, fd, write_perfetto, why);
}
