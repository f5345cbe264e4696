/* SPDX-License-Identifier: Apache-2.0 */
#include "format/content.h"

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
	}
	c->ngroups = 0;
}

void content_free(struct content *c)
{
	drop_groups(c);
	bytes_free(&c->packed);
	bytes_free(&c->raw);
}

static bool has_text(const struct kind *k)
{
	for (size_t f = 0; f < k->nfields; f++)
		if (k->fields[f].encoding == ENC_TEXT)
			return true;
	return false;
}

static int decode_columns(struct rows *g, struct column_input *in, uint64_t first_ns, struct fault *why)
{
	for (size_t f = 0; f < g->kind->nfields; f++) {
		enum encoding enc = g->kind->fields[f].encoding;
		size_t at = f * g->nrows;
		int r = column_decode(in, enc, g->v + at, g->nrows, first_ns, why);

		if (r == 0 && enc == ENC_TEXT)
			r = column_decode_text(in, g->v + at, g->text + at, g->nrows, why);
		if (r < 0)
			return r;
	}
	return 0;
}

/* What a chunk may still have. */
struct allowance {
	uint32_t rows;
	size_t values;
};

static int decode_group(struct content *c, const struct schema *s, const struct chunk *chunk, struct column_input *in,
			struct allowance *left, struct fault *why)
{
	struct rows *g = &c->groups[c->ngroups];
	const struct rows *before = c->ngroups ? g - 1 : NULL;
	size_t nvalues;

	if ((size_t)(in->end - in->p) < 6 || c->ngroups == KINDS_MAX)
		return fault_set(why, ERR_FORMAT, in->at, "a group of rows is cut");
	*g = (struct rows){.kind = schema_kind(s, get_le16(in->p)), .nrows = get_le32(in->p + 2)};
	if (!g->kind || g->kind->class != chunk->class || (before && g->kind->id <= before->kind->id))
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
	g->v = calloc(nvalues, sizeof(*g->v));
	if (has_text(g->kind))
		g->text = calloc(nvalues, sizeof(*g->text));
	c->ngroups++; /* from here on drop_groups() frees it */
	if (!g->v || (has_text(g->kind) && !g->text))
		return fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "no memory for %u rows", g->nrows);
	return decode_columns(g, in, chunk->first_ns, why);
}

/* The earliest and the latest row must be those that the seal tells. */
static int check_times(const struct content *c, const struct chunk *chunk, uint64_t at, struct fault *why)
{
	uint64_t first = UINT64_MAX, last = 0;

	for (size_t i = 0; i < c->ngroups; i++) {
		const struct rows *g = &c->groups[i];

		if (g->v[0] < first)
			first = g->v[0];
		if (g->v[g->nrows - 1] > last)
			last = g->v[g->nrows - 1];
	}
	if (first != chunk->first_ns || last != chunk->last_ns)
		return fault_set(why, ERR_FORMAT, at, "a chunk's times are not those that its seal tells");
	return 0;
}

static int decode(struct content *c, const struct schema *s, const struct chunk *chunk, uint64_t at, struct fault *why)
{
	struct column_input in = {c->raw.data, c->raw.data + c->raw.len, at};
	struct allowance left = {chunk->nrows, CHUNK_VALUES_MAX};

	while (in.p < in.end) {
		int r = decode_group(c, s, chunk, &in, &left, why);

		if (r < 0)
			return r;
	}
	if (left.rows != 0)
		return fault_set(why, ERR_FORMAT, at, "a chunk has %u rows fewer than its seal says", left.rows);
	return check_times(c, chunk, at, why);
}

int content_load(struct content *c, const struct reader *r, const struct epoch *e, uint32_t index, bool check,
		 struct fault *why)
{
	const struct chunk *chunk = &e->chunks[index];
	uint64_t at = chunk->offset + FRAME_HEAD_BYTES + CHUNK_BYTES;
	uint8_t commitment[HASH_BYTES];
	int ret;

	drop_groups(c);
	bytes_reset(&c->packed);
	bytes_reset(&c->raw);
	if (!bytes_grow(&c->packed, chunk->packed_bytes) || !bytes_grow(&c->raw, chunk->raw_bytes))
		return fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "no memory for a chunk of %u bytes", chunk->raw_bytes);
	ret = source_read(r->source, at, c->packed.data, c->packed.len, why);
	if (ret < 0)
		return ret;
	if (check) {
		crypt_commit(commitment, r->header.capture_id, e->number, index, chunk->salt, c->packed.data,
			     c->packed.len);
		if (memcmp(commitment, chunk->commitment, HASH_BYTES) != 0)
			return fault_set(why, ERR_FORGED, at, "chunk %u of epoch %llu is not what was sealed", index,
					 (unsigned long long)e->number);
	}
	ret = unpack_frame(c->raw.data, c->raw.len, c->packed.data, c->packed.len, at, why);
	if (ret == 0)
		ret = decode(c, &r->header.schema, chunk, at, why);
	if (ret < 0)
		drop_groups(c);
	return ret;
}
