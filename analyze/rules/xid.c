// SPDX-License-Identifier: Apache-2.0
/* Errors that the NVIDIA driver wrote to the kernel's log, by GPU and number, and uncorrectable memory errors. */
#include <inttypes.h>
#include <string.h>

#include "analyze/facts/codes.h"
#include "analyze/stats/callsite.h"
#include "replay/model/gauge_fields.h"

enum { SET_COUNT };

static const struct setting settings[] = {
	[SET_COUNT] = {"count", SETTING_COUNT, 1, 1, 1000000000, "errors of one number on one GPU that make a finding"},
};

#define GROUPS_MAX 1024
#define PCI_KEPT_BYTES 32

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
	struct groups groups, memory;
	struct place places[GROUPS_MAX]; /* PCI addresses seen */
	unsigned nplaces;
};

static void xid_close(void *state)
{
	struct xid_state *s = state;

	for (size_t i = 0; i < s->groups.table.nitems; i++) {
		struct group *g = groups_at(&s->groups, i);

		text_clear(&g->text);
	}
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

static int take_health(struct xid_state *s, const struct event *ev)
{
	struct memory_errors *m;

	if (!health_has(ev, F_health_ecc_uncorrected))
		return 0;
	m = groups_get(&s->memory, ev->v[F_health_gpu], 0);
	if (!m)
		return s->memory.error;
	if (!m->seen)
		m->first = ev->v[F_health_ecc_uncorrected];
	if (m->seen && ev->v[F_health_ecc_uncorrected] > m->last && m->at_ns == 0)
		m->at_ns = ev->at_ns;
	m->seen = true;
	m->last = ev->v[F_health_ecc_uncorrected];
	return 0;
}

static int xid_feed(void *state, const struct context *ctx, const uint64_t *set, const struct event *ev)
{
	struct xid_state *s = state;
	const struct process *p;
	struct group *g;
	unsigned place;

	(void)set;
	if (ev->kind == KIND_health)
		return take_health(s, ev);
	place = place_of(s, ev->text[F_xid_pci] ? ev->text[F_xid_pci] : "", ev->text[F_xid_pci] ? ev->v[F_xid_pci] : 0);
	g = groups_get(&s->groups, place, ev->v[F_xid_code]);
	if (!g)
		return s->groups.error;
	if (g->count == 0) {
		g->first_ns = ev->at_ns;
		g->pid = ev->v[F_xid_pid];
		p = g->pid ? tasks_find_process(&ctx->names->tasks, (uint32_t)g->pid) : NULL;
		g->process = p ? p->number : 0;
		if (ev->text[F_xid_text])
			text_add_escaped(&g->text, ev->text[F_xid_text], (size_t)ev->v[F_xid_text]);
	}
	g->count++;
	g->last_ns = ev->at_ns;
	return g->text.failed ? ERR_MEMORY : 0;
}

static struct finding *report(struct findings *out, const char *class, enum severity severity, uint64_t count,
			      uint64_t first_ns, uint64_t last_ns)
{
	struct finding *f = rule_finding(out, &xid_rule, class, CONFIDENCE_HIGH);

	f->severity = severity;
	f->count = f->weight = count;
	f->unit = WEIGHT_EVENTS;
	f->first[0] = (struct occurrence){first_ns, last_ns, TID_NONE, TID_NONE, TID_NONE};
	f->nfirst = 1;
	return f;
}

static void report_group(const struct xid_state *s, const struct group *g, const struct context *ctx,
			 struct findings *out)
{
	const struct xid_code *code = xid_find(g->key.b);
	const struct place *place = g->key.a ? &s->places[g->key.a - 1] : NULL;
	struct finding *f = report(out, "xid", (enum severity)code->severity, g->count, g->first_ns, g->last_ns);

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
	if (place)
		finding_text(f, "pci", place->pci, place->len);
	finding_text(f, "message", text_string(&g->text), g->text.len);
}

static void report_memory(const struct memory_errors *m, struct findings *out)
{
	struct finding *f = report(out, "uncorrectable-memory", SEVERITY_ERROR, m->last - m->first, m->at_ns, m->at_ns);

	f->gpu = m->key.a + 1;
	text_add(&f->headline, "GPU %" PRIu64 " counted %" PRIu64 " more uncorrectable memory errors while recording",
		 m->key.a, m->last - m->first);
	text_add(&f->sure, "High confidence: it is the GPU's own counter");
	text_add(&f->cost, "Data in its memory was lost");
	text_add(&f->advice, "Take the GPU out of service, reset it, and have it checked if this comes again");
	finding_number(f, "gpu", m->key.a);
	finding_number(f, "errors", m->last - m->first);
}

static void xid_finish(void *state, const struct context *ctx, const uint64_t *set, struct findings *out)
{
	struct xid_state *s = state;

	for (size_t i = 0; i < s->groups.table.nitems; i++) {
		const struct group *g = groups_at(&s->groups, i);

		if (g->count >= set[SET_COUNT])
			report_group(s, g, ctx, out);
	}
	for (size_t i = 0; i < s->memory.table.nitems; i++) {
		const struct memory_errors *m = groups_at(&s->memory, i);

		if (m->last > m->first)
			report_memory(m, out);
	}
	findings_add_limit(out, xid_rule.name, s->groups.nskipped, "driver errors");
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
	RULE_SETTINGS(settings),
	.kinds = {KIND_xid, KIND_health, 0},
	.state_size = sizeof(struct xid_state),
	.groups = {{offsetof(struct xid_state, groups), sizeof(struct group), GROUPS_MAX, 0},
		   {offsetof(struct xid_state, memory), sizeof(struct memory_errors), GROUPS_MAX, 0}},
	.feed = xid_feed,
	.finish = xid_finish,
	.close = xid_close,
};
