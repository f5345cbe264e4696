/* SPDX-License-Identifier: Apache-2.0 */
/* Types (5.1.5), substitutions (5.1.10) and template arguments (5.1.5.8). */
#include "replay/demangle/demangle_internal.h"

#include <string.h>

static const char *const builtins[26] = {
	['v' - 'a'] = "void",        ['w' - 'a'] = "wchar_t",
	['b' - 'a'] = "bool",        ['c' - 'a'] = "char",
	['a' - 'a'] = "signed char", ['h' - 'a'] = "unsigned char",
	['s' - 'a'] = "short",       ['t' - 'a'] = "unsigned short",
	['i' - 'a'] = "int",         ['j' - 'a'] = "unsigned int",
	['l' - 'a'] = "long",        ['m' - 'a'] = "unsigned long",
	['x' - 'a'] = "long long",   ['y' - 'a'] = "unsigned long long",
	['n' - 'a'] = "__int128",    ['o' - 'a'] = "unsigned __int128",
	['f' - 'a'] = "float",       ['d' - 'a'] = "double",
	['e' - 'a'] = "long double", ['g' - 'a'] = "__float128",
	['z' - 'a'] = "...",
};

static const struct {
	const char *code, *text;
} other_builtins[] = {
	{"Dd", "decimal64"},      {"De", "decimal128"},     {"Df", "decimal32"},     {"Dh", "half"},
	{"Di", "char32_t"},       {"Ds", "char16_t"},       {"Du", "char8_t"},       {"Da", "auto"},
	{"Dc", "decltype(auto)"}, {"Dn", "std::nullptr_t"}, {"DF16_", "_Float16"},   {"DF16b", "__bf16"},
	{"DF32_", "_Float32"},    {"DF64_", "_Float64"},    {"DF128_", "_Float128"}, {"DF32x", "_Float32x"},
	{"DF64x", "_Float64x"},
};

uint8_t take_qualifiers(struct demangler *d)
{
	uint8_t q = 0;

	if (take(d, "r"))
		q |= QUALIFIER_RESTRICT;
	if (take(d, "V"))
		q |= QUALIFIER_VOLATILE;
	if (take(d, "K"))
		q |= QUALIFIER_CONST;
	return q;
}

uint16_t parse_substitution(struct demangler *d)
{
	static const struct {
		const char *code, *text;
	} known[] = {
		{"Sa", "std::allocator"}, {"Sb", "std::basic_string"}, {"Ss", "std::string"},
		{"Si", "std::istream"},   {"So", "std::ostream"},      {"Sd", "std::iostream"},
	};
	uint32_t number;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (take(d, known[i].code))
			return node_constant(d, known[i].text);
	if (!take(d, "S") || !take_sequence(d, 36, &number) || number >= d->nsubs)
		return demangle_fail(d);
	return d->subs[number];
}

uint16_t parse_template_parameter(struct demangler *d)
{
	uint32_t number;
	uint16_t node;

	if (!take(d, "T") || !take_sequence(d, 10, &number))
		return demangle_fail(d);
	if (d->in_lambda)
		return node_constant(d, "auto");
	if (number < d->nparams)
		return d->params[number];
	if (!d->may_defer)
		return demangle_fail(d);
	node = node_new(d, NODE_FORWARD, 0, 0);
	d->nodes[node].number = (uint16_t)number;
	return node;
}

static uint16_t parse_template_argument(struct demangler *d)
{
	uint16_t list = 0, last = 0, node;

	switch (peek(d, 0)) {
	case 'X':
		d->at++;
		node = parse_expression(d);
		return take(d, "E") ? node : demangle_fail(d);
	case 'L':
		return parse_literal(d);
	case 'J':
		d->at++;
		while (!d->failed && !take(d, "E"))
			list_add(d, &list, &last, parse_template_argument(d));
		return node_new(d, NODE_PACK, list, 0);
	default:
		return parse_type(d);
	}
}

/* tag: they are those that template parameters behind the name mean. */
uint16_t parse_template_arguments(struct demangler *d, bool tag)
{
	uint16_t list = 0, last = 0;
	uint16_t params[PARAMETERS_MAX], n = 0;
	bool outer = d->no_arguments;

	if (!take(d, "I") || !demangle_enter(d))
		return demangle_fail(d);
	d->no_arguments = false;
	while (!d->failed && !take(d, "E")) {
		uint16_t argument = parse_template_argument(d);

		list_add(d, &list, &last, argument);
		if (n == PARAMETERS_MAX)
			return demangle_fail(d);
		if (d->nodes[argument].kind == NODE_PACK)
			argument = node_new(d, NODE_PARAMETER, d->nodes[argument].a, 0);
		params[n++] = argument;
		/* A parameter may mean one before it of the same list. */
		if (tag && n > d->nparams)
			d->params[d->nparams++] = argument;
	}
	d->no_arguments = outer;
	demangle_leave(d);
	if (tag) {
		memcpy(d->params, params, n * sizeof(params[0]));
		d->nparams = n;
	}
	return list ? list : node_new(d, NODE_LIST, node_new(d, NODE_PACK, 0, 0), 0);
}

/* "RE" and "OE" are no types but say of which objects the member function before is. */
static bool parameters_end(const struct demangler *d)
{
	char c = peek(d, 0);

	return d->failed || !c || strchr("E.+@", c) || ((c == 'R' || c == 'O') && peek(d, 1) == 'E');
}

bool parse_parameters(struct demangler *d, uint16_t *types)
{
	uint16_t last = 0;

	*types = 0;
	if (take(d, "v"))
		return !d->failed;
	do
		list_add(d, types, &last, parse_type(d));
	while (!parameters_end(d));
	return !d->failed;
}

static uint16_t parse_function(struct demangler *d, uint8_t flags)
{
	uint16_t result, types, node;

	if (take(d, "Do"))
		flags |= NOEXCEPT;
	if (!take(d, "F"))
		return demangle_fail(d);
	(void)take(d, "Y"); /* extern "C" */
	result = parse_type(d);
	if (!parse_parameters(d, &types))
		return 0;
	if (take(d, "R"))
		flags |= REF_LVALUE;
	else if (take(d, "O"))
		flags |= REF_RVALUE;
	node = node_new(d, NODE_FUNCTION, result, types);
	d->nodes[node].flags = flags;
	return take(d, "E") ? node : demangle_fail(d);
}

/* A number that is only shown. */
static uint16_t parse_digits(struct demangler *d)
{
	const char *start = d->at;

	while (peek(d, 0) >= '0' && peek(d, 0) <= '9')
		d->at++;
	return node_text(d, start, (size_t)(d->at - start));
}

/* "A10_c", "A_c", "AT_c": dimension and element. */
static uint16_t parse_array(struct demangler *d)
{
	uint16_t bound = 0, node;

	d->at++;
	if (peek(d, 0) != '_')
		bound = peek(d, 0) >= '0' && peek(d, 0) <= '9' ? parse_digits(d) : parse_expression(d);
	if (!take(d, "_"))
		return demangle_fail(d);
	node = parse_type(d);
	return node_new(d, NODE_ARRAY, node, bound);
}

/* "Dv4_f": a vector of four floats. */
static uint16_t parse_vector(struct demangler *d)
{
	uint16_t bound;

	d->at += 2;
	bound = take(d, "_") ? parse_expression(d) : parse_digits(d);
	if (!take(d, "_"))
		return demangle_fail(d);
	return node_new(d, NODE_VECTOR, parse_type(d), bound);
}

/* Types that begin with 'D'. *keep: it becomes a substitution. */
static uint16_t parse_d_type(struct demangler *d, bool *keep)
{
	uint16_t node;

	for (size_t i = 0; i < sizeof(other_builtins) / sizeof(other_builtins[0]); i++)
		if (take(d, other_builtins[i].code)) {
			*keep = false;
			return node_constant(d, other_builtins[i].text);
		}
	switch (peek(d, 1)) {
	case 'p':
		d->at += 2;
		return node_new(d, NODE_EXPANSION, parse_type(d), 0);
	case 't':
	case 'T':
		d->at += 2;
		node = node_new(d, NODE_WRAPPED, parse_expression(d), 0);
		d->nodes[node].text = "decltype";
		return take(d, "E") ? node : demangle_fail(d);
	case 'v':
		return parse_vector(d);
	case 'o':
		return parse_function(d, 0);
	default:
		return demangle_fail(d);
	}
}

static uint16_t parse_qualified(struct demangler *d)
{
	uint8_t q = take_qualifiers(d);
	uint16_t node;

	if (peek(d, 0) == 'F' || (peek(d, 0) == 'D' && peek(d, 1) == 'o'))
		return parse_function(d, q);
	node = node_new(d, NODE_QUALIFIED, parse_type(d), 0);
	d->nodes[node].flags = q;
	return node;
}

/* "U8__strong3Foo" and, for function types and the like, with arguments: what a vendor adds. */
static uint16_t parse_vendor(struct demangler *d)
{
	uint16_t word, type, node;

	d->at++;
	word = parse_source_name(d);
	if (peek(d, 0) == 'I')
		word = node_new(d, NODE_TEMPLATE, word, parse_template_arguments(d, false));
	type = parse_type(d);
	node = node_new(d, NODE_BINARY, type, word);
	d->nodes[node].text = " ";
	d->nodes[node].flags = 1; /* without parentheses */
	return node;
}

static uint16_t parse_simple(struct demangler *d, enum node_kind kind, uint8_t flags)
{
	uint16_t node;

	d->at++;
	node = node_new(d, kind, parse_type(d), 0);
	d->nodes[node].flags = flags;
	return node;
}

static uint16_t parse_suffixed(struct demangler *d, const char *text)
{
	uint16_t node;

	d->at++;
	node = node_new(d, NODE_SUFFIX, parse_type(d), 0);
	d->nodes[node].text = text;
	return node;
}

/* A template parameter or a substitution, each perhaps a template with arguments. */
static uint16_t parse_reused(struct demangler *d, bool *keep)
{
	uint16_t node;

	if (peek(d, 0) == 'T') {
		node = substitution_add(d, parse_template_parameter(d));
		*keep = false;
	} else {
		node = parse_substitution(d);
		*keep = false;
	}
	/* In a conversion the arguments belong to the conversion itself, not to its type. */
	if (peek(d, 0) == 'I' && !d->no_arguments) {
		node = node_new(d, NODE_TEMPLATE, node, parse_template_arguments(d, false));
		*keep = true;
	}
	return node;
}

static uint16_t parse_compound(struct demangler *d, bool *keep)
{
	uint16_t node;
	char c = peek(d, 0);

	switch (c) {
	case 'r':
	case 'V':
	case 'K':
		return parse_qualified(d);
	case 'P':
		return parse_simple(d, NODE_POINTER, 0);
	case 'R':
		return parse_simple(d, NODE_REFERENCE, 0);
	case 'O':
		return parse_simple(d, NODE_REFERENCE, REF_RVALUE);
	case 'C':
		return parse_suffixed(d, " _Complex");
	case 'G':
		return parse_suffixed(d, " _Imaginary");
	case 'F':
		return parse_function(d, 0);
	case 'A':
		return parse_array(d);
	case 'M':
		d->at++;
		node = parse_type(d);
		return node_new(d, NODE_MEMBER, node, parse_type(d));
	case 'U':
		return parse_vendor(d);
	case 'u':
		d->at++;
		return parse_source_name(d);
	case 'D':
		return parse_d_type(d, keep);
	case 'T':
		if (peek(d, 1) == 's' || peek(d, 1) == 'u' || peek(d, 1) == 'e') {
			d->at += 2;
			return parse_name(d, NULL);
		}
		return parse_reused(d, keep);
	case 'S':
		return peek(d, 1) == 't' ? parse_name(d, NULL) : parse_reused(d, keep);
	default:
		if (c == 'N' || c == 'Z' || (c >= '0' && c <= '9'))
			return parse_name(d, NULL);
		return demangle_fail(d);
	}
}

uint16_t parse_type(struct demangler *d)
{
	bool keep = true;
	uint16_t node;
	char c = peek(d, 0);

	if (c >= 'a' && c <= 'z' && builtins[c - 'a']) {
		d->at++;
		return node_constant(d, builtins[c - 'a']);
	}
	if (!demangle_enter(d))
		return 0;
	node = parse_compound(d, &keep);
	demangle_leave(d);
	return keep ? substitution_add(d, node) : node;
}
