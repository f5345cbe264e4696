/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of what was learnt: each is a table of the private database, which is asked the same question with the same
 * constraints and the same order. The plan of a question is its SQL.
 */
#include <stdlib.h>
#include <string.h>

#include "replay/sql/vtab_internal.h"

struct side_cursor {
	sqlite3_vtab_cursor base;
	sqlite3_stmt *statement;
	char *sql; /* of `statement` */
	bool eof;
};

int module_fail(sqlite3_vtab *table, const struct fault *why)
{
	sqlite3_free(table->zErrMsg);
	table->zErrMsg = sqlite3_mprintf("%s", why->text);
	return why->code == ERR_MEMORY ? SQLITE_NOMEM : SQLITE_ERROR;
}

static const char *operator_of(int op)
{
	switch (op) {
	case SQLITE_INDEX_CONSTRAINT_EQ:
		return "=";
	case SQLITE_INDEX_CONSTRAINT_GT:
		return ">";
	case SQLITE_INDEX_CONSTRAINT_GE:
		return ">=";
	case SQLITE_INDEX_CONSTRAINT_LT:
		return "<";
	case SQLITE_INDEX_CONSTRAINT_LE:
		return "<=";
	case SQLITE_INDEX_CONSTRAINT_IS:
		return "IS";
	default:
		return NULL;
	}
}

/* How tables are looked up: by which columns, and how many rows answer. */
static const struct {
	const char *table, *column;
	double rows;
} lookups[] = {
	{"processes", "process", 1},
	{"threads", "thread", 1},
	{"kinds", "kind", 1},
	{"probes", "probe", 1},
	{"causes", "cause", 1},
	{"epochs", "epoch", 1},
	{"offcpu", "id", 1},
	{"offcpu", "thread", 100},
	{"allocation_ends", "allocation", 1},
	{"frames", "stack", 10},
	{"frames", "id", 1},
	{"kernels", "function", 1},
	{"kernels", "id", 1},
	{"enums", "kind", 8},
	{"inner_calls", "call", 1},
	{"object_lives", "object", 1},
	{"ledger", "thread", 12},
	{"ledger_seconds", "thread", 1000},
	{"ledger_waited", "thread", 12},
	{"ledger_did", "thread", 20},
};

const struct side_table *side_table_of(const char *name)
{
	static const struct side_table tables[] = {
		{"capture", LEARNT_SEALS, 1},
		{"counters", LEARNT_SEALS, 1e4},
		{"enums", LEARNT_SEALS | LEARNT_DERIVED, 300},
		{"processes", LEARNT_NAMES, 300},
		{"threads", LEARNT_NAMES, 300},
		{"kernels", LEARNT_NAMES, 300},
		{"frames", LEARNT_NAMES, 1e4},
		{"offcpu", LEARNT_DERIVED, 1e6},
		{"allocation_ends", LEARNT_DERIVED, 1e6},
		{"inner_calls", LEARNT_DERIVED, 1e6},
		{"object_lives", LEARNT_DERIVED, 1e6},
		{"ledger", LEARNT_DERIVED, 1e3},
		{"ledger_seconds", LEARNT_DERIVED, 1e5},
		{"ledger_waited", LEARNT_DERIVED, 1e4},
		{"ledger_did", LEARNT_DERIVED, 1e4},
	};
	static const struct side_table other = {"", LEARNT_SEALS, 300};

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		if (!strcmp(tables[i].name, name))
			return &tables[i];
	return &other;
}

static double rows_by(const char *table, const char *column)
{
	for (size_t i = 0; i < sizeof(lookups) / sizeof(lookups[0]); i++)
		if (!strcmp(lookups[i].table, table) && !strcmp(lookups[i].column, column))
			return lookups[i].rows;
	return 0;
}

static bool is_binary(sqlite3_index_info *info, int constraint)
{
	const char *collation = sqlite3_vtab_collation(info, constraint);

	return !collation || !sqlite3_stricmp(collation, "BINARY");
}

/* The column's name in SQL; -1 is the rowid. */
static void add_name(sqlite3_str *sql, const struct module_table *t, int column)
{
	if (column < 0)
		sqlite3_str_appendall(sql, "rowid");
	else
		sqlite3_str_appendf(sql, "\"%w\"", t->columns[column]);
}

static void add_constraints(sqlite3_str *sql, const struct module_table *t, sqlite3_index_info *info)
{
	double rows = side_table_of(t->name)->rows, found;
	int n = 0;

	for (int i = 0; i < info->nConstraint; i++) {
		const char *op = operator_of(info->aConstraint[i].op);
		int column = info->aConstraint[i].iColumn;

		if (!info->aConstraint[i].usable || !op || !is_binary(info, i))
			continue;
		sqlite3_str_appendall(sql, n ? " AND " : " WHERE ");
		add_name(sql, t, column);
		sqlite3_str_appendf(sql, " %s ?%d", op, ++n);
		info->aConstraintUsage[i].argvIndex = n;
		if (info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ &&
		    info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_IS) {
			rows /= 4;
			continue;
		}
		found = column < 0 ? 1 : rows_by(t->name, t->columns[column]);
		rows = found > 0 && found < rows ? found : rows / 4;
		/* What is looked up by its key need not be, where nothing of it is asked for. */
		if (found == 1 && strcmp(t->name, "kernels") != 0)
			info->idxFlags |= SQLITE_INDEX_SCAN_UNIQUE;
	}
	info->estimatedRows = rows < 1 ? 1 : (sqlite3_int64)rows;
	info->estimatedCost = 10 + rows;
}

static void add_order(sqlite3_str *sql, const struct module_table *t, sqlite3_index_info *info)
{
	for (int i = 0; i < info->nOrderBy; i++) {
		sqlite3_str_appendall(sql, i ? ", " : " ORDER BY ");
		add_name(sql, t, info->aOrderBy[i].iColumn);
		if (info->aOrderBy[i].desc)
			sqlite3_str_appendall(sql, " DESC");
	}
	info->orderByConsumed = info->nOrderBy > 0;
}

int side_best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
	const struct module_table *t = (const struct module_table *)table;
	sqlite3_str *sql = sqlite3_str_new(NULL);

	/* enums has no rowid; nothing asks for it there. */
	sqlite3_str_appendf(sql, strcmp(t->name, "enums") ? "SELECT *, rowid FROM \"%w\"" : "SELECT * FROM \"%w\"",
			    t->name);
	add_constraints(sql, t, info);
	add_order(sql, t, info);
	if (sqlite3_str_errcode(sql) != SQLITE_OK) {
		sqlite3_free(sqlite3_str_finish(sql));
		return SQLITE_NOMEM;
	}
	info->idxStr = sqlite3_str_finish(sql);
	info->needToFreeIdxStr = 1;
	return SQLITE_OK;
}

int side_open(sqlite3_vtab *table, sqlite3_vtab_cursor **out)
{
	struct side_cursor *c = calloc(1, sizeof(*c));

	(void)table;
	if (!c)
		return SQLITE_NOMEM;
	*out = &c->base;
	return SQLITE_OK;
}

int side_close(sqlite3_vtab_cursor *cursor)
{
	struct side_cursor *c = (struct side_cursor *)cursor;

	sqlite3_finalize(c->statement);
	sqlite3_free(c->sql);
	free(c);
	return SQLITE_OK;
}

/* The words of what is in `enums` are known at once, but for the states that threads were seen in. */
static unsigned needs_of(const struct module_table *t, const char *plan, int argc, sqlite3_value **argv)
{
	if (strcmp(t->name, "enums") != 0)
		return t->needs;
	for (int i = 0; i < argc; i++)
		if (sqlite3_value_type(argv[i]) == SQLITE_TEXT && strstr(plan, "\"field\" =") &&
		    strcmp((const char *)sqlite3_value_text(argv[i]), "prev_state") != 0)
			return LEARNT_SEALS;
	return t->needs;
}

static int prepare(struct side_cursor *c, sqlite3 *db, const char *sql)
{
	int r;

	if (c->statement && !strcmp(c->sql, sql)) {
		sqlite3_reset(c->statement);
		return SQLITE_OK;
	}
	sqlite3_finalize(c->statement);
	sqlite3_free(c->sql);
	c->statement = NULL;
	c->sql = sqlite3_mprintf("%s", sql);
	if (!c->sql)
		return SQLITE_NOMEM;
	r = sqlite3_prepare_v2(db, sql, -1, &c->statement, NULL);
	if (r != SQLITE_OK) {
		sqlite3_free(c->sql);
		c->sql = NULL;
	}
	return r;
}

static int reported(struct side_cursor *c, sqlite3 *db, int r)
{
	struct fault why;

	if (r == SQLITE_OK || r == SQLITE_NOMEM)
		return r;
	sql_fault(db, "ask", &why);
	return module_fail(c->base.pVtab, &why);
}

int side_filter(sqlite3_vtab_cursor *cursor, int number, const char *plan, int argc, sqlite3_value **argv)
{
	struct side_cursor *c = (struct side_cursor *)cursor;
	struct module_table *t = (struct module_table *)cursor->pVtab;
	struct fault why;
	int r;

	(void)number;
	if (shared_learn(t->shared, needs_of(t, plan, argc, argv), &why))
		return module_fail(cursor->pVtab, &why);
	r = prepare(c, t->shared->side, plan);
	for (int i = 0; r == SQLITE_OK && i < argc; i++)
		r = sqlite3_bind_value(c->statement, i + 1, argv[i]);
	return r == SQLITE_OK ? side_next(cursor) : reported(c, t->shared->side, r);
}

int side_next(sqlite3_vtab_cursor *cursor)
{
	struct side_cursor *c = (struct side_cursor *)cursor;
	int r = sqlite3_step(c->statement);

	c->eof = r != SQLITE_ROW;
	if (r == SQLITE_DONE)
		sqlite3_reset(c->statement);
	return r == SQLITE_ROW || r == SQLITE_DONE
		       ? SQLITE_OK
		       : reported(c, ((struct module_table *)cursor->pVtab)->shared->side, r);
}

int side_eof(sqlite3_vtab_cursor *cursor)
{
	return ((struct side_cursor *)cursor)->eof;
}

int side_column(sqlite3_vtab_cursor *cursor, sqlite3_context *ctx, int column)
{
	sqlite3_result_value(ctx, sqlite3_column_value(((struct side_cursor *)cursor)->statement, column));
	return SQLITE_OK;
}

int side_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *rowid)
{
	const struct module_table *t = (const struct module_table *)cursor->pVtab;

	*rowid = sqlite3_column_int64(((struct side_cursor *)cursor)->statement, t->ncolumns);
	return SQLITE_OK;
}
