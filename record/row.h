/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A row while it is made: what writer_add() takes, with a kind and room for any. Fields that are not set are 0, or an
 * empty text.
 *
 *	struct row row = row_of(KIND_module, at_ns);
 *
 *	row.v[F_module_id] = m->id;
 *	row_text(&row, F_module_path, m->path);
 *	return row_emit(&row, w, why);
 */
#ifndef GPUREC_RECORD_ROW_H
#define GPUREC_RECORD_ROW_H

#include <string.h>

#include "format/writer.h"

struct row {
	uint16_t kind;
	uint64_t v[FIELDS_MAX];       /* by field; of a text, its bytes */
	const char *text[FIELDS_MAX]; /* not copied: they must last until the row is emitted */
};

/* at_ns: boot clock. The first field of every kind is its time. */
static inline struct row row_of(uint16_t kind, uint64_t at_ns)
{
	return (struct row){.kind = kind, .v = {at_ns}};
}

/* The first `n` bytes at `text`. */
static inline void row_bytes(struct row *row, int field, const char *text, size_t n)
{
	row->text[field] = text;
	row->v[field] = n;
}

static inline void row_text(struct row *row, int field, const char *text)
{
	row_bytes(row, field, text, strlen(text));
}

/* As writer_add(). */
static inline int row_emit(const struct row *row, struct writer *w, struct fault *why)
{
	return writer_add(w, row->kind, row->v, row->text, why);
}

#endif
