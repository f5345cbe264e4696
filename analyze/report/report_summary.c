// SPDX-License-Identifier: Apache-2.0
/* What matters most, and what the capture could not see: that nothing was found means little where little was seen. */
#include <inttypes.h>
#include <string.h>

#include "analyze/facts/losses.h"
#include "analyze/report/report.h"

#define NAMED 5          /* functions named in a line */
#define COMMAND_SHOWN 72 /* bytes of it in a line */

/* Whether it says that the capture does not hold all that there was to judge. */
static bool is_limit(const struct finding *f)
{
	static const char *const classes[] = {"unverified", "unread",     "unsealed",     "lost-rows", "reduced",
					      "blind",      "not-probed", "not-attached", "withheld",  "limit"};

	if (strcmp(f->rule, evidence_rule.name) != 0)
		return strcmp(f->class, "limit") == 0;
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (strcmp(f->class, classes[i]) == 0)
			return true;
	return false;
}

/* "findings 1, 2 and 4": those that say what limits the capture; false: none does. */
static bool add_limits(const struct report *r, struct text *t)
{
	size_t n = 0, reported = 0;

	for (size_t i = 0; i < r->findings->n; i++)
		n += is_limit(r->findings->all[i]);
	if (n == 0)
		return false;
	text_add(t, n == 1 ? "finding" : "findings");
	for (size_t i = 0; i < r->findings->n; i++)
		if (is_limit(r->findings->all[i]))
			text_add(t, "%s%zu", reported++ == 0 ? " " : reported == n ? " and " : ", ", i + 1);
	return true;
}

bool report_withholds_calls(const struct report *r, const struct report_facts *f)
{
	return engine_calls(r->engine)->table.nitems == 0 && f->nwithheld[CLASS_events] > 0;
}

const char *report_no_calls(const struct report *r, const struct report_facts *f)
{
	return report_withholds_calls(r, f) ? "They were withheld from this copy."
	       : r->stopped                 ? "None could be read."
					    : "None was recorded.";
}

/* What to say where nothing was found but what evidence reports. */
static void add_nothing(const struct report *r, const struct report_facts *f, bool else_, struct text *t)
{
	struct text limits = {0};
	bool limited = add_limits(r, &limits);
	char missing[COMPLETENESS_WORDS];

	if (report_withholds_calls(r, f)) {
		text_add(t, "The events are withheld from this copy, so there is nothing to analyse");
	} else if (r->stopped && engine_calls(r->engine)->table.nitems == 0) {
		text_add(t, "Nothing can be concluded about the program: no call could be read");
	} else if (engine_calls(r->engine)->table.nitems == 0) {
		text_add(t, "No CUDA calls were recorded, so there is nothing to analyse");
	} else if (limited) {
		text_add(t,
			 r->stopped ? "No %sproblem was found in what could be read, but "
				    : "No %sproblem was found in what was recorded, but ",
			 else_ ? "other " : "");
		if (*completeness_words(missing, &f->complete))
			text_add(t, "%s", missing);
		else
			text_add(t, "the capture is limited");
		text_add(t, " (");
		text_take(t, &limits);
		text_add(t, ")");
	} else {
		text_add(t, "No %sproblem was found", else_ ? "other " : "");
	}
	t->failed |= limits.failed;
	text_clear(&limits);
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

/* The command, cut; else what was recorded is called a recording. */
static void add_command(const struct about *about, struct text *t)
{
	struct text command = {0};
	size_t n;

	about_add_command(about, &command);
	n = command.len;
	if (n > COMMAND_SHOWN)
		for (n = COMMAND_SHOWN; n > 0 && (command.s[n] & 0xc0) == 0x80; n--)
			;
	if (n)
		text_add_bytes(t, command.s, n);
	else
		text_add(t, "Recording");
	if (n < command.len)
		text_add(t, "...");
	t->failed |= command.failed;
	text_clear(&command);
}

void report_run(const struct report *r, const struct report_facts *f, struct text *t)
{
	const struct about *about = &engine_context(r->engine)->names->about;
	size_t n[SEVERITIES] = {0};
	struct text host = {0};

	add_command(about, t);
	about_add_hostname(about, &host);
	if (host.len)
		text_add(t, " on ");
	text_take(t, &host);
	text_add(t, ", ");
	text_add_ns(t, f->end_ns > f->begin_ns ? f->end_ns - f->begin_ns : 0);
	for (size_t i = 0; i < r->findings->n; i++)
		n[r->findings->all[i]->severity]++;
	text_add(t, ": ");
	if (n[SEVERITY_ERROR])
		report_count(t, n[SEVERITY_ERROR], "error");
	if (n[SEVERITY_ERROR] && n[SEVERITY_WARNING])
		text_add(t, ", ");
	if (n[SEVERITY_WARNING])
		report_count(t, n[SEVERITY_WARNING], "warning");
	if (!n[SEVERITY_ERROR] && !n[SEVERITY_WARNING])
		text_add(t, "no errors, no warnings");
}

bool report_nothing(const struct report *r, const struct report_facts *f, struct text *t)
{
	const struct finding *worst[SUMMARY_MAX];
	unsigned n = report_summary(r, worst, SUMMARY_MAX);

	for (unsigned i = 0; i < n; i++)
		if (strcmp(worst[i]->rule, evidence_rule.name) != 0)
			return false;
	if (n == SUMMARY_MAX)
		return false;
	add_nothing(r, f, n > 0, t);
	return true;
}

static bool is_cause(const struct schema *schema, const struct counter *c, const void *arg)
{
	(void)schema;
	return c->id == *(const uint8_t *)arg;
}

/* A line for each cause, with the functions that it hit most. */
static void add_losses(const struct report_facts *f, const struct schema *schema, struct text *t)
{
	for (size_t i = 0; i < schema->ncounters; i++) {
		const struct counter_type *type = &schema->counters[i];
		struct losses l = {0};

		if (type->role != ROLE_LOST && type->role != ROLE_NOTED)
			continue;
		if (!losses_collect(&l, schema, f->counters, f->ncounters, is_cause, &type->id)) {
			t->failed = true;
			return;
		}
		if (l.total) {
			report_count(t, l.total, "event");
			text_add(t, type->role == ROLE_LOST ? " not recorded, %s:" : " recorded in part, %s:",
				 counter_words(type));
			losses_add(&l, NAMED, t);
			text_add(t, "\n");
		}
		losses_clear(&l);
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

	for (unsigned sort = 0; sort < BLIND_SORTS; sort++)
		about_blind(&names->about, (enum blind_sort)sort, t);
	add_losses(f, schema, t);
	add_withheld(f, schema, t);
	add_refusals(names, schema, t);
	if (f->nrunning) {
		text_add(t,
			 "%" PRIu64
			 " process%s running when recording began: earlier calls and allocations are unknown\n",
			 f->nrunning, f->nrunning == 1 ? " was" : "es were");
	}
	if (names->nunkept + names->tasks.nbeyond + names->kernels.nbeyond) {
		report_count(t, names->nunkept + names->tasks.nbeyond + names->kernels.nbeyond, "name");
		text_add(t, " beyond what is kept\n");
	}
	if (!f->ended)
		text_add(t, "Anything after the last seal\n");
	if (r->stopped) {
		text_add(t, "Only ");
		text_add_escaped(t, r->stopped->text, strlen(r->stopped->text));
		text_add(t, "\n");
	}
	if (t->len == before)
		text_add(t, "Everything that was asked for was recorded\n");
}
