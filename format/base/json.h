/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes JSON: members in the order in which they are written, numbers as integers but for those of json_number(), a
 * line end after what was opened first. The caller opens and closes objects and arrays in pairs; `key` is NULL inside
 * an array and at the top. Lines of events are written by replay/out.h, as fast as they have to be.
 */
#ifndef GPUREC_FORMAT_BASE_JSON_H
#define GPUREC_FORMAT_BASE_JSON_H

#include "format/base/text.h"

struct json {
	struct text *out;
	bool line; /* all on one line, without blanks; else indented */
	unsigned depth;
	bool filled; /* the open object or array has a member already */
};

void json_open(struct json *j, const char *key, char bracket); /* '{' or '[' */
void json_close(struct json *j, char bracket);                 /* '}' or ']' */
void json_u64(struct json *j, const char *key, uint64_t value);
void json_s64(struct json *j, const char *key, int64_t value);
void json_number(struct json *j, const char *key, const char *digits);
void json_bool(struct json *j, const char *key, bool value);
void json_null(struct json *j, const char *key);
/* Any bytes; made valid UTF-8. */
void json_text(struct json *j, const char *key, const char *s, size_t n);
/* What `t` holds, and empties it; where it failed, so did the output. */
void json_take(struct json *j, const char *key, struct text *t);
void json_string(struct json *j, const char *key, const char *s);
/* An address as the text "0x7f...": JSON's numbers are doubles in many readers. */
void json_hex(struct json *j, const char *key, uint64_t value);
/* Hashes and ids, as hexadecimal digits. */
void json_bytes(struct json *j, const char *key, const uint8_t *bytes, size_t n);
/*
 * Nanoseconds since 1970, a number that readers with binary64 numbers round by up to 128 ns, and under the key `exact`
 * the same as the text "2026-11-21T09:58:26.123456789Z" (RFC 3339).
 */
void json_wall(struct json *j, const char *key, const char *exact, uint64_t wall_ns);

#endif
