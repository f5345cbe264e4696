/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From nodes to text. A type stands around the name it belongs to ("void (*f(int))(char)"), so each node has a left and
 * a right part.
 */
#include "replay/demangle/demangle_internal.h"

#include <stdio.h>
#include <string.h>

static void print_left(struct demangler *d, uint16_t n);
static void print_right(struct demangler *d, uint16_t n);
static void print_encoding(struct demangler *d, const struct node *node, bool with_result);

void demangle_put_bytes(struct demangler *d, const char *s, size_t n)
{
	if (d->failed || n >= d->size - d->used) {
		d->failed = true;
		return;
	}
	memcpy(d->out + d->used, s, n);
	d->used += n;
}

void demangle_put(struct demangler *d, const char *s)
{
	demangle_put_bytes(d, s, strlen(s));
}

static void put_number(struct demangler *d, unsigned n)
{
	char text[16];

	demangle_put_bytes(d, text, (size_t)snprintf(text, sizeof(text), "%u", n));
}

static char last_char(const struct demangler *d)
{
	return d->used ? d->out[d->used - 1] : '\0';
}

/* One node more, one level deeper; false when that is too much. */
static bool step(struct demangler *d)
{
	if (d->depth >= PRINT_DEPTH_MAX || ++d->steps > PRINT_STEPS_MAX)
		d->failed = true;
	if (!d->failed)
		d->depth++;
	return !d->failed;
}

void demangle_print(struct demangler *d, uint16_t n)
{
	print_left(d, n);
	print_right(d, n);
}

/* The element `i` of a pack; 0: it has less. */
static uint16_t element(const struct demangler *d, uint16_t pack, int i)
{
	uint16_t list = d->nodes[pack].a;

	while (list && i-- > 0)
		list = d->nodes[list].b;
	return d->nodes[list].a;
}

/* What stands for n here: an element of a pack, or the argument that a forward parameter means. */
static uint16_t resolve(struct demangler *d, uint16_t n)
{
	for (int i = 0; i < 16; i++) {
		const struct node *node = &d->nodes[n];

		if (node->kind == NODE_PARAMETER && d->pack_index >= 0)
			n = element(d, n, d->pack_index);
		else if (node->kind == NODE_FORWARD && node->number < d->nparams)
			n = d->params[node->number];
		else
			return n;
	}
	return 0;
}

/* A comma-separated list; elements that print nothing (empty packs) take no comma. */
void demangle_print_list(struct demangler *d, uint16_t list)
{
	bool first = true;

	for (; list && !d->failed; list = d->nodes[list].b) {
		size_t before = d->used, begin;

		if (++d->steps > PRINT_STEPS_MAX)
			d->failed = true;
		if (!first)
			demangle_put(d, ", ");
		begin = d->used;
		demangle_print(d, d->nodes[list].a);
		if (d->used == begin)
			d->used = before;
		else
			first = false;
	}
}

/* The number of elements of the first pack that the pattern mentions; -1: it mentions none. */
static int pack_size(struct demangler *d, uint16_t n)
{
	const struct node *node = &d->nodes[n];
	int found = -1;

	if (!n || !step(d))
		return -1;
	if (node->kind == NODE_PARAMETER) {
		found = 0;
		for (uint16_t list = node->a; list; list = d->nodes[list].b)
			found++;
	} else if (node->kind == NODE_FORWARD) {
		found = node->number < d->nparams ? pack_size(d, d->params[node->number]) : -1;
	} else if (node->kind != NODE_TEXT && node->kind != NODE_EXPANSION) {
		found = pack_size(d, node->a);
		if (found < 0)
			found = pack_size(d, node->b);
	}
	d->depth--;
	return found;
}

static void print_expansion(struct demangler *d, const struct node *node)
{
	int outer = d->pack_index, n;
	bool first = true;

	d->pack_index = -1;
	n = pack_size(d, node->a);
	if (n < 0) {
		d->pack_index = outer;
		demangle_print(d, node->a);
		demangle_put(d, "...");
		return;
	}
	for (int i = 0; i < n && !d->failed; i++) {
		size_t before = d->used, begin;

		d->pack_index = i;
		if (!first)
			demangle_put(d, ", ");
		begin = d->used;
		demangle_print(d, node->a);
		if (d->used == begin)
			d->used = before;
		else
			first = false;
	}
	d->pack_index = outer;
}

static void print_template(struct demangler *d, const struct node *node)
{
	int outer = d->pack_index;

	demangle_print(d, node->a);
	if (last_char(d) == '<')
		demangle_put(d, " ");
	demangle_put(d, "<");
	/* A pack that is an argument as a whole is reported as a whole, within an expansion only its element. */
	demangle_print_list(d, node->b);
	d->pack_index = outer;
	demangle_put(d, ">");
}

static void print_qualifiers(struct demangler *d, uint8_t flags)
{
	if (flags & QUALIFIER_CONST)
		demangle_put(d, " const");
	if (flags & QUALIFIER_VOLATILE)
		demangle_put(d, " volatile");
	if (flags & QUALIFIER_RESTRICT)
		demangle_put(d, " restrict");
	if (flags & REF_LVALUE)
		demangle_put(d, " &");
	if (flags & REF_RVALUE)
		demangle_put(d, " &&");
	if (flags & NOEXCEPT)
		demangle_put(d, " noexcept");
}

/* The kind of what a pointer points to: an array and a function are reported around it. */
static enum node_kind kind_beneath(struct demangler *d, uint16_t n)
{
	n = resolve(d, n);
	for (int i = 0; i < 16 && d->nodes[n].kind == NODE_QUALIFIED; i++)
		n = resolve(d, d->nodes[n].a);
	return d->nodes[n].kind;
}

static bool is_around(struct demangler *d, uint16_t n)
{
	enum node_kind kind = kind_beneath(d, n);

	return kind == NODE_ARRAY || kind == NODE_FUNCTION;
}

/* A reference to a reference is one: && only when both are. */
static const char *collapse(struct demangler *d, uint16_t *n)
{
	bool rvalue = true;

	for (int i = 0; i < 16 && d->nodes[*n].kind == NODE_REFERENCE; i++) {
		rvalue = rvalue && (d->nodes[*n].flags & REF_RVALUE);
		*n = resolve(d, d->nodes[*n].a);
	}
	return rvalue ? "&&" : "&";
}

static void print_declarator(struct demangler *d, uint16_t to, const char *sign)
{
	print_left(d, to);
	if (kind_beneath(d, to) == NODE_ARRAY)
		demangle_put(d, " ");
	if (is_around(d, to))
		demangle_put(d, "(");
	demangle_put(d, sign);
}

/* The last part of a class's name, without arguments: what its constructors are called. */
static void print_last_name(struct demangler *d, uint16_t n)
{
	for (int i = 0; i < 64; i++) {
		const struct node *node = &d->nodes[n];

		if (node->kind == NODE_NESTED || node->kind == NODE_LOCAL)
			n = node->b;
		else if (node->kind == NODE_TEMPLATE || node->kind == NODE_TAG)
			n = node->a;
		else
			break;
	}
	if (d->nodes[n].kind == NODE_TEXT && d->nodes[n].number > 5 && !memcmp(d->nodes[n].text, "std::", 5)) {
		const char *name = d->nodes[n].text + 5; /* one that has letters of its own: std::string and the like */

		if (name[0] != 'a' && name[0] != 'b')
			demangle_put(d, "basic_");
		demangle_put(d, name);
	} else
		demangle_print(d, n);
}

static void print_name(struct demangler *d, const struct node *node)
{
	switch (node->kind) {
	case NODE_NESTED:
	case NODE_LOCAL:
		/* What a function around it returns does not help to find it. */
		if (d->nodes[node->a].kind == NODE_ENCODING)
			print_encoding(d, &d->nodes[node->a], false);
		else
			demangle_print(d, node->a);
		demangle_put(d, "::");
		demangle_print(d, node->b);
		break;
	case NODE_SPECIAL:
		demangle_put(d, node->text);
		demangle_print(d, node->a);
		break;
	case NODE_SUFFIX:
		demangle_print(d, node->a);
		demangle_put(d, node->text);
		break;
	case NODE_STRUCTOR:
		demangle_put(d, node->flags ? "~" : "");
		print_last_name(d, node->a);
		break;
	case NODE_CONVERSION:
		demangle_put_around(d, node->a, "operator ", "");
		break;
	case NODE_TAG:
		demangle_print(d, node->a);
		demangle_put_around(d, node->b, "[abi:", "]");
		break;
	case NODE_LAMBDA:
		demangle_put(d, "{lambda(");
		demangle_print_list(d, node->a);
		demangle_put(d, ")#");
		put_number(d, node->number);
		demangle_put(d, "}");
		break;
	default:
		demangle_put(d, "{unnamed type#");
		put_number(d, node->number);
		demangle_put(d, "}");
	}
}

/* "int foo(char)": what it returns stands around. */
static void print_encoding(struct demangler *d, const struct node *node, bool with_result)
{
	const struct node *type = &d->nodes[node->b];

	if (type->a && with_result) {
		print_left(d, type->a);
		if (last_char(d) != '*' || !is_around(d, d->nodes[type->a].a))
			demangle_put(d, " ");
	}
	demangle_print(d, node->a);
	demangle_put(d, "(");
	demangle_print_list(d, type->b);
	demangle_put(d, ")");
	if (type->a && with_result)
		print_right(d, type->a);
	print_qualifiers(d, type->flags);
}

static void print_type_left(struct demangler *d, const struct node *node)
{
	uint16_t to = resolve(d, node->a);
	const char *sign;

	switch (node->kind) {
	case NODE_QUALIFIED:
		print_left(d, to);
		print_qualifiers(d, node->flags);
		break;
	case NODE_POINTER:
		print_declarator(d, to, "*");
		break;
	case NODE_REFERENCE: {
		uint16_t self = (uint16_t)(node - d->nodes);

		sign = collapse(d, &self);
		print_declarator(d, self, sign);
		break;
	}
	case NODE_FUNCTION:
		print_left(d, to);
		demangle_put(d, " ");
		break;
	case NODE_ARRAY:
		print_left(d, to);
		break;
	default: /* NODE_MEMBER */
		to = resolve(d, node->b);
		print_left(d, to);
		demangle_put(d, kind_beneath(d, to) == NODE_FUNCTION ? "(" : " ");
		demangle_print(d, node->a);
		demangle_put(d, "::*");
	}
}

static void print_left(struct demangler *d, uint16_t n)
{
	const struct node *node;

	n = resolve(d, n);
	if (!n || !step(d))
		return;
	node = &d->nodes[n];
	switch (node->kind) {
	case NODE_TEXT:
		demangle_put_bytes(d, node->text, node->number);
		break;
	case NODE_TEMPLATE:
		print_template(d, node);
		break;
	case NODE_PACK:
	case NODE_PARAMETER:
		demangle_print_list(d, node->a);
		break;
	case NODE_EXPANSION:
		print_expansion(d, node);
		break;
	case NODE_QUALIFIED:
	case NODE_POINTER:
	case NODE_REFERENCE:
	case NODE_FUNCTION:
	case NODE_ARRAY:
	case NODE_MEMBER:
		print_type_left(d, node);
		break;
	case NODE_ENCODING:
		print_encoding(d, node, true);
		break;
	case NODE_LITERAL:
		demangle_print_literal(d, node);
		break;
	case NODE_VECTOR:
		demangle_print(d, node->a);
		demangle_put_around(d, node->b, " __vector(", ")");
		break;
	case NODE_UNARY:
	case NODE_BINARY:
	case NODE_CHOICE:
	case NODE_CALL:
	case NODE_CAST:
	case NODE_WRAPPED:
	case NODE_BRACED:
		demangle_print_expression(d, node);
		break;
	case NODE_FORWARD:
		d->failed = true;
		break;
	default:
		print_name(d, node);
	}
	d->depth--;
}

static void print_right(struct demangler *d, uint16_t n)
{
	const struct node *node;
	uint16_t to;

	n = resolve(d, n);
	if (!n || !step(d))
		return;
	node = &d->nodes[n];
	to = resolve(d, node->kind == NODE_MEMBER ? node->b : node->a);
	switch (node->kind) {
	case NODE_QUALIFIED:
		print_right(d, to);
		break;
	case NODE_REFERENCE:
		to = n;
		(void)collapse(d, &to);
		/* fall through */
	case NODE_POINTER:
	case NODE_MEMBER:
		if (node->kind == NODE_MEMBER ? kind_beneath(d, to) == NODE_FUNCTION : is_around(d, to))
			demangle_put(d, ")");
		print_right(d, to);
		break;
	case NODE_FUNCTION:
		demangle_put(d, "(");
		demangle_print_list(d, node->b);
		demangle_put(d, ")");
		print_right(d, to);
		print_qualifiers(d, node->flags);
		break;
	case NODE_ARRAY:
		demangle_put(d, last_char(d) == ']' ? "[" : " [");
		if (node->b)
			demangle_print(d, node->b);
		demangle_put(d, "]");
		print_right(d, to);
		break;
	default:
		break;
	}
	d->depth--;
}
