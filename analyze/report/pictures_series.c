// SPDX-License-Identifier: Apache-2.0
/* What a finding reports over time: memory that is held, a clock, a temperature. */
#include <inttypes.h>

#include "analyze/report/pictures.h"
#include "analyze/report/svg.h"

#define PLOT_PX 110
#define TOP_PX 16

static void add_value(struct text *t, enum series_unit unit, uint64_t value)
{
	switch (unit) {
	case SERIES_BYTES:
		text_add_size(t, value);
		break;
	case SERIES_CELSIUS:
		text_add(t, "%" PRIu64 " °C", value);
		break;
	case SERIES_MHZ:
		text_add(t, "%" PRIu64 " MHz", value);
		break;
	default:
		text_add(t, "%" PRIu64, value);
		break;
	}
}

static uint64_t highest_of(const struct series *s)
{
	uint64_t highest = 0;

	for (unsigned i = 0; i < s->n; i++)
		highest = s->value[i] > highest ? s->value[i] : highest;
	return highest;
}

static uint64_t lowest_of(const struct series *s)
{
	uint64_t lowest = UINT64_MAX;

	for (unsigned i = 0; i < s->n; i++)
		lowest = s->value[i] < lowest ? s->value[i] : lowest;
	return lowest;
}

static unsigned height_of(uint64_t value, uint64_t highest)
{
	return (unsigned)(svg_place(value, 0, highest) * PLOT_PX / SVG_WIDE);
}

/* Lines at round values, four at most: powers of two of bytes, 1, 2 and 5 times powers of ten of all else. */
static void draw_grid(struct html *h, const struct series *s, uint64_t highest)
{
	uint64_t step = svg_step(highest, 4);
	struct text t = {0};

	if (s->unit == SERIES_BYTES)
		for (step = 1; step <= highest / 4;)
			step *= 2;
	for (uint64_t level = step; level <= highest && level >= step; level += step) {
		unsigned y = TOP_PX + PLOT_PX - height_of(level, highest);

		svg_line(h, "grid", 0, y, SVG_WIDE, y);
		add_value(&t, s->unit, level);
		svg_value(h, SVG_START, y - 3, &t);
	}
}

static void draw_bars(struct html *h, const struct series *s, uint64_t highest, uint64_t end_ns)
{
	struct text t = {0};

	for (unsigned i = 0; i < s->n; i++) {
		uint64_t begin_ns = s->begin_ns + i * s->width_ns;
		uint64_t x = svg_place(begin_ns, s->begin_ns, end_ns);
		uint64_t end = svg_place(begin_ns + s->width_ns, s->begin_ns, end_ns);
		unsigned high = height_of(s->value[i], highest);

		if (end <= x)
			break;
		svg_rect(h, "bar-memory", x, end - x, TOP_PX + PLOT_PX - high, high);
		add_value(&t, s->unit, s->value[i]);
		text_add(&t, ", from +");
		text_add_ns(&t, begin_ns - s->begin_ns);
		svg_tip(h, &t);
		html_close(h);
	}
}

void picture_series(struct html *h, const struct report_facts *facts, const struct finding *f)
{
	struct series series;
	const struct series *s = &series;
	uint64_t highest, end_ns;
	struct text t = {0};

	if (!report_series(f, &series) || s->n == 0 || s->width_ns == 0)
		return;
	highest = highest_of(s);
	end_ns = s->begin_ns + s->n * s->width_ns;
	if (end_ns > facts->end_ns && facts->end_ns > s->begin_ns)
		end_ns = facts->end_ns;
	if (highest == 0 || end_ns <= s->begin_ns)
		return;
	add_value(&t, s->unit, s->value[0]);
	text_add(&t, " -> ");
	add_value(&t, s->unit, s->value[s->n - 1]);
	text_add(&t, " in ");
	text_add_ns(&t, end_ns - s->begin_ns);
	text_add(&t, " (highest ");
	add_value(&t, s->unit, highest);
	text_add(&t, ", lowest ");
	add_value(&t, s->unit, lowest_of(s));
	text_add(&t, ").");
	html_open(h, "figure", NULL);
	svg_open(h, TOP_PX + PLOT_PX + SVG_AXIS_PX, s->label, &t);
	draw_bars(h, s, highest, end_ns);
	draw_grid(h, s, highest);
	svg_time_axis(h, TOP_PX + PLOT_PX, s->begin_ns, end_ns, s->begin_ns);
	html_close(h);
	html_open(h, "figcaption", NULL);
	html_text(h, "%s: ", s->label);
	html_take(h, &t);
	html_close(h);
	html_close(h);
}
