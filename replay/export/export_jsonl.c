/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events as lines of JSON, one object each, with the fields of the capture's schema under their names. The keys and
 * forms are a contract (docs/SCHEMA.md, "Lines of JSON").
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "format/base/utf8.h"
#include "keys/completeness.h"
#include "keys/tool/tool.h"
#include "replay/export/export.h"
#include "replay/export/export_jsonl.h"

#define EXACT_MAX ((uint64_t)1 << 53) /* beyond it a reader with binary64 numbers (RFC 8259, 6) would round */

enum form { FORM_TIME, FORM_UINT, FORM_SINT, FORM_ADDRESS, FORM_TEXT, FORM_PROBE };

struct member {
	char key[NAME_MAX_BYTES + 8]; /* ,"grid_x": */
	uint8_t key_len;
	uint8_t form;
};

struct shape {
	char kind[NAME_MAX_BYTES + 16]; /* ,"kind":"launch" */
	size_t kind_len;
	uint8_t tid; /* field, or 0: none (field 0 is `at`) */
	struct member members[FIELDS_MAX];
};

struct jsonl_plan {
	const struct schema *schema;
	struct shape shapes[]; /* by the kind's place in the schema */
};

struct jsonl {
	struct out *out;
	struct pace pace;
	struct wall_text wall;
	const struct schema *schema;
	struct jsonl_plan *plan;
};

static enum form form_of(const struct kind *k, uint8_t f)
{
	const struct field *field = &k->fields[f];

	if (field->encoding == ENC_TEXT)
		return FORM_TEXT;
	if (field_is_signed(field))
		return FORM_SINT;
	if (field->unit == UNIT_ADDRESS)
		return FORM_ADDRESS;
	if (field->unit == UNIT_BOOT_NS || field->unit == UNIT_NS)
		return FORM_TIME;
	if (field->unit == UNIT_ID && !strcmp(field->name, "probe"))
		return FORM_PROBE;
	return FORM_UINT;
}

static void plan_shape(struct shape *s, const struct kind *k)
{
	s->kind_len = (size_t)snprintf(s->kind, sizeof(s->kind), ",\"kind\":\"%s\"", k->name);
	for (uint8_t f = 0; f < k->nfields; f++) {
		struct member *m = &s->members[f];

		m->key_len = (uint8_t)snprintf(m->key, sizeof(m->key), ",\"%s\":", k->fields[f].name);
		m->form = (uint8_t)form_of(k, f);
		if (k->fields[f].unit == UNIT_ID && !strcmp(k->fields[f].name, "tid"))
			s->tid = f;
	}
}

/* A number; in quotes when a reader could round it. */
static void write_u64(struct out *o, uint64_t value)
{
	if (value <= EXACT_MAX) {
		out_u64(o, value);
		return;
	}
	out_char(o, '"');
	out_u64(o, value);
	out_char(o, '"');
}

static void write_s64(struct out *o, int64_t value)
{
	if (value < -(int64_t)EXACT_MAX) {
		out_char(o, '"');
		out_s64(o, value);
		out_char(o, '"');
	} else if (value < 0) {
		out_s64(o, value);
	} else {
		write_u64(o, (uint64_t)value);
	}
}

static void write_text(struct out *o, const struct member *m, const char *name, const char *text, size_t n)
{
	out_json(o, text, n);
	if (utf8_valid(text, n))
		return;
	/* The string above shows U+FFFD for what is no UTF-8: here is what it really was. */
	out_bytes(o, m->key, 2);
	out_string(o, name);
	out_string(o, "_hex\":\"");
	for (size_t done = 0; done < n; done++)
		out_hex_bytes(o, (const uint8_t *)text + done, 1);
	out_char(o, '"');
}

static void write_member(struct out *o, const struct schema *schema, const struct event *ev, uint8_t f,
			 const struct member *m)
{
	uint64_t v = ev->v[f];
	const struct probe *probe;

	out_bytes(o, m->key, m->key_len);
	switch ((enum form)m->form) {
	case FORM_TIME:
		out_u64(o, v);
		break;
	case FORM_UINT:
		write_u64(o, v);
		break;
	case FORM_SINT:
		write_s64(o, (int64_t)v);
		break;
	case FORM_ADDRESS:
		out_char(o, '"');
		out_hex(o, v);
		out_char(o, '"');
		break;
	case FORM_TEXT:
		write_text(o, m, ev->shape->fields[f].name, ev->text[f], v);
		break;
	case FORM_PROBE:
		probe = schema_probe(schema, v);
		out_char(o, '"');
		out_string(o, probe ? probe->name : "");
		out_string(o, "\",\"probe_id\":");
		out_u64(o, v);
		break;
	}
}

int jsonl_plan_make(struct jsonl_plan **out, const struct schema *schema, struct fault *why)
{
	struct jsonl_plan *p = calloc(1, sizeof(*p) + schema->nkinds * sizeof(p->shapes[0]));

	if (!p)
		return fault_no_memory(why);
	p->schema = schema;
	for (size_t i = 0; i < schema->nkinds; i++)
		plan_shape(&p->shapes[i], &schema->kinds[i]);
	*out = p;
	return 0;
}

void jsonl_plan_free(struct jsonl_plan *p)
{
	free(p);
}

void jsonl_members(struct out *o, const struct jsonl_plan *p, const struct event *ev)
{
	const struct shape *s = &p->shapes[ev->shape - p->schema->kinds];

	for (uint8_t f = 1; f < ev->shape->nfields; f++)
		write_member(o, p->schema, ev, f, &s->members[f]);
}

/* With --time: the same moment by another clock, too. `at` stays what it is. */
static void write_clock(struct jsonl *j, const struct walk *w, uint64_t at_ns)
{
	uint64_t start_ns = w->reader->header.start_boot_ns;

	if (!w->replay->clock_asked || w->replay->clock == REPLAY_BOOT)
		return;
	if (w->replay->clock == REPLAY_WALL) {
		out_string(j->out, ",\"wall\":\"");
		export_wall(j->out, &j->wall, reader_wall_ns(w->reader, at_ns));
		out_char(j->out, '"');
		return;
	}
	out_string(j->out, at_ns < start_ns ? ",\"since_start\":-" : ",\"since_start\":");
	out_u64(j->out, at_ns < start_ns ? start_ns - at_ns : at_ns - start_ns);
}

/* With --speed: until the event's time comes; a long wait is announced. */
static void wait_for(struct jsonl *j, uint64_t at_ns)
{
	uint64_t wait_ns = pace_announce(&j->pace, at_ns);

	if (wait_ns) {
		out_string(j->out, "{\"kind\":\"pause\",\"until\":");
		out_u64(j->out, at_ns);
		out_string(j->out, ",\"wait\":");
		out_u64(j->out, wait_ns);
		out_bytes(j->out, "}\n", 2);
	}
	pace_wait(&j->pace, j->out, at_ns);
}

static int on_event(void *self, struct walk *w, const struct event *ev, struct fault *why)
{
	struct jsonl *j = self;
	struct out *o = j->out;
	const struct shape *s = &j->plan->shapes[ev->shape - j->schema->kinds];
	const struct kernel_name *kernel;

	(void)why;
	wait_for(j, ev->at_ns);
	out_string(o, "{\"at\":");
	out_u64(o, ev->at_ns);
	out_bytes(o, s->kind, s->kind_len);
	jsonl_members(o, j->plan, ev);
	if (s->tid) {
		const struct thread *t = tasks_find_thread(&w->tasks, (uint32_t)ev->v[s->tid]);

		if (t && t->json && ev->kind != KIND_thread) {
			out_string(o, ",\"thread\":\"");
			out_string(o, t->json);
			out_char(o, '"');
		}
	}
	kernel = kernels_of(&w->kernels, &w->tasks, ev);
	if (kernel) {
		out_string(o, ",\"kernel\":\"");
		out_string(o, kernel->json);
		out_char(o, '"');
	}
	write_clock(j, w, ev->at_ns);
	out_bytes(o, "}\n", 2);
	return out_stopped(o) ? WALK_ENOUGH : 0;
}

static void write_interval(struct out *o, uint64_t begin_ns, uint64_t end_ns)
{
	out_string(o, ",\"begin\":");
	out_u64(o, begin_ns);
	out_string(o, ",\"end\":");
	out_u64(o, end_ns);
}

static int on_growth(void *self, struct walk *w, const struct growth *g, struct fault *why)
{
	struct jsonl *j = self;
	struct out *o = j->out;

	(void)why;
	if (!export_shows_growth(w, g))
		return 0;
	out_string(o, "{\"kind\":\"");
	out_string(o, export_absence(w, g)->kind);
	out_char(o, '"');
	write_interval(o, g->begin_ns, g->end_ns);
	out_string(o, ",\"epoch\":");
	out_u64(o, g->epoch);
	out_string(o, ",\"probe\":\"");
	out_string(o, g->probe->name);
	out_string(o, "\",\"probe_id\":");
	out_u64(o, g->probe->id);
	out_string(o, ",\"cause\":\"");
	out_string(o, g->counter->name);
	out_string(o, "\",\"count\":");
	write_u64(o, g->delta);
	out_bytes(o, "}\n", 2);
	return out_stopped(o) ? WALK_ENOUGH : 0;
}

static int on_withheld(void *self, struct walk *w, const struct epoch *e, const struct chunk *c, struct fault *why)
{
	struct jsonl *j = self;
	struct out *o = j->out;
	const char *class = schema_class_name(j->schema, c->class);

	(void)why;
	if (!export_shows_withheld(w, c))
		return 0;
	out_string(o, "{\"kind\":\"withheld\"");
	write_interval(o, c->first_ns, c->last_ns);
	out_string(o, ",\"epoch\":");
	out_u64(o, e->number);
	out_string(o, ",\"class\":\"");
	out_string(o, class ? class : "");
	out_string(o, "\",\"rows\":");
	out_u64(o, c->nrows);
	out_bytes(o, "}\n", 2);
	return 0;
}

static int on_end(void *self, struct walk *w, const struct fault *stopped, struct fault *why)
{
	struct jsonl *j = self;
	struct out *o = j->out;
	const struct reader *r = w->reader;
	bool ended = !stopped && r->tail == TAIL_END && w->nepochs == r->nepochs;
	const char *text = ended ? reason_text(r->end.reason) : NULL;

	(void)why;
	out_string(o, "{\"kind\":\"end\",\"sealed\":");
	out_string(o, ended ? "true" : "false");
	if (ended) {
		out_string(o, ",\"reason\":");
		if (text)
			out_json(o, text, strlen(text));
		else
			out_u64(o, r->end.reason);
		if (r->end.has_exit_status) {
			out_string(o, ",\"command_status\":");
			out_s64(o, r->end.exit_status);
		}
	}
	if (stopped) {
		out_string(o, ",\"stopped\":");
		out_json(o, stopped->text, strlen(stopped->text));
	}
	out_bytes(o, "}\n", 2);
	return 0;
}

static void write_text_member(struct out *o, const char *key, const char *text)
{
	out_string(o, ",\"");
	out_string(o, key);
	out_string(o, "\":");
	out_json(o, text, strlen(text));
}

/* How much of the whole capture is missing, whatever part of it is written: as gpuverify --json says it. */
static void write_missing(struct out *o, const struct evidence *e)
{
	struct completeness c;

	completeness_of(&c, e);
	out_string(o, ",\"complete\":");
	out_string(o, completeness_is_full(&c) ? "true" : "false");
	out_string(o, ",\"happened\":");
	out_u64(o, c.happened);
	out_string(o, ",\"events_lost\":");
	out_u64(o, c.lost);
	out_string(o, ",\"events_left_out\":");
	out_u64(o, c.left_out);
	out_string(o, ",\"libraries_not_attached\":");
	out_u64(o, c.not_attached);
}

static void write_head(struct jsonl *j, const struct replay *replay)
{
	const struct evidence *e = replay->evidence;
	const struct header *h = &e->reader.header;
	struct out *o = j->out;
	char sentence[512];

	evidence_sentence(e, sentence, sizeof(sentence));
	out_string(o, "{\"kind\":\"capture\",\"id\":\"");
	out_hex_bytes(o, h->capture_id, CAPTURE_ID_BYTES);
	out_char(o, '"');
	write_text_member(o, "verdict", verdict_word(e->verification.verdict));
	out_string(o, ",\"unverified\":");
	out_string(o, replay->unverified ? "true" : "false");
	write_text_member(o, "sentence", sentence);
	write_text_member(o, "signer", e->signer);
	write_text_member(o, "signer_name", e->signer_name);
	out_string(o, ",\"start\":");
	out_u64(o, h->start_boot_ns);
	out_string(o, ",\"start_wall\":");
	out_u64(o, h->start_wall_ns);
	out_string(o, ",\"start_utc\":\"");
	export_wall(o, &(struct wall_text){0}, h->start_wall_ns);
	out_char(o, '"');
	write_missing(o, e);
	write_text_member(o, "tool", TOOL_VERSION);
	out_bytes(o, "}\n", 2);
}

static int write_lines(const struct replay *replay, struct out *o, struct fault *why)
{
	static const struct visitor visitor = {
		.growth = on_growth, .withheld = on_withheld, .event = on_event, .end = on_end};
	struct jsonl j = {
		.out = o, .pace = {.settings = replay->pace}, .schema = &replay->evidence->reader.header.schema};
	int r = jsonl_plan_make(&j.plan, j.schema, why);

	if (r)
		return r;
	write_head(&j, replay);
	r = walk(replay, &visitor, &j, why);
	jsonl_plan_free(j.plan);
	return r;
}

int jsonl_write(const struct replay *replay, int fd, struct fault *why)
{
	return export_file(replay, fd, write_lines, why);
}
