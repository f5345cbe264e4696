/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the demangle*.c files share, and nobody else needs. A name is parsed into nodes, each of which may be used in
 * many places (substitutions, template parameters), then printed. Sections in comments are those of the Itanium C++
 * ABI, "5.1 External Names".
 */
#ifndef GPUREC_REPLAY_DEMANGLE_DEMANGLE_INTERNAL_H
#define GPUREC_REPLAY_DEMANGLE_DEMANGLE_INTERNAL_H

#include <stdint.h>

#include "replay/demangle/demangle.h"

#define MANGLED_MAX 4096 /* bytes of a mangled name: as long as a capture's text can be */
#define NODES_MAX 4096   /* of one name; 0 is no node */
#define SUBSTITUTIONS_MAX 1024
#define PARAMETERS_MAX 128  /* of the template that is inspected */
#define PARSE_DEPTH_MAX 128 /* of recursion */
#define PRINT_DEPTH_MAX 192
#define PRINT_STEPS_MAX 50000 /* nodes printed: a node may be used in many places */

enum node_kind {
	NODE_NONE,
	NODE_TEXT,      /* text */
	NODE_NESTED,    /* a::b */
	NODE_LOCAL,     /* a::b, a: an encoding */
	NODE_TEMPLATE,  /* a<b...>, b: NODE_LIST */
	NODE_LIST,      /* a, then b: NODE_LIST or 0 */
	NODE_PACK,      /* a: NODE_LIST of template arguments, or 0: reported as a list */
	NODE_PARAMETER, /* the same as template parameters mean it: within an expansion one element is reported */
	NODE_EXPANSION, /* a... */
	NODE_QUALIFIED, /* a with flags */
	NODE_POINTER,
	NODE_REFERENCE,  /* flags: REF_RVALUE */
	NODE_FUNCTION,   /* a: what it returns, or 0; b: NODE_LIST; flags */
	NODE_ARRAY,      /* a: of what; b: how many, or 0 */
	NODE_MEMBER,     /* a: class; b: type of the member */
	NODE_ENCODING,   /* a: name; b: NODE_FUNCTION */
	NODE_SPECIAL,    /* text, then a */
	NODE_SUFFIX,     /* a, then text */
	NODE_STRUCTOR,   /* constructor, flags: 1 destructor, of a */
	NODE_CONVERSION, /* operator a */
	NODE_TAG,        /* a[abi:b] */
	NODE_LAMBDA,     /* a: NODE_LIST; number */
	NODE_UNNAMED,    /* number */
	NODE_FORWARD,    /* template parameter `number`, of a template whose arguments follow */
	NODE_LITERAL,    /* a: type; text: digits; flags: 1 negative */
	NODE_UNARY,      /* text(a) */
	NODE_BINARY,     /* a text b */
	NODE_CHOICE,     /* a ? b : number */
	NODE_CALL,       /* a(b...) */
	NODE_CAST,       /* (a)(b...), or with text: text<a>(b) */
	NODE_WRAPPED,    /* text, then a in parentheses */
	NODE_BRACED,     /* a{b...} */
	NODE_VECTOR,     /* a __vector(b) */
};

#define QUALIFIER_CONST 1
#define QUALIFIER_VOLATILE 2
#define QUALIFIER_RESTRICT 4
#define REF_LVALUE 8 /* of a function: what its object must be */
#define REF_RVALUE 16
#define NOEXCEPT 32

struct node {
	uint8_t kind;
	uint8_t flags;
	uint16_t a, b;
	uint16_t number;  /* or bytes of text */
	const char *text; /* in the name, or a constant */
};

struct demangler {
	const char *at, *end;
	unsigned depth;
	bool failed;
	bool in_lambda;    /* template parameters are `auto` */
	bool may_defer;    /* a template parameter may be one of arguments that follow: in a conversion's type */
	bool no_arguments; /* arguments behind the type are not the type's but the conversion's */
	uint16_t nnodes, nsubs, nparams;
	uint16_t subs[SUBSTITUTIONS_MAX];
	uint16_t params[PARAMETERS_MAX];
	struct node nodes[NODES_MAX];
	/* printing */
	char *out;
	size_t size, used;
	unsigned steps;
	int pack_index; /* the element of packs that is printed; -1: not in an expansion */
};

/* A new node; 0, and `failed`, when there are too many. Functions that parse return 0 on failure, which is sticky. */
uint16_t node_new(struct demangler *d, enum node_kind kind, uint16_t a, uint16_t b);
uint16_t node_text(struct demangler *d, const char *text, size_t n);
uint16_t node_constant(struct demangler *d, const char *text);
/* *list: 0, or the first; *last: the last. Appends. */
void list_add(struct demangler *d, uint16_t *list, uint16_t *last, uint16_t item);
uint16_t demangle_fail(struct demangler *d);
uint16_t substitution_add(struct demangler *d, uint16_t node);

/* One level deeper; false at the limit. Each true one is ended by demangle_leave(). */
bool demangle_enter(struct demangler *d);
void demangle_leave(struct demangler *d);

char peek(const struct demangler *d, size_t ahead);
bool take(struct demangler *d, const char *text);
/* Decimal; false: no digit, or far too large. */
bool take_decimal(struct demangler *d, uint32_t *value);
/* "_" is 0, "0_" 1, and so on in base 10 or 36: sequence numbers. */
bool take_sequence(struct demangler *d, unsigned base, uint32_t *value);

/* What a name was, for the encoding around it. */
struct name_facts {
	bool ends_in_template; /* then the function's return type is reported */
	bool structor_or_conversion;
	uint8_t flags; /* of a member function */
};

uint16_t parse_encoding(struct demangler *d);
uint16_t parse_inner_encoding(struct demangler *d);
uint16_t parse_name(struct demangler *d, struct name_facts *facts);
uint16_t parse_source_name(struct demangler *d);
uint16_t parse_unqualified(struct demangler *d, uint16_t scope, struct name_facts *facts);
uint16_t parse_type(struct demangler *d);
uint16_t parse_substitution(struct demangler *d);
uint16_t parse_template_parameter(struct demangler *d);
uint16_t parse_template_arguments(struct demangler *d, bool tag);
uint16_t parse_expression(struct demangler *d);
uint16_t parse_literal(struct demangler *d);
/* Types up to an 'E', '.' or the end; *types: NODE_LIST, 0 for "v". */
bool parse_parameters(struct demangler *d, uint16_t *types);
uint8_t take_qualifiers(struct demangler *d);

/* The two letters of an operator: its name ("operator+" without "operator"), how many operands; NULL: it is none. */
const char *operator_of(const char two[2], int *operands);

void demangle_print(struct demangler *d, uint16_t node);
void demangle_print_list(struct demangler *d, uint16_t list);
void demangle_print_literal(struct demangler *d, const struct node *node);
void demangle_print_expression(struct demangler *d, const struct node *node);
/* What does not fit is a failure. */
void demangle_put_bytes(struct demangler *d, const char *s, size_t n);
void demangle_put(struct demangler *d, const char *s);
/* A node between two texts. */
void demangle_put_around(struct demangler *d, uint16_t n, const char *before, const char *after);

#endif
