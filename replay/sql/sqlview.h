/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files that make the SQL view (sqlview.c, sqlload.c, sqlfacts.c, sqlderive.c) and the module. */
#ifndef GPUREC_REPLAY_SQL_SQLVIEW_H
#define GPUREC_REPLAY_SQL_SQLVIEW_H

#include "format/base/escape.h"
#include "format/base/map.h"
#include "replay/sql/sqlite.h"
#include "replay/model/allocations.h"
#include "replay/model/ledger.h"
#include "replay/model/timeline_feed.h"
#include "replay/model/walk.h"

/* *why gets ERR_IO (ERR_MEMORY) with SQLite's reason. */
int sql_fault(sqlite3 *db, const char *what, struct fault *why);

int sql_execute(sqlite3 *db, const char *sql, struct fault *why);

/* Statements up to a NULL. */
int sql_execute_all(sqlite3 *db, const char *const *list, struct fault *why);

int sql_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **out, struct fault *why);

/* Run a prepared INSERT once and make it ready for the next time. */
int sql_insert(sqlite3 *db, sqlite3_stmt *st, struct fault *why);
/* A value of a row: a text, a number, or NULL if `absent`. */
struct sql_value {
	const char *text;
	uint64_t number;
	bool absent;
};
/* The same after binding a statement's `n` values. */
int sql_insert_values(sqlite3 *db, sqlite3_stmt *st, const struct sql_value *values, size_t n, struct fault *why);

/* What follows from events: how allocations ended, intervals off the CPU. */
struct derive {
	sqlite3 *db;
	sqlite3_stmt *allocation_end, *inner_call, *object_life, *offcpu, *state, *ledger_part, *ledger_slice,
		*ledger_waited, *ledger_did;
	struct allocations allocations, objects;
	struct timeline *timeline;
	struct moment moment;
	struct ledger ledger;
	uint64_t now_ns;           /* of the latest event, or the end of an epoch */
	const struct tasks *tasks; /* as the last event left them */
	struct off *off;           /* threads off the CPU, by their number */
	size_t noff;
	struct map states; /* prev_state values met */
	uint64_t lossy_ns; /* end of the latest epoch that lost scheduler events */
};

/* `d` must stay where it is until derive_close(). */
int derive_open(struct derive *d, sqlite3 *db, const struct reader *reader, struct fault *why);
void derive_close(struct derive *d);
/* The model's tasks have seen it. */
int derive_see(struct derive *d, const struct walk *w, const struct event *ev, struct fault *why);
/* Before what is lost in an epoch. */
int derive_epoch(struct derive *d, const struct walk *w, const struct epoch *e, struct fault *why);
void derive_lost(struct derive *d, const struct growth *g);
/* When all events are in. */
int derive_finish(struct derive *d, const struct walk *w, struct fault *why);

/* Where a column of a table of events comes from. */
enum source_of {
	FROM_NOTHING,
	FROM_FIELD,
	FROM_TEXT,
	FROM_SHOWN,
	FROM_ID,
	FROM_KIND,
	FROM_START,
	FROM_PROCESS,
	FROM_THREAD
};

#define MAPPED_MAX (FIELDS_MAX * 2 + 4)

/* The columns that a kind fills. */
struct mapping {
	const char *table; /* NULL: of a kind that this build does not know */
	uint8_t known;     /* its first fields have columns; those after them come from a later version */
	uint8_t ncolumns;
	struct mapped {
		uint8_t from; /* enum source_of */
		uint8_t field;
		char name[NAME_MAX_BYTES + 4];
	} columns[MAPPED_MAX];
};

void mapping_make(struct mapping *m, const struct kind *k);

/* Whether rows of events are in this table. */
bool mapping_is_table(const char *table);

/* Events into their tables. */
struct load {
	sqlite3 *db;
	struct inserter *inserters; /* by the kind's place in the schema */
	const struct schema *schema;
	sqlite3_stmt *other_event, *other_field;
	char *text; /* room for an escaped TEXT */
	uint64_t nrows;
};

int load_open(struct load *l, sqlite3 *db, const struct schema *schema, struct fault *why);
void load_close(struct load *l);
int load_event(struct load *l, const struct walk *w, const struct event *ev, uint64_t id, struct fault *why);

/* What the capture says about itself: tables about seals, kinds, probes, tasks. */
struct facts {
	sqlite3 *db;
	sqlite3_stmt *epoch, *counter, *withheld;
};

int facts_open(struct facts *f, sqlite3 *db, struct fault *why);
void facts_close(struct facts *f);
/* Kinds, probes, causes, words. */
int facts_meanings(struct facts *f, const struct replay *replay, struct fault *why);
/* As struct visitor's. */
int facts_epoch(struct facts *f, const struct walk *w, const struct epoch *e, struct fault *why);
int facts_growth(struct facts *f, const struct growth *g, struct fault *why);
int facts_withheld(struct facts *f, const struct walk *w, const struct epoch *e, const struct chunk *c,
		   struct fault *why);
int facts_tasks(struct facts *f, const struct tasks *p, struct fault *why);
/* Once: nrows of events are reported. stopped: see struct visitor. */
int facts_capture(struct facts *f, const struct walk *w, uint64_t nrows, const struct fault *stopped,
		  struct fault *why);

#endif
