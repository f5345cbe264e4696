/* SPDX-License-Identifier: Apache-2.0 */
/* Events as lines of text. How a kind's line is put together is planned once, from the schema; then it is copying. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "replay/export/export.h"
#include "replay/out.h"
#include "replay/export/text_plan.h"

#define WHO_WIDTH 22
#define WHAT_WIDTH 22
#define LINE_HEAD_MAX 4096 /* room for time, who, what: so that no flush comes between them and their padding */

struct text {
	struct out *out;
	const struct schema *schema;
	enum replay_clock clock;
	struct pace pace;
	uint64_t start_ns;
	struct plan *plans; /* by the kind's place in the schema */
	struct wall_text wall;
};

static void write_time(struct text *t, const struct walk *w, uint64_t at_ns)
{
	switch (t->clock) {
	case REPLAY_BOOT:
		out_seconds(t->out, at_ns);
		return;
	case REPLAY_RELATIVE:
		out_char(t->out, at_ns < t->start_ns ? '-' : '+');
		out_seconds(t->out, at_ns < t->start_ns ? t->start_ns - at_ns : at_ns - t->start_ns);
		return;
	case REPLAY_WALL:
		break;
	}
	export_wall(t->out, &t->wall, reader_wall_ns(w->reader, at_ns));
}

static void write_thread(struct text *t, const struct walk *w, uint64_t tid)
{
	out_string(t->out, export_thread_name(w, (uint32_t)tid));
	out_char(t->out, '/');
	out_u64(t->out, tid);
}

static void write_process(struct text *t, const struct walk *w, uint64_t pid)
{
	out_string(t->out, pid ? export_process_name(w, (uint32_t)pid) : "-");
	out_char(t->out, '/');
	out_u64(t->out, pid);
}

/* The name of a table's line in the schema; its number if there is none. */
static void write_named(struct out *o, const char *name, uint64_t id)
{
	if (name)
		out_string(o, name);
	else
		out_u64(o, id);
}

static void write_kind(struct text *t, uint64_t id)
{
	const struct kind *k = id <= UINT16_MAX ? schema_kind(t->schema, (uint16_t)id) : NULL;

	write_named(t->out, k ? k->name : id ? NULL : "all", id);
}

static void write_counter(struct text *t, uint64_t id)
{
	const struct counter_type *c = id <= UINT8_MAX ? schema_counter(t->schema, (uint8_t)id) : NULL;

	write_named(t->out, c ? c->name : NULL, id);
}

static void write_probe(struct text *t, uint64_t id)
{
	const struct probe *p = schema_probe(t->schema, id);

	write_named(t->out, p ? p->name : NULL, id);
}

static void write_name(struct out *o, const struct event *ev, uint8_t field)
{
	char name[NAME_SHOWN_MAX];

	out_terminal_quoted(o, name, name_shown(name, ev, field));
}

static void write_value(struct text *t, const struct walk *w, const struct event *ev, const struct step *s)
{
	struct out *o = t->out;
	uint64_t v = ev->v[s->field] - s->less_one;

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
	case STYLE_NAME:
		write_name(o, ev, s->field);
		break;
	case STYLE_THREAD:
		write_thread(t, w, v);
		break;
	case STYLE_STATE:
		out_string(o, state_word(v));
		break;
	case STYLE_ENUM:
		write_named(o, step_word(s, v), v);
		break;
	case STYLE_PROBE:
		write_probe(t, v);
		break;
	case STYLE_KIND:
		write_kind(t, v);
		break;
	case STYLE_COUNTER:
		write_counter(t, v);
		break;
	case STYLE_STATUS:
		out_u64(o, v);
		if (!v)
			break;
		out_string(o, " (");
		out_string(o, status_words((char[STATUS_WORDS]){0}, v));
		out_char(o, ')');
		break;
	case STYLE_UINT:
	case STYLE_NESTED:
	case STYLE_FLIGHT:
	case STYLE_SWITCH_FLAGS:
		out_u64(o, v);
		break;
	}
}

static void write_step(struct text *t, const struct walk *w, const struct event *ev, const struct step *s)
{
	uint64_t v = ev->v[s->field];

	if ((s->unless_zero && v == 0) || (s->known_bit && !(ev->v[F_health_known] >> s->known_bit & 1)))
		return;
	if (s->style == STYLE_NESTED || s->style == STYLE_FLIGHT) {
		out_string(t->out, v & CALL_NESTED ? " nested" : "");
		if (s->style == STYLE_FLIGHT) {
			out_string(t->out, v & FLIGHT_PRIVATE ? " private" : "");
			out_string(t->out, v & FLIGHT_UNTIMED ? " untimed" : "");
		}
		return;
	}
	if (s->style == STYLE_SWITCH_FLAGS && (v & ~(uint64_t)SWITCH_KNOWN) == 0) {
		out_string(t->out, v & SWITCH_IO ? " io" : "");
		out_string(t->out, v & SWITCH_FAULT ? " fault" : "");
		out_string(t->out, v & SWITCH_THROTTLED ? " throttled" : "");
		out_string(t->out, v & SWITCH_PINNED ? " pinned" : "");
		out_string(t->out, v & SWITCH_MOVED ? " moved" : "");
		out_string(t->out, v & SWITCH_YIELDED ? " yielded" : "");
		out_string(t->out, v & SWITCH_FROZEN ? " frozen" : "");
		out_string(t->out, v & SWITCH_MEMORY ? " memory" : "");
		out_string(t->out, v & SWITCH_WRITES ? " writes" : "");
		return;
	}
	out_bytes(t->out, s->prefix, s->prefix_len);
	write_value(t, w, ev, s);
}

/* The kernel that a launch started, if its name is reported. */
static void write_kernel(struct text *t, const struct walk *w, const struct event *ev)
{
	const struct kernel_name *name = kernels_of(&w->kernels, &w->tasks, ev);
	struct out *o = t->out;
	const char *from, *quote;

	if (!name)
		return;
	out_string(o, " kernel=\"");
	for (from = name->terminal; (quote = strchr(from, '"')); from = quote + 1) {
		out_bytes(o, from, (size_t)(quote - from));
		out_bytes(o, "\\\"", 2);
	}
	out_string(o, from);
	out_char(o, '"');
}

/* With --speed: until the event's time comes; a long wait is announced. */
static void wait_for(struct text *t, const struct walk *w, uint64_t at_ns)
{
	uint64_t wait_ns = pace_announce(&t->pace, at_ns);

	if (wait_ns) {
		out_string(t->out, "# nothing happens until ");
		write_time(t, w, at_ns);
		out_string(t->out, ": wait ");
		out_duration(t->out, wait_ns);
		out_char(t->out, '\n');
	}
	pace_wait(&t->pace, t->out, at_ns);
}

static int on_event(void *self, struct walk *w, const struct event *ev, struct fault *why)
{
	struct text *t = self;
	struct out *o = t->out;
	const struct plan *p = &t->plans[ev->shape - t->schema->kinds];
	const struct probe *probe;
	size_t from;

	(void)why;
	wait_for(t, w, ev->at_ns);
	out_reserve(o, LINE_HEAD_MAX);
	write_time(t, w, ev->at_ns);
	out_char(o, ' ');
	from = o->len;
	if (p->who_is_process)
		write_process(t, w, ev->v[p->who]);
	else if (p->who != NO_FIELD)
		write_thread(t, w, ev->v[p->who]);
	else
		out_char(o, '-');
	out_pad(o, from, WHO_WIDTH);
	out_char(o, ' ');
	from = o->len;
	probe = p->what != NO_FIELD ? schema_probe(t->schema, ev->v[p->what]) : NULL;
	out_string(o, probe ? probe->name : ev->shape->name);
	if (p->nsteps > 0)
		out_pad(o, from, WHAT_WIDTH);
	write_kernel(t, w, ev);
	for (uint8_t i = 0; i < p->nsteps; i++)
		write_step(t, w, ev, &p->steps[i]);
	out_char(o, '\n');
	return out_stopped(o) ? WALK_ENOUGH : 0;
}

static void write_interval(struct text *t, const struct walk *w, uint64_t begin_ns, uint64_t end_ns)
{
	if (begin_ns == end_ns) {
		out_string(t->out, " at ");
	} else {
		out_string(t->out, " between ");
		write_time(t, w, begin_ns);
		out_string(t->out, " and ");
	}
	write_time(t, w, end_ns);
}

static int on_growth(void *self, struct walk *w, const struct growth *g, struct fault *why)
{
	struct text *t = self;
	struct out *o = t->out;

	(void)why;
	if (!export_shows_growth(w, g))
		return 0;
	out_string(o, "# ");
	out_string(o, export_absence(w, g)->head);
	out_string(o, ": ");
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
	if (!export_shows_withheld(w, c))
		return 0;
	out_string(t->out, "# withheld: ");
	out_u64(t->out, c->nrows);
	out_string(t->out, " rows of class ");
	out_string(t->out, class ? class : "?");
	write_interval(t, w, c->first_ns, c->last_ns);
	out_char(t->out, '\n');
	return 0;
}

static int on_end(void *self, struct walk *w, const struct fault *stopped, struct fault *why)
{
	struct text *t = self;

	(void)why;
	if (stopped) {
		out_string(t->out, "# stopped: ");
		out_terminal(t->out, stopped->text, strlen(stopped->text));
		out_char(t->out, '\n');
	} else if (w->replay->evidence->verification.verdict == VERDICT_UNSEALED) {
		out_string(t->out, "# unsealed: the capture stops here without an end\n");
	}
	return 0;
}

static void write_head(struct text *t, const struct replay *replay)
{
	char sentence[SENTENCE_MAX];

	export_sentence(replay, sentence, sizeof(sentence));
	out_string(t->out, "# ");
	out_string(t->out, sentence);
	out_char(t->out, '\n');
}

static int write_lines(const struct replay *replay, struct out *o, struct fault *why)
{
	static const struct visitor visitor = {
		.growth = on_growth, .withheld = on_withheld, .event = on_event, .end = on_end};
	const struct header *header = &replay->evidence->reader.header;
	struct text t = {.out = o,
			 .schema = &header->schema,
			 .clock = replay->clock,
			 .pace = {.settings = replay->pace},
			 .start_ns = header->start_boot_ns};
	int r;

	o->ascii = replay->ascii;
	t.plans = calloc(t.schema->nkinds, sizeof(*t.plans));
	if (!t.plans)
		return fault_no_memory(why);
	for (size_t i = 0; i < t.schema->nkinds; i++)
		plan_kind(&t.plans[i], &t.schema->kinds[i]);
	write_head(&t, replay);
	r = walk(replay, &visitor, &t, why);
	free(t.plans);
	return r;
}

int text_write(const struct replay *replay, int fd, struct fault *why)
{
	return export_file(replay, fd, write_lines, why);
}
