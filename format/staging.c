/* SPDX-License-Identifier: Apache-2.0 */
#include "format/staging.h"

#include "format/reader.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_LENGTH_BITS 16
_Static_assert(TEXT_MAX < 1 << TEXT_LENGTH_BITS, "a text's length must fit beside its offset");

int staging_init(struct staging *s, const struct schema *schema, struct fault *why)
{
	*s = (struct staging){.schema = schema};
	s->kinds = calloc(schema->nkinds ? schema->nkinds : 1, sizeof(*s->kinds));
	if (!s->kinds)
		return fault_no_memory(why);
	return 0;
}

void staging_clear(struct staging *s)
{
	for (size_t i = 0; s->kinds && i < s->schema->nkinds; i++)
		free(s->kinds[i].v);
	free(s->kinds);
	free(s->rows);
	bytes_free(&s->texts);
	*s = (struct staging){0};
}

void staging_separate(struct staging *s)
{
	for (size_t i = 0; i < s->schema->nkinds; i++)
		s->kinds[i].pid = kind_pid_field(&s->schema->kinds[i]);
}

void staging_reset(struct staging *s)
{
	for (size_t i = 0; i < s->schema->nkinds; i++)
		s->kinds[i].n = 0;
	s->nrows = 0;
	bytes_reset(&s->texts);
}

static struct staged_kind *table_of(const struct staging *s, const struct kind *kind)
{
	return &s->kinds[kind - s->schema->kinds];
}

static int make_room(struct staging *s, struct staged_kind *t, const struct kind *kind, struct fault *why)
{
	if (s->nrows == s->room) {
		size_t room = s->room ? 2 * s->room : 1024;
		struct staged *rows = realloc(s->rows, room * sizeof(*rows));

		if (!rows)
			goto no_memory;
		s->rows = rows;
		s->room = room;
	}
	if (t->n == t->room) {
		uint32_t room = t->room ? 2 * t->room : 64;
		uint64_t *v = room > t->room ? realloc(t->v, (size_t)room * kind->nfields * sizeof(*v)) : NULL;

		if (!v)
			goto no_memory;
		t->v = v;
		t->room = room;
	}
	return 0;
no_memory:
	return fault_no_memory(why);
}

/* Copy a text; its place and length as one number. */
static uint64_t keep_text(struct staging *s, const char *text, uint64_t n)
{
	uint64_t kept = n > TEXT_MAX ? TEXT_MAX : n;
	uint64_t value = (uint64_t)s->texts.len << TEXT_LENGTH_BITS | kept;

	bytes_add(&s->texts, text, kept);
	return value;
}

/* What no process has, or no part, is of several. */
static uint32_t part_of(const struct staged_kind *t, const uint64_t *v)
{
	if (!t->pid)
		return PART_OF_NONE;
	return v[t->pid] == PART_OF_NONE || v[t->pid] >= PART_OF_SEVERAL ? PART_OF_SEVERAL : (uint32_t)v[t->pid];
}

int staging_add(struct staging *s, const struct kind *kind, const uint64_t *v, const char *const *text,
		struct fault *why)
{
	struct staged_kind *t = table_of(s, kind);
	size_t texts_before = s->texts.len;
	uint64_t *to;
	int r = make_room(s, t, kind, why);

	if (r < 0)
		return r;
	to = t->v + (size_t)t->n * kind->nfields;
	for (size_t f = 0; f < kind->nfields; f++)
		to[f] = kind->fields[f].encoding == ENC_TEXT ? keep_text(s, text[f], v[f]) : v[f];
	if (s->texts.failed) {
		s->texts.len = texts_before;
		s->texts.failed = 0;
		return fault_no_memory(why);
	}
	s->rows[s->nrows++] = (struct staged){v[0], s->seq++, kind, t->n++, part_of(t, v)};
	return 0;
}

/* Whether `a` belongs behind `b`; no two rows are equal. */
static bool is_after(const struct staged *a, const struct staged *b)
{
	if (a->kind->class != b->kind->class)
		return a->kind->class > b->kind->class;
	if (a->part != b->part)
		return a->part > b->part;
	if (a->at_ns != b->at_ns)
		return a->at_ns > b->at_ns;
	if (a->kind->id != b->kind->id)
		return a->kind->id > b->kind->id;
	return a->seq > b->seq;
}

/* Where the rows from `at` on cease to be in order. */
static size_t run_end(const struct staged *rows, size_t at, size_t n)
{
	if (at < n)
		at++;
	while (at < n && !is_after(&rows[at - 1], &rows[at]))
		at++;
	return at;
}

/* The runs [at, mid) and [mid, end) become one of to[]. */
static void merge(const struct staged *from, struct staged *to, size_t at, size_t mid, size_t end)
{
	size_t left = at, right = mid, out = at;

	while (left < mid && right < end)
		to[out++] = is_after(&from[left], &from[right]) ? from[right++] : from[left++];
	memcpy(to + out, from + left, (mid - left) * sizeof(*to));
	memcpy(to + out + (mid - left), from + right, (end - right) * sizeof(*to));
}

/* Each run with the one behind it, from from[] to to[]: how many are left. */
static size_t merge_pairs(const struct staged *from, struct staged *to, size_t n)
{
	size_t nruns = 0;

	for (size_t at = 0, mid, end; at < n; at = end, nruns++) {
		mid = run_end(from, at, n);
		end = run_end(from, mid, n);
		merge(from, to, at, mid, end);
	}
	return nruns;
}

/* Rows come in long runs that are in order, often in one: a merge of these is a tenth of what qsort() takes. */
int staging_sort(struct staging *s, struct fault *why)
{
	struct staged *from = s->rows, *to;

	if (run_end(from, 0, s->nrows) == s->nrows)
		return 0;
	to = malloc(s->nrows * sizeof(*to));
	if (!to)
		return fault_no_memory(why);
	while (merge_pairs(from, to, s->nrows) > 1) {
		struct staged *sorted = to;

		to = from;
		from = sorted;
	}
	free(from);
	s->room = to == s->rows ? s->room : s->nrows;
	s->rows = to;
	return 0;
}

const uint64_t *staging_values(const struct staging *s, const struct staged *row)
{
	return table_of(s, row->kind)->v + (size_t)row->index * row->kind->nfields;
}

size_t staging_text_bytes(uint64_t value)
{
	return value & ((1u << TEXT_LENGTH_BITS) - 1);
}

const char *staging_text(const struct staging *s, uint64_t value)
{
	return (const char *)s->texts.data + (value >> TEXT_LENGTH_BITS);
}

size_t staging_bytes(const struct staging *s)
{
	size_t sum = s->nrows * sizeof(*s->rows) + s->texts.len;

	for (size_t i = 0; i < s->schema->nkinds; i++)
		sum += (size_t)s->kinds[i].n * s->schema->kinds[i].nfields * sizeof(uint64_t);
	return sum;
}
