/* SPDX-License-Identifier: Apache-2.0 */
/* Literals and expressions as text. */
#include "replay/demangle/demangle_internal.h"

#include <string.h>

void demangle_print_literal(struct demangler *d, const struct node *node)
{
	static const struct {
		const char *type, *suffix;
	} short_types[] = {{"int", ""},         {"unsigned int", "u"},        {"long", "l"}, {"unsigned long", "ul"},
			   {"long long", "ll"}, {"unsigned long long", "ull"}};
	const struct node *type = &d->nodes[node->a];
	const char *suffix = NULL;

	if (type->kind == NODE_TEXT && type->number == 4 && !memcmp(type->text, "bool", 4) && node->number == 1) {
		demangle_put(d, node->text[0] == '0' ? "false" : "true");
		return;
	}
	for (size_t i = 0; i < sizeof(short_types) / sizeof(short_types[0]); i++)
		if (type->kind == NODE_TEXT && type->number == strlen(short_types[i].type) &&
		    !memcmp(type->text, short_types[i].type, type->number))
			suffix = short_types[i].suffix;
	if (!suffix) {
		demangle_put(d, "(");
		demangle_print(d, node->a);
		demangle_put(d, ")");
	}
	if (node->flags)
		demangle_put(d, "-");
	demangle_put_bytes(d, node->text, node->number);
	if (suffix)
		demangle_put(d, suffix);
}

void demangle_put_around(struct demangler *d, uint16_t n, const char *before, const char *after)
{
	demangle_put(d, before);
	demangle_print(d, n);
	demangle_put(d, after);
}

void demangle_print_expression(struct demangler *d, const struct node *node)
{
	switch (node->kind) {
	case NODE_UNARY:
		demangle_put(d, node->text);
		demangle_put_around(d, node->a, "(", ")");
		break;
	case NODE_BINARY: {
		bool bare = node->flags;
		bool greater = node->text[0] == '>'; /* it must not seem to end the template arguments */

		if (greater)
			demangle_put(d, "(");
		demangle_put_around(d, node->a, bare ? "" : "(", bare ? "" : ")");
		demangle_put(d, node->text);
		demangle_put_around(d, node->b, bare ? "" : "(", bare ? "" : ")");
		if (greater)
			demangle_put(d, ")");
		break;
	}
	case NODE_CHOICE:
		demangle_put_around(d, node->a, "(", ")?");
		demangle_put_around(d, node->b, "(", ") : ");
		demangle_put_around(d, node->number, "(", ")");
		break;
	case NODE_CALL:
	case NODE_BRACED:
		demangle_print(d, node->a);
		demangle_put(d, node->kind == NODE_CALL ? "(" : "{");
		demangle_print_list(d, node->b);
		demangle_put(d, node->kind == NODE_CALL ? ")" : "}");
		break;
	case NODE_CAST:
		demangle_put(d, node->text);
		demangle_put_around(d, node->a, node->text[0] ? "<" : "(", node->text[0] ? ">" : ")");
		demangle_put(d, "(");
		demangle_print_list(d, node->b);
		demangle_put(d, ")");
		break;
	default:
		demangle_put(d, node->text);
		demangle_put_around(d, node->a, "(", ")");
	}
}
