/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of events into rows of tables: for each kind an INSERT, put together from its fields. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/sql/sqlschema.h"
#include "replay/sql/sqlview.h"

#define INSERT_MAX 8192

struct inserter {
	sqlite3_stmt *insert; /* NULL: a kind that this build does not know */
	struct mapping map;
};

static const struct {
	uint16_t kind;
	uint8_t nfields;
	const char *table;
} tables[] = {
#define CALL(kind) {KIND_##kind, NFIELDS_##kind, "calls"},
	CALL(launch) CALL(alloc) CALL(free) CALL(copy) CALL(set) CALL(wait) CALL(stream) CALL(graph) CALL(collective)
		CALL(context) CALL(map) CALL(load)
#undef CALL
#define OF_ITS_OWN(number, kind, table, pid, tid, dur) {KIND_##kind, NFIELDS_##kind, #table},
			EVENT_TABLES(OF_ITS_OWN)
#undef OF_ITS_OWN
};
#define NTABLES (sizeof(tables) / sizeof(tables[0]))

#define NUMBERED(number, kind, table, pid, tid, dur)                                                                   \
	_Static_assert(KIND_##kind == (number), "the views' number of a kind");
EVENT_TABLES(NUMBERED)
#undef NUMBERED

static void add_column(struct mapping *m, enum source_of from, uint8_t field, const char *name, const char *suffix)
{
	struct mapped *c = &m->columns[m->ncolumns++];

	c->from = (uint8_t)from;
	c->field = field;
	snprintf(c->name, sizeof(c->name), "%s%s", name, suffix);
}

/* The column of a field, where it is not called like it: `id` is the event's number in every table. */
static const char *column_name(const struct kind *k, uint8_t f)
{
	if (k->id == KIND_module && f == F_module_id)
		return "module";
	if (k->id == KIND_gpu && f == F_gpu_index)
		return "gpu";
	return k->fields[f].name;
}

/* A field's own column, and for ids of processes and threads one with the number of the instance. */
static void add_field(struct mapping *m, const struct kind *k, uint8_t f)
{
	const struct field *field = &k->fields[f];
	bool time = field->unit == UNIT_BOOT_NS || field->unit == UNIT_NS;
	size_t len = strlen(field->name);
	char stem[NAME_MAX_BYTES + 1];

	add_column(m, field->encoding == ENC_TEXT ? FROM_TEXT : FROM_FIELD, f, column_name(k, f), time ? "_ns" : "");
	if (name_is_mangled(k->id, f))
		add_column(m, FROM_SHOWN, f, field->name, "_shown");
	if (!strcmp(field->name, "pid"))
		add_column(m, FROM_PROCESS, f, "process", "");
	if (!strcmp(field->name, "tid"))
		add_column(m, FROM_THREAD, f, "thread", "");
	if (len > 4 && !strcmp(field->name + len - 4, "_tid")) {
		snprintf(stem, sizeof(stem), "%.*s", (int)(len - 4), field->name);
		add_column(m, FROM_THREAD, f, stem, "");
	}
	if (!strcmp(field->name, "dur"))
		add_column(m, FROM_START, f, "start_ns", "");
}

void mapping_make(struct mapping *m, const struct kind *k)
{
	size_t i = 0;

	*m = (struct mapping){0};
	while (i < NTABLES && tables[i].kind != k->id)
		i++;
	if (i == NTABLES)
		return;
	m->table = tables[i].table;
	m->known = k->nfields < tables[i].nfields ? k->nfields : tables[i].nfields;
	add_column(m, FROM_ID, 0, "id", "");
	if (k->flags == KIND_CALL)
		add_column(m, FROM_KIND, 0, "kind", "");
	for (uint8_t f = 0; f < m->known; f++)
		add_field(m, k, f);
}

bool mapping_is_table(const char *table)
{
	for (size_t i = 0; i < NTABLES; i++)
		if (!strcmp(tables[i].table, table))
			return true;
	return false;
}

static int prepare_kind(struct load *l, struct inserter *in, const struct kind *k, struct fault *why)
{
	char names[INSERT_MAX], sql[INSERT_MAX + 1024];
	size_t len = 0;

	mapping_make(&in->map, k);
	if (!in->map.table)
		return 0;
	for (uint8_t c = 0; c < in->map.ncolumns; c++)
		len += (size_t)snprintf(names + len, sizeof(names) - len, "%s\"%s\"", c ? "," : "",
					in->map.columns[c].name);
	len = (size_t)snprintf(sql, sizeof(sql), "INSERT INTO %s(%s) VALUES(?", in->map.table, names);
	for (uint8_t c = 1; c < in->map.ncolumns; c++)
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
		return fault_no_memory(why);
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

static void bind_shown(struct load *l, sqlite3_stmt *st, int column, const struct event *ev, uint8_t field)
{
	char name[NAME_SHOWN_MAX];
	size_t n = name_shown(name, ev, field);

	bind_text(l, st, column, name, n < TEXT_MAX ? n : TEXT_MAX);
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
	for (int c = 0; c < in->map.ncolumns; c++) {
		uint8_t f = in->map.columns[c].field;
		uint64_t v = ev->v[f];

		switch ((enum source_of)in->map.columns[c].from) {
		case FROM_NOTHING:
			break;
		case FROM_FIELD:
			sqlite3_bind_int64(in->insert, c + 1, (sqlite3_int64)v);
			break;
		case FROM_TEXT:
			bind_text(l, in->insert, c + 1, ev->text[f], v);
			break;
		case FROM_SHOWN:
			bind_shown(l, in->insert, c + 1, ev, f);
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
			bind_number(in->insert, c + 1, tasks_process(&w->tasks, (uint32_t)v));
			break;
		case FROM_THREAD:
			bind_number(in->insert, c + 1, tasks_thread(&w->tasks, (uint32_t)v));
			break;
		}
	}
	r = sql_insert(l->db, in->insert, why);
	return r ? r : load_other_fields(l, ev, id, in->map.known, why);
}
