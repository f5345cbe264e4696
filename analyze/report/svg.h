/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pictures inside a page. Their width is the page's: x and widths are given in millionths of it, y and heights in
 * pixels, so that lines and letters keep their size on a telephone and on a wide screen. Colours are the style sheet's,
 * by class.
 */
#ifndef GPUREC_ANALYZE_REPORT_SVG_H
#define GPUREC_ANALYZE_REPORT_SVG_H

#include "analyze/report/html.h"

#define SVG_WIDE 1000000 /* the whole width */

enum svg_anchor { SVG_START, SVG_MIDDLE, SVG_END };

/* `title` and `description` are read out, and shown where pictures are not. html_close() ends it. */
void svg_open(struct html *h, unsigned height_px, const char *title, const struct text *description);

/* Left open for a title; svg_tip() and html_close(), or html_close() alone. At least a pixel is seen of it. */
void svg_rect(struct html *h, const char *class, uint64_t x, uint64_t width, unsigned y, unsigned height);
/* The text for the shape under the pointer; empties `t`. */
void svg_tip(struct html *h, struct text *t);
void svg_line(struct html *h, const char *class, uint64_t x1, unsigned y1, uint64_t x2, unsigned y2);
__attribute__((format(printf, 6, 7))) void svg_text(struct html *h, const char *class, uint64_t x, unsigned y,
						    enum svg_anchor anchor, const char *fmt, ...);
/* The same for what `t` holds; empties it. */
void svg_label(struct html *h, const char *class, uint64_t x, unsigned y, enum svg_anchor anchor, struct text *t);

/* A value that is written over what is drawn, at the left or right edge, on paper of its own; empties `value`. */
void svg_value(struct html *h, enum svg_anchor edge, unsigned y, struct text *value);

/* A position on a linear axis over [begin, end]: 0 to SVG_WIDE. */
uint64_t svg_place(uint64_t at, uint64_t begin, uint64_t end);

/* Time along the bottom: a line at y, ticks and their labels below it (SVG_AXIS_PX), counted from `zero`. */
#define SVG_AXIS_PX 24
void svg_time_axis(struct html *h, unsigned y, uint64_t begin_ns, uint64_t end_ns, uint64_t zero_ns);

/* log2 in 1/1024, rounded down, by integers alone: the same on every machine. 0 of 0. */
uint64_t svg_log2(uint64_t value);

/* A distance of ticks, 1, 2 or 5 times a power of ten, so that at most `most` of them lie in `span`. */
uint64_t svg_step(uint64_t span, unsigned most);

#endif
