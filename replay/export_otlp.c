/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenTelemetry: lines of OTLP JSON as the Collector's file receiver reads them, each either spans or metrics. A
 * process is a resource with the process conventions' attributes, a call or futex call a span, and the sums over a
 * process, the memory it held and the recorder's own figures are metrics. There are no conventions for calls into a
 * GPU's library: what they do not name is called gpurec.*. Switches and wake-ups are no spans: their numbers are
 * metrics.
 */
#include <stdio.h>
#include <stdlib.h>

#include "keys/tool.h"
#include "replay/export.h"
#include "replay/memory.h"

#define BATCH_BYTES ((size_t)48 << 10) /* of spans in a line */
#define BATCH_ROOM ((size_t)2 << 20)   /* for the one that fills it: an event's fields and names at their longest */
#define NBOUNDS 7

static const char bounds[] = "[0.000001,0.00001,0.0001,0.001,0.01,0.1,1]"; /* seconds */

struct batch { /* spans of a process that wait for their line */
	struct out spans;
	uint64_t voluntary, involuntary; /* context switches */
	uint64_t told[MEMORY_KINDS];     /* bytes held, as last told */
};

struct calls { /* of a function in a process */
	uint32_t process;
	uint16_t probe;
	uint64_t n, nfailed, sum_ns, buckets[NBOUNDS + 1];
};

struct otlp {
	struct out *out;
	const struct schema *schema;
	struct memory memory;
	struct batch *batches; /* by number of the process; 0: of an unknown one */
	uint32_t nbatches;
	struct calls *calls; /* numbered from 1 */
	uint32_t ncalls, calls_room;
	struct map by_call; /* (process, probe) */
	char id[2 * CAPTURE_ID_BYTES + 1];
	char sentence[SENTENCE_MAX];
};

static int no_memory(struct fault *why)
{
	return fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "no memory for the spans and metrics");
}

/* {"key":"k","value":{"stringValue":"v"}} with a comma before all but the first. */
static void write_string(struct out *o, bool first, const char *key, const char *value)
{
	size_t n = strlen(value);

	out_string(o, first ? "{\"key\":\"" : ",{\"key\":\"");
	out_string(o, key);
	out_string(o, "\",\"value\":{\"stringValue\":");
	out_json(o, value, n < TEXT_MAX ? n : TEXT_MAX);
	out_string(o, "}}");
}

/* 64-bit integers are strings in OTLP JSON. */
static void write_number(struct out *o, bool first, const char *key, int64_t value)
{
	out_string(o, first ? "{\"key\":\"" : ",{\"key\":\"");
	out_string(o, key);
	out_string(o, "\",\"value\":{\"intValue\":\"");
	out_s64(o, value);
	out_string(o, "\"}}");
}

static void write_nanoseconds(struct out *o, const struct walk *w, const char *key, uint64_t boot_ns)
{
	out_string(o, key);
	out_char(o, '"');
	out_u64(o, reader_wall_ns(w->reader, boot_ns));
	out_char(o, '"');
}

/* "resource":{...}: a process, or (number 0) one that is not known. */
static void write_resource(struct otlp *t, const struct walk *w, uint32_t number)
{
	const struct process *p = number ? &w->people.processes[number] : NULL;
	struct wall_text wall = {0};
	struct out *o = t->out;

	out_string(o, "\"resource\":{\"attributes\":[");
	write_string(o, true, "service.name", p && p->name ? p->name : "unknown_service");
	write_string(o, false, "gpurec.capture.id", t->id);
	write_string(o, false, "gpurec.capture.verdict", t->sentence);
	if (p) {
		write_number(o, false, "process.pid", p->pid);
		if (p->name)
			write_string(o, false, "process.executable.name", p->name);
		if (p->path)
			write_string(o, false, "process.executable.path", p->path);
	}
	if (p && p->told) {
		write_number(o, false, "process.parent_pid", p->ppid);
		write_number(o, false, "process.user.id", p->uid);
	}
	if (p && p->start_ns != NO_TIME) {
		out_string(o, ",{\"key\":\"process.creation.time\",\"value\":{\"stringValue\":\"");
		export_wall(o, &wall, reader_wall_ns(w->reader, p->start_ns));
		out_string(o, "\"}}");
	}
	out_string(o, "]}");
}

static void write_scope(struct otlp *t)
{
	out_string(t->out, "\"scope\":{\"name\":\"gpurec\",\"version\":");
	out_json(t->out, TOOL_VERSION, strlen(TOOL_VERSION));
	out_char(t->out, '}');
}

static struct batch *batch_of(struct otlp *t, uint32_t number, struct fault *why)
{
	if (number >= t->nbatches) {
		uint32_t room = number * 2 + 16;
		struct batch *all = reallocarray(t->batches, room, sizeof(*all));

		if (!all) {
			no_memory(why);
			return NULL;
		}
		memset(all + t->nbatches, 0, (room - t->nbatches) * sizeof(*all));
		t->batches = all;
		t->nbatches = room;
	}
	return &t->batches[number];
}

/* Spans -------------------------------------------------------------------------------------------------------------
 */

static void flush_batch(struct otlp *t, const struct walk *w, uint32_t number)
{
	struct out *spans = &t->batches[number].spans;

	if (!spans->len)
		return;
	out_string(t->out, "{\"resourceSpans\":[{");
	write_resource(t, w, number);
	out_string(t->out, ",\"scopeSpans\":[{");
	write_scope(t);
	out_string(t->out, ",\"spans\":[");
	for (size_t done = 0, n; done < spans->len; done += n) {
		n = spans->len - done < OUT_ROOM ? spans->len - done : OUT_ROOM;
		out_bytes(t->out, spans->buf + done, n);
	}
	out_string(t->out, "]}]}]}\n");
	spans->len = 0;
}

static void write_attributes(struct out *o, const struct walk *w, const struct event *ev)
{
	char key[NAME_MAX_BYTES + 16], text[24];

	write_number(o, true, "thread.id", (uint32_t)ev->v[F_call_tid]);
	write_string(o, false, "thread.name", export_thread_name(w, (uint32_t)ev->v[F_call_tid]));
	write_number(o, false, "cpu.logical_number", (int64_t)ev->v[F_call_cpu]);
	write_string(o, false, "code.function.name", export_event_name(&w->reader->header.schema, ev));
	write_string(o, false, "gpurec.kind", ev->shape->name);
	if (ev->kind != KIND_futex)
		write_string(o, false, "hw.type", "gpu");
	for (uint8_t f = F_call_dur + 1; f < ev->shape->nfields; f++) {
		const struct field *field = &ev->shape->fields[f];

		snprintf(key, sizeof(key), "gpurec.%s", field->name);
		if (field->encoding == ENC_TEXT)
			continue; /* no call of today has one */
		if (field->unit == UNIT_ADDRESS || ev->v[f] > INT64_MAX) {
			snprintf(text, sizeof(text), "0x%llx", (unsigned long long)ev->v[f]);
			if (field->encoding != ENC_SINT) {
				write_string(o, false, key, text);
				continue;
			}
		}
		write_number(o, false, key, (int64_t)ev->v[f]);
	}
}

static int write_span(struct otlp *t, const struct walk *w, const struct event *ev, uint32_t number, struct fault *why)
{
	struct batch *b = batch_of(t, number, why);
	const char *name = export_event_name(t->schema, ev);
	struct out *o;

	if (!b)
		return why->code;
	o = &b->spans;
	if (!o->buf) {
		o->buf = malloc(BATCH_ROOM);
		if (!o->buf)
			return no_memory(why);
		o->room = BATCH_ROOM;
		o->fd = -1;
	}
	out_string(o, o->len ? ",{\"traceId\":\"" : "{\"traceId\":\"");
	out_string(o, t->id);
	out_string(o, "\",\"spanId\":\"");
	for (unsigned i = 8; i-- > 0;)
		out_hex_bytes(o, &(uint8_t){(uint8_t)(w->nevents >> (8 * i))}, 1);
	out_string(o, "\",\"name\":");
	out_json(o, name, strlen(name));
	out_string(o, ",\"kind\":1"); /* internal */
	write_nanoseconds(o, w, ",\"startTimeUnixNano\":", export_begin_ns(ev));
	write_nanoseconds(o, w, ",\"endTimeUnixNano\":", ev->at_ns);
	out_string(o, ",\"attributes\":[");
	write_attributes(o, w, ev);
	if (ev->shape->flags == KIND_CALL && ev->v[F_call_ret] != 0) {
		out_string(o, ",{\"key\":\"error.type\",\"value\":{\"stringValue\":\"");
		out_s64(o, (int64_t)ev->v[F_call_ret]);
		out_string(o, "\"}}],\"status\":{\"code\":2}}");
	} else {
		out_string(o, "],\"status\":{}}");
	}
	if (o->len >= BATCH_BYTES)
		flush_batch(t, w, number);
	return 0;
}

/* Metrics ------------------------------------------------------------------------------------------------------------
 */

/* A metrics line up to its first data point; end_metric() finishes it. `form`: "sum", "gauge" or "histogram". */
static void begin_metric(struct otlp *t, const struct walk *w, uint32_t process, const char *name, const char *unit,
			 const char *form)
{
	struct out *o = t->out;

	out_string(o, "{\"resourceMetrics\":[{");
	if (process == UINT32_MAX) {
		out_string(o, "\"resource\":{\"attributes\":[");
		write_string(o, true, "service.name", "gpurec");
		write_string(o, false, "gpurec.capture.id", t->id);
		write_string(o, false, "gpurec.capture.verdict", t->sentence);
		out_string(o, "]}");
	} else {
		write_resource(t, w, process);
	}
	out_string(o, ",\"scopeMetrics\":[{");
	write_scope(t);
	out_string(o, ",\"metrics\":[{\"name\":\"");
	out_string(o, name);
	out_string(o, "\",\"unit\":\"");
	out_string(o, unit);
	out_string(o, "\",\"");
	out_string(o, form);
	out_string(o, "\":{\"dataPoints\":[");
}

/* `more`: what stands beside the data points, with a comma before it. */
static void end_metric(struct otlp *t, const char *more)
{
	out_char(t->out, ']');
	out_string(t->out, more);
	out_string(t->out, "}}]}]}]}\n");
}

#define CUMULATIVE ",\"aggregationTemporality\":2,\"isMonotonic\":true"
#define UP_AND_DOWN ",\"aggregationTemporality\":2,\"isMonotonic\":false"

/* {"startTimeUnixNano":..,"timeUnixNano":..,"attributes":[{..}] with one attribute, if `key` is not NULL. */
static void begin_point(struct otlp *t, const struct walk *w, uint64_t at_ns, const char *key, const char *value)
{
	write_nanoseconds(t->out, w, "{\"startTimeUnixNano\":", w->reader->header.start_boot_ns);
	write_nanoseconds(t->out, w, ",\"timeUnixNano\":", at_ns);
	out_string(t->out, ",\"attributes\":[");
	if (key)
		write_string(t->out, true, key, value);
	out_char(t->out, ']');
}

static void end_point(struct otlp *t, uint64_t value)
{
	out_string(t->out, ",\"asInt\":\"");
	out_u64(t->out, value);
	out_string(t->out, "\"}");
}

static void write_memory(struct otlp *t, const struct walk *w, uint64_t at_ns)
{
	for (uint32_t n = 0; n < t->nbatches && n <= w->people.nprocesses; n++) {
		for (unsigned kind = 0; kind < MEMORY_KINDS; kind++) {
			uint64_t held = held_bytes_of(&t->memory, n, kind);

			if (held == t->batches[n].told[kind])
				continue;
			t->batches[n].told[kind] = held;
			begin_metric(t, w, n, "gpurec.memory.held", "By", "sum");
			begin_point(t, w, at_ns, "gpurec.memory", held_word(kind));
			end_point(t, held);
			end_metric(t, UP_AND_DOWN);
		}
	}
}

static int on_epoch(void *self, struct walk *w, const struct epoch *e, struct fault *why)
{
	struct otlp *t = self;

	(void)why;
	write_memory(t, w, e->begin_ns);
	if (e->end_ns < w->replay->filter->from_ns || e->begin_ns >= w->replay->filter->to_ns)
		return 0;
	begin_metric(t, w, UINT32_MAX, "process.cpu.time", "s", "sum");
	begin_point(t, w, e->end_ns, NULL, NULL);
	out_string(t->out, ",\"asDouble\":");
	out_seconds(t->out, e->self.cpu_ns);
	out_char(t->out, '}');
	end_metric(t, CUMULATIVE);
	begin_metric(t, w, UINT32_MAX, "process.memory.usage", "By", "sum");
	begin_point(t, w, e->end_ns, NULL, NULL);
	end_point(t, e->self.rss_bytes);
	end_metric(t, UP_AND_DOWN);
	return 0;
}

static int on_growth(void *self, struct walk *w, const struct growth *g, struct fault *why)
{
	char text[SENTENCE_MAX];
	struct otlp *t = self;
	bool lost = g->counter->role == ROLE_LOST;

	(void)why;
	if (!export_loss(w, g, text, sizeof(text)))
		return 0;
	begin_metric(t, w, UINT32_MAX, lost ? "gpurec.events.lost" : "gpurec.events.incomplete", "{event}", "sum");
	write_nanoseconds(t->out, w, "{\"startTimeUnixNano\":", w->reader->header.start_boot_ns);
	write_nanoseconds(t->out, w, ",\"timeUnixNano\":", g->end_ns);
	out_string(t->out, ",\"attributes\":[");
	write_string(t->out, true, "gpurec.probe", g->probe->name);
	write_string(t->out, false, "gpurec.cause", g->counter->name);
	out_char(t->out, ']');
	end_point(t, g->total);
	end_metric(t, CUMULATIVE);
	return 0;
}

static int on_withheld(void *self, struct walk *w, const struct epoch *e, const struct chunk *c, struct fault *why)
{
	char text[SENTENCE_MAX];
	struct otlp *t = self;

	(void)e;
	(void)why;
	if (!export_withheld(w, c, text, sizeof(text)))
		return 0;
	begin_metric(t, w, UINT32_MAX, "gpurec.rows.withheld", "{row}", "gauge");
	begin_point(t, w, c->last_ns, "gpurec.what", text);
	end_point(t, c->nrows);
	end_metric(t, "");
	return 0;
}

static int count_call(struct otlp *t, const struct event *ev, uint32_t process, struct fault *why)
{
	uint64_t dur_ns = ev->v[F_call_dur], bound_ns = 1000;
	uint32_t n = map_get(&t->by_call, process, ev->v[F_call_probe]);
	unsigned bucket = 0;

	if (!n) {
		if (t->ncalls + 1 >= t->calls_room) {
			uint32_t room = t->calls_room ? t->calls_room * 2 : 64;
			struct calls *calls = reallocarray(t->calls, room, sizeof(*calls));

			if (!calls)
				return no_memory(why);
			t->calls = calls;
			t->calls_room = room;
		}
		n = t->ncalls + 1;
		if (map_put(&t->by_call, process, ev->v[F_call_probe], n))
			return no_memory(why);
		t->ncalls = n;
		t->calls[n] = (struct calls){.process = process, .probe = (uint16_t)ev->v[F_call_probe]};
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

static int count_switch(struct otlp *t, const struct walk *w, const struct event *ev, struct fault *why)
{
	const struct thread *thread = people_find_thread(&w->people, (uint32_t)ev->v[F_switch_prev_tid]);
	struct batch *b = thread && thread->process ? batch_of(t, thread->process, why) : NULL;

	if (thread && thread->process && !b)
		return why->code;
	if (b && ev->v[F_switch_prev_state] == 0)
		b->involuntary++;
	else if (b)
		b->voluntary++;
	return 0;
}

static int on_event(void *self, struct walk *w, const struct event *ev, struct fault *why)
{
	struct otlp *t = self;
	uint32_t process = 0, changed = 0;
	int r = 0;

	if (export_has_duration(ev)) {
		process = people_process(&w->people, (uint32_t)ev->v[F_call_pid]);
		r = write_span(t, w, ev, process, why);
	}
	if (!r && ev->shape->flags == KIND_CALL)
		r = count_call(t, ev, process, why);
	if (!r && ev->kind == KIND_switch)
		r = count_switch(t, w, ev, why);
	if (!r)
		r = held_see(&t->memory, w, ev, &changed, why);
	return r ? r : out_stopped(t->out) ? WALK_ENOUGH : 0;
}

static void write_calls(struct otlp *t, const struct walk *w, const struct calls *c, uint64_t end_ns)
{
	const struct probe *probe = schema_probe(t->schema, c->probe);
	struct out *o = t->out;

	begin_metric(t, w, c->process, "gpurec.call.duration", "s", "histogram");
	begin_point(t, w, end_ns, "code.function.name", probe ? probe->name : "?");
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
	end_metric(t, ",\"aggregationTemporality\":2");
	if (!c->nfailed)
		return;
	begin_metric(t, w, c->process, "gpurec.call.errors", "{call}", "sum");
	begin_point(t, w, end_ns, "code.function.name", probe ? probe->name : "?");
	end_point(t, c->nfailed);
	end_metric(t, CUMULATIVE);
}

static int on_end(void *self, struct walk *w, const struct fault *stopped, struct fault *why)
{
	const struct header *h = &w->reader->header;
	uint64_t end_ns = w->nepochs ? w->reader->epochs[w->nepochs - 1].end_ns : h->start_boot_ns;
	struct otlp *t = self;

	(void)why;
	write_memory(t, w, end_ns);
	for (uint32_t n = 0; n < t->nbatches && n <= w->people.nprocesses; n++) {
		const struct batch *b = &t->batches[n];

		flush_batch(t, w, n);
		if (!b->voluntary && !b->involuntary)
			continue;
		begin_metric(t, w, n, "process.context_switches", "{context_switch}", "sum");
		begin_point(t, w, end_ns, "process.context_switch_type", "voluntary");
		end_point(t, b->voluntary);
		out_char(t->out, ',');
		begin_point(t, w, end_ns, "process.context_switch_type", "involuntary");
		end_point(t, b->involuntary);
		end_metric(t, CUMULATIVE);
	}
	for (uint32_t n = 1; n <= t->ncalls; n++)
		write_calls(t, w, &t->calls[n], end_ns);
	begin_metric(t, w, UINT32_MAX, "gpurec.capture.sealed", "1", "gauge");
	begin_point(t, w, end_ns, "gpurec.what", export_cut(w, stopped) ? export_cut(w, stopped) : "sealed");
	end_point(t, export_cut(w, stopped) == NULL);
	end_metric(t, "");
	return 0;
}

static int write_otlp(const struct replay *replay, struct out *o, struct fault *why)
{
	static const struct visitor visitor = {
		.epoch = on_epoch, .growth = on_growth, .withheld = on_withheld, .event = on_event, .end = on_end};
	const struct header *h = &replay->evidence->reader.header;
	struct otlp t = {.out = o, .schema = &h->schema};
	int r;

	for (unsigned i = 0; i < CAPTURE_ID_BYTES; i++)
		snprintf(t.id + (size_t)2 * i, 3, "%02x", h->capture_id[i]);
	export_sentence(replay, t.sentence, sizeof(t.sentence));
	r = walk(replay, &visitor, &t, why);
	for (uint32_t i = 0; i < t.nbatches; i++)
		free(t.batches[i].spans.buf);
	free(t.batches);
	free(t.calls);
	map_clear(&t.by_call);
	held_clear(&t.memory);
	return r;
}

int otlp_write_file(const struct replay *replay, const char *path, struct fault *why)
{
	return export_file(replay, path, write_otlp, why);
}
