/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/verify/continuity.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/json.h"
#include "format/base/units.h"

/* What matters of a capture here. */
struct jointed {
	char *path;
	uint8_t id[CAPTURE_ID_BYTES];
	uint8_t identity[PUBLIC_KEY_BYTES];
	bool continues, rotated;
	uint8_t previous[HASH_BYTES], last[HASH_BYTES];
	uint64_t begin_ns, end_ns; /* boot clock */
	uint8_t series[SERIES_ID_BYTES];
	uint64_t number; /* in the series; 0: of none */
	uint8_t previous_end[HASH_BYTES];
	bool ended; /* then `end` is END's hash */
	uint8_t end[HASH_BYTES];
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
		return fault_no_memory(why);
	j->files = more;
	to = &j->files[j->n];
	memset(to, 0, sizeof(*to));
	to->path = strdup(path);
	if (!to->path)
		return fault_no_memory(why);
	memcpy(to->id, r->header.capture_id, sizeof(to->id));
	memcpy(to->identity, r->header.identity, sizeof(to->identity));
	memcpy(to->previous, r->header.previous, sizeof(to->previous));
	memcpy(to->last, v->nepochs ? r->epochs[v->nepochs - 1].hash : r->header.hash, sizeof(to->last));
	to->continues = r->header.incompatible & FEATURE_CONTINUES;
	to->rotated = r->tail == TAIL_END && r->end.reason == REASON_rotated;
	memcpy(to->series, r->header.series, sizeof(to->series));
	to->number = r->header.series_number;
	memcpy(to->previous_end, r->header.previous_end, sizeof(to->previous_end));
	to->ended = r->tail == TAIL_END;
	memcpy(to->end, r->end.hash, sizeof(to->end));
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

/* A capture of no series has the number 0, and a series of zeros. */
static bool same_series(const struct jointed *a, const struct jointed *b)
{
	return a->number && !memcmp(a->series, b->series, sizeof(a->series));
}

/* The capture of c's series with this number. */
static const struct jointed *numbered(const struct joints *j, const struct jointed *c, uint64_t number)
{
	for (size_t i = 0; i < j->n; i++)
		if (same_series(&j->files[i], c) && j->files[i].number == number)
			return &j->files[i];
	return NULL;
}

/* The one that c names; where that is cut short, so that its last seal is another one, the one of the number before. */
static const struct jointed *before(const struct joints *j, const struct jointed *c)
{
	for (size_t i = 0; i < j->n; i++)
		if (!same(&j->files[i], c) && !memcmp(j->files[i].last, c->previous, HASH_BYTES))
			return &j->files[i];
	return c->number ? numbered(j, c, c->number - 1) : NULL;
}

/* Another one that continues the same capture, or has the same number. */
static const struct jointed *rival(const struct joints *j, const struct jointed *c)
{
	for (size_t i = 0; i < j->n; i++) {
		const struct jointed *o = &j->files[i];

		if (same(o, c))
			continue;
		if ((o->continues && !memcmp(o->previous, c->previous, HASH_BYTES)) ||
		    (same_series(o, c) && o->number == c->number))
			return o;
	}
	return NULL;
}

static bool is_continued(const struct joints *j, const struct jointed *c)
{
	if (c->number && numbered(j, c, c->number + 1))
		return true;
	for (size_t i = 0; i < j->n; i++)
		if (j->files[i].continues && !memcmp(j->files[i].previous, c->last, HASH_BYTES))
			return true;
	return false;
}

/* What does not fit between two; NULL: all does. */
static const char *misfit(const struct joints *j, const struct jointed *from, const struct jointed *to)
{
	if (memcmp(from->last, to->previous, HASH_BYTES) != 0)
		return "the seal that it names is not that one's last: its end was cut off, or it is another one";
	if (from->end_ns != to->begin_ns)
		return "it names the seal, but does not begin at the time at which that one ends";
	if (memcmp(from->identity, to->identity, PUBLIC_KEY_BYTES) != 0)
		return "it is signed by another identity";
	if (to->number && (!same_series(from, to) || from->number != to->number - 1))
		return "it is not the next capture of that one's series";
	if (to->number && from->ended && memcmp(from->end, to->previous_end, HASH_BYTES) != 0)
		return "it names another end record than that one has";
	if (rival(j, to))
		return "another capture continues the same one";
	return NULL;
}

static void add_path(struct text *t, const struct jointed *c)
{
	text_add_escaped(t, c->path, strlen(c->path));
}

static void json_paths(struct json *j, const struct jointed *from, const struct jointed *to)
{
	if (from)
		json_string(j, "from", from->path);
	if (to)
		json_string(j, "to", to->path);
}

/* One joint; `from` or `to` is NULL where it is not among the captures. */
static void json_one(struct text *t, const struct jointed *from, const struct jointed *to, const char *wrong)
{
	struct json j = {.out = t, .line = true};

	json_open(&j, NULL, '{');
	json_string(&j, "joint", wrong ? "does not fit" : !from || !to ? "open" : "fits");
	json_paths(&j, from, to);
	if (wrong)
		json_string(&j, "why", wrong);
	json_close(&j, '}');
}

static void text_one(struct text *t, const struct jointed *from, const struct jointed *to, const char *wrong)
{
	text_add_string(t, "JOINT  ");
	if (!to) {
		add_path(t, from);
		text_add_string(t, " is continued by a capture that is not among these\n");
		return;
	}
	add_path(t, to);
	if (!from) {
		text_add_string(t, " continues a capture that is not among these\n");
		return;
	}
	text_add_string(t, wrong ? " does not continue " : " continues ");
	add_path(t, from);
	text_add(t, ": %s\n", wrong ? wrong : "hash and time fit");
}

/* Captures of c's series that are missing between two; `from` or `to` is NULL where there is none before or after. */
static void json_missing(struct text *t, const struct jointed *c, const struct jointed *from, const struct jointed *to)
{
	char series[SERIES_ID_BYTES * 2 + 1];
	struct json j = {.out = t, .line = true};

	json_open(&j, NULL, '{');
	json_string(&j, "joint", "missing");
	json_string(&j, "series", hex_text(series, c->series, SERIES_ID_BYTES));
	json_u64(&j, "first", from ? from->number + 1 : 1);
	if (to)
		json_u64(&j, "last", to->number - 1);
	json_paths(&j, from, to);
	json_close(&j, '}');
}

static void text_missing(struct text *t, const struct jointed *c, const struct jointed *from, const struct jointed *to)
{
	uint64_t first = from ? from->number + 1 : 1, last = to ? to->number - 1 : 0;
	char series[SERIES_ID_BYTES * 2 + 1];

	hex_text(series, c->series, SERIES_ID_BYTES);
	if (!to)
		text_add(t, "JOINT  capture %" PRIu64 " and any later one of series %s is missing after ", first,
			 series);
	else if (first == last)
		text_add(t, "JOINT  capture %" PRIu64 " of series %s is missing ", first, series);
	else
		text_add(t, "JOINT  captures %" PRIu64 " to %" PRIu64 " of series %s are missing ", first, last,
			 series);
	if (to)
		text_add_string(t, from ? "between " : "before ");
	if (from) {
		add_path(t, from);
		text_add(t, " (%" PRIu64 ")%s", from->number, to ? " and " : "");
	}
	if (to) {
		add_path(t, to);
		text_add(t, " (%" PRIu64 ")", to->number);
	}
	text_add_string(t, "\n");
}

static bool named_before(const struct joints *j, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (same(&j->files[k], &j->files[i]))
			return true;
	return false;
}

/* The capture of c's series that is nearest before, or after, its number; NULL: none. */
static const struct jointed *nearest(const struct joints *j, const struct jointed *c, bool after)
{
	const struct jointed *best = NULL;

	for (size_t i = 0; i < j->n; i++) {
		const struct jointed *o = &j->files[i];

		if (!same_series(o, c) || (after ? o->number <= c->number : o->number >= c->number))
			continue;
		if (!best || (after ? o->number < best->number : o->number > best->number))
			best = o;
	}
	return best;
}

/* Whether what c continues was named as something that is rightly not here. */
static bool is_after(const struct jointed *c, const struct joints_options *o)
{
	return o->after && (!memcmp(o->after, c->previous, HASH_BYTES) ||
			    (c->number && !memcmp(o->after, c->previous_end, HASH_BYTES)));
}

/* What c continues is not here, or what continues c; `from` or `to` is what is nearest to it, or NULL. */
static void show_open(struct text *t, const struct jointed *c, const struct jointed *from, const struct jointed *to,
		      const struct joints_options *o)
{
	if (o->brief && !o->open)
		return;
	if (c->number)
		(o->json ? json_missing : text_missing)(t, c, from, to);
	else
		(o->json ? json_one : text_one)(t, from, to, NULL);
}

/* Nothing of what c continues is here. Returns whether that is amiss. */
static bool open_before(struct text *t, const struct joints *j, const struct jointed *c, const struct joints_options *o)
{
	const struct jointed *from = c->number ? nearest(j, c, false) : NULL;

	if (!from && is_after(c, o))
		return false;
	show_open(t, c, from, c, o);
	return true;
}

/* Something continues c that is not here; in a series the next one that is here reports. Returns whether none does. */
static bool open_behind(struct text *t, const struct joints *j, const struct jointed *c, const struct joints_options *o)
{
	if (c->number && nearest(j, c, true))
		return false;
	show_open(t, c, c, NULL, o);
	return true;
}

struct joints_result joints_text(struct text *t, const struct joints *j, const struct joints_options *o)
{
	struct joints_result result = {0};

	for (size_t i = 0; i < j->n; i++) {
		const struct jointed *c = &j->files[i], *from = c->continues ? before(j, c) : NULL;
		const char *wrong = from ? misfit(j, from, c) : NULL;

		if (named_before(j, i))
			continue;
		result.nwrong += wrong != NULL;
		if (from && (wrong || !o->brief))
			(o->json ? json_one : text_one)(t, from, c, wrong);
		else if (c->continues && !from)
			result.nmissing += open_before(t, j, c, o);
		if (c->rotated && !is_continued(j, c))
			result.nmissing += open_behind(t, j, c, o);
	}
	return result;
}
