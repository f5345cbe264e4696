/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenTelemetry: lines of OTLP JSON as the Collector's file receiver reads them, each spans, metrics or log records. A
 * process is a resource with the process conventions' attributes; a call, futex call, page fault or reclaim is a span;
 * sums over a process, the memory it held, figures of GPUs and CPUs and the recorder's own are metrics; what happens to
 * the host is a log record. There are no conventions for calls into a GPU's library: what they do not name is called
 * gpurec.*. Switches and wake-ups are no spans: their numbers are metrics.
 */
#include <stdio.h>
#include <stdlib.h>

#include "format/base/units.h"
#include "replay/export/otlp.h"

#define BATCH_BYTES ((size_t)48 << 10) /* of spans in a line */
#define BATCH_ROOM ((size_t)2 << 20)   /* for the one that fills it: an event's fields and names at their longest */

/* --- spans --- */

static void flush_batch(struct otlp *t, const struct walk *w, uint32_t number)
{
	struct out *spans = &t->batches[number].spans;

	if (!spans->len)
		return;
	out_string(t->out, "{\"resourceSpans\":[{");
	otlp_resource(t, w, number);
	out_string(t->out, ",\"scopeSpans\":[{");
	otlp_scope(t);
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
	const struct kernel_name *kernel = kernels_of(&w->kernels, &w->tasks, ev);
	char key[NAME_MAX_BYTES + 16], text[24];

	otlp_number(o, true, "thread.id", (uint32_t)ev->v[F_call_tid]);
	otlp_string(o, false, "thread.name", export_thread_name(w, (uint32_t)ev->v[F_call_tid]));
	otlp_number(o, false, "cpu.logical_number", (int64_t)ev->v[F_call_cpu]);
	otlp_string(o, false, "code.function.name", export_event_name(&w->reader->header.schema, ev));
	otlp_string(o, false, "gpurec.kind", ev->shape->name);
	if (ev->shape->flags == KIND_CALL)
		otlp_string(o, false, "hw.type", "gpu");
	if (kernel)
		otlp_string(o, false, "gpurec.kernel", kernel->terminal);
	for (uint8_t f = F_call_dur + 1; f < ev->shape->nfields; f++) {
		const struct field *field = &ev->shape->fields[f];

		snprintf(key, sizeof(key), "gpurec.%s", field->name);
		if (field->encoding == ENC_TEXT)
			continue; /* no call of today has one */
		if (field->unit == UNIT_ADDRESS || ev->v[f] > INT64_MAX) {
			snprintf(text, sizeof(text), "0x%llx", (unsigned long long)ev->v[f]);
			if (!field_is_signed(field)) {
				otlp_string(o, false, key, text);
				continue;
			}
		}
		otlp_number(o, false, key, (int64_t)ev->v[f]);
	}
}

static int write_span(struct otlp *t, const struct walk *w, const struct event *ev, uint32_t number, struct fault *why)
{
	struct batch *b = otlp_batch_of(t, number, why);
	const char *name = export_event_name(t->schema, ev);
	struct out *o;

	if (!b)
		return why->code;
	o = &b->spans;
	if (!o->buf) {
		o->buf = malloc(BATCH_ROOM);
		if (!o->buf)
			return fault_no_memory(why);
		o->room = BATCH_ROOM;
		o->fd = -1;
	}
	out_string(o, o->len ? ",{\"traceId\":\"" : "{\"traceId\":\"");
	out_string(o, t->id);
	out_string(o, "\",\"spanId\":\"");
	for (unsigned i = 8; i-- > 0;) {
		uint8_t byte = (uint8_t)(w->nevents >> (8 * i));

		out_hex_bytes(o, &byte, 1);
	}
	out_string(o, "\",\"name\":");
	out_json(o, name, strlen(name));
	out_string(o, ",\"kind\":1"); /* internal */
	otlp_nanoseconds(o, w, ",\"startTimeUnixNano\":", call_begin_ns(ev));
	otlp_nanoseconds(o, w, ",\"endTimeUnixNano\":", ev->at_ns);
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

/* --- the walk --- */

static int on_epoch(void *self, struct walk *w, const struct epoch *e, struct fault *why)
{
	struct otlp *t = self;

	(void)why;
	otlp_write_memory(t, w, e->begin_ns);
	if (e->end_ns < w->replay->filter->from_ns || e->begin_ns >= w->replay->filter->to_ns)
		return 0;
	otlp_begin_metric(t, w, OTLP_RECORDER, "process.cpu.time", "s", "sum");
	otlp_begin_point(t, w, e->end_ns, NULL, NULL);
	out_string(t->out, ",\"asDouble\":");
	out_seconds(t->out, e->self.cpu_ns);
	out_char(t->out, '}');
	otlp_end_metric(t, OTLP_CUMULATIVE);
	otlp_begin_metric(t, w, OTLP_RECORDER, "process.memory.usage", "By", "sum");
	otlp_begin_point(t, w, e->end_ns, NULL, NULL);
	otlp_end_point(t, e->self.rss_bytes);
	otlp_end_metric(t, OTLP_UP_AND_DOWN);
	return 0;
}

static int on_growth(void *self, struct walk *w, const struct growth *g, struct fault *why)
{
	char text[SENTENCE_MAX];
	struct otlp *t = self;
	char name[40];

	(void)why;
	if (!export_loss(w, g, text, sizeof(text)))
		return 0;
	snprintf(name, sizeof(name), "gpurec.events.%s", export_absence(w, g)->kind);
	otlp_begin_metric(t, w, OTLP_RECORDER, name, "{event}", "sum");
	otlp_nanoseconds(t->out, w, "{\"startTimeUnixNano\":", w->reader->header.start_boot_ns);
	otlp_nanoseconds(t->out, w, ",\"timeUnixNano\":", g->end_ns);
	out_string(t->out, ",\"attributes\":[");
	otlp_string(t->out, true, "gpurec.probe", g->probe->name);
	otlp_string(t->out, false, "gpurec.cause", g->counter->name);
	out_char(t->out, ']');
	otlp_end_point(t, g->total);
	otlp_end_metric(t, OTLP_CUMULATIVE);
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
	otlp_begin_metric(t, w, OTLP_RECORDER, "gpurec.rows.withheld", "{row}", "gauge");
	otlp_begin_point(t, w, c->last_ns, "gpurec.what", text);
	otlp_end_point(t, c->nrows);
	otlp_end_metric(t, "");
	return 0;
}

static int on_event(void *self, struct walk *w, const struct event *ev, struct fault *why)
{
	struct otlp *t = self;
	uint32_t process = 0;
	int r = 0;

	if (export_has_duration(ev)) {
		process = tasks_process(&w->tasks, (uint32_t)ev->v[F_call_pid]);
		r = write_span(t, w, ev, process, why);
	}
	if (!r && ev->shape->flags == KIND_CALL)
		r = otlp_count_call(t, ev, process, why);
	if (!r && ev->kind == KIND_switch)
		r = otlp_count_switch(t, w, ev, why);
	if (!r)
		r = otlp_see_host(t, w, ev, why);
	if (!r)
		r = allocations_feed_event(&t->allocations, &w->tasks, ev, w->nevents, why);
	return r ? r : out_stopped(t->out) ? WALK_ENOUGH : 0;
}

static int on_end(void *self, struct walk *w, const struct fault *stopped, struct fault *why)
{
	uint64_t end_ns = export_end_ns(w);
	struct otlp *t = self;

	if (allocations_finish(&t->allocations, &w->tasks, why))
		return why->code;
	otlp_write_memory(t, w, end_ns);
	for (uint32_t n = 0; n < t->nbatches && n <= w->tasks.nprocesses; n++) {
		const struct batch *b = &t->batches[n];

		flush_batch(t, w, n);
		if (!b->voluntary && !b->involuntary)
			continue;
		otlp_begin_metric(t, w, n, "process.context_switches", "{context_switch}", "sum");
		otlp_begin_point(t, w, end_ns, "process.context_switch_type", "voluntary");
		otlp_end_point(t, b->voluntary);
		out_char(t->out, ',');
		otlp_begin_point(t, w, end_ns, "process.context_switch_type", "involuntary");
		otlp_end_point(t, b->involuntary);
		otlp_end_metric(t, OTLP_CUMULATIVE);
	}
	for (uint32_t n = 1; n <= t->ncalls; n++)
		otlp_write_calls(t, w, &t->calls[n], end_ns);
	otlp_begin_metric(t, w, OTLP_RECORDER, "gpurec.capture.sealed", "1", "gauge");
	otlp_begin_point(t, w, end_ns, "gpurec.what", export_cut(w, stopped) ? export_cut(w, stopped) : "sealed");
	otlp_end_point(t, export_cut(w, stopped) == NULL);
	otlp_end_metric(t, "");
	return 0;
}

static int write_otlp(const struct replay *replay, struct out *o, struct fault *why)
{
	static const struct visitor visitor = {
		.epoch = on_epoch, .growth = on_growth, .withheld = on_withheld, .event = on_event, .end = on_end};
	const struct header *h = &replay->evidence->reader.header;
	struct otlp t = {.out = o, .schema = &h->schema, .allocations = {.schema = &h->schema}};
	int r;

	hex_text(t.id, h->capture_id, CAPTURE_ID_BYTES);
	export_sentence(replay, t.sentence, sizeof(t.sentence));
	r = walk(replay, &visitor, &t, why);
	for (uint32_t i = 0; i < t.nbatches; i++)
		free(t.batches[i].spans.buf);
	free(t.batches);
	free(t.calls);
	map_clear(&t.by_call);
	map_clear(&t.by_gpu);
	free(t.gpus);
	allocations_clear(&t.allocations);
	return r;
}

int otlp_write_file(const struct replay *replay, int fd, struct fault *why)
{
	return export_file(replay, fd, write_otlp, why);
}
