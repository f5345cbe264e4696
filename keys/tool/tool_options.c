/* SPDX-License-Identifier: Apache-2.0 */
#include "keys/tool/tool.h"

#include <assert.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "keys/tool/nearest.h"

#define OPTIONS_MAX 64    /* of one tool, the common ones included */
#define CODE_BASE 256     /* getopt's val of option i is CODE_BASE + i: apart from every letter */
#define HELP_COLUMN 28    /* where the help texts begin */
#define FORM_MAX 96       /* "-o, --output=FILE" */
#define NOTHING_LEFT (-1) /* getopt_long() at the first operand */

enum common_id { ID_HELP = -1, ID_VERSION = -2, ID_QUIET = -3, ID_VERBOSE = -4 };

static const struct tool_option common[] = {
	{"help", 'h', NULL, "show this text", ID_HELP},
	{"version", 0, NULL, "show the version", ID_VERSION},
	{"quiet", 'q', NULL, "print nothing but errors", ID_QUIET},
	{"verbose", 'v', NULL, "print more; may be repeated", ID_VERBOSE},
};
#define NCOMMON (sizeof(common) / sizeof(common[0]))

/* A tool's own options and the common ones, in the form that getopt_long() wants. */
struct parser {
	const struct tool_option *options[OPTIONS_MAX];
	struct option longs[OPTIONS_MAX + 1];
	char shorts[2 * OPTIONS_MAX + 3];
	int n;
};

static bool is_optional(const struct tool_option *o)
{
	return o->argument && o->argument[0] == '[';
}

static void parser_add(struct parser *p, const struct tool_option *o)
{
	struct option *l = &p->longs[p->n];
	size_t len = strlen(p->shorts);

	assert(p->n < OPTIONS_MAX);
	l->name = o->long_name;
	l->has_arg = !o->argument ? no_argument : is_optional(o) ? optional_argument : required_argument;
	l->val = CODE_BASE + p->n;
	if (o->letter) {
		p->shorts[len++] = o->letter;
		if (l->has_arg == required_argument)
			p->shorts[len++] = ':';
		p->shorts[len] = '\0';
	}
	p->options[p->n++] = o;
}

static void parser_init(struct parser *p, const struct tool_options *o, bool stop_at_operand)
{
	const struct tool_option *t;
	size_t i;

	memset(p, 0, sizeof(*p));
	/* The colon makes getopt tell a missing argument from an unknown option. */
	strcpy(p->shorts, stop_at_operand ? "+:" : ":");
	for (t = o->table; t && t->long_name; t++)
		parser_add(p, t);
	for (i = 0; i < NCOMMON; i++)
		parser_add(p, &common[i]);
}

static const struct tool_option *parser_find(const struct parser *p, int code)
{
	int i;

	if (code >= CODE_BASE && code < CODE_BASE + p->n)
		return p->options[code - CODE_BASE];
	for (i = 0; i < p->n; i++)
		if (code && p->options[i]->letter == code)
			return p->options[i];
	return NULL;
}

/* "-o, --output=FILE" */
static void option_form(char *buf, size_t size, const struct tool_option *o)
{
	char letter[8] = "    ";

	if (o->letter)
		snprintf(letter, sizeof(letter), "-%c, ", o->letter);
	snprintf(buf, size, "%s--%s%s%s", letter, o->long_name, o->argument && !is_optional(o) ? "=" : "",
		 o->argument ? o->argument : "");
}

static void print_help(const struct tool_options *o, const struct parser *p)
{
	const char *line = o->synopsis, *end;
	char form[FORM_MAX];
	int i;

	for (i = 0; *line; i++, line = *end ? end + 1 : end) {
		end = line + strcspn(line, "\n");
		printf("%s %s %.*s\n", i ? "      " : "usage:", tool_get_name(), (int)(end - line), line);
	}
	printf("%s\n\n", o->summary);
	for (i = 0; i < p->n; i++) {
		option_form(form, sizeof(form), p->options[i]);
		if (strlen(form) + 4 > HELP_COLUMN)
			printf("  %s\n%*s%s\n", form, HELP_COLUMN, "", p->options[i]->help);
		else
			printf("  %-*s%s\n", HELP_COLUMN - 2, form, p->options[i]->help);
	}
	if (o->more)
		printf("\n%s%s", o->more, o->more[0] && o->more[strlen(o->more) - 1] == '\n' ? "" : "\n");
}

/* The line for an option that getopt_long() refused; optopt and optind are as it left them. */
static int refuse(const struct parser *p, int code, char **argv)
{
	const struct tool_option *o = parser_find(p, optopt);
	const char *text = argv[optind - 1];
	size_t len = strcspn(text, "=");
	char word[NEAREST_MAX + 1];
	struct nearest meant;
	int i, n = 0;

	if (code == ':' && o)
		return optopt >= CODE_BASE
			       ? tool_usage("--%s needs a value: --%s=%s", o->long_name, o->long_name, o->argument)
			       : tool_usage("-%c needs a value: -%c %s", o->letter, o->letter, o->argument);
	if (o && optopt >= CODE_BASE)
		return tool_usage("--%s takes no value", o->long_name);
	if (optopt)
		return tool_usage("there is no option -%c", optopt);
	for (i = 0; i < p->n && len > 2; i++)
		n += strncmp(p->options[i]->long_name, text + 2, len - 2) == 0;
	if (n > 1)
		return tool_usage("%.*s may mean more than one option", (int)len, text);
	snprintf(word, sizeof(word), "%.*s", (int)(len > 2 ? len - 2 : 0), text + (len > 2 ? 2 : len));
	meant = nearest_to(word);
	for (i = 0; i < p->n; i++)
		nearest_offer(&meant, p->options[i]->long_name);
	if (meant.best)
		return tool_usage("there is no option %.*s; did you mean --%s?", (int)len, text, meant.best);
	return tool_usage("there is no option %.*s", (int)len, text);
}

/* Deal with a common option. Returns whether the program ends here, with *status. */
static bool take_common(const struct tool_options *o, const struct parser *p, int id, int *status)
{
	switch (id) {
	case ID_QUIET:
		tool_quiet = true;
		return false;
	case ID_VERBOSE:
		tool_verbose++;
		return false;
	case ID_HELP:
		print_help(o, p);
		break;
	default:
		printf("%s %s\n", tool_get_name(), TOOL_VERSION);
	}
	*status = tool_finish(TOOL_FINE);
	return true;
}

int tool_next_option(const struct tool_options *o, bool stop_at_operand, int argc, char **argv, const char **value,
		     int *operands, int *status)
{
	const struct tool_option *found;
	struct parser p;
	int code;

	parser_init(&p, o, stop_at_operand);
	opterr = 0;
	for (;;) {
		code = getopt_long(argc, argv, p.shorts, p.longs, NULL);
		if (code == NOTHING_LEFT) {
			*operands = optind;
			optind = 0; /* the next call begins anew: a subcommand's own options */
			return 0;
		}
		found = code == '?' || code == ':' ? NULL : parser_find(&p, code);
		if (!found) {
			*status = refuse(&p, code, argv);
			optind = 0;
			return -1;
		}
		if (found->id > 0) {
			*value = optarg;
			return found->id;
		}
		if (take_common(o, &p, found->id, status)) {
			optind = 0;
			return -1;
		}
	}
}
