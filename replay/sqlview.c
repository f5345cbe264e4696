/* SPDX-License-Identifier: Apache-2.0 */
/* The SQLite view of a capture: opened, filled in one transaction, described, closed. */
#include "replay/sqlview.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "keys/tool.h"
#include "replay/exporter.h"
#include "replay/sqlschema.h"
#include "replay/words.h"

struct view {
	sqlite3 *db;
	struct load load;
	struct derive derive;
	sqlite3_stmt *epoch, *counter, *withheld;
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

void sql_bind_time(sqlite3_stmt *st, int column, uint64_t ns)
{
	if (ns == NO_TIME)
		sqlite3_bind_null(st, column);
	else
		sqlite3_bind_int64(st, column, (sqlite3_int64)ns);
}

static int execute(sqlite3 *db, const char *sql, struct fault *why)
{
	return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : sql_fault(db, "set up", why);
}

static int execute_all(sqlite3 *db, const char *const *list, struct fault *why)
{
	int r = 0;

	for (; *list && !r; list++)
		r = execute(db, *list, why);
	return r;
}

/* A value for insert_values(): text when `text` is set, NULL when `absent`. */
struct value {
	const char *text;
	uint64_t number;
	bool absent;
};

static int insert_values(sqlite3 *db, const char *sql, const struct value *values, int n, struct fault *why)
{
	sqlite3_stmt *st = NULL;
	int r = sql_prepare(db, sql, &st, why);

	for (int i = 0; !r && i < n; i++) {
		if (values[i].absent)
			sqlite3_bind_null(st, i + 1);
		else if (values[i].text)
			sqlite3_bind_text(st, i + 1, values[i].text, -1, SQLITE_STATIC);
		else
			sqlite3_bind_int64(st, i + 1, (sqlite3_int64)values[i].number);
	}
	if (!r)
		r = sql_insert(db, st, why);
	sqlite3_finalize(st);
	return r;
}

static const char *hex(char *buf, const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		snprintf(buf + 2 * i, 3, "%02x", bytes[i]);
	return buf;
}

/* Tables that say what the numbers mean ------------------------------------------------------------------------------
 */

static int insert_kinds(sqlite3 *db, const struct replay *replay, struct fault *why)
{
	const struct reader *reader = &replay->evidence->reader;
	const struct schema *s = &reader->header.schema;
	int r = 0;

	for (size_t i = 0; !r && i < s->nkinds; i++) {
		const struct kind *k = &s->kinds[i];
		const char *class = schema_class_name(s, k->class);
		struct value v[] = {{.number = k->id},
				    {.text = k->name},
				    {.text = class, .absent = !class},
				    {.number = (k->flags & KIND_COUNTED) != 0},
				    {.number = k->flags == KIND_CALL},
				    {.number = replay_count(reader, replay_nepochs(replay), k->id)}};

		r = insert_values(db, "INSERT INTO kinds VALUES(?,?,?,?,?,?)", v, 6, why);
	}
	return r;
}

static int insert_meanings(sqlite3 *db, const struct schema *s, struct fault *why)
{
	static const char *const roles[] = {
		[ROLE_FIRED] = "fired", [ROLE_RECORDED] = "recorded", [ROLE_LOST] = "lost", [ROLE_NOTED] = "noted"};
	const struct enum_word *words;
	size_t nwords;
	int r = 0;

	for (size_t i = 0; !r && i < s->nprobes; i++) {
		struct value v[] = {{.number = s->probes[i].id},
				    {.text = s->probes[i].name},
				    {.number = s->probes[i].kind, .absent = !s->probes[i].kind}};

		r = insert_values(db, "INSERT INTO probes VALUES(?,?,?)", v, 3, why);
	}
	for (size_t i = 0; !r && i < s->ncounters; i++) {
		const struct counter_type *c = &s->counters[i];
		struct value v[] = {{.number = c->id},
				    {.text = c->name},
				    {.text = c->role <= ROLE_NOTED && roles[c->role] ? roles[c->role] : "other"},
				    {.text = counter_words(c)}};

		r = insert_values(db, "INSERT INTO causes VALUES(?,?,?,?)", v, 4, why);
	}
	words = enum_words(&nwords);
	for (size_t i = 0; !r && i < nwords; i++) {
		const struct kind *k = schema_kind(s, words[i].kind);
		struct value v[] = {{.number = words[i].kind},
				    {.text = k ? k->fields[words[i].field].name : ""},
				    {.number = words[i].value},
				    {.text = words[i].word}};

		if (k)
			r = insert_values(db, "INSERT INTO enums VALUES(?,?,?,?)", v, 4, why);
	}
	return r;
}

static int insert_people(sqlite3 *db, const struct people *p, struct fault *why)
{
	int r = 0;

	for (uint32_t i = 1; !r && i <= p->nprocesses; i++) {
		const struct process *x = &p->processes[i];
		struct value v[] = {{.number = i},
				    {.number = x->pid},
				    {.number = x->ppid, .absent = !x->told},
				    {.number = x->uid, .absent = !x->told},
				    {.number = x->tracked, .absent = !x->told},
				    {.number = x->start_ns, .absent = x->start_ns == NO_TIME},
				    {.number = x->first_ns},
				    {.number = x->end_ns, .absent = x->end_ns == NO_TIME},
				    {.number = x->status, .absent = x->end_ns == NO_TIME},
				    {.text = x->name, .absent = !x->name},
				    {.text = x->path, .absent = !x->path}};

		r = insert_values(db, "INSERT INTO processes VALUES(?,?,?,?,?,?,?,?,?,?,?)", v, 11, why);
	}
	for (uint32_t i = 1; !r && i <= p->nthreads; i++) {
		const struct thread *x = &p->threads[i];
		struct value v[] = {{.number = i},
				    {.number = x->tid},
				    {.number = x->process, .absent = !x->process},
				    {.number = x->start_ns, .absent = x->start_ns == NO_TIME},
				    {.number = x->first_ns},
				    {.number = x->end_ns, .absent = x->end_ns == NO_TIME},
				    {.number = x->status, .absent = x->end_ns == NO_TIME},
				    {.text = x->name, .absent = !x->name}};

		r = insert_values(db, "INSERT INTO threads VALUES(?,?,?,?,?,?,?,?)", v, 8, why);
	}
	return r;
}

static int insert_capture(const struct view *view, const struct walk *w, const struct fault *stopped, struct fault *why)
{
	const struct reader *r = w->reader;
	const struct header *h = &r->header;
	const struct evidence *e = w->replay->evidence;
	const struct epoch *last = w->nepochs > 0 ? &r->epochs[w->nepochs - 1] : NULL;
	bool ended = !stopped && r->tail == TAIL_END && w->nepochs == r->nepochs;
	uint64_t end_ns = last ? last->end_ns : h->start_boot_ns;
	char id[CAPTURE_ID_BYTES * 2 + 1], seal[HASH_BYTES * 2 + 1], sentence[512], filter[512], format[32];
	const char *reason = ended ? reason_text(r->end.reason) : NULL;
	struct value v[] = {
		{.text = hex(id, h->capture_id, CAPTURE_ID_BYTES)},
		{.text = verdict_word(e->verification.verdict)},
		{.number = w->replay->unverified},
		{.text = sentence},
		{.text = e->signer},
		{.text = e->signer_name},
		{.text = format},
		{.text = TOOL_VERSION},
		{.number = h->start_boot_ns},
		{.number = h->start_wall_ns},
		{.number = end_ns},
		{.number = reader_wall_ns(r, end_ns)},
		{.number = w->nepochs},
		{.number = view->load.nrows},
		{.number = e->verification.nlost},
		{.number = e->verification.nwithheld},
		{.number = ended},
		{.text = reason, .number = ended ? r->end.reason : 0, .absent = !ended},
		{.number = (uint64_t)(int64_t)r->end.exit_status, .absent = !ended || !r->end.has_exit_status},
		{.text = last || ended ? hex(seal, ended ? r->end.hash : last->hash, HASH_BYTES) : ""},
		{.text = filter},
		{.text = stopped ? stopped->text : NULL, .absent = !stopped},
	};

	evidence_sentence(e, sentence, sizeof(sentence));
	filter_describe(w->replay->filter, &h->schema, filter, sizeof(filter));
	snprintf(format, sizeof(format), "%u.%u", h->major, h->minor);
	return insert_values(view->db, "INSERT INTO capture VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", v,
			     (int)(sizeof(v) / sizeof(v[0])), why);
}

/* The walk ------------------------------------------------------------------------------------------------------------
 */

static int on_epoch(void *self, struct walk *w, const struct epoch *e, struct fault *why)
{
	struct view *view = self;
	uint64_t nevents = 0, nwithheld = 0;
	char seal[HASH_BYTES * 2 + 1];
	sqlite3_stmt *st = view->epoch;
	int column = 1;

	for (uint32_t i = 0; i < e->ncounts; i++)
		nevents += e->counts[i].count;
	for (uint32_t i = 0; i < e->nchunks; i++)
		nwithheld += e->chunks[i].withheld;
	const uint64_t numbers[] = {e->number,
				    e->begin_ns,
				    e->end_ns,
				    e->anchor.boot_ns,
				    e->anchor.wall_ns,
				    e->anchor.mono_ns,
				    reader_wall_ns(w->reader, e->begin_ns) - e->begin_ns,
				    e->self.cpu_ns,
				    e->self.rss_bytes,
				    e->self.ring_high_bytes,
				    e->self.written_bytes,
				    nevents,
				    nwithheld};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sqlite3_bind_int64(st, column++, (sqlite3_int64)numbers[i]);
	sqlite3_bind_text(st, column, hex(seal, e->hash, HASH_BYTES), -1, SQLITE_TRANSIENT);
	return sql_insert(view->db, st, why);
}

static int on_growth(void *self, struct walk *w, const struct growth *g, struct fault *why)
{
	struct view *view = self;
	const uint64_t numbers[] = {g->epoch, g->begin_ns, g->end_ns, g->probe->id, g->counter->id, g->delta, g->total};

	(void)w;
	derive_lost(&view->derive, g);
	for (int i = 0; i < 7; i++)
		sqlite3_bind_int64(view->counter, i + 1, (sqlite3_int64)numbers[i]);
	return sql_insert(view->db, view->counter, why);
}

static int on_withheld(void *self, struct walk *w, const struct epoch *e, const struct chunk *c, struct fault *why)
{
	struct view *view = self;
	const char *class = schema_class_name(&w->reader->header.schema, c->class);

	sqlite3_bind_int64(view->withheld, 1, (sqlite3_int64)e->number);
	sqlite3_bind_text(view->withheld, 2, class ? class : "", -1, SQLITE_STATIC);
	sqlite3_bind_int64(view->withheld, 3, (sqlite3_int64)c->first_ns);
	sqlite3_bind_int64(view->withheld, 4, (sqlite3_int64)c->last_ns);
	sqlite3_bind_int64(view->withheld, 5, c->nrows);
	return sql_insert(view->db, view->withheld, why);
}

static int on_event(void *self, struct walk *w, const struct event *ev, struct fault *why)
{
	struct view *view = self;
	int r = load_event(&view->load, w, ev, w->nevents, why);

	return r ? r : derive_see(&view->derive, w, ev, w->nevents, why);
}

static int on_end(void *self, struct walk *w, const struct fault *stopped, struct fault *why)
{
	struct view *view = self;
	int r = derive_finish(&view->derive, w, why);

	if (!r)
		r = insert_people(view->db, &w->people, why);
	return r ? r : insert_capture(view, w, stopped, why);
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
	r = execute(v->db, pragmas, why);
	if (!r)
		r = execute_all(v->db, sqlschema_tables, why);
	if (!r)
		r = sql_prepare(v->db, "INSERT INTO epochs VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?)", &v->epoch, why);
	if (!r)
		r = sql_prepare(v->db, "INSERT INTO counters VALUES(?,?,?,?,?,?,?)", &v->counter, why);
	if (!r)
		r = sql_prepare(v->db, "INSERT INTO withheld VALUES(?,?,?,?,?)", &v->withheld, why);
	if (!r)
		r = load_open(&v->load, v->db, schema, why);
	if (!r)
		r = derive_open(&v->derive, v->db, why);
	if (!r)
		r = insert_kinds(v->db, replay, why);
	return r ? r : insert_meanings(v->db, schema, why);
}

int sqlview_write_file(const struct replay *replay, const char *path, struct fault *why)
{
	static const struct visitor visitor = {.keep_names = true,
					       .epoch = on_epoch,
					       .growth = on_growth,
					       .withheld = on_withheld,
					       .event = on_event,
					       .end = on_end};
	struct view v = {0};
	int r, walked = 0;

	if (sqlite3_open_v2(path, &v.db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK) {
		r = sql_fault(v.db, "open", why);
		goto out;
	}
	r = prepare(&v, replay, why);
	if (!r)
		walked = r = walk(replay, &visitor, &v, why);
	if (r >= 0)
		r = execute_all(v.db, sqlschema_indexes, why);
	if (!r)
		r = execute_all(v.db, sqlschema_views, why);
	if (!r)
		r = execute(v.db, "COMMIT", why);
out:
	load_close(&v.load);
	derive_close(&v.derive);
	sqlite3_finalize(v.epoch);
	sqlite3_finalize(v.counter);
	sqlite3_finalize(v.withheld);
	if (sqlite3_close(v.db) != SQLITE_OK && !r)
		r = sql_fault(v.db, "close", why);
	return r ? r : walked;
}
