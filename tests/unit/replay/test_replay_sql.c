/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The database and the module lose nothing: each event of a capture with every kind and the strangest values is looked
 * up by its number and compared with the cursor's, field by field, to the bit. And what the cursor leaves out when it
 * is asked for less is what was not asked for.
 */
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "keys/evidence.h"
#include "replay/export/exporter.h"
#include "format/base/output_file.h"
#include "replay/sql/vtab.h"
#include "replay/sql/sqlschema.h"
#include "replay/sql/sqlview.h"
#include "tests/unit/extreme.h"

struct opened {
	const char *path;
	struct evidence evidence;
	struct filter filter;
	struct replay replay;
};

static struct opened *open_extreme(void)
{
	const struct evidence_options o = {.unverified = true};
	struct opened *c = calloc(1, sizeof(*c));
	struct fault why;

	assert_non_null(c);
	c->path = extreme_capture();
	assert_int_equal(evidence_judge(&c->evidence, c->path, &o, &why), 0);
	assert_int_equal(c->evidence.verification.verdict, VERDICT_UNTRUSTED); /* but consistent */
	c->filter.to_ns = UINT64_MAX;
	c->replay = (struct replay){.evidence = &c->evidence, .filter = &c->filter};
	return c;
}

static void close_extreme(struct opened *c)
{
	evidence_close(&c->evidence);
	free(c);
}

/* Texts ---------------------------------------------------------------------------------------------------------------
 */

static size_t put_utf8(char *out, uint32_t cp)
{
	if (cp < 0x80) {
		out[0] = (char)cp;
		return 1;
	}
	if (cp < 0x800) {
		out[0] = (char)(0xc0 | cp >> 6);
		out[1] = (char)(0x80 | (cp & 63));
		return 2;
	}
	if (cp < 0x10000) {
		out[0] = (char)(0xe0 | cp >> 12);
		out[1] = (char)(0x80 | (cp >> 6 & 63));
		out[2] = (char)(0x80 | (cp & 63));
		return 3;
	}
	out[0] = (char)(0xf0 | cp >> 18);
	out[1] = (char)(0x80 | (cp >> 12 & 63));
	out[2] = (char)(0x80 | (cp >> 6 & 63));
	out[3] = (char)(0x80 | (cp & 63));
	return 4;
}

/* The recorded bytes, as docs/SCHEMA.md says how to get them: \\, \xNN, \u{NNNN}. */
static size_t unescape(char *out, const char *text)
{
	size_t n = 0;

	while (*text) {
		char *end = NULL;

		if (*text != '\\') {
			out[n++] = *text++;
		} else if (text[1] == '\\') {
			out[n++] = '\\';
			text += 2;
		} else if (text[1] == 'x') {
			const char digits[3] = {text[2], text[3], 0};

			out[n++] = (char)strtoul(digits, NULL, 16);
			text += 4;
		} else {
			assert_memory_equal(text, "\\u{", 3);
			n += put_utf8(out + n, (uint32_t)strtoul(text + 3, &end, 16));
			assert_int_equal(*end, '}');
			text = end + 1;
		}
	}
	return n;
}

/* Events --------------------------------------------------------------------------------------------------------------
 */

/* The column that a field is in, by the rules of docs/SCHEMA.md. */
static void column_of(char *out, size_t size, const struct kind *k, uint8_t f)
{
	uint8_t unit = k->fields[f].unit;

	snprintf(out, size, "%s%s", k->fields[f].name, unit == UNIT_NS || unit == UNIT_BOOT_NS ? "_ns" : "");
	if (!strcmp(k->name, "module") && !strcmp(out, "id"))
		snprintf(out, size, "module");
	if (!strcmp(k->name, "gpu") && !strcmp(out, "index"))
		snprintf(out, size, "gpu");
}

static void compare_field(sqlite3_stmt *row, int column, const struct event *ev, uint8_t f)
{
	static char bytes[TEXT_MAX * ESCAPE_GROWTH + 1];
	size_t n;

	if (ev->shape->fields[f].encoding != ENC_TEXT) {
		assert_int_equal(sqlite3_column_type(row, column), SQLITE_INTEGER);
		if ((uint64_t)sqlite3_column_int64(row, column) != ev->v[f])
			fail_msg("%s.%s: %llx for %llx", ev->shape->name, ev->shape->fields[f].name,
				 sqlite3_column_int64(row, column), (unsigned long long)ev->v[f]);
		return;
	}
	assert_int_equal(sqlite3_column_type(row, column), SQLITE_TEXT);
	n = unescape(bytes, (const char *)sqlite3_column_text(row, column));
	if (n != ev->v[f] || (n && memcmp(bytes, ev->text[f], n) != 0))
		fail_msg("%s.%s: another text", ev->shape->name, ev->shape->fields[f].name);
}

/* Every event is one row of its table, with all of its fields. */
static void compare_events(sqlite3 *db, const struct opened *c)
{
	const struct schema *schema = &c->evidence.reader.header.schema;
	uint64_t n = 0;
	struct cursor *cur = NULL;
	struct event ev;
	struct fault why;
	int r;

	assert_int_equal(cursor_open(&cur, &c->evidence.reader, false, &why), 0);
	while ((r = cursor_next(cur, &ev, &why)) > 0) {
		struct mapping map;
		sqlite3_stmt *row = NULL;
		char sql[128];

		if (ev.kind == KIND_epoch)
			continue;
		assert_int_equal(ev.number, ++n);
		mapping_make(&map, ev.shape);
		assert_non_null(map.table); /* each kind has a table */
		snprintf(sql, sizeof(sql), "SELECT * FROM %s WHERE id = %llu", map.table, (unsigned long long)n);
		assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &row, NULL), SQLITE_OK);
		assert_int_equal(sqlite3_step(row), SQLITE_ROW);
		for (uint8_t f = 0; f < ev.shape->nfields; f++) {
			char name[NAME_MAX_BYTES + 8];
			int column = 0;

			column_of(name, sizeof(name), ev.shape, f);
			while (column < sqlite3_column_count(row) &&
			       strcmp(sqlite3_column_name(row, column), name) != 0)
				column++;
			if (column == sqlite3_column_count(row))
				fail_msg("%s has no column %s", map.table, name);
			compare_field(row, column, &ev, f);
		}
		assert_int_equal(sqlite3_step(row), SQLITE_DONE);
		sqlite3_finalize(row);
	}
	assert_int_equal(r, 0);
	assert_int_equal(n, schema->nkinds * EXTREME_ROWS);
	cursor_close(cur);
}

static sqlite3_int64 number_from(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *st = NULL;
	sqlite3_int64 v;

	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	v = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return v;
}

static void the_database_has_every_field_of_every_kind_to_the_bit(void **state)
{
	struct opened *c = open_extreme();
	const char *path = made_path("extreme.db");
	sqlite3 *db = NULL;
	int fd;
	struct fault why;

	(void)state;
	made_write(path, "", 0);
	fd = open(path, O_RDWR);
	if (sqlview_write_file(&c->replay, fd, &why))
		fail_msg("%s", why.text);
	close(fd);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	compare_events(db, c);
	sqlite3_close(db);
	close_extreme(c);
}

/*
 * Somebody who may change the folder puts a link to another's file in place of each output while it is made: nothing is
 * written there, and nothing gets the output's name.
 */
static void no_output_follows_a_link_in_its_place(void **state)
{
	struct opened *c = open_extreme();
	char *victim = strdup(made_path("victim")); /* more names follow than made_path() keeps */
	struct target target;
	struct fault why;
	char name[64], *kept;
	size_t n;
	int r;

	(void)state;
	for (const struct exporter *e = exporters(); e->suffix; e++) {
		made_write(victim, "theirs", 6);
		snprintf(name, sizeof(name), "linked%s", e->suffix);
		assert_int_equal(target_open(&target, made_path(name), false, 0666, &why), 0);
		assert_int_equal(unlinkat(target.folder, target.temporary, 0), 0);
		assert_int_equal(symlinkat(victim, target.folder, target.temporary), 0);
		r = e->write_file(&c->replay, target.fd, &why);
		/* SQLite cannot but open files by their names. */
		assert_true(e->write_file == sqlview_write_file ? r < 0 : r >= 0);
		assert_int_equal(target_commit(&target, &why), ERR_EXISTS);
		assert_non_null(strstr(why.text, "somebody put another file in its place"));
		assert_int_equal(access(made_path(name), F_OK), -1);
		kept = made_read(victim, &n);
		assert_int_equal(n, 6);
		assert_memory_equal(kept, "theirs", 6);
		free(kept);
	}
	free(victim);
	close_extreme(c);
}

/* Called once, after readlink(2) gave the name of the database in the making and before it is opened by that name. */
static void (*after_readlink)(void);
static struct target swapped;

ssize_t readlink(const char *path, char *buf, size_t n)
{
	ssize_t len = syscall(SYS_readlinkat, AT_FDCWD, path, buf, n);
	void (*act)(void) = after_readlink;

	after_readlink = NULL;
	if (act)
		act();
	return len;
}

static void put_link_to_victim(void)
{
	assert_int_equal(unlinkat(swapped.folder, swapped.temporary, 0), 0);
	assert_int_equal(symlinkat("victim", swapped.folder, swapped.temporary), 0);
}

static void put_victim(void)
{
	assert_int_equal(renameat(swapped.folder, "victim", swapped.folder, swapped.temporary), 0);
	assert_int_equal(linkat(swapped.folder, swapped.temporary, swapped.folder, "victim", 0), 0);
}

/* At the worst moment: SQLite opens what it is given the name of, and that must show before it writes there. */
static void no_database_is_made_in_another_file(void **state)
{
	void (*const acts[])(void) = {put_link_to_victim, put_victim};
	struct opened *c = open_extreme();
	struct fault why;
	struct stat st;

	(void)state;
	for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++) {
		made_write(made_path("victim"), "", 0);
		assert_int_equal(target_open(&swapped, made_path("other.db"), false, 0666, &why), 0);
		after_readlink = acts[i];
		assert_int_equal(sqlview_write_file(&c->replay, swapped.fd, &why), ERR_IO);
		assert_null(after_readlink);
		assert_int_equal(stat(made_path("victim"), &st), 0);
		assert_int_equal(st.st_size, 0);
		target_discard(&swapped);
	}
	close_extreme(c);
}

/* A connection with the module, and the capture opened in it. */
static sqlite3 *open_module(const struct opened *c)
{
	char sql[1024], *message = NULL;
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	assert_int_equal(sqlite3_gpucap_init(db, NULL, NULL), SQLITE_OK);
	snprintf(sql, sizeof(sql), "CREATE VIRTUAL TABLE run USING gpucap('%s', unverified)", c->path);
	if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
		fail_msg("%s", message);
	return db;
}

static void the_module_has_every_field_of_every_kind_to_the_bit(void **state)
{
	struct opened *c = open_extreme();
	sqlite3 *db = open_module(c);

	(void)state;
	compare_events(db, c);
	sqlite3_close(db);
	close_extreme(c);
}

/* Times beyond 2^63 are negative numbers to SQL: what orders and bounds them must not leave any out. */
static void times_that_sql_takes_for_negative_are_not_lost(void **state)
{
	struct opened *c = open_extreme();
	sqlite3 *db = open_module(c);
	sqlite3_int64 nkinds = (sqlite3_int64)c->evidence.reader.header.schema.nkinds;

	(void)state;
	assert_int_equal(number_from(db, "SELECT count(*) FROM events WHERE at_ns < 0"), nkinds);
	assert_int_equal(number_from(db, "SELECT count(*) FROM facts WHERE at_ns < 5"), 1);
	assert_int_equal(number_from(db, "SELECT at_ns FROM facts ORDER BY at_ns LIMIT 1"), -2);
	assert_int_equal(number_from(db, "SELECT count(*) FROM facts WHERE at_ns > 5"), EXTREME_ROWS - 1);
	assert_int_equal(number_from(db, "SELECT count(*) FROM facts WHERE at_ns = -2"), 1);
	sqlite3_close(db);
	close_extreme(c);
}

static void a_connection_can_be_closed_whatever_was_asked(void **state)
{
	struct opened *c = open_extreme();
	sqlite3 *db = open_module(c);
	sqlite3_stmt *st = NULL;

	(void)state;
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT * FROM launches", -1, &st, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	assert_int_equal(sqlite3_close_v2(db), SQLITE_OK);
	assert_int_equal(sqlite3_finalize(st), SQLITE_OK);
	close_extreme(c);
}

/* The cursor, asked for less ------------------------------------------------------------------------------------------
 */

/* What comes with `wish` is what comes without, less what was not wished for. */
static void compare_wish(const struct opened *c, const struct cursor_wish *wish, uint64_t from_ns)
{
	const struct schema *schema = &c->evidence.reader.header.schema;
	struct cursor *all = NULL, *some = NULL;
	struct event want, got;
	struct fault why;
	int r;

	assert_int_equal(cursor_open(&all, &c->evidence.reader, false, &why), 0);
	assert_int_equal(cursor_open(&some, &c->evidence.reader, false, &why), 0);
	cursor_ask(some, wish);
	cursor_seek(some, from_ns);
	while ((r = cursor_next(all, &want, &why)) > 0) {
		uint32_t fields = want.kind == KIND_epoch ? 0
				  : wish->fields          ? wish->fields[want.shape - schema->kinds]
							  : UINT32_MAX;

		if (!fields || want.at_ns < from_ns || want.at_ns >= wish->to_ns)
			continue;
		do
			assert_int_equal(cursor_next(some, &got, &why), 1);
		while (got.kind == KIND_epoch);
		assert_int_equal(got.number, wish->unnumbered ? 0 : want.number);
		assert_int_equal(got.kind, want.kind);
		assert_int_equal(got.at_ns, want.at_ns);
		for (uint8_t f = 1; f < want.shape->nfields; f++) {
			assert_int_equal(got.v[f], fields >> f & 1 ? want.v[f] : 0);
			if (want.shape->fields[f].encoding == ENC_TEXT && fields >> f & 1 && want.v[f])
				assert_memory_equal(got.text[f], want.text[f], want.v[f]);
		}
	}
	assert_int_equal(r, 0);
	while ((r = cursor_next(some, &got, &why)) > 0)
		assert_int_equal(got.kind, KIND_epoch);
	assert_int_equal(r, 0);
	cursor_close(all);
	cursor_close(some);
}

static void a_cursor_gives_what_it_is_asked_for_and_nothing_else(void **state)
{
	struct opened *c = open_extreme();
	size_t nkinds = c->evidence.reader.header.schema.nkinds;
	uint32_t fields[KINDS_MAX] = {0};
	struct cursor_wish wish = {.to_ns = UINT64_MAX};

	(void)state;
	compare_wish(c, &wish, 0);
	compare_wish(c, &wish, SAMPLE_BOOT + 1005);
	wish.to_ns = SAMPLE_BOOT + 2003;
	compare_wish(c, &wish, SAMPLE_BOOT + 1005);
	wish.fields = fields;
	compare_wish(c, &wish, 0); /* nothing at all */
	for (int unnumbered = 0; unnumbered < 2; unnumbered++) {
		wish.unnumbered = unnumbered;
		wish.to_ns = UINT64_MAX;
		for (size_t k = 0; k < nkinds; k++) {
			memset(fields, 0, sizeof(fields));
			fields[k] = 1;
			compare_wish(c, &wish, 0);
			fields[k] = 0xaaaaaaaa;
			fields[(k + 7) % nkinds] = 0x55555554;
			compare_wish(c, &wish, 0);
			compare_wish(c, &wish, SAMPLE_BOOT + 100 * k + 3);
		}
	}
	close_extreme(c);
}

static void a_cursor_finds_an_event_by_its_number(void **state)
{
	struct opened *c = open_extreme();
	struct cursor *cur = NULL;
	struct event ev;
	struct fault why;

	(void)state;
	assert_int_equal(cursor_open(&cur, &c->evidence.reader, false, &why), 0);
	cursor_seek_number(cur, 3);
	assert_int_equal(cursor_next(cur, &ev, &why), 1);
	assert_int_equal(ev.kind, KIND_epoch);
	assert_int_equal(cursor_next(cur, &ev, &why), 1);
	assert_int_equal(ev.number, 1);
	cursor_seek_number(cur, UINT64_MAX);
	assert_int_equal(cursor_next(cur, &ev, &why), 0);
	cursor_close(cur);
	close_extreme(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_database_has_every_field_of_every_kind_to_the_bit),
		cmocka_unit_test(no_output_follows_a_link_in_its_place),
		cmocka_unit_test(no_database_is_made_in_another_file),
		cmocka_unit_test(the_module_has_every_field_of_every_kind_to_the_bit),
		cmocka_unit_test(times_that_sql_takes_for_negative_are_not_lost),
		cmocka_unit_test(a_connection_can_be_closed_whatever_was_asked),
		cmocka_unit_test(a_cursor_gives_what_it_is_asked_for_and_nothing_else),
		cmocka_unit_test(a_cursor_finds_an_event_by_its_number),
	};

	return cmocka_run_group_tests(tests, NULL, made_clear);
}
