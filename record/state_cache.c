/* SPDX-License-Identifier: Apache-2.0 */
#include "record/state_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/host/hostfacts.h"
#include "record/row.h"

#define KEYS 3
#define BUCKETS_FIRST 1024u /* power of two */
#define SWEEP_FIRST 4096u   /* rows before the first look for what is gone */
#define NO_FIELD 0          /* field 0 is `at`, which is neither */

/* Which rows stand: what makes one take the place of another, and whose they are. */
static const struct about {
	uint16_t kind;
	uint8_t nfields;
	uint8_t key[KEYS]; /* fields; NO_FIELD: none more */
	uint8_t pid, start;
} abouts[] = {
	{KIND_process, NFIELDS_process, {F_process_pid}, F_process_pid, F_process_start},
	{KIND_thread, NFIELDS_thread, {F_thread_tid}, F_thread_pid, NO_FIELD},
	{KIND_namespaces, NFIELDS_namespaces, {F_namespaces_pid}, F_namespaces_pid, F_namespaces_start},
	{KIND_module, NFIELDS_module, {F_module_id}, NO_FIELD, NO_FIELD},
	{KIND_executable, NFIELDS_executable, {F_executable_pid}, F_executable_pid, F_executable_start},
	{KIND_attach, NFIELDS_attach, {F_attach_module, F_attach_probe, F_attach_offset}, NO_FIELD, NO_FIELD},
	{KIND_command_line, NFIELDS_command_line, {F_command_line_pid}, F_command_line_pid, F_command_line_start},
	{KIND_library, NFIELDS_library, {F_library_module, F_library_pid}, NO_FIELD, NO_FIELD},
	{KIND_fact, NFIELDS_fact, {NO_FIELD}, NO_FIELD, NO_FIELD}, /* by its first text */
	{KIND_gpu, NFIELDS_gpu, {F_gpu_index}, NO_FIELD, NO_FIELD},
	{KIND_kernel, NFIELDS_kernel, {F_kernel_pid, F_kernel_function}, F_kernel_pid, F_kernel_start},
	{KIND_cgroup, NFIELDS_cgroup, {F_cgroup_pid}, F_cgroup_pid, F_cgroup_start},
};

struct entry {
	struct entry *next; /* in its bucket */
	struct entry *older, *newer;
	const struct about *about;
	uint64_t key[KEYS];
	uint64_t ended_ns; /* of a process or thread row: it has ended then */
	uint32_t is_text;  /* a bit for each field */
	uint64_t v[];      /* nfields values, then the texts */
};

struct standing {
	struct entry **buckets;
	uint32_t nbuckets; /* power of two */
	size_t n, sweep_at;
	struct entry *oldest, *newest; /* by when they were first reported */
	uint64_t latest_ns;
	bool incomplete; /* there was no memory for a row */
};

int standing_new(struct standing **out, struct fault *why)
{
	struct standing *s = calloc(1, sizeof(*s));

	if (s)
		s->buckets = calloc(BUCKETS_FIRST, sizeof(*s->buckets));
	if (!s || !s->buckets) {
		free(s);
		return fault_no_memory(why);
	}
	s->nbuckets = BUCKETS_FIRST;
	s->sweep_at = SWEEP_FIRST;
	*out = s;
	return 0;
}

void standing_free(struct standing *s)
{
	struct entry *e, *newer;

	if (!s)
		return;
	for (e = s->oldest; e; e = newer) {
		newer = e->newer;
		free(e);
	}
	free(s->buckets);
	free(s);
}

size_t standing_rows(const struct standing *s)
{
	return s->n;
}

static const struct about *about_of(uint16_t kind)
{
	for (size_t i = 0; i < sizeof(abouts) / sizeof(abouts[0]); i++)
		if (abouts[i].kind == kind)
			return &abouts[i];
	return NULL;
}

static uint32_t bucket_of(const struct standing *s, uint16_t kind, const uint64_t key[KEYS])
{
	uint64_t h = kind;

	for (int i = 0; i < KEYS; i++)
		h = (h ^ key[i]) * 0x9e3779b97f4a7c15ull, h ^= h >> 29;
	return (uint32_t)h & (s->nbuckets - 1);
}

static struct entry *find(const struct standing *s, const struct about *about, const uint64_t key[KEYS])
{
	struct entry *e = s->buckets[bucket_of(s, about->kind, key)];

	while (e && (e->about != about || memcmp(e->key, key, sizeof(e->key))))
		e = e->next;
	return e;
}

static void link_in(struct standing *s, struct entry *e)
{
	struct entry **bucket = &s->buckets[bucket_of(s, e->about->kind, e->key)];

	e->next = *bucket;
	*bucket = e;
}

static void drop(struct standing *s, struct entry *e)
{
	struct entry **at = &s->buckets[bucket_of(s, e->about->kind, e->key)];

	while (*at != e)
		at = &(*at)->next;
	*at = e->next;
	if (e->older)
		e->older->newer = e->newer;
	else
		s->oldest = e->newer;
	if (e->newer)
		e->newer->older = e->older;
	else
		s->newest = e->older;
	s->n--;
	free(e);
}

static void grow(struct standing *s)
{
	struct entry **bigger = s->n < s->nbuckets ? NULL : calloc((size_t)s->nbuckets * 2, sizeof(struct entry *));

	if (!bigger)
		return; /* longer chains do */
	free(s->buckets);
	s->buckets = bigger;
	s->nbuckets *= 2;
	for (struct entry *e = s->oldest; e; e = e->newer)
		link_in(s, e);
}

static const struct entry *process_of(const struct standing *s, uint64_t pid)
{
	const uint64_t key[KEYS] = {pid};

	return find(s, about_of(KIND_process), key);
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
	process = process_of(s, e->v[e->about->pid]);
	if (process && e->about->start && process->v[F_process_start] != e->v[e->about->start])
		return true; /* another process has its number by now */
	if (process && process->ended_ns)
		return process->ended_ns + STANDING_GRACE_NS < now_ns;
	/* Nobody reports the end of those that are not recorded. */
	if (!process || !process->v[F_process_tracked])
		return !is_there(e->about->kind == KIND_thread ? e->v[F_thread_tid] : e->v[e->about->pid]);
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
	s->sweep_at = 2 * s->n > SWEEP_FIRST ? 2 * s->n : SWEEP_FIRST;
}

static uint64_t text_bytes(uint64_t n)
{
	return n < TEXT_MAX ? n : TEXT_MAX;
}

/* A fact's key: its name, as a number. */
static uint64_t name_key(const char *text, uint64_t n)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (uint64_t i = 0; i < n; i++)
		h = (h ^ (uint8_t)text[i]) * 0x100000001b3ull;
	return h;
}

static struct entry *make(const struct about *about, const uint64_t *v, const char *const *text)
{
	size_t bytes = sizeof(struct entry) + about->nfields * sizeof(uint64_t);
	struct entry *e;
	char *to;

	for (size_t f = 0; text && f < about->nfields; f++)
		bytes += text[f] ? text_bytes(v[f]) : 0;
	e = malloc(bytes);
	if (!e)
		return NULL;
	memset(e, 0, sizeof(*e));
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
	for (int i = 0; i < KEYS && about->key[i] != NO_FIELD; i++)
		e->key[i] = v[about->key[i]];
	if (about->kind == KIND_fact && text)
		e->key[0] = name_key(text[F_fact_name], v[F_fact_name]);
	return e;
}

void standing_saw(void *self, uint16_t kind, const uint64_t *v, const char *const *text)
{
	const struct about *about = about_of(kind);
	struct standing *s = self;
	struct entry *e, *old;

	if (!about)
		return;
	e = make(about, v, text);
	if (!e) {
		s->incomplete = true;
		return;
	}
	if (v[0] > s->latest_ns)
		s->latest_ns = v[0];
	old = find(s, about, e->key);
	if (old)
		drop(s, old);
	link_in(s, e);
	e->older = s->newest;
	if (s->newest)
		s->newest->newer = e;
	else
		s->oldest = e;
	s->newest = e;
	s->n++;
	grow(s);
	if (s->n >= s->sweep_at)
		sweep(s);
}

void standing_ended(struct standing *s, uint32_t pid, uint32_t tid, bool last, uint64_t at_ns)
{
	const uint64_t process_key[KEYS] = {pid}, thread_key[KEYS] = {tid};
	struct entry *e = find(s, about_of(KIND_thread), thread_key);

	if (e)
		e->ended_ns = at_ns;
	e = last ? find(s, about_of(KIND_process), process_key) : NULL;
	if (e)
		e->ended_ns = at_ns;
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
