// SPDX-License-Identifier: Apache-2.0
/* The time line around a slow call: its thread, and below it those who kept it waiting. */
#include <inttypes.h>
#include <string.h>

#include "analyze/report/pictures.h"
#include "analyze/report/report_times.h"
#include "analyze/report/svg.h"

#define LABEL_PX 18
#define BAR_PX 24
#define GAP_PX 10
#define ROW_PX (LABEL_PX + BAR_PX + GAP_PX)
#define TOP_PX 20                      /* the bracket over the call */
#define NAME_SHOWN 18                  /* characters of a name */
#define LABELLED (SVG_WIDE * 15 / 100) /* pieces of this width have room for a word */

/* A row's label: it has to fit on a telephone. */
static void add_label(struct text *t, const struct explained *e, uint32_t tid)
{
	const struct who *who = explained_who(e, tid);

	text_add(t, "%u", tid);
	if (who && who->name.len) {
		text_add(t, " ");
		picture_add_name(t, who, NAME_SHOWN);
	}
}

static void add_thread(struct text *t, const struct explained *e, uint32_t tid)
{
	const struct who *who = explained_who(e, tid);

	if (who)
		text_add_who(t, who);
	else if (tid == TID_NONE)
		text_add(t, "an unknown thread");
	else if (tid == TID_IDLE)
		text_add(t, "the idle task");
	else
		text_add(t, "%u", tid);
}

/* The text for a piece under the pointer. */
static void add_piece(struct text *t, const struct explained *e, const struct scene_piece *p, uint64_t zero_ns)
{
	text_add_ns(t, p->end_ns - p->begin_ns);
	text_add(t, " %s", cause_class_label((enum cause_class)p->class));
	if (p->class == CAUSE_FUTEX)
		text_add(t, " 0x%" PRIx64, p->futex);
	if (p->class == CAUSE_CPU || p->class == CAUSE_RUNNABLE)
		text_add(t, ", CPU %u", p->cpu);
	if (p->class == CAUSE_RUNNABLE && p->tid != TID_NONE) {
		text_add(t, ", which ");
		add_thread(t, e, p->tid);
		text_add(t, " had");
	} else if (p->class != CAUSE_CPU && p->tid != TID_NONE) {
		text_add(t, ", woken by ");
		add_thread(t, e, p->tid);
	}
	text_add(t, p->begin_ns < zero_ns ? ", from −" : ", from +");
	text_add_ns(t, p->begin_ns < zero_ns ? zero_ns - p->begin_ns : p->begin_ns - zero_ns);
	if (p->joined)
		text_add(t, "; most of it, shorter pieces are not drawn apart");
}

static const char *word_of(unsigned class)
{
	static const char *const words[CAUSE_CLASSES] = {
		[CAUSE_CPU] = "on CPU",      [CAUSE_RUNNABLE] = "no CPU", [CAUSE_FUTEX] = "futex",
		[CAUSE_FAULT] = "fault",     [CAUSE_IO] = "disk",         [CAUSE_ASLEEP] = "asleep",
		[CAUSE_QUOTA] = "throttled", [CAUSE_STOPPED] = "stopped", [CAUSE_UNKNOWN] = "unknown",
		[CAUSE_MEMORY] = "memory",   [CAUSE_NETWORK] = "network"};

	return words[class];
}

static void draw_row(struct html *h, const struct scene *s, const struct explained *e, unsigned row, unsigned y,
		     uint64_t zero_ns)
{
	struct text t = {0};

	for (unsigned i = 0; i < s->rows[row].npieces; i++) {
		const struct scene_piece *p = &s->rows[row].pieces[i];
		uint64_t x = svg_place(p->begin_ns, s->begin_ns, s->end_ns);
		uint64_t width = svg_place(p->end_ns, s->begin_ns, s->end_ns) - x;

		svg_rect(h, picture_class(p->class), x, width, y, BAR_PX);
		add_piece(&t, e, p, zero_ns);
		svg_tip(h, &t);
		html_close(h);
		if (width >= LABELLED)
			svg_text(h, p->class == CAUSE_UNKNOWN ? "label" : "on-bar", x + width / 2, y + 16, SVG_MIDDLE,
				 "%s", word_of(p->class));
	}
}

/* From the waker's row up to the sleeper's, where the sleep ends. */
static void draw_wakings(struct html *h, const struct scene *s, unsigned row, unsigned y)
{
	for (unsigned i = 0; row + 1 < s->nrows && i < s->rows[row].npieces; i++) {
		const struct scene_piece *p = &s->rows[row].pieces[i];
		uint64_t x = svg_place(p->end_ns, s->begin_ns, s->end_ns);

		if (p->class == CAUSE_CPU || p->class == CAUSE_RUNNABLE || p->tid != s->rows[row + 1].tid)
			continue;
		svg_line(h, "wakes", x, y + ROW_PX, x, y + BAR_PX);
	}
}

/* What a row's thread has to do with the one above it. */
static const char *role_of(const struct scene *s, const struct worst *w, unsigned row, const char *what)
{
	const struct scene_row *above = row ? &s->rows[row - 1] : NULL;

	if (row == 0)
		return what;
	for (unsigned i = 0; i < above->npieces; i++) {
		const struct scene_piece *p = &above->pieces[i];

		if (p->tid == s->rows[row].tid && p->class != CAUSE_RUNNABLE && p->class != CAUSE_CPU)
			return "woke it";
	}
	return s->rows[row].tid == w->at.keeper_tid ? "had its CPU" : "woke it";
}

static void draw(struct html *h, const struct worst *w, const char *what)
{
	const struct scene *s = w->scene;
	uint64_t zero_ns = w->at.begin_ns, x = svg_place(zero_ns, s->begin_ns, s->end_ns);
	uint64_t end = svg_place(w->at.end_ns, s->begin_ns, s->end_ns);
	unsigned bottom = TOP_PX + s->nrows * ROW_PX;
	struct text t = {0};

	svg_rect(h, "call", x, end - x, 0, bottom);
	html_close(h);
	svg_line(h, "bracket", x, 1, end, 1);
	text_add_ns(&t, w->at.end_ns - w->at.begin_ns);
	svg_label(h, "tick", x + (end - x) / 2, 15, SVG_MIDDLE, &t);
	for (unsigned row = 0; row < s->nrows; row++) {
		unsigned y = TOP_PX + row * ROW_PX + LABEL_PX;

		add_label(&t, w->why, s->rows[row].tid);
		text_add(&t, ": %s", role_of(s, w, row, what));
		svg_label(h, "label", 0, y - 5, SVG_START, &t);
		draw_row(h, s, w->why, row, y, zero_ns);
	}
	for (unsigned row = 0; row < s->nrows; row++)
		draw_wakings(h, s, row, TOP_PX + row * ROW_PX + LABEL_PX);
	svg_time_axis(h, bottom, s->begin_ns, s->end_ns, zero_ns);
}

void picture_scene(struct html *h, const struct report_facts *facts, const struct worst *w, const char *what)
{
	struct text t = {0};

	html_open(h, "figure", NULL);
	if (w->scene && w->scene->nrows && w->scene->end_ns > w->scene->begin_ns) {
		add_thread(&t, w->why, w->scene->rows[0].tid);
		text_add(&t, ": ");
		text_add_cause(&t, w->why);
		text_add(&t, ".");
		svg_open(h, TOP_PX + w->scene->nrows * ROW_PX + SVG_AXIS_PX, "Time line", &t);
		text_clear(&t);
		draw(h, w, what);
		html_close(h);
	}
	picture_split(h, &w->why->cause.links[0]);
	html_open(h, "figcaption", NULL);
	text_add_since(&t, facts->begin_ns, w->at.begin_ns);
	text_add(&t, ", ");
	text_add_ns(&t, w->at.end_ns - w->at.begin_ns);
	text_add(&t, ": ");
	text_add_cause(&t, w->why);
	text_add(&t, ".");
	html_take(h, &t);
	html_close(h);
	html_close(h);
}
