// SPDX-License-Identifier: Apache-2.0
/*
 * The findings as SARIF 2.1.0 (OASIS, https://docs.oasis-open.org/sarif/sarif/v2.1.0/): a run for each capture. There
 * is no source file to point at: a result is at a process, thread, function or futex, which are logical locations.
 */
#include <inttypes.h>
#include <sodium.h>
#include <string.h>

#include "analyze/baseline.h"
#include "analyze/report/report.h"
#include "format/base/units.h"
#include "replay/demangle/demangle.h"
#include "keys/tool/tool.h"

#define FINGERPRINT_BYTES 16

static const char *level_of(enum severity s)
{
	static const char *const levels[SEVERITIES] = {"note", "warning", "error"};

	return levels[s];
}

/* {"text": "..."}, a sentence with its full stop. Braces are doubled: single ones stand for arguments (3.11.5). */
static void add_message(struct json *j, const char *key, const char *s, size_t n)
{
	struct text t = {0};

	for (size_t i = 0; i < n; i++)
		text_add_bytes(&t, s[i] == '{' ? "{{" : s[i] == '}' ? "}}" : s + i, s[i] == '{' || s[i] == '}' ? 2 : 1);
	if (n && s[n - 1] != '.')
		text_add(&t, ".");
	json_open(j, key, '{');
	json_take(j, "text", &t);
	json_close(j, '}');
}

static void add_descriptor(struct json *j, const char *name, enum severity severity, const char *summary,
			   const char *meaning, const char *help)
{
	json_open(j, NULL, '{');
	json_string(j, "id", name);
	if (summary)
		add_message(j, "shortDescription", summary, strlen(summary));
	if (meaning)
		add_message(j, "fullDescription", meaning, strlen(meaning));
	if (help)
		add_message(j, "help", help, strlen(help));
	json_open(j, "defaultConfiguration", '{');
	json_string(j, "level", level_of(severity));
	json_close(j, '}');
	json_close(j, '}');
}

static void add_tool(const struct report *r, struct json *j)
{
	json_open(j, "tool", '{');
	json_open(j, "driver", '{');
	json_string(j, "name", "gpuanalyze");
	json_string(j, "version", TOOL_VERSION);
	json_string(j, "semanticVersion", TOOL_VERSION);
	json_open(j, "rules", '[');
	for (unsigned i = 0; i < NRULES; i++)
		add_descriptor(j, rules[i]->name, rules[i]->severity, rules[i]->summary, rules[i]->meaning,
			       rules[i]->remedy);
	for (size_t i = 0; r->user_rules && i < r->user_rules->n; i++) {
		const struct user_rule *u = &r->user_rules->all[i];

		add_descriptor(j, u->name, u->severity, u->summary ? u->summary : u->message, NULL, u->advice);
	}
	json_close(j, ']');
	json_close(j, '}');
	json_close(j, '}');
}

/* Where in the list of rules the finding's stands. */
static uint64_t rule_index(const struct report *r, const struct finding *f)
{
	for (unsigned i = 0; i < NRULES; i++)
		if (strcmp(rules[i]->name, f->rule) == 0)
			return i;
	for (size_t i = 0; r->user_rules && i < r->user_rules->n; i++)
		if (strcmp(r->user_rules->all[i].name, f->rule) == 0)
			return NRULES + i;
	return 0;
}

/* Empties `name`. */
static void add_place(struct json *j, const char *kind, struct text *name)
{
	json_open(j, NULL, '{');
	json_take(j, "fullyQualifiedName", name);
	json_string(j, "kind", kind);
	json_close(j, '}');
}

static void add_locations(const struct report *r, struct json *j, const struct finding *f)
{
	const struct process *p = f->process ? names_instance(engine_context(r->engine)->names, f->process) : NULL;
	struct text t = {0};

	if (!p && !f->tid && !f->probe && !f->futex && !f->gpu)
		return;
	json_open(j, "locations", '[');
	json_open(j, NULL, '{');
	json_open(j, "logicalLocations", '[');
	if (p) {
		text_add(&t, "%" PRIu32 " ", p->pid);
		text_add_escaped(&t, p->name.s, p->name.len);
		add_place(j, "process", &t);
	}
	if (f->tid) {
		text_add(&t, "%" PRIu64, f->tid);
		add_place(j, "thread", &t);
	}
	if (f->probe) {
		text_add(&t, "%s", call_name(&r->evidence->reader.header.schema, f->probe));
		add_place(j, "function", &t);
	}
	if (f->futex) {
		text_add(&t, "0x%" PRIx64, f->futex);
		add_place(j, "futex", &t);
	}
	if (f->gpu) {
		text_add(&t, "%" PRIu64, f->gpu - 1);
		add_place(j, "gpu", &t);
	}
	json_close(j, ']');
	json_close(j, '}');
	json_close(j, ']');
}

static void add_frame(struct json *j, const struct names *names, const struct frame *f)
{
	const struct module *m = f->module ? names_module(names, f->module) : NULL;

	json_open(j, NULL, '{');
	json_open(j, "location", '{');
	json_open(j, "physicalLocation", '{');
	json_open(j, "address", '{');
	json_u64(j, "absoluteAddress", f->address);
	json_u64(j, "offsetFromParent", f->offset);
	json_close(j, '}');
	json_close(j, '}');
	if (f->symbol) {
		char said[DEMANGLED_MAX];
		bool differs = demangle(f->symbol, f->symbol_len, said, sizeof(said));

		json_open(j, "logicalLocations", '[');
		json_open(j, NULL, '{');
		json_string(j, "fullyQualifiedName", said);
		if (differs)
			json_text(j, "decoratedName", f->symbol, f->symbol_len);
		json_string(j, "kind", "function");
		json_close(j, '}');
		json_close(j, ']');
	}
	json_close(j, '}');
	if (m && m->path)
		json_text(j, "module", m->path, m->path_len);
	json_close(j, '}');
}

static void add_stacks(const struct report *r, struct json *j, const struct finding *f)
{
	const struct names *names = engine_context(r->engine)->names;
	const struct stack *s = f->stack ? names_stack(names, f->stack) : NULL;

	if (!s || s->nframes == 0)
		return;
	json_open(j, "stacks", '[');
	json_open(j, NULL, '{');
	json_open(j, "frames", '[');
	for (unsigned i = 0; i < s->nframes; i++)
		add_frame(j, names, &s->frames[i]);
	json_close(j, ']');
	json_close(j, '}');
	json_close(j, ']');
}

static void add_fingerprint(const struct report *r, struct json *j, const struct finding *f)
{
	char hex[2 * FINGERPRINT_BYTES + 1];
	struct text t = {0};

	finding_identity(f, engine_context(r->engine)->names, &r->evidence->reader.header.schema, &t);
	report_hash(&t, hex, FINGERPRINT_BYTES, j->out);
	json_open(j, "partialFingerprints", '{');
	json_string(j, "gpurec/v1", hex);
	json_close(j, '}');
}

static void add_result(const struct report *r, struct json *j, const struct finding *f)
{
	struct text t = {0};
	const struct text *const sentences[] = {&f->headline, &f->sure, &f->cost, &f->advice};

	for (size_t i = 0; i < sizeof(sentences) / sizeof(sentences[0]); i++)
		if (sentences[i]->len)
			text_add(&t, "%s%s.", t.len ? " " : "", text_string(sentences[i]));
	json_open(j, NULL, '{');
	json_string(j, "ruleId", f->rule);
	json_u64(j, "ruleIndex", rule_index(r, f));
	json_string(j, "level", level_of(f->severity));
	add_message(j, "message", text_string(&t), t.len);
	j->out->failed |= t.failed;
	text_clear(&t);
	add_locations(r, j, f);
	add_stacks(r, j, f);
	add_fingerprint(r, j, f);
	json_u64(j, "occurrenceCount", f->count ? f->count : 1);
	json_open(j, "properties", '{');
	json_string(j, "class", f->class);
	json_string(j, "confidence", confidence_name(f->confidence));
	if (f->nfirst) {
		json_u64(j, "begin_ns", f->first[0].begin_ns);
		json_u64(j, "end_ns", f->first[0].end_ns);
	}
	if (f->unit == WEIGHT_NS) {
		json_u64(j, "cost_ns", f->weight);
		json_u64(j, "share_ppm", f->share_ppm);
	}
	json_close(j, '}');
	json_close(j, '}');
}

/* What the capture could not see: 3.20.21, what a person must know who sees no result. */
static void add_notifications(const struct report *r, struct json *j)
{
	struct report_facts f;
	struct text lines = {0};
	const char *at, *line;
	size_t n;

	report_gather(r, &f, j->out);
	if (report_nothing(r, &f, &lines))
		text_add(&lines, "\n");
	report_unseen(r, &f, &lines);
	json_open(j, "toolExecutionNotifications", '[');
	for (at = text_string(&lines); text_next_line(&at, &line, &n);) {
		json_open(j, NULL, '{');
		json_string(j, "level", "note");
		add_message(j, "message", line, n);
		json_close(j, '}');
	}
	json_close(j, ']');
	j->out->failed |= lines.failed;
	text_clear(&lines);
}

static void add_properties(const struct report *r, struct json *j)
{
	struct report_facts f;
	char sentence[512];

	report_gather(r, &f, j->out);
	evidence_sentence(r->evidence, sentence, sizeof(sentence));
	json_open(j, "automationDetails", '{');
	json_open(j, "description", '{');
	json_string(j, "text", sentence);
	json_close(j, '}');
	json_close(j, '}');
	json_open(j, "properties", '{');
	json_string(j, "verdict", verdict_word(r->evidence->verification.verdict));
	json_bool(j, "unverified", engine_context(r->engine)->unverified);
	json_string(j, "signer", r->evidence->signer);
	json_string(j, "capture", f.capture_id);
	json_string(j, "last_seal", f.last_seal);
	json_string(j, "rules_hash", f.rules_hash);
	json_string(j, "settings_hash", f.settings_hash);
	json_close(j, '}');
}

void report_sarif_begin(struct json *j)
{
	json_open(j, NULL, '{');
	json_string(j, "$schema",
		    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json");
	json_string(j, "version", "2.1.0");
	json_open(j, "runs", '[');
}

void report_sarif_end(struct json *j)
{
	json_close(j, ']');
	json_close(j, '}');
}

void report_sarif(const struct report *r, struct json *j)
{
	json_open(j, NULL, '{');
	add_tool(r, j);
	json_open(j, "invocations", '[');
	json_open(j, NULL, '{');
	json_bool(j, "executionSuccessful", !r->stopped);
	add_notifications(r, j);
	json_close(j, '}');
	json_close(j, ']');
	json_string(j, "columnKind", "unicodeCodePoints");
	json_open(j, "results", '[');
	for (size_t i = 0; i < r->findings->n; i++)
		add_result(r, j, r->findings->all[i]);
	json_close(j, ']');
	add_properties(r, j);
	json_close(j, '}');
}
