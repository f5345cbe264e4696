/* SPDX-License-Identifier: Apache-2.0 */
#include "keys/tool/wrap.h"

#include <stdbool.h>
#include <string.h>

#define WORD_ROOM 8 /* columns beside the indentation, so that there is one at all */

static size_t columns(const char *s, size_t n)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += (s[i] & 0xc0) != 0x80;
	return count;
}

static size_t blanks(const char *s, size_t n)
{
	size_t i = 0;

	while (i < n && s[i] == ' ')
		i++;
	return i;
}

/* Where the sentence of a line begins; n: it is a table's row. */
static size_t sentence_begin(const char *line, size_t n)
{
	size_t begin = blanks(line, n), number = begin, gap;
	bool labelled = false;

	while (number < n && strchr("[0123456789", line[number]))
		number++;
	for (size_t i = begin; i < n; i += gap + 1) {
		gap = blanks(line + i, n - i);
		if (gap < 2)
			continue;
		if (labelled)
			return n;
		labelled = true;
		begin = i + gap;
	}
	if (!labelled && number > begin && number + 2 < n &&
	    (!memcmp(line + number, ". ", 2) || !memcmp(line + number, "] ", 2)))
		begin = number + 2;
	return begin;
}

/* How much of `line` goes before the break: up to a blank, behind column `from`; n: all of it. */
static size_t part(const char *line, size_t n, size_t from, size_t width)
{
	size_t best = n;

	for (size_t i = from; i < n; i++) {
		if (line[i] != ' ')
			continue;
		if (columns(line, i) > width && best < n)
			break;
		best = i;
	}
	return best;
}

static void print_line(FILE *out, const char *line, size_t n, size_t width)
{
	size_t begin = sentence_begin(line, n), len, indent = 0;

	while (width && n > begin && columns(line, n) + indent > width &&
	       (len = part(line, n, begin, width - indent)) < n) {
		fprintf(out, "%*s%.*s\n", (int)indent, "", (int)len, line);
		line += len + 1;
		n -= len + 1;
		if (begin)
			indent = begin + WORD_ROOM <= width ? begin : 0;
		begin = 0;
	}
	fprintf(out, "%*s", (int)indent, "");
	fwrite(line, 1, n, out);
}

void wrap_print(FILE *out, const char *text, size_t n, unsigned width)
{
	for (size_t len; n; text += len, n -= len) {
		const char *end = memchr(text, '\n', n);

		len = end ? (size_t)(end - text) : n;
		print_line(out, text, len, width);
		if (!end)
			break;
		fputc('\n', out);
		len++;
	}
}
