/* SPDX-License-Identifier: Apache-2.0 */
#include "format/base/json.h"

#include <inttypes.h>
#include <string.h>

#include "format/base/units.h"

#define WALL_DATE_CHARS 10 /* of wall_text(): the date, before a blank */

static void new_line(struct json *j)
{
	if (!j->line)
		text_add(j->out, "\n%*s", (int)j->depth, "");
}

static void begin(struct json *j, const char *key)
{
	if (j->filled)
		text_add(j->out, ",");
	if (j->depth > 0)
		new_line(j);
	if (key)
		text_add(j->out, "\"%s\":%s", key, j->line ? "" : " ");
	j->filled = true;
}

void json_open(struct json *j, const char *key, char bracket)
{
	begin(j, key);
	text_add(j->out, "%c", bracket);
	j->depth++;
	j->filled = false;
}

void json_close(struct json *j, char bracket)
{
	j->depth--;
	if (j->filled)
		new_line(j);
	text_add(j->out, "%c", bracket);
	j->filled = true;
	if (j->depth == 0)
		text_add(j->out, "\n");
}

void json_u64(struct json *j, const char *key, uint64_t value)
{
	begin(j, key);
	text_add(j->out, "%" PRIu64, value);
}

void json_s64(struct json *j, const char *key, int64_t value)
{
	begin(j, key);
	text_add(j->out, "%" PRId64, value);
}

void json_number(struct json *j, const char *key, const char *digits)
{
	begin(j, key);
	text_add(j->out, "%s", digits);
}

void json_bool(struct json *j, const char *key, bool value)
{
	begin(j, key);
	text_add(j->out, value ? "true" : "false");
}

void json_null(struct json *j, const char *key)
{
	begin(j, key);
	text_add(j->out, "null");
}

void json_text(struct json *j, const char *key, const char *s, size_t n)
{
	begin(j, key);
	text_add_bytes(j->out, "\"", 1);
	text_add_json(j->out, s, n);
	text_add_bytes(j->out, "\"", 1);
}

void json_take(struct json *j, const char *key, struct text *t)
{
	json_text(j, key, text_string(t), t->len);
	j->out->failed |= t->failed;
	text_clear(t);
}

void json_string(struct json *j, const char *key, const char *s)
{
	json_text(j, key, s, strlen(s));
}

void json_hex(struct json *j, const char *key, uint64_t value)
{
	begin(j, key);
	text_add(j->out, "\"0x%" PRIx64 "\"", value);
}

void json_bytes(struct json *j, const char *key, const uint8_t *bytes, size_t n)
{
	begin(j, key);
	text_add_bytes(j->out, "\"", 1);
	for (size_t i = 0; i < n; i++)
		text_add(j->out, "%02x", bytes[i]);
	text_add_bytes(j->out, "\"", 1);
}

void json_wall(struct json *j, const char *key, const char *exact, uint64_t wall_ns)
{
	char text[UNITS_CHARS];

	json_u64(j, key, wall_ns);
	wall_text(text, wall_ns)[WALL_DATE_CHARS] = 'T';
	json_string(j, exact, text);
}
