// SPDX-License-Identifier: Apache-2.0
#include "analyze/report/report.h"

#include <inttypes.h>
#include <sodium.h>
#include <string.h>

#include "analyze/facts/losses.h"
#include "format/base/units.h"
#include "keys/tool/tool.h"

void report_hash(struct text *t, char *hex, size_t bytes, struct text *out)
{
	uint8_t hash[HASH_BYTES];

	crypto_generichash(hash, bytes, (const unsigned char *)text_string(t), t->len, NULL, 0);
	hex_text(hex, hash, bytes);
	out->failed |= t->failed;
	text_clear(t);
}

/*
 * Of the names of the rules, of all their settings, and of the user's rules to the byte: reports with the same hash
 * judged by the same rules.
 */
static void hash_rules(const struct report *r, struct report_facts *f, struct text *out)
{
	struct text t = {0};

	settings_text(r->settings, &t);
	report_hash(&t, f->settings_hash, HASH_BYTES, out);
	for (unsigned i = 0; i < NRULES; i++)
		text_add(&t, "%s\n", rules[i]->name);
	settings_text(r->settings, &t);
	for (size_t i = 0; r->user_rules && i < r->user_rules->n; i++) {
		const struct user_rule *u = &r->user_rules->all[i];

		text_add(&t, "user %s %zu\n", u->name, u->len);
		text_add_bytes(&t, u->text, u->len);
	}
	report_hash(&t, f->rules_hash, HASH_BYTES, out);
}

static const char *authentic_words(enum verdict v)
{
	switch (v) {
	case VERDICT_OK:
		return "Signature valid";
	case VERDICT_OK_SLICE:
		return "Signature valid; this is a part of a longer capture, and the rest is withheld";
	case VERDICT_OK_REDACTED:
		return "Signature valid; parts of the capture are withheld";
	case VERDICT_UNSEALED:
		return "Signature valid up to the last seal; the end of the capture is missing";
	default:
		return "The signature is invalid or was not checked";
	}
}

void report_meaning(const struct report *r, const struct report_facts *f, struct text *t)
{
	enum verdict v = r->evidence->verification.verdict;
	char missing[COMPLETENESS_WORDS];

	if (engine_context(r->engine)->unverified) {
		text_add(t, "nothing vouches for this capture; what follows may have been made up");
		return;
	}
	text_add(t, "%s", authentic_words(v));
	if (*completeness_words(missing, &f->complete))
		text_add(t, "%s%s", v == VERDICT_OK ? ", but " : "; ", missing);
	else if (completeness_is_full(&f->complete))
		text_add(t, ", nothing lost or withheld");
}

void report_gather(const struct report *r, struct report_facts *f, struct text *out)
{
	const struct reader *reader = &r->evidence->reader;
	const struct names *names = engine_context(r->engine)->names;
	const uint8_t *seal = NULL;

	memset(f, 0, sizeof(*f));
	hex_text(f->capture_id, reader->header.capture_id, CAPTURE_ID_BYTES);
	hash_rules(r, f, out);
	f->nepochs = reader->nepochs;
	f->begin_ns = f->end_ns = reader->header.start_boot_ns;
	f->ended = reader->tail == TAIL_END;
	if (f->nepochs > 0) {
		const struct epoch *last = &reader->epochs[f->nepochs - 1];

		f->end_ns = last->end_ns;
		seal = last->hash;
	}
	if (f->ended)
		seal = reader->end.hash;
	f->counters = reader_counters(reader, reader->nepochs, &f->ncounters);
	if (r->stopped && r->stopped_ns < f->end_ns)
		f->end_ns = r->stopped_ns;
	completeness_of(&f->complete, r->evidence);
	if (seal)
		hex_text(f->last_seal, seal, HASH_BYTES);
	for (uint64_t e = 0; e < f->nepochs; e++)
		for (uint32_t i = 0; i < reader->epochs[e].nchunks; i++)
			if (reader->epochs[e].chunks[i].withheld && reader->epochs[e].chunks[i].class < CLASSES_MAX)
				f->nwithheld[reader->epochs[e].chunks[i].class]++;
	while (r->stopped && f->nepochs && reader->epochs[f->nepochs - 1].begin_ns > r->stopped_ns)
		f->nepochs--;
	for (uint32_t i = 1; i <= names->tasks.nprocesses; i++) {
		const struct process *p = &names->tasks.processes[i];

		f->nrunning += p->tracked && !p->began && p->start_ns < f->begin_ns;
	}
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
	*s = (struct series){.label = f->unit == WEIGHT_BYTES ? "Memory not yet freed, the least in each interval"
							      : "Objects not yet destroyed, the least in each interval",
			     .unit = f->unit == WEIGHT_BYTES ? SERIES_BYTES : SERIES_COUNT,
			     .begin_ns = f->levels->begin_ns,
			     .width_ns = f->levels->width_ns,
			     .n = f->levels->n};
	memcpy(s->value, f->levels->low, f->levels->n * sizeof(s->value[0]));
	return true;
}

/* Every epoch's events were withheld. */
static bool is_empty(const struct report *r)
{
	const struct context *ctx = engine_context(r->engine);

	return withheld_ns(&r->evidence->reader) >= ctx->now_ns - ctx->begin_ns;
}

void report_cut(const struct report *r, struct text *t)
{
	uint64_t cut_ns = withheld_ns(&r->evidence->reader);

	if (cut_ns == 0 || r->stopped)
		return;
	if (is_empty(r)) {
		text_add(t, " (none of its events is in this copy)");
		return;
	}
	text_add(t, " (");
	text_add_ns(t, engine_judged_ns(r->engine));
	text_add(t, " of it with events in this copy)");
}

void report_count(struct text *t, uint64_t n, const char *singular)
{
	text_add(t, "%" PRIu64 " %s%s", n, singular, plural(n));
}
