/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/sql/vtab.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "replay/sql/vtab_internal.h"
#include "replay/sql/sqlschema.h"

#ifdef GPUCAP_LOADABLE
SQLITE_EXTENSION_INIT1
#endif

#define DEFAULT_SCHEMA "run"

/* --- arguments --- */

/* The arguments of CREATE VIRTUAL TABLE, unquoted; o points into texts[]. */
struct arguments {
	struct opening opening;
	const char *table; /* NULL: all of them */
	char *texts[MODULE_FILES_MAX * 2 + 8];
	size_t ntexts;
};

static void arguments_clear(struct arguments *a)
{
	for (size_t i = 0; i < a->ntexts; i++)
		free(a->texts[i]);
}

/* 'it''s' or "it" or it, as SQL writes a text. */
static char *unquoted(const char *text)
{
	size_t len = strlen(text), n = 0;
	char *out = malloc(len + 1), quote;

	while (out && len && strchr(" \t\n", text[len - 1]))
		len--;
	while (out && len && strchr(" \t\n", *text)) {
		text++;
		len--;
	}
	if (!out)
		return NULL;
	quote = len >= 2 && (*text == '\'' || *text == '"') && text[len - 1] == *text ? *text : '\0';
	if (quote) {
		text++;
		len -= 2;
	}
	for (size_t i = 0; i < len; i++) {
		out[n++] = text[i];
		if (quote && text[i] == quote && i + 1 < len && text[i + 1] == quote)
			i++;
	}
	out[n] = '\0';
	return out;
}

static int add_file(const char **list, size_t *n, const char *file, struct fault *why)
{
	if (*n == MODULE_FILES_MAX)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "gpucap: more than %d key files", MODULE_FILES_MAX);
	list[(*n)++] = file;
	return 0;
}

/* A descriptor in decimal; what is wrong with it shows when it is read. */
static int take_fd(struct opening *o, const char *value, struct fault *why)
{
	char *end;
	long fd = strtol(value, &end, 10);

	if (*end || end == value || fd < 3 || fd > INT_MAX)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "gpucap: fd=%.40s is not a descriptor of a capture",
				 value);
	o->fd = (int)fd;
	return 0;
}

/* One argument after the capture's name. `text` lives as long as *a. */
static int take_argument(struct arguments *a, char *text, struct fault *why)
{
	char *value = strchr(text, '=');

	if (!strcmp(text, "unverified")) {
		a->opening.unverified = true;
		return 0;
	}
	if (!value) {
		a->table = text;
		return 0;
	}
	*value++ = '\0';
	if (!strcmp(text, "verify") && (!strcmp(value, "rows") || !strcmp(value, "seals"))) {
		a->opening.all = !strcmp(value, "rows");
		return 0;
	}
	/* A quoted value within the argument: trust='node17.pub'. */
	if (*value == '\'' || *value == '"') {
		value = unquoted(value);
		if (!value)
			return fault_no_memory(why);
		a->texts[a->ntexts++] = value;
	}
	if (!strcmp(text, "trust"))
		return add_file(a->opening.trust, &a->opening.ntrust, value, why);
	if (!strcmp(text, "delegation"))
		return add_file(a->opening.delegations, &a->opening.ndelegations, value, why);
	if (!strcmp(text, "fd"))
		return take_fd(&a->opening, value, why);
	return fault_set(why, ERR_INPUT, FAULT_NOWHERE,
			 "gpucap: '%.40s=%.40s' is not one of unverified, verify=seals, verify=rows, trust=FILE, "
			 "delegation=FILE, fd=N",
			 text, value);
}

static int read_arguments(struct arguments *a, int argc, const char *const *argv, struct fault *why)
{
	int r = 0;

	if (argc < 1)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE,
				 "gpucap: which capture? USING gpucap('run.cap'), or gpucap('run.cap', calls)");
	for (int i = 0; i < argc && !r; i++) {
		char *text;

		if (a->ntexts + 2 > sizeof(a->texts) / sizeof(a->texts[0]))
			return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "gpucap: too many arguments");
		text = unquoted(argv[i]);
		if (!text)
			return fault_no_memory(why);
		a->texts[a->ntexts++] = text;
		if (i == 0)
			a->opening.path = text;
		else
			r = take_argument(a, text, why);
	}
	return r;
}

/* --- tables --- */

static bool is_of_events(const char *table)
{
	if (side_table_of(table)->needs == LEARNT_NAMES)
		return false;
	return mapping_is_table(table) || !strcmp(table, "other_events") || !strcmp(table, "other_fields");
}

/* Ask the private database about itself: rows go to `each` until it says no. */
static int ask(struct shared *s, const char *sql, const char *name, bool (*each)(void *arg, sqlite3_stmt *row),
	       void *arg, struct fault *why)
{
	sqlite3_stmt *st = NULL;
	int r = sql_prepare(s->side, sql, &st, why), step = SQLITE_ROW;

	if (!r && name)
		sqlite3_bind_text(st, 1, name, -1, SQLITE_STATIC);
	while (!r && (step = sqlite3_step(st)) == SQLITE_ROW)
		if (!each(arg, st))
			r = fault_no_memory(why);
	if (!r && step != SQLITE_DONE)
		r = sql_fault(s->side, "ask", why);
	sqlite3_finalize(st);
	return r;
}

static bool add_column(void *arg, sqlite3_stmt *row)
{
	struct module_table *t = arg;
	char(*grown)[NAME_MAX_BYTES + 4] = reallocarray(t->columns, (size_t)t->ncolumns + 1, sizeof(*grown));
	const char *name = (const char *)sqlite3_column_text(row, 0);

	if (!grown || !name)
		return false;
	t->columns = grown;
	sqlite3_snprintf(sizeof(*grown), grown[t->ncolumns], "%s", name);
	if (!strcmp(name, "at_ns"))
		t->at = t->ncolumns;
	if (!strcmp(name, "id"))
		t->id = t->ncolumns;
	t->ncolumns++;
	return true;
}

static bool keep_sql(void *arg, sqlite3_stmt *row)
{
	char **sql = arg;

	*sql = sqlite3_mprintf("%s", sqlite3_column_text(row, 0));
	return *sql != NULL;
}

/* start_ns is a time before at_ns only where it was worked out, not reported. */
static void find_start(struct module_table *t)
{
	for (int i = 0; i < t->ncolumns; i++)
		if (!strcmp(t->columns[i], "start_ns") &&
		    (!strcmp(t->name, "calls") || !strcmp(t->name, "futexes") || !strcmp(t->name, "faults")))
			t->start = i;
}

static void table_free(struct module_table *t)
{
	shared_release(t->shared);
	free(t->columns);
	free(t->mapped);
	free(t->holds);
	free(t);
}

/* A table of `shared`, which it takes over, also when it fails. */
static int table_make(sqlite3 *db, struct shared *shared, const char *name, struct module_table **out,
		      struct fault *why)
{
	struct module_table *t = calloc(1, sizeof(*t));
	char *sql = NULL;
	int r;

	if (!t) {
		shared_release(shared);
		return fault_no_memory(why);
	}
	t->shared = shared;
	t->at = t->id = t->start = -1;
	sqlite3_snprintf(sizeof(t->name), t->name, "%s", name);
	r = ask(shared, "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?", name, keep_sql, &sql, why);
	if (!r && !sql)
		r = fault_set(why, ERR_INPUT, FAULT_NOWHERE,
			      "gpucap: there is no table '%.60s'; docs/SCHEMA.md lists them", name);
	if (!r)
		r = ask(shared, "SELECT name FROM pragma_table_info(?) ORDER BY cid", name, add_column, t, why);
	t->needs = side_table_of(name)->needs;
	t->of_events = is_of_events(name);
	find_start(t);
	if (!r && t->of_events && events_prepare(t))
		r = fault_no_memory(why);
	if (!r && sqlite3_declare_vtab(db, sql) != SQLITE_OK)
		r = sql_fault(db, "declare a table in", why);
	sqlite3_free(sql);
	if (r)
		table_free(t);
	else
		*out = t;
	return r;
}

/* --- all of them --- */

/* A CREATE statement for each table and view, one after the other. */
struct script {
	sqlite3_str *text, *undo;
	const char *schema, *own;
	int argc;
	const char *const *argv; /* of the table that stands for all */
};

static bool add_table(void *arg, sqlite3_stmt *row)
{
	struct script *s = arg;
	const char *name = (const char *)sqlite3_column_text(row, 0);

	if (!name)
		return false;
	if (!sqlite3_stricmp(name, s->own))
		return true;
	sqlite3_str_appendf(s->text, "CREATE VIRTUAL TABLE \"%w\".\"%w\" USING gpucap(", s->schema, name);
	for (int i = 0; i < s->argc; i++)
		sqlite3_str_appendf(s->text, "%s, ", s->argv[i]);
	sqlite3_str_appendf(s->text, "%s);\n", name);
	sqlite3_str_appendf(s->undo, "DROP TABLE IF EXISTS \"%w\".\"%w\";\n", s->schema, name);
	return true;
}

/* "CREATE VIEW launches AS" becomes "CREATE VIEW run.launches AS": in a schema, its views see its own tables. */
static void add_views(struct script *s)
{
	static const char create[] = "CREATE VIEW ";

	for (const char *const *sql = sqlschema_views; *sql; sql++) {
		const char *name = *sql + sizeof(create) - 1;

		sqlite3_str_appendf(s->text, "%s\"%w\".%s;\n", create, s->schema, name);
		sqlite3_str_appendf(s->undo, "DROP VIEW IF EXISTS \"%w\".%.*s;\n", s->schema, (int)strcspn(name, " "),
				    name);
	}
}

/* The other tables, and the views, beside the table that stands for all. */
static int create_all(sqlite3 *db, struct shared *shared, struct script *s, struct fault *why)
{
	static const char names[] = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rowid";
	char *text, *undo;
	int r;

	s->text = sqlite3_str_new(NULL);
	s->undo = sqlite3_str_new(NULL);
	r = ask(shared, names, NULL, add_table, s, why);
	add_views(s);
	text = sqlite3_str_finish(s->text);
	undo = sqlite3_str_finish(s->undo);
	if (!r && (!text || !undo))
		r = fault_no_memory(why);
	if (!r) {
		r = sql_execute(db, text, why);
		if (r)
			sqlite3_exec(db, undo, NULL, NULL, NULL);
	}
	sqlite3_free(text);
	sqlite3_free(undo);
	return r;
}

/* --- the module --- */

static int make(sqlite3 *db, struct registry *registry, bool create, int argc, const char *const *argv,
		sqlite3_vtab **out, char **message)
{
	struct arguments a = {0};
	struct script script = {.schema = argv[1], .own = argv[2], .argc = argc - 3, .argv = argv + 3};
	struct module_table *t = NULL;
	struct shared *shared = NULL;
	struct fault why;
	int r = read_arguments(&a, argc - 3, argv + 3, &why);

	if (!r)
		r = shared_acquire(registry, &a.opening, &shared, &why);
	/* What stands for all goes last: until it is there, its name is free. */
	if (!r)
		r = table_make(db, shared, a.table ? a.table : "capture", &t, &why);
	if (!r && create && !a.table)
		r = create_all(db, shared, &script, &why);
	arguments_clear(&a);
	if (!r) {
		*out = &t->base;
		return SQLITE_OK;
	}
	*message = sqlite3_mprintf("%s", why.text);
	if (t)
		table_free(t);
	return why.code == ERR_MEMORY ? SQLITE_NOMEM : SQLITE_ERROR;
}

static int create(sqlite3 *db, void *registry, int argc, const char *const *argv, sqlite3_vtab **out, char **message)
{
	return make(db, registry, true, argc, argv, out, message);
}

static int connect(sqlite3 *db, void *registry, int argc, const char *const *argv, sqlite3_vtab **out, char **message)
{
	return make(db, registry, false, argc, argv, out, message);
}

static int disconnect(sqlite3_vtab *table)
{
	table_free((struct module_table *)table);
	return SQLITE_OK;
}

static bool of_events(const sqlite3_vtab *table)
{
	return ((const struct module_table *)table)->of_events;
}

static int best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
	return of_events(table) ? events_best_index(table, info) : side_best_index(table, info);
}

static int open_cursor(sqlite3_vtab *table, sqlite3_vtab_cursor **out)
{
	return of_events(table) ? events_open(table, out) : side_open(table, out);
}

static int close_cursor(sqlite3_vtab_cursor *c)
{
	return of_events(c->pVtab) ? events_close(c) : side_close(c);
}

static int filter(sqlite3_vtab_cursor *c, int number, const char *plan, int argc, sqlite3_value **argv)
{
	return of_events(c->pVtab) ? events_filter(c, number, plan, argc, argv)
				   : side_filter(c, number, plan, argc, argv);
}

static int next(sqlite3_vtab_cursor *c)
{
	return of_events(c->pVtab) ? events_next(c) : side_next(c);
}

static int eof(sqlite3_vtab_cursor *c)
{
	return of_events(c->pVtab) ? events_eof(c) : side_eof(c);
}

static int column(sqlite3_vtab_cursor *c, sqlite3_context *ctx, int number)
{
	return of_events(c->pVtab) ? events_column(c, ctx, number) : side_column(c, ctx, number);
}

static int rowid(sqlite3_vtab_cursor *c, sqlite3_int64 *out)
{
	return of_events(c->pVtab) ? events_rowid(c, out) : side_rowid(c, out);
}

static const sqlite3_module methods = {
	.iVersion = 1,
	.xCreate = create,
	.xConnect = connect,
	.xBestIndex = best_index,
	.xDisconnect = disconnect,
	.xDestroy = disconnect,
	.xOpen = open_cursor,
	.xClose = close_cursor,
	.xFilter = filter,
	.xNext = next,
	.xEof = eof,
	.xColumn = column,
	.xRowid = rowid,
};

/* gpucap_open(CAPTURE [, SCHEMA [, OPTION]...]): a schema of that name with all tables and views; says what it opened.
 */
static void open_function(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	sqlite3 *db = sqlite3_context_db_handle(ctx);
	const char *path = argc > 0 ? (const char *)sqlite3_value_text(argv[0]) : NULL;
	const char *schema = argc > 1 ? (const char *)sqlite3_value_text(argv[1]) : DEFAULT_SCHEMA;
	sqlite3_str *sql = sqlite3_str_new(NULL);
	char *attach = sqlite3_mprintf("ATTACH ':memory:' AS \"%w\"", schema ? schema : DEFAULT_SCHEMA), *text,
	     *detach = sqlite3_mprintf("DETACH \"%w\"", schema ? schema : DEFAULT_SCHEMA);
	sqlite3_stmt *st = NULL;

	sqlite3_str_appendf(sql, "CREATE VIRTUAL TABLE \"%w\".capture USING gpucap(%Q",
			    schema ? schema : DEFAULT_SCHEMA, path ? path : "");
	for (int i = 2; i < argc; i++)
		sqlite3_str_appendf(sql, ", %Q", sqlite3_value_text(argv[i]));
	sqlite3_str_appendall(sql, ")");
	text = sqlite3_str_finish(sql);
	if (!attach || !text || !detach) {
		sqlite3_result_error_nomem(ctx);
	} else if (!path) {
		sqlite3_result_error(ctx, "gpucap_open: which capture? gpucap_open('run.cap')", -1);
	} else if (sqlite3_exec(db, attach, NULL, NULL, NULL) != SQLITE_OK) {
		sqlite3_result_error(ctx, sqlite3_errmsg(db), -1);
	} else if (sqlite3_exec(db, text, NULL, NULL, NULL) != SQLITE_OK) {
		sqlite3_result_error(ctx, sqlite3_errmsg(db), -1);
		sqlite3_exec(db, detach, NULL, NULL, NULL);
	} else {
		sqlite3_free(text);
		text = sqlite3_mprintf("SELECT sentence FROM \"%w\".capture", schema ? schema : DEFAULT_SCHEMA);
		if (text && sqlite3_prepare_v2(db, text, -1, &st, NULL) == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW)
			sqlite3_result_value(ctx, sqlite3_column_value(st, 0));
		sqlite3_finalize(st);
	}
	sqlite3_free(attach);
	sqlite3_free(detach);
	sqlite3_free(text);
}

__attribute__((visibility("default"))) int sqlite3_gpucap_init(struct sqlite3 *db, char **message,
							       const struct sqlite3_api_routines *api)
{
	struct registry *registry;
	int r;

	(void)message;
#ifdef GPUCAP_LOADABLE
	SQLITE_EXTENSION_INIT2(api)
#else
	(void)api;
#endif
	registry = calloc(1, sizeof(*registry));
	if (!registry)
		return SQLITE_NOMEM;
	/* From here on the module owns it, also if this fails. */
	r = sqlite3_create_module_v2(db, "gpucap", &methods, registry, free);
	if (r == SQLITE_OK)
		r = sqlite3_create_function_v2(db, "gpucap_open", -1, SQLITE_UTF8 | SQLITE_DIRECTONLY, registry,
					       open_function, NULL, NULL, NULL);
	return r;
}
