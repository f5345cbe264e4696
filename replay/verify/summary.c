/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/verify/summary.h"

void withheld_add(struct withheld_run *run, uint64_t epoch, const struct chunk *c)
{
	if (run->chunks == 0)
		*run = (struct withheld_run){.first_epoch = epoch, .first_ns = c->first_ns};
	run->chunks++;
	run->rows += c->nrows;
	run->last_epoch = epoch;
	if (c->first_ns < run->first_ns)
		run->first_ns = c->first_ns;
	if (c->last_ns > run->last_ns)
		run->last_ns = c->last_ns;
}

static void add_withheld(struct summary *s, const struct schema *schema, uint64_t epoch, const struct chunk *c)
{
	const char *name = schema_class_name(schema, c->class);
	struct withheld_class *w = s->withheld, *end = s->withheld + s->nwithheld;

	while (w < end && w->name != name)
		w++;
	if (w == end) {
		if (s->nwithheld == CLASSES_MAX || !name)
			return; /* the schema has no more classes, and every chunk is of one of them */
		s->nwithheld++;
		*w = (struct withheld_class){.name = name, .id = c->class};
	}
	withheld_add(&w->all, epoch, c);
}

void summary_make(struct summary *s, const struct evidence *e)
{
	const struct reader *r = &e->reader;
	const struct verification *v = &e->verification;

	*s = (struct summary){.nepochs = v->nepochs < r->nepochs ? v->nepochs : r->nepochs};
	s->ended = r->tail == TAIL_END && s->nepochs == r->nepochs && v->verdict != VERDICT_FORGED &&
		   v->verdict != VERDICT_MALFORMED;
	s->duration_ns = v->end_ns > r->header.start_boot_ns ? v->end_ns - r->header.start_boot_ns : 0;
	s->counters = reader_counters_of(r, s->nepochs, s->ended, &s->ncounters);
	s->seal = s->ended ? r->end.hash : s->nepochs > 0 ? r->epochs[s->nepochs - 1].hash : NULL;
	for (uint64_t i = 0; i < s->nepochs; i++)
		for (uint32_t c = 0; c < r->epochs[i].nchunks; c++)
			if (r->epochs[i].chunks[c].withheld)
				add_withheld(s, &r->header.schema, i, &r->epochs[i].chunks[c]);
}

static void clock_step(struct clock_steps *c, const struct clock_anchor *from, const struct clock_anchor *to)
{
	/* Modulo 2^64, as far as clocks may be set: the difference of differences is what counts. */
	int64_t step = (int64_t)((to->wall_ns - from->wall_ns) - (to->boot_ns - from->boot_ns));
	uint64_t size = step < 0 ? 0 - (uint64_t)step : (uint64_t)step;
	uint64_t greatest = c->greatest_ns < 0 ? 0 - (uint64_t)c->greatest_ns : (uint64_t)c->greatest_ns;

	if (size < CLOCK_STEP_NS)
		return;
	c->n++;
	if (size > greatest)
		c->greatest_ns = step;
}

void clock_steps_find(struct clock_steps *c, const struct evidence *e)
{
	const struct reader *r = &e->reader;
	struct clock_anchor last = {.boot_ns = r->header.start_boot_ns, .wall_ns = r->header.start_wall_ns};
	bool ended = r->tail == TAIL_END && e->verification.nepochs == r->nepochs;

	*c = (struct clock_steps){.first_wall_ns = last.wall_ns};
	for (uint64_t i = 0; i < e->verification.nepochs; i++) {
		clock_step(c, &last, &r->epochs[i].anchor);
		last = r->epochs[i].anchor;
	}
	if (ended) {
		clock_step(c, &last, &r->end.anchor);
		last = r->end.anchor;
	}
	c->last_wall_ns = last.wall_ns;
}
