/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON of chrome://tracing ("Trace Event Format"), which Perfetto reads, too. Every event of the capture is one
 * object with its kind as category and its fields as arguments; what is no event has the category of a mark.
 */
#include <stdio.h>
#include <stdlib.h>

#include "replay/export/export.h"
#include "replay/model/gauge_fields.h"
#include "replay/export/export_jsonl.h"
#include "replay/model/allocations.h"

/* Pids that no process can have, for the kernel gives at most 4194304. 0 collects threads of no known process. */
#define CAPTURE_PID 4194305
#define HOST_PID 4194306 /* its threads are CPUs */
/*
 * Slices of one track must not overlap but nest: what is lost has the time of an epoch, what is withheld that of its
 * rows, so each sort has a track of its own.
 */
enum { TRACK_CAPTURE, TRACK_LOST, TRACK_INCOMPLETE, TRACK_WITHHELD /* and on, by class */ };

#define CPUS_MAX 4096 /* whose running threads are drawn; a switch on another one is an instant */

struct chrome {
	struct out *out;
	const struct schema *schema;
	struct jsonl_plan *plan;
	struct allocations allocations;
	const struct walk *walk;        /* whose event is written */
	bool some;                      /* an object was written: the next one needs a comma */
	bool strangers;                 /* one was of pid 0 */
	uint64_t switched_ns[CPUS_MAX]; /* last switch on a CPU; 0: none */
	uint64_t *flows;                /* that end when a thread runs again, by its number; 0: none */
	uint32_t nflows;
	uint64_t next_flow;
};

static void write_us(struct out *o, uint64_t ns)
{
	out_u64(o, ns / 1000);
	out_char(o, '.');
	out_digits(o, ns % 1000, 3);
}

/* {"name":...,"cat":...,"ph":...,"ts":...,"pid":...,"tid":... */
static void begin_object(struct chrome *c, const char *name, const char *category, char phase, uint64_t at_ns,
			 uint64_t pid, uint64_t tid)
{
	struct out *o = c->out;

	out_string(o, c->some ? ",\n{\"name\":" : "{\"name\":");
	c->some = true;
	c->strangers |= pid == 0;
	out_json(o, name, strlen(name));
	out_string(o, ",\"cat\":");
	out_json(o, category, strlen(category));
	out_string(o, ",\"ph\":\"");
	out_char(o, phase);
	out_string(o, "\",\"ts\":");
	write_us(o, at_ns);
	out_string(o, ",\"pid\":");
	out_u64(o, pid);
	out_string(o, ",\"tid\":");
	out_u64(o, tid);
}

static void write_duration(struct chrome *c, uint64_t ns)
{
	out_string(c->out, ",\"dur\":");
	write_us(c->out, ns);
}

/* All fields of an event, and the end of its object. */
static int end_event(struct chrome *c, const struct walk *w, const struct event *ev)
{
	const struct kernel_name *kernel = kernels_of(&w->kernels, &w->tasks, ev);

	out_string(c->out, ",\"args\":{\"at\":");
	out_u64(c->out, ev->at_ns);
	jsonl_members(c->out, c->plan, ev);
	if (kernel) {
		out_string(c->out, ",\"kernel\":\"");
		out_string(c->out, kernel->json);
		out_char(c->out, '"');
	}
	out_string(c->out, "}}");
	return out_stopped(c->out) ? WALK_ENOUGH : 0;
}

/* A mark that is no event of the capture. */
static void write_mark(struct chrome *c, unsigned track, uint64_t begin_ns, uint64_t end_ns, const char *category,
		       const char *name)
{
	begin_object(c, name, category, begin_ns == end_ns ? 'i' : 'X', begin_ns, CAPTURE_PID, track);
	if (begin_ns == end_ns)
		out_string(c->out, ",\"s\":\"g\"");
	else
		write_duration(c, end_ns - begin_ns);
	out_string(c->out, ",\"args\":{}}");
}

/* The process of a thread as far as it is known, or 0. */
static uint32_t pid_of(const struct walk *w, uint32_t tid)
{
	const struct thread *t = tasks_find_thread(&w->tasks, tid);

	return t && t->process ? w->tasks.processes[t->process].pid : 0;
}

static void write_flow(struct chrome *c, const struct walk *w, char phase, uint64_t at_ns, uint32_t tid, uint64_t flow)
{
	begin_object(c, "wakes", "flow", phase, at_ns, pid_of(w, tid), tid);
	out_string(c->out, phase == 'f' ? ",\"bp\":\"e\",\"id\":" : ",\"id\":");
	out_u64(c->out, flow);
	out_char(c->out, '}');
}

/* The time that the leaving thread had the CPU, on a track of that CPU. */
static int write_switch(struct chrome *c, const struct walk *w, const struct event *ev)
{
	uint64_t cpu = ev->v[F_switch_cpu], *last = cpu < CPUS_MAX ? &c->switched_ns[cpu] : NULL;
	uint32_t next = (uint32_t)ev->v[F_switch_next_tid], number = tasks_thread(&w->tasks, next);
	const char *name = export_thread_name(w, (uint32_t)ev->v[F_switch_prev_tid]);

	if (number && number < c->nflows && c->flows[number]) {
		write_flow(c, w, 'f', ev->at_ns, next, c->flows[number]);
		c->flows[number] = 0;
	}
	if (last && *last) {
		begin_object(c, name, ev->shape->name, 'X', *last, HOST_PID, cpu);
		write_duration(c, ev->at_ns - *last);
	} else {
		begin_object(c, name, ev->shape->name, 'i', ev->at_ns, HOST_PID, cpu);
		out_string(c->out, ",\"s\":\"t\"");
	}
	if (last)
		*last = ev->at_ns;
	return end_event(c, w, ev);
}

static int write_waking(struct chrome *c, const struct walk *w, const struct event *ev, struct fault *why)
{
	uint32_t tid = (uint32_t)ev->v[F_waking_tid], waker = (uint32_t)ev->v[F_waking_waker_tid];
	uint32_t number = tasks_thread(&w->tasks, tid);
	bool task = ev->v[F_waking_context] == WAKE_TASK;

	if (number >= c->nflows) {
		uint32_t room = number * 2 + 64;
		uint64_t *flows = reallocarray(c->flows, room, sizeof(*flows));

		if (!flows)
			return fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "no memory for the flows of the trace");
		memset(flows + c->nflows, 0, (room - c->nflows) * sizeof(*flows));
		c->flows = flows;
		c->nflows = room;
	}
	if (number && task) {
		c->flows[number] = ++c->next_flow;
		write_flow(c, w, 's', ev->at_ns, waker, c->next_flow);
	}
	/* An interrupt wakes in nobody's name. */
	begin_object(c, ev->shape->name, ev->shape->name, 'i', ev->at_ns, pid_of(w, task ? waker : tid),
		     task ? waker : tid);
	out_string(c->out, ",\"s\":\"t\"");
	return end_event(c, w, ev);
}

static int write_memory(void *self, uint32_t process, uint64_t at_ns, struct fault *why)
{
	struct chrome *c = self;

	(void)why;
	if (!process)
		return 0;
	begin_object(c, "memory held", "memory", 'C', at_ns, c->walk->tasks.processes[process].pid, 0);
	out_string(c->out, ",\"args\":{");
	for (unsigned kind = 0; kind < MEMORY_KINDS; kind++) {
		out_string(c->out, kind ? ",\"" : "\"");
		out_string(c->out, memory_word(kind));
		out_string(c->out, "\":");
		out_u64(c->out, allocations_held(&c->allocations, process, kind));
	}
	out_string(c->out, "}}");
	return 0;
}

/* Figures of GPUs and CPUs. */
static void write_gauges(struct chrome *c, const struct event *ev)
{
	size_t n;
	const struct gauge *all = gauges(&n);
	char name[96];

	for (size_t i = 0; i < n; i++) {
		if (!gauge_reported(&all[i], ev))
			continue;
		snprintf(name, sizeof(name), "%s %u: %s%s", all[i].device, (unsigned)ev->v[all[i].id], all[i].name,
			 all[i].unit == GAUGE_BYTES ? " (bytes)"
			 : all[i].unit == GAUGE_NS  ? " (ns)"
						    : "");
		begin_object(c, name, "gauge", 'C', ev->at_ns, HOST_PID, 0);
		out_string(c->out, ",\"args\":{\"value\":");
		out_u64(c->out, ev->v[all[i].field]);
		out_string(c->out, "}}");
	}
}

static int on_event(void *self, struct walk *w, const struct event *ev, struct fault *why)
{
	struct chrome *c = self;
	uint8_t tid_field = export_tid_field(ev->shape);
	uint32_t tid = tid_field ? (uint32_t)ev->v[tid_field] : 0;
	char note[SENTENCE_MAX];
	const char *name = export_event_name(c->schema, ev);
	int r;

	c->walk = w;
	if (export_title(w, ev, note, sizeof(note)))
		name = note;
	if (ev->kind == KIND_switch)
		return write_switch(c, w, ev);
	if (ev->kind == KIND_waking)
		return write_waking(c, w, ev, why);
	if (export_has_duration(ev)) {
		begin_object(c, name, ev->shape->name, 'X', call_begin_ns(ev), ev->v[F_call_pid], tid);
		write_duration(c, ev->at_ns - call_begin_ns(ev));
	} else {
		begin_object(c, name, ev->shape->name, 'i', ev->at_ns, tid ? pid_of(w, tid) : CAPTURE_PID, tid);
		out_string(c->out, tid ? ",\"s\":\"t\"" : ",\"s\":\"g\"");
	}
	r = end_event(c, w, ev);
	if (!r)
		write_gauges(c, ev);
	return r ? r : allocations_feed_event(&c->allocations, &w->tasks, ev, w->nevents, why);
}

static int on_growth(void *self, struct walk *w, const struct growth *g, struct fault *why)
{
	bool lost = g->counter->role == ROLE_LOST;
	char name[SENTENCE_MAX];

	(void)why;
	if (export_loss(w, g, name, sizeof(name)))
		write_mark(self, lost ? TRACK_LOST : TRACK_INCOMPLETE, g->begin_ns, g->end_ns,
			   lost ? "lost" : "incomplete", name);
	return 0;
}

static int on_withheld(void *self, struct walk *w, const struct epoch *e, const struct chunk *chunk, struct fault *why)
{
	char name[SENTENCE_MAX];

	(void)e;
	(void)why;
	if (export_withheld(w, chunk, name, sizeof(name)))
		write_mark(self, TRACK_WITHHELD + chunk->class, chunk->first_ns, chunk->last_ns, "withheld", name);
	return 0;
}

static void name_track(struct chrome *c, const char *what, uint64_t pid, uint64_t tid, const char *name)
{
	begin_object(c, what, "__metadata", 'M', 0, pid, tid);
	out_string(c->out, ",\"args\":{\"name\":");
	out_json(c->out, name, strlen(name));
	out_string(c->out, "}}");
}

static void sort_track(struct chrome *c, uint64_t pid, const char *place)
{
	begin_object(c, "process_sort_index", "__metadata", 'M', 0, pid, 0);
	out_string(c->out, ",\"args\":{\"sort_index\":");
	out_string(c->out, place);
	out_string(c->out, "}}");
}

/* The tracks that are of no process, above those of processes. */
static void name_own_tracks(struct chrome *c)
{
	char name[NAME_MAX_BYTES + 16];

	name_track(c, "process_name", CAPTURE_PID, TRACK_CAPTURE, "capture");
	sort_track(c, CAPTURE_PID, "-2");
	name_track(c, "thread_name", CAPTURE_PID, TRACK_CAPTURE, "capture");
	name_track(c, "thread_name", CAPTURE_PID, TRACK_LOST, "lost");
	name_track(c, "thread_name", CAPTURE_PID, TRACK_INCOMPLETE, "incomplete");
	for (size_t i = 0; i < c->schema->nclasses; i++) {
		snprintf(name, sizeof(name), "withheld: %s", c->schema->classes[i].name);
		name_track(c, "thread_name", CAPTURE_PID, TRACK_WITHHELD + c->schema->classes[i].id, name);
	}
	name_track(c, "process_name", HOST_PID, 0, "CPUs and GPUs");
	sort_track(c, HOST_PID, "-1");
	for (uint64_t cpu = 0; cpu < CPUS_MAX; cpu++) {
		if (!c->switched_ns[cpu])
			continue;
		snprintf(name, sizeof(name), "CPU %u", (unsigned)cpu);
		name_track(c, "thread_name", HOST_PID, cpu, name);
	}
	if (c->strangers)
		name_track(c, "process_name", 0, 0, "threads of no known process");
}

static int on_end(void *self, struct walk *w, const struct fault *stopped, struct fault *why)
{
	const char *cut = export_cut(w, stopped);
	struct chrome *c = self;
	int r;

	c->walk = w;
	r = allocations_finish(&c->allocations, &w->tasks, why);
	if (r)
		return r;
	if (cut) {
		uint64_t end_ns =
			w->nepochs ? w->reader->epochs[w->nepochs - 1].end_ns : w->reader->header.start_boot_ns;

		write_mark(c, TRACK_CAPTURE, end_ns, end_ns, "capture", cut);
	}
	name_own_tracks(c);
	for (uint32_t n = 1; n <= w->tasks.nprocesses; n++)
		if (w->tasks.processes[n].shown)
			name_track(c, "process_name", w->tasks.processes[n].pid, w->tasks.processes[n].pid,
				   w->tasks.processes[n].shown);
	for (uint32_t n = 1; n <= w->tasks.nthreads; n++) {
		const struct thread *t = &w->tasks.threads[n];

		if (t->shown)
			name_track(c, "thread_name", t->process ? w->tasks.processes[t->process].pid : 0, t->tid,
				   t->shown);
	}
	return 0;
}

static int write_chrome(const struct replay *replay, struct out *o, struct fault *why)
{
	static const struct visitor visitor = {
		.growth = on_growth, .withheld = on_withheld, .event = on_event, .end = on_end};
	static const struct alloc_watch watch = {.changed = write_memory};
	const struct header *h = &replay->evidence->reader.header;
	struct chrome *c = calloc(1, sizeof(*c));
	char sentence[SENTENCE_MAX], name[SENTENCE_MAX + 16];
	int r;

	if (!c)
		return fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "no memory for a trace");
	c->out = o;
	c->schema = &h->schema;
	c->allocations = (struct allocations){.schema = c->schema, .watch = &watch, .self = c};
	r = jsonl_plan_make(&c->plan, c->schema, why);
	if (r)
		goto out;
	export_sentence(replay, sentence, sizeof(sentence));
	out_string(o, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"capture\":\"");
	out_hex_bytes(o, h->capture_id, CAPTURE_ID_BYTES);
	out_string(o, "\",\"verdict\":");
	out_json(o, sentence, strlen(sentence));
	out_string(o, ",\"clock\":\"CLOCK_BOOTTIME\",\"start_wall_ns\":\"");
	out_u64(o, h->start_wall_ns);
	out_string(o, "\"},\"traceEvents\":[\n");
	snprintf(name, sizeof(name), "capture: %s", sentence);
	write_mark(c, TRACK_CAPTURE, h->start_boot_ns, h->start_boot_ns, "capture", name);
	r = walk(replay, &visitor, c, why);
	out_string(o, "\n]}\n");
out:
	jsonl_plan_free(c->plan);
	allocations_clear(&c->allocations);
	free(c->flows);
	free(c);
	return r;
}

int chrome_write_file(const struct replay *replay, int fd, struct fault *why)
{
	return export_file(replay, fd, write_chrome, why);
}
