/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines as `perf script` prints them, for the scripts that read those: scheduler events under the kernel's own names
 * and in its form, the rest as gpurec:KIND, with the stack below where one was taken.
 */
#include <inttypes.h>
#include <stdio.h>

#include "replay/export/export.h"
#include "replay/model/stacks.h"
#include "replay/model/enum_names.h"

struct perf {
	struct out *out;
	const struct schema *schema;
	struct stacks stacks;
};

/* comm pid/tid [cpu] seconds.microseconds: event: */
static void write_start(struct perf *p, const struct walk *w, const struct event *ev, uint32_t tid, uint64_t cpu,
			const char *group, const char *name)
{
	const struct thread *t = tasks_find_thread(&w->tasks, tid);
	struct out *o = p->out;
	size_t from;

	out_reserve(o, OUT_ROOM / 2); /* so that no flush comes between a name and its padding */
	from = o->len;
	/* What no thread did is the recorder's word, and not the idle task's. */
	out_string(o, tid ? export_thread_name(w, tid) : strcmp(group, "gpurec") ? "swapper" : "gpurec");
	out_pad(o, from, 16);
	out_char(o, ' ');
	out_u64(o, t && t->process ? w->tasks.processes[t->process].pid : tid);
	out_char(o, '/');
	out_u64(o, tid);
	out_string(o, " [");
	out_digits(o, cpu, 3);
	out_string(o, "] ");
	out_u64(o, ev->at_ns / 1000000000);
	out_char(o, '.');
	out_digits(o, ev->at_ns % 1000000000, 9);
	out_string(o, ": ");
	out_string(o, group);
	out_char(o, ':');
	out_string(o, name);
	out_char(o, ':');
}

/* A state as the kernel's own print of sched_switch has it. */
static const char *state_letter(uint64_t state)
{
	static const struct {
		uint64_t bits;
		const char *letter;
	} table[] = {{0x402, "I"}, {0x2, "D"}, {0x1, "S"}, {0x4, "T"}, {0x8, "t"}, {0x40, "P"}, {0x20, "Z"}};

	if (state == 0)
		return "R+";
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if ((state & table[i].bits) == table[i].bits)
			return table[i].letter;
	return "X";
}

static void write_thread(struct out *o, const struct walk *w, const char *key, uint32_t tid)
{
	char prefix[32];

	snprintf(prefix, sizeof(prefix), " %scomm=", key);
	out_string(o, prefix);
	out_string(o, tid ? export_thread_name(w, tid) : "swapper");
	snprintf(prefix, sizeof(prefix), " %spid=", key);
	out_string(o, prefix);
	out_u64(o, tid);
	out_char(o, ' ');
	out_string(o, key);
	out_string(o, "prio=120");
}

static void write_switch(struct perf *p, const struct walk *w, const struct event *ev)
{
	uint32_t prev = (uint32_t)ev->v[F_switch_prev_tid];

	write_start(p, w, ev, prev, ev->v[F_switch_cpu], "sched", "sched_switch");
	write_thread(p->out, w, "prev_", prev);
	out_string(p->out, " prev_state=");
	out_string(p->out, state_letter(ev->v[F_switch_prev_state]));
	out_string(p->out, " ==>");
	write_thread(p->out, w, "next_", (uint32_t)ev->v[F_switch_next_tid]);
	out_char(p->out, '\n');
}

static void write_waking(struct perf *p, const struct walk *w, const struct event *ev)
{
	write_start(p, w, ev, (uint32_t)ev->v[F_waking_waker_tid], ev->v[F_waking_cpu], "sched", "sched_waking");
	write_thread(p->out, w, "", (uint32_t)ev->v[F_waking_tid]);
	out_string(p->out, " context=");
	out_string(p->out, ev->v[F_waking_context] == WAKE_TASK ? "task" : "irq");
	out_char(p->out, '\n');
}

static void write_field(struct perf *p, const struct event *ev, uint8_t f)
{
	const struct field *field = &ev->shape->fields[f];
	const char *word = enum_word(ev->kind, f, ev->v[f]);
	const struct probe *probe;
	struct out *o = p->out;

	out_char(o, ' ');
	out_string(o, field->name);
	out_char(o, '=');
	if (name_is_mangled(ev->kind, f)) {
		char name[NAME_SHOWN_MAX];

		out_terminal_quoted(o, name, name_shown(name, ev, f));
	} else if (field->encoding == ENC_TEXT) {
		out_terminal_quoted(o, ev->text[f], (size_t)ev->v[f]);
	} else if (field_is_signed(field)) {
		out_s64(o, (int64_t)ev->v[f]);
	} else if (field->unit == UNIT_ADDRESS || field->unit == UNIT_FLAGS) {
		out_hex(o, ev->v[f]);
	} else if (field->unit == UNIT_ID && !strcmp(field->name, "probe")) {
		probe = schema_probe(p->schema, (uint16_t)ev->v[f]);
		out_string(o, probe ? probe->name : "?");
	} else if (word) {
		out_string(o, word);
	} else {
		out_u64(o, ev->v[f]);
	}
}

/* address symbol (file), innermost first, and an empty line: what perf prints below an event with a callchain. */
static void write_stack(struct perf *p, uint64_t stack)
{
	const struct frame *f;
	char address[24];

	for (uint32_t depth = 0; (f = stacks_frame(&p->stacks, stack, depth)); depth++) {
		const char *path = stacks_path(&p->stacks, f);

		snprintf(address, sizeof(address), "\t%16" PRIx64 " ", f->address);
		out_string(p->out, address);
		out_string(p->out, f->symbol[0] ? f->symbol : "[unknown]");
		out_string(p->out, " (");
		out_string(p->out, path[0] ? path : "[unknown]");
		out_string(p->out, ")\n");
	}
	out_char(p->out, '\n');
}

static int on_event(void *self, struct walk *w, const struct event *ev, struct fault *why)
{
	/* What is about a process is at its main thread. */
	uint8_t own = export_tid_field(ev->shape), tid_field = own ? own : export_field_named(ev->shape, "pid");
	uint8_t stack = ev->shape->flags == KIND_CALL ? export_field_named(ev->shape, "stack") : 0;
	bool duration = export_has_duration(ev);
	const struct kernel_name *kernel;
	struct perf *p = self;

	(void)why;
	if (ev->kind == KIND_switch) {
		write_switch(p, w, ev);
	} else if (ev->kind == KIND_waking) {
		write_waking(p, w, ev);
	} else {
		write_start(p, w, ev, tid_field ? (uint32_t)ev->v[tid_field] : 0, duration ? ev->v[F_call_cpu] : 0,
			    "gpurec", ev->shape->name);
		for (uint8_t f = 1; f < ev->shape->nfields; f++)
			write_field(p, ev, f);
		kernel = kernels_of(&w->kernels, &w->tasks, ev);
		if (kernel) {
			out_string(p->out, " kernel=");
			out_string(p->out, kernel->terminal);
		}
		out_char(p->out, '\n');
		if (stack && stacks_frame(&p->stacks, ev->v[stack], 0))
			write_stack(p, ev->v[stack]);
	}
	return out_stopped(p->out) ? WALK_ENOUGH : 0;
}

static void write_mark(struct perf *p, const char *text)
{
	out_string(p->out, "# ");
	out_terminal(p->out, text, strlen(text));
	out_char(p->out, '\n');
}

static int on_growth(void *self, struct walk *w, const struct growth *g, struct fault *why)
{
	char text[SENTENCE_MAX];

	(void)why;
	if (export_loss(w, g, text, sizeof(text)))
		write_mark(self, text);
	return 0;
}

static int on_withheld(void *self, struct walk *w, const struct epoch *e, const struct chunk *c, struct fault *why)
{
	char text[SENTENCE_MAX];

	(void)e;
	(void)why;
	if (export_withheld(w, c, text, sizeof(text)))
		write_mark(self, text);
	return 0;
}

static int on_end(void *self, struct walk *w, const struct fault *stopped, struct fault *why)
{
	const char *cut = export_cut(w, stopped);

	(void)why;
	if (cut)
		write_mark(self, cut);
	return 0;
}

static int write_perf(const struct replay *replay, struct out *o, struct fault *why)
{
	static const struct visitor visitor = {
		.growth = on_growth, .withheld = on_withheld, .event = on_event, .end = on_end};
	struct perf p = {.out = o, .schema = &replay->evidence->reader.header.schema};
	char sentence[SENTENCE_MAX];
	int r = stacks_read(&p.stacks, replay, why);

	if (r >= 0) {
		export_sentence(replay, sentence, sizeof(sentence));
		write_mark(&p, sentence);
		r = walk(replay, &visitor, &p, why);
	}
	stacks_clear(&p.stacks);
	return r;
}

int perf_write_file(const struct replay *replay, int fd, struct fault *why)
{
	return export_file(replay, fd, write_perf, why);
}
