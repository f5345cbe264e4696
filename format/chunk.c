/* SPDX-License-Identifier: Apache-2.0 */
#include "format/chunk.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "format/crypt.h"
#include "format/layout.h"
#include "format/pack.h"

static void drop_groups(struct content *c)
{
	for (size_t i = 0; i < c->ngroups; i++) {
		free(c->groups[i].v);
		free(c->groups[i].text);
		free(c->groups[i].columns);
	}
	c->ngroups = 0;
}

void content_free(struct content *c)
{
	drop_groups(c);
	bytes_free(&c->packed);
	bytes_free(&c->raw);
	free(c->checked);
	c->checked = NULL;
	c->checked_room = 0;
}

static bool has_text(const struct kind *k)
{
	for (size_t f = 0; f < k->nfields; f++)
		if (k->fields[f].encoding == ENC_TEXT)
			return true;
	return false;
}

// NOLINTNEXTLINE(misc-redundant-expression): two limits that are equal now
_Static_assert(UNPACK_ROOM >= CHUNK_RAW_MAX, "a chunk's raw bytes");

/* What is to be made of the rows. */
struct wish {
	const uint32_t *fields; /* to decode, by the kind's place in the schema; NULL: all */
	bool later;             /* numbers are decoded when they are needed, from g->columns */
	uint64_t *seen;         /* not NULL: rows are checked and counted here, and nothing else */
	bool parted;            /* with it: rows must be of their chunk's part */
};

/* What a chunk may still have. */
struct allowance {
	uint32_t rows;
	size_t values;
};

/* The head of a group, and what it takes of what is left. `before`: the kind of the group before, or NULL. */
static int group_head(struct column_input *in, const struct schema *s, const struct chunk *chunk,
		      const struct kind *before, struct allowance *left, struct rows *g, struct fault *why)
{
	size_t nvalues;

	if ((size_t)(in->end - in->p) < 6)
		return fault_set(why, ERR_FORMAT, in->at, "a group of rows is cut");
	*g = (struct rows){.kind = schema_kind(s, get_le16(in->p)), .nrows = get_le32(in->p + 2)};
	if (!g->kind || g->kind->class != chunk->class || (before && g->kind->id <= before->id))
		return fault_set(why, ERR_FORMAT, in->at,
				 "a group of rows has an unknown, repeated or misplaced kind %u", get_le16(in->p));
	if (g->nrows == 0 || g->nrows > left->rows)
		return fault_set(why, ERR_FORMAT, in->at, "a group claims %u rows, at most %u are left", g->nrows,
				 left->rows);
	nvalues = (size_t)g->nrows * g->kind->nfields;
	if (nvalues > left->values)
		return fault_set(why, ERR_FORMAT, in->at, "a group claims %zu values, at most %zu are left", nvalues,
				 left->values);
	left->rows -= g->nrows;
	left->values -= nvalues;
	in->p += 6;
	in->at += 6;
	return 0;
}

/* Widen the span of times from `first` to `last`. */
static void span_add(uint64_t span[2], uint64_t first, uint64_t last)
{
	span[0] = first < span[0] ? first : span[0];
	span[1] = last > span[1] ? last : span[1];
}

/* The values of a column that is only checked, into c->checked. */
static int read_column(struct content *c, struct column_input *in, enum encoding enc, uint32_t n, struct fault *why)
{
	if (n > c->checked_room) {
		free(c->checked);
		c->checked = malloc(n * sizeof(*c->checked));
		c->checked_room = c->checked ? n : 0;
		if (!c->checked)
			return fault_no_memory(why);
	}
	return column_decode(in, enc, c->checked, n, 0, why);
}

/* A column of texts: its lengths have to be known. */
static int check_text(struct content *c, struct column_input *in, uint32_t n, struct fault *why)
{
	int r = read_column(c, in, ENC_TEXT, n, why);

	return r < 0 ? r : column_decode_text(in, c->checked, NULL, n, why);
}

/* The column of processes, in a chunk with a part: all are of it, unless it is one of several. */
static int check_pids(struct content *c, struct column_input *in, uint32_t n, uint32_t part, struct fault *why)
{
	int r = read_column(c, in, ENC_UINT, n, why);

	for (uint32_t i = 0; i < n && r == 0 && part != PART_OF_SEVERAL; i++)
		if (c->checked[i] != part)
			r = fault_set(why, ERR_FORMAT, in->at, "a chunk of process %u has a row of another one", part);
	return r;
}

/* One column that nobody asked for, or all of them when a chunk is only checked. Not the times. */
static int check_column(struct content *c, struct column_input *in, enum encoding enc, uint32_t n, struct fault *why)
{
	return enc == ENC_TEXT ? check_text(c, in, n, why) : column_check(in, enc, n, 0, NULL, why);
}

static int decode_columns(struct content *c, struct rows *g, struct column_input *in, uint64_t first_ns,
			  uint32_t fields, struct fault *why)
{
	for (size_t f = 0; f < g->kind->nfields; f++) {
		enum encoding enc = g->kind->fields[f].encoding;
		size_t at = f * g->nrows;
		int r;

		if (f > 0 && !(fields >> f & 1)) {
			r = check_column(c, in, enc, g->nrows, why);
		} else {
			r = column_decode(in, enc, g->v + at, g->nrows, first_ns, why);
			if (r == 0 && enc == ENC_TEXT)
				r = column_decode_text(in, g->v + at, g->text + at, g->nrows, why);
		}
		if (r < 0)
			return r;
	}
	return 0;
}

/* Check a group's columns and note where they stand; decode its times. */
static int find_columns(struct rows *g, struct column_input *in, uint64_t first_ns, uint32_t fields, struct fault *why)
{
	int r = column_decode(in, ENC_TIME, g->v, g->nrows, first_ns, why);

	for (size_t f = 1; r == 0 && f < g->kind->nfields; f++) {
		const uint8_t *column = in->p;

		r = column_check(in, g->kind->fields[f].encoding, g->nrows, 0, NULL, why);
		if (r == 0 && fields >> f & 1)
			g->columns[f] = (struct column){column + 1, *column};
	}
	return r;
}

/* A group whose head has been read. */
static int decode_group(struct content *c, const struct rows *head, const struct chunk *chunk, struct column_input *in,
			const struct wish *wish, uint32_t fields, uint64_t span[2], struct fault *why)
{
	struct rows *g = &c->groups[c->ngroups];
	size_t nvalues = (size_t)head->nrows * head->kind->nfields;
	bool texts = has_text(head->kind);
	int r;

	/* Kinds ascend and are the schema's, so there is a place for each. */
	assert(c->ngroups < KINDS_MAX);
	*g = *head;
	c->ngroups++; /* from here on drop_groups() frees what it holds */
	if (wish->later && !texts) {
		g->v = malloc(g->nrows * sizeof(*g->v));
		g->columns = calloc(g->kind->nfields, sizeof(*g->columns));
		if (!g->v || !g->columns)
			return fault_no_memory(why);
		r = find_columns(g, in, chunk->first_ns, fields, why);
	} else {
		g->v = calloc(nvalues, sizeof(*g->v));
		if (texts)
			g->text = calloc(nvalues, sizeof(*g->text));
		if (!g->v || (texts && !g->text))
			return fault_no_memory(why);
		r = decode_columns(c, g, in, chunk->first_ns, fields, why);
	}
	if (r == 0)
		span_add(span, g->v[0], g->v[g->nrows - 1]);
	return r;
}

static int check_group(struct content *c, const struct rows *g, const struct chunk *chunk, bool parted,
		       struct column_input *in, uint64_t span[2], struct fault *why)
{
	uint8_t pid = parted ? kind_pid_field(g->kind) : 0;
	uint64_t times[2] = {0};
	int r = column_check(in, ENC_TIME, g->nrows, chunk->first_ns, times, why);

	if (r == 0 && parted && (pid != 0) != (chunk->part != PART_OF_NONE))
		r = fault_set(why, ERR_FORMAT, in->at, "a chunk has rows that are of no process, or has no process");
	for (size_t f = 1; r == 0 && f < g->kind->nfields; f++)
		r = f == pid ? check_pids(c, in, g->nrows, chunk->part, why)
			     : check_column(c, in, g->kind->fields[f].encoding, g->nrows, why);
	if (r == 0)
		span_add(span, times[0], times[1]);
	return r;
}

/* All groups: into c->groups as far as they are wished for, or only counted. */
static int walk_groups(struct content *c, const struct schema *s, const struct chunk *chunk, uint64_t at,
		       const struct wish *wish, struct fault *why)
{
	struct column_input in = {c->raw.data, c->raw.data + c->raw.len, at};
	struct allowance left = {chunk->nrows, CHUNK_VALUES_MAX};
	uint64_t span[2] = {UINT64_MAX, 0};
	struct rows g = {0};

	while (in.p < in.end) {
		int r = group_head(&in, s, chunk, g.kind, &left, &g, why);
		size_t kind = r < 0 ? 0 : (size_t)(g.kind - s->kinds);
		uint32_t wanted = wish->seen ? 0 : wish->fields ? wish->fields[kind] : UINT32_MAX;

		if (r == 0)
			r = wanted ? decode_group(c, &g, chunk, &in, wish, wanted, span, why)
				   : check_group(c, &g, chunk, wish->parted, &in, span, why);
		if (r < 0)
			return r;
		if (wish->seen)
			wish->seen[kind] += g.nrows;
	}
	if (left.rows != 0)
		return fault_set(why, ERR_FORMAT, at, "a chunk has %u rows fewer than in its seal", left.rows);
	/* The earliest and the latest row must be those that the seal reports. */
	if (span[0] != chunk->first_ns || span[1] != chunk->last_ns)
		return fault_set(why, ERR_FORMAT, at, "a chunk's times are not those in its seal");
	return 0;
}

/* The chunk's packed bytes, into c->packed. */
static int read_packed(struct content *c, const struct reader *r, const struct epoch *e, uint32_t index, bool check,
		       struct fault *why)
{
	const struct chunk *chunk = &e->chunks[index];
	uint64_t at = chunk->offset + FRAME_HEAD_BYTES + CHUNK_BYTES;
	uint8_t commitment[HASH_BYTES];
	int ret;

	drop_groups(c);
	bytes_reset(&c->packed);
	if (!bytes_grow(&c->packed, chunk->packed_bytes))
		return fault_no_memory(why);
	ret = source_read(r->source, at, c->packed.data, c->packed.len, why);
	if (ret < 0 || !check)
		return ret;
	crypt_commit(commitment, r->header.capture_id, e->number, index, chunk->salt, c->packed.data, c->packed.len);
	if (memcmp(commitment, chunk->commitment, HASH_BYTES) != 0)
		return fault_set(why, ERR_FORGED, at, "chunk %u of epoch %llu is not what was sealed", index,
				 (unsigned long long)e->number);
	return 0;
}

/* The chunk's bytes, decompressed into c->raw. */
static int unpack(struct content *c, const struct reader *r, const struct epoch *e, uint32_t index, bool check,
		  struct fault *why)
{
	const struct chunk *chunk = &e->chunks[index];
	uint64_t at = chunk->offset + FRAME_HEAD_BYTES + CHUNK_BYTES;
	int ret = read_packed(c, r, e, index, check, why);

	if (ret < 0)
		return ret;
	bytes_reset(&c->raw);
	if (!bytes_grow(&c->raw, UNPACK_ROOM))
		return fault_no_memory(why);
	ret = unpack_frame_into(c->raw.data, c->raw.len, chunk->raw_bytes, c->packed.data, c->packed.len, at, why);
	c->raw.len = chunk->raw_bytes;
	return ret;
}

static int load(struct content *c, const struct reader *r, const struct epoch *e, uint32_t index, bool check,
		const struct wish *wish, struct fault *why)
{
	const struct chunk *chunk = &e->chunks[index];
	int ret = unpack(c, r, e, index, check, why);

	if (ret == 0)
		ret = walk_groups(c, &r->header.schema, chunk, chunk->offset + FRAME_HEAD_BYTES + CHUNK_BYTES, wish,
				  why);
	if (ret < 0)
		drop_groups(c);
	return ret;
}

int content_load(struct content *c, const struct reader *r, const struct epoch *e, uint32_t index, bool check,
		 struct fault *why)
{
	return load(c, r, e, index, check, &(struct wish){.fields = NULL}, why);
}

int content_load_fields(struct content *c, const struct reader *r, const struct epoch *e, uint32_t index, bool check,
			const uint32_t *fields, struct fault *why)
{
	return load(c, r, e, index, check, &(struct wish){.fields = fields, .later = true}, why);
}

int content_check(struct content *c, const struct reader *r, const struct epoch *e, uint32_t index, uint64_t *seen,
		  struct fault *why)
{
	return load(c, r, e, index, true, &(struct wish){.seen = seen, .parted = e->parted}, why);
}

int content_authentic(struct content *c, const struct reader *r, const struct epoch *e, uint32_t index,
		      struct fault *why)
{
	return read_packed(c, r, e, index, true, why);
}
