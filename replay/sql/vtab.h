/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The SQLite module `gpucap`: tables and views of a capture without a copy of it (docs/SCHEMA.md, "The module").
 *
 * This one function is both: the entry point of gpucap.so, which `.load` calls, and what a program that is linked with
 * libreplay.a calls for a connection of its own (`api` is then not inspected). It adds the module and the function
 * gpucap_open() to this connection. Nothing is printed, nothing is global: what is opened is closed with the
 * connection.
 */
#ifndef GPUREC_REPLAY_SQL_VTAB_H
#define GPUREC_REPLAY_SQL_VTAB_H

struct sqlite3;
struct sqlite3_api_routines;

/* Returns SQLITE_OK, or another result code. `message`: not used. */
int sqlite3_gpucap_init(struct sqlite3 *db, char **message, const struct sqlite3_api_routines *api);

#endif
