/* SPDX-License-Identifier: Apache-2.0 */
/* Encodings, names (5.1.2), operators, special names (5.1.4). */
#include "replay/demangle/demangle_internal.h"

#include <string.h>

#define CONVERSION (-1) /* operands of "cv" */
#define LITERAL_OPERATOR (-2)

static const struct {
	char code[3];
	short operands;
	const char *text;
} operators[] = {
	{"aN", 2, "&="},        {"aS", 2, "="},
	{"aa", 2, "&&"},        {"ad", 1, "&"},
	{"an", 2, "&"},         {"at", 1, "alignof "},
	{"aw", 1, "co_await "}, {"az", 1, "alignof "},
	{"cl", 0, "()"},        {"cm", 2, ","},
	{"co", 1, "~"},         {"cv", CONVERSION, ""},
	{"dV", 2, "/="},        {"da", 1, "delete[] "},
	{"de", 1, "*"},         {"dl", 1, "delete "},
	{"dv", 2, "/"},         {"eO", 2, "^="},
	{"eo", 2, "^"},         {"eq", 2, "=="},
	{"ge", 2, ">="},        {"gt", 2, ">"},
	{"ix", 2, "[]"},        {"lS", 2, "<<="},
	{"le", 2, "<="},        {"li", LITERAL_OPERATOR, "\"\" "},
	{"ls", 2, "<<"},        {"lt", 2, "<"},
	{"mI", 2, "-="},        {"mL", 2, "*="},
	{"mi", 2, "-"},         {"ml", 2, "*"},
	{"mm", 1, "--"},        {"na", 1, "new[] "},
	{"ne", 2, "!="},        {"ng", 1, "-"},
	{"nt", 1, "!"},         {"nw", 1, "new "},
	{"oR", 2, "|="},        {"oo", 2, "||"},
	{"or", 2, "|"},         {"pL", 2, "+="},
	{"pl", 2, "+"},         {"pm", 2, "->*"},
	{"pp", 1, "++"},        {"ps", 1, "+"},
	{"pt", 2, "->"},        {"qu", 3, "?"},
	{"rM", 2, "%="},        {"rS", 2, ">>="},
	{"rm", 2, "%"},         {"rs", 2, ">>"},
	{"ss", 2, "<=>"},       {"st", 1, "sizeof "},
	{"sz", 1, "sizeof "},
};

const char *operator_of(const char two[2], int *operands)
{
	for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
		if (memcmp(operators[i].code, two, 2) == 0) {
			*operands = operators[i].operands;
			return operators[i].text;
		}
	return NULL;
}

uint16_t parse_source_name(struct demangler *d)
{
	const char *start;
	uint32_t n;

	if (!take_decimal(d, &n) || !n || n > (size_t)(d->end - d->at))
		return demangle_fail(d);
	start = d->at;
	d->at += n;
	if (n >= 10 && !memcmp(start, "_GLOBAL_", 8) && strchr("._$", start[8]) && start[9] == 'N')
		return node_constant(d, "(anonymous namespace)");
	return node_text(d, start, n);
}

static uint16_t parse_operator(struct demangler *d, struct name_facts *facts)
{
	char two[2] = {peek(d, 0), peek(d, 1)};
	int operands = 0;
	const char *text = operator_of(two, &operands);
	bool deferred = d->may_defer, outer = d->no_arguments;
	uint16_t node;

	if (two[0] == 'v' && two[1] >= '0' && two[1] <= '9') { /* a vendor's */
		d->at += 2;
		node = node_new(d, NODE_SPECIAL, parse_source_name(d), 0);
		d->nodes[node].text = "operator ";
		return node;
	}
	if (!text)
		return demangle_fail(d);
	d->at += 2;
	if (operands == CONVERSION) {
		d->may_defer = d->no_arguments = true;
		node = node_new(d, NODE_CONVERSION, parse_type(d), 0);
		d->may_defer = deferred;
		d->no_arguments = outer;
		if (facts)
			facts->structor_or_conversion = true;
		return node;
	}
	node = operands == LITERAL_OPERATOR ? parse_source_name(d) : node_text(d, text, strcspn(text, " "));
	node = node_new(d, NODE_SPECIAL, node, 0);
	d->nodes[node].text = operands == LITERAL_OPERATOR         ? "operator\"\" "
			      : (text[0] >= 'a' && text[0] <= 'z') ? "operator "
								   : "operator";
	return node;
}

/* "Ul...E_" and "Ut_": a function without a name, and a type without one. */
static uint16_t parse_unnamed(struct demangler *d)
{
	bool outer = d->in_lambda, is_lambda = peek(d, 1) == 'l';
	uint32_t number = 0;
	uint16_t node, types = 0;

	d->at += 2;
	if (is_lambda) {
		d->in_lambda = true;
		(void)parse_parameters(d, &types);
		d->in_lambda = outer;
		if (!take(d, "E"))
			return demangle_fail(d);
	}
	if (!take_sequence(d, 10, &number))
		return demangle_fail(d);
	node = node_new(d, is_lambda ? NODE_LAMBDA : NODE_UNNAMED, types, 0);
	d->nodes[node].number = (uint16_t)(number + 1);
	return node;
}

/* "C1", "D0" and the like, of the class `scope`; "CI1 type" inherits another's. */
static uint16_t parse_structor(struct demangler *d, uint16_t scope, struct name_facts *facts)
{
	bool is_destructor = *d->at == 'D', inherits;
	uint16_t node;

	d->at++;
	inherits = !is_destructor && take(d, "I");
	if (peek(d, 0) < '0' || peek(d, 0) > '9')
		return demangle_fail(d);
	d->at++;
	if (inherits)
		(void)parse_type(d);
	if (facts)
		facts->structor_or_conversion = true;
	node = node_new(d, NODE_STRUCTOR, scope, 0);
	d->nodes[node].flags = is_destructor;
	return node;
}

uint16_t parse_unqualified(struct demangler *d, uint16_t scope, struct name_facts *facts)
{
	uint16_t node;
	char c;

	if (facts)
		facts->structor_or_conversion = false;
	(void)take(d, "L"); /* of this file alone */
	c = peek(d, 0);
	if (c >= '1' && c <= '9')
		node = parse_source_name(d);
	else if (c == 'U' && (peek(d, 1) == 't' || peek(d, 1) == 'l'))
		node = parse_unnamed(d);
	else if (scope && (c == 'C' || (c == 'D' && peek(d, 1) >= '0' && peek(d, 1) <= '9')))
		node = parse_structor(d, scope, facts);
	else if (c >= 'a' && c <= 'z')
		node = parse_operator(d, facts);
	else
		return demangle_fail(d);
	while (!d->failed && take(d, "B"))
		node = node_new(d, NODE_TAG, node, parse_source_name(d));
	return node;
}

/* One component of a nested name behind `scope` (0: it is the first). *keep: it becomes a substitution. */
static uint16_t parse_component(struct demangler *d, uint16_t scope, struct name_facts *facts, bool *keep)
{
	char c = peek(d, 0);
	uint16_t node;

	*keep = true;
	if (facts)
		facts->ends_in_template = false;
	if (c == 'I') {
		if (!scope)
			return demangle_fail(d);
		node = parse_template_arguments(d, facts != NULL);
		if (facts)
			facts->ends_in_template = true;
		return node_new(d, NODE_TEMPLATE, scope, node);
	}
	if (!scope && c == 'T')
		return parse_template_parameter(d);
	if (!scope && c == 'S' && peek(d, 1) == 't') {
		d->at += 2;
		*keep = false;
		return node_constant(d, "std");
	}
	if (!scope && c == 'S') {
		*keep = false;
		return parse_substitution(d);
	}
	if (!scope && c == 'D' && (peek(d, 1) == 't' || peek(d, 1) == 'T')) {
		*keep = false;
		return parse_type(d);
	}
	node = parse_unqualified(d, scope, facts);
	return scope ? node_new(d, NODE_NESTED, scope, node) : node;
}

static uint16_t parse_nested(struct demangler *d, struct name_facts *facts)
{
	uint16_t node = 0;
	uint8_t flags = take_qualifiers(d);
	bool keep = false;

	if (take(d, "R"))
		flags |= REF_LVALUE;
	else if (take(d, "O"))
		flags |= REF_RVALUE;
	while (!d->failed && !take(d, "E")) {
		(void)(node && take(d, "M")); /* a member's initialiser */
		node = parse_component(d, node, facts, &keep);
		if (keep)
			substitution_add(d, node);
	}
	/* The whole is not yet one: its user decides. */
	if (d->failed || !node || !keep)
		return demangle_fail(d);
	d->nsubs--;
	if (facts)
		facts->flags = flags;
	return node;
}

/* "_3_" or "__12_": which of several of one name. Not reported. */
static void skip_discriminator(struct demangler *d)
{
	uint32_t number;

	if (peek(d, 0) != '_')
		return;
	if (peek(d, 1) >= '0' && peek(d, 1) <= '9') {
		d->at += 2;
	} else if (peek(d, 1) == '_' && peek(d, 2) >= '0' && peek(d, 2) <= '9') {
		d->at += 2;
		if (!take_decimal(d, &number) || !take(d, "_"))
			demangle_fail(d);
	}
}

/* An encoding within another: its template's arguments are none of those around it. */
uint16_t parse_inner_encoding(struct demangler *d)
{
	uint16_t params[PARAMETERS_MAX], nparams = d->nparams, node;

	memcpy(params, d->params, nparams * sizeof(params[0]));
	node = parse_encoding(d);
	memcpy(d->params, params, nparams * sizeof(params[0]));
	d->nparams = nparams;
	return node;
}

static uint16_t parse_local(struct demangler *d, struct name_facts *facts)
{
	uint16_t encoding, entity;
	uint32_t number;

	d->at++;
	encoding = parse_inner_encoding(d);
	if (!take(d, "E"))
		return demangle_fail(d);
	if (take(d, "s")) {
		skip_discriminator(d);
		return node_new(d, NODE_LOCAL, encoding, node_constant(d, "string literal"));
	}
	if (take(d, "d") && !take_sequence(d, 10, &number)) /* in a default argument */
		return demangle_fail(d);
	entity = parse_name(d, facts);
	skip_discriminator(d);
	return node_new(d, NODE_LOCAL, encoding, entity);
}

uint16_t parse_name(struct demangler *d, struct name_facts *facts)
{
	bool is_substitution = false;
	uint16_t node;

	if (!demangle_enter(d))
		return 0;
	if (facts)
		*facts = (struct name_facts){0};
	if (take(d, "N")) {
		node = parse_nested(d, facts);
	} else if (peek(d, 0) == 'Z') {
		node = parse_local(d, facts);
	} else {
		if (peek(d, 0) == 'S' && peek(d, 1) != 't') {
			node = parse_substitution(d);
			is_substitution = true;
		} else if (take(d, "St")) {
			node = node_constant(d, "std");
			node = node_new(d, NODE_NESTED, node, parse_unqualified(d, 0, facts));
		} else {
			node = parse_unqualified(d, 0, facts);
		}
		if (peek(d, 0) == 'I') {
			if (!is_substitution)
				substitution_add(d, node);
			node = node_new(d, NODE_TEMPLATE, node, parse_template_arguments(d, facts != NULL));
			if (facts)
				facts->ends_in_template = true;
		} else if (is_substitution) {
			demangle_fail(d);
		}
	}
	demangle_leave(d);
	return node;
}

/* "h12_", "v12_n3_": how far a thunk moves `this`. Not reported. */
static void skip_offset(struct demangler *d)
{
	bool is_virtual = take(d, "v");

	if (!is_virtual && !take(d, "h"))
		demangle_fail(d);
	for (int i = 0; i < 1 + is_virtual; i++) {
		(void)take(d, "n");
		while (peek(d, 0) >= '0' && peek(d, 0) <= '9')
			d->at++;
		if (!take(d, "_"))
			demangle_fail(d);
	}
}

static uint16_t special(struct demangler *d, const char *text, uint16_t of)
{
	uint16_t node = node_new(d, NODE_SPECIAL, of, 0);

	d->nodes[node].text = text;
	return node;
}

static uint16_t parse_special(struct demangler *d)
{
	static const struct {
		const char *code, *text;
		bool is_type;
	} known[] = {
		{"TV", "vtable for ", true},
		{"TT", "VTT for ", true},
		{"TI", "typeinfo for ", true},
		{"TS", "typeinfo name for ", true},
		{"TW", "TLS wrapper function for ", false},
		{"TH", "TLS init function for ", false},
		{"GV", "guard variable for ", false},
	};
	uint32_t number;
	uint16_t node;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (take(d, known[i].code))
			return special(d, known[i].text, known[i].is_type ? parse_type(d) : parse_name(d, NULL));
	if (take(d, "GR")) {
		node = parse_name(d, NULL);
		return take_sequence(d, 36, &number) ? special(d, "reference temporary for ", node) : demangle_fail(d);
	}
	if (take(d, "GTt"))
		return special(d, "transaction clone for ", parse_encoding(d));
	if (take(d, "Tc")) {
		skip_offset(d);
		skip_offset(d);
		return special(d, "covariant return thunk to ", parse_encoding(d));
	}
	if (peek(d, 0) == 'T' && (peek(d, 1) == 'h' || peek(d, 1) == 'v')) {
		bool is_virtual = peek(d, 1) == 'v';

		d->at++;
		skip_offset(d);
		return special(d, is_virtual ? "virtual thunk to " : "non-virtual thunk to ", parse_encoding(d));
	}
	return demangle_fail(d);
}

uint16_t parse_encoding(struct demangler *d)
{
	uint16_t name, result = 0, types = 0, node;
	struct name_facts facts = {0};

	if (!demangle_enter(d))
		return 0;
	if (peek(d, 0) == 'T' || (peek(d, 0) == 'G' && strchr("VRT", peek(d, 1)) && peek(d, 1))) {
		node = parse_special(d);
		demangle_leave(d);
		return node;
	}
	name = parse_name(d, &facts);
	if (d->failed || d->at == d->end || strchr("E.+@", peek(d, 0))) { /* data */
		demangle_leave(d);
		return name;
	}
	if (facts.ends_in_template && !facts.structor_or_conversion)
		result = parse_type(d);
	(void)parse_parameters(d, &types);
	node = node_new(d, NODE_FUNCTION, result, types);
	d->nodes[node].flags = facts.flags;
	node = node_new(d, NODE_ENCODING, name, node);
	demangle_leave(d);
	return node;
}
