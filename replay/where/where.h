/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A condition on events, as --where takes it: "kind=launch and dur>1ms", "bytes>=64M or ret!=0". Its words are listed
 * in docs/EXPORTS.md, "Conditions".
 *
 *	condition = and { "or" and }        and = not { "and" not }        not = [ "not" ] ( "(" condition ")" | term )
 *	term = NAME ( "=" | "!=" | "<" | "<=" | ">" | ">=" | "~" ) VALUE
 *
 * A term about a field that an event's kind does not have is false, whatever its operator; `not` turns that round.
 */
#ifndef GPUREC_REPLAY_WHERE_WHERE_H
#define GPUREC_REPLAY_WHERE_WHERE_H

#include "format/cursor.h"
#include "replay/model/tasks.h"

#define WHERE_TEXT_MAX 4096 /* bytes of a condition */
#define WHERE_TERMS_MAX 128
#define WHERE_DEPTH_MAX 32 /* parentheses and "not" inside each other */

struct where;

/*
 * Read a condition. ERR_INPUT: one sentence; why->offset is the place in `text`, in bytes, that it is about.
 * ERR_MEMORY. *out: where_free().
 */
int where_parse(struct where **out, const char *text, struct fault *why);
void where_free(struct where *w);

/*
 * Find the fields that its names mean in a capture, which must outlive it; durations compared with points in time count
 * from `start_ns`. ERR_INPUT as above: a name that no kind has, a value that no such field can have. ERR_MEMORY.
 * Can be done again for another capture.
 */
int where_bind(struct where *w, const struct schema *schema, uint64_t start_ns, struct fault *why);

/* Whether it holds for an event of that capture, which the tasks has seen. where_bind() came before. */
bool where_holds(const struct where *w, const struct event *ev, const struct tasks *tasks);

/* As it was given. */
const char *where_text(const struct where *w);

#endif
