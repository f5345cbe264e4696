/* SPDX-License-Identifier: Apache-2.0 */
/* gpukey sign --custody: a signed line about what was done with a capture. */
#include <stdio.h>
#include <string.h>

#include "format/base/units.h"
#include "keys/custody.h"
#include "keys/gpukey/gpukey_internal.h"

int gpukey_custody_action(const char *word, int *status)
{
	enum custody_action action;
	struct fault why;

	if (custody_action_parse(&action, word, &why) == 0)
		return 0;
	*status = tool_usage("--custody: %s", why.text);
	return -1;
}

/* What to hand on: with the hash one sees when lines are missing at the end. */
static void report(const char *path, const struct custody_line *l)
{
	char shown[SHOWN_PATH_MAX], hash[HASH_BYTES * 2 + 1];

	escape_terminal(shown, sizeof(shown), path, strlen(path));
	printf("%s: act %llu, %s, head %s\n", shown, (unsigned long long)l->number, custody_action_word(l->action),
	       hex_text(hash, l->hash, HASH_BYTES));
}

int gpukey_custody_sign(const struct gpukey_custody *c, const char *capture, const char *output,
			const struct identity *id, struct fault *why)
{
	const struct evidence_options o = {0};
	struct custody_request q = {.who = c->name, .note = c->note};
	struct custody_line line;
	char path[PATH_MAX];
	struct evidence e;
	int r = custody_action_parse(&q.action, c->action, why);

	if (r == 0 && !output)
		r = custody_path(path, capture, why);
	if (r < 0)
		return r;
	q.path = output ? output : path;
	r = evidence_judge(&e, capture, &o, why);
	if (r == 0)
		r = custody_record(&q, &e, id, &line, why);
	evidence_close(&e);
	if (r == 0)
		report(q.path, &line);
	return r;
}
