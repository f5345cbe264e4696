/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comma-separated values (RFC 4180, but lines end with a line feed). Asked for one kind of event, a column for each of
 * its fields; else what all kinds have in common, and the rest as a JSON object. Text is escaped as for a terminal, so
 * that a cell has no line breaks and can be turned back; so are a semicolon and what begins a formula in a spreadsheet.
 */
#include <stdio.h>
#include <stdlib.h>

#include "format/base/escape.h"
#include "keys/completeness.h"
#include "replay/export/export.h"
#include "replay/export/export_jsonl.h"

#define CELL_MAX ((size_t)FIELDS_MAX * (TEXT_MAX * (ESCAPE_GROWTH + 2) + 256)) /* an event as JSON */

struct csv {
	struct out *out;
	const struct schema *schema;
	struct jsonl_plan *plan;
	struct out cell; /* a JSON object in the making; never flushed */
	struct wall_text wall;
	const struct kind *only; /* a column for each of its fields; NULL: all kinds */
	char capture[SENTENCE_MAX];
	bool any; /* a row of `only` was written */
};

/*
 * Text inside quotes, which has no control characters; `semicolon` is written for each ';'. Where the list separator is
 * a semicolon, a spreadsheet begins a new cell there, for the quote then is not the first character of its cell.
 */
static void write_quoted(struct out *o, const char *text, size_t n, const char *semicolon)
{
	const char *end = text + n, *special;

	for (; text < end; text = special) {
		size_t room = (size_t)(end - text) < TEXT_MAX ? (size_t)(end - text) : TEXT_MAX;

		for (special = text; special < text + room && *special != '"' && *special != ';'; special++)
			;
		out_bytes(o, text, (size_t)(special - text));
		if (special < text + room) {
			out_string(o, *special == '"' ? "\"\"" : semicolon);
			special++;
		}
	}
}

/* What was gathered as a JSON object. */
static void write_json(struct csv *c)
{
	out_char(c->out, '"');
	write_quoted(c->out, c->cell.buf, c->cell.len, "\\u003b");
	out_char(c->out, '"');
}

/*
 * How many bytes at the beginning of `text` are a sign that a spreadsheet takes for the beginning of a formula (OWASP,
 * "CSV Injection": also the full-width forms, which some locales read as the narrow ones), and how it is escaped.
 */
static size_t formula_sign(const char *text, const char **escaped)
{
	static const struct {
		const char *sign, *escaped;
	} signs[] = {
		{"=", "\\x3d"},
		{"+", "\\x2b"},
		{"-", "\\x2d"},
		{"@", "\\x40"},
		{"\xef\xbc\x9d", "\\u{ff1d}"},
		{"\xef\xbc\x8b", "\\u{ff0b}"},
		{"\xef\xbc\x8d", "\\u{ff0d}"},
		{"\xef\xbc\xa0", "\\u{ff20}"},
	};

	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
		size_t n = strlen(signs[i].sign);

		if (strncmp(text, signs[i].sign, n) == 0) {
			*escaped = signs[i].escaped;
			return n;
		}
	}
	return 0;
}

/* Text out of a capture, which is escaped for a terminal already. */
static void write_text(struct out *o, const char *text)
{
	size_t nblanks = strspn(text, " "), nsign;
	const char *escaped = "";

	nsign = formula_sign(text + nblanks, &escaped);
	if (nsign == 0 && text[strcspn(text, ",;\" ")] == '\0') {
		write_quoted(o, text, strlen(text), "");
		return;
	}
	if (nsign == 0)
		nblanks = 0;
	out_char(o, '"');
	write_quoted(o, text, nblanks, "");
	out_string(o, escaped);
	text += nblanks + nsign;
	write_quoted(o, text, strlen(text), "\\x3b");
	out_char(o, '"');
}

/* The bytes of a TEXT field. */
static void write_field_text(struct csv *c, const char *text, size_t n)
{
	c->cell.buf[escape_terminal(c->cell.buf, c->cell.room, text, n)] = '\0';
	write_text(c->out, c->cell.buf);
}

static void write_field(struct csv *c, const struct event *ev, uint8_t f)
{
	const struct field *field = &ev->shape->fields[f];
	const struct probe *probe;

	if (field->encoding == ENC_TEXT) {
		write_field_text(c, ev->text[f], (size_t)ev->v[f]);
	} else if (field_is_signed(field)) {
		out_s64(c->out, (int64_t)ev->v[f]);
	} else if (field->unit == UNIT_ADDRESS) {
		out_hex(c->out, ev->v[f]);
	} else if (field->unit == UNIT_ID && !strcmp(field->name, "probe")) {
		probe = schema_probe(c->schema, ev->v[f]);
		out_string(c->out, probe ? probe->name : "");
	} else {
		out_u64(c->out, ev->v[f]);
	}
}

/* ev NULL: the row with what is known of the capture, where no event was selected that could have it. */
static void write_own_columns(struct csv *c, const struct event *ev)
{
	for (uint8_t f = 0; f < c->only->nfields; f++) {
		if (ev)
			write_field(c, ev, f);
		out_char(c->out, ',');
	}
	write_text(c->out, c->capture);
	out_char(c->out, '\n');
	c->any = true;
}

/* kind,at_ns,wall, */
static void write_start(struct csv *c, const struct walk *w, const char *kind, uint64_t at_ns)
{
	out_string(c->out, kind);
	out_char(c->out, ',');
	out_u64(c->out, at_ns);
	out_char(c->out, ',');
	export_wall(c->out, &c->wall, reader_wall_ns(w->reader, at_ns));
	out_char(c->out, ',');
}

static void write_event(struct csv *c, const struct walk *w, const struct event *ev)
{
	static const char *const numbers[] = {"pid", "tid", "cpu", "dur"};
	uint8_t pid = export_field_named(ev->shape, "pid"), tid = export_tid_field(ev->shape), ret;

	write_start(c, w, ev->shape->name, ev->at_ns);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		uint8_t f = i == 1 ? tid : export_field_named(ev->shape, numbers[i]);

		if (f)
			out_u64(c->out, ev->v[f]);
		out_char(c->out, ',');
	}
	if (pid)
		write_text(c->out, export_process_name(w, (uint32_t)ev->v[pid]));
	out_char(c->out, ',');
	if (tid)
		write_text(c->out, export_thread_name(w, (uint32_t)ev->v[tid]));
	out_char(c->out, ',');
	if (ev->shape->flags == KIND_CALL)
		out_string(c->out, export_event_name(c->schema, ev));
	out_char(c->out, ',');
	ret = export_field_named(ev->shape, "ret");
	if (ret)
		out_s64(c->out, (int64_t)ev->v[ret]);
	out_char(c->out, ',');
	c->cell.len = 0;
	out_string(&c->cell, "{\"at\":");
	out_u64(&c->cell, ev->at_ns);
	jsonl_members(&c->cell, c->plan, ev);
	out_char(&c->cell, '}');
	write_json(c);
	out_char(c->out, '\n');
}

static int on_event(void *self, struct walk *w, const struct event *ev, struct fault *why)
{
	struct csv *c = self;

	(void)why;
	if (c->only)
		write_own_columns(c, ev);
	else
		write_event(c, w, ev);
	return out_stopped(c->out) ? WALK_ENOUGH : 0;
}

/* A row that is no event: what is to be said is in the last column. */
static void write_mark(struct csv *c, const struct walk *w, const char *kind, uint64_t at_ns, const char *probe,
		       const char *key, const char *text)
{
	if (c->only)
		return;
	write_start(c, w, kind, at_ns);
	out_string(c->out, ",,,,,,");
	out_string(c->out, probe);
	out_string(c->out, ",,");
	c->cell.len = 0;
	out_string(&c->cell, "{\"");
	out_string(&c->cell, key);
	out_string(&c->cell, "\":");
	out_json(&c->cell, text, strlen(text));
	out_char(&c->cell, '}');
	write_json(c);
	out_char(c->out, '\n');
}

static int on_growth(void *self, struct walk *w, const struct growth *g, struct fault *why)
{
	char text[SENTENCE_MAX];

	(void)why;
	if (export_loss(w, g, text, sizeof(text)))
		write_mark(self, w, export_absence(w, g)->kind, g->end_ns, g->probe->name, "what", text);
	return 0;
}

static int on_withheld(void *self, struct walk *w, const struct epoch *e, const struct chunk *chunk, struct fault *why)
{
	char text[SENTENCE_MAX];

	(void)e;
	(void)why;
	if (export_withheld(w, chunk, text, sizeof(text)))
		write_mark(self, w, "withheld", chunk->first_ns, "", "what", text);
	return 0;
}

static int on_end(void *self, struct walk *w, const struct fault *stopped, struct fault *why)
{
	const char *cut = export_cut(w, stopped);
	struct csv *c = self;

	(void)why;
	if (c->only && !c->any)
		write_own_columns(c, NULL);
	write_mark(self, w, "end", export_end_ns(w), "", "what", cut ? cut : "sealed");
	return 0;
}

/* The kind whose fields are the columns: the only one that was asked for. */
static const struct kind *only_kind(const struct filter *f, const struct schema *s)
{
	const struct kind *only = NULL;

	for (size_t i = 0; f->some_kinds && i < s->nkinds; i++) {
		if (!f->kinds[s->kinds[i].id])
			continue;
		if (only)
			return NULL;
		only = &s->kinds[i];
	}
	return only;
}

static void write_head(struct csv *c, const struct replay *replay)
{
	const struct walk w = {.replay = replay, .reader = &replay->evidence->reader};
	char sentence[SENTENCE_MAX];

	for (uint8_t f = 0; c->only && f < c->only->nfields; f++) {
		out_string(c->out, c->only->fields[f].name);
		out_char(c->out, ',');
	}
	out_string(c->out,
		   c->only ? "capture\n" : "kind,at_ns,wall,pid,tid,cpu,dur_ns,process,thread,call,ret,fields\n");
	export_sentence(replay, sentence, sizeof(sentence));
	write_mark(c, &w, "capture", replay->evidence->reader.header.start_boot_ns, "", "verdict", sentence);
}

/* "OK", "UNVERIFIED:FORGED", "OK, 3 of 20 events (15.0 %) were lost" */
static void capture_words(char *buf, size_t size, const struct replay *replay)
{
	char missing[COMPLETENESS_WORDS];

	completeness_missing(missing, replay->evidence);
	snprintf(buf, size, "%s%s%s%s", replay->unverified ? "UNVERIFIED:" : "",
		 verdict_word(replay->evidence->verification.verdict), missing[0] ? ", " : "", missing);
}

static int write_csv(const struct replay *replay, struct out *o, struct fault *why)
{
	static const struct visitor visitor = {
		.growth = on_growth, .withheld = on_withheld, .event = on_event, .end = on_end};
	const struct evidence *e = replay->evidence;
	struct csv c = {.out = o, .schema = &e->reader.header.schema, .cell = {.fd = -1, .room = CELL_MAX}};
	int r = jsonl_plan_make(&c.plan, c.schema, why);

	if (r)
		return r;
	c.cell.buf = malloc(CELL_MAX);
	if (!c.cell.buf) {
		r = fault_no_memory(why);
		goto out;
	}
	c.only = only_kind(replay->filter, c.schema);
	capture_words(c.capture, sizeof(c.capture), replay);
	write_head(&c, replay);
	r = walk(replay, &visitor, &c, why);
out:
	free(c.cell.buf);
	jsonl_plan_free(c.plan);
	return r;
}

int csv_write_file(const struct replay *replay, int fd, struct fault *why)
{
	return export_file(replay, fd, write_csv, why);
}
