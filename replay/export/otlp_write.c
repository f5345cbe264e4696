/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/export/otlp.h"

#include "keys/tool/tool.h"

void otlp_string(struct out *o, bool first, const char *key, const char *value)
{
	size_t n = strlen(value);

	out_string(o, first ? "{\"key\":\"" : ",{\"key\":\"");
	out_string(o, key);
	out_string(o, "\",\"value\":{\"stringValue\":");
	out_json(o, value, n < TEXT_MAX ? n : TEXT_MAX);
	out_string(o, "}}");
}

/* 64-bit integers are strings in OTLP JSON. */
void otlp_number(struct out *o, bool first, const char *key, int64_t value)
{
	out_string(o, first ? "{\"key\":\"" : ",{\"key\":\"");
	out_string(o, key);
	out_string(o, "\",\"value\":{\"intValue\":\"");
	out_s64(o, value);
	out_string(o, "\"}}");
}

void otlp_nanoseconds(struct out *o, const struct walk *w, const char *key, uint64_t boot_ns)
{
	out_string(o, key);
	out_char(o, '"');
	out_u64(o, reader_wall_ns(w->reader, boot_ns));
	out_char(o, '"');
}

void otlp_resource(struct otlp *t, const struct walk *w, uint32_t number)
{
	const struct process *p = number && number != OTLP_RECORDER ? &w->tasks.processes[number] : NULL;
	const char *name = number == OTLP_RECORDER ? "gpurec" : "unknown_service";
	struct wall_text wall = {0};
	struct out *o = t->out;

	out_string(o, "\"resource\":{\"attributes\":[");
	otlp_string(o, true, "service.name", p && p->shown ? p->shown : name);
	otlp_string(o, false, "gpurec.capture.id", t->id);
	otlp_string(o, false, "gpurec.capture.verdict", t->sentence);
	if (p) {
		otlp_number(o, false, "process.pid", p->pid);
		if (p->shown)
			otlp_string(o, false, "process.executable.name", p->shown);
		if (p->path)
			otlp_string(o, false, "process.executable.path", p->path);
	}
	if (p && p->reported) {
		otlp_number(o, false, "process.parent_pid", p->ppid);
		otlp_number(o, false, "process.user.id", p->uid);
	}
	if (p && p->start_ns != NO_TIME) {
		out_string(o, ",{\"key\":\"process.creation.time\",\"value\":{\"stringValue\":\"");
		export_wall(o, &wall, reader_wall_ns(w->reader, p->start_ns));
		out_string(o, "\"}}");
	}
	out_string(o, "]}");
}

void otlp_scope(struct otlp *t)
{
	out_string(t->out, "\"scope\":{\"name\":\"gpurec\",\"version\":");
	out_json(t->out, TOOL_VERSION, strlen(TOOL_VERSION));
	out_char(t->out, '}');
}

void otlp_begin_metric(struct otlp *t, const struct walk *w, uint32_t process, const char *name, const char *unit,
		       const char *form)
{
	struct out *o = t->out;

	out_string(o, "{\"resourceMetrics\":[{");
	otlp_resource(t, w, process);
	out_string(o, ",\"scopeMetrics\":[{");
	otlp_scope(t);
	out_string(o, ",\"metrics\":[{\"name\":\"");
	out_string(o, name);
	out_string(o, "\",\"unit\":\"");
	out_string(o, unit);
	out_string(o, "\",\"");
	out_string(o, form);
	out_string(o, "\":{\"dataPoints\":[");
}

void otlp_end_metric(struct otlp *t, const char *more)
{
	out_char(t->out, ']');
	out_string(t->out, more);
	out_string(t->out, "}}]}]}]}\n");
}

void otlp_begin_point(struct otlp *t, const struct walk *w, uint64_t at_ns, const char *key, const char *value)
{
	otlp_nanoseconds(t->out, w, "{\"startTimeUnixNano\":", w->reader->header.start_boot_ns);
	otlp_nanoseconds(t->out, w, ",\"timeUnixNano\":", at_ns);
	out_string(t->out, ",\"attributes\":[");
	if (key)
		otlp_string(t->out, true, key, value);
	out_char(t->out, ']');
}

void otlp_end_point(struct otlp *t, uint64_t value)
{
	out_string(t->out, ",\"asInt\":\"");
	out_u64(t->out, value > INT64_MAX ? INT64_MAX : value);
	out_string(t->out, "\"}");
}
