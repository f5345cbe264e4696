/* SPDX-License-Identifier: Apache-2.0 */
/* Names and units are those of OpenTelemetry's conventions for hardware and systems where these have any. */
#include "replay/export/otlp.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "format/base/escape.h"
#include "replay/model/gauge_fields.h"

enum form { FORM_GAUGE, FORM_SUM, FORM_UP_AND_DOWN };

static const struct metric {
	uint16_t kind;
	uint8_t field;
	uint8_t form;     /* enum form */
	uint8_t decimals; /* the figure has so many behind the point */
	uint8_t zeros;    /* or wants so many at its end */
	const char *name, *unit;
	const char *key, *value; /* an attribute; NULL: none */
} metrics[] = {
	{KIND_health, F_health_busy_percent, FORM_GAUGE, 2, 0, "hw.gpu.utilization", "1", NULL, NULL},
	{KIND_health, F_health_memory_busy_percent, FORM_GAUGE, 2, 0, "gpurec.gpu.memory.busy", "1", NULL, NULL},
	{KIND_health, F_health_memory_used, FORM_UP_AND_DOWN, 0, 0, "hw.gpu.memory.usage", "By", NULL, NULL},
	{KIND_health, F_health_power_mw, FORM_GAUGE, 3, 0, "hw.power", "W", NULL, NULL},
	{KIND_health, F_health_temperature_c, FORM_GAUGE, 0, 0, "hw.temperature", "Cel", NULL, NULL},
	{KIND_health, F_health_sm_mhz, FORM_GAUGE, 0, 6, "gpurec.gpu.clock", "Hz", "gpurec.clock", "sm"},
	{KIND_health, F_health_memory_mhz, FORM_GAUGE, 0, 6, "gpurec.gpu.clock", "Hz", "gpurec.clock", "memory"},
	{KIND_health, F_health_throttle, FORM_GAUGE, 0, 0, "gpurec.gpu.throttle", "1", NULL, NULL},
	{KIND_health, F_health_ecc_corrected, FORM_SUM, 0, 0, "hw.errors", "{error}", "error.type", "ecc_corrected"},
	{KIND_health, F_health_ecc_uncorrected, FORM_SUM, 0, 0, "hw.errors", "{error}", "error.type",
	 "ecc_uncorrected"},
	{KIND_cpu, F_cpu_steal, FORM_SUM, 9, 0, "system.cpu.time", "s", "cpu.mode", "steal"},
	{KIND_cpu, F_cpu_khz, FORM_GAUGE, 0, 3, "system.cpu.frequency", "Hz", NULL, NULL},
	{KIND_metric, F_metric_busy, FORM_SUM, 9, 0, "gpurec.cpu.busy", "s", NULL, NULL},
	{KIND_metric, F_metric_switches, FORM_SUM, 0, 0, "gpurec.cpu.switches", "{switch}", NULL, NULL},
	{KIND_metric, F_metric_waiting, FORM_GAUGE, 0, 0, "gpurec.cpu.waiting", "{thread}", NULL, NULL},
};

/* A `gpu` row: how the one with this index is called from now on. */
static int see_gpu(struct otlp *t, const struct event *ev, struct fault *why)
{
	uint32_t n = map_get(&t->by_gpu, ev->v[F_gpu_index], 0);

	if (ev->v[F_gpu_index] >= GAUGE_IDS_MAX)
		return 0;
	if (!n) {
		struct otlp_gpu *gpus = reallocarray(t->gpus, t->ngpus + 1, sizeof(*gpus));

		if (!gpus)
			return fault_no_memory(why);
		t->gpus = gpus;
		if (map_put(&t->by_gpu, ev->v[F_gpu_index], 0, t->ngpus + 1))
			return fault_no_memory(why);
		n = ++t->ngpus;
	}
	escape_terminal(t->gpus[n - 1].name, sizeof(t->gpus[0].name), ev->text[F_gpu_name], (size_t)ev->v[F_gpu_name]);
	escape_terminal(t->gpus[n - 1].uuid, sizeof(t->gpus[0].uuid), ev->text[F_gpu_uuid], (size_t)ev->v[F_gpu_uuid]);
	return 0;
}

static void write_gpu(struct otlp *t, uint64_t index)
{
	uint32_t n = map_get(&t->by_gpu, index, 0);
	char id[32];

	snprintf(id, sizeof(id), "gpu%" PRIu64, index);
	otlp_string(t->out, true, "hw.id", n && t->gpus[n - 1].uuid[0] ? t->gpus[n - 1].uuid : id);
	if (n)
		otlp_string(t->out, false, "hw.name", t->gpus[n - 1].name);
	otlp_string(t->out, false, "hw.type", "gpu");
	otlp_number(t->out, false, "gpurec.gpu", (int64_t)index);
}

/* ,"asInt":"5" or ,"asDouble":0.05: the figure in the unit that the convention wants, to the digit. */
static void write_figure(struct out *o, const struct metric *m, uint64_t value)
{
	uint64_t scale = 1;

	for (uint8_t i = 0; i < m->decimals; i++)
		scale *= 10;
	if (m->decimals) {
		out_string(o, ",\"asDouble\":");
		out_u64(o, value / scale);
		out_char(o, '.');
		out_digits(o, value % scale, m->decimals);
		return;
	}
	for (uint8_t i = 0; i < m->zeros; i++)
		if (__builtin_mul_overflow(value, 10u, &value))
			value = INT64_MAX;
	out_string(o, ",\"asInt\":\"");
	out_u64(o, value > INT64_MAX ? INT64_MAX : value);
	out_char(o, '"');
}

static void write_metric(struct otlp *t, const struct walk *w, const struct event *ev, const struct metric *m,
			 const struct gauge *g)
{
	static const char *const forms[] = {[FORM_GAUGE] = "gauge", [FORM_SUM] = "sum", [FORM_UP_AND_DOWN] = "sum"};
	static const char *const more[] = {
		[FORM_GAUGE] = "", [FORM_SUM] = OTLP_CUMULATIVE, [FORM_UP_AND_DOWN] = OTLP_UP_AND_DOWN};

	otlp_begin_metric(t, w, OTLP_RECORDER, m->name, m->unit, forms[m->form]);
	otlp_nanoseconds(t->out, w, "{\"startTimeUnixNano\":", w->reader->header.start_boot_ns);
	otlp_nanoseconds(t->out, w, ",\"timeUnixNano\":", ev->at_ns);
	out_string(t->out, ",\"attributes\":[");
	if (m->kind == KIND_health)
		write_gpu(t, ev->v[g->id]);
	else
		otlp_number(t->out, true, "cpu.logical_number", (int64_t)ev->v[g->id]);
	if (m->key)
		otlp_string(t->out, false, m->key, m->value);
	out_char(t->out, ']');
	write_figure(t->out, m, ev->v[m->field]);
	out_char(t->out, '}');
	otlp_end_metric(t, more[m->form]);
}

/* A log record: errors of the driver and killed processes are errors, a recording that was reduced is a warning. */
static void write_log(struct otlp *t, const struct walk *w, const struct event *ev, const char *note)
{
	struct out *o = t->out;
	bool warning = ev->kind == KIND_reduction;

	out_string(o, "{\"resourceLogs\":[{");
	otlp_resource(t, w, OTLP_RECORDER);
	out_string(o, ",\"scopeLogs\":[{");
	otlp_scope(t);
	otlp_nanoseconds(o, w, ",\"logRecords\":[{\"timeUnixNano\":", ev->at_ns);
	out_string(o, warning ? ",\"severityNumber\":13,\"severityText\":\"WARN\""
			      : ",\"severityNumber\":17,\"severityText\":\"ERROR\"");
	out_string(o, ",\"body\":{\"stringValue\":");
	out_json(o, note, strlen(note));
	out_string(o, "},\"attributes\":[");
	otlp_string(o, true, "gpurec.event", ev->shape->name);
	for (uint8_t f = 1; f < ev->shape->nfields; f++) {
		char key[NAME_MAX_BYTES + 16];

		snprintf(key, sizeof(key), "gpurec.%s", ev->shape->fields[f].name);
		if (ev->shape->fields[f].encoding != ENC_TEXT && ev->v[f] <= INT64_MAX)
			otlp_number(o, false, key, (int64_t)ev->v[f]);
	}
	out_string(o, "]}]}]}]}\n");
}

int otlp_see_host(struct otlp *t, const struct walk *w, const struct event *ev, struct fault *why)
{
	char note[SENTENCE_MAX];
	size_t n;
	const struct gauge *all = gauges(&n);

	if (ev->kind == KIND_gpu)
		return see_gpu(t, ev, why);
	if (export_note(w, ev, note, sizeof(note)))
		write_log(t, w, ev, note);
	for (size_t i = 0; i < n; i++)
		for (size_t m = 0; gauge_reported(&all[i], ev) && m < sizeof(metrics) / sizeof(metrics[0]); m++)
			if (metrics[m].kind == all[i].kind && metrics[m].field == all[i].field)
				write_metric(t, w, ev, &metrics[m], &all[i]);
	return 0;
}
