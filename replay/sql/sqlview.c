/* SPDX-License-Identifier: Apache-2.0 */
/* The SQLite view of a capture: opened, filled in one transaction, described, closed. */
#include "replay/sql/sqlview.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "replay/export/exporter.h"
#include "replay/sql/sqlschema.h"

#define DESCRIPTORS_MAX 1024 /* among which SQLite's is; a tool has a dozen */

struct view {
	sqlite3 *db;
	struct load load;
	struct derive derive;
	struct facts facts;
};

int sql_fault(sqlite3 *db, const char *what, struct fault *why)
{
	enum err code = db && sqlite3_errcode(db) == SQLITE_NOMEM ? ERR_MEMORY : ERR_IO;

	return fault_set(why, code, FAULT_NOWHERE, "cannot %s the database: %.150s", what,
			 db ? sqlite3_errmsg(db) : "no memory");
}

int sql_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **out, struct fault *why)
{
	if (sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, out, NULL) != SQLITE_OK)
		return sql_fault(db, "prepare", why);
	return 0;
}

int sql_insert(sqlite3 *db, sqlite3_stmt *st, struct fault *why)
{
	if (sqlite3_step(st) != SQLITE_DONE)
		return sql_fault(db, "write", why);
	sqlite3_reset(st);
	return 0;
}

int sql_insert_values(sqlite3 *db, sqlite3_stmt *st, const struct sql_value *values, size_t n, struct fault *why)
{
	for (int i = 0; i < (int)n; i++) {
		if (values[i].absent)
			sqlite3_bind_null(st, i + 1);
		else if (values[i].text)
			sqlite3_bind_text(st, i + 1, values[i].text, -1, SQLITE_STATIC);
		else
			sqlite3_bind_int64(st, i + 1, (sqlite3_int64)values[i].number);
	}
	return sql_insert(db, st, why);
}

int sql_execute(sqlite3 *db, const char *sql, struct fault *why)
{
	return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : sql_fault(db, "set up", why);
}

int sql_execute_all(sqlite3 *db, const char *const *list, struct fault *why)
{
	int r = 0;

	for (; *list && !r; list++)
		r = sql_execute(db, *list, why);
	return r;
}

/* --- the walk --- */

static int on_epoch(void *self, struct walk *w, const struct epoch *e, struct fault *why)
{
	struct view *view = self;
	int r = derive_epoch(&view->derive, w, e, why);

	return r ? r : facts_epoch(&view->facts, w, e, why);
}

static int on_growth(void *self, struct walk *w, const struct growth *g, struct fault *why)
{
	struct view *view = self;

	(void)w;
	derive_lost(&view->derive, g);
	return facts_growth(&view->facts, g, why);
}

static int on_withheld(void *self, struct walk *w, const struct epoch *e, const struct chunk *c, struct fault *why)
{
	return facts_withheld(&((struct view *)self)->facts, w, e, c, why);
}

static int on_event(void *self, struct walk *w, const struct event *ev, struct fault *why)
{
	struct view *view = self;
	int r = load_event(&view->load, w, ev, w->nevents, why);

	return r ? r : derive_see(&view->derive, w, ev, why);
}

static int on_end(void *self, struct walk *w, const struct fault *stopped, struct fault *why)
{
	struct view *view = self;
	int r = derive_finish(&view->derive, w, why);

	if (!r)
		r = facts_tasks(&view->facts, &w->tasks, why);
	return r ? r : facts_capture(&view->facts, w, view->load.nrows, stopped, why);
}

static int prepare(struct view *v, const struct replay *replay, struct fault *why)
{
	const struct schema *schema = &replay->evidence->reader.header.schema;
	char pragmas[256];
	int r;

	/* A file that is thrown away when anything fails needs no journal of its own. */
	snprintf(pragmas, sizeof(pragmas),
		 "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE;"
		 "PRAGMA cache_size=-65536; PRAGMA application_id=%d; PRAGMA user_version=%d; BEGIN",
		 SQLVIEW_APPLICATION_ID, SQLVIEW_VERSION);
	r = sql_execute(v->db, pragmas, why);
	if (!r)
		r = sql_execute_all(v->db, sqlschema_tables, why);
	if (!r)
		r = facts_open(&v->facts, v->db, why);
	if (!r)
		r = load_open(&v->load, v->db, schema, why);
	if (!r)
		r = derive_open(&v->derive, v->db, &replay->evidence->reader, why);
	return r ? r : facts_meanings(&v->facts, replay, why);
}

/* Whether a descriptor other than `fd` is of the same file. */
static bool is_open_twice(int fd)
{
	struct stat ours, other;

	if (fstat(fd, &ours) != 0)
		return false;
	for (int i = 0; i < DESCRIPTORS_MAX; i++)
		if (i != fd && fstat(i, &other) == 0 && other.st_dev == ours.st_dev && other.st_ino == ours.st_ino)
			return true;
	return false;
}

/*
 * SQLite opens files by their names only. That of `fd` may be another file's by then: before anything is written, it
 * must have opened the same one.
 */
static int open_database(sqlite3 **db, int fd, struct fault *why)
{
	char link[32], path[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 0)
		return fault_errno(why, "cannot find the database that is made: %s", link);
	path[n] = '\0';
	if (sqlite3_open_v2(path, db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW, NULL) != SQLITE_OK)
		return sql_fault(*db, "open", why);
	if (!is_open_twice(fd))
		return fault_set(why, ERR_IO, FAULT_NOWHERE,
				 "somebody put another file in the database's place while it was made");
	return 0;
}

/* https://www.sqlite.org/tempfiles.html: whatever the database is, it takes them for its own. */
const char *const sqlview_beside[] = {"-journal", "-wal", "-shm", NULL};

int sqlview_write_file(const struct replay *replay, int fd, struct fault *why)
{
	static const struct visitor visitor = {.keep_names = true,
					       .ahead = true,
					       .epoch = on_epoch,
					       .growth = on_growth,
					       .withheld = on_withheld,
					       .event = on_event,
					       .end = on_end};
	struct view v = {0};
	int r, walked = 0;

	r = open_database(&v.db, fd, why);
	if (!r)
		r = prepare(&v, replay, why);
	if (!r)
		walked = r = walk(replay, &visitor, &v, why);
	if (r >= 0)
		r = sql_execute_all(v.db, sqlschema_indexes, why);
	if (!r)
		r = sql_execute_all(v.db, sqlschema_views, why);
	if (!r)
		r = sql_execute(v.db, "COMMIT", why);
	load_close(&v.load);
	derive_close(&v.derive);
	facts_close(&v.facts);
	if (sqlite3_close(v.db) != SQLITE_OK && !r)
		r = sql_fault(v.db, "close", why);
	return r ? r : walked;
}
