// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/report.h"
#include "keys/tool.h"

#define BAR_WIDTH 40

static void add_padded(struct text *t, const char *s, unsigned width)
{
	text_add(t, "%-*s", (int)width, s);
}

/* A duration, right-aligned; its µ is one column and two bytes. */
static void add_ns_right(struct text *t, uint64_t ns, unsigned width)
{
	struct text one = {0};
	unsigned columns = 0;

	text_add_ns(&one, ns);
	for (size_t i = 0; i < one.len; i++)
		columns += (one.s[i] & 0xc0) != 0x80;
	text_add(t, "%*s%s", columns < width ? (int)(width - columns) : 0, "", text_string(&one));
	text_clear(&one);
}

/* "+12.345678 s": since recording began. */
static void add_moment(struct text *t, const struct report_facts *f, uint64_t at_ns)
{
	uint64_t since_ns = at_ns > f->begin_ns ? at_ns - f->begin_ns : 0;

	text_add(t, "+%" PRIu64 ".%06" PRIu64 " s", since_ns / 1000000000, since_ns % 1000000000 / 1000);
}

static void add_head(const struct report *r, const struct report_facts *f, struct text *t)
{
	const struct reader *reader = &r->evidence->reader;
	const char *reason = f->ended ? reason_text(reader->end.reason) : NULL;
	char sentence[512], wall[64];

	evidence_sentence(r->evidence, sentence, sizeof(sentence));
	text_add(t, "Evidence   %s\n", sentence);
	text_add(t, "Capture    %s, last seal %.16s\n", f->capture_id, f->last_seal[0] ? f->last_seal : "none");
	tool_format_wall(wall, sizeof(wall), reader->header.start_wall_ns);
	text_add(t, r->stopped ? "Recorded   %s, read only for " : "Recorded   %s, for ", wall);
	text_add_ns(t, f->end_ns > f->begin_ns ? f->end_ns - f->begin_ns : 0);
	text_add(t, ", %" PRIu64 " events in %" PRIu64 " epochs; ", engine_nevents(r->engine), f->nepochs);
	if (r->stopped)
		text_add(t, "read only up to where it breaks\n");
	else if (f->ended)
		text_add(t, "ended because: %s\n", reason ? reason : "a reason of a later version");
	else
		text_add(t, "no end: analysed up to the last seal\n");
	text_add(t, "Judged by  gpuanalyze %s, %d rules, settings %.16s\n", TOOL_VERSION, NRULES, f->rules_hash);
}

static void add_summary(const struct report *r, struct text *t)
{
	const struct finding *worst[3];
	unsigned n = report_summary(r, worst, 3);

	text_add(t, "\nWhat matters most\n");
	if (n == 0)
		text_add(t, "  Nothing was found that is out of order.\n");
	for (unsigned i = 0; i < n; i++)
		text_add(t, "  %u. %s.\n", i + 1, text_string(&worst[i]->headline));
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
	static const char *const labels[CAUSE_CLASSES] = {"on CPU", "waiting for a CPU", "asleep in a futex",
							  "asleep otherwise", "unknown"};
	const struct split *s = &w->why->cause.links[0];
	const struct who *who = explained_who(w->why, s->tid);

	text_add(t, "      at ");
	add_moment(t, f, w->at.begin_ns);
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
	for (unsigned c = 0; c < CAUSE_CLASSES; c++)
		if (s->ns[c])
			add_bar(t, labels[c], s->ns[c], s->end_ns - s->begin_ns);
}

static void add_stack(const struct names *names, struct text *t, uint64_t number)
{
	const struct stack *s = names_stack(names, number);

	for (unsigned i = 0; s && i < s->nframes; i++) {
		const struct frame *f = &s->frames[i];
		const struct module *m = f->module ? names_module(names, f->module) : NULL;

		text_add(t, "      #%u ", i);
		if (f->symbol)
			text_add_escaped(t, f->symbol, f->symbol_len);
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

static void add_finding(const struct report *r, const struct report_facts *f, struct text *t,
			const struct finding *finding, size_t number)
{
	const struct names *names = engine_context(r->engine)->names;
	const struct process *p = finding->process ? names_instance(names, finding->process) : NULL;

	text_add(t, "\n  [%zu] %s %s: %s (confidence: %s)", number, finding->rule, severity_name(finding->severity),
		 finding->class, confidence_name(finding->confidence));
	if (p) {
		text_add(t, ", process %" PRIu64 "%s", p->pid, p->name.len ? " " : "");
		text_add_escaped(t, p->name.s, p->name.len);
	}
	text_add(t, "\n      %s.\n", text_string(&finding->headline));
	if (finding->timed) {
		text_add(t, "      %" PRIu64 " times, ", finding->count);
		text_add_ns(t, finding->total_ns);
		text_add(t, " in all; shortest ");
		text_add_ns(t, finding->min_ns);
		text_add(t, ", median ");
		text_add_ns(t, finding->median_ns);
		text_add(t, ", longest ");
		text_add_ns(t, finding->max_ns);
		text_add(t, "\n");
	}
	if (finding->stack)
		add_stack(names, t, finding->stack);
	for (unsigned i = 0; i < finding->nworst; i++)
		add_worst(f, t, &finding->worst[i]);
	if (finding->advice.len)
		text_add(t, "      To do: %s.\n", text_string(&finding->advice));
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
	text_add(t, "  %6s ", text_string(&percent));
	text_clear(&percent);
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

static void add_calls(const struct report *r, struct text *t)
{
	const struct calls *calls = engine_calls(r->engine);
	const struct call_stats **all = calls_sorted(calls);

	text_add(t, "\nCalls\n");
	if (!all) {
		t->failed |= calls->table.nitems > 0;
		text_add(t, "  None was recorded.\n");
		return;
	}
	text_add(t, "  These are the host's times from entry to return. A launch's is the time to enqueue it, not the "
		    "GPU's\n"
		    "  to do it. \"in\": made inside another recorded call, whose time contains it. Med is off by 1.6 "
		    "%% at "
		    "most.\n");
	text_add(t, "  Time %%     Total      Num       Avg       Med       Min       Max    StdDev  Name\n");
	for (size_t i = 0; i < calls->table.nitems; i++)
		add_call(t, &r->evidence->reader.header.schema, all[i], calls->total_ns);
	free(all);
}

static void add_losses(const struct report_facts *f, const struct schema *schema, struct text *t)
{
	for (uint32_t i = 0; i < f->ncounters; i++) {
		const struct counter *c = &f->counters[i];
		const struct counter_type *type = schema_counter(schema, c->id);

		if (!type || (type->role != ROLE_LOST && type->role != ROLE_NOTED))
			continue;
		text_add(t, "  %" PRIu64 " of %s: %s%s\n", c->value, call_name(schema, c->probe), type->name,
			 type->role == ROLE_LOST ? " (not recorded)" : " (recorded without it)");
	}
}

static void add_unseen(const struct report *r, const struct report_facts *f, struct text *t)
{
	const struct schema *schema = &r->evidence->reader.header.schema;
	const struct names *names = engine_context(r->engine)->names;
	size_t before;

	text_add(t, "\nWhat the capture could not see\n");
	before = t->len;
	add_losses(f, schema, t);
	for (unsigned c = 0; c < CLASSES_MAX; c++)
		if (f->nwithheld[c] && schema_class_name(schema, (uint8_t)c))
			text_add(t, "  %" PRIu64 " chunks of class %s were withheld\n", f->nwithheld[c],
				 schema_class_name(schema, (uint8_t)c));
	for (uint64_t i = 0; i < names->nrefusals && i < REFUSALS_KEPT; i++)
		text_add(t, "  %s could not be probed in module %" PRIu64 " (%s)\n",
			 call_name(schema, names->refusals[i].probe), names->refusals[i].module,
			 strerrordesc_np((int)(names->refusals[i].error & 0xfff)) ?: "unknown error");
	if (f->nrunning)
		text_add(t,
			 "  %" PRIu64
			 " of the processes ran before recording began; what they did and held until then\n",
			 f->nrunning);
	if (names->nunkept)
		text_add(t, "  %" PRIu64 " names beyond what is kept\n", names->nunkept);
	if (!f->ended)
		text_add(t, "  Anything after the last seal\n");
	if (r->stopped) {
		text_add(t, "  Anything after the place where the events cannot be read: ");
		text_add_escaped(t, r->stopped->text, strlen(r->stopped->text));
		text_add(t, "\n");
	}
	if (t->len == before)
		text_add(t, "  Nothing is missing of what it set out to record.\n");
}

void report_text(const struct report *r, struct text *t)
{
	struct report_facts f;

	report_gather(r, &f);
	add_head(r, &f, t);
	add_summary(r, t);
	if (r->findings->n)
		text_add(t, "\nFindings\n");
	for (size_t i = 0; i < r->findings->n; i++)
		add_finding(r, &f, t, r->findings->all[i], i + 1);
	add_calls(r, t);
	add_unseen(r, &f, t);
}
