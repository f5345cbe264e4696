/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains of custody. The bits of the first byte say what of each line that parses is put right before the chain is
 * judged; with all of them a chain of such lines must be INTACT, and judged as it is, what is INTACT is canonical.
 *
 *	1 number and link   2 capture and seal   4 key and signature
 */
#include <stdarg.h>
#include <string.h>

#include "tests/unit/sample.h"

#include "keys/custody.h"
#include "tests/fuzz/fuzz.h"

enum { FIX_LINK = 1, FIX_CAPTURE = 2, FIX_SIGNATURE = 4, FIX_ALL = 7 };

/* The capture that all chains are of. */
static const struct custody_subject *subject(void)
{
	static struct custody_subject s;
	static struct memory_sink m;
	static struct source src;
	static struct reader r;
	struct fault why;

	if (!s.reader) {
		MUST(sodium_init() >= 0 && sample_write(&m, 2, true) == 0);
		/* Random in each capture; the corpus must stay good. */
		source_open_memory(&src, m.bytes.data, m.bytes.len);
		MUST(reader_open(&r, &src, &why) == 0);
		memset(r.header.capture_id, 7, CAPTURE_ID_BYTES);
		for (uint64_t i = 0; i < r.nepochs; i++)
			memset(r.epochs[i].hash, 8 + (int)i, HASH_BYTES);
		memset(r.header.hash, 11, HASH_BYTES);
		memset(r.end.hash, 12, HASH_BYTES);
		s = (struct custody_subject){&r, r.nepochs, true};
	}
	return &s;
}

static void fix(struct custody_line *l, unsigned what, uint64_t number, const uint8_t *previous)
{
	struct identity id = sample_identity(1);

	if (what & FIX_LINK) {
		l->number = number;
		memcpy(l->previous, previous, HASH_BYTES);
	}
	if (what & FIX_CAPTURE) {
		memcpy(l->capture_id, subject()->reader->header.capture_id, CAPTURE_ID_BYTES);
		memcpy(l->seal, custody_subject_seal(subject()), HASH_BYTES);
	}
	if (what & FIX_SIGNATURE)
		custody_line_sign(l, &id);
}

/* A line on its own: what parses is written as the same bytes. */
static int parse_line(struct custody_line *l, const char *text, size_t n)
{
	char again[CUSTODY_LINE_MAX];
	struct fault why = {0};
	int r = custody_line_parse(l, text, n, &why);

	if (r < 0) {
		MUST((r == ERR_FORMAT || r == ERR_VERSION) && why.code == r && why.text[0]);
		return r;
	}
	MUST(custody_line_format(again, l) == n + 1 && memcmp(again, text, n) == 0 && again[n] == '\n');
	return 0;
}

/* All of the text with its lines put right; whether every one of them parses. */
static bool fix_all(struct bytes *out, const char *text, size_t n, unsigned what)
{
	uint8_t previous[HASH_BYTES];
	uint64_t number = 0;
	bool good = true;

	custody_start(previous, subject()->reader->header.capture_id);
	while (n > 0) {
		const char *eol = memchr(text, '\n', n);
		size_t len = eol ? (size_t)(eol - text) : n;
		char line[CUSTODY_LINE_MAX];
		struct custody_line l;

		if (parse_line(&l, text, len) == 0 && eol) {
			fix(&l, what, ++number, previous);
			memcpy(previous, l.hash, HASH_BYTES);
			bytes_add(out, line, custody_line_format(line, &l));
		} else {
			bytes_add(out, text, len + (eol != NULL));
			good = false;
		}
		text += len + (eol != NULL);
		n -= len + (eol != NULL);
	}
	MUST(!out->failed);
	return good;
}

static void must_be_canonical(const struct custody *c, const struct bytes *text)
{
	struct bytes again = {.failed = 0};
	uint8_t previous[HASH_BYTES];
	char line[CUSTODY_LINE_MAX];

	custody_start(previous, subject()->reader->header.capture_id);
	MUST(c->nlines > 0 && c->cut_bytes == 0);
	for (size_t i = 0; i < c->nlines; i++) {
		MUST(c->lines[i].number == i + 1 && custody_line_signed(&c->lines[i]));
		MUST(custody_has(c, c->lines[i].hash) && memcmp(c->lines[i].previous, previous, HASH_BYTES) == 0);
		memcpy(previous, c->lines[i].hash, HASH_BYTES);
		bytes_add(&again, line, custody_line_format(line, &c->lines[i]));
	}
	MUST(again.len == text->len && text->data && memcmp(again.data, text->data, again.len) == 0);
	bytes_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct bytes text = {.failed = 0};
	struct custody c;
	bool good;

	if (n == 0)
		return 0;
	good = fix_all(&text, (const char *)bytes + 1, n - 1, bytes[0] & FIX_ALL);
	custody_judge(&c, text.data ? (const char *)text.data : "", text.len, subject());
	if (c.state == CUSTODY_INTACT)
		must_be_canonical(&c, &text);
	else
		MUST(c.why.code < 0 && c.why.text[0] && custody_state_word(c.state)[0]);
	if (good && n > 1 && (bytes[0] & FIX_ALL) == FIX_ALL && c.nlines < CUSTODY_LINES_MAX)
		MUST(c.state == CUSTODY_INTACT);
	custody_clear(&c);
	bytes_free(&text);
	return 0;
}

/* A chain as it should be, judged as it is and put right anew; and one line. */
unsigned fuzz_seeds(void (*give)(void *arg, const uint8_t *bytes, size_t n), void *arg)
{
	struct bytes chain = {.failed = 0};
	uint8_t previous[HASH_BYTES];
	unsigned n = 0;

	custody_start(previous, subject()->reader->header.capture_id);
	bytes_add_u8(&chain, 0);
	for (uint64_t i = 1; i <= 3; i++) {
		struct custody_line l = {.action = i == 3 ? CUSTODY_narrowed : CUSTODY_recorded, .time_s = 1700000000};
		char line[CUSTODY_LINE_MAX];

		strcpy(l.who, i == 2 ? "a\"b\n" : "root@node");
		strcpy(l.note, i == 3 ? "no hosts" : "");
		fix(&l, FIX_ALL, i, previous);
		memcpy(previous, l.hash, HASH_BYTES);
		bytes_add(&chain, line, custody_line_format(line, &l));
		MUST(!chain.failed);
		give(arg, chain.data, chain.len);
		n++;
	}
	chain.data[0] = FIX_ALL;
	give(arg, chain.data, chain.len);
	chain.data[0] = FIX_CAPTURE | FIX_SIGNATURE; /* so that what is signed may be linked wrongly */
	give(arg, chain.data, chain.len);
	bytes_free(&chain);
	return n + 2;
}
