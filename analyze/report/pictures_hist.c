// SPDX-License-Identifier: Apache-2.0
/* How long calls took, on logarithmic axes: a usual call and one a thousand times as long are both seen. */
#include <inttypes.h>

#include "analyze/report/pictures.h"
#include "analyze/report/svg.h"

#define PLOT_PX 120
#define TOP_PX 16
#define BARS_PER_DOUBLING 4 /* of the duration */
#define BARS_PER_DECADE 13
#define BARS_MAX (HIST_VALUE_BITS * BARS_PER_DOUBLING + 1)

struct bars {
	uint64_t all[BARS_MAX], found[BARS_MAX];
	unsigned first, last; /* that are not empty */
	uint64_t highest;
};

static unsigned bar_of(uint64_t ns)
{
	return (unsigned)(svg_log2(ns) * BARS_PER_DOUBLING / 1024);
}

static void fill(struct bars *b, const struct hist *h, uint64_t *counts)
{
	for (unsigned i = 0; h && i < HIST_BUCKETS; i++) {
		unsigned bar = bar_of(hist_bucket_value(i));

		if (h->buckets[i] == 0 || bar >= BARS_MAX)
			continue;
		counts[bar] += h->buckets[i];
		b->first = bar < b->first ? bar : b->first;
		b->last = bar > b->last ? bar : b->last;
	}
}

/* What is marked is in the picture, too. */
static void reach(struct bars *b, uint64_t ns)
{
	unsigned bar = bar_of(ns);

	if (ns == 0 || bar >= BARS_MAX)
		return;
	b->first = bar < b->first ? bar : b->first;
	b->last = bar > b->last ? bar : b->last;
}

/* To powers of ten at both ends, which then have labels. */
static void widen(struct bars *b)
{
	uint64_t ten = 1, low = 1;

	while (bar_of(ten) <= b->first && ten < 1000000000000) {
		low = ten;
		ten *= 10;
	}
	b->first = bar_of(low);
	while (bar_of(ten) <= b->last && ten < 10000000000000)
		ten *= 10;
	b->last = bar_of(ten) < BARS_MAX ? bar_of(ten) : BARS_MAX - 1;
}

/* Pixels of a count: its logarithm, so that one is seen beside a million. */
static unsigned height_of(const struct bars *b, uint64_t n)
{
	uint64_t whole = svg_log2(b->highest) + 1024;

	return n ? (unsigned)((svg_log2(n) + 1024) * PLOT_PX / whole) : 0;
}

static uint64_t place(const struct bars *b, uint64_t log2_ns)
{
	return svg_place(log2_ns * BARS_PER_DOUBLING, (uint64_t)b->first * 1024, (uint64_t)(b->last + 1) * 1024);
}

static void draw_bars(struct html *h, const struct bars *b, const uint64_t *counts, const char *class)
{
	uint64_t width = SVG_WIDE / (b->last + 1 - b->first);
	struct text t = {0};

	for (unsigned i = b->first; i <= b->last; i++) {
		unsigned high = height_of(b, counts[i]);

		if (high == 0)
			continue;
		svg_rect(h, class, (uint64_t)(i - b->first) * SVG_WIDE / (b->last + 1 - b->first), width - width / 10,
			 TOP_PX + PLOT_PX - high, high);
		text_add(&t, "%" PRIu64 " of about ", counts[i]);
		text_add_ns(&t, i / BARS_PER_DOUBLING < 63 ? 1ULL << i / BARS_PER_DOUBLING : 0);
		svg_tip(h, &t);
		html_close(h);
	}
}

/* Lines at 1, 10, 100, ... calls, and the same of nanoseconds along the bottom. */
static void draw_axes(struct html *h, const struct bars *b)
{
	/* On a telephone there is room for seven labels; beyond, each second or third power of ten has one. */
	unsigned every = 1 + (b->last - b->first) / (7 * BARS_PER_DECADE);
	struct text t = {0};
	uint64_t ten = 1;

	for (unsigned i = 0; i < 19 && ten <= b->highest; i++, ten *= 10) {
		unsigned y = TOP_PX + PLOT_PX - height_of(b, ten);

		svg_line(h, "grid", 0, y, SVG_WIDE, y);
		text_add(&t, "%" PRIu64, ten);
		svg_value(h, SVG_END, y - 3, &t);
	}
	svg_line(h, "axis", 0, TOP_PX + PLOT_PX, SVG_WIDE, TOP_PX + PLOT_PX);
	ten = 1;
	for (unsigned i = 0; i < 14; i++, ten *= 10) {
		uint64_t log2 = svg_log2(ten), x = place(b, log2);

		if (log2 * BARS_PER_DOUBLING < (uint64_t)b->first * 1024 ||
		    log2 * BARS_PER_DOUBLING > (uint64_t)(b->last + 1) * 1024)
			continue;
		svg_line(h, "axis", x, TOP_PX + PLOT_PX, x, TOP_PX + PLOT_PX + 5);
		if (i % every)
			continue;
		svg_text(h, "tick", x, TOP_PX + PLOT_PX + 18,
			 x < SVG_WIDE / 20              ? SVG_START
			 : x > SVG_WIDE - SVG_WIDE / 20 ? SVG_END
							: SVG_MIDDLE,
			 "%" PRIu64 " %s",
			 i % 3 == 0   ? (uint64_t)1
			 : i % 3 == 1 ? (uint64_t)10
				      : (uint64_t)100,
			 i < 3   ? "ns"
			 : i < 6 ? "µs"
			 : i < 9 ? "ms"
				 : "s");
	}
}

static void describe(struct text *t, const struct hist *all, const struct finding *f)
{
	if (all) {
		text_add(t, "%" PRIu64 " calls: half of them took up to about ", all->n);
		text_add_ns(t, hist_quantile(all, NULL, 50));
		text_add(t, ", 99 %% up to about ");
		text_add_ns(t, hist_quantile(all, NULL, 99));
		text_add(t, ". ");
	}
	text_add(t, "%" PRIu64 " of this finding, from ", f->hist->n);
	text_add_ns(t, f->min_ns);
	text_add(t, " to ");
	text_add_ns(t, f->max_ns);
	text_add(t, ".");
}

static void legend(struct html *h, const char *function, const struct hist *all, const struct hist *found)
{
	html_open(h, "ul", "split");
	if (all) {
		html_open(h, "li", NULL);
		picture_swatch(h, "bar-all");
		html_text(h, " all %" PRIu64 " calls of %s", all->n, function);
		html_close(h);
	}
	html_open(h, "li", NULL);
	picture_swatch(h, "bar-found");
	html_text(h, " the %" PRIu64 " of this finding", found->n);
	html_close(h);
	html_close(h);
}

static void caption(struct html *h, const struct hist *all, const struct finding *f)
{
	struct text t = {0};

	text_add(&t, "Durations of the calls (log-log). ");
	if (f->usual_ns) {
		text_add(&t, "Dashed: median ");
		text_add_ns(&t, f->usual_ns);
		text_add(&t, ". ");
	}
	if (f->threshold_ns) {
		text_add(&t, "Solid: threshold ");
		text_add_ns(&t, f->threshold_ns);
		text_add(&t, ". ");
	}
	describe(&t, all, f);
	html_open(h, "figcaption", NULL);
	html_take(h, &t);
	html_close(h);
}

static void draw_mark(struct html *h, const struct bars *b, const char *class, uint64_t ns)
{
	uint64_t x = place(b, svg_log2(ns));

	if (ns && x > 0 && x < SVG_WIDE)
		svg_line(h, class, x, TOP_PX - 8, x, TOP_PX + PLOT_PX);
}

void picture_durations(struct html *h, const char *function, const struct hist *all, const struct finding *f)
{
	struct bars b = {.first = BARS_MAX};
	struct text t = {0};

	fill(&b, all, b.all);
	fill(&b, f->hist, b.found);
	if (b.first > b.last)
		return;
	reach(&b, f->usual_ns);
	reach(&b, f->threshold_ns);
	widen(&b);
	for (unsigned i = b.first; i <= b.last; i++) {
		b.highest = b.all[i] > b.highest ? b.all[i] : b.highest;
		b.highest = b.found[i] > b.highest ? b.found[i] : b.highest;
	}
	describe(&t, all, f);
	html_open(h, "figure", NULL);
	svg_open(h, TOP_PX + PLOT_PX + SVG_AXIS_PX, "Distribution of durations", &t);
	text_clear(&t);
	draw_bars(h, &b, b.all, "bar-all");
	draw_bars(h, &b, b.found, "bar-found");
	draw_axes(h, &b);
	draw_mark(h, &b, "usual", f->usual_ns);
	draw_mark(h, &b, "threshold", f->threshold_ns);
	html_close(h);
	legend(h, function, all, f->hist);
	caption(h, all, f);
	html_close(h);
}
