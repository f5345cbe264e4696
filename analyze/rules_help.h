/* SPDX-License-Identifier: Apache-2.0 */
/* The rules in words, for --list-rules and --explain, and their settings from a file. */
#ifndef GPUREC_ANALYZE_RULES_HELP_H
#define GPUREC_ANALYZE_RULES_HELP_H

#include "analyze/rule.h"
#include "analyze/user_rules.h"

/* All rules with their settings as they are. */
void about_all_rules(const struct settings *s, const struct user_rules *u, struct text *t);
/* One rule at length; false: there is none of this name, and nothing is written. */
bool about_rule(const char *name, const struct settings *s, const struct user_rules *u, struct text *t);

/*
 * Lines "rule.key=value"; empty ones and those that begin with '#' are skipped, blanks do not count. ERR_INPUT with
 * file and line; ERR_IO, ERR_DENIED, ERR_MEMORY.
 */
int settings_read(struct settings *s, const char *path, struct fault *why);

#endif
