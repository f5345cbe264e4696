/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of events, straight from the capture. A plan is a list of the constraints in the order of their arguments:
 * "COLUMN OPERATOR;", and how much is wanted: the mask of columns. What a plan passes on is only ever what SQLite then
 * tests again, so a constraint whose argument is no integer is left to it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/sql/vtab_internal.h"

/* A constraint with its argument. */
struct term {
	int column;
	char op; /* = > g(>=) < l(<=) */
	sqlite3_int64 value;
};

struct events_cursor {
	sqlite3_vtab_cursor base;
	struct cursor *cursor;
	struct event ev;
	uint32_t fields[KINDS_MAX];
	struct term terms[MODULE_TERMS_MAX];
	int nterms;
	uint64_t to_number; /* no row after it */
	uint64_t to_ns;
	bool unnumbered; /* rows are not counted, which spares reading: nobody has asked for a number yet */
	uint64_t nalike; /* rows of the current one's time that were given, with it */
	uint8_t field;   /* of other_fields */
	bool eof;
	char *text; /* room for an escaped TEXT */
};

int events_open(sqlite3_vtab *table, sqlite3_vtab_cursor **out)
{
	struct events_cursor *c = calloc(1, sizeof(*c));

	(void)table;
	if (!c)
		return SQLITE_NOMEM;
	*out = &c->base;
	return SQLITE_OK;
}

int events_close(sqlite3_vtab_cursor *cursor)
{
	struct events_cursor *c = (struct events_cursor *)cursor;

	cursor_close(c->cursor);
	free(c->text);
	free(c);
	return SQLITE_OK;
}

/* --- asking --- */

/* What the arguments leave to be read. */
struct window {
	uint64_t from_ns, to_ns;
	uint64_t from_number, to_number;
	bool nothing;
};

static void raise_to(uint64_t *from, sqlite3_int64 value)
{
	if (value > 0 && (uint64_t)value > *from)
		*from = (uint64_t)value;
}

/* Up to and with `value`, where SQL's numbers are the capture's. */
static void lower_to(struct window *w, uint64_t *to, sqlite3_int64 value, uint64_t past)
{
	if (value < 0)
		w->nothing = true;
	else if ((uint64_t)value + past < *to)
		*to = (uint64_t)value + past;
}

static void narrow(struct window *w, const struct module_table *t, const struct term *term)
{
	sqlite3_int64 low = term->op == '>' && term->value < INT64_MAX ? term->value + 1 : term->value;
	sqlite3_int64 high = term->op == '<' && term->value > INT64_MIN ? term->value - 1 : term->value;
	bool from = term->op == '=' || term->op == '>' || term->op == 'g';
	bool to = term->op == '=' || term->op == '<' || term->op == 'l';

	if (term->column == t->id && from)
		raise_to(&w->from_number, low);
	if (term->column == t->id && to)
		lower_to(w, &w->to_number, high, 0);
	/* What begins at or after a time is complete no earlier. */
	if ((term->column == t->at || term->column == t->start) && from)
		raise_to(&w->from_ns, low);
	if (term->column == t->at && to && t->shared->ordered)
		lower_to(w, &w->to_ns, high, 1);
}

/* An instance has one id, and no event before the one that named it is about it. */
static void narrow_instance(struct window *w, const struct instances *s, struct term *term, int id_column)
{
	if (term->value <= 0 || term->value > s->n) {
		w->nothing = true;
		return;
	}
	raise_to(&w->from_number, (sqlite3_int64)s->list[term->value].born);
	if (id_column >= 0)
		*term = (struct term){.column = id_column, .op = '=', .value = s->list[term->value].id};
}

static int column_called(const struct module_table *t, const char *name)
{
	for (int i = 0; i < t->ncolumns; i++)
		if (!strcmp(t->columns[i], name))
			return i;
	return -1;
}

static void add_term(struct events_cursor *c, struct window *w, const struct module_table *t, struct term term)
{
	narrow(w, t, &term);
	if (term.op == '=' && term.column == column_called(t, "thread"))
		narrow_instance(w, &t->shared->threads, &term, column_called(t, "tid"));
	if (term.op == '=' && term.column == column_called(t, "process"))
		narrow_instance(w, &t->shared->processes, &term, column_called(t, "pid"));
	c->terms[c->nterms++] = term;
}

/* Whether a column reports an instance. */
static bool reports_instance(const struct module_table *t, int column)
{
	return module_column_is(t, column, 1u << FROM_PROCESS | 1u << FROM_THREAD);
}

static bool is_used(uint64_t used, int column)
{
	return used >> (column < 63 ? column : 63) & 1;
}

/* Whether rows have to be numbered: to report their numbers, or who was meant then. */
static bool needs_numbers(const struct module_table *t, uint64_t used, const struct window *w)
{
	bool instances = false;

	for (int i = 0; i < t->ncolumns; i++)
		instances = instances || (is_used(used, i) && reports_instance(t, i));
	return t->fields || instances || t->shared->replay.unverified || w->from_number || w->to_number != UINT64_MAX ||
	       is_used(used, t->id);
}

/* Read a plan: the columns wanted, then a term for each argument that is an integer. */
static int read_plan(struct events_cursor *c, const struct module_table *t, const char *plan, int argc,
		     sqlite3_value **argv, uint64_t *used, struct window *w, struct fault *why)
{
	char *p;
	int r = 0;

	*used = strtoull(plan, &p, 16);
	*w = (struct window){.to_ns = UINT64_MAX, .to_number = UINT64_MAX};
	c->nterms = 0;
	for (int i = 0; !r && i < argc; i++) {
		struct term term = {.column = (int)strtol(p + 1, &p, 10)};

		term.op = *p++;
		if (sqlite3_value_type(argv[i]) == SQLITE_NULL && term.op != '=')
			w->nothing = true;
		if (sqlite3_value_type(argv[i]) != SQLITE_INTEGER)
			continue;
		term.value = sqlite3_value_int64(argv[i]);
		if (reports_instance(t, term.column))
			r = shared_learn(t->shared, LEARNT_NAMES, why);
		if (!r)
			add_term(c, w, t, term);
	}
	c->unnumbered = !needs_numbers(t, *used, w);
	return r;
}

/* The fields that the wanted columns come from, by kind; none of a kind that cannot answer. */
static void choose_fields(struct events_cursor *c, const struct module_table *t, uint64_t used)
{
	const struct schema *schema = &t->shared->evidence.reader.header.schema;

	for (size_t k = 0; k < schema->nkinds; k++) {
		c->fields[k] = t->holds[k] ? 1 : 0;
		if (t->fields && t->holds[k])
			c->fields[k] = UINT32_MAX;
		for (int i = 0; i < t->ncolumns && t->holds[k] && !t->fields; i++) {
			const struct mapped *m = mapped_of(t, k, i);

			if (m && is_used(used, i))
				c->fields[k] |= 1u << m->field;
		}
		for (int i = 0; i < c->nterms && t->holds[k]; i++) {
			const struct mapped *m = mapped_of(t, k, c->terms[i].column);

			/* Where the column is NULL nothing compares. */
			if (!m || (m->from == FROM_KIND && c->terms[i].op == '=' &&
				   c->terms[i].value != schema->kinds[k].id)) {
				c->fields[k] = 0;
				break;
			}
			c->fields[k] |= 1u << m->field;
		}
	}
}

int events_filter(sqlite3_vtab_cursor *cursor, int number, const char *plan, int argc, sqlite3_value **argv)
{
	struct events_cursor *c = (struct events_cursor *)cursor;
	const struct module_table *t = (const struct module_table *)cursor->pVtab;
	const struct shared *s = t->shared;
	struct cursor_wish wish = {.fields = c->fields};
	struct window w;
	struct fault why;
	uint64_t used;

	(void)number;
	cursor_close(c->cursor);
	c->cursor = NULL;
	if (!c->text)
		c->text = malloc(TEXT_MAX * ESCAPE_GROWTH + 1);
	if (!c->text)
		return SQLITE_NOMEM;
	if (read_plan(c, t, plan, argc, argv, &used, &w, &why))
		return module_fail(cursor->pVtab, &why);
	choose_fields(c, t, used);
	wish.to_ns = c->to_ns = w.to_ns;
	wish.unnumbered = c->unnumbered;
	c->nalike = 0;
	c->to_number = w.to_number;
	c->eof = w.nothing;
	if (c->eof)
		return SQLITE_OK;
	if (s->replay.unverified && shared_learn(t->shared, LEARNT_NAMES, &why))
		return module_fail(cursor->pVtab, &why);
	if (cursor_open(&c->cursor, &s->evidence.reader, s->replay.unverified, &why))
		return module_fail(cursor->pVtab, &why);
	cursor_ask(c->cursor, &wish);
	/* The later of two places; each is a lower bound, and what comes too early is passed over. */
	if (w.from_ns)
		cursor_seek(c->cursor, w.from_ns);
	else if (w.from_number)
		cursor_seek_number(c->cursor, w.from_number);
	c->field = 0;
	return events_next(cursor);
}

/* --- rows --- */

/* The integer in a column of the current event; false: it is NULL, or a text. */
static bool integer_of(const struct events_cursor *c, const struct module_table *t, int column, sqlite3_int64 *out)
{
	const struct event *ev = &c->ev;
	const struct mapped *m =
		mapped_of(t, (size_t)(ev->shape - t->shared->evidence.reader.header.schema.kinds), column);
	uint32_t instance;

	if (!m)
		return false;
	switch ((enum source_of)m->from) {
	case FROM_FIELD:
		*out = (sqlite3_int64)ev->v[m->field];
		return true;
	case FROM_ID:
		*out = (sqlite3_int64)ev->number;
		return true;
	case FROM_KIND:
		*out = ev->kind;
		return true;
	case FROM_START:
		*out = (sqlite3_int64)(ev->at_ns - ev->v[m->field]);
		return true;
	case FROM_PROCESS:
	case FROM_THREAD:
		instance = instances_find(m->from == FROM_PROCESS ? &t->shared->processes : &t->shared->threads,
					  (uint32_t)ev->v[m->field], ev->number);
		*out = instance;
		return instance != 0;
	case FROM_NOTHING:
	case FROM_TEXT:
	case FROM_SHOWN: /* of tables that are filled as in a database: module_side.c */
		break;
	}
	return false;
}

/* What SQLite would refuse need not be given to it. */
static bool answers(const struct events_cursor *c, const struct module_table *t)
{
	for (int i = 0; i < c->nterms; i++) {
		const struct term *term = &c->terms[i];
		sqlite3_int64 v;

		if (!integer_of(c, t, term->column, &v))
			return false;
		if (term->op == '='   ? v != term->value
		    : term->op == '>' ? v <= term->value
		    : term->op == 'g' ? v < term->value
		    : term->op == '<' ? v >= term->value
				      : v > term->value)
			return false;
	}
	return true;
}

/* other_fields: the next field of the same event, if there is one. */
static bool next_field(struct events_cursor *c, const struct module_table *t)
{
	if (!t->fields || !c->field)
		return false;
	return ++c->field < c->ev.shape->nfields;
}

int events_next(sqlite3_vtab_cursor *cursor)
{
	struct events_cursor *c = (struct events_cursor *)cursor;
	const struct module_table *t = (const struct module_table *)cursor->pVtab;
	const struct shared *s = t->shared;
	uint64_t before_ns;
	struct fault why;
	int r;

	if (next_field(c, t))
		return SQLITE_OK;
	while ((before_ns = c->ev.at_ns, r = cursor_next(c->cursor, &c->ev, &why)) > 0) {
		if (c->ev.epoch->number >= s->nepochs)
			break;
		if (c->ev.kind == KIND_epoch) {
			c->nalike = 0;
			continue;
		}
		c->nalike = c->nalike && c->ev.at_ns == before_ns ? c->nalike + 1 : 1;
		if (c->ev.number > s->nreadable || c->ev.number > c->to_number)
			break;
		if (!answers(c, t))
			continue;
		c->field = t->fields ? s->maps[c->ev.shape - s->evidence.reader.header.schema.kinds].known : 0;
		return SQLITE_OK;
	}
	c->eof = true;
	/* What --unverified reads ends where it can no longer be read. */
	if (r < 0 && !(s->replay.unverified && (r == ERR_FORGED || r == ERR_FORMAT)))
		return module_fail(cursor->pVtab, &why);
	return SQLITE_OK;
}

int events_eof(sqlite3_vtab_cursor *cursor)
{
	return ((struct events_cursor *)cursor)->eof;
}

static void give_text(const struct events_cursor *c, sqlite3_context *ctx, uint8_t field)
{
	size_t len = escape_terminal(c->text, TEXT_MAX * ESCAPE_GROWTH + 1, c->ev.text[field], c->ev.v[field]);

	sqlite3_result_text(ctx, c->text, (int)len, SQLITE_TRANSIENT);
}

static void give_other_field(const struct events_cursor *c, sqlite3_context *ctx, int column)
{
	const struct field *f = &c->ev.shape->fields[c->field];

	if (column == 0)
		sqlite3_result_int64(ctx, (sqlite3_int64)c->ev.number);
	else if (column == 1)
		sqlite3_result_text(ctx, f->name, -1, SQLITE_TRANSIENT);
	else if (f->encoding == ENC_TEXT)
		give_text(c, ctx, c->field);
	else
		sqlite3_result_int64(ctx, (sqlite3_int64)c->ev.v[c->field]);
}

int events_column(sqlite3_vtab_cursor *cursor, sqlite3_context *ctx, int column)
{
	const struct events_cursor *c = (const struct events_cursor *)cursor;
	const struct module_table *t = (const struct module_table *)cursor->pVtab;
	const struct mapped *m;
	struct fault why;
	sqlite3_int64 v;

	if (t->fields) {
		give_other_field(c, ctx, column);
		return SQLITE_OK;
	}
	m = mapped_of(t, (size_t)(c->ev.shape - t->shared->evidence.reader.header.schema.kinds), column);
	/* Not before: a join that SQLite leaves out names such a column, too, and never asks for it. */
	if (m && (m->from == FROM_PROCESS || m->from == FROM_THREAD) && shared_learn(t->shared, LEARNT_NAMES, &why)) {
		sqlite3_result_error(ctx, why.text, -1);
		return SQLITE_ERROR;
	}
	if (m && m->from == FROM_TEXT)
		give_text(c, ctx, m->field);
	else if (integer_of(c, t, column, &v))
		sqlite3_result_int64(ctx, v);
	return SQLITE_OK;
}

/*
 * SQLite asks for a row's number that nobody seemed to want, as when it has to distinguish rows of two conditions: the
 * same place again, by a cursor that counts.
 */
static int number_rows(struct events_cursor *c)
{
	const struct module_table *t = (const struct module_table *)c->base.pVtab;
	const struct cursor_wish wish = {.fields = c->fields, .to_ns = c->to_ns};
	uint64_t at_ns = c->ev.at_ns, nleft = c->nalike;
	struct cursor *counting = NULL;
	struct fault why;
	int r = cursor_open(&counting, &t->shared->evidence.reader, false, &why);

	if (r)
		return module_fail(c->base.pVtab, &why);
	cursor_ask(counting, &wish);
	cursor_seek(counting, at_ns);
	while (nleft && (r = cursor_next(counting, &c->ev, &why)) > 0)
		nleft -= c->ev.kind != KIND_epoch;
	if (nleft) {
		cursor_close(counting);
		return r < 0 ? module_fail(c->base.pVtab, &why) : SQLITE_CORRUPT_VTAB;
	}
	cursor_close(c->cursor);
	c->cursor = counting;
	c->unnumbered = false;
	return SQLITE_OK;
}

int events_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *rowid)
{
	struct events_cursor *c = (struct events_cursor *)cursor;
	int r = c->unnumbered ? number_rows(c) : SQLITE_OK;

	if (r != SQLITE_OK)
		return r;

	/* Of other_fields: unique, and that is all. */
	*rowid = (sqlite3_int64)(c->field ? c->ev.number * FIELDS_MAX + c->field : c->ev.number);
	return SQLITE_OK;
}
