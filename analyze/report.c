// SPDX-License-Identifier: Apache-2.0
#include "analyze/report.h"

#include <sodium.h>
#include <string.h>

#include "keys/tool.h"

/* Of the names of the rules and of all their settings: reports with the same hash judged by the same rules. */
static void hash_rules(const struct settings *settings, char *hex)
{
	struct text t = {0};
	uint8_t hash[HASH_BYTES];

	for (unsigned i = 0; i < NRULES; i++)
		text_add(&t, "%s\n", rules[i]->name);
	settings_text(settings, &t);
	crypto_generichash(hash, sizeof(hash), (const unsigned char *)text_string(&t), t.len, NULL, 0);
	tool_format_hex(hex, hash, sizeof(hash));
	text_clear(&t);
}

void report_gather(const struct report *r, struct report_facts *f)
{
	const struct reader *reader = &r->evidence->reader;
	const struct names *names = engine_context(r->engine)->names;
	const uint8_t *seal = NULL;

	memset(f, 0, sizeof(*f));
	tool_format_hex(f->capture_id, reader->header.capture_id, CAPTURE_ID_BYTES);
	hash_rules(r->settings, f->rules_hash);
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
