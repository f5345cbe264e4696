/* SPDX-License-Identifier: Apache-2.0 */
/* A chain of custody: judging it. keys/custody_line.c knows a line, keys/custody_file.c files. */
#include "keys/custody.h"
#include "format/base/array.h"
#include "format/base/units.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *custody_state_word(enum custody_state s)
{
	static const char *const words[] = {"INTACT",    "UNCHECKED", "CUT",   "MISSING",
					    "REORDERED", "FORGED",    "OTHER", "MALFORMED"};

	return words[s];
}

struct custody_subject custody_subject_of(const struct evidence *e)
{
	const struct verification *v = &e->verification;
	struct custody_subject s = {.reader = &e->reader};

	s.nepochs = v->nepochs < e->reader.nepochs ? v->nepochs : e->reader.nepochs;
	s.ended = e->reader.tail == TAIL_END && s.nepochs == e->reader.nepochs && v->verdict != VERDICT_FORGED &&
		  v->verdict != VERDICT_MALFORMED && v->verdict != VERDICT_UNCHECKED;
	return s;
}

const uint8_t *custody_subject_seal(const struct custody_subject *s)
{
	return s->ended         ? s->reader->end.hash
	       : s->nepochs > 0 ? s->reader->epochs[s->nepochs - 1].hash
				: s->reader->header.hash;
}

/*
 * Whether the capture has this seal. An earlier one is fine: the act was done on a copy that stopped there, as after a
 * crash, or while it was recorded.
 */
static bool subject_has_seal(const struct custody_subject *s, const uint8_t hash[HASH_BYTES])
{
	const struct reader *r = s->reader;

	if (s->ended && memcmp(hash, r->end.hash, HASH_BYTES) == 0)
		return true;
	for (uint64_t i = s->nepochs; i > 0; i--)
		if (memcmp(hash, r->epochs[i - 1].hash, HASH_BYTES) == 0)
			return true;
	return memcmp(hash, r->header.hash, HASH_BYTES) == 0;
}

__attribute__((format(printf, 3, 4))) static bool bad(struct custody *c, enum custody_state state, const char *fmt, ...)
{
	char text[sizeof(c->why.text)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	c->state = state;
	fault_set(&c->why,
		  state == CUSTODY_UNCHECKED   ? ERR_VERSION
		  : state == CUSTODY_MALFORMED ? ERR_FORMAT
					       : ERR_FORGED,
		  FAULT_NOWHERE, "%s", text);
	return false;
}

static bool no_memory(struct custody *c)
{
	bad(c, CUSTODY_UNCHECKED, "out of memory");
	c->why.code = ERR_MEMORY;
	return false;
}

/* All whole lines; one whose end is missing is one if it can be read. False: c->state says why not. */
static bool parse_lines(struct custody *c, const char *text, size_t len)
{
	size_t at = 0, room = 0;
	struct fault inner;

	while (at < len) {
		const char *eol = memchr(text + at, '\n', len - at);
		size_t n = eol ? (size_t)(eol - text) - at : len - at;
		struct custody_line *line;
		int r;

		if (c->nlines == CUSTODY_LINES_MAX)
			return bad(c, CUSTODY_MALFORMED, "it has more than %d lines", CUSTODY_LINES_MAX);
		line = array_at(&c->lines, &room, c->nlines, sizeof(*line));
		if (!line)
			return no_memory(c);
		r = custody_line_parse(line, text + at, n, &inner);
		if (r < 0 && !eol) {
			c->cut_bytes = n;
			return true;
		}
		if (r < 0)
			return bad(c, r == ERR_VERSION ? CUSTODY_UNCHECKED : CUSTODY_MALFORMED, "line %zu: %s",
				   c->nlines + 1, inner.text);
		c->nlines++;
		at += n + 1;
	}
	return true;
}

static bool check_signatures(struct custody *c)
{
	for (size_t i = 0; i < c->nlines; i++)
		if (!custody_line_signed(&c->lines[i]))
			return bad(c, CUSTODY_FORGED,
				   "line %zu: its signature does not fit: the line is not what was signed", i + 1);
	return true;
}

static bool check_capture(struct custody *c, const struct custody_subject *s)
{
	for (size_t i = 0; i < c->nlines; i++)
		if (memcmp(c->lines[i].capture_id, s->reader->header.capture_id, CAPTURE_ID_BYTES) != 0)
			return bad(c, CUSTODY_OTHER, "line %zu is about another capture", i + 1);
	return true;
}

/* The numbers are not 1, 2, 3 ...: say what happened to them. seen[k]: act k is there. */
static bool explain_numbers(struct custody *c, size_t first_wrong, const bool *seen)
{
	uint64_t k = 1, highest = 0;

	while (k <= c->nlines && seen[k])
		k++;
	if (k > c->nlines)
		return bad(c, CUSTODY_REORDERED, "act %" PRIu64 " is in line %zu: the lines are not in order",
			   c->lines[first_wrong].number, first_wrong + 1);
	for (size_t i = 0; i < c->nlines; i++)
		if (c->lines[i].number > highest)
			highest = c->lines[i].number;
	if (highest > k)
		return bad(c, CUSTODY_MISSING, "act %" PRIu64 " is missing, though act %" PRIu64 " is there", k,
			   highest);
	return bad(c, CUSTODY_FORGED, "line %zu is act %" PRIu64 ", which is in an earlier line, too", first_wrong + 1,
		   c->lines[first_wrong].number);
}

static bool check_numbers(struct custody *c)
{
	bool *seen = NULL, good = true;
	size_t i, first_wrong = 0;

	while (first_wrong < c->nlines && c->lines[first_wrong].number == first_wrong + 1)
		first_wrong++;
	if (first_wrong == c->nlines)
		return true;
	seen = calloc(c->nlines + 1, sizeof(*seen));
	if (!seen)
		return no_memory(c);
	for (i = 0; i < c->nlines; i++)
		if (c->lines[i].number >= 1 && c->lines[i].number <= c->nlines)
			seen[c->lines[i].number] = true;
	good = explain_numbers(c, first_wrong, seen);
	free(seen);
	return good;
}

static bool check_links(struct custody *c)
{
	uint8_t start[HASH_BYTES];
	const uint8_t *before = start;

	if (c->nlines)
		custody_start(start, c->lines[0].capture_id);
	for (size_t i = 0; i < c->nlines; i++) {
		if (memcmp(c->lines[i].previous, before, HASH_BYTES) != 0)
			return i == 0 ? bad(c, CUSTODY_FORGED, "line 1 does not begin a chain of this capture")
				      : bad(c, CUSTODY_FORGED,
					    "line %zu follows another line than the one before it here: one of the two "
					    "was put in the place of another",
					    i + 1);
		before = c->lines[i].hash;
	}
	return true;
}

static bool check_seals(struct custody *c, const struct custody_subject *s)
{
	for (size_t i = 0; i < c->nlines; i++) {
		/* One after the other names the same seal; that of a long recording is looked for once. */
		if (i > 0 && memcmp(c->lines[i].seal, c->lines[i - 1].seal, HASH_BYTES) == 0)
			continue;
		if (!subject_has_seal(s, c->lines[i].seal))
			return bad(c, CUSTODY_OTHER,
				   "line %zu is about a seal that this capture does not have: its end was cut off "
				   "since, or it is another capture",
				   i + 1);
	}
	return true;
}

static bool check_tail(struct custody *c)
{
	if (c->cut_bytes)
		return bad(c, CUSTODY_CUT,
			   "it stops inside line %zu, after a crash or a cut; to go on, keep a copy and the first %zu "
			   "line%s ('head -n %zu')",
			   c->nlines + 1, c->nlines, plural(c->nlines), c->nlines);
	if (c->nlines == 0)
		return bad(c, CUSTODY_MISSING, "all lines are missing: the file is empty");
	return true;
}

void custody_judge(struct custody *c, const char *text, size_t len, const struct custody_subject *s)
{
	*c = (struct custody){.state = CUSTODY_INTACT};
	(void)(parse_lines(c, text, len) && check_signatures(c) && check_capture(c, s) && check_numbers(c) &&
	       check_links(c) && check_seals(c, s) && check_tail(c));
}

void custody_clear(struct custody *c)
{
	free(c->lines);
	*c = (struct custody){0};
}

bool custody_has(const struct custody *c, const uint8_t hash[HASH_BYTES])
{
	for (size_t i = 0; i < c->nlines; i++)
		if (memcmp(c->lines[i].hash, hash, HASH_BYTES) == 0)
			return true;
	return false;
}
