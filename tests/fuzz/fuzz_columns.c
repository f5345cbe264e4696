/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns by themselves. What decodes encodes to the same bytes; values that are encoded decode to the same values.
 *
 *	0 1 encoding   1 1 rows   2 8 first_ns   10 a column, or values of 8 bytes
 */
#include <stdarg.h>
#include <string.h>

#include "tests/unit/sample.h"

#include "format/columns.h"
#include "tests/fuzz/fuzz.h"

#define COLUMN_AT 10
#define ROWS_MAX 255

static void try_decode(const uint8_t *bytes, size_t n, enum encoding enc, uint32_t nrows, uint64_t first_ns)
{
	struct column_input in = {bytes, bytes + n, 7};
	uint64_t v[ROWS_MAX] = {0};
	const char *text[ROWS_MAX];
	struct bytes out = {.failed = 0};
	struct fault why = {0};
	int r = column_decode(&in, enc, v, nrows, first_ns, &why);

	if (r < 0) {
		MUST(r == ERR_FORMAT && why.code == ERR_FORMAT && why.text[0] && why.offset == 7);
		MUST(in.p == bytes && in.at == 7);
		return;
	}
	MUST(in.p <= in.end && in.at == 7 + (uint64_t)(in.p - bytes));
	if (enc == ENC_TEXT && column_decode_text(&in, v, text, nrows, &why) == 0) {
		MUST(in.p <= in.end && in.at == 7 + (uint64_t)(in.p - bytes));
		for (uint32_t i = 0; i < nrows; i++)
			MUST((const uint8_t *)text[i] + v[i] <= in.end && (const uint8_t *)text[i] > bytes);
	}
	column_encode(&out, enc, v, nrows, first_ns);
	MUST(!out.failed && out.len <= n && memcmp(out.data, bytes, out.len) == 0);
	bytes_free(&out);
}

/* Values as they come; times are made to ascend from first_ns, as the writer's are. */
static void try_encode(const uint8_t *bytes, size_t n, enum encoding enc, uint64_t first_ns)
{
	uint32_t nrows = (uint32_t)(n / 8 < ROWS_MAX ? n / 8 : ROWS_MAX);
	uint64_t v[ROWS_MAX], want[ROWS_MAX], got[ROWS_MAX] = {0}, now = first_ns;
	struct bytes out = {.failed = 0};
	struct column_input in;
	struct fault why;

	for (uint32_t i = 0; i < nrows; i++) {
		uint64_t x = get_le64(bytes + (size_t)8 * i);

		now += x <= UINT64_MAX - now ? x : 0;
		v[i] = want[i] = enc == ENC_TIME ? now : x;
	}
	column_encode(&out, enc, v, nrows, first_ns);
	MUST(!out.failed && out.len <= 1 + (size_t)8 * nrows);
	in = (struct column_input){out.data, out.data + out.len, 0};
	MUST(column_decode(&in, enc, got, nrows, first_ns, &why) == 0);
	MUST(in.p == in.end && memcmp(got, want, sizeof(*got) * nrows) == 0);
	bytes_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	enum encoding enc;

	if (n < COLUMN_AT || bytes[1] == 0)
		return 0;
	enc = (enum encoding)(ENC_TIME + bytes[0] % 4);
	try_decode(bytes + COLUMN_AT, n - COLUMN_AT, enc, bytes[1], get_le64(bytes + 2));
	try_encode(bytes + COLUMN_AT, n - COLUMN_AT, enc, get_le64(bytes + 2));
	return 0;
}

/* Each encoding with columns of no, one and two bytes. */
unsigned fuzz_seeds(void (*give)(void *arg, const uint8_t *bytes, size_t n), void *arg)
{
	static const uint8_t columns[][8] = {{0}, {1, 3, 2, 4}, {2, 1, 0, 2, 0, 1, 1}};
	unsigned n = 0;

	for (uint8_t enc = 0; enc < 4; enc++)
		for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
			uint8_t seed[COLUMN_AT + sizeof(columns[0]) + 4] = {enc, 3, 0x39};

			memcpy(seed + COLUMN_AT, columns[i], sizeof(columns[i]));
			memset(seed + COLUMN_AT + sizeof(columns[i]), 'x', 4);
			give(arg, seed, sizeof(seed));
			n++;
		}
	return n;
}
