// SPDX-License-Identifier: Apache-2.0
/* Where the time went, second by second: a column stacks the parts of the time in it. */
#include <inttypes.h>

#include "analyze/report/pictures.h"
#include "analyze/report/svg.h"

#define PLOT_PX 150
#define COLUMNS_MAX 120 /* with more, some slices are one column */

const char *picture_part_class(enum ledger_part part)
{
	static const char *const classes[LEDGER_PARTS] = {
		[LEDGER_CALLS] = "on-cpu",    [LEDGER_FIRST] = "first",   [LEDGER_GPU] = "gpu",
		[LEDGER_OWN] = "own",         [LEDGER_CPU] = "no-cpu",    [LEDGER_QUOTA] = "quota",
		[LEDGER_TASK] = "futex",      [LEDGER_DEVICE] = "io",     [LEDGER_KERNEL] = "fault",
		[LEDGER_STOPPED] = "stopped", [LEDGER_CHOICE] = "choice", [LEDGER_OPEN] = "open",
		[LEDGER_UNKNOWN] = "unknown", [LEDGER_MEMORY] = "memory", [LEDGER_NETWORK] = "network"};

	return classes[part];
}

struct column {
	uint64_t begin_ns, end_ns;
	uint64_t ns[LEDGER_PARTS], whole_ns;
};

static struct column column_at(const struct feeders *f, size_t first, size_t n, uint64_t end_ns)
{
	struct column c = {feeders_slice_ns(f, first), feeders_slice_ns(f, first + n), {0}, 0};

	for (size_t i = first; i < first + n && i < f->nslices; i++)
		for (unsigned p = 0; p < LEDGER_PARTS; p++) {
			c.ns[p] += f->slices[i].ns[p];
			c.whole_ns += f->slices[i].ns[p];
		}
	if (c.end_ns > end_ns)
		c.end_ns = end_ns;
	return c;
}

/* How many threads this much of a column's time is, on average, in millionths. */
static uint64_t crowd_of(const struct column *c, uint64_t ns)
{
	return (uint64_t)((unsigned __int128)ns * 1000000 / (c->end_ns - c->begin_ns));
}

static void draw_column(struct html *h, const struct feeders *f, const struct column *c, uint64_t highest,
			uint64_t end_ns)
{
	uint64_t x = svg_place(c->begin_ns, f->begin_ns, end_ns), wide = svg_place(c->end_ns, f->begin_ns, end_ns) - x;
	uint64_t sum_ns = 0;
	unsigned from = 0;
	struct text t = {0};

	text_add(&t, "from +");
	text_add_ns(&t, c->begin_ns - f->begin_ns);
	text_add(&t, ", ");
	text_add_ns(&t, c->end_ns - c->begin_ns);
	for (unsigned p = 0; p < LEDGER_PARTS; p++) {
		unsigned to;

		if (!c->ns[p])
			continue;
		sum_ns += c->ns[p];
		to = (unsigned)(crowd_of(c, sum_ns) * PLOT_PX / highest);
		if (to > from) {
			svg_rect(h, picture_part_class((enum ledger_part)p), x, wide, PLOT_PX - to, to - from);
			html_close(h);
		}
		from = to;
		text_add(&t, "\n");
		text_add_ns(&t, c->ns[p]);
		text_add(&t, " %s", ledger_part_words((enum ledger_part)p));
	}
	svg_rect(h, "over", x, wide, 0, PLOT_PX);
	svg_tip(h, &t);
	html_close(h);
}

/* What is read out: the part that took most. */
static void describe(struct text *t, const struct feeders *f)
{
	enum ledger_part most = ledger_most(f->ns);

	text_add(t, "Most of the time, ");
	text_add_percent(t, f->ns[most], f->whole_ns);
	text_add(t, " %%: %s. The table has all of it.", ledger_part_words(most));
}

void picture_ledger(struct html *h, const struct report_facts *facts, const struct feeders *f)
{
	size_t each = (f->nslices + COLUMNS_MAX - 1) / COLUMNS_MAX, ncolumns = 0;
	uint64_t end_ns = feeders_slice_ns(f, f->nslices), highest = 0;
	struct column columns[COLUMNS_MAX];
	struct text t = {0};

	if (end_ns > facts->end_ns && facts->end_ns > f->begin_ns)
		end_ns = facts->end_ns;
	if (f->nslices < 2 || end_ns <= feeders_slice_ns(f, f->nslices - 1))
		return;
	for (size_t i = 0; i < f->nslices; i += each) {
		struct column *c = &columns[ncolumns++];

		*c = column_at(f, i, each, end_ns);
		if (crowd_of(c, c->whole_ns) > highest)
			highest = crowd_of(c, c->whole_ns);
	}
	if (!highest)
		return;
	describe(&t, f);
	html_open(h, "figure", NULL);
	svg_open(h, PLOT_PX + SVG_AXIS_PX, "Where the time went, second by second", &t);
	text_clear(&t);
	for (size_t i = 0; i < ncolumns; i++)
		draw_column(h, f, &columns[i], highest, end_ns);
	svg_time_axis(h, PLOT_PX, f->begin_ns, end_ns, f->begin_ns);
	html_close(h);
	html_open(h, "figcaption", NULL);
	html_string(h, "The same over time, ");
	text_add_ns(&t, each * f->slice_ns);
	html_take(h, &t);
	html_text(h,
		  " a column, in the table's colours. The higher a column, the more of the threads were there (%" PRIu64
		  ".%" PRIu64 " on average in the highest).",
		  highest / 1000000, highest / 100000 % 10);
	if (f->nunsliced)
		html_text(h, " %" PRIu64 " of them are not in the picture.", f->nunsliced);
	html_close(h);
	html_close(h);
}
