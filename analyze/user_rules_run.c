// SPDX-License-Identifier: Apache-2.0
/* Running rule files' queries, where they can do no harm. */
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/user_rules.h"
#include "analyze/watchdog.h"

#define COLUMNS_MAX (FACTS_MAX - 2)
#define TEXT_SHOWN_MAX 400 /* bytes of a column that a message shows */
#define CHECK_STEPS 1000   /* of SQLite's machine, between two looks at the limit */

struct run {
	sqlite3 *db;
	struct findings *out;
	struct user_rule *rule; /* that runs */
	uint64_t nsteps, steps_max;
	unsigned seconds_max;
	void (*stuck)(const struct fault *why);
	bool stopped, timed_out;
	char denied[128]; /* what was not allowed; "" nothing */
};

/*
 * Functions that give the same for the same capture everywhere: nothing of the clock, the time zone, chance, files,
 * or this build of SQLite. The views use them, too.
 */
static const char *const functions[] = {
	"abs",          "avg",        "cast",       "ceil",         "char",
	"coalesce",     "count",      "cume_dist",  "dense_rank",   "first_value",
	"floor",        "format",     "glob",       "group_concat", "hex",
	"ifnull",       "iif",        "instr",      "lag",          "last_value",
	"lead",         "length",     "like",       "lower",        "ltrim",
	"max",          "min",        "nth_value",  "ntile",        "nullif",
	"percent_rank", "printf",     "quote",      "rank",         "replace",
	"round",        "row_number", "rtrim",      "sign",         "sqrt",
	"string_agg",   "substr",     "substring",  "sum",          "total",
	"trim",         "typeof",     "unicode",    "unlikely",     "likely",
	"likelihood",   "upper",      "json_array", "json_object",  "json_group_array",
	"json_extract", "->",         "->>",        "if",
};

static bool is_function_allowed(const char *name)
{
	for (size_t i = 0; name && i < sizeof(functions) / sizeof(functions[0]); i++)
		if (sqlite3_stricmp(functions[i], name) == 0)
			return true;
	return false;
}

/* What the views use, and a rule may not: a time may be 'now'. A name must be in the query to be called by it. */
static bool is_of_views(const struct run *run, const char *name)
{
	return name && sqlite3_stricmp(name, "strftime") == 0 && !strcasestr(run->rule->sql, "strftime");
}

static int authorize(void *arg, int action, const char *a, const char *b, const char *database, const char *trigger)
{
	struct run *run = arg;

	(void)database;
	(void)trigger;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	case SQLITE_FUNCTION:
		if (is_function_allowed(b) || is_of_views(run, b))
			return SQLITE_OK;
		snprintf(run->denied, sizeof(run->denied), "the function %s() is not for rules", b ? b : "");
		return SQLITE_DENY;
	case SQLITE_PRAGMA:
		snprintf(run->denied, sizeof(run->denied), "PRAGMA %s is not for rules", a ? a : "");
		return SQLITE_DENY;
	case SQLITE_ATTACH:
	case SQLITE_DETACH:
		snprintf(run->denied, sizeof(run->denied), "ATTACH and DETACH are not for rules");
		return SQLITE_DENY;
	default:
		snprintf(run->denied, sizeof(run->denied), "a rule can only read: one SELECT");
		return SQLITE_DENY;
	}
}

static int count_steps(void *arg)
{
	struct run *run = arg;

	run->nsteps += CHECK_STEPS;
	run->stopped = run->nsteps >= run->steps_max;
	return run->stopped;
}

/* From here on, what is prepared is not ours. */
static void shut(struct run *run)
{
	static const struct {
		int limit, value;
	} limits[] = {
		{SQLITE_LIMIT_LENGTH, USER_RULE_VALUE_MAX},
		{SQLITE_LIMIT_SQL_LENGTH, USER_RULE_BYTES_MAX},
		{SQLITE_LIMIT_COLUMN, 256},
		{SQLITE_LIMIT_EXPR_DEPTH, 200},
		{SQLITE_LIMIT_COMPOUND_SELECT, 64},
		{SQLITE_LIMIT_VDBE_OP, 1000000},
		{SQLITE_LIMIT_FUNCTION_ARG, 64},
		{SQLITE_LIMIT_ATTACHED, 0},
		{SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000},
		{SQLITE_LIMIT_TRIGGER_DEPTH, 1},
		{SQLITE_LIMIT_WORKER_THREADS, 0},
	};

	sqlite3_db_config(run->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(run->db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		sqlite3_limit(run->db, limits[i].limit, limits[i].value);
	sqlite3_set_authorizer(run->db, authorize, run);
	sqlite3_progress_handler(run->db, CHECK_STEPS, count_steps, run);
}

/* On which line of the file byte `at` of the query stands. */
static unsigned line_at(const struct user_rule *r, int at)
{
	unsigned line = r->sql_line;

	for (int i = 0; i < at && r->sql[i]; i++)
		line += r->sql[i] == '\n';
	return line;
}

static int timed_out(const struct run *run, struct fault *why)
{
	return fault_set(why, ERR_INPUT, FAULT_NOWHERE,
			 "%s, line %u: the query takes more than %u seconds; ask for less", run->rule->file,
			 run->rule->sql_line, run->seconds_max);
}

/* By the watchdog's thread, while the other one is inside a function of SQLite. */
static void stuck(void *arg)
{
	const struct run *run = arg;
	struct fault why;

	timed_out(run, &why);
	if (run->stuck)
		run->stuck(&why);
}

/* What SQLite says, as a fault of the rule. */
static int report(const struct run *run, struct fault *why)
{
	const struct user_rule *r = run->rule;
	int at = -1;

	if (sqlite3_errcode(run->db) == SQLITE_NOMEM)
		return fault_no_memory(why);
	if (run->stopped)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE,
				 "%s, line %u: the query takes more than %" PRIu64 " steps; ask for less", r->file,
				 r->sql_line, run->steps_max);
	if (run->timed_out)
		return timed_out(run, why);
	if (run->denied[0])
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "%s, line %u: %s", r->file, r->sql_line, run->denied);
#if SQLITE_VERSION_NUMBER >= 3038000
	at = sqlite3_error_offset(run->db);
#endif
	return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "%s, line %u: %s", r->file, line_at(r, at),
			 sqlite3_errmsg(run->db));
}

static bool is_word(const char *s)
{
	size_t n = strlen(s);

	return n > 0 && n <= USER_RULE_NAME_MAX && !(s[0] >= '0' && s[0] <= '9') &&
	       strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == n;
}

/* The name of a column, which becomes the key of a fact; NULL with *why if it cannot be one. */
static char *column_name(const struct user_rule *r, sqlite3_stmt *stmt, int column, struct fault *why)
{
	const char *name = sqlite3_column_name(stmt, column);
	char *copy;

	if (!name || !is_word(name)) {
		fault_set(why, ERR_INPUT, FAULT_NOWHERE,
			  "%s, line %u: column %d has no plain name; give it one with AS", r->file, r->sql_line,
			  column + 1);
		return NULL;
	}
	for (unsigned k = 0; k < r->ncolumns; k++) {
		if (!r->columns[k] || strcmp(r->columns[k], name) != 0)
			continue;
		fault_set(why, ERR_INPUT, FAULT_NOWHERE, "%s, line %u: two columns are called %s", r->file, r->sql_line,
			  name);
		return NULL;
	}
	copy = strdup(name);
	if (!copy)
		fault_no_memory(why);
	return copy;
}

/* The columns' names are kept: findings point to them. */
static int take_columns(struct run *run, sqlite3_stmt *stmt, struct fault *why)
{
	struct user_rule *r = run->rule;
	int n = sqlite3_column_count(stmt);

	if (n > COLUMNS_MAX)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "%s, line %u: %d columns; a rule has at most %d",
				 r->file, r->sql_line, n, COLUMNS_MAX);
	if (!r->columns)
		r->columns = calloc(COLUMNS_MAX, sizeof(*r->columns));
	if (!r->columns)
		return fault_no_memory(why);
	/* All are there if it ran over another capture before. */
	for (int i = (int)r->ncolumns; i < n; i++) {
		struct fault inner;

		r->columns[i] = column_name(r, stmt, i, &inner);
		if (!r->columns[i]) {
			if (why)
				*why = inner;
			return inner.code;
		}
		r->ncolumns++;
	}
	return 0;
}

/* The view's texts are escaped already; what a query made of them may not be. A backslash stays as it is. */
static void add_text(struct text *t, const char *s, size_t n)
{
	while (n > 0) {
		const char *backslash = memchr(s, '\\', n);
		size_t len = backslash ? (size_t)(backslash - s) : n;

		text_add_escaped(t, s, len);
		if (backslash) {
			text_add_bytes(t, "\\", 1);
			len++;
		}
		s += len;
		n -= len;
	}
}

static void add_value(struct text *t, sqlite3_stmt *stmt, int column, const char *form, size_t len)
{
	int64_t value = sqlite3_column_int64(stmt, column);
	const char *s;

	if (sqlite3_column_type(stmt, column) == SQLITE_NULL) {
		text_add(t, "unknown");
	} else if (len == 2 && memcmp(form, "ns", 2) == 0) {
		text_add_ns(t, value > 0 ? (uint64_t)value : 0);
	} else if (len == 5 && memcmp(form, "bytes", 5) == 0) {
		text_add_size(t, value > 0 ? (uint64_t)value : 0);
	} else if (len == 3 && memcmp(form, "hex", 3) == 0) {
		text_add(t, "0x%" PRIx64, (uint64_t)value);
	} else if (sqlite3_column_type(stmt, column) == SQLITE_BLOB) {
		text_add(t, "%d bytes", sqlite3_column_bytes(stmt, column));
	} else {
		s = (const char *)sqlite3_column_text(stmt, column);
		if (!s)
			t->failed = true;
		else
			add_text(t, s, strnlen(s, TEXT_SHOWN_MAX));
	}
}

static bool is_form(const char *s, size_t n)
{
	return n == 0 || (n == 2 && memcmp(s, "ns", 2) == 0) || (n == 5 && memcmp(s, "bytes", 5) == 0) ||
	       (n == 3 && memcmp(s, "hex", 3) == 0);
}

static int find_column(const struct user_rule *r, const char *name, size_t n)
{
	for (unsigned i = 0; i < r->ncolumns; i++)
		if (r->columns[i] && strlen(r->columns[i]) == n && memcmp(r->columns[i], name, n) == 0)
			return (int)i;
	return -1;
}

/* The message, {column} and {column:form} replaced; `stmt` may be NULL: only inspected whether it can be. */
static int add_message(const struct user_rule *r, sqlite3_stmt *stmt, struct text *t, struct fault *why)
{
	for (const char *p = r->message; *p;) {
		size_t plain = strcspn(p, "{"), name, form;
		int column;

		add_text(t, p, plain);
		p += plain;
		if (!*p)
			break;
		p++;
		name = strcspn(p, ":}");
		form = p[name] == ':' ? strcspn(p + name + 1, "}") : 0;
		column = find_column(r, p, name);
		if (column < 0 || !is_form(p + name + 1, form) || p[name + (p[name] == ':') + form] != '}')
			return fault_set(
				why, ERR_INPUT, FAULT_NOWHERE,
				"%s, line %u: '{%.*s' is not {column}, {column:ns}, {column:bytes} or {column:hex} "
				"of the query",
				r->file, r->message_line, (int)strcspn(p, "}"), p);
		if (stmt)
			add_value(t, stmt, column, p + name + 1, form);
		p += name + (p[name] == ':') + form + 1;
	}
	return 0;
}

static uint64_t number_of(const struct user_rule *r, sqlite3_stmt *stmt, const char *name, uint64_t otherwise)
{
	int column = find_column(r, name, strlen(name));

	if (column < 0 || sqlite3_column_type(stmt, column) != SQLITE_INTEGER || sqlite3_column_int64(stmt, column) < 0)
		return otherwise;
	return (uint64_t)sqlite3_column_int64(stmt, column);
}

static void add_facts(struct finding *f, const struct user_rule *r, sqlite3_stmt *stmt)
{
	for (unsigned i = 0; i < r->ncolumns; i++) {
		int type = sqlite3_column_type(stmt, (int)i);
		struct text t = {0};

		if (type == SQLITE_NULL)
			continue;
		if (type == SQLITE_INTEGER && sqlite3_column_int64(stmt, (int)i) >= 0) {
			finding_number(f, r->columns[i], (uint64_t)sqlite3_column_int64(stmt, (int)i));
			continue;
		}
		add_value(&t, stmt, (int)i, "", 0);
		finding_text(f, r->columns[i], text_string(&t), t.len);
		f->failed |= t.failed;
		text_clear(&t);
	}
}

static int add_finding(struct run *run, sqlite3_stmt *stmt, struct fault *why)
{
	const struct user_rule *r = run->rule;
	struct finding *f = findings_add(run->out);
	int e;

	f->rule = r->name;
	f->class = "user";
	f->severity = r->severity;
	f->confidence = CONFIDENCE_MEDIUM;
	f->count = number_of(r, stmt, "count", 1);
	f->weight = number_of(r, stmt, "cost_ns", 0);
	f->unit = f->weight ? WEIGHT_NS : WEIGHT_NONE;
	f->first[0].begin_ns = number_of(r, stmt, "begin_ns", 0);
	f->first[0].end_ns = number_of(r, stmt, "end_ns", f->first[0].begin_ns);
	f->first[0].tid = number_of(r, stmt, "tid", 0);
	f->first[0].waker_tid = f->first[0].keeper_tid = TID_NONE;
	f->nfirst = f->first[0].begin_ns && f->first[0].end_ns >= f->first[0].begin_ns;
	e = add_message(r, stmt, &f->headline, why);
	if (e)
		return e;
	text_add(&f->sure, "As sure as rule %s, which is one of your own", r->name);
	if (r->advice)
		add_text(&f->advice, r->advice, strlen(r->advice));
	add_facts(f, r, stmt);
	return 0;
}

/* There were more rows than are shown. */
static void add_more(struct run *run)
{
	struct finding *f = findings_add(run->out);

	f->rule = run->rule->name;
	f->class = "limit";
	f->severity = SEVERITY_INFO;
	f->confidence = CONFIDENCE_HIGH;
	f->count = f->weight = 1;
	f->unit = WEIGHT_EVENTS;
	text_add(&f->headline, "Rule %s found more than the %d that are listed here", run->rule->name,
		 USER_RULE_ROWS_MAX);
	text_add(&f->advice, "Group them in its query");
}

static int run_rows(struct run *run, sqlite3_stmt *stmt, struct fault *why)
{
	struct watchdog dog = {.db = run->db, .seconds = run->seconds_max, .stuck = stuck, .arg = run};
	unsigned nrows = 0;
	int r = SQLITE_DONE, e = watchdog_start(&dog, why);

	if (e)
		return e;
	while (e == 0 && nrows < USER_RULE_ROWS_MAX && (r = sqlite3_step(stmt)) == SQLITE_ROW) {
		e = add_finding(run, stmt, why);
		nrows++;
	}
	if (e == 0 && nrows == USER_RULE_ROWS_MAX && (r = sqlite3_step(stmt)) == SQLITE_ROW)
		add_more(run);
	run->timed_out = watchdog_stop(&dog);
	if (e == 0 && !findings_whole(run->out))
		e = fault_no_memory(why);
	return e ? e : r == SQLITE_DONE || r == SQLITE_ROW ? 0 : report(run, why);
}

static int run_rule(struct run *run, struct fault *why)
{
	const struct user_rule *r = run->rule;
	sqlite3_stmt *stmt = NULL, *second = NULL;
	const char *tail = NULL;
	struct text none = {0};
	int e = 0;

	run->nsteps = 0;
	run->stopped = run->timed_out = false;
	run->denied[0] = 0;
	if (sqlite3_prepare_v2(run->db, r->sql, -1, &stmt, &tail) != SQLITE_OK)
		e = report(run, why);
	else if (!stmt || !sqlite3_stmt_readonly(stmt) || sqlite3_column_count(stmt) == 0 ||
		 sqlite3_stmt_isexplain(stmt))
		e = fault_set(why, ERR_INPUT, FAULT_NOWHERE, "%s, line %u: a rule is one SELECT", r->file, r->sql_line);
	else if (sqlite3_prepare_v2(run->db, tail, -1, &second, NULL) != SQLITE_OK || second)
		e = fault_set(why, ERR_INPUT, FAULT_NOWHERE,
			      "%s, line %u: a rule is one SELECT, and something follows it", r->file,
			      line_at(r, (int)(tail - r->sql)));
	if (e == 0)
		e = take_columns(run, stmt, why);
	if (e == 0)
		e = add_message(r, NULL, &none, why);
	if (e == 0)
		e = run_rows(run, stmt, why);
	sqlite3_finalize(stmt);
	sqlite3_finalize(second);
	text_clear(&none);
	return e;
}

/* A text as SQL writes it. */
static void add_quoted(struct text *sql, const char *s)
{
	text_add(sql, "'");
	for (; *s; s++)
		text_add_bytes(sql, *s == '\'' ? "''" : s, *s == '\'' ? 2 : 1);
	text_add(sql, "'");
}

void user_rules_prepare(const struct user_rules_view *v, struct text *sql)
{
	text_add(sql, "CREATE VIRTUAL TABLE capture USING gpucap(");
	add_quoted(sql, v->path);
	text_add(sql, ", fd=%d", v->fd);
	if (v->unverified)
		text_add(sql, ", unverified");
	for (size_t i = 0; i < v->ntrust_files; i++) {
		text_add(sql, ", trust=");
		add_quoted(sql, v->trust_files[i]);
	}
	for (size_t i = 0; i < v->ndelegation_files; i++) {
		text_add(sql, ", delegation=");
		add_quoted(sql, v->delegation_files[i]);
	}
	text_add(sql, ")");
}

int user_rules_run(struct user_rules *u, user_rules_entry *entry, const char *prepare, struct findings *out,
		   struct fault *why)
{
	struct run run = {.out = out,
			  .steps_max = u->steps_max ? u->steps_max : USER_RULE_STEPS_MAX,
			  .seconds_max = u->seconds_max ? u->seconds_max : USER_RULE_SECONDS_MAX,
			  .stuck = u->stuck};
	sqlite3_int64 limit = sqlite3_hard_heap_limit64(USER_RULE_MEMORY_MAX);
	int e = 0;

	if (sqlite3_open_v2(":memory:", &run.db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY,
			    NULL) != SQLITE_OK) {
		e = fault_no_memory(why);
		goto out;
	}
	if ((entry && entry(run.db, NULL, NULL) != SQLITE_OK) ||
	    (prepare && sqlite3_exec(run.db, prepare, NULL, NULL, NULL) != SQLITE_OK)) {
		e = fault_set(why, ERR_IO, FAULT_NOWHERE, "cannot make the view for the rules: %s",
			      sqlite3_errmsg(run.db));
		goto out;
	}
	shut(&run);
	for (size_t i = 0; i < u->n && e == 0; i++) {
		run.rule = &u->all[i];
		e = run_rule(&run, why);
	}
out:
	sqlite3_close(run.db);
	sqlite3_hard_heap_limit64(limit);
	return e;
}
