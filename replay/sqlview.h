/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files that make the SQL view (sqlview.c, sqlload.c, sqlderive.c). */
#ifndef GPUREC_REPLAY_SQLVIEW_H
#define GPUREC_REPLAY_SQLVIEW_H

#include <sqlite3.h>

#include "format/escape.h"
#include "replay/map.h"
#include "replay/walk.h"

/* *why gets ERR_IO (ERR_MEMORY) with SQLite's reason. */
int sql_fault(sqlite3 *db, const char *what, struct fault *why);

int sql_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **out, struct fault *why);

/* Run a prepared INSERT once and make it ready for the next time. */
int sql_insert(sqlite3 *db, sqlite3_stmt *st, struct fault *why);

/* NO_TIME becomes NULL. */
void sql_bind_time(sqlite3_stmt *st, int column, uint64_t ns);

/* What follows from events: pairs of allocation and free, intervals off the CPU. */
struct derive {
	sqlite3 *db;
	sqlite3_stmt *allocation_end, *offcpu, *state;
	/* Open allocations: chains by (process, address), oldest first, elements numbered from 1. */
	struct map open;
	struct open_allocation *pool;
	uint32_t npool, pool_room, free_list;
	/* Threads off the CPU, by their number. */
	struct off *off;
	uint32_t noff;
	struct map states; /* prev_state values met */
	uint64_t lossy_ns; /* end of the latest epoch that lost scheduler events */
};

int derive_open(struct derive *d, sqlite3 *db, struct fault *why);
void derive_close(struct derive *d);
/* `id`: the event's number. People have seen it. */
int derive_see(struct derive *d, const struct walk *w, const struct event *ev, uint64_t id, struct fault *why);
void derive_lost(struct derive *d, const struct growth *g);
/* When all events are in. */
int derive_finish(struct derive *d, const struct walk *w, struct fault *why);

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

#endif
