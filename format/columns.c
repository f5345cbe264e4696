/* SPDX-License-Identifier: Apache-2.0 */
#include "format/columns.h"

#include <stdbool.h>
#include <string.h>

static uint64_t zigzag(uint64_t v)
{
	return v << 1 ^ (0 - (v >> 63));
}

static uint64_t unzigzag(uint64_t v)
{
	return v >> 1 ^ (0 - (v & 1));
}

static void transform(enum encoding enc, uint64_t *v, uint32_t n, uint64_t first_ns)
{
	uint64_t before = first_ns;

	for (uint32_t i = 0; i < n && enc == ENC_TIME; i++) {
		uint64_t now = v[i];

		v[i] = now - before;
		before = now;
	}
	for (uint32_t i = 0; i < n && enc == ENC_SINT; i++)
		v[i] = zigzag(v[i]);
}

static unsigned width_of(uint64_t all_bits)
{
	unsigned width = 0;

	while (all_bits) {
		all_bits >>= 8;
		width++;
	}
	return width;
}

void column_encode(struct bytes *out, enum encoding enc, uint64_t *v, uint32_t n, uint64_t first_ns)
{
	uint64_t all_bits = 0;
	unsigned width;
	uint8_t *p;

	transform(enc, v, n, first_ns);
	for (uint32_t i = 0; i < n; i++)
		all_bits |= v[i];
	width = width_of(all_bits);
	bytes_add_u8(out, (uint8_t)width);
	p = bytes_grow(out, (size_t)width * n);
	if (!p)
		return;
	for (unsigned plane = 0; plane < width; plane++)
		for (uint32_t i = 0; i < n; i++)
			*p++ = (uint8_t)(v[i] >> (8 * plane));
}

/* The width of the column that begins at in->p, when all of it is there and its top plane is needed. */
static int column_width(const struct column_input *in, uint32_t n, struct fault *why)
{
	size_t left = (size_t)(in->end - in->p);
	const uint8_t *top;
	uint32_t i = 0;
	int width;

	if (left < 1)
		return fault_set(why, ERR_FORMAT, in->at, "a column is missing in a chunk");
	width = *in->p;
	if (width > 8 || (size_t)width * n > left - 1)
		return fault_set(why, ERR_FORMAT, in->at, "a column of %u values %d bytes wide does not fit its chunk",
				 n, width);
	if (width == 0)
		return 0;
	top = in->p + 1 + (size_t)(width - 1) * n;
	while (i < n && !top[i])
		i++;
	if (i == n)
		return fault_set(why, ERR_FORMAT, in->at, "a column is wider than its values need");
	return width;
}

static void pass_column(struct column_input *in, int width, uint32_t n)
{
	size_t bytes = 1 + (size_t)width * n;

	in->p += bytes;
	in->at += bytes;
}

/* The sum of a column's values, from the sums of its planes; false if it overflows. */
static bool sum_column(const uint8_t *planes, int width, uint32_t n, uint64_t *sum)
{
	*sum = 0;
	for (int plane = 0; plane < width; plane++, planes += n) {
		uint64_t bytes = 0;

		for (uint32_t i = 0; i < n; i++)
			bytes += planes[i];
		if (bytes > UINT64_MAX >> 8 * plane || __builtin_add_overflow(*sum, bytes << 8 * plane, sum))
			return false;
	}
	return true;
}

int column_check(struct column_input *in, enum encoding enc, uint32_t n, uint64_t first_ns, uint64_t times[2],
		 struct fault *why)
{
	const uint8_t *planes = in->p + 1;
	uint64_t first = 0, sum;
	int width = column_width(in, n, why);

	if (width < 0)
		return width;
	if (enc == ENC_TIME) {
		if (!sum_column(planes, width, n, &sum) || sum > UINT64_MAX - first_ns)
			return fault_set(why, ERR_FORMAT, in->at, "a time in a chunk overflows");
		for (int plane = 0; plane < width; plane++)
			first |= (uint64_t)planes[(size_t)plane * n] << 8 * plane;
		times[0] = first_ns + first;
		times[1] = first_ns + sum;
	}
	pass_column(in, width, n);
	return 0;
}

/*
 * Up to four bytes of n values from their planes, which are `stride` bytes apart. Inline, and in 32 bits: with a fixed
 * n the loops vectorise, four values to a register.
 */
static inline __attribute__((always_inline)) void join_planes(const uint8_t *p, int nplanes, size_t stride, uint32_t n,
							      uint32_t *v)
{
	for (uint32_t i = 0; i < n; i++)
		v[i] = p[i];
	for (int plane = 1; plane < nplanes; plane++) {
		p += stride;
		for (uint32_t i = 0; i < n; i++)
			v[i] |= (uint32_t)p[i] << (8 * plane);
	}
}

/* n values of a column, `stride` rows long, from row `p` on; to every pitch-th of out[]. */
static inline __attribute__((always_inline)) void column_values(const uint8_t *p, int width, size_t stride,
								bool is_signed, uint32_t n, uint64_t *out, size_t pitch)
{
	uint32_t low[COLUMNS_BLOCK], high[COLUMNS_BLOCK];

	if (width == 1 && !is_signed) {
#pragma GCC unroll 8
		for (uint32_t i = 0; i < n; i++)
			out[i * pitch] = p[i];
		return;
	}
	join_planes(p, width < 4 ? width : 4, stride, n, low);
	/* Nothing to vectorise here, where each value goes to another row: two instructions of six are enough. */
	if (width > 4) {
		join_planes(p + 4 * stride, width - 4, stride, n, high);
#pragma GCC unroll 8
		for (uint32_t i = 0; i < n; i++)
			out[i * pitch] = low[i] | (uint64_t)high[i] << 32;
	} else {
#pragma GCC unroll 8
		for (uint32_t i = 0; i < n; i++)
			out[i * pitch] = low[i];
	}
	for (uint32_t i = 0; is_signed && i < n; i++)
		out[i * pitch] = unzigzag(out[i * pitch]);
}

/* n values of a column as a whole, one behind the other. */
static void decode_whole(const uint8_t *p, int width, bool is_signed, uint32_t n, uint64_t *v)
{
	uint32_t i = 0;

	if (width == 0) {
		memset(v, 0, n * sizeof(*v));
		return;
	}
	for (; n - i >= COLUMNS_BLOCK; i += COLUMNS_BLOCK)
		column_values(p + i, width, n, is_signed, COLUMNS_BLOCK, v + i, 1);
	column_values(p + i, width, n, is_signed, n - i, v + i, 1);
}

/* Times from their differences. */
static int sum_times(uint64_t *v, uint32_t n, uint64_t first_ns, uint64_t at, struct fault *why)
{
	uint64_t now = first_ns;
	bool overflows = false;

	for (uint32_t i = 0; i < n; i++) {
		overflows |= __builtin_add_overflow(now, v[i], &now);
		v[i] = now;
	}
	return overflows ? fault_set(why, ERR_FORMAT, at, "a time in a chunk overflows") : 0;
}

int column_decode(struct column_input *in, enum encoding enc, uint64_t *v, uint32_t n, uint64_t first_ns,
		  struct fault *why)
{
	int width = column_width(in, n, why);

	if (width < 0)
		return width;
	decode_whole(in->p + 1, width, enc == ENC_SINT, n, v);
	if (enc == ENC_TIME) {
		int r = sum_times(v, n, first_ns, in->at, why);

		if (r < 0)
			return r;
	}
	pass_column(in, width, n);
	return 0;
}

/* What comes next is needed soon. */
static void prefetch_planes(const uint8_t *p, int width, size_t stride)
{
	for (int plane = 0; plane < width; plane++)
		__builtin_prefetch(p + (size_t)plane * stride + COLUMNS_BLOCK);
}

void columns_block(const struct rows *rows, uint32_t first_row, uint32_t n, uint64_t *out, size_t pitch)
{
	const uint64_t *times = rows->v + first_row;

#pragma GCC unroll 8
	for (uint32_t i = 0; i < n; i++)
		out[i * pitch] = times[i];
	for (size_t f = 1; f < rows->kind->nfields; f++) {
		const struct column *c = &rows->columns[f];
		const uint8_t *p = c->planes + first_row;
		bool is_signed = rows->kind->fields[f].encoding == ENC_SINT;

		if (c->width == 0)
			continue;
		prefetch_planes(p, c->width, rows->nrows);
		if (n == COLUMNS_BLOCK)
			column_values(p, c->width, rows->nrows, is_signed, COLUMNS_BLOCK, out + f, pitch);
		else
			column_values(p, c->width, rows->nrows, is_signed, n, out + f, pitch);
	}
}

int column_decode_text(struct column_input *in, const uint64_t *v, const char **text, uint32_t n, struct fault *why)
{
	for (uint32_t i = 0; i < n; i++) {
		if (v[i] > TEXT_MAX || v[i] > (uint64_t)(in->end - in->p))
			return fault_set(why, ERR_FORMAT, in->at, "a text of %llu bytes does not fit (limit %d)",
					 (unsigned long long)v[i], TEXT_MAX);
		if (text)
			text[i] = (const char *)in->p;
		in->p += v[i];
		in->at += v[i];
	}
	return 0;
}
