// SPDX-License-Identifier: Apache-2.0
/* Who waits in a futex, who wakes them, and who kept those from it: a graph of three columns. */
#include <inttypes.h>
#include <string.h>

#include "analyze/report/pictures.h"
#include "analyze/report/svg.h"
#include "format/base/units.h"

#define NODES_MAX 4 /* of a column */
#define NODE_PX 38
#define NODE_GAP_PX 12
#define STEP_PX (NODE_PX + NODE_GAP_PX)
#define TOP_PX 22
#define BOTTOM_PX 6
#define NODE_WIDE (SVG_WIDE * 30 / 100)
#define MIDDLE (SVG_WIDE * 35 / 100)
#define RIGHT (SVG_WIDE * 70 / 100)
#define NAME_SHOWN 11 /* characters of a name that fit into a node on a telephone */

/* The parties of one part, the first few drawn. */
struct column {
	const struct party *nodes[NODES_MAX];
	unsigned n, more;
};

static void fill(struct column *c, const struct finding *f, enum part_played part)
{
	for (unsigned i = 0; i < f->nparties; i++) {
		if (f->parties[i].part != part)
			continue;
		if (c->n < NODES_MAX)
			c->nodes[c->n++] = &f->parties[i];
		else
			c->more++;
	}
}

static void draw_node(struct html *h, const struct party *p, uint64_t x, unsigned y)
{
	struct text t = {0};

	svg_rect(h, "node", x, NODE_WIDE, y, NODE_PX);
	html_close(h);
	picture_add_name(&t, &p->who, NAME_SHOWN);
	svg_label(h, "label", x + NODE_WIDE / 2, y + 16, SVG_MIDDLE, &t);
	svg_text(h, "tick", x + NODE_WIDE / 2, y + 31, SVG_MIDDLE, "%" PRIu64, p->who.tid);
}

static unsigned middle_of(unsigned row)
{
	return TOP_PX + row * STEP_PX + NODE_PX / 2;
}

static void draw_futex(struct html *h, const struct finding *f, unsigned y)
{
	svg_rect(h, "node-futex", MIDDLE, NODE_WIDE, y, NODE_PX);
	html_close(h);
	svg_text(h, "on-bar", MIDDLE + NODE_WIDE / 2, y + 23, SVG_MIDDLE, "futex");
	/* Below the box: it is wider than the box on a telephone. */
	svg_text(h, "tick", MIDDLE + NODE_WIDE / 2, y + NODE_PX + 13, SVG_MIDDLE, "0x%" PRIx64, f->futex);
}

static void draw_column(struct html *h, const struct column *c, uint64_t x, unsigned first)
{
	for (unsigned i = 0; i < c->n; i++)
		draw_node(h, c->nodes[i], x, TOP_PX + (first + i) * STEP_PX);
}

static void draw(struct html *h, const struct finding *f, const struct column *waiters, const struct column *wakers,
		 const struct column *keepers)
{
	unsigned centre = middle_of(0);

	svg_text(h, "tick", NODE_WIDE / 2, 14, SVG_MIDDLE, "slept");
	svg_text(h, "tick", MIDDLE + NODE_WIDE / 2, 14, SVG_MIDDLE, "in");
	svg_text(h, "tick", RIGHT + NODE_WIDE / 2, 14, SVG_MIDDLE, "woken by");
	for (unsigned i = 0; i < waiters->n; i++)
		svg_line(h, "edge", NODE_WIDE, middle_of(i), MIDDLE, centre);
	for (unsigned i = 0; i < wakers->n; i++)
		svg_line(h, "edge", RIGHT, middle_of(i), MIDDLE + NODE_WIDE, centre);
	draw_futex(h, f, TOP_PX);
	draw_column(h, waiters, 0, 0);
	draw_column(h, wakers, RIGHT, 0);
	for (unsigned i = 0; i < keepers->n; i++)
		svg_line(h, "edge-kept", RIGHT + NODE_WIDE / 2, TOP_PX + (wakers->n + i) * STEP_PX,
			 RIGHT + NODE_WIDE / 2, TOP_PX + (wakers->n + i) * STEP_PX - NODE_GAP_PX);
	draw_column(h, keepers, RIGHT, wakers->n);
	for (unsigned i = 0; i < keepers->n; i++)
		svg_text(h, "tick", RIGHT - SVG_WIDE / 50, middle_of(wakers->n + i) + 4, SVG_END, "which was kept by");
}

static void list(struct html *h, const struct column *c, const char *role)
{
	struct text t = {0};

	for (unsigned i = 0; i < c->n; i++) {
		const struct party *p = c->nodes[i];

		text_add_who(&t, &p->who);
		text_add(&t, " %s %" PRIu64 " time%s, ", role, p->count, plural(p->count));
		text_add_ns(&t, p->ns);
		html_open(h, "li", NULL);
		html_take(h, &t);
		html_close(h);
	}
	if (c->more)
		html_element(h, "li", NULL, "and %u more that %s", c->more, role);
}

void picture_futex(struct html *h, const struct finding *f)
{
	struct column waiters = {0}, wakers = {0}, keepers = {0};
	unsigned rows;
	struct text t = {0};

	if (f->futex == 0 || f->nparties == 0)
		return;
	fill(&waiters, f, PART_WAITER);
	fill(&wakers, f, PART_WAKER);
	fill(&keepers, f, PART_KEEPER);
	rows = wakers.n + keepers.n > waiters.n ? wakers.n + keepers.n : waiters.n;
	text_add(&t, "Threads that slept in futex 0x%" PRIx64 ", those that woke them, and those that kept these.",
		 f->futex);
	html_open(h, "figure", NULL);
	svg_open(h, TOP_PX + rows * STEP_PX + BOTTOM_PX, "Who waited for whom", &t);
	text_clear(&t);
	draw(h, f, &waiters, &wakers, &keepers);
	html_close(h);
	html_open(h, "ul", "split");
	list(h, &waiters, "slept");
	list(h, &wakers, "woke");
	list(h, &keepers, "kept the waker");
	html_close(h);
	html_element(h, "figcaption", NULL, "Who waited for whom; the times are those of the sleeps.");
	html_close(h);
}
