/* SPDX-License-Identifier: Apache-2.0 */
/* Reading names: the entry, and what all parsing uses. */
#include "replay/demangle/demangle_internal.h"

#include <string.h>

uint16_t demangle_fail(struct demangler *d)
{
	d->failed = true;
	return 0;
}

uint16_t node_new(struct demangler *d, enum node_kind kind, uint16_t a, uint16_t b)
{
	if (d->failed || d->nnodes == NODES_MAX)
		return demangle_fail(d);
	d->nodes[d->nnodes] = (struct node){.kind = (uint8_t)kind, .a = a, .b = b, .text = ""};
	return d->nnodes++;
}

uint16_t node_text(struct demangler *d, const char *text, size_t n)
{
	uint16_t node = node_new(d, NODE_TEXT, 0, 0);

	d->nodes[node].text = text;
	d->nodes[node].number = (uint16_t)n;
	return node;
}

uint16_t node_constant(struct demangler *d, const char *text)
{
	return node_text(d, text, strlen(text));
}

void list_add(struct demangler *d, uint16_t *list, uint16_t *last, uint16_t item)
{
	uint16_t node = node_new(d, NODE_LIST, item, 0);

	if (*list)
		d->nodes[*last].b = node;
	else
		*list = node;
	*last = node;
}

uint16_t substitution_add(struct demangler *d, uint16_t node)
{
	if (d->failed || !node || d->nsubs == SUBSTITUTIONS_MAX)
		return demangle_fail(d);
	d->subs[d->nsubs++] = node;
	return node;
}

bool demangle_enter(struct demangler *d)
{
	if (d->depth >= PARSE_DEPTH_MAX)
		return demangle_fail(d);
	d->depth++;
	return !d->failed;
}

void demangle_leave(struct demangler *d)
{
	d->depth--;
}

char peek(const struct demangler *d, size_t ahead)
{
	return (size_t)(d->end - d->at) > ahead ? d->at[ahead] : '\0';
}

bool take(struct demangler *d, const char *text)
{
	size_t n = strlen(text);

	if (d->failed || (size_t)(d->end - d->at) < n || memcmp(d->at, text, n) != 0)
		return false;
	d->at += n;
	return true;
}

bool take_decimal(struct demangler *d, uint32_t *value)
{
	const char *start = d->at;

	for (*value = 0; peek(d, 0) >= '0' && peek(d, 0) <= '9' && *value <= UINT16_MAX; d->at++)
		*value = *value * 10 + (uint32_t)(*d->at - '0');
	return d->at > start && *value <= UINT16_MAX;
}

bool take_sequence(struct demangler *d, unsigned base, uint32_t *value)
{
	uint32_t v = 0;

	if (take(d, "_")) {
		*value = 0;
		return true;
	}
	for (; v <= UINT16_MAX; d->at++) {
		char c = peek(d, 0);

		if (c >= '0' && c <= '9')
			v = v * base + (uint32_t)(c - '0');
		else if (base == 36 && c >= 'A' && c <= 'Z')
			v = v * base + (uint32_t)(c - 'A') + 10;
		else
			break;
	}
	*value = v + 1;
	return v <= UINT16_MAX && d->at > (const char *)0 && take(d, "_");
}

/* A part ".word" or ".word.3" behind a name, which says what copy of the function it is. */
static size_t clone_length(const char *s, size_t n)
{
	size_t len = 1;

	if (n < 2 || s[0] != '.')
		return 0;
	while (len < n && s[len] != '.' && s[len] != '+')
		len++;
	while (len + 1 < n && s[len] == '.' && s[len + 1] >= '0' && s[len + 1] <= '9') {
		len += 2;
		while (len < n && s[len] >= '0' && s[len] <= '9')
			len++;
	}
	return len;
}

static bool append(struct demangler *d, const char *s, size_t n)
{
	if (n >= d->size - d->used)
		return false;
	memcpy(d->out + d->used, s, n);
	d->used += n;
	return true;
}

/* What follows the encoding: copies of the function, then the distance from its start. */
static bool append_rest(struct demangler *d, const char *s, const char *end)
{
	size_t n;

	while (s < end && (n = clone_length(s, (size_t)(end - s))) > 1) {
		if (!append(d, " [clone ", 8) || !append(d, s, n) || !append(d, "]", 1))
			return false;
		s += n;
	}
	if (s < end && *s != '+' && *s != '@')
		return false;
	return append(d, s, (size_t)(end - s));
}

static bool demangle_with(struct demangler *d, const char *name, size_t len)
{
	uint16_t whole;

	if (len > MANGLED_MAX)
		return false;
	d->at = name;
	d->end = name + len;
	if (take(d, "__Z")) /* as some systems write all names, with a '_' before them */
		d->at = name + 3;
	else if (!take(d, "_Z"))
		return false;
	whole = parse_encoding(d);
	if (d->failed || !whole)
		return false;
	d->pack_index = -1;
	demangle_print(d, whole);
	if (d->failed || !append_rest(d, d->at, d->end))
		return false;
	d->out[d->used] = '\0';
	return true;
}

bool demangle(const char *name, size_t len, char *out, size_t size)
{
	struct demangler d;
	size_t n = len < size - 1 ? len : size - 1;

	if (len > 2 && size > 1 && name[0] == '_' && (name[1] == 'Z' || name[1] == '_')) {
		/* Nodes are filled when they are taken. */
		memset(&d, 0, offsetof(struct demangler, subs));
		d.nnodes = 1;
		d.nodes[0] = (struct node){.text = ""};
		d.out = out;
		d.size = size;
		d.used = 0;
		d.steps = 0;
		if (demangle_with(&d, name, len))
			return true;
	}
	if (n)
		memmove(out, name, n);
	out[n] = '\0';
	return false;
}
