/* SPDX-License-Identifier: Apache-2.0 */
#include "record/state_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/base/table.h"
#include "record/host/hostfacts.h"
#include "record/row.h"

#define KEYS 3
#define SWEEP_FIRST 4096u /* rows before the first look for what is gone */
#define NO_FIELD 0        /* field 0 is `at`, which is neither */

/* Which rows stand: what makes one take the place of another, and whose they are. */
static const struct about {
	uint16_t kind;
	uint8_t nfields;
	uint8_t key[KEYS]; /* fields, the last two of at most 32 and 16 bits; NO_FIELD: none more */
	uint8_t pid, start;
} abouts[] = {
	{KIND_process, NFIELDS_process, {F_process_pid}, F_process_pid, F_process_start},
	{KIND_thread, NFIELDS_thread, {F_thread_tid}, F_thread_pid, NO_FIELD},
	{KIND_follow, NFIELDS_follow, {F_follow_tid}, F_follow_pid, NO_FIELD},
	{KIND_scheduling, NFIELDS_scheduling, {F_scheduling_tid}, F_scheduling_pid, NO_FIELD},
	{KIND_namespaces, NFIELDS_namespaces, {F_namespaces_pid}, F_namespaces_pid, F_namespaces_start},
	{KIND_module, NFIELDS_module, {F_module_id}, NO_FIELD, NO_FIELD},
	{KIND_executable, NFIELDS_executable, {F_executable_pid}, F_executable_pid, F_executable_start},
	{KIND_attach, NFIELDS_attach, {F_attach_offset, F_attach_module, F_attach_probe}, NO_FIELD, NO_FIELD},
	{KIND_command_line, NFIELDS_command_line, {F_command_line_pid}, F_command_line_pid, F_command_line_start},
	{KIND_library, NFIELDS_library, {F_library_pid, F_library_module}, NO_FIELD, NO_FIELD},
	{KIND_fact, NFIELDS_fact, {NO_FIELD}, NO_FIELD, NO_FIELD}, /* by its first text */
	{KIND_gpu, NFIELDS_gpu, {F_gpu_index}, NO_FIELD, NO_FIELD},
	{KIND_disk_device, NFIELDS_disk_device, {F_disk_device_number}, NO_FIELD, NO_FIELD},
	{KIND_connection, NFIELDS_connection, {F_connection_number}, NO_FIELD, NO_FIELD},
	{KIND_kernel, NFIELDS_kernel, {F_kernel_function, F_kernel_pid}, F_kernel_pid, F_kernel_start},
	{KIND_cgroup, NFIELDS_cgroup, {F_cgroup_pid}, F_cgroup_pid, F_cgroup_start},
};

/* About a thread, whose number is the key. */
static bool is_of_thread(const struct about *a)
{
	return a->kind == KIND_thread || a->kind == KIND_follow || a->kind == KIND_scheduling;
}

struct entry {
	struct table_key key; /* key_of() */
	struct entry *older, *newer;
	const struct about *about;
	uint64_t ended_ns; /* of a row about a process or a thread: that has ended then */
	uint32_t is_text;  /* a bit for each field */
	uint64_t v[];      /* nfields values, then the texts */
};

struct standing {
	struct table rows;
	size_t sweep_at;
	struct entry *oldest, *newest; /* by when they were first reported */
	uint64_t latest_ns;
	bool incomplete; /* there was no memory for a row */
};

int standing_new(struct standing **out, struct fault *why)
{
	struct standing *s = calloc(1, sizeof(*s));

	if (!s)
		return fault_no_memory(why);
	s->sweep_at = SWEEP_FIRST;
	*out = s;
	return 0;
}

void standing_free(struct standing *s)
{
	if (s)
		table_clear(&s->rows);
	free(s);
}

size_t standing_rows(const struct standing *s)
{
	return s->rows.nitems;
}

static const struct about *about_of(uint16_t kind)
{
	for (size_t i = 0; i < sizeof(abouts) / sizeof(abouts[0]); i++)
		if (abouts[i].kind == kind)
			return &abouts[i];
	return NULL;
}

static struct table_key key_of(const struct about *about, const uint64_t *v, const char *const *text)
{
	struct table_key key = {.a = (uint64_t)about->kind << 48, .b = v[about->key[0]]};

	if (about->kind == KIND_fact)
		key.b = table_hash(TABLE_HASH, text[F_fact_name], (size_t)v[F_fact_name]);
	if (about->key[1] != NO_FIELD)
		key.a |= v[about->key[1]] & UINT32_MAX;
	if (about->key[2] != NO_FIELD)
		key.a |= (v[about->key[2]] & UINT16_MAX) << 32;
	return key;
}

/* The row of a process or thread. */
static struct entry *find(const struct standing *s, enum kind_id kind, uint64_t id)
{
	return table_find(&s->rows, (uint64_t)kind << 48, id);
}

static void append(struct standing *s, struct entry *e)
{
	e->older = s->newest;
	if (s->newest)
		s->newest->newer = e;
	else
		s->oldest = e;
	s->newest = e;
}

static void drop(struct standing *s, struct entry *e)
{
	if (e->older)
		e->older->newer = e->newer;
	else
		s->oldest = e->newer;
	if (e->newer)
		e->newer->older = e->older;
	else
		s->newest = e->older;
	table_remove(&s->rows, e->key.a, e->key.b);
}

static bool is_there(uint64_t id)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u", (uint32_t)id);
	return access(path, F_OK) == 0;
}

/* Whether the process or thread that a row is about is gone for so long that nothing more is said of it. */
static bool is_gone(const struct standing *s, const struct entry *e, uint64_t now_ns)
{
	const struct entry *process;

	if (!e->about->pid)
		return false;
	if (e->ended_ns)
		return e->ended_ns + STANDING_GRACE_NS < now_ns;
	process = find(s, KIND_process, e->v[e->about->pid]);
	if (process && e->about->start && process->v[F_process_start] != e->v[e->about->start])
		return true; /* another process has its number by now */
	if (process && process->ended_ns)
		return process->ended_ns + STANDING_GRACE_NS < now_ns;
	/* Nobody reports the end of those that are not recorded. */
	if (!process || !process->v[F_process_tracked])
		return !is_there(e->v[is_of_thread(e->about) ? e->about->key[0] : e->about->pid]);
	return false;
}

static void sweep(struct standing *s)
{
	struct entry *e, *newer;

	/* Processes last: what is theirs asks for them. */
	for (int processes = 0; processes < 2; processes++)
		for (e = s->oldest; e; e = newer) {
			newer = e->newer; /* NOLINT(clang-analyzer-unix.Malloc): drop() took what it freed off */
			if ((e->about->kind == KIND_process) == processes && is_gone(s, e, s->latest_ns))
				drop(s, e);
		}
	s->sweep_at = 2 * s->rows.nitems > SWEEP_FIRST ? 2 * s->rows.nitems : SWEEP_FIRST;
}

static uint64_t text_bytes(uint64_t n)
{
	return n < TEXT_MAX ? n : TEXT_MAX;
}

/* NULL: no memory. */
static struct entry *add(struct standing *s, const struct about *about, struct table_key key, const uint64_t *v,
			 const char *const *text)
{
	size_t bytes = sizeof(struct entry) + about->nfields * sizeof(uint64_t);
	struct entry *e;
	char *to;

	for (size_t f = 0; text && f < about->nfields; f++)
		bytes += text[f] ? text_bytes(v[f]) : 0;
	e = table_add(&s->rows, key.a, key.b, bytes);
	if (!e)
		return NULL;
	memcpy(e->v, v, about->nfields * sizeof(*v));
	to = (char *)(e->v + about->nfields);
	for (size_t f = 0; text && f < about->nfields; f++) {
		if (!text[f])
			continue;
		e->is_text |= 1u << f;
		e->v[f] = text_bytes(v[f]);
		memcpy(to, text[f], e->v[f]);
		to += e->v[f];
	}
	e->about = about;
	append(s, e);
	return e;
}

void standing_saw(void *self, uint16_t kind, const uint64_t *v, const char *const *text)
{
	const struct about *about = about_of(kind);
	struct standing *s = self;
	struct table_key key;
	struct entry *old;

	if (!about)
		return;
	key = key_of(about, v, text);
	old = table_find(&s->rows, key.a, key.b);
	if (old)
		drop(s, old);
	if (!add(s, about, key, v, text)) {
		s->incomplete = true;
		return;
	}
	if (v[0] > s->latest_ns)
		s->latest_ns = v[0];
	if (s->rows.nitems >= s->sweep_at)
		sweep(s);
}

static void end(struct entry *e, uint64_t at_ns)
{
	if (e)
		e->ended_ns = at_ns;
}

void standing_ended(struct standing *s, uint32_t pid, uint32_t tid, bool last, uint64_t at_ns)
{
	for (size_t i = 0; i < sizeof(abouts) / sizeof(abouts[0]); i++)
		if (is_of_thread(&abouts[i]))
			end(find(s, abouts[i].kind, tid), at_ns);
	if (last)
		end(find(s, KIND_process, pid), at_ns);
}

static int emit(const struct entry *e, struct writer *w, uint64_t at_ns, struct fault *why)
{
	const char *from = (const char *)(e->v + e->about->nfields);
	struct row row = row_of(e->about->kind, at_ns);

	for (size_t f = 1; f < e->about->nfields; f++) {
		row.v[f] = e->v[f];
		if (!(e->is_text & 1u << f))
			continue;
		row.text[f] = from;
		from += e->v[f];
	}
	return row_emit(&row, w, why);
}

int standing_emit(struct standing *s, struct writer *w, uint64_t at_ns, struct fault *why)
{
	int r = 0;

	s->latest_ns = at_ns;
	sweep(s);
	writer_watch(w, NULL, NULL); /* they are kept already */
	for (const struct entry *e = s->oldest; e && r == 0; e = e->newer)
		if (e->v[0] < at_ns) /* else it comes anyway */
			r = emit(e, w, at_ns, why);
	if (r == 0 && s->incomplete)
		r = fact_emit(w, at_ns, "names", "some could not be kept, because memory ran out, and are missing",
			      why);
	writer_watch(w, standing_saw, s);
	return r;
}
