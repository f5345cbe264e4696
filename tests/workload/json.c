/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/workload/json.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

static void quoted(FILE *f, const char *text)
{
	fputc('"', f);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			fprintf(f, "\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			fprintf(f, "\\u%04x", c);
		else
			fputc(c, f);
	}
	fputc('"', f);
}

static void member(struct json *out, const char *name)
{
	if (out->filled[out->depth])
		fputc(',', out->file);
	if (out->depth > 0)
		fprintf(out->file, "\n%*s", (int)out->depth, "");
	out->filled[out->depth] = true;
	if (name) {
		quoted(out->file, name);
		fputs(": ", out->file);
	}
}

int json_start(struct json *out, const char *path)
{
	int n;

	*out = (struct json){.path = path};
	n = snprintf(out->temporary, sizeof(out->temporary), "%s.%d", path, (int)getpid());
	if (n < 0 || (size_t)n >= sizeof(out->temporary)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	out->file = fopen(out->temporary, "we");
	if (!out->file)
		return -1;
	json_open(out, NULL, '{');
	return 0;
}

int json_finish(struct json *out)
{
	bool bad;

	json_close(out);
	fputc('\n', out->file);
	bad = ferror(out->file);
	if (fclose(out->file) || bad || rename(out->temporary, out->path)) {
		int error = errno;

		unlink(out->temporary);
		errno = error;
		return -1;
	}
	return 0;
}

void json_open(struct json *out, const char *name, char bracket)
{
	member(out, name);
	fputc(bracket, out->file);
	out->depth++;
	out->closing[out->depth] = bracket == '{' ? '}' : ']';
	out->filled[out->depth] = false;
}

void json_close(struct json *out)
{
	bool filled = out->filled[out->depth];
	char bracket = out->closing[out->depth];

	out->depth--;
	if (filled)
		fprintf(out->file, "\n%*s", (int)out->depth, "");
	fputc(bracket, out->file);
}

void json_number(struct json *out, const char *name, uint64_t n)
{
	member(out, name);
	fprintf(out->file, "%" PRIu64, n);
}

void json_text(struct json *out, const char *name, const char *text)
{
	member(out, name);
	quoted(out->file, text);
}

void json_bool(struct json *out, const char *name, bool yes)
{
	member(out, name);
	fputs(yes ? "true" : "false", out->file);
}

void json_address(struct json *out, const char *name, uint64_t addr)
{
	member(out, name);
	fprintf(out->file, "\"0x%" PRIx64 "\"", addr);
}
