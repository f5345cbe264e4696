/* SPDX-License-Identifier: Apache-2.0 */
#include "keys/tool/tool.h"

#include <assert.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/units.h"
#include "keys/tool/nearest.h"

#define OPTIONS_MAX 64    /* of one tool, the common ones included */
#define CODE_BASE 256     /* getopt's val of option i is CODE_BASE + i: apart from every letter */
#define HELP_COLUMN 28    /* where the help texts begin */
#define FORM_MAX 96       /* "-o, --output=FILE" */
#define NOTHING_LEFT (-1) /* getopt_long() at the first operand */

/* In this order, after a tool's own. */
enum common { COMMON_HELP, COMMON_VERSION, COMMON_QUIET, NCOMMON };

static const struct tool_option common[NCOMMON] = {
	[COMMON_HELP] = {"help", 'h', NULL, "show this text"},
	[COMMON_VERSION] = {"version", 0, NULL, "show the version"},
	[COMMON_QUIET] = {"quiet", 'q', NULL, "print nothing but errors"},
};

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
	/* The colon makes getopt distinguish a missing argument from an unknown option. */
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
	meant = nearest_to_part(word, text + (len > 2 ? 2 : len), len > 2 ? len - 2 : 0);
	for (i = 0; i < p->n; i++)
		nearest_offer(&meant, p->options[i]->long_name);
	if (meant.best)
		return tool_usage("there is no option %.*s; did you mean --%s?", (int)len, text, meant.best);
	return tool_usage("there is no option %.*s", (int)len, text);
}

/* -1: go on; else the program ends here, with this status. */
static int take_common(const struct tool_options *o, const struct parser *p, const struct tool_option *option)
{
	switch ((enum common)(option - common)) {
	case COMMON_QUIET:
		tool_quiet = true;
		return -1;
	case COMMON_HELP:
		print_help(o, p);
		break;
	default:
		printf("%s %s\n", tool_get_name(), TOOL_VERSION);
	}
	return tool_finish(TOOL_FINE);
}

int tool_count_verbose(void *settings, const char *value, struct fault *why)
{
	(void)settings;
	(void)value;
	(void)why;
	tool_verbose++;
	return 0;
}

/* --- values --- */

static int refused(struct fault *why, const char *sentence)
{
	return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "%s", sentence);
}

void tool_list_clear(struct tool_list *l)
{
	free(l->items);
	*l = (struct tool_list){0};
}

static int list_add(struct tool_list *l, const char *value, uint64_t max, struct fault *why)
{
	const char **items;

	if (max && l->n == max)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "at most %" PRIu64 " of them", max);
	items = reallocarray(l->items, l->n + 1, sizeof(*items));
	if (!items)
		return fault_no_memory(why);
	l->items = items;
	l->items[l->n++] = value;
	return 0;
}

/* Whether a duration or a size is within its option's bounds; `text` shows one. */
static int check_bounds(const struct tool_option *o, const char *value, uint64_t n,
			char *(*text)(char buf[UNITS_CHARS], uint64_t n), struct fault *why)
{
	char bound[UNITS_CHARS];

	if (n == 0 && o->min == 1)
		return refused(why, "must be greater than zero");
	if (n < o->min)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "'%.64s' is less than %s", value, text(bound, o->min));
	if (o->max && n > o->max)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "'%.64s' is more than %s", value, text(bound, o->max));
	return 0;
}

static int read_word(const struct tool_option *o, const char *value, int *word, struct fault *why)
{
	struct nearest meant = nearest_to(value);
	char known[128] = "";
	size_t len = 0;

	for (int i = 0; o->words[i]; i++) {
		if (!strcmp(o->words[i], value)) {
			*word = i;
			return 0;
		}
		nearest_offer(&meant, o->words[i]);
		len += (size_t)snprintf(known + len, sizeof(known) - len, "%s%s", i ? ", " : "", o->words[i]);
		assert(len < sizeof(known));
	}
	if (meant.best)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "'%.64s' is not one of %s; did you mean '%s'?", value,
				 known, meant.best);
	return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "'%.64s' is not one of %s", value, known);
}

/* What take() returns. */
static int take_value(const struct tool_option *o, void *settings, const char *value, struct fault *why)
{
	void *at = (char *)settings + o->at;
	uint64_t n;
	int r;

	switch (o->type) {
	case TOOL_SET:
	case TOOL_CLEAR:
		*(bool *)at = o->type == TOOL_SET;
		return 0;
	case TOOL_TEXT:
		*(const char **)at = value;
		return 0;
	case TOOL_FILE:
		if (!*value)
			return refused(why, "the name of a file is missing");
		*(const char **)at = value;
		return 0;
	case TOOL_LIST:
		return *value ? list_add(at, value, o->max, why) : refused(why, "the name is missing");
	case TOOL_NUMBER:
		return number_parse(value, o->min, o->max ? o->max : UINT64_MAX, at, why);
	case TOOL_DESCRIPTOR:
		r = number_parse(value, 0, TOOL_DESCRIPTOR_MAX, &n, why);
		if (r == 0)
			*(int *)at = (int)n;
		return r;
	case TOOL_DURATION:
	case TOOL_SECONDS:
		r = (o->type == TOOL_SECONDS ? seconds_parse : duration_parse)(value, &n, why);
		if (r == 0)
			r = check_bounds(o, value, n, duration_text, why);
		if (r == 0)
			*(uint64_t *)at = n;
		return r;
	case TOOL_SIZE:
		r = size_parse(value, &n, why);
		if (r == 0)
			r = check_bounds(o, value, n, size_text, why);
		if (r == 0)
			*(uint64_t *)at = n;
		return r;
	case TOOL_WORD:
		return read_word(o, value, at, why);
	case TOOL_CALL:
		return o->take(settings, value, why);
	}
	return 0;
}

/* -1: go on; else the status to leave with. */
static int take_own(const struct tool_option *o, void *settings, const char *value)
{
	struct fault why;
	int r = take_value(o, settings, value, &why);

	if (r == 0)
		return -1;
	if (r > 0)
		return r;
	return r == ERR_INPUT ? tool_usage("--%s: %s", o->long_name, why.text) : tool_fault(NULL, &why);
}

int tool_read_options(const struct tool_options *o, bool stop_at_operand, int argc, char **argv, void *settings,
		      int *operands)
{
	const struct tool_option *found;
	int code, status = -1;
	struct parser p;

	parser_init(&p, o, stop_at_operand);
	/* Options after an operand are options, whatever the environment wants; COMMAND keeps its own. */
	if (!stop_at_operand)
		unsetenv("POSIXLY_CORRECT");
	opterr = 0;
	while (status < 0 && (code = getopt_long(argc, argv, p.shorts, p.longs, NULL)) != NOTHING_LEFT) {
		found = code == '?' || code == ':' ? NULL : parser_find(&p, code);
		if (!found)
			status = refuse(&p, code, argv);
		else if (found >= common && found < common + NCOMMON)
			status = take_common(o, &p, found);
		else
			status = take_own(found, settings, optarg);
	}
	*operands = optind;
	optind = 0; /* the next call begins anew: a subcommand's own options */
	return status;
}
