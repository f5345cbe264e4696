/* SPDX-License-Identifier: Apache-2.0 */
/* A capture that the tables of a connection share: opened once, judged, and learnt from when something asks for it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/sql/vtab_internal.h"
#include "format/base/array.h"
#include "replay/sql/sqlschema.h"

/* --- instances --- */

uint32_t instances_find(const struct instances *s, uint32_t id, uint64_t number)
{
	uint32_t n = map_get(&s->youngest, id, 0);

	while (n && s->list[n].born > number)
		n = s->list[n].older;
	return n;
}

static int instances_add(struct instances *s, uint32_t id, uint64_t number, struct fault *why)
{
	uint32_t n = s->n + 1;
	struct instance *new = array_at(&s->list, &s->room, n, sizeof(*new));

	if (!new)
		return fault_no_memory(why);
	*new = (struct instance){.born = number, .id = id, .older = map_get(&s->youngest, id, 0)};
	if (map_put(&s->youngest, id, 0, n))
		return fault_no_memory(why);
	s->n = n;
	return 0;
}

static void instances_clear(struct instances *s)
{
	map_clear(&s->youngest);
	free(s->list);
	*s = (struct instances){0};
}

/* --- the pass --- */

struct pass {
	struct shared *shared;
	unsigned learns; /* LEARNT_* */
	struct facts facts;
	struct load load;
	struct derive derive;
	uint32_t fields[KINDS_MAX];
};

static int on_epoch(void *self, struct walk *w, const struct epoch *e, struct fault *why)
{
	struct pass *p = self;
	int r = p->learns & LEARNT_DERIVED ? derive_epoch(&p->derive, w, e, why) : 0;

	return !r && p->learns & LEARNT_SEALS ? facts_epoch(&p->facts, w, e, why) : r;
}

static int on_growth(void *self, struct walk *w, const struct growth *g, struct fault *why)
{
	struct pass *p = self;

	(void)w;
	if (p->learns & LEARNT_DERIVED)
		derive_lost(&p->derive, g);
	return p->learns & LEARNT_SEALS ? facts_growth(&p->facts, g, why) : 0;
}

static int on_withheld(void *self, struct walk *w, const struct epoch *e, const struct chunk *c, struct fault *why)
{
	struct pass *p = self;

	return p->learns & LEARNT_SEALS ? facts_withheld(&p->facts, w, e, c, why) : 0;
}

static int note_tasks(struct shared *s, const struct tasks *tasks, uint64_t number, struct fault *why)
{
	int r = 0;

	while (!r && s->processes.n < tasks->nprocesses)
		r = instances_add(&s->processes, tasks->processes[s->processes.n + 1].pid, number, why);
	while (!r && s->threads.n < tasks->nthreads)
		r = instances_add(&s->threads, tasks->threads[s->threads.n + 1].tid, number, why);
	return r;
}

/* Rows of events that are learnt, too: they are looked up by what they report. */
static bool is_name(uint16_t kind)
{
	return kind == KIND_frame || kind == KIND_kernel;
}

static int on_event(void *self, struct walk *w, const struct event *ev, struct fault *why)
{
	struct pass *p = self;
	int r = 0;

	p->shared->nreadable = ev->number;
	if (p->learns & LEARNT_NAMES) {
		r = note_tasks(p->shared, &w->tasks, ev->number, why);
		if (!r && is_name(ev->kind))
			r = load_event(&p->load, w, ev, ev->number, why);
	}
	if (!r && p->learns & LEARNT_DERIVED)
		r = derive_see(&p->derive, w, ev, why);
	return r;
}

/* Rows of events that are there, of those that may be read. */
static uint64_t count_rows(const struct shared *s)
{
	uint64_t n = 0;

	for (uint64_t e = 0; e < s->nepochs; e++)
		for (uint32_t i = 0; i < s->evidence.reader.epochs[e].nchunks; i++)
			if (!s->evidence.reader.epochs[e].chunks[i].withheld)
				n += s->evidence.reader.epochs[e].chunks[i].nrows;
	return n;
}

static int on_end(void *self, struct walk *w, const struct fault *stopped, struct fault *why)
{
	struct pass *p = self;
	struct shared *s = p->shared;
	int r = 0;

	if (p->learns & LEARNT_DERIVED)
		r = derive_finish(&p->derive, w, why);
	if (!r && p->learns & LEARNT_NAMES)
		r = facts_tasks(&p->facts, &w->tasks, why);
	if (!s->replay.unverified)
		s->nreadable = UINT64_MAX;
	if (!r && p->learns & LEARNT_SEALS)
		r = facts_capture(&p->facts, w, s->replay.unverified ? s->nreadable : count_rows(s), stopped, why);
	return r;
}

/* What shows which work a GPU was given, and when that was done; and which GPU function is launched. */
static uint32_t fields_of_work(uint16_t kind)
{
	switch (kind) {
	case KIND_launch:
		return 1u << F_launch_function | 1u << F_launch_stream;
	case KIND_copy:
		return 1u << F_call_ret | 1u << F_copy_direction | 1u << F_copy_stream;
	case KIND_set:
		return 1u << F_set_stream;
	case KIND_collective:
		return 1u << F_collective_stream;
	case KIND_wait:
		return 1u << F_call_ret | 1u << F_wait_object;
	default:
		return 0;
	}
}

/* Which fields a pass needs: of the many calls only who made them, unless more follows from them. */
static void choose_fields(struct pass *p)
{
	const struct schema *schema = &p->shared->evidence.reader.header.schema;

	for (size_t k = 0; k < schema->nkinds && p->learns & ~(unsigned)LEARNT_SEALS; k++) {
		const struct kind *kind = &schema->kinds[k];
		bool call = kind->flags == KIND_CALL || kind->id == KIND_futex || kind->id == KIND_fault;
		bool followed = kind->id == KIND_alloc || kind->id == KIND_free || kind->id == KIND_context ||
				kind->id == KIND_stream || kind->id == KIND_graph || kind->id == KIND_load;

		p->fields[k] = UINT32_MAX;
		if (!call || ((followed || kind->id == KIND_futex) && p->learns & LEARNT_DERIVED))
			continue;
		p->fields[k] = 1u << F_call_at | 1u << F_call_pid | 1u << F_call_tid;
		if (!(p->learns & LEARNT_DERIVED))
			continue;
		/* When its thread ran, whether allocations were made within it, and whether it was a first one. */
		if (kind->flags == KIND_CALL)
			p->fields[k] |= 1u << F_call_dur | 1u << F_call_cpu | 1u << F_call_flags | 1u << F_call_probe;
		else
			p->fields[k] |= 1u << F_fault_dur | 1u << F_fault_cpu;
		p->fields[k] |= fields_of_work(kind->id);
	}
}

static int run_pass(struct pass *p, struct fault *why)
{
	const struct cursor_wish wish = {
		.fields = p->fields, .to_ns = UINT64_MAX, .unnumbered = !(p->learns & ~(unsigned)LEARNT_SEALS)};
	const struct visitor visitor = {.wish = &wish,
					.ahead = p->learns & LEARNT_DERIVED,
					.epoch = on_epoch,
					.growth = on_growth,
					.withheld = on_withheld,
					.event = on_event,
					.end = on_end};
	struct shared *s = p->shared;
	int r = facts_open(&p->facts, s->side, why);

	if (!r)
		r = load_open(&p->load, s->side, &s->evidence.reader.header.schema, why);
	if (!r)
		r = derive_open(&p->derive, s->side, &s->evidence.reader, why);
	if (!r && p->learns & LEARNT_SEALS)
		r = facts_meanings(&p->facts, &s->replay, why);
	if (!r)
		r = walk(&s->replay, &visitor, p, why);
	return r == WALK_STOPPED ? 0 : r;
}

/* The indexes of what was learnt. */
static int make_indexes(struct shared *s, unsigned learns, struct fault *why)
{
	int r = 0;

	for (const char *const *sql = sqlschema_indexes; *sql && !r; sql++) {
		const char *table = strstr(*sql, " ON ");
		unsigned of = !table                               ? 0
			      : !strncmp(table, " ON offcpu(", 11) ? LEARNT_DERIVED
			      : !strncmp(table, " ON epochs(", 11) ? LEARNT_SEALS
			      : !strncmp(table, " ON frames(", 11) || !strncmp(table, " ON kernels(", 12) ? LEARNT_NAMES
													  : 0;

		if (learns & of)
			r = sql_execute(s->side, *sql, why);
	}
	return r;
}

int shared_learn(struct shared *s, unsigned needed, struct fault *why)
{
	struct pass *p;
	int r;

	if (s->replay.unverified)
		needed |= LEARNT_SEALS | LEARNT_NAMES; /* where the events end shows only then */
	needed &= ~s->learnt;
	if (!needed)
		return 0;
	p = calloc(1, sizeof(*p));
	if (!p)
		return fault_no_memory(why);
	p->shared = s;
	p->learns = needed;
	choose_fields(p);
	if (needed & LEARNT_NAMES) {
		instances_clear(&s->processes);
		instances_clear(&s->threads);
	}
	r = sql_execute(s->side, "BEGIN", why);
	if (!r)
		r = run_pass(p, why);
	if (!r)
		r = make_indexes(s, needed, why);
	load_close(&p->load);
	derive_close(&p->derive);
	facts_close(&p->facts);
	free(p);
	if (!r)
		r = sql_execute(s->side, "COMMIT", why);
	if (r)
		sqlite3_exec(s->side, "ROLLBACK", NULL, NULL, NULL);
	else
		s->learnt |= needed;
	return r;
}

/* --- opening --- */

static int make_maps(struct shared *s, struct fault *why)
{
	const struct schema *schema = &s->evidence.reader.header.schema;

	s->maps = calloc(schema->nkinds ? schema->nkinds : 1, sizeof(*s->maps));
	if (!s->maps)
		return fault_no_memory(why);
	for (size_t k = 0; k < schema->nkinds; k++) {
		mapping_make(&s->maps[k], &schema->kinds[k]);
		if (!s->maps[k].table)
			s->maps[k] = (struct mapping){
				.table = "other_events",
				.known = 1,
				.ncolumns = 3,
				.columns = {{FROM_ID, 0, "id"}, {FROM_FIELD, 0, "at_ns"}, {FROM_KIND, 0, "kind"}}};
	}
	return 0;
}

/* The private database: a temporary file that SQLite removes, and most often only memory. */
static int open_side(struct shared *s, struct fault *why)
{
	int r;

	if (sqlite3_open_v2("", &s->side, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) != SQLITE_OK)
		return sql_fault(s->side, "open", why);
	r = sql_execute(s->side, "PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF; PRAGMA cache_size=-65536", why);
	return r ? r : sql_execute_all(s->side, sqlschema_tables, why);
}

static int open_capture(struct shared *s, const struct opening *o, struct fault *why)
{
	const struct evidence_options options = {.trust_files = o->trust,
						 .ntrust_files = o->ntrust,
						 .delegation_files = o->delegations,
						 .ndelegation_files = o->ndelegations,
						 .unverified = o->unverified,
						 .fd = o->fd,
						 .scope = o->all || o->unverified ? VERIFY_ROWS : VERIFY_SEALS};
	const struct reader *r = &s->evidence.reader;
	int status = evidence_judge(&s->evidence, o->path, &options, why);

	if (status)
		return status;
	if (!evidence_acceptable(&s->evidence, &options, why))
		return why->code;
	s->filter.to_ns = UINT64_MAX;
	s->replay = (struct replay){.evidence = &s->evidence, .filter = &s->filter, .unverified = o->unverified};
	s->nepochs = replay_nepochs(&s->replay);
	s->nreadable = UINT64_MAX;
	s->ordered = !s->nepochs || r->epochs[s->nepochs - 1].end_ns <= INT64_MAX;
	for (uint64_t e = 0; e < s->nepochs && o->unverified; e++)
		s->ordered = s->ordered && r->epochs[e].end_ns <= INT64_MAX &&
			     (e == 0 || r->epochs[e].begin_ns >= r->epochs[e - 1].end_ns);
	status = make_maps(s, why);
	return status ? status : open_side(s, why);
}

/* What distinguishes one opening from another. */
static char *key_of(const struct opening *o)
{
	char *key = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&key, &len);
	bool failed;

	if (!f)
		return NULL;
	fprintf(f, "%s\n%d%d %d\n", o->path, o->unverified, o->all, o->fd);
	for (size_t i = 0; i < o->ntrust; i++)
		fprintf(f, "trust %s\n", o->trust[i]);
	for (size_t i = 0; i < o->ndelegations; i++)
		fprintf(f, "delegation %s\n", o->delegations[i]);
	failed = ferror(f) != 0;
	failed = fclose(f) != 0 || failed;
	if (!failed)
		return key;
	free(key);
	return NULL;
}

static void shared_free(struct shared *s)
{
	instances_clear(&s->processes);
	instances_clear(&s->threads);
	sqlite3_close(s->side);
	free(s->maps);
	evidence_close(&s->evidence);
	free(s->key);
	free(s);
}

int shared_acquire(struct registry *registry, const struct opening *o, struct shared **out, struct fault *why)
{
	char *key = key_of(o);
	struct shared *s = registry->first;
	int r;

	while (s && key && strcmp(s->key, key) != 0)
		s = s->next;
	if (!key)
		return fault_no_memory(why);
	if (s) {
		free(key);
		s->nusers++;
		*out = s;
		return 0;
	}
	s = calloc(1, sizeof(*s));
	if (!s) {
		free(key);
		return fault_no_memory(why);
	}
	s->evidence.source.fd = -1;
	s->key = key;
	r = open_capture(s, o, why);
	if (r) {
		shared_free(s);
		return r;
	}
	s->nusers = 1;
	s->registry = registry;
	s->next = registry->first;
	registry->first = s;
	*out = s;
	return 0;
}

void shared_release(struct shared *s)
{
	struct shared **at;

	if (!s || --s->nusers)
		return;
	for (at = &s->registry->first; *at != s;)
		at = &(*at)->next;
	*at = s->next;
	shared_free(s);
}
