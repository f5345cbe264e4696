// SPDX-License-Identifier: Apache-2.0
/* The findings of the page, each with its pictures. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/report/report_html.h"
#include "format/base/units.h"
#include "replay/demangle/demangle.h"

/* As people read it. */
static void html_function(struct html *h, const char *name, size_t n)
{
	char said[DEMANGLED_MAX];

	demangle(name, n, said, sizeof(said));
	html_captured(h, said, strlen(said));
}

static void add_line(struct html *h, const char *name, const struct text *t)
{
	h->out->failed |= t->failed;
	if (t->len == 0)
		return;
	html_element(h, "dt", NULL, "%s", name);
	html_open(h, "dd", NULL);
	html_bytes(h, text_string(t), t->len);
	html_string(h, ".");
	html_close(h);
}

static void add_frame(struct html *h, const struct names *names, const struct frame *f)
{
	const struct module *m = f->module ? names_module(names, f->module) : NULL;
	const char *slash = m && m->path ? memrchr(m->path, '/', m->path_len) : NULL;

	html_open(h, "li", NULL);
	html_open(h, "code", NULL);
	if (f->symbol)
		html_function(h, f->symbol, f->symbol_len);
	else
		html_text(h, "0x%" PRIx64, f->address);
	html_close(h);
	if (m && m->path) {
		const char *base = slash ? slash + 1 : m->path;

		html_string(h, " in ");
		html_captured(h, base, m->path_len - (size_t)(base - m->path));
		html_text(h, "+0x%" PRIx64, f->offset);
	}
	html_close(h);
}

static void add_stack(struct html *h, const struct names *names, uint64_t number)
{
	const struct stack *s = number ? names_stack(names, number) : NULL;

	if (!s || s->nframes == 0)
		return;
	html_element(h, "h4", NULL, "Where, innermost first");
	html_open(h, "ol", "stack");
	for (unsigned i = 0; i < s->nframes; i++)
		add_frame(h, names, &s->frames[i]);
	html_close(h);
}

static void add_fact_value(struct html *h, const struct fact *f)
{
	struct text t = {0};
	size_t n = strlen(f->key);

	switch (f->kind) {
	case FACT_SIGNED:
		html_text(h, "%" PRId64, (int64_t)f->number);
		break;
	case FACT_ADDRESS:
		html_text(h, "0x%" PRIx64, f->number);
		break;
	case FACT_BOOL:
		html_string(h, f->number ? "yes" : "no");
		break;
	case FACT_TEXT:
		if (strcmp(f->key, "site") == 0)
			html_function(h, f->text, (size_t)f->number);
		else
			html_captured(h, f->text, (size_t)f->number);
		break;
	case FACT_NUMBER:
		if (n > 3 && strcmp(f->key + n - 3, "_ns") == 0 && strncmp(f->key, "first", 5) != 0 &&
		    strncmp(f->key, "last", 4) != 0)
			text_add_ns(&t, f->number);
		else if (n >= 5 && strcmp(f->key + n - 5, "bytes") == 0)
			text_add_size(&t, f->number);
		else
			text_add(&t, "%" PRIu64, f->number);
		html_take(h, &t);
		break;
	}
}

static void add_facts(struct html *h, const struct finding *f)
{
	if (f->nfacts == 0)
		return;
	html_open(h, "details", NULL);
	html_element(h, "summary", NULL, "%u more fact%s", f->nfacts, plural(f->nfacts));
	html_open(h, "dl", NULL);
	for (unsigned i = 0; i < f->nfacts; i++) {
		html_element(h, "dt", "mono", "%s", f->facts[i].key);
		html_open(h, "dd", NULL);
		add_fact_value(h, &f->facts[i]);
		html_close(h);
	}
	html_close(h);
	html_close(h);
}

/* All calls of the finding's function that are not inside another. */
static const struct hist *all_calls(const struct page *p, const struct finding *f)
{
	const struct calls *calls = engine_calls(p->r->engine);
	const struct call_stats *s = f->probe ? table_find(&calls->table, f->probe, 0) : NULL;

	return s ? &s->hist : NULL;
}

static void add_pictures(struct page *p, const struct finding *f)
{
	const char *name = f->probe ? call_name(&p->r->evidence->reader.header.schema, f->probe) : "";

	if (f->same_as) {
		html_open(p->h, "p", NULL);
		html_string(p->h, "The time lines of ");
		html_open(p->h, "a", NULL);
		html_attribute(p->h, "href", "#r%u-f%zu", p->number, f->same_as);
		html_text(p->h, "finding %zu", f->same_as);
		html_close(p->h);
		html_string(p->h, " show them.");
		html_close(p->h);
	} else if (f->nworst) {
		html_element(p->h, "h4", NULL, f->nworst == 1 ? "The worst one" : "The worst %u", f->nworst);
	}
	for (unsigned i = 0; i < f->nworst && !f->same_as; i++)
		picture_scene(p->h, &p->facts, &f->worst[i], *name ? "the call" : "held up");
	picture_futex(p->h, f);
	if (f->hist && f->hist->n > 1)
		picture_durations(p->h, name, all_calls(p, f), f);
	picture_series(p->h, &p->facts, f);
}

static void add_what(struct page *p, const struct finding *f)
{
	const struct names *names = engine_context(p->r->engine)->names;
	const struct process *process = f->process ? names_instance(names, f->process) : NULL;
	struct html *h = p->h;

	html_open(h, "p", "what");
	html_element(h, "b", NULL, "%s", severity_name(f->severity));
	html_text(h, " · %s: %s · confidence %s", f->rule, f->class, confidence_name(f->confidence));
	if (process) {
		html_text(h, " · process %" PRIu32 " ", process->pid);
		html_captured(h, process->name.s, process->name.len);
		if (process_alias(process))
			html_text(h, " (PID %" PRIu32 " in its namespace)", process_alias(process));
	}
	html_close(h);
}

static void add_times(struct html *h, const struct finding *f)
{
	struct text t = {0};

	if (!f->timed)
		return;
	text_add(&t, "%" PRIu64 " time%s, ", f->count, plural(f->count));
	text_add_ns(&t, f->total_ns);
	text_add(&t, " in all; shortest ");
	text_add_ns(&t, f->min_ns);
	text_add(&t, ", median ");
	text_add_ns(&t, f->median_ns);
	text_add(&t, ", longest ");
	text_add_ns(&t, f->max_ns);
	add_line(h, "How often", &t);
	text_clear(&t);
}

static void add_finding(struct page *p, const struct finding *f, size_t number)
{
	struct html *h = p->h;

	html_open(h, "article", severity_name(f->severity));
	html_attribute(h, "id", "r%u-f%zu", p->number, number);
	add_what(p, f);
	html_open(h, "h3", NULL);
	html_text(h, "%zu. ", number);
	html_bytes(h, text_string(&f->headline), f->headline.len);
	html_string(h, ".");
	html_close(h);
	html_open(h, "dl", NULL);
	add_line(h, "How sure", &f->sure);
	add_line(h, "What it cost", &f->cost);
	add_times(h, f);
	add_line(h, "What to do", &f->advice);
	html_close(h);
	add_stack(h, engine_context(p->r->engine)->names, f->stack);
	add_pictures(p, f);
	add_facts(h, f);
	html_close(h);
}

/* What the colours in all pictures mean. */
static void add_key(struct html *h)
{
	html_element(h, "p", "what", "Colours of the time lines:");
	html_open(h, "ul", "split");
	for (unsigned c = 0; c < CAUSE_CLASSES; c++) {
		html_open(h, "li", NULL);
		picture_swatch(h, picture_class(c));
		html_text(h, " %s", cause_class_label((enum cause_class)c));
		html_close(h);
	}
	html_close(h);
}

static bool has_scene(const struct findings *all)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->all[i]->nworst)
			return true;
	return false;
}

void page_findings(struct page *p)
{
	const struct findings *all = p->r->findings;

	if (all->n) {
		html_element(p->h, "h2", NULL, "Findings");
		html_element(p->h, "p", NULL,
			     "%zu finding%s, worst first. A call's time is the host's from entry to return: a launch's "
			     "is the time to enqueue it, not the GPU's to do it.",
			     all->n, plural(all->n));
	}
	if (has_scene(all))
		add_key(p->h);
	for (size_t i = 0; i < all->n; i++)
		add_finding(p, all->all[i], i + 1);
}
