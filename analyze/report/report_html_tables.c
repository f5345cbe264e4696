// SPDX-License-Identifier: Apache-2.0
/* The tables of the page: where the time went, all calls, what the capture could not see, the rules and their settings.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/report/report_html.h"
#include "analyze/report/report_ledger.h"
#include "analyze/report/svg.h"

static void add_header(struct html *h, const char *const *names, size_t n)
{
	html_open(h, "thead", NULL);
	html_open(h, "tr", NULL);
	for (size_t i = 0; i < n; i++) {
		html_open(h, "th", NULL);
		html_attribute(h, "scope", "col");
		html_string(h, names[i]);
		html_close(h);
	}
	html_close(h);
	html_close(h);
}

/* Where columns have no room, their names stand before the values. */
static void add_cell(struct html *h, const char *label, struct text *t)
{
	html_open(h, "td", NULL);
	if (label)
		html_attribute(h, "data-label", "%s", label);
	html_take(h, t);
	html_close(h);
	html_string(h, " ");
}

static void add_share(struct html *h, uint64_t part, uint64_t whole)
{
	html_open(h, "svg", "bar");
	html_attribute(h, "xmlns", "http://www.w3.org/2000/svg");
	html_attribute(h, "width", "100%%");
	html_attribute(h, "height", "4");
	html_attribute(h, "aria-hidden", "true");
	svg_rect(h, "bar-memory", 0, svg_place(part, 0, whole), 0, 4);
	html_close(h);
	html_close(h);
}

static void add_call(struct html *h, const struct schema *schema, const struct call_stats *s, uint64_t whole_ns)
{
	static const char *const labels[] = {"average", "median", "99 %", "longest", "deviation"};
	const uint64_t values[] = {call_stats_average(s), call_stats_median(s), hist_quantile(&s->hist, NULL, 99),
				   s->max_ns, call_stats_deviation(s)};
	struct text t = {0};

	html_open(h, "tr", NULL);
	html_open(h, "td", NULL);
	html_element(h, "code", NULL, "%s", call_name(schema, s->key.a));
	if (s->nfailed)
		html_text(h, " (%" PRIu64 " failed)", s->nfailed);
	if (!s->key.b && s->total_ns >= whole_ns / 200)
		add_share(h, s->total_ns, whole_ns);
	html_close(h);
	html_string(h, " ");
	if (s->key.b) {
		text_add(&t, "inside");
	} else {
		text_add_percent(&t, s->total_ns, whole_ns);
		text_add(&t, " %%");
	}
	add_cell(h, "time", &t);
	text_add_ns(&t, s->total_ns);
	add_cell(h, "total", &t);
	text_add(&t, "%" PRIu64, s->n);
	add_cell(h, "calls", &t);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		text_add_ns(&t, values[i] > s->max_ns && i == 2 ? s->max_ns : values[i]);
		add_cell(h, labels[i], &t);
	}
	html_close(h);
}

void page_ledger(struct page *p)
{
	static const char *const names[] = {"Part", "Time", "Total"};
	struct html *h = p->h;
	struct text t = {0};
	struct feeders f;

	h->out->failed |= !report_feeders(p->r, &f);
	if (!f.n)
		return;
	html_element(h, "h2", NULL, "Where the time went");
	html_open(h, "table", NULL);
	html_open(h, "caption", NULL);
	html_string(h, "All the recorded time of ");
	report_feeders_add(&t, &f);
	html_take(h, &t);
	html_string(h, ". The parts add up to it.");
	html_close(h);
	add_header(h, names, sizeof(names) / sizeof(names[0]));
	html_open(h, "tbody", NULL);
	for (unsigned i = 0; i < LEDGER_PARTS; i++) {
		if (!f.ns[i])
			continue;
		html_open(h, "tr", NULL);
		html_open(h, "td", NULL);
		picture_swatch(h, picture_part_class((enum ledger_part)i));
		html_text(h, " %s", ledger_part_words((enum ledger_part)i));
		add_share(h, f.ns[i], f.whole_ns);
		report_waited_add(&t, p->r, &f, (enum ledger_part)i);
		if (t.len || t.failed) {
			html_open(h, "div", "what");
			html_take(h, &t);
			html_close(h);
		}
		html_close(h);
		html_string(h, " ");
		text_add_percent(&t, f.ns[i], f.whole_ns);
		text_add(&t, " %%");
		add_cell(h, "time", &t);
		text_add_ns(&t, f.ns[i]);
		add_cell(h, "total", &t);
		html_close(h);
	}
	html_close(h);
	html_close(h);
	if (f.nidle) {
		html_open(h, "p", NULL);
		html_string(h, "In which the GPU had no work of theirs, at least ");
		report_idle_add(&t, &f);
		html_take(h, &t);
		html_string(h, ".");
		html_close(h);
	}
	picture_ledger(h, &p->facts, &f);
	report_feeders_clear(&f);
}

void page_calls(struct page *p)
{
	static const char *const names[] = {"Function", "Time", "Total",   "Calls",    "Average",
					    "Median",   "99 %", "Longest", "Deviation"};
	const struct calls *calls = engine_calls(p->r->engine);
	const struct call_stats **all = calls_sorted(calls);
	struct html *h = p->h;

	html_element(h, "h2", NULL, "Calls");
	if (!all) {
		h->out->failed |= calls->table.nitems > 0;
		html_element(h, "p", NULL, "%s", report_no_calls(p->r, &p->facts));
		return;
	}
	html_open(h, "table", NULL);
	html_element(h, "caption", NULL,
		     "The host's times from entry to return, most time first. “Inside”: made inside another recorded "
		     "call, whose time contains it. Quantiles are off by 1.6 %% at most.");
	add_header(h, names, sizeof(names) / sizeof(names[0]));
	html_open(h, "tbody", NULL);
	for (size_t i = 0; i < calls->table.nitems; i++)
		add_call(h, &p->r->evidence->reader.header.schema, all[i], calls->total_ns);
	html_close(h);
	html_close(h);
	free(all);
}

void page_unseen(struct page *p)
{
	struct text t = {0};
	struct html *h = p->h;
	const char *at, *line;
	size_t n;

	html_element(h, "h2", NULL, "What the capture could not see");
	report_unseen(p->r, &p->facts, &t);
	html_open(h, "ul", "first");
	for (at = text_string(&t); text_next_line(&at, &line, &n);) {
		html_open(h, "li", NULL);
		html_bytes(h, line, n);
		html_close(h);
	}
	html_close(h);
	h->out->failed |= t.failed;
	text_clear(&t);
	if (p->r->gauges && p->r->gauges->ngpus) {
		html_element(h, "h2", NULL, "Health of the GPUs");
		picture_health(h, &p->facts, p->r->gauges);
	}
}

static void add_rule(struct html *h, const struct rule *rule, const uint64_t *values)
{
	struct text t = {0};

	for (unsigned k = 0; k < rule->nsettings; k++) {
		html_open(h, "tr", NULL);
		text_add(&t, "%s.%s", rule->name, rule->settings[k].key);
		add_cell(h, NULL, &t);
		setting_text(&rule->settings[k], values[k], &t);
		if (values[k] != rule->settings[k].value) {
			text_add(&t, " instead of ");
			setting_text(&rule->settings[k], rule->settings[k].value, &t);
		}
		add_cell(h, NULL, &t);
		text_add(&t, "%s", rule->settings[k].help);
		add_cell(h, NULL, &t);
		html_close(h);
	}
}

void page_rules(struct page *p)
{
	static const char *const names[] = {"Setting", "Value", "Why"};
	struct html *h = p->h;

	html_element(h, "h2", NULL, "Rules and settings");
	html_open(h, "details", NULL);
	html_element(h, "summary", NULL, "By which thresholds it was judged");
	html_open(h, "table", "wordy");
	add_header(h, names, 3);
	html_open(h, "tbody", NULL);
	for (unsigned i = 0; i < NRULES; i++)
		add_rule(h, rules[i], p->r->settings->v[i]);
	html_close(h);
	html_close(h);
	html_close(h);
}
