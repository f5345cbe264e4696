// SPDX-License-Identifier: Apache-2.0
/* What the GPUs' sensors reported. */
#include <inttypes.h>

#include "analyze/report/pictures.h"
#include "analyze/report/svg.h"
#include "format/base/units.h"

#define LABEL_PX 18
#define BAND_PX 44
#define GAP_PX 10
#define ROW_PX (LABEL_PX + BAND_PX + GAP_PX)
#define HOLDS 12 /* slices for which a reading is drawn, unless the next one comes before */

static const char *const labels[GAUGES] = {[GAUGE_BUSY] = "busy",
					   [GAUGE_CLOCK] = "SM clock",
					   [GAUGE_POWER] = "power",
					   [GAUGE_TEMPERATURE] = "temperature",
					   [GAUGE_MEMORY] = "memory used"};

static void add_value(struct text *t, enum gpu_gauge what, uint64_t value)
{
	switch (what) {
	case GAUGE_BUSY:
		text_add(t, "%" PRIu64 " %%", value);
		break;
	case GAUGE_CLOCK:
		text_add(t, "%" PRIu64 " MHz", value);
		break;
	case GAUGE_POWER:
		text_add(t, "%" PRIu64 " W", (value + 500) / 1000);
		break;
	case GAUGE_TEMPERATURE:
		text_add(t, "%" PRIu64 " °C", value);
		break;
	default:
		text_add_size(t, value);
		break;
	}
}

static void add_range(struct text *t, const struct gauge_gpu *gpu, enum gpu_gauge what)
{
	text_add(t, "%s ", labels[what]);
	add_value(t, what, gpu->low[what]);
	if (gpu->low[what] != gpu->high[what]) {
		text_add(t, " to ");
		add_value(t, what, gpu->high[what]);
	}
}

/* Until where the reading of a slice is drawn. */
static unsigned holds_until(const struct gauge_gpu *gpu, enum gpu_gauge what, unsigned slice)
{
	unsigned i = slice + 1;

	while (i < GAUGES_SLICES && i < slice + HOLDS && !gpu->slices[what][i].reported)
		i++;
	return i;
}

/* Bars from 0 (in a percentage of 100) to the highest of each slice; a slice in which nothing was reported stays empty.
 */
static void draw_gauge(struct html *h, const struct gauge_gpu *gpu, enum gpu_gauge what, unsigned y)
{
	uint64_t top = what == GAUGE_BUSY ? 100 : gpu->high[what];
	struct text t = {0};

	add_range(&t, gpu, what);
	svg_label(h, "label", 0, y + 13, SVG_START, &t);
	svg_line(h, "grid", 0, y + LABEL_PX + BAND_PX, SVG_WIDE, y + LABEL_PX + BAND_PX);
	for (unsigned i = 0; i < GAUGES_SLICES; i++) {
		const struct gauge_slice *s = &gpu->slices[what][i];
		unsigned high = top && s->reported ? (unsigned)(svg_place(s->high, 0, top) * BAND_PX / SVG_WIDE) : 0;

		if (!s->reported)
			continue;
		svg_rect(h, gpu->throttled[i] ? "bar-hot" : "bar-gauge", (uint64_t)i * SVG_WIDE / GAUGES_SLICES,
			 (uint64_t)(holds_until(gpu, what, i) - i) * SVG_WIDE / GAUGES_SLICES,
			 y + LABEL_PX + BAND_PX - (high ? high : 1), high ? high : 1);
		add_value(&t, what, s->high);
		svg_tip(h, &t);
		html_close(h);
	}
}

static void draw_gpu(struct html *h, const struct report_facts *facts, const struct gauge_gpu *gpu)
{
	unsigned rows = 0, y = 0;
	bool throttled = false;
	struct text t = {0};

	for (unsigned i = 0; i < GAUGES; i++) {
		if (!gpu->reported[i])
			continue;
		text_add(&t, "%s", rows++ ? "; " : "");
		add_range(&t, gpu, (enum gpu_gauge)i);
	}
	for (unsigned i = 0; i < GAUGES_SLICES; i++)
		throttled |= gpu->throttled[i];
	text_add(&t, ".");
	if (rows == 0 || facts->end_ns <= facts->begin_ns) {
		text_clear(&t);
		return;
	}
	html_open(h, "figure", NULL);
	svg_open(h, rows * ROW_PX + SVG_AXIS_PX, "Health of a GPU", &t);
	for (unsigned i = 0; i < GAUGES; i++) {
		if (!gpu->reported[i])
			continue;
		draw_gauge(h, gpu, (enum gpu_gauge)i, y);
		y += ROW_PX;
	}
	svg_time_axis(h, y, facts->begin_ns, facts->end_ns, facts->begin_ns);
	html_close(h);
	html_open(h, "figcaption", NULL);
	html_text(h, "GPU %" PRIu64 ", from %" PRIu64 " reading%s: ", gpu->gpu, gpu->nrows, plural(gpu->nrows));
	html_take(h, &t);
	html_text(h,
		  " Bars reach from 0 to the highest of each stretch of time, and as far as the next reading%s; where "
		  "none is, nothing was read.",
		  throttled ? ", in the other colour where the GPU reported that it was slowed down" : "");
	html_close(h);
	html_close(h);
}

void picture_health(struct html *h, const struct report_facts *facts, const struct gauges *gauges)
{
	for (unsigned i = 0; gauges && i < gauges->ngpus; i++)
		draw_gpu(h, facts, &gauges->gpus[i]);
}
