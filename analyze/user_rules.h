/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules that users write: files that end in .sql, each with a name, a severity, a message and one SELECT over the SQL
 * view of the capture (docs/SCHEMA.md). docs/REPORTS.md describes the files.
 *
 * They are anybody's text, like a capture: the query runs where it can only read, cannot reach any file, and is stopped
 * when it does too much.
 */
#ifndef GPUREC_ANALYZE_USER_RULES_H
#define GPUREC_ANALYZE_USER_RULES_H

#include "analyze/finding.h"

#define USER_RULES_MAX 256
#define USER_RULE_BYTES_MAX 65536      /* of a file */
#define USER_RULE_NAME_MAX 64          /* bytes */
#define USER_RULE_ROWS_MAX 100         /* findings of one rule; beyond, it is said how it went on */
#define USER_RULE_STEPS_MAX 1000000000 /* of SQLite's machine, for one rule */
#define USER_RULE_VALUE_MAX 65536      /* bytes of a text that a query works with: functions take its square */
/* For one rule, by the clock: a report that reaches this limit fails, for it could not be the same again. */
#define USER_RULE_SECONDS_MAX 120
#define USER_RULE_MEMORY_MAX (512U << 20)

struct user_rule {
	char *name;
	enum severity severity;
	char *message; /* with {column} in it; one sentence without the full stop */
	char *advice;  /* NULL: none */
	char *summary; /* NULL: none; for --list-rules */
	char *sql;
	char *file;            /* name without the folder, for messages */
	unsigned message_line; /* of the file */
	unsigned sql_line;     /* on which sql begins */
	char *text;            /* the whole file, for the hash */
	size_t len;
	char **columns; /* of its query, after it has run: findings point to them */
	unsigned ncolumns;
};

/* A zeroed one is empty. Sorted by name. */
struct user_rules {
	struct user_rule *all; /* owned */
	size_t n;
	uint64_t steps_max;   /* of each; 0: USER_RULE_STEPS_MAX */
	unsigned seconds_max; /* of each; 0: USER_RULE_SECONDS_MAX */
	/*
	 * Called in another thread when a row does not end, long after the limit: to report, and to end the process,
	 * for there is no other way. NULL: it goes on until it ends.
	 */
	void (*stuck)(const struct fault *why);
};

/*
 * Read all files of the folder that end in .sql. ERR_INPUT: one of them is no rule, with its name and the line; two
 * have the same name, or one has that of a built-in rule. ERR_IO, ERR_DENIED, ERR_MEMORY.
 */
int user_rules_read(struct user_rules *u, const char *folder, struct fault *why);
/* The same of one file's bytes. */
int user_rules_add(struct user_rules *u, const char *file, const char *text, size_t len, struct fault *why);
void user_rules_clear(struct user_rules *u);

/* How an extension of SQLite begins: what brings the view of a capture into a database. */
struct sqlite3;
struct sqlite3_api_routines;
typedef int user_rules_entry(struct sqlite3 *db, char **message, const struct sqlite3_api_routines *api);

/* SQL for `prepare` below: the view of a capture through the module, opened under the same conditions as by ourselves.
 */
struct user_rules_view {
	const char *path;
	int fd; /* of the capture, which is not opened by its name again: another file may have it by then */
	const char *const *trust_files, *const *delegation_files;
	size_t ntrust_files, ndelegation_files;
	bool unverified;
};
void user_rules_prepare(const struct user_rules_view *v, struct text *sql);

/*
 * Run all rules over the capture, and add what they find: a finding for each row. `prepare` is SQL of our own that
 * makes the view after `entry` was called (both may be NULL: an empty database).
 * ERR_INPUT: a query of theirs is not allowed, wrong, or does too much, with file and line; ERR_MEMORY, ERR_IO.
 */
int user_rules_run(struct user_rules *u, user_rules_entry *entry, const char *prepare, struct findings *out,
		   struct fault *why);

#endif
