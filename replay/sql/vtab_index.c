/* SPDX-License-Identifier: Apache-2.0 */
/* Plans for tables of events: which constraints and columns a query has, and what it will cost. */
#include <stdlib.h>
#include <string.h>

#include "replay/sql/vtab_internal.h"

int events_prepare(struct module_table *t)
{
	const struct reader *r = &t->shared->evidence.reader;
	const struct schema *schema = &r->header.schema;

	t->fields = !strcmp(t->name, "other_fields");
	t->mapped = malloc((schema->nkinds + 1) * (size_t)t->ncolumns);
	t->holds = calloc(schema->nkinds + 1, 1);
	if (!t->mapped || !t->holds)
		return -1;
	memset(t->mapped, MODULE_ABSENT, (schema->nkinds + 1) * (size_t)t->ncolumns);
	for (size_t k = 0; k < schema->nkinds; k++) {
		const struct mapping *m = &t->shared->maps[k];

		t->holds[k] = t->fields ? schema->kinds[k].nfields > m->known : !strcmp(m->table, t->name);
		for (uint8_t c = 0; c < m->ncolumns && t->holds[k]; c++)
			for (int column = 0; column < t->ncolumns; column++)
				if (!strcmp(m->columns[c].name, t->columns[column]))
					t->mapped[k * (size_t)t->ncolumns + (size_t)column] = c;
		if (t->holds[k])
			t->nrows += replay_count(r, t->shared->nepochs, schema->kinds[k].id);
	}
	return 0;
}

static char letter_of(int op)
{
	switch (op) {
	case SQLITE_INDEX_CONSTRAINT_EQ:
	case SQLITE_INDEX_CONSTRAINT_IS:
		return '=';
	case SQLITE_INDEX_CONSTRAINT_GT:
		return '>';
	case SQLITE_INDEX_CONSTRAINT_GE:
		return 'g';
	case SQLITE_INDEX_CONSTRAINT_LT:
		return '<';
	case SQLITE_INDEX_CONSTRAINT_LE:
		return 'l';
	default:
		return 0;
	}
}

bool module_column_is(const struct module_table *t, int column, unsigned sources)
{
	for (size_t k = 0; k < t->shared->evidence.reader.header.schema.nkinds && !t->fields; k++) {
		const struct mapped *m = t->holds[k] ? mapped_of(t, k, column) : NULL;

		if (m && sources >> m->from & 1)
			return true;
	}
	return false;
}

/* How much of the table answers to a constraint: about. */
static double share_of(const struct module_table *t, int column, char op)
{
	bool place = column == t->at || column == t->start || column == t->id;

	if (op == '=')
		return column == t->id ? 1e-9 : column == t->at ? 1e-6 : 0.1;
	return place ? 0.1 : 0.5;
}

/* Rows come in the order of `id`, which is also that of time. */
static bool is_ordered(const struct module_table *t, const sqlite3_index_info *info)
{
	for (int i = 0; i < info->nOrderBy; i++) {
		int column = info->aOrderBy[i].iColumn < 0 ? t->id : info->aOrderBy[i].iColumn;

		if (info->aOrderBy[i].desc || t->fields)
			return false;
		if (column == t->id)
			return true;
		if (column != t->at || !t->shared->ordered)
			return false;
	}
	return info->nOrderBy > 0;
}

int events_best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
	const struct module_table *t = (const struct module_table *)table;
	double rows = (double)t->nrows, cost = (double)t->nrows + 1000;
	sqlite3_str *plan = sqlite3_str_new(NULL);
	int n = 0;

	sqlite3_str_appendf(plan, "%llx;", info->colUsed);
	for (int i = 0; i < info->nConstraint && n < MODULE_TERMS_MAX; i++) {
		char op = letter_of(info->aConstraint[i].op);
		int column = info->aConstraint[i].iColumn < 0 ? t->id : info->aConstraint[i].iColumn;

		/* SQL compares a text with a number in ways of its own. */
		if (!info->aConstraint[i].usable || !op || column < 0 || t->fields ||
		    module_column_is(t, column, 1u << FROM_TEXT))
			continue;
		sqlite3_str_appendf(plan, "%d%c;", column, op);
		info->aConstraintUsage[i].argvIndex = ++n;
		rows *= share_of(t, column, op);
		/* Only the place in the file spares reading; what is passed over costs less than what is given. */
		cost *= column == t->at || column == t->start || column == t->id ? share_of(t, column, op) : 0.7;
	}
	info->idxStr = sqlite3_str_finish(plan);
	info->needToFreeIdxStr = 1;
	if (!info->idxStr)
		return SQLITE_NOMEM;
	info->estimatedRows = rows < 1 ? 1 : (sqlite3_int64)rows;
	info->estimatedCost = 2000 + 5 * cost;
	info->orderByConsumed = is_ordered(t, info);
	return SQLITE_OK;
}
