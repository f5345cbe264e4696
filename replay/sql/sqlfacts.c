/* SPDX-License-Identifier: Apache-2.0 */
/* What a capture says about itself, into tables: its seals, kinds, probes, counters, tasks. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "format/base/units.h"
#include "keys/completeness.h"
#include "keys/tool/tool.h"
#include "replay/sql/sqlview.h"
#include "replay/model/enum_names.h"

int facts_open(struct facts *f, sqlite3 *db, struct fault *why)
{
	int r;

	*f = (struct facts){.db = db};
	r = sql_prepare(db, "INSERT INTO epochs VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?)", &f->epoch, why);
	if (!r)
		r = sql_prepare(db, "INSERT INTO counters VALUES(?,?,?,?,?,?,?)", &f->counter, why);
	return r ? r : sql_prepare(db, "INSERT INTO withheld VALUES(?,?,?,?,?)", &f->withheld, why);
}

void facts_close(struct facts *f)
{
	sqlite3_finalize(f->epoch);
	sqlite3_finalize(f->counter);
	sqlite3_finalize(f->withheld);
	*f = (struct facts){0};
}

static int insert_once(sqlite3 *db, const char *sql, const struct sql_value *values, size_t n, struct fault *why)
{
	sqlite3_stmt *st = NULL;
	int r = sql_prepare(db, sql, &st, why);

	if (!r)
		r = sql_insert_values(db, st, values, n, why);
	sqlite3_finalize(st);
	return r;
}

/* --- tables that say what the numbers mean --- */

static int insert_kinds(sqlite3 *db, const struct replay *replay, struct fault *why)
{
	const struct reader *reader = &replay->evidence->reader;
	const struct schema *s = &reader->header.schema;
	int r = 0;

	for (size_t i = 0; !r && i < s->nkinds; i++) {
		const struct kind *k = &s->kinds[i];
		const char *class = schema_class_name(s, k->class);
		struct sql_value v[] = {{.number = k->id},
					{.text = k->name},
					{.text = class, .absent = !class},
					{.number = (k->flags & KIND_COUNTED) != 0},
					{.number = k->flags == KIND_CALL},
					{.number = replay_count(reader, replay_nepochs(replay), k->id)}};

		r = insert_once(db, "INSERT INTO kinds VALUES(?,?,?,?,?,?)", v, 6, why);
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
		struct sql_value v[] = {{.number = s->probes[i].id},
					{.text = s->probes[i].name},
					{.number = s->probes[i].kind, .absent = !s->probes[i].kind}};

		r = insert_once(db, "INSERT INTO probes VALUES(?,?,?)", v, 3, why);
	}
	for (size_t i = 0; !r && i < s->ncounters; i++) {
		const struct counter_type *c = &s->counters[i];
		enum absence absence = absence_of(s, c->id);
		struct sql_value v[] = {{.number = c->id},
					{.text = c->name},
					{.text = c->role <= ROLE_NOTED && roles[c->role] ? roles[c->role] : "other"},
					{.text = counter_words(c)},
					{.text = absence_words[absence].name, .absent = !absence}};

		r = insert_once(db, "INSERT INTO causes VALUES(?,?,?,?,?)", v, 5, why);
	}
	words = enum_words(&nwords);
	for (size_t i = 0; !r && i < nwords; i++) {
		const struct kind *k = schema_kind(s, words[i].kind);
		struct sql_value v[] = {{.number = words[i].kind},
					{.text = k ? k->fields[words[i].field].name : ""},
					{.number = words[i].value},
					{.text = words[i].word}};

		if (k && words[i].field < k->nfields)
			r = insert_once(db, "INSERT INTO enums VALUES(?,?,?,?)", v, 4, why);
	}
	return r;
}

int facts_tasks(struct facts *facts, const struct tasks *p, struct fault *why)
{
	sqlite3 *db = facts->db;
	int r = 0;

	for (uint32_t i = 1; !r && i <= p->nprocesses; i++) {
		const struct process *x = &p->processes[i];
		struct sql_value v[] = {{.number = i},
					{.number = x->pid},
					{.number = x->ppid, .absent = !x->reported},
					{.number = x->uid, .absent = !x->reported},
					{.number = x->tracked, .absent = !x->reported},
					{.number = x->start_ns, .absent = x->start_ns == NO_TIME},
					{.number = x->first_ns},
					{.number = x->end_ns, .absent = x->end_ns == NO_TIME},
					{.number = x->status, .absent = x->end_ns == NO_TIME},
					{.text = x->shown, .absent = !x->shown},
					{.text = x->path, .absent = !x->path},
					{.number = x->pid_inside, .absent = !x->pid_inside}};

		r = insert_once(db, "INSERT INTO processes VALUES(?,?,?,?,?,?,?,?,?,?,?,?)", v, 12, why);
	}
	for (uint32_t i = 1; !r && i <= p->nthreads; i++) {
		const struct thread *x = &p->threads[i];
		struct sql_value v[] = {{.number = i},
					{.number = x->tid},
					{.number = x->process, .absent = !x->process},
					{.number = x->start_ns, .absent = x->start_ns == NO_TIME},
					{.number = x->first_ns},
					{.number = x->end_ns, .absent = x->end_ns == NO_TIME},
					{.number = x->status, .absent = x->end_ns == NO_TIME},
					{.text = x->shown, .absent = !x->shown}};

		r = insert_once(db, "INSERT INTO threads VALUES(?,?,?,?,?,?,?,?)", v, 8, why);
	}
	return r;
}

int facts_meanings(struct facts *f, const struct replay *replay, struct fault *why)
{
	int r = insert_kinds(f->db, replay, why);

	return r ? r : insert_meanings(f->db, &replay->evidence->reader.header.schema, why);
}

/* What was inspected before anything was read. */
static const char *scope_word(enum verify_scope scope)
{
	return scope == VERIFY_ROWS ? "rows" : scope == VERIFY_BYTES ? "bytes" : "seals";
}

int facts_capture(struct facts *f, const struct walk *w, uint64_t nrows, const struct fault *stopped, struct fault *why)
{
	const struct reader *r = w->reader;
	const struct header *h = &r->header;
	const struct evidence *e = w->replay->evidence;
	const struct epoch *last = w->nepochs > 0 ? &r->epochs[w->nepochs - 1] : NULL;
	bool ended = !stopped && r->tail == TAIL_END && w->nepochs == r->nepochs;
	uint64_t end_ns = last ? last->end_ns : h->start_boot_ns;
	char id[CAPTURE_ID_BYTES * 2 + 1], seal[HASH_BYTES * 2 + 1], sentence[512], filter[512], format[32];
	const char *reason = ended ? reason_text(r->end.reason) : NULL;
	struct sql_value v[] = {
		{.text = hex_text(id, h->capture_id, CAPTURE_ID_BYTES)},
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
		{.number = nrows},
		{.number = e->verification.nlost},
		{.number = e->verification.nwithheld},
		{.number = ended},
		{.text = reason, .number = ended ? r->end.reason : 0, .absent = !ended},
		{.number = (uint64_t)(int64_t)r->end.exit_status, .absent = !ended || !r->end.has_exit_status},
		{.text = last || ended ? hex_text(seal, ended ? r->end.hash : last->hash, HASH_BYTES) : ""},
		{.text = filter},
		{.text = stopped ? stopped->text : NULL, .absent = !stopped},
		{.text = scope_word(e->verification.scope)},
	};

	evidence_sentence(e, sentence, sizeof(sentence));
	filter_describe(w->replay->filter, &h->schema, filter, sizeof(filter));
	snprintf(format, sizeof(format), "%u.%u", h->major, h->minor);
	return insert_once(f->db, "INSERT INTO capture VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", v,
			   sizeof(v) / sizeof(v[0]), why);
}

/* --- seals --- */

int facts_epoch(struct facts *f, const struct walk *w, const struct epoch *e, struct fault *why)
{
	uint64_t nevents = 0, nwithheld = 0;
	char seal[HASH_BYTES * 2 + 1];

	for (uint32_t i = 0; i < e->ncounts; i++)
		nevents += e->counts[i].count;
	for (uint32_t i = 0; i < e->nchunks; i++)
		nwithheld += e->chunks[i].withheld;
	const struct sql_value v[] = {{.number = e->number},
				      {.number = e->begin_ns},
				      {.number = e->end_ns},
				      {.number = e->anchor.boot_ns},
				      {.number = e->anchor.wall_ns},
				      {.number = e->anchor.mono_ns},
				      {.number = reader_wall_ns(w->reader, e->begin_ns) - e->begin_ns},
				      {.number = e->self.cpu_ns},
				      {.number = e->self.rss_bytes},
				      {.number = e->self.ring_high_bytes},
				      {.number = e->self.written_bytes},
				      {.number = nevents},
				      {.number = nwithheld},
				      {.text = hex_text(seal, e->hash, HASH_BYTES)}};

	return sql_insert_values(f->db, f->epoch, v, sizeof(v) / sizeof(v[0]), why);
}

int facts_growth(struct facts *f, const struct growth *g, struct fault *why)
{
	const struct sql_value v[] = {{.number = g->epoch},     {.number = g->begin_ns},    {.number = g->end_ns},
				      {.number = g->probe->id}, {.number = g->counter->id}, {.number = g->delta},
				      {.number = g->total}};

	return sql_insert_values(f->db, f->counter, v, 7, why);
}

int facts_withheld(struct facts *f, const struct walk *w, const struct epoch *e, const struct chunk *c,
		   struct fault *why)
{
	const char *class = schema_class_name(&w->reader->header.schema, c->class);
	const struct sql_value v[] = {{.number = e->number},
				      {.text = class ? class : ""},
				      {.number = c->first_ns},
				      {.number = c->last_ns},
				      {.number = c->nrows}};

	return sql_insert_values(f->db, f->withheld, v, 5, why);
}
