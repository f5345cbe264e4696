// SPDX-License-Identifier: Apache-2.0
#include "analyze/report.h"

#include <inttypes.h>
#include <sodium.h>
#include <string.h>

#include "keys/tool.h"

static void hash_text(struct text *t, char *hex)
{
	uint8_t hash[HASH_BYTES];

	crypto_generichash(hash, sizeof(hash), (const unsigned char *)text_string(t), t->len, NULL, 0);
	tool_format_hex(hex, hash, sizeof(hash));
	text_clear(t);
}

/*
 * Of the names of the rules, of all their settings, and of the user's rules to the byte: reports with the same hash
 * judged by the same rules.
 */
static void hash_rules(const struct report *r, struct report_facts *f)
{
	struct text t = {0};

	settings_text(r->settings, &t);
	hash_text(&t, f->settings_hash);
	for (unsigned i = 0; i < NRULES; i++)
		text_add(&t, "%s\n", rules[i]->name);
	settings_text(r->settings, &t);
	for (size_t i = 0; r->user_rules && i < r->user_rules->n; i++) {
		const struct user_rule *u = &r->user_rules->all[i];

		text_add(&t, "user %s %zu\n", u->name, u->len);
		text_add_bytes(&t, u->text, u->len);
	}
	hash_text(&t, f->rules_hash);
}

void report_gather(const struct report *r, struct report_facts *f)
{
	const struct reader *reader = &r->evidence->reader;
	const struct names *names = engine_context(r->engine)->names;
	const uint8_t *seal = NULL;

	memset(f, 0, sizeof(*f));
	tool_format_hex(f->capture_id, reader->header.capture_id, CAPTURE_ID_BYTES);
	hash_rules(r, f);
	f->nepochs = reader->nepochs;
	f->begin_ns = f->end_ns = reader->header.start_boot_ns;
	f->ended = reader->tail == TAIL_END;
	if (f->nepochs > 0) {
		const struct epoch *last = &reader->epochs[f->nepochs - 1];

		f->end_ns = last->end_ns;
		f->counters = last->counters;
		f->ncounters = last->ncounters;
		seal = last->hash;
	}
	if (f->ended) {
		f->counters = reader->end.counters;
		f->ncounters = reader->end.ncounters;
		seal = reader->end.hash;
	}
	if (r->stopped && r->stopped_ns < f->end_ns)
		f->end_ns = r->stopped_ns;
	if (seal)
		tool_format_hex(f->last_seal, seal, HASH_BYTES);
	for (uint64_t e = 0; e < f->nepochs; e++)
		for (uint32_t i = 0; i < reader->epochs[e].nchunks; i++)
			if (reader->epochs[e].chunks[i].withheld && reader->epochs[e].chunks[i].class < CLASSES_MAX)
				f->nwithheld[reader->epochs[e].chunks[i].class]++;
	while (r->stopped && f->nepochs && reader->epochs[f->nepochs - 1].begin_ns > r->stopped_ns)
		f->nepochs--;
	for (size_t i = 0; i < names->processes.nitems; i++) {
		const struct process *p = (const struct process *)names->processes.items[i];

		f->nrunning += p->tracked && !p->exec_seen && p->start_ns && p->start_ns < f->begin_ns;
	}
}

unsigned report_summary(const struct report *r, const struct finding **worst, unsigned max)
{
	unsigned n = 0, k;

	for (size_t i = 0; i < r->findings->n && n < max; i++) {
		const struct finding *f = r->findings->all[i];

		for (k = 0; k < n && !(f->futex && worst[k]->futex == f->futex && worst[k]->process == f->process); k++)
			;
		if (k == n && f->severity > SEVERITY_INFO)
			worst[n++] = f;
	}
	return n;
}

_Static_assert(LEVELS <= SERIES_MAX, "levels fit into a series");

bool report_series(const struct finding *f, struct series *s)
{
	if (f->series && f->series->n <= SERIES_MAX) {
		*s = *f->series;
		return true;
	}
	if (!f->levels || f->levels->width_ns == 0)
		return false;
	*s = (struct series){.label = "bytes that are not given back, the least in each slice of time",
			     .unit = SERIES_BYTES,
			     .begin_ns = f->levels->begin_ns,
			     .width_ns = f->levels->width_ns,
			     .n = f->levels->n};
	memcpy(s->value, f->levels->low, f->levels->n * sizeof(s->value[0]));
	return true;
}

void report_count(struct text *t, uint64_t n, const char *singular)
{
	text_add(t, "%" PRIu64 " %s%s", n, singular, n == 1 ? "" : "s");
}

static void add_losses(const struct report_facts *f, const struct schema *schema, struct text *t)
{
	for (uint32_t i = 0; i < f->ncounters; i++) {
		const struct counter *c = &f->counters[i];
		const struct counter_type *type = schema_counter(schema, c->id);

		if (!type || (type->role != ROLE_LOST && type->role != ROLE_NOTED))
			continue;
		text_add(t, "%" PRIu64 " of %s: %s%s\n", c->value, call_name(schema, c->probe), type->name,
			 type->role == ROLE_LOST ? " (not recorded)" : " (recorded without it)");
	}
}

static void add_withheld(const struct report_facts *f, const struct schema *schema, struct text *t)
{
	for (unsigned c = 0; c < CLASSES_MAX; c++) {
		if (f->nwithheld[c] == 0 || !schema_class_name(schema, (uint8_t)c))
			continue;
		report_count(t, f->nwithheld[c], "chunk");
		text_add(t, " of class %s %s withheld\n", schema_class_name(schema, (uint8_t)c),
			 f->nwithheld[c] == 1 ? "was" : "were");
	}
}

static void add_refusals(const struct names *names, const struct schema *schema, struct text *t)
{
	for (uint64_t i = 0; i < names->nrefusals && i < REFUSALS_KEPT; i++) {
		const struct refusal *r = &names->refusals[i];

		text_add(t, "%s could not be probed in module %" PRIu64 " (%s)\n", call_name(schema, r->probe),
			 r->module, strerrordesc_np((int)(r->error & 0xfff)) ?: "unknown error");
	}
}

void report_unseen(const struct report *r, const struct report_facts *f, struct text *t)
{
	const struct schema *schema = &r->evidence->reader.header.schema;
	const struct names *names = engine_context(r->engine)->names;
	size_t before = t->len;

	add_losses(f, schema, t);
	add_withheld(f, schema, t);
	add_refusals(names, schema, t);
	if (f->nrunning) {
		text_add(t,
			 "%" PRIu64 " of the processes ran before recording began; what they did and held until then\n",
			 f->nrunning);
	}
	if (names->nunkept) {
		report_count(t, names->nunkept, "name");
		text_add(t, " beyond what is kept\n");
	}
	if (!f->ended)
		text_add(t, "Anything after the last seal\n");
	if (r->stopped) {
		text_add(t, "Anything after the place where the events cannot be read: ");
		text_add_escaped(t, r->stopped->text, strlen(r->stopped->text));
		text_add(t, "\n");
	}
	if (t->len == before)
		text_add(t, "Nothing is missing of what it set out to record.\n");
}
