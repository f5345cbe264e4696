/* SPDX-License-Identifier: Apache-2.0 */
/* Events as lines of text. How a kind's line is put together is planned once, from the schema; then it is copying. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "replay/exporter.h"
#include "replay/out.h"
#include "replay/words.h"

#define WHO_WIDTH 22
#define WHAT_WIDTH 22
#define LINE_HEAD_MAX 4096 /* room for time, who, what: so that no flush comes between them and their padding */
#define NO_FIELD 0xff

enum style {
	STYLE_UINT,
	STYLE_SINT,
	STYLE_HEX,
	STYLE_DURATION,
	STYLE_TIME,
	STYLE_TEXT,
	STYLE_THREAD,
	STYLE_ENUM,
	STYLE_STATE,
	STYLE_NESTED
};

struct step {
	char prefix[NAME_MAX_BYTES + 4]; /* " grid=" */
	uint8_t prefix_len;
	uint8_t field;
	uint8_t style;
};

struct plan {
	uint8_t who;  /* field with the thread that did it, or NO_FIELD */
	uint8_t what; /* field with the probe, or NO_FIELD: the kind's name */
	uint8_t nsteps;
	struct step steps[FIELDS_MAX];
};

struct text {
	struct out out;
	const struct schema *schema;
	enum replay_clock clock;
	uint64_t start_ns;
	struct plan *plans; /* by the kind's place in the schema */
	/* wall clock: the last whole second, written */
	uint64_t wall_second;
	char wall_text[32];
};

static uint8_t field_named(const struct kind *k, const char *name)
{
	for (uint8_t i = 0; i < k->nfields; i++)
		if (!strcmp(k->fields[i].name, name))
			return i;
	return NO_FIELD;
}

static bool ends_with(const char *name, const char *end)
{
	size_t len = strlen(name), n = strlen(end);

	return len >= n && !strcmp(name + len - n, end);
}

static enum style style_of(const struct kind *k, uint8_t f)
{
	static const struct {
		uint16_t kind;
		uint8_t field;
		enum style style;
	} own[] = {
		{KIND_switch, F_switch_prev_state, STYLE_STATE}, {KIND_alloc, F_alloc_memory, STYLE_ENUM},
		{KIND_free, F_free_memory, STYLE_ENUM},          {KIND_copy, F_copy_direction, STYLE_ENUM},
		{KIND_waking, F_waking_context, STYLE_ENUM},     {KIND_futex, F_futex_op, STYLE_ENUM},
	};
	const struct field *field = &k->fields[f];

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (own[i].kind == k->id && own[i].field == f)
			return own[i].style;
	if (k->flags == KIND_CALL && f == F_call_flags)
		return STYLE_NESTED;
	if (field->encoding == ENC_TEXT)
		return STYLE_TEXT;
	if (field->encoding == ENC_SINT)
		return STYLE_SINT;
	if (field->unit == UNIT_ID && ends_with(field->name, "tid"))
		return STYLE_THREAD;
	switch (field->unit) {
	case UNIT_ADDRESS:
	case UNIT_FLAGS:
		return STYLE_HEX;
	case UNIT_NS:
		return STYLE_DURATION;
	case UNIT_BOOT_NS:
		return STYLE_TIME;
	default:
		return STYLE_UINT;
	}
}

static void add_step(struct plan *p, const struct kind *k, uint8_t f)
{
	struct step *s = &p->steps[p->nsteps++];
	const char *name = k->fields[f].name;
	bool tail = ends_with(name, "_y") || ends_with(name, "_z");

	/* grid_x, grid_y, grid_z become grid=256x1x1. */
	if (tail)
		snprintf(s->prefix, sizeof(s->prefix), "x");
	else if (ends_with(name, "_x"))
		snprintf(s->prefix, sizeof(s->prefix), " %.*s=", (int)strlen(name) - 2, name);
	else
		snprintf(s->prefix, sizeof(s->prefix), " %s=", name);
	s->prefix_len = (uint8_t)strlen(s->prefix);
	s->field = f;
	s->style = (uint8_t)style_of(k, f);
}

static void plan_kind(struct plan *p, const struct kind *k)
{
	static const char *const last[] = {"dur", "ret", "flags", "cpu"}; /* the same everywhere: after what differs */
	uint8_t hidden[] = {0, NO_FIELD, NO_FIELD, NO_FIELD};

	*p = (struct plan){.who = field_named(k, "tid"), .what = NO_FIELD};
	if (k->id == KIND_switch)
		p->who = F_switch_prev_tid;
	if (k->id == KIND_waking)
		p->who = F_waking_waker_tid; /* who does it stands first */
	if (k->flags == KIND_CALL)
		p->what = F_call_probe;
	hidden[1] = p->who;
	hidden[2] = p->what;
	hidden[3] = p->who != NO_FIELD && !strcmp(k->fields[p->who].name, "tid") ? field_named(k, "pid") : NO_FIELD;
	for (uint8_t f = 0; f < k->nfields; f++) {
		bool later = memchr(hidden, f, sizeof(hidden)) != NULL;

		for (size_t i = 0; i < sizeof(last) / sizeof(last[0]); i++)
			later |= !strcmp(k->fields[f].name, last[i]);
		if (!later)
			add_step(p, k, f);
	}
	for (size_t i = 0; i < sizeof(last) / sizeof(last[0]); i++) {
		uint8_t f = field_named(k, last[i]);

		if (f != NO_FIELD)
			add_step(p, k, f);
	}
}

static void write_time(struct text *t, const struct walk *w, uint64_t at_ns)
{
	uint64_t wall_ns;

	switch (t->clock) {
	case REPLAY_BOOT:
		out_seconds(&t->out, at_ns);
		return;
	case REPLAY_RELATIVE:
		out_char(&t->out, at_ns < t->start_ns ? '-' : '+');
		out_seconds(&t->out, at_ns < t->start_ns ? t->start_ns - at_ns : at_ns - t->start_ns);
		return;
	case REPLAY_WALL:
		break;
	}
	wall_ns = reader_wall_ns(w->reader, at_ns);
	if (wall_ns / 1000000000 != t->wall_second || !t->wall_text[0]) {
		time_t second = (time_t)(wall_ns / 1000000000);
		struct tm tm;

		t->wall_second = wall_ns / 1000000000;
		if (!gmtime_r(&second, &tm) || !strftime(t->wall_text, sizeof(t->wall_text), "%Y-%m-%dT%H:%M:%S.", &tm))
			snprintf(t->wall_text, sizeof(t->wall_text), "%llu.", (unsigned long long)t->wall_second);
	}
	out_string(&t->out, t->wall_text);
	out_digits(&t->out, wall_ns % 1000000000, 9);
	out_char(&t->out, 'Z');
}

static void write_thread(struct text *t, const struct walk *w, uint64_t tid)
{
	const struct thread *thread = people_find_thread(&w->people, (uint32_t)tid);

	out_string(&t->out, thread && thread->name ? thread->name : tid == 0 ? "idle" : "?");
	out_char(&t->out, '/');
	out_u64(&t->out, tid);
}

static void write_step(struct text *t, const struct walk *w, const struct event *ev, const struct step *s)
{
	struct out *o = &t->out;
	uint64_t v = ev->v[s->field];
	const char *word;

	if (s->style == STYLE_NESTED) {
		if (v & CALL_NESTED)
			out_string(o, " nested");
		return;
	}
	out_bytes(o, s->prefix, s->prefix_len);
	switch ((enum style)s->style) {
	case STYLE_SINT:
		out_s64(o, (int64_t)v);
		break;
	case STYLE_HEX:
		out_hex(o, v);
		break;
	case STYLE_DURATION:
		out_duration(o, v);
		break;
	case STYLE_TIME:
		write_time(t, w, v);
		break;
	case STYLE_TEXT:
		out_terminal_quoted(o, ev->text[s->field], v);
		break;
	case STYLE_THREAD:
		write_thread(t, w, v);
		break;
	case STYLE_STATE:
		out_string(o, state_word(v));
		break;
	case STYLE_ENUM:
		word = enum_word(ev->kind, s->field, v);
		if (word)
			out_string(o, word);
		else
			out_u64(o, v);
		break;
	case STYLE_UINT:
	case STYLE_NESTED:
		out_u64(o, v);
		break;
	}
}

static int on_event(void *self, struct walk *w, const struct event *ev, struct fault *why)
{
	struct text *t = self;
	struct out *o = &t->out;
	const struct plan *p = &t->plans[ev->shape - t->schema->kinds];
	const struct probe *probe;
	size_t from;

	(void)why;
	out_reserve(o, LINE_HEAD_MAX);
	write_time(t, w, ev->at_ns);
	out_char(o, ' ');
	from = o->len;
	if (p->who != NO_FIELD)
		write_thread(t, w, ev->v[p->who]);
	else
		out_char(o, '-');
	out_pad(o, from, WHO_WIDTH);
	out_char(o, ' ');
	from = o->len;
	probe = p->what != NO_FIELD ? schema_probe(t->schema, (uint16_t)ev->v[p->what]) : NULL;
	out_string(o, probe ? probe->name : ev->shape->name);
	if (p->nsteps > 0)
		out_pad(o, from, WHAT_WIDTH);
	for (uint8_t i = 0; i < p->nsteps; i++)
		write_step(t, w, ev, &p->steps[i]);
	out_char(o, '\n');
	return out_stopped(o) ? WALK_ENOUGH : 0;
}

static void write_interval(struct text *t, const struct walk *w, uint64_t begin_ns, uint64_t end_ns)
{
	if (begin_ns == end_ns) {
		out_string(&t->out, " at ");
	} else {
		out_string(&t->out, " between ");
		write_time(t, w, begin_ns);
		out_string(&t->out, " and ");
	}
	write_time(t, w, end_ns);
}

static int on_growth(void *self, struct walk *w, const struct growth *g, struct fault *why)
{
	struct text *t = self;
	struct out *o = &t->out;

	(void)why;
	if ((g->counter->role != ROLE_LOST && g->counter->role != ROLE_NOTED) ||
	    !filter_concerns(w->replay->filter, g->probe->kind, g->begin_ns, g->end_ns))
		return 0;
	out_string(o, g->counter->role == ROLE_LOST ? "# lost: " : "# incomplete: ");
	out_u64(o, g->delta);
	out_char(o, ' ');
	out_string(o, g->probe->name);
	write_interval(t, w, g->begin_ns, g->end_ns);
	out_string(o, ": ");
	out_string(o, counter_words(g->counter));
	out_char(o, '\n');
	return out_stopped(o) ? WALK_ENOUGH : 0;
}

static int on_withheld(void *self, struct walk *w, const struct epoch *e, const struct chunk *c, struct fault *why)
{
	struct text *t = self;
	const char *class = schema_class_name(t->schema, c->class);

	(void)why;
	(void)e;
	if (c->first_ns >= w->replay->filter->to_ns || c->last_ns < w->replay->filter->from_ns)
		return 0;
	out_string(&t->out, "# withheld: ");
	out_u64(&t->out, c->nrows);
	out_string(&t->out, " rows of class ");
	out_string(&t->out, class ? class : "?");
	write_interval(t, w, c->first_ns, c->last_ns);
	out_char(&t->out, '\n');
	return 0;
}

static int on_end(void *self, struct walk *w, const struct fault *stopped, struct fault *why)
{
	struct text *t = self;

	(void)why;
	if (stopped) {
		out_string(&t->out, "# stopped: ");
		out_terminal(&t->out, stopped->text, strlen(stopped->text));
		out_char(&t->out, '\n');
	} else if (w->replay->evidence->verification.verdict == VERDICT_UNSEALED) {
		out_string(&t->out, "# unsealed: the capture stops here without an end\n");
	}
	return 0;
}

static void write_head(struct text *t, const struct replay *replay)
{
	char sentence[512];

	if (!replay->unverified && replay->evidence->verification.verdict == VERDICT_OK)
		return;
	evidence_sentence(replay->evidence, sentence, sizeof(sentence));
	out_string(&t->out, "# ");
	out_string(&t->out, sentence);
	if (replay->unverified)
		out_string(&t->out, "; read with --unverified");
	out_char(&t->out, '\n');
}

int text_write(const struct replay *replay, int fd, struct fault *why)
{
	static const struct visitor visitor = {
		.growth = on_growth, .withheld = on_withheld, .event = on_event, .end = on_end};
	const struct header *header = &replay->evidence->reader.header;
	struct text t = {.schema = &header->schema, .clock = replay->clock, .start_ns = header->start_boot_ns};
	int r = out_open(&t.out, fd, why);

	if (r)
		return r;
	t.plans = calloc(t.schema->nkinds, sizeof(*t.plans));
	if (!t.plans) {
		r = fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "no memory for %zu kinds", t.schema->nkinds);
		goto out;
	}
	for (size_t i = 0; i < t.schema->nkinds; i++)
		plan_kind(&t.plans[i], &t.schema->kinds[i]);
	write_head(&t, replay);
	r = walk(replay, &visitor, &t, why);
	/* What was read up to a fault is shown all the same; the fault is the answer. */
	if (out_finish(&t.out, r ? NULL : why) && !r)
		r = ERR_IO;
out:
	free(t.plans);
	out_close(&t.out);
	return r;
}

int text_write_file(const struct replay *replay, const char *path, struct fault *why)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), r;

	if (fd < 0)
		return fault_errno(why, "cannot open the output");
	r = text_write(replay, fd, why);
	if (close(fd) != 0 && !r)
		r = fault_errno(why, "cannot write the output");
	return r;
}
