// SPDX-License-Identifier: Apache-2.0
#include "analyze/rules_help.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 100 /* columns of --explain */
#define LINE_MAX_BYTES 4096

static void add_settings(const struct rule *rule, const uint64_t *values, struct text *t)
{
	for (unsigned k = 0; k < rule->nsettings; k++) {
		text_add(t, "  %s.%s = ", rule->name, rule->settings[k].key);
		setting_text(&rule->settings[k], values[k], t);
		text_add(t, "\n      %s\n", rule->settings[k].help);
	}
}

static void add_user_rule(const struct user_rule *u, struct text *t)
{
	text_add(t, "%s (%s, yours): ", u->name, severity_name(u->severity));
	text_add_escaped(t, u->summary ? u->summary : u->message, strlen(u->summary ? u->summary : u->message));
	text_add(t, "\n");
}

void about_all_rules(const struct settings *s, const struct user_rules *u, struct text *t)
{
	for (unsigned i = 0; i < NRULES; i++) {
		text_add(t, "%s%s (%s): %s\n", i ? "\n" : "", rules[i]->name, severity_name(rules[i]->severity),
			 rules[i]->summary);
		add_settings(rules[i], s->v[i], t);
	}
	for (size_t i = 0; i < u->n; i++) {
		text_add(t, "\n");
		add_user_rule(&u->all[i], t);
	}
}

/* Words of a paragraph, in lines of at most WIDTH columns. */
static void add_wrapped(struct text *t, const char *s)
{
	size_t column = 0;

	for (s += strspn(s, " \n"); *s; s += strspn(s, " \n")) {
		size_t n = strcspn(s, " \n");

		if (column && column + 1 + n > WIDTH) {
			text_add(t, "\n");
			column = 0;
		}
		text_add(t, "%s%.*s", column ? " " : "  ", (int)n, s);
		column += n + (column ? 1 : 2);
		s += n;
	}
	text_add(t, "\n");
}

static void add_part(struct text *t, const char *title, const char *s)
{
	if (!s)
		return;
	text_add(t, "\n%s\n", title);
	add_wrapped(t, s);
}

bool about_rule(const char *name, const struct settings *s, const struct user_rules *u, struct text *t)
{
	for (unsigned i = 0; i < NRULES; i++) {
		if (strcmp(rules[i]->name, name) != 0)
			continue;
		text_add(t, "%s (%s)\n", rules[i]->name, severity_name(rules[i]->severity));
		add_wrapped(t, rules[i]->summary);
		add_part(t, "What a finding means", rules[i]->meaning);
		add_part(t, "When it is wrong", rules[i]->wrong);
		add_part(t, "What to do", rules[i]->remedy);
		if (rules[i]->nsettings)
			text_add(t, "\nSettings (--set RULE.KEY=VALUE, --settings FILE)\n");
		add_settings(rules[i], s->v[i], t);
		return true;
	}
	for (size_t i = 0; i < u->n; i++) {
		if (strcmp(u->all[i].name, name) != 0)
			continue;
		add_user_rule(&u->all[i], t);
		add_part(t, "What to do", u->all[i].advice);
		text_add(t, "\nQuery\n");
		for (const char *line = u->all[i].sql; *line;) {
			size_t n = strcspn(line, "\n");

			text_add(t, "  ");
			text_add_escaped(t, line, n);
			text_add(t, "\n");
			line += n + (line[n] == '\n');
		}
		return true;
	}
	return false;
}

/* Without blanks at its ends and around the '='. */
static char *squeeze(char *s)
{
	char *to = s;

	for (const char *p = s; *p; p++)
		if (!isspace((unsigned char)*p))
			*to++ = *p;
	*to = 0;
	return s;
}

int settings_read(struct settings *s, const char *path, struct fault *why)
{
	char line[LINE_MAX_BYTES];
	struct fault inner;
	unsigned number = 0;
	FILE *f = fopen(path, "re");
	int e = 0;

	if (!f)
		return fault_errno(why, "cannot read the settings %s", path);
	while (e == 0 && fgets(line, sizeof(line), f)) {
		number++;
		if (strlen(line) == sizeof(line) - 1)
			e = fault_set(why, ERR_INPUT, FAULT_NOWHERE, "%s, line %u: it is too long", path, number);
		else if (*squeeze(line) && line[0] != '#' && settings_set(s, line, &inner))
			e = fault_set(why, ERR_INPUT, FAULT_NOWHERE, "%s, line %u: %s", path, number, inner.text);
	}
	if (e == 0 && ferror(f))
		e = fault_errno(why, "cannot read the settings %s", path);
	fclose(f);
	return e;
}
