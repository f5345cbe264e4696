/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/report/report_at.h"

#include <inttypes.h>
#include <string.h>

#include "analyze/report/report_json.h"
#include "analyze/report/report_times.h"

static void add_window(const struct evidence *e, struct text *t, uint64_t begin_ns, uint64_t end_ns)
{
	text_add_ns(t, end_ns - begin_ns);
	text_add(t, ", from ");
	text_add_since(t, e->reader.header.start_boot_ns, begin_ns);
	text_add(t, " to ");
	text_add_since(t, e->reader.header.start_boot_ns, end_ns);
}

static void add_thread(const struct pass *p, struct text *t, uint32_t tid)
{
	struct who who;

	names_who(engine_context(p->engine)->names, tid, &who);
	text_add_who(t, &who);
}

/* The classes of its time, each with its part. */
static void add_split(struct text *t, const struct split *s)
{
	for (unsigned c = 0; c < CAUSE_CLASSES; c++) {
		if (!s->ns[c])
			continue;
		text_add(t, "    %-18s ", cause_class_label((enum cause_class)c));
		text_add_ns(t, s->ns[c]);
		text_add(t, " (");
		text_add_percent(t, s->ns[c], s->end_ns - s->begin_ns);
		text_add(t, " %%)\n");
	}
}

/* Who woke whom: the chain back to what ended it all. */
static void add_chain(const struct evidence *e, struct text *t, const struct explained *why)
{
	if (why->cause.nlinks < 2)
		return;
	text_add(t, "\nWho it waited for\n");
	for (unsigned i = 0; i < why->cause.nlinks; i++) {
		const struct split *s = &why->cause.links[i];

		text_add(t, i ? "  woken by " : "  ");
		text_add_who(t, explained_who(why, s->tid));
		text_add(t, ", mostly %s: ", cause_class_label(split_main(s)));
		add_window(e, t, s->begin_ns, s->end_ns);
		text_add(t, "\n");
	}
}

static bool covers(const struct finding *f, const struct at *a)
{
	for (unsigned i = 0; i < f->nfirst; i++)
		if (f->first[i].tid == a->tid && f->first[i].begin_ns <= a->at_ns && a->at_ns <= f->first[i].end_ns)
			return true;
	for (unsigned i = 0; i < f->nworst; i++)
		if (f->worst[i].at.tid == a->tid && f->worst[i].at.begin_ns <= a->at_ns &&
		    a->at_ns <= f->worst[i].at.end_ns)
			return true;
	return false;
}

static void add_findings(const struct at *a, const struct pass *p, struct text *t)
{
	bool any = false;

	for (size_t i = 0; i < p->findings.n; i++) {
		const struct finding *f = p->findings.all[i];

		if (!covers(f, a))
			continue;
		text_add(t, "%s  [%zu] %s %s: %s.\n", any ? "" : "\nFindings that it is part of\n", i + 1, f->rule,
			 severity_name(f->severity), text_string(&f->headline));
		any = true;
	}
}

static void add_call(const struct at *a, const struct pass *p, const struct evidence *e, struct text *t)
{
	const struct at_call *c = &a->calls[a->ncalls - 1];
	const struct schema *schema = engine_context(p->engine)->schema;

	text_add(t, "It was in a call to %s (", call_name(schema, c->probe));
	add_window(e, t, c->begin_ns, c->end_ns);
	text_add(t, ")");
	for (unsigned i = a->ncalls - 1; i > 0; i--)
		text_add(t, ", inside it in %s", call_name(schema, a->calls[i - 1].probe));
	text_add(t, ":\n  ");
	text_add_cause(t, &a->call_why);
	text_add(t, ".\n");
	add_split(t, &a->call_why.cause.links[0]);
}

static void add_unknown(const struct at *a, const struct pass *p, const struct evidence *e, struct text *t)
{
	uint64_t end_ns = engine_context(p->engine)->now_ns;

	if (a->at_ns >= e->reader.header.start_boot_ns && a->at_ns < end_ns) {
		text_add(t, ": no recorded row shows what it was doing.\n");
		return;
	}
	text_add(t, ": this moment is not in the capture, which lasts from +0 s to ");
	text_add_since(t, e->reader.header.start_boot_ns, end_ns);
	text_add(t, ".\n");
}

void at_text(const struct at *a, const struct pass *p, const struct evidence *e, struct text *t)
{
	const struct at_call *c = a->ncalls ? &a->calls[a->ncalls - 1] : NULL;
	char sentence[512];

	evidence_sentence(e, sentence, sizeof(sentence));
	text_add(t, "Evidence   %s\n\n", sentence);
	text_add(t, "At ");
	text_add_since(t, e->reader.header.start_boot_ns, a->at_ns);
	text_add(t, " thread ");
	add_thread(p, t, a->tid);
	if (!c && !a->known) {
		add_unknown(a, p, e, t);
		return;
	}
	if (a->known) {
		text_add(t, " (");
		add_window(e, t, a->state.begin_ns, a->state.end_ns);
		text_add(t, "): ");
		text_add_cause(t, &a->why);
	}
	text_add(t, ".\n");
	text_add(t, c ? "\n" : "It was in no recorded call.\n");
	if (c)
		add_call(a, p, e, t);
	add_chain(e, t, c ? &a->call_why : &a->why);
	add_findings(a, p, t);
	text_add(t, "\n  ");
	text_add_replay(t, e->reader.header.start_boot_ns, c ? c->begin_ns : a->state.begin_ns,
			c ? c->end_ns : a->state.end_ns, a->tid);
	text_add(t, "\n");
}

static void add_explained(struct json *j, const char *key, const struct explained *why)
{
	const struct split *s = &why->cause.links[0];
	struct explained copy = *why;
	const struct worst w = {.at = {.begin_ns = s->begin_ns, .end_ns = s->end_ns, .tid = s->tid}, .why = &copy};

	json_open(j, key, '[');
	json_worst(j, &w);
	json_close(j, ']');
}

void at_json(const struct at *a, const struct pass *p, const struct evidence *e, struct text *t)
{
	const struct schema *schema = engine_context(p->engine)->schema;
	struct json j = {.out = t};

	json_open(&j, NULL, '{');
	json_string(&j, "format", "gpurec-moment");
	json_u64(&j, "version", 1);
	json_string(&j, "verdict", verdict_word(e->verification.verdict));
	json_u64(&j, "at_ns", a->at_ns);
	json_u64(&j, "tid", a->tid);
	json_open(&j, "calls", '[');
	for (unsigned i = a->ncalls; i > 0; i--) {
		json_open(&j, NULL, '{');
		json_string(&j, "function", call_name(schema, a->calls[i - 1].probe));
		json_u64(&j, "begin_ns", a->calls[i - 1].begin_ns);
		json_u64(&j, "end_ns", a->calls[i - 1].end_ns);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	if (a->ncalls)
		add_explained(&j, "call_cause", &a->call_why);
	if (a->known)
		add_explained(&j, "state_cause", &a->why);
	json_open(&j, "findings", '[');
	for (size_t i = 0; i < p->findings.n; i++)
		if (covers(p->findings.all[i], a))
			json_u64(&j, NULL, i + 1);
	json_close(&j, ']');
	json_close(&j, '}');
}
