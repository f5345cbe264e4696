/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chunk's content before LZ4: rows in columns by kind. Internal to format/.
 *
 *	chunk  = group+           groups ascend by kind
 *	group  = kind le16, rows le32, column for each of the kind's fields
 *	column = width u8 (0 to 8), then `width` planes of `rows` bytes: plane i holds byte i of every value
 *
 * The width is the smallest that holds the column's greatest value. A TIME column holds the differences to the row
 * before (the first: to the chunk's first_ns); SINT is zigzag; TEXT is the column of lengths followed by all the bytes.
 * So there is exactly one way to write a given set of rows.
 */
#ifndef GPUREC_FORMAT_COLUMNS_H
#define GPUREC_FORMAT_COLUMNS_H

#include "format/base/bytes.h"
#include "format/schema.h"

/* A column of numbers as it is in the chunk's raw bytes, checked. */
struct column {
	const uint8_t *planes;
	uint8_t width;
};

/* Rows of one kind, decoded. Values stand by column: value of field f in row i is v[f * nrows + i]. */
struct rows {
	const struct kind *kind;
	uint32_t nrows;
	uint64_t *v;
	const char **text;      /* like v; only for kinds with TEXT, else NULL. Points into the chunk's raw bytes */
	struct column *columns; /* of each field; then v holds the times alone. NULL: all are in v */
};

/* Add one column of n values. `v` is changed on the way (differences, zigzag). */
void column_encode(struct bytes *out, enum encoding enc, uint64_t *v, uint32_t n, uint64_t first_ns);

/* What is left to decode; advanced by the functions below. `at` counts in the raw bytes, for messages. */
struct column_input {
	const uint8_t *p, *end;
	uint64_t at;
};

/*
 * Decode one column into v[n]. ERR_FORMAT: cut, width out of range or not the smallest, a time that
 * overflows.
 */
int column_decode(struct column_input *in, enum encoding enc, uint64_t *v, uint32_t n, uint64_t first_ns,
		  struct fault *why);

/*
 * The same checks without the values, which takes a tenth of the time: for any encoding but TEXT. TIME: sets times to
 * the first and the last one.
 */
int column_check(struct column_input *in, enum encoding enc, uint32_t n, uint64_t first_ns, uint64_t times[2],
		 struct fault *why);

#define COLUMNS_BLOCK 64 /* rows decoded at a time */

/*
 * Values of rows first_row on, at most COLUMNS_BLOCK of them, by row: that of field f in the i-th of them goes to
 * out[i * pitch + f]. Fields of width 0 and those that the kind has not are left as they are. `rows` has columns.
 */
void columns_block(const struct rows *rows, uint32_t first_row, uint32_t n, uint64_t *out, size_t pitch);

/* The bytes of a TEXT column whose lengths are in v[n]: pointers into text[n], unless that is NULL. */
int column_decode_text(struct column_input *in, const uint64_t *v, const char **text, uint32_t n, struct fault *why);

#endif
