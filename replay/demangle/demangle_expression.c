/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions (5.1.6), as they are in template arguments and decltype; the ones that are met. */
#include "replay/demangle/demangle_internal.h"

#include <string.h>

/* "Li5E", "Lb1E", "LZ...E", "LDnE", "LN1a1eE3E". */
uint16_t parse_literal(struct demangler *d)
{
	const char *start;
	uint16_t type, node;
	uint8_t negative;

	if (!take(d, "L"))
		return demangle_fail(d);
	if (take(d, "_Z") || (peek(d, 0) == 'Z' && take(d, "Z"))) {
		node = parse_inner_encoding(d);
		return take(d, "E") ? node : demangle_fail(d);
	}
	if (take(d, "DnE") || take(d, "Dn0E"))
		return node_constant(d, "nullptr");
	type = parse_type(d);
	negative = take(d, "n");
	for (start = d->at; (peek(d, 0) >= '0' && peek(d, 0) <= '9') || (peek(d, 0) >= 'a' && peek(d, 0) <= 'f');)
		d->at++;
	node = node_new(d, NODE_LITERAL, type, 0);
	d->nodes[node].text = start;
	d->nodes[node].number = (uint16_t)(d->at - start);
	d->nodes[node].flags = negative;
	return take(d, "E") ? node : demangle_fail(d);
}

/* "fp_", "fL0p1_": a parameter of the function whose type is being reported. */
static uint16_t parse_parameter(struct demangler *d)
{
	uint32_t number;

	if (take(d, "fpT"))
		return node_constant(d, "this");
	if (take(d, "fL")) {
		if (!take_decimal(d, &number) || !take(d, "p"))
			return demangle_fail(d);
	} else if (!take(d, "fp")) {
		return demangle_fail(d);
	}
	(void)take_qualifiers(d);
	return take_sequence(d, 10, &number) ? node_constant(d, "{parm}") : demangle_fail(d);
}

/* Expressions up to an 'E', as a list. */
static uint16_t parse_list(struct demangler *d)
{
	uint16_t list = 0, last = 0;

	while (!d->failed && !take(d, "E"))
		list_add(d, &list, &last, parse_expression(d));
	return list;
}

/* Names that depend on a template: "sr T_ 3foo", "on pl", "4name". */
static uint16_t parse_base_name(struct demangler *d)
{
	bool is_operator = take(d, "on");
	uint16_t node = is_operator || (peek(d, 0) >= '0' && peek(d, 0) <= '9') ? parse_unqualified(d, 0, NULL)
										: demangle_fail(d);

	if (peek(d, 0) == 'I')
		node = node_new(d, NODE_TEMPLATE, node, parse_template_arguments(d, false));
	return node;
}

static uint16_t parse_scoped(struct demangler *d)
{
	uint16_t scope;
	bool of_type, ends;

	d->at += 2; /* "sr" */
	of_type = peek(d, 0) < '0' || peek(d, 0) > '9';
	ends = take(d, "N") || !of_type;
	scope = of_type ? parse_type(d) : parse_base_name(d);
	while (ends && !d->failed && !take(d, "E"))
		scope = node_new(d, NODE_NESTED, scope, parse_base_name(d));
	return node_new(d, NODE_NESTED, scope, parse_base_name(d));
}

static uint16_t wrapped(struct demangler *d, const char *text, uint16_t of)
{
	uint16_t node = node_new(d, NODE_WRAPPED, of, 0);

	d->nodes[node].text = text;
	return node;
}

/* "cv type expression", "cv type _ expressions E", "tl type expressions E", "il expressions E". */
static uint16_t parse_conversion(struct demangler *d)
{
	uint16_t type, list = 0, last = 0;

	if (take(d, "il"))
		return node_new(d, NODE_BRACED, 0, parse_list(d));
	if (take(d, "tl")) {
		type = parse_type(d);
		return node_new(d, NODE_BRACED, type, parse_list(d));
	}
	d->at += 2;
	type = parse_type(d);
	if (take(d, "_"))
		list = parse_list(d);
	else
		list_add(d, &list, &last, parse_expression(d));
	return node_new(d, NODE_CAST, type, list);
}

/* "sc", "dc", "cc", "rc": casts with a name. NULL: none. */
static const char *named_cast(const char two[2])
{
	static const struct {
		char code[3];
		const char *text;
	} casts[] = {{"sc", "static_cast"}, {"dc", "dynamic_cast"}, {"cc", "const_cast"}, {"rc", "reinterpret_cast"}};

	for (size_t i = 0; i < sizeof(casts) / sizeof(casts[0]); i++)
		if (!memcmp(casts[i].code, two, 2))
			return casts[i].text;
	return NULL;
}

static uint16_t parse_operation(struct demangler *d, const char *text, int operands)
{
	bool prefix;
	uint16_t a, b, node;

	d->at += 2;
	if (operands == 1) {
		prefix = (text[0] == '+' || text[0] == '-') && text[1] == text[0] && take(d, "_");
		a = parse_expression(d);
		node = node_new(d, NODE_UNARY, a, 0);
		d->nodes[node].flags = prefix;
	} else if (operands == 2) {
		a = parse_expression(d);
		node = node_new(d, NODE_BINARY, a, parse_expression(d));
	} else {
		a = parse_expression(d);
		b = parse_expression(d);
		node = node_new(d, NODE_CHOICE, a, b);
		a = parse_expression(d);
		d->nodes[node].number = a;
		return node;
	}
	d->nodes[node].text = text;
	return node;
}

static uint16_t parse_named(struct demangler *d)
{
	uint16_t a, node;

	if (peek(d, 0) == 's' && peek(d, 1) == 'r')
		return parse_scoped(d);
	if (take(d, "st"))
		return wrapped(d, "sizeof ", parse_type(d));
	if (take(d, "sz"))
		return wrapped(d, "sizeof ", parse_expression(d));
	if (take(d, "at"))
		return wrapped(d, "alignof ", parse_type(d));
	if (take(d, "az"))
		return wrapped(d, "alignof ", parse_expression(d));
	if (take(d, "nx"))
		return wrapped(d, "noexcept ", parse_expression(d));
	if (take(d, "sZ")) {
		a = peek(d, 0) == 'T' ? parse_template_parameter(d) : parse_parameter(d);
		return wrapped(d, "sizeof...", a);
	}
	if (take(d, "sp"))
		return node_new(d, NODE_EXPANSION, parse_expression(d), 0);
	if (take(d, "cl")) {
		a = parse_expression(d);
		return node_new(d, NODE_CALL, a, parse_list(d));
	}
	if (take(d, "dt")) {
		a = parse_expression(d);
		node = node_new(d, NODE_BINARY, a, parse_base_name(d));
		d->nodes[node].text = ".";
		d->nodes[node].flags = 1;
		return node;
	}
	return 0;
}

static uint16_t parse_any(struct demangler *d)
{
	char two[2] = {peek(d, 0), peek(d, 1)};
	const char *text;
	int operands = 0;
	uint16_t node;

	if (two[0] == 'L')
		return parse_literal(d);
	if (two[0] == 'T')
		return parse_template_parameter(d);
	if (two[0] == 'f' && (two[1] == 'p' || two[1] == 'L'))
		return parse_parameter(d);
	if ((two[0] >= '0' && two[0] <= '9') || (two[0] == 'o' && two[1] == 'n'))
		return parse_base_name(d);
	(void)take(d, "gs"); /* "::" */
	memcpy(two, (char[2]){peek(d, 0), peek(d, 1)}, 2);
	node = parse_named(d);
	if (node || d->failed)
		return node;
	if (!memcmp(two, "cv", 2) || !memcmp(two, "tl", 2) || !memcmp(two, "il", 2))
		return parse_conversion(d);
	text = named_cast(two);
	if (text) {
		uint16_t type, list = 0, last = 0;

		d->at += 2;
		type = parse_type(d);
		list_add(d, &list, &last, parse_expression(d));
		node = node_new(d, NODE_CAST, type, list);
		d->nodes[node].text = text;
		return node;
	}
	text = operator_of(two, &operands);
	return text && operands >= 1 ? parse_operation(d, text, operands) : demangle_fail(d);
}

uint16_t parse_expression(struct demangler *d)
{
	uint16_t node;

	if (!demangle_enter(d))
		return 0;
	node = parse_any(d);
	demangle_leave(d);
	return node;
}
