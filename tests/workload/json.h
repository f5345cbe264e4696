/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes one JSON document to a file, member by member. The name of a member of an array is NULL.
 * Write errors are kept by the FILE and seen at json_finish.
 */
#ifndef WORKLOAD_JSON_H
#define WORKLOAD_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define JSON_DEPTH 16

struct json {
	FILE *file;
	const char *path;
	char temporary[4096];
	unsigned depth;
	char closing[JSON_DEPTH];
	bool filled[JSON_DEPTH];
};

/* The document appears under `path` only when it is finished. 0, or -1 with errno set. */
int json_start(struct json *out, const char *path);
int json_finish(struct json *out);

/* bracket: '{' or '[' */
void json_open(struct json *out, const char *name, char bracket);
void json_close(struct json *out);

void json_number(struct json *out, const char *name, uint64_t n);
void json_text(struct json *out, const char *name, const char *text);
void json_bool(struct json *out, const char *name, bool yes);

/* As text, "0x...": an address may be more than a reader's numbers hold. */
void json_address(struct json *out, const char *name, uint64_t addr);

#endif
