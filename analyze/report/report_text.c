// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/stats/callsite.h"
#include "analyze/report/report.h"
#include "analyze/report/report_ledger.h"
#include "analyze/report/report_times.h"
#include "format/base/units.h"
#include "keys/tool/tool.h"

#define BAR_WIDTH 40

static void add_padded(struct text *t, const char *s, unsigned width)
{
	text_add(t, "%-*s", (int)width, s);
}

static void add_ns_right(struct text *t, uint64_t ns, unsigned width)
{
	struct text one = {0};

	text_add_ns(&one, ns);
	text_take_right(t, &one, width);
}

static void add_about(const struct report *r, struct text *t)
{
	const struct about *about = &engine_context(r->engine)->names->about;
	const struct {
		const char *name;
		void (*add)(const struct about *a, struct text *t);
	} lines[] = {{"Host       ", about_add_host},
		     {"GPUs       ", about_add_gpus},
		     {"Command    ", about_add_command},
		     {"Authority  ", about_add_authority}};
	struct text one = {0};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		lines[i].add(about, &one);
		if (one.len)
			text_add(t, "%s", lines[i].name);
		if (one.len)
			text_add(&one, "\n");
		text_take(t, &one);
	}
}

static void add_head(const struct report *r, const struct report_facts *f, struct text *t)
{
	const struct reader *reader = &r->evidence->reader;
	const char *reason = f->ended ? reason_text(reader->end.reason) : NULL;
	char sentence[512], wall[64];

	if (r->file) {
		text_add(t, "File       ");
		text_add_escaped(t, r->file, strlen(r->file));
		text_add(t, "\n");
	}
	evidence_sentence(r->evidence, sentence, sizeof(sentence));
	text_add(t, "Evidence   %s\n", sentence);
	text_add(t, engine_context(r->engine)->unverified ? "           Beware: " : "           ");
	report_meaning(r, f, t);
	text_add(t, "\n");
	text_add(t, "Run        ");
	report_run(r, f, t);
	text_add(t, "\n");
	add_about(r, t);
	text_add(t, "Capture    %s, last seal %.16s\n", f->capture_id, f->last_seal[0] ? f->last_seal : "none");
	wall_text(wall, reader->header.start_wall_ns);
	text_add(t, r->stopped ? "Recorded   %s, read only for " : "Recorded   %s, for ", wall);
	text_add_ns(t, f->end_ns > f->begin_ns ? f->end_ns - f->begin_ns : 0);
	report_cut(r, t);
	text_add(t, ", ");
	report_count(t, engine_nevents(r->engine), "event");
	text_add(t, " in ");
	report_count(t, f->nepochs, "epoch");
	text_add(t, "; ");
	if (r->stopped)
		text_add(t, "read only up to where it breaks\n");
	else if (f->ended)
		text_add(t, "ended because: %s\n", reason ? reason : "a reason of a later version");
	else
		text_add(t, "no end: analysed up to the last seal\n");
	text_add(t, "Judged by  gpuanalyze %s, %d rules", TOOL_VERSION, NRULES);
	if (r->user_rules && r->user_rules->n)
		text_add(t, " and %zu of the user", r->user_rules->n);
	text_add(t, ", rules and settings %.16s\n", f->rules_hash);
}

static void add_summary(const struct report *r, const struct report_facts *f, struct text *t)
{
	const struct finding *worst[SUMMARY_MAX];
	unsigned n = report_summary(r, worst, SUMMARY_MAX);
	struct text nothing = {0};

	text_add(t, "\nWhat matters most\n");
	for (unsigned i = 0; i < n; i++)
		text_add(t, "  %u. %s.\n", i + 1, text_string(&worst[i]->headline));
	if (report_nothing(r, f, &nothing)) {
		text_add(t, "  ");
		text_take(t, &nothing);
		text_add(t, ".\n");
	}
}

static void add_bar(struct text *t, const char *label, uint64_t ns, uint64_t whole_ns)
{
	unsigned width = whole_ns ? (unsigned)(((unsigned __int128)ns * BAR_WIDTH + whole_ns / 2) / whole_ns) : 0;

	text_add(t, "          ");
	add_padded(t, label, 18);
	add_ns_right(t, ns, 9);
	text_add(t, "  ");
	for (unsigned i = 0; i < BAR_WIDTH; i++)
		text_add_bytes(t, i < width ? "#" : ".", 1);
	text_add(t, " ");
	text_add_percent(t, ns, whole_ns);
	text_add(t, " %%\n");
}

static void add_worst(const struct report_facts *f, struct text *t, const struct worst *w)
{
	const struct split *s = &w->why->cause.links[0];
	const struct who *who = explained_who(w->why, s->tid);

	text_add(t, "      at ");
	text_add_since(t, f->begin_ns, w->at.begin_ns);
	text_add(t, ", ");
	text_add_ns(t, w->at.end_ns - w->at.begin_ns);
	text_add(t, " on ");
	if (who)
		text_add_who(t, who);
	else
		text_add(t, "%u", s->tid);
	text_add(t, ": ");
	text_add_cause(t, w->why);
	text_add(t, "\n");
	text_add(t, "          ");
	text_add_replay(t, f->begin_ns, w->at.begin_ns, w->at.end_ns, w->why->cause.links[0].tid);
	text_add(t, "\n");
	for (unsigned c = 0; c < CAUSE_CLASSES; c++)
		if (s->ns[c])
			add_bar(t, cause_class_label((enum cause_class)c), s->ns[c], s->end_ns - s->begin_ns);
}

static void add_stack(const struct names *names, struct text *t, uint64_t number)
{
	const struct stack *s = names_stack(names, number);

	for (unsigned i = 0; s && i < s->nframes; i++) {
		const struct frame *f = &s->frames[i];
		const struct module *m = f->module ? names_module(names, f->module) : NULL;

		text_add(t, "      #%u ", i);
		if (f->symbol)
			text_add_function(t, f->symbol, f->symbol_len);
		else
			text_add(t, "0x%" PRIx64, f->address);
		if (m && m->path) {
			text_add(t, " in ");
			text_add_escaped(t, m->path, m->path_len);
			text_add(t, "+0x%" PRIx64, f->offset);
		}
		text_add(t, "\n");
	}
}

static void add_line(struct text *t, const char *before, const struct text *sentence)
{
	if (sentence->len)
		text_add(t, "      %s%s.\n", before, text_string(sentence));
}

/* For people, in at most five lines: what it is, what happened, how sure that is, what it cost, what to do. */
static void add_finding(const struct report *r, struct text *t, const struct finding *f, size_t number)
{
	const struct names *names = engine_context(r->engine)->names;
	const struct process *p = f->process ? names_instance(names, f->process) : NULL;

	text_add(t, "\n  [%zu] %s %s: %s (confidence: %s)", number, f->rule, severity_name(f->severity), f->class,
		 confidence_name(f->confidence));
	if (p) {
		text_add(t, ", ");
		process_add(t, engine_context(r->engine), f->process);
	}
	text_add(t, "\n      %s.\n", text_string(&f->headline));
	add_line(t, "", &f->sure);
	add_line(t, "", &f->cost);
	add_line(t, "To do: ", &f->advice);
}

/* What a finding rests on: how often and how long, where, and the worst of it. */
static void add_evidence(const struct report *r, const struct report_facts *facts, struct text *t,
			 const struct finding *f, size_t number)
{
	if (!f->timed && !f->stack && f->nworst == 0)
		return;
	text_add(t, "\n  [%zu] %s: %s", number, f->rule, f->class);
	if (f->timed) {
		text_add(t, ", ");
		report_count(t, f->count, "time");
		text_add(t, ", ");
		text_add_ns(t, f->total_ns);
		text_add(t, " in all; shortest ");
		text_add_ns(t, f->min_ns);
		text_add(t, ", median ");
		text_add_ns(t, f->median_ns);
		text_add(t, ", longest ");
		text_add_ns(t, f->max_ns);
	}
	text_add(t, "\n");
	if (f->stack)
		add_stack(engine_context(r->engine)->names, t, f->stack);
	if (f->same_as) {
		text_add(t, "      the time lines of finding %zu show them\n", f->same_as);
		return;
	}
	for (unsigned i = 0; i < f->nworst; i++)
		add_worst(facts, t, &f->worst[i]);
}

static void add_findings(const struct report *r, const struct report_facts *f, struct text *t)
{
	size_t before;

	if (r->findings->n == 0)
		return;
	text_add(t, "\nFindings\n");
	for (size_t i = 0; i < r->findings->n; i++)
		add_finding(r, t, r->findings->all[i], i + 1);
	before = t->len;
	text_add(t, "\nEvidence\n");
	for (size_t i = 0; i < r->findings->n; i++)
		add_evidence(r, f, t, r->findings->all[i], i + 1);
	if (t->len == before + strlen("\nEvidence\n") && !t->failed)
		t->s[t->len = before] = 0;
}

static void add_call(struct text *t, const struct schema *schema, const struct call_stats *s, uint64_t whole_ns)
{
	const uint64_t values[] = {call_stats_average(s), call_stats_median(s), s->min_ns, s->max_ns,
				   call_stats_deviation(s)};

	struct text percent = {0};

	if (s->key.b)
		text_add(&percent, "in");
	else
		text_add_percent(&percent, s->total_ns, whole_ns);
	text_take_right(t, &percent, 8);
	text_add(t, " ");
	add_ns_right(t, s->total_ns, 9);
	text_add(t, " %8" PRIu64, s->n);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		text_add(t, " ");
		add_ns_right(t, values[i], 9);
	}
	text_add(t, "  %s", call_name(schema, s->key.a));
	if (s->nfailed)
		text_add(t, " (%" PRIu64 " returned an error)", s->nfailed);
	text_add(t, "\n");
}

static void add_calls(const struct report *r, const struct report_facts *f, struct text *t)
{
	const struct calls *calls = engine_calls(r->engine);
	const struct call_stats **all = calls_sorted(calls);

	text_add(t, "\nCalls\n");
	if (!all) {
		t->failed |= calls->table.nitems > 0;
		text_add(t, "  %s\n", report_no_calls(r, f));
		return;
	}
	text_add(t, "  These are the host's times from entry to return. A launch's is the time to enqueue it, not the "
		    "GPU's\n"
		    "  to do it. \"in\": made inside another recorded call, whose time contains it. Med is off by 1.6 "
		    "%% at most.\n");
	text_add(t, "  Time %%     Total      Num       Avg       Med       Min       Max    StdDev  Name\n");
	for (size_t i = 0; i < calls->table.nitems; i++)
		add_call(t, &r->evidence->reader.header.schema, all[i], calls->total_ns);
	free(all);
}

static void add_unseen(const struct report *r, const struct report_facts *f, struct text *t)
{
	struct text lines = {0};
	const char *at, *line;
	size_t n;

	report_unseen(r, f, &lines);
	text_add(t, "\nWhat the capture could not see\n");
	for (at = text_string(&lines); text_next_line(&at, &line, &n);)
		text_add(t, "  %.*s\n", (int)n, line);
	t->failed |= lines.failed;
	text_clear(&lines);
}

void report_text(const struct report *r, struct text *t)
{
	struct report_facts f;

	report_gather(r, &f, t);
	add_head(r, &f, t);
	report_ledger_text(r, t);
	add_summary(r, &f, t);
	add_findings(r, &f, t);
	add_calls(r, &f, t);
	add_unseen(r, &f, t);
}
