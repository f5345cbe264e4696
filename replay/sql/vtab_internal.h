/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between the files of the SQLite module (module*.c).
 *
 * A table of events of many is read straight from the capture (module_events.c). What needs more than one event to be
 * reported (who is who, intervals, pairs) is learnt in one pass when it is first asked for, into a private temporary
 * database beside the connection, and served from there (module_side.c). Both take columns and values from where
 * gpureplay -o run.db takes them, so that they give the same rows.
 */
#ifndef GPUREC_REPLAY_SQL_VTAB_INTERNAL_H
#define GPUREC_REPLAY_SQL_VTAB_INTERNAL_H

#include "replay/sql/sqlview.h"

/* What has been learnt. */
enum learnt {
	LEARNT_SEALS = 1,   /* capture, epochs, counters, kinds, ... No event is read */
	LEARNT_NAMES = 2,   /* processes, threads, stacks, names of kernels. Each event is met */
	LEARNT_DERIVED = 4, /* what follows from events. Likewise */
};

/* Instances of processes or threads, by when they were first named. */
struct instances {
	struct map youngest; /* by pid or tid */
	struct instance {
		uint64_t born; /* number of the event that named it first */
		uint32_t id;
		uint32_t older; /* instance with the same id; 0: none */
	} * list;               /* by number, from 1 */
	uint32_t n;
	size_t room;
};

/* The instance that an id meant at event `number`; 0: it had not been named. */
uint32_t instances_find(const struct instances *s, uint32_t id, uint64_t number);

#define MODULE_FILES_MAX 8

/* How a capture is to be opened: the module's arguments. */
struct opening {
	const char *path;
	int fd; /* of the capture, if it is open already; 0: open path */
	const char *trust[MODULE_FILES_MAX], *delegations[MODULE_FILES_MAX];
	size_t ntrust, ndelegations;
	bool unverified;
	bool all; /* verify rows before, instead of chunks as they are read */
};

/* A capture that tables of this connection share. */
struct shared {
	struct shared *next;
	struct registry *registry;
	unsigned nusers;
	char *key; /* of its opening */
	struct evidence evidence;
	struct filter filter; /* an open one */
	struct replay replay;
	struct mapping *maps; /* by the kind's place; kinds unknown to this build too */
	uint64_t nepochs;     /* that may be read */
	uint64_t nreadable;   /* with `unverified`: events that can be read; else UINT64_MAX */
	bool ordered;         /* SQL's signed integers hold all of its times */
	sqlite3 *side;
	unsigned learnt;
	struct instances processes, threads;
};

/* The captures of a connection. */
struct registry {
	struct shared *first;
};

/* The capture, opened and judged, or the one already open: ERR_* with a sentence. shared_release() it. */
int shared_acquire(struct registry *registry, const struct opening *o, struct shared **out, struct fault *why);
void shared_release(struct shared *s);

/* Learn what of `needed` (LEARNT_*) is not known yet. */
int shared_learn(struct shared *s, unsigned needed, struct fault *why);

/* A table of the module. */
struct module_table {
	sqlite3_vtab base; /* first: SQLite's part */
	struct shared *shared;
	char name[64];
	bool of_events;
	unsigned needs; /* LEARNT_*: of a table in the side database */
	int ncolumns;
	char (*columns)[NAME_MAX_BYTES + 4];
	/* Of a table of events: */
	bool fields;       /* it is other_fields: a row for each field without a column */
	uint8_t *mapped;   /* [kind's place * ncolumns + column]: index in the kind's mapping; MODULE_ABSENT */
	uint8_t *holds;    /* [kind's place]: whether its rows are in this table */
	int at, id, start; /* columns; -1: it has none */
	uint64_t nrows;    /* about */
};

#define MODULE_ABSENT 0xff
#define MODULE_TERMS_MAX 12 /* constraints of a query that are inspected before SQLite sees a row */

/* Where a column of a table of events comes from in rows of a kind; NULL: they do not have it. */
static inline const struct mapped *mapped_of(const struct module_table *t, size_t kind, int column)
{
	uint8_t c = t->mapped[kind * (size_t)t->ncolumns + (size_t)column];

	return c == MODULE_ABSENT ? NULL : &t->shared->maps[kind].columns[c];
}

/* Whether a column of a table of events comes from one of these sources (bits by enum source_of) in any kind's rows. */
bool module_column_is(const struct module_table *t, int column, unsigned sources);

/* A failure, as SQLite wants it reported. */
int module_fail(sqlite3_vtab *table, const struct fault *why);

/* The methods of a table of events, and of one in the side database. */
int events_prepare(struct module_table *t);
int events_best_index(sqlite3_vtab *table, sqlite3_index_info *info);
int events_open(sqlite3_vtab *table, sqlite3_vtab_cursor **out);
int events_close(sqlite3_vtab_cursor *cursor);
int events_filter(sqlite3_vtab_cursor *cursor, int number, const char *plan, int argc, sqlite3_value **argv);
int events_next(sqlite3_vtab_cursor *cursor);
int events_eof(sqlite3_vtab_cursor *cursor);
int events_column(sqlite3_vtab_cursor *cursor, sqlite3_context *ctx, int column);
int events_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *rowid);

/* A table of the side database: what has to be learnt for it, and about how many rows it has. */
struct side_table {
	const char *name;
	unsigned needs; /* LEARNT_* */
	double rows;    /* only the order of magnitude matters */
};

const struct side_table *side_table_of(const char *name);

int side_best_index(sqlite3_vtab *table, sqlite3_index_info *info);
int side_open(sqlite3_vtab *table, sqlite3_vtab_cursor **out);
int side_close(sqlite3_vtab_cursor *cursor);
int side_filter(sqlite3_vtab_cursor *cursor, int number, const char *plan, int argc, sqlite3_value **argv);
int side_next(sqlite3_vtab_cursor *cursor);
int side_eof(sqlite3_vtab_cursor *cursor);
int side_column(sqlite3_vtab_cursor *cursor, sqlite3_context *ctx, int column);
int side_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *rowid);

#endif
