/* SPDX-License-Identifier: Apache-2.0 */
/* Two runs side by side, for programs: docs/SCHEMA.md. */
#include <stdio.h>
#include <string.h>

#include "replay/diff/diff_internal.h"

static const char *certainty_word(const struct diff_change *c)
{
	static const char *const words[CERTAINTIES] = {[CERTAINTY_NONE] = "noise",
						       [CERTAINTY_SHORT] = "too_short",
						       [CERTAINTY_NOISE] = "noise",
						       [CERTAINTY_UNSURE] = "unsure",
						       [CERTAINTY_MORE] = "more"};

	return words[c->certainty];
}

static void add_double(struct json *j, const char *key, double value)
{
	char text[48];

	snprintf(text, sizeof(text), "%.9g", value);
	json_number(j, key, text);
}

/* Among the bounds: nothing where neither run has it. */
static void add_bound(struct json *j, const char *name, const struct diff_change *c)
{
	if (c->certainty < CERTAINTY_NOISE)
		return;
	json_open(j, name, '{');
	add_double(j, "a", c->a);
	add_double(j, "b", c->b);
	add_double(j, "bound", c->bound);
	json_close(j, '}');
}

static void add_side(struct json *j, const char *key, const struct diff_side *s)
{
	json_open(j, key, '{');
	json_string(j, "verdict", s->verdict);
	json_string(j, "capture", s->capture);
	json_u64(j, "duration_ns", s->duration_ns);
	json_u64(j, "epochs", s->nepochs);
	json_u64(j, "events", s->nevents);
	json_u64(j, "lost", s->nlost);
	json_close(j, '}');
}

static void add_split(struct json *j, const struct diff_split *s)
{
	json_u64(j, "in_calls_ns", s->in_calls_ns);
	for (unsigned i = 0; i < DIFF_NCAUSES; i++) {
		char key[32];

		snprintf(key, sizeof(key), "%s_ns", diff_call_metrics[CALL_CAUSES + i].key);
		json_u64(j, key, s->ns[i]);
	}
}

static void add_row(struct json *j, const char *key, const struct diff_row *row)
{
	if (!row) {
		json_null(j, key);
		return;
	}
	json_open(j, key, '{');
	json_u64(j, "calls", row->ncalls);
	json_u64(j, "failed", row->nfailed);
	json_u64(j, "total_ns", row->total_ns);
	json_u64(j, "median_ns", diff_quantile(row, 0.5));
	json_u64(j, "p99_ns", diff_quantile(row, 0.99));
	json_u64(j, "max_ns", row->max_ns);
	json_u64(j, "epochs", row->nblocks);
	add_split(j, &row->split);
	json_close(j, '}');
}

static void add_memory(struct json *j, const struct diff_process *p, unsigned kind)
{
	json_u64(j, "peak_bytes", p->peak_bytes[kind]);
	json_u64(j, "held_bytes", p->held_bytes[kind]);
}

static void add_process(struct json *j, const char *key, const struct diff_process *p)
{
	json_open(j, key, '{');
	add_memory(j, p, MEMORY_KINDS);
	json_open(j, "memory", '{');
	for (unsigned kind = 0; kind < MEMORY_KINDS; kind++) {
		if (!p->peak_bytes[kind])
			continue;
		json_open(j, memory_word(kind), '{');
		add_memory(j, p, kind);
		json_close(j, '}');
	}
	json_close(j, '}');
	add_split(j, &p->split);
	json_close(j, '}');
}

static void add_changes(struct json *j, const struct diff_metric *metrics, const struct diff_change *changes,
			unsigned n)
{
	for (unsigned m = 0; m < n; m++)
		json_string(j, metrics[m].key, certainty_word(&changes[m]));
}

static void add_bounds(struct json *j, const struct diff_metric *metrics, const struct diff_change *changes, unsigned n)
{
	json_open(j, "bounds", '{');
	for (unsigned m = 0; m < n; m++)
		add_bound(j, metrics[m].key, &changes[m]);
	json_close(j, '}');
}

void diff_write_json(struct json *j, const char *key, const struct comparison *c)
{
	json_open(j, key, '{');
	add_side(j, "a", c->a);
	add_side(j, "b", c->b);
	json_open(j, "calls", '[');
	for (size_t i = 0; i < c->npairs; i++) {
		const struct pair *p = &c->pairs[i];

		json_open(j, NULL, '{');
		json_string(j, "process", p->process);
		json_string(j, "function", p->function);
		add_row(j, "a", p->a);
		add_row(j, "b", p->b);
		add_changes(j, diff_call_metrics, p->change, CALL_METRICS);
		json_u64(j, "slow_ns", p->slow_ns);
		add_bounds(j, diff_call_metrics, p->change, CALL_METRICS);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_open(j, "processes", '[');
	for (size_t i = 0; i < c->nprocesses; i++) {
		const struct process_pair *p = &c->processes[i];

		json_open(j, NULL, '{');
		json_string(j, "process", p->name);
		add_process(j, "a", p->a);
		add_process(j, "b", p->b);
		add_changes(j, diff_process_metrics, p->change, PROCESS_METRICS);
		add_bounds(j, diff_process_metrics, p->change, PROCESS_METRICS);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_close(j, '}');
}
