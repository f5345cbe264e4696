/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load: how fast a capture becomes a database, against what SQLite itself reaches with the same rows.
 *
 *	load CAPTURE PUB FOLDER RUNS
 *
 * In turn, RUNS times each: the loader of gpureplay -o run.db (the verified capture is open; walking it, working out
 * who is who and what follows, all rows, indexes, views); and a bare loop that inserts the very same rows of all tables
 * from memory, with one prepared statement for each kind, in one transaction, without journal or sync, then makes the
 * same indexes. Both write a file in FOLDER. Prints the number of rows, then for each pair a line: wall and CPU seconds
 * of the loader, then of the bare loop.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "keys/evidence.h"
#include "replay/export/exporter.h"
#include "replay/sql/sqlschema.h"
#include "replay/sql/sqlview.h"

#define SETS_MAX 512
#define SQL_MAX 8192

/* Rows with the same columns. */
struct set {
	char insert[SQL_MAX];
	int ncolumns;
	size_t nrows, room;
	struct cell {
		int type;
		sqlite3_int64 number;
		char *text;
		int len;
	} * cells; /* nrows * ncolumns */
};

static struct set sets[SETS_MAX];
static size_t nsets;
static struct fault why;

static void must(bool fine, const char *what)
{
	if (fine)
		return;
	fprintf(stderr, "load: %s\n", what);
	exit(1);
}

/* What a step took: on the wall, and of this thread's CPU time, which depends less on what else the machine does. */
struct taken {
	double wall_s, cpu_s;
};

static double clock_of(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static struct taken now(void)
{
	return (struct taken){clock_of(CLOCK_MONOTONIC), clock_of(CLOCK_THREAD_CPUTIME_ID)};
}

static struct taken since(struct taken begin)
{
	struct taken t = now();

	return (struct taken){t.wall_s - begin.wall_s, t.cpu_s - begin.cpu_s};
}

static void keep_row(struct set *s, sqlite3_stmt *row)
{
	if (s->nrows == s->room) {
		s->room = s->room ? 2 * s->room : 1024;
		s->cells = realloc(s->cells, s->room * (size_t)s->ncolumns * sizeof(*s->cells));
		must(s->cells, "out of memory");
	}
	for (int i = 0; i < s->ncolumns; i++) {
		struct cell *c = &s->cells[s->nrows * (size_t)s->ncolumns + (size_t)i];

		*c = (struct cell){.type = sqlite3_column_type(row, i), .number = sqlite3_column_int64(row, i)};
		if (c->type == SQLITE_TEXT) {
			c->len = sqlite3_column_bytes(row, i);
			c->text = malloc((size_t)c->len + 1);
			must(c->text, "out of memory");
			memcpy(c->text, sqlite3_column_text(row, i), (size_t)c->len);
		}
	}
	s->nrows++;
}

/* The rows of a query, to be inserted into `table` with these columns. */
static void keep(sqlite3 *db, const char *table, const char *columns, const char *where)
{
	struct set *s = &sets[nsets];
	char sql[SQL_MAX];
	sqlite3_stmt *st = NULL;
	size_t len;

	snprintf(sql, sizeof(sql), "SELECT %s FROM %s%s", columns, table, where);
	must(sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK, sql);
	s->ncolumns = sqlite3_column_count(st);
	len = (size_t)snprintf(s->insert, sizeof(s->insert), "INSERT INTO %s(%s) VALUES(?", table, columns);
	for (int i = 1; i < s->ncolumns; i++)
		len += (size_t)snprintf(s->insert + len, sizeof(s->insert) - len, ",?");
	snprintf(s->insert + len, sizeof(s->insert) - len, ")");
	while (sqlite3_step(st) == SQLITE_ROW)
		keep_row(s, st);
	sqlite3_finalize(st);
	if (s->nrows)
		nsets++;
}

/* The columns of a kind's rows, and how to find them: in `calls` by kind. */
static void keep_kind(sqlite3 *db, const struct kind *k)
{
	char columns[SQL_MAX] = "", where[64] = "";
	struct mapping map;
	size_t len = 0;

	mapping_make(&map, k);
	if (!map.table)
		return;
	for (uint8_t c = 0; c < map.ncolumns; c++)
		len += (size_t)snprintf(columns + len, sizeof(columns) - len, "%s\"%s\"", c ? "," : "",
					map.columns[c].name);
	if (k->flags == KIND_CALL)
		snprintf(where, sizeof(where), " WHERE kind = %u", k->id);
	keep(db, map.table, columns, where);
}

static void keep_rows(const char *path, const struct schema *s)
{
	static const char *const derived[] = {"offcpu", "allocation_ends", "counters", "processes", "threads"};
	sqlite3 *db = NULL;

	must(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK, path);
	for (size_t k = 0; k < s->nkinds; k++)
		keep_kind(db, &s->kinds[k]);
	for (size_t i = 0; i < sizeof(derived) / sizeof(derived[0]); i++) {
		char columns[SQL_MAX], sql[SQL_MAX];
		sqlite3_stmt *st = NULL;

		snprintf(sql, sizeof(sql), "SELECT group_concat(name) FROM pragma_table_info('%s')", derived[i]);
		must(sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW, sql);
		snprintf(columns, sizeof(columns), "%s", (const char *)sqlite3_column_text(st, 0));
		sqlite3_finalize(st);
		keep(db, derived[i], columns, "");
	}
	sqlite3_close(db);
}

static void insert_set(sqlite3 *db, const struct set *s)
{
	sqlite3_stmt *st = NULL;

	must(sqlite3_prepare_v3(db, s->insert, -1, SQLITE_PREPARE_PERSISTENT, &st, NULL) == SQLITE_OK, s->insert);
	for (size_t r = 0; r < s->nrows; r++) {
		const struct cell *c = &s->cells[r * (size_t)s->ncolumns];

		for (int i = 0; i < s->ncolumns; i++)
			if (c[i].type == SQLITE_NULL)
				sqlite3_bind_null(st, i + 1);
			else if (c[i].type == SQLITE_TEXT)
				sqlite3_bind_text(st, i + 1, c[i].text, c[i].len, SQLITE_STATIC);
			else
				sqlite3_bind_int64(st, i + 1, c[i].number);
		must(sqlite3_step(st) == SQLITE_DONE, sqlite3_errmsg(db));
		sqlite3_reset(st);
	}
	sqlite3_finalize(st);
}

static struct taken bare(const char *path)
{
	struct taken begin;
	sqlite3 *db = NULL;

	unlink(path);
	must(sqlite3_open(path, &db) == SQLITE_OK, path);
	begin = now();
	must(!sql_execute(db,
			  "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE;"
			  "PRAGMA cache_size=-65536; BEGIN",
			  &why) &&
		     !sql_execute_all(db, sqlschema_tables, &why),
	     why.text);
	for (size_t i = 0; i < nsets; i++)
		insert_set(db, &sets[i]);
	must(!sql_execute_all(db, sqlschema_indexes, &why) && !sql_execute(db, "COMMIT", &why), why.text);
	must(sqlite3_close(db) == SQLITE_OK, path);
	return since(begin);
}

static struct taken loader(const char *path, const struct replay *replay)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	struct taken begin;

	must(fd >= 0, path);
	begin = now();
	must(sqlview_write_file(replay, fd, &why) == 0, why.text);
	must(close(fd) == 0, path);
	return since(begin);
}

int main(int argc, char **argv)
{
	const char *trust[] = {argc > 2 ? argv[2] : NULL};
	const struct evidence_options o = {.trust_files = trust, .ntrust_files = 1};
	struct evidence *e = calloc(1, sizeof(*e));
	struct filter *all = calloc(1, sizeof(*all));
	char ours[4096], theirs[4096];
	size_t nrows = 0;
	int runs;

	must(argc == 5, "usage: load CAPTURE PUB FOLDER RUNS");
	runs = atoi(argv[4]);
	must(runs > 0 && e && all, "RUNS is 1 or more");
	all->to_ns = NO_TIME;
	must(evidence_judge(e, argv[1], &o, &why) == 0 && evidence_acceptable(e, &o, &why), why.text);
	snprintf(ours, sizeof(ours), "%s/ours.db", argv[3]);
	snprintf(theirs, sizeof(theirs), "%s/bare.db", argv[3]);
	const struct replay replay = {.evidence = e, .filter = all};

	loader(ours, &replay);
	keep_rows(ours, &e->reader.header.schema);
	for (size_t i = 0; i < nsets; i++)
		nrows += sets[i].nrows;
	printf("%zu\n", nrows);
	for (int i = 0; i < runs; i++) {
		struct taken other = bare(theirs), own = loader(ours, &replay);

		printf("%.6f %.6f %.6f %.6f\n", own.wall_s, own.cpu_s, other.wall_s, other.cpu_s);
	}
	unlink(ours);
	unlink(theirs);
	evidence_close(e);
	free(e);
	free(all);
	return 0;
}
