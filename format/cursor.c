/* SPDX-License-Identifier: Apache-2.0 */
#include "format/cursor.h"

#include <stdlib.h>
#include <string.h>

#include "format/content.h"

/*
 * One lane for each class: the chunks of a class follow each other in time, so one loaded chunk a lane is enough to
 * merge, however long the epoch is.
 */
struct lane {
	uint32_t next;           /* index of the chunk to load next */
	uint32_t end;            /* index after the last chunk of this class */
	uint32_t pos[KINDS_MAX]; /* next row of each loaded group */
	size_t nleft;            /* groups with rows left */
	size_t head;             /* if nleft: the group that is next */
	uint64_t head_ns;        /* and its time */
	struct content content;
};

struct cursor {
	const struct reader *reader;
	bool unverified;
	uint64_t epoch;   /* index; = nepochs: at the end */
	bool marked;      /* the mark of `epoch` has been given, its lanes are set */
	uint64_t from_ns; /* rows before this are passed over */
	uint64_t to_ns;   /* and those from this on */
	uint64_t nbefore; /* rows of the epochs before */
	uint64_t npassed; /* rows of this epoch that were given or passed over */
	bool unnumbered;
	bool limited;                   /* asked for less than all */
	bool wanted[KINDS_MAX];         /* by the kind's place in the schema: its rows are to be given */
	uint32_t fields[KINDS_MAX];     /* what to decode */
	bool class_wanted[CLASSES_MAX]; /* something of it is to be decoded */
	struct lane *lanes;             /* one for each class that the epoch has */
	size_t nlanes;
};

int cursor_open(struct cursor **cur, const struct reader *r, bool unverified, struct fault *why)
{
	struct cursor *c = calloc(1, sizeof(*c));

	if (c)
		c->lanes = calloc(CLASSES_MAX, sizeof(*c->lanes));
	if (!c || !c->lanes) {
		free(c);
		return fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "no memory for a cursor");
	}
	c->reader = r;
	c->unverified = unverified;
	c->to_ns = UINT64_MAX;
	*cur = c;
	return 0;
}

void cursor_close(struct cursor *cur)
{
	if (!cur)
		return;
	for (size_t i = 0; i < CLASSES_MAX; i++)
		content_free(&cur->lanes[i].content);
	free(cur->lanes);
	free(cur);
}

void cursor_ask(struct cursor *cur, const struct cursor_wish *wish)
{
	const struct schema *s = &cur->reader->header.schema;

	cur->to_ns = wish->to_ns;
	cur->unnumbered = wish->unnumbered;
	cur->limited = wish->fields != NULL;
	memset(cur->class_wanted, 0, sizeof(cur->class_wanted));
	for (size_t k = 0; k < s->nkinds; k++) {
		cur->wanted[k] = !wish->fields || wish->fields[k];
		cur->fields[k] = wish->fields ? wish->fields[k] : UINT32_MAX;
		/* To be counted in its place, a row must be there with its time. */
		if (!cur->unnumbered)
			cur->fields[k] |= 1;
		if (cur->fields[k])
			cur->class_wanted[s->kinds[k].class % CLASSES_MAX] = true;
	}
}

/* Rows of an epoch that are there. */
static uint64_t rows_of(const struct epoch *e)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < e->nchunks; i++)
		if (!e->chunks[i].withheld)
			n += e->chunks[i].nrows;
	return n;
}

/* Whether there is anything in it to be given. */
static bool epoch_is_wanted(const struct cursor *cur, const struct epoch *e)
{
	const struct schema *s = &cur->reader->header.schema;

	for (uint32_t i = 0; cur->limited && i < e->ncounts; i++) {
		const struct kind *k = schema_kind(s, e->counts[i].kind);

		if (k && cur->wanted[k - s->kinds])
			return true;
	}
	return !cur->limited;
}

static int set_lanes(struct cursor *cur, const struct epoch *e, struct fault *why)
{
	cur->nlanes = 0;
	cur->npassed = 0;
	if (!epoch_is_wanted(cur, e))
		return 0;
	for (uint32_t i = 0; i < e->nchunks; i++) {
		struct lane *lane;

		if (i == 0 || e->chunks[i].class != e->chunks[i - 1].class) {
			if (cur->nlanes == CLASSES_MAX)
				return fault_set(why, ERR_FORMAT, e->seal_offset, "an epoch has more than %d classes",
						 CLASSES_MAX);
			lane = &cur->lanes[cur->nlanes++];
			lane->next = i;
			lane->nleft = 0;
		}
		cur->lanes[cur->nlanes - 1].end = i + 1;
	}
	return 0;
}

/* The lane's earliest row: the first of its groups with the least time. Its groups ascend by kind. */
static void find_head(struct lane *lane)
{
	bool found = false;

	for (size_t g = 0; g < lane->content.ngroups; g++) {
		const struct rows *rows = &lane->content.groups[g];

		if (lane->pos[g] < rows->nrows && (!found || rows->v[lane->pos[g]] < lane->head_ns)) {
			lane->head = g;
			lane->head_ns = rows->v[lane->pos[g]];
			found = true;
		}
	}
}

/* Pass over the rows before from_ns in a chunk just loaded: so many. */
static uint64_t lane_start(struct lane *lane, uint64_t from_ns)
{
	uint64_t npassed = 0;

	lane->nleft = 0;
	for (size_t g = 0; g < lane->content.ngroups; g++) {
		const struct rows *rows = &lane->content.groups[g];
		uint32_t i = 0;

		while (i < rows->nrows && rows->v[i] < from_ns)
			i++;
		lane->pos[g] = i;
		lane->nleft += i < rows->nrows;
		npassed += i;
	}
	find_head(lane);
	return npassed;
}

/* Make the lane stand on a row, loading chunks as needed; or be at its end. */
static int lane_fill(struct cursor *cur, struct lane *lane, const struct epoch *e, struct fault *why)
{
	while (lane->nleft == 0 && lane->next < lane->end) {
		const struct chunk *chunk = &e->chunks[lane->next];
		bool skipped = cur->limited && !cur->class_wanted[chunk->class % CLASSES_MAX];

		if (chunk->withheld) {
			skipped = true;
		} else if (chunk->last_ns < cur->from_ns) {
			skipped = true;
			cur->npassed += chunk->nrows;
		} else if (chunk->first_ns >= cur->to_ns) {
			lane->next = lane->end; /* so do all that follow */
			break;
		}
		if (!skipped) {
			int r = content_load_fields(&lane->content, cur->reader, e, lane->next, !cur->unverified,
						    cur->limited ? cur->fields : NULL, why);

			if (r < 0)
				return r;
			cur->npassed += lane_start(lane, cur->from_ns);
		}
		lane->next++;
	}
	return 0;
}

/* Beyond the lane's head. */
static void pass_row(struct cursor *cur, struct lane *lane)
{
	if (++lane->pos[lane->head] == lane->content.groups[lane->head].nrows)
		lane->nleft--;
	cur->npassed++;
	find_head(lane);
}

static void give_row(struct cursor *cur, struct lane *lane, const struct epoch *e, struct event *ev)
{
	const struct rows *rows = &lane->content.groups[lane->head];
	uint32_t i = lane->pos[lane->head];
	size_t nfields = rows->kind->nfields;

	ev->kind = rows->kind->id;
	ev->at_ns = lane->head_ns;
	ev->shape = rows->kind;
	ev->epoch = e;
	for (size_t f = 0; f < nfields; f++)
		ev->v[f] = rows->v[f * rows->nrows + i];
	/* An older capture may know fewer fields of this kind: they read as 0. */
	memset(ev->v + nfields, 0, (FIELDS_MAX - nfields) * sizeof(*ev->v));
	memset(ev->text, 0, sizeof(ev->text));
	for (size_t f = 0; rows->text && f < nfields; f++)
		ev->text[f] = rows->text[f * rows->nrows + i];
	pass_row(cur, lane);
	ev->number = cur->unnumbered ? 0 : cur->nbefore + cur->npassed;
}

static void give_mark(const struct epoch *e, struct event *ev)
{
	*ev = (struct event){.kind = KIND_epoch, .at_ns = e->begin_ns, .epoch = e};
}

static uint16_t head_kind(const struct lane *lane)
{
	return lane->content.groups[lane->head].kind->id;
}

static bool is_wanted(const struct cursor *cur, const struct lane *lane)
{
	return !cur->limited || cur->wanted[lane->content.groups[lane->head].kind - cur->reader->header.schema.kinds];
}

/* The lane with the row that is next: *out is NULL at the epoch's end. */
static int next_lane(struct cursor *cur, const struct epoch *e, struct lane **out, struct fault *why)
{
	struct lane *best = NULL;

	for (size_t i = 0; i < cur->nlanes; i++) {
		struct lane *lane = &cur->lanes[i];
		int r = lane_fill(cur, lane, e, why);

		if (r < 0)
			return r;
		if (lane->nleft == 0)
			continue;
		if (!best || lane->head_ns < best->head_ns ||
		    (lane->head_ns == best->head_ns && head_kind(lane) < head_kind(best)))
			best = lane;
	}
	*out = best && best->head_ns < cur->to_ns ? best : NULL;
	return 0;
}

/* The next row of the open epoch: 1; none left: 0; or an error. */
static int next_row(struct cursor *cur, const struct epoch *e, struct event *ev, struct fault *why)
{
	struct lane *lane;
	int r;

	while ((r = next_lane(cur, e, &lane, why)) == 0 && lane) {
		if (is_wanted(cur, lane)) {
			give_row(cur, lane, e, ev);
			return 1;
		}
		pass_row(cur, lane);
	}
	return r;
}

int cursor_next(struct cursor *cur, struct event *ev, struct fault *why)
{
	while (cur->epoch < cur->reader->nepochs) {
		const struct epoch *e = &cur->reader->epochs[cur->epoch];
		int r;

		if (e->begin_ns >= cur->to_ns) {
			cur->epoch = cur->reader->nepochs;
			break;
		}
		if (!cur->marked) {
			r = set_lanes(cur, e, why);
			if (r < 0)
				return r;
			cur->marked = true;
			give_mark(e, ev);
			return 1;
		}
		r = next_row(cur, e, ev, why);
		if (r != 0)
			return r;
		cur->nbefore += rows_of(e);
		cur->epoch++;
		cur->marked = false;
	}
	return 0;
}

void cursor_seek(struct cursor *cur, uint64_t at_ns)
{
	uint64_t lo = 0, hi = cur->reader->nepochs;

	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (cur->reader->epochs[mid].end_ns <= at_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	cur->epoch = lo;
	cur->marked = false;
	cur->from_ns = at_ns;
	cur->nbefore = 0;
	while (lo-- > 0)
		cur->nbefore += rows_of(&cur->reader->epochs[lo]);
}

void cursor_seek_number(struct cursor *cur, uint64_t number)
{
	uint64_t nbefore = 0, e = 0, n;

	for (; e < cur->reader->nepochs; e++, nbefore += n) {
		n = rows_of(&cur->reader->epochs[e]);
		if (number <= nbefore + n)
			break;
	}
	cur->epoch = e;
	cur->marked = false;
	cur->from_ns = 0;
	cur->nbefore = nbefore;
}
