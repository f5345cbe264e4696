/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/where/where.h"

#include <stdlib.h>
#include <string.h>

#include "keys/tool/nearest.h"
#include "replay/where/where_internal.h"
#include "replay/model/enum_names.h"

#define PROBE_IDS ((size_t)UINT16_MAX + 1)

/* Why a value cannot be compared with a field, for the sentence. */
#define BOOT_NS_MIN 1000000000 /* an earlier time on the boot clock is not believed without a unit */

enum misfit {
	FITS,
	MISFIT_TEXT,
	MISFIT_NUMBER,
	MISFIT_ORDER,
	MISFIT_PART,
	MISFIT_UNIT,
	MISFIT_SIGN,
	MISFIT_WORD,
	MISFIT_BARE
};

struct binding {
	struct where *w;
	uint64_t start_ns;
	struct fault *why;
};

#define FAIL(b, where_at, ...) fault_set((b)->why, ERR_INPUT, (where_at), __VA_ARGS__)

static bool text_fits(const struct where_term *t, const char *want, size_t nwant, const char *is, size_t n)
{
	bool equal = n == nwant && (n == 0 || !memcmp(is, want, n));

	if (t->op == WHERE_HAS)
		return memmem(is, n, want, nwant) != NULL;
	return t->op == WHERE_EQ ? equal : !equal;
}

/* A name as tasks.h keeps it, or as it is in the schema. */
static bool name_fits(const struct where_term *t, const char *is)
{
	return text_fits(t, t->shown, strlen(t->shown), is, strlen(is));
}

static bool number_fits(enum where_op op, where_number is, where_number want)
{
	switch (op) {
	case WHERE_EQ:
		return is == want;
	case WHERE_NE:
		return is != want;
	case WHERE_LT:
		return is < want;
	case WHERE_LE:
		return is <= want;
	case WHERE_GT:
		return is > want;
	case WHERE_GE:
		return is >= want;
	case WHERE_HAS:
		break;
	}
	return false;
}

/* --- binding --- */

/* A word stands for a number: of an enum, a state, or a probe. */
static enum misfit bind_word(struct where_bound *b, const struct where_term *t, const struct kind *k, uint8_t f)
{
	const struct field *field = &k->fields[f];
	const struct enum_word *words;
	size_t n;

	if (field->unit == UNIT_ID && !strcmp(field->name, "probe")) {
		b->way = WAY_PROBE;
		return FITS;
	}
	if (k->id == KIND_switch && f == F_switch_prev_state) {
		b->way = WAY_STATE;
		return FITS;
	}
	words = enum_words(&n);
	for (size_t i = 0; i < n; i++) {
		if (words[i].kind != k->id || words[i].field != f || strcmp(words[i].word, t->word) != 0)
			continue;
		if (t->op != WHERE_EQ && t->op != WHERE_NE)
			return MISFIT_ORDER;
		*b = (struct where_bound){.way = WAY_UINT, .field = f, .value = (where_number)words[i].value};
		return FITS;
	}
	return field->unit == UNIT_ENUM ? MISFIT_WORD : MISFIT_NUMBER;
}

/* A number without a unit: could be seconds or nanoseconds. As SQL and JSON show the boot clock it is long. */
static bool is_bare_time(const struct where_term *t, const struct field *field)
{
	if (t->form != WHERE_NUMBER || t->value == 0)
		return false;
	return field->unit == UNIT_NS || (field->unit == UNIT_BOOT_NS && t->value < BOOT_NS_MIN);
}

static enum misfit bind_field(const struct binding *x, struct where_bound *b, const struct where_term *t,
			      const struct kind *k, uint8_t f)
{
	const struct field *field = &k->fields[f];

	*b = (struct where_bound){.way = WAY_NEVER, .field = f, .value = t->value};
	if (t->form == WHERE_WORD && t->op != WHERE_EQ && t->op != WHERE_NE && t->op != WHERE_HAS)
		return MISFIT_ORDER;
	if (field->encoding == ENC_TEXT) {
		b->way = WAY_TEXT;
		return t->form == WHERE_WORD ? FITS : MISFIT_TEXT;
	}
	if (t->form == WHERE_WORD)
		return bind_word(b, t, k, f);
	if (t->op == WHERE_HAS)
		return MISFIT_PART;
	if (t->form == WHERE_SIZE && field->unit != UNIT_BYTES)
		return MISFIT_UNIT;
	if (t->form == WHERE_DURATION && field->unit == UNIT_BOOT_NS)
		b->value += x->start_ns;
	else if (t->form == WHERE_DURATION && field->unit != UNIT_NS)
		return MISFIT_UNIT;
	if (t->value < 0 && !field_is_signed(field) && field->unit != UNIT_BOOT_NS)
		return MISFIT_SIGN;
	if (is_bare_time(t, field))
		return MISFIT_BARE;
	b->way = field_is_signed(field) ? WAY_SINT : WAY_UINT;
	return FITS;
}

static int report_misfit(const struct binding *x, const struct where_term *t, enum misfit m)
{
	switch (m) {
	case MISFIT_TEXT:
		return FAIL(x, t->value_at, "%s is a text: put what it is compared with in quotes", t->name);
	case MISFIT_NUMBER:
		return FAIL(x, t->value_at, "%s is a number, not a text", t->name);
	case MISFIT_WORD:
		return FAIL(x, t->value_at, "%s is never '%.64s'", t->name, t->shown);
	case MISFIT_ORDER:
		return FAIL(x, t->op_at, "of texts and words one can only ask = != and, of texts, ~ (a part of it)");
	case MISFIT_PART:
		return FAIL(x, t->op_at, "~ asks for a part of a text, and %s is a number", t->name);
	case MISFIT_UNIT:
		return FAIL(x, t->value_at, "%s is not counted in such units", t->name);
	case MISFIT_SIGN:
		return FAIL(x, t->value_at, "%s is never negative", t->name);
	case MISFIT_BARE:
		return FAIL(x, t->value_at, "%s is a time: write a unit, as in 1ms or 1.5s", t->name);
	case FITS:
		break;
	}
	return 0;
}

/* The name most like `name` that a person may have meant, or NULL. */
static const char *likely(const struct schema *s, const char *name, const char *kind)
{
	static const char *const own[] = {"kind", "call", "process", "thread"};
	struct nearest n = nearest_to(name);

	for (size_t i = 0; !*kind && i < sizeof(own) / sizeof(own[0]); i++)
		nearest_offer(&n, own[i]);
	for (size_t k = 0; k < s->nkinds; k++) {
		if (*kind && strcmp(kind, s->kinds[k].name) != 0)
			continue;
		for (uint8_t f = 0; f < s->kinds[k].nfields; f++)
			nearest_offer(&n, s->kinds[k].fields[f].name);
	}
	return n.best;
}

static int report_unknown(const struct binding *x, const struct where_term *t)
{
	const struct schema *s = x->w->schema;
	const char *meant = likely(s, t->name, t->kind);
	bool known = !t->kind[0];

	for (size_t k = 0; k < s->nkinds; k++)
		known |= !strcmp(s->kinds[k].name, t->kind);
	if (!known)
		return FAIL(x, t->name_at, "there is no kind of event '%s' here", t->kind);
	return FAIL(x, t->name_at, "%s has %s field '%s'%s%s%s", t->kind[0] ? t->kind : "no kind of event here",
		    t->kind[0] ? "no" : "a", t->name, meant ? "; did you mean " : "", meant ? meant : "",
		    meant ? "?" : "");
}

/* A field of some kinds, by its name. */
static int bind_named(const struct binding *x, struct where_term *t)
{
	const struct schema *s = x->w->schema;
	enum misfit first = FITS, m;
	bool found = false, fits = false;

	for (size_t k = 0; k < s->nkinds; k++) {
		if (t->kind[0] && strcmp(t->kind, s->kinds[k].name) != 0)
			continue;
		for (uint8_t f = 0; f < s->kinds[k].nfields; f++) {
			if (strcmp(s->kinds[k].fields[f].name, t->name) != 0)
				continue;
			m = bind_field(x, &t->bound[k], t, &s->kinds[k], f);
			if (m != FITS)
				t->bound[k].way = WAY_NEVER;
			if (m != FITS && (!found || m == MISFIT_WORD))
				first = m;
			found = true;
			fits |= m == FITS;
		}
	}
	if (!found)
		return report_unknown(x, t);
	return fits ? 0 : report_misfit(x, t, first);
}

static int bind_kind(const struct binding *x, struct where_term *t)
{
	const struct schema *s = x->w->schema;
	bool known = t->op == WHERE_HAS;

	for (size_t k = 0; k < s->nkinds; k++) {
		known |= !strcmp(s->kinds[k].name, t->word);
		t->bound[k].way = name_fits(t, s->kinds[k].name) ? WAY_ALWAYS : WAY_NEVER;
	}
	return known ? 0 : FAIL(x, t->value_at, "there is no kind of event '%.64s' here", t->shown);
}

static uint8_t field_named(const struct kind *k, const char *name)
{
	for (uint8_t f = 1; f < k->nfields; f++)
		if (k->fields[f].unit == UNIT_ID && !strcmp(k->fields[f].name, name))
			return f;
	return 0;
}

/* Whose doing it is, or whom it is about: as in the text's first column. */
static uint8_t own_tid(const struct kind *k)
{
	if (k->id == KIND_switch)
		return F_switch_prev_tid;
	return k->id == KIND_waking ? F_waking_waker_tid : field_named(k, "tid");
}

static void bind_names(const struct binding *x, struct where_term *t, bool process)
{
	const struct schema *s = x->w->schema;

	for (size_t k = 0; k < s->nkinds; k++) {
		uint8_t tid = own_tid(&s->kinds[k]), pid = field_named(&s->kinds[k], "pid");
		struct where_bound *b = &t->bound[k];

		if (process && (pid || tid))
			*b = (struct where_bound){.way = WAY_PROCESS, .field = pid ? pid : tid, .is_tid = !pid};
		else if (!process && tid)
			*b = (struct where_bound){.way = WAY_THREAD, .field = tid};
	}
}

static void bind_calls(const struct binding *x, struct where_term *t)
{
	const struct schema *s = x->w->schema;

	for (size_t k = 0; k < s->nkinds; k++)
		if (s->kinds[k].flags == KIND_CALL)
			t->bound[k] = (struct where_bound){.way = WAY_PROBE, .field = F_call_probe};
}

/* The names that are no fields. */
static int bind_own(const struct binding *x, struct where_term *t)
{
	if (t->form != WHERE_WORD)
		return FAIL(x, t->value_at, "%s is a name: put what it is compared with in quotes", t->name);
	if (t->op != WHERE_EQ && t->op != WHERE_NE && t->op != WHERE_HAS)
		return report_misfit(x, t, MISFIT_ORDER);
	if (!strcmp(t->name, "kind"))
		return bind_kind(x, t);
	if (!strcmp(t->name, "call"))
		bind_calls(x, t);
	else
		bind_names(x, t, !strcmp(t->name, "process"));
	return 0;
}

static bool is_own(const struct where_term *t)
{
	return !t->kind[0] && (!strcmp(t->name, "kind") || !strcmp(t->name, "call") || !strcmp(t->name, "process") ||
			       !strcmp(t->name, "thread"));
}

static int bind_probes(const struct binding *x, struct where_term *t)
{
	const struct schema *s = x->w->schema;
	bool needed = false;

	for (size_t k = 0; k < s->nkinds; k++)
		needed |= t->bound[k].way == WAY_PROBE;
	if (!needed)
		return 0;
	t->probes = calloc(PROBE_IDS / 8, 1);
	if (!t->probes)
		return fault_no_memory(x->why);
	for (size_t i = 0; i < s->nprobes; i++)
		if (name_fits(t, s->probes[i].name))
			t->probes[s->probes[i].id / 8] |= (uint8_t)(1u << s->probes[i].id % 8);
	return 0;
}

int where_bind(struct where *w, const struct schema *schema, uint64_t start_ns, struct fault *why)
{
	const struct binding x = {w, start_ns, why};
	int r = 0;

	w->schema = schema;
	for (size_t i = 0; !r && i < w->nterms; i++) {
		struct where_term *t = &w->terms[i];

		free(t->bound);
		free(t->probes);
		t->probes = NULL;
		t->bound = calloc(schema->nkinds + 1, sizeof(*t->bound));
		if (!t->bound)
			r = fault_no_memory(why);
		else
			r = is_own(t) ? bind_own(&x, t) : bind_named(&x, t);
		if (!r)
			r = bind_probes(&x, t);
	}
	return r;
}

/* --- events --- */

static bool process_fits(const struct where_term *t, const struct where_bound *b, uint64_t id,
			 const struct tasks *tasks)
{
	const struct thread *thread = b->is_tid ? tasks_find_thread(tasks, (uint32_t)id) : NULL;
	uint32_t number = b->is_tid ? (thread ? thread->process : 0) : tasks_process(tasks, (uint32_t)id);

	return number && tasks->processes[number].shown && name_fits(t, tasks->processes[number].shown);
}

static bool term_holds(const struct where *w, const struct where_term *t, const struct event *ev,
		       const struct tasks *tasks)
{
	const struct where_bound *b = &t->bound[ev->shape - w->schema->kinds];
	uint64_t v = ev->v[b->field];
	const struct thread *thread;

	switch ((enum where_way)b->way) {
	case WAY_NEVER:
		return false;
	case WAY_ALWAYS:
		return true;
	case WAY_UINT:
		return number_fits(t->op, (where_number)v, b->value);
	case WAY_SINT:
		return number_fits(t->op, (where_number)(int64_t)v, b->value);
	case WAY_TEXT:
		return text_fits(t, t->word, t->word_len, ev->text[b->field], (size_t)v);
	case WAY_PROBE:
		return v < PROBE_IDS && (t->probes[v / 8] >> v % 8 & 1);
	case WAY_STATE:
		return name_fits(t, state_word(v));
	case WAY_THREAD:
		thread = tasks_find_thread(tasks, (uint32_t)v);
		return thread && thread->shown && name_fits(t, thread->shown);
	case WAY_PROCESS:
		return process_fits(t, b, v, tasks);
	}
	return false;
}

static bool node_holds(const struct where *w, uint16_t n, const struct event *ev, const struct tasks *tasks)
{
	const struct where_node *node = &w->nodes[n];

	switch ((enum where_node_type)node->type) {
	case NODE_TERM:
		return term_holds(w, &w->terms[node->a], ev, tasks);
	case NODE_AND:
		return node_holds(w, node->a, ev, tasks) && node_holds(w, node->b, ev, tasks);
	case NODE_OR:
		return node_holds(w, node->a, ev, tasks) || node_holds(w, node->b, ev, tasks);
	case NODE_NOT:
		return !node_holds(w, node->a, ev, tasks);
	}
	return false;
}

bool where_holds(const struct where *w, const struct event *ev, const struct tasks *tasks)
{
	return node_holds(w, w->root, ev, tasks);
}
