/* SPDX-License-Identifier: Apache-2.0 */
/* Two runs side by side, for programs: docs/SCHEMA.md. */
#include <stdio.h>
#include <string.h>

#include "replay/diff/diff_internal.h"
#include "replay/out.h"

static const char *certainty_word(const struct diff_change *c)
{
	static const char *const words[CERTAINTIES] = {[CERTAINTY_NONE] = "noise",
						       [CERTAINTY_SHORT] = "too_short",
						       [CERTAINTY_NOISE] = "noise",
						       [CERTAINTY_UNSURE] = "unsure",
						       [CERTAINTY_MORE] = "more"};

	return words[c->certainty];
}

const char *diff_cause_key(enum diff_cause cause)
{
	static const char *const keys[DIFF_NCAUSES] = {[DIFF_CPU] = "waited_for_cpu",
						       [DIFF_FUTEX] = "futex",
						       [DIFF_DISK] = "disk",
						       [DIFF_FAULT] = "fault",
						       [DIFF_OTHER] = "asleep"};

	return keys[cause];
}

static uint64_t quantile(const struct diff_row *row, double share)
{
	return row ? diff_quantile(row, share) : 0;
}

static void json_double(struct out *o, double value)
{
	char text[48];

	snprintf(text, sizeof(text), "%.9g", value);
	out_string(o, text);
}

static const char *call_key(unsigned metric)
{
	static const char *const keys[] = {
		[CALL_RATE] = "rate", [CALL_MEDIAN] = "median", [CALL_TAIL] = "p99", [CALL_SLOW] = "slow"};

	return metric < CALL_CAUSES ? keys[metric] : diff_cause_key(metric - CALL_CAUSES);
}

static const char *process_key(unsigned metric)
{
	static const char *const keys[] = {[PROCESS_HELD] = "held",
					   [PROCESS_GROWTH] = "growth",
					   [PROCESS_UNFREED] = "unfreed",
					   [PROCESS_SLOW] = "slow"};

	return metric < PROCESS_CAUSES ? keys[metric] : diff_cause_key(metric - PROCESS_CAUSES);
}

/* "name":"more", and among the bounds "name":0.5; nothing where neither run has it. */
static void json_change(struct out *o, const char *name, const struct diff_change *c)
{
	out_string(o, ",\"");
	out_string(o, name);
	out_string(o, "\":\"");
	out_string(o, certainty_word(c));
	out_char(o, '"');
}

static void json_bound(struct out *o, bool *first, const char *name, const struct diff_change *c)
{
	if (c->certainty < CERTAINTY_NOISE)
		return;
	out_string(o, *first ? "\"" : ",\"");
	out_string(o, name);
	out_string(o, "\":{\"a\":");
	json_double(o, c->a);
	out_string(o, ",\"b\":");
	json_double(o, c->b);
	out_string(o, ",\"bound\":");
	json_double(o, c->bound);
	out_char(o, '}');
	*first = false;
}

static void json_number(struct out *o, const char *key, uint64_t value)
{
	out_string(o, key);
	out_u64(o, value);
}

static void json_side(struct out *o, const char *key, const struct diff_side *s)
{
	out_string(o, key);
	out_string(o, "{\"verdict\":\"");
	out_string(o, s->verdict);
	out_string(o, "\",\"capture\":\"");
	out_string(o, s->capture);
	json_number(o, "\",\"duration_ns\":", s->duration_ns);
	json_number(o, ",\"epochs\":", s->nepochs);
	json_number(o, ",\"events\":", s->nevents);
	json_number(o, ",\"lost\":", s->nlost);
	out_char(o, '}');
}

static void json_split(struct out *o, const struct diff_split *s)
{
	json_number(o, ",\"in_calls_ns\":", s->in_calls_ns);
	for (unsigned i = 0; i < DIFF_NCAUSES; i++) {
		out_string(o, ",\"");
		out_string(o, diff_cause_key(i));
		json_number(o, "_ns\":", s->ns[i]);
	}
}

static void json_row(struct out *o, const char *key, const struct diff_row *row)
{
	out_string(o, key);
	if (!row) {
		out_string(o, "null");
		return;
	}
	json_number(o, "{\"calls\":", row->ncalls);
	json_number(o, ",\"failed\":", row->nfailed);
	json_number(o, ",\"total_ns\":", row->total_ns);
	json_number(o, ",\"median_ns\":", quantile(row, 0.5));
	json_number(o, ",\"p99_ns\":", quantile(row, 0.99));
	json_number(o, ",\"max_ns\":", row->max_ns);
	json_number(o, ",\"epochs\":", row->nblocks);
	json_split(o, &row->split);
	out_char(o, '}');
}

static void json_process(struct out *o, const char *key, const struct diff_process *p)
{
	out_string(o, key);
	json_number(o, "{\"peak_bytes\":", p->peak_bytes[MEMORY_KINDS]);
	json_number(o, ",\"held_bytes\":", p->held_bytes[MEMORY_KINDS]);
	out_string(o, ",\"memory\":{");
	for (unsigned kind = 0, first = 1; kind < MEMORY_KINDS; kind++) {
		if (!p->peak_bytes[kind])
			continue;
		out_string(o, first ? "\"" : ",\"");
		out_string(o, memory_word(kind));
		json_number(o, "\":{\"peak_bytes\":", p->peak_bytes[kind]);
		json_number(o, ",\"held_bytes\":", p->held_bytes[kind]);
		out_char(o, '}');
		first = 0;
	}
	out_char(o, '}');
	json_split(o, &p->split);
	out_char(o, '}');
}

static void json_processes(struct out *o, const struct comparison *c)
{
	for (size_t i = 0; i < c->nprocesses; i++) {
		const struct process_pair *p = &c->processes[i];
		bool first = true;

		out_string(o, i ? ",{\"process\":" : "{\"process\":");
		out_json(o, p->name, strlen(p->name));
		json_process(o, ",\"a\":", p->a);
		json_process(o, ",\"b\":", p->b);
		for (unsigned m = 0; m < PROCESS_METRICS; m++)
			json_change(o, process_key(m), &p->change[m]);
		out_string(o, ",\"bounds\":{");
		for (unsigned m = 0; m < PROCESS_METRICS; m++)
			json_bound(o, &first, process_key(m), &p->change[m]);
		out_string(o, "}}");
	}
}

void diff_write_json(struct out *o, const struct comparison *c)
{
	json_side(o, "{\"a\":", c->a);
	json_side(o, ",\"b\":", c->b);
	out_string(o, ",\"calls\":[");
	for (size_t i = 0; i < c->npairs; i++) {
		const struct pair *p = &c->pairs[i];
		bool first = true;

		out_string(o, i ? ",{\"process\":" : "{\"process\":");
		out_json(o, p->process, strlen(p->process));
		out_string(o, ",\"function\":");
		out_json(o, p->function, strlen(p->function));
		json_row(o, ",\"a\":", p->a);
		json_row(o, ",\"b\":", p->b);
		for (unsigned m = 0; m < CALL_METRICS; m++)
			json_change(o, call_key(m), &p->change[m]);
		json_number(o, ",\"slow_ns\":", p->slow_ns);
		out_string(o, ",\"bounds\":{");
		for (unsigned m = 0; m < CALL_METRICS; m++)
			json_bound(o, &first, call_key(m), &p->change[m]);
		out_string(o, "}}");
	}
	out_string(o, "],\"processes\":[");
	json_processes(o, c);
	out_string(o, "]}\n");
}
