/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/export/export.h"

#include <inttypes.h>
#include <stdio.h>

#include "format/base/escape.h"
#include "keys/completeness.h"

_Static_assert((int)F_futex_dur == (int)F_call_dur && (int)F_futex_cpu == (int)F_call_cpu, "call_begin_ns()");
_Static_assert((int)F_fault_dur == (int)F_call_dur && (int)F_fault_cpu == (int)F_call_cpu, "call_begin_ns()");
_Static_assert((int)F_reclaim_dur == (int)F_call_dur && (int)F_reclaim_cpu == (int)F_call_cpu, "and this");

int export_file(const struct replay *replay, int fd,
		int (*write)(const struct replay *replay, struct out *o, struct fault *why), struct fault *why)
{
	struct out o;
	int r = out_open(&o, fd, why);

	if (r)
		return r;
	r = write(replay, &o, why);
	/* What was read up to a fault is written all the same; the fault is the answer. */
	if (out_finish(&o, r ? NULL : why) && !r)
		r = ERR_IO;
	out_close(&o);
	return r;
}

void export_sentence(const struct replay *replay, char *buf, size_t size)
{
	char sentence[512], missing[COMPLETENESS_WORDS];

	completeness_missing(missing, replay->evidence);
	evidence_sentence(replay->evidence, sentence, sizeof(sentence));
	snprintf(buf, size, "%s%s%s%s", sentence, missing[0] ? "; " : "", missing,
		 replay->unverified ? "; read with --unverified" : "");
}

bool export_shows_growth(const struct walk *w, const struct growth *g)
{
	return (g->counter->role == ROLE_LOST || g->counter->role == ROLE_NOTED) &&
	       filter_concerns(w->replay->filter, g->probe->kind, g->begin_ns, g->end_ns);
}

bool export_shows_withheld(const struct walk *w, const struct chunk *c)
{
	return c->first_ns < w->replay->filter->to_ns && c->last_ns >= w->replay->filter->from_ns;
}

const struct absence_word *export_absence(const struct walk *w, const struct growth *g)
{
	return &absence_words[absence_of(&w->reader->header.schema, g->counter->id)];
}

bool export_loss(const struct walk *w, const struct growth *g, char *buf, size_t size)
{
	if (!export_shows_growth(w, g))
		return false;
	snprintf(buf, size, "%s: %" PRIu64 " %s: %s", export_absence(w, g)->head, g->delta, g->probe->name,
		 counter_words(g->counter));
	return true;
}

bool export_withheld(const struct walk *w, const struct chunk *c, char *buf, size_t size)
{
	const char *class = schema_class_name(&w->reader->header.schema, c->class);

	if (!export_shows_withheld(w, c))
		return false;
	snprintf(buf, size, "withheld: %" PRIu32 " rows of class %s", c->nrows, class ? class : "?");
	return true;
}

uint64_t export_end_ns(const struct walk *w)
{
	return w->nepochs ? w->reader->epochs[w->nepochs - 1].end_ns : w->reader->header.start_boot_ns;
}

const char *export_cut(const struct walk *w, const struct fault *stopped)
{
	if (stopped)
		return stopped->text;
	if (w->reader->tail != TAIL_END || w->nepochs != w->reader->nepochs)
		return "unsealed: the capture stops here without an end";
	return NULL;
}

const char *export_thread_name(const struct walk *w, uint32_t tid)
{
	const struct thread *t = tasks_find_thread(&w->tasks, tid);

	return t && t->shown ? t->shown : tid == 0 ? "idle" : "?";
}

const char *export_process_name(const struct walk *w, uint32_t pid)
{
	uint32_t number = tasks_process(&w->tasks, pid);

	return number && w->tasks.processes[number].shown ? w->tasks.processes[number].shown : "?";
}

const char *export_event_name(const struct schema *s, const struct event *ev)
{
	const struct probe *probe = ev->shape->flags == KIND_CALL ? schema_probe(s, ev->v[F_call_probe]) : NULL;

	return probe ? probe->name : ev->shape->name;
}

static void note_reduction(const struct walk *w, const struct event *ev, char *buf, size_t size)
{
	const struct schema *s = &w->reader->header.schema;
	uint64_t id = ev->v[F_reduction_of_kind];
	const struct kind *k = id && id <= UINT16_MAX ? schema_kind(s, (uint16_t)id) : NULL;
	const char *what = k ? k->name : id ? "events of an unknown kind" : "all events";

	if (ev->v[F_reduction_keep])
		snprintf(buf, size, "reduced: one in %" PRIu64 " of %s is recorded", ev->v[F_reduction_keep], what);
	else if (ev->v[F_reduction_rate])
		snprintf(buf, size, "reduced: at most %" PRIu64 " a second of %s are recorded", ev->v[F_reduction_rate],
			 what);
	else
		snprintf(buf, size, "no longer reduced: all of %s are recorded", id ? what : "them");
}

bool export_note(const struct walk *w, const struct event *ev, char *buf, size_t size)
{
	char text[SENTENCE_MAX];

	switch (ev->kind) {
	case KIND_xid:
		escape_terminal(text, sizeof(text) / 2, ev->text[F_xid_text], (size_t)ev->v[F_xid_text]);
		snprintf(buf, size, "xid %" PRIu64 ": %s", ev->v[F_xid_code], text);
		return true;
	case KIND_oom:
		snprintf(buf, size, "oom: %.200s (%" PRIu64 ") is killed",
			 export_process_name(w, (uint32_t)ev->v[F_oom_pid]), ev->v[F_oom_pid]);
		return true;
	case KIND_reduction:
		note_reduction(w, ev, buf, size);
		return true;
	default:
		return false;
	}
}

void export_wall(struct out *o, struct wall_text *t, uint64_t wall_ns)
{
	if (wall_ns / 1000000000 != t->second || !t->text[0]) {
		t->second = wall_ns / 1000000000;
		civil_text(t->text, t->second, 'T');
	}
	out_string(o, t->text);
	out_char(o, '.');
	out_digits(o, wall_ns % 1000000000, 9);
	out_char(o, 'Z');
}

uint8_t export_field_named(const struct kind *k, const char *name)
{
	for (uint8_t f = 1; f < k->nfields; f++)
		if (!strcmp(k->fields[f].name, name) && k->fields[f].encoding != ENC_TEXT)
			return f;
	return 0;
}

uint8_t export_tid_field(const struct kind *k)
{
	for (uint8_t f = 1; f < k->nfields; f++)
		if (k->fields[f].unit == UNIT_ID && !strcmp(k->fields[f].name, "tid"))
			return f;
	return k->id == KIND_switch ? F_switch_prev_tid : 0;
}
