// SPDX-License-Identifier: Apache-2.0
#include "analyze/facts/losses.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/rule.h"
#include "format/base/units.h"
#include "keys/completeness.h"

static int most_first(const void *a, const void *b)
{
	const struct loss *x = a, *y = b;

	if (x->n != y->n)
		return x->n > y->n ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void count_in(struct losses *l, const char *name, uint64_t n)
{
	size_t i = 0;

	while (i < l->n && strcmp(l->all[i].name, name) != 0)
		i++;
	if (i == l->n)
		l->all[l->n++] = (struct loss){.name = name};
	l->all[i].n += n;
	l->total += n;
}

bool losses_collect(struct losses *l, const struct schema *schema, const struct counter *counters, uint32_t ncounters,
		    counter_test *counts, const void *arg)
{
	*l = (struct losses){.all = calloc((size_t)ncounters + 1, sizeof(struct loss))};
	if (!l->all)
		return false;
	for (uint32_t i = 0; i < ncounters; i++) {
		const struct probe *p = schema_probe(schema, counters[i].probe);

		if (counters[i].value && counts(schema, &counters[i], arg))
			count_in(l, p ? p->name : "", counters[i].value);
	}
	qsort(l->all, l->n, sizeof(struct loss), most_first);
	return true;
}

void losses_clear(struct losses *l)
{
	free(l->all);
	*l = (struct losses){0};
}

void losses_add(const struct losses *l, size_t max, struct text *t)
{
	uint64_t left = l->total;

	for (size_t i = 0; i < l->n && i < max; i++) {
		text_add(t, "%s %llu of %s", i ? "," : "", (unsigned long long)l->all[i].n, l->all[i].name);
		left -= l->all[i].n;
	}
	if (l->n > max)
		text_add(t, " and %llu of %zu other%s", (unsigned long long)left, l->n - max, plural(l->n - max));
}

bool loss_alarms(const struct schema *schema, const struct counter *c, const void *arg)
{
	return loss_of_events(schema, c, arg) || loss_not_attached(schema, c, arg);
}

bool loss_hides(const struct schema *schema, const struct counter *c, const void *arg)
{
	return loss_alarms(schema, c, arg) || loss_on_purpose(schema, c, arg);
}

bool loss_of_events(const struct schema *schema, const struct counter *c, const void *arg)
{
	(void)arg;
	return absence_of(schema, c->id) == ABSENCE_LOST;
}

bool loss_not_attached(const struct schema *schema, const struct counter *c, const void *arg)
{
	(void)arg;
	return absence_of(schema, c->id) == ABSENCE_NOT_ATTACHED;
}

bool loss_on_purpose(const struct schema *schema, const struct counter *c, const void *arg)
{
	(void)arg;
	return absence_of(schema, c->id) == ABSENCE_LEFT_OUT;
}

static bool is_of_call(const struct schema *schema, const struct counter *c)
{
	const struct probe *p = schema_probe(schema, c->probe);
	const struct kind *kind = p ? schema_kind(schema, p->kind) : NULL;

	return kind && (kind->flags & KIND_CALL) == KIND_CALL;
}

/* Calls of a kind, or of any if that is 0. */
static bool is_left_out(const struct schema *schema, const struct counter *c, const void *kind)
{
	const struct probe *p = schema_probe(schema, c->probe);
	uint16_t wanted = *(const uint16_t *)kind;

	return absence_of(schema, c->id) == ABSENCE_LEFT_OUT && is_of_call(schema, c) &&
	       (wanted == 0 || p->kind == wanted);
}

uint64_t calls_left_out(const struct reader *r, uint16_t kind)
{
	return r ? reader_sum(r, r->nepochs, is_left_out, &kind) : 0;
}

bool calls_left_out_within(const struct reader *r, uint64_t begin_ns, uint64_t end_ns)
{
	uint64_t lo = 0, hi = r ? r->nepochs : 0;
	const uint16_t any = 0;

	if (calls_left_out(r, 0) == 0)
		return false;
	while (lo < hi) { /* the first that ends after begin_ns */
		uint64_t mid = lo + (hi - lo) / 2;

		if (r->epochs[mid].end_ns > begin_ns)
			hi = mid;
		else
			lo = mid + 1;
	}
	while (lo > 0 && r->epochs[lo - 1].anchor.boot_ns > begin_ns) /* counters are read a little after the end */
		lo--;
	while (hi < r->nepochs && r->epochs[hi].begin_ns < end_ns)
		hi++;
	return reader_sum(r, hi, is_left_out, &any) > reader_sum(r, lo, is_left_out, &any);
}

static bool is_missing(const struct schema *schema, const struct counter *c, const void *kind)
{
	const struct probe *p = schema_probe(schema, c->probe);
	uint16_t wanted = *(const uint16_t *)kind;

	return loss_hides(schema, c, NULL) && (wanted == 0 ? is_of_call(schema, c) : p && p->kind == wanted);
}

bool rows_missing(const struct context *ctx, uint16_t kind)
{
	return ctx->reader && reader_sum(ctx->reader, ctx->reader->nepochs, is_missing, &kind);
}

bool loss_open_call(const struct schema *schema, const struct counter *c, const void *arg)
{
	(void)arg;
	return c->id == COUNTER_in_flight && is_of_call(schema, c);
}

bool counts_call(const struct schema *schema, const struct counter *c, const void *arg)
{
	(void)arg;
	return c->id == COUNTER_recorded && is_of_call(schema, c);
}

uint64_t losses_fired(const struct schema *schema, const struct counter *counters, uint32_t ncounters)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < ncounters; i++) {
		const struct counter_type *type = schema_counter(schema, counters[i].id);

		n += type && type->role == ROLE_FIRED ? counters[i].value : 0;
	}
	return n;
}

static bool holds_no_events(const struct epoch *e)
{
	bool withheld = false;

	for (uint32_t i = 0; i < e->nchunks; i++) {
		if (e->chunks[i].class == CLASS_events && !e->chunks[i].withheld)
			return false;
		withheld |= e->chunks[i].class == CLASS_events;
	}
	return withheld;
}

uint64_t withheld_ns(const struct reader *r)
{
	uint64_t ns = 0;

	for (uint64_t i = 0; i < r->nepochs; i++)
		if (holds_no_events(&r->epochs[i]) && r->epochs[i].end_ns > r->epochs[i].begin_ns)
			ns += r->epochs[i].end_ns - r->epochs[i].begin_ns;
	return ns;
}

const char *loss_remedy(uint8_t counter)
{
	switch (counter) {
	case COUNTER_ring_full:
		return "Record with a bigger buffer (--ring), fewer processes, or without futexes (--no-futex)";
	case COUNTER_sampled_out:
	case COUNTER_over_rate:
		return "Record again without --sample and --max-rate: the events that would show it were left out on "
		       "purpose";
	case COUNTER_no_state:
	case COUNTER_not_staged:
		return "Record with more memory for the recorder, or fewer processes";
	default:
		return "Record again: the events that would show it were not recorded";
	}
}

/* The cause that took most of the rows from which the states of threads are known; false: none did. */
static bool worst_cause(const struct context *ctx, uint8_t *worst)
{
	uint32_t ncounters = 0;
	const struct counter *all = ctx->reader ? reader_counters(ctx->reader, ctx->reader->nepochs, &ncounters) : NULL;
	uint64_t n[256] = {0}, most = 0;

	for (uint32_t i = 0; i < ncounters; i++) {
		const struct counter *c = &all[i];
		const struct probe *p = schema_probe(ctx->schema, c->probe);
		const struct counter_type *type = schema_counter(ctx->schema, c->id);

		if (!p || !type || type->role != ROLE_LOST ||
		    (p->kind != KIND_switch && p->kind != KIND_waking && p->kind != KIND_fork))
			continue;
		n[c->id] += c->value;
		if (n[c->id] > most) {
			most = n[c->id];
			*worst = c->id;
		}
	}
	return most > 0;
}

const char *unknown_remedy(const struct context *ctx)
{
	uint8_t worst = 0;

	if (ctx->names->about.unreported)
		return "Record on a kernel that has the tracepoints sched_switch and sched_waking: this one does not "
		       "report why";
	if (worst_cause(ctx, &worst))
		return loss_remedy(worst);
	if (ctx->reader && reader_withholds(ctx->reader, CLASS_events))
		return "Ask the sender of the capture for the whole of it: the events that would show it were withheld";
	return "Record again, for what is recorded here does not show why; nothing was lost, so it may be the host "
	       "that does not show all";
}
