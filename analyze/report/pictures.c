// SPDX-License-Identifier: Apache-2.0
/* What the pictures have in common, and the one of the whole capture. */
#include "analyze/report/pictures.h"

#include <inttypes.h>

#include "analyze/report/svg.h"

#define OVERVIEW_ROWS_MAX 12
#define ROW_PX 22

const char *picture_class(unsigned cause_class)
{
	switch ((enum cause_class)cause_class) {
	case CAUSE_CPU:
		return "on-cpu";
	case CAUSE_RUNNABLE:
		return "no-cpu";
	case CAUSE_QUOTA:
		return "quota";
	case CAUSE_STOPPED:
		return "stopped";
	case CAUSE_FUTEX:
		return "futex";
	case CAUSE_FAULT:
		return "fault";
	case CAUSE_NETWORK:
		return "network";
	case CAUSE_MEMORY:
		return "memory";
	case CAUSE_IO:
		return "io";
	case CAUSE_ASLEEP:
		return "asleep";
	default:
		return "unknown";
	}
}

void picture_swatch(struct html *h, const char *class)
{
	html_open(h, "svg", "swatch");
	html_attribute(h, "xmlns", "http://www.w3.org/2000/svg");
	html_attribute(h, "width", "12");
	html_attribute(h, "height", "12");
	html_attribute(h, "aria-hidden", "true");
	html_empty(h, "rect", class);
	html_attribute(h, "width", "12");
	html_attribute(h, "height", "12");
	html_close(h);
}

void picture_add_name(struct text *t, const struct who *who, unsigned most)
{
	struct text name = {0};
	size_t at = 0;
	unsigned shown = 0;

	text_add_escaped(&name, who->name.s, who->name.len);
	while (at < name.len && shown < most) {
		at++;
		while (at < name.len && (name.s[at] & 0xc0) == 0x80)
			at++;
		shown++;
	}
	if (name.len == 0)
		text_add(t, "thread");
	text_add_bytes(t, text_string(&name), at);
	if (at < name.len)
		text_add(t, "…");
	t->failed |= name.failed;
	text_clear(&name);
}

void picture_split(struct html *h, const struct split *s)
{
	uint64_t whole_ns = s->end_ns - s->begin_ns;
	struct text t = {0};

	html_open(h, "ul", "split");
	for (unsigned c = 0; c < CAUSE_CLASSES; c++) {
		if (s->ns[c] == 0)
			continue;
		html_open(h, "li", NULL);
		picture_swatch(h, picture_class(c));
		html_text(h, " %s ", cause_class_label((enum cause_class)c));
		text_add_ns(&t, s->ns[c]);
		html_open(h, "b", NULL);
		html_take(h, &t);
		html_close(h);
		text_add(&t, " (");
		text_add_percent(&t, s->ns[c], whole_ns);
		text_add(&t, " %%)");
		html_take(h, &t);
		html_close(h);
	}
	html_close(h);
}

static const char *severity_class(enum severity s)
{
	static const char *const names[SEVERITIES] = {"mark-info", "mark-warning", "mark-error"};

	return names[s];
}

/* Shown when the mark is pointed at: "+1.243 s, 18.1 ms". */
static void add_mark_title(struct html *h, const struct report_facts *facts, const struct occurrence *o)
{
	uint64_t since_ms = o->begin_ns > facts->begin_ns ? (o->begin_ns - facts->begin_ns) / 1000000 : 0;
	struct text t = {0};

	text_add(&t, "+%" PRIu64 ".%03" PRIu64 " s, ", since_ms / 1000, since_ms % 1000);
	text_add_ns(&t, o->end_ns - o->begin_ns);
	html_open(h, "title", NULL);
	html_take(h, &t);
	html_close(h);
}

/* A leak has no moments: a bar over the time in which it grew. */
static void overview_life(struct html *h, const struct report_facts *facts, const struct finding *f, unsigned y)
{
	uint64_t from, to;

	if (!f->levels || f->levels->width_ns == 0)
		return;
	from = svg_place(f->levels->begin_ns, facts->begin_ns, facts->end_ns);
	to = svg_place(f->levels->begin_ns + f->levels->n * f->levels->width_ns, facts->begin_ns, facts->end_ns);
	svg_rect(h, severity_class(f->severity), from, to - from, y + ROW_PX / 2 - 2, 4);
	html_close(h);
}

/* What is known of a finding in time: the first occurrences and the worst; of more, from when to when. */
static void overview_row(struct html *h, const struct report_facts *facts, const struct finding *f, unsigned y)
{
	svg_line(h, "lane", 0, y + ROW_PX / 2, SVG_WIDE, y + ROW_PX / 2);
	overview_life(h, facts, f, y);
	if (f->count > f->nfirst && f->nfirst && f->last_ns > f->first[0].begin_ns) {
		uint64_t from = svg_place(f->first[0].begin_ns, facts->begin_ns, facts->end_ns);

		svg_rect(h, severity_class(f->severity), from,
			 svg_place(f->last_ns, facts->begin_ns, facts->end_ns) - from, y + ROW_PX / 2 - 1, 2);
		html_close(h);
	}
	for (unsigned i = 0; i < f->nfirst + f->nworst; i++) {
		const struct occurrence *o = i < f->nfirst ? &f->first[i] : &f->worst[i - f->nfirst].at;
		uint64_t x = svg_place(o->begin_ns, facts->begin_ns, facts->end_ns);
		uint64_t end = svg_place(o->end_ns, facts->begin_ns, facts->end_ns);

		if (end - x < SVG_WIDE / 250)
			end = x + SVG_WIDE / 250;
		svg_rect(h, severity_class(f->severity), x, end - x, y + 4, ROW_PX - 8);
		add_mark_title(h, facts, o);
		html_close(h);
	}
}

static bool is_drawn(const struct finding *f)
{
	return f->nfirst + f->nworst > 0 || f->levels;
}

/* "launch-latency, futex: 3520 trainer": of eight processes the rows are distinguished by that. */
static void add_row_label(struct text *t, const struct report *r, const struct finding *f)
{
	const struct process *p = f->process ? names_instance(engine_context(r->engine)->names, f->process) : NULL;

	text_add(t, "%s, %s", f->rule, f->class);
	if (!p)
		return;
	text_add(t, ": %" PRIu32 " ", p->pid);
	text_add_escaped(t, p->name.s, p->name.len);
}

void picture_overview(struct html *h, const struct report *r, const struct report_facts *facts)
{
	unsigned rows = 0, y = 0;
	struct text t = {0};

	for (size_t i = 0; i < r->findings->n; i++)
		rows += is_drawn(r->findings->all[i]);
	if (rows == 0 || facts->end_ns <= facts->begin_ns)
		return;
	rows = rows < OVERVIEW_ROWS_MAX ? rows : OVERVIEW_ROWS_MAX;
	text_add(&t, "A row for each of %u findings, over ", rows);
	text_add_ns(&t, facts->end_ns - facts->begin_ns);
	text_add(&t, " of recording; each mark is a time at which it was seen.");
	html_open(h, "figure", NULL);
	svg_open(h, rows * (ROW_PX + 16) + SVG_AXIS_PX, "When it happened", &t);
	text_clear(&t);
	for (size_t i = 0; i < r->findings->n && y < rows * (ROW_PX + 16); i++) {
		const struct finding *f = r->findings->all[i];

		if (!is_drawn(f))
			continue;
		text_add(&t, "%zu  ", i + 1);
		add_row_label(&t, r, f);
		svg_label(h, "label", 0, y + 13, SVG_START, &t);
		overview_row(h, facts, f, y + 16);
		y += ROW_PX + 16;
	}
	svg_time_axis(h, y, facts->begin_ns, facts->end_ns, facts->begin_ns);
	html_close(h);
	html_open(h, "figcaption", NULL);
	html_text(
		h,
		"Occurrences over time (of each finding the first %u and the worst %u). Marks have a minimum width. A "
		"thin bar spans all occurrences, or the life of a leak.",
		OCCURRENCES_KEPT, WORST_KEPT);
	html_close(h);
	html_close(h);
}
