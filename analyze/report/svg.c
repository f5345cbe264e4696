// SPDX-License-Identifier: Apache-2.0
#include "analyze/report/svg.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define TICKS_MAX 5 /* labels of 60 pixels each fit on the smallest telephone */

static void add_place(struct html *h, const char *name, uint64_t x)
{
	html_attribute(h, name, "%" PRIu64 ".%04" PRIu64 "%%", x / 10000, x % 10000);
}

void svg_open(struct html *h, unsigned height_px, const char *title, const struct text *description)
{
	html_open(h, "svg", "picture");
	html_attribute(h, "xmlns", "http://www.w3.org/2000/svg");
	html_attribute(h, "role", "img");
	html_attribute(h, "width", "100%%");
	html_attribute(h, "height", "%u", height_px);
	html_element(h, "title", NULL, "%s", title);
	html_open(h, "desc", NULL);
	html_bytes(h, text_string(description), description->len);
	h->out->failed |= description->failed;
	html_close(h);
}

void svg_rect(struct html *h, const char *class, uint64_t x, uint64_t width, unsigned y, unsigned height)
{
	if (width < SVG_WIDE / 1000)
		width = SVG_WIDE / 1000;
	if (x > SVG_WIDE - SVG_WIDE / 1000)
		x = SVG_WIDE - SVG_WIDE / 1000;
	if (width > SVG_WIDE - x)
		width = SVG_WIDE - x;
	html_open(h, "rect", class);
	add_place(h, "x", x);
	html_attribute(h, "y", "%u", y);
	add_place(h, "width", width);
	html_attribute(h, "height", "%u", height);
}

void svg_tip(struct html *h, struct text *t)
{
	html_open(h, "title", NULL);
	html_take(h, t);
	html_close(h);
}

void svg_line(struct html *h, const char *class, uint64_t x1, unsigned y1, uint64_t x2, unsigned y2)
{
	html_empty(h, "line", class);
	add_place(h, "x1", x1);
	html_attribute(h, "y1", "%u", y1);
	add_place(h, "x2", x2);
	html_attribute(h, "y2", "%u", y2);
}

void svg_label(struct html *h, const char *class, uint64_t x, unsigned y, enum svg_anchor anchor, struct text *t)
{
	static const char *const names[] = {"start", "middle", "end"};

	html_open(h, "text", class);
	add_place(h, "x", x);
	html_attribute(h, "y", "%u", y);
	if (anchor != SVG_START)
		html_attribute(h, "text-anchor", "%s", names[anchor]);
	html_take(h, t);
	html_close(h);
}

void svg_text(struct html *h, const char *class, uint64_t x, unsigned y, enum svg_anchor anchor, const char *fmt, ...)
{
	struct text t = {0};
	va_list args;

	va_start(args, fmt);
	text_add_args(&t, fmt, args);
	va_end(args);
	svg_label(h, class, x, y, anchor, &t);
}

/* Pixels of a small text: as wide as its characters at their widest, nearly. */
static unsigned width_of(const struct text *t)
{
	unsigned n = 0;

	for (size_t i = 0; i < t->len; i++)
		n += (t->s[i] & 0xc0) != 0x80;
	return n * 7 + 4;
}

void svg_value(struct html *h, enum svg_anchor edge, unsigned y, struct text *value)
{
	unsigned width = width_of(value);

	html_empty(h, "rect", "paper");
	html_attribute(h, "x", edge == SVG_END ? "100%%" : "0");
	html_attribute(h, "y", "%u", y - 11);
	html_attribute(h, "width", "%u", width);
	html_attribute(h, "height", "13");
	if (edge == SVG_END)
		html_attribute(h, "transform", "translate(-%u 0)", width);
	svg_label(h, "tick", edge == SVG_END ? SVG_WIDE : 0, y, edge, value);
}

uint64_t svg_place(uint64_t at, uint64_t begin, uint64_t end)
{
	if (at <= begin || end <= begin)
		return 0;
	if (at >= end)
		return SVG_WIDE;
	return (uint64_t)((unsigned __int128)(at - begin) * SVG_WIDE / (end - begin));
}

uint64_t svg_step(uint64_t span, unsigned most)
{
	static const unsigned factors[] = {1, 2, 5};

	for (uint64_t ten = 1;; ten *= 10) {
		for (unsigned i = 0; i < 3; i++)
			if (span / (ten * factors[i]) < most || ten * factors[i] > UINT64_MAX / 10)
				return ten * factors[i];
	}
}

static void time_label(struct html *h, uint64_t x, unsigned y, bool before, uint64_t ns, uint64_t step)
{
	static const struct {
		uint64_t ns;
		const char *name;
	} units[] = {{1000000000, "s"}, {1000000, "ms"}, {1000, "µs"}, {1, "ns"}};
	unsigned i = 0;
	enum svg_anchor anchor = x < SVG_WIDE / 20 ? SVG_START : x > SVG_WIDE - SVG_WIDE / 20 ? SVG_END : SVG_MIDDLE;

	while (step < units[i].ns)
		i++;
	if (ns == 0)
		svg_text(h, "tick", x, y, anchor, "0");
	else
		svg_text(h, "tick", x, y, anchor, "%s%" PRIu64 " %s", before ? "−" : "", ns / units[i].ns,
			 units[i].name);
}

void svg_time_axis(struct html *h, unsigned y, uint64_t begin_ns, uint64_t end_ns, uint64_t zero_ns)
{
	uint64_t step = svg_step(end_ns - begin_ns, TICKS_MAX);
	uint64_t back = zero_ns > begin_ns ? (zero_ns - begin_ns) / step : 0;

	svg_line(h, "axis", 0, y, SVG_WIDE, y);
	for (uint64_t at = zero_ns - back * step; at <= end_ns; at += step) {
		uint64_t x = svg_place(at, begin_ns, end_ns);

		svg_line(h, "axis", x, y, x, y + 5);
		time_label(h, x, y + 18, at < zero_ns, at < zero_ns ? zero_ns - at : at - zero_ns, step);
		if (at > UINT64_MAX - step)
			break;
	}
}

uint64_t svg_log2(uint64_t value)
{
	unsigned top;
	uint64_t x, r;

	if (value == 0)
		return 0;
	top = 63U - (unsigned)__builtin_clzll(value);
	/* x is value / 2^top in [1, 2), with 31 bits behind the point; squaring it doubles the logarithm. */
	x = top > 31 ? value >> (top - 31) : value << (31 - top);
	r = top;
	for (unsigned bit = 0; bit < 10; bit++) {
		x = x * x >> 31;
		r <<= 1;
		if (x >> 32) {
			r |= 1;
			x >>= 1;
		}
	}
	return r;
}
