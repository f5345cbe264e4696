/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/joints.h"

#include <stdlib.h>
#include <string.h>

#include "format/escape.h"
#include "keys/tool.h"

/* What matters of a capture here. */
struct jointed {
	char *path;
	uint8_t id[CAPTURE_ID_BYTES];
	uint8_t identity[PUBLIC_KEY_BYTES];
	bool continues, rotated;
	uint8_t previous[HASH_BYTES], last[HASH_BYTES];
	uint64_t begin_ns, end_ns; /* boot clock */
};

int joints_add(struct joints *j, const char *path, const struct evidence *e, struct fault *why)
{
	const struct reader *r = &e->reader;
	const struct verification *v = &e->verification;
	struct jointed *more, *to;

	if (!e->readable || v->verdict == VERDICT_FORGED || v->verdict == VERDICT_MALFORMED ||
	    v->verdict == VERDICT_UNCHECKED)
		return 0;
	more = reallocarray(j->files, j->n + 1, sizeof(*more));
	if (!more)
		return fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "out of memory");
	j->files = more;
	to = &j->files[j->n];
	memset(to, 0, sizeof(*to));
	to->path = strdup(path);
	if (!to->path)
		return fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "out of memory");
	memcpy(to->id, r->header.capture_id, sizeof(to->id));
	memcpy(to->identity, r->header.identity, sizeof(to->identity));
	memcpy(to->previous, r->header.previous, sizeof(to->previous));
	memcpy(to->last, v->nepochs ? r->epochs[v->nepochs - 1].hash : r->header.hash, sizeof(to->last));
	to->continues = r->header.incompatible & FEATURE_CONTINUES;
	to->rotated = r->tail == TAIL_END && r->end.reason == REASON_rotated;
	to->begin_ns = r->header.start_boot_ns;
	to->end_ns = v->nepochs ? v->end_ns : r->header.start_boot_ns;
	j->n++;
	return 0;
}

void joints_clear(struct joints *j)
{
	for (size_t i = 0; i < j->n; i++)
		free(j->files[i].path);
	free(j->files);
	memset(j, 0, sizeof(*j));
}

/* The same capture named twice, or also a narrower one, is no other. */
static bool same(const struct jointed *a, const struct jointed *b)
{
	return !memcmp(a->id, b->id, sizeof(a->id));
}

static const struct jointed *before(const struct joints *j, const struct jointed *c)
{
	for (size_t i = 0; i < j->n; i++)
		if (!same(&j->files[i], c) && !memcmp(j->files[i].last, c->previous, HASH_BYTES))
			return &j->files[i];
	return NULL;
}

/* Another one that continues the same capture. */
static const struct jointed *rival(const struct joints *j, const struct jointed *c)
{
	for (size_t i = 0; i < j->n; i++)
		if (&j->files[i] != c && j->files[i].continues && !same(&j->files[i], c) &&
		    !memcmp(j->files[i].previous, c->previous, HASH_BYTES))
			return &j->files[i];
	return NULL;
}

static bool is_continued(const struct joints *j, const struct jointed *c)
{
	for (size_t i = 0; i < j->n; i++)
		if (j->files[i].continues && !memcmp(j->files[i].previous, c->last, HASH_BYTES))
			return true;
	return false;
}

/* What does not fit between two; NULL: all does. */
static const char *misfit(const struct joints *j, const struct jointed *from, const struct jointed *to)
{
	if (from->end_ns != to->begin_ns)
		return "it names the seal, but does not begin at the time at which that one ends";
	if (memcmp(from->identity, to->identity, PUBLIC_KEY_BYTES) != 0)
		return "it is signed by another identity";
	if (rival(j, to))
		return "another capture continues the same one";
	return NULL;
}

#define ROOM 1100

static void print_one(FILE *f, const struct jointed *from, const struct jointed *to, const char *wrong, bool json)
{
	char a[ROOM * ESCAPE_GROWTH] = "", b[ROOM * ESCAPE_GROWTH] = "";
	const char *state = wrong ? "does not fit" : !from || !to ? "open" : "fits";

	if (json) {
		if (from)
			escape_json(a, sizeof(a), from->path, strlen(from->path));
		if (to)
			escape_json(b, sizeof(b), to->path, strlen(to->path));
		fprintf(f, "{\"joint\":\"%s\"", state);
		if (from)
			fprintf(f, ",\"from\":\"%s\"", a);
		if (to)
			fprintf(f, ",\"to\":\"%s\"", b);
		if (wrong)
			fprintf(f, ",\"why\":\"%s\"", wrong);
		fprintf(f, "}\n");
		return;
	}
	if (from)
		escape_terminal(a, sizeof(a), from->path, strlen(from->path));
	if (to)
		escape_terminal(b, sizeof(b), to->path, strlen(to->path));
	if (wrong)
		fprintf(f, "JOINT  %s does not continue %s: %s\n", b, a, wrong);
	else if (!from)
		fprintf(f, "JOINT  %s continues a capture that is not among these\n", b);
	else if (!to)
		fprintf(f, "JOINT  %s is continued by a capture that is not among these\n", a);
	else
		fprintf(f, "JOINT  %s continues %s: hash and time fit\n", b, a);
}

static bool named_before(const struct joints *j, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (same(&j->files[k], &j->files[i]))
			return true;
	return false;
}

size_t joints_print(FILE *f, const struct joints *j, bool json, bool brief)
{
	size_t nwrong = 0;

	for (size_t i = 0; i < j->n; i++) {
		const struct jointed *c = &j->files[i], *from;
		const char *wrong = NULL;

		if (named_before(j, i))
			continue;
		if (c->continues) {
			from = before(j, c);
			wrong = from ? misfit(j, from, c) : NULL;
			nwrong += wrong != NULL;
			if (wrong || !brief)
				print_one(f, from, c, wrong, json);
		}
		if (c->rotated && !brief && !is_continued(j, c))
			print_one(f, c, NULL, NULL, json);
	}
	return nwrong;
}
