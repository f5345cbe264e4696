/* SPDX-License-Identifier: Apache-2.0 */
/* The tables, indexes and views of the SQL view, as SQL. docs/SCHEMA.md reports their meaning. */
#ifndef GPUREC_REPLAY_SQL_SQLSCHEMA_H
#define GPUREC_REPLAY_SQL_SQLSCHEMA_H

/* PRAGMA user_version: grows when a query that worked could stop working or mean something else. */
#define SQLVIEW_VERSION 2
/* PRAGMA application_id: "gpuR". */
#define SQLVIEW_APPLICATION_ID 0x67707552

/* Statements, each list ends with NULL. Tables first; indexes when all rows are in; then views. */
extern const char *const sqlschema_tables[];
extern const char *const sqlschema_indexes[];
extern const char *const sqlschema_views[];

#endif
