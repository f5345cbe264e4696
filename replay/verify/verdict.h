/* SPDX-License-Identifier: Apache-2.0 */
/* A verdict in words, for people, and in JSON, for programs. */
#ifndef GPUREC_REPLAY_VERIFY_VERDICT_H
#define GPUREC_REPLAY_VERIFY_VERDICT_H

#include <stdio.h>

#include "format/base/json.h"
#include "keys/completeness.h"
#include "replay/verify/custody_check.h"

/* What was asked of it beside the verdict. */
struct judgement {
	const char *path;
	const struct evidence *evidence;
	const struct completeness *completeness;
	const char *refused; /* why, by --require-complete or --max-lost; NULL: it is not */
	int exit_status;
	const struct chain *chain; /* of custody */
};

/* "OK run.cap", what was lost, and, unless `brief`, a block of lines that say who, when, what, what is missing, and
 * why. */
void verdict_print(FILE *f, const struct judgement *j, bool brief);

/* An object; its keys are in docs/SCHEMA.md. */
void verdict_json(struct json *j, const struct judgement *g);

#endif
