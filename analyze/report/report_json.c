// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/facts/handover.h"
#include "analyze/report/report_json.h"
#include "analyze/report/report_ledger.h"
#include "replay/demangle/demangle.h"
#include "replay/model/enum_names.h"
#include "keys/tool/tool.h"

static void add_text(struct json *j, const char *key, const struct text *t)
{
	json_text(j, key, text_string(t), t->len);
}

/* Of which host, GPUs and command it is, as people get it; null where the capture does not report. */
static void add_about(const struct report *r, struct json *j)
{
	const struct about *about = &engine_context(r->engine)->names->about;
	const struct {
		const char *name;
		void (*add)(const struct about *a, struct text *t);
	} members[] = {{"host", about_add_host},
		       {"gpus", about_add_gpus},
		       {"command", about_add_command},
		       {"authority", about_add_authority}};
	struct text one = {0};

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		members[i].add(about, &one);
		if (one.len || one.failed)
			json_take(j, members[i].name, &one);
		else
			json_null(j, members[i].name);
	}
	text_clear(&one); /* an empty one has room all the same */
}

static void add_completeness(const struct completeness *c, struct json *j)
{
	json_bool(j, "complete", completeness_is_full(c));
	json_u64(j, "happened", c->happened);
	json_u64(j, "lost", c->lost);
	json_u64(j, "left_out", c->left_out);
	json_u64(j, "not_attached", c->not_attached);
	json_u64(j, "open", c->open);
}

static void add_capture(const struct report *r, const struct report_facts *f, struct json *j)
{
	const struct evidence *e = r->evidence;
	const struct reader *reader = &e->reader;
	const char *reason = f->ended ? reason_text(reader->end.reason) : NULL;

	json_open(j, "capture", '{');
	json_string(j, "verdict", verdict_word(e->verification.verdict));
	json_bool(j, "unverified", engine_context(r->engine)->unverified);
	json_string(j, "signer", e->signer);
	json_string(j, "id", f->capture_id);
	json_string(j, "last_seal", f->last_seal);
	json_u64(j, "epochs", f->nepochs);
	json_u64(j, "events", engine_nevents(r->engine));
	json_u64(j, "begin_ns", f->begin_ns);
	json_u64(j, "end_ns", f->end_ns);
	json_wall(j, "begin_wall_ns", "begin_utc", reader->header.start_wall_ns);
	json_bool(j, "ended", f->ended);
	if (reason)
		json_string(j, "reason", reason);
	else
		json_null(j, "reason");
	if (r->stopped)
		json_string(j, "stopped", r->stopped->text);
	else
		json_null(j, "stopped");
	add_about(r, j);
	add_completeness(&f->complete, j);
	json_close(j, '}');
}

static void add_custody(const struct report *r, struct json *j)
{
	const struct handover *hand = r->custody;
	const struct custody *c = hand && hand->there ? &hand->chain : NULL;
	char id[KEY_ID_CHARS + 1];

	if (!c) {
		json_null(j, "custody");
		return;
	}
	json_open(j, "custody", '{');
	json_string(j, "state", custody_state_word(c->state));
	json_open(j, "acts", '[');
	for (size_t i = 0; i < c->nlines; i++) {
		const struct custody_line *l = &c->lines[i];

		json_open(j, NULL, '{');
		json_string(j, "act", custody_action_word(l->action));
		json_s64(j, "time_s", l->time_s);
		json_string(j, "who", l->who);
		json_string(j, "note", l->note);
		json_string(j, "key", key_id(id, l->key.keynum));
		json_string(j, "verdict", verdict_word(l->verdict));
		json_bool(j, "trusted", hand->trust && hand->trust[i].trust >= TRUST_DIRECT);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_close(j, '}');
}

static void add_rules(const struct report *r, const struct report_facts *f, struct json *j)
{
	json_open(j, "rules", '{');
	json_string(j, "hash", f->rules_hash);
	json_string(j, "settings_hash", f->settings_hash);
	json_open(j, "settings", '{');
	for (unsigned i = 0; i < NRULES; i++) {
		json_open(j, rules[i]->name, '{');
		for (unsigned k = 0; k < rules[i]->nsettings; k++)
			json_u64(j, rules[i]->settings[k].key, r->settings->v[i][k]);
		json_close(j, '}');
	}
	json_close(j, '}');
	json_open(j, "user", '[');
	for (size_t i = 0; r->user_rules && i < r->user_rules->n; i++) {
		json_open(j, NULL, '{');
		json_string(j, "name", r->user_rules->all[i].name);
		json_string(j, "severity", severity_name(r->user_rules->all[i].severity));
		json_close(j, '}');
	}
	json_close(j, ']');
	json_close(j, '}');
}

static void add_facts(struct json *j, const struct finding *f)
{
	json_open(j, "facts", '{');
	for (unsigned i = 0; i < f->nfacts; i++) {
		const struct fact *fact = &f->facts[i];

		switch (fact->kind) {
		case FACT_NUMBER:
			json_u64(j, fact->key, fact->number);
			break;
		case FACT_SIGNED:
			json_s64(j, fact->key, (int64_t)fact->number);
			break;
		case FACT_ADDRESS:
			json_hex(j, fact->key, fact->number);
			break;
		case FACT_BOOL:
			json_bool(j, fact->key, fact->number);
			break;
		case FACT_TEXT:
			json_text(j, fact->key, fact->text, (size_t)fact->number);
			break;
		}
	}
	json_close(j, '}');
}

static void add_stack(struct json *j, const struct names *names, uint64_t number)
{
	const struct stack *s = number ? names_stack(names, number) : NULL;

	json_open(j, "frames", '[');
	for (unsigned i = 0; s && i < s->nframes; i++) {
		const struct frame *f = &s->frames[i];
		const struct module *m = f->module ? names_module(names, f->module) : NULL;
		char said[DEMANGLED_MAX];

		json_open(j, NULL, '{');
		json_hex(j, "address", f->address);
		json_text(j, "symbol", f->symbol ? f->symbol : "", f->symbol_len);
		if (f->symbol && demangle(f->symbol, f->symbol_len, said, sizeof(said)))
			json_string(j, "demangled", said);
		json_text(j, "module", m && m->path ? m->path : "", m && m->path ? m->path_len : 0);
		json_hex(j, "offset", f->offset);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void add_process(struct json *j, const struct names *names, uint64_t number)
{
	const struct process *p = number ? names_instance(names, number) : NULL;

	if (!p) {
		json_null(j, "process");
		return;
	}
	json_open(j, "process", '{');
	json_u64(j, "pid", p->pid);
	json_u64(j, "start_ns", p->start_ns == NO_TIME ? 0 : p->start_ns);
	json_text(j, "name", p->name.s, p->name.len);
	if (process_alias(p))
		json_u64(j, "pid_inside", process_alias(p));
	json_close(j, '}');
}

/* What else it is about, and how much. */
static void add_subject(const struct report *r, struct json *j, const struct finding *f)
{
	static const char *const units[] = {
		[WEIGHT_NONE] = "none", [WEIGHT_NS] = "ns", [WEIGHT_BYTES] = "bytes", [WEIGHT_EVENTS] = "events"};

	if (f->tid)
		json_u64(j, "tid", f->tid);
	if (f->probe)
		json_string(j, "function", call_name(&r->evidence->reader.header.schema, f->probe));
	if (f->futex)
		json_hex(j, "futex", f->futex);
	if (f->gpu)
		json_u64(j, "gpu", f->gpu - 1);
	json_u64(j, "weight", f->weight);
	json_string(j, "weight_unit", units[f->unit]);
	if (f->unit == WEIGHT_NS)
		json_u64(j, "share_ppm", f->share_ppm);
}

/* The distribution: pairs of a duration and how many took about that. */
static void add_durations(struct json *j, const struct finding *f)
{
	if (f->usual_ns)
		json_u64(j, "usual_ns", f->usual_ns);
	if (f->threshold_ns)
		json_u64(j, "threshold_ns", f->threshold_ns);
	json_open(j, "durations", '[');
	for (unsigned i = 0; f->hist && i < HIST_BUCKETS; i++) {
		if (f->hist->buckets[i] == 0)
			continue;
		json_open(j, NULL, '{');
		json_u64(j, "about_ns", hist_bucket_value(i));
		json_u64(j, "count", f->hist->buckets[i]);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void add_scheduling(struct json *j, const struct scheduling *s)
{
	const char *policy = enum_word(KIND_scheduling, F_scheduling_policy, s->policy);

	if (s->known) {
		json_string(j, "policy", policy ? policy : "other");
		json_s64(j, "nice", s->nice);
		json_u64(j, "priority", s->priority);
	}
	if (s->cpus)
		json_text(j, "cpus", s->cpus->list, s->cpus->nbytes);
}

static void add_parties(struct json *j, const struct finding *f)
{
	if (f->nparties == 0)
		return;
	json_open(j, "parties", '[');
	for (unsigned i = 0; i < f->nparties; i++) {
		const struct party *p = &f->parties[i];

		json_open(j, NULL, '{');
		json_string(j, "part", part_name(p->part));
		json_u64(j, "tid", p->who.tid);
		json_text(j, "name", p->who.name.s, p->who.name.len);
		json_u64(j, "count", p->count);
		json_u64(j, "ns", p->ns);
		add_scheduling(j, &p->who.scheduling);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void add_series(struct json *j, const struct series *s)
{
	static const char *const units[] = {
		[SERIES_BYTES] = "bytes", [SERIES_CELSIUS] = "celsius", [SERIES_MHZ] = "mhz", [SERIES_COUNT] = "count"};

	json_open(j, "series", '{');
	json_string(j, "label", s->label);
	json_string(j, "unit", units[s->unit]);
	json_u64(j, "begin_ns", s->begin_ns);
	json_u64(j, "width_ns", s->width_ns);
	json_open(j, "values", '[');
	for (unsigned i = 0; i < s->n; i++)
		json_u64(j, NULL, s->value[i]);
	json_close(j, ']');
	json_close(j, '}');
}

static void add_finding(const struct report *r, struct json *j, const struct finding *f)
{
	const struct names *names = engine_context(r->engine)->names;
	struct series series;

	json_open(j, NULL, '{');
	json_string(j, "rule", f->rule);
	json_string(j, "class", f->class);
	json_string(j, "severity", severity_name(f->severity));
	json_string(j, "confidence", confidence_name(f->confidence));
	add_text(j, "headline", &f->headline);
	add_text(j, "sure", &f->sure);
	add_text(j, "cost", &f->cost);
	add_text(j, "advice", &f->advice);
	add_process(j, names, f->process);
	add_subject(r, j, f);
	json_u64(j, "count", f->count);
	if (f->same_as)
		json_u64(j, "same_as", f->same_as);
	if (f->timed) {
		json_u64(j, "total_ns", f->total_ns);
		json_u64(j, "min_ns", f->min_ns);
		json_u64(j, "median_ns", f->median_ns);
		json_u64(j, "p90_ns", f->p90_ns);
		json_u64(j, "p99_ns", f->p99_ns);
		json_u64(j, "max_ns", f->max_ns);
		json_u64(j, "last_ns", f->last_ns);
		add_durations(j, f);
	}
	add_facts(j, f);
	add_parties(j, f);
	if (report_series(f, &series))
		add_series(j, &series);
	if (f->stack)
		add_stack(j, names, f->stack);
	json_open(j, "first", '[');
	for (unsigned i = 0; i < f->nfirst; i++) {
		json_open(j, NULL, '{');
		json_u64(j, "begin_ns", f->first[i].begin_ns);
		json_u64(j, "end_ns", f->first[i].end_ns);
		json_u64(j, "tid", f->first[i].tid);
		json_tid(j, "waker_tid", f->first[i].waker_tid);
		json_tid(j, "keeper_tid", f->first[i].keeper_tid);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_open(j, "worst", '[');
	for (unsigned i = 0; i < f->nworst; i++)
		json_worst(j, &f->worst[i]);
	json_close(j, ']');
	json_close(j, '}');
}

static void add_calls(const struct report *r, struct json *j)
{
	const struct calls *calls = engine_calls(r->engine);
	const struct schema *schema = &r->evidence->reader.header.schema;
	const struct call_stats **all = calls_sorted(calls);

	if (!all && calls->table.nitems)
		j->out->failed = true;
	json_open(j, "calls", '[');
	for (size_t i = 0; all && i < calls->table.nitems; i++) {
		const struct call_stats *s = all[i];
		const struct kind *kind = schema_kind(schema, s->kind);

		json_open(j, NULL, '{');
		json_string(j, "function", call_name(schema, s->key.a));
		json_string(j, "kind", kind ? kind->name : "");
		json_bool(j, "nested", s->key.b);
		json_u64(j, "count", s->n);
		json_u64(j, "failed", s->nfailed);
		json_u64(j, "total_ns", s->total_ns);
		json_u64(j, "average_ns", call_stats_average(s));
		json_u64(j, "median_ns", call_stats_median(s));
		json_u64(j, "min_ns", s->min_ns);
		json_u64(j, "max_ns", s->max_ns);
		json_u64(j, "deviation_ns", call_stats_deviation(s));
		json_close(j, '}');
	}
	json_close(j, ']');
	free(all);
}

/* All of it in sentences, as people get it. */
static void add_reported(const struct report *r, const struct report_facts *f, struct json *j)
{
	struct text lines = {0};
	const char *at, *line;
	size_t n;

	report_unseen(r, f, &lines);
	json_open(j, "told", '[');
	for (at = text_string(&lines); text_next_line(&at, &line, &n);)
		json_text(j, NULL, line, n);
	json_close(j, ']');
	j->out->failed |= lines.failed;
	text_clear(&lines);
}

static void add_unseen(const struct report *r, const struct report_facts *f, struct json *j)
{
	const struct schema *schema = &r->evidence->reader.header.schema;
	const struct names *names = engine_context(r->engine)->names;

	json_open(j, "unseen", '{');
	json_open(j, "lost", '[');
	for (uint32_t i = 0; i < f->ncounters; i++) {
		const struct counter *c = &f->counters[i];
		const struct counter_type *type = schema_counter(schema, c->id);

		if (!type || (type->role != ROLE_LOST && type->role != ROLE_NOTED))
			continue;
		json_open(j, NULL, '{');
		json_string(j, "probe", call_name(schema, c->probe));
		json_string(j, "cause", type->name);
		json_bool(j, "lost", type->role == ROLE_LOST);
		json_u64(j, "count", c->value);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_open(j, "withheld_chunks", '{');
	for (unsigned c = 0; c < CLASSES_MAX; c++)
		if (f->nwithheld[c] && schema_class_name(schema, (uint8_t)c))
			json_u64(j, schema_class_name(schema, (uint8_t)c), f->nwithheld[c]);
	json_close(j, '}');
	json_open(j, "not_attached", '[');
	for (uint64_t i = 0; i < names->nrefusals && i < REFUSALS_KEPT; i++) {
		json_open(j, NULL, '{');
		json_string(j, "probe", call_name(schema, names->refusals[i].probe));
		json_u64(j, "module", names->refusals[i].module);
		json_u64(j, "error", names->refusals[i].error);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_u64(j, "processes_running_before", f->nrunning);
	add_reported(r, f, j);
	if (r->stopped)
		json_string(j, "stopped", r->stopped->text);
	json_close(j, '}');
}

void report_json_begin(struct json *j)
{
	json_open(j, NULL, '{');
	json_string(j, "format", "gpurec-report");
	json_u64(j, "version", REPORT_VERSION);
	json_string(j, "tool", "gpuanalyze " TOOL_VERSION);
	json_open(j, "reports", '[');
}

void report_json_end(struct json *j)
{
	json_close(j, ']');
	json_close(j, '}');
}

void report_json(const struct report *r, struct json *j)
{
	const struct finding *worst[SUMMARY_MAX];
	struct report_facts f;
	unsigned n = report_summary(r, worst, SUMMARY_MAX);
	struct text nothing = {0};

	report_gather(r, &f, j->out);
	json_open(j, NULL, '{');
	add_capture(r, &f, j);
	add_custody(r, j);
	add_rules(r, &f, j);
	json_open(j, "summary", '[');
	for (unsigned i = 0; i < n; i++)
		add_text(j, NULL, &worst[i]->headline);
	if (report_nothing(r, &f, &nothing))
		json_take(j, NULL, &nothing);
	json_close(j, ']');
	report_ledger_json(r, j);
	json_open(j, "findings", '[');
	for (size_t i = 0; i < r->findings->n; i++)
		add_finding(r, j, r->findings->all[i]);
	json_close(j, ']');
	add_calls(r, j);
	add_unseen(r, &f, j);
	json_close(j, '}');
}
