/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of events into rows of tables: for each kind an INSERT, put together from its fields. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/sqlview.h"

#define COLUMNS_MAX (FIELDS_MAX * 2 + 4)
#define INSERT_MAX 4096

enum source_of { FROM_FIELD, FROM_TEXT, FROM_ID, FROM_KIND, FROM_START, FROM_PROCESS, FROM_THREAD };

struct inserter {
	sqlite3_stmt *insert; /* NULL: a kind that this build does not know */
	uint8_t known;        /* its first fields have columns; those after them come from a later version */
	uint8_t ncolumns;
	uint8_t dur; /* field, for FROM_START */
	struct {
		uint8_t from;
		uint8_t field;
	} columns[COLUMNS_MAX];
};

static const struct {
	uint16_t kind;
	uint8_t nfields;
	const char *table;
} tables[] = {
	{KIND_launch, NFIELDS_launch, "calls"},
	{KIND_alloc, NFIELDS_alloc, "calls"},
	{KIND_free, NFIELDS_free, "calls"},
	{KIND_copy, NFIELDS_copy, "calls"},
	{KIND_set, NFIELDS_set, "calls"},
	{KIND_wait, NFIELDS_wait, "calls"},
	{KIND_switch, NFIELDS_switch, "switches"},
	{KIND_waking, NFIELDS_waking, "wakeups"},
	{KIND_futex, NFIELDS_futex, "futexes"},
	{KIND_fork, NFIELDS_fork, "forks"},
	{KIND_exec, NFIELDS_exec, "execs"},
	{KIND_exit, NFIELDS_exit, "exits"},
	{KIND_process, NFIELDS_process, "process_rows"},
	{KIND_thread, NFIELDS_thread, "thread_rows"},
	{KIND_module, NFIELDS_module, "modules"},
	{KIND_executable, NFIELDS_executable, "executables"},
	{KIND_attach, NFIELDS_attach, "attachments"},
	{KIND_fact, NFIELDS_fact, "facts"},
	{KIND_frame, NFIELDS_frame, "frames"},
};

/* An INSERT in the making. */
struct draft {
	struct inserter *in;
	char names[INSERT_MAX];
	size_t len;
};

static void add_column(struct draft *d, enum source_of from, uint8_t field, const char *name, const char *suffix)
{
	d->in->columns[d->in->ncolumns].from = (uint8_t)from;
	d->in->columns[d->in->ncolumns].field = field;
	d->len += (size_t)snprintf(d->names + d->len, sizeof(d->names) - d->len, "%s\"%s%s\"",
				   d->in->ncolumns ? "," : "", name, suffix);
	d->in->ncolumns++;
}

/* A field's own column, and for ids of processes and threads one with the number of the instance. */
static void add_field(struct draft *d, const struct kind *k, uint8_t f)
{
	const struct field *field = &k->fields[f];
	bool time = field->unit == UNIT_BOOT_NS || field->unit == UNIT_NS;
	size_t len = strlen(field->name);
	char stem[NAME_MAX_BYTES + 1];

	/* `id` is the event's number in every table. */
	add_column(d, field->encoding == ENC_TEXT ? FROM_TEXT : FROM_FIELD, f,
		   k->id == KIND_module && f == F_module_id ? "module" : field->name, time ? "_ns" : "");
	if (!strcmp(field->name, "pid"))
		add_column(d, FROM_PROCESS, f, "process", "");
	if (!strcmp(field->name, "tid"))
		add_column(d, FROM_THREAD, f, "thread", "");
	if (len > 4 && !strcmp(field->name + len - 4, "_tid")) {
		snprintf(stem, sizeof(stem), "%.*s", (int)(len - 4), field->name);
		add_column(d, FROM_THREAD, f, stem, "");
	}
	if (!strcmp(field->name, "dur")) {
		d->in->dur = f;
		add_column(d, FROM_START, f, "start_ns", "");
	}
}

static int prepare_kind(struct load *l, struct inserter *in, const struct kind *k, struct fault *why)
{
	struct draft d = {.in = in};
	char sql[INSERT_MAX * 2];
	size_t i = 0, len;

	while (i < sizeof(tables) / sizeof(tables[0]) && tables[i].kind != k->id)
		i++;
	if (i == sizeof(tables) / sizeof(tables[0]))
		return 0;
	in->known = k->nfields < tables[i].nfields ? k->nfields : tables[i].nfields;
	add_column(&d, FROM_ID, 0, "id", "");
	if (k->flags == KIND_CALL)
		add_column(&d, FROM_KIND, 0, "kind", "");
	for (uint8_t f = 0; f < in->known; f++)
		add_field(&d, k, f);
	len = (size_t)snprintf(sql, sizeof(sql), "INSERT INTO %s(%s) VALUES(?", tables[i].table, d.names);
	for (uint8_t c = 1; c < in->ncolumns; c++)
		len += (size_t)snprintf(sql + len, sizeof(sql) - len, ",?");
	snprintf(sql + len, sizeof(sql) - len, ")");
	return sql_prepare(l->db, sql, &in->insert, why);
}

int load_open(struct load *l, sqlite3 *db, const struct schema *schema, struct fault *why)
{
	int r;

	*l = (struct load){.db = db, .schema = schema};
	l->inserters = calloc(schema->nkinds, sizeof(*l->inserters));
	l->text = malloc(TEXT_MAX * ESCAPE_GROWTH + 1);
	if (!l->inserters || !l->text)
		return fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "no memory for %zu kinds", schema->nkinds);
	r = sql_prepare(db, "INSERT INTO other_events(id, at_ns, kind) VALUES(?,?,?)", &l->other_event, why);
	if (!r)
		r = sql_prepare(db, "INSERT INTO other_fields(id, name, value) VALUES(?,?,?)", &l->other_field, why);
	for (size_t i = 0; !r && i < schema->nkinds; i++)
		r = prepare_kind(l, &l->inserters[i], &schema->kinds[i], why);
	return r;
}

void load_close(struct load *l)
{
	for (size_t i = 0; l->inserters && i < l->schema->nkinds; i++)
		sqlite3_finalize(l->inserters[i].insert);
	sqlite3_finalize(l->other_event);
	sqlite3_finalize(l->other_field);
	free(l->inserters);
	free(l->text);
	*l = (struct load){0};
}

/* Escaped: so that no tool that shows the table has to distrust it, and yet nothing is lost. */
static void bind_text(struct load *l, sqlite3_stmt *st, int column, const char *text, uint64_t n)
{
	size_t len = escape_terminal(l->text, TEXT_MAX * ESCAPE_GROWTH + 1, text, n);

	sqlite3_bind_text(st, column, l->text, (int)len, SQLITE_TRANSIENT);
}

static void bind_number(sqlite3_stmt *st, int column, uint32_t number)
{
	if (number)
		sqlite3_bind_int64(st, column, number);
	else
		sqlite3_bind_null(st, column);
}

/* Fields without a column: all of an unknown kind, or those that a later version added. */
static int load_other_fields(struct load *l, const struct event *ev, uint64_t id, uint8_t from, struct fault *why)
{
	int r = 0;

	for (uint8_t f = from; !r && f < ev->shape->nfields; f++) {
		const char *name = ev->shape->fields[f].name;

		sqlite3_bind_int64(l->other_field, 1, (sqlite3_int64)id);
		sqlite3_bind_text(l->other_field, 2, name, -1, SQLITE_STATIC);
		if (ev->shape->fields[f].encoding == ENC_TEXT)
			bind_text(l, l->other_field, 3, ev->text[f], ev->v[f]);
		else
			sqlite3_bind_int64(l->other_field, 3, (sqlite3_int64)ev->v[f]);
		r = sql_insert(l->db, l->other_field, why);
	}
	return r;
}

static int load_other(struct load *l, const struct event *ev, uint64_t id, struct fault *why)
{
	int r;

	sqlite3_bind_int64(l->other_event, 1, (sqlite3_int64)id);
	sqlite3_bind_int64(l->other_event, 2, (sqlite3_int64)ev->at_ns);
	sqlite3_bind_int(l->other_event, 3, ev->kind);
	r = sql_insert(l->db, l->other_event, why);
	return r ? r : load_other_fields(l, ev, id, 1, why);
}

int load_event(struct load *l, const struct walk *w, const struct event *ev, uint64_t id, struct fault *why)
{
	const struct inserter *in = &l->inserters[ev->shape - l->schema->kinds];
	int r;

	l->nrows++;
	if (!in->insert)
		return load_other(l, ev, id, why);
	for (int c = 0; c < in->ncolumns; c++) {
		uint8_t f = in->columns[c].field;
		uint64_t v = ev->v[f];

		switch ((enum source_of)in->columns[c].from) {
		case FROM_FIELD:
			sqlite3_bind_int64(in->insert, c + 1, (sqlite3_int64)v);
			break;
		case FROM_TEXT:
			bind_text(l, in->insert, c + 1, ev->text[f], v);
			break;
		case FROM_ID:
			sqlite3_bind_int64(in->insert, c + 1, (sqlite3_int64)id);
			break;
		case FROM_KIND:
			sqlite3_bind_int(in->insert, c + 1, ev->kind);
			break;
		case FROM_START:
			sqlite3_bind_int64(in->insert, c + 1, (sqlite3_int64)(ev->at_ns - v));
			break;
		case FROM_PROCESS:
			bind_number(in->insert, c + 1, people_process(&w->people, (uint32_t)v));
			break;
		case FROM_THREAD:
			bind_number(in->insert, c + 1, people_thread(&w->people, (uint32_t)v));
			break;
		}
	}
	r = sql_insert(l->db, in->insert, why);
	return r ? r : load_other_fields(l, ev, id, in->known, why);
}
