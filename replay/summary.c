/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/summary.h"

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
		*w = (struct withheld_class){
			.name = name, .id = c->class, .first_epoch = epoch, .first_ns = c->first_ns};
	}
	w->rows += c->nrows;
	w->chunks++;
	w->last_epoch = epoch;
	if (c->first_ns < w->first_ns)
		w->first_ns = c->first_ns;
	if (c->last_ns > w->last_ns)
		w->last_ns = c->last_ns;
}

void summary_make(struct summary *s, const struct evidence *e)
{
	const struct reader *r = &e->reader;
	const struct verification *v = &e->verification;

	*s = (struct summary){.nepochs = v->nepochs < r->nepochs ? v->nepochs : r->nepochs};
	s->ended = r->tail == TAIL_END && s->nepochs == r->nepochs && v->verdict != VERDICT_FORGED &&
		   v->verdict != VERDICT_MALFORMED;
	s->duration_ns = v->end_ns > r->header.start_boot_ns ? v->end_ns - r->header.start_boot_ns : 0;
	if (s->ended) {
		s->counters = r->end.counters;
		s->ncounters = r->end.ncounters;
		s->seal = r->end.hash;
	} else if (s->nepochs > 0) {
		s->counters = r->epochs[s->nepochs - 1].counters;
		s->ncounters = r->epochs[s->nepochs - 1].ncounters;
		s->seal = r->epochs[s->nepochs - 1].hash;
	}
	for (uint64_t i = 0; i < s->nepochs; i++)
		for (uint32_t c = 0; c < r->epochs[i].nchunks; c++)
			if (r->epochs[i].chunks[c].withheld)
				add_withheld(s, &r->header.schema, i, &r->epochs[i].chunks[c]);
}
