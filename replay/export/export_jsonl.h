/* SPDX-License-Identifier: Apache-2.0 */
/* An event's fields as members of a JSON object, in the forms of docs/SCHEMA.md, "Lines of JSON". */
#ifndef GPUREC_REPLAY_EXPORT_EXPORT_JSONL_H
#define GPUREC_REPLAY_EXPORT_EXPORT_JSONL_H

#include "format/cursor.h"
#include "replay/out.h"

/* How each kind of a schema is written. */
struct jsonl_plan;

/* The schema must outlive it. ERR_MEMORY. *out: jsonl_plan_free(). */
int jsonl_plan_make(struct jsonl_plan **out, const struct schema *schema, struct fault *why);
void jsonl_plan_free(struct jsonl_plan *p);

/* Every field but `at`: ,"pid":100,"tid":101,... */
void jsonl_members(struct out *o, const struct jsonl_plan *p, const struct event *ev);

#endif
