/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SQLite, as these files are built twice: into programs, which are linked with it, and into the module gpucap.so, which
 * must use the SQLite that loads it and no other.
 */
#ifndef GPUREC_REPLAY_SQL_SQLITE_H
#define GPUREC_REPLAY_SQL_SQLITE_H

#ifdef GPUCAP_LOADABLE
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT3 /* the one variable, in vtab.c */
#else
#include <sqlite3.h>
#endif

#endif
