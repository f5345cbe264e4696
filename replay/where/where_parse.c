/* SPDX-License-Identifier: Apache-2.0 */
/* A condition, read from left to right: one function for each line of the grammar in where.h. */
#include <stdlib.h>
#include <string.h>

#include "format/base/escape.h"
#include "format/base/units.h"
#include "format/base/utf8.h"
#include "replay/where/where_internal.h"

struct parser {
	struct where *w;
	const char *text;
	size_t at;
	unsigned depth;
	struct fault *why;
};

#define FAIL(p, where_at, ...) fault_set((p)->why, ERR_INPUT, (where_at), __VA_ARGS__)

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool in_name(char c)
{
	return is_letter(c) || is_digit(c);
}

/* A value without quotes: names of functions, files and programs as they usually are. */
static bool in_word(char c)
{
	return in_name(c) || (c && strchr(".:/@+-", c));
}

static void skip_blanks(struct parser *p)
{
	while (p->text[p->at] == ' ' || p->text[p->at] == '\t' || p->text[p->at] == '\n')
		p->at++;
}

/* Whether this keyword stands here, as a word of its own. */
static bool at_keyword(const struct parser *p, const char *keyword)
{
	size_t n = strlen(keyword);

	return !strncmp(p->text + p->at, keyword, n) && !in_word(p->text[p->at + n]);
}

static bool at_any_keyword(const struct parser *p)
{
	return at_keyword(p, "and") || at_keyword(p, "or") || at_keyword(p, "not");
}

static bool take_keyword(struct parser *p, const char *keyword)
{
	skip_blanks(p);
	if (!at_keyword(p, keyword))
		return false;
	p->at += strlen(keyword);
	return true;
}

static int add_node(struct parser *p, enum where_node_type type, uint16_t a, uint16_t b, uint16_t *out)
{
	struct where *w = p->w;

	if (w->nnodes == WHERE_NODES_MAX)
		return FAIL(p, p->at, "the condition is too long");
	w->nodes[w->nnodes] = (struct where_node){.type = (uint8_t)type, .a = a, .b = b};
	*out = (uint16_t)w->nnodes++;
	return 0;
}

/* --- values --- */

static unsigned digit_value(char c)
{
	if (is_digit(c))
		return (unsigned)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (unsigned)(c - 'a') + 10;
	return c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10 : 99;
}

/* Hexadecimal digits at p->at: how many; *value and *overflow. */
static size_t read_hex(struct parser *p, uint64_t *value, bool *overflow)
{
	size_t from = p->at;

	*value = 0;
	for (; digit_value(p->text[p->at]) < 16; p->at++) {
		*overflow |= *value >> 60 != 0;
		*value = *value << 4 | digit_value(p->text[p->at]);
	}
	return p->at - from;
}

/* "1.5ms": digits, perhaps a fraction, perhaps a unit. The sign was read. */
static int read_decimal(struct parser *p, struct where_term *t, uint64_t *value)
{
	static const enum where_form forms[] = {
		[AMOUNT_NUMBER] = WHERE_NUMBER, [AMOUNT_DURATION] = WHERE_DURATION, [AMOUNT_SIZE] = WHERE_SIZE};
	struct amount m;
	size_t from = p->at;
	const char *unit;

	switch (amount_read(p->text + from, false, &m)) {
	case AMOUNT_FINE:
		break;
	case AMOUNT_NO_NUMBER:
	case AMOUNT_FRACTION:
		return FAIL(p, from, "a fraction has 1 to 18 digits");
	case AMOUNT_NO_UNIT:
		return FAIL(p, from, "a fraction needs a unit, as in 1.5ms");
	case AMOUNT_WRONG_UNIT:
		unit = p->text + from + m.unit_at;
		return FAIL(p, from + m.unit_at,
			    "'%.*s' is not a unit; use ns, us, ms, s, min, h or d, and K, M, G or T for bytes",
			    m.length - m.unit_at < 20 ? (int)(m.length - m.unit_at) : 20, unit);
	case AMOUNT_NOT_WHOLE:
		return FAIL(p, from, "this is not a whole number of %s",
			    m.kind == AMOUNT_SIZE ? "bytes" : "nanoseconds");
	case AMOUNT_TOO_LARGE:
		return FAIL(p, from, "this number is too large");
	}
	t->form = forms[m.kind];
	*value = m.value;
	p->at += m.length;
	return 0;
}

static int read_number(struct parser *p, struct where_term *t)
{
	bool negative = p->text[p->at] == '-', overflow = false;
	size_t from = p->at;
	uint64_t value;
	int r = 0;

	p->at += negative;
	if (!is_digit(p->text[p->at]))
		return FAIL(p, from, "a number is expected after '-'");
	t->form = WHERE_NUMBER;
	if (p->text[p->at] == '0' && p->text[p->at + 1] == 'x') {
		p->at += 2;
		if (read_hex(p, &value, &overflow) == 0)
			r = FAIL(p, from, "hexadecimal digits are expected after 0x");
		else if (overflow)
			r = FAIL(p, from, "this number is too large");
	} else {
		r = read_decimal(p, t, &value);
	}
	if (!r && (in_word(p->text[p->at]) || p->text[p->at] == '"'))
		r = FAIL(p, p->at, "this does not belong to a number");
	if (!r)
		t->value = negative ? -(where_number)value : (where_number)value;
	return r;
}

/* What is behind a backslash: \" \\ \xNN \u{NNNN}, as names are shown. Writes to out, at most 4 bytes. */
static int read_escape(struct parser *p, char *out, size_t *len)
{
	size_t from = p->at - 1, digits = 0;
	bool overflow = false;
	uint64_t cp = 0;
	char c = p->text[p->at++];

	*len = 1;
	out[0] = c;
	if (c == '"' || c == '\\')
		return 0;
	if (c == 'x') {
		unsigned high = digit_value(p->text[p->at]), low = high < 16 ? digit_value(p->text[p->at + 1]) : 99;

		if (low > 15)
			return FAIL(p, from, "two hexadecimal digits are expected after \\x");
		out[0] = (char)(high << 4 | low);
		p->at += 2;
		return 0;
	}
	if (c == 'u' && p->text[p->at] == '{') {
		p->at++;
		digits = read_hex(p, &cp, &overflow);
		*len = digits && digits <= 6 ? utf8_encode(out, (uint32_t)cp) : 0;
		if (*len && p->text[p->at] == '}') {
			p->at++;
			return 0;
		}
		return FAIL(p, from, "a character's number is expected, as in \\u{202e}");
	}
	return FAIL(p, from, "a backslash in a text comes before \" or \\, or begins \\x1b or \\u{202e}");
}

static int read_quoted(struct parser *p, char *out, size_t *len)
{
	size_t from = p->at++, n;
	int r;

	for (*len = 0; p->text[p->at] != '"'; *len += n) {
		if (!p->text[p->at])
			return FAIL(p, from, "this text has no closing quote");
		n = 1;
		if (p->text[p->at] != '\\') {
			out[*len] = p->text[p->at++];
			continue;
		}
		p->at++;
		r = read_escape(p, out + *len, &n);
		if (r)
			return r;
	}
	p->at++;
	return in_word(p->text[p->at]) || p->text[p->at] == '"' ? FAIL(p, p->at, "this does not belong to the text")
								: 0;
}

/* A text, kept twice: as bytes, and as names are kept. An escape is never shorter than what it stands for. */
static int read_word(struct parser *p, struct where_term *t)
{
	char *word = malloc(strlen(p->text) + 1);
	size_t room;
	int r = 0;

	if (!word)
		return fault_no_memory(p->why);
	t->form = WHERE_WORD;
	t->word = word;
	if (p->text[p->at] == '"') {
		r = read_quoted(p, word, &t->word_len);
	} else {
		for (t->word_len = 0; in_word(p->text[p->at]); t->word_len++)
			word[t->word_len] = p->text[p->at++];
	}
	if (r)
		return r;
	word[t->word_len] = '\0';
	room = t->word_len * ESCAPE_GROWTH + 1;
	t->shown = malloc(room);
	if (!t->shown)
		return fault_no_memory(p->why);
	escape_terminal(t->shown, room, word, t->word_len);
	return 0;
}

/* --- terms --- */

/* One name up to what ends it, into `name`. */
static int read_name(struct parser *p, char *name)
{
	size_t from = p->at, n = 0;

	while (in_name(p->text[p->at]) && n < NAME_MAX_BYTES)
		name[n++] = p->text[p->at++];
	name[n] = '\0';
	return in_name(p->text[p->at]) ? FAIL(p, from, "no name is that long") : 0;
}

static int read_subject(struct parser *p, struct where_term *t)
{
	int r;

	t->name_at = p->at;
	if (!p->text[p->at])
		return FAIL(p, p->at, "a comparison is expected here, as in dur>1ms");
	if (p->text[p->at] == '!')
		return FAIL(p, p->at, "'!' means nothing here: write not");
	if (!is_letter(p->text[p->at]) || at_any_keyword(p))
		return FAIL(p, p->at, "the name of a field is expected here, as in dur>1ms");
	r = read_name(p, t->name);
	if (r || p->text[p->at] != '.')
		return r;
	strcpy(t->kind, t->name);
	p->at++;
	if (!is_letter(p->text[p->at]))
		return FAIL(p, p->at, "the name of a field is expected after '%.64s.'", t->kind);
	return read_name(p, t->name);
}

static int read_operator(struct parser *p, struct where_term *t)
{
	static const struct {
		const char *text;
		int op;
		const char *instead;
	} known[] = {
		{"=", WHERE_EQ, NULL},   {"!=", WHERE_NE, NULL}, {"<", WHERE_LT, NULL},  {"<=", WHERE_LE, NULL},
		{">", WHERE_GT, NULL},   {">=", WHERE_GE, NULL}, {"~", WHERE_HAS, NULL}, {"==", -1, "="},
		{"=~", -1, "~"},         {"<>", -1, "!="},       {"=<", -1, "<="},       {"=>", -1, ">="},
		{"!~", -1, "not ... ~"}, {"&&", -1, "and"},      {"||", -1, "or"},
	};
	size_t n;

	skip_blanks(p);
	t->op_at = p->at;
	n = strspn(p->text + p->at, "=!<>~&|");
	for (size_t i = 0; n && i < sizeof(known) / sizeof(known[0]); i++) {
		if (strlen(known[i].text) != n || memcmp(known[i].text, p->text + p->at, n) != 0)
			continue;
		if (known[i].instead)
			return FAIL(p, p->at, "'%s' means nothing here: write %s", known[i].text, known[i].instead);
		t->op = (enum where_op)known[i].op;
		p->at += n;
		return 0;
	}
	return FAIL(p, p->at, "one of = != < <= > >= ~ is expected here");
}

static int read_term(struct parser *p, uint16_t *out)
{
	struct where_term *t = &p->w->terms[p->w->nterms];
	int r;

	if (p->w->nterms == WHERE_TERMS_MAX)
		return FAIL(p, p->at, "more than %d comparisons", WHERE_TERMS_MAX);
	p->w->nterms++;
	r = read_subject(p, t);
	if (!r)
		r = read_operator(p, t);
	if (r)
		return r;
	skip_blanks(p);
	t->value_at = p->at;
	if (is_digit(p->text[p->at]) || p->text[p->at] == '-')
		r = read_number(p, t);
	else if (p->text[p->at] == '"' || (is_letter(p->text[p->at]) && !at_any_keyword(p)))
		r = read_word(p, t);
	else
		r = FAIL(p, p->at, "a value is expected here: a number, 1.5ms, 64M, a word or \"a text\"");
	return r ? r : add_node(p, NODE_TERM, (uint16_t)(p->w->nterms - 1), 0, out);
}

/* --- conditions --- */

static int read_or(struct parser *p, uint16_t *out);

static int read_not(struct parser *p, uint16_t *out)
{
	uint16_t inside;
	size_t from;
	int r;

	skip_blanks(p);
	from = p->at;
	if (++p->depth > WHERE_DEPTH_MAX)
		return FAIL(p, from, "more than %d parentheses and nots inside each other", WHERE_DEPTH_MAX);
	if (take_keyword(p, "not")) {
		r = read_not(p, &inside);
		if (!r)
			r = add_node(p, NODE_NOT, inside, 0, out);
	} else if (p->text[p->at] == '(') {
		p->at++;
		r = read_or(p, out);
		if (!r && p->text[p->at] != ')')
			r = FAIL(p, from, "this parenthesis is not closed");
		p->at += !r;
	} else {
		r = read_term(p, out);
	}
	p->depth--;
	return r;
}

/* One or more of what `read` reads, with the keyword between them. */
static int read_joined(struct parser *p, int (*read)(struct parser *p, uint16_t *out), const char *keyword,
		       enum where_node_type type, uint16_t *out)
{
	int r = read(p, out);

	while (!r && take_keyword(p, keyword)) {
		uint16_t right;

		r = read(p, &right);
		if (!r)
			r = add_node(p, type, *out, right, out);
	}
	return r;
}

static int read_and(struct parser *p, uint16_t *out)
{
	return read_joined(p, read_not, "and", NODE_AND, out);
}

static int read_or(struct parser *p, uint16_t *out)
{
	return read_joined(p, read_and, "or", NODE_OR, out);
}

int where_parse(struct where **out, const char *text, struct fault *why)
{
	struct parser p = {.text = text, .why = why};
	int r;

	if (strlen(text) > WHERE_TEXT_MAX)
		return fault_set(why, ERR_INPUT, WHERE_TEXT_MAX, "the condition is longer than %d bytes",
				 WHERE_TEXT_MAX);
	p.w = calloc(1, sizeof(*p.w));
	if (!p.w)
		return fault_no_memory(why);
	strcpy(p.w->text, text);
	r = read_or(&p, &p.w->root);
	if (!r && text[p.at])
		r = text[p.at] == ')'          ? FAIL(&p, p.at, "no parenthesis was opened before this one")
		    : strchr("&|", text[p.at]) ? FAIL(&p, p.at, "'%c' means nothing here: write %s", text[p.at],
						      text[p.at] == '&' ? "and" : "or")
					       : FAIL(&p, p.at, "and, or, or the end is expected here");
	if (r)
		where_free(p.w);
	else
		*out = p.w;
	return r;
}

void where_free(struct where *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->nterms; i++) {
		free(w->terms[i].word);
		free(w->terms[i].shown);
		free(w->terms[i].bound);
		free(w->terms[i].probes);
	}
	free(w);
}

const char *where_text(const struct where *w)
{
	return w->text;
}
