// SPDX-License-Identifier: Apache-2.0
/* Reading rule files. What runs them is user_rules_run.c. */
#include "analyze/user_rules.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/rule.h"

#define SUFFIX ".sql"

static void rule_clear(struct user_rule *r)
{
	free(r->name);
	free(r->message);
	free(r->advice);
	free(r->summary);
	free(r->sql);
	free(r->file);
	free(r->text);
	for (unsigned i = 0; i < r->ncolumns; i++)
		free(r->columns[i]);
	free(r->columns);
	memset(r, 0, sizeof(*r));
}

void user_rules_clear(struct user_rules *u)
{
	for (size_t i = 0; i < u->n; i++)
		rule_clear(&u->all[i]);
	free(u->all);
	memset(u, 0, sizeof(*u));
}

/* A line of the head, "-- key: value". */
struct line {
	const char *at;
	size_t len;
	unsigned number;
};

/* The value of "-- key: value", without blanks around it, or NULL. */
static const char *value_of(const struct line *l, const char *key, size_t *len)
{
	const char *p = l->at + 2, *end = l->at + l->len;
	size_t n = strlen(key);

	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	if ((size_t)(end - p) <= n || memcmp(p, key, n) != 0 || p[n] != ':')
		return NULL;
	p += n + 1;
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	while (end > p && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r' || end[-1] == '.'))
		end--;
	*len = (size_t)(end - p);
	return p;
}

static int take_text(struct user_rule *r, char **field, const char *key, const char *value, size_t len,
		     const struct line *l, struct fault *why)
{
	if (*field)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "%s, line %u: a second '%s'; a rule has one", r->file,
				 l->number, key);
	if (len == 0)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "%s, line %u: '%s' is empty", r->file, l->number, key);
	*field = strndup(value, len);
	return *field ? 0 : fault_no_memory(why);
}

static int take_name(struct user_rule *r, const struct line *l, struct fault *why)
{
	size_t n = strlen(r->name);

	if (n > USER_RULE_NAME_MAX || strspn(r->name, "abcdefghijklmnopqrstuvwxyz0123456789-") != n)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "%s, line %u: a name is up to %d of a-z, 0-9 and '-'",
				 r->file, l->number, USER_RULE_NAME_MAX);
	for (unsigned i = 0; i < NRULES; i++)
		if (strcmp(rules[i]->name, r->name) == 0)
			return fault_set(why, ERR_INPUT, FAULT_NOWHERE,
					 "%s, line %u: %s is a built-in rule; take another name", r->file, l->number,
					 r->name);
	return 0;
}

static int take_severity(struct user_rule *r, const char *value, size_t len, const struct line *l, struct fault *why)
{
	for (enum severity s = SEVERITY_INFO; s < SEVERITIES; s++) {
		if (strlen(severity_name(s)) == len && memcmp(severity_name(s), value, len) == 0) {
			r->severity = s;
			return 1;
		}
	}
	return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "%s, line %u: a severity is info, warning or error", r->file,
			 l->number);
}

/* One line of the head: 1 if it reported the severity, else 0, or negative. */
static int take_line(struct user_rule *r, const struct line *l, struct fault *why)
{
	const struct {
		const char *key;
		char **field;
	} texts[] = {{"name", &r->name}, {"message", &r->message}, {"advice", &r->advice}, {"summary", &r->summary}};
	const char *value;
	size_t len;
	int e;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		value = value_of(l, texts[i].key, &len);
		if (!value)
			continue;
		e = take_text(r, texts[i].field, texts[i].key, value, len, l, why);
		if (e == 0 && texts[i].field == &r->name)
			e = take_name(r, l, why);
		if (texts[i].field == &r->message)
			r->message_line = l->number;
		return e;
	}
	value = value_of(l, "severity", &len);
	return value ? take_severity(r, value, len, l, why) : 0;
}

/* The head, line by line, and the SQL that begins with the first line that is neither empty nor a comment. */
static int parse(struct user_rule *r, struct fault *why)
{
	struct line l = {.at = r->text, .number = 1};
	const char *end = r->text + r->len;
	bool severity = false;
	int e;

	while (l.at < end) {
		const char *newline = memchr(l.at, '\n', (size_t)(end - l.at));

		l.len = (size_t)((newline ? newline : end) - l.at);
		if (l.len >= 2 && l.at[0] == '-' && l.at[1] == '-') {
			e = take_line(r, &l, why);
			if (e < 0)
				return e;
			severity |= e > 0;
		} else if (strspn(l.at, " \t\r") < l.len) {
			break;
		}
		l.at += l.len + (newline ? 1 : 0);
		l.number++;
	}
	if (!r->name || !r->message || !severity)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE,
				 "%s, line 1: there is no line '-- %s: ...' before the query", r->file,
				 !r->name    ? "name"
				 : !severity ? "severity"
					     : "message");
	if (l.at >= end)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "%s, line %u: there is no query", r->file, l.number);
	r->sql_line = l.number;
	r->sql = strndup(l.at, (size_t)(end - l.at));
	return r->sql ? 0 : fault_no_memory(why);
}

/* Put it where its name belongs. */
static int insert(struct user_rules *u, const struct user_rule *r, struct fault *why)
{
	size_t at = 0;
	struct user_rule *all;

	while (at < u->n && strcmp(u->all[at].name, r->name) < 0)
		at++;
	if (at < u->n && strcmp(u->all[at].name, r->name) == 0)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "%s, line 1: %s has the same name, %s", r->file,
				 u->all[at].file, r->name);
	if (u->n == USER_RULES_MAX)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "%s, line 1: more than %d rules", r->file,
				 USER_RULES_MAX);
	all = realloc(u->all, (u->n + 1) * sizeof(*all));
	if (!all)
		return fault_no_memory(why);
	u->all = all;
	memmove(all + at + 1, all + at, (u->n - at) * sizeof(*all));
	all[at] = *r;
	u->n++;
	return 0;
}

int user_rules_add(struct user_rules *u, const char *file, const char *text, size_t len, struct fault *why)
{
	struct user_rule r = {.len = len};
	int e = 0;

	r.file = strdup(file);
	r.text = malloc(len + 1);
	if (!r.file || !r.text) {
		e = fault_no_memory(why);
		goto out;
	}
	memcpy(r.text, text, len);
	r.text[len] = 0;
	if (len > USER_RULE_BYTES_MAX)
		e = fault_set(why, ERR_INPUT, FAULT_NOWHERE, "%s, line 1: a rule has at most %d bytes", file,
			      USER_RULE_BYTES_MAX);
	else if (memchr(text, 0, len))
		e = fault_set(why, ERR_INPUT, FAULT_NOWHERE, "%s, line 1: a rule is text, without NUL bytes", file);
	if (e == 0)
		e = parse(&r, why);
	if (e == 0)
		e = insert(u, &r, why);
out:
	if (e)
		rule_clear(&r);
	return e;
}

static int read_file(struct user_rules *u, int folder, const char *name, struct fault *why)
{
	char *text = NULL;
	size_t len = 0;
	ssize_t n = 1;
	struct stat st;
	int e = 0, fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 || fstat(fd, &st)) {
		e = fault_errno(why, "cannot read rule %s", name);
		goto out;
	}
	if (!S_ISREG(st.st_mode)) {
		e = fault_set(why, ERR_INPUT, FAULT_NOWHERE, "rule %s is not a regular file", name);
		goto out;
	}
	text = malloc(USER_RULE_BYTES_MAX + 1);
	if (!text) {
		e = fault_no_memory(why);
		goto out;
	}
	/* One byte more than is allowed, so that too long a file is seen. */
	while (n > 0 && len <= USER_RULE_BYTES_MAX) {
		n = read(fd, text + len, USER_RULE_BYTES_MAX + 1 - len);
		if (n > 0)
			len += (size_t)n;
	}
	e = n < 0 ? fault_errno(why, "cannot read rule %s", name) : user_rules_add(u, name, text, len, why);
out:
	if (fd >= 0)
		close(fd);
	free(text);
	return e;
}

static int is_rule_file(const struct dirent *d)
{
	size_t n = strlen(d->d_name), k = strlen(SUFFIX);

	return d->d_name[0] != '.' && n > k && strcmp(d->d_name + n - k, SUFFIX) == 0;
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

int user_rules_read(struct user_rules *u, const char *folder, struct fault *why)
{
	struct dirent **entries = NULL;
	int fd, n = -1, e = 0;

	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return fault_errno(why, "cannot read the folder of rules %s", folder);
	n = scandirat(fd, ".", &entries, is_rule_file, by_bytes);
	if (n < 0)
		e = fault_errno(why, "cannot read the folder of rules %s", folder);
	else if (n == 0)
		e = fault_set(why, ERR_INPUT, FAULT_NOWHERE, "%s holds no rule: no file ends in " SUFFIX, folder);
	for (int i = 0; i < n; i++) {
		if (e == 0)
			e = read_file(u, fd, entries[i]->d_name, why);
		free(entries[i]);
	}
	free(entries);
	close(fd);
	return e;
}
