// SPDX-License-Identifier: Apache-2.0
/* Errors that the NVIDIA driver wrote to the kernel's log, by GPU and number, and uncorrectable memory errors. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/codes.h"
#include "analyze/callsite.h"

enum { SET_COUNT };

static const struct setting settings[] = {
	[SET_COUNT] = {"count", SETTING_COUNT, 1, 1, 1000000000, "errors of one number on one GPU that make a finding"},
};

#define GROUPS_MAX 1024
#define PCI_KEPT_BYTES 32
#define KNOWN(field) (1ULL << (F_health_##field - F_health_known))

struct group {
	struct table_key key; /* a: number of the GPU's name in order of appearance; b: code */
	uint64_t count, first_ns, last_ns, pid;
	uint64_t process; /* instance of `pid` then; 0: not known */
	struct text text; /* of the first */
};

struct place {
	uint8_t len;
	char pci[PCI_KEPT_BYTES];
};

struct memory_errors {
	struct table_key key; /* a: GPU */
	bool seen;
	uint64_t first, last, at_ns;
};

struct xid_state {
	struct table groups, memory;
	struct place places[GROUPS_MAX]; /* PCI addresses seen */
	unsigned nplaces;
	uint64_t nskipped;
};

static int xid_open(void **state, struct fault *why)
{
	*state = calloc(1, sizeof(struct xid_state));
	return *state ? 0 : rule_no_memory(&xid_rule, why);
}

static void xid_close(void *state)
{
	struct xid_state *s = state;

	if (!s)
		return;
	for (size_t i = 0; i < s->groups.nitems; i++)
		text_clear(&((struct group *)s->groups.items[i])->text);
	table_clear(&s->groups);
	table_clear(&s->memory);
	free(s);
}

/* The number of this PCI address, from 1; 0: too many. */
static unsigned place_of(struct xid_state *s, const char *pci, uint64_t n)
{
	uint8_t len = (uint8_t)(n < PCI_KEPT_BYTES ? n : PCI_KEPT_BYTES);

	for (unsigned i = 0; i < s->nplaces; i++)
		if (s->places[i].len == len && memcmp(s->places[i].pci, pci, len) == 0)
			return i + 1;
	if (s->nplaces == GROUPS_MAX)
		return 0;
	s->places[s->nplaces].len = len;
	if (len)
		memcpy(s->places[s->nplaces].pci, pci, len);
	return ++s->nplaces;
}

static int take_health(struct xid_state *s, const struct event *ev, struct fault *why)
{
	struct memory_errors *m = table_find(&s->memory, ev->v[F_health_gpu], 0);

	if (!(ev->v[F_health_known] & KNOWN(ecc_uncorrected)) || (!m && s->memory.nitems >= GROUPS_MAX))
		return 0;
	if (!m)
		m = table_add(&s->memory, ev->v[F_health_gpu], 0, sizeof(*m));
	if (!m)
		return rule_no_memory(&xid_rule, why);
	if (!m->seen)
		m->first = ev->v[F_health_ecc_uncorrected];
	if (m->seen && ev->v[F_health_ecc_uncorrected] > m->last && m->at_ns == 0)
		m->at_ns = ev->at_ns;
	m->seen = true;
	m->last = ev->v[F_health_ecc_uncorrected];
	return 0;
}

static int xid_feed(void *state, const struct context *ctx, const uint64_t *set, const struct event *ev,
		    struct fault *why)
{
	struct xid_state *s = state;
	const struct process *p;
	struct group *g;
	unsigned place;

	(void)set;
	if (ev->kind == KIND_health)
		return take_health(s, ev, why);
	place = place_of(s, ev->text[F_xid_pci] ? ev->text[F_xid_pci] : "", ev->text[F_xid_pci] ? ev->v[F_xid_pci] : 0);
	g = table_find(&s->groups, place, ev->v[F_xid_code]);
	if (!g && s->groups.nitems >= GROUPS_MAX) {
		s->nskipped++;
		return 0;
	}
	if (!g) {
		g = table_add(&s->groups, place, ev->v[F_xid_code], sizeof(*g));
		if (!g)
			return rule_no_memory(&xid_rule, why);
		g->first_ns = ev->at_ns;
		g->pid = ev->v[F_xid_pid];
		p = g->pid ? tasks_find_process(&ctx->names->tasks, (uint32_t)g->pid) : NULL;
		g->process = p ? p->number : 0;
		if (ev->text[F_xid_text])
			text_add_escaped(&g->text, ev->text[F_xid_text], (size_t)ev->v[F_xid_text]);
		if (g->text.failed)
			return rule_no_memory(&xid_rule, why);
	}
	g->count++;
	g->last_ns = ev->at_ns;
	return 0;
}

static struct finding *report(struct findings *out, const char *class, enum severity severity, uint64_t count,
			      uint64_t first_ns, uint64_t last_ns)
{
	struct finding *f = findings_add(out);

	if (!f)
		return NULL;
	f->rule = xid_rule.name;
	f->class = class;
	f->severity = severity;
	f->confidence = CONFIDENCE_HIGH;
	f->count = f->weight = count;
	f->unit = WEIGHT_EVENTS;
	f->first[0] = (struct occurrence){first_ns, last_ns, TID_NONE, TID_NONE, TID_NONE};
	f->nfirst = 1;
	return f;
}

static int report_group(const struct xid_state *s, const struct group *g, const struct context *ctx,
			struct findings *out, struct fault *why)
{
	const struct xid_code *code = xid_find(g->key.b);
	const struct place *place = g->key.a ? &s->places[g->key.a - 1] : NULL;
	struct finding *f = report(out, "xid", (enum severity)code->severity, g->count, g->first_ns, g->last_ns);

	if (!f)
		return rule_no_memory(&xid_rule, why);
	f->process = g->process;
	text_add(&f->headline, "The driver reported Xid %" PRIu64, g->key.b);
	if (place && place->len) {
		text_add(&f->headline, " on GPU ");
		text_add_escaped(&f->headline, place->pci, place->len);
	}
	if (g->count > 1)
		text_add(&f->headline, " %" PRIu64 " times", g->count);
	text_add(&f->headline, ", first after ");
	text_add_ns(&f->headline, g->first_ns > ctx->begin_ns ? g->first_ns - ctx->begin_ns : 0);
	text_add(&f->headline, ": %s", code->text);
	if (g->process) {
		text_add(&f->headline, "; it names ");
		process_add(&f->headline, ctx, g->process);
	} else if (g->pid) {
		text_add(&f->headline, "; it names process %" PRIu64, g->pid);
	}
	text_add(&f->sure, "High confidence: it is in the kernel's log");
	text_add(&f->cost, "%s",
		 code->severity == SEVERITY_ERROR ? "What ran on that GPU then is lost, or computed wrong"
						  : "Nothing so far; it may be a sign of more to come");
	text_add(&f->advice, "%s", code->remedy);
	finding_number(f, "code", g->key.b);
	finding_number(f, "pid", g->pid);
	finding_number(f, "first_ns", g->first_ns);
	finding_number(f, "last_ns", g->last_ns);
	if ((place && !finding_text(f, "pci", place->pci, place->len)) ||
	    !finding_text(f, "message", text_string(&g->text), g->text.len))
		return rule_no_memory(&xid_rule, why);
	return 0;
}

static int report_memory(const struct memory_errors *m, struct findings *out, struct fault *why)
{
	struct finding *f = report(out, "uncorrectable-memory", SEVERITY_ERROR, m->last - m->first, m->at_ns, m->at_ns);

	if (!f)
		return rule_no_memory(&xid_rule, why);
	f->gpu = m->key.a + 1;
	text_add(&f->headline, "GPU %" PRIu64 " counted %" PRIu64 " more uncorrectable memory errors while recording",
		 m->key.a, m->last - m->first);
	text_add(&f->sure, "High confidence: it is the GPU's own counter");
	text_add(&f->cost, "Data in its memory was lost");
	text_add(&f->advice, "Take the GPU out of service, reset it, and have it checked if this comes again");
	finding_number(f, "gpu", m->key.a);
	finding_number(f, "errors", m->last - m->first);
	return 0;
}

static int xid_finish(void *state, const struct context *ctx, const uint64_t *set, struct findings *out,
		      struct fault *why)
{
	struct xid_state *s = state;
	int r = 0;

	for (size_t i = 0; i < s->groups.nitems && r == 0; i++) {
		const struct group *g = (const struct group *)s->groups.items[i];

		if (g->count >= set[SET_COUNT])
			r = report_group(s, g, ctx, out, why);
	}
	for (size_t i = 0; i < s->memory.nitems && r == 0; i++) {
		const struct memory_errors *m = (const struct memory_errors *)s->memory.items[i];

		if (m->last > m->first)
			r = report_memory(m, out, why);
	}
	if (r == 0 && !findings_add_limit(out, xid_rule.name, s->nskipped, "driver errors"))
		r = rule_no_memory(&xid_rule, why);
	return r;
}

const struct rule xid_rule = {
	.name = "xid",
	.severity = SEVERITY_ERROR,
	.summary = "errors that the NVIDIA driver reported (Xid), and uncorrectable memory errors",
	.meaning = "The driver wrote an Xid to the kernel's log: a number for what went wrong on a GPU. Some are a "
		   "program's mistake (13, 31, 43), others the hardware's (48, 74, 79, 94, 95).",
	.wrong = "Xid 45 mostly follows from another error or from killing a program. The process that is named need "
		 "not be the culprit where several share a GPU.",
	.remedy = "A program's mistake: compute-sanitizer. The hardware's: drain the host, reset the GPU, have it "
		  "checked.",
	.settings = settings,
	.nsettings = sizeof(settings) / sizeof(settings[0]),
	.kinds = {KIND_xid, KIND_health, 0},
	.open = xid_open,
	.feed = xid_feed,
	.finish = xid_finish,
	.close = xid_close,
};
